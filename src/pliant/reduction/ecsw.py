"""Energy-conserving sampling and weighting: few integration points that reproduce the internal work of all.

Internal forces along k modes are a sum over integration points, f̂ = Σₚ gₚ. Over training shapes the points p and the
weights ξₚ ≥ 0, most of them zero, are sought with Σ ξₚ gₚ ≈ f̂ (Farhat, Avery, Chapman, Cortial, International Journal
for Numerical Methods in Engineering 98, 2014). Positive weights preserve
the symmetry and stability of the full model.

Forces at a shape y are measured by the displacement K̂(y)⁻¹ f they cause, relative to y: that is the error in the end,
whatever forces are large and cancel each other, such as those of a cable that bends a finger and presses it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from scipy import linalg

from pliant.core.checks import positive
from pliant.core.declared import declared
from pliant.core.errors import InputError
from pliant.core.threads import one_blas_thread
from pliant.core.types import FloatArray
from pliant.materials import Tangent
from pliant.models.volume import VolumeModel
from pliant.reduced import Subspace, SubspaceModel
from pliant.reduction.nnls import sparse_nnls
from pliant.reduction.pod import displacements

_SMALL = 1e-3
"""Shapes below this fraction of the largest are dropped as rounding; it is the size of shapes for the rest stiffness.
"""
_DROPPED = 1e-7
"""Combinations of training equations below this fraction of the largest are dropped as redundant."""


@declared
def ecsw(
    model: VolumeModel, subspace: Subspace, snapshots: Any, *, tolerance: float = 1e-2, stiffness: bool = True
) -> Subspace:
    """`subspace` with the few integration points, and their weights, that suffice for the shapes of a body.

    snapshots
        Positions (s, n, 3), m, of its nodes; their projection on the modes is used.
    tolerance
        ‖Σ ξ g − f̂‖ ≤ tolerance ‖f̂‖ over all shapes, in the norm above; usual 1e-1 … 1e-3.
    stiffness
        Match the stiffness at rest as well, by a small shape along each mode. Without it points are fewer, but know
        only the motions of the snapshots: take it where these are rich.
    """
    positive("tolerance", tolerance)
    confined = replace(subspace, points=None, weights=None).reduced(model)
    with one_blas_thread():  # many small products: threads would wait for each other
        G = training_matrix(confined, snapshots, stiffness=stiffness)
        solution = sparse_nnls(G, G.sum(axis=1), tolerance=tolerance)
    return replace(subspace, points=solution.support, weights=solution.values)


def training_matrix(confined: SubspaceModel, snapshots: Any, *, stiffness: bool = True) -> FloatArray:
    """Work of all integration points on the modes over the training shapes, (rows, points), scaled; ξ = 1 solves it."""
    shapes = displacements(confined, snapshots) @ confined.chart.dual.T
    lengths = np.linalg.norm(shapes, axis=1)
    if not lengths.any():
        raise InputError(f"no snapshot strains {confined.name!r}: take some under load")
    shapes = shapes[lengths > _SMALL * lengths.max()]
    if stiffness:
        shapes = np.vstack([shapes, _SMALL * lengths.max() * np.eye(shapes.shape[1])])
    return _independent(np.concatenate([_displaced(confined, y) for y in shapes]))


def _displaced(confined: SubspaceModel, y: FloatArray) -> FloatArray:
    """What the work of each point at y (k,) would displace, relative to y: (k, points)."""
    K = confined.strained(y, Tangent.PROJECTED, 1.0)[2]
    return np.asarray(linalg.solve(K, confined.work(y), assume_a="pos") / np.linalg.norm(y))


def _independent(G: FloatArray) -> FloatArray:
    """Orthogonal combinations of the equations, without redundant ones."""
    if len(G) > G.shape[1]:
        squares, turn = linalg.eigh(G.T @ G)
        kept = squares > _DROPPED**2 * squares[-1]
        return np.ascontiguousarray(np.sqrt(squares[kept])[:, None] * turn[:, kept].T)
    squares, turn = linalg.eigh(G @ G.T)
    return np.ascontiguousarray(turn[:, squares > _DROPPED**2 * squares[-1]].T @ G)
