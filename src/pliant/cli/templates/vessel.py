"""A guide wire is pushed through a curved vessel: contact of a rod with the inside of a tube, with friction.

Run it:            pliant run THIS.py --out vessel.html
Other values:      pliant run THIS.py --set friction=0.3
Many values:       pliant sweep THIS.py --set friction=0.0:0.4:5 --out table.csv
Check it:          pliant check THIS.py
All in SI units:   m, kg, s, N, Pa, rad
"""

from typing import Any

import numpy as np

import pliant as pl

# Plain values up here are parameters: --set NAME=VALUE puts another in their place.
wire = 0.3e-3  # radius of the wire, m
young = 50e9  # its stiffness, as of Nitinol, Pa
bend = 12.0  # curvature of its pre-bent tip, 1/m
bore = 4e-3  # inner radius of the vessel, m
friction = 0.1  # Coulomb's μ between wire and wall
insertion = 0.09  # how far the wire is pushed in, m
until = 1.8  # end of the simulation, s

# The vessel: straight for 60 mm, a bend of 45° with a radius of 80 mm, straight again. A polyline is its centreline.
angle = np.linspace(0.0, np.pi / 4, 13)
arc = np.column_stack([0.06 + 0.08 * np.sin(angle), 0.08 * (1 - np.cos(angle)), 0 * angle])
end = arc[-1] + 0.05 * np.array([np.cos(np.pi / 4), np.sin(np.pi / 4), 0])
scene = pl.Scene(gravity=(0, 0, -9.81))
vessel = scene.add(pl.Obstacle.tubes(np.vstack([(0, 0, 0), arc, end]), radius=bore, name="vessel"))

# The wire: a Cosserat rod, of which the last 20 mm are pre-bent. Its tip begins 50 mm inside; its base slides along x.
length, count = 0.16, 32
rest = np.zeros((count, 6))  # strains at rest of each section: twist, bending (2), stretch, shear (2)
rest[-4:, 2] = bend
rod = scene.add(
    pl.Rod(
        length,
        count,
        section=pl.sections.Circle(wire),
        young=young,
        poisson=0.3,
        density=6500,
        rest_strain=rest,
        start_strain=np.zeros(6),  # it begins straight, in the straight part of the vessel
        strains=("bend_y", "bend_z"),  # a thin wire does not stretch, and nothing turns its base
        position=(0.05 - length, 0, 0),
        base=pl.Slide((1, 0, 0)),
        damping=pl.Rayleigh(stiffness=0.05),
        contact_points=2,
        name="wire",
    )
)
hand = scene.add(pl.BaseDrive(rod, max_force=5.0, name="hand"))
# continuous: where the pre-bent tip snaps round, the step is cut: the wire does not leave through the wall.
scene.collide(rod, vessel, friction=friction, margin=bore - wire, continuous=True)


def control(t: float, state: pl.State) -> dict[Any, Any]:
    """The hand pushes at a constant speed for 1.5 s."""
    return {hand: pl.Displacement(insertion * min(t / 1.5, 1.0))}


def measure(run: pl.Run) -> dict[str, float]:
    """Numbers for the table; a sweep has one row of them for each case."""
    tip, (_, push) = run.points(rod)[-1, -1], run.actuation(hand)
    return {
        "tip advanced (mm)": 1e3 * float(tip[0] - 0.05),
        "tip turned off (mm)": 1e3 * float(tip[1]),
        "push of the hand (N)": float(np.abs(push[-10:]).mean()),
        "force on the wall (N)": float(np.linalg.norm(run.contact_force(rod, vessel)[-1])),
    }
