"""Forces of the rows in all copies against the solver of the ordinary steps, problem by problem."""

import numpy as np
import pytest

jax = pytest.importorskip("jax", reason="needs the extra gpu")
from pliant.batch.gpu import law_kernel, laws  # noqa: E402
from pliant.batch.gpu.precision import in_double  # noqa: E402
from pliant.solvers.contact import Law, MixedProblem, solve  # noqa: E402

SLOTS, COUNT = 4, 60
ROWS = 4 * SLOTS
FULL = 64  # unknowns behind the rows


def random_problem(rng):
    """A problem of some contacts and drives in the layout of `laws.Laws`, and λ of the ordinary solver."""
    H = rng.normal(size=(ROWS, FULL)) / 8.0
    H[SLOTS : 3 * SLOTS] *= rng.uniform(0.3, 2.0)
    H += rng.normal(size=(1, FULL)) / 4.0  # as the bending of a finger, which moves all points alike
    W, free = H @ H.T, rng.normal(size=ROWS) * 0.3
    mu = rng.choice([0.0, 0.3, 0.8])
    contacts, drives = int(rng.integers(0, SLOTS + 1)), int(rng.integers(0, SLOTS))
    is_open = np.concatenate([np.tile(np.arange(SLOTS) >= contacts, 3), np.arange(SLOTS) >= drives])
    lower, upper = np.zeros(ROWS), np.zeros(ROWS)
    lower[3 * SLOTS :] = rng.choice([-np.inf, 0.0, 0.5], SLOTS)
    given = np.isneginf(lower)
    lower[given] = 0.7  # an imposed force
    upper[3 * SLOTS :] = lower[3 * SLOTS :] + np.where(given[3 * SLOTS :], 0.0, rng.choice([1.0, np.inf], SLOTS))
    order = [g * SLOTS + k for k in range(contacts) for g in range(3)] + [3 * SLOTS + k for k in range(drives)]
    law = np.where(np.array(order, int) < 3 * SLOTS, int(Law.COULOMB), int(Law.BOUNDED))
    own = np.ix_(order, order)
    twin = MixedProblem.of(W[own], free[order], law, mu=mu, lower=lower[order], upper=upper[order])
    lam = np.zeros(ROWS)
    if order:
        lam[order] = solve(twin, None).lam
    swap = np.r_[0:SLOTS, 2 * SLOTS : 3 * SLOTS, SLOTS : 2 * SLOTS, 3 * SLOTS : ROWS]
    friction = np.where(is_open | (np.arange(ROWS) >= 3 * SLOTS), 0.0, mu)
    return laws.Laws(W, W[swap], free, friction, lower, upper, is_open), lam


def problems(seed, count):
    pairs = [random_problem(np.random.default_rng([seed, k])) for k in range(count)]
    return laws.Laws(*(np.stack(x) for x in zip(*(p for p, _ in pairs), strict=True))), np.stack([x for _, x in pairs])


def test_forces_are_those_of_the_ordinary_solver():
    given, lam = problems(0, COUNT)
    with in_double():
        given = jax.tree.map(jax.numpy.asarray, given)
        found = jax.jit(jax.vmap(lambda one: laws.find_forces(one, jax.numpy.zeros(ROWS), 1e-10, 50)))(given)
    assert np.asarray(found.residual).max() < 1e-10
    off = np.einsum("bij,bj->bi", given.W, np.asarray(found.lam) - lam)  # of redundant rows λ is not unique, δ is
    assert np.abs(off[~np.asarray(given.open)]).max() < 1e-8


def test_the_kernel_finds_the_same_forces():
    given, lam = problems(1, 4)
    with in_double():
        given = jax.tree.map(jax.numpy.asarray, given)
        found = law_kernel.find_all_forces(given, jax.numpy.zeros((4, ROWS)), 1e-10, 50, interpret=True)
        off = np.einsum("bij,bj->bi", given.W, np.asarray(found.lam) - lam)
        assert np.abs(off[~np.asarray(given.open)]).max() < 1e-8
        traced = jax.jit(lambda p, x: law_kernel.find_all_forces(p, x, 1e-10, 50)).trace(given, found.lam)
        assert "triton" in traced.lower(lowering_platforms=("cuda",)).as_text()
