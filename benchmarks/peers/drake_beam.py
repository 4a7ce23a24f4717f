"""Drake deformable bodies on the bench beam.

Usage: drake_beam.py SETUP.npz STEPS MODEL, MODEL one of kLinearCorotated, kCorotated, kNeoHookean; prints a JSON line.
Wall boundary condition at x = 0, stiffness-proportional damping, discrete plant with its default contact approximation.
"""

import json
import os
import sys
import tempfile
import time
from importlib.metadata import version
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
from pydrake.all import (
    AddMultibodyPlant,
    DiagramBuilder,
    GeometryInstance,
    Mesh,
    MultibodyPlantConfig,
    ProximityProperties,
    RigidTransform,
    Simulator,
)
from pydrake.multibody.fem import DeformableBodyConfig, MaterialModel


def write_vtk(path, points, cells):
    lines = ["# vtk DataFile Version 3.0", "beam", "ASCII", "DATASET UNSTRUCTURED_GRID", f"POINTS {len(points)} double"]
    lines += [f"{x:.12g} {y:.12g} {z:.12g}" for x, y, z in points]
    lines += [f"CELLS {len(cells)} {5 * len(cells)}"]
    lines += ["4 " + " ".join(str(n) for n in cell) for cell in cells]
    lines += [f"CELL_TYPES {len(cells)}", *["10"] * len(cells), ""]
    path.write_text("\n".join(lines))


def build(setup, material, folder):
    builder = DiagramBuilder()
    plant, _ = AddMultibodyPlant(MultibodyPlantConfig(time_step=setup["dt"]), builder)
    plant.mutable_gravity_field().set_gravity_vector([0.0, 0.0, -setup["gravity"]])
    config = DeformableBodyConfig()
    config.set_youngs_modulus(setup["young"])
    config.set_poissons_ratio(setup["poisson"])
    config.set_mass_density(setup["density"])
    config.set_mass_damping_coefficient(0.0)
    config.set_stiffness_damping_coefficient(setup["stiffness_damping"])
    config.set_material_model(getattr(MaterialModel, material))
    mesh = folder / "beam.vtk"
    write_vtk(mesh, setup["points"], setup["cells"])
    geometry = GeometryInstance(RigidTransform(), Mesh(str(mesh)), "beam")
    geometry.set_proximity_properties(ProximityProperties())
    bodies = plant.mutable_deformable_model()
    body = bodies.RegisterDeformableBody(geometry, config, 1.0)
    bodies.SetWallBoundaryCondition(body, np.array([1e-4, 0.0, 0.0]), np.array([1.0, 0.0, 0.0]))
    plant.Finalize()
    simulator = Simulator(builder.Build())
    simulator.Initialize()
    context = plant.GetMyContextFromRoot(simulator.get_mutable_context())
    return simulator, lambda: np.asarray(bodies.GetPositions(context, body)).reshape(3, -1, order="A").T


def main():
    setup = {name: value if value.ndim else value.item() for name, value in np.load(sys.argv[1]).items()}
    steps, material = int(sys.argv[2]), sys.argv[3]
    with tempfile.TemporaryDirectory() as folder:
        simulator, positions = build(setup, material, Path(folder))
    tip = setup["points"][:, 0] > setup["points"][:, 0].max() - 1e-9
    cpu, wall, sag = [], [], []
    for number in range(1, steps + 1):
        start_cpu, start = time.process_time(), time.perf_counter()
        simulator.AdvanceTo(number * setup["dt"])
        cpu.append(time.process_time() - start_cpu)
        wall.append(time.perf_counter() - start)
        sag.append(-1e3 * float((positions() - setup["points"])[tip, 2].mean()))
    report = {
        "peer": "drake",
        "version": version("drake"),
        "settings": f"{material}, dt {1e3 * setup['dt']:g} ms",
        "step_ms": 1e3 * float(np.median(cpu[5:])),
        "step_wall_ms": 1e3 * float(np.median(wall[5:])),
        "tip_sag_mm": sag[-1],
        "tip_path_mm": [round(s, 5) for s in sag],
    }
    print(json.dumps(report))


if __name__ == "__main__":
    main()
