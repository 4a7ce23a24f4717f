"""Points that ride on whatever body they are given on."""

from __future__ import annotations

from pliant.core.types import FloatArray
from pliant.mappings.barycentric import BarycentricMap
from pliant.mappings.beam_map import BeamMap
from pliant.mappings.frame import FrameMap
from pliant.mappings.point_map import PointMap
from pliant.mappings.rod_map import RodMap
from pliant.models.beam import BeamModel
from pliant.models.model import Model
from pliant.models.rod import RodModel
from pliant.models.volume import VolumeModel


def riding(model: Model, points: FloatArray, *, what: str, reach: float = 0.0) -> PointMap:
    """Riding points (p, 3), m, given in the frame in which the body was made: its mesh, its own axes at its centre, or
    the points of a beam, or where a rod was made.

    A point farther outside a mesh, or off a beam or a rod, than `reach` (m) is an error that names it.
    """
    if isinstance(model, VolumeModel):
        return BarycentricMap.of_points(model.spec.mesh, points, what=what, reach=reach)
    if isinstance(model, BeamModel):
        first, spec = model.initial()[0][0], model.spec
        turned = first[1:] @ spec.node_frames[0].T
        placed = first[0] + (points - spec.node_points[0]) @ turned.T
        return BeamMap.of_points(model, placed, what=what, reach=reach)
    if isinstance(model, RodModel):
        made, base = model.spec.pose, model.rest
        placed = base[0] + (points - made[0]) @ made[1:] @ base[1:4].T
        return RodMap.of_points(model, placed, what=what, reach=reach)
    return FrameMap(points)
