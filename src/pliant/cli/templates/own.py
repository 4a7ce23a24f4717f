"""A body from your own mesh or CAD file.

Make the mesh:     pliant mesh PART.stl --unit mm --size 3 --out part.vtu
Use it:            pliant run THIS.py --set mesh_file=part.vtu --set unit=m --out part.html
Drive it:          pliant view THIS.py
Check it:          pliant check THIS.py
All in SI units:   m, kg, s, N, Pa, rad
"""

from typing import Any

import pliant as pl

# Plain values up here are parameters: --set NAME=VALUE puts another in their place.
mesh_file = ""  # a volume mesh (.vtu, .msh, .vtk…); empty takes a bar, so that this file runs as it is
unit = "m"  # of the coordinates in that file: "m", "mm"…; `pliant mesh` writes metres
young = 0.3e6  # stiffness of the material, Pa
push = 0.2  # sideways force at the far end, N
until = 1.0  # end of the simulation, s

mesh = pl.mesh.load(mesh_file, unit=unit) if mesh_file else pl.mesh.box((0.12, 0.02, 0.02), (12, 4, 4))
lower, upper = mesh.bounds  # corners of the box around it, m

# Regions select nodes: boxes, planes, spheres, lists of nodes, and combinations with |, & and ~.
slice_x = 0.02 * (upper[0] - lower[0])
base = pl.regions.box((lower[0], -1.0, -1.0), (lower[0] + slice_x, 1.0, 1.0))
far_end = pl.regions.box((upper[0] - slice_x, -1.0, -1.0), (upper[0], 1.0, 1.0))

scene = pl.Scene(gravity=(0, 0, -9.81))
rubber = pl.materials.NeoHookean(young=young, poisson=0.45, density=1080)
body = scene.add(pl.Volume(mesh, rubber, clamp=base, name="body", damping=pl.Rayleigh(stiffness=0.01)))
load = scene.add(pl.PointLoad(body, far_end, (0, 0, 0)))

# A cable: points inside the body, from where it is pulled to where it is anchored.
# cable = scene.add(pl.Cable(body, [(0.005, 0.01, 0.002), (0.115, 0.01, 0.002)], name="cable"))
# A chamber: every closed hollow of the mesh can be one.
# chamber = scene.add(pl.Cavity(body))


def control(t: float, state: pl.State) -> dict[Any, Any]:
    """What pushes and pulls in the step that ends at time t (s)."""
    return {load: pl.Force((0.0, push * min(2.0 * t, 1.0), 0.0))}
