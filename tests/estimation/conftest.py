"""A bar with a cable, small enough for hundreds of equilibria."""

import numpy as np
import pytest

import pliant as pl
from pliant.estimation.search import WithLoads

POINTS = np.array([(0.05, 0.0, 0.02), (0.1, 0.02, 0.02), (0.1, 0.0, 0.0)])


class Bar:
    """A bar clamped at x = 0 under its weight, with a cable below its axis."""

    def __init__(self):
        scene = pl.Scene(gravity=(0, 0, -9.81))
        rubber = pl.materials.Corotated(young=2e5, poisson=0.4, density=1000)
        mesh, clamp = pl.mesh.box((0.1, 0.02, 0.02), (5, 1, 1)), pl.regions.plane(axis="x", at=0.0)
        damping = pl.Rayleigh(stiffness=5e-3)
        self.body = scene.add(pl.Volume(mesh, rubber, clamp=clamp, damping=damping, name="bar"))
        self.cable = scene.add(pl.Cable(self.body, [(x, 0.01, 0.005) for x in (0.01, 0.05, 0.095)], name="cable"))
        self.end = scene.add(pl.ForcePoint(self.body, (0.1, 0.01, 0.01), direction=(0, 0, 1), name="end"))
        self.side = scene.add(pl.ForcePoint(self.body, (0.1, 0.01, 0.01), direction=(0, 1, 0), name="side"))
        self.world = scene.compile()
        self.held = {self.cable: pl.Displacement(0.004)}
        self.rest = self.settled(())[0]

    def settled(self, loads, start=None, held=None):
        """The equilibrium under loads of `pliant.estimation`."""
        stepper = pl.QuasiStatic(tolerance=1e-11, solver=WithLoads(tuple(loads)))
        first = self.world.initial_state() if start is None else start
        return stepper(self.world, first, self.held if held is None else held)

    def markers(self, **options):
        return pl.identification.Markers(self.body, POINTS, **{"noise": 1e-4} | options)


@pytest.fixture(scope="module")
def bar():
    return Bar()
