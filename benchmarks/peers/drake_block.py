"""Drake deformable bodies on the bench block: dropped on a rigid floor with friction.

Usage: drake_block.py SETUP.npz FALL STEPS MODEL [APPROXIMATION]: FALL steps until the block stands, then STEPS timed
ones; MODEL one of kLinearCorotated, kCorotated, kNeoHookean, APPROXIMATION that of the contacts, "lagged" or "sap".
Prints one JSON line.
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
from drake_beam import write_vtk
from pydrake.all import (
    AddContactMaterial,
    AddMultibodyPlant,
    AddRigidHydroelasticProperties,
    Box,
    CoulombFriction,
    DiagramBuilder,
    GeometryInstance,
    Mesh,
    MultibodyPlantConfig,
    ProximityProperties,
    RigidTransform,
    Simulator,
)
from pydrake.multibody.fem import DeformableBodyConfig, MaterialModel


def rubbing(friction):
    properties = ProximityProperties()
    AddContactMaterial(friction=CoulombFriction(friction, friction), properties=properties)
    return properties


def build(setup, material, approximation, folder):
    builder = DiagramBuilder()
    options = MultibodyPlantConfig(time_step=setup["dt"], discrete_contact_approximation=approximation)
    plant, _ = AddMultibodyPlant(options, builder)
    plant.mutable_gravity_field().set_gravity_vector([0.0, 0.0, -setup["gravity"]])
    ground = rubbing(setup["friction"])
    AddRigidHydroelasticProperties(resolution_hint=0.02, properties=ground)
    below = RigidTransform([0.0, 0.0, -0.05])
    plant.RegisterCollisionGeometry(plant.world_body(), below, Box(2.0, 2.0, 0.1), "floor", ground)
    config = DeformableBodyConfig()
    config.set_youngs_modulus(setup["young"])
    config.set_poissons_ratio(setup["poisson"])
    config.set_mass_density(setup["density"])
    config.set_mass_damping_coefficient(0.0)
    config.set_stiffness_damping_coefficient(setup["stiffness_damping"])
    config.set_material_model(getattr(MaterialModel, material))
    mesh = folder / "block.vtk"
    write_vtk(mesh, setup["points"], setup["cells"])
    geometry = GeometryInstance(RigidTransform(), Mesh(str(mesh)), "block")
    geometry.set_proximity_properties(rubbing(setup["friction"]))
    bodies = plant.mutable_deformable_model()
    body = bodies.RegisterDeformableBody(geometry, config, 1.0)
    plant.Finalize()
    simulator = Simulator(builder.Build())
    simulator.Initialize()
    context = plant.GetMyContextFromRoot(simulator.get_mutable_context())
    return simulator, lambda: np.asarray(bodies.GetPositions(context, body)).reshape(3, -1, order="A").T


def main():
    setup = {name: value if value.ndim else value.item() for name, value in np.load(sys.argv[1]).items()}
    fall, steps, material = int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
    approximation = sys.argv[5] if len(sys.argv) > 5 else "lagged"
    with tempfile.TemporaryDirectory() as folder:
        simulator, positions = build(setup, material, approximation, Path(folder))
    cpu, wall = [], []
    for number in range(1, fall + steps + 1):
        start_cpu, start = time.process_time(), time.perf_counter()
        simulator.AdvanceTo(number * setup["dt"])
        cpu.append(time.process_time() - start_cpu)
        wall.append(time.perf_counter() - start)
    heights = positions()[:, 2]
    report = {
        "peer": "drake",
        "version": version("drake"),
        "settings": f"{material}, contact {approximation}, dt {1e3 * setup['dt']:g} ms",
        "step_ms": 1e3 * float(np.median(cpu[fall:])),
        "step_wall_ms": 1e3 * float(np.median(wall[fall:])),
        "lowest_mm": 1e3 * float(heights.min()),
        "mean_height_mm": 1e3 * float(heights.mean()),
    }
    print(json.dumps(report))


if __name__ == "__main__":
    main()
