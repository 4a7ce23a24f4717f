"""Jets against derivatives written by hand, and a complex step through them."""

import numpy as np
import pytest

from pliant.hybrid.bodies import derivatives

CASES = {
    "product": lambda q: q[0] * q[1] ** 2 / (1.0 + q[2]),
    "trigonometry": lambda q: np.sin(q[0]) * np.cos(q[1]) + np.tan(q[2]),
    "distance": lambda q: np.sqrt(q @ q) - 0.1,
    "angle": lambda q: np.arctan2(q[0], q[1]) + np.arctan(q[2]),
    "far angle": lambda q: np.arctan2(q[0], -3.0 * q[1]),
    "steep angle": lambda q: np.arctan2(5.0 * q[0], q[1]),
    "powers": lambda q: np.exp(-q[0]) * np.log(q[1]) + q[2] ** 2.5 + 2.0 / q[0] + np.tanh(q[1]),
    "arrays": lambda q: q[0] + np.array([1.0, -2.0]) * q[1] - q[2] / np.array([2.0, 4.0]),
    "several": lambda q: np.array([q[0] - 1.0, 3.0 - q[1] * q[1], abs(-q[2])]),
}
POINT = np.array([0.4, 0.7, 0.3])


@pytest.mark.parametrize("name", CASES)
def test_derivatives_agree_with_complex_steps(name):
    function = CASES[name]
    h, H, D = derivatives(function, POINT)
    assert h == pytest.approx(np.atleast_1d(function(POINT)), rel=1e-14)
    for k in range(3):
        x = POINT.astype(complex)
        x[k] += 1e-30j
        value, slope, _ = derivatives(function, x)
        assert value.imag / 1e-30 == pytest.approx(H[:, k], rel=1e-13, abs=1e-13)
        assert slope.imag / 1e-30 == pytest.approx(D[:, :, k], rel=1e-12, abs=1e-12)


def test_the_hessian_of_a_distance_is_the_known_one():
    _, H, D = derivatives(lambda q: np.sqrt(q @ q), POINT)
    r = np.linalg.norm(POINT)
    assert H[0] == pytest.approx(POINT / r, rel=1e-14)
    assert D[0] == pytest.approx((np.eye(3) - np.outer(POINT, POINT) / r**2) / r, rel=1e-13)


def test_constants_have_no_derivatives():
    h, H, D = derivatives(lambda q: np.array([q[0] ** 0, 2.0]), POINT)
    assert h.tolist() == [1.0, 2.0]
    assert not H.any()
    assert not D.any()
