"""PyElastica on a rod that swings under gravity without damping: where its tip is, every `dt` of the setup.

Usage: elastica_swing.py SETUP.npz ELEMENTS DT SECONDS. Prints one JSON line with "tips" (frames, 3), m.
"""

import json
import sys
from importlib.metadata import version

import elastica as ea
import numpy as np


class Simulator(ea.BaseSystemCollection, ea.Constraints, ea.Forcing):
    """A rod that is clamped and loaded."""


def main():
    setup = {name: value.item() for name, value in np.load(sys.argv[1]).items()}
    elements, dt, seconds = int(sys.argv[2]), float(sys.argv[3]), float(sys.argv[4])
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
    simulator.finalize()
    stepper, now, tips = ea.PositionVerlet(), np.float64(0.0), []
    for _ in range(round(seconds / setup["dt"])):
        for _ in range(round(setup["dt"] / dt)):
            now = stepper.step(simulator, now, np.float64(dt))
        tips.append(rod.position_collection[:, -1].tolist())
    print(json.dumps({"peer": "pyelastica", "version": version("pyelastica"), "tips": tips}))


if __name__ == "__main__":
    main()
