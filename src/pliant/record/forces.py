"""Forces of a run: what each actuator and each colliding pair did at every step."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pliant.core.types import FloatArray
from pliant.record.touches import Touches


@dataclass(frozen=True, eq=False)
class RecordedRows:
    """Forces of an actuator or a colliding pair over a run.

    `names` is that of the actuator, or both of a pair. `values` (steps, 2) are displacement (m) and tension (N), or
    growth (m³) and pressure (Pa); of a pair (steps, 3) the force (N) that the second body exerts on the first, of a
    `pl.Facing` under its own name that on its points.
    `handles` as in `RecordedBody`. `touches` are the single contacts of a pair, None in files of an older version.
    """

    names: tuple[str, ...]
    values: FloatArray
    handles: tuple[Any, ...] = ()
    touches: Touches | None = None

    def concerns(self, things: tuple[Any, ...]) -> bool:
        """Whether these are the forces of `things`, given by handle or name."""
        if len(things) != len(self.names):
            return False
        known = self.handles or (None,) * len(things)
        return all(
            t == name or (h is not None and t is h) for t, name, h in zip(things, self.names, known, strict=True)
        )
