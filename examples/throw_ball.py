"""Throw a ball with a soft arm, so that it lands on a target and rolls over it at the right instant.

A soft arm sticks out over a floor, and a ball hangs from its end in a sling that pulls only and is let go after 0.12 s.
One cable lifts the arm. How it must be pulled over time is found by descent: each simulation, through the release, the
flight and the landing with friction, gives the derivatives by the whole command in one adjoint run.
"""

import numpy as np

import pliant as pl

LENGTH, HEIGHT, SLING, RADIUS = 0.2, 0.08, 0.03, 0.012  # of the arm, above the floor, of the sling, of the ball, m
DT, STEPS, RELEASE = 0.01, 30, 12  # s, and the step at which the sling is let go
TARGET = (0.15, 0.0, RADIUS)  # m
NEAR = 1e-3  # m

scene = pl.Scene(gravity=(0, 0, -9.81))
silicone = pl.materials.Corotated(young=0.8e6, poisson=0.4, density=1070)
mesh = pl.mesh.box((LENGTH, 0.02, 0.02), (8, 1, 1), element="hex8").translated((0, -0.01, -0.01))
clamp, damping = pl.regions.plane(axis="x", at=0), pl.Rayleigh(stiffness=2e-3)
arm = scene.add(pl.Volume(mesh, silicone, clamp=clamp, damping=damping, name="arm"), position=(0, 0, HEIGHT))
cable = scene.add(pl.Cable(arm, [(x, 0, 0.006) for x in np.linspace(0.001, 0.17, 7)], name="cable"))
hanging = (LENGTH, 0, HEIGHT - SLING)
ball = scene.add(pl.RigidBody.sphere(radius=RADIUS, mass=0.006, position=hanging, name="ball"))
sling = scene.add(pl.Cable([arm, ball], [(LENGTH, 0, 0), (0, 0, 0)], name="sling"))
floor = scene.add(pl.Obstacle.plane(point=(0, 0, 0), normal=(0, 0, 1), name="floor"))
scene.collide(ball, floor, friction=0.4)
world = scene.compile()

held = [{sling: pl.Displacement(0.0) if k < RELEASE else pl.Force(0.0)} for k in range(STEPS)]
pull = pl.variables.Command(cable, bounds=(0.0, 0.024), knots=6, rate=0.4)
found = pl.optimize(
    world,
    pl.ImplicitEuler(DT, tolerance=1e-9),
    1e6 * pl.losses.Position((ball, (0, 0, 0)), TARGET),  # mm²
    variables=[pull],
    control=held,
    target=(1e3 * NEAR) ** 2,
    rollouts=40,
)

run = found.run()
path = run.poses(ball)[:, 0]
speeds = np.linalg.norm(np.diff(path, axis=0), axis=1) / DT
landed = int(np.argmax(path[:, 2] < RADIUS + 1e-4))
away = np.linalg.norm(path[-1] - TARGET)
print(
    f"{found.rollouts} simulations with their gradients; the cable is pulled by up to {1e3 * found[pull].max():.1f} mm"
)
print(f"the ball leaves at {speeds[RELEASE]:.2f} m/s and lands after {run.times[landed]:.2f} s")
print(f"at the end it is {1e3 * away:.2f} mm from its target")
assert landed > RELEASE, "the ball touched the floor before it was let go"
assert away < NEAR, f"the ball is {1e3 * away:.2f} mm from its target, more than {1e3 * NEAR:g} mm"
