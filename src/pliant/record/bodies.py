"""Bodies of a run: names and rest configurations, as they are drawn and saved."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np

from pliant.core.checks import check_array, check_indices
from pliant.core.errors import InputError
from pliant.core.one_line import one_line
from pliant.core.types import FloatArray, IntArray
from pliant.mesh import Mesh
from pliant.models.body import Model
from pliant.models.kinds import skin_kinds
from pliant.models.point_map import PointMap
from pliant.world import World


@one_line
@dataclass(frozen=True, eq=False)
class RecordedBody:
    """A body in a run: its name and its rest configuration.

    A volume has its `mesh`; a rigid body has `local` points (p, 3) m and `triangles` (t, 3) in its own frame, and
    `radius` m of the ball around each point; any other body has `skin`, points of its surface embedded in it, their
    `triangles`, its nodes at rest in `local` and the radius of its section. `handle` is that of the scene, None in a
    run that was loaded from a file.
    """

    name: str
    mesh: Mesh | None
    local: FloatArray = field(default_factory=lambda: np.zeros((0, 3)))
    triangles: IntArray = field(default_factory=lambda: np.zeros((0, 3), np.int32))
    radius: float = 0.0
    handle: Any = None
    skin: PointMap | None = None

    @property
    def is_rigid(self) -> bool:
        """Whether positions of the body are poses (4, 3) instead of nodes (n, 3)."""
        return self.mesh is None and self.skin is None

    def surface_points(self, q: FloatArray) -> FloatArray:
        """Points (p, 3) m of the surface of a volume at q (n, 3), or of a beam or a rod at its q."""
        return q if self.skin is None else self.skin.points(q)

    def surface_triangles(self) -> IntArray:
        """Triangles (t, 3) over the points of the body."""
        return self.triangles if self.mesh is None else self.mesh.surface().triangles


def recorded_bodies(world: World) -> tuple[RecordedBody, ...]:
    """The bodies of `world` as runs hold them."""
    return tuple(recorded_body(model) for model in world.models)


def recorded_body(model: Model, **options: Any) -> RecordedBody:
    """The body of `model`; `options` are those of `Model.skin`."""
    skin = model.skin(**options)
    return RecordedBody(model.name, skin.mesh, skin.local, skin.triangles, skin.radius, model.handle, skin.map)


def encode_body(body: RecordedBody, index: int) -> tuple[dict[str, Any], dict[str, Any]]:
    """The body `index` of a run as an entry of a header and arrays."""
    rest, cells = (body.local, body.triangles) if body.mesh is None else (body.mesh.points, body.mesh.cells)
    arrays: dict[str, Any] = {f"rest_{index}": rest, f"cells_{index}": cells}
    if body.skin is not None:
        arrays |= {f"skin_{index}_{name}": getattr(body.skin, name) for name in _names(type(body.skin))}
    kind: dict[str, Any] = {"radius": body.radius} if body.mesh is None else {"element": body.mesh.element}
    skin = {} if body.skin is None else {"skin": type(body.skin).__name__}
    return {"name": body.name, **kind, **skin}, arrays


def decode_body(header: Mapping[str, Any], arrays: Mapping[str, Any], index: int) -> RecordedBody:
    """The body that `encode_body` described."""
    rest, cells = arrays[f"rest_{index}"], arrays[f"cells_{index}"]
    if "element" in header:
        return RecordedBody(header["name"], Mesh(rest, cells, header["element"]))
    return RecordedBody(header["name"], None, rest, cells, header["radius"], skin=_decoded_skin(header, arrays, index))


def check_body(body: RecordedBody, positions: Any, motions: Any, count: int) -> None:
    """An error where `positions` and `motions` of `count` steps, read from a file, are not those of `body`."""
    for what, given in (("positions", positions), ("motions", motions)):
        check_array(f"{what} of {body.name!r}", given, (count, *given.shape[1:]))
    shape = positions.shape[1:]
    points = len(body.local)
    if body.skin is not None:
        body.skin.check(shape)
        points = len(body.skin.points(positions[0])) if count else 0
    elif body.mesh is not None and shape != body.mesh.points.shape:
        raise InputError(f"positions of {body.name!r} have the shape {shape}, its mesh {body.mesh.points.shape}")
    elif body.is_rigid and shape != (4, 3):
        raise InputError(f"positions of {body.name!r}, a rigid body, must be poses (4, 3), got {shape}")
    check_array(f"triangles of {body.name!r}", body.triangles, (len(body.triangles), 3), np.int32)
    check_indices(f"triangles of {body.name!r}", body.triangles, 0, points)


def _decoded_skin(header: Mapping[str, Any], arrays: Mapping[str, Any], index: int) -> PointMap | None:
    """The map of the skin; None for a rigid body."""
    if "skin" not in header:
        return None
    kind = skin_kinds()[header["skin"]]
    parts = {name: arrays[f"skin_{index}_{name}"] for name in _names(kind)}
    skin: PointMap = kind(**{name: part if part.ndim else int(part) for name, part in parts.items()})
    return skin


def _names(kind: Any) -> tuple[str, ...]:
    """Names of the arrays of a map in a file."""
    return tuple(item.name for item in fields(kind))
