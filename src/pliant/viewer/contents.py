"""Contents of a drawn scene: bodies, obstacles, cables and chambers of a run or a world."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from pliant.actuators import CableRows, CavityRows
from pliant.core.types import FloatArray
from pliant.models.beam import BeamModel
from pliant.models.beam.skin import beam_skin
from pliant.models.rigid import Obstacle
from pliant.models.rod import RodModel
from pliant.models.rod.rod_map import RodMap
from pliant.models.rod.skin import rod_skin
from pliant.models.volume import VolumeModel
from pliant.models.volume.readouts import von_mises
from pliant.record import RecordedBody, Run
from pliant.record.bodies import recorded_bodies
from pliant.world import World

PLAIN, DISPLACEMENT, STRESS = "plain", "displacement (mm)", "von Mises stress (kPa)"
FIBRE = "fibre stress of rods (kPa)"
LARGEST_SKIN = 6000
"""Points of the skin of a beam or a rod above which it is coarsened: 40 frames a second must fit a browser's link."""
COARSER = ((3, 2), (2, 3), (2, 4))
"""Cross-sections along an element and stride of their points, of ever coarser skins."""


class SceneContents:
    """Bodies with their read-outs, obstacles, cables and chambers. A run without its world has bodies alone.

    `tints` (#rrggbb) replace the default colours of the bodies.
    """

    def __init__(
        self,
        bodies: tuple[RecordedBody, ...],
        obstacles: tuple[Obstacle, ...],
        strands: tuple[CableRows, ...],
        models: dict[int, VolumeModel],
        rods: dict[int, RodModel] | None = None,
        chambers: tuple[CavityRows, ...] = (),
        tints: tuple[str, ...] = (),
    ) -> None:
        self.bodies = bodies
        self.obstacles = obstacles
        self.strands = strands
        self.chambers = chambers
        self.tints = tints
        self._models = models
        self._rods = rods or {}

    def mesh_points(self, index: int) -> FloatArray:
        """Nodes (n, 3) m of volume `index` in the coordinates of its mesh, before placement where that is known."""
        model, mesh = self._models.get(index), self.bodies[index].mesh
        assert mesh is not None
        points: FloatArray = mesh.points if model is None else model.spec.mesh.points
        return points

    @classmethod
    def of_world(cls, world: World) -> SceneContents:
        """The contents of a world."""
        recorded = recorded_bodies(world)
        bodies = tuple(_drawn(body, model) for body, model in zip(recorded, world.models, strict=True))
        strands = tuple(maker for maker in world.constraints if isinstance(maker, CableRows))
        models = {k: model for k, model in enumerate(world.models) if isinstance(model, VolumeModel)}
        rods = {k: model for k, model in enumerate(world.models) if isinstance(model, RodModel)}
        chambers = tuple(maker for maker in world.constraints if isinstance(maker, CavityRows))
        return cls(bodies, world.obstacles, strands, models, rods, chambers)

    @classmethod
    def of_run(cls, run: Run) -> SceneContents:
        """The contents of the simulated world, or the bodies alone where the run does not hold it."""
        return cls(run.bodies, (), (), {}) if run.world is None else cls.of_world(run.world)

    @property
    def hides(self) -> bool:
        """Whether bodies hide cables or chambers, so that transparent bodies are the better default."""
        return bool(self.strands or self.chambers)

    @property
    def color_modes(self) -> tuple[str, ...]:
        """Colour modes of volumes and rods."""
        of_volumes = (DISPLACEMENT, STRESS) if self._models else (DISPLACEMENT,)
        return (PLAIN, *(of_volumes if self._volumes() else ()), *((FIBRE,) if self._rods else ()))

    def values(self, mode: str, q: tuple[FloatArray, ...]) -> dict[int, FloatArray]:
        """Of each volume or rod by index, a value at each node or skin point (n,), in the unit of `mode`."""
        if mode == PLAIN:
            return {}
        if mode == DISPLACEMENT:
            return {k: 1e3 * np.linalg.norm(q[k] - _rest(body), axis=1) for k, body in self._volumes()}
        if mode == FIBRE:
            return {k: self._fibre_stress(k, model, q[k]) for k, model in self._rods.items()}
        return {k: _von_mises(model, q[k]) for k, model in self._models.items()}

    def _fibre_stress(self, index: int, model: RodModel, q: FloatArray) -> FloatArray:
        """Largest fibre stress of the section at each point of the skin of a rod, (n,), kPa."""
        skin = self.bodies[index].skin
        assert isinstance(skin, RodMap)
        return np.asarray(1e-3 * model.fibre_stress(q)[skin.section])

    def _volumes(self) -> list[tuple[int, RecordedBody]]:
        return [(k, body) for k, body in enumerate(self.bodies) if body.mesh is not None]


def _drawn(body: RecordedBody, model: Any) -> RecordedBody:
    """`body` with a skin that can be streamed in real time: hundreds of beams get a coarser one."""
    if body.skin is None or len(body.skin.offset) <= LARGEST_SKIN:
        return body
    make: Any = beam_skin if isinstance(model, BeamModel) else rod_skin
    for stations, every in COARSER:
        skin, triangles = make(model, stations=stations, every=every)
        if len(skin.offset) <= LARGEST_SKIN:
            break
    return replace(body, skin=skin, triangles=triangles)


def _von_mises(model: VolumeModel, q: FloatArray) -> FloatArray:
    """At the nodes, (n,), kPa."""
    return 1e-3 * von_mises(model.node_mean(model.cell_stress(q)))


def _rest(body: RecordedBody) -> FloatArray:
    assert body.mesh is not None
    return body.mesh.points
