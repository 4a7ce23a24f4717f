"""The tip of a trunk follows a circle; the inverse finds the pull of its eight cables.

Run it:            pliant run THIS.py --out trunk.html
Other values:      pliant run THIS.py --set radius=0.02
Drive it:          pliant view THIS.py
Check it:          pliant check THIS.py
All in SI units:   m, kg, s, N, Pa, rad
"""

from math import cos, pi, sin
from typing import Any

import pliant as pl

# Plain values up here are parameters: --set NAME=VALUE puts another in their place.
radius = 0.03  # of the circle, m
height = 0.18  # of the circle above the base, m
period = 2.0  # time for one round, s
until = 3.0  # end of the simulation, s

scene = pl.Scene(gravity=(0, 0, -9.81))
trunk = scene.add(pl.robots.trunk())
tip = pl.Effector(trunk.tip)  # the point that has a target

# The solver looks for the cable forces that bring the effector to its target in every step.
stepper = pl.ImplicitEuler(dt=0.01, solver=pl.Inverse(effectors=[tip], actuators=trunk.cables))


def target(t: float) -> tuple[float, float, float]:
    """Where the tip is to be at time t (s): up to the circle in half a second, then round and round."""
    reach, angle = radius * min(t / 0.5, 1.0), 2.0 * pi * max(t - 0.5, 0.0) / period
    return reach * cos(angle), reach * sin(angle), height + (0.195 - height) * (1.0 - min(t / 0.5, 1.0))


def control(t: float, state: pl.State) -> dict[Any, Any]:
    """Targets of effectors; in a direct simulation, values of actuators."""
    return {tip: target(t)}


def measure(run: pl.Run) -> dict[str, float]:
    """Numbers for the table; a sweep has one row of them for each case.

    The error is that of the moving tip. With the cables held it comes to rest elsewhere: `info.equilibrium_error(tip)`
    of a `pl.QuasiStatic` step says where, and `pl.Inverse(…, tolerance=1e-4)` finds pulls that hold in equilibrium.
    """
    path = trunk.tip.along(run.points(trunk))
    late = [k for k, t in enumerate(run.times) if t > 1.0]
    errors = [sum((path[k, i] - target(run.times[k])[i]) ** 2 for i in range(3)) ** 0.5 for k in late]
    return {
        "mean error of the moving tip (mm)": 1e3 * float(sum(errors) / max(len(errors), 1)),
        "largest pull (mm)": 1e3 * max(float(run.actuation(cable)[0].max()) for cable in trunk.cables),
    }
