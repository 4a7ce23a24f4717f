"""A bellows that air stretches.

Run it:            pliant run THIS.py --out bellows.html
Other values:      pliant run THIS.py --set pressure=4e3
Many values:       pliant sweep THIS.py --set pressure=-2e3:6e3:5 --out table.csv
Drive it:          pliant view THIS.py
Check it:          pliant check THIS.py
All in SI units:   m, kg, s, N, Pa, rad
"""

from typing import Any

import pliant as pl

# Plain values up here are parameters: --set NAME=VALUE puts another in their place.
pressure = 5e3  # in the chamber, Pa; negative sucks
until = 0.6  # end of the simulation, s

scene = pl.Scene(gravity=(0, 0, -9.81))
bellows = scene.add(pl.robots.bellows())


def control(t: float, state: pl.State) -> dict[Any, Any]:
    """What the actuators do in the step that ends at time t (s): the pressure rises for 0.4 s."""
    return {bellows.cavity: pl.Pressure(pressure * min(t / 0.4, 1.0))}


def measure(run: pl.Run) -> dict[str, float]:
    """Numbers for the table; a sweep has one row of them for each case."""
    top = bellows.tip.along(run.points(bellows))
    growth, _ = run.actuation(bellows.cavity)
    return {"stretch (mm)": 1e3 * float(top[-1, 2] - top[0, 2]), "air pumped in (mL)": 1e6 * float(growth[-1])}
