"""A system prepared for evaluation: rows indexed over all constraints, the mass matrix factorized, applied forces."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.linalg import lapack

from pliant.core.errors import SingularError
from pliant.core.types import FloatArray, IndexArray
from pliant.hybrid.constraint_rows import constraint_rows
from pliant.hybrid.contact_laws import Friction, Mode
from pliant.hybrid.system import Constraint, Contact, HybridSystem
from pliant.hybrid.system_checks import check_system


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
class ActiveRows:
    """The active rows of one constraint: local indices `which`, global indices `rows`, `span` among all active rows."""

    constraint: Constraint
    which: Any
    all_rows: bool
    span: slice
    rows: IndexArray

    @property
    def friction(self) -> Friction:
        """The friction of the constraint, which must have one."""
        friction = getattr(self.constraint, "friction", None)
        assert friction is not None
        return friction  # type: ignore[no-any-return]


class Equations:
    """A system prepared for evaluation. Rows are indexed over all constraints; see `HybridSystem.row_names`."""

    def __init__(self, system: HybridSystem) -> None:
        check_system(system)
        self.system = system
        self.n = system.coordinate_count
        counts = [constraint.count for constraint in system.constraints]
        self.first = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
        self.m = int(self.first[-1])
        owned = {name for machine in system.machines for name in machine.owned}
        self.alpha = np.zeros((self.m, 3))
        self.switched = np.zeros(self.m, bool)  # rows with the contact state machine
        self.mu = np.zeros(self.m)
        self.energy = np.zeros(self.m, bool)
        for constraint, start in zip(system.constraints, self.first[:-1], strict=True):
            rows = slice(start, start + constraint.count)
            self.alpha[rows, : len(constraint.alpha)] = constraint.alpha
            if isinstance(constraint, Contact):
                self.switched[rows] = constraint.name not in owned
                self.mu[rows] = constraint.friction.coefficient if constraint.friction else 0.0
                self.energy[rows] = constraint.energy_consistent
        self.scoped = [getattr(constraint, "scope", None) is not None for constraint in system.constraints]
        self._prepare_mass()
        self.inputs = system.inputs
        self.input_count = system.input_count
        self._zero_input = np.zeros(self.input_count)
        self.redundant = 0  # the largest number of redundant rows met

    def _prepare_mass(self) -> None:
        mass = self.system.mass
        self._inverse: Any = None
        self.solve_constant_mass: Any = None  # b → M⁻¹b, where the mass matrix is constant
        if callable(mass):
            self._factor(np.asarray(mass(self.system.q0), float))
        elif mass.ndim == 1:
            if not (mass > 0.0).all():
                row = int(np.argmin(mass))
                raise SingularError(_singular(self.system.name, row, mass[row]), row=row)
            self._inverse = 1.0 / mass
            inverse, column = self._inverse, self._inverse[:, None]
            self.solve_constant_mass = lambda b: inverse * b if b.ndim == 1 else column * b
        else:
            factor = self._factor(mass)
            self._inverse = np.ascontiguousarray(lapack.dpotrs(factor, np.eye(self.n), lower=1)[0])
            self.solve_constant_mass = self._inverse.dot

    def _factor(self, mass: FloatArray) -> FloatArray:
        factor, info = lapack.dpotrf(mass, lower=1)
        pivots = np.diagonal(factor)
        if info or not pivots.min() > 1e-8 * pivots.max():  # a condition number above 1e16
            row = info - 1 if info > 0 else int(np.argmin(pivots))
            raise SingularError(_singular(self.system.name, row, float(mass[row, row])), row=row)
        return factor  # type: ignore[no-any-return]

    def mass(self, q: Any) -> Any:
        """The mass matrix (n, n) at `q`."""
        mass = self.system.mass
        value = np.asarray(mass(q)) if callable(mass) else mass
        return np.diag(value) if value.ndim == 1 else value

    def solve_mass(self, q: FloatArray) -> Any:
        """The function b → M(q)⁻¹b of vectors (n,) or matrices (n, k)."""
        if self.solve_constant_mass is not None:
            return self.solve_constant_mass
        factor = self._factor(np.asarray(self.system.mass(q), float))
        return lambda b: lapack.dpotrs(factor, b, lower=1)[0]

    def force(self, q: Any, v: Any, u: Any) -> Any:
        """f = B u − b (n,)."""
        system = self.system
        f = -system.bias(q, v) if system.bias is not None else np.zeros(self.n, q.dtype)
        if u is not None and self.input_count:
            f = f + (self.inputs(q) if callable(self.inputs) else self.inputs).dot(u)
        return f

    def active_rows(self, discrete: Discrete) -> list[ActiveRows]:
        """The active rows, constraint by constraint."""
        out, span = [], 0
        for constraint, start in zip(self.system.constraints, self.first[:-1], strict=True):
            which = np.flatnonzero(discrete.modes[start : start + constraint.count] == Mode.CONTACT)
            if len(which):
                rows = slice(span, span + len(which))
                out.append(ActiveRows(constraint, which, len(which) == constraint.count, rows, start + which))
                span += len(which)
        return out

    def locate(self, row: int) -> tuple[int, int]:
        """The index of the constraint that a row belongs to, and the row's index within it."""
        index = int(np.searchsorted(self.first, row, side="right")) - 1
        return index, row - int(self.first[index])

    def row_name(self, row: int) -> str:
        """The name of one row; see `HybridSystem.row_names`."""
        index, local = self.locate(row)
        constraint = self.system.constraints[index]
        return constraint.name if constraint.count == 1 else f"{constraint.name}[{local}]"

    def gaps(self, q: FloatArray, constraint: int, which: Any = None) -> Any:
        """h (k,) of a constraint, or of `which` of its rows."""
        thing = self.system.constraints[constraint]
        function = thing.gap if isinstance(thing, Contact) else thing.value
        if isinstance(thing, Contact) and thing.near is not None:
            return function(q, np.arange(thing.count) if which is None else which)
        h = np.atleast_1d(np.asarray(function(q))).ravel()
        return h if which is None else h[which]

    def scopes(self, q: FloatArray, constraint: int, which: Any = None) -> Any:
        """Signed distance (k,) m of rows of a contact to the boundary of their `scope`, positive inside."""
        thing: Any = self.system.constraints[constraint]
        if thing.near is not None:
            return thing.scope(q, np.arange(thing.count) if which is None else which)
        scope = np.atleast_1d(np.asarray(thing.scope(q))).ravel()
        return scope if which is None else scope[which]

    def openings(self, q: FloatArray, constraint: int, which: Any = None) -> Any:
        """h (k,) inside the scope; outside at least the distance to the scope. A negative value is a violation."""
        h = self.gaps(q, constraint, which)
        return np.maximum(h, -self.scopes(q, constraint, which)) if self.scoped[constraint] else h

    def rates(self, q: FloatArray, v: FloatArray, constraint: int, which: Any) -> tuple[Any, Any]:
        """h and ḣ of `which` rows of a constraint."""
        thing = self.system.constraints[constraint]
        h, H, _ = constraint_rows(thing, q, v, which, all_rows=len(which) == thing.count)
        return h, H @ v


def _singular(name: str, row: int, value: float) -> str:
    return (
        f"the mass matrix of {name} is not positive definite at coordinate {row} (diagonal {value:g}): give every "
        "coordinate some inertia, or remove it"
    )
