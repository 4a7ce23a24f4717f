"""Contacts between rods and beams: rows, third law, self-contact, files, messages."""

import numpy as np
import pytest

import pliant as pl
from pliant.constraints.rows import RowView
from pliant.constraints.slender import SlenderPair
from pliant.models.model import StepStart
from pliant.models.scheme import STATIC_SCHEME

OPTIONS = {"section": pl.sections.Circle(0.004), "young": 1e7, "poisson": 0.3, "density": 1e3}


def view_of(world, q, memory=None):
    return RowView.of(world.models, q, memory=memory)


def bent_pair(kind, friction=0.5):
    """A curved rod over another body, crossing it once and running beside it elsewhere."""
    scene = pl.Scene()
    bend = (0.3, -0.8, 1.0, 0, 0, 0)
    a = scene.add(pl.Rod(0.2, 5, position=(-0.1, 0.01, 0.0079), base="free", rest_strain=bend, name="a", **OPTIONS))
    if kind == "rod":
        b = pl.Rod(0.2, 4, position=(-0.08, -0.02, 0), rotation=(0, 0, 0.4), base="free", name="b", **OPTIONS)
    else:
        b = pl.Beam(np.linspace((-0.08, -0.03, 0), (0.1, 0.05, 0.01), 6), name="b", **OPTIONS)
    scene.add(b)
    scene.collide(a, b, friction=friction, margin=0.01, allow_overlap=True)
    return scene.compile(), a, b


def moved(world, q, dx):
    """Positions after displacements, as steppers apply them."""
    out = []
    for model, x, d in zip(world.models, q, dx, strict=True):
        trial = model.trial(StepStart(x, model.initial()[1], STATIC_SCHEME, np.zeros(3), {}))
        trial.dx = trial.moved(trial.dx, d, 1.0)
        out.append(trial.positions())
    return out


@pytest.mark.parametrize("kind", ["rod", "beam"])
def test_rows_are_the_derivatives_of_the_gaps(kind):
    world, *_ = bent_pair(kind, friction=0.0)
    pair, q = world.constraints[0], [model.initial()[0] for model in world.models]
    rows, memory = pair.rows_at(view_of(world, q))
    assert rows.count > 6
    rng = np.random.default_rng(0)
    for _ in range(4):
        dx = [np.where(m.constrained, 0.0, rng.normal(size=m.constrained.shape)) for m in world.models]
        ahead, behind = (
            pair.contact_set(view_of(world, moved(world, q, [s * 1e-6 * x for x in dx])), memory.contacts)
            for s in (1, -1)
        )
        keys = [(c.key * 3) for c in (ahead, behind)]
        same = np.isin(rows.key, keys[0]) & np.isin(rows.key, keys[1])
        assert same.sum() > 5
        places = [np.searchsorted(k, rows.key[same]) for k in keys]
        slope = (ahead.gap[places[0]] - behind.gap[places[1]]) / 2e-6
        exact = sum(h @ x.ravel() for h, x in zip(rows.H, dx, strict=True))[same]
        np.testing.assert_allclose(slope, exact, atol=2e-4 * np.abs(exact).max())


@pytest.mark.parametrize("kind", ["rod", "beam"])
def test_no_row_feels_a_rigid_motion_of_both(kind):
    """Action and reaction, forces and moments: translations and rotations of both together change no gap or slip."""
    world, *_ = bent_pair(kind)
    pair, q = world.constraints[0], [model.initial()[0] for model in world.models]
    rows, _ = pair.rows_at(view_of(world, q))
    for axis in range(6):
        shift, turn = np.eye(6)[axis].reshape(2, 3)
        change = 0.0
        for h, x, model in zip(rows.H, q, world.models, strict=True):
            rigid = np.zeros(model.constrained.shape)
            if x.ndim == 3:
                rigid[:, 0], rigid[:, 1] = shift + np.cross(turn, x[:, 0]), turn
            else:
                rigid[0], rigid[1] = shift + np.cross(turn, x[0]), turn
            change = change + h @ rigid.ravel()
        np.testing.assert_allclose(change, 0.0, atol=1e-12)


def test_a_rod_bent_onto_itself_stops_there():
    """A moment at the tip rolls a rod up beyond a full circle: its tip comes to lie on its base, two radii away."""
    scene = pl.Scene()
    length, bending = 0.3, 1e7 * np.pi / 4 * 0.004**4
    rod = scene.add(pl.Rod(length, 16, damping=pl.Rayleigh(stiffness=0.1, mass=2.0), **OPTIONS))
    load = scene.add(pl.RodLoad(rod, length, (0, 0, 0)))
    scene.collide(rod, rod)
    world = scene.compile()
    assert isinstance(world.constraints[0], SlenderPair)
    state, step, least = world.initial_state(), pl.ImplicitEuler(0.01), 1.0
    for k in range(150):
        moment = 1.1 * bending * 2 * np.pi / length * min(1.0, k / 120)
        state, info = step(world, state, {load: pl.Wrench([(0, 0, 0), (0, 0, moment)])})
        gaps = state.memories[0].contacts.gap
        least = min(least, gaps.min() if len(gaps) else 1.0)
    assert len(info.lam) > 0
    assert info.lam.max() > 1e-3
    assert least > -2e-4
    tip = state.points(rod)[-1]
    assert tip[0] > 0.004, "the tip has come round to the base"
    assert abs(tip[1]) == pytest.approx(0.0075, abs=1e-3), "on its outside or its inside"


def test_a_network_of_beams_touches_itself_only_where_it_meets():
    """Two legs of a fork are pressed together at their tips."""
    points = [(0, 0, 0), (0.02, 0, 0), (0.06, 0.015, 0), (0.1, 0.015, 0), (0.06, -0.015, 0), (0.1, -0.015, 0)]
    fork = pl.Beam(points, edges=[(0, 1), (1, 2), (2, 3), (1, 4), (4, 5)], clamp=[0], **OPTIONS)
    scene = pl.Scene()
    scene.add(fork)
    scene.add(pl.PointLoad(fork, [3], (0, -1.0, 0)))
    scene.add(pl.PointLoad(fork, [5], (0, 1.0, 0)))
    scene.collide(fork, fork, margin=0.03)
    world = scene.compile()
    state, _ = pl.QuasiStatic()(world, world.initial_state())
    apart = state.points(fork)[3] - state.points(fork)[5]
    assert apart[1] == pytest.approx(0.008, abs=1e-5)
    np.testing.assert_allclose(apart[[0, 2]], 0.0, atol=1e-6)


def test_pairs_are_saved_with_their_world_and_states(tmp_path):
    world, *_ = bent_pair("rod")
    state, _ = pl.ImplicitEuler(0.001)(world, world.initial_state())
    world.save(tmp_path / "world.npz")
    again = pl.load(tmp_path / "world.npz")
    assert isinstance(again.constraints[0], SlenderPair)
    other, _ = pl.ImplicitEuler(0.001)(again, again.initial_state())
    np.testing.assert_array_equal(other.q[0], state.q[0])


def test_bodies_that_begin_in_each_other_are_named():
    scene = pl.Scene()
    named = (("one", 0.0), ("two", 0.005))
    one, two = (scene.add(pl.Rod(0.1, 2, position=(0, y, 0), name=name, **OPTIONS)) for name, y in named)
    scene.collide(one, two)
    with pytest.raises(pl.PliantError, match="'one' overlaps 'two' by 3 mm"):
        scene.compile()


def test_exclude_leaves_out_a_region_and_capacity_is_a_limit():
    def made(**options):
        scene = pl.Scene()
        one, two = (scene.add(pl.Rod(0.1, 4, position=(0, y, 0), name=str(y), **OPTIONS)) for y in (0.0, 0.0081))
        scene.collide(one, two, **options)
        world = scene.compile()
        q = [model.initial()[0] for model in world.models]
        return world.constraints[0].rows_at(view_of(world, q))[0].count

    whole = made()
    assert made(exclude=pl.regions.box((0.05, -1, -1), (1, 1, 1))) < 0.6 * whole
    with pytest.raises(pl.CapacityError, match="capacity"):
        made(capacity=2)
