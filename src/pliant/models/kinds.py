"""The kinds of bodies that scenes, worlds and files know: one line each."""

from __future__ import annotations

from typing import Any

from pliant.core.errors import InputError
from pliant.models.beam import Beam, BeamModel, Circle, Rectangle, Taper, Tube
from pliant.models.beam.beam_map import BeamMap
from pliant.models.body import Body, Model, Parts
from pliant.models.rigid import RigidBody, RigidModel, Shape, Waypoints
from pliant.models.rod import Rod, RodLoad, RodModel, RodMoments, Slide, Turn
from pliant.models.rod.rod_map import RodMap
from pliant.models.volume import (
    BodyLoad,
    Fibre,
    PointLoad,
    PressureLoad,
    Rayleigh,
    Support,
    TractionLoad,
    Volume,
    VolumeModel,
)
from pliant.models.volume.barycentric import BarycentricMap

_MODELS: dict[type[Body], type[Model]] = {}
_STORED: dict[str, type] = {}
_SKINS: dict[str, type] = {BarycentricMap.__name__: BarycentricMap}


def register(body: type[Body], model: type[Model], *, stored: tuple[type, ...] = (), skin: type | None = None) -> None:
    """Register a kind of body: the class that users write, and the model that it is compiled into.

    `stored` are further frozen dataclasses that its fields may hold in files; `skin` is the map of the points of its
    drawn surface, if that is a class of its own.
    """
    _MODELS[body] = model
    _STORED.update({kind.__name__: kind for kind in (body, *stored)})
    if skin is not None:
        _SKINS[skin.__name__] = skin


def compiled(body: Body, placement: Any, parts: Parts) -> Model:
    """The model of `body` where it stands, with the loads and supports on it."""
    model = _MODELS.get(type(body))
    if model is None:
        raise InputError(
            f"{body.name!r} is a {type(body).__name__}, which no model is registered for; call "
            "pliant.models.kinds.register(body, model)"
        )
    return model.compiled(body, placement, parts)


def stored_kinds() -> dict[str, type]:
    """Classes of bodies, and of what belongs to them, that files may hold, by name."""
    return _STORED


def skin_kinds() -> dict[str, type]:
    """Maps of the points of drawn surfaces that files may hold, by name."""
    return _SKINS


register(Volume, VolumeModel, stored=(Rayleigh, Fibre, PointLoad, TractionLoad, BodyLoad, PressureLoad, Support))
register(Beam, BeamModel, stored=(Circle, Tube, Rectangle), skin=BeamMap)
register(Rod, RodModel, stored=(RodLoad, RodMoments, Slide, Taper, Turn), skin=RodMap)
register(RigidBody, RigidModel, stored=(Shape, Waypoints))
