"""Cable-driven fingers and a thumb grasp a soft ball, lift it by friction and hold it.

Run it:            pliant run THIS.py --out gripper.html
Other values:      pliant run THIS.py --set friction=0.1
Many values:       pliant sweep THIS.py --set friction=0.1:0.9:5 --out table.csv
Drive it:          pliant view THIS.py
Check it:          pliant check THIS.py
All in SI units:   m, kg, s, N, Pa, rad
"""

from typing import Any

import numpy as np

import pliant as pl

# Plain values up here are parameters: --set NAME=VALUE puts another in their place.
close = 0.016  # displacement of the cables, m
lift = 0.03  # how far the fingers are raised, m
friction = 0.7  # Coulomb's μ between fingers and ball
radius = 0.017  # of the ball, m
young = 0.1e6  # stiffness of the ball, Pa
until = 1.4  # end of the simulation, s

scene = pl.Scene(gravity=(0, 0, -9.81))

# A thumb and two fingers over a floor: soft bodies with a cable each, on mounts that can be moved. The gripper comes
# with a rigid cube to grasp, which is left out here.
grip = pl.robots.gripper(opening=0.044)
for part in (*grip.fingers, *grip.mounts, grip.floor):
    scene.add(part)

# The soft object: a ball of foam with a small hollow in its middle, on the floor.
foam = pl.materials.Corotated(young=young, poisson=0.4, density=300)
mesh = pl.mesh.shell(0.3 * radius, radius, cells=(2, 3)).translated((0, 0, radius))
ball = scene.add(pl.Volume(mesh, foam, damping=pl.Rayleigh(stiffness=0.02), name="ball"))

# What may touch what.
scene.collide(ball, grip.floor, friction=0.5)
for finger in grip.fingers:
    scene.collide(finger, ball, friction=friction)


def control(t: float, state: pl.State) -> dict[Any, Any]:
    """Close in 0.6 s, then lift in 0.5 s."""
    return grip.controls(close=close * min(t / 0.6, 1.0), lift=lift * min(max((t - 0.6) / 0.5, 0.0), 1.0))


def measure(run: pl.Run) -> dict[str, float]:
    """Numbers for the table; a sweep has one row of them for each case."""
    height = run.points(ball)[:, :, 2].mean(axis=1)
    return {
        "ball lifted (mm)": 1e3 * float(height[-1] - height[0]),
        "carried by the fingers (N)": float(sum(run.contact_force(ball, f)[-1, 2] for f in grip.fingers)),
        "weight of the ball (N)": 9.81 * 300 * float(mesh.volume),
        "grip of the thumb (N)": float(np.linalg.norm(run.contact_force(ball, grip.fingers[0])[-1])),
    }
