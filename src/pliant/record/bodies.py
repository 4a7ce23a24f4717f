"""Bodies of a run: their names and their shapes at rest, as they are drawn and saved."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pliant.core.types import FloatArray, IntArray
from pliant.mesh import Mesh
from pliant.models.beam import BeamModel
from pliant.models.beam.beam_map import BeamMap
from pliant.models.beam.skin import beam_skin
from pliant.models.rod import RodModel
from pliant.models.rod.rod_map import RodMap
from pliant.models.rod.skin import rod_skin
from pliant.models.volume import VolumeModel
from pliant.world import World

_SKINS: tuple[tuple[Any, tuple[str, ...]], ...] = (
    (BeamMap, ("nodes", "triads", "coordinate", "offset", "node_count")),
    (RodMap, ("section", "fraction", "offset", "lengths", "kinds", "basis")),
)
"""Maps of the surfaces of beams and rods, with the arrays that they are saved as."""


@dataclass(frozen=True, eq=False)
class RecordedBody:
    """A body in a run: its name and its shape at rest.

    A volume has its `mesh`; a rigid body has `local` points (p, 3) m and `triangles` (t, 3) in its own frame, and
    `radius` m of the ball around each point; a beam or a rod has `skin`, points of its surface embedded in it, their
    `triangles`, its nodes at rest in `local` and the radius of its section. `handle` is what a person wrote, None in a
    run that was loaded from a file.
    """

    name: str
    mesh: Mesh | None
    local: FloatArray | None = None
    triangles: IntArray | None = None
    radius: float = 0.0
    handle: Any = None
    skin: BeamMap | RodMap | None = None

    @property
    def is_rigid(self) -> bool:
        """Whether positions of the body are poses (4, 3) instead of nodes (n, 3)."""
        return self.mesh is None and self.skin is None

    def surface_points(self, q: FloatArray) -> FloatArray:
        """Points (p, 3) m of the surface of a volume at q (n, 3), or of a beam or a rod at its q."""
        return q if self.skin is None else self.skin.points(q)

    def surface_triangles(self) -> IntArray:
        """Triangles (t, 3) over the points of the body."""
        if self.mesh is not None:
            return self.mesh.surface().triangles
        assert self.triangles is not None
        return self.triangles


def recorded_bodies(world: World) -> tuple[RecordedBody, ...]:
    """The bodies of `world` as runs hold them."""
    return tuple(_recorded(model) for model in world.models)


def _recorded(model: Any) -> RecordedBody:
    if isinstance(model, VolumeModel):
        return RecordedBody(model.name, model.mesh, handle=model.spec)
    if isinstance(model, BeamModel):
        skin, triangles = beam_skin(model)
        radius, rest = model.spec.section.radius, model.rest[:, 0].copy()
        return RecordedBody(model.name, None, rest, triangles, radius, model.spec, skin)
    if isinstance(model, RodModel):
        surface, triangles = rod_skin(model)
        radius = max(section.radius for section in model.spec.section_list)
        return RecordedBody(
            model.name, None, model.nodes(model.rest)[:, 0].copy(), triangles, radius, model.spec, surface
        )
    shape = model.spec.shape
    return RecordedBody(model.name, None, shape.points, shape.triangles, shape.radius, model.spec)


def encode_body(body: RecordedBody, index: int) -> tuple[dict[str, Any], dict[str, Any]]:
    """The body `index` of a run as an entry of a header and arrays."""
    rest, cells = (body.local, body.triangles) if body.mesh is None else (body.mesh.points, body.mesh.cells)
    arrays: dict[str, Any] = {f"rest_{index}": rest, f"cells_{index}": cells}
    if body.skin is not None:
        names = next(names for kind, names in _SKINS if isinstance(body.skin, kind))
        arrays |= {f"skin_{index}_{name}": getattr(body.skin, name) for name in names}
    kind = {"radius": body.radius} if body.mesh is None else {"element": body.mesh.element}
    return {"name": body.name, **kind}, arrays


def decode_body(header: Mapping[str, Any], arrays: Mapping[str, Any], index: int) -> RecordedBody:
    """The body that `encode_body` described."""
    rest, cells = arrays[f"rest_{index}"], arrays[f"cells_{index}"]
    if "element" in header:
        return RecordedBody(header["name"], Mesh(rest, cells, header["element"]))
    return RecordedBody(header["name"], None, rest, cells, header["radius"], skin=_decoded_skin(arrays, index))


def _decoded_skin(arrays: Mapping[str, Any], index: int) -> BeamMap | RodMap | None:
    for kind, names in _SKINS:
        if f"skin_{index}_{names[0]}" in arrays:
            parts = {name: arrays[f"skin_{index}_{name}"] for name in names}
            made: BeamMap | RodMap = kind(**{name: part if part.ndim else int(part) for name, part in parts.items()})
            return made
    return None
