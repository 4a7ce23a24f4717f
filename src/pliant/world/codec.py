"""Objects of a scene as JSON and arrays, and back: how worlds are saved without pickle.

An object is a frozen dataclass of a registered class. Its fields are encoded one by one; arrays go to a table beside
the JSON. An object that is referenced twice (the body of a cable) is written once, so that identities survive.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from typing import Any

import numpy as np

from pliant.actuators import BaseDrive, Cable, Cavity, ForcePoint, Hinge, Layer, Slider, Stiffness, Tendon
from pliant.collision import Box, Capsule, Cylinder, MeshObstacle, Pipe, Plane, Sphere, Tubes
from pliant.constraints.attachment import Attachment
from pliant.constraints.channel import Channel
from pliant.constraints.facing import Facing
from pliant.constraints.hold import Hold
from pliant.constraints.linear import LinearConstraint, Term
from pliant.constraints.sheath import Sheath
from pliant.constraints.spring import Spring
from pliant.constraints.tie import Tie
from pliant.core.errors import InputError
from pliant.core.immutable import handle_of
from pliant.materials import (
    Corotated,
    CoupledMooneyRivlin,
    CoupledOgden,
    Linear,
    MooneyRivlin,
    Mullins,
    NeoHookean,
    Ogden,
    StVenantKirchhoff,
    Viscoelastic,
    Yeoh,
)
from pliant.mesh import Mesh, Surface, regions
from pliant.models.kinds import stored_kinds
from pliant.models.rigid import Obstacle
from pliant.reduced import ContactBasis, ContactPoints, Subspace
from pliant.world.reduced import Training

_CLASSES: dict[str, type] = {
    kind.__name__: kind
    for kind in (
        *(Mesh, Surface, Subspace),
        *(Corotated, Linear, MooneyRivlin, NeoHookean, Ogden, StVenantKirchhoff, Yeoh),
        *(CoupledMooneyRivlin, CoupledOgden, Mullins, Viscoelastic),
        *(Attachment, Channel, Facing, Hold, LinearConstraint, Sheath, Spring, Term, Tie),
        *(Cable, Cavity, ForcePoint, Slider, Hinge, Layer, Stiffness, BaseDrive, Tendon),
        *(ContactBasis, ContactPoints, Training),
        *(Obstacle, Plane, Sphere, Capsule, Box, Cylinder, Pipe, Tubes),
        *regions.KINDS,
    )
}


def _classes() -> dict[str, type]:
    """All classes that a file may contain, by name, with those of registered kinds of bodies."""
    return _CLASSES | stored_kinds()


class Encoder:
    """Turns objects into JSON values; `arrays` collects their arrays. `specs` are written instead of their handles."""

    def __init__(self, specs: Mapping[Any, Any] | None = None) -> None:
        self.arrays: dict[str, Any] = {}
        self._specs = {id(handle): spec for handle, spec in (specs or {}).items()}
        self._indices: dict[int, int] = {}
        self._encoded: list[Any] = []  # references, so that no id is given to another object

    def encode(self, value: Any) -> Any:
        """`value` as a JSON value."""
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
        thing = self._specs.get(id(handle_of(thing)), thing)
        if id(thing) in self._indices:
            return {"again": self._indices[id(thing)]}
        index = self._indices[id(thing)] = len(self._indices)
        self._encoded.append(thing)
        if isinstance(thing, MeshObstacle):
            own = {"points": thing.surface.rest, "triangles": thing.surface.triangles}
        elif is_dataclass(thing) and _classes().get(type(thing).__name__) is type(thing):
            own = {item.name: getattr(thing, item.name) for item in fields(thing)}
        else:
            raise InputError(
                f"{getattr(thing, 'name', thing)!r}, a {type(thing).__name__}, cannot be saved: functions "
                "and user-defined classes cannot be serialised"
            )
        encoded = {name: self.encode(value) for name, value in own.items()}
        return {"thing": index, "class": type(thing).__name__, "fields": encoded}


class Decoder:
    """Restores the objects that an `Encoder` wrote."""

    def __init__(self, arrays: Mapping[str, Any]) -> None:
        self._arrays = arrays
        self._things: dict[int, Any] = {}

    def decode(self, value: Any) -> Any:
        """The object that was encoded as `value`."""
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
        kinds: dict[str, Callable[..., Any]] = {"MeshObstacle": MeshObstacle, **_classes()}
        thing = kinds[value["class"]](**own)
        self._things[value["thing"]] = thing
        return thing
