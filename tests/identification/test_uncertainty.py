"""Intervals of linear problems against known covariances, and how often they cover the truth."""

import numpy as np
import pytest

from pliant.identification.frames import Motion
from pliant.identification.robust import LOSSES, rho, score
from pliant.identification.uncertainty import open_text, uncertainty
from pliant.recordings import Registration


def of(J, r, precision=None, *, loss="squares", known=False, parameters=None):
    n = J.shape[1]
    return uncertainty(
        J, r, loss, np.zeros(n) if precision is None else precision, 0.95, known_noise=known,
        parameter_count=n if parameters is None else parameters,
    )  # fmt: skip


def test_the_covariance_of_a_line():
    """Regression: s² (JᵀJ)⁻¹ with n − 2 degrees of freedom, and (JᵀJ + P)⁻¹ with known noise."""
    rng = np.random.default_rng(0)
    J = np.stack([np.ones(30), np.linspace(0, 1, 30)], axis=1) * 20
    noise = rng.normal(scale=1.7, size=30)
    z, left, _, _ = np.linalg.lstsq(J, noise, rcond=None)
    found = of(J, J @ z - noise)
    assert found.covariance == pytest.approx(left[0] / 28 * np.linalg.inv(J.T @ J))
    assert found.noise_factor == pytest.approx(np.sqrt(left[0] / 28))
    assert found.quantile == pytest.approx(2.0484, abs=1e-4)  # tables of Student's distribution
    precision = np.array([0.0, 400.0])
    found = of(J, J @ z - noise, precision, known=True)
    assert found.covariance == pytest.approx(np.linalg.inv(J.T @ J + np.diag(precision)))
    assert found.quantile == pytest.approx(1.95996, abs=1e-5)


@pytest.mark.parametrize("count", [6, 40])
def test_intervals_cover_as_often_as_they_say(count):
    rng = np.random.default_rng(count)
    J = rng.normal(size=(count, 2)) * 10
    hits = []
    for _ in range(1500):
        noise = 3.0 * rng.normal(size=count)
        z, *_ = np.linalg.lstsq(J, noise, rcond=None)
        found = of(J, J @ z - noise)
        hits.append(np.abs(z) <= found.quantile * np.sqrt(np.diag(found.covariance)))
    assert np.mean(hits) == pytest.approx(0.95, abs=0.012)


@pytest.mark.parametrize("loss", ["huber", "cauchy"])
def test_intervals_of_robust_losses_cover_with_outliers(loss):
    rng = np.random.default_rng(5)
    J = rng.normal(size=(60, 2)) * 10
    hits = []
    for _ in range(300):
        noise = rng.normal(size=60)
        noise[rng.random(60) < 0.08] *= 10.0
        z = np.zeros(2)
        for _ in range(40):  # reweighted squares
            r = J @ z - noise
            w = rho(loss, r * r)[1]
            z = np.linalg.solve((J.T * w) @ J, (J.T * w) @ noise)
        found = of(J, J @ z - noise, loss=loss)
        hits.append(np.abs(z) <= found.quantile * np.sqrt(np.diag(found.covariance)))
    assert np.mean(hits) == pytest.approx(0.95, abs=0.03)


@pytest.mark.parametrize("loss", LOSSES)
def test_losses_and_their_derivatives(loss):
    r = np.linspace(-6, 6, 41)
    s, h = r * r, 1e-5
    _, first, second = rho(loss, s)
    assert first == pytest.approx((rho(loss, s + h)[0] - rho(loss, s - h)[0]) / (2 * h), abs=1e-5)
    away = np.abs(np.abs(r) - 1.345) > 0.01
    assert second[away] == pytest.approx(((rho(loss, s + h)[1] - rho(loss, s - h)[1]) / (2 * h))[away], abs=1e-5)
    psi, slope = score(loss, r)
    assert psi == pytest.approx(first * r)
    assert slope[away] == pytest.approx(((score(loss, r + h)[0] - score(loss, r - h)[0]) / (2 * h))[away], abs=1e-5)


def test_what_two_unknowns_share_is_open_and_named():
    rng = np.random.default_rng(1)
    column = rng.normal(size=20) * 30
    J = np.stack([column, -2 * column, rng.normal(size=20) * 30], axis=1)
    found = of(J, rng.normal(size=20))
    ((direction, width),) = found.open_directions
    assert width == np.inf
    assert np.abs(direction / direction[0]) == pytest.approx([1, 0.5, 0], abs=1e-6)
    assert np.isinf(found.covariance[0]).all()
    assert np.isfinite(found.covariance[2, 2])
    text = open_text(["a", "b", "c"], np.array([1.0, 1.0, 1.0]), direction, width)
    assert text.startswith("the data cannot tell apart a and b: changing a by +10 %, b by +5 % at once")
    assert "young to no better than ± 3 times" in open_text(["young"], np.ones(1), np.ones(1), 3.0)


def test_offsets_count_only_through_what_they_leave_of_parameters():
    """An unknown offset with its own wide interval is no warning; a parameter that it hides is."""
    rng = np.random.default_rng(2)
    J = np.stack([rng.normal(size=30) * 50, rng.normal(size=30) * 0.1], axis=1)
    assert of(J, rng.normal(size=30), parameters=1).open_directions == ()
    J[:, 0] = 100 * J[:, 1]
    assert len(of(J, rng.normal(size=30), parameters=1).open_directions) == 1


def test_the_motion_of_a_frame_and_its_derivative():
    rng = np.random.default_rng(3)
    turn = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    first = Registration(turn * np.linalg.det(turn), rng.normal(size=3), 0.0, 3, 0)
    points = rng.normal(size=(4, 2, 3))
    motion = Motion(first, points.mean(axis=(0, 1)), 0.5)
    assert motion.apply(np.zeros(6), points) == pytest.approx(first.apply(points))
    for scale in (1e-6, 1.0, 20.0):
        z, h = scale * rng.normal(size=6), 1e-4
        wanted = np.stack(
            [(motion.apply(z + e, points) - motion.apply(z - e, points)) / (2 * h) for e in h * np.eye(6)]
        )
        assert np.moveaxis(motion.slope(z, points), -1, 0) == pytest.approx(wanted, abs=1e-8)
        assert motion.registration(z, 0.0, 1, 0).apply(points) == pytest.approx(motion.apply(z, points))
