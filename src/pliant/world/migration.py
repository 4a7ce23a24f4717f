"""Scenes and states of earlier file versions, as JSON values and arrays, turned into those of the present one.

Version 1 had pairs as lists that had grown over time, materials without a volumetric energy, limits per step instead of
rates, and other classes of contact bases; states of early files have no header.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pliant.actuators.limits import PER_STEP
from pliant.core.archive import Migration
from pliant.core.errors import InputError
from pliant.reduced.contact_basis import checked_modes

WORLD_FORMAT = "pliant world 2"
STATE_FORMAT = "pliant state 2"
PAIR_FIELDS = ("a", "b", "friction", "margin", "exclude", "capacity", "allow_overlap", "continuous")
_PAIR_DEFAULTS = (False, False)
"""Of the last fields, which the earliest files lack."""
_WITHOUT_VOLUMETRIC = ("MooneyRivlin", "Ogden", "Yeoh")
"""Materials that had κ/2 (J − 1)² before `volumetric` existed."""


def scene_of_version_1(scene: dict[str, Any], arrays: dict[str, Any], dt: float | None = None) -> dict[str, Any]:
    """The JSON of a scene of version 1 in the form of version 2; `arrays` ("world_…") are changed in place where they
    must be. `dt` (s) is the step of the run that it belongs to: it turns limits per step into rates.
    """
    things = _Things(arrays, dt)
    found: dict[str, Any] = things.migrated(scene)
    missing = len(PAIR_FIELDS) - len(_PAIR_DEFAULTS)
    found["pairs"] = [
        dict(zip(PAIR_FIELDS, [*pair, *_PAIR_DEFAULTS[len(pair) - missing :]], strict=True)) for pair in found["pairs"]
    ]
    return found


class _Things:
    """Encoded things of version 1, one after the other: later ones may refer to earlier ones."""

    def __init__(self, arrays: dict[str, Any], dt: float | None) -> None:
        self._arrays, self._dt = arrays, dt
        self._known: dict[int, dict[str, Any]] = {}

    def migrated(self, value: Any) -> Any:
        if isinstance(value, list):
            return [self.migrated(item) for item in value]
        if not isinstance(value, dict):
            return value
        found = {name: self.migrated(item) for name, item in value.items()}
        if "class" not in found:
            return found
        own = found["fields"]
        self._replace_limits(own)
        if found["class"] in _WITHOUT_VOLUMETRIC:
            own.setdefault("volumetric", "quadratic")
        elif found["class"] == "PairFacing":
            found["class"] = "ContactPoints"
        elif found["class"] == "PairBasis":
            found = {**found, "class": "ContactBasis", "fields": self._basis(own)}
        self._known[found["thing"]] = found
        return found

    def _replace_limits(self, own: dict[str, Any]) -> None:
        """Replace limits per step by limits per second."""
        for old, new in PER_STEP.items():
            given = own.pop(old, None)
            change = float(given["float"]) if isinstance(given, dict) else given
            if change is not None and change < np.inf:
                if self._dt is None:
                    raise InputError(
                        f"{own.get('name')!r} in this file changes by at most {change:g} per step; limits are rates "
                        f"now: make the world again, with {new} = {change:g}/dt"
                    )
                own[new] = change / self._dt

    def _basis(self, own: dict[str, Any]) -> dict[str, Any]:
        """The fields of a `ContactBasis` from those of a PairBasis; its modes are scaled to a sum of one again."""
        seen = own["seen"]
        points = (self._known[seen["again"]] if "again" in seen else seen)["fields"]
        name = f"world_{own['modes']['array']}"
        count = len(self._arrays[f"world_{points['nodes']['array']}"])
        self._arrays[name] = checked_modes(points["pair"], self._arrays[name], count)
        kept = {key: own[key] for key in ("modes", "guards", "tolerance")}
        return {"facing": points["pair"], "fingerprint": points["fingerprint"], "points": seen, **kept}


def _world(header: dict[str, Any], arrays: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    return {**header, "format": WORLD_FORMAT, "world": scene_of_version_1(header["world"], arrays)}, arrays


OLDER_WORLDS: dict[str, Migration] = {"pliant world 1": _world}
OLDER_STATES: dict[str, Migration] = {
    "": lambda header, arrays: ({"format": "pliant state 1"}, arrays),
    "pliant state 1": lambda header, arrays: ({**header, "format": STATE_FORMAT}, arrays),
}
