"""A clamped rubber beam is released under gravity: its tip deflection and the speed of the simulation."""

import numpy as np

import pliant as pl

scene = pl.Scene(gravity=(0, 0, -9.81))
rubber = pl.materials.Corotated(young=0.5e6, poisson=0.45, density=1000)
mesh = pl.mesh.box((0.2, 0.04, 0.04), (20, 4, 4))
beam = scene.add(pl.Volume(mesh, rubber, clamp=pl.regions.plane(axis="x", at=0)))
world = scene.compile()

run = pl.simulate(world, pl.ImplicitEuler(dt=0.01), until=0.5)

tip = pl.regions.plane(axis="x", at=0.2).nodes(mesh.points, what="tip")
drop = -(run.points(beam)[:, tip, 2] - mesh.points[tip, 2]).mean(axis=1)
lowest = int(np.argmax(drop))
print(f"the tip is lowest after {run.times[lowest]:.2f} s, {1e3 * drop[lowest]:.1f} mm below its rest place")
print(f"simulated {run.real_time_factor:.1f} times as fast as real time")

assert 0.028 < drop.max() < 0.058, (
    f"a beam let go swings to at most twice its static sag of 28.8 mm, got {drop.max()} m"
)
assert drop[-1] < drop.max(), "the beam must swing back"
