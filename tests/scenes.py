"""Standard scenes of the tests: a bar along x, alone, with a load or with a cable, and a box with a chamber of air."""

import numpy as np

import pliant as pl
from pliant.mesh.lattice import Lattice

DOWN = (0, 0, -9.81)
RUBBER = pl.materials.Corotated(young=1e5, poisson=0.4, density=1000)
BEAM, BEAM_TIP = pl.mesh.box((0.2, 0.03, 0.03), (10, 2, 2), symmetric=""), (0.2, 0.015, 0.015)
_PATHS = {name: (0.015 + 0.012 * y, 0.015 + 0.012 * z) for name, y, z in zip("abcd", (1, 0, -1, 0), (0, 1, 0, -1))}
SILICONE = pl.materials.NeoHookean(young=1e5, poisson=0.49, density=1e3)


def bar(size=(0.1, 0.02, 0.02), cells=(5, 1, 1), material=RUBBER, *, element="tet4", gravity=(0, 0, 0), **options):
    """A scene with a bar, clamped at x = 0 unless `clamp` says otherwise, and the bar."""
    scene = pl.Scene(gravity=gravity)
    mesh = pl.mesh.box(size, cells, element=element, symmetric=options.pop("symmetric", None))
    options = {"clamp": pl.regions.plane(axis="x", at=0.0), **options}
    return scene, scene.add(pl.Volume(mesh, material, **options))


def loaded_bar(size=(0.2, 0.04, 0.04), cells=(8, 2, 2), material=RUBBER, **options):
    """A bar with a load, 0 N, at its free end: world, bar and load."""
    scene, body = bar(size, cells, material, **options)
    load = scene.add(pl.PointLoad(body, pl.regions.plane(axis="x", at=size[0]), (0, 0, 0)))
    return scene.compile(), body, load


def swinging_bar(material=RUBBER, **cable):
    """A damped bar under gravity with a cable near its lower side: scene, bar and cable."""
    scene, body = bar(material=material, gravity=DOWN, damping=pl.Rayleigh(stiffness=0.05), name="beam")
    path = [(x, 0.01, 0.002) for x in np.linspace(0.0, 0.1, 6)]
    return scene, body, scene.add(pl.Cable(body, path, **cable))


def hollow_box(material=SILICONE):
    """A box of 40 × 40 × 20 mm with a chamber of 20 × 20 × 10 mm, clamped below."""
    x, z = np.linspace(0.0, 0.04, 5), np.linspace(0.0, 0.02, 5)
    keep = np.ones((4, 4, 4), bool)
    keep[1:3, 1:3, 1:3] = False
    lattice = Lattice.grid(x, x, z, keep=keep)
    mesh = lattice.mesh(*lattice.points.T, element="tet4")
    return pl.Volume(mesh, material, clamp=pl.regions.plane(axis="z", at=0.0))


def chamber_world(*, plate=None, **contact):
    """The hollow box, which may touch the obstacle `plate`: world, box and its cavity."""
    scene = pl.Scene()
    body = scene.add(hollow_box())
    chamber = scene.add(pl.Cavity(body))
    if plate is not None:
        scene.add(plate)
        scene.collide(body, plate, **contact)
    return scene.compile(), body, chamber


def cabled_beam(*, scale=1.0, gravity=0.0, cables="abcd", support=False, **options):
    """A beam along x with cables near its sides; `scale` multiplies all lengths, with forces and times kept."""
    scene = pl.Scene(gravity=(0, 0, -gravity * scale))
    rubber = pl.materials.Corotated(young=2e5 / scale**2, poisson=0.3, density=1e3 / scale**4)
    clamp = None if support else pl.regions.box((-1e-6 * scale, -1, -1), (1e-6 * scale, 1e3, 1e3))
    body = scene.add(pl.Volume(BEAM.scaled(scale), rubber, clamp=clamp))
    made = [
        scene.add(
            pl.Cable(
                body, scale * np.array([(0.0, *_PATHS[n]), (0.1, *_PATHS[n]), (0.2, *_PATHS[n])]), name=n, **options
            )
        )
        for n in cables
    ]
    return scene, body, made
