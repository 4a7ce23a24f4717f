"""Cells turned inside out are counted, one by one."""

import numpy as np
import pytest

import pliant as pl
from pliant.stepping.minimum_energy.shapes import inverted_cells


@pytest.fixture(scope="module")
def model():
    scene = pl.Scene()
    scene.add(
        pl.Volume(pl.mesh.box((1, 1, 1), (3, 2, 2)), pl.materials.NeoHookean(young=1.0, poisson=0.3, density=1.0))
    )
    return scene.compile().volumes[0]


def test_inverted_cells_are_those_with_a_negative_determinant(model):
    q = model.rest + 0.15 * np.random.default_rng(0).normal(size=model.rest.shape)
    corners = q[model.mesh.cells]
    expected = np.count_nonzero(np.linalg.det(corners[:, 1:] - corners[:, :1]) <= 0.0)
    assert 0 < expected < len(corners)
    assert inverted_cells(model, q) == expected
    assert inverted_cells(model, model.rest) == 0
    assert inverted_cells(model, model.rest * (-1.0, 1.0, 1.0)) == len(corners)


def test_flat_cells_and_those_that_are_no_numbers_count(model):
    assert inverted_cells(model, model.rest * (1.0, 1.0, 0.0)) == len(model.mesh.cells)
    q = model.rest.copy()
    q[0] = np.nan
    assert inverted_cells(model, q) == np.count_nonzero((model.mesh.cells == 0).any(axis=1))
