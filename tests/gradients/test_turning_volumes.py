"""Gradients through free volumes that turn, in flight and where they land."""

import numpy as np
import pytest

import pliant as pl
from tests.gradients import cases

P = cases.P
SIZES = {"gravity": 1e-2, "q": 1e-6, "v": 1e-3, "mass": 1e-5}


def flying(seed, steps, *, floor=False, gravity=0.0, q=0.0, v=0.0, mass=0.0, lumped=True):
    """A soft block that is thrown and spins, high above a floor or onto it."""
    rng = np.random.default_rng(seed)
    scene = pl.Scene(gravity=(gravity, 0, -9.81))
    body = scene.add(pl.Volume(
        pl.mesh.box((0.04, 0.02, 0.02), (2, 1, 1)), cases.material("Corotated", 5e4), mass=0.016 + mass,
        damping=pl.Rayleigh(stiffness=0.002), velocity=0.3 * rng.normal(size=3), spin=8.0 * rng.normal(size=3),
        lumped_mass=lumped,
    ), position=(0, 0, 0.0005 if floor else 1.0))  # fmt: skip
    if floor:
        scene.collide(body, scene.add(pl.Obstacle.plane(point=(0, 0, 0), normal=(0, 0, 1))), friction=0.3)
    world = scene.compile()
    loss = 1e2 * pl.losses.Position((body, np.array([0.033, 0.0107, 0.0113])), (0.09, 0, 0), when="always")
    if not floor:
        loss = loss + pl.losses.Energy(body, "kinetic")
    named = {"gravity": P.Gravity(), "mass": P.Mass(body)}
    named |= {"q": P.InitialPositions(body), "v": P.InitialVelocities(body)}
    along = cases.directions(world, seed)
    weights = {"gravity": np.eye(3)[0], "q": along, "v": along}
    return cases.Case(world, loss, [{}] * steps, named, cases.started(world, seed, q=q, v=v), weights)


def check(seed, steps, **options):
    found = flying(seed, steps, **options).gradient(cases.EULER)[1]
    for name, size in SIZES.items():
        wanted = cases.difference(
            lambda s, name=name: flying(seed, steps, **options, **{name: s}).value(cases.EULER), size
        )
        assert found[name] == pytest.approx(wanted, rel=1e-6), name


@pytest.mark.parametrize("options", [{"lumped": False}, {"floor": True}])
def test_a_block_that_spins(options):
    check(1, 2, **options)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("options", [{}, {"lumped": False}, {"floor": True}])
def test_many_blocks_that_spin(seed, options):
    check(seed, 4, **options)


def test_forward_agrees_with_backward():
    case = flying(1, 3, floor=True)
    body, place = case.world.models[0].handle, np.array([0.033, 0.0107, 0.0113])
    parameters = [case.parameters["gravity"], case.parameters["v"]]
    given = {"parameters": parameters, "control": case.control, "start": case.start}
    out = pl.outputs.Points(body, [place])
    read = pl.sensitivities(case.world, cases.EULER, [out], **given)
    found = pl.gradient(case.world, cases.EULER, pl.losses.Coordinate((body, place), (0, 0, 1)), **given)
    for parameter in parameters:
        assert read.derivatives[out, parameter][-1, 0, 2] == pytest.approx(found[parameter], rel=1e-8, abs=1e-11)


def test_what_is_not_known_is_an_error():
    case = flying(0, 1)
    body = case.world.models[0].handle
    with pytest.raises(pl.InputError, match="turns in a step of one linear solve"):
        case.gradient(pl.ImplicitEuler(0.005))
    with pytest.raises(pl.InputError, match=r"turns in a pl\.ImplicitMidpoint"):
        case.gradient(pl.ImplicitMidpoint(0.005, tolerance=1e-10))
    scene = pl.Scene()
    mixed = scene.add(pl.Volume(
        body.mesh, body.material, spin=(0, 0, 9.0), inclusions=[(pl.regions.cells([0, 1]), cases.material("Corotated"))]
    ))  # fmt: skip
    loss = pl.losses.Position((mixed, np.array([0.033, 0.0107, 0.0113])), (0.09, 0, 0))
    with pytest.raises(pl.InputError, match="how its masses are shared"):
        pl.gradient(scene.compile(), cases.EULER, loss, parameters=[P.Material(mixed, "density", inclusion=0)],
                    until=0.005)  # fmt: skip
