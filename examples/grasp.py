"""A cable-driven finger closes on a ball on a floor, with friction and self-contact."""

import numpy as np

import pliant as pl

scene = pl.Scene(gravity=(0, 0, -9.81))
finger = scene.add(pl.robots.finger())  # mesh, material, cable, clamped base: parametric
ball = scene.add(pl.RigidBody.sphere(radius=0.015, mass=0.02, position=(0.06, 0, -0.02)))
floor = scene.add(pl.Obstacle.plane(point=(0, 0, -0.035)))
scene.collide(finger, ball, friction=0.6)
scene.collide(ball, floor, friction=0.6)
scene.collide(finger, floor, friction=0.6)
scene.collide(finger, finger, margin=finger.margin)  # self contact, frictionless
world = scene.compile()
run = pl.simulate(
    world,
    pl.ImplicitEuler(dt=0.01),
    until=1.5,
    control=lambda t, state: {finger.cable: pl.Displacement(0.02 * min(t, 1))},
)

force = run.contact_force(finger.body, ball)
length, tension = run.actuation(finger.cable)
tip = finger.tip.along(run.points(finger.body))
print(
    f"the ball pushes the finger with {np.round(force[-1], 3)} N; the cable, {1e3 * length[-1]:.0f} mm in, has "
    f"{tension[-1]:.2f} N; the tip came down by {1e3 * (tip[0, 2] - tip[-1, 2]):.0f} mm"
)

assert force[-1] @ force[-1] > 0.01**2, "the finger must hold the ball"
assert abs(length[-1] - 0.02) < 1e-6, f"the cable must be 20 mm shorter, got {length[-1]} m"
assert tip[:, 2].min() > -0.036, f"the finger must stay above the floor, got {tip[:, 2].min()} m"
