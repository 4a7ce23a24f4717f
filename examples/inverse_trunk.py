"""The tip of a trunk follows a circle: the inverse finds the pull of its eight cables in every step."""

import pliant as pl

scene = pl.Scene(gravity=(0, 0, -9.81))
trunk = scene.add(pl.robots.trunk())
tip = pl.Effector(trunk.tip)
world = scene.compile()
step = pl.QuasiStatic(newton_iterations=1, solver=pl.Inverse(effectors=[tip], actuators=trunk.cables))
state = world.initial_state()
errors = []
for target in pl.paths.circle(center=(0, 0, 0.18), radius=0.03, count=40):
    state, info = step(world, state, {tip: target})
    errors.append(info.error(tip))
    print(info.actuation(trunk.cables), info.error(tip))  # (displacements m, forces N), m

worst, last = max(errors[10:]), trunk.tip.at(state)
print(f"after the first steps the tip is never farther than {1e3 * worst:.2f} mm from its target; it ends at {last} m")

assert worst < 1e-3, f"the tip must follow the circle within 1 mm, got {1e3 * worst} mm"
assert abs(last[0] - 0.03) < 1e-3, f"the circle ends at x = 30 mm, the tip at {1e3 * last[0]} mm"
assert (info.actuation(trunk.cables)[1] >= 0.0).all(), "cables pull, they never push"
