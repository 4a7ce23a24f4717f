"""Base drives of rods: the row against differences, both ways of commanding, closed forms, and what is refused."""

import numpy as np
import pytest

import pliant as pl
from pliant.core.errors import InputError
from pliant.models.scheme import euler_scheme
from pliant.stepping.bodies import StepBodies
from pliant.viewer.playback import reading_text

ROD = {"section": pl.sections.Circle(0.005), "young": 1e7, "poisson": 0.3, "density": 1e3}
MASS = 1e3 * np.pi * 0.005**2 * 0.2
SLIDE, TURN = pl.Slide((1, 1, 0)), pl.Turn((0, 0, 1))


def driven(base, *, rod=None, gravity=(0, 0, 0), **limits):
    scene = pl.Scene(gravity=gravity)
    body = scene.add(pl.Rod(0.2, 4, base=base, **ROD, **(rod or {})))
    drive = scene.add(pl.BaseDrive(body, **limits))
    return scene.compile(), body, drive


@pytest.mark.parametrize("base", [SLIDE, TURN, pl.Turn((1, 0.5, -2))])
def test_the_row_is_the_gradient_of_the_displacement(base):
    """H against central differences about a bent rod with a moved base, which is turned in the world too."""
    world, _, drive = driven(base, rod={"rotation": (0.3, -0.2, 1.0)})
    v = world.models[0].initial()[1]
    motion = StepBodies.begin(world, world.initial_state(), euler_scheme(0.01), {})
    rng = np.random.default_rng(1)
    step = np.where(world.models[0].constrained, 0.0, rng.normal(size=v.shape))
    at = 0.3 * np.where(world.models[0].constrained, 0.0, rng.normal(size=v.shape))

    def gap(dx):
        moved = motion.at([dx])
        return moved.assembled().rows.gap[world.constraint_index(drive)]

    moved = motion.at([at])
    predicted = (moved.assembled().rows.H[0] @ step.ravel())[0]
    assert abs(predicted) > 0.1
    assert (gap(at + 1e-6 * step) - gap(at - 1e-6 * step)) / 2e-6 == pytest.approx(predicted, rel=1e-7)


def test_a_free_sliding_rod_accelerates_as_force_over_mass():
    """Along its own axis the rod does not bend: after n steps of implicit Euler v = n h F/m, x = ½ n (n + 1) h² F/m."""
    world, rod, drive = driven(pl.Slide())
    state, step = world.initial_state(), pl.ImplicitEuler(dt=0.01)
    for _ in range(10):
        state, info = step(world, state, {drive: pl.Force(0.2)})
    way = 55 * 0.01**2 * 0.2 / MASS
    np.testing.assert_allclose(state.points(rod)[0], [way, 0, 0], rtol=1e-9, atol=1e-15)
    assert info.actuation(drive) == pytest.approx((way, 0.2), rel=1e-9)


def test_a_drive_pushes_its_own_rod_whatever_else_is_in_the_scene():
    scene = pl.Scene()
    rods = [scene.add(pl.Rod(0.2, 4, base=pl.Slide(), position=(0, y, 0), **ROD)) for y in (0.0, 0.1, 0.2)]
    drive = scene.add(pl.BaseDrive(rods[1]))
    world = scene.compile()
    state, _ = pl.ImplicitEuler(dt=0.01)(world, world.initial_state(), {drive: pl.Force(0.2)})
    moved = [state.points(rod)[0, 0] for rod in rods]
    np.testing.assert_allclose(moved, [0.0, 0.01**2 * 0.2 / MASS, 0.0], rtol=1e-9, atol=1e-15)


def test_holding_a_sliding_rod_takes_its_weight():
    """Upright on a vertical slide: the base stands where it is told, no faster than max_rate; the force is
    m g, and the same force by command stands still.
    """
    upright = {"rotation": (0, -np.pi / 2, 0)}
    world, rod, drive = driven(pl.Slide(), rod=upright, gravity=(0, 0, -9.81), max_rate=0.04, max_displacement=0.1)
    state, heights = world.initial_state(), []
    for _ in range(5):
        state, info = pl.QuasiStatic(dt=0.1)(world, state, {drive: pl.Displacement(0.01)})
        heights.append(state.points(rod)[0, 2])
    np.testing.assert_allclose(heights, [0.004, 0.008, 0.01, 0.01, 0.01], atol=1e-12)
    assert info.actuation(drive) == pytest.approx((0.01, MASS * 9.81), rel=1e-9)
    held, _ = pl.ImplicitEuler(dt=0.05)(world, state, {drive: pl.Force(MASS * 9.81)})
    np.testing.assert_allclose(held.points(rod)[0], state.points(rod)[0], atol=1e-9)
    with pytest.raises(InputError, match=r"max_displacement is 0\.1 m"):
        pl.QuasiStatic(dt=0.1)(world, state, {drive: pl.Displacement(0.2)})


def test_a_drive_gives_no_more_than_its_largest_force():
    upright = {"rotation": (0, -np.pi / 2, 0)}
    world, rod, drive = driven(
        pl.Slide(), rod=upright, gravity=(0, 0, -9.81), max_force=0.5 * MASS * 9.81, min_force=0.0
    )
    state, info = pl.ImplicitEuler(dt=0.01)(world, world.initial_state(), {drive: pl.Displacement(0.0)})
    assert info.actuation(drive)[1] == pytest.approx(0.5 * MASS * 9.81)
    assert state.points(rod)[0, 2] == pytest.approx(-0.5 * 9.81 * 0.01**2, rel=1e-6)


def test_a_turned_rod_carries_its_weight_and_counts_full_turns():
    """A stiff rod about a horizontal axis: torque m g l/2 cos θ, and the angle goes on past a full turn."""
    world, rod, drive = driven(pl.Turn((0, -1, 0)), rod={"strains": "twist"}, gravity=(0, 0, -9.81))
    state = world.initial_state()
    for angle in np.linspace(0.25, 7.0, 28):
        state, info = pl.QuasiStatic()(world, state, {drive: pl.Angle(angle)})
    np.testing.assert_allclose(state.points(rod)[-1], [0.2 * np.cos(7.0), 0, 0.2 * np.sin(7.0)], atol=1e-9)
    assert info.actuation(drive) == pytest.approx((7.0, MASS * 9.81 * 0.1 * np.cos(7.0)), rel=1e-6)
    assert reading_text(drive, np.array([np.pi, 0.5])) == "180.0°  0.500 N·m"


def test_an_inverse_finds_the_base_for_the_tip():
    """The tip of a sliding rod goes where it is wanted, along the slide."""
    world, rod, drive = driven(SLIDE, max_rate=0.2)
    tip = pl.Effector(rod, (0.2, 0, 0), name="tip")
    stepper = pl.QuasiStatic(newton_iterations=1, dt=0.1, solver=pl.Inverse([tip], [drive], energy_weight=0.0))
    state = world.initial_state()
    for _ in range(6):
        state, info = stepper(world, state, {tip: (0.23, 0.03, 0.0)})
    assert info.error(tip) < 1e-6
    assert info.actuation(drive)[0] == pytest.approx(0.03 * np.sqrt(2.0), rel=1e-4)


def test_an_inverse_turns_the_base_past_half_a_turn():
    """With a largest rate of the angle: the angle is counted on, so that the way ahead stays open."""
    world, rod, drive = driven(pl.Turn((0, 0, 1)), rod={"strains": "twist"}, max_rate=4.0)
    tip = pl.Effector(rod, (0.2, 0, 0), name="tip")
    stepper = pl.QuasiStatic(newton_iterations=2, dt=0.1, solver=pl.Inverse([tip], [drive], energy_weight=0.0))
    state = world.initial_state()
    for angle in [*np.arange(0.2, 4.0, 0.2), 4.0, 4.0]:
        state, info = stepper(world, state, {tip: (0.2 * np.cos(angle), 0.2 * np.sin(angle), 0.0)})
    assert info.actuation(drive)[0] == pytest.approx(4.0, abs=1e-3)
    assert info.error(tip) < 1e-4


def test_a_saved_world_has_its_drive(tmp_path):
    world, _, drive = driven(TURN, max_force=3.0, name="motor")
    again = pl.load(world.save(tmp_path / "world.npz"))
    motor = again.thing("motor")
    assert motor.max_force == 3.0
    assert motor.rod is again.thing("rod")
    state, _ = pl.QuasiStatic()(world, world.initial_state(), {drive: pl.Angle(2.0)})
    other, _ = pl.QuasiStatic()(again, again.initial_state(), {motor: pl.Angle(2.0)})
    np.testing.assert_array_equal(other.q[0], state.q[0])


@pytest.mark.parametrize("base", ["fixed", "free"])
def test_a_base_without_one_freedom_is_refused(base):
    with pytest.raises(InputError, match="has no degree of freedom"):
        driven(base)


def test_what_else_is_refused():
    with pytest.raises(InputError, match=r"drives the base of a pl\.Rod"):
        pl.BaseDrive("rod")
    with pytest.raises(InputError, match="leave nothing between them"):
        driven(SLIDE, min_force=1.0, max_force=0.0)
    world, _, drive = driven(SLIDE)
    with pytest.raises(InputError, match=r"controlled by pl\.Displacement"):
        pl.QuasiStatic()(world, world.initial_state(), {drive: pl.Angle(0.1)})
    world, _, drive = driven(TURN)
    with pytest.raises(InputError, match=r"controlled by pl\.Angle"):
        pl.QuasiStatic()(world, world.initial_state(), {drive: pl.Force(0.1)})
