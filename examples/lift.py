"""A soft gripper with three fingers closes on a cube, lifts it by friction, holds it and releases it."""

import pliant as pl


def smooth(x: float) -> float:
    """From 0 to 1 while x does, without a jolt at either end."""
    x = min(max(x, 0.0), 1.0)
    return x * x * (3.0 - 2.0 * x)


scene = pl.Scene(gravity=(0, 0, -9.81))
grip = scene.add(pl.robots.gripper())
grip.collide(scene, friction=0.8)
world = scene.compile()


def control(t: float, state: pl.State) -> dict:
    """Close until 0.5 s, lift by 30 mm until 1 s, hold, and open at 1.2 s."""
    close = smooth(t / 0.5) - smooth((t - 1.2) / 0.1)
    return grip.controls(close=0.016 * close, lift=0.03 * smooth((t - 0.5) / 0.5))


heights = {}
run = pl.simulate(
    world,
    pl.ImplicitEuler(dt=0.01),
    until=1.6,
    control=control,
    callback=lambda state, info: heights.update({round(state.time, 2): float(state.pose(grip.cube)[0, 2])}),
)

hold = round(1.15 / 0.01)
carried = sum(run.contact_force(grip.cube, finger.body)[hold, 2] for finger in grip.fingers)
print(f"the cube rose by {1e3 * (heights[1.15] - heights[0.01]):.0f} mm; the fingers carry {carried:.3f} N of it")
print(f"let go, it is {1e3 * (heights[1.6] - heights[0.01]):.0f} mm above where it stood")

assert heights[1.15] - heights[0.01] > 0.03, f"the cube must be lifted, it is at {heights[1.15]} m"
assert abs(carried - 0.03 * 9.81) < 0.01, f"friction must carry the weight of 0.294 N, got {carried} N"
assert heights[1.6] < heights[1.15] - 0.02, "let go, the cube must drop"
