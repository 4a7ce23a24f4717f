"""Offline once, then real time: the self-contacts of a finger in a few modes, with their validation."""

import tempfile
from pathlib import Path

import pliant as pl

scene = pl.Scene(gravity=(0, 0, -9.81))
finger = scene.add(pl.robots.finger())
scene.collide(finger, finger)
world = scene.compile()
plan = pl.reduction.ramps(world, amplitude=0.02, steps=100)  # or plackett_burman(…) for many actuators
fast = pl.reduction.reduce(world, plan, contact_tolerance=0.02)  # again a World
found = pl.reduction.validate(fast, world)
print(found)

basis = fast.reductions[0]
print(f"{basis.modes.shape[1]} modes of {basis.modes.shape[0]} contacts")

with tempfile.TemporaryDirectory() as folder:  # a file of your own, in real use
    again = pl.load(fast.save(Path(folder) / "fast_finger.npz"))

assert again.reductions[0].modes.shape == basis.modes.shape, "a reduced world is saved and loaded as any other"
assert found.error < 0.01, "the reduced finger moves like the full one on actuations it was not trained on"
assert found.force.max() > 0.0, "and it touches itself there"
assert not found.unknown.any(), "in contacts that its modes know"
