"""A finger feels a touch, where on its skin and how hard, from three markers on it and the tension of its cable."""

import numpy as np

import pliant as pl

# the robot: a finger that its cable holds, and a fingertip that presses a patch of its palm, 7.7 × 7.5 mm, with 0.2 N
scene = pl.Scene(gravity=(0, 0, -9.81))
finger = scene.add(pl.robots.finger())
patch = pl.regions.box((0.082, -1e-6, -1e-6), (0.090, 0.008, 1e-6))
touch = scene.add(pl.PressureLoad(finger.body, patch, 0.0))
world = scene.compile()
held = {finger.cable: pl.Displacement(0.012)}
rest, _ = pl.QuasiStatic()(world, world.initial_state(), held)
area = 2 * 2.875e-5  # m², of its two facets
touched, info = pl.QuasiStatic()(world, rest, held | {touch: pl.Pressure(0.2 / area)})

# what its sensors read, with their noise; a second time the middle marker is hidden
noise = np.random.default_rng(1)
points = [(0.044, 0.006, 0.0125), (0.072, -0.006, 0.0125), (0.1, 0.006, 0.0125)]
markers = pl.identification.Markers(finger.body, points, noise=1e-4)  # m
tension = pl.identification.ActuatorForce(finger.cable, noise=0.01)  # N
bound = pl.recordings.BoundMarkers(world, finger.body, points)
seen = bound.at(touched) + 1e-4 * noise.normal(size=(3, 3))
pulled = info.actuation(finger.cable)[1] + 0.01 * noise.normal()
print(f"the touch moves a marker by {1e3 * np.linalg.norm(seen - bound.at(rest), axis=1).max():.0f} mm")
hidden = seen.copy()
hidden[1] = np.nan

# what it feels: one push of unknown size at an unknown place, under the same controls without the touch
push = pl.estimation.Push(finger, deviation=0.5, name="touch")
feel = pl.Estimator(world, [markers, tension], [push])
found = feel(rest, held, {markers: seen, tension: pulled})
print(found.report())
apart = np.linalg.norm(finger.tip.at(touched) - finger.tip.at(found.state))
print(f"the tip is where it is thought to be within {1e3 * apart:.2f} mm")

less = feel(found.state, held, {markers: hidden, tension: pulled})
print(f"with the middle marker hidden: {less[push].size:.3f} ± {less[push].deviation:.3f} N", end=", ")
print(f"place known to {1e3 * less[push].place_deviation:.1f} mm instead of {1e3 * found[push].place_deviation:.1f} mm")

nodes = patch.nodes(finger.body.mesh.points, what="patch")
missed = np.linalg.norm(found[push].place - touched.points(finger.body)[nodes].mean(axis=0))
off = abs(found[push].size - 0.2) / 0.2
print(f"force off by {100 * off:.1f} %, place by {1e3 * missed:.2f} mm")
assert off < 0.15, "the force is found within 15 %"
assert missed < 0.005, "its place is found within 5 mm"
assert less[push].place_deviation > found[push].place_deviation, "a marker less tells less"
