import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pliant.core.errors import InputError, PliantError, SingularError
from pliant.solvers.linear import BlockMatrix, BlockPattern, analyze


def rhs_for(dense, columns=None, seed=0):
    shape = (len(dense),) if columns is None else (len(dense), columns)
    return np.random.default_rng(seed).standard_normal(shape)


@pytest.mark.parametrize("block", [1, 2, 3, 6])
@pytest.mark.parametrize(("nodes", "cliques"), [(1, 0), (2, 1), (30, 4), (30, 60), (150, 400)])
@pytest.mark.parametrize("with_coordinates", [True, False])
def test_solve_matches_dense(make_system, block, nodes, cliques, with_coordinates):
    """One node, disconnected graphs and connected ones, blocks of any size: the solution is that of NumPy."""
    system = make_system(nodes, block=block, cliques=cliques)
    symbolic = analyze(system.pattern, coordinates=system.coordinates if with_coordinates else None)
    factor = symbolic.factorize(system.matrix.values)
    for columns in (None, 1, 5):
        rhs = rhs_for(system.dense, columns)
        np.testing.assert_allclose(factor.solve(rhs), np.linalg.solve(system.dense, rhs), rtol=1e-8, atol=1e-10)
    nodal = rhs_for(system.dense).reshape(nodes, block)
    assert factor.solve(nodal).shape == nodal.shape
    np.testing.assert_array_equal(factor.solve(nodal).ravel(), factor.solve(nodal.ravel()))


@settings(max_examples=30, deadline=None)
@given(st.integers(1, 60), st.integers(0, 100), st.integers(0, 2**16), st.sampled_from([3, 6]))
def test_residual_is_small_on_random_patterns(make_system, nodes, cliques, seed, block):
    """Backward stability: ‖A x − r‖ ≤ 1e-12 ‖A‖ ‖x‖ for one and many right-hand sides, any mask of unknowns."""
    system = make_system(nodes, block=block, seed=seed, cliques=cliques)
    keep = np.random.default_rng(seed).random(nodes) < 0.7
    factor = analyze(system.pattern, coordinates=system.coordinates, keep=keep).factorize(system.matrix.values)
    free = np.repeat(keep, block)
    A = system.dense[np.ix_(free, free)]
    rhs = rhs_for(system.dense, 4)
    x = factor.solve(rhs)
    assert not x[~free].any()
    bound = 1e-12 * max(1.0, np.abs(A).sum(1).max(initial=0.0)) * max(1.0, np.abs(x).max(initial=0.0))
    assert np.abs(A @ x[free] - rhs[free]).max(initial=0.0) <= bound
    np.testing.assert_allclose(factor.solve(rhs[:, 0].copy()), x[:, 0], rtol=1e-9, atol=1e-11)


def test_half_solve_is_a_square_root_of_the_inverse(grid):
    """Its Gram matrix is rhsᵀ A⁻¹ rhs."""
    factor = analyze(grid.pattern, coordinates=grid.coordinates).factorize(grid.matrix.values)
    rhs = rhs_for(grid.dense, 7)
    y = factor.half_solve(rhs)
    assert y.shape == (630, 7)
    np.testing.assert_allclose(y.T @ y, rhs.T @ np.linalg.solve(grid.dense, rhs), rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(factor.half_solve(rhs[:, 0].copy()), y[:, 0], rtol=1e-12, atol=1e-13)


def test_memory_of_an_earlier_factor_is_reused(grid):
    """`out` gives the same bits as fresh memory, whatever it held before."""
    symbolic = analyze(grid.pattern, coordinates=grid.coordinates)
    rhs = rhs_for(grid.dense)
    fresh = symbolic.factorize(grid.matrix.values).solve(rhs)
    old = symbolic.factorize(3.0 * grid.matrix.values)
    old.panels[:] = np.inf
    old._workspace[:] = np.nan
    np.testing.assert_array_equal(symbolic.factorize(grid.matrix.values, out=old).solve(rhs), fresh)


def test_the_same_input_gives_the_same_bits(grid):
    """Analysis, factorization, solves and compliance repeat exactly."""

    def run():
        factor = analyze(grid.pattern, coordinates=grid.coordinates).factorize(grid.matrix.values)
        return np.concatenate([factor.solve(rhs_for(grid.dense)), factor.solve(rhs_for(grid.dense, 9)).ravel()])

    first = run()
    for _ in range(3):
        np.testing.assert_array_equal(run(), first)


def test_all_nodes_fixed(grid):
    """With no unknowns every solution is zero."""
    factor = analyze(grid.pattern, keep=np.zeros(210, bool)).factorize(grid.matrix.values)
    assert not factor.solve(np.ones(630)).any()
    assert not factor.solve(np.ones((630, 2))).any()
    assert factor.half_solve(np.ones((630, 2))).shape == (0, 2)


def test_no_right_hand_sides(grid):
    """An empty block of right-hand sides gives an empty solution."""
    factor = analyze(grid.pattern).factorize(grid.matrix.values)
    assert factor.solve(np.empty((630, 0))).shape == (630, 0)
    assert factor.half_solve(np.empty((630, 0))).shape == (630, 0)


@pytest.mark.parametrize("decades", [6, 12])
def test_badly_scaled_matrices(grid, decades):
    """Stiffness that varies by many decades from node to node: the residual stays small row by row."""
    s = 10.0 ** np.random.default_rng(0).uniform(-decades / 2, decades / 2, 210)
    rows = np.repeat(np.arange(210), np.diff(grid.pattern.indptr))
    values = grid.matrix.values * (s[rows] * s[grid.pattern.indices])[:, None, None]
    matrix = BlockMatrix(grid.pattern, values)
    rhs = rhs_for(grid.dense)
    x = analyze(grid.pattern, coordinates=grid.coordinates).factorize(values).solve(rhs)
    A = matrix.to_scipy()
    assert np.all(np.abs(A @ x - rhs) <= 1e-12 * (abs(A) @ np.abs(x) + np.abs(rhs)))


def chain(stiffness, ground):
    """Nodes on a line joined by springs, the first tied to the ground."""
    n = len(stiffness) + 1
    pattern = BlockPattern.from_cliques(n, 2 * np.arange(n), np.repeat(np.arange(n), 2)[1:-1])
    matrix = BlockMatrix.zeros(pattern)
    diagonal = np.concatenate([[ground], stiffness]) + np.concatenate([stiffness, [0.0]])
    matrix.values[pattern.diagonal] = diagonal[:, None, None] * np.eye(3)
    off = np.setdiff1d(np.arange(pattern.block_count), pattern.diagonal)
    matrix.values[off] = -np.asarray(stiffness)[:, None, None] * np.eye(3)
    return matrix


@pytest.mark.parametrize("count", [3, 60, 400])
def test_free_body_is_singular(count):
    """Springs tied to nothing have rigid motions: SingularError, never numbers made of rounding."""
    matrix = chain(np.random.default_rng(0).uniform(1.0, 2.0, count), 0.0)
    with pytest.raises(SingularError, match="Clamp"):
        analyze(matrix.pattern).factorize(matrix.values)


def test_nearly_free_body_is_solved_or_refused():
    """As the tie to the ground weakens the residual stays small until the matrix is called singular."""
    refused = []
    for ground in 10.0 ** -np.arange(0.0, 18.0):
        matrix = chain(np.ones(50), ground)
        rhs = np.ones(matrix.size)
        try:
            x = analyze(matrix.pattern).factorize(matrix.values).solve(rhs)
        except SingularError:
            refused.append(ground)
            continue
        assert np.abs(matrix.matvec(x) - rhs).max() <= 1e-13 * np.abs(x).max()
    assert refused
    assert max(refused) <= 1e-12


@pytest.mark.parametrize("node", [0, 57, 209])
@pytest.mark.parametrize("component", [0, 2])
def test_the_offending_node_is_named(grid, node, component):
    """A negative pivot is reported in the caller's numbering."""
    values = grid.matrix.values.copy()
    values[grid.pattern.diagonal[node], component, component] = -1.0
    keep = np.ones(210, bool)
    keep[[3, 100]] = False
    with pytest.raises(SingularError, match=f"node {node}, component {component}") as caught:
        analyze(grid.pattern, coordinates=grid.coordinates, keep=keep).factorize(values)
    assert caught.value.row == 3 * node + component


def test_isolated_zero_node_is_named(make_system):
    """A node without any stiffness is found even when nothing is coupled to it."""
    system = make_system(20, cliques=0)
    values = system.matrix.values.copy()
    values[system.pattern.diagonal[13]] = 0.0
    with pytest.raises(SingularError, match="node 13, component 0"):
        analyze(system.pattern).factorize(values)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("block_number", [0, 700, -1])
def test_values_that_are_not_finite(grid, bad, block_number):
    """NaN and infinity anywhere raise an error that says so; nothing hangs, crashes or is handed on."""
    values = grid.matrix.values.copy()
    values[block_number, 1, 0] = bad
    with pytest.raises(InputError, match="not finite"):
        analyze(grid.pattern, coordinates=grid.coordinates).factorize(values)


def test_overflow_is_an_error(grid):
    """Numbers whose squares overflow do not give a silent NaN."""
    with pytest.raises(PliantError):
        analyze(grid.pattern).factorize(1e305 * grid.matrix.values)


def test_wrong_shapes_are_refused(grid):
    """Values and right-hand sides that do not fit raise InputError with the shape that was wanted."""
    symbolic = analyze(grid.pattern)
    with pytest.raises(InputError, match="values"):
        symbolic.factorize(grid.matrix.values[:-1])
    factor = symbolic.factorize(grid.matrix.values)
    with pytest.raises(InputError, match="rhs"):
        factor.solve(np.zeros(629))
    with pytest.raises(InputError, match="rhs"):
        factor.solve(np.zeros((2, 630)))
