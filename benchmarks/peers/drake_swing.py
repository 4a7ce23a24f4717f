"""Drake: a beam of linear tetrahedra, clamped at x = 0, that swings under gravity without damping.

Usage: drake_swing.py SETUP.npz MATERIAL DT SECONDS, MATERIAL a MaterialModel such as kCorotated. The setup has points,
cells, density, young, poisson, gravity and frame (s). Prints one JSON line with "tip" (frames + 1,), m, the mean height
of the end face over that at rest, every `frame`.
"""

import json
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path

import numpy as np
from drake_beam import build


def main():
    setup = {name: value if value.ndim else value.item() for name, value in np.load(sys.argv[1]).items()}
    material, dt, seconds = sys.argv[2], float(sys.argv[3]), float(sys.argv[4])
    with tempfile.TemporaryDirectory() as folder:
        simulator, positions = build(setup | {"dt": dt, "stiffness_damping": 0.0}, material, Path(folder))
    end = setup["points"][:, 0] > setup["points"][:, 0].max() - 1e-9
    tip = [0.0]
    for number in range(1, round(seconds / setup["frame"]) + 1):
        simulator.AdvanceTo(number * setup["frame"])
        tip.append(float((positions() - setup["points"])[end, 2].mean()))
    print(json.dumps({"peer": "Drake", "version": version("drake"), "tip": tip}))


if __name__ == "__main__":
    main()
