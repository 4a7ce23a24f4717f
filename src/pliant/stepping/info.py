"""What a step reports beside the new state."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from pliant.core.status import Status
from pliant.core.types import FloatArray


@dataclass(frozen=True, eq=False)
class RigidMotion:
    """Motion of an unclamped body that static equilibrium leaves open.

    `acceleration` (6,): the linear (m/s²) and angular (rad/s²) acceleration that the unbalanced loads would give it,
    about its centre of mass; `free_directions` is how many of the six rigid motions nothing resists.
    """

    body: str
    free_directions: int
    acceleration: FloatArray


@dataclass(frozen=True, eq=False)
class StepInfo:
    """Outcome of one step.

    `iterations` counts linear solves. `linear_residual` is ‖A dx − r‖/‖r‖ of the last of them. `tangents_projected`
    counts those whose tangent had to be projected to positive definite. `stage_times` holds seconds by stage. `lam`
    (rows,) are the multipliers of the rows, in N.
    """

    status: Status
    iterations: int
    linear_residual: float
    stage_times: dict[str, float]
    tangents_projected: int = 0
    load_steps: int = 1
    rigid_motion: tuple[RigidMotion, ...] = ()
    lam: FloatArray | None = None
    measure: Callable[[], Measures] | None = field(default=None, repr=False)

    @property
    def residual(self) -> float:
        """Nonlinear residual ‖r(dx)‖ at the end of the step over the largest force norm in it. Computed when read."""
        return self._measures.residual

    @property
    def energy_change(self) -> float:
        """Change of total energy (kinetic + elastic + potential) over the step, J. Computed when read."""
        return self._measures.energy_change

    def reaction(self, body: Any) -> FloatArray:
        """Forces (n, 3), N, that clamps and supports exert on the nodes of `body`, zero at free unknowns."""
        return self._measures.reaction(body)

    @cached_property
    def _measures(self) -> Measures:
        assert self.measure is not None
        return self.measure()


@dataclass(frozen=True, eq=False)
class Measures:
    """What is computed only when somebody reads it: it costs another pass over the elements."""

    residual: float
    energy_change: float
    reaction: Callable[[Any], FloatArray]
