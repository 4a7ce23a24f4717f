"""A finger reduced offline to a few modes, then simulated many times faster; the error is measured, not assumed.

Run it:            pliant run THIS.py --out reduced.html
Other values:      pliant run THIS.py --set tolerance=1e-3
Check it:          pliant check THIS.py
All in SI units:   m, kg, s, N, Pa, rad
"""

from math import pi
from typing import Any

import pliant as pl

# Plain values up here are parameters: --set NAME=VALUE puts another in their place.
amplitude = 0.02  # largest displacement of the cable in the offline experiments, m
steps = 60  # steps of each of them
tolerance = 3e-3  # relative error of shapes that were left out of the training
cells = (5, 3, 3)  # of a phalanx of the full model: a finer one than the default, which would be fast enough as it is
pull = 0.018  # displacement of the cable in the simulation, m
until = 1.0  # end of the simulation, s

# The full model.
scene = pl.Scene(gravity=(0, 0, -9.81))
finger = scene.add(pl.robots.finger(cells=cells), rotation=(0, pi / 2, 0))  # it hangs
full = scene.compile()

# Offline: the actuators are ramped, the shapes recorded, and modes and integration points chosen for `tolerance`.
plan = pl.reduction.ramps(full, amplitude=amplitude, steps=steps)
world = pl.reduction.reduce(full, plan, motion_tolerance=tolerance)  # again a World: `pliant run` simulates this one

# How far it can be trusted: against the full model, on actuations that were not in the training.
trust = pl.reduction.validate(world, full, runs=2)
print(trust)


def control(t: float, state: pl.State) -> dict[Any, Any]:
    """What the actuators do in the step that ends at time t (s)."""
    return {finger.cable: pl.Displacement(pull * min(t / 0.8, 1.0))}


def measure(run: pl.Run) -> dict[str, float]:
    """Numbers for the table."""
    tip = finger.tip.along(run.points(finger))
    return {
        "tip travel (mm)": 1e3 * float(((tip[-1] - tip[0]) ** 2).sum() ** 0.5),
        "error of the reduced motion": float(trust.error),
    }
