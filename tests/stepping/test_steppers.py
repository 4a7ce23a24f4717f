"""The contract of every stepper: checked input, a new state, an honest report."""

from dataclasses import replace

import numpy as np
import pytest

import pliant as pl
from pliant.core.errors import ConvergenceError, InputError
from pliant.stepping.session import warm_start
from scenes import loaded_bar

DYNAMIC = [pl.ImplicitEuler, pl.ImplicitMidpoint, pl.DampedMidpoint]
RUBBER = {"young": 5e5, "poisson": 0.4, "density": 1e3}


def beam(law=pl.materials.NeoHookean, gravity=(0, 0, -9.81), **options):
    return loaded_bar(material=law(**RUBBER), gravity=gravity, name="beam", **options)


@pytest.mark.parametrize("stepper", DYNAMIC)
@pytest.mark.parametrize("dt", [0.0, -0.01, np.nan, np.inf, "fast"])
def test_dt_is_checked(stepper, dt):
    with pytest.raises(InputError, match=r"dt must be .*\(in s\), got"):
        stepper(dt=dt)


@pytest.mark.parametrize("stepper", [*DYNAMIC, pl.QuasiStatic])
@pytest.mark.parametrize(("option", "value"), [("tolerance", 0.0), ("tolerance", np.nan), ("newton_iterations", 0)])
def test_options_are_checked(stepper, option, value):
    needed = {} if stepper is pl.QuasiStatic else {"dt": 0.01}
    with pytest.raises(InputError, match=f"{option} must be"):
        stepper(**needed, **{option: value})


@pytest.mark.parametrize(
    "step", [pl.ImplicitEuler(0.01), pl.ImplicitMidpoint(0.01), pl.DampedMidpoint(0.01), pl.QuasiStatic()]
)
def test_a_step_leaves_its_input_and_reports(step):
    world, body, _ = beam()
    state = world.initial_state()
    before = state.q[0].copy()
    after, info = step(world, state)
    np.testing.assert_array_equal(state.q[0], before)
    assert after is not state
    assert np.abs(after.displacements(body)).max() > 0.0
    assert info.status.ok
    assert info.iterations >= 1
    assert 0.0 <= info.linear_residual < 1e-9
    assert {"linearize", "factorize", "solve"} <= set(info.stage_times)
    assert all(seconds >= 0.0 for seconds in info.stage_times.values())
    assert info.residual < 1.0
    assert not after.displacements(body)[world.models[0].constrained].any()


def test_time_advances_by_dt_and_stands_still_in_statics():
    world, _, _ = beam()
    state, _ = pl.ImplicitEuler(dt=0.02)(world, world.initial_state())
    assert state.time == pytest.approx(0.02)
    still, _ = pl.QuasiStatic()(world, state)
    assert still.time == state.time
    assert not still.v[0].any()


def test_iterations_and_status_say_what_was_done():
    world, _, _ = beam()
    start = world.initial_state()
    for count in (1, 3):
        _, info = pl.ImplicitEuler(dt=0.05, newton_iterations=count)(world, start)
        assert (info.status, info.iterations) == (pl.Status.FIXED_ITERATIONS, count)
    _, converged = pl.ImplicitEuler(dt=0.05, tolerance=1e-9)(world, start)
    assert converged.status is pl.Status.CONVERGED
    assert converged.residual <= 1e-9
    assert converged.iterations > 1


def test_more_iterations_come_closer():
    """The nonlinear residual of one linear solve is reported, and falls with further ones."""
    world, _, load = beam()
    residuals = []
    for count in (1, 2, 4):
        step = pl.ImplicitEuler(dt=0.02, newton_iterations=count)
        residuals.append(step(world, world.initial_state(), {load: pl.Force((0, 0, -0.5))})[1].residual)
    assert residuals[0] > 3 * residuals[1] > 9 * residuals[2]


def test_one_solve_of_a_linear_material_is_exact():
    world, _, _ = beam(pl.materials.Linear)
    _, info = pl.ImplicitEuler(dt=0.05)(world, world.initial_state())
    assert info.residual < 1e-10


def test_quasi_static_in_real_time_follows_the_equilibrium():
    """`newton_iterations=1`, called again and again, reaches the equilibrium of the converged call."""
    world, body, load = beam()
    controls = {load: pl.Force((0, 0, -0.5))}
    expected, _ = pl.QuasiStatic(tolerance=1e-10)(world, world.initial_state(), controls)
    step, state = pl.QuasiStatic(newton_iterations=1), world.initial_state()
    for _ in range(12):
        state, info = step(world, state, controls)
    assert (info.status, info.iterations) == (pl.Status.FIXED_ITERATIONS, 1)
    np.testing.assert_allclose(state.points(body), expected.points(body), atol=1e-8)


def test_large_loads_are_stepped():
    """A load that bends the beam to half its length in one call; the result is an equilibrium."""
    world, body, load = beam(gravity=(0, 0, 0))
    state, info = pl.QuasiStatic()(world, world.initial_state(), {load: pl.Force((0, 0, -8.0))})
    assert info.residual <= 1e-8
    assert np.abs(state.displacements(body)).max() > 0.1
    np.testing.assert_allclose(info.reaction(body).sum(axis=0), [0, 0, 8.0], atol=1e-5)


def test_a_static_failure_carries_the_best_state_and_leaves_the_start():
    """A neo-Hookean balloon has a greatest pressure; thin walls reach it at the stretch 7^(1/6) = 1.38 (Ogden 1972)."""
    scene = pl.Scene()
    mesh = pl.mesh.shell(0.010, 0.0105, cells=(1, 3), octant=True, element="hex8")
    body = scene.add(pl.Volume(mesh, pl.materials.NeoHookean(young=3e5, poisson=0.49, density=1e3)))
    for axis in "xyz":
        scene.add(pl.Support(body, pl.regions.plane(axis=axis, at=0.0), axes=axis))
    inside = scene.add(pl.PressureLoad(body, pl.regions.sphere((0, 0, 0), 0.01001), 0.0))
    world = scene.compile()
    start = world.initial_state()
    stretch = 7 ** (1 / 6)
    greatest = 2 * 1e5 * 0.05 * (1 / stretch - 1 / stretch**7)
    pl.QuasiStatic()(world, start, {inside: pl.Pressure(0.8 * greatest)})
    with pytest.raises(
        ConvergenceError, match=r"no equilibrium found beyond \d+\.\d% of the load.*take smaller"
    ) as caught:
        pl.QuasiStatic()(world, start, {inside: pl.Pressure(1.5 * greatest)})
    best = caught.value.result
    assert isinstance(best, pl.State)
    radius = np.linalg.norm(best.points(body), axis=1).min() / 0.010
    assert 1.15 < radius < 1.5
    np.testing.assert_array_equal(start.q[0], mesh.points)


@pytest.mark.parametrize("anti_locking", [False, True])
def test_an_equilibrium_of_inverted_elements_is_no_answer(anti_locking):
    """St Venant–Kirchhoff: P = E/2 (s³ − s) has no root in s > 0 below −0.1925 E, but one in s < 0."""
    scene = pl.Scene()
    mesh = pl.mesh.box((0.1, 0.1, 0.1), (2, 2, 2))
    material = pl.materials.StVenantKirchhoff(young=1e5, poisson=0.0, density=1e3)
    options = {"clamp": pl.regions.plane(axis="x", at=0.0), "anti_locking": anti_locking}
    body = scene.add(pl.Volume(mesh, material, **options))
    scene.add(pl.Support(body, pl.regions.everything(), axes="yz"))
    push = scene.add(pl.TractionLoad(body, pl.regions.plane(axis="x", at=0.1), (0, 0, 0)))
    world = scene.compile()
    state, _ = pl.QuasiStatic()(world, world.initial_state(), {push: pl.Traction((-0.18e5, 0, 0))})
    s = state.points(body)[:, 0].max() / 0.1
    assert 0.5 * (s**3 - s) == pytest.approx(-0.18, rel=1e-6)
    with pytest.raises(ConvergenceError, match="no equilibrium found beyond") as caught:
        pl.QuasiStatic()(world, world.initial_state(), {push: pl.Traction((-0.5e5, 0, 0))})
    assert caught.value.result.points(body)[:, 0].max() / 0.1 > 1 / np.sqrt(3.0) - 1e-3


@pytest.mark.parametrize("law", [pl.materials.Corotated, pl.materials.NeoHookean])
def test_bodies_far_from_the_origin_converge_to_round_off(law):
    """100 m away the last bit of a position is 1e-14 m: a tolerance below what that allows is no error."""
    scene = pl.Scene(gravity=(0, 0, -1e-3))
    mesh = pl.mesh.box((0.2, 0.04, 0.04), (8, 2, 2))
    body = scene.add(pl.Volume(mesh, law(**RUBBER), clamp=pl.regions.plane(axis="x", at=0.0)), position=(100.0, 0, 0))
    world = scene.compile()
    near = pl.Scene(gravity=(0, 0, -1e-3))
    near.add(body)
    home = near.compile()
    for step in (pl.QuasiStatic(tolerance=1e-12), pl.ImplicitEuler(dt=0.01, tolerance=1e-12)):
        far, info = step(world, world.initial_state())
        expected, _ = step(home, home.initial_state())
        assert info.status is pl.Status.CONVERGED
        scale = np.abs(expected.displacements(body)).max()
        np.testing.assert_allclose(far.displacements(body), expected.displacements(body), atol=1e-3 * scale)


@pytest.mark.parametrize("stepper", DYNAMIC)
def test_an_absurd_load_raises_and_leaves_the_start(stepper):
    world, _, load = beam()
    start, _ = stepper(dt=0.01)(world, world.initial_state())
    before = start.q[0].copy()
    with pytest.raises(pl.PliantError, match=r"smaller (dt|step)"):
        stepper(dt=0.01, tolerance=1e-10)(world, start, {load: pl.Force((0, 0, -1e9))})
    np.testing.assert_array_equal(start.q[0], before)
    again, _ = stepper(dt=0.01)(world, start)
    assert np.isfinite(again.q[0]).all()


def test_a_spoilt_state_is_refused():
    """NaN in the positions does not travel on."""
    world, _, _ = beam()
    q = world.models[0].rest.copy()
    q[20, 1] = np.nan
    with pytest.raises(pl.PliantError, match="finite"):
        pl.State(world, 0.0, (q,), (np.zeros_like(q),), np.zeros(0))
    spoilt = pl.State.of(world, 0.0, (q,), (np.zeros_like(q),), np.zeros(0), None, (), ())  # as steps make theirs
    for step in (pl.ImplicitEuler(dt=0.01), pl.ImplicitMidpoint(dt=0.01), pl.QuasiStatic()):
        with pytest.raises(pl.PliantError):
            step(world, spoilt)


def test_unclamped_bodies_move():
    world, body, _ = beam(clamp=None)
    state, info = pl.ImplicitEuler(dt=0.01)(world, world.initial_state())
    np.testing.assert_allclose(state.displacements(body)[:, 2], -9.81e-4, rtol=1e-9)
    assert info.status.ok


def test_mass_damping_slows_a_free_fall():
    """dv/dt = g − α v: implicit Euler gives v⁺ = (v + h g)/(1 + α h), exactly."""
    world, body, _ = beam(clamp=None, damping=pl.Rayleigh(mass=5.0))
    state, v = world.initial_state(), 0.0
    for _ in range(10):
        state, _ = pl.ImplicitEuler(dt=0.02)(world, state)
        v = (v - 9.81 * 0.02) / (1 + 5.0 * 0.02)
    np.testing.assert_allclose(state.velocities(body)[:, 2], v, rtol=1e-9)


def test_stiffness_damping_spares_rigid_motion_and_calms_vibration():
    free, body, _ = beam(clamp=None, damping=pl.Rayleigh(stiffness=0.1))
    state, _ = pl.ImplicitEuler(dt=0.01)(free, free.initial_state())
    np.testing.assert_allclose(state.velocities(body)[:, 2], -9.81 * 0.01, rtol=1e-9)
    left = []
    for stiffness in (0.0, 0.02):
        world, _, load = beam(gravity=(0, 0, 0), damping=pl.Rayleigh(stiffness=stiffness))
        state, _ = pl.QuasiStatic()(world, world.initial_state(), {load: pl.Force((0, 0, -0.5))})
        step = pl.ImplicitMidpoint(dt=0.005)
        for _ in range(60):
            state, _ = step(world, state)
        left.append(world.energy(state)["total"])
    assert left[1] < 0.2 * left[0]


def test_damping_is_that_of_the_matrix():
    """Linear law: one Euler step solves (M/h² + (αM + βK)/h + K) dx = M v/h + f."""
    from pliant.materials import Tangent
    from pliant.solvers.linear.matrix import BlockMatrix

    alpha, beta, dt = 2.0, 0.03, 0.01
    world, body, _ = beam(pl.materials.Linear, damping=pl.Rayleigh(mass=alpha, stiffness=beta))
    model = world.models[0]
    start, _ = pl.ImplicitEuler(dt=dt)(world, world.initial_state())
    values = np.empty((model.pattern.block_count, 3, 3))
    model.assemble(model.rest, mass=0.0, stiffness=1.0, tangent=Tangent.EXACT, values=values)
    K = BlockMatrix(model.pattern, values).to_scipy().toarray()
    M = np.diag(np.repeat(model.mass.nodal, 3))
    free = ~model.constrained.ravel()
    A = M / dt**2 + (alpha * M + beta * K) / dt + K
    u = (start.q[0] - model.rest).ravel()
    f = (model.mass.nodal[:, None] * world.gravity).ravel()
    r = f - K @ u + M @ start.v[0].ravel() / dt
    dx = np.zeros(len(r))
    dx[free] = np.linalg.solve(A[np.ix_(free, free)], r[free])
    after, _ = pl.ImplicitEuler(dt=dt)(world, start)
    np.testing.assert_allclose((after.points(body) - start.points(body)).ravel(), dx, atol=1e-9 * np.abs(dx).max())


def test_two_bodies_are_solved_side_by_side():
    """Bodies that do not touch move as if alone."""
    scene = pl.Scene(gravity=(0, 0, -9.81))
    clamp = pl.regions.plane(axis="x", at=0.0)
    soft, stiff = (pl.materials.NeoHookean(**{**RUBBER, "young": young}) for young in (2e5, 8e5))
    mesh = pl.mesh.box((0.2, 0.04, 0.04), (6, 2, 2))
    bodies = [scene.add(pl.Volume(mesh, m, clamp=clamp, name=n)) for m, n in ((soft, "soft"), (stiff, "stiff"))]
    together = scene.compile()
    state = together.initial_state()
    for _ in range(5):
        state, _ = pl.ImplicitEuler(dt=0.01)(together, state)
    for body in bodies:
        alone = pl.Scene(gravity=(0, 0, -9.81))
        alone.add(body)
        world = alone.compile()
        single = world.initial_state()
        for _ in range(5):
            single, _ = pl.ImplicitEuler(dt=0.01)(world, single)
        np.testing.assert_array_equal(single.points(body), state.points(body))


def test_an_actuator_is_not_known_by_its_name():
    """A string is no list of actuators."""
    scene = pl.Scene()
    robot = scene.add(pl.robots.finger())
    world = scene.compile()
    _, info = pl.ImplicitEuler(0.01)(world, world.initial_state(), {robot.cable: pl.Displacement(0.001)})
    with pytest.raises(InputError, match="cable"):
        info.actuation("cable")


def test_inverted_elements_are_reported():
    """Corotated elements have no barrier: the step goes on, and says so."""
    world, _, _ = beam(pl.materials.Corotated)
    state, step = world.initial_state(), pl.ImplicitEuler(dt=1e-5)
    _, info = step(world, state)
    assert info.warnings == ()
    mirrored = type(state)(world, 0.0, (state.q[0] * (1.0, 1.0, -1.0),), state.v, state.lam)
    _, info = step(world, mirrored)
    assert "'beam' has inverted elements" in info.warnings[0]
    with pytest.warns(pl.PliantWarning, match="has inverted elements"):
        pl.simulate(world, step, until=1e-5, start=mirrored)


def test_bodies_factorized_by_two_threads_move_as_by_one(monkeypatch):
    """Not a bit differs."""
    monkeypatch.setattr("pliant.stepping.stages._SHARED", 0.0)
    scene = pl.Scene(gravity=(0, 0, -9.81))
    for index in range(3):
        mesh = pl.mesh.box((0.02, 0.01, 0.01), (2 + index, 1, 1)).translated((0, 0.05 * index, 0))
        scene.add(pl.Volume(mesh, pl.materials.Corotated(**RUBBER), clamp=pl.regions.plane(axis="x", at=0)))
    world = scene.compile()
    ends = []
    for threads in (1, 2):
        stepper, state = pl.ImplicitEuler(dt=0.01, threads=threads), world.initial_state()
        for _ in range(3):
            state, _ = stepper(world, state)
        ends.append(state.q)
    for one, two in zip(*ends, strict=True):
        np.testing.assert_array_equal(one, two)


def test_forces_of_the_last_step_are_found_again_by_their_keys():
    scene = pl.Scene()
    scene.add(pl.RigidBody.sphere(radius=0.01, mass=0.1))
    start = replace(scene.compile().initial_state(), lam=np.array([3.0, 5.0, 7.0]), keys=np.array([30, 50, 70]))
    np.testing.assert_array_equal(warm_start(start, np.array([70, 40, 30])), [7.0, 0.0, 3.0])
    assert warm_start(replace(start, lam=np.zeros(0), keys=np.zeros(0, np.int64)), np.array([30])) is None
    assert warm_start(replace(start, keys=None), np.array([30])) is None
