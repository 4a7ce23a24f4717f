"""Springs and dashpots between points of two bodies, or of one body and the world, as compliant rows.

With d = x_a − x_b the force on `a` is

    f = −K (d − d₀) − D ḋ                        without a rest length, d₀ that of the initial state
    f = −(k (|d| − L) + c |d|˙) u,  u = d/|d|    with the rest length L

It is implicit: f is evaluated where the scheme evaluates all forces, x = q + θ dx, and ḋ is the mean rate of the step.
About the present displacement f = F − S Δd, S = θ ∂f/∂d + D/h. Along the eigenvectors e of S these are three scalar
laws, λ = F·e − s e·Δd, each a row with the compliance C = 1/s: δ + C λ = 0 with δ = −C F·e + e·Δd. Condensation adds C
to the diagonal of W (`constraints.condense`), so that springs of any stiffness act between any bodies in every stepper.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
from scipy import sparse

from pliant.constraints.keys import SPRINGS, row_keys
from pliant.constraints.rows import COMPLIANT, Constraint, RowLaw, Rows, RowView, model_index
from pliant.core.checks import finite_array, non_negative
from pliant.core.declared import check_declared
from pliant.core.errors import InputError
from pliant.core.one_line import one_line
from pliant.core.types import FloatArray
from pliant.models.body import Model

_SLACK = 1e-12
"""Stiffness along a direction, over the largest one of the spring, below which it counts as none."""
_SHORTEST = 1e-9
"""Length, over the rest length, below which a spring has no direction."""


@one_line
@dataclass(frozen=True, eq=False)
class Spring:
    """Springs with dashpots between points of body `a` and of body `b`, or anchors in the world (`b` None).

    points
        Points (3,) or (k, 3), m, of `a`, where they are in the initial state: any points of volumes, beams, rods and
        rigid bodies, such as nodes ``mesh.points[nodes]``. Each has a spring of its own.
    ends
        Points of `b`, or anchors, of the same shape; None: the same places as `points`.
    stiffness
        Of each spring, N/m: a number, or without a rest length a symmetric matrix (3, 3).
    damping
        Of each dashpot, N·s/m: a number or such a matrix. Quasi-static solves have none.
    rest_length
        None: the force is proportional to the displacement of the points against each other since the initial state,
        in all directions. A length (m): the force acts along the line between the points, as that of a coil spring.
        "initial": the length in the initial state.
    reach
        Largest distance of a point outside the mesh of a volume, or from the axis of a beam or a rod, m.
    """

    a: Any
    b: Any
    points: Any
    ends: Any = None
    _: KW_ONLY
    stiffness: Any = 0.0
    damping: Any = 0.0
    rest_length: Any = None
    reach: float = 0.0
    name: str = "spring"

    def __post_init__(self) -> None:
        check_declared(self)
        for side in ("a", "b"):
            object.__setattr__(self, side, getattr(getattr(self, side), "body", getattr(self, side)))
        if not self.bodies:
            raise InputError(f"{self.name!r} joins no body: give a body, and another one or None for the world")
        points = np.atleast_2d(finite_array(f"points of {self.name!r}", self.points))
        if points.shape[1:] != (3,) or not len(points):
            raise InputError(f"points of {self.name!r} must have the shape (3,) or (k, 3), got {points.shape}")
        object.__setattr__(self, "points", points)
        given = points if self.ends is None else self.ends
        ends = np.atleast_2d(finite_array(f"ends of {self.name!r}", given))
        if ends.shape != points.shape:
            raise InputError(f"ends of {self.name!r} must have the shape {points.shape} of its points: {ends.shape}")
        object.__setattr__(self, "ends", ends)
        non_negative(f"reach of {self.name!r}", self.reach, unit="m")
        matrices = [self._matrix("stiffness", "N/m"), self._matrix("damping", "N·s/m")]
        if not any(matrix.any() for matrix in matrices):
            raise InputError(f"{self.name!r} has neither stiffness nor damping: give stiffness= (N/m) or damping=")
        if self.rest_length is not None:
            self._check_length(points - ends)

    def _check_length(self, lines: FloatArray) -> None:
        if not isinstance(self.rest_length, str) or self.rest_length != "initial":
            non_negative(f"rest_length of {self.name!r}", self.rest_length, unit="m")
        if np.ndim(self.stiffness) or np.ndim(self.damping):
            raise InputError(
                f"{self.name!r} has a rest length, so that it acts along a line: give numbers, not matrices, or "
                "leave rest_length out"
            )
        if not np.linalg.norm(lines, axis=1).all():
            raise InputError(
                f"both points of {self.name!r} coincide, so that it has no line to act along: move them apart, or "
                "leave rest_length out"
            )

    def _matrix(self, what: str, unit: str) -> FloatArray:
        """The stiffness or damping as a matrix (3, 3), positive semi-definite."""
        value = finite_array(f"{what} of {self.name!r}", getattr(self, what))
        if value.ndim == 0:
            return non_negative(f"{what} of {self.name!r}", float(value), unit=unit) * np.eye(3)
        if value.shape != (3, 3) or not np.allclose(value, value.T, rtol=1e-12, atol=0.0):
            raise InputError(f"{what} of {self.name!r} must be a number or a symmetric matrix (3, 3), {unit}")
        if np.linalg.eigvalsh(value)[0] < -1e-12 * np.abs(value).max():
            raise InputError(f"{what} of {self.name!r} has a negative eigenvalue: it would feed in energy")
        return value

    @property
    def bodies(self) -> tuple[Any, ...]:
        """The bodies that it acts on."""
        return tuple(body for body in (self.a, self.b) if body is not None)


@dataclass(frozen=True, eq=False)
class SpringRows(Constraint):
    """Three rows for each spring. `sides` are the indices of the models with their embedded points; `relaxed` (k, 3) m
    is d₀ and `lengths` (k,) m the rest lengths, None without.
    """

    spec: Spring
    sides: tuple[tuple[int, Any], ...]
    key: int
    relaxed: FloatArray
    lengths: FloatArray | None

    @classmethod
    def build(cls, spec: Spring, models: Sequence[Model], key: int) -> SpringRows:
        """The rows of `spec` in a world of `models`."""
        sides = []
        for body, points in ((spec.a, spec.points), (spec.b, spec.ends)):
            if body is not None:
                index = model_index(models, body)
                what = f"points of {spec.name!r} on {models[index].name!r}"
                sides.append((index, models[index].embed(points, what=what, reach=spec.reach, placed=True)))
        made = cls(spec, tuple(sides), key, np.zeros_like(spec.points), None)
        start = made._lines([model.initial()[0] for model in models])
        lengths = None
        if spec.rest_length is not None:
            initial = spec.rest_length == "initial"
            lengths = np.linalg.norm(start, axis=1) if initial else np.full(len(start), float(spec.rest_length))
        return cls(spec, made.sides, key, start, lengths)

    @cached_property
    def _matrices(self) -> tuple[FloatArray, FloatArray]:
        return self.spec._matrix("stiffness", "N/m"), self.spec._matrix("damping", "N·s/m")

    def carried(self, index: int) -> list[Any]:
        """Its points on the body."""
        own = [k for k, (side, _) in enumerate(self.sides) if side == index]
        return [(self.sides[k][1], partial(self._carried_by, k)) for k in own]

    def _carried_by(self, k: int, points: Any) -> SpringRows:
        return replace(self, sides=(*self.sides[:k], (self.sides[k][0], points), *self.sides[k + 1 :]))

    def constrains(self, index: int) -> bool:
        """Whether body `index` is sprung in all its rigid motions, which two points leave open."""
        return bool(self._matrices[0].any()) and any(index == side for side, _ in self.sides)

    def connects(self, index: int) -> bool:
        """Whether body `index` has an end of it."""
        return any(index == side for side, _ in self.sides)

    @property
    def direction_models(self) -> tuple[int, ...]:
        """Indices of the models whose points turn with them, and of all that turn the line of a spring."""
        turns = self.lengths is not None
        return tuple(index for index, points in self.sides if turns or not points.is_linear)

    def rows(self, view: RowView, found: Any = None) -> tuple[Rows, None]:
        """λ = F·e − s e·Δd of each spring along the eigenvectors e of its stiffness S in the step."""
        q = view.evaluated or view.q
        rate = 1.0 / view.dt if view.dt else 0.0
        moved = (self._lines(view.q) - self._lines(view.start)) * rate
        F, S = self._response(self._lines(q), moved, view.theta, rate)
        s, axes = np.linalg.eigh(S)
        along = np.einsum("kri,kr->ki", axes, F)
        stiff = s > _SLACK * max(float(s.max(initial=0.0)), np.finfo(float).tiny)
        compliance = 1.0 / np.where(stiff, s, 1.0)
        H = view.blank(3 * len(F))
        directions = np.ascontiguousarray(np.swapaxes(axes, 1, 2))
        for sign, (index, points) in zip((1.0, -1.0), self.sides, strict=False):
            H[index] = H[index] + points.pull_back_along(q[index], sign * directions)
        return Rows.of(
            H, np.where(stiff, -along * compliance, 0.0).ravel(),
            np.where(stiff, COMPLIANT, int(RowLaw.IMPOSED)).ravel().astype(np.int32),
            upper=np.where(stiff, compliance, np.inf).ravel(), target=np.where(stiff, 0.0, along).ravel(),
            key=row_keys(SPRINGS, self.key, 3 * len(F)),
        ), None  # fmt: skip

    def by_start(self, view: RowView) -> list[sparse.csr_matrix] | None:
        """∂δ/∂q (rows, unknowns) of each model by the start of the step at a fixed end: dashpots count from there."""
        if not view.dt or not self._matrices[1].any():
            return None
        d, rate = self._lines(view.evaluated or view.q), 1.0 / view.dt
        moved = (self._lines(view.q) - self._lines(view.start)) * rate
        s, axes = np.linalg.eigh(self._response(d, moved, view.theta, rate)[1])
        D = np.broadcast_to(rate * self._matrices[1], (len(d), 3, 3))
        if self.lengths is not None:
            u = d / np.maximum(np.linalg.norm(d, axis=1), np.finfo(float).tiny)[:, None]
            D = D[0, 0, 0] * np.einsum("ki,kj->kij", u, u)
        stiff = s > _SLACK * max(float(s.max(initial=0.0)), np.finfo(float).tiny)
        directions = -np.einsum("kij,kjr->kri", D, axes) / np.where(stiff, s, np.inf)[:, :, None]
        made = [sparse.csr_matrix((3 * len(d), size)) for size in view.sizes]
        for sign, (index, points) in zip((1.0, -1.0), self.sides, strict=False):
            made[index] = made[index] + points.pull_back_along(view.start[index], sign * directions)
        return made

    def _response(self, d: FloatArray, speed: FloatArray, theta: float, rate: float) -> tuple[FloatArray, FloatArray]:
        """Forces F (k, 3), N, on `a` with the lines d (k, 3), m, and their rates `speed`, m/s; S (k, 3, 3), N/m."""
        K, D = self._matrices
        if self.lengths is None:
            S = np.broadcast_to(theta * K + rate * D, (len(d), 3, 3))
            return -(d - self.relaxed) @ K - speed @ D, S
        k, c = K[0, 0], D[0, 0]
        length = np.maximum(np.linalg.norm(d, axis=1), _SHORTEST * self.lengths + np.finfo(float).tiny)
        u = d / length[:, None]
        tension = k * (length - self.lengths)
        # across the line the tension is a stiffness; that of a compressed spring is negative, and left out of S
        across = theta * np.maximum(tension, 0.0) / length
        line = np.einsum("ki,kj->kij", u, u)
        S = (theta * k + rate * c) * line + across[:, None, None] * (np.eye(3) - line)
        return -(tension + c * np.einsum("ki,ki->k", u, speed))[:, None] * u, S

    def forces(self, q: Sequence[FloatArray]) -> FloatArray:
        """Forces of the springs on body `a`, (k, 3), N, at q, without those of dashpots."""
        d = self._lines(q)
        return self._response(d, np.zeros_like(d), 1.0, 0.0)[0]

    def elastic_energy(self, q: Sequence[FloatArray]) -> float:
        """Energy of the springs, J."""
        d, K = self._lines(q), self._matrices[0]
        if self.lengths is None:
            e = d - self.relaxed
            return 0.5 * float(np.einsum("ki,ij,kj->", e, K, e))
        return 0.5 * float(K[0, 0] * np.sum((np.linalg.norm(d, axis=1) - self.lengths) ** 2))

    def _lines(self, q: Sequence[FloatArray]) -> FloatArray:
        """x_a − x_b of each spring, (k, 3), m."""
        there = self.spec.ends if len(self.sides) == 1 else self.sides[1][1].points(q[self.sides[1][0]])
        index, points = self.sides[0]
        return np.asarray(points.points(q[index]) - there)
