"""Few rows with at most one bound, in one call: the same forces as by elimination, and refusal of everything else."""

from dataclasses import replace

import numpy as np
import pytest

from pliant.solvers.contact import Law, MixedProblem
from pliant.solvers.contact.direct import MOST_ROWS, solve_direct
from pliant.solvers.contact.solve import _Options, _solve

B, S, F, L = Law.BILATERAL, Law.SIGNORINI, Law.IMPOSED, Law.BOUNDED


def _problem(laws, seed, unknowns=30, **bounds):
    rng = np.random.default_rng(seed)
    H = rng.normal(size=(len(laws), unknowns)) * 10.0 ** rng.uniform(-3, 3, (len(laws), 1))  # rows in m, m³ and rad
    gaps = rng.normal(size=len(laws)) * np.linalg.norm(H, axis=1)
    return MixedProblem.of(H @ H.T, gaps, laws, target=0.1 * rng.normal(size=len(laws)), **bounds)


@pytest.mark.parametrize(
    ("laws", "bounds"),
    [
        ([B, B, B, B], {}),
        ([L], {"lower": 0.0}),
        ([S, B, B], {}),
        ([B, B, L, B, F], {"lower": 0.0, "upper": 0.2}),
        ([F, F], {}),
        ([L, B, L, B], {"lower": [-np.inf, 0, 0.5, 0], "upper": [np.inf, 0, 0.5, 0]}),
    ],
)
@pytest.mark.parametrize("seed", range(4))
def test_the_forces_are_those_of_the_elimination(laws, bounds, seed):
    problem = _problem(laws, seed, **bounds)
    found = solve_direct(problem, 1e-8, 1e-16)
    general, _, _ = _solve(problem, None, _Options(1e-8, 1e-16, 1000, None, False))
    assert found is not None
    np.testing.assert_allclose(found.lam, general.lam, rtol=1e-9, atol=1e-12 * np.abs(general.lam).max())
    scale = 1e-10 * np.abs(problem.delta_free).max()
    np.testing.assert_allclose(found.delta, general.delta, rtol=1e-9, atol=scale)
    assert found.residual < 1e-10
    assert found.iterations == general.iterations


def test_what_takes_more_than_one_factor_is_left_to_the_general_solver():
    plain = _problem([B, B, B], 0)
    assert solve_direct(plain, 1e-8, 1e-16) is not None
    assert solve_direct(_problem([S, S, B], 0), 1e-8, 1e-16) is None
    assert solve_direct(_problem([Law.COULOMB] * 3, 0, mu=0.5), 1e-8, 1e-16) is None
    assert solve_direct(_problem([B, B, B], 0, unknowns=2), 1e-8, 1e-16) is None  # redundant
    assert solve_direct(_problem([B] * (MOST_ROWS + 1), 0, unknowns=100), 1e-8, 1e-16) is None
    skew = plain.W + 1e-3 * np.abs(plain.W).max() * np.triu(np.ones((3, 3)), 1)
    assert solve_direct(replace(plain, W=skew), 1e-8, 1e-16) is None
    for name in ("W", "delta_free", "target"):
        broken = getattr(plain, name).copy()
        broken.flat[0] = np.nan
        assert solve_direct(replace(plain, **{name: broken}), 1e-8, 1e-16) is None
