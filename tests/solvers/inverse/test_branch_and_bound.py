"""Branch and bound over the contacts: what it claims where a relaxation has no answer, is cut short, or is cut off."""

import sys
from dataclasses import replace

import numpy as np
import pytest

from pliant.solvers.inverse import QpccStatus, branch_and_bound, solve_qpcc
from pliant.solvers.inverse.branch_and_bound import branch
from pliant.solvers.inverse.pieces import Piece, PiecePoint
from pliant.solvers.inverse.problem import scaled_problem
from pliant.solvers.inverse.programs import UNDECIDED

QPCC = sys.modules["pliant.solvers.inverse.qpcc"]  # the package has a function of that name


def everything(scaled, **options):
    """Search all pieces."""
    count = scaled.nc
    options = {"cost": np.inf, "node_limit": 10_000} | options
    return branch(scaled, np.zeros(count, np.bool_), np.arange(count), **options)


def test_without_any_answer_nothing_is_claimed(random_problem, monkeypatch):
    """Every QP fails: all nodes are split to the end, and neither a bound nor completeness is claimed."""
    _, problem = random_problem(0, contacts=(3, 3), easy=True)

    def fails(self):
        self.failed = True

    monkeypatch.setattr(Piece, "minimum", fails)
    found = everything(scaled_problem(problem))
    assert found.point is None
    assert found.nodes == 2**4 - 1
    assert not found.complete
    assert found.bound == -np.inf


@pytest.mark.parametrize("seed", range(6))
def test_relaxations_without_an_answer_are_split(random_problem, enumerated, monkeypatch, seed):
    """Only pieces have answers: the best of them is found, and all of them are looked at."""
    _, problem = random_problem(seed, contacts=(3, 4), easy=True)
    scaled, minimum = scaled_problem(problem), Piece.minimum
    undecided = []

    def pieces_only(self):
        if (self.kind == UNDECIDED).any():
            undecided.append(self)
            self.failed = True
            return None
        return minimum(self)

    monkeypatch.setattr(Piece, "minimum", pieces_only)
    found = everything(scaled)
    best = enumerated(problem)
    assert undecided
    assert found.complete
    assert found.point.cost * scaled.cost == pytest.approx(best, rel=1e-7, abs=1e-9)


@pytest.mark.parametrize("seed", range(10))
def test_a_relaxation_that_obeys_the_law_without_a_piece_is_split(random_problem, enumerated, monkeypatch, seed):
    """Where the piece that a relaxation lies on has no answer, or a worse one, its other pieces are searched."""
    _, problem = random_problem(seed, contacts=(3, 4), easy=True)
    scaled, settled, calls = scaled_problem(problem), branch_and_bound._settled, []

    def sometimes(piece, touching, rest, point):
        calls.append(len(rest))
        return None if len(rest) else settled(piece, touching, rest, point)

    monkeypatch.setattr(branch_and_bound, "_settled", sometimes)
    found = everything(scaled)
    assert found.complete
    assert calls
    assert found.point.cost * scaled.cost == pytest.approx(enumerated(problem), rel=1e-7, abs=1e-9)


@pytest.mark.parametrize("limit", [1, 2, 4, 8, 16])
def test_a_search_that_is_cut_short_bounds_what_it_did_not_see(random_problem, enumerated, limit):
    for seed in range(6):
        _, problem = random_problem(seed, contacts=(5, 5), easy=True)
        scaled = scaled_problem(problem)
        best = enumerated(problem)
        found = everything(scaled, node_limit=limit)
        assert found.nodes <= limit
        assert found.bound * scaled.cost <= best + 1e-8
        below = everything(scaled, cost=0.5 * best / scaled.cost)  # nothing is that good
        assert below.point is None
        assert below.complete
        assert below.bound == pytest.approx(0.5 * best / scaled.cost)
        if best > 1e-6:
            first = everything(scaled, first=True)
            assert first.point.cost * scaled.cost >= best * (1.0 - 1e-7)


@pytest.mark.parametrize("limit", [2, 5, 9, 14])
def test_the_best_of_a_search_that_is_cut_short_is_a_local_minimum(random_problem, enumerated, limit, monkeypatch):
    """Without other starts, so that the search itself improves on the first minimum."""
    monkeypatch.setattr(QPCC, "_STARTS", 0)
    for seed in range(12):
        _, problem = random_problem(seed, contacts=(6, 6), easy=True)
        result = solve_qpcc(problem, globalize=True, node_limit=limit)
        both = np.flatnonzero((result.y <= 1e-7) & (result.w <= 1e-7))
        around = enumerated(problem, fixed=result.y > result.w, free=both)
        assert result.objective <= around + 1e-7 * max(1.0, around)
        assert result.status in (QpccStatus.LOCAL, QpccStatus.GLOBAL)


@pytest.mark.parametrize("lower", [-np.inf, -0.4, 3.0])
@pytest.mark.parametrize("upper", [np.inf, 4.0])
def test_other_starts_lie_within_the_bounds_and_near_the_point(random_problem, lower, upper):
    _, problem = random_problem(0, contacts=(3, 3), easy=True)
    count = problem.actuator_count
    limited = replace(problem, x_lower=np.full(count, lower), x_upper=np.full(count, upper))
    scaled = scaled_problem(limited)
    x = np.linspace(-0.7, 0.9, count)
    zero = np.zeros(scaled.nc)
    point = PiecePoint(x, zero, zero, 0.0, zero, zero, zero > 0.0)
    starts = np.array(QPCC._other_starts(scaled, point))
    low, high = scaled.lower[:count], scaled.upper[:count]
    assert starts.shape == (4, count)
    assert (starts >= low).all()
    assert (starts <= high).all()
    reach = 2.0 * max(1.0, np.abs(point.x).max())
    furthest = np.maximum(np.where(low > -1e29, np.abs(low), 0.0), np.where(high < 1e29, np.abs(high), 0.0))
    assert (np.abs(starts) <= furthest + 2.0 * reach).all()
    assert (starts.max(axis=0) - starts.min(axis=0) > 0.1 * np.minimum(high - low, reach)).all()
    assert np.linalg.matrix_rank(starts - starts.mean(axis=0)) == min(3, count)
