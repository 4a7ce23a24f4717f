"""Holds: chosen motions of the frame of a body are constrained, relative to the world or to another body.

A body that only slides along x, only turns about z, or moves in a plane; two bodies that are joined in some axes and
free in others. Directions follow the base. With the displacement d of the point from its anchor and the relative
rotation R, both in the axes of the hold on the base: the held components of d are zero, and of R either all of log R,
the tilt of the one free axis, or the one held component of log R.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from pliant.constraints.keys import HOLDS, row_keys
from pliant.constraints.linear import inverse_left_jacobian
from pliant.constraints.rows import Constraint, RowLaw, Rows, RowView, Stiffnesses, model_index
from pliant.core.checks import finite_array, non_negative
from pliant.core.declared import check_declared
from pliant.core.errors import InputError
from pliant.core.lie import cross_matrix, rotation_log
from pliant.core.one_line import one_line
from pliant.core.types import FloatArray, IndexArray
from pliant.mesh.mesh import rotation_matrix
from pliant.models.body import Body, Model
from pliant.models.model import MatrixStiffness


@one_line
@dataclass(frozen=True, eq=False)
class Hold:
    """Motions of `body`, a rigid body, a beam or a rod, that are constrained relative to `base`: another one, or None
    for the world.

    position, rotation
        Letters of "xyz": along which axes its point may not move, and about which it may not turn. One that slides
        along x has position="yz", rotation="xyz"; one that turns about z position="xyz", rotation="xy".
    point
        (3,) m, where the joint stands when the world begins; None is the position of a rigid body.
    axes
        How the axes of the joint are turned from those of the world when it begins (3×3, rotation vector or scipy
        Rotation); they follow the base.
    reach
        Largest distance of the point from the axis of a beam or a rod, beyond its section, m.
    """

    body: Any
    _: KW_ONLY
    position: str = ""
    rotation: str = ""
    point: Any = None
    axes: Any = (0.0, 0.0, 0.0)
    base: Any = None
    reach: float = 0.0
    name: str = "hold"

    def __post_init__(self) -> None:
        check_declared(self)
        for body in self.bodies:
            if not isinstance(body, Body) or not body.has_frames:
                raise InputError(
                    f"{self.name!r} holds rigid bodies, beams and rods, not {getattr(body, 'name', body)!r}; nodes of "
                    "a volume are held by pl.Support or pl.LinearConstraint"
                )
        for what in ("position", "rotation"):
            letters = getattr(self, what)
            if not isinstance(letters, str) or set(letters) - set("xyz") or len(set(letters)) != len(letters):
                raise InputError(f"{what} of {self.name!r} must be distinct letters of 'xyz', got {letters!r}")
        if not self.position and not self.rotation:
            raise InputError(f"{self.name!r} holds nothing: give the axes of position or rotation")
        if self.body is self.base:
            raise InputError(f"{self.name!r} joins {self.body.name!r} to itself")
        if self.point is not None:
            finite_array(f"point of {self.name!r}", self.point, shape=(3,))
        elif self.body.slender:
            raise InputError(f"{self.name!r} needs a point of {self.body.name!r}, where the joint stands")
        non_negative(f"reach of {self.name!r}", self.reach, unit="m")
        object.__setattr__(self, "axes", rotation_matrix(self.axes))

    @property
    def bodies(self) -> tuple[Any, ...]:
        """The joined bodies."""
        return (self.body,) if self.base is None else (self.body, self.base)


@dataclass(frozen=True, eq=False)
class HoldRows(Constraint):
    """The rows of a hold: `sides` are the indices of body and base with the map of the joint's point, `start` (3, 3)
    the frames of both there when the world begins, `anchor` (3,) m where the point stands then.
    """

    spec: Hold
    sides: tuple[tuple[int, Any], ...]
    start: tuple[FloatArray, ...]
    anchor: FloatArray
    key: int

    @classmethod
    def build(cls, spec: Hold, models: Sequence[Model], key: int) -> HoldRows:
        """The rows of `spec` in a world of `models`."""
        indices = [model_index(models, body) for body in spec.bodies]
        poses = [models[k].initial()[0] for k in indices]
        point = poses[0][0] if spec.point is None else np.asarray(spec.point, float)
        what = f"point of {spec.name!r}"
        maps = [models[k].embed(point[None], what=what, reach=spec.reach, placed=True) for k in indices]
        start = tuple(map.frames(q)[0].copy() for map, q in zip(maps, poses, strict=True))
        return cls(spec, tuple(zip(indices, maps, strict=True)), start, point.copy(), key)

    def constrains(self, index: int) -> bool:
        """Whether body `index` is held."""
        return any(index == side for side, _ in self.sides)

    @property
    def direction_models(self) -> tuple[int, ...]:
        """Indices of the held bodies."""
        return tuple(index for index, _ in self.sides)

    def rows(self, view: RowView, found: Any = None) -> tuple[Rows, None]:
        """Held displacements (m) and rotations (rad) in the axes of the hold, and their gradients."""
        spec = self.spec
        point, anchor, axes, relative = self._geometry(view.q)
        away, along = point - anchor, axes[:, ["xyz".index(a) for a in spec.position]].T
        turned, spins = _held_rotations(relative, ["xyz".index(a) for a in spec.rotation])
        gap = np.concatenate([along @ away, turned])
        world_spins = spins @ axes.T
        zeros = np.zeros_like(world_spins)
        # the axes turn with the base: e·(ω × (p − a)) more
        levers = np.array([np.cross(away, e) for e in along]).reshape(-1, 3)
        H = view.blank(len(gap))
        for k, (sign, (index, map)) in enumerate(zip((1.0, -1.0), self.sides, strict=False)):
            q = view.q[index]
            moves = sparse.csr_matrix(sign * np.vstack([along, zeros]))
            turns = sparse.csr_matrix(sign * np.vstack([levers if k else np.zeros_like(levers), world_spins]))
            H[index] = H[index] + map.pull_back(q, moves) + map.pull_back_spins(q, turns)
        return Rows.of(H, gap, RowLaw.BILATERAL, key=self._keys), None

    def _geometry(self, q: Sequence[FloatArray]) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """The point, its anchor, the axes of the hold (columns), and the relative rotation in them."""
        (index, map), *base = self.sides
        turn = map.frames(q[index])[0] @ self.start[0].T
        point = map.points(q[index])[0]
        carried, anchor = np.eye(3), self.anchor
        if base:
            other, there = base[0]
            carried, anchor = there.frames(q[other])[0] @ self.start[1].T, there.points(q[other])[0]
        axes = carried @ self.spec.axes
        return point, anchor, axes, axes.T @ turn @ self.spec.axes

    @cached_property
    def _keys(self) -> IndexArray:
        return row_keys(HOLDS, self.key, len(self.spec.position) + len(self.spec.rotation))

    @property
    def stiff_models(self) -> tuple[int, ...]:
        """Indices of the rods."""
        return tuple(index for index, map in self.sides if map.forces_stiffen)

    @property
    def stiff_keys(self) -> IndexArray:
        """Identities of the rows of displacements."""
        return self._keys[: len(self.spec.position)]

    def stiffness(self, q: Sequence[FloatArray], lam: FloatArray, scale: float) -> Stiffnesses:
        """`scale` × (−λ ∂²δ/∂q²) of rods, whose points are nonlinear in the strains."""
        if not lam.any():
            return
        axes = self._geometry(q)[2][:, ["xyz".index(a) for a in self.spec.position]]
        for sign, (index, map) in zip((1.0, -1.0), self.sides, strict=False):
            if map.forces_stiffen:
                K = map.load_stiffness(q[index], sign * (axes @ lam)[None])
                yield index, MatrixStiffness(scale * K)


def _held_rotations(relative: FloatArray, held: list[int]) -> tuple[FloatArray, FloatArray]:
    """Values (k,) rad and derivatives (k, 3) by the relative spin, in the axes of the hold, of the held rotations."""
    if len(held) == 2:
        (free,) = set(range(3)) - set(held)
        column = relative[:, free]  # the free axis of the body, which may not tilt
        slope = -cross_matrix(column)
        second, third = (free + 1) % 3, (free + 2) % 3
        values = {second: -column[third], third: column[second]}
        slopes = {second: -slope[third], third: slope[second]}
        return np.array([values[k] for k in held]), np.array([slopes[k] for k in held])
    angle = rotation_log(relative)
    return angle[held], inverse_left_jacobian(angle)[held].reshape(-1, 3)
