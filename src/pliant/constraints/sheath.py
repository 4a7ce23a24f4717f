"""Sheaths: a slender body that slides and turns inside another one, without play (concentric tubes).

Stations of the outer axis stay on the inner one, and the inner tip on the outer one. With x a station, p the nearest
point of the other axis, found anew in every solve, and n₁, n₂ the normals there, δⱼ = nⱼ · (x − p) = 0. The bodies
slide and turn freely, or with friction along the axis: a third row has the slip of the step, and its force is at most μ
times that of the other two. Dead forces at these points add stiffness.

Reference: P. Dupont, J. Lock, B. Itkowitz, E. Butler, "Design and control of concentric-tube robots", IEEE T-RO 2010.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np

from pliant.constraints.keys import SHEATHS, row_keys
from pliant.constraints.rows import Constraint, RowLaw, Rows, RowView, Stiffnesses, model_index
from pliant.core.checks import finite_array, non_negative
from pliant.core.declared import check_declared
from pliant.core.errors import InputError
from pliant.core.one_line import one_line
from pliant.core.types import BoolArray, FloatArray, IndexArray
from pliant.models.axis import Axis
from pliant.models.body import Model
from pliant.models.model import MatrixStiffness

_CLOSE = 0.05
"""A station closer to the inner tip than this fraction of the spacing has no rows, nearly dependent on the tip's."""
_END = 1e-9
"""A nearest point this close to an end of an axis, as a fraction of its length, lies beyond that end."""
_SAME_END = 0.01
"""Ends of both axes this close, as a fraction of the length, coincide."""
_OFF_AXIS = 1e-3
"""Largest initial distance of the axes over the length of the outer one: above the error of discretised curves."""


@one_line
@dataclass(frozen=True, eq=False)
class Sheath:
    """The slender body `inner` slides and turns inside `outer`, on its axis.

    outer, inner
        Rods, or beams whose nodes form a chain. Initially their axes coincide where they overlap.
    places
        Stations: arc lengths along the outer one, m, that stay on the inner one; by default the ends of its sections
        except the base. Use at most one per section; more over-constrain the pair and lock it.
    friction
        Coulomb's μ ≥ 0 along the axis.
    """

    outer: Any
    inner: Any
    _: KW_ONLY
    places: Any = None
    friction: float = 0.0
    name: str = "sheath"

    def __post_init__(self) -> None:
        check_declared(self)
        for body in self.bodies:
            if not getattr(body, "slender", False):
                raise InputError(f"{self.name!r} joins rods and beams, got {body!r}")
        if self.outer is self.inner:
            raise InputError(f"{self.name!r} has {self.outer.name!r} on both sides; a body is not inside itself")
        if self.places is not None:
            finite_array(f"places of {self.name!r}", self.places, shape=(None,))
        non_negative(f"friction of {self.name!r}", self.friction)

    @property
    def bodies(self) -> tuple[Any, ...]:
        """The outer and the inner body."""
        return (self.outer, self.inner)


@dataclass(frozen=True, eq=False)
class SheathRows(Constraint):
    """Rows of a sheath: two for each station of the outer axis that the inner one covers and two for the inner tip
    while it is inside, three with friction. `indices` and `curves` are those of the outer and the inner body.
    """

    spec: Sheath
    indices: tuple[int, int]
    curves: tuple[Axis, Axis]
    places: FloatArray
    stiff: tuple[bool, bool]
    key: int

    @classmethod
    def build(cls, spec: Sheath, models: Sequence[Model], key: int) -> SheathRows:
        """The rows of `spec` in a world of `models`; axes that begin apart are an error."""
        first, second = (model_index(models, body) for body in spec.bodies)
        curves = models[first].axis().chain(), models[second].axis().chain()
        places = curves[0].ends if spec.places is None else finite_array("places", spec.places)
        low, high, length = places.min(initial=np.inf), places.max(initial=-np.inf), curves[0].length
        if not len(places) or low < 0.0 or high > (1.0 + 1e-12) * length:
            raise InputError(f"places of {spec.name!r} must be in 0 … {length:g} m, got {low:g} … {high:g}")
        stiff = curves[0].map.forces_stiffen, curves[1].map.forces_stiffen
        made = cls(spec, (first, second), curves, np.sort(places), stiff, key)
        made._check([model.initial()[0] for model in models])
        return made

    @property
    def stiff_keys(self) -> IndexArray:
        """Identities of the rows, three for each station and three for the tip."""
        return row_keys(SHEATHS, self.key, 3 * len(self.places) + 3)

    def constrains(self, index: int) -> bool:
        """Whether body `index` is one of the two."""
        return index in self.indices

    def rows(self, view: RowView, found: Any = None) -> tuple[Rows, None]:
        """Distances of the stations of one axis from the other, and their gradients."""
        q, width = [view.q[index] for index in self.indices], 3 if self.spec.friction else 2
        arcs, used = self._project(q)
        there = [curve.at(arc) for curve, arc in zip(self.curves, arcs, strict=True)]
        frames = self._frames(q, there)
        directions = np.ascontiguousarray(frames[:, :, (1, 2, 0)[:width]].transpose(0, 2, 1))[used]
        apart = (there[0].points(q[0]) - there[1].points(q[1]))[used]
        gap = np.einsum("kwi,ki->kw", directions, apart)
        law = np.tile([RowLaw.BILATERAL, RowLaw.BILATERAL, RowLaw.GUIDE][:width], len(gap))
        if self.spec.friction:
            start = [view.start[index] for index in self.indices]
            moved = [m.points(x) - m.points(y) for m, x, y in zip(there, q, start, strict=True)]
            gap[:, 2] = np.einsum("ki,ki->k", directions[:, 2], (moved[0] - moved[1])[used])
        H = view.blank(gap.size)
        for sign, index, points, x in zip((1.0, -1.0), self.indices, there, q, strict=True):
            H[index] = points.selected(used).pull_back_along(x, sign * directions)
        keys = self.stiff_keys.reshape(-1, 3)[used, :width].ravel()
        mu = self.spec.friction
        return Rows.of(H, gap.ravel(), law, lower=-mu, upper=mu, key=keys), None

    @property
    def stiff_models(self) -> tuple[int, ...]:
        """Indices of the two bodies."""
        return self.indices

    def stiffness(self, q: Sequence[FloatArray], lam: FloatArray, scale: float) -> Stiffnesses:
        """`scale` × (−λ ∂²δ/∂q²) of dead forces at the stations of rods."""
        if not lam.any():
            return
        x = [q[index] for index in self.indices]
        arcs, used = self._project(x)
        there = [curve.at(arc) for curve, arc in zip(self.curves, arcs, strict=True)]
        along = np.where(used[:, None], lam.reshape(-1, 3), 0.0)[:, (2, 0, 1)]
        pushes = np.einsum("kri,ki->kr", self._frames(x, there), along)
        for sign, index, points, body, stiff in zip((1.0, -1.0), self.indices, there, x, self.stiff, strict=True):
            if stiff:
                yield index, MatrixStiffness(scale * points.load_stiffness(body, sign * pushes))

    def _project(self, q: Sequence[FloatArray]) -> tuple[tuple[FloatArray, FloatArray], BoolArray]:
        """Arc lengths, m, of stations and tip on the outer and the inner axis, and which of them have rows."""
        outer, inner = self.curves
        x = outer.at(self.places).points(q[0])
        on_inner = inner.nearest(q[1], x)
        length = np.array([inner.length])
        on_outer = outer.nearest(q[0], inner.at(length).points(q[1]))
        spacing = outer.length / max(len(self.places), 1)
        used = (on_inner > _END * inner.length) & (on_inner < inner.length - _CLOSE * spacing)
        tip = (on_outer > _END * outer.length) & (on_outer < (1.0 - _END) * outer.length)
        near = np.linalg.norm(inner.at(length).points(q[1]) - x[-1:], axis=1) < _SAME_END * inner.length
        ends_together = ~tip & (on_inner[-1:] > inner.length - _CLOSE * spacing) & near
        arcs = np.concatenate([self.places, on_outer]), np.concatenate([on_inner, length])
        return arcs, np.concatenate([used, tip | ends_together])

    def _frames(self, q: Sequence[FloatArray], there: Sequence[Any]) -> FloatArray:
        """Frames (k, 3, 3) of the axis that is slid along: the inner one, for its tip the outer one."""
        frames: FloatArray = there[1].frames(q[1])
        frames[-1] = there[0].selected([-1]).frames(q[0])[0]
        return frames

    def _check(self, start: Sequence[FloatArray]) -> None:
        q = [start[index] for index in self.indices]
        arcs, used = self._project(q)
        x, p = (curve.at(arc).points(body) for curve, arc, body in zip(self.curves, arcs, q, strict=True))
        away = np.where(used, np.linalg.norm(x - p, axis=1), 0.0)
        if away.max() > _OFF_AXIS * self.curves[0].length:
            worst = int(np.argmax(away))
            raise InputError(
                f"the axis of {self.spec.inner.name!r} is {1e3 * away[worst]:.3g} mm from that of "
                f"{self.spec.outer.name!r} in {self.name!r} initially, {1e3 * arcs[0][worst]:.4g} mm along it; make "
                "the axes coincide (start_strain bends a rod that is straight at rest)"
            )
