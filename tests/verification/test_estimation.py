"""A finger feels a push of 0.2 N at random places of its skin, from three markers and the tension of its cable.

Run with ``-rP`` it prints the table of docs/results.md. Where a push hardly moves the markers, near the clamp, nothing
can find it; the deviations that the estimator gives have to say so.
"""

import warnings

import numpy as np
import pytest
from scipy import stats

import pliant as pl
from pliant.estimation.loads import Spot
from pliant.estimation.search import WithLoads

FORCE, PLACES = 0.2, 60
MARKERS = [(0.044, 0.006, 0.0125), (0.072, -0.006, 0.0125), (0.1, 0.006, 0.0125)]
PHALANGES = {"first": (0.016, 0.044), "second": (0.044, 0.072), "third": (0.072, 0.1001)}


@pytest.mark.slow
@pytest.mark.parametrize(("noise", "found_at_least"), [(1e-4, 0.85), (3e-5, 0.95)], ids=["0.1 mm", "0.03 mm"])
def test_a_push_at_an_unknown_place_of_the_finger(noise, found_at_least):
    scene = pl.Scene(gravity=(0, 0, -9.81))
    finger = scene.add(pl.robots.finger())
    world = scene.compile()
    held = {finger.cable: pl.Displacement(0.012)}
    rest, _ = pl.QuasiStatic()(world, world.initial_state(), held)
    markers = pl.identification.Markers(finger.body, MARKERS, noise=noise)
    tension = pl.identification.ActuatorForce(finger.cable, noise=100 * noise)
    push = pl.estimation.Push(finger, deviation=0.5)
    feel = pl.Estimator(world, [markers, tension], [push])
    skin, sensors = feel.problem.push[1], feel.problem.sensors
    corners = skin.model.rest[skin.triangles]
    areas = np.linalg.norm(np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]), axis=1)
    random, rows = np.random.default_rng(7), []
    for _ in range(PLACES):
        triangle, weights = random.choice(len(areas), p=areas / areas.sum()), random.dirichlet((1, 1, 1))
        spot = Spot(0, skin.triangles[triangle], weights, np.zeros(3), FORCE)
        state, info = pl.QuasiStatic(tolerance=1e-9, solver=WithLoads((spot,)))(world, rest, held)
        readings = sensors.predicted(info) + sensors.noise * random.normal(size=10)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", pl.errors.PliantWarning)
            felt = feel(rest, held, sensors.shaped(readings))[push]
        off = np.linalg.norm(felt.force - spot.at(state.q[0])) / FORCE
        away = np.linalg.norm(felt.place - weights @ state.q[0][spot.nodes])
        told = felt.deviation < 0.075 * FORCE and felt.place_deviation < 0.0025 and not felt.alternatives
        rows.append(((weights @ corners[triangle])[0], off, away, told, abs(felt.size - FORCE) / felt.deviation))
    x, off, away, told, squares = np.array(rows).T
    near = (off < 0.15) & (away < 0.005)
    for name, (first, last) in PHALANGES.items():
        own = (x >= first) & (x < last)
        force, place = np.quantile(off[own], [0.5, 0.9]), 1e3 * np.quantile(away[own], [0.5, 0.9])
        cells = (
            f"{1e3 * noise:g} mm", name, f"{100 * near[own].mean():.0f} %",
            f"{100 * force[0]:.1f}, {100 * force[1]:.0f} %", f"{place[0]:.1f}, {place[1]:.1f} mm",
            f"{100 * told[own].mean():.0f} %",
        )  # fmt: skip
        print(f"| {' | '.join(cells)} |")
    outer = x >= PHALANGES["second"][0]
    assert near[outer].mean() >= found_at_least, "on the outer phalanges, within 15 % and 5 mm"
    assert near[told > 0].mean() > 0.9, "where the deviations promise it"
    assert (squares[outer] < stats.norm.ppf(0.995)).mean() > 0.85, "errors of the force are as large as told"
