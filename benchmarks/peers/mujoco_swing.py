"""MuJoCo flex: a beam of linear tetrahedra, clamped at x = 0, that swings under gravity without damping.

Usage: mujoco_swing.py SETUP.npz INTEGRATOR DT SECONDS, INTEGRATOR Euler or discrete. The setup has points, cells, mass
(kg, of the whole beam), young, poisson, gravity and frame (s). Prints one JSON line with "tip" (frames + 1,), m, the
mean height of the end face over that at rest, every `frame`. MuJoCo gives every vertex the same mass.
"""

import json
import sys

import mujoco
import numpy as np


def model_xml(setup, integrator, dt):
    points, cells = setup["points"], setup["cells"]
    numbers = " ".join(f"{x:.12g}" for x in points.ravel())
    elements = " ".join(str(n) for n in cells.ravel())
    pins = " ".join(str(n) for n in np.flatnonzero(points[:, 0] < 1e-9))
    return f"""<mujoco>
      <option timestep="{dt}" integrator="{integrator}" solver="Newton" gravity="0 0 {-setup["gravity"]}"
              iterations="200" tolerance="1e-10"/>
      <size memory="900M"/>
      <worldbody>
        <flexcomp name="beam" dim="3" mass="{setup["mass"]}" radius="0.0005" dof="full" type="direct"
                  point="{numbers}" element="{elements}">
          <contact selfcollide="none" contype="0" conaffinity="0"/>
          <elasticity young="{setup["young"]}" poisson="{setup["poisson"]}" damping="0"/>
          <pin id="{pins}"/>
        </flexcomp>
      </worldbody>
    </mujoco>"""


def main():
    setup = {name: value if value.ndim else value.item() for name, value in np.load(sys.argv[1]).items()}
    integrator, dt, seconds = sys.argv[2], float(sys.argv[3]), float(sys.argv[4])
    model = mujoco.MjModel.from_xml_string(model_xml(setup, integrator, dt))
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    rest = data.flexvert_xpos.copy()
    end = setup["points"][:, 0] > setup["points"][:, 0].max() - 1e-9
    tip = [0.0]
    for _ in range(round(seconds / setup["frame"])):
        for _ in range(round(setup["frame"] / dt)):
            mujoco.mj_step(model, data)
        mujoco.mj_kinematics(model, data)
        mujoco.mj_flex(model, data)
        tip.append(float((data.flexvert_xpos - rest)[end, 2].mean()))
    print(json.dumps({"peer": "MuJoCo", "version": mujoco.__version__, "tip": tip}))


if __name__ == "__main__":
    main()
