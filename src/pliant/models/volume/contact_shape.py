"""The surface with which a volume touches others."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pliant.collision import CollisionSurface
from pliant.core.types import IntArray
from pliant.models.contact_shape import ContactShape
from pliant.models.volume.barycentric import NodeMap

if TYPE_CHECKING:
    from pliant.models.volume.model import VolumeModel


def surface_of(model: VolumeModel, exclude: Any) -> ContactShape:
    """The triangles of the surface; those with a node in the region `exclude` take no part."""
    triangles = model.mesh.surface().triangles
    region = None
    if exclude is not None:
        region = ~exclude.select(model.spec.mesh.points)[triangles].any(axis=1)
    surface = CollisionSurface.build(triangles, model.rest, region=region)
    return ContactShape(NodeMap(), surface.nodes, surface, shells=_shells(model))


def _shells(model: VolumeModel) -> IntArray | None:
    """Index of the shell that each node of a volume is on, (n,), −1 for inner nodes; None where there is one shell."""
    parts = model.mesh.surface().components()
    if len(parts) == 1:
        return None
    shells = np.full(model.mesh.node_count, -1, np.int32)
    for shell, part in enumerate(parts):
        shells[part.nodes] = shell
    return shells
