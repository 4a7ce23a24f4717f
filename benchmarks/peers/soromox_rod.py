"""SoRoMoX on the bench rod: a clamped rod of sections of constant strain under gravity, JAX on one thread, float64.

Usage: soromox_rod.py SETUP.npz SECTIONS DT SECONDS DAMPING. Prints one JSON line. Its solver is explicit (Tsit5), so
"step_ms" is the time of `dt` of the setup (10 ms) in substeps of DT, the mean of a roll-out that is compiled already.
DAMPING (Pa s) is that of its material.
"""

import json
import os
import sys
import time
from importlib.metadata import version

import jax
import jax.numpy as jnp
import numpy as np
from diffrax import Tsit5
from soromox.systems import (
    PCS,
    ContinuumLinkParams,
    CrossSectionParams,
    IsotropicMaterialParams,
    PCSParams,
    SystemState,
)


def build(setup, sections, damping):
    ones, blank = jnp.ones((sections,)), jnp.zeros((sections, 6, 6))
    link = ContinuumLinkParams(
        length=setup["length"] / sections * ones,
        density=setup["density"] * ones,
        reference_strain=jnp.tile(jnp.array([0.0, 0.0, 0.0, 1.0, 0.0, 0.0]), (sections, 1)),
        cross_section=CrossSectionParams(coefficients=setup["radius"] * jnp.ones((sections, 1))),
        stiffness=blank + jnp.eye(6),
        damping=blank,
    )
    params = PCSParams(link=link, gravity=jnp.array([0.0, 0.0, -setup["gravity"]]))
    robot = PCS(params=params, base_pose=jnp.array([1.0, 0, 0, 0, 0, 0, 0]))
    return robot.with_isotropic_material(
        IsotropicMaterialParams(
            young_modulus=jnp.array(setup["young"]),
            poisson_ratio=jnp.array(setup["poisson"]),
            material_damping_coefficient=jnp.array(damping),
        )
    )


def main():
    os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
    jax.config.update("jax_enable_x64", True)
    setup = {name: value.item() for name, value in np.load(sys.argv[1]).items()}
    sections, dt, seconds, damping = int(sys.argv[2]), *(float(x) for x in sys.argv[3:6])
    robot, unknowns = build(setup, sections, damping), 6 * sections
    start = SystemState(t=0.0, y=jnp.zeros(2 * unknowns))

    def roll_out():
        rolled = robot.rollout_to(
            initial_state=start, u=None, t1=seconds, solver_dt=dt, save_dt=setup["dt"], solver=Tsit5(), max_steps=None
        )
        return jax.block_until_ready(rolled.y)

    roll_out()
    begin_cpu, begin = time.process_time(), time.perf_counter()
    y = np.asarray(roll_out())
    cpu, wall = time.process_time() - begin_cpu, time.perf_counter() - begin
    if not np.isfinite(y).all():
        raise SystemExit("SoRoMoX diverged")
    pose = np.asarray(robot.forward_kinematics(jnp.asarray(y[-1, :unknowns]), s=jnp.array(setup["length"])))
    tip = pose[:3, 3] if pose.ndim == 2 else pose[-3:]
    frames = seconds / setup["dt"]
    report = {
        "peer": "soromox",
        "version": version("soromox"),
        "settings": f"{sections} sections, six strains, Tsit5, {round(setup['dt'] / dt)} substeps of {1e3 * dt:g} ms",
        "step_ms": 1e3 * cpu / frames,
        "step_wall_ms": 1e3 * wall / frames,
        "simulated_s": seconds,
        "tip_sag_mm": -1e3 * float(tip[2]),
    }
    print(json.dumps(report))


if __name__ == "__main__":
    main()
