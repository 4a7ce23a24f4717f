"""Configurations of reduced bodies: motions, forces along them and nodal forces, by their definitions."""

import numpy as np
import pytest

from pliant.reduced.chart import Configuration


@pytest.fixture
def here():
    chance = np.random.default_rng(0)
    motions = chance.normal(size=(12, 3))
    dual = np.linalg.pinv(motions)
    return Configuration(np.zeros(3), motions, dual, motions.T @ motions, dual @ dual.T, None)


def test_forces_along_motions_are_their_work(here):
    chance = np.random.default_rng(1)
    force, several = chance.normal(size=(4, 3)), chance.normal(size=(12, 5))
    np.testing.assert_allclose(here.forces(force), here.motions.T @ force.ravel())
    np.testing.assert_allclose(here.forces(several), here.motions.T @ several)


def test_nodal_forces_do_the_work_that_is_given(here):
    along = np.array([1.0, -2.0, 0.5])
    spread = here.spread(along)
    assert spread.shape == (4, 3)
    np.testing.assert_allclose(here.motions.T @ spread.ravel(), along, atol=1e-12)


def test_the_norm_is_that_of_the_largest_nodal_force(here):
    rows = np.array([[1.0, 0.0, 0.0], [0.3, -2.0, 0.5], [0.0, 0.0, 0.0]])
    sizes = [np.linalg.norm(here.spread(row)) for row in rows]
    assert here.norm(rows) == pytest.approx(max(sizes))
    assert here.norm(rows[:1]) == pytest.approx(sizes[0])
    assert here.norm(rows[2:]) == 0.0
