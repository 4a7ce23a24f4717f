"""A fibre-reinforced pneumatic bender from a drawing: STL or STEP file → mesh → body → chamber → scene.

Run it:            pliant run THIS.py --out bender.html
Your own drawing:  pliant run THIS.py --set drawing=part.stl --set unit=mm
Other values:      pliant run THIS.py --set pressure=40e3
Check it:          pliant check THIS.py
All in SI units:   m, kg, s, N, Pa, rad
"""

from pathlib import Path
from typing import Any

import numpy as np

import pliant as pl

# Plain values up here are parameters: --set NAME=VALUE puts another in their place.
drawing = ""  # an .stl, .obj, .ply or .step file, length along x; empty: an example is drawn beside this file
unit = "mm"  # of the coordinates in the drawing; a STEP file contains its own
cell_size = 0.004  # wanted length of the edges of cells, m; 0: two cells across every wall
pressure = 50e3  # gauge pressure in the chamber, Pa
fibre = 60.0  # axial stiffness EA of a fibre, N
until = 1.0  # end of the simulation, s

file = Path(drawing) if drawing else Path(__file__).with_name("bender.stl")
if not drawing:  # the example: a bar of 100 × 18 × 16 mm around a chamber, with a wall of 4 mm
    bar = pl.mesh.box((0.10, 0.018, 0.016), (1, 1, 1)).surface()
    hollow = pl.mesh.box((0.088, 0.010, 0.008), (1, 1, 1)).translated((0.006, 0.004, 0.004)).surface()
    shells = np.vstack([bar.triangles, hollow.triangles + len(bar.points)])
    pl.mesh.save(pl.mesh.Surface.from_triangles(np.vstack([bar.points, hollow.points]), shells), file, unit="mm")

# Closed shells inside the outer one stay empty: they are chambers.
mesh = pl.mesh.tetrahedralize(file, cell_size=cell_size or None, unit=unit)
(x0, y0, z0), (x1, y1, z1) = mesh.bounds

scene = pl.Scene(gravity=(0, 0, -9.81))
silicone = pl.materials.dragon_skin_30()
damping = pl.Rayleigh(stiffness=0.02)
body = scene.add(pl.Volume(mesh, silicone, clamp=pl.regions.plane(axis="x", at=x0), damping=damping, name="bender"))
chamber = scene.add(pl.Cavity(body, max_pressure=80e3, name="chamber"))

# Hoops of thread keep the chamber from ballooning, and threads along the sole keep it from growing longer below: the
# strain-limiting layer. Air then bends the bar downwards. Fibres are embedded: no mesh has to follow them.
e = 2e-3  # m, depth of the threads below the surface
corners = [(y0 + e, z0 + e), (y1 - e, z0 + e), (y1 - e, z1 - e), (y0 + e, z1 - e), (y0 + e, z0 + e)]
for x in np.arange(x0 + 0.008, x1 - 0.004, 0.004):
    scene.add(pl.Fibre(body, [(x, y, z) for y, z in corners], stiffness=fibre))
for y in np.linspace(y0 + e, y1 - e, 4):
    scene.add(pl.Fibre(body, np.linspace((x0 + e, y, z0 + e), (x1 - e, y, z0 + e), 20), stiffness=8.0 * fibre))

# A table below the tip, with dry friction.
table = scene.add(pl.Obstacle.plane(point=(0, 0, z0 - 0.018), name="table"))
scene.collide(body, table, friction=0.6)
tip = pl.robots.Marker(body, (x1 - e, 0.5 * (y0 + y1), z0 + e))


def control(t: float, state: pl.State) -> dict[Any, Any]:
    """The pressure in the step that ends at time t (s): a ramp of 0.8 s, then constant."""
    return {chamber: pl.Pressure(pressure * min(t / 0.8, 1.0))}


def measure(run: pl.Run) -> dict[str, float]:
    """Numbers for the table; a sweep has one row of them for each case."""
    path = tip.along(run.points(body))
    growth, _ = run.actuation(chamber)
    return {
        "tip moved down (mm)": 1e3 * float(path[0, 2] - path[-1, 2]),
        "air pumped in (mL)": 1e6 * float(growth[-1]),
        "force on the table (N)": float(run.contact_force(body, table)[-1, 2]),
    }
