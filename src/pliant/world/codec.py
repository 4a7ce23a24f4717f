"""The things of a scene as JSON and arrays, and back: how worlds are saved without pickle.

A thing is a frozen dataclass of a registered class. Its fields are encoded one by one; arrays go to a table beside the
JSON. A thing that is referenced twice (the body of a cable) is written once, so that identities survive.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from typing import Any

import numpy as np

from pliant.actuators import BaseDrive, Cable, Cavity, ForcePoint, Hinge, Layer, Slider, Stiffness
from pliant.actuators.limits import PER_STEP
from pliant.collision import Box, Capsule, Cylinder, MeshObstacle, Pipe, Plane, Sphere, Tubes
from pliant.constraints.attachment import Attachment
from pliant.constraints.channel import Channel
from pliant.constraints.facing import Facing
from pliant.constraints.sheath import Sheath
from pliant.core.errors import InputError
from pliant.materials import Corotated, Linear, MooneyRivlin, NeoHookean, Ogden, StVenantKirchhoff, Yeoh
from pliant.mesh import Mesh, Surface, regions
from pliant.models.kinds import stored_kinds
from pliant.models.rigid import Obstacle
from pliant.reduced import ContactBasis, ContactPoints, Subspace
from pliant.world.reduced import Training

_KNOWN: dict[str, type] = {
    known.__name__: known
    for known in (
        *(Mesh, Surface, Subspace),
        *(Corotated, Linear, MooneyRivlin, NeoHookean, Ogden, StVenantKirchhoff, Yeoh),
        *(Attachment, Channel, Facing, Sheath),
        *(Cable, Cavity, ForcePoint, Slider, Hinge, Layer, Stiffness, BaseDrive),
        *(ContactBasis, ContactPoints, Training),
        *(Obstacle, Plane, Sphere, Capsule, Box, Cylinder, Pipe, Tubes),
        *regions.KINDS,
    )
}
_EARLIER: dict[str, Callable[..., Any]] = {"PairFacing": ContactPoints, "PairBasis": ContactBasis.on_points}
"""What earlier versions saved under other names."""


def _known() -> dict[str, type]:
    """All classes that files may hold, by name, those of registered kinds of bodies among them."""
    return _KNOWN | stored_kinds()


class Encoder:
    """Turns things into JSON values; `arrays` collects the arrays, `things` the objects met so far."""

    def __init__(self) -> None:
        self.arrays: dict[str, Any] = {}
        self._indices: dict[int, int] = {}
        self._kept: list[Any] = []

    def encode(self, value: Any) -> Any:
        """`value` as something that JSON can hold."""
        if value is None or isinstance(value, (bool, int, str)):
            return value
        if isinstance(value, float):
            return value if np.isfinite(value) else {"float": repr(value)}
        if isinstance(value, Enum):
            raise InputError(f"{value!r} cannot be saved")
        if isinstance(value, (np.ndarray, np.generic)):
            name = f"array_{len(self.arrays)}"
            self.arrays[name] = np.asarray(value)
            return {"array": name}
        if isinstance(value, (tuple, list)):
            return [self.encode(item) for item in value]
        return self._encode_thing(value)

    def _encode_thing(self, thing: Any) -> Any:
        if id(thing) in self._indices:
            return {"again": self._indices[id(thing)]}
        number = self._indices[id(thing)] = len(self._indices)
        self._kept.append(thing)  # so that its id stays taken
        if isinstance(thing, MeshObstacle):
            surface = thing.surface
            return {"thing": number, "class": "MeshObstacle", "fields": self._encoded(surface.rest, surface.triangles)}
        if not is_dataclass(thing) or _known().get(type(thing).__name__) is not type(thing):
            raise InputError(
                f"{getattr(thing, 'name', thing)!r}, a {type(thing).__name__}, cannot be saved: functions "
                "and user-defined classes cannot be serialised"
            )
        own = {item.name: self.encode(getattr(thing, item.name)) for item in fields(thing)}
        return {"thing": number, "class": type(thing).__name__, "fields": own}

    def _encoded(self, points: Any, triangles: Any) -> dict[str, Any]:
        return {"points": self.encode(points), "triangles": self.encode(triangles)}


class Decoder:
    """Turns what an `Encoder` wrote back into things.

    `dt` (s) is that of the run they belong to: by it limits per step, as older files have them, become rates.
    """

    def __init__(self, arrays: Mapping[str, Any], dt: float | None = None) -> None:
        self._arrays = arrays
        self._dt = dt
        self._things: dict[int, Any] = {}

    def decode(self, value: Any) -> Any:
        """The thing that was encoded as `value`."""
        if isinstance(value, list):
            return tuple(self.decode(item) for item in value)
        if not isinstance(value, dict):
            return value
        if "float" in value:
            return float(value["float"])
        if "array" in value:
            array = self._arrays[value["array"]]
            return array if array.ndim else array[()]
        if "again" in value:
            return self._things[value["again"]]
        own = {name: self.decode(item) for name, item in value["fields"].items()}
        kinds: dict[str, Callable[..., Any]] = {"MeshObstacle": MeshObstacle, **_EARLIER, **_known()}
        thing = kinds[value["class"]](**self._with_rates(own))
        self._things[value["thing"]] = thing
        return thing

    def _with_rates(self, own: dict[str, Any]) -> dict[str, Any]:
        """The fields of a thing with limits per step replaced by limits per second."""
        for old, new in PER_STEP.items():
            change = own.pop(old, None)
            if change is not None and change < np.inf:
                if self._dt is None:
                    raise InputError(
                        f"{own.get('name')!r} in this file changes by at most {change:g} per step; limits are rates "
                        f"now: make the world again, with {new} = {change:g}/dt"
                    )
                own[new] = change / self._dt
        return own
