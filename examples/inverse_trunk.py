"""The tip of a trunk follows a circle: in every step the inverse finds the tensions of its eight cables."""

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

mean = sum(errors[1:]) / len(errors[1:])  # the first step jumps onto the circle
print(f"mean error of the linearised steps {1e6 * mean:.0f} µm, largest {1e6 * max(errors[1:]):.0f} µm")

# One linear solve a target leaves the forces unbalanced. What a ruler would show is the tip at rest, its cables held as
# found: info.equilibrium_error(tip) predicts it. While the target moves the solves lag behind; with the target at rest
# each further call lessens the error. pl.Inverse(…, tolerance=…) iterates within one call.
print(f"predicted error at rest behind the moving target {1e3 * info.equilibrium_error(tip):.2f} mm")
for _ in range(10):
    state, info = step(world, state, {tip: target})
held = dict(zip(trunk.cables, map(pl.Displacement, info.actuation(trunk.cables)[0]), strict=True))
settle = pl.ImplicitEuler(dt=0.05)
for _ in range(100):
    state, _ = settle(world, state, held)
rest = sum((a - b) ** 2 for a, b in zip(trunk.tip.at(state), target, strict=True)) ** 0.5
print(f"error at rest after ten more calls, these cable displacements held {1e3 * rest:.2f} mm")

assert mean < 2e-4, f"the tip must follow the circle within 0.2 mm, its mean error is {1e3 * mean:.3f} mm"
assert max(errors[1:]) < 1e-3, f"the tip strayed by {1e3 * max(errors[1:]):.2f} mm"
assert rest < 2e-3, f"the tip must come to rest within 2 mm of the circle, it is {1e3 * rest:.2f} mm away"
assert (info.actuation(trunk.cables)[1] >= 0.0).all(), "cables pull, they never push"
