"""Lengths and directions of the segments of polylines."""

import numpy as np

from pliant.models.polyline import segments


def test_a_closed_segment_has_the_derivatives_of_its_rounded_length():
    """Near ℓ = 0 the length is (ℓ² + ε²)/2ε, continuous with its slope; `units` are the slopes."""
    path = np.array([[0.0, 0.0, 0.0], [0.1, 0.0, 0.0], [0.1, 2e-4, 1e-4], [0.2, 0.0, 0.0]])
    lengths, units = segments(path)
    for k in range(3):
        step = np.zeros_like(path)
        step[2, k] = 1e-8
        change = (segments(path + step)[0].sum() - segments(path - step)[0].sum()) / 2e-8
        np.testing.assert_allclose(change, units[1, k] - units[2, k], atol=2e-3)  # ε follows the length of the path
    assert np.linalg.norm(units[1]) < 1.0
    assert lengths[1] > np.linalg.norm(path[2] - path[1])
