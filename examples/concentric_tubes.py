"""A pre-bent rod is drawn into a straight tube and pushed out again: inside it is straight, outside it curls.

It is the working part of a concentric-tube robot. The outer tube here is rigid, an obstacle: channels couple a rod to a
soft volume, not yet a rod to a rod, so that the inner rod bends and the outer one does not.
"""

import numpy as np

import pliant as pl

CURVATURE, STRAIGHT, CURVED = 8.0, 0.06, 0.06  # 1/m, m, m
BORE, RADIUS, YOUNG = 0.8e-3, 0.5e-3, 60e9  # radius of the inside of the tube and of the rod (m), nitinol (Pa)
COUNT = 24

scene = pl.Scene()
rest = np.zeros((COUNT, 6))
rest[COUNT // 2 :, 1] = -CURVATURE  # the front half is bent upwards, about −y
rod = scene.add(
    pl.Rod(
        STRAIGHT + CURVED,
        COUNT,
        section=pl.sections.Circle(RADIUS),
        young=YOUNG,
        poisson=0.3,
        density=6500,
        rest_strain=rest,
        position=(-STRAIGHT, 0, 0),  # the bent half is just outside the mouth of the tube, at x = 0
        damping=pl.Rayleigh(stiffness=0.02),
        name="inner tube",
    )
)
tube = scene.add(pl.Obstacle.tubes([(-0.2, 0, 0), (0, 0, 0)], radius=BORE, name="outer tube"))
scene.collide(rod, tube)
drive = scene.add(pl.Support(rod, [0], rotation=(0, 0, 0)))
world = scene.compile()

state, step = world.initial_state(), pl.ImplicitEuler(dt=0.01)
heights, stresses = [], []
for k in range(400):
    back = CURVED * 0.5 * (1 - np.cos(2 * np.pi * min(k + 1, 380) / 380))
    state, info = step(world, state, {drive: pl.Displacement((-back, 0, 0))})
    heights.append(state.points(rod)[-1, 2])
    stresses.append(state.fibre_stress(rod).max())

free = (1 - np.cos(CURVATURE * CURVED)) / CURVATURE
bend = YOUNG * RADIUS * CURVATURE
print(f"out: the tip stands {1e3 * heights[0]:.2f} mm high, as the arc of its rest shape does ({1e3 * free:.2f} mm)")
print(f"drawn in: {1e3 * heights[189]:.2f} mm high, with {1e-6 * stresses[189]:.0f} MPa of bending stress")
print(f"out again: {1e3 * heights[-1]:.2f} mm high")

assert abs(heights[0] - free) < 0.02 * free, "outside it has its rest shape"
assert abs(heights[189]) < 2 * BORE, f"inside it must be straight, its tip is at {heights[189]} m"
assert 0.7 * bend < stresses[189] < 1.3 * bend, f"straightened it has a stress of E r κ, {bend} Pa"
assert abs(heights[-1] - free) < 0.05 * free, "pushed out it must curl again"
