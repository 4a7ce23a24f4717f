"""The inverse of a robot: targets reached, limits kept, and what is refused."""

import numpy as np
import pytest

import pliant as pl
from pliant.core.errors import InfeasibleError, InputError
from scenes import BEAM as MESH
from scenes import BEAM_TIP as TIP
from scenes import cabled_beam as beam

CLAMP = pl.regions.plane(axis="x", at=0.0)
RUBBER = pl.materials.Corotated(young=2e5, poisson=0.3, density=1e3)


def inverse(effectors, actuators, **options):
    solver = pl.Inverse(effectors, actuators, **options)
    return pl.QuasiStatic(newton_iterations=None, tolerance=1e-9, dt=0.1, solver=solver)


def test_a_reachable_target_is_reached():
    """Three directions, four cables: the tip is where it was asked to be, by forces ≥ 0, and the report says so."""
    scene, body, cables = beam()
    tip, world = pl.Effector(body, TIP), scene.compile()
    target = np.add(TIP, (-0.004, 0.01, 0.02))
    state, info = inverse([tip], cables)(world, world.initial_state(), {tip: target})
    node = int(np.argmin(np.linalg.norm(MESH.points - TIP, axis=1)))
    distance = np.linalg.norm(state.points(body)[node] - target)
    print(f"distance {1e6 * distance:.2f} µm, forces {info.actuation(cables)[1]}")
    assert distance < 3e-4  # what the energy's ε trades away
    assert info.error(tip) == pytest.approx(distance, abs=1e-6)
    assert (info.actuation(cables)[1] >= 0.0).all()
    assert info.inverse.reached(info)
    assert info.inverse.friction_change == 0.0
    assert info.inverse.text(info).startswith("reached")


def test_without_energy_the_target_is_met_exactly():
    scene, body, cables = beam(cables="abc")
    tip, world = pl.Effector(body, TIP, directions=[(0, 1, 0), (0, 0, 1)]), scene.compile()
    _, info = inverse([tip], cables, energy_weight=0.0)(world, world.initial_state(), {tip: np.array(TIP) + 0.01})
    assert info.error(tip) < 1e-8


def test_forces_do_not_depend_on_the_unit_of_length():
    """The same robot in metres and in millimetres (E, ρ and g restated): the same forces to 1e-6."""
    found = {}
    for scale in (1.0, 1e3):
        scene, body, cables = beam(scale=scale, gravity=9.81)
        tip, world = pl.Effector(body, scale * np.array(TIP), tolerance=1e-3 * scale), scene.compile()
        state = world.initial_state()
        step = pl.ImplicitEuler(dt=0.02, solver=pl.Inverse([tip], cables))
        for k in range(5):
            state, info = step(world, state, {tip: scale * (np.array(TIP) + np.array([0, 0.002, 0.003]) * (k + 1))})
        found[scale] = info.actuation(cables)[1]
    print(found)
    np.testing.assert_allclose(found[1e3], found[1.0], rtol=1e-6, atol=1e-9)


def test_an_unreachable_target_gives_the_closest_point_within_limits():
    scene, body, cables = beam(max_force=0.3)
    tip, world = pl.Effector(body, TIP), scene.compile()
    target = np.add(TIP, (0.0, 0.0, 0.15))
    _, info = inverse([tip], cables)(world, world.initial_state(), {tip: target})
    forces = info.actuation(cables)[1]
    assert (forces >= 0.0).all()
    assert (forces <= 0.3 * (1 + 1e-9)).all()
    assert forces[1] == pytest.approx(0.3)  # the upper cable pulls as much as it may
    assert not info.inverse.reached(info)
    assert "b" in info.inverse.limited
    assert "as close as the actuators come, with" in info.inverse.text(info)
    other, _ = pl.QuasiStatic(tolerance=1e-9)(world, world.initial_state(), {cables[1]: pl.Force(0.25)})
    node = int(np.argmin(np.linalg.norm(MESH.points - TIP, axis=1)))
    assert info.error(tip) < np.linalg.norm(other.points(body)[node] - target)


def test_limits_of_displacement_and_of_change():
    scene, body, cables = beam(max_displacement=0.004, max_rate=0.01)
    tip, world = pl.Effector(body, TIP), scene.compile()
    state, step, last = world.initial_state(), inverse([tip], cables), np.zeros(4)
    for _ in range(6):
        state, info = step(world, state, {tip: np.add(TIP, (0.0, 0.03, 0.1))})
        now = info.actuation(cables)[0]
        assert (np.abs(now - last) <= 1e-3 * (1 + 1e-6)).all()
        assert (now <= 4e-3 * (1 + 1e-6)).all()
        last = now
    assert last.max() == pytest.approx(4e-3, rel=1e-5)


def test_the_speed_limit_of_an_effector():
    scene, body, cables = beam()
    tip, world = pl.Effector(body, TIP, max_speed=0.02), scene.compile()
    state, step = world.initial_state(), inverse([tip], cables)
    target = np.add(TIP, (0.0, 0.0, 0.01))
    left = []
    for _ in range(3):
        state, info = step(world, state, {tip: target})
        left.append(info.error(tip))
    np.testing.assert_allclose(left, [0.008, 0.006, 0.004], atol=2e-4)


def test_hard_effectors_are_kept_while_soft_ones_give_way():
    """One cable pair in a plane cannot hold both: z of the tip is exact, z of the middle only near."""
    scene, body, cables = beam(cables="bd")
    tip = pl.Effector(body, TIP, directions=(0, 0, 1), hard=True, name="tip")
    middle = pl.Effector(body, (0.1, 0.015, 0.015), directions=(0, 0, 1), name="middle")
    world = scene.compile()
    step = inverse([tip, middle], cables)
    controls = {tip: np.add(TIP, (0, 0, 0.01)), middle: (0.1, 0.015, 0.03)}
    _, info = step(world, world.initial_state(), controls)
    assert info.error(tip) < 1e-8
    assert info.error(middle) > 1e-3


def test_contradicting_equalities_are_infeasible_and_lose_nothing():
    scene, body, cables = beam(cables="bd")
    twice = [pl.Effector(body, TIP, directions=(0, 0, 1), hard=True, name=f"tip {k}") for k in range(2)]
    world = scene.compile()
    state = world.initial_state()
    step = pl.QuasiStatic(newton_iterations=1, solver=pl.Inverse(twice, cables))
    with pytest.raises(InfeasibleError):
        step(world, state, {twice[0]: np.array(TIP) + 0.01, twice[1]: np.array(TIP) - 0.01})
    np.testing.assert_array_equal(state.points(body), world.initial_state().points(body))


@pytest.mark.parametrize(
    ("target", "text"),
    [((np.nan, 0, 0), "target of 'effector'"), ((0.0, 0.0), "1 position"), (None, "target of 'effector'")],
)
def test_bad_targets(target, text):
    scene, body, cables = beam()
    tip, world = pl.Effector(body, TIP), scene.compile()
    with pytest.raises(InputError, match=text):
        inverse([tip], cables)(world, world.initial_state(), {tip: target})


def test_what_is_refused():
    scene, body, cables = beam()
    other = scene.add(pl.Volume(MESH, RUBBER, clamp=CLAMP, name="other"), position=(0, 1, 0))
    world = scene.compile()
    tip = pl.Effector(body, TIP)
    lost = pl.Effector(other, TIP)
    with pytest.raises(InputError, match="no actuator of the inverse can move"):
        inverse([lost], cables)(world, world.initial_state(), {lost: TIP})
    with pytest.raises(InputError, match="has no target"):
        inverse([tip], cables)(world, world.initial_state(), {})
    with pytest.raises(InputError, match="takes no control but"):
        inverse([tip], cables)(world, world.initial_state(), {tip: TIP, cables[0]: pl.Force(1.0)})
    with pytest.raises(InputError, match="needs effectors"):
        pl.Inverse([], cables)
    with pytest.raises(InputError, match="a marker such as"):
        pl.Effector(body)
    with pytest.raises(InputError, match="had no inverse solver"):
        pl.QuasiStatic()(world, world.initial_state())[1].error(tip)


def test_globalize_is_refused_beside_friction():
    """Pieces of the true cone are not QPs: no silent local minimum, neither in a step nor in the array solver."""
    scene, body, cables = beam()
    ball = scene.add(pl.Obstacle.sphere(center=(0.2, 0.015, 0.0405), radius=0.01))
    scene.collide(body, ball, friction=0.3, margin=0.004)
    tip, world = pl.Effector(body, TIP), scene.compile()
    target = np.add(TIP, (0.0, 0.0, 0.01))
    with pytest.raises(InputError, match="globalize needs frictionless contacts"):
        inverse([tip], cables, globalize=True)(world, world.initial_state(), {tip: target})
    arrays = {"W_ea": [[1.0]], "W_aa": [[1.0]], "W_ac": np.zeros((1, 3)), "W_ec": np.zeros((1, 3)), "W_cc": np.eye(3)}
    with pytest.raises(InputError, match="globalize needs pieces that are QPs"):
        pl.solvers.qpcc(**arrays, delta_e=[1.0], delta_c=np.ones(3), mu=0.3, globalize=True)


def test_a_cut_cable_is_left_alone_and_the_others_take_over():
    scene, body, cables = beam()
    tip, world = pl.Effector(body, TIP, directions=[(0, 1, 0), (0, 0, 1)]), scene.compile()
    step, target = inverse([tip], cables, energy_weight=0.0), np.add(TIP, (0, 0.004, 0.006))
    state, _ = step(world, world.initial_state(), {tip: target})
    state, cut = step(world, state, {tip: target, cables[2]: pl.Cut()})
    state, after = step(world, state, {tip: target})
    assert after.actuation(cables[2])[1] == cut.actuation(cables[2])[1] == 0.0
    assert after.error(tip) < 1e-6


def test_a_moved_support_carries_the_robot():
    """Target beyond what cables reach along x: the platform goes there; its limits and steps are kept."""
    scene, body, cables = beam(support=True)
    base = scene.add(pl.Support(body, CLAMP))
    platform = pl.MovedSupport(base, (1, 0, 0), max_displacement=0.05, max_rate=0.2)
    tip, world = pl.Effector(body, TIP), scene.compile()
    step = inverse([tip], [*cables, platform])
    state, way = world.initial_state(), []
    for _ in range(4):
        state, info = step(world, state, {tip: np.add(TIP, (0.045, 0.0, 0.01))})
        way.append(state.displacements(body)[0, 0])
    print("way", way, "error", info.error(tip))
    assert way[0] == pytest.approx(0.02, rel=1e-6)
    assert way[-1] < 0.05 * (1 + 1e-9)
    assert info.error(tip) < 5e-4
    state, info = step(world, state, {tip: np.add(TIP, (0.2, 0.0, 0.0))})
    assert "support" in info.inverse.limited


def test_chambers_and_cables_together():
    """Actuators of two kinds: the answer does not depend on the unit of one of them (bounds in Pa or kPa alike)."""
    from pliant.robots import pneunet

    scene = pl.Scene()
    robot = scene.add(pneunet())
    tip, world = pl.Effector(robot.tip), scene.compile()
    start = robot.tip.at(world.initial_state())
    state, info = world.initial_state(), None
    step = pl.QuasiStatic(newton_iterations=1, solver=pl.Inverse([tip], robot.cavities))
    for k in range(10):
        state, info = step(world, state, {tip: start + np.array([0, 0, 1e-4 * (k + 1)])})
    assert info.actuation(robot.cavities)[1].shape == (1,)


def test_an_inverse_run_is_recorded_as_forces_and_replays(tmp_path):
    """Open loop: the forces that the inverse found repeat the motion without it."""
    scene, body, cables = beam()
    tip, world = pl.Effector(body, TIP), scene.compile()
    path = pl.paths.line(start=TIP, end=np.add(TIP, (0, 0.01, 0.01)), count=10)
    step = pl.ImplicitEuler(dt=0.02, solver=pl.Inverse([tip], cables))
    run = pl.simulate(world, step, until=0.2, control=lambda t, s: {tip: path[round(t / 0.02) - 1]})
    again = pl.load(run.save(tmp_path / "run.npz")).replay()
    np.testing.assert_allclose(again.points(0), run.points(body), atol=1e-10)


def test_stiffness_as_an_actuator():
    """A loaded cantilever is brought to a height by its modulus: E = E₀ u₀/u for small bending, and direct control
    with that modulus is the same as a body made of it.
    """
    scene = pl.Scene()
    body = scene.add(pl.Volume(MESH, RUBBER, clamp=CLAMP))
    scene.add(pl.PointLoad(body, pl.regions.plane(axis="x", at=0.2), (0, 0, -1e-3)))
    part = scene.add(pl.Stiffness(body, min_young=5e4, max_young=1e6))
    tip, world = pl.Effector(body, TIP, directions=(0, 0, 1)), scene.compile()
    node = int(np.argmin(np.linalg.norm(MESH.points - TIP, axis=1)))
    rest, _ = pl.QuasiStatic(tolerance=1e-10)(world, world.initial_state())
    sag = rest.displacements(body)[node, 2]
    step = inverse([tip], [part], energy_weight=0.0)
    _, info = step(world, rest, {tip: np.add(TIP, (0, 0, 0.5 * sag))})
    young = 2e5 + info.actuation(part)[1]
    print(f"modulus {young:.1f} Pa")
    assert young == pytest.approx(4e5, rel=1e-3)
    direct, _ = pl.QuasiStatic(tolerance=1e-10)(world, world.initial_state(), {part: pl.Young(young)})
    other = pl.Scene()
    stiff = pl.materials.Corotated(young=young, poisson=0.3, density=1e3)
    twin = other.add(pl.Volume(MESH, stiff, clamp=CLAMP))
    other.add(pl.PointLoad(twin, pl.regions.plane(axis="x", at=0.2), (0, 0, -1e-3)))
    made = other.compile()
    expected, _ = pl.QuasiStatic(tolerance=1e-10)(made, made.initial_state())
    np.testing.assert_allclose(direct.points(body), expected.points(twin), atol=1e-10)


def test_stiffness_of_an_inclusion_in_dynamics():
    """One linearised step under a changed modulus equals that of a body made so, inclusion and all."""
    half = pl.regions.box((0.1, -1, -1), (1, 1, 1))
    states = []
    for young, control in ((2e5, 3e5), (3e5, None)):
        scene = pl.Scene(gravity=(0, 0, -9.81))
        soft = pl.materials.Corotated(young=young, poisson=0.3, density=1e3)
        body = scene.add(pl.Volume(MESH, RUBBER, clamp=CLAMP, inclusions=[(half, soft)]))
        controls = {}
        if control:
            controls = {scene.add(pl.Stiffness(body, inclusion=0, min_young=1e5, max_young=1e6)): pl.Young(control)}
        world = scene.compile()
        state = world.initial_state()
        for _ in range(5):
            state, _ = pl.ImplicitEuler(dt=0.01, tolerance=1e-10)(world, state, controls)
        states.append(state.points(body))
    np.testing.assert_allclose(states[0], states[1], atol=1e-9)


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"min_young": 0.0, "max_young": 1.0}, "min_young of 'stiffness'"),
        ({"min_young": 2.0, "max_young": 1.0}, "max_young of 'stiffness'"),
        ({"min_young": 1.0, "max_young": 2.0, "inclusion": 0}, "none of the 0 inclusions"),
    ],
)
def test_bad_stiffness(options, text):
    with pytest.raises(InputError, match=text):
        pl.Stiffness(pl.Volume(MESH, RUBBER), **options)


def test_limits_are_named_in_one_linear_solve_too():
    """What stands at a limit is judged by the bounds of the solve, also for a support that has moved since."""
    scene, body, cables = beam(support=True)
    base = scene.add(pl.Support(body, CLAMP))
    platform = pl.MovedSupport(base, (1, 0, 0), max_displacement=0.01, name="platform")
    tip, world = pl.Effector(body, TIP), scene.compile()
    step = pl.QuasiStatic(newton_iterations=1, solver=pl.Inverse([tip], [*cables, platform]))
    _, info = step(world, world.initial_state(), {tip: np.add(TIP, (0.05, 0.0, 0.0))})
    assert "platform" in info.inverse.limited
    _, info = step(world, world.initial_state(), {tip: np.add(TIP, (0.005, 0.0, 0.0))})
    assert "platform" not in info.inverse.limited
