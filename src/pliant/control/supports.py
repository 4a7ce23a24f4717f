"""Supports as actuators: a base on a platform that moves along a line.

The unknown is the displacement s (m) itself. Constrained DoFs that move by s d displace the free ones by −A⁻¹ A_h d s;
the response of the rows is H times that.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any

import numpy as np

from pliant.actuators.limits import check_rates, largest_change, per_second
from pliant.core.checks import unit_vector
from pliant.core.declared import check_declared
from pliant.core.errors import InputError
from pliant.core.one_line import one_line
from pliant.core.types import FloatArray
from pliant.models.model import Factor, System
from pliant.stepping.bodies import StepBodies
from pliant.world import State, World


@one_line
@per_second
@dataclass(frozen=True, eq=False)
class MovedSupport:
    """A `pl.Support` that an inverse moves along `direction` (3,), from the initial state.

    `min_displacement` and `max_displacement` bound the displacement, m; `max_rate` is its largest rate, m/s.
    """

    support: Any
    direction: Any
    _: KW_ONLY
    min_displacement: float = -np.inf
    max_displacement: float = np.inf
    max_rate: float = np.inf
    name: str = "support"

    def __post_init__(self) -> None:
        check_declared(self)
        vector = unit_vector(f"direction of {self.name!r}", self.direction)
        check_rates(self, "max_rate")
        missing = {"xyz"[k] for k in np.flatnonzero(vector)} - set(self.support.axes)
        if missing:
            raise InputError(f"{self.name!r} moves along {sorted(missing)}, which its support does not constrain")

    @property
    def rate_limited(self) -> bool:
        """Whether the rate is limited, so that a step needs a time interval."""
        return self.max_rate < np.inf

    @property
    def bodies(self) -> tuple[Any, ...]:
        """The supported body."""
        return (self.support.body,)


@dataclass(frozen=True, eq=False)
class DrivenSupport:
    """A moved support in a step: displacement `unit` of the constrained DoFs per metre; `reached` on its axes, m."""

    spec: MovedSupport
    index: int
    nodes: Any
    unit: FloatArray
    axes: list[int]
    rest: FloatArray
    reached: Any = 0.0

    @classmethod
    def of(cls, spec: MovedSupport, world: World) -> DrivenSupport:
        """The support in `world`."""
        index = world.index(spec.support.body)
        model: Any = world.models[index]
        found = next((nodes for support, nodes, _ in model.supports if support is spec.support), None)
        if found is None:
            raise InputError(f"the support of {spec.name!r} is not in this world; add it to the scene")
        direction = unit_vector("direction", spec.direction)
        unit = np.zeros(model.constrained.shape)
        unit.reshape(model.constrained.shape[0], -1)[found, :3] = direction
        rest = model.initial()[0]
        return cls(spec, index, found, unit, spec.support.axis_indices, rest)

    def at(self, state: State) -> DrivenSupport:
        """The support at its displacement in `state`."""
        return replace(
            self, reached=(_positions(state.q[self.index]) - _positions(self.rest))[self.nodes[0]][self.axes]
        )

    def displacement(self, q: FloatArray) -> float:
        """Displacement of the support along its direction, m."""
        unit = self.unit.reshape(len(self.unit), -1)[self.nodes[0], :3]
        return float((_positions(q) - _positions(self.rest))[self.nodes[0]] @ unit)

    def span(self, bodies: StepBodies) -> tuple[float, float]:
        """Bounds of the displacement that this linear solve may add, m."""
        spec, start = self.spec, self.displacement(bodies.start.q[self.index])
        now = self.displacement(bodies.trials[self.index].positions())
        change = largest_change(spec.max_rate, bodies.scheme.interval)
        low = max(spec.min_displacement, start - change) - now
        return low, min(spec.max_displacement, start + change) - now

    def right_side(self, systems: Sequence[System]) -> FloatArray:
        """−A_h d: the force on the free DoFs per metre, N/m."""
        return -systems[self.index].product(self.unit)

    def response(self, factors: Sequence[Factor], column: FloatArray) -> FloatArray:
        """The displacement of the whole body per metre, of the shape of dx."""
        return factors[self.index].solve(column) + self.unit

    def moved(self, bodies: StepBodies, amount: float) -> tuple[DrivenSupport, StepBodies]:
        """The support and the bodies of the step, displaced by `amount` m."""
        direction = self.unit.reshape(len(self.unit), -1)[self.nodes[0], :3]
        trials: list[Any] = list(bodies.trials)
        trials[self.index] = trials[self.index].driven(amount * self.unit)
        support = replace(self, reached=self.reached + amount * direction[self.axes])
        return support, replace(bodies, trials=tuple(trials))


def _positions(q: FloatArray) -> FloatArray:
    """Positions (n, 3) of the nodes of a model, m."""
    return q if q.ndim == 2 else q[:, 0]
