"""Contents of a drawn scene: bodies, obstacles, cables and chambers of a run or a world."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from pliant.actuators import CavityRows, TensionRows
from pliant.core.types import FloatArray
from pliant.models.body import Model
from pliant.models.rigid import Obstacle
from pliant.record import RecordedBody, Run
from pliant.record.bodies import recorded_bodies, recorded_body
from pliant.world import World

PLAIN, DISPLACEMENT, STRESS = "plain", "displacement (mm)", "von Mises stress (kPa)"
FIBRE = "fibre stress of rods (kPa)"
LARGEST_SKIN = 6000
"""Points of the skin of a beam or a rod above which it is coarsened: 40 frames a second must fit a browser's link."""
COARSER = ((3, 2), (2, 3), (2, 4))
"""Cross-sections along an element and stride of their points, of ever coarser skins."""


@dataclass(frozen=True, eq=False)
class SceneContents:
    """Bodies with their read-outs, obstacles, cables and chambers. A run without its world has bodies alone.

    `models` by index are those that have stresses to show; `tints` (#rrggbb) replace the default colours of the bodies.
    """

    bodies: tuple[RecordedBody, ...]
    obstacles: tuple[Obstacle, ...] = ()
    strands: tuple[TensionRows, ...] = ()
    models: Mapping[int, Model] = field(default_factory=dict)
    chambers: tuple[CavityRows, ...] = ()
    tints: tuple[str, ...] = ()

    def mesh_points(self, index: int) -> FloatArray:
        """Nodes (n, 3) m of volume `index` in the coordinates of its mesh, before placement where that is known."""
        model, mesh = self.models.get(index), self.bodies[index].mesh
        assert mesh is not None
        return np.asarray(mesh.points if model is None else model.spec.mesh.points)

    @classmethod
    def of_world(cls, world: World) -> SceneContents:
        """The contents of a world."""
        recorded = recorded_bodies(world)
        bodies = tuple(_drawn(body, model) for body, model in zip(recorded, world.models, strict=True))
        models = {k: model for k, model in enumerate(world.models) if model.stress_name is not None}
        drawn: dict[Any, list[Any]] = {"cable": [], "chamber": []}
        for constraint in world.constraints:
            drawn.get(getattr(constraint, "drawn_as", None), []).append(constraint)
        return cls(bodies, world.obstacles, tuple(drawn["cable"]), models, tuple(drawn["chamber"]))

    @classmethod
    def of_run(cls, run: Run) -> SceneContents:
        """The contents of the simulated world, or the bodies alone where the run does not hold it."""
        return cls(run.bodies) if run.world is None else cls.of_world(run.world)

    @property
    def hides(self) -> bool:
        """Whether bodies hide cables or chambers, so that transparent bodies are the better default."""
        return bool(self.strands or self.chambers)

    @property
    def color_modes(self) -> tuple[str, ...]:
        """Colour modes of volumes and rods."""
        stresses = {str(model.stress_name): None for model in self.models.values()}
        return (PLAIN, *((DISPLACEMENT,) if self._volumes() else ()), *sorted(stresses, reverse=True))

    def values(self, mode: str, q: tuple[FloatArray, ...]) -> dict[int, FloatArray]:
        """Of each volume or rod by index, a value at each node or skin point (n,), in the unit of `mode`."""
        if mode == PLAIN:
            return {}
        if mode == DISPLACEMENT:
            return {k: 1e3 * np.linalg.norm(q[k] - _rest(body), axis=1) for k, body in self._volumes()}
        shown = {k: model for k, model in self.models.items() if model.stress_name == mode}
        return {k: 1e-3 * model.surface_stress(q[k], self.bodies[k].skin) for k, model in shown.items()}

    def _volumes(self) -> list[tuple[int, RecordedBody]]:
        return [(k, body) for k, body in enumerate(self.bodies) if body.mesh is not None]


def _drawn(body: RecordedBody, model: Any) -> RecordedBody:
    """`body` with a skin that can be streamed in real time: hundreds of beams get a coarser one."""
    coarser = iter(COARSER)
    while body.skin is not None and len(body.skin.points(model.initial()[0])) > LARGEST_SKIN:
        options = next(coarser, None)
        if options is None:
            break
        body = recorded_body(model, stations=options[0], every=options[1])
    return body


def _rest(body: RecordedBody) -> FloatArray:
    assert body.mesh is not None
    return body.mesh.points
