"""Pairs of boxes: exact derivatives of their features, and overlap as a linear program finds it."""

import numpy as np
import pytest
from scipy.optimize import linprog

import pliant as pl
from pliant.hybrid.bodies import BoxPairs, FreeBodies
from pliant.hybrid.bodies.free_bodies import rotations

HALVES = np.array([[0.5, 0.4, 0.3], [0.2, 0.3, 0.4], [0.5, 0.5, 0.5]])
BODIES = FreeBodies([1.0, 2.0, 3.0], [[0.1, 0.2, 0.3]] * 3)


@pytest.fixture
def pairs():
    return BoxPairs(BODIES, HALVES)


def test_features_have_exact_derivatives(pairs):
    rng = np.random.default_rng(0)
    q, v, which, step = rng.uniform(-1.0, 1.0, 18), rng.uniform(-1.0, 1.0, 18), np.arange(pairs.count), 1e-30
    h, H, c = pairs.rows(q, v, which)
    assert h == pytest.approx(pairs.gap(q, which), abs=1e-14)
    for k in range(18):
        x = q.astype(complex)
        x[k] += 1j * step
        assert pairs.gap(x, which).imag / step == pytest.approx(H[:, k], abs=1e-12)
    later = pairs.rows(q + 1j * step * v, v.astype(complex), which)[1].imag / step
    assert later @ v == pytest.approx(c, abs=1e-11)


def separation(q, i, j):
    """By how much (m) all faces of both boxes must recede until they share no point; negative where they overlap."""
    x, theta = BODIES.split(q)
    R, rows, bounds = rotations(theta), [], []
    for k in (i, j):
        for sign in (1.0, -1.0):
            rows.append(np.hstack([sign * R[k].T, np.ones((3, 1))]))
            bounds.append(HALVES[k] + sign * R[k].T @ x[k])
    found = linprog([0.0, 0.0, 0.0, -1.0], A_ub=np.vstack(rows), b_ub=np.concatenate(bounds), bounds=[(None, None)] * 4)
    return found.fun


def test_boxes_overlap_where_a_feature_in_scope_is_negative(pairs):
    rng = np.random.default_rng(1)
    which, seen = np.arange(pairs.count), []
    for _ in range(80):
        q = rng.uniform(-1.0, 1.0, 18) * np.tile([0.7] * 3 + [1.2] * 3, 3)
        violated = ((pairs.gap(q, which) < 0.0) & (pairs.scope(q, which) > 0.0)).reshape(3, -1).any(axis=1)
        wanted = [separation(q, i, j) < 0.0 for i, j in zip(pairs.first, pairs.second, strict=True)]
        assert violated.tolist() == wanted
        seen += wanted
    assert 0.2 < np.mean(seen) < 0.8


def test_crossing_edges_have_the_analytic_distance():
    """Two cubes on edge, one turned about x, the other about y: their ridges cross at a right angle, √2 · half away."""
    half, up = 0.05, 0.3
    cubes = BoxPairs(FreeBodies([1.0, 1.0], np.ones((2, 3))), np.full((2, 3), half))
    q = np.array([0.0, 0.0, 0.0, np.pi / 4, 0.0, 0.0, 0.01, -0.02, up, 0.0, np.pi / 4, 0.0])
    which = np.arange(cubes.count)
    counted = cubes.scope(q, which) > 0.0
    assert counted.sum() == 1
    assert which[counted][0] >= 96  # an edge on an edge
    assert cubes.gap(q, which[counted]) == pytest.approx([up - 2.0 * np.sqrt(2.0) * half], abs=1e-14)


def test_faces_that_cover_each_other_count_at_their_rims():
    """An aligned stack: all vertices lie on the rims of the faces, and must hold; sides by side do not."""
    half = 0.05
    cubes = BoxPairs(FreeBodies([1.0, 1.0], np.ones((2, 3))), np.full((2, 3), half))
    which = np.arange(cubes.count)
    for axis in range(3):
        q = np.zeros(12)
        q[6 + axis] = 2.0 * half - 1e-6
        counted = (cubes.scope(q, which) > 0.0) & (cubes.gap(q, which) < half)
        assert cubes.gap(q, which[counted]) == pytest.approx(-1e-6, abs=1e-12)
        normals = np.abs(cubes.rows(q, np.zeros(12), which[counted])[1][:, 6:9])
        assert normals == pytest.approx(np.tile(np.eye(3)[axis], (counted.sum(), 1)), abs=1e-12)
        assert counted.sum() >= 8


def test_far_pairs_are_skipped(pairs):
    q = np.zeros(18)
    q[[6, 12]] = 1.5, 5.0
    assert set(pairs.near(q, 0.5) // 240) == {0}
    moved = q.copy()
    moved[12] += 0.25
    assert pairs.moved(moved, q) == pytest.approx(0.5)


def test_flat_boxes_are_refused():
    with pytest.raises(pl.InputError, match="half sides > 0"):
        BoxPairs(BODIES, [[1.0, 1.0, 0.0]] * 3)
