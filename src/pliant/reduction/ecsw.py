"""Energy-conserving sampling and weighting: the few integration points that do the work of all.

Internal forces along k modes are a sum over integration points, f̂ = Σₚ gₚ. Over training shapes the points p and the
weights ξₚ ≥ 0, most of them zero, are sought with Σ ξₚ gₚ ≈ f̂ (Farhat, Avery, Chapman, Cortial, International Journal
for Numerical Methods in Engineering 98, 2014). Energy and stiffness stay those of a body, with a positive weight for
each point, so that what is stable stays so.

Forces of a shape are measured by the displacement they cause, √(fᵀK̂⁻¹f) with the stiffness K̂ at rest, relative to all
of that shape: soft modes and small shapes count as much as stiff modes and large shapes.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from scipy import linalg

from pliant.core.checks import positive
from pliant.core.errors import InputError
from pliant.core.threads import one_blas_thread
from pliant.core.types import FloatArray
from pliant.materials import Tangent
from pliant.models.volume import Subspace, SubspaceModel, VolumeModel
from pliant.reduction.nnls import sparse_nnls
from pliant.reduction.pod import displacements

_SMALL = 1e-3
"""Shapes whose forces are below this share of the largest are left out: rounding is large in them."""
_TINY = 1e-3
"""Strain energy of the shapes that stand for the stiffness at rest: the root of it over that of the largest shape."""
_DROPPED = 1e-7
"""Combinations of training equations below this share of the largest are dropped: they say nothing new."""


def ecsw(
    model: VolumeModel, subspace: Subspace, snapshots: Any, *, tolerance: float = 1e-3, stiffness: bool = False
) -> Subspace:
    """`subspace` with the few integration points, and their weights, that suffice for the shapes of a body.

    snapshots
        Positions (s, n, 3), m, of its nodes; what the modes can follow of them is what counts.
    tolerance
        ‖Σ ξ g − f̂‖ ≤ tolerance ‖f̂‖ over all shapes, usual 1e-2 … 1e-4.
    stiffness
        Match the stiffness at rest as well, by a small shape along each mode: more points, and motions unlike the
        snapshots that keep near to the truth.
    """
    positive("tolerance", tolerance)
    confined = replace(subspace, points=None, weights=None).reduced(model)
    with one_blas_thread():  # many small products: threads would wait for each other
        G = training_matrix(confined, snapshots, stiffness=stiffness)
        solution = sparse_nnls(G, G.sum(axis=1), tolerance=tolerance)
    return replace(subspace, points=solution.support, weights=solution.values)


def training_matrix(confined: SubspaceModel, snapshots: Any, *, stiffness: bool = False) -> FloatArray:
    """Work of every integration point on the modes over the training shapes, (rows, points), in the scaled equations
    that ξ has to satisfy; with ξ = 1 they are.
    """
    strain = confined.strain
    shapes = displacements(confined, snapshots) @ confined.chart.dual.T
    lower = linalg.cholesky(strain.response(np.zeros(strain.size), Tangent.EXACT, 1.0)[2], lower=True)
    parts = [linalg.solve_triangular(lower, strain.work(y), lower=True) for y in shapes]
    totals = np.array([float(np.linalg.norm(part.sum(axis=1))) for part in parts])
    if not totals.any():
        raise InputError(f"no snapshot strains {confined.name!r}: take some under load")
    if stiffness:
        tiny = _TINY * totals.max() * linalg.solve_triangular(lower, np.eye(strain.size), lower=True)
        parts += [linalg.solve_triangular(lower, strain.work(y), lower=True) for y in tiny]
        totals = np.append(totals, [float(np.linalg.norm(part.sum(axis=1))) for part in parts[len(totals) :]])
    large = totals > np.where(np.arange(len(totals)) < len(shapes), _SMALL * totals.max(), 0.0)
    G = np.concatenate([part / total for part, total, kept in zip(parts, totals, large, strict=True) if kept])
    return _independent(G)


def _independent(G: FloatArray) -> FloatArray:
    """Equations turned so that they are orthogonal, those that say nothing new left out."""
    squares, turn = linalg.eigh(G @ G.T)
    return np.ascontiguousarray(turn[:, squares > _DROPPED**2 * squares[-1]].T @ G)
