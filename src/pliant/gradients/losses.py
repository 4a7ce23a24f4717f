"""Losses: scalars of a run, as sums over its instants, with their derivatives by states and constraint forces.

A loss has `at(instant)`, its part at one instant, and `slope(instant)`, the derivatives of that part. Instants are seen
one at a time, so that no run has to be kept. Losses add, and are scaled by numbers. `Custom` is a loss of all states
and reports at once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass, field
from functools import partial
from typing import Any, ClassVar, Literal

import numpy as np

from pliant.core.checks import finite_array, finite_number, unit_vector
from pliant.core.declared import check_declared
from pliant.core.errors import InputError
from pliant.core.one_line import one_line
from pliant.core.types import FloatArray
from pliant.gradients.finite import STEP, derivative
from pliant.models.volume.rest_slope import energy_slope, mass_slope
from pliant.stepping import StepInfo
from pliant.world import State

__all__ = ["Coordinate", "Custom", "Energy", "Instant", "Loss", "Position", "Slope", "Tension"]


@dataclass(frozen=True, eq=False)
class Instant:
    """An instant of a run: its index, that of the last one, the state, and what the step to it reports (None first)."""

    index: int
    last: int
    state: State
    info: StepInfo | None


@dataclass(frozen=True)
class Slope:
    """Derivatives of a loss at one instant: by positions `q` and velocities `v` of bodies, by their index in the world,
    each of the shape of the displacement of a step (nodes (n, 3); of a rigid body (2, 3), its turn about world axes),
    and by the constraint forces `lam` (rows,); None and absent bodies: zero.
    """

    q: dict[int, FloatArray] = field(default_factory=dict)
    v: dict[int, FloatArray] = field(default_factory=dict)
    lam: FloatArray | None = None

    def scaled(self, factor: float) -> Slope:
        """The slope of `factor` times the loss."""
        q, v = ({k: factor * x for k, x in part.items()} for part in (self.q, self.v))
        return Slope(q, v, None if self.lam is None else factor * self.lam)

    def __add__(self, other: Slope) -> Slope:
        lam = other.lam if self.lam is None else self.lam if other.lam is None else self.lam + other.lam
        return Slope(_joined(self.q, other.q), _joined(self.v, other.v), lam)


NOTHING = Slope()


class Loss:
    """A scalar of a run."""

    by_constants: ClassVar[bool] = False
    """Whether it depends on constants of bodies directly, not only through their motion."""

    def at(self, instant: Instant) -> float:
        """The part of the loss at an instant."""
        raise NotImplementedError

    def slope(self, instant: Instant) -> Slope:
        """The derivatives of that part."""
        raise NotImplementedError

    def by_rest(self, instant: Instant, index: int) -> Any:
        """The derivative of that part by the rest positions (n, 3), m, of the volume `index` in the world, at fixed
        positions; 0 where it is none.
        """
        return 0.0

    def __add__(self, other: Loss) -> Loss:
        return _Sum((self, other))

    def __mul__(self, factor: float) -> Loss:
        return _Scaled(self, finite_number("factor of a loss", factor))

    __rmul__ = __mul__


@dataclass(frozen=True, eq=False)
class _Sum(Loss):
    parts: tuple[Loss, ...]

    @property
    def by_constants(self) -> bool:  # type: ignore[override]
        return any(part.by_constants for part in self.parts)

    def at(self, instant: Instant) -> float:
        return sum(part.at(instant) for part in self.parts)

    def slope(self, instant: Instant) -> Slope:
        made = NOTHING
        for part in self.parts:
            made = made + part.slope(instant)
        return made

    def by_rest(self, instant: Instant, index: int) -> Any:
        return sum(part.by_rest(instant, index) for part in self.parts)


@dataclass(frozen=True, eq=False)
class _Scaled(Loss):
    loss: Loss
    factor: float

    @property
    def by_constants(self) -> bool:  # type: ignore[override]
        return self.loss.by_constants

    def at(self, instant: Instant) -> float:
        return self.factor * self.loss.at(instant)

    def slope(self, instant: Instant) -> Slope:
        return self.loss.slope(instant).scaled(self.factor)

    def by_rest(self, instant: Instant, index: int) -> Any:
        return self.factor * self.loss.by_rest(instant, index)


When = Literal["end", "always"]


@dataclass(frozen=True, eq=False)
class _OverTime(Loss):
    """A loss of one instant, at the end of the run or as the mean over all instants but the first (`when`)."""

    _: KW_ONLY
    when: When = "end"

    def at(self, instant: Instant) -> float:
        share = self._share(instant)
        return share * self._value(instant) if share else 0.0

    def slope(self, instant: Instant) -> Slope:
        share = self._share(instant)
        return self._slope(instant).scaled(share) if share else NOTHING

    def by_rest(self, instant: Instant, index: int) -> Any:
        share = self._share(instant)
        return share * self._by_rest(instant, index) if share else 0.0

    def _by_rest(self, instant: Instant, index: int) -> Any:
        return 0.0

    def _share(self, instant: Instant) -> float:
        if self.when == "end":
            return 1.0 if instant.index == instant.last else 0.0
        return 1.0 / instant.last if instant.index else 0.0

    def _value(self, instant: Instant) -> float:
        raise NotImplementedError

    def _slope(self, instant: Instant) -> Slope:
        raise NotImplementedError


@one_line
@dataclass(frozen=True, eq=False)
class Position(_OverTime):
    """The squared distance of a point from its target, m².

    marker
        `robot.tip`, a `pl.robots.Marker`, or a pair (body, point (3,) m in the frame in which the body was made).
    target
        Where it should be, (3,) m; over time also one for each step (steps, 3).
    when
        "end" or "always": at the end, or the mean over all steps.
    """

    marker: Any
    target: Any

    def __post_init__(self) -> None:
        check_declared(self)
        _body_and_point(self.marker)
        target = np.asarray(finite_array("target of a Position", self.target))
        if target.shape[-1:] != (3,) or target.ndim > 2 or (target.ndim == 2 and self.when == "end"):
            raise InputError(f"target of a Position must have the shape (3,), or (steps, 3) always, got {target.shape}")

    def _value(self, instant: Instant) -> float:
        away = self._away(instant)
        return float(away @ away)

    def _slope(self, instant: Instant) -> Slope:
        return _of_point(self.marker, instant.state, 2.0 * self._away(instant))

    def _by_rest(self, instant: Instant, index: int) -> Any:
        return _by_place(self.marker, instant.state, index, 2.0 * self._away(instant))

    def _away(self, instant: Instant) -> FloatArray:
        target = np.asarray(self.target, np.float64)
        if target.ndim == 2 and len(target) != instant.last:
            raise InputError(f"target of a Position has {len(target)} positions for a run of {instant.last} steps")
        return _point(self.marker, instant.state) - (target[instant.index - 1] if target.ndim == 2 else target)


@one_line
@dataclass(frozen=True, eq=False)
class Coordinate(_OverTime):
    """The coordinate of a point along a `direction` (3,), m; `marker` and `when` as of `Position`."""

    marker: Any
    direction: Any

    def __post_init__(self) -> None:
        check_declared(self)
        _body_and_point(self.marker)
        unit_vector("direction of a Coordinate", self.direction)

    def _value(self, instant: Instant) -> float:
        return float(_point(self.marker, instant.state) @ unit_vector("direction", self.direction))

    def _slope(self, instant: Instant) -> Slope:
        return _of_point(self.marker, instant.state, unit_vector("direction", self.direction))

    def _by_rest(self, instant: Instant, index: int) -> Any:
        return _by_place(self.marker, instant.state, index, unit_vector("direction", self.direction))


@one_line
@dataclass(frozen=True, eq=False)
class Energy(_OverTime):
    """The "elastic" or "kinetic" energy of a volume, J."""

    body: Any
    kind: Literal["elastic", "kinetic"] = "elastic"
    by_constants: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_declared(self)

    def _value(self, instant: Instant) -> float:
        index, model = self._model(instant.state)
        if self.kind == "elastic":
            return float(model.internal(instant.state.q[index])[0])
        return float(model.kinetic_energy(instant.state.q[index], instant.state.v[index]))

    def _slope(self, instant: Instant) -> Slope:
        index, model = self._model(instant.state)
        if self.kind == "elastic":
            return Slope({index: model.internal(instant.state.q[index])[1]})
        return Slope({}, {index: model.mass.apply(instant.state.v[index])})

    def _by_rest(self, instant: Instant, index: int) -> Any:
        own, model = self._model(instant.state)
        if own != index:
            return 0.0
        q, v = instant.state.q[index], instant.state.v[index]
        return energy_slope(model, q) if self.kind == "elastic" else mass_slope(model, 0.5 * v, v, np.zeros(3))

    def _model(self, state: State) -> tuple[int, Any]:
        index = state.world.index(self.body)
        model: Any = state.world.models[index]
        if not hasattr(model, "internal") or hasattr(model, "chart"):
            raise InputError(f"the loss Energy is that of a volume of a world that is not reduced; {model.name!r} is")
        return index, model


@one_line
@dataclass(frozen=True, eq=False)
class Tension(_OverTime):
    """The squared difference of the force of an `actuator` (N, Pa, N·m) from its `target`."""

    actuator: Any
    target: float = 0.0

    def __post_init__(self) -> None:
        check_declared(self)
        finite_number("target of a Tension", self.target)

    def _value(self, instant: Instant) -> float:
        return self._off(instant)[0] ** 2

    def _slope(self, instant: Instant) -> Slope:
        off, row = self._off(instant)
        assert instant.info is not None
        assert instant.info.lam is not None
        lam = np.zeros(len(instant.info.lam))
        lam[row] = 2.0 * off
        return Slope(lam=lam)

    def _off(self, instant: Instant) -> tuple[float, int]:
        info = instant.info
        if info is None or info.assembly is None or info.lam is None:
            raise InputError("the loss Tension needs a step with actuators")
        row = info.assembly.slices[info.world.constraint_index(self.actuator)].start
        return float(info.lam[row]) - self.target, row


@one_line
@dataclass(frozen=True, eq=False)
class Custom:
    """A loss of one's own: ``value(states, infos)``, and ``derivative(states, infos)``, a `Slope` (or None) for each
    state. `states` begin with the first one, ``infos[k]`` reports the step to ``states[k + 1]``; all are kept.
    """

    value: Callable[[Sequence[State], Sequence[StepInfo]], float]
    derivative: Callable[[Sequence[State], Sequence[StepInfo]], Sequence[Slope | None]]

    def __post_init__(self) -> None:
        for name in ("value", "derivative"):
            if not callable(getattr(self, name)):
                raise InputError(f"{name} of a Custom loss must be a function of (states, infos)")


def _body_and_point(marker: Any) -> tuple[Any, FloatArray]:
    if hasattr(marker, "position") and hasattr(marker, "body"):
        return marker.body, np.asarray(marker.position)
    if isinstance(marker, tuple) and len(marker) == 2:
        return marker[0], np.asarray(finite_array("point of a loss", marker[1], shape=(3,)))
    raise InputError(f"marker of a loss must be a pl.robots.Marker or a pair (body, point), got {marker!r:.60}")


def _map(marker: Any, state: State) -> tuple[int, Any]:
    body, point = _body_and_point(marker)
    index = state.world.index(body)
    return index, state.world.models[index].embed(point[None], what="marker of a loss")


def _point(marker: Any, state: State) -> FloatArray:
    index, embedded = _map(marker, state)
    return np.asarray(embedded.points(state.q[index])[0])


def _of_point(marker: Any, state: State, slope: FloatArray) -> Slope:
    index, embedded = _map(marker, state)
    row = embedded.pull_back_row(state.q[index], slope[None])
    return Slope({index: np.asarray(row.todense()).reshape(state.world.shapes[index])})


def _by_place(marker: Any, state: State, index: int, slope: FloatArray) -> Any:
    """−N_b Fᵀ slope at the nodes b of the cell of a marker in the volume `index`: the material at its place changes
    where a node moves at rest. 0 for another body.
    """
    own, embedded = _map(marker, state)
    if own != index:
        return 0.0
    model: Any = state.world.models[index]
    step, made = STEP * float(np.ptp(model.rest, axis=0).max()), np.zeros(model.rest.shape)
    where, q = embedded.points(model.rest)[0], state.q[index]

    def along(axis: int, s: float) -> float:
        there = where + s * np.eye(3)[axis]
        point = model.embed(there[None], what="marker of a loss", reach=np.inf, placed=True).points(q)[0]
        return float(point @ slope)

    moved = np.array([derivative(partial(along, axis), 1e-2 * step) for axis in range(3)])
    np.add.at(made, embedded.nodes[0], -embedded.weights[0][:, None] * moved)
    return made


def _joined(a: dict[int, FloatArray], b: dict[int, FloatArray]) -> dict[int, FloatArray]:
    made = dict(a)
    for k, x in b.items():
        made[k] = made[k] + x if k in made else x
    return made
