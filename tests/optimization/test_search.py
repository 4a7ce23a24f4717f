"""The search on functions whose minimum is known: smooth ones, kinks, and regions in which nothing can be computed."""

import numpy as np
import pytest
from scipy.optimize import linprog

import pliant as pl
from pliant.optimization.result import Outcome
from pliant.optimization.search import Search

FREE = lambda n: (np.zeros((0, n)), np.zeros(0))  # noqa: E731


def search(value, first, *, rates=None, method="L-BFGS-B", target=None, evaluations=400, told=None, tolerance=1e-8):
    first = np.asarray(first, float)
    made = Search(
        value, FREE(len(first)) if rates is None else rates, method, tolerance, evaluations, target,
        told or (lambda history, y: False),
    )  # fmt: skip
    return made, *made.run(first, *value(first))


def quadratic(seed, n=6):
    """A convex quadratic with its minimum inside the bounds, at any scale."""
    rng = np.random.default_rng(seed)
    root, best, scale = rng.normal(size=(n, n)), rng.uniform(0.2, 0.8, n), 10.0 ** rng.uniform(-9, 9)
    H = scale * (root @ root.T + 0.1 * np.eye(n))
    return (lambda y: (0.5 * (y - best) @ H @ (y - best), H @ (y - best))), best


@pytest.mark.parametrize("method", ["L-BFGS-B", "SLSQP", "trust-constr"])
def test_a_quadratic_of_any_scale(method):
    for seed in range(5 if method == "trust-constr" else 20):
        value, best = quadratic(seed)
        _, outcome, y, loss = search(value, np.full(6, 0.5), method=method, tolerance=1e-10)
        assert outcome is Outcome.CONVERGED
        assert loss < 1e-5 * value(np.full(6, 0.5))[0]
        assert y == pytest.approx(best, abs=0.02)


def test_limits_of_rates_hold_at_every_point_that_counts():
    for seed in range(10):
        value, best = quadratic(seed, 4)
        D = np.diff(np.eye(4), axis=0)
        A, b = np.vstack([D, -D]), np.full(6, 0.02)
        _, outcome, y, loss = search(value, np.full(4, 0.5), rates=(A, b), method="SLSQP")
        assert outcome is Outcome.CONVERGED
        assert (A @ y <= b + 1e-8).all()
        assert np.abs(np.diff(best)).max() > 0.02  # the limits matter
        rng = np.random.default_rng(seed)
        for _ in range(200):  # no neighbour within the limits is lower
            other = np.clip(y + 0.01 * rng.normal(size=4), 0.0, 1.0)
            if (A @ other <= b).all():
                assert value(other)[0] >= loss * (1.0 - 1e-9)


def test_the_minimum_of_kinks_is_found():
    """The maximum of affine functions, whose minimum a linear program knows."""
    for seed in range(20):
        rng = np.random.default_rng(seed)
        G, h = rng.normal(size=(8, 3)), rng.normal(size=8)
        exact = linprog([0, 0, 0, 1], np.hstack([G, -np.ones((8, 1))]), -h, bounds=[(0, 1)] * 3 + [(None, None)]).fun

        def value(y, G=G, h=h):
            k = int(np.argmax(G @ y + h))
            return float(G[k] @ y + h[k]), G[k]

        first = rng.uniform(size=3)
        made, outcome, y, loss = search(value, first)
        assert outcome is Outcome.CONVERGED
        assert len(made.history) < 200
        assert loss == value(y)[0] == min(made.history)
        assert loss - exact < 1e-4 * (value(first)[0] - exact) + 1e-9


def test_derivatives_that_lead_nowhere_stall():
    """Of the wrong sign, as those of a loss whose derivative is not its own."""
    value, _ = quadratic(1)
    _, outcome, _, _ = search(lambda y: (value(y)[0], -value(y)[1]), np.full(6, 0.45))
    assert outcome is Outcome.STALLED
    assert "compare with another guess" in outcome.text


def test_a_kink_at_the_minimum_is_no_failure():
    def value(y):
        side = 1.0 if y[0] >= 0.3 else -2.0
        return float(side * (y[0] - 0.3) + (y[1] - 0.6) ** 2), np.array([side, 2.0 * (y[1] - 0.6)])

    _, outcome, y, loss = search(value, [0.9, 0.1])
    assert outcome is Outcome.CONVERGED
    assert loss < 1e-4
    assert y == pytest.approx([0.3, 0.6], abs=3e-3)


def failing(best, wall):
    """A quadratic that cannot be computed where the sum of y exceeds `wall`."""

    def value(y):
        if y.sum() > wall:
            raise pl.ConvergenceError("the step failed")
        return float(((y - best) ** 2).sum()), 2.0 * (y - best)

    return value


def test_failed_simulations_are_gone_round():
    """The minimum lies close before the region in which nothing can be computed."""
    for seed in range(10):
        best = np.random.default_rng(seed).uniform(0.3, 0.7, 3)
        _, outcome, y, _ = search(failing(best, best.sum() + 0.01), [0.01, 0.02, 0.0])
        assert outcome is Outcome.CONVERGED
        assert y == pytest.approx(best, abs=1e-3)


def test_a_minimum_behind_failed_simulations_is_blocked_and_says_why():
    made, outcome, y, _ = search(failing(np.full(3, 0.9), 1.5), np.full(3, 0.1))
    assert outcome is Outcome.BLOCKED
    assert made.failure == "the step failed"
    assert 1.3 < y.sum() <= 1.5
    assert np.isnan(made.history).sum() >= 1


def test_ends_at_the_target_at_the_limit_and_where_the_callback_says():
    value, _ = quadratic(3)
    first = value(np.full(6, 0.5))[0]
    made, outcome, _, loss = search(value, np.full(6, 0.5), target=0.1 * first)
    assert outcome is Outcome.TARGET
    assert loss <= 0.1 * first
    made, outcome, _, _ = search(value, np.full(6, 0.5), evaluations=3)
    assert outcome is Outcome.ROLLOUT_LIMIT
    assert len(made.history) == 3
    made, outcome, _, _ = search(value, np.full(6, 0.5), told=lambda history, y: len(history) == 2)
    assert outcome is Outcome.STOPPED
    assert len(made.history) == 2
