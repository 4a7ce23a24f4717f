"""The tree against all pairs: nothing near is missed, before and after it is refitted to another shape."""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from pliant.collision import CollisionSurface
from pliant.collision.broad.pairs import triangle_pairs
from pliant.collision.broad.tree import LEAF, median_order, twig_count

SEEDS = st.integers(0, 2**32 - 1)
ROUNDED = 1e-6
"""Boxes are stored in single precision, rounded outward: a pair this much beyond the margin may be listed, m."""


def near_pairs(x, triangles_x, y, triangles_y, margin):
    """All pairs of triangles whose boxes are within `margin`, as a set."""
    p, q = x[triangles_x], y[triangles_y]
    apart = np.maximum(p.min(axis=1)[:, None] - q.max(axis=1)[None], q.min(axis=1)[None] - p.max(axis=1)[:, None]).max(
        axis=2
    )
    return {(int(i), int(j)) for i, j in np.argwhere(apart <= margin)}


def as_set(pairs):
    found = {(int(i), int(j)) for i, j in pairs}
    assert len(found) == len(pairs)
    return found


@pytest.mark.parametrize("count", [1, 2, 4, 5, 7, 100, 1025])
def test_the_leaves_hold_everything_once(count):
    centers = np.random.default_rng(0).normal(size=(count, 3))
    order, start = median_order(centers)
    assert sorted(order) == list(range(count))
    sizes = np.diff(start)
    assert start[0] == 0
    assert start[-1] == count
    assert 1 <= sizes.min() <= sizes.max() <= LEAF
    assert len(sizes) % twig_count(count) == 0
    assert len(sizes) <= LEAF * twig_count(count)


@settings(max_examples=40, deadline=None)
@given(SEEDS, st.integers(1, 60), st.integers(1, 60), st.sampled_from([0.0, 0.01, 0.3]))
def test_pairs_of_two_soups(shapes, seed, count, other_count, margin):
    x, triangles_x = shapes.soup(seed, count)
    y, triangles_y = shapes.soup(seed + 1, other_count)
    a, b = CollisionSurface.build(triangles_x, x), CollisionSurface.build(triangles_y, y)
    found = as_set(triangle_pairs(a.at(x), b.at(y), margin=margin, facing=2.0))
    assert near_pairs(x, triangles_x, y, triangles_y, margin) <= found
    assert found <= near_pairs(x, triangles_x, y, triangles_y, margin + ROUNDED)


@settings(max_examples=40, deadline=None)
@given(SEEDS, st.integers(1, 80), st.sampled_from([0.01, 0.2]))
@example(9840, 76, 0.2)  # two boxes 4e-8 beyond the margin
def test_pairs_within_a_refitted_soup(shapes, seed, count, margin):
    rest, triangles = shapes.soup(seed, count)
    x = rest + np.random.default_rng(seed).normal(size=rest.shape) * 0.3
    pose = CollisionSurface.build(triangles, rest).at(x)
    found = {tuple(sorted(pair)) for pair in as_set(triangle_pairs(pose, pose, margin=margin, facing=2.0))}
    assert {(i, j) for i, j in near_pairs(x, triangles, x, triangles, margin) if i < j} <= found
    assert found <= near_pairs(x, triangles, x, triangles, margin + ROUNDED)


@settings(max_examples=20, deadline=None)
@given(SEEDS)
def test_facing_drops_only_pairs_that_cannot_face(shapes, oracle, seed):
    """Culling by normals is conservative: any two triangles that face each other are kept."""
    rest, triangles = shapes.box(cells=(3, 3, 2))
    x = rest + 0.15 * np.random.default_rng(seed).normal(size=rest.shape)
    pose = CollisionSurface.build(triangles, rest).at(x)
    everything = {tuple(sorted(p)) for p in as_set(triangle_pairs(pose, pose, margin=0.3, facing=2.0))}
    kept = {tuple(sorted(p)) for p in as_set(triangle_pairs(pose, pose, margin=0.3, facing=0.25))}
    normals = oracle.unit_normals(x, triangles)
    np.testing.assert_allclose(pose.bounds.normals, normals, atol=1e-12)
    assert kept <= everything
    assert all(pair in kept for pair in everything if normals[pair[0]] @ normals[pair[1]] < 0.25)


def test_a_flat_sheet_has_no_pairs(shapes):
    points, triangles = shapes.sheet(12)
    pose = CollisionSurface.build(triangles, points).at(points)
    assert len(triangle_pairs(pose, pose, margin=0.5, facing=0.25)) == 0
    assert len(triangle_pairs(pose, pose, margin=0.5, facing=2.0)) > 1000


def test_more_pairs_than_expected_are_all_found(shapes):
    x, triangles = shapes.soup(1, 60, size=3.0)
    pose = CollisionSurface.build(triangles, x).at(x)
    assert len(triangle_pairs(pose, pose, margin=10.0, facing=2.0)) == 60 * 59 // 2
