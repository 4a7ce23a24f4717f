"""The tip of a trunk draws a circle once a second: predictive control on a reduced trunk, closed on the full one."""

from time import perf_counter

import numpy as np

import pliant as pl

DT, HORIZON, RADIUS = 0.02, 12, 0.02  # s, steps, m

scene = pl.Scene(gravity=(0, 0, 9.81))  # its base is above
trunk = scene.add(pl.robots.trunk(damping=pl.Rayleigh(stiffness=5e-3), anti_locking=False))
tip, cables = pl.Effector(trunk.tip, name="tip"), trunk.cables[:4]
world = scene.compile()

# offline: equilibria under random tensions of the four long cables, and a trunk of few modes
plan = pl.reduction.latin_hypercube(world, 12, steps=3, amplitude=0.6, kind=pl.Force, actuators=cables, seed=3)
fast = pl.reduction.reduce(world, plan, motion_tolerance=2e-3, stepper=pl.QuasiStatic(tolerance=1e-6), progress=False)
print(f"{world.models[0].size} unknowns, reduced to {fast.models[0].subspace.size} modes")

at_rest = dict.fromkeys(cables, pl.Force(0.3))
rest, _ = pl.QuasiStatic()(fast, fast.initial_state(), at_rest)
robot, _ = pl.QuasiStatic()(world, world.initial_state(), at_rest)
middle = trunk.tip.at(robot)

mpc = pl.control.Predictive(
    fast,
    effectors=[tip],
    actuators=cables,
    dt=DT,
    horizon=HORIZON,
    bounds=dict.fromkeys(cables, (0.02, 0.8)),  # N
    rates=dict.fromkeys(cables, 8.0),  # N/s
)


def reference(t):
    """The circle, reached in 0.4 s."""
    angle, grown = 2.0 * np.pi * t, min(t / 0.4, 1.0)
    return middle + grown * RADIUS * np.array([np.cos(angle), np.sin(angle), -RADIUS / 0.25])


# on line: the tip is measured, the tensions for the next step are found, and the full trunk moves under them
step, plan = pl.ImplicitEuler(DT, newton_iterations=3), mpc.begin(rest, at_rest)
errors, seconds, whole = [], [], 0.0
for k in range(100):
    measured = trunk.tip.at(robot)
    errors.append(np.linalg.norm(measured - reference(DT * k)))
    ahead = [reference(DT * (k + 1 + j)) for j in range(HORIZON)]
    plan = mpc(plan, {tip: ahead}, {tip: measured})
    seconds.append(plan.seconds)
    began = perf_counter()
    robot, _ = step(world, robot, plan.controls)
    whole += perf_counter() - began

late = np.array(errors[50:])
print(f"tip within {1e3 * late.mean():.2f} mm of the circle, at most {1e3 * late.max():.2f} mm")
print(f"control takes {1e3 * np.median(seconds):.1f} ms of {1e3 * DT:.0f} ms (median), as long as")
print(f"{100 * np.median(seconds) / whole:.1f} steps of the full trunk; it looks {HORIZON} steps ahead")

assert late.max() < 0.1 * RADIUS, f"the tip strays by {1e3 * late.max():.2f} mm"
assert all(0.02 <= plan.inputs[0][j] <= 0.8 for j in range(4)), "tensions stay within their bounds"
