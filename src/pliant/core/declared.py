"""The declared types of what people construct and call, checked in one place.

Every public description (body, load, actuator, effector, stepper, material) is a frozen dataclass; its annotations say
what it takes. `check_declared` compares the values with them, `declared` does so for the arguments of a function:
a text for a number, a class for an object or NaN for a limit is an `InputError` that names argument, value and type,
before anything is computed from it. Annotations that name no type here, such as `Any`, are for checks of their own.
"""

from __future__ import annotations

import functools
import inspect
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from numbers import Integral
from typing import Any, TypeVar, cast

import numpy as np

from pliant.core.checks import LARGEST_WHOLE, is_number, shown
from pliant.core.errors import InputError

_F = TypeVar("_F", bound=Callable[..., Any])
_CLASSES = {
    "Mesh": 'a pl.mesh.Mesh, as pl.mesh.box(…) or pl.mesh.load("part.vtu", unit="mm") give it',
    "CellSizes": "sizes of pl.mesh.cell_sizes",
    "Surface": "a pl.mesh.Surface",
    "Region": 'a region, such as pl.regions.plane(axis="x", at=0.0)',
    "Material": "one of pl.materials, such as pl.materials.dragon_skin_20()",
    "Rayleigh": "a pl.Rayleigh",
    "Shape": "a shape",
    "Volume": "a pl.Volume",
    "World": "a pl.World",
    "State": "a pl.State",
    "Run": "a pl.Run, as pl.simulate(…) returns it",
    "Scene": "a pl.Scene",
    "Effector": "a pl.Effector",
    "Plan": "a plan, such as pl.reduction.ramps(…)",
    "Snapshots": "snapshots of pl.reduction.experiments(…)",
    "Pod": "modes of pl.reduction.pod(…)",
    "Subspace": "a pl.reduction.Subspace",
    "VolumeModel": "the compiled model of a volume, of world.models",
    "HybridSystem": "a pl.hybrid.HybridSystem, such as pl.hybrid.bouncing_ball()",
    "HybridState": "a pl.hybrid.HybridState, such as solution.final",
    "Solution": "a solution of pl.hybrid.integrate(…)",
    "Restitution": "a pl.hybrid.Restitution",
    "DeltaArms": "a pl.hybrid.DeltaArms",
    "Event": "an event of a solution, of solution.events",
    "StepRecord": "a step of a solution, of solution.records",
}
"""Classes that are checked by name, so that this module imports none of them."""


_TEXTS = {"Volumetric", "Moduli"}
"""Names of types that are one of several texts."""
_FUNCTIONS = {"Control", "Function"}
"""Names of types that are functions."""


def check_declared(thing: Any) -> None:
    """An error where a field of the dataclass `thing` is not of the type that it is declared with."""
    for name, declared_type in _fields_of(thing.__class__):
        declared_type.check(getattr(thing, name), name, thing)


def declared(function: _F) -> _F:
    """`function` with arguments that are checked against their annotations."""
    signature = inspect.signature(function)
    found = [(item.name, _Type.of(item.annotation, item.default)) for item in signature.parameters.values()]
    types = {name: kind for name, kind in found if kind is not None}

    @functools.wraps(function)
    def checked(*given: Any, **named: Any) -> Any:
        for name, value in zip(signature.parameters, given, strict=False):
            if name in types:
                types[name].check(value, name, function)
        for name, value in named.items():
            if name in types:
                types[name].check(value, name, function)
        return function(*given, **named)

    return cast("_F", checked)


@dataclass(frozen=True)
class _Type:
    """What a field or an argument may be: its `default`, or what one of `checks` accepts, `wanted` in words."""

    wanted: str
    checks: tuple[Callable[[Any], bool], ...]
    default: Any

    @classmethod
    def of(cls, annotation: Any, default: Any) -> _Type | None:
        """That of an annotation; None where it names a type that is not checked here."""
        names = [part.strip() for part in str(annotation).split("|")]
        kinds = [_check(name) for name in names]
        if any(kind is None for kind in kinds):
            return None
        known = [kind for kind in kinds if kind is not None]
        return cls(" or ".join(wanted for wanted, _ in known), tuple(fits for _, fits in known), default)

    def check(self, value: Any, name: str, owner: Any) -> None:
        """An error where `value`, the argument `name` of `owner`, is none of these."""
        if name in ("name", "path") and isinstance(value, str) and not value and value is not self.default:
            raise InputError(f"the {name} of {_who(owner)} must not be empty")
        if value is not self.default and not any(fits(value) for fits in self.checks):
            remedy = _REMEDIES.get(type(value).__name__, "") if "hybrid" not in self.wanted else _STATIC_GAINS
            raise InputError(f"{name} of {_who(owner)} must be {self.wanted}, got {shown(value)}{remedy}")


@functools.cache
def _fields_of(kind: type) -> tuple[tuple[str, _Type], ...]:
    found = [(item.name, _Type.of(item.type, item.default)) for item in fields(kind)]
    return tuple((name, declared_type) for name, declared_type in found if declared_type is not None)


def _check(name: str) -> tuple[str, Callable[[Any], bool]] | None:
    if name in _SIMPLE:
        return _SIMPLE[name]
    if name.startswith("Literal[") or name in _TEXTS:
        return _SIMPLE["str"]
    if name.startswith("Callable[") or name in _FUNCTIONS:
        return "a function", lambda value: callable(value) and not isinstance(value, type)
    if name.startswith("Sequence["):
        texts = name == "Sequence[str]"
        return "a list", lambda value: _is_sequence(value) or (texts and isinstance(value, str))
    if name.startswith("Mapping["):
        return "a dictionary", lambda value: isinstance(value, Mapping)
    if name.startswith("tuple[float, float"):
        count = name.count("float")
        return (
            f"{count} numbers",
            lambda value: _is_sequence(value) and [*map(is_number, value)] == [True] * count,
        )
    if name in _CLASSES:
        return _CLASSES[name], lambda value: any(base.__name__ == name for base in type(value).__mro__)
    return None


def _is_sequence(value: Any) -> bool:
    return isinstance(value, (Sequence, np.ndarray)) and not isinstance(value, (str, bytes))


def _is_whole(value: Any) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool) and abs(int(value)) < LARGEST_WHOLE


_SIMPLE: dict[str, tuple[str, Callable[[Any], bool]]] = {
    "float": ("a number, not NaN", is_number),
    "int": ("a whole number", _is_whole),
    "bool": ("True or False", lambda value: isinstance(value, (bool, np.bool_))),
    "str": ("a text", lambda value: isinstance(value, str)),
    "Path": ("a path", lambda value: isinstance(value, os.PathLike)),
    "None": ("None", lambda value: value is None),
    "ElementName": ('"tet4", "tet10", "hex8" or another element', lambda value: isinstance(value, str)),
}


_STATIC_GAINS = "; static gains of a soft world are those of pl.control.kinematics"
_REMEDIES = {
    "type": ", a class: create one of it",
    "ABCMeta": ", a class: create one of it",
    "Scene": ", a scene: compile it first, scene.compile()",
    "World": ", a world: a state of it is world.initial_state()",
}
"""What to do with a value of another class."""


def _who(thing: Any) -> str:
    name = getattr(thing, "name", None)
    if inspect.isfunction(thing):
        return thing.__qualname__.removesuffix(".__init__") + "()"
    kind = type(thing).__name__
    return f"{kind} {name!r}" if isinstance(name, str) else kind
