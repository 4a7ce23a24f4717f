"""Random systems and elastic boxes shared by the tests of the linear core."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import pytest
from scipy import sparse

from pliant.core.types import FloatArray
from pliant.solvers.linear import BlockMatrix, BlockPattern


class System(NamedTuple):
    matrix: BlockMatrix
    coordinates: FloatArray
    dense: FloatArray

    @property
    def pattern(self) -> BlockPattern:
        return self.matrix.pattern


def random_system(
    nodes: int, *, block: int = 3, seed: int = 0, cliques: int | None = None, reach: float = 0.3
) -> System:
    """A positive definite matrix whose cliques are near in space; with few cliques the graph falls apart."""
    rng = np.random.default_rng(seed)
    points = rng.random((nodes, 3))
    count = 2 * nodes if cliques is None else cliques
    groups = []
    for _ in range(count):
        near = np.flatnonzero(np.linalg.norm(points - points[rng.integers(nodes)], axis=1) < reach)
        groups.append(np.sort(rng.permutation(near)[:4]).astype(np.int32))
    ptr = np.concatenate([[0], np.cumsum([len(g) for g in groups])]).astype(np.int64)
    flat = np.concatenate([*groups, np.empty(0, np.int32)]).astype(np.int32)
    pattern = BlockPattern.from_cliques(nodes, ptr, flat, block=block)
    pair_ptr, positions = pattern.clique_positions(ptr, flat)
    matrix = BlockMatrix.zeros(pattern)
    for c, group in enumerate(groups):
        square = rng.standard_normal((len(group) * block, len(group) * block))
        square = square @ square.T
        place = pair_ptr[c]
        for a in range(len(group)):
            for b in range(a + 1):
                matrix.values[positions[place]] += square[a * block : (a + 1) * block, b * block : (b + 1) * block]
                place += 1
    matrix.values[pattern.diagonal] += 0.1 * np.eye(block)
    return System(matrix, points, matrix.to_scipy().toarray())


def random_rows(count: int, width: int, *, per_row: int = 9, seed: int = 0) -> sparse.csr_matrix:
    rng = np.random.default_rng(seed)
    columns = rng.integers(0, width, (count, per_row))
    data = rng.standard_normal((count, per_row))
    rows = np.repeat(np.arange(count), per_row)
    return sparse.csr_matrix((data.ravel(), (rows, columns.ravel())), shape=(count, width))


@pytest.fixture(scope="session")
def make_system() -> Callable[..., System]:
    return random_system


@pytest.fixture(scope="session")
def make_rows() -> Callable[..., sparse.csr_matrix]:
    return random_rows


@pytest.fixture(scope="session")
def grid() -> System:
    """A 7 × 6 × 5 grid of nodes with springs to all 26 neighbours: several levels of dissection, many fronts."""
    cells = np.stack(np.meshgrid(np.arange(6), np.arange(5), np.arange(4), indexing="ij"), -1).reshape(-1, 3)
    corners = np.stack(np.meshgrid([0, 1], [0, 1], [0, 1], indexing="ij"), -1).reshape(-1, 3)
    at = cells[:, None, :] + corners
    cliques = np.sort(at[..., 0] * 30 + at[..., 1] * 5 + at[..., 2], axis=1).astype(np.int32)
    pattern = BlockPattern.from_cliques(210, np.arange(len(cliques) + 1) * 8, cliques.ravel())
    rng = np.random.default_rng(7)
    values = rng.standard_normal((pattern.block_count, 3, 3))
    values[pattern.diagonal] = 60.0 * np.eye(3)
    points = (
        np.stack(np.meshgrid(np.arange(7), np.arange(6), np.arange(5), indexing="ij"), -1).reshape(-1, 3).astype(float)
    )
    matrix = BlockMatrix(pattern, values)
    return System(matrix, points, matrix.to_scipy().toarray())
