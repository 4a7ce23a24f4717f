"""Files of runs of earlier versions, turned into those of the present one.

Version 1 did not always have the first state, which was then at rest, the kinds of skins, and which steps were warm.
"""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import numpy as np

from pliant.core.archive import Migration
from pliant.models.kinds import skin_kinds
from pliant.world.migration import scene_of_version_1

RUN_FORMAT = "pliant run 2"


def _run(header: dict[str, Any], arrays: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    header, arrays = {**header, "format": RUN_FORMAT}, dict(arrays)
    bodies = header["bodies"] = [
        entry if "element" in entry or "skin" in entry else {**entry, **_skin(arrays, k)}
        for k, entry in enumerate(header["bodies"])
    ]
    arrays.setdefault("warm", np.zeros(0, bool))
    if "world" in header:
        _, options = header.get("stepper", (None, {}))
        header["world"] = scene_of_version_1(header["world"], arrays, options.get("dt"))
        if "start_time" not in arrays:
            arrays |= {"start_time": np.asarray(arrays["times"][0]), "start_lam": np.zeros(0)}
            for k in range(len(bodies)):
                first = {"q": arrays[f"positions_{k}"][0], "v": arrays[f"motions_{k}"][0]}
                arrays |= {f"start_{name}_{k}": array.copy() for name, array in first.items()}
    return header, arrays


def _skin(arrays: dict[str, Any], index: int) -> dict[str, str]:
    """The kind of the skin of a body, which the names of its arrays identify; nothing for a rigid body."""
    for name, kind in skin_kinds().items():
        if all(f"skin_{index}_{part.name}" in arrays for part in fields(kind)):
            return {"skin": name}
    return {}


OLDER_RUNS: dict[str, Migration] = {"pliant run 1": _run}
