"""A picture of a state of a task, drawn without display or browser."""

from __future__ import annotations

from typing import Any

import numpy as np

from pliant.core.types import FloatArray
from pliant.gym.task import Task
from pliant.record import Run
from pliant.viewer.export_surfaces import shown_run
from pliant.viewer.pose_renderer import render_poses
from pliant.viewer.rasterizer import fit_camera
from pliant.viewer.shapes import ball
from pliant.viewer.surfaces import SurfaceFrames
from pliant.world import State

GOAL, CORE = "#2f9e5b", 0.4
"""Colour of a goal, and the fraction of its radius that is seen through everything."""


def draw(task: Task, state: State, goal: FloatArray, size: tuple[int, int]) -> Any:
    """The bodies of `state` and the marks of the `goal` as (height, width, 3), uint8."""
    shown = shown_run(Run.of([state]), color="plain", arrows=False, cables=True)
    surfaces = [surface.compact() for surface in shown.surfaces]
    for place, radius in task.marks(goal):
        for radius_of, look in ((radius, {"opacity": 0.55}), (CORE * radius, {"in_front": True})):
            points, triangles = ball(np.asarray(place, np.float64), radius_of)
            surfaces.append(SurfaceFrames(triangles, points[None], color=GOAL, **look))
    lower, upper = (np.asarray(corner, np.float64) for corner in task.view)
    corners = np.array(
        [[x, y, z] for x in (lower[0], upper[0]) for y in (lower[1], upper[1]) for z in (lower[2], upper[2])]
    )
    azimuth, elevation = np.radians(task.eye)
    border = 0.04 * min(size)
    area = (border, border, size[0] - border, size[1] - border)
    camera = fit_camera(corners, size=size, area=area, azimuth=azimuth, elevation=elevation)
    image = render_poses(surfaces, [], camera, floor_box=(lower, upper), floor=shown.floor)
    return np.asarray(np.clip(255.0 * image + 0.5, 0.0, 255.0), np.uint8)
