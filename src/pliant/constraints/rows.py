"""Rows: whatever pushes. A row has a gap δ, its gradient H in the unknowns of each model, and a law that ties δ and
λ.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, Protocol

import numpy as np
from scipy import sparse

from pliant.core.types import FloatArray, IntArray


class RowLaw(IntEnum):
    """How λ and δ of a row relate."""

    BILATERAL = 0
    """δ = 0, λ free."""


@dataclass(frozen=True, eq=False)
class Rows:
    """m rows over the models of a world.

    `H` holds one CSR matrix (m, 3n) for each model; `gap` (m,) is δ at the linearisation point, in m; `law` (m,).
    """

    H: tuple[sparse.csr_matrix, ...]
    gap: FloatArray
    law: IntArray

    @property
    def count(self) -> int:
        """Number of rows."""
        return len(self.gap)


class RowMaker(Protocol):
    """Anything that contributes rows: an actuator, an attachment, a set of contacts."""

    def rows(self, q: Sequence[FloatArray], controls: Mapping[Any, FloatArray]) -> Rows:
        """Rows at the positions q of the models."""


def assemble(makers: Sequence[RowMaker], q: Sequence[FloatArray], controls: Mapping[Any, FloatArray]) -> Rows:
    """All rows of a step, in the order of their makers."""
    parts = [maker.rows(q, controls) for maker in makers]
    if not parts:
        return Rows(tuple(sparse.csr_matrix((0, x.size)) for x in q), np.zeros(0), np.zeros(0, np.int32))
    H = tuple(sparse.vstack([part.H[k] for part in parts], format="csr") for k in range(len(q)))
    return Rows(H, np.concatenate([part.gap for part in parts]), np.concatenate([part.law for part in parts]))
