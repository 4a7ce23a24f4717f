"""Balanced truncation: a model of few states with nearly the same transfer function (Moore 1981).

With the Gramians P = Z_p Z_pᵀ and Q = Z_q Z_qᵀ and the singular values Z_qᵀ Z_p = U Σ Vᵀ, the states kept are those of
the largest Hankel values σ: T = Z_p V Σ^(−½), L = Z_q U Σ^(−½). The error of the transfer function, in the norm H∞, is
at most twice the sum of the values left out (Glover 1984).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg import solve_continuous_lyapunov

from pliant.core.checks import positive_count
from pliant.core.errors import InputError
from pliant.core.extras import extra
from pliant.core.types import FloatArray


def hankel_values(system: Any) -> FloatArray:
    """Hankel singular values (states,) of a stable `control.StateSpace`, the largest first."""
    return _balanced(system)[1]


def balanced_truncation(system: Any, order: int) -> Any:
    """The stable `control.StateSpace` `system` with its `order` states of the largest Hankel values.

    At all frequencies the transfer function changes by at most ``2 * hankel_values(system)[order:].sum()``.
    """
    (Z_p, Z_q, U, V), values = _balanced(system)
    kept = min(positive_count("order", order), int(np.count_nonzero(values > 1e-14 * values[:1].sum())))
    scale = 1.0 / np.sqrt(values[:kept])
    T, L = Z_p @ V[:, :kept] * scale, Z_q @ U[:, :kept] * scale
    package = extra("control", "linear models need python-control", "hybrid")
    return package.ss(
        L.T @ system.A @ T, L.T @ system.B, system.C @ T, system.D,
        inputs=system.input_labels, outputs=system.output_labels, name=f"{system.name} balanced",
    )  # fmt: skip


def _balanced(system: Any) -> tuple[tuple[FloatArray, ...], FloatArray]:
    """Z_p, Z_q, U and V of the docstring, and the Hankel values."""
    if not all(hasattr(system, name) for name in ("A", "B", "C", "D", "input_labels")):
        raise InputError(f"a linear model is a control.StateSpace, such as of pl.control.linearize, got {system!r:.60}")
    if system.dt:
        raise InputError("balanced truncation takes a system of continuous time (dt = 0)")
    worst = float(np.linalg.eigvals(system.A).real.max(initial=-np.inf))
    if worst >= 0.0:
        raise InputError(
            f"the system is not stable (a pole with the real part {worst:.3g} 1/s): give the bodies damping "
            "(pl.Rayleigh), or stabilize it first"
        )
    Z_p = _root(solve_continuous_lyapunov(system.A, -system.B @ system.B.T))
    Z_q = _root(solve_continuous_lyapunov(system.A.T, -system.C.T @ system.C))
    U, values, Vt = np.linalg.svd(Z_q.T @ Z_p)
    return (Z_p, Z_q, U, Vt.T), values


def _root(gramian: FloatArray) -> FloatArray:
    """Z with Z Zᵀ = `gramian`, which rounding may have left slightly indefinite."""
    values, vectors = np.linalg.eigh(0.5 * (gramian + gramian.T))
    root: FloatArray = vectors * np.sqrt(np.maximum(values, 0.0))
    return root
