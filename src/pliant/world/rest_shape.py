"""The rest shape of a volume as a number of a world: other positions of the nodes of its mesh, over the same cells.

All that is given by coordinates in the frame of the mesh, such as via points of cables and markers, keeps these
coordinates; all that is given by regions keeps the nodes and cells that the regions select in the mesh as it was made.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from typing import Any

import numpy as np

from pliant.core.checks import finite_array
from pliant.core.errors import InputError
from pliant.core.immutable import handle_of, standing_for
from pliant.core.types import FloatArray
from pliant.mesh import Mesh, Surface, regions
from pliant.mesh.regions import Region
from pliant.models.volume import Volume, VolumeModel
from pliant.world.world import World

_SAME = 1e-12
"""Entries of a rotation below which it is none."""


class OfRestShape:
    """The points of the mesh of a volume, (n, 3), m, in the frame in which it was made."""

    body: Any

    def value(self, world: World) -> FloatArray:
        """The points, (n, 3), m."""
        return np.array(_volume(world, self.body).spec.mesh.points)

    def changed(self, world: World, value: Any) -> World:
        """`world` with other points of the mesh, over the same cells; the scene is compiled anew, handles are kept."""
        from pliant.world.changed import changed

        return changed(world, {self: value})

    def spec(self, world: World, value: Any) -> Volume:
        """The volume with other points."""
        model = _volume(world, self.body)
        mesh = model.spec.mesh
        points = finite_array(f"points of {model.name!r}", value, shape=mesh.points.shape)
        made: Volume = standing_for(replace(model.spec, mesh=mesh.reshaped(points)), model.spec)
        return made


def is_volume(thing: Any) -> bool:
    """Whether a body is a volume: they alone take fibres."""
    return bool(getattr(thing, "takes_fibres", False))


def _volume(world: World, body: Any) -> Any:
    model = world.models[world.index(body)]
    if not is_volume(model.spec) or world.reductions:
        raise InputError(
            f"pl.parameters.RestShape is for volumes of worlds that are not reduced; {model.name!r} is none of them"
        )
    return model


def orientation(mesh: Mesh, placed: Mesh) -> FloatArray:
    """The rotation Q (3, 3) with which a mesh stands in the world, placed = Q X + t."""
    X, x = (each.points - each.points.mean(axis=0) for each in (mesh, placed))
    left, _, right = np.linalg.svd(x.T @ X)
    turn = np.diag((1.0, 1.0, np.sign(np.linalg.det(left @ right))))
    Q = np.asarray(left @ turn @ right)
    return np.eye(3) if np.abs(Q - np.eye(3)).max() < _SAME else Q


def placed_like(spec: Volume, model: VolumeModel) -> Mesh:
    """The mesh of `spec` where that of `model` stands."""
    old = model.spec.mesh
    Q = orientation(old, model.mesh)
    return spec.mesh.reshaped(spec.mesh.points @ Q.T + (model.mesh.points[0] - old.points[0] @ Q.T))


def reshaped(spec: Any) -> bool:
    """Whether a volume has another mesh than its handle."""
    return is_volume(spec) and spec.mesh is not handle_of(spec).mesh


def reshaped_bodies(world: World) -> dict[Any, Volume]:
    """The volumes with another mesh than their handles, by handle."""
    return {model.handle: model.spec for model in world.models if reshaped(model.spec)}


def with_fixed_regions(spec: Volume) -> Volume:
    """A volume whose clamp and inclusions are the nodes and cells that its handle has."""
    given: Volume = handle_of(spec)
    clamp = None if given.clamp is None else _nodes(given.clamp, given.mesh)
    inclusions = [(_cells(region, given.mesh), material) for region, material in spec.inclusions]
    return standing_for(replace(spec, clamp=clamp, inclusions=inclusions), spec)


def following(thing: Any, bodies: Mapping[Any, Volume]) -> Any:
    """A part of a scene, or a pair, that names the `bodies` by handle in place of these handles, and whose regions and
    surfaces are those of their meshes.
    """
    if not is_dataclass(thing) or isinstance(thing, type):
        return thing
    made: dict[str, Any] = {}
    own = next((bodies[x] for x in _bodies(thing) if x in bodies), None)
    if own is None:
        return thing
    given = handle_of(own).mesh
    for item in fields(thing):
        value = getattr(thing, item.name)
        if _is_handle(value, bodies):
            made[item.name] = bodies[handle_of(value)]
        elif isinstance(value, (tuple, list)) and any(_is_handle(each, bodies) for each in value):
            made[item.name] = [bodies[handle_of(x)] if _is_handle(x, bodies) else x for x in value]
        elif isinstance(value, Region):
            made[item.name] = _cells(value, given) if getattr(thing, "of_cells", False) else _nodes(value, given)
        elif isinstance(value, Surface) and len(value.points) == len(own.mesh.points):
            made[item.name] = replace(value, points=np.array(own.mesh.points))
    other = replace(thing, **{name: value for name, value in made.items() if _is_field(thing, name)})
    return standing_for(other, thing)


def with_own_handles(model: VolumeModel) -> VolumeModel:
    """A compiled volume whose loads and supports are told by their handles, as controls name them."""
    given: Any = (model.nodal_loads, model.pressure_loads)
    loads, pressures = (tuple((handle_of(load), share) for load, share in pairs) for pairs in given)
    supports = tuple((handle_of(support), *rest) for support, *rest in model.supports)
    return replace(model, nodal_loads=loads, pressure_loads=pressures, supports=supports)


def _bodies(thing: Any) -> list[Any]:
    found = []
    for item in fields(thing):
        value = getattr(thing, item.name)
        several = value if isinstance(value, (tuple, list)) else (value,)
        found += [handle_of(each) for each in several if is_volume(each)]
    return found


def _is_handle(value: Any, bodies: Mapping[Any, Volume]) -> bool:
    return is_volume(value) and handle_of(value) in bodies


def _is_field(thing: Any, name: str) -> bool:
    return any(item.name == name and item.init for item in fields(thing))


def _nodes(region: Region, mesh: Mesh) -> Region:
    if isinstance(region, regions._Cells):
        return region
    return regions.nodes(np.flatnonzero(region.select(mesh.points)))


def _cells(region: Region, mesh: Mesh) -> Region:
    return regions.cells(np.flatnonzero(region.select(mesh.points[mesh.corner_cells].mean(axis=1))))
