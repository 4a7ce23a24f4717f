"""The memory of a reduced volume: its forces and stiffness are those of the full one, and few points follow it."""

import numpy as np
import pytest

import pliant as pl
from pliant.core.errors import InputError
from pliant.materials import Tangent
from pliant.models.model import StepStart
from pliant.models.scheme import euler_scheme, midpoint_scheme
from pliant.reduced import Subspace
from pliant.reduction import ecsw, pod
from pliant.world.reduced import reduced

RUBBER = {"young": 2e5, "poisson": 0.45, "density": 1e3}
KINDS = (pl.materials.NeoHookean, pl.materials.Corotated, pl.materials.Linear)
LAWS = {kind.__name__: kind(**RUBBER) for kind in KINDS}
BRANCHES = [(0.3, 0.05), (0.2, 0.5)]


def arm(material, cells=(4, 1, 1), free=False, **options):
    scene = pl.Scene(gravity=(0, 0, -9.81))
    clamp = None if free else pl.regions.plane(axis="x", at=0.0)
    body = scene.add(pl.Volume(pl.mesh.box((0.1, 0.02, 0.02), cells), material, clamp=clamp, name="arm", **options))
    return scene.compile(), body


def with_modes(world, body, count=4):
    """The body in random modes, at all integration points."""
    (model,) = world.models
    modes = np.random.default_rng(3).normal(size=(model.rest.size, count))
    modes[model.constrained.ravel()] = 0.0
    return reduced(world, [Subspace(body, modes, rest=model.rest, point_count=model.points.count)])


@pytest.mark.parametrize("scheme", [euler_scheme(0.02), midpoint_scheme(0.02)])
@pytest.mark.parametrize("law", LAWS)
def test_forces_along_the_modes_are_those_of_the_full_body(law, scheme):
    world, body = arm(pl.materials.Viscoelastic(LAWS[law], BRANCHES, viscosity=1e-3))
    few = with_modes(world, body)
    (full,), (model,) = world.models, few.models
    q, v = full.initial()
    history = 1e3 * np.random.default_rng(0).normal(size=full.memory.start(q).shape)
    dx = model.nearest(q + 1e-3 * np.random.default_rng(1).normal(size=q.shape)) - q
    start = StepStart(q, v, scheme, world.gravity, {}, history=history)
    mine, other = model.trial(start).at(dx), full.trial(start).at(dx)
    here = model.chart.at(mine.evaluation_point())
    along, expected = here.forces(mine.residual().r), here.forces(other.residual().r)
    np.testing.assert_allclose(along, expected, rtol=0, atol=1e-10 * np.abs(expected).max())
    np.testing.assert_allclose(mine.full_residual(mine.residual(), None).r, other.residual().r, atol=1e-12)
    np.testing.assert_allclose(mine.history(), other.history(), rtol=0, atol=1e-6)

    system, _ = mine.linearize(Tangent.EXACT)
    way = (model.chart.modes @ np.array([1.0, -0.5, 0.3, 0.8])).reshape(q.shape)
    way *= 1e-3 / np.abs(way).max()
    ahead, back = (mine.at(dx + h * way).residual().r for h in (1e-3, -1e-3))
    slope = here.forces(back - ahead) / 2e-3
    wanted = here.forces(system.product(way))
    np.testing.assert_allclose(slope, wanted, rtol=0, atol=1e-5 * np.abs(wanted).max())


def test_a_free_body_remembers_in_its_own_frame():
    """A turned body with the same history has the same forces along its modes."""
    world, body = arm(pl.materials.Viscoelastic(LAWS["NeoHookean"], BRANCHES), free=True)
    few = with_modes(world, body)
    (model,) = few.models
    q, v = model.initial()
    shape = model.nearest(q + 1e-3 * np.random.default_rng(1).normal(size=q.shape))
    R = pl.mesh.mesh.rotation_matrix((0.3, -0.5, 0.8))
    history = 1e3 * np.random.default_rng(0).normal(size=model.memory.start(q).shape)
    found = []
    for x in (shape, shape @ R.T):
        trial = model.trial(StepStart(x, v, euler_scheme(0.02), np.zeros(3), {}, history=history))
        found.append((trial.residual().r, trial.history()))
    np.testing.assert_allclose(found[1][0], found[0][0] @ R.T, rtol=0, atol=1e-8 * np.abs(found[0][0]).max())
    np.testing.assert_allclose(found[1][1], found[0][1], rtol=0, atol=1e-6 * np.abs(found[0][1]).max())


def swung(world, stepper, count):
    """Positions of the nodes at each step under gravity that turns, and the last state and info."""
    state, found, info = world.initial_state(), [], None
    for k in range(count):
        turn = 2.0 * np.pi * k / count
        state, info = stepper(world, state, {"gravity": (0.0, 2.0 * np.sin(3.0 * turn), -9.81 * np.cos(turn))})
        found.append(state.q[0])
    return np.array(found), state, info


@pytest.fixture(scope="module")
def sampled():
    """A viscoelastic arm, the same in few modes and points, and its motion: (full, few, body, motion)."""
    world, body = arm(pl.materials.Viscoelastic(LAWS["NeoHookean"], BRANCHES), cells=(6, 2, 1))
    motion, _, _ = swung(world, pl.ImplicitEuler(dt=0.01), 80)
    (model,) = world.models
    space = pod(model, motion[::2], size=8).subspace()
    return world, reduced(world, [ecsw(model, space, motion[::2], tolerance=1e-2)]), body, motion


@pytest.mark.parametrize("stepper", [pl.ImplicitEuler(dt=0.01), pl.DampedMidpoint(dt=0.02)])
def test_few_points_follow_the_full_body(sampled, stepper):
    world, few, _, motion = sampled
    wanted, _, _ = swung(world, stepper, 40)
    found, state, _ = swung(few, stepper, 40)
    assert len(state.histories[0]) < 0.2 * len(world.models[0].memory.points.weight)
    assert np.abs(found - wanted).max() < 0.03 * np.ptp(motion, axis=0).max()


def test_memory_matters_to_the_reduced_body(sampled):
    """Relaxed, it sags twice as far as at once."""
    _, few, body, _ = sampled
    sudden, _ = pl.QuasiStatic(viscoelastic="instantaneous")(few, few.initial_state())
    relaxed, info = pl.QuasiStatic()(few, sudden)
    ratio = relaxed.displacements(body)[:, 2].min() / sudden.displacements(body)[:, 2].min()
    assert 1.8 < ratio < 2.3
    weight = 9.81 * few.models[0].mass.nodal.sum()
    assert info.reaction(body)[:, 2].sum() == pytest.approx(weight, rel=0.15), "relaxed, all stresses are known"


def test_a_saved_state_and_a_saved_world_go_on(sampled, tmp_path):
    _, few, body, _ = sampled
    run = pl.simulate(few, pl.ImplicitEuler(dt=0.01), until=0.05)
    run.save(tmp_path / "run.npz")
    again = pl.load(tmp_path / "run.npz").replay()
    assert np.array_equal(again.points("arm"), run.points(body))
    state, _ = pl.ImplicitEuler(dt=0.01)(few, few.initial_state())
    loaded = few.load_state(state.save(tmp_path / "state.npz"))
    assert np.array_equal(loaded.histories[0], state.histories[0])


def test_what_few_points_do_not_know_is_said(sampled):
    _, few, body, _ = sampled
    state, info = pl.ImplicitEuler(dt=0.01)(few, few.initial_state())
    assert np.isnan(info.full_order_residual)
    with pytest.raises(InputError, match="integration points in use"):
        info.reaction(body)
    with pytest.raises(InputError, match="stresses of cells need all"):
        state.stress(body)


def test_a_finger_with_memory_is_reduced_in_one_call():
    """On pulls that it was not trained by; an elastic finger is off by 1.3 %."""
    material = pl.materials.Viscoelastic(
        pl.materials.NeoHookean(young=0.6e6, poisson=0.45, density=1080), [(0.2, 0.02), (0.1, 0.1), (0.1, 1.0)]
    )
    scene = pl.Scene(gravity=(0, 0, -9.81))
    scene.add(pl.robots.finger(material=material))
    world, stepper = scene.compile(), pl.ImplicitEuler(dt=0.01, newton_iterations=2)
    plan = pl.reduction.ramps(world, amplitude=0.018, steps=40)
    fast = pl.reduction.reduce(world, plan, motion_tolerance=2e-3, stepper=stepper)
    judged = pl.reduction.validate(fast, world, runs=1, stepper=stepper)
    assert judged.error < 0.03
    assert "not known" in str(judged)


def test_a_reduced_body_does_not_soften():
    world, body = arm(pl.materials.Mullins(LAWS["NeoHookean"], r=2.0, m=1e3))
    with pytest.raises(InputError, match="softens"):
        with_modes(world, body)
