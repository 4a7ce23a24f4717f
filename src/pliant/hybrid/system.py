"""A mechanical system with contacts as a hybrid differential-algebraic system: the description, frozen.

    M(q) v̇ + b(q, v) = B(q) u + Hᵀλ,   q̇ = v,   H = ∂h/∂q

    joint     ḧ + α₁ḣ + α₀h = 0                        always
    contact   ḧ + α₁ḣ + α₀h + α₂h³ = 0  while CONTACT,   λ = 0 otherwise

Bortoff, "Modeling contact and collisions for robotic assembly control", American Modelica Conference 2020, (5) to (7):
index reduction by Baumgarte, with a cubic term that stands for the stiffness of colliding bodies, and a state machine
for each contact that says whether its constraint is active.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from pliant.core.checks import finite_array, positive_count
from pliant.core.errors import InputError
from pliant.core.one_line import one_line
from pliant.core.types import FloatArray
from pliant.hybrid.contact_laws import Friction, Restitution

Function = Callable[..., Any]


@one_line
@dataclass(frozen=True, eq=False)
class Joint:
    """Equalities h(q) = 0, `count` of them, stabilised by ḧ + α₁ḣ + α₀h = 0 with `alpha` = (α₀ 1/s², α₁ 1/s).

    Derivatives of `value` come from jets; `rows(q, v)` → h (k,), H (k, n), vᵀ∇²h v (k,) replaces them where speed
    matters. A `relative` joint keeps h at its value when a machine activates it.
    """

    name: str
    value: Function
    alpha: tuple[float, float] = (25.0, 10.0)
    count: int = 1
    relative: bool = False
    rows: Function | None = None

    def __post_init__(self) -> None:
        positive_count(f"count of joint {self.name!r}", self.count)
        _check_alpha(self.name, self.alpha, 2)


@one_line
@dataclass(frozen=True, eq=False)
class Contact:
    """Inequalities h(q) ≥ 0, `count` of them: gaps in m, each with its own state machine.

    `alpha` = (α₀ 1/s², α₁ 1/s, α₂ 1/(m² s²)); `odd(h)` replaces α₂h³ by another odd, stable function (m/s²).
    `energy_consistent` releases the contact where h rises through 0, not where λ changes sign, unless the force stays
    positive over the whole overshoot; its work without damping, not zero where the load changed during contact, is
    removed from the normal motion or returned to it: a collision dissipates by α₁ only, and gains no energy.
    `restitution` makes impacts impulsive. `rows` as for a joint. A large family gives `near(q, search_distance)` → rows
    whose gap may be below `search_distance` (m), and `moved(q, q_then)` → the largest change (m) of a gap since; its
    `gap(q, which)` and `rows(q, v, which)` (and those of its friction) take row indices, and distant rows are skipped.
    Where h is the gap only in a region of the states (the distance of a vertex from a face that it may leave sideways),
    `scope(q)`, for a family `scope(q, which)`, is the signed distance (m) of each row to the boundary of that region: a
    row can touch where it is > 0, and is released outside.
    """

    name: str
    gap: Function
    alpha: tuple[float, float, float] = (100.0, 20.0, 1e6)
    count: int = 1
    odd: Callable[[Any], Any] | None = None
    friction: Friction | None = None
    restitution: Restitution | None = None
    energy_consistent: bool = False
    rows: Function | None = None
    near: Callable[[FloatArray, float], Any] | None = None
    moved: Callable[[FloatArray, FloatArray], float] | None = None
    search_distance: float = 0.0
    scope: Function | None = None

    def __post_init__(self) -> None:
        positive_count(f"count of contact {self.name!r}", self.count)
        _check_alpha(self.name, self.alpha, 3)
        if (self.near is None) != (self.moved is None) or (self.near is not None and not self.search_distance > 0.0):
            raise InputError(f"contact {self.name!r}: `near`, `moved` and `search_distance` > 0 (m) belong together")


Constraint = Joint | Contact


@one_line
@dataclass(frozen=True, eq=False)
class Transition:
    """An edge of a machine: taken from `source` to `target` when `guard(t, q, v, lam)` falls through zero."""

    source: int
    target: int
    guard: Callable[[float, FloatArray, FloatArray, FloatArray], float]
    name: str = ""


@one_line
@dataclass(frozen=True, eq=False)
class Machine:
    """A user-defined state machine: in state s the constraints named in `active[s]` are active, the others are not.

    It owns every constraint that it names in any state; no other machine may. States in `final` end the run.
    """

    name: str
    active: Mapping[int, Sequence[str]]
    transitions: tuple[Transition, ...]
    initial: int = 0
    final: tuple[int, ...] = ()

    @property
    def owned(self) -> frozenset[str]:
        """Names of the constraints that the machine switches."""
        return frozenset(name for names in self.active.values() for name in names)


@one_line
@dataclass(frozen=True, eq=False)
class HybridSystem:
    """Coordinates, inertia, forces, constraints and machines.

    `q0` and `v0` (n,) are the state at time 0, in m, rad and per s. `mass` is the mass matrix (n, n), its diagonal
    (n,), or a function of q; `bias(q, v)` (n,) holds Coriolis terms, damping and −gravity; `inputs` (n, k) or a
    function of q maps u to generalized forces; `outputs(q, v)` are what `linearize` reads, by default q. Functions take
    and give NumPy arrays and must accept complex ones (no `abs`, no `norm`), from which exact derivatives come.
    `compliance` > 0 regularises λ of redundant constraints (relative to the mean of the diagonal of H M⁻¹Hᵀ); with 0 it
    is the one of least norm.
    """

    q0: FloatArray
    v0: FloatArray
    mass: Any
    bias: Function | None = None
    inputs: Any = None
    constraints: tuple[Constraint, ...] = ()
    machines: tuple[Machine, ...] = ()
    outputs: Function | None = None
    compliance: float = 0.0
    name: str = "system"
    labels: tuple[str, ...] = ()
    details: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        q0 = finite_array(f"q0 of {self.name}", self.q0, shape=(None,))
        n = len(q0)
        object.__setattr__(self, "q0", q0)
        object.__setattr__(self, "v0", finite_array(f"v0 of {self.name}", self.v0, shape=(n,)))
        if not callable(self.mass):
            mass = finite_array(f"mass of {self.name}", self.mass)
            if mass.shape not in ((n,), (n, n)):
                raise InputError(f"mass of {self.name} must have shape ({n},) or ({n}, {n}), got {mass.shape}")
            if mass.ndim == 2 and np.abs(mass - mass.T).max() > 1e-10 * np.abs(mass).max():
                raise InputError(f"the mass matrix of {self.name} must be symmetric")
            object.__setattr__(self, "mass", mass)
        if self.inputs is not None and not callable(self.inputs):
            object.__setattr__(self, "inputs", finite_array(f"inputs of {self.name}", self.inputs, shape=(n, None)))
        for field_name, kinds in (("constraints", (Joint, Contact)), ("machines", (Machine,))):
            given = getattr(self, field_name)
            if not isinstance(given, (tuple, list)) or not all(isinstance(one, kinds) for one in given):
                names = " and ".join(kind.__name__ for kind in kinds)
                raise InputError(f"{field_name} of {self.name} must be a tuple of {names} objects, got {given!r}")
            object.__setattr__(self, field_name, tuple(given))
        self._check_names()
        if self.labels and len(self.labels) != n:
            raise InputError(f"{self.name} has {n} coordinates, but {len(self.labels)} labels")
        if not self.labels:
            object.__setattr__(self, "labels", tuple(f"q{k + 1}" for k in range(n)))

    def _check_names(self) -> None:
        names = [constraint.name for constraint in self.constraints]
        twice = {name for name in names if names.count(name) > 1}
        if twice:
            raise InputError(f"constraints of {self.name} need names of their own; twice: {sorted(twice)}")
        owned = [name for machine in self.machines for name in machine.owned]
        unknown = sorted(set(owned) - set(names))
        if unknown or len(set(owned)) < len(owned):
            raise InputError(f"machines of {self.name} share constraints or name unknown ones: {unknown or owned}")

    @property
    def coordinate_count(self) -> int:
        """How many generalized coordinates there are."""
        return len(self.q0)

    @property
    def input_count(self) -> int:
        """How many inputs u there are."""
        if self.inputs is None:
            return 0
        matrix = self.inputs(self.q0) if callable(self.inputs) else self.inputs
        return int(np.asarray(matrix).shape[1])

    @property
    def row_names(self) -> tuple[str, ...]:
        """A name for each column of `lam` and `modes`: that of the constraint, with an index where it has several."""
        return tuple(
            constraint.name if constraint.count == 1 else f"{constraint.name}[{k}]"
            for constraint in self.constraints
            for k in range(constraint.count)
        )


def _check_alpha(name: str, alpha: Any, count: int) -> None:
    values = finite_array(f"alpha of {name!r}", alpha, shape=(count,))
    if (values < 0.0).any():
        raise InputError(f"alpha of {name!r} must be ≥ 0, or the constraint is not stable; got {tuple(alpha)}")
