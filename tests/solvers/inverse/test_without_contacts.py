"""The quick solution of an inverse without contacts agrees with the general one."""

import sys

import numpy as np
import pytest

from pliant.solvers.inverse import compliance_problem, solve_qpcc


@pytest.mark.parametrize("limits", [{}, {"force_lower": 0.0}, {"displacement_lower": -0.2, "displacement_upper": 0.3}])
@pytest.mark.parametrize("seed", range(5))
def test_the_same_minimum_as_by_pieces(monkeypatch, limits, seed):
    rng = np.random.default_rng(seed)
    H = rng.standard_normal((6, 9))
    W = H @ H.T
    problem = compliance_problem(W_ea=W[:3, 3:], W_aa=W[3:, 3:], delta_e=rng.standard_normal(3), **limits)
    quick = solve_qpcc(problem)
    monkeypatch.setattr(sys.modules["pliant.solvers.inverse.qpcc"], "solve_without_contacts", lambda problem: None)
    slow = solve_qpcc(problem)
    np.testing.assert_allclose(quick.x, slow.x, rtol=1e-9, atol=1e-12)
    assert quick.objective == pytest.approx(slow.objective, rel=1e-9)
    assert quick.residual <= 1e-9
    assert (quick.status, quick.iterations, len(quick.path)) == (slow.status, slow.iterations, len(slow.path))
