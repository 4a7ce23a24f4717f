"""MuJoCo flex on the bench beam: a flex body with three unknowns a vertex, discrete integrator, CG solver.

Usage: mujoco_beam.py SETUP.npz STEPS [SOLVER]. Prints one JSON line. MuJoCo takes stiffness-proportional damping as
`damping` of the flex. `warnings` counts MuJoCo's own warnings that its solution of a step did not converge.
"""

import json
import sys
import time

import mujoco
import numpy as np


def model_xml(setup, solver):
    points, cells = setup["points"], setup["cells"]
    pins = np.flatnonzero(points[:, 0] < 1e-9)
    mass = setup["density"] * np.prod(np.ptp(points, axis=0))
    numbers = " ".join(f"{x:.9g}" for x in points.ravel())
    elements = " ".join(str(n) for n in cells.ravel())
    return f"""<mujoco>
      <option timestep="{setup["dt"]}" integrator="discrete" solver="{solver}" gravity="0 0 {-setup["gravity"]}"
              iterations="100" tolerance="1e-6"/>
      <size memory="900M"/>
      <worldbody>
        <flexcomp name="beam" dim="3" mass="{mass}" radius="0.0005" dof="full" type="direct"
                  point="{numbers}" element="{elements}">
          <contact selfcollide="none"/>
          <elasticity young="{setup["young"]}" poisson="{setup["poisson"]}" damping="{setup["stiffness_damping"]}"/>
          <pin id="{" ".join(str(n) for n in pins)}"/>
        </flexcomp>
      </worldbody>
    </mujoco>"""


def main():
    setup = {name: value if value.ndim else value.item() for name, value in np.load(sys.argv[1]).items()}
    steps, solver = int(sys.argv[2]), sys.argv[3] if len(sys.argv) > 3 else "CG"
    model = mujoco.MjModel.from_xml_string(model_xml(setup, solver))
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    rest = data.flexvert_xpos.copy()
    cpu, wall = [], []
    for _ in range(steps):
        start_cpu, start = time.process_time(), time.perf_counter()
        mujoco.mj_step(model, data)
        cpu.append(time.process_time() - start_cpu)
        wall.append(time.perf_counter() - start)
    mujoco.mj_forward(model, data)
    if not np.isfinite(data.qpos).all():
        raise SystemExit("MuJoCo diverged")
    tip = setup["points"][:, 0] > setup["points"][:, 0].max() - 1e-9
    report = {
        "peer": "mujoco",
        "version": mujoco.__version__,
        "settings": f"flex, discrete/{solver}, dt {1e3 * setup['dt']:g} ms, tolerance 1e-6",
        "step_ms": 1e3 * float(np.median(cpu[5:])),
        "step_wall_ms": 1e3 * float(np.median(wall[5:])),
        "warnings": int(sum(warning.number for warning in data.warning)),
        "tip_sag_mm": -1e3 * float((data.flexvert_xpos - rest)[tip, 2].mean()),
    }
    print(json.dumps(report))


if __name__ == "__main__":
    main()
