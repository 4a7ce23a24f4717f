"""Gradients through cables with friction in their guides, where they slip, stick and turn back."""

import numpy as np
import pytest

import pliant as pl
from tests.gradients import cases

P = cases.P
SIZES = {"young": 50, "friction": 1e-4, "command": 1e-5, "gravity": 1e-2, "v": 1e-3}


def guided(seed, steps, *, mu=0.3, friction=0.0, young=0.0, command=0.0, gravity=0.0, v=0.0, force=False, back=False):
    """A clamped bar with a cable through random guides."""
    rng = np.random.default_rng(seed)
    scene = pl.Scene(gravity=(gravity, 0, -9.81))
    body = scene.add(pl.Volume(
        pl.mesh.box((0.1, 0.02, 0.02), (4, 1, 1)), cases.material("Corotated", 1e5 + young),
        clamp=pl.regions.plane(axis="x", at=0.0), damping=pl.Rayleigh(stiffness=0.01),
    ))  # fmt: skip
    points = np.array([(0.01, 0.011, 0.004), (0.035, 0.012, 0.006), (0.062, 0.0105, 0.004), (0.088, 0.0113, 0.0061)])
    cable = scene.add(pl.Cable(body, points + rng.uniform(-1e-3, 1e-3, points.shape), friction=mu + friction))
    world = scene.compile()
    amounts = np.array([0.5, 1.0, 0.99, 0.9])[:steps] if back else np.linspace(0.5, 1.0, steps)
    control = [{cable: pl.Force(a + command) if force else pl.Displacement(0.004 * a + command)} for a in amounts]
    loss = 1e2 * pl.losses.Position((body, np.array([0.093, 0.0107, 0.0113])), (0.09, 0, 0), when="always")
    if not force:
        loss = loss + 1e-3 * pl.losses.Tension(cable, 0.3, when="always")
    named = {
        "young": P.Material(body, "young"), "friction": P.CableFriction(cable), "command": P.Control(cable),
        "gravity": P.Gravity(), "v": P.InitialVelocities(body),
    }  # fmt: skip
    weights = {"gravity": np.eye(3)[0], "v": cases.directions(world, seed), "command": np.ones(len(amounts))}
    return cases.Case(world, loss, control, named, cases.started(world, seed, v=v), weights)


def check(stepper, seed, steps, **options):
    found = guided(seed, steps, **options).gradient(stepper)[1]
    for name, size in SIZES.items():
        wanted = cases.difference(lambda s, name=name: guided(seed, steps, **options, **{name: s}).value(stepper), size)
        assert found[name] == pytest.approx(wanted, rel=1e-6, abs=1e-12), name


@pytest.mark.parametrize("options", [{"force": True}, {"back": True, "mu": 3.0}])
def test_cables_that_slip_and_stick_in_their_guides(options):
    """Pulled by force or by length, and let back, which turns the slip round."""
    check(cases.EULER, 1, 4, **options)
    check(pl.ImplicitEuler(0.005), 1, 4, **options)


def test_at_rest():
    check(cases.STATIC, 0, 1)
    check(cases.STATIC, 0, 1, force=True)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("mu", [0.03, 0.3, 3.0])
@pytest.mark.parametrize("force", [False, True])
def test_many_guides(seed, mu, force):
    check(cases.EULER, seed, 4, mu=mu, force=force, back=bool(seed % 2))
    check(pl.ImplicitEuler(0.005), seed, 4, mu=mu, force=force, back=bool(seed % 2))
    check(cases.STATIC, seed, 1, mu=mu, force=force)


def test_slip_and_stick_are_met():
    """The scene has guides of both kinds, or the tests above would not look at both."""
    from pliant.gradients.active import capstan_slips
    from pliant.solvers.contact import Law

    case, kinds = guided(1, 4, back=True, mu=3.0), set()
    state = case.start
    for controls in case.control:
        state, info = cases.EULER(case.world, state, controls)
        rows = info.assembly.rows
        slips = {slip.row for slip in capstan_slips(rows, info.lam)}
        kinds |= {i in slips for i in np.flatnonzero(rows.law == Law.CAPSTAN)}
    assert kinds == {True, False}


def test_forward_agrees_with_backward():
    case = guided(1, 3, back=True, mu=3.0)
    body, cable = case.world.models[0].handle, case.parameters["friction"].cable
    out = pl.outputs.Points(body, [(0.093, 0.0107, 0.0113)])
    given = {"parameters": [case.parameters["friction"], case.parameters["young"]], "control": case.control}
    read = pl.sensitivities(case.world, cases.EULER, [out], **given)
    loss = pl.losses.Coordinate((body, np.array([0.093, 0.0107, 0.0113])), (0, 0, 1))
    found = pl.gradient(case.world, cases.EULER, loss, **given)
    for parameter in given["parameters"]:
        assert read.derivatives[out, parameter][-1, 0, 2] == pytest.approx(found[parameter], rel=1e-9)
    assert pl.parameters.CableFriction(cable).value(case.world) == 3.0


def test_what_is_not_known_is_an_error():
    smooth = cases.finger(0, 1)
    with pytest.raises(pl.InputError, match="has no friction"):
        pl.gradient(smooth.world, cases.EULER, smooth.loss, control=smooth.control,
                    parameters=[P.CableFriction(smooth.parameters["command"].actuator)])  # fmt: skip


@pytest.mark.parametrize("stepper", [cases.EULER, cases.STATIC])
def test_rest_shapes_move_the_guides(stepper):
    """The via points keep their places while the material moves, where the cable slips."""
    case = guided(1, 1 if stepper is cases.STATIC else 2)
    body = case.world.models[0].handle
    shape = P.RestShape(body)
    points = shape.value(case.world)
    along = np.random.default_rng(3).normal(size=points.shape)
    given = {"parameters": [shape], "control": case.control}
    found = pl.gradient(case.world, stepper, case.loss, **given)[shape]

    def value(s):
        other = pl.changed(case.world, {shape: points + s * along})
        return cases.Case(other, case.loss, case.control, {}).value(stepper)

    assert np.vdot(found, along) == pytest.approx(cases.difference(value, 1e-7), rel=1e-6)


@pytest.mark.parametrize("tolerance", [1e-6, 1e-8])
def test_slip_is_known_where_angles_moved_after_the_last_solve(tolerance):
    """λ met the bounds of the last linear solve, not those of the end of the step."""
    stepper = pl.ImplicitEuler(0.005, tolerance=tolerance)
    found = guided(1, 2).gradient(stepper)[1]
    exact = guided(1, 2).gradient(cases.EULER)[1]
    for name in SIZES:
        assert found[name] == pytest.approx(exact[name], rel=1e-2), name
