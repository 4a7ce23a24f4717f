"""The best push in each triangle, against other solvers and brute force."""

import numpy as np
import pytest
from scipy.optimize import nnls

from pliant.estimation.places import any_pushes, lattice, normal_pushes

DEVIATION = 0.7


@pytest.fixture
def problem():
    rng = np.random.default_rng(0)
    J, inward = rng.normal(size=(60, 3, 3, 8)), rng.normal(size=(60, 3))
    return J, rng.normal(size=8), inward / np.linalg.norm(inward, axis=1, keepdims=True)


def test_normal_pushes_solve_their_least_squares_problems_with_three_forces_that_press(problem):
    J, r, inward = problem
    found = normal_pushes(J, r, inward, DEVIATION)
    for k in range(len(J)):
        M = np.einsum("cas,a->sc", J[k], inward[k])
        w, rest = nnls(np.vstack([M, np.full((1, 3), 1.0 / DEVIATION)]), np.append(r, 0.0))
        assert found.cost[k] == pytest.approx(rest**2, rel=1e-8)
        assert found.weights[k] * np.linalg.norm(found.force[k]) == pytest.approx(w, abs=1e-8)
    assert (found.cost < r @ r - 1e-3).any()
    assert found.best() == np.argmin(found.cost)


def test_a_triangle_that_cannot_help_is_not_pushed(problem):
    _, r, inward = problem
    away = -np.einsum("s,ta,c->tcas", r, inward, np.ones(3))
    found = normal_pushes(away, r, inward, DEVIATION)
    assert found.cost == pytest.approx(np.full(len(away), r @ r))
    assert not found.force.any()


def test_forces_of_any_direction_are_no_worse_than_those_at_random_places(problem):
    J, r, inward = problem
    found = any_pushes(J, r, inward, DEVIATION, 3)
    rng = np.random.default_rng(1)
    for k in np.argsort(found.cost)[:10]:
        assert found.force[k] @ inward[k] > 0.0
        assert found.weights[k].sum() == pytest.approx(1.0)
        least = min(_cost(J[k], r, inward[k], rng.dirichlet((1, 1, 1))) for _ in range(300))
        assert found.cost[k] <= least + 0.02 * (r @ r)


def _cost(J, r, inward, beta):
    M = np.einsum("c,cas->sa", beta, J)
    f = np.linalg.solve(M.T @ M + np.eye(3) / DEVIATION**2, M.T @ r)
    return np.sum((r - M @ f) ** 2) + f @ f / DEVIATION**2 if f @ inward > 0.0 else np.inf


@pytest.mark.parametrize("divisions", [1, 2, 5])
def test_the_points_of_a_triangle_are_centres_of_equal_parts(divisions):
    points = lattice(divisions)
    assert points.shape == (divisions**2, 3)
    assert points.sum(axis=1) == pytest.approx(np.ones(divisions**2))
    assert points.min() > 0.0
    assert points.mean(axis=0) == pytest.approx(np.full(3, 1.0 / 3.0))
