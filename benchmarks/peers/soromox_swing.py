"""SoRoMoX on a rod that swings under gravity without damping: where its tip is, every `dt` of the setup.

Usage: soromox_swing.py SETUP.npz SECTIONS DT SECONDS. Sections of constant strain with six strains each, Tsit5 with
steps of DT. Prints one JSON line with "tips" (frames, 3), m.
"""

import json
import sys
from importlib.metadata import version

import jax
import jax.numpy as jnp
import numpy as np
from diffrax import Tsit5
from soromox.systems import SystemState
from soromox_rod import build


def main():
    jax.config.update("jax_enable_x64", True)
    setup = {name: value.item() for name, value in np.load(sys.argv[1]).items()}
    sections, dt, seconds = int(sys.argv[2]), float(sys.argv[3]), float(sys.argv[4])
    robot, unknowns = build(setup, sections, 0.0), 6 * sections
    start = SystemState(t=0.0, y=jnp.zeros(2 * unknowns))
    rolled = robot.rollout_to(
        initial_state=start, u=None, t1=seconds, solver_dt=dt, save_dt=setup["dt"], solver=Tsit5(), max_steps=None
    )
    frames = np.asarray(rolled.y)
    if not np.isfinite(frames).all():
        raise SystemExit("SoRoMoX diverged")
    tips = []
    for y in frames:
        pose = np.asarray(robot.forward_kinematics(jnp.asarray(y[:unknowns]), s=jnp.array(setup["length"])))
        tips.append((pose[:3, 3] if pose.ndim == 2 else pose[-3:]).tolist())
    times = np.asarray(rolled.t).tolist()
    print(json.dumps({"peer": "SoRoMoX", "version": version("soromox"), "tips": tips, "times": times}))


if __name__ == "__main__":
    main()
