"""Gradients agree with central differences of the program itself, for every kind of parameter, body and stepper."""

import numpy as np
import pytest

import pliant as pl
from tests.gradients import cases

MIDPOINT = pl.ImplicitMidpoint(0.005, tolerance=1e-12)
LINEAR = pl.ImplicitEuler(0.005)
CABLE_ON_A_ROD = 1e-5
"""A step to a tolerance knows the directions of a cable on a rod to its square root only."""


def check(make, seed, steps, stepper, sizes, tolerance=1e-6, **options):
    """Compare the gradients of a random case with differences of its runs."""
    case = make(seed, steps, **options)
    _, found = case.gradient(stepper)
    scale = max(abs(value) * sizes[name] for name, value in found.items())
    assert scale > 0.0
    for name, value in found.items():
        size = sizes[name]
        wanted = cases.difference(lambda s, name=name: make(seed, steps, **options, **{name: s}).value(stepper), size)
        least = 1e-3 * scale / size if abs(wanted) * size < 1e-9 * scale else abs(wanted)
        assert abs(value - wanted) <= tolerance * least, f"{name}: {value!r} instead of {wanted!r}"


def at_rest(make, seed, names, sizes, **options):
    """Compare the gradients of an equilibrium with differences of others."""
    _, found = make(seed, 1, **options).gradient(cases.STATIC)
    for name in names:
        wanted = cases.difference(
            lambda s, name=name: make(seed, 1, **options, **{name: s}).value(cases.STATIC), sizes[name]
        )
        assert found[name] == pytest.approx(wanted, rel=1e-6), name
    return found


@pytest.mark.parametrize(("seed", "kind"), [(0, "Corotated"), (1, "NeoHookean")])
def test_finger_in_motion(seed, kind):
    check(cases.finger, seed, 2, cases.EULER, cases.FINGER_STEPS, kind=kind)


@pytest.mark.parametrize(("kind", "force"), [("Corotated", False), ("NeoHookean", False), ("Corotated", True)])
def test_finger_at_rest(kind, force):
    names = ("young", "poisson", "density", "command", "load", "gravity", "route")
    found = at_rest(cases.finger, 3, names, cases.FINGER_STEPS, kind=kind, force=force)
    assert found["v"] == found["q"] == found["mass_damping"] == 0.0


@pytest.mark.parametrize("growth", [False, True])
def test_chamber(growth):
    check(cases.chamber, 5, 2, cases.EULER, cases.CHAMBER_STEPS, growth=growth)
    at_rest(cases.chamber, 5, ("young", "poisson", "command"), cases.CHAMBER_STEPS, growth=growth)


@pytest.mark.parametrize("mu", [0.0, 0.02, 0.9])
def test_bar_on_a_floor(mu):
    """Open contacts, some that slip and some that stick."""
    check(cases.on_floor, 1, 4, cases.EULER, cases.FLOOR_STEPS, mu=mu)


@pytest.mark.parametrize("kind", ["rod", "beam"])
def test_slender_bodies(kind):
    check(cases.slender, 2, 2, cases.EULER, cases.SLENDER_STEPS, CABLE_ON_A_ROD, kind=kind)
    check(cases.slender, 2, 2, cases.EULER, cases.SLENDER_STEPS, kind=kind, pulled=False)
    at_rest(cases.slender, 2, ("young", "density", "command", "gravity"), cases.SLENDER_STEPS, kind=kind)


@pytest.mark.parametrize(("shape", "mu"), [("box", 0.3), ("ball", 0.3), ("ball", 0.02)])
def test_rigid_bodies_on_a_floor(shape, mu):
    check(cases.rigid, 4, 3, cases.EULER, cases.RIGID_STEPS, shape=shape, mu=mu)


@pytest.mark.parametrize("stepper", [cases.EULER, MIDPOINT])
def test_a_body_that_flies_and_spins(stepper):
    check(cases.rigid, 6, 3, stepper, cases.RIGID_STEPS, shape="box", flying=True)


@pytest.mark.parametrize(("make", "options"), [
    (cases.finger, {"kind": "Corotated"}), (cases.finger, {"kind": "NeoHookean", "force": True}),
    (cases.chamber, {"growth": False}), (cases.on_floor, {"mu": 0.02}), (cases.pressed, {"other": "soft", "mu": 0.0}),
])  # fmt: skip
def test_steps_of_one_linear_solve(make, options):
    """The step as it was computed: its matrix follows the shape, and the forces of the step before."""
    sizes = {cases.finger: cases.FINGER_STEPS, cases.chamber: cases.CHAMBER_STEPS}.get(make, cases.FLOOR_STEPS)

    check(make, 1, 3, LINEAR, sizes, **options)


SMALL = [
    (cases.rigid, 6, {"shape": "box", "flying": True}), (cases.rigid, 4, {"shape": "box", "mu": 0.3}),
    (cases.rigid, 4, {"shape": "ball", "mu": 0.02}), (cases.slender, 1, {"kind": "rod", "pulled": True}),
    (cases.slender, 2, {"kind": "rod", "pulled": False}), (cases.slender, 3, {"kind": "beam", "pulled": True}),
    (cases.slender, 4, {"kind": "beam", "pulled": False}), (cases.hinged, 1, {}),
]  # fmt: skip
SLENDER_STEPS = cases.SLENDER_STEPS | {"gravity": 1.0}  # gravity along the axis hardly moves it: beyond rounding
SIZES = {cases.rigid: cases.RIGID_STEPS, cases.slender: SLENDER_STEPS, cases.hinged: cases.HINGED_STEPS}


@pytest.mark.parametrize(("make", "seed", "options"), [
    (cases.finger, 1, {"kind": "NeoHookean"}), (cases.chamber, 5, {"growth": True}),
    (cases.on_floor, 1, {"mu": 0.02}), (cases.rigid, 4, {"shape": "ball", "mu": 0.02}), (cases.hinged, 1, {}),
    (cases.slender, 2, {"kind": "beam", "pulled": True}),
    (cases.slender, 2, {"kind": "rod", "pulled": True}),
])  # fmt: skip
def test_midpoint_steps_with_rows(make, seed, options):
    """Forces act along the rows of the middle, and velocities are projected at the end, commands and friction too."""
    sizes = {cases.finger: cases.FINGER_STEPS, cases.chamber: cases.CHAMBER_STEPS, cases.on_floor: cases.FLOOR_STEPS}
    check(make, seed, 3, MIDPOINT, {**SIZES, **sizes}[make], **options)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(6))
def test_many_midpoint_steps_with_rows(seed):
    check(cases.finger, seed, 6, MIDPOINT, cases.FINGER_STEPS, kind=("Corotated", "NeoHookean")[seed % 2])
    check(cases.chamber, seed, 4, MIDPOINT, cases.CHAMBER_STEPS, growth=bool(seed % 2))
    check(cases.on_floor, seed, 6, MIDPOINT, cases.FLOOR_STEPS, mu=(0.02, 0.3, 0.9)[seed % 3])
    if seed != 3:  # friction of this ball at the ends of its steps is bounded by the forces before, which is refused
        check(cases.rigid, seed, 6, MIDPOINT, cases.RIGID_STEPS, shape="ball", mu=(0.02, 0.3)[seed % 2])
    check(cases.hinged, seed, 4, MIDPOINT, cases.HINGED_STEPS)
    check(cases.slender, seed, 4, MIDPOINT, SLENDER_STEPS, kind=("rod", "beam")[seed % 2], pulled=True)


def test_midpoint_steps_say_which_rows_are_not_known():
    with pytest.raises(pl.InputError, match=r"do not know how the rows of .* turn"):
        cases.pressed(1, 3, other="sphere").gradient(MIDPOINT)
    scene = pl.Scene(gravity=(0, 0, -9.81))
    box = scene.add(pl.RigidBody.box(size=(0.04, 0.03, 0.02), mass=0.05, position=(0.05, 0, 0.0101)))
    table = pl.Obstacle.plane(point=(0, 0, 0), normal=(0, 0, 1), motion=lambda t: ((0, 0, 0), (0, 0, 2.0 * t)))
    scene.collide(box, scene.add(table), friction=0.3)
    loss = pl.losses.Position((box, np.zeros(3)), (0, 0, 0))
    with pytest.raises(pl.InputError, match="obstacles that move"):
        pl.gradient(scene.compile(), MIDPOINT, loss, parameters=[cases.P.Gravity()], until=0.02)


@pytest.mark.parametrize(("make", "seed", "options"), SMALL)
def test_steps_of_one_linear_solve_of_rods_beams_and_rigid_bodies(make, seed, options):
    """Their matrix turns with them, and includes the geometric stiffness of rows at the forces before."""
    check(make, seed, 3, LINEAR, SIZES[make], **options)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(10, 16))
def test_many_steps_of_one_linear_solve(seed):
    for make, _, options in SMALL:
        shared = options.get("shape") == "box" and "mu" in options  # four corners leave open how they share friction
        check(make, seed, 6, LINEAR, SIZES[make], 1e-5 if shared else 1e-6, **options)


@pytest.mark.parametrize("stepper", [cases.EULER, LINEAR])
def test_a_reduced_finger(stepper):
    check(cases.reduced, 0, 4, stepper, cases.REDUCED_STEPS)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(6))
def test_many_random_scenes(seed):
    check(cases.finger, seed, 6, cases.EULER, cases.FINGER_STEPS, kind=("Corotated", "NeoHookean")[seed % 2])
    check(cases.chamber, seed, 4, cases.EULER, cases.CHAMBER_STEPS, growth=bool(seed % 2))
    check(cases.on_floor, seed, 6, cases.EULER, cases.FLOOR_STEPS, mu=(0.02, 0.3, 0.9)[seed % 3])
    # four corners of a box leave open how they share friction: differences of two steps are 1.4e-6 apart
    shape, known = ("ball", 1e-6) if seed % 2 else ("box", 1e-5)
    check(cases.rigid, seed, 6, cases.EULER, cases.RIGID_STEPS, known, shape=shape)
    check(cases.pressed, seed, 6, cases.EULER, cases.FLOOR_STEPS, 1e-5, other=("sphere", "ball")[seed % 2])


@pytest.mark.parametrize("stepper", [cases.EULER, LINEAR])
def test_a_cable_from_a_volume_to_a_rigid_body(stepper):
    """Rows between two bodies: what each of them turns for the other is in the iteration of the adjoint."""
    sizes = {"young": 50, "command": 1e-5, "gravity": 1e-3}
    case = cases.towed(3, 4)
    _, found = case.gradient(stepper)
    for name, size in sizes.items():
        wanted = cases.difference(lambda s, name=name: cases.towed(3, 4, **{name: s}).value(stepper), size)
        assert found[name] == pytest.approx(wanted, rel=1e-6), name


@pytest.mark.parametrize(("other", "mu"), [("sphere", 0.3), ("cylinder", 0.0), ("soft", 0.0), ("ball", 0.3)])
def test_contacts_whose_planes_turn(other, mu):
    """Planes of contact that follow the nodes of soft bodies, also where they land and where a body rolls on them."""
    seed = {"sphere": 1, "cylinder": 1, "soft": 1, "ball": 1}[other]
    check(cases.pressed, seed, 3, cases.EULER, cases.FLOOR_STEPS, other=other, mu=mu)


def test_a_cable_between_two_volumes():
    sizes = {"young": 50, "command": 1e-5, "gravity": 1e-3}
    check(cases.roped, 0, 3, cases.EULER, sizes)
    check(cases.roped, 0, 3, LINEAR, sizes)
    at_rest(cases.roped, 0, ("young", "command", "gravity"), sizes)
