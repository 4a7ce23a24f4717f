"""A bent network, and how its unknowns move it."""

import numpy as np
import pytest

import pliant as pl
from pliant.models.beam import BeamModel, dynamics

POINTS = np.array([(0, 0, 0), (0.1, 0, 0), (0.2, 0.05, 0.0), (0.2, 0.05, 0.1), (0.3, 0, 0.02)], float)
EDGES = [(0, 1), (1, 2), (3, 2), (1, 4)]


def _network(**options):
    """Five nodes, a fork, one piece that runs against the order of its nodes."""
    section = pl.sections.Rectangle(0.01, 0.02)
    given = {"edges": EDGES, "section": section, "young": 1e6, "poisson": 0.3, "density": 1e3, "clamp": [0]}
    return pl.Beam(POINTS, **{**given, **options})


def _moved(q, dx):
    """q after a translation and a rotation vector at each node, in world axes."""
    out = np.empty_like(q)
    dynamics.advance(q.copy(), np.ascontiguousarray(dx), 1.0, out)
    return out


@pytest.fixture
def network():
    return _network


@pytest.fixture
def moved():
    return _moved


@pytest.fixture
def bent():
    """The network bent by rotations of up to a radian, and its model."""
    model = BeamModel.compiled(_network())
    dx = np.random.default_rng(3).normal(size=(5, 2, 3)) * np.array([0.03, 0.5])[None, :, None]
    return model, _moved(model.rest, dx)
