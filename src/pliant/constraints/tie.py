"""Ties: the surface of a volume joined to another body along a region, with meshes that need not match.

Each node i of the tied surface with the linear shape function φᵢ has three bilateral rows, the weighted mean

    δᵢ = Σ_q w_q φᵢ(x_q) (x_a(q) − x_b(q)) / Σ_q w_q φᵢ(x_q)

over quadrature points q of the parts in which facets of both sides face each other: the mortar method (Bernardi,
Maday, Patera, 1994) with the multipliers on side a. On flat interfaces the integrals are exact, so that a constant
stress passes through unchanged. Nodes of beams and rods are tied one by one.

A gap that is kept continues the displacement of the nearest cell of b to the points of a. Affine motions of both bodies
open no gap, and forces and moments balance; but forces reach b at a distance from its surface, so that a constant
stress is disturbed there by the fraction gap / cell size.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from scipy import sparse

from pliant.constraints.keys import TIES, row_keys
from pliant.constraints.rows import Constraint, RowLaw, Rows, RowView, Stiffnesses, model_index
from pliant.core.checks import non_negative, positive
from pliant.core.declared import check_declared
from pliant.core.errors import InputError
from pliant.core.one_line import one_line
from pliant.core.types import FloatArray, IndexArray
from pliant.mesh.overlap import overlaps, plain_points
from pliant.mesh.regions import as_region
from pliant.models.body import Body, Model
from pliant.models.model import MatrixStiffness

_GAPS = ("kept", "closed")
_SUPPORTED = 1e-3
"""Area over that of the facets around a node below which too little of them faces the other side for rows."""


@one_line
@dataclass(frozen=True, eq=False)
class Tie:
    """`region` of body `a` is joined to body `b`: no gap opens or closes between them, and they do not slide.

    a, region
        A volume and the nodes of its surface, or a beam or a rod and its nodes. Take the finer mesh.
    b
        A volume, a rigid body, a rod or a beam.
    gap
        "kept": what lies between them initially stays, as if filled with rigid material that moves with `b`;
        "closed": it is closed, in increments of a quasi-static solve, and over `closing_time` (s) of a dynamic one.
    reach
        Largest initial gap, m: parts of the surface farther from `b` are not tied.
    """

    a: Any
    b: Any
    region: Any
    _: KW_ONLY
    gap: str = "kept"
    reach: float = 1e-4
    closing_time: float = 0.1
    name: str = "tie"

    value: ClassVar[float] = 0.0
    """Fraction of the initial gap that is left in the end."""

    def __post_init__(self) -> None:
        check_declared(self)
        for body in (self.a, self.b):
            if not isinstance(body, Body):
                raise InputError(f"{self.name!r} joins two bodies, got {getattr(body, 'name', body)!r}")
        if self.a is self.b:
            raise InputError(f"{self.name!r} ties {self.a.name!r} to itself; use pl.LinearConstraint.periodic")
        if not (self.a.slender or is_volume(self.a)):
            raise InputError(f"{self.name!r}: the first body is a volume, a beam or a rod; swap {self.a.name!r}")
        if self.gap not in _GAPS:
            raise InputError(f"gap of {self.name!r} must be 'kept' or 'closed', got {self.gap!r}")
        if self.gap == "closed" and not is_volume(self.b):
            raise InputError(
                f"{self.name!r} closes its gap to the surface of a volume; {self.b.name!r} is none: move it"
            )
        non_negative(f"reach of {self.name!r}", self.reach, unit="m")
        positive(f"closing_time of {self.name!r}", self.closing_time, unit="s")

    @property
    def bodies(self) -> tuple[Any, ...]:
        """Both bodies."""
        return (self.a, self.b)


def is_volume(body: Any) -> bool:
    """Whether a body has a mesh of cells."""
    return hasattr(body, "mesh") and not callable(body.mesh)


@dataclass(frozen=True, eq=False)
class TieSide:
    """One side: the model of `index`, the `map` of its quadrature points and the weights `mean` (m, 3p) of the rows."""

    index: int
    map: Any
    mean: sparse.csr_matrix
    size: int

    @cached_property
    def fixed(self) -> sparse.csr_matrix | None:
        """The gradient (m, unknowns) of a volume, which does not change."""
        if not self.map.is_linear:
            return None
        rows: sparse.csr_matrix = self.map.pull_back(np.zeros((self.size // 3, 3)), self.mean)
        return rows

    def value(self, q: FloatArray) -> FloatArray:
        """Weighted means of the positions, (m,), m."""
        if self.fixed is not None:
            return np.asarray(self.fixed @ q.ravel())
        return np.asarray(self.mean @ self.map.points(q).ravel())

    def gradient(self, q: FloatArray) -> sparse.csr_matrix:
        """Their derivatives (m, unknowns)."""
        return self.map.pull_back(q, self.mean) if self.fixed is None else self.fixed


@dataclass(frozen=True, eq=False)
class TieRows(Constraint):
    """The rows of a tie; `start` (m,) m are the gaps that are left to close when the world begins."""

    spec: Tie
    sides: tuple[TieSide, TieSide]
    start: FloatArray
    key: int

    prescribes: ClassVar[bool] = True

    @classmethod
    def build(cls, spec: Tie, models: Sequence[Model], key: int) -> TieRows:
        """The rows of `spec` in a world of `models`."""
        indices = [model_index(models, body) for body in spec.bodies]
        first, second = (models[k] for k in indices)
        points, feet, weights = _mortar(spec, first, second) if is_volume(spec.a) else _nodes(spec, first, second)
        mean = sparse.kron(weights, sparse.identity(3), format="csr")
        there = feet if spec.gap == "closed" else points
        places = ((indices[0], first, points), (indices[1], second, there))
        sides = []
        for index, model, at in places:
            what = f"points of {spec.name!r} on {model.name!r}"
            reach = (1.0 + 1e-6) * spec.reach + 1e-6 * float(np.ptp(points, axis=0).max(initial=1e-3))
            sides.append(TieSide(index, model.embed(at, what=what, reach=reach, placed=True), mean, model.size))
        made = cls(spec, (sides[0], sides[1]), np.zeros(mean.shape[0]), key)
        start = made._apart([model.initial()[0] for model in models])
        return cls(spec, made.sides, start, key)

    def constrains(self, index: int) -> bool:
        """Whether body `index` is tied."""
        return any(side.index == index for side in self.sides)

    welds = constrains

    def displacement(self, q: Sequence[FloatArray]) -> float:
        """The fraction of the initial gap that is left."""
        size = float(self.start @ self.start)
        return float(self._apart(q) @ self.start) / size if self._closes and size > 0.0 else 0.0

    def rows(self, view: RowView, found: Any = None) -> tuple[Rows, None]:
        """Weighted means of the gaps, and their gradients."""
        H = view.blank(len(self.start))
        for sign, side in zip((1.0, -1.0), self.sides, strict=True):
            H[side.index] = H[side.index] + sign * side.gradient(view.q[side.index])
        gap = self._apart(view.q) - self._left(view) * self.start
        return Rows.of(H, gap, RowLaw.BILATERAL, key=self._keys), None

    def rates(self, view: RowView, rows: Rows, memory: Any) -> FloatArray:
        """The mean rate over the step at which the gap closes."""
        total: FloatArray = np.zeros(rows.count)
        if self._closes:
            for h, moved in zip(rows.H, view.moved, strict=True):
                total += h @ np.ravel(moved)
        return total / view.dt

    def _left(self, view: RowView) -> float:
        """The fraction of the initial gap that is to be left."""
        if not self._closes:
            return 1.0
        if view.dt > 0.0:
            return max(0.0, 1.0 - view.time / self.spec.closing_time)
        command = view.controls.get(self.spec)
        return 0.0 if command is None else float(command.amount)

    @cached_property
    def _closes(self) -> bool:
        return self.spec.gap == "closed"

    def _apart(self, q: Sequence[FloatArray]) -> FloatArray:
        a, b = self.sides
        return a.value(q[a.index]) - b.value(q[b.index])

    @cached_property
    def _keys(self) -> IndexArray:
        return row_keys(TIES, self.key, len(self.start))

    @property
    def direction_models(self) -> tuple[int, ...]:
        """Indices of the models whose points turn with them."""
        return tuple(side.index for side in self.sides if not side.map.is_linear)

    @property
    def stiff_models(self) -> tuple[int, ...]:
        """Indices of the rods."""
        return tuple(side.index for side in self.sides if side.map.forces_stiffen)

    @property
    def stiff_keys(self) -> IndexArray:
        """Identities of the rows."""
        return self._keys

    def stiffness(self, q: Sequence[FloatArray], lam: FloatArray, scale: float) -> Stiffnesses:
        """`scale` × (−λ ∂²δ/∂q²) of rods, whose points are nonlinear in the strains."""
        for sign, side in zip((1.0, -1.0), self.sides, strict=True):
            if side.map.forces_stiffen and lam.any():
                forces = sign * np.asarray(side.mean.T @ lam).reshape(-1, 3)
                yield side.index, MatrixStiffness(scale * side.map.load_stiffness(q[side.index], forces))


def _mortar(spec: Tie, first: Any, second: Any) -> tuple[FloatArray, FloatArray, sparse.csr_matrix]:
    """Quadrature points (p, 3) and feet (p, 3) m, and the weights (nodes, p) of the rows."""
    selected = np.zeros(spec.a.mesh.node_count, bool)
    what = f"region of {spec.name!r}"
    selected[as_region(spec.region, what=what).nodes(spec.a.mesh.points, what=what)] = True
    triangles = first.mesh.surface().triangles
    triangles = triangles[selected[triangles].all(axis=1)]
    if not len(triangles):
        raise InputError(f"{what} contains no whole facet of the surface of {spec.a.name!r}")
    corners = first.mesh.points[triangles]
    if is_volume(spec.b):
        found = overlaps(corners, second.mesh.points[second.mesh.surface().triangles], spec.reach)
    else:
        found = plain_points(corners)
    if not len(found.weight):
        raise InputError(
            f"no facet of {what} on {spec.a.name!r} faces {spec.b.name!r} within {spec.reach:g} m; raise reach, or "
            "move the bodies together"
        )
    nodes, columns = triangles[found.triangle], np.arange(len(found.weight))
    areas = 0.5 * np.linalg.norm(np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]), axis=1)
    around = np.bincount(triangles.ravel(), np.repeat(areas / 3.0, 3), minlength=len(selected))
    values = (found.weight[:, None] * found.barycentric).ravel()
    shape = (len(selected), len(found.weight))
    weights = sparse.csr_matrix((values, (nodes.ravel(), np.repeat(columns, 3))), shape=shape)
    total = np.asarray(weights.sum(axis=1)).ravel()
    used = np.flatnonzero(total > _SUPPORTED * around)
    used = used[total[used] > 0.0]
    return found.points, found.feet, sparse.diags(1.0 / total[used]) @ weights[used]


def _nodes(spec: Tie, first: Any, second: Any) -> tuple[FloatArray, FloatArray, sparse.csr_matrix]:
    """The nodes of a beam or a rod, (p, 3) m, and one row for each."""
    if spec.gap == "closed":
        raise InputError(f"{spec.name!r} keeps the gap of the nodes of {spec.a.name!r}; place them where they belong")
    chosen = spec.a.selected(spec.region, what=f"region of {spec.name!r}")
    points = np.ascontiguousarray(first.node_positions(first.initial()[0])[chosen])
    return points, points, sparse.identity(len(points), format="csr")
