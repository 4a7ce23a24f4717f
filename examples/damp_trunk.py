"""Cables damp a hanging trunk that swings: a linear model, a small one of it, and LQG on the full model.

Run it with ``python examples/damp_trunk.py``; it needs python-control (the extra "hybrid").
"""

import numpy as np

import control
import pliant as pl

TENSION, DT = 0.3, 0.01  # N at rest, s

scene = pl.Scene(gravity=(0, 0, 9.81))  # its base is above
trunk = scene.add(pl.robots.trunk(damping=pl.Rayleigh(stiffness=1e-3), anti_locking=False))
tip = pl.Effector(trunk.tip, directions=[(1, 0, 0), (0, 1, 0)], name="tip")
world = scene.compile()
cables = trunk.cables[:4]
at_rest = {cable: pl.Force(TENSION) for cable in cables}
rest, _ = pl.QuasiStatic()(world, world.initial_state(), at_rest)
where = trunk.tip.at(rest)

# the linear model about the equilibrium, and a small one for the controller
plant = pl.control.linearize(world, rest, cables, [tip], controls=at_rest, modes=20)
small = pl.control.balanced_truncation(plant, 8)
values = pl.control.hankel_values(plant)
lost = 100 * values[8:].sum() / values.sum()
print(f"{plant.nstates} states, {small.nstates} kept, {lost:.1f} % of the sum of the Hankel values left out")

# a regulator that weighs 1 mm like 0.02 N, and an observer of the tip alone
discrete = control.c2d(small, DT)
gain, _, _ = control.dlqr(discrete.A, discrete.B, discrete.C.T @ discrete.C / 1e-3**2, np.eye(4) / 0.02**2)
predictor, _, _ = control.dlqe(discrete.A, discrete.B, discrete.C, 0.02**2 * np.eye(4), 1e-4**2 * np.eye(2))
observer = np.linalg.solve(discrete.A, predictor)  # corrects the estimate of the same instant


pulled, _ = pl.QuasiStatic()(world, rest, at_rest | {cables[0]: pl.Force(TENSION + 0.15)})


def swing(damped):
    """Distance of the tip from its rest, mm, over 0.6 s after one cable was let go."""
    state, step, estimate, far = pulled, pl.ImplicitMidpoint(dt=DT), np.zeros(small.nstates), []
    for _ in range(60):
        change = -gain @ estimate if damped else np.zeros(4)
        change = np.maximum(change, -TENSION)  # cables only pull
        state, _ = step(world, state, {cable: pl.Force(TENSION + u) for cable, u in zip(cables, change, strict=True)})
        seen = (trunk.tip.at(state) - where)[:2]
        expected = discrete.A @ estimate + discrete.B @ change
        estimate = expected + observer @ (seen - discrete.C @ expected - discrete.D @ change)
        far.append(1e3 * np.linalg.norm(seen))
    return np.array(far)


free, damped = swing(False), swing(True)
for name, far in (("free", free), ("damped", damped)):
    print(f"{name:>6}: tip off by {far[0]:.1f} mm at first, {far[40:].max():.2f} mm after 0.4 s")
assert damped[40:].max() < 0.3 * free[40:].max()
