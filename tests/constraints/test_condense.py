"""Condensation against dense algebra: W, free gaps, laws and motions, whether rows fall into islands or not."""

import numpy as np
import pytest
from scipy import linalg, sparse

from pliant.constraints import RowLaw, Rows
from pliant.constraints.condense import compliance, condense
from pliant.constraints.coupling import Coupling, couple, with_couplings
from pliant.constraints.islands import islands
from pliant.constraints.rows import COMPLIANT
from pliant.solvers.linear import DenseFactor

LAWS = (RowLaw.BILATERAL, RowLaw.SIGNORINI, RowLaw.BOUNDED, COMPLIANT, RowLaw.COULOMB)


def random_bodies(rng, count, unknowns=6):
    """Positive definite matrices of bodies and forces on them."""
    roots = rng.normal(size=(count, unknowns, unknowns))
    return [x @ x.T + np.eye(unknowns) for x in roots], rng.normal(size=(count, unknowns))


def random_rows(rng, bodies, groups, unknowns=6):
    """Rows of all laws; those of a group act on its bodies only."""
    law, dense, m = [], [], 0
    chosen = [list(group) for group in groups for _ in range(3)]
    for bodies_of_row in chosen:
        kind = LAWS[rng.integers(len(LAWS))]
        size = 3 if kind == RowLaw.COULOMB else 1
        law += [kind] * size
        dense.append((m, size, bodies_of_row))
        m += size
    H = [np.zeros((m, unknowns)) for _ in range(bodies)]
    for first, size, bodies_of_row in dense:
        for k in bodies_of_row:
            H[k][first : first + size] = rng.normal(size=(size, unknowns))
    law = np.array(law)
    rows = Rows.of(
        [sparse.csr_matrix(h) for h in H], rng.normal(size=m), law, mu=np.where(law == RowLaw.COULOMB, 0.4, 0.0),
        lower=np.where(law == RowLaw.BOUNDED, -0.3, -np.inf), upper=rng.uniform(0.1, 0.5, m), target=rng.normal(size=m),
    )  # fmt: skip
    return rows, H


@pytest.mark.parametrize("groups", [((0, 1, 2, 3),), ((0, 1), (2, 3)), ((0,), (1,), (2, 3)), ((3,), (0, 2))])
@pytest.mark.parametrize("seed", range(3))
def test_problems_and_motions_are_those_of_dense_algebra(groups, seed):
    rng = np.random.default_rng(seed)
    matrices, r = random_bodies(rng, 4)
    rows, H = random_rows(rng, 4, groups)
    assert len(islands(rows)) == (len(groups) if len(groups) > 1 else 0)
    factors = [DenseFactor(A) for A in matrices]
    found = condense(rows, [factor.motion(b) for factor, b in zip(factors, r, strict=True)])
    W = sum(h @ np.linalg.solve(A, h.T) for h, A in zip(H, matrices, strict=True))
    np.testing.assert_allclose(compliance(rows.H, factors), W, rtol=1e-10, atol=1e-12)
    springs = rows.law == COMPLIANT
    W = W + np.diag(np.where(springs, rows.upper, 0.0))
    free = rows.gap + sum(h @ np.linalg.solve(A, b) for h, A, b in zip(H, matrices, r, strict=True))
    whole = found.problem
    np.testing.assert_allclose(whole.W, W, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(whole.delta_free, free, rtol=1e-10, atol=1e-12)
    np.testing.assert_array_equal(whole.law, np.where(springs, RowLaw.BILATERAL, rows.law))
    np.testing.assert_array_equal(whole.upper, np.where(springs, np.inf, rows.upper))
    for name in ("mu", "lower", "target"):
        np.testing.assert_array_equal(getattr(whole, name), getattr(rows, name))
    seen = np.concatenate([island.rows for island in found.islands])
    assert sorted(seen) == list(range(rows.count))
    for index, problem in found.islands:
        np.testing.assert_allclose(problem.W, W[np.ix_(index, index)], rtol=1e-10, atol=1e-12)
        np.testing.assert_allclose(problem.delta_free, free[index], rtol=1e-10, atol=1e-12)
    lam = rng.normal(size=rows.count)
    touched = {k for group in groups for k in group}
    for k, (A, b) in enumerate(zip(matrices, r, strict=True)):
        if k not in touched:
            assert found.motions[k] is None
            continue
        np.testing.assert_allclose(found.motions[k].under(lam), np.linalg.solve(A, b + H[k].T @ lam), atol=1e-10)
    assert found.finite
    factors[groups[-1][0]].motion(r[0])
    bad = [factor.motion(np.full(6, np.nan) if k == groups[-1][0] else r[k]) for k, factor in enumerate(factors)]
    assert not condense(rows, bad).finite


@pytest.mark.parametrize("seed", range(5))
def test_coupled_models_have_the_compliance_of_the_whole_matrix(seed):
    """W of (A + Eᵀ C E), assembled and inverted whole; C may be indefinite."""
    rng = np.random.default_rng(seed)
    matrices, _ = random_bodies(rng, 3)
    H = [rng.normal(size=(4, 6)) for _ in range(3)]
    E = [[0.3 * rng.normal(size=(size, 6)) for _ in range(3)] for size in (2, 3)]
    inner = [rng.normal(size=(size, size)) for size in (2, 3)]
    stiffness = [0.5 * (C + C.T) for C in inner]
    couplings = [
        Coupling(tuple(sparse.csr_matrix(e) for e in rows), np.linalg.inv(C))
        for rows, C in zip(E, stiffness, strict=True)
    ]
    whole = linalg.block_diag(*matrices)
    for rows, C in zip(E, stiffness, strict=True):
        whole = whole + np.hstack(rows).T @ C @ np.hstack(rows)
    G = np.hstack(H)
    W = with_couplings([sparse.csr_matrix(h) for h in H], [DenseFactor(A) for A in matrices], couplings)
    assert W.shape == (9, 9)
    made = couple(W, couplings)
    np.testing.assert_allclose(made, G @ np.linalg.solve(whole, G.T), rtol=1e-8, atol=1e-10)
    np.testing.assert_array_equal(made, made.T)
