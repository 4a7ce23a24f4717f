"""Cables: inextensible strings through points of bodies, pulled at one end.

With L the length along the via points, δ = L₀ − L is the shortening and H = −∂L/∂q; λ ≥ 0 is the tension at the pulled
end. A commanded shortening u is unilateral, 0 ≤ δ − u ⟂ λ ≥ 0: the cable goes slack rather than push. The tension adds
the positive semi-definite stiffness λ ∂²L/∂q².

With guide friction μ each segment has its own tension. At a via point that deflects the cable by θ the tensions on both
sides obey e^(−μθ) ≤ T₊/T ≤ e^(μθ); the cable slips only at a bound (Euler's capstan). The slip of a step is the change
of the length beyond the via point; its row has the law `Law.CAPSTAN`.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from functools import cached_property, partial
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
from scipy import sparse

from pliant.actuators.cable_bundle import CableBundle
from pliant.actuators.cable_slip import beyond_guides, slips_by_start, turn_slopes
from pliant.actuators.drive import USUAL_SHORTENING, USUAL_TRAVEL
from pliant.actuators.limits import per_second
from pliant.actuators.strands import Middles, Strand
from pliant.actuators.tension import CableMemory, TensionActuator, TensionRows
from pliant.constraints.keys import CABLE_FRICTION, row_keys
from pliant.constraints.row_blocks import RowBlocks
from pliant.constraints.rows import Constraint, Rows, RowView, Stiffnesses, model_index
from pliant.core.arrays import frozen
from pliant.core.checks import finite_array, non_negative
from pliant.core.declared import check_declared
from pliant.core.errors import InputError
from pliant.core.one_line import one_line
from pliant.core.types import FloatArray, IndexArray, IntArray
from pliant.models.body import Model
from pliant.models.pieces import ROUNDED
from pliant.models.polyline import segments, shortening_slope
from pliant.models.volume import Fibre

_CLOSED = 0.05
"""Length of a piece over the mean of the cable's below which its direction is lost: its ends pass each other."""
_SHORT = 0.5
"""Length over that at rest below which a segment's stiffness changes, over half of this range, to an upper bound."""
_LARGEST_BEND = np.radians(15.0)
"""Bend that one straight piece of a cable may span: its chord is 0.3 % shorter than the arc, and the lever arm of the
tension is wrong by the sagitta, 3 % of the length of the piece.
"""


@one_line
@per_second
@dataclass(frozen=True, eq=False)
class Cable(TensionActuator):
    """A cable through `via_points` (k, 3) m of `body`, given in the frame of its mesh; the last one is the anchor.

    body
        One body for all points, or one for each: volumes, beams, rigid bodies (points in their own axes), or None for a
        point fixed in the world.
    pull_point
        Where the cable leaves for its motor, (3,) m fixed in the world; None: the first via point.
    min_force, max_force
        Bounds of the tension, N; min_force ≥ 0.
    max_displacement
        Largest commanded shortening, m.
    max_rate, max_force_rate
        Largest rate of the displacement (m/s) and of the tension (N/s): each step approaches a distant command by at
        most rate × dt.
    friction
        Coulomb's μ ≥ 0 between the cable and its guides.
    guide_stiffness
        Axial stiffness EA, N, of a tube in which the cable runs through its volumes; 0: none.
    reach
        Largest distance of a via point outside the mesh, m; it is then embedded in the nearest cell.
    """

    body: Any
    via_points: Any
    _: KW_ONLY
    pull_point: Any = None
    guide_stiffness: float = 0.0
    reach: float = 0.0
    name: str = "cable"

    def __post_init__(self) -> None:
        check_declared(self)
        points = finite_array(f"via_points of {self.name!r}", self.via_points, shape=(None, 3))
        if len(points) + (self.pull_point is not None) < 2:
            raise InputError(f"{self.name!r} has {len(points)} points; a cable needs two, or a pull_point and one")
        if isinstance(self.body, Sequence) and len(self.body) != len(points):
            raise InputError(f"{self.name!r} has {len(points)} via points but {len(self.body)} bodies; give one each")
        if not self.bodies:
            raise InputError(f"every point of {self.name!r} is fixed in the world; give a body for at least one")
        non_negative(f"reach of {self.name!r}", self.reach, unit="m")
        non_negative(f"guide_stiffness of {self.name!r}", self.guide_stiffness, unit="N")
        super().__post_init__()

    @property
    def point_bodies(self) -> tuple[Any, ...]:
        """The body of each via point, None for those fixed in the world."""
        given = tuple(self.body) if isinstance(self.body, Sequence) else (self.body,) * len(np.asarray(self.via_points))
        if isinstance(self.body, (str, bytes)) or not all(isinstance(body, Hashable) for body in given):
            raise InputError(f"body of {self.name!r} must be a body, or a list of them, got {self.body!r:.60}")
        return given

    @property
    def bodies(self) -> tuple[Any, ...]:
        """The bodies that the cable runs through, each once."""
        return tuple(dict.fromkeys(body for body in self.point_bodies if body is not None))

    def constraint(self, key: int) -> CableRows:
        """Its rows, not yet bound to models."""
        via = finite_array("via_points", self.via_points, shape=(None, 3))
        owners: list[Any] = list(self.point_bodies)
        if self.pull_point is not None:
            via = np.vstack([finite_array("pull_point", self.pull_point, shape=(3,)), via])
            owners.insert(0, None)
        return CableRows(self, via, tuple(_strand(self, body, via, owners) for body in self.bodies), key)

    @property
    def usual_shortening(self) -> float:
        """Slider range, m, where neither shortening nor tension is limited."""
        length = float(np.linalg.norm(np.diff(np.asarray(self.via_points, float), axis=0), axis=1).sum())
        return min(USUAL_TRAVEL["m"], USUAL_SHORTENING * length) if len(self.bodies) == 1 else USUAL_TRAVEL["m"]

    @property
    def rest_length(self) -> float:
        """Length along the via points at rest, m, of a cable inside one body."""
        if self.pull_point is not None or len(self.bodies) > 1 or None in self.point_bodies:
            raise InputError(
                f"the length of {self.name!r} depends on the poses of its bodies and its pull_point; a LengthRatio is "
                "for cables inside one body: use pl.Displacement(m)"
            )
        return float(np.linalg.norm(np.diff(np.asarray(self.via_points, float), axis=0), axis=1).sum())

    def guides(self) -> list[Fibre]:
        """The tubes around the cable: fibres between consecutive via points of the same volume."""
        if not self.guide_stiffness:
            return []
        points, owners = np.asarray(self.via_points, float), self.point_bodies
        ends = [k for k in range(1, len(owners)) if owners[k] is not owners[k - 1]]
        options: dict[str, Any] = {"stiffness": self.guide_stiffness, "reach": self.reach}
        return [
            Fibre(owners[start], points[start:end], name=f"guide of {self.name}", **options)
            for start, end in pairwise([0, *ends, len(owners)])
            if getattr(owners[start], "takes_fibres", False) and end - start > 1
        ]


@dataclass(frozen=True, eq=False)
class CableRows(TensionRows):
    """The rows of one cable: its motor's, and with friction those of its via points. `fixed` (k, 3) m are all points in
    the frames they were given in; `rest_length` is L₀, m, and `rest_lengths` (s,) those of its segments.
    """

    spec: Cable
    fixed: FloatArray
    strands: tuple[Strand, ...]
    key: int
    rest_length: float = 0.0
    rest_lengths: FloatArray = field(default_factory=lambda: np.zeros(0))
    middles: tuple[Middles, ...] = ()

    drawn_as: ClassVar[str | None] = "cable"

    def couplings(self, body: Any) -> list[IntArray]:
        """Node sets of a volume or a beam that the stiffness of the cable couples."""
        return [nodes for strand in self.strands if strand.body is body for nodes in strand.pieces.couplings()]

    def bound(self, models: Sequence[Model], *, stiffens: bool = True) -> CableRows:
        """The rows in a world of `models`, whose matrices have a place for its stiffness if it `stiffens`."""
        strands = []
        for strand in self.strands:
            index, pieces = model_index(models, strand.body), strand.pieces
            if stiffens or pieces.map is None:
                pieces = pieces.bound(models[index])
            strands.append(replace(strand, index=index, order=frozen(strand.order), pieces=pieces))
        middles = (Middles.of(strand, self.fixed, models[strand.index]) for strand in strands)
        found = tuple(some for some in middles if some is not None)
        made = replace(self, strands=tuple(strands), middles=found, fixed=frozen(self.fixed))
        rest = [model.initial()[0] for model in models]
        return replace(made, rest_length=made.length(rest), rest_lengths=frozen(made._segments(rest)[0]))

    @cached_property
    def stiff_keys(self) -> IndexArray:
        """Identities of the rows."""
        inner = len(self.fixed) - 2 if self.spec.friction else 0
        return np.concatenate([[self.key], row_keys(CABLE_FRICTION, self.key, inner)]).astype(np.int64)

    @property
    def bundle_key(self) -> Any:
        """The body of a cable that runs through it alone, without friction."""
        strand = self.strands[0]
        joins = self._is_simple and strand.pieces.joins(self.fixed)
        return (CableRows, strand.index) if joins else None

    @classmethod
    def bundle(cls, first: int, members: Sequence[CableRows]) -> CableBundle:
        """Neighbouring cables through one body."""
        return CableBundle(first, tuple(members), _SHORT)

    def carried(self, index: int) -> list[tuple[Any, Callable[[Any], Constraint]]] | None:
        """Its via points in the body."""
        own = [k for k, strand in enumerate(self.strands) if strand.index == index]
        return [(self.strands[k].pieces.map, partial(self._carried_by, k)) for k in own]

    def _carried_by(self, k: int, points: Any) -> CableRows:
        strand = self.strands[k]
        other = replace(strand, pieces=replace(strand.pieces, map=points))
        return replace(self, strands=(*self.strands[:k], other, *self.strands[k + 1 :]))

    @property
    def stiff_models(self) -> tuple[int, ...]:
        """Indices of the models."""
        return tuple(strand.index for strand in self.strands)

    def constrains(self, index: int) -> bool:
        """Whether the cable may constrain body `index`: it ends in the world or on another body."""
        return index in self.stiff_models and (len(self.strands) > 1 or len(self.strands[0].order) < len(self.fixed))

    def length(self, q: Sequence[FloatArray]) -> float:
        """Length along the via points, m."""
        return float(np.linalg.norm(np.diff(self.path(q), axis=0), axis=1).sum())

    def path(self, q: Sequence[FloatArray]) -> FloatArray:
        """Points along the cable, the pull point first, (k, 3), m, with the models at q."""
        if len(self.strands) == 1 and len(self.strands[0].order) == len(self.fixed):
            return np.asarray(self.strands[0].pieces.map.points(q[self.strands[0].index]))
        path = self.fixed.copy()
        for strand in self.strands:
            path[strand.order] = strand.pieces.map.points(q[strand.index])
        return path

    def rows(self, view: RowView, found: Any = None) -> tuple[Rows, CableMemory | None]:
        """Shortening and its gradient; with friction also the slip at each via point."""
        spec, H = self.spec, view.blank(1)
        motor, memory = self.motor_law(view)
        if self._is_simple:
            strand = self.strands[0]
            length, H[strand.index] = strand.pieces.map.shortening(view.q[strand.index], strand.order, self.fixed)
        else:
            lengths, units = self._segments(view.q)
            self._pull_back(view, units, H)
            length = float(lengths.sum())
            if spec.friction:
                gap = self.rest_length - length
                return self._with_friction(view, H, lengths, units, gap, motor), memory
        return Rows.drive(H, self.rest_length - length, motor, self.key), memory

    def by_start(self, view: RowView) -> list[sparse.csr_matrix] | None:
        """∂δ/∂q (rows, unknowns) of each model by the start of a step at a fixed end: slip in guides counts from it."""
        return slips_by_start(self.strands, view, self._segments(view.start)[1]) if self.spec.friction else None

    def turn_slopes(self, q: Sequence[FloatArray], guide: int) -> list[tuple[int, sparse.csr_matrix]]:
        """∂θ/∂q (1, unknowns) of the angle θ by which a `guide` deflects the cable, by the index of the model."""
        return turn_slopes(self.strands, q, guide, *self._segments(q))

    def warnings(self, view: RowView, memory: Any) -> tuple[str, ...]:
        """A warning where a straight piece of the cable cuts across a bend of the body."""
        path = self.path(view.q)
        for some in self.middles:
            bends, sagitta = some.bends(path, view.q[some.index])
            worst = int(np.argmax(bends))
            if bends[worst] > _LARGEST_BEND:
                text = (
                    f"a piece of {self.spec.name!r} spans {np.degrees(bends[worst]):.0f}° of bend and runs straight, "
                    f"{1e3 * sagitta[worst]:.2g} mm off its place in the material: give the cable more via points, one "
                    f"for every {np.degrees(_LARGEST_BEND):.0f}° or less"
                )
                return (text,)
        return ()

    def obstruction(self, q: Sequence[FloatArray]) -> str | None:
        """The shortest piece of the cable where it has no length left."""
        pieces = np.linalg.norm(np.diff(self.path(q), axis=0), axis=1)
        worst = int(np.argmin(pieces))
        if pieces[worst] > _CLOSED * pieces.sum() / len(pieces):
            return None
        return (
            f"{self.name!r} has closed the gap between its via points {worst} and {worst + 1}, which meet, and cannot "
            "get shorter there: pull less, give the cable tubes that keep its via points apart (`guide_stiffness`), or "
            "let the body collide with itself so that its parts touch before"
        )

    def stiffness(self, q: Sequence[FloatArray], lam: FloatArray, scale: float) -> Stiffnesses:
        """`scale` λ ∂²L/∂q² of each body at tensions λ (N), without the coupling between bodies."""
        return self._stiffness(q, lam, scale, 0.0)

    def bounded_stiffness(self, q: Sequence[FloatArray], lam: FloatArray, scale: float) -> Stiffnesses:
        """The same, bounded from below where segments are short.

        Ends of a segment that nearly meet pass each other in one step, and the direction of the segment turns over:
        Newton's iteration for the minimum of √(x² + y²) goes to and fro where y > x. There the stiffness is that of
        λ ℓ²/2ℓ₀, which bounds λ ℓ from above and acts along the segment too.
        """
        return self._stiffness(q, lam, scale, _SHORT)

    def _stiffness(self, q: Sequence[FloatArray], lam: FloatArray, scale: float, short: float) -> Stiffnesses:
        """The stiffness, bounded below the fraction `short` of the length of a segment at rest."""
        if not lam[0] > 0.0:
            return
        if self._is_simple:
            strand = self.strands[0]
            bound = self.rest_lengths, short
            K = strand.pieces.path_stiffness(q[strand.index], strand.order, self.fixed, scale * float(lam[0]), bound)
            if K is not None:
                yield strand.index, K
                return
        lengths, units = self._segments(q)
        across = scale * self.tensions(lam, len(lengths)) / lengths
        squares = np.einsum("si,si->s", units, units)
        bounded = (squares < ROUNDED).astype(np.float64)  # λ ℓ is λ ℓ²/2ε there, of the stiffness λ/ε all around
        if bounded.any():
            across *= np.where(bounded > 0.0, 0.5 * (1.0 + squares), 1.0)
        if short:
            bounded = np.maximum(bounded, np.clip(2.0 * (1.0 - lengths / (short * self.rest_lengths)), 0.0, 1.0))
        if bounded.any():
            units = units * np.sqrt(1.0 - bounded)[:, None]
        for strand in self.strands:
            own = slice(None) if len(strand.own) == len(lengths) else strand.own
            K = strand.pieces.stiffness(q[strand.index], across[own], units[own])
            if K is not None:
                yield strand.index, K

    def turning_stiffness(self, q: Sequence[FloatArray], lam: FloatArray, scale: float) -> Stiffnesses:
        """`scale` λ ∂²L/∂q² that comes from lever arms which turn with their body."""
        if not lam[0] > 0.0:
            return
        lengths, units = self._segments(q)
        tension = scale * self.tensions(lam, len(lengths))
        for strand in self.strands:
            own = strand.own
            K = strand.pieces.turning_stiffness(q[strand.index], tension[own], units[own], lengths[own])
            if K is not None:
                yield strand.index, K

    def _segments(self, q: Sequence[FloatArray]) -> tuple[FloatArray, FloatArray]:
        """Lengths (s,), m, rounded near zero, and directions (s, 3) of the segments with the models at q."""
        if len(self.strands) == 1:
            strand = self.strands[0]
            found: tuple[FloatArray, FloatArray] = strand.pieces.map.segments(q[strand.index], strand.order, self.fixed)
            return found
        return segments(self.path(q))

    @cached_property
    def _is_simple(self) -> bool:
        """Whether it runs through one body, without friction."""
        return len(self.strands) == 1 and not self.spec.friction

    def _pull_back(self, view: RowView, units: FloatArray, H: RowBlocks) -> None:
        """Fill H with −∂L/∂q of the models, from the directions of the segments."""
        slope = shortening_slope(units)
        for strand in self.strands:
            H[strand.index] = strand.pieces.map.pull_back_row(view.q[strand.index], slope[strand.order])

    def _with_friction(
        self, view: RowView, H: RowBlocks, lengths: FloatArray, units: FloatArray, gap: float, motor: Any
    ) -> Rows:
        """The motor's row and one for each inner via point, where the tension drops by λ."""
        inner, slope = len(units) - 1, beyond_guides(units)
        beyond = np.triu(np.ones((inner, inner + 1)), 1)
        for strand in self.strands:
            points = sparse.csr_matrix(slope[:, strand.order].reshape(inner, 3 * len(strand.order)))
            slips = strand.pieces.map.pull_back(view.q[strand.index], points)
            H[strand.index] = sparse.vstack([H[strand.index], slips], format="csr")
        H = RowBlocks(1 + inner, view.sizes, {k: H[k] for k in self.stiff_models})
        before, _ = self._segments(view.start)
        slip = beyond @ (lengths - before)
        turn = np.arccos(np.clip(np.einsum("si,si->s", units[:-1], units[1:]), -1.0, 1.0))
        return self.capstan_rows(H, motor, gap, slip, turn, self.stiff_keys)


def _strand(spec: Cable, body: Any, via: FloatArray, owners: Sequence[Any]) -> Strand:
    """The via points of `spec` in `body`, from all points `via` (k, 3) m and their bodies `owners`."""
    order = np.array([k for k, owner in enumerate(owners) if owner is body], np.int32)
    own = np.unique(np.concatenate([order - 1, order]))
    own = own[(own >= 0) & (own < len(via) - 1)].astype(np.int32)
    local = {int(k): p for p, k in enumerate(order)}
    pairs = [((int(s), -1.0), (int(s) + 1, 1.0)) for s in own]
    ends = [[(local[k], sign) for k, sign in pair if k in local] for pair in pairs]
    pieces = body.pieces(via[order], ends, what=f"via points of cable {spec.name!r}", reach=spec.reach)
    return Strand(body, order, own, pieces)
