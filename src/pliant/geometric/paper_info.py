"""What a step of the published method reports."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from pliant.core.types import FloatArray
from pliant.geometric.stepper import GeometricInfo


@dataclass(frozen=True, eq=False)
class PaperInfo(GeometricInfo):
    """Outcome of a step of the published method.

    `growths` are the real volumes of the driven chambers over those at rest, and `nominal` the ratios asked for.
    `remeshes` counts fillings after the first, `failed_meshes` those that had to be tried again coarser, `springs` the
    vertices still held by one at the end, and `inverted` the elements of bodies turned inside out: it may be above 0.
    `worst_growth` and `worst_distortion` are those of an element of air since it was made.
    """

    growths: tuple[float, ...] = ()
    nominal: tuple[float, ...] = ()
    remeshes: int = 0
    failed_meshes: int = 0
    springs: int = 0
    worst_growth: float = 1.0
    worst_distortion: float = 0.0
    reactions: tuple[FloatArray, ...] = ()
    """Forces of the elements of each body on its nodes, (n, 3); they have no unit of force."""

    @cached_property
    def energy_change(self) -> float:
        """Not a number: the published method has no energy."""
        return float("nan")

    def reaction(self, body: Any) -> FloatArray:
        """Forces (n, 3) that clamps and supports exert on the nodes of `body`, zero at free DoFs, in no unit."""
        index = self.world.index(body)
        return np.where(self.world.models[index].held, self.reactions[index], 0.0)
