"""What a still picture shows, as an image array: background, floor, contact shadow, faint earlier poses, last pose."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from scipy.ndimage import gaussian_filter

from pliant.core.types import BoolArray, FloatArray, IndexArray
from pliant.viewer.palette import map_colors, rgb
from pliant.viewer.rasterizer import Camera, rasterize, shade, shrink
from pliant.viewer.surfaces import (
    Scale,
    SurfaceFrames,
    bounds,
    floor_height,
    grid_spacing,
    plain_colors,
    split_creases,
    vertex_normals,
)

_SUPERSAMPLING = 2  # samples a pixel along each axis
_SHADOW_PIXELS = 384  # of the map of the shadow, which is blurred: more would not show
SHADOW_OPACITY, _GRID_OPACITY = 0.34, 0.30
_BACKGROUND_MIDDLE, _BACKGROUND_EDGE, _GRID_COLOR = rgb("#fcfdfe"), rgb("#e1e6ed"), rgb("#4a566b")

_DARK_BACKGROUND = rgb("#2b313d"), rgb("#14181f")


def render_poses(
    surfaces: Sequence[SurfaceFrames],
    scales: Sequence[Scale],
    camera: Camera,
    *,
    floor_box: tuple[FloatArray, FloatArray] | None = None,
    floor: float | None = None,
) -> FloatArray:
    """Draw all frames of `surfaces` over each other: the last solid, the others the fainter the earlier.

    `floor_box` are the corners (3,) [m] of the box above the floor: None takes these surfaces; a film gives those of
    the whole motion, so that its floor stays. `floor` [m] is the height of a floor that exists, None: below the box.
    Returns sRGB in 0…1, shape (height, width, 3).
    """
    solid = [i for i, surface in enumerate(surfaces) if not surface.in_front and surface.opacity == 1.0]
    still = [i for i in solid if len(surfaces[i].frames) == 1]
    moving = [i for i in solid if len(surfaces[i].frames) > 1]
    clear = [i for i, surface in enumerate(surfaces) if not surface.in_front and surface.opacity < 1.0]
    front = [i for i, surface in enumerate(surfaces) if surface.in_front]
    count = max(len(surface.frames) for surface in surfaces)
    large = camera.scaled(_SUPERSAMPLING)
    image = background_image(camera.size, camera.middle)
    image = _draw_floor(image, surfaces, camera, bounds(surfaces) if floor_box is None else floor_box, floor)
    near = np.zeros((large.size[1], large.size[0]))
    image = _over(image, _draw_pose(surfaces, still, 0, scales, large, near))
    for pose in range(count - 1):
        # Opacity rises with time so that the eye reads the order of the poses.
        opacity = 0.16 + 0.26 * pose / max(count - 2, 1)
        image = _over(image, _draw_pose(surfaces, moving, pose, scales, large, near.copy(), opacity))
    image = _over(image, _draw_pose(surfaces, moving, count - 1, scales, large, near))
    for i in clear:  # what is inside was drawn before
        image = _over(image, _draw_pose(surfaces, [i], count - 1, scales, large, near.copy(), surfaces[i].opacity))
    return _over(image, _draw_pose(surfaces, front, count - 1, scales, large, np.zeros_like(near))) if front else image


def _over(image: FloatArray, layer: FloatArray) -> FloatArray:
    """`layer` (height, width, 4), colours multiplied by their opacity, laid over `image` (height, width, 3)."""
    return np.asarray(image * (1.0 - layer[..., 3:]) + layer[..., :3])


def _draw_pose(
    surfaces: Sequence[SurfaceFrames],
    chosen: Sequence[int],
    pose: int,
    scales: Sequence[Scale],
    camera: Camera,
    near: FloatArray,
    opacity: float = 1.0,
) -> FloatArray:
    """The `chosen` surfaces at one pose where nearer than `near`, which is updated: colours × opacity, opacity."""
    height, width = near.shape
    before = near.copy()
    buffer = np.zeros((height, width, 5))
    for i in chosen:
        corners, source = split_creases(surfaces[i].frames[0], surfaces[i].triangles)
        points = surfaces[i].frame(pose)[source]
        level = _levels(surfaces[i], pose, scales)[source]
        attributes = np.column_stack([vertex_normals(points, corners), level, np.full(len(source), float(i))])
        screen = camera.project(points)
        away = _turned_away(screen, corners)
        rasterize(screen, attributes, corners[~away], near, buffer)
        # The inside of an open surface is lit as an outside.
        rasterize(screen, attributes * [-1.0, -1.0, -1.0, 1.0, 1.0], corners[away], near, buffer)
    return shrink(_light(near > before, buffer, surfaces, camera, opacity), _SUPERSAMPLING)


def _turned_away(screen: FloatArray, triangles: IndexArray) -> BoolArray:
    """Whether each triangle shows its back: it runs clockwise on the screen, whose rows count downward, shape (t,)."""
    a, b, c = (screen[triangles[:, k], :2] for k in range(3))
    u, v = b - a, c - a
    return np.asarray(u[:, 0] * v[:, 1] - u[:, 1] * v[:, 0] > 0.0)


def _levels(surface: SurfaceFrames, pose: int, scales: Sequence[Scale]) -> FloatArray:
    """Place of each vertex's value on its colour scale, 0…1 (beyond where clipped), shape (n,)."""
    values = surface.frame_values(pose)
    if values is None:
        return np.zeros(surface.frames.shape[1])
    scale = next(scale for scale in scales if scale.label == surface.value_label)
    return np.asarray((values - scale.low) / max(scale.high - scale.low, 1e-300))


def _light(
    covered: BoolArray, buffer: FloatArray, surfaces: Sequence[SurfaceFrames], camera: Camera, opacity: float
) -> FloatArray:
    """Lit colours of the covered pixels times their opacity, and that opacity, shape (height, width, 4)."""
    rows, columns = np.nonzero(covered)
    normals, level, owner = buffer[rows, columns, :3], buffer[rows, columns, 3], np.rint(buffer[rows, columns, 4])
    base = map_colors(level)
    for i, (surface, tint) in enumerate(zip(surfaces, plain_colors(surfaces), strict=True)):
        if surface.values is None:
            base[owner == i] = rgb(tint)
    toward_eye = -camera.directions(columns, rows)
    toward_eye /= np.linalg.norm(toward_eye, axis=1, keepdims=True)
    layer = np.zeros((*covered.shape, 4))
    alpha = np.full(len(rows), opacity)
    if opacity < 1.0:
        # A faint body is read by its outline and creases, so these are drawn firmer.
        alpha[_outline(covered, buffer)[rows, columns]] = min(1.0, opacity + 0.25)
    layer[rows, columns, :3] = alpha[:, None] * shade(base, normals, toward_eye, camera.axes)
    layer[rows, columns, 3] = alpha
    return layer


def _outline(covered: BoolArray, buffer: FloatArray) -> BoolArray:
    """Covered pixels beside an uncovered one, or beside one whose normal differs by a crease, shape (height, width)."""
    edge = np.zeros_like(covered)
    for here, there in (
        ((slice(None), slice(1, None)), (slice(None), slice(None, -1))),
        ((slice(1, None), slice(None)), (slice(None, -1), slice(None))),
    ):
        turned = np.einsum("ijk,ijk->ij", buffer[here][..., :3], buffer[there][..., :3]) < 0.8
        differs = (covered[here] != covered[there]) | (covered[here] & turned)
        edge[here] |= differs
        edge[there] |= differs
    return np.asarray(edge & covered)


def background_image(
    size: tuple[int, int], middle: tuple[float, float] | None = None, *, dark: bool = False
) -> FloatArray:
    """Background of a picture of `size` (width, height), brightest at the pixel `middle`; sRGB 0…1."""
    width, height = size
    column, row = (0.5 * width, 0.46 * height) if middle is None else middle
    x = (np.arange(width)[None, :] - column) / height
    y = (np.arange(height)[:, None] - row) / height
    fraction = np.clip(np.hypot(x, y) / 1.05, 0.0, 1.0)
    weight = (fraction * fraction * (3.0 - 2.0 * fraction))[..., None]
    inner, outer = _DARK_BACKGROUND if dark else (_BACKGROUND_MIDDLE, _BACKGROUND_EDGE)
    return np.asarray((1.0 - weight) * inner + weight * outer)


def _draw_floor(
    image: FloatArray,
    surfaces: Sequence[SurfaceFrames],
    camera: Camera,
    floor_box: tuple[FloatArray, FloatArray],
    floor: float | None = None,
) -> FloatArray:
    """The image with grid lines, fading with distance, and the shadow of the last pose on the floor."""
    lower, upper = floor_box
    extent, height = float(np.linalg.norm(upper - lower)), floor_height(lower, upper, floor)
    rows, columns = np.mgrid[: camera.size[1], : camera.size[0]]
    sight = camera.directions(columns, rows)
    hit = sight[..., 2] < -1e-6
    reach = np.where(hit, (height - camera.eye[2]) / np.where(hit, sight[..., 2], -1.0), 0.0)
    ground = camera.eye[:2] + reach[..., None] * sight[..., :2]
    far = np.linalg.norm(ground - 0.5 * (lower + upper)[:2], axis=-1) / (2.2 * max(extent, 1e-9))
    grid = grid_spacing(lower, upper)
    lines = np.maximum(0.45 * _grid_lines(ground, grid, 0.5), _grid_lines(ground, 5.0 * grid, 0.7))
    alpha = (_GRID_OPACITY * lines * np.clip(1.0 - far, 0.0, 1.0) ** 1.6 * hit)[..., None]
    image = image * (1.0 - alpha) + alpha * _GRID_COLOR
    shadow = _shadow(ground, surfaces, (lower, upper), height) * hit
    return np.asarray(image * (1.0 - SHADOW_OPACITY * shadow[..., None]))


def _grid_lines(ground: FloatArray, spacing: float, half_width: float) -> FloatArray:
    """Coverage 0…1 of every pixel by lines `spacing` apart and 2·`half_width` pixels wide; too dense lines vanish."""
    cover = np.zeros(ground.shape[:2])
    for axis in range(2):
        place = ground[..., axis] / spacing
        pixel = np.maximum(np.hypot(*np.gradient(place)), 1e-9)
        distance = np.abs(place - np.rint(place)) / pixel
        line = np.clip((half_width + 0.6 - distance) / 1.1, 0.0, 1.0)
        cover = np.maximum(cover, line * np.clip((0.6 - pixel) / 0.35, 0.0, 1.0))
    return cover


def _shadow(
    ground: FloatArray, surfaces: Sequence[SurfaceFrames], box: tuple[FloatArray, FloatArray], floor: float
) -> FloatArray:
    """Soft shadow 0…1 of the last pose at the floor points `ground`."""
    drawn = [(surface.frame(-1), surface.triangles) for surface in surfaces if not surface.in_front]
    soft, corner, cell = shadow_map(drawn, box, floor, _SHADOW_PIXELS)
    index = np.floor((ground - corner) / cell).astype(np.int64)
    inside = np.all((index >= 0) & (index < _SHADOW_PIXELS), axis=-1)
    index = np.clip(index, 0, _SHADOW_PIXELS - 1)
    return np.asarray(np.where(inside, soft[index[..., 1], index[..., 0]], 0.0))


def shadow_map(
    surfaces: Iterable[tuple[FloatArray, IndexArray]], box: tuple[FloatArray, FloatArray], floor: float, pixels: int
) -> tuple[FloatArray, FloatArray, float]:
    """Soft shadow 0…1 of `surfaces` on the floor, straight below them and the darker the closer.

    `surfaces` are points (n, 3) [m] and triangles (t, 3), `box` the corners (3,) [m] of the scene. Returns the map
    (pixels, pixels) with rows along y, its lower corner (2,) [m] and the side of a pixel [m].
    """
    extent = max(float(np.linalg.norm(box[1] - box[0])), 1e-9)
    corner = box[0][:2] - 0.16 * extent
    cell = float(np.max(box[1][:2] - box[0][:2]) + 0.32 * extent) / pixels
    near, dark = np.zeros((pixels, pixels)), np.zeros((pixels, pixels, 1))
    for points, triangles in surfaces:
        rise = np.maximum(points[:, 2] - floor, 0.0) / extent
        screen = np.column_stack([(points[:, :2] - corner) / cell, 1.0 / (1.0 + rise)])
        rasterize(screen, np.exp(-rise / 0.28)[:, None], triangles, near, dark)
    return gaussian_filter(dark[..., 0], 0.0155 * extent / cell), corner, cell
