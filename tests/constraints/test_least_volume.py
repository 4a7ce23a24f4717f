"""Rows that bound the volume of elements: det F and its gradient, the law, and which points are guarded."""

import numpy as np
import pytest

import pliant as pl
from pliant.constraints.least_volume import BOUND, GAIN, LeastVolume, collapsing, guarded
from pliant.constraints.rows import RowView


@pytest.fixture(scope="module")
def model():
    scene = pl.Scene()
    mesh = pl.mesh.box((0.02, 0.02, 0.02), (1, 1, 1))
    scene.add(pl.Volume(mesh, pl.materials.NeoHookean(young=1e5, poisson=0.45, density=1000), anti_locking=True))
    return scene.compile().models[0]


def test_volume_ratio_and_gradient(model):
    """det F of a homogeneous motion is that of the motion; the gradient is that of central differences."""
    A = np.array([[1.1, 0.2, 0.0], [0.0, 0.9, 0.1], [0.3, 0.0, 0.7]])
    every = np.arange(model.points.count)
    at = model.volume_ratios(every, model.rest @ A.T)
    np.testing.assert_allclose(at.ratio, np.linalg.det(A), rtol=1e-12)
    rng = np.random.default_rng(0)
    x = model.rest @ A.T + 1e-3 * rng.standard_normal(model.rest.shape)
    d = rng.standard_normal(x.shape)
    chosen = every[::3]
    h = 1e-7
    slope = (model.volume_ratios(chosen, x + h * d).ratio - model.volume_ratios(chosen, x - h * d).ratio) / (2 * h)
    np.testing.assert_allclose(model.volume_ratios(chosen, x).gradient @ d.ravel(), slope, rtol=1e-5)
    np.testing.assert_allclose(model.every_volume_ratio(x), model.volume_ratios(every, x).ratio, rtol=1e-12)
    assert model.every_volume_ratio(x).min() == pytest.approx(model.least_volume_ratio(x), rel=1e-12)


def test_rows_are_open_where_there_is_room(model):
    """δ is the room above the bound, in m; a point below it is asked to grow a little, not at once."""
    flat = model.rest * (1.0, 1.0, 0.5)
    points = np.arange(4)
    length = np.cbrt(model.points.weight[:4])
    rows, _ = LeastVolume(model, 0, points).rows(RowView.of([model], [flat]), None)
    np.testing.assert_allclose(rows.gap, length * (0.5 - BOUND), rtol=1e-12)
    flatter = model.rest * (1.0, 1.0, 0.01)
    rows, _ = LeastVolume(model, 0, points).rows(RowView.of([model], [flatter]), None)
    np.testing.assert_allclose(rows.gap, -length * GAIN, rtol=1e-9)
    assert len(set(rows.key.tolist())) == 4


def test_linearised_elsewhere_the_rows_say_the_same_there(model):
    place = model.rest * (1.0, 1.0, 0.4)
    start = model.rest * (1.0, 1.0, 0.6)
    rows, _ = LeastVolume(model, 0, np.arange(4), place).rows(RowView.of([model], [start]), None)
    there = rows.gap + rows.H[0] @ (place - start).ravel()
    np.testing.assert_allclose(there, np.cbrt(model.points.weight[:4]) * (0.4 - BOUND), rtol=1e-9)


def test_points_stay_guarded_until_they_have_room(model):
    flat = model.rest * (1.0, 1.0, 0.2)
    rows, _ = LeastVolume(model, 0, np.arange(2)).rows(RowView.of([model], [flat]), None)
    assert len(guarded(model, 0, rows.key, flat)) == len(collapsing(model, flat, 1.0))
    assert len(guarded(model, 0, rows.key, model.rest)) == 0
    assert len(guarded(model, 0, np.array([5]), flat)) == 0
