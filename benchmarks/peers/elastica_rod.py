"""PyElastica on the bench rod: a clamped Cosserat rod under gravity, explicit position Verlet.

Usage: elastica_rod.py SETUP.npz ELEMENTS DT SECONDS. Prints one JSON line. Explicit steps must be short, so "step_ms"
is the time of `dt` of the setup (10 ms) in as many substeps of DT as it takes. The damper is uniform, 5 1/s; the rod
hangs still at the end.
"""

import json
import sys
import time
from importlib.metadata import version

import elastica as ea
import numpy as np


class Simulator(ea.BaseSystemCollection, ea.Constraints, ea.Forcing, ea.Damping):
    """A rod that is clamped, loaded and damped."""


def build(setup, elements, dt):
    simulator = Simulator()
    rod = ea.CosseratRod.straight_rod(
        elements,
        np.zeros(3),
        np.array([1.0, 0.0, 0.0]),
        np.array([0.0, 0.0, 1.0]),
        setup["length"],
        setup["radius"],
        setup["density"],
        youngs_modulus=setup["young"],
        shear_modulus=setup["young"] / 2 / (1 + setup["poisson"]),
    )
    simulator.append(rod)
    simulator.constrain(rod).using(ea.OneEndFixedBC, constrained_position_idx=(0,), constrained_director_idx=(0,))
    simulator.add_forcing_to(rod).using(ea.GravityForces, acc_gravity=np.array([0.0, 0.0, -setup["gravity"]]))
    simulator.dampen(rod).using(ea.AnalyticalLinearDamper, uniform_damping_constant=5.0, time_step=dt)
    simulator.finalize()
    return simulator, rod


def main():
    setup = {name: value.item() for name, value in np.load(sys.argv[1]).items()}
    elements, dt, seconds = int(sys.argv[2]), float(sys.argv[3]), float(sys.argv[4])
    simulator, rod = build(setup, elements, dt)
    stepper, now, substeps = ea.PositionVerlet(), np.float64(0.0), round(setup["dt"] / dt)
    cpu, wall = [], []
    for _ in range(round(seconds / setup["dt"])):
        start_cpu, start = time.process_time(), time.perf_counter()
        for _ in range(substeps):
            now = stepper.step(simulator, now, np.float64(dt))
        cpu.append(time.process_time() - start_cpu)
        wall.append(time.perf_counter() - start)
    if not np.isfinite(rod.position_collection).all():
        raise SystemExit("PyElastica diverged")
    report = {
        "peer": "pyelastica",
        "version": version("pyelastica"),
        "settings": f"{elements} elements, position Verlet, {substeps} substeps of {1e3 * dt:g} ms",
        "step_ms": 1e3 * float(np.median(cpu[5:])),
        "step_wall_ms": 1e3 * float(np.median(wall[5:])),
        "simulated_s": seconds,
        "tip_sag_mm": -1e3 * float(rod.position_collection[2, -1]),
    }
    print(json.dumps(report))


if __name__ == "__main__":
    main()
