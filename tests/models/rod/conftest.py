"""A bent rod, and how its unknowns move it."""

import numpy as np
import pytest

import pliant as pl
from pliant.models.rod import RodModel, kinematics
from pliant.models.rod.rod import STRAINS


def _rod(**options):
    """Four sections with all six strains and a free base, away from the origin."""
    given = {
        "length": 1.0,
        "sections": 4,
        "section": pl.sections.Rectangle(0.02, 0.03),
        "young": 1e6,
        "poisson": 0.3,
        "density": 1e3,
        "strains": STRAINS,
        "base": "free",
        "position": (0.1, 0.2, 0.3),
        "rotation": (0.3, 0.2, 0.1),
    }
    return pl.Rod(**{**given, **options})


def _bent(model, seed=0):
    """q of the rod bent by up to a radian a section."""
    q = model.rest.copy()
    q[4:] += np.random.default_rng(seed).normal(size=q[4:].shape) * np.tile([[0.5], [0.03]], (len(q) // 2 - 2, 1))
    return q


def _moved(model, q, dx):
    out = np.empty_like(q)
    kinematics.advance(q, np.ascontiguousarray(dx), model.basis, 1.0, out)
    return out


@pytest.fixture
def rod():
    return _rod


@pytest.fixture
def bent():
    return _bent


@pytest.fixture
def moved():
    return _moved


@pytest.fixture
def model():
    return RodModel.compiled(_rod())
