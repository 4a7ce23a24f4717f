"""Cables: an inextensible string through points of bodies, pulled at one end.

With L the length along the via points, δ = L₀ − L is how much the cable has shortened and H = −∂L/∂q; λ is the
tension at the pulled end, ≥ 0. Commanded to shorten by u the cable obeys δ ≥ u, λ ≥ 0, one of them tight: it goes slack
rather than push. Its tension stiffens the bodies across the cable by λ ∂²L/∂q², which is positive semi-definite.

With friction μ in its guides a cable has one tension for each piece. Where it turns by θ at a via point the tensions
on both sides obey e^(−μθ) ≤ T₊/T ≤ e^(μθ), and the cable slips there only at one of the bounds (Euler's capstan). The
step's slip at the via point is what the length beyond it changes by; its row has the law `Law.CAPSTAN`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from scipy import sparse

from pliant.actuators.drive import USUAL_TRAVEL, Actuator, ActuatorRows, ControlRange
from pliant.actuators.limits import Command, Limits, check_rates, command, per_second
from pliant.actuators.values import Cut, Displacement, Force, LengthRatio
from pliant.constraints.keys import CABLE_FRICTION, row_keys
from pliant.constraints.rows import RowLaw, Rows, RowView, Stiffnesses
from pliant.core.checks import finite_array, non_negative, positive
from pliant.core.errors import InputError
from pliant.core.kernels import kernel
from pliant.core.types import FloatArray, IndexArray, IntArray
from pliant.models.body import Model
from pliant.models.pieces import Pieces
from pliant.models.volume import Fibre

CUT = Command(by_force=True, amount=0.0, for_good=True)


@per_second
@dataclass(frozen=True, eq=False)
class Cable(Actuator):
    """A cable through `via_points` (k, 3) m of `body`, given in the frame of its mesh; the last one is the anchor.

    body
        One body for all points, or one for each: volumes, beams, rigid bodies (points in their own axes), or None for a
        point fixed in the world.
    pull_point
        Where the cable leaves for its motor, (3,) m fixed in the world; None: at the first via point.
    min_force, max_force
        Bounds of the tension, N; min_force ≥ 0.
    max_displacement
        Largest shortening that may be asked for, m.
    max_rate, max_force_rate
        Largest rate of the displacement (m/s) and of the tension (N/s): a command farther away than a step of dt allows
        is approached by rate × dt each step.
    friction
        Coulomb's μ ≥ 0 between the cable and its guides.
    guide_stiffness
        Axial stiffness EA, N, of a tube in which the cable runs through its volumes; 0: none.
    reach
        How far outside the mesh a via point may lie, m; it then rides on the nearest cell. For coarse meshes of thin
        robots.
    """

    body: Any
    via_points: Any
    _: KW_ONLY
    pull_point: Any = None
    min_force: float = 0.0
    max_force: float = np.inf
    max_displacement: float = np.inf
    max_rate: float = np.inf
    max_force_rate: float = np.inf
    friction: float = 0.0
    guide_stiffness: float = 0.0
    reach: float = 0.0
    name: str = "cable"

    def __post_init__(self) -> None:
        points = finite_array(f"via_points of {self.name!r}", self.via_points, shape=(None, 3))
        if len(points) + (self.pull_point is not None) < 2:
            raise InputError(f"{self.name!r} has {len(points)} points; a cable needs two, or a pull_point and one")
        if isinstance(self.body, Sequence) and len(self.body) != len(points):
            raise InputError(f"{self.name!r} has {len(points)} via points but {len(self.body)} bodies; give one each")
        if not self.bodies:
            raise InputError(f"every point of {self.name!r} is fixed in the world; it would pull nothing")
        non_negative(f"min_force of {self.name!r}", self.min_force, unit="N")
        non_negative(f"reach of {self.name!r}", self.reach, unit="m")
        non_negative(f"friction of {self.name!r}", self.friction)
        non_negative(f"guide_stiffness of {self.name!r}", self.guide_stiffness, unit="N")
        check_rates(self, "max_rate", "max_force_rate")
        if not self.max_force > self.min_force:
            raise InputError(f"max_force of {self.name!r} is {self.max_force:g} N, but min_force {self.min_force:g} N")

    @property
    def point_bodies(self) -> tuple[Any, ...]:
        """The body of each via point, None for those fixed in the world."""
        if isinstance(self.body, Sequence):
            return tuple(self.body)
        return (self.body,) * len(np.asarray(self.via_points))

    @property
    def bodies(self) -> tuple[Any, ...]:
        """The bodies that the cable runs through, each once."""
        return tuple(dict.fromkeys(body for body in self.point_bodies if body is not None))

    def constraint(self, key: int) -> CableRows:
        """Its rows, before its bodies are compiled."""
        return CableRows.of(self, key)

    def control_range(self) -> ControlRange:
        """How much it may be shortened by."""
        high = self.max_displacement if np.isfinite(self.max_displacement) else USUAL_TRAVEL["m"]
        return ControlRange(Displacement, "m", 0.0, high, 0.0)

    @property
    def limits(self) -> Limits:
        """What the motor may do, N and m."""
        rates = {"force_rate": self.max_force_rate, "rate": self.max_rate}
        return Limits(self.min_force, self.max_force, most=self.max_displacement, **rates)

    def command(self, value: Any) -> Command:
        """A checked command from a control value."""
        if isinstance(value, Cut):
            return CUT
        if isinstance(value, LengthRatio):
            value = Displacement((1.0 - positive(f"LengthRatio of {self.name!r}", value.value)) * self.rest_length)
        if isinstance(value, Force):
            non_negative(f"force of {self.name!r}", value.value, unit="N")
        free = replace(self.limits, lower=0.0)  # a motor may let go
        return command(self.name, value, free, displacement=self.kinds[0], force=self.kinds[1])

    @property
    def rest_length(self) -> float:
        """Length through its via points at rest, m, of a cable that lies in one body."""
        if self.pull_point is not None or len(self.bodies) > 1 or None in self.point_bodies:
            raise InputError(
                f"the length of {self.name!r} depends on where its bodies and its pull_point stand; a LengthRatio is "
                "for cables inside one body: use pl.Displacement(m)"
            )
        return float(np.linalg.norm(np.diff(np.asarray(self.via_points, float), axis=0), axis=1).sum())

    def guides(self) -> list[Fibre]:
        """The tubes in which the cable runs: fibres between neighbouring via points of the same volume."""
        if not self.guide_stiffness:
            return []
        points, owners = np.asarray(self.via_points, float), self.point_bodies
        ends = [k for k in range(1, len(owners)) if owners[k] is not owners[k - 1]]
        made = []
        for start, end in zip([0, *ends], [*ends, len(owners)], strict=True):
            if getattr(owners[start], "takes_fibres", False) and end - start > 1:
                name = f"guide of {self.name}"
                options: dict[str, Any] = {"stiffness": self.guide_stiffness, "reach": self.reach, "name": name}
                made.append(Fibre(owners[start], points[start:end], **options))
        return made


@dataclass(frozen=True, eq=False)
class Ride:
    """The via points on one body: their indices `order` (p,) in the path, those of the pieces they end, `own` (s,), and
    the `pieces` themselves.
    """

    body: Any
    order: IntArray
    own: IntArray
    pieces: Pieces
    number: int = -1

    @property
    def map(self) -> Any:
        """That of the via points on the compiled body."""
        return self.pieces.map


@dataclass(frozen=True, eq=False)
class CableMemory:
    """What a cable remembers: whether it has been cut."""

    cut: bool

    def arrays(self) -> dict[str, Any]:
        """Everything as arrays, for saving."""
        return {"cut": np.array(self.cut)}

    @classmethod
    def from_arrays(cls, arrays: dict[str, Any]) -> CableMemory:
        """What `arrays` gave."""
        return cls(bool(arrays["cut"]))


@dataclass(frozen=True, eq=False)
class CableRows(ActuatorRows):
    """The rows of one cable: its motor, and with friction its via points. `rest_length` is L₀, m; `key` identifies the
    motor's row.
    """

    spec: Cable
    fixed: FloatArray
    rides: tuple[Ride, ...]
    key: int
    rest_length: float = 0.0

    memory_type = CableMemory
    drawn_as: ClassVar[str | None] = "cable"

    @classmethod
    def of(cls, spec: Cable, key: int) -> CableRows:
        """The rows of `spec`, before its bodies are compiled."""
        via = finite_array("via_points", spec.via_points, shape=(None, 3))
        owners: list[Any] = list(spec.point_bodies)
        if spec.pull_point is not None:
            via = np.vstack([finite_array("pull_point", spec.pull_point, shape=(3,)), via])
            owners.insert(0, None)
        rides = tuple(_ride(spec, body, via, owners) for body in spec.bodies)
        return cls(spec, via, rides, key)

    def couplings(self, body: Any) -> list[IntArray]:
        """Node sets of a volume or a beam that the stiffness of the cable couples."""
        return [nodes for ride in self.rides if ride.body is body for nodes in ride.pieces.couplings()]

    def bound(self, models: Sequence[Model]) -> CableRows:
        """The rows in a world of `models`."""
        rides = []
        for ride in self.rides:
            number = next(k for k, model in enumerate(models) if model.spec is ride.body)
            rides.append(replace(ride, number=number, pieces=ride.pieces.bound(models[number])))
        made = replace(self, rides=tuple(rides))
        return replace(made, rest_length=made.length([model.initial()[0] for model in models]))

    @cached_property
    def keys(self) -> IndexArray:
        """Identities of the rows."""
        inner = len(self.fixed) - 2 if self.spec.friction else 0
        return np.concatenate([[self.key], row_keys(CABLE_FRICTION, self.key, inner)]).astype(np.int64)

    @property
    def name(self) -> str:
        """Name of the cable."""
        return self.spec.name

    @property
    def numbers(self) -> tuple[int, ...]:
        """Numbers of the models."""
        return tuple(ride.number for ride in self.rides)

    def holds(self, index: int) -> bool:
        """Whether the cable may hold body `index` in its place: it ends in the world or on another body."""
        return index in self.numbers and (len(self.numbers) > 1 or len(self.rides[0].order) < len(self.fixed))

    def length(self, q: Sequence[FloatArray]) -> float:
        """Length along the via points, m."""
        return float(np.linalg.norm(np.diff(self.path(q), axis=0), axis=1).sum())

    def displacement(self, q: Sequence[FloatArray]) -> float:
        """How much the cable has shortened, m."""
        return self.rest_length - self.length(q)

    def path(self, q: Sequence[FloatArray]) -> FloatArray:
        """Points along the cable, the pull point first, (k, 3), m, with the models at q."""
        if len(self.rides) == 1 and len(self.rides[0].order) == len(self.fixed):
            return np.asarray(self.rides[0].map.points(q[self.rides[0].number]))
        path = self.fixed.copy()
        for ride in self.rides:
            path[ride.order] = ride.map.points(q[ride.number])
        return path

    def rows(self, view: RowView, found: Any = None) -> tuple[Rows, CableMemory | None]:
        """Shortening so far and its gradient; with friction the slip at each via point."""
        spec = self.spec
        lengths, units = _pieces(self.path(view.q))
        H = view.blank(1)
        self._pull(view, units, H)
        control = view.controls.get(spec, Command(by_force=True, amount=spec.min_force))
        cut = control.for_good or (view.memory is not None and view.memory.cut)
        if cut:
            law, lower, upper, target = int(RowLaw.IMPOSED), -np.inf, np.inf, 0.0
        else:
            law, lower, upper, target = spec.limits.law(
                control, view.interval, lambda: self.displacement(view.start), lambda: view.last_force(self.key)
            )
        memory = CableMemory(True) if cut else None
        gap = self.rest_length - float(lengths.sum())
        if not spec.friction:
            return Rows.of(H, gap, law, lower=lower, upper=upper, target=target, key=self.key), memory
        return self._with_friction(view, H, lengths, units, gap, (law, lower, upper, target)), memory

    @property
    def stiff_models(self) -> tuple[int, ...]:
        """Indices of the models."""
        return self.numbers

    @property
    def stiff_keys(self) -> IndexArray:
        """Identities of the rows."""
        return self.keys

    def stiffness(self, q: Sequence[FloatArray], lam: FloatArray, scale: float) -> Stiffnesses:
        """`scale` λ ∂²L/∂q² of each body at tensions λ (N), without what couples two bodies."""
        if not lam[0] > 0.0:
            return
        lengths, units = _pieces(self.path(q))
        tension = np.full(len(lengths), lam[0])
        tension[1:] -= np.cumsum(lam[1:]) if self.spec.friction else 0.0
        across = scale * tension / lengths
        for ride in self.rides:
            K = ride.pieces.stiffness(q[ride.number], across[ride.own], units[ride.own])
            if K is not None:
                yield ride.number, K

    def _pull(self, view: RowView, units: FloatArray, H: list[sparse.csr_matrix]) -> None:
        """−∂L/∂q of the models, from the directions of the pieces."""
        slope = np.empty((len(units) + 1, 3))
        slope[:-1], slope[-1] = units, 0.0
        slope[1:] -= units
        for ride in self.rides:
            H[ride.number] = ride.map.pull_one(view.q[ride.number], slope[ride.order])

    def _with_friction(
        self, view: RowView, H: list[sparse.csr_matrix], lengths: FloatArray, units: FloatArray, gap: float, motor: Any
    ) -> Rows:
        """The motor's row and one for each via point that the cable passes: its tension falls there by λ."""
        inner = len(units) - 1
        beyond = np.triu(np.ones((inner, inner + 1)), 1)  # the pieces behind each via point
        slope = np.zeros((inner, inner + 2, 3))
        slope[:, :-1] -= beyond[:, :, None] * units
        slope[:, 1:] += beyond[:, :, None] * units
        for ride in self.rides:
            points = sparse.csr_matrix(slope[:, ride.order].reshape(inner, -1))
            H[ride.number] = sparse.vstack([H[ride.number], ride.map.pull(view.q[ride.number], points)], format="csr")
        empty = view.blank(1 + inner)
        touched = {ride.number for ride in self.rides}
        H = [h if number in touched else empty[number] for number, h in enumerate(H)]
        before, _ = _pieces(self.path(view.start))
        slip = beyond @ (lengths - before)
        turn = np.arccos(np.clip(np.einsum("si,si->s", units[:-1], units[1:]), -1.0, 1.0))
        law, lower, upper, target = motor
        return Rows.of(
            H,
            np.concatenate([[gap], slip]),
            np.concatenate([[law], np.full(inner, RowLaw.CAPSTAN)]),
            lower=np.concatenate([[lower], -np.expm1(self.spec.friction * turn)]),
            upper=np.concatenate([[upper], -np.expm1(-self.spec.friction * turn)]),
            target=np.concatenate([[target], np.zeros(inner)]),
            key=self.keys,
        )


def _ride(spec: Cable, body: Any, via: FloatArray, owners: Sequence[Any]) -> Ride:
    order = np.array([k for k, owner in enumerate(owners) if owner is body], np.int32)
    own = np.unique(np.concatenate([order - 1, order]))
    own = own[(own >= 0) & (own < len(via) - 1)].astype(np.int32)
    place = {int(k): p for p, k in enumerate(order)}
    pairs = [((int(s), -1.0), (int(s) + 1, 1.0)) for s in own]
    ends = [[(place[k], sign) for k, sign in pair if k in place] for pair in pairs]
    pieces = body.pieces(via[order], ends, what=f"via points of cable {spec.name!r}", reach=spec.reach)
    return Ride(body, order, own, pieces)


def _pieces(path: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Lengths (s,), m, never quite zero, and directions (s, 3) of the pieces of a path."""
    lengths, units = np.empty(len(path) - 1), np.empty((len(path) - 1, 3))
    _measure_pieces(path, lengths, units)
    return lengths, units


@kernel
def _measure_pieces(path: FloatArray, lengths: FloatArray, units: FloatArray) -> None:
    total = 0.0
    for s in range(len(lengths)):
        squares = 0.0
        for c in range(3):
            units[s, c] = path[s + 1, c] - path[s, c]
            squares += units[s, c] ** 2
        lengths[s] = np.sqrt(squares)
        total += lengths[s]
    for s in range(len(lengths)):
        lengths[s] = max(lengths[s], 1e-12 * total)
        for c in range(3):
            units[s, c] /= lengths[s]
