"""The tip of a trunk follows a circle: the inverse finds the pull of its eight cables in every step."""

import pliant as pl

scene = pl.Scene(gravity=(0, 0, -9.81))
trunk = scene.add(pl.robots.trunk())
tip = pl.Effector(trunk.tip)
world = scene.compile()
step = pl.QuasiStatic(newton_iterations=1, solver=pl.Inverse(effectors=[tip], actuators=trunk.cables))
state = world.initial_state()
errors = []
for target in pl.paths.circle(center=(0, 0, 0.18), radius=0.03, count=300):
    state, info = step(world, state, {tip: target})
    errors.append(info.error(tip))
    print(info.actuation(trunk.cables), info.error(tip))  # (displacements m, forces N), m

followed = sum(error < 1e-3 for error in errors) / len(errors)
print(f"half of the steps end within {1e6 * sorted(errors)[150]:.0f} µm of the target, {followed:.0%} within 1 mm")

assert sorted(errors)[150] < 3e-4, f"the tip must follow the circle, half of its errors exceed {sorted(errors)[150]} m"
assert followed > 0.9, f"the tip must mostly be within 1 mm of its target, it is in {followed:.0%} of the steps"
assert (info.actuation(trunk.cables)[1] >= 0.0).all(), "cables pull, they never push"
