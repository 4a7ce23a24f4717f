"""MuJoCo flex on the bench block: dropped on a plane with friction, discrete integrator, CG solver.

Usage: mujoco_block.py SETUP.npz FALL STEPS [SOLVER]: FALL steps until the block stands, then STEPS timed ones. Prints
one JSON line; `warnings` counts MuJoCo's own warnings that its solution of a step did not converge.
"""

import json
import sys
import time

import mujoco
import numpy as np


def model_xml(setup, solver):
    points, cells = setup["points"], setup["cells"]
    mass = setup["density"] * np.prod(np.ptp(points, axis=0))
    numbers = " ".join(f"{x:.9g}" for x in points.ravel())
    elements = " ".join(str(n) for n in cells.ravel())
    friction = setup["friction"]
    return f"""<mujoco>
      <option timestep="{setup["dt"]}" integrator="discrete" solver="{solver}" gravity="0 0 {-setup["gravity"]}"
              iterations="100" tolerance="1e-6" cone="pyramidal"/>
      <size memory="900M"/>
      <worldbody>
        <geom type="plane" size="1 1 .1" friction="{friction}"/>
        <flexcomp name="block" dim="3" mass="{mass}" radius="0.0005" dof="full" type="direct"
                  point="{numbers}" element="{elements}">
          <contact selfcollide="none" condim="3" friction="{friction} .005 .0001"/>
          <elasticity young="{setup["young"]}" poisson="{setup["poisson"]}" damping="{setup["stiffness_damping"]}"/>
        </flexcomp>
      </worldbody>
    </mujoco>"""


def main():
    setup = {name: value if value.ndim else value.item() for name, value in np.load(sys.argv[1]).items()}
    fall, steps = int(sys.argv[2]), int(sys.argv[3])
    solver = sys.argv[4] if len(sys.argv) > 4 else "CG"
    model = mujoco.MjModel.from_xml_string(model_xml(setup, solver))
    data = mujoco.MjData(model)
    cpu, wall = [], []
    for _ in range(fall + steps):
        start_cpu, start = time.process_time(), time.perf_counter()
        mujoco.mj_step(model, data)
        cpu.append(time.process_time() - start_cpu)
        wall.append(time.perf_counter() - start)
    mujoco.mj_forward(model, data)
    if not np.isfinite(data.qpos).all():
        raise SystemExit("MuJoCo diverged")
    report = {
        "peer": "mujoco",
        "version": mujoco.__version__,
        "settings": f"flex, discrete/{solver}, pyramidal cone, dt {1e3 * setup['dt']:g} ms, tolerance 1e-6",
        "step_ms": 1e3 * float(np.median(cpu[fall:])),
        "step_wall_ms": 1e3 * float(np.median(wall[fall:])),
        "warnings": int(sum(warning.number for warning in data.warning)),
        "contacts": int(data.ncon),
        "lowest_mm": 1e3 * float(data.flexvert_xpos[:, 2].min()),
        "mean_height_mm": 1e3 * float(data.flexvert_xpos[:, 2].mean()),
    }
    print(json.dumps(report))


if __name__ == "__main__":
    main()
