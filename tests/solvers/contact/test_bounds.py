"""What the friction solver promises whatever the problem: no false convergence, one answer in all units, an end."""

from __future__ import annotations

import numpy as np
import pytest

import pliant as pl
from pliant.solvers import friction
from pliant.solvers.contact import Law, MixedProblem, solve
from pliant.solvers.contact.budget import Budget


def sticking(rng: np.random.Generator, contacts: int, freedoms: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """W, q and mu of contacts on few freedoms, for which forces of some newtons inside their cones exist."""
    H = rng.normal(size=(3 * contacts, freedoms))
    W, mu = H @ H.T * 10 ** rng.uniform(-6, 0), rng.choice([0.5, 1.0, 3.0], contacts)
    direction = rng.normal(size=(contacts, 2))
    direction /= np.linalg.norm(direction, axis=1)[:, None]
    normal = rng.exponential(size=contacts)
    r = np.column_stack([normal, (rng.uniform(0, 0.95, contacts) * mu * normal)[:, None] * direction])
    return W, -W @ r.ravel(), mu


def test_contacts_on_one_or_two_freedoms_have_moderate_forces() -> None:
    rng = np.random.default_rng(5)
    for _ in range(400):
        contacts = int(rng.integers(1, 4))
        W, q, mu = sticking(rng, contacts, int(rng.integers(1, 3)))
        for result in (
            friction(W, q, mu),
            solve(MixedProblem.of(W, q, np.full(3 * contacts, Law.COULOMB), mu=np.repeat(mu, 3))),
        ):
            assert result.residual <= 1e-8
            u = (W @ result.solution + q).reshape(-1, 3)
            assert u[:, 0].min() >= -1e-7 * np.abs(q).max()
            assert np.abs(result.solution).max() * np.abs(W).max() <= 1e4 * np.abs(q).max()


def test_one_contact_of_rank_one_in_all_units() -> None:
    rng = np.random.default_rng(0)
    for _ in range(400):
        h = rng.normal(size=3) * 10 ** rng.uniform(-4, 0)
        q = -abs(rng.normal()) * h * np.sign(h[0]) * 10 ** rng.uniform(-4, 0)
        result = friction(np.outer(h, h), q, rng.choice([0.3, 0.8, 1.5, 3.0]))
        assert result.status is pl.Status.CONVERGED
        assert result.residual <= 1e-8


@pytest.mark.parametrize("length", [1e-9, 1.0, 1e6])
@pytest.mark.parametrize("force", [1e-6, 1e9])
def test_the_answer_does_not_depend_on_units(pile, length: float, force: float) -> None:  # type: ignore[no-untyped-def]
    W, q = pile(10, 40, seed=1)
    known = friction(W, q, 0.5)
    found = friction(W * length / force, q * length, 0.5)
    assert found.residual <= 1e-8
    np.testing.assert_allclose(found.delta / length, known.delta, atol=1e-6 * np.abs(q).max())


def test_small_slips_in_metres_are_not_taken_for_zero() -> None:
    """q of nanometres: a residual relative to 1 m would accept no forces at all."""
    result = friction(np.eye(3) * 1e-6, [-1e-9, 0.0, 0.0], 0.5)
    np.testing.assert_allclose(result.solution, [1e-3, 0.0, 0.0], rtol=1e-7, atol=1e-12)


def test_where_friction_cannot_lift_the_gap_nothing_is_called_converged() -> None:
    """W of rank one whose only freedom opens one contact and closes the other."""
    h = np.array([1.0, 0.0, 0.0, -1.0, 0.0, 0.0])
    with pytest.raises(pl.PliantError):
        friction(np.outer(h, h), [-1.0, 0.0, 0.0, -1.0, 0.0, 0.0], 0.5)


@pytest.mark.parametrize("limit", [1, 7, 60])
def test_maximum_iterations_bounds_everything(pile, limit: int) -> None:  # type: ignore[no-untyped-def]
    W, q = pile(10, 60, seed=3)
    with pytest.raises(pl.errors.ConvergenceError, match="iteration limit") as caught:
        friction(W, q, 0.9, maximum_iterations=limit)
    result = caught.value.result
    assert result.iterations <= limit
    assert np.isfinite(result.solution).all()
    assert 1e-8 < result.residual < 2.0


def test_the_work_of_a_wedged_pile_is_bounded_and_repeatable(pile) -> None:  # type: ignore[no-untyped-def]
    """A pile far from convex: whatever is found, it is found within the operations that its size allows."""
    W, q = pile(20, 160, seed=2)
    law, mu = np.full(len(q), Law.COULOMB), np.full(len(q), 3.0)
    found = []
    for _ in range(2):
        try:
            found.append(solve(MixedProblem.of(W, q, law, mu=mu), quick=True))
        except pl.errors.ConvergenceError as error:
            found.append(error.result)
    assert found[0].iterations == found[1].iterations < 3000
    np.testing.assert_array_equal(found[0].solution, found[1].solution)


def test_a_budget_ends() -> None:
    budget = Budget(100, 50)
    assert budget.take_sweeps(200, 100) == 50
    assert budget.spent
    for quick, least, most in ((True, 3, 8), (False, 20, 40)):
        budget, steps = Budget(1000, 10**9, quick=quick), 0
        while not budget.spent:
            budget.take(1, 1000**3 / 3.0)
            steps += 1
        assert least <= steps <= most
    assert Budget(10, 10**9, seconds=1e-9).spent


def test_late_in_a_quick_budget_ten_times_the_tolerance_is_enough() -> None:
    for quick, late in ((True, 1e-7), (False, 1e-8)):
        budget = Budget(10, 10**9, quick=quick)
        budget.take(1, 0.2 * budget._operations)
        assert budget.allowed(1e-8) == 1e-8
        budget.take(1, 0.5 * budget._operations)
        assert budget.allowed(1e-8) == pytest.approx(late)
        budget.take(1, 10.0 * budget._operations)
        assert budget.allowed(1e-8) == pytest.approx(late)
