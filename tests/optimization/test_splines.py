"""Commands from control points stay within their bounds and their rates."""

import numpy as np
import pytest

from pliant.optimization.splines import basis, slopes


@pytest.mark.parametrize(("count", "degree"), [(2, 1), (5, 1), (5, 2), (4, 3), (9, 3)])
def test_the_basis_is_a_partition_of_unity_that_ends_in_the_last_point(count, degree):
    values = basis(count, degree, 40)
    assert values.min() >= 0.0
    assert values.sum(axis=1) == pytest.approx(1.0)
    assert values[-1] == pytest.approx(np.eye(count)[-1])


@pytest.mark.parametrize(("count", "degree"), [(2, 1), (5, 1), (6, 2), (4, 3), (9, 3)])
def test_no_command_is_faster_than_the_control_points_of_its_rate(count, degree):
    rng, steps = np.random.default_rng(count), 4000
    for _ in range(20):
        c = rng.normal(size=count)
        u = np.concatenate([c[:1], basis(count, degree, steps) @ c])
        bound = np.abs(slopes(count, degree) @ c)
        rates = np.diff(u) * steps
        assert np.abs(rates).max() <= bound.max() * (1.0 + 1e-9)
        assert abs(rates[0]) == pytest.approx(bound[0], rel=1e-2, abs=1e-2 * bound.max())  # at the ends it is the first
        assert abs(rates[-1]) == pytest.approx(bound[-1], rel=1e-2, abs=1e-2 * bound.max())
