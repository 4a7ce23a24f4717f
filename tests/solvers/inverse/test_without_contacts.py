"""The quick solution of an inverse without contacts agrees with the general one."""

import sys
from dataclasses import replace

import numpy as np
import pytest

from pliant.solvers.inverse import QpccProblem, compliance_problem, solve_qpcc
from pliant.solvers.inverse.without_contacts import solve_without_contacts


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


@pytest.mark.parametrize("order", ["C", "F"])
def test_arrays_of_any_layout_are_read_as_the_numbers_they_hold(order):
    """Of both layouts, and with a stride."""
    rng = np.random.default_rng(0)
    wide = rng.normal(size=(6, 8))
    W_ea = np.asarray(wide[::2, ::2], order=order) if order == "C" else np.asfortranarray(wide[::2, ::2])
    root = rng.normal(size=(4, 4))
    W_aa, e = root @ root.T, rng.normal(size=3)
    found = solve_qpcc(compliance_problem(W_ea=W_ea, W_aa=np.array(W_aa, order=order), delta_e=e, energy_weight=0.1))
    expected = np.linalg.solve(wide[::2, ::2].T @ wide[::2, ::2] + 0.1 * W_aa, -wide[::2, ::2].T @ e)
    np.testing.assert_allclose(found.x, expected, rtol=1e-8)
    problem = QpccProblem.of(E_a=W_ea, e=e, G=0.1 * W_aa)
    for name in ("G", "E_a"):
        again = solve_without_contacts(replace(problem, **{name: np.asfortranarray(getattr(problem, name))}))
        np.testing.assert_allclose(again.x, expected, rtol=1e-8)
