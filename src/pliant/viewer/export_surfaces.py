"""A run as moving surfaces: bodies with their colours, rigid bodies, obstacles, and cables as thin tubes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pliant.collision import Plane
from pliant.core.checks import positive
from pliant.core.errors import InputError
from pliant.core.types import FloatArray, IndexArray
from pliant.mesh import Mesh
from pliant.mesh.regions import as_region
from pliant.record import RecordedBody, Run
from pliant.viewer.arrows import arrow_surfaces
from pliant.viewer.contents import DISPLACEMENT, PLAIN, STRESS, SceneContents
from pliant.viewer.palette import OBSTACLE, TINTS
from pliant.viewer.shapes import HOLLOW_OPACITY, balls, is_hollow, shape_triangles, tube_frames
from pliant.viewer.surfaces import SurfaceFrames

COLORS: dict[str, str] = {"plain": PLAIN, "displacement": DISPLACEMENT, "stress": STRESS}
"""Colour modes of volumes by the name that `pl.export` takes."""
TENSION = "cable tension (N)"
_CABLE = "#20242c"


@dataclass(frozen=True, eq=False)
class Shown:
    """What is drawn of a run: `surfaces` at the instants `times` (T,), s, which are the `frames` (T,) of the run.

    `floor` is the height of the floor, m; None leaves it to the drawing.
    """

    surfaces: tuple[SurfaceFrames, ...]
    times: FloatArray
    frames: IndexArray
    floor: float | None = None


def chosen_frames(times: FloatArray, fps: float | None) -> IndexArray:
    """Indices of the frames nearest to instants 1/`fps` s apart, with the first and the last; all frames for None."""
    if fps is None or len(times) < 2:
        return np.arange(len(times))
    span = float(times[-1] - times[0])
    if positive("fps", fps, unit="1/s") * float(np.diff(times).min()) > 2.0:  # every frame is near to an instant
        return np.arange(len(times))
    count = max(2, int(np.floor(span * positive("fps", fps, unit="1/s"))) + 1)
    wanted = np.linspace(times[0], times[-1], count)
    after = np.clip(np.searchsorted(times, wanted), 1, len(times) - 1)
    nearer = after - (wanted - times[after - 1] < times[after] - wanted)
    return np.unique(nearer)


def shown_run(
    run: Run,
    *,
    fps: float | None = None,
    color: str = "stress",
    cables: bool = True,
    arrows: bool = True,
    opacity: float = 1.0,
    cut: Any = None,
) -> Shown:
    """The surfaces of a `run` at `fps` (1/s) instants a second, or at every recorded one for None; `cables` as tubes,
    the largest contact forces as `arrows`. `opacity` is that of volumes; their cells whose centres lie at rest in the
    region `cut` are left out.

    Volumes are coloured by "stress" (von Mises, where the run knows its world), "displacement" or "plain".
    """
    if color not in COLORS:
        raise InputError(f"there is no colouring {color!r}; choose one of {', '.join(COLORS)}")
    frames = chosen_frames(run.times, fps)
    contents, times = SceneContents.of_run(run), run.times[frames]
    mode = COLORS[color] if COLORS[color] in contents.color_modes else (contents.color_modes[1:] or (PLAIN,))[0]
    mode = PLAIN if color == "plain" else mode
    colors = _values(contents, run, frames, mode)
    surfaces = [_body(run, k, frames, colors.get(k), (mode, opacity, cut)) for k in range(len(run.bodies))]
    moved = [surface for surface in surfaces if surface is not None]
    if cables and moved:
        moved += _cables(contents, run, frames, moved)
    floor = None
    size = _diagonal(moved)
    if arrows and moved:
        moved += arrow_surfaces([run.contacts(int(f)) for f in frames], size)
    for obstacle in contents.obstacles:
        solid = obstacle.shape.solid
        if isinstance(solid, Plane) and solid.normal[2] > 0.999 and obstacle.motion is None:
            floor = float(solid.point[2])
            continue
        surface = shape_triangles(obstacle.shape, half_width=size)
        if surface is not None:
            points, triangles = surface
            instants = times if obstacle.motion is not None else times[:1]
            poses = np.stack([obstacle.pose(float(t)) for t in instants])
            clear = HOLLOW_OPACITY if is_hollow(obstacle.shape) else 1.0
            look: dict[str, Any] = {"label": obstacle.name, "color": OBSTACLE, "opacity": clear}
            moved.append(SurfaceFrames(triangles, _posed(points, poses), **look))
    if not moved:
        raise InputError("no body of this run has a known surface, so there is nothing to draw")
    return Shown(tuple(moved), times, frames, floor)


def _values(contents: SceneContents, run: Run, frames: IndexArray, mode: str) -> dict[int, FloatArray]:
    """Of each coloured body, values (T, n)."""
    if mode == PLAIN:
        return {}
    surface = [contents.values(mode, tuple(positions[f] for positions in run.positions)) for f in frames]
    return {k: np.stack([values[k] for values in surface]) for k in surface[0]}


def _body(
    run: Run, index: int, frames: IndexArray, values: FloatArray | None, look: tuple[str, float, Any]
) -> SurfaceFrames | None:
    mode, opacity, cut = look
    body, tint = run.bodies[index], TINTS[index % len(TINTS)]
    triangles = np.asarray(body.surface_triangles(), np.int64)
    if cut is not None and body.mesh is not None:
        triangles = _cut_triangles(body, cut)
        if not len(triangles):
            return None
    if not body.is_rigid:
        points = np.stack([body.surface_points(run.positions[index][f]) for f in frames])
        return SurfaceFrames(
            triangles,
            points,
            values,
            body.name,
            mode if values is not None else "",
            tint,
            opacity=opacity if body.mesh is not None else 1.0,
        )
    local = body.local
    if not len(triangles):
        if not (len(local) and body.radius > 0.0):
            return None
        local, triangles = balls(local, body.radius)
    return SurfaceFrames(triangles, _posed(local, run.positions[index][frames]), label=body.name, color=tint)


def _cut_triangles(body: RecordedBody, cut: Any) -> IndexArray:
    """Surface triangles (t, 3) of a volume without the cells whose centres lie in the region `cut` at rest."""
    mesh = body.mesh
    assert mesh is not None
    kept = ~as_region(cut, what="cut").select(mesh.points[mesh.corner_cells].mean(axis=1))
    if not kept.any():
        return np.zeros((0, 3), np.int64)
    used, cells = np.unique(mesh.cells[kept], return_inverse=True)
    part = Mesh(mesh.points[used], cells.reshape(-1, mesh.cells.shape[1]).astype(np.int32), mesh.element)
    return np.asarray(used[part.surface().triangles], np.int64)


def _posed(local: FloatArray, poses: FloatArray) -> FloatArray:
    """Points (n, 3) m of a rigid body at poses (T, 4, 3): (T, n, 3) m."""
    return np.asarray(poses[:, :1] + local @ poses[:, 1:].transpose(0, 2, 1))


def _cables(
    contents: SceneContents, run: Run, frames: IndexArray, bodies: Sequence[SurfaceFrames]
) -> list[SurfaceFrames]:
    radius = 0.004 * _diagonal(bodies)  # of the size of the scene: visible, and thin beside the body
    tension = {rows.names[0]: rows.values[:, 1] for rows in run.forces if rows.values.shape[1] == 2}
    surfaces = []
    for strand in contents.strands:
        paths = np.stack([strand.path(tuple(positions[f] for positions in run.positions)) for f in frames])
        points, triangles = tube_frames(paths, radius)
        name: Any = strand.spec.name
        if name in tension:
            values = np.repeat(tension[name][frames][:, None], points.shape[1], axis=1)
            surfaces.append(SurfaceFrames(triangles, points, values, name, TENSION))
        else:
            surfaces.append(SurfaceFrames(triangles, points, label=name, color=_CABLE))
    return surfaces


def _diagonal(surfaces: Sequence[SurfaceFrames]) -> float:
    """Diagonal of the first frames, m."""
    if not surfaces:
        return 1.0
    lower = np.min([surface.frames[0].min(axis=0) for surface in surfaces], axis=0)
    upper = np.max([surface.frames[0].max(axis=0) for surface in surfaces], axis=0)
    return float(np.linalg.norm(upper - lower))
