"""Contacts that are kept over solves of an equilibrium: measured again on their own facet or edges."""

import numpy as np
import pytest

from pliant.constraints.kept_contacts import _across, _on_face


@pytest.mark.parametrize("seed", range(6))
def test_a_vertex_is_measured_on_the_plane_of_its_facet(seed):
    """The weights give its foot, also beside the triangle; the normal keeps its side."""
    rng = np.random.default_rng(seed)
    corners, point = rng.normal(size=(3, 3)), rng.normal(size=3)
    like = rng.normal(size=3)
    weights, normal, least = _on_face(corners, point, like)
    across = np.cross(corners[1] - corners[0], corners[2] - corners[0])
    np.testing.assert_allclose(np.cross(normal, across), 0.0, atol=1e-12)
    assert normal @ like > 0.0
    assert np.linalg.norm(normal) == pytest.approx(1.0)
    assert weights.sum() == pytest.approx(1.0)
    assert least == weights.min()
    np.testing.assert_allclose(np.cross(point - weights @ corners, normal), 0.0, atol=1e-12)


def test_a_facet_without_area_bounds_nothing():
    weights, normal, least = _on_face(np.zeros((3, 3)), np.ones(3), np.ones(3))
    assert np.isnan(weights).all()
    assert np.isnan(normal).all()
    assert least == -np.inf


@pytest.mark.parametrize("seed", range(6))
def test_edges_are_measured_where_they_are_nearest(seed):
    """The line between both points stands across both edges."""
    rng = np.random.default_rng(seed)
    a0, a1, b0, b1, like = rng.normal(size=(5, 3))
    s, t, normal = _across(a0, a1, b0, b1, like)
    between = a0 + s * (a1 - a0) - b0 - t * (b1 - b0)
    np.testing.assert_allclose([between @ (a1 - a0), between @ (b1 - b0)], 0.0, atol=1e-12)
    np.testing.assert_allclose(np.cross(between, normal), 0.0, atol=1e-12)
    assert normal @ like > 0.0
    assert np.linalg.norm(normal) == pytest.approx(1.0)


def test_parallel_edges_do_not_cross():
    x, y = np.eye(3)[:2]
    s, t, normal = _across(0.0 * x, x, y, x + y, np.eye(3)[2])
    assert s == t == -1.0
    assert np.isnan(normal).all()
