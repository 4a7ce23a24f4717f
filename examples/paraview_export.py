"""A bar that swings and is pushed aside, written for ParaView: open out/bar.pvd and play it."""

from math import pi
from pathlib import Path

import pliant as pl

scene = pl.Scene(gravity=(0, 0, -9.81))
mesh = pl.mesh.cylinder(0.01, 0.12, cells=(2, 8), element="hex8").rotated((0, 0.5 * pi, 0))
bar = scene.add(pl.Volume(mesh, pl.materials.ecoflex_00_50(), clamp=pl.regions.plane(axis="x", at=0), name="bar"))
push = scene.add(pl.PointLoad(bar, pl.regions.plane(axis="x", at=0.12), (0, 0, 0)))
world = scene.compile()


def control(t: float, state: pl.State) -> dict:
    """A sideways push that grows with time."""
    return {push: pl.Force((0, 0.1 * t, 0))}


run = pl.simulate(world, pl.ImplicitEuler(dt=0.01), until=0.5, control=control)

out = Path("out")
out.mkdir(exist_ok=True)
series = run.export(out / "bar.pvd", every=5)
saved = pl.load(run.save(out / "bar.npz"))
files = sorted((out / "bar").glob("*.vtu"))
print(f"{series} lists {len(files)} files")

assert len(files) == 11, f"51 states, every fifth of them: 11 files, got {len(files)}"
assert (saved.points("bar") == run.points(bar)).all(), "a saved run must hold the same bits"
