"""What every solver of this folder returns."""

from __future__ import annotations

from dataclasses import dataclass

from pliant.core.status import Status
from pliant.core.types import FloatArray


@dataclass(frozen=True, eq=False)
class ComplementarityResult:
    """Forces and gaps that satisfy δ = δ_free + W λ and the law of every row.

    `solution` is λ (m,) in N and `delta` is δ (m,) in m (for an LCP: z and w = M z + q). `residual` is the norm of the
    natural map, relative to the problem as the solver's docstring says. `gap` is Σ |λ · δ| over what the laws make
    orthogonal, in N·m. `iterations` counts sweeps, second-order steps and pivots together.
    """

    solution: FloatArray
    delta: FloatArray
    status: Status
    residual: float
    gap: float
    iterations: int

    @property
    def lam(self) -> FloatArray:
        """λ (m,) in N: another name of `solution`."""
        return self.solution
