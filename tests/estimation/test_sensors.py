"""How readings follow forces anywhere, against central differences of converged equilibria."""

import numpy as np
import pytest

import pliant as pl
from pliant.estimation.forces import Place
from pliant.estimation.loads import PointLoad, Spot
from pliant.estimation.sensors import Responses, Sensors

PROBE = 1e-4


@pytest.mark.parametrize("command", [pl.Displacement(0.004), pl.Force(0.4), None])
def test_responses_to_a_force_at_a_point(bar, command):
    held = {} if command is None else {bar.cable: command}
    measured = bar.markers(), pl.identification.ActuatorForce(bar.cable, noise=1.0)
    sensors = Sensors.of(bar.world, [*measured, pl.identification.ActuatorDisplacement(bar.cable, noise=1.0)])
    place = Place(0, bar.world.models[0].embed(np.array([(0.07, 0.015, 0.02)]), what="place"))
    load = np.array((0.01, 0.02, -0.03))
    state, _ = bar.settled([PointLoad(place, load)], held=held)
    responses = Responses.at(sensors, state, bar.world.controls(held))
    found = responses.by_body(0) @ place.map.pull_back_along(state.q[0], np.eye(3)[None]).T
    assert np.abs(found[9]).max() > 0.0 if isinstance(command, pl.Displacement) else not found[9].any()
    assert np.abs(found[10]).max() > 0.0 or isinstance(command, pl.Displacement)
    for axis in range(3):
        sides = [
            sensors.predicted(bar.settled([PointLoad(place, load + s * np.eye(3)[axis])], state, held)[1])
            for s in (PROBE, -PROBE)
        ]
        slope = (sides[0] - sides[1]) / (2 * PROBE)
        assert found[:, axis] == pytest.approx(slope, rel=1e-5, abs=1e-6 * np.abs(slope).max())


def test_a_push_along_the_normal_follows_the_surface(bar):
    model = bar.world.models[0]
    nodes = model.mesh.surface().triangles[-1]
    spot = Spot(0, nodes, np.array((0.5, 0.3, 0.2)), np.zeros(3), 0.2)
    sensors = Sensors.of(bar.world, [bar.markers()])
    state, _ = bar.settled([spot])
    turned = Responses.at(sensors, state, bar.world.controls(bar.held)).following(spot, state.q[0])
    found = turned.by_body(0) @ spot.generalized(state.q[0]) / 0.2
    larger, smaller = (Spot(0, nodes, spot.weights, np.zeros(3), 0.2 + s) for s in (PROBE, -PROBE))
    slope = (
        sensors.predicted(bar.settled([larger], state)[1]) - sensors.predicted(bar.settled([smaller], state)[1])
    ) / (2 * PROBE)
    still = Responses.at(sensors, state, bar.world.controls(bar.held)).by_body(0) @ spot.generalized(state.q[0]) / 0.2
    assert found == pytest.approx(slope, rel=1e-3, abs=1e-4 * np.abs(slope).max())
    assert np.abs(still - slope).max() > 1e-2 * np.abs(slope).max()
    motion = turned.motion(0, spot.generalized(state.q[0])).reshape(-1, 3)
    assert sensors.markers[sensors.measurements[0]].map.points(motion).ravel() == pytest.approx(0.2 * found)


def test_the_stiffness_of_a_push_is_the_derivative_of_its_force(bar):
    q = bar.rest.q[0]
    spot = Spot(0, bar.world.models[0].mesh.surface().triangles[3], np.array((0.2, 0.3, 0.5)), np.zeros(3), 2.0)
    own, S = spot.unknowns(), spot.stiffness(q)
    for k in range(9):
        step = np.zeros(q.size)
        step[own[k]] = 1e-7
        sides = [spot.generalized(q + s * step.reshape(q.shape)) for s in (1.0, -1.0)]
        assert S[:, k] == pytest.approx((sides[0] - sides[1])[own] / 2e-7, abs=1e-5 * np.abs(S).max())


def test_readings_are_gathered_with_gaps(bar):
    markers, tension = bar.markers(), pl.identification.ActuatorForce(bar.cable, values=0.5, noise=0.01)
    sensors = Sensors.of(bar.world, [markers, tension])
    given = np.arange(9.0).reshape(3, 3)
    given[1, 2] = np.nan
    rows = sensors.gathered({markers: given})
    assert rows[:9].reshape(3, 3) == pytest.approx(given, nan_ok=True)
    assert rows[9] == 0.5
    assert sensors.noise == pytest.approx([1e-4] * 9 + [0.01])
    for wrong, text in (({markers: given[:2]}, "shape"), ({bar.cable: 1.0}, "no sensor"), ({tension: np.inf}, "gaps")):
        with pytest.raises(pl.InputError, match=text):
            sensors.gathered(wrong)
    with pytest.raises(pl.InputError, match="all readings are gaps"):
        sensors.gathered({tension: np.nan})
