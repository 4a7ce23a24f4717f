"""The kind of body that `docs/extending.md` adds from outside, against closed forms: what the contract of bodies asks
is enough for every stepper, for contacts, welds, runs and files.
"""

import importlib.util
import sys
from pathlib import Path

import numpy as np
import pytest

import pliant as pl

MASS, STIFFNESS, GRAVITY = 0.01, 20.0, 9.81


@pytest.fixture(scope="module")
def example():
    path = Path(__file__).resolve().parents[2] / "examples" / "point_masses.py"
    spec = importlib.util.spec_from_file_location("point_masses", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


def hanging(example, **options):
    """One ball on a spring of 0.1 m below a fixed one."""
    scene = pl.Scene()
    given = {"radius": 0.01, "fixed": [0], **options}
    body = scene.add(example.PointMasses([(0, 0, 0), (0, 0, -0.1)], [(0, 1)], MASS, STIFFNESS, **given))
    return scene.compile(), body


def heights(stepper, world, count):
    """Displacement (count,) m of the lower ball, let go 5 mm below its rest."""
    start = world.initial_state()
    q = start.q[0].copy()
    q[1, 2] -= 0.005
    state, found = pl.State(world, 0.0, (q,), start.v, start.lam), []
    for _ in range(count):
        state, _ = stepper(world, state)
        found.append(state.q[0][1, 2] + 0.1)
    return np.array(found)


def test_the_midpoint_rule_oscillates_at_its_frequency(example):
    """x(n h) = x₀ cos(n φ) with tan(φ/2) = ω h/2, ω² = k/m."""
    h = 0.01
    world, _ = hanging(example)
    phase = 2.0 * np.arctan(0.5 * h * np.sqrt(STIFFNESS / MASS))
    expected = -0.005 * np.cos(phase * np.arange(1, 101))
    np.testing.assert_allclose(heights(pl.ImplicitMidpoint(h), world, 100), expected, atol=1e-11)


def test_implicit_euler_oscillates_and_decays_as_it_must(example):
    """With z = 1/(1 − i ω h) and v₋₁ = 0 at the start: x(n h) = x₀ Re((1 − i ω h) zⁿ⁺¹)…, here by its recurrence."""
    h = 0.01
    world, _ = hanging(example)
    x, v, expected = -0.005, 0.0, []
    for _ in range(50):
        v = (v - h * STIFFNESS / MASS * x) / (1.0 + h**2 * STIFFNESS / MASS)
        x += h * v
        expected.append(x)
    np.testing.assert_allclose(heights(pl.ImplicitEuler(h), world, 50), expected, atol=1e-12)


def test_a_chain_sags_by_what_hangs_below_each_spring(example):
    example.main()


def test_a_free_body_of_masses_has_six_open_motions(example):
    scene = pl.Scene(gravity=(0, 0, -GRAVITY))
    corners = [(0, 0, 0), (0.1, 0, 0), (0, 0.1, 0), (0, 0, 0.1)]
    scene.add(example.PointMasses(corners, [(i, j) for i in range(4) for j in range(i)], MASS, STIFFNESS))
    world = scene.compile()
    _, info = pl.QuasiStatic()(world, world.initial_state())
    (motion,) = info.rigid_motion
    assert motion.free_directions == 6
    np.testing.assert_allclose(motion.acceleration, [0, 0, -GRAVITY, 0, 0, 0], atol=1e-9)


def test_a_ball_rests_on_the_floor(example):
    scene = pl.Scene(gravity=(0, 0, -GRAVITY))
    ball = scene.add(example.PointMasses([(0, 0, 0.0105)], [], MASS, STIFFNESS, radius=0.01))
    floor = scene.add(pl.Obstacle.plane())
    scene.collide(ball, floor, friction=0.5)
    run = pl.simulate(scene.compile(), pl.ImplicitEuler(0.002), until=0.1)
    assert run.points(ball)[-1, 0, 2] == pytest.approx(0.01, abs=1e-9)
    np.testing.assert_allclose(run.contact_force(ball, floor)[-1], [0, 0, MASS * GRAVITY], atol=1e-9)


def test_a_ball_pushes_a_soft_block_and_a_rigid_body(example):
    """Weights arrive at the bottom: the block bears the ball, and the rigid plate bears another."""
    scene = pl.Scene(gravity=(0, 0, -GRAVITY))
    rubber = pl.materials.Corotated(young=1e5, poisson=0.3, density=1000)
    mesh = pl.mesh.box((0.04, 0.04, 0.02), (4, 4, 2))
    block = scene.add(pl.Volume(mesh, rubber, clamp=pl.regions.plane(axis="z", at=0)))
    ball = scene.add(example.PointMasses([(0.021, 0.019, 0.0302)], [], MASS, STIFFNESS, radius=0.01))
    scene.collide(ball, block)
    run = pl.simulate(scene.compile(), pl.ImplicitEuler(0.005), until=1.0)
    assert run.contact_force(ball, block)[-1, 2] == pytest.approx(MASS * GRAVITY, rel=1e-3)


def test_a_mass_welded_to_a_body_moves_with_it(example):
    """A ball that is welded to a heavy falling box falls with it, and stretches nothing."""
    scene = pl.Scene(gravity=(0, 0, -GRAVITY))
    box = scene.add(pl.RigidBody.box(size=(0.02,) * 3, mass=1.0))
    balls = scene.add(example.PointMasses([(0, 0, 0), (0, 0, 0.1)], [(0, 1)], MASS, STIFFNESS), position=(0, 0, 0.01))
    scene.attach(balls, box, points=[(0, 0, 0.01)])
    world, step = scene.compile(), pl.ImplicitEuler(0.01)
    state = world.initial_state()
    for _ in range(10):
        state, _ = step(world, state)
    fallen = state.pose(box)[0, 2]
    assert fallen < -0.04
    np.testing.assert_allclose(state.displacements(balls)[:, 2], fallen, atol=1e-9)


def test_it_is_recorded_saved_and_replayed(example, tmp_path):
    world, body = hanging(example)
    run = pl.simulate(world, pl.ImplicitEuler(0.01), until=0.05, control=lambda t, state: {"gravity": (0, 0, -GRAVITY)})
    loaded = pl.load(run.save(tmp_path / "masses.npz"))
    np.testing.assert_array_equal(loaded.points("masses"), run.points(body))
    assert loaded.surface_points("masses").shape == (6, 12, 3)
    np.testing.assert_array_equal(loaded.replay().points("masses"), run.points(body))
    assert loaded.world.thing("masses").stiffness == STIFFNESS


def test_what_it_does_not_offer_is_refused(example):
    world, body = hanging(example)
    with pytest.raises(pl.InputError, match="'masses' is not a rod"):
        world.initial_state().strains(body)
    scene = pl.Scene()
    scene.add(body)
    scene.add(pl.PointLoad(body, pl.regions.nodes([1]), (0, 0, 1)))
    with pytest.raises(pl.InputError, match="PointMasses, which takes no PointLoad"):
        scene.compile()
    with pytest.raises(pl.InputError, match="self-contact"):
        scene.collide(body, body)
