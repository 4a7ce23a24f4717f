"""Forward sensitivities agree with the adjoint and with central differences of what is read from runs."""

import numpy as np
import pytest

import pliant as pl
from tests.gradients import cases

P, OUT = pl.parameters, pl.outputs
LINEAR = pl.ImplicitEuler(0.005)


def agree(case, stepper=cases.EULER, tolerance=1e-8):
    """The derivatives of an output of the whole run, weighed at random, are those of its adjoint."""
    body = case.world.models[0].spec
    marker = (body, case.world.models[0].node_positions(case.world.initial_state().q[0])[-1])
    steps, random = len(case.control), np.random.default_rng(0)
    weights = random.normal(size=(steps, 3))
    loss = sum(
        (float(weights[k, axis]) * _At(pl.losses.Coordinate(marker, np.eye(3)[axis]), k + 1)
         for k in range(steps) for axis in range(3)), start=_At(pl.losses.Coordinate(marker, (1, 0, 0)), -1),
    )  # fmt: skip
    named = case.parameters
    given = {"parameters": list(named.values()), "control": case.control, "start": case.start}
    adjoint = pl.gradient(case.world, stepper, loss, **given)
    output = OUT.Points(*(marker[0], marker[1][None]))
    forward = pl.sensitivities(case.world, stepper, [output], **given)
    assert forward.values[output].shape == (steps + 1, 1, 3)
    for name, parameter in named.items():
        found = forward.derivatives[output, parameter]
        assert found.shape == (steps + 1, 1, 3, *adjoint[parameter].shape)
        total = np.tensordot(weights, found[1:, 0], ((0, 1), (0, 1)))
        scale = np.abs(adjoint[parameter]).max()
        assert np.abs(total - adjoint[parameter]).max() <= tolerance * scale, name
    return forward


class _At(pl.losses.Loss):
    """A loss of one instant."""

    def __init__(self, loss, index):
        self._loss, self._index = loss, index

    def at(self, instant):
        last = pl.losses.Instant(instant.index, instant.index, instant.state, instant.info)
        return self._loss.at(last) if instant.index == self._index else 0.0

    def slope(self, instant):
        last = pl.losses.Instant(instant.index, instant.index, instant.state, instant.info)
        return self._loss.slope(last) if instant.index == self._index else pl.losses.Slope()


@pytest.mark.parametrize("kind", ["Corotated", "NeoHookean"])
def test_finger(kind):
    agree(cases.finger(0, 3, kind=kind))


def test_contacts_that_slip_and_stick():
    agree(cases.on_floor(1, 4, mu=0.02))
    agree(cases.on_floor(1, 4, mu=0.9))


def test_chambers_and_equilibria():
    agree(cases.chamber(5, 2, growth=True))
    agree(cases.finger(3, 1), cases.STATIC)


def test_small_bodies_and_rows_between_bodies():
    agree(cases.slender(2, 2, kind="rod"))
    agree(cases.slender(2, 2, kind="beam"))
    agree(cases.rigid(4, 3, shape="ball", mu=0.02))
    agree(cases.rigid(6, 3, flying=True), pl.ImplicitMidpoint(0.005, tolerance=1e-12))
    agree(cases.towed(3, 3))


def test_midpoint_steps_with_rows_go_through_the_adjoint_only():
    with pytest.raises(pl.InputError, match=r"projects its velocities.*use pl\.gradient"):
        agree(cases.finger(3, 1), pl.ImplicitMidpoint(0.005, tolerance=1e-12))


@pytest.mark.parametrize(
    ("make", "options"),
    [
        (cases.finger, {"kind": "Corotated"}), (cases.finger, {"kind": "NeoHookean", "force": True}),
        (cases.chamber, {"growth": False}), (cases.on_floor, {"mu": 0.02}), (cases.on_floor, {"mu": 0.9}),
        (cases.pressed, {"other": "soft", "mu": 0.0}), (cases.slender, {"kind": "rod"}),
        (cases.slender, {"kind": "beam"}), (cases.rigid, {"shape": "ball", "mu": 0.02}),
        (cases.rigid, {"flying": True}), (cases.hinged, {}),
        (cases.reduced, {}),
    ],
)  # fmt: skip
def test_steps_of_one_linear_solve(make, options):
    """The forces of a step stiffen the one after it, which a tangent carries along too."""
    case = make(1, 3, **options)
    case.parameters.pop("route", None)
    agree(case, LINEAR)


def read(case, outputs, stepper=cases.EULER):
    """The outputs of a run by `pl.simulate` alone."""
    state = case.world.initial_state() if case.start is None else case.start
    readings = [each.reading(case.world) for each in outputs]
    made = []
    for k, controls in enumerate(case.control):
        state, info = stepper(case.world, state, controls)
        made.append([each.value(pl.losses.Instant(k + 1, 0, state, info)) for each in readings])
    return [np.stack(each) for each in zip(*made, strict=True)]


def differ(make, of, sizes, tolerance, stepper=cases.EULER):
    """Compare the derivatives of all outputs of a case with differences."""
    case = make()
    outputs = of(case)
    given = {"parameters": list(case.parameters.values()), "control": case.control, "start": case.start}
    found = pl.sensitivities(case.world, stepper, outputs, **given)
    for name, parameter in case.parameters.items():
        size = sizes[name]

        def values(s, name=name):
            other = make(**{name: s})
            return np.concatenate([x.ravel() for x in read(other, of(other), stepper)])

        wanted, at = cases.difference(values, size), 0
        for output in outputs:
            slope = found.derivatives[output, parameter]
            shape = found.values[output].shape[1:]
            weights = case.weights.get(name, np.ones(slope.shape[1 + len(shape) :]))
            slope = np.tensordot(slope[1:], weights, np.ndim(weights)).ravel()
            part, at = wanted[at : at + len(slope)], at + len(slope)
            none = 1e-8 * np.abs(found.values[output]).max() / size
            scale = max(np.abs(part).max(), none)
            assert np.abs(slope - part).max() <= tolerance * scale, (name, type(output).__name__)


def test_forces_lengths_and_coordinates_against_differences():
    def of(case):
        body, cable = case.world.models[0].spec, case.parameters["command"].actuator
        return [OUT.Tension(cable), OUT.Coordinates(body)]

    differ(lambda **changes: cases.finger(0, 2, **changes), of, cases.FINGER_STEPS, 1e-6)
    lengths = lambda case: [OUT.Displacement(case.parameters["command"].actuator)]  # noqa: E731
    differ(lambda **changes: cases.finger(0, 2, force=True, **changes), lengths, cases.FINGER_STEPS, 1e-6)


def test_contact_forces_against_differences():
    def of(case):
        return [OUT.ContactForce(case.world.constraints[0].a.handle, case.world.constraints[0].b.handle)]

    differ(lambda **changes: cases.on_floor(1, 3, mu=0.9, **changes), of, cases.FLOOR_STEPS, 1e-6)
    differ(lambda **changes: cases.on_floor(1, 3, mu=0.9, **changes), of, cases.FLOOR_STEPS, 1e-6, LINEAR)
    differ(lambda **changes: cases.rigid(4, 2, shape="ball", mu=0.3, **changes), of, cases.RIGID_STEPS, 1e-6)


def test_nonsense_is_an_error():
    case = cases.finger(0, 1)
    (parameter,) = list(case.parameters.values())[:1]
    body = case.world.models[0].spec
    for outputs, message in [([], "one at least"), (["tip"], "must be of pl.outputs")]:
        with pytest.raises(pl.InputError, match=message):
            pl.sensitivities(case.world, cases.EULER, outputs, parameters=[parameter], until=0.01)
    with pytest.raises(pl.InputError, match="sensitivities\\(\\) of a dynamic run needs"):
        pl.sensitivities(case.world, cases.EULER, [OUT.Coordinates(body)], parameters=[parameter])
    with pytest.raises(pl.InputError, match="takes a body and points"):
        OUT.Points(body)
