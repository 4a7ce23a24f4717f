"""A static problem by felupe: nearly incompressible neo-Hookean, dead forces at nodes or a rigid plane above.

Usage: felupe_static.py SETUP.npz STEPS. The setup has points, cells, element ("tet10" or "hex8"), mu, bulk (Pa), clamp
(nodes), watch (nodes), and either forces (n, 3) N, or above (nodes that the plane may touch), plane (its height, m)
and friction. Prints one JSON line: "watch" (k, 3) m, displacements, and with a plane its "force" (3,) N on the body.
felupe's contact is a penalty; its stiffness is `STIFFNESS` times that of the body at the node.
"""

import json
import sys

import felupe
import numpy as np

STIFFNESS = 1000.0
REGIONS = {"tet10": (felupe.RegionQuadraticTetra, "tetra10"), "hex8": (felupe.RegionHexahedron, "hexahedron")}


def main():
    setup = {name: value if value.ndim else value.item() for name, value in np.load(sys.argv[1]).items()}
    steps = int(sys.argv[2])
    region_type, cell_type = REGIONS[setup["element"]]
    count = len(setup["points"])
    mesh = felupe.Mesh(setup["points"], setup["cells"], cell_type)
    if "plane" in setup:
        mesh.add_points(np.array([0.0, 0.0, setup["points"][setup["above"], 2].max()]))
    field = felupe.FieldContainer([felupe.Field(region_type(mesh), dim=3)])
    solid = felupe.SolidBody(felupe.NeoHooke(mu=setup["mu"], bulk=setup["bulk"]), field)
    clamp = np.isin(np.arange(mesh.npoints), setup["clamp"])
    boundaries = {"clamp": felupe.Boundary(field[0], mask=clamp)}
    if "plane" in setup:
        plane = felupe.ContactRigidPlane(
            field, points=setup["above"], centerpoint=-1, normal=[0, 0, -1], friction=setup["friction"], items=[solid],
            multiplier=STIFFNESS, multiplier_tangential=STIFFNESS, multiplier_update="once",
        )  # fmt: skip
        above = np.arange(mesh.npoints) == count
        boundaries["plane"] = felupe.Boundary(field[0], mask=above)
        depth = setup["plane"] - mesh.points[count, 2]
        moves = [np.array([0.0, 0.0, depth * k / steps]) for k in range(1, steps + 1)]
        items, ramp = [solid, plane], {boundaries["plane"]: moves}
    else:
        loaded = np.flatnonzero(np.abs(setup["forces"]).sum(axis=1))
        load = felupe.PointLoad(field, loaded, values=0.0 * setup["forces"][loaded])
        items, ramp = [solid, load], {load: [setup["forces"][loaded] * k / steps for k in range(1, steps + 1)]}
    step = felupe.Step(items=items, ramp=ramp, boundaries=boundaries)
    felupe.Job(steps=[step]).evaluate(verbose=0, tol=1e-9)
    report = {
        "peer": "felupe",
        "version": felupe.__version__,
        "watch": field[0].values[setup["watch"]].tolist(),
    }
    if "plane" in setup:
        inside = np.asarray(solid.assemble.vector(field).todense()).reshape(-1, 3)
        report["force"] = inside[setup["above"]].sum(axis=0).tolist()
    print(json.dumps(report))


main()
