"""Quadratic manifolds: the projection error of the modes as a quadratic function of their coordinates.

Shapes of a body under large bending lie near a curved manifold of low dimension. With coordinates y of the modes Φ, the
remainder u − Φ y of the snapshots is fitted by Ψ (y, y ⊗ y) in the least-squares sense (Jain, Tiso, Rutzmoser, Rixen,
Computers and Structures 188, 2017; Geelen, Wright, Willcox, Computer Methods in Applied Mechanics and Engineering 403,
2023).
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
from pliant.reduced import Subspace
from pliant.reduction.pod import Pod, displacements


@declared
def curved(found: Pod, snapshots: Any, *, smoothing: float = 1e-6) -> Subspace:
    """The curved subspace over the modes of `found` that follows snapshots (s, n, 3), m.

    smoothing
        Tikhonov regularisation relative to the mean square of the products, usual 1e-4 … 1e-9; correlated coordinates
        leave their products undetermined.
    """
    positive("smoothing", smoothing)
    model = found.model
    if (model.mass.nodal <= 0.0).any():
        raise InputError(
            f"the consistent masses of {model.name!r} are negative at some nodes, as of quadratic tetrahedra, "
            "and curved subspaces count in nodal masses: give the volume lumped_mass=True, or leave the subspace plane"
        )
    root = np.repeat(np.sqrt(model.mass.nodal), 3)[:, None]
    with one_blas_thread():
        frame: Any = np.linalg.qr(root * found.modes)[0]
        modes: FloatArray = frame / root
        shapes = displacements(model, snapshots)
        y = shapes @ (root * frame)
        left = shapes - y @ modes.T
        size = np.abs(y).max(axis=0)
        first, second = np.triu_indices(found.size)
        terms = np.hstack([y / size, (y / size)[:, first] * (y / size)[:, second]])
        squares = terms.T @ terms
        squares += smoothing * float(np.trace(squares)) / len(squares) * np.eye(len(squares))
        fitted = linalg.solve(squares, terms.T @ left, assume_a="pos").T
        curvature = fitted / np.concatenate([size, size[first] * size[second]])
    return replace(found.subspace(), modes=np.ascontiguousarray(modes), curvature=np.ascontiguousarray(curvature))
