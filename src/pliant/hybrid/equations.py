"""The equations of motion of a system in one discrete state: rows of active constraints, accelerations and λ.

    M v̇ − Fᵀλ = f,   R v̇ = −c,   c = vᵀ∇²h v + α₁ḣ + α₀h + α₂h³        R: active normals, then sticking tangents

F is R, but for contacts that slip: there the normal row of F is h' − μ s·T, with s the direction of the slip. λ comes
from the condensed R M⁻¹Fᵀ λ = −c − R M⁻¹f, by Cholesky while it is symmetric, by least norm where rows are redundant.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.linalg import lapack

from pliant.core.errors import PliantError, SingularError
from pliant.core.types import FloatArray, IndexArray
from pliant.hybrid.laws import Friction, Grip, Mode
from pliant.hybrid.system import Constraint, Contact, Joint, System
from pliant.models.multibody.jets import derivatives

SLIP_SPEED = 1e-9
"""m/s; below it the direction of slip in a plane is the remembered one."""
_RANK = 1e-11


class NoForceError(PliantError, ArithmeticError):
    """No contact force is consistent with sliding at this state (Painlevé's paradox)."""


@dataclass(frozen=True, eq=False)
class Discrete:
    """The discrete state: modes and grips of all rows, directions of slip, offsets of relative joints, machines."""

    modes: Any
    grips: Any
    slips: Any
    offsets: Any
    states: tuple[int, ...] = ()

    def copy(self) -> Discrete:
        """A copy whose arrays can be written."""
        return replace(
            self, modes=self.modes.copy(), grips=self.grips.copy(), slips=self.slips.copy(), offsets=self.offsets.copy()
        )


@dataclass(frozen=True, eq=False)
class Piece:
    """The active rows of one constraint: its local indices `which`, and where they stand among the active rows."""

    constraint: Constraint
    which: Any
    all_of_them: bool
    place: slice
    rows: IndexArray

    @property
    def friction(self) -> Friction:
        """The friction of the constraint, which must have one."""
        friction = getattr(self.constraint, "friction", None)
        assert friction is not None
        return friction  # type: ignore[no-any-return]


class Equations:
    """A system prepared for evaluation. Rows are numbered over all constraints in order; see `System.row_names`."""

    def __init__(self, system: System) -> None:
        self.system = system
        self.n = system.coordinate_count
        counts = [constraint.count for constraint in system.constraints]
        self.first = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
        self.m = int(self.first[-1])
        owned = {name for machine in system.machines for name in machine.owned}
        self.alpha = np.zeros((self.m, 3))
        self.switched = np.zeros(self.m, bool)  # rows with the contact machine
        self.mu = np.zeros(self.m)
        self.energy = np.zeros(self.m, bool)
        for constraint, start in zip(system.constraints, self.first[:-1], strict=True):
            rows = slice(start, start + constraint.count)
            self.alpha[rows, : len(constraint.alpha)] = constraint.alpha
            if isinstance(constraint, Contact):
                self.switched[rows] = constraint.name not in owned
                self.mu[rows] = constraint.friction.coefficient if constraint.friction else 0.0
                self.energy[rows] = constraint.energy_consistent
        self._prepare_mass()
        self.inputs = system.inputs
        self.input_count = system.input_count
        self._zero_input = np.zeros(self.input_count)
        self.redundant = 0  # the largest number of redundant rows met

    def _prepare_mass(self) -> None:
        mass = self.system.mass
        self._inverse: Any = None
        self.over_mass_always: Any = None  # where the mass matrix is constant
        if callable(mass):
            self._factor(np.asarray(mass(self.system.q0), float))
        elif mass.ndim == 1:
            if not (mass > 0.0).all():
                row = int(np.argmin(mass))
                raise SingularError(_singular(self.system.name, row, mass[row]), row=row)
            self._inverse = 1.0 / mass
            column = self._inverse[:, None]
            self.over_mass_always = lambda b: column * b if b.ndim == 2 else self._inverse * b
        else:
            factor = self._factor(mass)
            self._inverse = np.ascontiguousarray(lapack.dpotrs(factor, np.eye(self.n), lower=1)[0])
            self.over_mass_always = self._inverse.dot

    def _factor(self, mass: FloatArray) -> FloatArray:
        factor, info = lapack.dpotrf(mass, lower=1)
        pivots = np.diagonal(factor)
        if info or not pivots.min() > 1e-8 * pivots.max():
            row = info - 1 if info > 0 else int(np.argmin(pivots))
            raise SingularError(_singular(self.system.name, row, float(mass[row, row])), row=row)
        return factor  # type: ignore[no-any-return]

    def mass(self, q: Any) -> Any:
        """The mass matrix (n, n) at `q`."""
        mass = self.system.mass
        value = np.asarray(mass(q)) if callable(mass) else mass
        return np.diag(value) if value.ndim == 1 else value

    def over_mass(self, q: FloatArray) -> Any:
        """The function b → M(q)⁻¹b of vectors (n,) or matrices (n, k)."""
        if self.over_mass_always is not None:
            return self.over_mass_always
        factor = self._factor(np.asarray(self.system.mass(q), float))
        return lambda b: lapack.dpotrs(factor, b, lower=1)[0]

    def force(self, q: Any, v: Any, u: Any) -> Any:
        """f = B u − b (n,)."""
        system = self.system
        f = -system.bias(q, v) if system.bias is not None else np.zeros(self.n, q.dtype)
        if u is not None and self.input_count:
            f = f + (self.inputs(q) if callable(self.inputs) else self.inputs).dot(u)
        return f

    def pieces(self, discrete: Discrete) -> list[Piece]:
        """The active rows, constraint by constraint."""
        out, place = [], 0
        for constraint, start in zip(self.system.constraints, self.first[:-1], strict=True):
            which = np.flatnonzero(discrete.modes[start : start + constraint.count] == Mode.CONTACT)
            if len(which):
                rows = slice(place, place + len(which))
                out.append(Piece(constraint, which, len(which) == constraint.count, rows, start + which))
                place += len(which)
        return out

    def row_name(self, row: int) -> str:
        """The name of one row; see `System.row_names`."""
        index = int(np.searchsorted(self.first, row, side="right")) - 1
        constraint = self.system.constraints[index]
        return constraint.name if constraint.count == 1 else f"{constraint.name}[{row - int(self.first[index])}]"

    def gaps(self, q: FloatArray, constraint: int, which: Any = None) -> Any:
        """h (k,) of a constraint, or of `which` of its rows."""
        thing = self.system.constraints[constraint]
        function = thing.gap if isinstance(thing, Contact) else thing.value
        if isinstance(thing, Contact) and thing.near is not None:
            return function(q, np.arange(thing.count) if which is None else which)
        h = np.atleast_1d(np.asarray(function(q))).ravel()
        return h if which is None else h[which]

    def rates(self, q: FloatArray, v: FloatArray, constraint: int, which: Any) -> tuple[Any, Any]:
        """h and ḣ of `which` rows of a constraint."""
        thing = self.system.constraints[constraint]
        h, H, _ = constraint_rows(thing, q, v, which, all_of_them=len(which) == thing.count)
        return h, H @ v


class Motion:
    """Accelerations in one discrete state. `lam` (k,) holds the forces of the last evaluation, normals first."""

    def __init__(self, equations: Equations, discrete: Discrete) -> None:
        self.equations = equations
        self.discrete = discrete
        self.pieces = equations.pieces(discrete)
        rows = [piece.rows for piece in self.pieces]
        self.rows = np.concatenate(rows) if rows else np.empty(0, np.int64)
        self.normal_count = len(self.rows)
        self.alpha0, self.alpha1, self.alpha2 = np.ascontiguousarray(equations.alpha[self.rows].T)
        offsets = discrete.offsets[self.rows]
        self.offsets = offsets if offsets.any() else None
        self._odd = [
            piece for piece in self.pieces if isinstance(piece.constraint, Contact) and piece.constraint.odd is not None
        ]
        self._rubbing = [
            piece for piece in self.pieces
            if isinstance(piece.constraint, Contact) and piece.constraint.friction is not None
        ]  # fmt: skip
        grips = [discrete.grips[piece.rows] for piece in self._rubbing]
        self._slipping = [np.flatnonzero(grip == Grip.SLIP) for grip in grips]
        self._stuck = [np.flatnonzero(grip == Grip.STICK) for grip in grips]
        self._slips = any(len(slipping) for slipping in self._slipping)
        self.lam: FloatArray = np.empty(0)
        self.trace: list[FloatArray] | None = None  # forces of all evaluations, where a list is put here
        lone = self.normal_count == 1 and not self._odd and not self._rubbing and self.offsets is None
        if lone and equations.over_mass_always is not None and not equations.system.compliance:
            self.acceleration = self._lone_acceleration  # type: ignore[method-assign]
            self._coefficients = tuple(float(x) for x in equations.alpha[self.rows[0]])

    def assemble(self, q: Any, v: Any) -> tuple[Any, Any, Any]:
        """R (k, n), F (k, n) and c (k,): normal rows, then the sticking tangents."""
        parts = [
            constraint_rows(piece.constraint, q, v, piece.which, all_of_them=piece.all_of_them) for piece in self.pieces
        ]
        if len(parts) == 1:
            h, R, c = parts[0]
        else:
            h, R, c = (np.concatenate([part[k] for part in parts]) for k in range(3))
        if self.offsets is not None:
            h = h - self.offsets
        c = c + self.alpha1 * R.dot(v) + (self.alpha0 + self.alpha2 * (h * h)) * h
        for piece in self._odd:
            assert isinstance(piece.constraint, Contact)
            at = piece.place
            x = h[at]
            c[at] += piece.constraint.odd(x) - self.alpha2[at] * (x * x * x)  # type: ignore[misc]
        return self._with_friction(q, v, R, c) if self._rubbing else (R, R, c)

    def _with_friction(self, q: Any, v: Any, R: Any, c: Any) -> tuple[Any, Any, Any]:
        F = R.astype(np.result_type(R, q, v)) if self._slips else R
        rows, forces, rhs = [R], [F], [c]
        for piece, slipping, stuck in zip(self._rubbing, self._slipping, self._stuck, strict=True):
            friction = piece.friction
            T, curvature = tangent_rows(piece.constraint, q, v, piece.which, all_of_them=piece.all_of_them)
            slip = T.dot(v)
            if len(slipping):
                direction = slip_directions(slip[slipping], self.discrete.slips[piece.rows[slipping]])
                push = np.einsum("kd,kdn->kn", direction, T[slipping])
                F[piece.place.start + slipping] -= friction.coefficient * push
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
        over_mass = equations.over_mass(q)
        free = over_mass(equations.force(q, v, u))
        if not self.normal_count:
            return free
        R, F, c = self.assemble(q, v)
        push = over_mass(F.T)
        self.lam = self._forces(R.dot(push), -(c + R.dot(free)))
        if self.trace is not None:
            self.trace.append(self.lam)
        return free + push.dot(self.lam)

    def _lone_acceleration(self, q: FloatArray, v: FloatArray, u: Any) -> Any:
        """`acceleration` with one active row, no friction and a constant mass matrix: the same, in fewer steps."""
        equations, piece = self.equations, self.pieces[0]
        over_mass = equations.over_mass_always
        free = over_mass(equations.force(q, v, u))
        h, R, c = constraint_rows(piece.constraint, q, v, piece.which, all_of_them=piece.all_of_them)
        row, x = R[0], float(h[0])
        push = over_mass(row)
        a0, a1, a2 = self._coefficients
        drift = float(c[0]) + a1 * float(row.dot(v)) + (a0 + a2 * x * x) * x
        lam = -(drift + float(row.dot(free))) / float(row.dot(push))
        self.lam = np.array([lam])
        if self.trace is not None:
            self.trace.append(self.lam)
        return free + lam * push

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
            return b / S[0]  # type: ignore[no-any-return]
        factor, info = lapack.dpotrf(S, lower=1)
        pivots = np.diagonal(factor)
        if info == 0 and pivots.min() ** 2 > _RANK * pivots.max() ** 2:
            return lapack.dpotrs(factor, b, lower=1)[0]  # type: ignore[no-any-return]
        lam, rank = least_norm(S, b)
        equations.redundant = max(equations.redundant, k - rank)
        return lam

    def sticking(self) -> list[tuple[Any, Any, float]]:
        """For each constraint that sticks: places of its normal (k,) and tangential forces (k, d) in `lam`, and μ."""
        out, place = [], self.normal_count
        for piece, stuck in zip(self._rubbing, self._stuck, strict=True):
            if len(stuck):
                d = piece.friction.directions
                tangents = place + np.arange(len(stuck) * d).reshape(-1, d)
                out.append((piece.place.start + stuck, tangents, piece.friction.coefficient))
                place += len(stuck) * d
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
        place = self.normal_count
        for piece, slipping, stuck in zip(self._rubbing, self._slipping, self._stuck, strict=True):
            d = piece.friction.directions
            if len(stuck):
                out[piece.rows[stuck], :d] = self.lam[place : place + d * len(stuck)].reshape(-1, d)
                place += d * len(stuck)
            if len(slipping):
                T, _ = tangent_rows(piece.constraint, q, v, piece.which, all_of_them=piece.all_of_them)
                rows = piece.rows[slipping]
                direction = slip_directions(T[slipping].dot(v), self.discrete.slips[rows])
                out[rows, :d] = -piece.friction.coefficient * self.lam[piece.place][slipping, None] * direction
        return out

    def friction_margins(self, q: FloatArray, v: FloatArray) -> FloatArray:
        """For each active row with friction (k,): μλ − |tangential force| in N where it sticks, the speed along the
        remembered direction in m/s where it slips.
        """
        parts, place = [], self.normal_count
        for piece, slipping, stuck in zip(self._rubbing, self._slipping, self._stuck, strict=True):
            d, mu = piece.friction.directions, piece.friction.coefficient
            out = np.empty(len(piece.rows))
            if len(stuck):
                forces = self.lam[place : place + d * len(stuck)].reshape(-1, d)
                place += d * len(stuck)
                out[stuck] = mu * self.lam[piece.place][stuck] - np.sqrt((forces * forces).sum(axis=1))
            if len(slipping):
                T, _ = tangent_rows(piece.constraint, q, v, piece.which, all_of_them=piece.all_of_them)
                remembered = self.discrete.slips[piece.rows[slipping], :d]
                out[slipping] = (T[slipping].dot(v) * remembered).sum(axis=1)
            parts.append(out)
        return np.concatenate(parts)


def constraint_rows(
    constraint: Constraint, q: Any, v: Any, which: Any, *, all_of_them: bool
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
    return (h, H, c) if all_of_them else (h[which], H[which], c[which])


def tangent_rows(constraint: Constraint, q: Any, v: Any, which: Any, *, all_of_them: bool) -> tuple[Any, Any]:
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
    return (T, c) if all_of_them or (family and friction.rows is not None) else (T[which], c[which])


def slip_directions(slip: Any, remembered: FloatArray) -> Any:
    """Unit vectors (k, d) of slips (k, d) m/s: the remembered sign along one direction, turning with it in a plane."""
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


def _singular(name: str, row: int, value: float) -> str:
    return (
        f"the mass matrix of {name} is not positive definite at coordinate {row} (diagonal {value:g}): give every "
        "coordinate some inertia, or remove it"
    )
