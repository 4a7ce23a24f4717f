"""Drake: a block of linear tetrahedra, not damped, that falls on a smooth rigid floor at z = 0 and bounces.

Usage: drake_drop.py SETUP.npz MATERIAL APPROXIMATION DT SECONDS, MATERIAL a MaterialModel such as kCorotated,
APPROXIMATION that of the contacts, "lagged" or "sap". The setup has points, cells, density, young, poisson, gravity and
frame (s). Prints one JSON line with "height" (frames + 1,), m, the mean height of the vertices every `frame`, and
"lowest", m, of any frame.
"""

import json
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path

import numpy as np
from drake_block import build


def main():
    setup = {name: value if value.ndim else value.item() for name, value in np.load(sys.argv[1]).items()}
    material, approximation, dt, seconds = sys.argv[2], sys.argv[3], float(sys.argv[4]), float(sys.argv[5])
    with tempfile.TemporaryDirectory() as folder:
        given = setup | {"dt": dt, "stiffness_damping": 0.0, "friction": 0.0}
        simulator, positions = build(given, material, approximation, Path(folder))
    heights = [positions()[:, 2]]
    for number in range(1, round(seconds / setup["frame"]) + 1):
        simulator.AdvanceTo(number * setup["frame"])
        heights.append(positions()[:, 2])
    means = [float(z.mean()) for z in heights]
    lowest = min(float(z.min()) for z in heights)
    print(json.dumps({"peer": "Drake", "version": version("drake"), "height": means, "lowest": lowest}))


if __name__ == "__main__":
    main()
