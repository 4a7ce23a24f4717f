"""Why a simulation fails, in the terms of its scene: chambers that balloon, cables that pull too hard.

A solver names a node or a matrix; what a person can change is the pressure of a chamber.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from pliant.record.forces import RecordedRows
from pliant.world import World

BALLOONS = 2.0
"""Volume of a chamber over that at rest above which fast growth counts as ballooning: walls are then far stretched."""
_FAST = 0.1
"""Growth in one step, as a fraction of the volume, that no wall slows down any more."""
_STRONG = 20.0
"""Growth of a cable force over three steps that a failing step is blamed on, times."""


def ballooning(world: World, forces: Sequence[RecordedRows]) -> str | None:
    """The chamber of `world` that balloons at the end of recorded `forces`, in a sentence: the one that grew most; None
    where none does.
    """
    constraints: Any = world.constraints
    rest = {rows.spec.name: rows.rest_volume for rows in constraints if getattr(rows, "rest_volume", 0.0) > 0.0}
    found: list[tuple[float, str]] = []
    for rows in forces:
        name = rows.names[0]
        if len(rows.names) == 1 and name in rest and len(rows.values) > 1:
            ratio = 1.0 + rows.values[-2:, 0] / rest[name]
            if ratio[1] > BALLOONS and ratio[1] > (1.0 + _FAST) * ratio[0]:
                found.append((float(ratio[1]), _sentence(name, ratio, float(rows.values[-1, 1]))))
    return max(found)[1] if found else None


def _sentence(name: str, ratio: Any, pressure: float) -> str:
    return (
        f"the chamber {name!r} balloons: it has {ratio[1]:.3g} times its volume at rest at {1e-3 * pressure:.3g} kPa, "
        f"{ratio[0]:.3g} times a step before. Its wall does not hold this pressure: stay below it, prescribe the "
        "volume (pl.VolumeRatio), thicken the wall or take a stiffer material"
    )


def straining(world: World, forces: Sequence[RecordedRows]) -> str | None:
    """The cable whose tension has grown without bound at the end of recorded `forces`, in a sentence, or None."""
    constraints: Any = world.constraints
    cables = {rows.spec.name for rows in constraints if hasattr(getattr(rows, "spec", None), "usual_shortening")}
    for rows in forces:
        if rows.names[0] in cables and len(rows.values) >= 4:
            before, last = np.abs(rows.values[-4, 1]), np.abs(rows.values[-1, 1])
            if before > 0.0 and last > _STRONG * before:
                return (
                    f"the tension of the cable {rows.names[0]!r} grew from {before:.3g} to {last:.3g} N within three "
                    "steps: pull it by less or more slowly, or limit its force (max_force)"
                )
    return None


def cause(world: World, forces: Sequence[RecordedRows]) -> str | None:
    """What a failure after recorded `forces` is most likely due to, None where nothing stands out."""
    return ballooning(world, forces) or straining(world, forces)
