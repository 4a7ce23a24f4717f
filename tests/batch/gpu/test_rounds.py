"""Contacts with balls and capsules by JAX: every step that of each copy alone, and planes ahead of a motion."""

import numpy as np
import pytest

jax = pytest.importorskip("jax", reason="needs the extra gpu")
import pliant as pl  # noqa: E402
from pliant.batch.gpu.arrays import Rounds, load, save  # noqa: E402
from pliant.batch.gpu.kinds import lower  # noqa: E402
from pliant.batch.gpu.precision import in_double  # noqa: E402
from pliant.batch.gpu.rounds import frames_around, gaps_of, planes_of  # noqa: E402
from pliant.collision import Capsule, Sphere, obstacle_contacts  # noqa: E402
from pliant.collision.speculative import MovingSide, on_predicted_motion  # noqa: E402
from pliant.world.reduced import reduced as reduced_world  # noqa: E402
from tests.batch.gpu.soft_beam import EULER, agrees, polynomials, scene_of, single_precision_agrees  # noqa: E402
from tests.scenes import DOWN  # noqa: E402

P = pl.parameters
COUNT = 3


def solids(radius=0.08):
    """A ball below the free end of the soft beam, an inclined wall on one side and a capsule on the other."""
    y = 0.0215 + radius
    return [
        pl.Obstacle.sphere(center=(0.09, 0.012, -0.0005 - radius), radius=radius, name="ball"),
        pl.Obstacle.plane(point=(0.1, -0.004, 0), normal=(-0.3, 1.0, 0.2), name="wall"),
        pl.Obstacle.capsule(start=(0.06, y, -0.05), end=(0.12, y, 0.09), radius=radius, name="capsule"),
    ]


@pytest.fixture(scope="module")
def touching():
    scene, body, cables, *obstacles = scene_of(obstacles=solids())
    vary = {
        P.Material(body, "young"): [2e5, 3e5, 5e5],
        P.Friction(body, obstacles[0]): [0.3, 0.4, 0.9],
        P.Gravity(): [DOWN, (0.0, -8.0, -9.81), (1.0, 12.0, -15.0)],
    }
    world = scene.compile()
    batch = pl.Batch(world, COUNT, vary=vary, device="jax", capacity=32, errors="keep")
    return world, batch, body, cables, obstacles


def test_lowered_worlds_are_saved(touching, tmp_path):
    lowered = lower(touching[0], [], slots=32)
    save(lowered, tmp_path / "world.npz")
    kept = load(tmp_path / "world.npz")
    assert jax.tree.structure(lowered) == jax.tree.structure(kept)
    for one, other in zip(jax.tree.leaves(lowered), jax.tree.leaves(kept), strict=True):
        np.testing.assert_array_equal(one, other)


def test_every_step_is_that_of_each_copy_alone(touching):
    _, batch, body, cables, obstacles = touching
    agrees(batch, body, cables, obstacles, steps=10)


def test_a_copy_whose_edges_are_stretched_beside_a_ball_stays_and_says_so(touching):
    """Twice as long, they would dip between vertices; away from the ball they may."""
    world, batch, body, *_ = touching
    start, rest, fixed = world.initial_state(), world.models[0].rest, world.models[0].constrained
    shapes = [np.where(fixed, rest, rest * [2.0, 1.0, 1.0] + moved) for moved in ([0.0, 0.0, 0.0], [0.0, -0.01, 0.05])]
    starts = [pl.State(world, 0.0, [q], start.v, np.zeros(0)) for q in (*shapes, rest)]
    states, infos = EULER(batch, batch.states(starts), {})
    assert set(infos.errors) == {0}
    assert "longer than 0.4 of its radius" in str(infos.errors[0])
    np.testing.assert_array_equal(states.points(body)[0], starts[0].q[0])


@pytest.mark.slow
def test_reduced_volumes_touch_them_too():
    scene, body, cables, *obstacles = scene_of(friction=0.0, obstacles=solids(0.12))
    world = scene.compile()
    made = reduced_world(world, [polynomials(world, body, 9, np.random.default_rng(0), sampled=True)])
    agrees(pl.Batch(made, COUNT, device="jax", capacity=32), body, cables, obstacles, steps=6)


@pytest.mark.slow
def test_single_precision_stays_near_double():
    scene, body, cables, *_ = scene_of(obstacles=solids())
    world = scene.compile()
    wide, single = (
        pl.Batch(world, COUNT, device="jax", capacity=32, precision=precision, errors="keep")
        for precision in ("float64", "float32")
    )
    single_precision_agrees(wide, single, body, cables, steps=6)


@pytest.mark.parametrize(
    "solid", [Sphere((0.01, 0.0, 0.02), 0.05), Capsule((0.0, 0.03, 0.0), (0.02, -0.05, 0.01), 0.04)]
)
def test_planes_are_those_ahead_of_the_motion(solid):
    """Random points near the solid, some inside, with motions toward it, past it and away."""
    rng, margin = np.random.default_rng(7), 0.004
    count = 400
    directions = rng.normal(size=(count, 3))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    between = solid.centers[0] + rng.uniform(size=(count, 1)) * (solid.centers[-1] - solid.centers[0])
    points = between + directions * (solid.radius + rng.uniform(-0.0005, margin, size=(count, 1)))
    motion = rng.normal(size=(count, 3)) * rng.choice([1e-6, 0.003, 0.03], size=(count, 1))
    found = obstacle_contacts(points, np.arange(count), solid, margin=margin)
    ahead = on_predicted_motion(
        found, MovingSide(None, motion), MovingSide(None, np.zeros((1, 3)), solid.distance),
        tolerance=0.01 * margin, pair=0,
    )  # fmt: skip
    node, ends = found.nodes_a[:, 0], solid.centers
    turned = np.einsum("mi,mi->m", ahead.normal, found.normal) < 1.0 - 1e-9
    assert turned.sum() > 15
    assert (~turned).sum() > 50
    own = Rounds(
        points - ends[0], np.tile(ends[-1] - ends[0], (count, 1)), np.full(count, solid.radius),
        np.tile(solid.numbers[7:], (count, 1)), np.full(1, 0.01 * margin), None,
    )  # fmt: skip
    with in_double():
        array = jax.numpy.asarray
        near = gaps_of(own, array(np.zeros((count, 3, 1))))[:, 0]
        gap, normal = planes_of(
            own, array(node[None]), array(np.zeros((1, len(node), 3))), array(motion[node][None]),
            array(np.full((1, len(node)), 0.01 * margin)),
        )  # fmt: skip
        frames = np.asarray(frames_around(normal))[0]
    np.testing.assert_allclose(near[node], found.gap, atol=1e-15)
    np.testing.assert_allclose(gap[0], ahead.gap, atol=1e-14)
    np.testing.assert_allclose(normal[0], ahead.normal, atol=1e-12)
    np.testing.assert_allclose(frames @ frames.swapaxes(1, 2), np.tile(np.eye(3), (len(node), 1, 1)), atol=1e-12)
    np.testing.assert_array_equal(frames[:, 0], normal[0])


@pytest.mark.parametrize(
    ("solid", "named"),
    [
        (pl.Obstacle.sphere(center=(0.05, 0.01, 0.1), radius=0.02, name="ball"), "edges of 28 mm in the pair"),
        (
            pl.Obstacle.cylinder(start=(0, 0, 0.1), end=(1, 0, 0.1), radius=0.07, name="bar"),
            "the pair 'volume – bar'",
        ),
        (pl.Obstacle.box(center=(0.05, 0.01, 0.1), size=(0.1, 0.1, 0.1), name="block"), "the pair 'volume – block'"),
    ],
)
def test_what_is_not_bounded_by_vertices_is_named(solid, named):
    scene, *_ = scene_of(obstacles=[solid])
    with pytest.raises(pl.PliantError, match=rf"cannot step {named}.*device='cpu'"):
        pl.Batch(scene.compile(), 2, device="jax")
