"""Proper orthogonal decomposition: the dominant modes of the shapes of a body.

The modes φ of snapshots u₁ … uₛ minimise Σ ‖uᵢ − Φ Φᵀ G uᵢ‖²_G among all bases of their number that are orthonormal in
the product G; they are the left singular vectors of the snapshots in that product (Sirovich, Quarterly of Applied
Mathematics 45, 1987). As G serves the mass matrix (kg), the stiffness at rest (N/m: energies of shapes count, so that
small motions of stiff parts do), or the plain sum over nodes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import linalg, sparse

from pliant.core.checks import finite_array, positive, positive_count
from pliant.core.declared import declared
from pliant.core.errors import InputError
from pliant.core.one_line import one_line
from pliant.core.types import FloatArray, IndexArray
from pliant.materials import Tangent
from pliant.models.volume import VolumeModel
from pliant.reduced import Subspace
from pliant.reduced.chart import floating_frame
from pliant.solvers.linear import BlockMatrix

_ROUNDING = 1e-13
"""Singular values below this fraction of the largest one are rounding."""


@one_line
@dataclass(frozen=True, eq=False)
class Pod:
    """Modes of a body and how much of its snapshots they capture.

    `modes` (3n, k), m per unit, are orthonormal in the sparse product `G` (3n, 3n); `singular_values` (r,) of all.
    """

    model: VolumeModel
    modes: FloatArray
    singular_values: FloatArray
    G: Any

    @property
    def size(self) -> int:
        """Number of modes."""
        return int(self.modes.shape[1])

    @property
    def discarded(self) -> float:
        """Relative projection error of the snapshots."""
        return _tail(self.singular_values, self.size)

    def left_out(self, snapshots: Any) -> FloatArray:
        """Relative projection error of other snapshots (s, n, 3), m, with the first 0, 1 … k modes: (k + 1,)."""
        shapes = displacements(self.model, snapshots).T
        pushed = self.G @ shapes
        whole = float(np.vdot(shapes, pushed))
        if not whole:
            raise InputError(f"none of these snapshots moves {self.model.name!r} away from its rest shape")
        captured = np.concatenate([[0.0], np.cumsum(((self.modes.T @ pushed) ** 2).sum(axis=1))])
        return np.asarray(np.sqrt(np.maximum(1.0 - captured / whole, 0.0)))

    def subspace(self) -> Subspace:
        """The modes as a reduction of a world; internal forces visit all integration points."""
        model = self.model
        return Subspace(model.spec, self.modes, rest=model.rest, point_count=model.points.count)


@declared
def pod(
    model: VolumeModel, snapshots: Any, *, product: str = "mass", tolerance: float = 1e-3, size: int | None = None
) -> Pod:
    """Modes of the shapes of a body.

    snapshots
        Positions (s, n, 3), m, of its nodes; of an unconstrained body only the deformation counts.
    product
        "mass", "energy" (the stiffness at rest) or "plain".
    tolerance
        Relative projection error ‖U − ΦΦᵀGU‖ / ‖U‖ in the norm of the product, usual 1e-2 … 1e-4.
    size
        The number of modes instead.
    """
    if product not in _PRODUCT:
        raise InputError(f"product must be one of {', '.join(_PRODUCT)}, got {product!r}")
    positive("tolerance", tolerance)
    shapes = displacements(model, snapshots)
    G = _PRODUCT[product](model)
    modes, singular_values = _decomposed(G, shapes, np.setdiff1d(np.arange(model.size), model.constrained_unknowns))
    count = int(np.sum(singular_values > _ROUNDING * singular_values[0])) if len(singular_values) else 0
    if not count:
        raise InputError(f"no snapshot moves {model.name!r} away from its rest shape: take some under load")
    if size is None:
        kept = next(k for k in range(1, count + 1) if k == count or _tail(singular_values, k) <= tolerance)
    elif (kept := positive_count("size", size)) > count:
        raise InputError(f"{len(shapes)} snapshots of {model.name!r} hold {count} modes, not {kept}: take more")
    return Pod(model, np.ascontiguousarray(modes[:, :kept]), singular_values, G)


def displacements(model: VolumeModel, snapshots: Any) -> FloatArray:
    """Displacements (s, 3n), m, of snapshots (s, n, 3); of an unconstrained body in its own frame."""
    positions = finite_array(f"snapshots of {model.name!r}", snapshots, shape=(None, *model.rest.shape))
    if model.constrained.any():
        moved: FloatArray = (positions - model.rest).reshape(len(positions), -1)
        moved[:, model.constrained_unknowns] = 0.0
        return moved
    return np.stack([floating_frame(x, model.rest, model.mass.nodal)[2].ravel() for x in positions])


def _tail(singular_values: FloatArray, kept: int) -> float:
    squares = singular_values**2
    return float(np.sqrt(squares[kept:].sum() / squares.sum()))


def _decomposed(G: Any, shapes: FloatArray, free: IndexArray) -> tuple[FloatArray, FloatArray]:
    """Modes (3n, r), exactly zero outside the `free` (f,) unknowns, and singular values (r,) of shapes (s, 3n)."""
    own, G = shapes[:, free], G.tocsr()[free][:, free]
    diagonal = G.diagonal()
    is_diagonal = G.nnz == np.count_nonzero(diagonal)
    found, singular_values = _by_weights(diagonal, own) if is_diagonal else _by_matrix(G, own)
    modes = np.zeros((shapes.shape[1], found.shape[1]))
    modes[free] = found
    return modes, singular_values


def _by_weights(weights: FloatArray, shapes: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Modes and singular values in a product that is diagonal, `weights` (3n,)."""
    root = np.sqrt(weights)[:, None]
    modes, singular_values, _ = linalg.svd(root * shapes.T, full_matrices=False)
    return modes / root, singular_values


def _by_matrix(G: Any, shapes: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Modes and singular values in a product G (3n, 3n), sparse: in the span of the snapshots it is a small matrix.

    The eigenvalues of UᵀGU would do as well, but lose half of the digits.
    """
    span, values, rows = linalg.svd(shapes.T, full_matrices=False)
    count = int(np.sum(values > _ROUNDING * values[0])) if values[0] else 0
    span, values, rows = span[:, :count], values[:count], rows[:count]
    small = span.T @ (G @ span)
    lower = linalg.cholesky(0.5 * (small + small.T), lower=True)
    turned, singular_values, _ = linalg.svd(lower.T @ (values[:, None] * rows), full_matrices=False)
    modes = span @ linalg.solve_triangular(lower, turned, lower=True, trans="T")
    again = linalg.cholesky(modes.T @ (G @ modes), lower=True)  # restores orthonormality lost to rounding
    return linalg.solve_triangular(again, modes.T, lower=True).T, singular_values


def _mass(model: VolumeModel) -> Any:
    mass = model.mass
    if mass.blocks is None:
        return sparse.diags(np.repeat(mass.nodal, 3))
    return BlockMatrix(model.pattern, mass.blocks[:, None, None] * np.eye(3)).to_scipy()


def _stiffness(model: VolumeModel) -> Any:
    values = np.zeros((model.pattern.block_count, 3, 3))
    model.assemble(model.rest.copy(), mass=0.0, stiffness=1.0, tangent=Tangent.EXACT, values=values)
    return BlockMatrix(model.pattern, values).to_scipy()


_PRODUCT: dict[str, Any] = {"mass": _mass, "energy": _stiffness, "plain": lambda model: sparse.identity(model.size)}
