"""How the rows of a step depend on its start at a fixed end."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from scipy import sparse

from pliant.core.types import FloatArray
from pliant.gradients.turning import TurningRows


class RowsOfStart:
    """How rows depend on the start of a step at fixed q⁺: ``push[j, k]`` are ∂(Hᵀλ)/∂ of body j by the start of body k,
    and ``gap[k]`` (rows, unknowns) ∂δ/∂ by it.
    """

    def __init__(self) -> None:
        self.push: dict[tuple[int, int], Any] = {}
        self.gap: dict[int, Any] = {}

    def push_by(self, j: int, k: int, X: Any) -> None:
        """Add the derivative X of Hᵀλ of body j by the start of body k."""
        known = self.push.get((j, k))
        self.push[j, k] = X if known is None else sparse.csr_matrix(known) + sparse.csr_matrix(X)

    def gap_by(self, k: int, S: Any) -> None:
        """Add the derivative S of δ by the start of body k."""
        self.gap[k] = S if k not in self.gap else self.gap[k] + S

    def add(self, turning: TurningRows) -> None:
        """Add rows that turn with volumes."""
        for (j, k), X in turning.push.items():
            self.push_by(j, k, X)
        for k, S in turning.gap.items():
            self.gap_by(k, S)

    def add_body(self, k: int, forces: Sequence[FloatArray], gaps: FloatArray) -> None:
        """Add the rows of the small body k: derivatives of Hᵀλ of all bodies, and of the gaps."""
        for j, X in enumerate(forces):
            if X.any():
                self.push_by(j, k, X)
        self.gap_by(k, sparse.csr_matrix(gaps))

    def pull(self, w: Sequence[FloatArray], weighed: FloatArray, into: list[FloatArray]) -> None:
        """Add the derivatives by the start of each body to `into`; `weighed` is Bᵀ ν (rows,)."""
        for k, S in self.gap.items():
            into[k] = into[k] - (S.T @ weighed).reshape(into[k].shape)
        for (j, k), X in self.push.items():
            into[k] = into[k] + (X.T @ w[j].ravel()).reshape(into[k].shape)

    def follow(self, start: Sequence[FloatArray], push: list[FloatArray], gap: FloatArray) -> None:
        """Add what motions of the `start` (unknowns, k) of each body change in Hᵀλ and in δ to `push` and `gap`."""
        for k, S in self.gap.items():
            gap += S @ start[k]
        for (j, k), X in self.push.items():
            push[j] = push[j] + X @ start[k]
