"""Block columns: factors and solves of all copies against dense ones, by JAX and by the kernels of a card."""

import numpy as np
import pytest

jax = pytest.importorskip("jax", reason="needs the extra gpu")
from pliant.batch.gpu import band, band_kernels  # noqa: E402
from pliant.batch.gpu.precision import in_double  # noqa: E402

COLUMNS, WIDTH, REACH, COPIES, RIGHT = 4, 16, 2, 3, 16
FIRST = 2  # block column of the late right-hand sides


def problem(rng):
    """Matrices (b, n, n), their entries with a zero at the end, the source of the blocks, and both groups of right-hand
    sides.
    """
    size = COLUMNS * WIDTH
    i, j = np.indices((size, size))
    A = rng.normal(size=(COPIES, size, size))
    A = np.where(abs(i - j) > REACH * WIDTH - 5, 0.0, A + A.swapaxes(1, 2))
    A += np.eye(size) * abs(A).sum(2).max()
    values = np.concatenate([A.reshape(COPIES, -1), np.zeros((COPIES, 1))], 1)
    source = np.full((COLUMNS, REACH + 1, WIDTH, WIDTH), size * size, np.int32)
    for k in range(COLUMNS):
        for r in range(min(REACH + 1, COLUMNS - k)):
            rows, columns = (k + r) * WIDTH + np.arange(WIDTH), k * WIDTH + np.arange(WIDTH)
            source[k, r] = rows[None, :] * size + columns[:, None]
    early = rng.normal(size=(COPIES, COLUMNS, WIDTH, RIGHT))
    return A, values, source, early, rng.normal(size=(COPIES, COLUMNS - FIRST, WIDTH, 3 * RIGHT))


def by_kernels(*given):
    return band_kernels.factor_and_solve(*given, interpret=True)


@pytest.mark.parametrize("factorize", [jax.jit(band.factor_and_solve), by_kernels], ids=["library", "kernels"])
def test_factors_and_solves_are_those_of_dense_matrices(factorize):
    A, *given = problem(np.random.default_rng(0))
    with in_double():
        found = factorize(*map(jax.numpy.asarray, given))
        backward = band.solve_backward(found.L, found.early[..., 0])
        again = band_kernels.solve_backward(found.L, found.early[..., 0], interpret=True)
    early, late = given[2].reshape(COPIES, -1, RIGHT), np.zeros((COPIES, COLUMNS * WIDTH, 3 * RIGHT))
    late[:, FIRST * WIDTH :] = given[3].reshape(COPIES, -1, 3 * RIGHT)
    C = np.linalg.cholesky(A)
    assert found.definite.all()
    np.testing.assert_allclose(np.asarray(found.early).reshape(early.shape), np.linalg.solve(C, early), atol=1e-14)
    Z = np.linalg.solve(C, late)
    np.testing.assert_allclose(np.asarray(found.late).reshape(COPIES, -1, 3 * RIGHT), Z[:, FIRST * WIDTH :], atol=1e-14)
    x = np.linalg.solve(A, early[..., :1])[..., 0]
    np.testing.assert_allclose(np.asarray(backward).reshape(x.shape), x, atol=1e-15)
    np.testing.assert_allclose(again, backward, atol=1e-15)


@pytest.mark.parametrize("factorize", [jax.jit(band.factor_and_solve), by_kernels], ids=["library", "kernels"])
def test_a_matrix_that_is_not_definite_is_told_from_the_others(factorize):
    A, values, *given = problem(np.random.default_rng(1))
    values[1, 20 * len(A[0]) + 20] = -1.0
    with in_double():
        found = factorize(*map(jax.numpy.asarray, (values, *given)))
    assert np.asarray(found.definite).tolist() == [True, False, True]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_kernels_are_accepted_by_triton(dtype):
    """Lowered for a card on a machine without one: what Triton does not know is an error here already."""
    _, values, source, early, late = problem(np.random.default_rng(2))
    with in_double():
        given = [jax.numpy.asarray(x, dtype) for x in (values, early, late)]
        traced = jax.jit(band_kernels.factor_and_solve).trace(given[0], jax.numpy.asarray(source), *given[1:])
        assert "triton" in traced.lower(lowering_platforms=("cuda",)).as_text()
        L = jax.numpy.zeros((COPIES, COLUMNS + REACH, REACH + 1, WIDTH, WIDTH), dtype)
        traced = jax.jit(band_kernels.solve_backward).trace(L, given[1][..., 0])
        assert "triton" in traced.lower(lowering_platforms=("cuda",)).as_text()
