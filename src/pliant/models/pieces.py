"""Straight segments of a cable between embedded points of one body, whose tension stiffens the body."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol, Self

import numpy as np

from pliant.core.types import FloatArray, IntArray
from pliant.models.model import GeometricStiffness

if TYPE_CHECKING:
    from pliant.models.body import Model

ROUNDED = 1.0 - 1e-9
"""Square of the slope of a length below which it is rounded (`models.polyline`)."""
Ends = Sequence[tuple[int, float]]
"""Ends of a segment on the body: index among the embedded points, and −1 for the first end or 1 for the last."""


Path = tuple[Any, IntArray, FloatArray]
"""The pieces of a path, the indices `order` (p,) of their points in it, and all its points (k, 3), m, `fixed` where
they are none of them.
"""


class Paths(Protocol):
    """Several paths through points of one body, evaluated in one pass."""

    def shortenings(self, q: FloatArray) -> tuple[FloatArray, Any]:
        """Lengths L (c,), m, and the rows −∂L/∂q (c, unknowns), CSR."""

    def stiffness(self, q: FloatArray, tensions: FloatArray, rest: FloatArray, short: float) -> GeometricStiffness:
        """`Pieces.path_stiffness` of all paths, under `tensions` (c,), N, with the lengths `rest` (s,) m of all pieces
        at rest and the fraction `short` of them.
        """


@dataclass(frozen=True, eq=False)
class Pieces:
    """s segments with `ends` among `points` (p, 3), m, of `body`, given in the frame in which it was made.

    `map` is that of the points once the body is compiled. A kind that the tension stiffens overrides `stiffness`.
    """

    body: Any
    points: FloatArray
    ends: Sequence[Ends]
    what: str
    reach: float = 0.0
    map: Any = None

    def joins(self, fixed: FloatArray) -> bool:
        """Whether a path with the points `fixed` (k, 3) m can be `joined` with others on the body."""
        return False

    @classmethod
    def joined(cls, paths: Sequence[Path]) -> Paths:
        """Several paths on one body, in one."""
        raise NotImplementedError

    def couplings(self) -> list[IntArray]:
        """Sets of nodes that the stiffness couples, beyond those of the elements."""
        return []

    def bound(self, model: Model) -> Self:
        """The segments on the compiled body."""
        return replace(self, map=model.embed(self.points, what=self.what, reach=self.reach))

    def stiffness(self, q: FloatArray, across: FloatArray, units: FloatArray) -> GeometricStiffness | None:
        """Σ Jᵀ across (I − u uᵀ) J with `across` (s,) N/m and directions `units` (s, 3); None where it is left out."""
        return None

    def path_stiffness(
        self, q: FloatArray, order: IntArray, fixed: FloatArray, tension: float, bound: tuple[FloatArray, float]
    ) -> GeometricStiffness | None:
        """`stiffness` of the path `fixed` (k, 3) m, with the points in place of those with the indices `order`, under
        one `tension` (N); None where its segments are to be measured first. `bound` are the lengths (s,) m at rest, and
        the fraction of them below which stiffness is bounded, 0 for none.
        """
        return None

    def turning_stiffness(
        self, q: FloatArray, tensions: FloatArray, units: FloatArray, lengths: FloatArray
    ) -> GeometricStiffness | None:
        """What `tensions` (s,) N add because the lever arms of the points turn with the body, with directions `units`
        (s, 3) and `lengths` (s,) m: Σ Sᵀ B S over the points, with S the spin of a point's frame by the unknowns, a its
        lever arm, g = ∂(Σ T ℓ)/∂x, and B = ½ (g aᵀ + a gᵀ) − (g·a) I. None where points have no lever arm.
        """
        return None

    def gradients(self, tensions: FloatArray, units: FloatArray) -> FloatArray:
        """∂(Σ T ℓ)/∂x of each point, (p, 3), N, for `tensions` (s,) N and directions `units` (s, 3) of the pieces."""
        g = np.zeros((len(self.points), 3))
        for s, piece in enumerate(self.ends):
            for p, sign in piece:
                g[p] += sign * tensions[s] * units[s]
        return g


def turning_blocks(g: FloatArray, arms: FloatArray) -> FloatArray:
    """½ (g aᵀ + a gᵀ) − (g·a) I (p, 3, 3), N·m, the second derivative of g·x by the spin of a point x at the lever arm
    a, for `g` (p, 3) N and `arms` (p, 3) m.
    """
    outer = g[:, :, None] * arms[:, None, :]
    even: FloatArray = 0.5 * (outer + outer.transpose(0, 2, 1))
    return np.asarray(even - np.einsum("pi,pi->p", g, arms)[:, None, None] * np.eye(3))
