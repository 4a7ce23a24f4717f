"""A silicone arm with three cables and an elastic backbone, bent against a post.

Run it:            pliant run THIS.py --out arm.html
Other values:      pliant run THIS.py --set pull=0.02
Many values:       pliant sweep THIS.py --set pull=0.005:0.02:4 --out table.csv
Drive it:          pliant view THIS.py
Check it:          pliant check THIS.py
All in SI units:   m, kg, s, N, Pa, rad
"""

from typing import Any

import numpy as np

import pliant as pl

# Plain values up here are parameters: --set NAME=VALUE puts another in their place.
length, radius = 0.2, 0.012  # of the arm, m
young = 0.4e6  # stiffness of the silicone, Pa
wire = 0.4e-3  # radius of the backbone, a wire of spring steel, m
pull = 0.015  # displacement of the first cable, m
until = 1.5  # end of the simulation, s

# The arm hangs from its base at z = 0.
scene = pl.Scene(gravity=(0, 0, -9.81))
mesh = pl.mesh.cylinder(radius, length, cells=(2, 16)).translated((0, 0, -length))
silicone = pl.materials.NeoHookean(young=young, poisson=0.45, density=1070)
base = pl.regions.plane(axis="z", at=0)
arm = scene.add(pl.Volume(mesh, silicone, clamp=base, damping=pl.Rayleigh(stiffness=0.02), name="arm"))

# Three cables at 120°, from where they are pulled (the base) to where they are anchored (the tip).
heights = -np.linspace(0.001, length - 0.005, 16)
cables = []
for k, angle in enumerate(np.radians([0, 120, 240])):
    side = 0.75 * radius * np.array([np.cos(angle), np.sin(angle)])
    cables.append(scene.add(pl.Cable(arm, [(*side, z) for z in heights], max_displacement=0.03, name=f"cable {k}")))

# The backbone: a Cosserat rod on the axis, fixed at the base. It slides in the channel through the arm.
backbone = scene.add(
    pl.Rod(
        length,
        16,
        section=pl.sections.Circle(wire),
        young=200e9,
        poisson=0.3,
        density=7800,
        rotation=(0, np.pi / 2, 0),  # a rod goes along its own x; this turns it to −z
        strains=("bend_y", "bend_z"),  # steel does not stretch, and nothing twists it
        damping=pl.Rayleigh(stiffness=0.02),
        name="backbone",
    )
)
along = -np.linspace(0.01, length - 0.01, 15)
scene.add(pl.Channel(arm, [(0, 0, z) for z in along], backbone, fixed_end=False, name="channel"))

# A post in the way, with dry friction.
post = scene.add(pl.Obstacle.cylinder(start=(0.035, -0.05, -0.12), end=(0.035, 0.05, -0.12), radius=0.008, name="post"))
scene.collide(arm, post, friction=0.3)
tip = pl.robots.Marker(arm, (0, 0, -length + 1e-4))


def control(t: float, state: pl.State) -> dict[Any, Any]:
    """Pull the first cable in one second; the other two are left slack."""
    return {cables[0]: pl.Displacement(pull * min(t, 1.0))}


def measure(run: pl.Run) -> dict[str, float]:
    """Numbers for the table; a sweep has one row of them for each case."""
    path, (_, tension) = tip.along(run.points(arm)), run.actuation(cables[0])
    return {
        "tip moved sideways (mm)": 1e3 * float(path[-1, 0] - path[0, 0]),
        "tension (N)": float(tension[-1]),
        "force on the post (N)": float(np.linalg.norm(run.contact_force(arm, post)[-1])),
    }
