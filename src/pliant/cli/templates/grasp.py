"""A finger pulled by a cable bends round a ball.

Run it:            pliant run THIS.py --out grasp.html
Other values:      pliant run THIS.py --set pull=0.03
Many values:       pliant sweep THIS.py --set pull=0.01:0.03:5 --out table.csv
Drive it:          pliant view THIS.py
Check it:          pliant check THIS.py
All in SI units:   m, kg, s, N, Pa, rad
"""

from typing import Any

import pliant as pl

# Plain values up here are parameters: --set NAME=VALUE puts another in their place.
young = 0.6e6  # stiffness of the silicone, Pa
pull = 0.02  # how far the cable is pulled in, m
friction = 0.6  # Coulomb's μ between finger and ball
until = 1.5  # end of the simulation, s

# The scene: what there is, and what may touch what.
scene = pl.Scene(gravity=(0, 0, -9.81))
rubber = pl.materials.Corotated(young=young, poisson=0.45, density=1080)
finger = scene.add(pl.robots.finger(material=rubber))
ball = scene.add(pl.Obstacle.sphere(center=(0.07, 0.0, -0.04), radius=0.015, name="ball"))
scene.collide(finger, ball, friction=friction)

# How time goes on. pl.ImplicitEuler(dt=0.01) is what you get without this line.
stepper = pl.ImplicitEuler(dt=0.01)


def control(t: float, state: pl.State) -> dict[Any, Any]:
    """What the actuators do in the step that ends at time t (s)."""
    return {finger.cable: pl.Displacement(pull * min(t, 1.0))}


def measure(run: pl.Run) -> dict[str, float]:
    """Numbers for the table; a sweep has one row of them for each case."""
    tip = finger.tip.along(run.points(finger))
    force = run.contact_force(finger, ball)
    return {
        "tip travel (mm)": 1e3 * float(abs(tip[-1] - tip[0]).max()),
        "largest contact force (N)": float((force**2).sum(axis=1).max() ** 0.5),
    }
