"""Regions of a mesh written as an option: NAME=plane:x=0, NAME=box:LOWER:UPPER, NAME=sphere:CENTER:RADIUS…"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Any

from pliant.core.errors import InputError

USAGE = "NAME=plane:x=0, NAME=box:0,0,0:10,5,5, NAME=sphere:0,0,0:2 or NAME=nodes:0,4,7"
CUT_USAGE = "'y>0.01', 'x<0', box:0,0,0:0.1,0.1,0.1 or sphere:0,0,0:0.05, in metres"
_SIDE = re.compile(r"^\s*([xyz])\s*([<>])\s*([^<>]+)$")
_PLANE = re.compile(r"^([xyz])=([^,:]+)(?:,([^,:]+))?$")


def parsed_regions(texts: Sequence[str], scale: float) -> dict[str, Any]:
    """Regions by name from options; lengths in them times `scale` are metres."""
    found: dict[str, Any] = {}
    for text in texts:
        name, equals, shape = text.partition("=")
        if not equals or not name.strip() or name.strip() in found:
            raise InputError(f"--region takes {USAGE}, each name once; got {text!r}")
        found[name.strip()] = _region(text, shape.strip(), scale)
    return found


def parsed_cut(text: str) -> Any:
    """The region of an option such as "y>0.01", on that side of a plane, or "box:LOWER:UPPER", in metres."""
    from pliant.mesh import regions

    side = _SIDE.match(text)
    try:
        if side is None:
            if text.partition(":")[0] not in ("box", "sphere"):
                raise ValueError(text)
            return _region(text, text.strip(), 1.0)
        at, axis = float(side[3]), "xyz".index(side[1])
    except ValueError as error:
        raise InputError(f"--cut takes {CUT_USAGE}; got {text!r}") from error
    lower, upper = [-math.inf] * 3, [math.inf] * 3
    (lower if side[2] == ">" else upper)[axis] = at
    return regions.box(lower, upper)


def _region(text: str, shape: str, scale: float) -> Any:
    from pliant.mesh import regions

    kind, _, rest = shape.partition(":")
    try:
        if kind == "plane":
            match = _PLANE.match(rest)
            if match is None:
                raise ValueError(rest)
            within = scale * float(match[3]) if match[3] else 0.0
            return regions.plane(axis=match[1], at=scale * float(match[2]), tolerance=within)
        if kind == "box":
            lower, upper = (_vector(part, scale) for part in rest.split(":"))
            return regions.box(lower, upper)
        if kind == "sphere":
            center, radius = rest.split(":")
            return regions.sphere(_vector(center, scale), scale * float(radius))
        if kind == "nodes":
            return regions.nodes([int(part) for part in rest.split(",")])
    except ValueError as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"--region takes {USAGE}; got {text!r}") from error
    raise InputError(f"--region takes {USAGE}; got {text!r}")


def _vector(text: str, scale: float) -> list[float]:
    numbers = [scale * float(part) for part in text.split(",")]
    if len(numbers) != 3:
        raise ValueError(text)
    return numbers
