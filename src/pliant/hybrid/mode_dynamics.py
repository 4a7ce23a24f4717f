"""Dynamics in one discrete state: accelerations, and the forces of the active constraints.

    M v̇ − Fᵀλ = f,   R v̇ = −c,   c = vᵀ∇²h v + α₁ḣ + α₀h + α₂h³        R: active normals, then sticking tangents

F is R, but for contacts that slip: there the normal row of F is h' − μ s·T, with s the direction of the slip. λ comes
from the condensed R M⁻¹Fᵀ λ = −c − R M⁻¹f, by Cholesky while it is symmetric, by least norm where rows are redundant.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.linalg import lapack

from pliant.core.errors import PliantError
from pliant.core.types import FloatArray
from pliant.hybrid.constraint_rows import constraint_rows, least_norm, slip_directions, tangent_rows
from pliant.hybrid.contact_laws import Grip
from pliant.hybrid.equations import Discrete, Equations
from pliant.hybrid.system import Contact

_RANK = 1e-11
"""Smallest pivot of a Cholesky factor relative to the largest before rows count as redundant."""


class NoForceError(PliantError, ArithmeticError):
    """No contact force is consistent with sliding at this state (Painlevé's paradox)."""


class ModeDynamics:
    """Accelerations in one discrete state. `lam` (k,) holds the forces of the last evaluation, normals first."""

    def __init__(self, equations: Equations, discrete: Discrete) -> None:
        self.equations = equations
        self.discrete = discrete
        self.active_rows = equations.active_rows(discrete)
        rows = [group.rows for group in self.active_rows]
        self.rows = np.concatenate(rows) if rows else np.empty(0, np.int64)
        self.normal_count = len(self.rows)
        self.alpha0, self.alpha1, self.alpha2 = np.ascontiguousarray(equations.alpha[self.rows].T)
        offsets = discrete.offsets[self.rows]
        self.offsets = offsets if offsets.any() else None
        self._odd = [group for group in self.active_rows if getattr(group.constraint, "odd", None) is not None]
        self._rubbing = [group for group in self.active_rows if getattr(group.constraint, "friction", None) is not None]
        grips = [discrete.grips[group.rows] for group in self._rubbing]
        self._slipping = [np.flatnonzero(grip == Grip.SLIP) for grip in grips]
        self._stuck = [np.flatnonzero(grip == Grip.STICK) for grip in grips]
        self._slips = any(len(slipping) for slipping in self._slipping)
        self.lam: FloatArray = np.empty(0)
        self.dv: Any = None  # the accelerations of the last evaluation
        self.trace: list[FloatArray] | None = None  # set to a list to record the forces of all evaluations
        single_row = self.normal_count == 1 and not self._odd and not self._rubbing and self.offsets is None
        if single_row and equations.solve_constant_mass is not None and not equations.system.compliance:
            self.acceleration = self._single_row_acceleration()  # type: ignore[assignment, method-assign]

    def assemble(self, q: Any, v: Any) -> tuple[Any, Any, Any]:
        """R (k, n), F (k, n) and c (k,): normal rows, then the sticking tangents."""
        parts = [
            constraint_rows(group.constraint, q, v, group.which, all_rows=group.all_rows) for group in self.active_rows
        ]
        if len(parts) == 1:
            h, R, c = parts[0]
        else:
            h, R, c = (np.concatenate([part[k] for part in parts]) for k in range(3))
        if self.offsets is not None:
            h = h - self.offsets
        c = c + self.alpha1 * R.dot(v) + (self.alpha0 + self.alpha2 * (h * h)) * h
        for group in self._odd:
            assert isinstance(group.constraint, Contact)
            at = group.span
            x = h[at]
            c[at] += group.constraint.odd(x) - self.alpha2[at] * (x * x * x)  # type: ignore[misc]
        return self._with_friction(q, v, R, c) if self._rubbing else (R, R, c)

    def _with_friction(self, q: Any, v: Any, R: Any, c: Any) -> tuple[Any, Any, Any]:
        F = R.astype(np.result_type(R, q, v)) if self._slips else R
        rows, forces, rhs = [R], [F], [c]
        for group, slipping, stuck in zip(self._rubbing, self._slipping, self._stuck, strict=True):
            friction = group.friction
            T, curvature = tangent_rows(group.constraint, q, v, group.which, all_rows=group.all_rows)
            slip = T.dot(v)
            if len(slipping):
                direction = slip_directions(slip[slipping], self.discrete.slips[group.rows[slipping]])
                push = np.einsum("kd,kdn->kn", direction, T[slipping])
                F[group.span.start + slipping] -= friction.coefficient * push
            if len(stuck):
                whole = len(stuck) == len(T)
                T, drift = (T, curvature + friction.damping * slip) if whole else (
                    T[stuck], curvature[stuck] + friction.damping * slip[stuck])  # fmt: skip
                tangents = T.reshape(-1, self.equations.n)
                rows.append(tangents)
                forces.append(tangents)
                rhs.append(drift.ravel())
        R = np.concatenate(rows)
        return R, np.concatenate(forces) if self._slips else R, np.concatenate(rhs)

    def acceleration(self, q: FloatArray, v: FloatArray, u: Any) -> Any:
        """v̇ (n,); sets `lam`."""
        equations = self.equations
        force = equations.force(q, v, u)
        solve_mass = equations.solve_mass(q)
        free = solve_mass(force)
        if not self.normal_count:
            self.dv = free
            return free
        R, F, c = self.assemble(q, v)
        push = solve_mass(F.T)
        self.lam = self._forces(R.dot(push), -(c + R.dot(free)))
        if self.trace is not None:
            self.trace.append(self.lam)
        self.dv = free + push.dot(self.lam)
        return self.dv

    def _single_row_acceleration(self) -> Callable[[FloatArray, FloatArray, Any], Any]:
        """`acceleration` with one active row, no friction and a constant mass matrix: the same result in less time."""
        group, equations = self.active_rows[0], self.equations
        bias, inputs, solve_mass = equations.system.bias, equations.inputs, equations.solve_constant_mass
        a0, a1, a2 = (float(x) for x in equations.alpha[self.rows[0]])
        constraint, which, every = group.constraint, group.which, group.all_rows
        plain = every and constraint.rows is not None and getattr(constraint, "near", None) is None
        rows: Any = constraint.rows if plain else None
        still = np.zeros(equations.n)

        def acceleration(q: FloatArray, v: FloatArray, u: Any) -> Any:
            load = bias(q, v) if bias is not None else still
            if u is not None and inputs is not None:
                load = load - (inputs(q) if callable(inputs) else inputs).dot(u)
            h, R, c = rows(q, v) if plain else constraint_rows(constraint, q, v, which, all_rows=every)
            row, x = R[0], h.item(0)
            push = solve_mass(row)
            drift = c.item(0) + a1 * float(row.dot(v)) + (a0 + a2 * x * x) * x
            ease = float(push.dot(row))
            if not ease > 0.0:
                raise NoForceError(_without_direction(constraint.name))
            lam = (float(push.dot(load)) - drift) / ease
            self.lam = np.array((lam,))
            if self.trace is not None:
                self.trace.append(self.lam)
            dv = solve_mass(lam * row - load)
            self.dv = dv
            return dv

        return acceleration

    def _forces(self, S: FloatArray, b: FloatArray) -> FloatArray:
        """λ of S λ = b, the one of least norm where S is rank deficient."""
        equations, k = self.equations, len(b)
        if equations.system.compliance:
            S = S + equations.system.compliance * np.trace(S) / k * np.eye(k)
        if self._slips:
            if not np.diagonal(S).min() > 0.0:
                raise NoForceError(
                    f"{equations.system.name}: no force is consistent with sliding (Painlevé); lower the friction"
                )
            return least_norm(S, b)[0]
        if k == 1:
            if not S[0, 0] > 0.0:
                raise NoForceError(_without_direction(self.active_rows[0].constraint.name))
            return b / S[0]  # type: ignore[no-any-return]
        factor, info = lapack.dpotrf(S, lower=1)
        pivots = np.diagonal(factor)
        if info == 0 and pivots.min() ** 2 > _RANK * pivots.max() ** 2:
            return lapack.dpotrs(factor, b, lower=1)[0]  # type: ignore[no-any-return]
        lam, rank = least_norm(S, b)
        equations.redundant = max(equations.redundant, k - rank)
        return lam

    def sticking(self) -> list[tuple[Any, Any, float]]:
        """For each constraint that sticks: indices of its normal (k,) and tangential forces (k, d) in `lam`, and μ."""
        out, offset = [], self.normal_count
        for group, stuck in zip(self._rubbing, self._stuck, strict=True):
            if len(stuck):
                d = group.friction.directions
                tangents = offset + np.arange(len(stuck) * d).reshape(-1, d)
                out.append((group.span.start + stuck, tangents, group.friction.coefficient))
                offset += len(stuck) * d
        return out

    def normals(self) -> FloatArray:
        """λ (m,) of all rows, zero where inactive, from the last evaluation."""
        lam = np.zeros(self.equations.m)
        if self.normal_count:
            lam[self.rows] = self.lam[: self.normal_count]
        return lam

    def tangentials(self, q: FloatArray, v: FloatArray) -> FloatArray:
        """Friction forces (m, 2) N of all rows, zero where there are none, from the last evaluation."""
        out = np.zeros((self.equations.m, 2))
        offset = self.normal_count
        for group, slipping, stuck in zip(self._rubbing, self._slipping, self._stuck, strict=True):
            d = group.friction.directions
            if len(stuck):
                out[group.rows[stuck], :d] = self.lam[offset : offset + d * len(stuck)].reshape(-1, d)
                offset += d * len(stuck)
            if len(slipping):
                T, _ = tangent_rows(group.constraint, q, v, group.which, all_rows=group.all_rows)
                rows = group.rows[slipping]
                direction = slip_directions(T[slipping].dot(v), self.discrete.slips[rows])
                out[rows, :d] = -group.friction.coefficient * self.lam[group.span][slipping, None] * direction
        return out

    def friction_margins(self, q: FloatArray, v: FloatArray) -> FloatArray:
        """Of active rows with friction (k,): μλ − |friction| in N where they stick, speed of slip in m/s elsewhere."""
        parts, offset = [], self.normal_count
        for group, slipping, stuck in zip(self._rubbing, self._slipping, self._stuck, strict=True):
            d, mu = group.friction.directions, group.friction.coefficient
            out = np.empty(len(group.rows))
            if len(stuck):
                forces = self.lam[offset : offset + d * len(stuck)].reshape(-1, d)
                offset += d * len(stuck)
                out[stuck] = mu * self.lam[group.span][stuck] - np.sqrt((forces * forces).sum(axis=1))
            if len(slipping):
                T, _ = tangent_rows(group.constraint, q, v, group.which, all_rows=group.all_rows)
                remembered = self.discrete.slips[group.rows[slipping], :d]
                out[slipping] = (T[slipping].dot(v) * remembered).sum(axis=1)
            parts.append(out)
        return np.concatenate(parts)


def _without_direction(name: str) -> str:
    return f"constraint {name!r} cannot be enforced: its derivative ∂h/∂q is zero or not finite here"
