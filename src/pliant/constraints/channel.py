"""Channels: a slender body that slides through points of a volume (Adagolodjo et al., IEEE RA-L 2021).

Each point x of the channel stays on the axis: with p the point of the axis nearest to x, found anew in every solve, and
n₁, n₂ the normals of the axis there, δⱼ = nⱼ · (x − p) = 0. The point slides freely along the axis, or with friction: a
third row has the slip of the step, and its force is at most μ times that of the other two. The end of a channel may be
the tip of the slender body, constrained in three directions. Meshes need not match.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from pliant.constraints.assembly import joined
from pliant.constraints.coupling import Coupling
from pliant.constraints.keys import CHANNELS, first_key
from pliant.constraints.row_blocks import RowBlocks
from pliant.constraints.rows import Constraint, RowLaw, Rows, RowView, Stiffnesses, model_index
from pliant.constraints.sliding import sliding_rows, sliding_stiffness
from pliant.constraints.sliding_plan import SlidingPlan
from pliant.core.arrays import csr, writable
from pliant.core.checks import finite_array, non_negative
from pliant.core.declared import check_declared
from pliant.core.errors import InputError
from pliant.core.immutable import filled
from pliant.core.one_line import one_line
from pliant.core.types import BoolArray, FloatArray, IndexArray
from pliant.models.axis import Axis
from pliant.models.body import Model
from pliant.models.model import MatrixStiffness
from pliant.models.volume import Volume, VolumeModel
from pliant.models.volume.barycentric import BarycentricMap

_OFF_AXIS = 1e-3
"""Largest initial distance of points from the axis over its length: above the chord error of usual meshes."""
_TIP = 1e-9
"""A nearest point this close to the tip, as a fraction of the length, lies beyond it."""


@one_line
@dataclass(frozen=True, eq=False)
class Channel:
    """A channel through `points` (k, 3), m, of `body`, in the frame of its mesh, in which `rod` slides.

    body
        The volume.
    points
        From where the slender body enters to where it ends.
    rod
        A rod, or a beam whose nodes form a chain; its axis initially passes the points.
    fixed_end
        The last point is the tip of the slender body, constrained in three directions. Without, points may initially
        lie ahead of the tip: an advancing needle reaches them one after another.
    end_direction
        The tip also points along the last segment of the channel.
    friction
        Coulomb's μ ≥ 0 between both.
    reach
        Largest distance of a point outside the mesh, m.
    capture
        Largest distance from the axis of a point that an advancing tip captures, m; by default the outer radius of the
        section, or a thousandth of the length. The step warns of points that the tip misses.
    """

    body: Volume
    points: Any
    rod: Any
    _: KW_ONLY
    fixed_end: bool = True
    end_direction: bool = False
    friction: float = 0.0
    reach: float = 0.0
    capture: float | None = None
    name: str = "channel"

    def __post_init__(self) -> None:
        check_declared(self)
        points = finite_array(f"points of {self.name!r}", self.points, shape=(None, 3))
        if len(points) < 1 + self.end_direction:
            raise InputError(f"{self.name!r} has {len(points)} points; it needs {1 + self.end_direction} or more")
        non_negative(f"friction of {self.name!r}", self.friction)
        non_negative(f"reach of {self.name!r}", self.reach, unit="m")
        if self.capture is not None:
            non_negative(f"capture of {self.name!r}", self.capture, unit="m")
            if self.fixed_end:
                raise InputError(f"the tip of {self.name!r} is fixed; capture needs fixed_end=False")

    @property
    def bodies(self) -> tuple[Any, ...]:
        """The volume and the slender body."""
        return (self.body, self.rod)


@dataclass(frozen=True, eq=False)
class ChannelRows(Constraint):
    """Rows of a channel: two for each sliding point, three with friction; three for a fixed end, two for its direction.

    A sliding point ahead of the tip has no rows until the tip arrives. `indices` are those of the volume and the rod.
    """

    spec: Channel
    indices: tuple[int, int]
    map: BarycentricMap
    curve: Axis
    key: int

    @classmethod
    def build(cls, spec: Channel, models: Sequence[Model], key: int) -> ChannelRows:
        """The rows of `spec` in a world of `models`; what does not fit together is an error."""
        indices = model_index(models, spec.body), model_index(models, spec.rod)
        volume, slender = VolumeModel.require(models[indices[0]], repr(spec.name)), models[indices[1]]
        points = finite_array("points", spec.points, shape=(None, 3))
        embedded = BarycentricMap.of_points(spec.body.mesh, points, what=f"points of {spec.name!r}", reach=spec.reach)
        axis = slender.axis().chain()
        kind = StiffChannelRows if axis.map.forces_stiffen else cls
        made = kind(spec, indices, embedded, axis, key)
        made._check(embedded.points(volume.initial()[0]), slender.initial()[0])
        return made

    def constrains(self, index: int) -> bool:
        """Whether body `index` is one of the two."""
        return index in self.indices

    def rows(self, view: RowView, found: Any = None) -> tuple[Rows, None]:
        """Distances of the channel's points from the axis, and their gradients."""
        volume, slender = self.indices
        x = self.map.points(view.q[volume])
        arc, slides = self._project(view.q[slender], x)
        there = self.curve.at(arc)
        frames = there.frames(view.q[slender])
        p = there.points(view.q[slender])
        width = 3 if self.spec.friction else 2
        inner = np.flatnonzero(slides & (self._captured(view) | (np.linalg.norm(x - p, axis=1) <= self._capture)))
        order = (1, 2, 0)[:width]
        points, directions = np.repeat(inner, width), frames[inner][:, :, order].transpose(0, 2, 1).reshape(-1, 3)
        gap = np.einsum("ri,ri->r", directions, (x - p)[points])
        law = np.tile([RowLaw.BILATERAL, RowLaw.BILATERAL, RowLaw.GUIDE][:width], len(inner))
        if self.spec.friction:
            gap[2::3] = self._slip(view, there, inner, directions[2::3])
        if self.spec.fixed_end:
            last = len(x) - 1
            points = np.concatenate([points, np.full(3, last)])
            directions = np.concatenate([directions, frames[last].T])
            gap = np.concatenate([gap, frames[last].T @ (x[last] - p[last])])
            law = np.concatenate([law, np.full(3, RowLaw.BILATERAL)])
        columns = (3 * points[:, None] + np.arange(3)).ravel()
        ends = 3 * np.arange(len(points) + 1)
        picked = csr(directions.ravel(), columns, ends, (len(points), 3 * len(x)))
        H = view.blank(len(points))
        H[volume] = self.map.pull_back(view.q[volume], picked)
        H[slender] = -there.pull_back(view.q[slender], picked)
        mu = self.spec.friction
        keys = self._first_key + self._keys(inner, width, len(gap))
        made = Rows.of(H, gap, law, lower=-mu, upper=mu, key=keys)
        return (self._with_direction(view, made) if self.spec.end_direction else made), None

    @cached_property
    def _first_key(self) -> int:
        return first_key(CHANNELS, self.key)

    def _project(self, q: FloatArray, x: FloatArray) -> tuple[FloatArray, BoolArray]:
        """Arc lengths (k,) m of the nearest points on the axis, and which points slide there."""
        arc = self.curve.nearest(q, x)
        slides = arc < self.curve.length * (1.0 - _TIP)
        if self.spec.fixed_end:
            arc[-1] = self.curve.length
            slides[-1] = False
        return arc, slides

    def warnings(self, view: RowView, memory: Any) -> tuple[str, ...]:
        """Names the first of the points that the tip has passed by, too far away to capture them."""
        volume, slender = self.indices
        x = self.map.points(view.q[volume])
        arc, slides = self._project(view.q[slender], x)
        away = np.linalg.norm(x - self.curve.at(arc).points(view.q[slender]), axis=1)
        missed = np.flatnonzero(slides & (away > self._capture) & ~self._captured(view))
        text = (
            f"the tip of {self.spec.rod.name!r} passed by point {{}} of {self.name!r}, which is too far from its axis "
            "to be captured: aim it at the points, or raise capture"
        )
        return (text.format(missed[0]),) if len(missed) else ()

    def _captured(self, view: RowView) -> BoolArray:
        """Which points (k,) had rows in the previous step; all with a fixed end."""
        if self.spec.fixed_end or view.last_keys is None:
            return np.full(len(self.map.nodes), self.spec.fixed_end)
        return np.isin(self._first_key + 3 * np.arange(len(self.map.nodes)), view.last_keys)

    @cached_property
    def _capture(self) -> float:
        if self.spec.capture is not None:
            return float(self.spec.capture)
        section = self.spec.rod.section
        sections = section if isinstance(section, (tuple, list)) else (section,)
        radius = max(float(np.linalg.norm(one.outline(), axis=1).max()) for one in sections)
        return max(radius, _OFF_AXIS * self.curve.length)

    def _slip(self, view: RowView, there: Any, inner: Any, tangents: FloatArray) -> FloatArray:
        """Slip (k,), m, in the step: motion of the points along the axis relative to the axis under them."""
        volume, slender = self.indices
        moved = self.map.points(view.q[volume]) - self.map.points(view.start[volume])
        carried = there.points(view.q[slender]) - there.points(view.start[slender])
        return np.asarray(np.einsum("ki,ki->k", tangents, (moved - carried)[inner]))

    def _with_direction(self, view: RowView, rows: Rows) -> Rows:
        """`rows` and two more: the last segment of the channel has no component along the normals of the tip."""
        volume, slender = self.indices
        x, tip = self.map.points(view.q[volume]), self.curve.at(np.array([self.curve.length]))
        segment = x[-1] - x[-2]
        normals = tip.frames(view.q[slender])[0, :, 1:].T
        ahead = sparse.csr_matrix(np.hstack([np.zeros((2, 3 * len(x) - 6)), -normals, normals]))
        turns = np.cross(normals, segment)  # δ(n · d) = (ω × n) · d = ω · (n × d)
        H = view.blank(2)
        H[volume] = self.map.pull_back(view.q[volume], ahead)
        H[slender] = tip.pull_back_spins(view.q[slender], sparse.csr_matrix(turns))
        keys = self._first_key + 3 * len(x) + 3 + np.arange(2)
        extra = Rows.of(H, normals @ segment, RowLaw.BILATERAL, key=keys)
        return joined([rows, extra])

    def _keys(self, inner: Any, width: int, total: int) -> Any:
        own = (3 * inner[:, None] + np.arange(width)).ravel()
        return np.concatenate([own, 3 * len(self.map.nodes) + np.arange(total - len(own))])

    def _check(self, x: FloatArray, q: FloatArray) -> None:
        """Initially the axis must pass or point at the points of the channel, and end at a fixed end."""
        arc, slides = self._project(q, x)
        there = self.curve.at(arc)
        rest = x - there.points(q)
        away = np.linalg.norm(rest, axis=1)
        if not self.spec.fixed_end:  # points ahead of the tip must lie within 45° of its direction
            ahead = np.einsum("ki,ki->k", rest, there.frames(q)[:, :, 0])
            away = np.where(slides, away, np.maximum(np.sqrt(np.maximum(away**2 - ahead**2, 0.0)) - ahead, 0.0))
        worst = int(np.argmax(away))
        allowed = _OFF_AXIS * self.curve.length
        if self.spec.fixed_end and away[-1] > allowed:
            raise InputError(
                f"the tip of {self.spec.rod.name!r} is {1e3 * away[-1]:.3g} mm from the last point of {self.name!r}: "
                "it is longer or shorter than its channel; move the point, or set fixed_end=False"
            )
        if away[worst] > allowed:
            raise InputError(
                f"point {worst} of {self.name!r} is {1e3 * away[worst]:.3g} mm from the axis of {self.spec.rod.name!r} "
                "initially; let the axis pass the points, or remove those behind its base"
            )


@dataclass(frozen=True, eq=False)
class StiffChannelRows(ChannelRows):
    """Rows of a channel of a rod. Points of a rod are nonlinear in its strains, so forces there add stiffness, that of
    dead forces at fixed points of the axis: under tension the rod stiffens like a string.
    """

    @property
    def stiff_keys(self) -> IndexArray:
        """Identities of the rows, three for each sliding point and three for the end."""
        return np.asarray(self._first_key + np.arange(3 * len(self.map.nodes) + 3), np.int64)

    def rows(self, view: RowView, found: Any = None) -> tuple[Rows, None]:
        """Distances of the channel's points from the axis, and their gradients."""
        plan, sizes = self._plan, view.sizes
        volume, slender = self.indices
        x, q = writable(view.q[volume]), writable(view.q[slender])
        x_0, q_0 = (writable(view.start[volume]), writable(view.start[slender])) if plan.friction else (x, q)
        slides, gap, own, rod = plan.space()
        count = sliding_rows(
            q, q_0, x, x_0, plan.kinds, plan.basis, plan.starts, plan.nodes, plan.weights,
            self._all if plan.fixed_end else self._captured(view), self._capture, plan.fixed_end, plan.width, slides,
            gap, own, rod,
        )  # fmt: skip
        known = plan.known(slides)
        if count < plan.most:
            gap, own, rod = gap[:count], own[:count], rod[:count]
        of_volume = csr(own.reshape(-1), *known.volume, (count, sizes[volume]))
        of_rod = csr(rod.reshape(-1), *known.rod, (count, sizes[slender]))
        H = RowBlocks(count, sizes, {volume: of_volume, slender: of_rod})
        made = filled(Rows, {"H": H, "gap": gap, **known.columns})
        return (self._with_direction(view, made) if self.spec.end_direction else made), None

    @cached_property
    def _all(self) -> BoolArray:
        return np.ones(len(self.map.nodes), bool)

    @property
    def stiff_models(self) -> tuple[int, ...]:
        """Indices of the volume and the rod: the motion of either turns the directions of the forces."""
        return self.indices

    def stiffness(self, q: Sequence[FloatArray], lam: FloatArray, scale: float) -> Stiffnesses:
        """`scale` × (−λ ∂²δ/∂q²) of the rod."""
        if not np.count_nonzero(lam):
            return
        volume, slender = self.indices
        plan = self._plan
        K = np.empty((len(plan.active), len(plan.active)))
        sliding_stiffness(
            writable(q[slender]), writable(q[volume]), plan.kinds, plan.basis, plan.starts, plan.nodes, plan.weights,
            plan.fixed_end, lam.reshape(-1, 3), scale, K,
        )  # fmt: skip
        yield slender, MatrixStiffness(K)

    def coupling(self, q: Sequence[FloatArray], lam: FloatArray, sizes: Sequence[int]) -> Coupling:
        """Coupling of volume and rod by the forces F of sliding points; exact on the axis.

        With the slip τ = t·(dx − J dq) of a point along the axis and the rotation ρ = (t × F)·ω of the axis there, F
        turns by −t (ρ + c τ), c = F·∂t/∂s, and its point of application on the rod moves by τ: K = τᵀρ + ρᵀτ + c τᵀτ.
        """
        volume, slender = self.indices
        arc, slides = self._project(q[slender], self.map.points(q[volume]))
        there = self.curve.at(arc[slides])
        frames, turns = there.frames(q[slender]), there.jacobians(q[slender])[1]
        count, active = len(frames), self.curve.model.active
        tangents = frames[:, :, 0]
        F = np.einsum("kri,ki->kr", frames[:, :, 1:], lam.reshape(-1, 3)[:-1][slides][:, :2])
        strains = q[slender][4:].reshape(-1, 2, 3)[there.section]
        bends = np.cross(strains[:, 0], strains[:, 1]) / np.einsum("ki,ki->k", strains[:, 1], strains[:, 1])[:, None]
        c = np.einsum("kr,kri,ki->k", F, frames, bends)
        directions = np.zeros((len(arc), 1, 3))
        directions[slides, 0] = tangents
        slips = self.map.pull_back_along(q[volume], directions)[np.flatnonzero(slides)]
        rod = np.zeros((2 * count, sizes[slender]))
        rod[:count] = -there.pull_back_along(q[slender], tangents[:, None]).toarray()
        rod[count:, active] = np.einsum("kr,krn->kn", np.cross(tangents, F), turns)
        E = [sparse.csr_matrix((2 * count, size)) for size in sizes]
        E[volume] = sparse.vstack([slips, sparse.csr_matrix(slips.shape)], format="csr")
        E[slender] = sparse.csr_matrix(rod)
        one = np.eye(count)
        return Coupling(tuple(E), np.block([[np.zeros((count, count)), one], [one, -np.diag(c)]]))

    @cached_property
    def _plan(self) -> SlidingPlan:
        return SlidingPlan.of(self.curve.model, self.map, self.spec, self._first_key)
