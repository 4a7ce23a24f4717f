"""Pieces: the updated factor is the new one, elimination changes nothing, multipliers are those of the full problem."""

from dataclasses import replace

import numpy as np
import pytest

from pliant.solvers.inverse.pieces import Piece, _stationary
from pliant.solvers.inverse.problem import scaled_problem


def walk(piece, count, seed):
    """Random flips, both ways."""
    rng = np.random.default_rng(seed)
    for _ in range(count):
        piece.flip(int(rng.integers(piece.problem.nc)))


@pytest.mark.parametrize("seed", range(12))
def test_an_updated_factor_gives_the_same_minimum_as_a_new_one(random_problem, seed):
    _, problem = random_problem(seed, contacts=(5, 10), easy=seed % 2 == 0)
    scaled = scaled_problem(problem)
    updated, made_anew = Piece(scaled), Piece(scaled)
    found = 0
    for step in range(30):
        walk(updated, 1, 100 * seed + step)
        made_anew.set(updated.active)
        a, b = updated.minimum(), made_anew.minimum()
        assert (a is None) == (b is None)
        if a is not None:
            found += 1
            assert a.cost == pytest.approx(b.cost, rel=1e-8, abs=1e-11)
            np.testing.assert_allclose(a.w, b.w, atol=1e-6)
    assert found or seed % 2


@pytest.mark.parametrize("seed", range(25))
def test_eliminating_contact_forces_changes_nothing(random_problem, seed):
    _, problem = random_problem(seed)
    scaled = scaled_problem(problem)
    reduced, full = Piece(scaled), Piece(replace(scaled, symmetric=False))
    rng = np.random.default_rng(seed)
    for _ in range(6):
        active = rng.random(scaled.nc) < 0.5
        reduced.set(active)
        full.set(active)
        a, b = reduced.minimum(), full.minimum()
        assert (a is None) == (b is None)
        if a is not None:
            assert a.cost == pytest.approx(b.cost, rel=1e-7, abs=1e-10)


@pytest.mark.parametrize("seed", range(25))
def test_hidden_multipliers_complete_the_stationarity_of_the_full_problem(random_problem, seed):
    """On a piece nothing but y = 0 (open) and w = 0 (touching) is left: costs rise along every feasible direction."""
    _, problem = random_problem(seed)
    p = scaled_problem(problem)
    piece = Piece(p)
    for active in np.random.default_rng(seed).random((5, p.nc)) < 0.5:
        piece.set(active)
        point = piece.minimum()
        if point is None or len(p.R):
            continue
        rest = p.E[:, : p.na] @ point.x + p.Ec @ point.y + p.E[:, p.na]
        np.testing.assert_allclose(p.Ec.T @ rest, point.nu + p.W @ point.mu, atol=1e-6)
        assert (point.nu[active] >= -1e-9).all()
        assert (point.mu[~active] >= -1e-9).all()
        gradient = p.E[:, : p.na].T @ rest + p.G @ point.x - p.Q[:, : p.na].T @ point.mu
        inside = (point.x > p.lower[: p.na] + 1e-9) & (point.x < p.upper[: p.na] - 1e-9)
        np.testing.assert_allclose(gradient[inside], 0.0, atol=1e-6)


def test_a_duplicated_contact_stays_a_variable_until_the_other_one_opens(random_problem):
    _, problem = random_problem(3, contacts=(3, 3))
    W, Q, Ec = problem.W_cc.copy(), problem.C_a.copy(), problem.E_c.copy()
    W[2], W[:, 2], W[2, 2], Q[2], Ec[:, 2] = W[0], W[:, 0], W[0, 0], Q[0], Ec[:, 0]
    c = problem.c.copy()
    c[2] = c[0]
    scaled = scaled_problem(replace(problem, W_cc=W, C_a=Q, E_c=Ec, c=c))
    piece = Piece(scaled)
    piece.set(np.array([True, False, True]))
    assert sorted(piece.kind.tolist()) == [0, 1, 2]
    piece.flip(0)
    assert piece.kind.tolist() == [0, 0, 1]


@pytest.mark.parametrize("seed", range(15))
def test_contacts_hold_where_their_forces_are_not_negative(random_problem, seed):
    """Against the forces that close the touching gaps, by another solver, and the gaps of the others."""
    _, problem = random_problem(seed, contacts=(4, 7), easy=True)
    scaled = scaled_problem(problem)
    piece, rng = Piece(scaled), np.random.default_rng(seed)
    seen = set()
    for trial in range(40):
        active, force = rng.random(scaled.nc) < 0.5, rng.exponential(size=scaled.nc)
        opened = np.where(active, 0.0, rng.exponential(size=scaled.nc))
        if trial % 2:
            force[rng.integers(scaled.nc)] *= -1.0
            opened[rng.integers(scaled.nc)] -= 0.5
        gaps = np.where(active, 0.0, opened) - scaled.W @ np.where(active, force, 0.0)
        expected = (force[active] >= 0.0).all() and (opened[~active] >= 0.0).all()
        assert piece.holds(active, gaps) == expected
        assert (piece.active == active).all()
        seen.add(bool(expected))
    assert seen == {True, False}
    for active in (np.ones(scaled.nc, bool), np.zeros(scaled.nc, bool)):
        assert piece.holds(active, np.zeros(scaled.nc))  # touching without force


def test_an_answer_that_is_not_stationary_or_not_found_proves_nothing(random_problem, monkeypatch):
    """daqp says why it has no point: only where it calls the problem infeasible is the piece empty."""
    from pliant.solvers.inverse import pieces
    from pliant.solvers.inverse.quadratic import INFEASIBLE, SOLVED

    _, problem = random_problem(3, contacts=(3, 3), easy=True)
    for flag, stationary, failed in (
        (SOLVED, True, False),
        (SOLVED, False, True),
        (INFEASIBLE, True, False),
        (-4, True, True),
    ):
        piece = Piece(replace(scaled_problem(problem), symmetric=False))
        piece.set(np.array([True, False, True]))
        size = piece.problem.na + 2
        answer = np.zeros(size), np.zeros(size + 3), flag, 1
        monkeypatch.setattr(pieces, "solve_scaled", lambda *_, answer=answer: answer)
        monkeypatch.setattr(pieces, "_stationary", lambda *_, found=stationary: found)
        found = piece._by_daqp(*piece._program(2)[:3])
        assert (found is not None) == (flag == SOLVED and stationary)
        assert piece.failed == failed


def test_a_stationary_point_has_multipliers_that_balance_its_gradient():
    x, H, A = np.array([1.0, -2.0]), np.eye(2), np.ones((1, 2))
    assert _stationary(H, np.array([-1.0, 3.0]), A, x, np.array([0.0, -1.0, 0.0]))
    assert _stationary(H, np.array([-1.5, 1.5]), A, x, np.array([0.0, 0.0, 0.5]))
    assert not _stationary(H, np.array([-1.0, 3.0]), A, x, np.array([0.0, -0.999, 0.0]))
    assert not _stationary(H, np.array([-1.0, 3.0]), A, x, np.array([0.0, -1.001, 0.0]))
