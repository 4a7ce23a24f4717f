"""What a step of the published method reports."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from pliant.core.status import Status
from pliant.core.types import FloatArray
from pliant.world import World


@dataclass(frozen=True, eq=False)
class LocalGlobalInfo:
    """Outcome of a step of the published method.

    `residual` is the norm of the remaining forces as a fraction of the largest part of them, `iterations` counts global
    solves, `load_steps` the increments of the load path, `factorizations` matrices; `stage_times` holds seconds by
    stage. `inverted` counts inverted elements of bodies: it may be above 0. `volume_changes` are those of the
    bodies relative to rest, one each; `depth` (m) is how deep the deepest vertex stands in something.

    `growths` are the real volumes of the actuated chambers over those at rest, `nominal` the ratios asked for, and
    `pressures` (Pa) the mean pressures of their elements. `remeshes` counts fillings after the first, `failed_meshes`
    those that had to be tried again coarser, `springs` the vertices that have one at the end. `worst_growth` and
    `worst_distortion` are those of an element of air since it was made.
    """

    world: World = field(repr=False)
    residual: float
    iterations: int
    load_steps: int
    factorizations: int
    stage_times: dict[str, float]
    inverted: int
    volume_changes: tuple[float, ...]
    depth: float
    chambers: tuple[Any, ...]
    growths: tuple[float, ...]
    nominal: tuple[float, ...]
    pressures: tuple[float, ...]
    remeshes: int
    failed_meshes: int
    springs: int
    worst_growth: float
    worst_distortion: float
    forces: tuple[FloatArray, ...] = field(repr=False)
    status: Status = Status.CONVERGED

    def actuation(self, chamber: Any) -> tuple[float, float]:
        """Growth (m³) and mean pressure (Pa) of an actuated chamber."""
        index = self.chambers.index(chamber)
        rest = self.world.initial_state().volume(chamber)
        return (self.growths[index] - 1.0) * rest, self.pressures[index]

    def reaction(self, body: Any) -> FloatArray:
        """Forces of the clamps and supports of `body`, (n, 3) N; 0 at free unknowns."""
        index = self.world.index(body)
        return np.where(self.world.models[index].constrained, self.forces[index], 0.0)
