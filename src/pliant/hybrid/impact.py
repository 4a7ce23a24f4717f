"""Impulsive impacts by Newton's and by Poisson's law, at contacts that meet at once, with all others that touch.

    v⁺ = v⁻ + M⁻¹(Jᵀπ + Hᵀp),   0 ≤ p ⟂ H v⁺ + e H v⁻ ≥ 0   (Newton)

J are the bilateral rows: joints, and constraints that a user's machine has switched on; they are eliminated first.
Poisson's law solves for the compression with e = 0, then adds e times its impulse and what is needed to keep other
contacts from closing. With friction the impulses lie in Coulomb's cone, and `pliant.solvers.friction` solves all
contacts together.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from pliant.core.types import FloatArray
from pliant.hybrid.constraint_rows import constraint_rows, least_norm, tangent_rows
from pliant.hybrid.contact_laws import Mode, Restitution, RestitutionLaw
from pliant.hybrid.equations import Discrete, Equations
from pliant.hybrid.system import Contact
from pliant.solvers import friction as solve_friction
from pliant.solvers import lcp

Map = Callable[[Any], Any]


def impact(
    equations: Equations, discrete: Discrete, q: FloatArray, v: FloatArray, rows: list[int]
) -> tuple[FloatArray, FloatArray, Any]:
    """Approach speeds ḣ⁻ (k,) m/s at the `rows` that meet at once, velocities (n,) after, and which contacts rest."""
    touched = discrete.copy()
    touched.modes[rows] = Mode.CONTACT
    bilateral, H, T, e, mu, names = _rows(equations, touched, q, v)
    at = np.array([int(np.flatnonzero(names == row)[0]) for row in rows])
    laws = [_restitution(equations, row) for row in rows]
    before = H @ v
    rests = -before[at] <= [law.rest_speed for law in laws]
    e[at[rests]] = 0.0
    project = _constrained_response(equations.solve_mass(q), bilateral)
    p = _impulses(H, T, project, v, e, mu, laws[0].law)
    every = H if T is None else np.concatenate([H, T])
    return before[at], v + project(every.T @ p), rests


def with_energy_removed(
    equations: Equations, discrete: Discrete, q: FloatArray, v: FloatArray, row: int, energy: float
) -> FloatArray:  # fmt: skip
    """Velocities (n,) after a normal impulse that removes `energy` (J; negative: adds), at most the normal motion's."""
    touched = discrete.copy()
    touched.modes[row] = Mode.CONTACT
    bilateral, H, _, _, _, names = _rows(equations, touched, q, v)
    h = H[int(np.flatnonzero(names == row)[0])]
    push = _constrained_response(equations.solve_mass(q), bilateral)(h)
    ease, rate = float(h @ push), float(h @ v)
    left = np.sqrt(max(rate * rate - 2.0 * ease * energy, 0.0))
    return np.asarray(v + push * (left - rate) / ease)


def _impulses(
    H: FloatArray, T: FloatArray | None, project: Map, v: FloatArray, e: FloatArray, mu: FloatArray, law: RestitutionLaw
) -> FloatArray:
    """Normal impulses (k,), followed by the tangential ones (k·d,) where there is friction."""
    if T is None:
        W = H @ project(H.T)
        closing = H @ v
        if law is RestitutionLaw.NEWTON:
            return _lcp(W, closing + e * np.minimum(closing, 0.0))
        compression = _lcp(W, closing)
        more = (1.0 + e) * compression
        return more + _lcp(W, closing + W @ more)
    k, d = len(H), len(T) // len(H)
    order = np.concatenate([np.r_[i, k + i * d : k + (i + 1) * d] for i in range(k)]).astype(np.int64)
    rows = np.concatenate([H, T])[order]
    W, u = rows @ project(rows.T), rows @ v
    closing = u[:: d + 1]

    def solve(offset: FloatArray) -> FloatArray:
        return np.asarray(solve_friction(W, offset, mu, dim=d + 1, tolerance=1e-12).solution)

    if law is RestitutionLaw.NEWTON:
        offset = u.copy()
        offset[:: d + 1] += e * np.minimum(closing, 0.0)
        p = solve(offset)
    else:
        p = solve(u)
        more = p.copy()
        more[:: d + 1] *= 1.0 + e
        p = more + solve(u + W @ more)
    out = np.empty_like(p)
    out[order] = p
    return out


def _lcp(W: FloatArray, closing: FloatArray) -> FloatArray:
    if len(W) == 1:
        return np.asarray(np.maximum(-closing / W[0], 0.0))
    return np.asarray(lcp(W, closing, tolerance=1e-12).solution)


def _constrained_response(solve_mass: Map, bilateral: FloatArray) -> Map:
    """The function b → M⁻¹(b + Jᵀπ), with π such that the bilateral rows J have no velocity."""
    if not len(bilateral):
        return solve_mass
    push = solve_mass(bilateral.T)
    S = bilateral @ push

    def project(b: FloatArray) -> FloatArray:
        x = solve_mass(b)
        if x.ndim == 1:
            return np.asarray(x - push @ least_norm(S, bilateral @ x)[0])
        return np.asarray(x - push @ np.linalg.lstsq(S, bilateral @ x, rcond=1e-10)[0])

    return project


def _restitution(equations: Equations, row: int) -> Restitution:
    contact = equations.system.constraints[equations.locate(row)[0]]
    assert isinstance(contact, Contact)
    assert contact.restitution is not None
    return contact.restitution


def _rows(
    equations: Equations, touched: Discrete, q: FloatArray, v: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray | None, FloatArray, FloatArray, Any]:
    """Bilateral rows, contact rows, their tangents, restitution and friction coefficients, and their row indices."""
    bilateral_rows, normals, tangents, e, mu, names = [], [], [], [], [], []
    active_rows = equations.active_rows(touched)
    rubbing = [group.friction.directions for group in active_rows if getattr(group.constraint, "friction", None)]
    directions = max(rubbing, default=0)
    for group in active_rows:
        _, H, _ = constraint_rows(group.constraint, q, v, group.which, all_rows=group.all_rows)
        if not equations.switched[group.rows].any():
            bilateral_rows.append(H)
            continue
        contact = group.constraint
        assert isinstance(contact, Contact)
        normals.append(H)
        names.append(group.rows)
        e.append(np.full(len(H), contact.restitution.coefficient if contact.restitution else 0.0))
        mu.append(equations.mu[group.rows])
        block = np.zeros((len(H), directions, equations.n))  # zero rows where there is no friction
        if contact.friction is not None:
            T, _ = tangent_rows(contact, q, v, group.which, all_rows=group.all_rows)
            block[:, : T.shape[1]] = T
        tangents.append(block.reshape(-1, equations.n))
    bilateral = np.concatenate(bilateral_rows) if bilateral_rows else np.zeros((0, equations.n))
    rows = np.concatenate(tangents) if directions else None
    return bilateral, np.concatenate(normals), rows, np.concatenate(e), np.concatenate(mu), np.concatenate(names)
