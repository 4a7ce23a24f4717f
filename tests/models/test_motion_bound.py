"""A bound of how much nearer riding points came, from their bodies alone; and their derivatives as blocks."""

import numpy as np
import pytest
from scipy import sparse
from scipy.spatial.distance import cdist
from scipy.spatial.transform import Rotation

import pliant as pl
from pliant.models.model import StepStart
from pliant.models.motion_bound import EmbeddedGroups, approach_bound
from pliant.models.scheme import STATIC_SCHEME

MADE = {"section": pl.sections.Circle(0.01), "young": 1e6, "poisson": 0.3, "density": 1e3}
RUBBER = pl.materials.Corotated(young=1e5, poisson=0.4, density=1e3)
BODIES = {
    "volume": lambda: pl.Volume(pl.mesh.box((0.2, 0.02, 0.02), (4, 1, 1)), RUBBER),
    "beam": lambda: pl.Beam(np.linspace((0.0, 0.01, 0.01), (0.2, 0.01, 0.01), 5), **MADE),
    "rod": lambda: pl.Rod(0.2, 3, position=(0.0, 0.01, 0.01), base="free", **MADE),
    "rigid": lambda: pl.RigidBody.box(size=(0.2, 0.02, 0.02), mass=0.1, position=(0.1, 0.01, 0.01)),
}


def ridden(kind, seed):
    scene = pl.Scene()
    scene.add(BODIES[kind]())
    world = scene.compile()
    model, rng = world.models[0], np.random.default_rng(seed)
    points = rng.uniform((-0.002, -0.002, -0.002), (0.202, 0.022, 0.022), (60, 3))
    q, v = model.initial()
    trial = model.trial(StepStart(q, v, STATIC_SCHEME, world.gravity, {}))
    return model, model.embed(points, what="points", reach=0.01), q, trial, rng


def grouped(riders, count=3):
    """The riding points dealt to `count` groups, one in two of them."""
    points = np.arange(60)
    pairs = np.concatenate([points, points[:1]]), np.concatenate([points % count, [1]])
    return EmbeddedGroups.build(riders, *pairs, count), [
        np.unique(pairs[0][pairs[1] == group]) for group in range(count)
    ]


def turned(q, rotation, shift):
    """A body at q, moved rigidly: places, and the frames that beams and rigid bodies have with them."""
    if q.ndim == 2 and len(q) != 4:
        return q @ rotation.T + shift
    frames = q.reshape(-1, 4, 3)
    places = frames[:, :1] @ rotation.T + shift
    return np.concatenate([places, rotation @ frames[:, 1:]], axis=1).reshape(q.shape)


@pytest.mark.parametrize("second", BODIES)
@pytest.mark.parametrize("first", BODIES)
@pytest.mark.parametrize("size", [1e-4, 1e-2, 0.3])
def test_no_two_points_come_nearer_than_the_bound(first, second, size):
    for seed in range(4):
        bodies = [ridden(kind, seed + 10 * side) for side, kind in enumerate((first, second))]
        sides, members = zip(*(grouped(riders) for _, riders, *_ in bodies), strict=True)
        then = tuple(side.ends(q) for side, (_, _, q, _, _) in zip(sides, bodies, strict=True))
        now = []
        for *_, trial, rng in bodies:
            growing = np.linspace(0.2, 1.0, len(trial.dx)).reshape(-1, *[1] * (trial.dx.ndim - 1))
            trial.dx = size * rng.normal(size=trial.dx.shape) * growing
            now.append(trial.positions())
        bound = approach_bound(sides, tuple(now), then)
        apart = [
            [cdist(*(side[1].points(q)[own[g]] for side, q, own in zip(bodies, qs, members, strict=True)))
             for g in range(3)]
            for qs in ([q for _, _, q, _, _ in bodies], now)
        ]  # fmt: skip
        moved = np.array([np.abs(b - a).max() for a, b in zip(*apart, strict=True)])
        assert (moved <= bound * (1.0 + 1e-12)).all()
        assert (bound < 60.0 * moved).all()
    still = approach_bound(sides, tuple(q for _, _, q, _, _ in bodies), then)
    assert np.allclose(still, 0.0, atol=1e-15)


@pytest.mark.parametrize("kind", ["beam", "rigid"])
def test_moving_together_is_no_approach(kind):
    _, riders, q, _, rng = ridden(kind, 1)
    sides = grouped(riders)[0], grouped(riders)[0]
    then = sides[0].ends(q), sides[1].ends(q)
    rotation, shift = Rotation.from_rotvec(rng.normal(size=3)).as_matrix(), rng.normal(size=3)
    now = turned(q, rotation, shift)
    assert np.abs(riders.points(now) - riders.points(q)).max() > 0.1
    assert approach_bound(sides, (now, now), then).max() < 1e-14


def test_a_body_without_frames_may_be_carried_along():
    _, riders, q, _, _ = ridden("volume", 1)
    sides = grouped(riders)[0], grouped(riders)[0]
    then = sides[0].ends(q), sides[1].ends(q)
    carried = q + np.array([0.3, -0.2, 0.1])
    assert approach_bound(sides, (carried, carried), then).max() < 1e-14


def test_only_some_groups_are_looked_at_again():
    _, riders, q, trial, rng = ridden("beam", 2)
    side = grouped(riders)[0]
    trial.dx = 0.01 * rng.normal(size=trial.dx.shape)
    now, groups = trial.positions(), np.array([False, True, False])
    mixed = side.updated(side.ends(q), now, groups)
    assert approach_bound((side, side), (now, now), (mixed, mixed))[1] == pytest.approx(0.0, abs=1e-14)
    wanted = approach_bound((side, side), (now, now), (side.ends(q), side.ends(q)))
    assert np.array_equal(approach_bound((side, side), (now, now), (mixed, mixed))[[0, 2]], wanted[[0, 2]])


@pytest.mark.parametrize("kind", BODIES)
def test_blocks_hold_the_derivatives(kind):
    model, riders, _, trial, rng = ridden(kind, 3)
    trial.dx = 0.01 * rng.normal(size=trial.dx.shape)
    q = trial.positions()
    values, columns = riders.blocks(q)
    whole = np.zeros((len(values), 3, model.size))
    for point in range(len(values)):
        np.add.at(whole[point], (slice(None), columns[point]), values[point])
    wanted = riders.pull_back(q, sparse.identity(3 * len(values), format="csr"))
    assert np.allclose(whole.reshape(-1, model.size), wanted.toarray(), atol=1e-12)


@pytest.mark.parametrize("kind", BODIES)
def test_selected_points_are_the_same_points(kind):
    _, riders, q, _, _ = ridden(kind, 4)
    which = np.array([5, 2, 2, 40])
    assert np.allclose(riders.selected(which).points(q), riders.points(q)[which])


def test_groups_without_points_bound_nothing():
    """A side that has no point in reach, and a group that none belongs to."""
    _, riders, q, _, _ = ridden("volume", 0)
    none = EmbeddedGroups.build(riders, [], [], 2)
    some = EmbeddedGroups.build(riders, [3], [1], 2)
    assert none.start.tolist() == [0, 0, 0]
    assert some.start.tolist()[:2] == [0, 0]
    assert approach_bound((none, some), (q, q + 0.1), (none.ends(q), some.ends(q))).tolist() == [0.0, 0.0]
