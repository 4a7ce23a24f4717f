"""Gradients of rows in the unknowns of each model, of which a constraint moves one or two among many."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from scipy import sparse

from pliant.core.arrays import csr, empty_csr, frozen
from pliant.core.types import IntArray


class RowBlocks(Sequence[Any]):
    """CSR matrices (`row_count`, unknowns) of all models, of which only those `filled` are stored, by index of their
    model: of a hundred constraints on a hundred bodies most are empty.
    """

    __slots__ = ("filled", "row_count", "sizes")

    def __init__(
        self, row_count: int, sizes: Sequence[int], filled: dict[int, sparse.csr_matrix] | None = None
    ) -> None:
        self.row_count, self.sizes = row_count, sizes
        self.filled: dict[int, sparse.csr_matrix] = {} if filled is None else filled

    @classmethod
    def of(cls, H: Any) -> RowBlocks:
        """Blocks of a sequence of matrices, one for each model; blocks themselves are returned as they are."""
        if hasattr(H, "filled"):
            made: RowBlocks = H
            return made
        filled = {index: block for index, block in enumerate(H) if len(block.data)}
        return cls(H[0].shape[0] if len(H) else 0, [block.shape[1] for block in H], filled)

    def __len__(self) -> int:
        return len(self.sizes)

    def __getitem__(self, index: Any) -> Any:
        """The matrix of a model, empty where the rows do not move it."""
        if isinstance(index, slice):
            return [self[k] for k in range(*index.indices(len(self)))]
        found = self.filled.get(index if index >= 0 else index + len(self))
        return empty_csr((self.row_count, self.sizes[index])) if found is None else found

    def __setitem__(self, index: int, block: sparse.csr_matrix) -> None:
        self.filled[index if index >= 0 else index + len(self)] = block

    def __iter__(self) -> Iterator[sparse.csr_matrix]:
        filled, count = self.filled, self.row_count
        for index, size in enumerate(self.sizes):
            yield filled[index] if index in filled else empty_csr((count, size))

    def part(self, own: slice) -> RowBlocks:
        """The rows of a slice."""
        start, stop, _ = own.indices(self.row_count)
        return RowBlocks(stop - start, self.sizes, {index: block[own] for index, block in self.filled.items()})


def stacked_blocks(parts: Sequence[RowBlocks]) -> RowBlocks:
    """The rows of all `parts`, one below the other."""
    count, by_body = 0, {}  # type: ignore[var-annotated]
    for part in parts:
        for index, block in part.filled.items():
            if len(block.data):
                own = by_body.get(index)
                if own is None:
                    own = by_body[index] = []
                own.append((count, block))
        count += part.row_count
    sizes = parts[0].sizes
    made = {index: _placed(by_body[index], (count, sizes[index])) for index in sorted(by_body)}
    return RowBlocks(count, sizes, made)


def _placed(blocks: list[tuple[int, sparse.csr_matrix]], shape: tuple[int, int]) -> sparse.csr_matrix:
    """A matrix of `blocks`, each from the row that stands before it on; the other rows are empty."""
    if len(blocks) == 1 and blocks[0][1].shape == shape:
        return blocks[0][1]
    key: tuple[int, ...] = shape[:1]
    for row, block in blocks:
        if block.indices.flags.writeable:  # as of contacts: others in each step
            columns, starts = _entries(blocks, shape[0])
            break
        key += row, id(block.indices), id(block.indptr)
    else:
        found = _known.get(key)
        if found is None:
            if len(_known) >= _MOST_KNOWN:
                _known.clear()
            kept = [(block.indices, block.indptr) for _, block in blocks]  # arrays whose ids stay theirs
            columns, starts = _entries(blocks, shape[0])
            found = _known[key] = kept, frozen(columns), frozen(starts)
        _, columns, starts = found
    values = blocks[0][1].data if len(blocks) == 1 else np.concatenate([block.data for _, block in blocks])
    return csr(values, columns, starts, shape)


_known: dict[tuple[int, ...], tuple[Any, IntArray, IntArray]] = {}
"""Columns and starts of blocks whose entries stay the same from step to step, by their rows and entries."""
_MOST_KNOWN = 256


def _entries(blocks: list[tuple[int, sparse.csr_matrix]], row_count: int) -> tuple[IntArray, IntArray]:
    """Columns (entries,) of the `blocks` and starts (rows + 1,) of their rows."""
    starts = np.zeros(row_count + 1, np.int32)
    last = end = 0
    for row, block in blocks:
        if end:
            starts[last + 1 : row + 1] = end
        last = row + block.shape[0]
        np.add(block.indptr[1:], end, out=starts[row + 1 : last + 1], casting="unsafe")
        end = int(starts[last])
    starts[last + 1 :] = end
    columns = blocks[0][1].indices if len(blocks) == 1 else np.concatenate([block.indices for _, block in blocks])
    return columns.astype(np.int32, copy=False), starts
