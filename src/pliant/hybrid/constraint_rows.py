"""Rows of constraints: values, Jacobians, curvatures of normals and tangents, and forces where rows are redundant."""

from __future__ import annotations

from typing import Any

import numpy as np

from pliant.core.types import FloatArray
from pliant.hybrid.bodies.jets import derivatives
from pliant.hybrid.contact_laws import Friction
from pliant.hybrid.system import Constraint, Contact, Joint

SLIP_SPEED = 1e-9
"""m/s; below it the direction of slip in a plane is the stored one, as v/|v| is rounding."""


def constraint_rows(
    constraint: Constraint, q: Any, v: Any, which: Any, *, all_rows: bool
) -> tuple[Any, Any, Any]:  # fmt: skip
    """h (k,), H (k, n) and vᵀ∇²h v (k,) of `which` rows of a constraint."""
    if constraint.rows is not None:
        if isinstance(constraint, Contact) and constraint.near is not None:
            return constraint.rows(q, v, which)  # type: ignore[no-any-return]
        h, H, c = constraint.rows(q, v)
    else:
        function = constraint.value if isinstance(constraint, Joint) else constraint.gap
        h, H, D = derivatives(function, q)
        c = (D @ v) @ v
    return (h, H, c) if all_rows else (h[which], H[which], c[which])


def tangent_rows(constraint: Constraint, q: Any, v: Any, which: Any, *, all_rows: bool) -> tuple[Any, Any]:
    """T (k, d, n) and dT/dt·v (k, d) of `which` contacts of a constraint with friction."""
    assert isinstance(constraint, Contact)
    friction: Friction = constraint.friction  # type: ignore[assignment]
    family = constraint.near is not None
    if friction.rows is not None:
        T, c = friction.rows(q, v, which) if family else friction.rows(q, v)
    else:
        _, T, D = derivatives(friction.slide, q)  # type: ignore[arg-type]
        c = (D @ v) @ v
    T, c = T.reshape(-1, friction.directions, len(q)), c.reshape(-1, friction.directions)
    return (T, c) if all_rows or (family and friction.rows is not None) else (T[which], c[which])


def slip_directions(slip: Any, remembered: FloatArray) -> Any:
    """Unit vectors (k, d) of slips (k, d) m/s: the stored sign along one direction, the present one in a plane."""
    d = slip.shape[1]
    if d == 1:
        return remembered[:, :1]
    speed = np.sqrt((slip * slip).sum(axis=1))
    moving = speed.real > SLIP_SPEED
    out = remembered.astype(slip.dtype)
    out[moving] = slip[moving] / speed[moving, None]
    return out


def least_norm(S: FloatArray, b: FloatArray) -> tuple[FloatArray, int]:
    """The solution of S λ = b of least norm, in the sense of least squares, and the rank of S."""
    lam, _, rank, _ = np.linalg.lstsq(S, b, rcond=1e-10)
    return np.asarray(lam), int(rank)
