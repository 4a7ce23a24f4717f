"""Point–triangle and segment–segment against distances from their definitions."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pliant.collision.closest import segment_parameters, triangle_weights

SEEDS = st.integers(0, 2**32 - 1)


def distance_from_triangle_weights(x):
    """Distance of x[0] to the triangle x[1:4], checked to be that of the weights returned with it."""
    v, w, squared = triangle_weights(x, 0, x, 1, 2, 3)
    assert v >= 0
    assert w >= 0
    assert v + w <= 1 + 1e-12
    foot = (1 - v - w) * x[1] + v * x[2] + w * x[3]
    assert np.linalg.norm(x[0] - foot) == pytest.approx(np.sqrt(squared), abs=1e-12)
    return np.sqrt(squared)


def distance_from_segment_parameters(x):
    s, t, squared, _ = segment_parameters(x, 0, 1, x, 2, 3)
    assert 0 <= s <= 1
    assert 0 <= t <= 1
    apart = x[0] + s * (x[1] - x[0]) - x[2] - t * (x[3] - x[2])
    assert np.linalg.norm(apart) == pytest.approx(np.sqrt(squared), abs=1e-12)
    return np.sqrt(squared)


@settings(max_examples=300, deadline=None)
@given(SEEDS)
def test_point_triangle(oracle, seed):
    x = np.random.default_rng(seed).normal(size=(4, 3))
    assert distance_from_triangle_weights(x) == pytest.approx(oracle.point_triangle(*x), abs=1e-12)


@pytest.mark.parametrize(
    ("p", "weights"),
    [
        ((0.2, 0.3, 0.7), (0.5, 0.2, 0.3)),
        ((0.4, -1.0, 0.2), (0.6, 0.4, 0.0)),
        ((-1.0, 0.4, 0.2), (0.6, 0.0, 0.4)),
        ((1.0, 1.0, 0.3), (0.0, 0.5, 0.5)),
        ((-1.0, -2.0, 0.1), (1.0, 0.0, 0.0)),
        ((2.0, -0.1, 0.1), (0.0, 1.0, 0.0)),
        ((-0.1, 3.0, 0.1), (0.0, 0.0, 1.0)),
    ],
)
def test_the_seven_regions(p, weights):
    x = np.array([p, (0, 0, 0), (1, 0, 0), (0, 1, 0)], float)
    v, w, _ = triangle_weights(x, 0, x, 1, 2, 3)
    np.testing.assert_allclose((1 - v - w, v, w), weights, atol=1e-14)
    # borders are exact: the side of a mesh is read from them
    assert [q == 0 for q in (v, w)] == [q == 0 for q in weights[1:]]


@pytest.mark.parametrize("corners", [[(0, 0, 0), (1, 0, 0), (2, 0, 0)], [(1, 0, 0), (0, 0, 0), (0, 0, 0)]])
def test_triangles_without_area(oracle, corners):
    rng = np.random.default_rng(3)
    for p in rng.normal(size=(50, 3)):
        x = np.array([p, *corners], float)
        assert distance_from_triangle_weights(x) == pytest.approx(oracle.point_triangle(*x), abs=1e-9)


@settings(max_examples=300, deadline=None)
@given(SEEDS)
def test_segments(oracle, seed):
    x = np.random.default_rng(seed).normal(size=(4, 3))
    assert distance_from_segment_parameters(x) == pytest.approx(oracle.segment_segment(*x), abs=1e-12)


@settings(max_examples=200, deadline=None)
@given(SEEDS, st.sampled_from([0.0, 1e-9, 1e-5]), st.sampled_from([-2.0, -0.5, 0.3, 1.0]))
def test_parallel_segments(oracle, seed, tilt, stretch):
    rng = np.random.default_rng(seed)
    a, u, offset = rng.normal(size=(3, 3))
    start = a + rng.uniform(-2, 2) * u + offset
    x = np.array([a, a + u, start, start + stretch * u + tilt * rng.normal(size=3)])
    assert distance_from_segment_parameters(x) == pytest.approx(oracle.segment_segment(*x), abs=2e-6)


@pytest.mark.parametrize("which", [(0, 1), (2, 3), (0, 1, 2, 3)])
def test_segments_without_length(oracle, which):
    rng = np.random.default_rng(4)
    for _ in range(50):
        x = rng.normal(size=(4, 3))
        if 1 in which:
            x[1] = x[0]
        if 3 in which:
            x[3] = x[2]
        assert distance_from_segment_parameters(x) == pytest.approx(oracle.segment_segment(*x), abs=1e-12)
