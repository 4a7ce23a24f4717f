"""Gradients through friction that slips on rods, beams and rigid bodies: in guides, channels, sheaths and contacts."""

from itertools import pairwise

import numpy as np
import pytest

import pliant as pl
from pliant.gradients.active import capstan_slips, channel_slips
from pliant.solvers.contact import Law
from tests.gradients import cases

P = cases.P
SIZES = {"young": 1e3, "friction": 1e-4, "command": 1e-5, "gravity": 1e-2, "route": 1e-6, "load": 1e-4}
FINE = pl.ImplicitEuler(0.005, tolerance=1e-13)
SHORT = pl.ImplicitEuler(0.002, tolerance=1e-13)  # contacts of a soft rod take more than ten solves in longer steps
LINEAR = pl.ImplicitEuler(0.005)
ELASTIC = {"poisson": 0.4, "density": 1e3}


def cable_on(kind, rng, scene, young, mu):
    """A body, and a cable with friction along it."""
    x = (0.01, *np.sort(rng.uniform(0.05, 0.15, 2)), 0.193)
    via = [(each, 0.001 * rng.normal(), 0.008 + 0.001 * rng.normal()) for each in x]
    given = {"section": pl.sections.Circle(0.005), "damping": pl.Rayleigh(stiffness=0.005), **ELASTIC}
    if kind == "beam":
        body = scene.add(pl.Beam(np.linspace((0, 0, 0), (0.2, 0, 0), 5), clamp=[0], young=1e6 + young, **given))
        return body, scene.add(pl.Cable(body, via, reach=0.02, friction=mu))
    if kind == "towed":
        mesh, clamp = pl.mesh.box((0.1, 0.02, 0.02), (4, 1, 1)), pl.regions.plane(axis="x", at=0.0)
        rubber = cases.material("Corotated", 1e5 + 0.1 * young)
        body = scene.add(pl.Volume(mesh, rubber, clamp=clamp, damping=pl.Rayleigh(stiffness=0.01)))
        box = scene.add(pl.RigidBody.box(size=(0.02, 0.02, 0.02), mass=0.004, position=(0.09, 0.012, -0.05)))
        points = np.array([(0.03, 0.009, 0.012), (0.06, 0.011, 0.008), (0.09, 0.01, 0.005), (0.003, 0.002, 0.01)])
        points += rng.uniform(-5e-4, 5e-4, points.shape)
        return body, scene.add(pl.Cable((body, body, body, box), points, friction=mu))
    body = scene.add(pl.Rod(0.2, 4, young=1e6 + young, **given))
    if kind == "rod":
        return body, scene.add(pl.Cable(body, via, reach=0.02, friction=mu))
    return body, scene.add(pl.Tendon(body, (0.002, 0.004), friction=mu, end=0.19))


def pulled(seed, steps, *, kind="rod", mu=0.3, back=False, young=0.0, friction=0.0, command=0.0, gravity=0.0,
           route=0.0):  # fmt: skip
    """A body with a cable with friction that is pulled, and let back."""
    scene = pl.Scene(gravity=(gravity, 0.3, -9.81))
    body, cable = cable_on(kind, np.random.default_rng(seed), scene, young, mu + friction)
    amounts = np.array([0.5, 1.0, 0.99, 0.9])[:steps] if back else np.linspace(0.5, 1.0, steps)
    control = [{cable: pl.Displacement(0.003 * a + command)} for a in amounts]
    tip = np.array([0.0931, 0.0107, 0.0113]) if kind == "towed" else np.array([0.197, 0, 0])
    loss = 1e3 * pl.losses.Position((body, tip), (0.15, 0.02, 0.03), when="always")
    named = {"young": P.Material(body, "young"), "friction": P.CableFriction(cable), "command": P.Control(cable),
             "gravity": P.Gravity()}  # fmt: skip
    weights = {"gravity": np.eye(3)[0], "command": np.ones(len(amounts)), "young": 0.1 if kind == "towed" else 1.0}
    world = scene.compile()
    if kind != "tendon":
        named["route"] = P.Route(cable)
        points = named["route"].value(world)
        weights["route"] = np.random.default_rng(5).normal(size=points.shape)
        world = pl.changed(world, {named["route"]: points + route * weights["route"]}) if route else world
    return cases.Case(world, loss, control, named, None, weights)


def threaded(seed, steps, *, kind="channel", mu=0.2, young=0.0, gravity=0.0, command=0.0):
    """A rod that is pushed through a channel of a volume or a sheath, against friction."""
    rng = np.random.default_rng(seed)
    scene = pl.Scene(gravity=(gravity, 0.3, -9.81))
    given = {"section": pl.sections.Circle(5e-4), "damping": pl.Rayleigh(stiffness=0.002), **ELASTIC}
    inner = scene.add(
        pl.Rod(0.08, 4, young=2e8 + 100 * young, base=pl.Slide((1, 0, 0)), **given), position=(0, 0.01, 0.01)
    )
    drive = scene.add(pl.BaseDrive(inner))
    if kind == "channel":
        clamp, rubber = pl.regions.plane(axis="z", at=0.0), cases.material("Corotated", 1e5)
        mesh = pl.mesh.box((0.06, 0.02, 0.02), (3, 1, 1))
        body = scene.add(pl.Volume(mesh, rubber, clamp=clamp, damping=pl.Rayleigh(stiffness=0.01)))
        x = np.sort(rng.uniform(0.005, 0.055, 3))
        scene.add(pl.Channel(body, [(each, 0.01, 0.01) for each in x], inner, fixed_end=False, friction=mu))
        scene.add(pl.PointLoad(body, pl.regions.plane(axis="z", at=0.02), (0.0, 0.05, 0.1)))
    else:
        tube = given | {"section": pl.sections.Tube(1.5e-3, 1e-3)}
        body = scene.add(pl.Rod(0.05, 3, young=1e7, **tube), position=(0, 0.01, 0.01))
        scene.add(pl.Sheath(body, inner, friction=mu))
        scene.add(pl.RodLoad(body, 0.05, 1e-2 * rng.normal(size=3)))
    control = [{drive: pl.Displacement((1e-3 + command) * (k + 1) / steps)} for k in range(steps)]
    tip = np.array([0.08, 0.0, 0.0])
    loss = 1e3 * pl.losses.Position((inner, tip), (0.07, 0.02, 0.03), when="always")
    named = {"young": P.Material(inner, "young"), "gravity": P.Gravity(), "command": P.Control(drive)}
    weights = {"gravity": np.eye(3)[0], "command": np.arange(1, steps + 1) / steps, "young": 100.0}
    return cases.Case(scene.compile(), loss, control, named, None, weights)


def dragged(seed, steps, *, kind="rod", mu=0.2, young=0.0, friction=0.0, gravity=0.0, load=0.0):
    """A slender body that is pressed on a floor by a load, and slides along it."""
    rng = np.random.default_rng(seed)
    scene = pl.Scene(gravity=(gravity, 0.3, -9.81))
    given = {"section": pl.sections.Circle(0.005), "damping": pl.Rayleigh(stiffness=0.005), **ELASTIC}
    if kind == "rod":
        body = scene.add(pl.Rod(0.2, 4, young=1e6 + young, **given))
        push = scene.add(pl.RodLoad(body, 0.2, (0, 0, 0)))
    else:
        body = scene.add(pl.Beam(np.linspace((0, 0, 0), (0.2, 0, 0), 5), clamp=[0], young=1e6 + young, **given))
        push = scene.add(pl.PointLoad(body, [4], (0, 0, 0)))
    tilt = (0.0, 0.02 * rng.normal(), 1.0)
    floor = scene.add(pl.Obstacle.plane(point=(0.2, 0, -0.0065), normal=tilt))
    scene.collide(body, floor, friction=mu + friction)
    control = [{push: pl.Force((0, 0.2 * (k + 1) / steps + load, -0.2))} for k in range(steps)]
    loss = 1e3 * pl.losses.Position((body, np.array([0.2, 0, 0])), (0.15, 0.02, 0.03), when="always")
    named = {"young": P.Material(body, "young"), "friction": P.Friction(body, floor), "gravity": P.Gravity(),
             "load": P.Load(push)}  # fmt: skip
    return cases.Case(scene.compile(), loss, control, named, None,
                      {"gravity": np.eye(3)[0], "load": np.tile((0, 1, 0), (steps, 1))})  # fmt: skip


def check(make, stepper, seed, steps, tolerance=1e-6, **options):
    """Compare the gradients with differences of the program: of the two steps that agree best, since a switch may be
    near. What changes the loss by less than a thousandth of the others is judged beside these.
    """
    found = make(seed, steps, **options).gradient(stepper)[1]
    scale = max(abs(value) * SIZES[name] for name, value in found.items())
    for name, value in found.items():
        wanted = [
            cases.difference(lambda s, name=name: make(seed, steps, **options, **{name: s}).value(stepper), size)
            for size in (SIZES[name], 0.3 * SIZES[name], 0.03 * SIZES[name])
        ]
        if abs(value) * SIZES[name] < 1e-9 * scale and abs(wanted[1]) * SIZES[name] < 1e-9 * scale:
            continue  # a slack cable does not feel its command
        noise, best = min((abs(one - other), one) for one, other in pairwise(wanted))
        size = max(abs(best), 1e-3 * scale / SIZES[name])
        assert noise <= 1e-5 * size, name
        assert abs(value - best) <= max(tolerance * size, 3.0 * noise), f"{name}: {value!r} instead of {wanted!r}"


CASES = [
    *((pulled, {"kind": kind}) for kind in ("rod", "beam", "tendon", "towed")),
    *((threaded, {"kind": kind}) for kind in ("channel", "sheath")),
    *((dragged, {"kind": kind}) for kind in ("rod", "beam")),
]


WITHOUT_EQUILIBRIUM = {("beam", 4), ("beam", 5), ("towed", 4)}
"""Kinds and seeds that close up under their cable, or that slip in several load increments."""
CABLE_ON_A_ROD = 1e-4
"""A step to a tolerance knows directions of a cable on a rod to its square root: 1.7e-4 at 1e-10, 2e-5 at 1e-13."""
ON_A_ROD = 1e-5
"""Contacts of rods stay where the last correction but one left them."""


def to_a_tolerance(make, options):
    """The stepper, and how well a step knows its contacts."""
    if options["kind"] != "rod":
        return FINE, 1e-6
    return (SHORT, ON_A_ROD) if make is dragged else (FINE, CABLE_ON_A_ROD)


@pytest.mark.parametrize(("make", "options"), [CASES[k] for k in (0, 2, 4, 6)])
def test_friction_that_slips(make, options):
    stepper, tolerance = to_a_tolerance(make, options)
    check(make, stepper, 1, 1 + (make is dragged), tolerance, **options)


@pytest.mark.parametrize(("make", "options"), [CASES[k] for k in (1, 3, 5, 7)])
def test_friction_that_slips_in_steps_of_one_linear_solve(make, options):
    check(make, LINEAR, 1, 2, **options)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2, 6))
@pytest.mark.parametrize(("make", "options"), CASES)
def test_many_scenes(make, options, seed):
    turned = {"back": True, "mu": 1.0} if make is pulled else {}
    stepper, tolerance = to_a_tolerance(make, options)
    check(make, stepper, seed, 4, tolerance, **options, **turned)
    if (make, options["kind"], seed) != (pulled, "rod", 5):  # its motor pulls against friction: see below
        check(make, LINEAR, seed, 4, **options, **turned)
    if make is not pulled:
        return
    if (options["kind"], seed) not in WITHOUT_EQUILIBRIUM:
        check(make, cases.STATIC, seed, 1, **options)


@pytest.mark.parametrize(("make", "options"), CASES)
def test_the_scenes_slip(make, options):
    """Or the tests above would not look at friction that slips."""
    case, stepper = make(1, 2, **options), to_a_tolerance(make, options)[0]
    state, slips = case.world.initial_state(), 0
    for controls in case.control:
        state, info = stepper(case.world, state, controls)
        rows, lam = info.assembly.rows, np.asarray(info.lam)
        slips += len(capstan_slips(rows, lam))
        slips += len(channel_slips(rows, lam, np.asarray(info.delta), np.ones(len(lam))))
        heads = np.flatnonzero(rows.law == Law.COULOMB)[::3]
        slips += sum(np.hypot(*lam[i + 1 : i + 3]) > (1 - 1e-8) * rows.mu[i] * lam[i] > 0.0 for i in heads)
    assert slips


def test_small_forces_slip_too():
    """They meet their bounds to the tolerance of larger ones only."""
    check(threaded, FINE, 5, 1, kind="sheath")


def test_a_motor_that_cannot_reach_its_command_has_no_derivative():
    """Its force is bounded where it would only pull against friction."""
    case = pulled(5, 1, kind="rod", mu=1.0, back=True)
    with pytest.raises(pl.InputError, match=r"meet their laws only to 0\.16"):
        case.gradient(LINEAR)


def test_taylor_of_second_order():
    """Halving the change quarters what the gradient does not explain."""
    steps = 6

    def case(s):
        return pulled(3, steps, kind="towed", friction=0.05 * s, command=3e-4 * s, young=2e4 * s)

    found, slopes = case(0.0).gradient(FINE)
    slope = 0.05 * slopes["friction"] + 3e-4 * slopes["command"] + 2e4 * slopes["young"]
    errors = [abs(case(s).value(FINE) - found.value - s * slope) for s in (0.2, 0.1, 0.05)]
    assert np.log2(np.array(errors[:-1]) / np.array(errors[1:])) == pytest.approx(2.0, abs=0.15)


def test_a_step_that_kept_its_contacts_says_so():
    case = dragged(1, 2, kind="rod")
    with pytest.raises(pl.InputError, match=r"kept its contacts.*take a smaller dt"):
        case.gradient(pl.ImplicitEuler(0.005, tolerance=1e-13))
