"""MuJoCo flex: a block of linear tetrahedra, not damped, that falls on a smooth floor at z = 0 and bounces.

Usage: mujoco_drop.py SETUP.npz DT SECONDS STIFFNESS. The setup has points, cells, mass (kg, of the whole block), young,
poisson, gravity and frame (s). STIFFNESS is that of MuJoCo's contacts (solref, 1/s²), damped critically. Prints one
JSON line with "height" (frames + 1,), m, the mean height of the vertices every `frame`, and "lowest", m, of any
frame.
"""

import json
import sys

import mujoco
import numpy as np

RADIUS = 5e-4
"""Of the vertices, m; the floor lies as much lower."""


def model_xml(setup, dt, stiffness):
    points, cells = setup["points"], setup["cells"]
    numbers = " ".join(f"{x:.12g}" for x in points.ravel())
    elements = " ".join(str(n) for n in cells.ravel())
    contact = f'solref="{-stiffness} {-2.0 * stiffness**0.5}" solimp="0.9999 0.9999 0.001 0.5 2" condim="1"'
    return f"""<mujoco>
      <option timestep="{dt}" integrator="Euler" solver="Newton" gravity="0 0 {-setup["gravity"]}"
              iterations="200" tolerance="1e-12"/>
      <size memory="900M"/>
      <worldbody>
        <geom type="plane" size="1 1 .1" pos="0 0 {-RADIUS}" {contact}/>
        <flexcomp name="block" dim="3" mass="{setup["mass"]}" radius="{RADIUS}" dof="full" type="direct"
                  point="{numbers}" element="{elements}">
          <contact selfcollide="none" {contact}/>
          <elasticity young="{setup["young"]}" poisson="{setup["poisson"]}" damping="0"/>
        </flexcomp>
      </worldbody>
    </mujoco>"""


def main():
    setup = {name: value if value.ndim else value.item() for name, value in np.load(sys.argv[1]).items()}
    dt, seconds, stiffness = (float(text) for text in sys.argv[2:5])
    model = mujoco.MjModel.from_xml_string(model_xml(setup, dt, stiffness))
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    heights = [data.flexvert_xpos[:, 2].copy()]
    for _ in range(round(seconds / setup["frame"])):
        for _ in range(round(setup["frame"] / dt)):
            mujoco.mj_step(model, data)
        mujoco.mj_kinematics(model, data)
        mujoco.mj_flex(model, data)
        heights.append(data.flexvert_xpos[:, 2].copy())
    means = [float(z.mean()) for z in heights]
    lowest = min(float(z.min()) for z in heights)
    print(json.dumps({"peer": "MuJoCo", "version": mujoco.__version__, "height": means, "lowest": lowest}))


if __name__ == "__main__":
    main()
