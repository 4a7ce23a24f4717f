"""Gizmos: handles for the target of the tip and for obstacles, dragged in the scene or typed in the panel."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from pliant.core.types import FloatArray
from pliant.viewer.driver import Driver
from pliant.viewer.frame import Frame
from pliant.viewer.shapes import ball
from pliant.viewer.subject import Handle

_TARGET, _TIP = (224, 49, 49), (33, 37, 41)


class Gizmos:
    """The gizmos of a scene of `size` m; those of the target are shown by `aim(True)`."""

    def __init__(
        self, server: Any, driver: Driver, size: float, tip: FloatArray | None, handles: Sequence[Handle]
    ) -> None:
        self._driver, self._handles = driver, tuple(handles)
        scene = server.scene
        self.target: Any = None
        self.target_field: Any = None
        self._tip: Any = None
        self._start = None if tip is None else np.asarray(tip, float)

        def gizmo(name: str, scale: float, position: FloatArray, **options: Any) -> Any:
            fixed: dict[str, Any] = {"disable_rotations": True, "depth_test": False, **options}
            return driver.guard_gizmo(scene.add_transform_controls(name, scale=scale, position=position, **fixed))

        if tip is not None:
            self.target = gizmo("/target", 0.11 * size, tip, visible=False)
            points, triangles = ball(np.zeros(3), 0.011 * size)
            scene.add_mesh_simple("/target/point", points, triangles, color=_TARGET, opacity=0.8, cast_shadow=False)
            self._tip = scene.add_mesh_simple(
                "/tip", 0.75 * points, triangles, color=_TIP, position=tip, visible=False, cast_shadow=False
            )
        self.obstacles = [gizmo(f"/drag/{h.index} {h.name}", 0.09 * size, h.center) for h in handles]
        self._typed: dict[int, tuple[Any, Any]] = {}

    def add_fields(self, gui: Any, *, order: float) -> list[Any]:
        """Fields for the positions (mm) of target and obstacles, in step with their gizmos; what was added."""
        made = []
        if self.target is not None:
            self.target_field = self._field(gui, "target (mm)", self.target, order)
            self.target_field.visible = False
            made.append(self.target_field)
        if self.obstacles:
            made.append(gui.add_folder("Obstacles", order=order + 0.5, expand_by_default=False))
            with made[-1]:
                for one, handle in zip(self.obstacles, self._handles, strict=True):
                    self._field(gui, f"{handle.name} (mm)", one, None)
        return made

    def _field(self, gui: Any, label: str, gizmo: Any, order: float | None) -> Any:
        def typed(event: Any) -> None:
            self._driver.move(gizmo, 1e-3 * np.array(event.target.value))

        field = gui.add_vector3(label, _shown_mm(gizmo.position), step=0.5, order=order)
        self._driver.guard(field, typed)
        self._typed[id(gizmo)] = (gizmo, field)
        return field

    def show_positions(self) -> None:
        """Let the fields show where the gizmos are."""
        for gizmo, field in self._typed.values():
            place = _shown_mm(self._driver.value(gizmo))
            if place != tuple(field.value):
                self._driver.set(field, place)

    def aim(self, shown: bool, tip: FloatArray | None = None) -> None:
        """Show or hide the target, at `tip` (3,) m where that is given."""
        if self.target is not None:
            if tip is not None:
                self._driver.move(self.target, tip)
            self.target.visible = self._tip.visible = shown
            if self.target_field is not None:
                self.target_field.visible = shown

    def show_drags(self, shown: bool) -> None:
        """Show or hide the gizmos of obstacles."""
        for gizmo in self.obstacles:
            gizmo.visible = shown

    def follow(self, frame: Frame) -> None:
        """Move the marker of the tip to its position in `frame`."""
        if self._tip is not None and frame.tip is not None and self._tip.visible:
            self._tip.position = frame.tip

    def reset(self) -> None:
        """All gizmos back to their initial positions."""
        for gizmo, handle in zip(self.obstacles, self._handles, strict=True):
            self._driver.move(gizmo, handle.center)
        if self.target is not None and self._start is not None:
            self._driver.move(self.target, self._start)

    @property
    def aimed(self) -> FloatArray:
        """Target position of the tip, (3,) m."""
        return np.zeros(3) if self.target is None else np.array(self._driver.value(self.target))

    @property
    def displacements(self) -> FloatArray:
        """Wanted displacement of each obstacle, (k, 3) m."""
        pairs = zip(self.obstacles, self._handles, strict=True)
        return np.array([np.array(self._driver.value(g)) - h.center for g, h in pairs]).reshape(-1, 3)


def _shown_mm(position: Any) -> tuple[float, float, float]:
    """A position (3,) m as the panel shows it, mm."""
    x, y, z = (round(1e3 * float(one), 1) for one in position)
    return x, y, z
