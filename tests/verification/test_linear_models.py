"""Linear models about equilibria: static gains, natural frequencies and motions of the program and of closed forms."""

import numpy as np
import pytest

import pliant as pl

control = pytest.importorskip("control")
LENGTH, SIDE = 0.2, 0.02
LAW = pl.materials.StVenantKirchhoff(young=1e6, poisson=0.0, density=1000)
DAMPING = pl.Rayleigh(mass=0.3, stiffness=1e-3)
TIP = (LENGTH, 0.5 * SIDE, 0.5 * SIDE)


def bar(*, cells=(10, 1, 1), element="tet10", damping=DAMPING, **options):
    mesh = pl.mesh.box((LENGTH, SIDE, SIDE), cells, element=element)
    return pl.Volume(mesh, LAW, clamp=pl.regions.plane(axis="x", at=0), damping=damping, **options)


def tip_of(body):
    return pl.Effector(body, TIP, name="tip")


def along(body, height):
    return pl.Cable(body, [(x, 0.5 * SIDE, height) for x in np.linspace(0.0, LENGTH, 3)], name="cable")


def two_cables():
    scene = pl.Scene(gravity=(0, 0, -9.81))
    body = scene.add(bar())
    upper, lower = scene.add(along(body, 0.8 * SIDE)), scene.add(along(body, 0.2 * SIDE))
    return scene.compile(), [tip_of(body)], {upper: pl.Displacement(0.004), lower: pl.Force(0.1)}


def on_the_floor(obstacle, friction):
    """A bar whose far end lies on an obstacle."""
    scene = pl.Scene(gravity=(0, 0, -9.81))
    body = scene.add(bar(cells=(8, 1, 1)))
    scene.collide(body, scene.add(obstacle), friction=friction)
    cable = scene.add(along(body, 0.2 * SIDE))
    return scene.compile(), [tip_of(body)], {cable: pl.Displacement(0.002)}


def on_a_plane():
    return on_the_floor(pl.Obstacle.plane(point=(0, 0, -0.003)), 0.0)


def on_a_rough_plane():
    """The cable was pulled, let out and pulled a little: friction holds the end of the bar, below its limit."""
    world, effectors, controls = on_the_floor(pl.Obstacle.plane(point=(0, 0, -0.003)), 0.3)
    (cable,), state = controls, None
    for pulled in (0.003, 0.00295):
        state = equilibrium(world, {cable: pl.Displacement(pulled)}, state)
    return world, effectors, {cable: pl.Displacement(0.002958)}, state


def on_a_ball():
    return on_the_floor(pl.Obstacle.sphere(radius=0.03, center=(LENGTH, 0.5 * SIDE, -0.033)), 0.0)


def rod_with_a_cable():
    scene = pl.Scene(gravity=(0, 0, -9.81))
    rod = scene.add(
        pl.Rod(0.2, 8, section=pl.sections.Circle(4e-3), young=1e6, poisson=0.3, density=1000, damping=DAMPING)
    )
    base = scene.add(pl.Support(rod, [0], rotation=(0, 0, 0)))
    assert base is not None
    cable = scene.add(pl.Cable(rod, [(x, 0.0, 3e-3) for x in np.linspace(0.0, 0.2, 9)], name="cable"))
    return scene.compile(), [pl.Effector(rod, (0.2, 0, 0), name="tip")], {cable: pl.Displacement(0.003)}


def chamber():
    scene = pl.Scene(gravity=(0, 0, -9.81))
    robot = scene.add(pl.robots.bellows())
    chamber = robot.cavities[0]
    return scene.compile(), [pl.Effector(robot.tip, name="tip")], {chamber: pl.Pressure(1e3)}


def equilibrium(world, controls, start=None):
    state, _ = pl.QuasiStatic(tolerance=1e-10)(world, start or world.initial_state(), controls)
    return state


def measured(world, state, effectors):
    origin = [effector.bound(world).measure.error(state.q, np.zeros((1, 3))) for effector in effectors]
    return np.concatenate(origin)


@pytest.mark.parametrize("scene", [two_cables, on_a_plane, on_a_rough_plane, on_a_ball, rod_with_a_cable, chamber])
def test_static_gains_are_those_of_equilibria(scene):
    """Central differences of quasi-static solves, to 2e-4 of the largest gain whatever the number of modes; to 2e-3
    with friction, where one of the contacts creeps.
    """
    world, effectors, controls, *start = scene()
    state = equilibrium(world, controls, *start)
    system = pl.control.linearize(world, state, list(controls), effectors, controls=controls, modes=6)
    gains = np.atleast_2d(control.dcgain(system))
    for column, (actuator, value) in enumerate(controls.items()):
        step = (1e-3 if len(start) == 0 else 3e-4) * value.value
        ends = [equilibrium(world, controls | {actuator: type(value)(value.value + s * step)}, state) for s in (1, -1)]
        there, back = (measured(world, end, effectors) for end in ends)
        expected = (there - back) / (2.0 * step)
        allowed = 2e-4 if len(start) == 0 else 2e-3
        np.testing.assert_allclose(gains[:, column], expected, atol=allowed * np.abs(expected).max())


def frequencies(system, count):
    """The lowest natural frequencies, Hz, of lightly damped poles."""
    return np.unique(np.round(np.sort(np.abs(system.poles())) / (2.0 * np.pi), 6))[:count]


@pytest.mark.parametrize(("propped", "wave_number"), [(False, 1.8751041), (True, 3.9266023)])
def test_natural_frequencies_of_a_cantilever_and_of_a_propped_one(propped, wave_number):
    """Euler–Bernoulli: f = k² √(EI/ρA)/(2π L²); Timoshenko's correction for this slenderness is below 3 %."""
    scene = pl.Scene()
    body = scene.add(bar(cells=(16, 1, 1), lumped_mass=False))
    cable = scene.add(along(body, 0.8 * SIDE))
    if propped:
        end = pl.regions.plane(axis="x", at=LENGTH)
        scene.add(pl.Support(body, end, axes="z"))
    world = scene.compile()
    system = pl.control.linearize(world, world.initial_state(), [cable], [tip_of(body)], modes=8)
    inertia = SIDE**4 / 12.0
    expected = wave_number**2 * np.sqrt(1e6 * inertia / (1000.0 * SIDE**2)) / (2.0 * np.pi * LENGTH**2)
    nearest = np.abs(frequencies(system, 8) / expected - 1.0).min()
    assert nearest < 0.03


def test_a_contact_that_presses_holds():
    """The frequencies are those of a model in which the nodes that press are supported."""
    world, effectors, controls = on_a_plane()
    state = equilibrium(world, controls)
    system = pl.control.linearize(world, state, list(controls), effectors, controls=controls)
    body = world.models[0].spec
    pressing = np.flatnonzero(state.points(body)[:, 2] < -0.003 + 1e-9)
    scene = pl.Scene(gravity=(0, 0, -9.81))
    held = scene.add(bar(cells=(8, 1, 1)))
    support = scene.add(pl.Support(held, list(pressing), axes="z"))
    cable = scene.add(along(held, 0.2 * SIDE))
    moved = pl.Displacement(-0.003), pl.Displacement(0.002)
    supported, other = scene.compile(), {support: moved[0], cable: moved[1]}
    same = pl.control.linearize(supported, equilibrium(supported, other), [cable], [tip_of(held)], controls=other)
    np.testing.assert_allclose(frequencies(system, 5), frequencies(same, 5), rtol=1e-6)


@pytest.mark.parametrize("scene", [two_cables, rod_with_a_cable])
def test_small_motions_are_those_of_the_stepper(scene):
    """The response to a smooth change of a command by implicit midpoint at 1 ms, all other commands constant."""
    world, effectors, controls = scene()
    state = start = equilibrium(world, controls)
    system = pl.control.linearize(world, state, list(controls)[:1], effectors, controls=controls, modes=20)
    actuator, value = next(iter(controls.items()))
    times = 1e-3 * np.arange(121)
    change = 2e-3 * value.value * np.sin(0.5 * np.pi * np.minimum(times / 0.08, 1.0)) ** 2
    step, found = pl.ImplicitMidpoint(dt=1e-3, tolerance=1e-9), [np.zeros(3)]
    for amount in change[1:]:
        state, _ = step(world, state, controls | {actuator: type(value)(value.value + amount)})
        found.append(measured(world, state, effectors) - measured(world, start, effectors))
    expected = control.forced_response(system, times, change[None]).outputs.reshape(3, -1).T
    assert np.abs(np.array(found) - expected).max() < 0.01 * np.abs(expected).max()


def test_balanced_truncation_keeps_its_bound():
    """Glover's bound on the error, over frequencies; the first Hankel values are those of a second-order system."""
    world, effectors, controls = two_cables()
    state = equilibrium(world, controls)
    system = pl.control.linearize(world, state, list(controls), effectors, controls=controls, modes=10)
    values, omega = pl.control.hankel_values(system), 1j * np.logspace(-1, 4, 200)
    for order in (2, 4, 8):
        small = pl.control.balanced_truncation(system, order)
        error = max(np.linalg.norm(system(s) - small(s), 2) for s in omega)
        assert small.nstates == order
        assert error <= 2.0 * values[order:].sum() * (1.0 + 1e-6)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"inputs": []}, "inputs of a linear model"),
        ({"outputs": ["tip"]}, "outputs are effectors"),
        ({"controls": {}}, "not balanced"),
        ({"modes": 0}, "modes"),
    ],
)
def test_what_is_no_equilibrium_is_refused(change, message):
    world, effectors, controls = two_cables()
    given = {"inputs": list(controls), "outputs": effectors, "controls": controls, "modes": 3} | change
    state = equilibrium(world, controls) if change != {"controls": {}} else world.initial_state()
    with pytest.raises(pl.InputError, match=message):
        pl.control.linearize(world, state, given.pop("inputs"), given.pop("outputs"), **given)


def test_a_moving_body_is_refused():
    world, effectors, controls = two_cables()
    state, _ = pl.ImplicitEuler(dt=0.01)(world, world.initial_state(), controls)
    with pytest.raises(pl.InputError, match="the bodies move"):
        pl.control.linearize(world, state, list(controls), effectors, controls=controls)


def test_an_unstable_system_has_no_gramians():
    with pytest.raises(pl.InputError, match="not stable"):
        pl.control.balanced_truncation(control.ss([[0.1]], [[1.0]], [[1.0]], [[0.0]]), 1)
