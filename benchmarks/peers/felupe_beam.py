"""Static sag of the bench beam by felupe: compressible neo-Hookean on the bench's tetrahedra or on quadratic hexahedra.

Usage: felupe_beam.py SETUP.npz ELEMENT [NX NY NZ], ELEMENT tet4 (the bench's mesh) or hex27 (a grid of NX × NY × NZ
cells, default 20 4 4). Prints one JSON line; `seconds` is the whole solution, four load steps of Newton's iteration.
"""

import json
import sys
import time

import felupe
import numpy as np


def region_of(setup, element, counts):
    if element == "tet4":
        return felupe.RegionTetra(felupe.Mesh(setup["points"], setup["cells"], "tetra"))
    grid = felupe.Cube(b=tuple(setup["points"].max(axis=0)), n=tuple(n + 1 for n in counts))
    quadratic = grid.convert(order=2, calc_points=True, calc_midfaces=True, calc_midvolumes=True)
    return felupe.RegionTriQuadraticHexahedron(quadratic)


def main():
    setup = {name: value if value.ndim else value.item() for name, value in np.load(sys.argv[1]).items()}
    element = sys.argv[2]
    counts = [int(n) for n in sys.argv[3:6]] or [20, 4, 4]
    young, poisson = setup["young"], setup["poisson"]
    mu, lam = young / 2 / (1 + poisson), young * poisson / (1 + poisson) / (1 - 2 * poisson)
    region = region_of(setup, element, counts)
    field = felupe.FieldContainer([felupe.Field(region, dim=3)])
    solid = felupe.SolidBody(umat=felupe.NeoHookeCompressible(mu=mu, lmbda=lam), field=field)
    weight = felupe.SolidBodyForce(field, values=[0.0, 0.0, 0.0])
    held, free = felupe.dof.partition(field, {"clamp": felupe.Boundary(field[0], fx=0.0)})
    start = time.perf_counter()
    for share in (0.25, 0.5, 0.75, 1.0):
        weight.update([0.0, 0.0, -share * setup["gravity"] * setup["density"]])
        felupe.newtonraphson(items=[solid, weight], dof0=held, dof1=free, verbose=0)
    points = region.mesh.points
    tip = points[:, 0] > points[:, 0].max() - 1e-9
    report = {
        "peer": "felupe",
        "version": felupe.__version__,
        "settings": f"neo-Hookean, {element}, {region.mesh.npoints} nodes, {region.mesh.ncells} cells",
        "tip_sag_mm": -1e3 * float(field[0].values[tip, 2].mean()),
        "seconds": time.perf_counter() - start,
    }
    print(json.dumps(report))


main()
