"""Forces and moments at places along a rod."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from pliant.core.checks import finite_array, finite_number
from pliant.core.errors import InputError
from pliant.core.types import FloatArray


@dataclass(frozen=True, eq=False)
class RodLoad:
    """A dead force (N, (3,)) and a dead moment (N·m, (3,)) on a `pl.Rod` at the arc length `at` (m, from its base).

    Both keep their direction in the world. As a control: a new force, or a new `pl.Wrench`. At the ends of sections a
    `pl.PointLoad` with their node numbers does the same.
    """

    body: Any
    at: float
    force: Any
    moment: Any = (0.0, 0.0, 0.0)

    def __post_init__(self) -> None:
        if not hasattr(self.body, "rest_strains"):
            raise InputError(f"a RodLoad is for rods; {self.body.name!r} is none: use pl.PointLoad")
        at, whole = finite_number("at of a RodLoad", self.at, unit="m"), float(self.body.lengths.sum())
        if not 0.0 <= at <= whole * (1.0 + 1e-12):
            raise InputError(f"at of a RodLoad is {at:g} m; {self.body.name!r} goes from 0 to {whole:g} m")
        assert self.wrench.shape == (2, 3)

    @property
    def wrench(self) -> FloatArray:
        """Force (N) and moment (N·m), (2, 3)."""
        pairs = (("force", self.force), ("moment", self.moment))
        return np.stack([finite_array(f"{name} of a RodLoad", value, shape=(3,)) for name, value in pairs])
