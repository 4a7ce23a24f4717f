"""A small software renderer: camera, z-buffer, smooth shading. It needs no graphics card and no window.

The z-buffer stores 1/distance, which is linear on the screen under perspective (Blinn 1992), so depth is exact; colour
and normal are interpolated linearly on the screen, which no eye tells apart on triangles this small.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pliant.core.kernels import kernel
from pliant.core.types import FloatArray, IndexArray
from pliant.viewer.palette import linear_to_srgb, srgb_to_linear

_HALF_ANGLE = np.radians(12.0)


@dataclass(frozen=True, eq=False)
class Camera:
    """A perspective view.

    `axes` holds the unit vectors to the right, up and backwards, shape (3, 3); `eye` is its place [m], shape (3,);
    `size` the image in pixels (width, height); `middle` the pixel on the line of sight; `zoom` pixels per unit slope.
    """

    axes: FloatArray
    eye: FloatArray
    size: tuple[int, int]
    middle: tuple[float, float]
    zoom: float

    def project(self, points: FloatArray) -> FloatArray:
        """Column, row [pixels, down] and 1/distance [1/m] of `points` [m], all of shape (n, 3)."""
        local = (points - self.eye) @ self.axes.T
        near = 1.0 / np.maximum(-local[:, 2], 1e-12)
        column = self.middle[0] + self.zoom * local[:, 0] * near
        return np.stack([column, self.middle[1] - self.zoom * local[:, 1] * near, near], axis=1)

    def directions(self, columns: IndexArray, rows: IndexArray) -> FloatArray:
        """Direction of sight through the middles of pixels, not normalised, one more axis of length 3."""
        x = (columns + 0.5 - self.middle[0]) / self.zoom
        y = (self.middle[1] - rows - 0.5) / self.zoom
        return np.asarray(x[..., None] * self.axes[0] + y[..., None] * self.axes[1] - self.axes[2])

    def scaled(self, factor: int) -> Camera:
        """The same view with `factor` times as many pixels in each direction."""
        size = (self.size[0] * factor, self.size[1] * factor)
        middle = (self.middle[0] * factor, self.middle[1] * factor)
        return Camera(self.axes, self.eye, size, middle, self.zoom * factor)


def fit_camera(
    points: FloatArray,
    *,
    size: tuple[int, int],
    area: tuple[float, float, float, float],
    azimuth: float,
    elevation: float,
) -> Camera:
    """The closest camera that sees all `points` (n, 3) [m] within `area` of the image.

    `area` is left, top, right, bottom in pixels. `azimuth` is counter-clockwise from x and `elevation` above the
    floor, both in rad, of the direction from the body to the eye.
    """
    ca, sa, ce, se = np.cos(azimuth), np.sin(azimuth), np.cos(elevation), np.sin(elevation)
    back, right = np.array([ce * ca, ce * sa, se]), np.array([-sa, ca, 0.0])
    axes = np.stack([right, np.cross(back, right), back])
    origin = points.mean(axis=0)
    x, y, z = ((points - origin) @ axes.T).T
    zoom = 0.5 * size[1] / np.tan(_HALF_ANGLE)
    slopes = np.array([area[2] - area[0], area[3] - area[1]]) / (2.0 * zoom)
    # Each side of the view pyramid, |x − c|/slope + z ≤ distance, is tight at one point; opposite sides centre it.
    sides = [(np.max(z - a / s), np.max(z + a / s)) for a, s in zip((x, y), slopes, strict=True)]
    distance = max(float(low + high) / 2.0 for low, high in sides)
    shift = [s * (high - low) / 2.0 for s, (low, high) in zip(slopes, sides, strict=True)]
    eye = origin + shift[0] * axes[0] + shift[1] * axes[1] + max(distance, 1e-9) * back
    return Camera(axes, eye, size, ((area[0] + area[2]) / 2.0, (area[1] + area[3]) / 2.0), float(zoom))


@kernel
def rasterize(
    screen: FloatArray, attributes: FloatArray, triangles: IndexArray, near: FloatArray, image: FloatArray
) -> None:
    """Draw triangles into `image` (height, width, k) where they are nearer than `near` (height, width) says.

    `screen` (n, 3) is column, row and nearness of the vertices, as `Camera.project` gives them; `attributes` (n, k)
    are interpolated into the image. Both images are updated in place; start from near = 0.
    """
    height, width = near.shape
    for t in range(triangles.shape[0]):
        a, b, c = triangles[t, 0], triangles[t, 1], triangles[t, 2]
        ax, ay, bx, by = screen[a, 0], screen[a, 1], screen[b, 0], screen[b, 1]
        cx, cy = screen[c, 0], screen[c, 1]
        area = (bx - ax) * (cy - ay) - (by - ay) * (cx - ax)
        if area == 0.0:
            continue
        row_first = max(0, int(np.ceil(min(ay, by, cy) - 0.5)))
        row_last = min(height - 1, int(np.floor(max(ay, by, cy) - 0.5)))
        column_first = max(0, int(np.ceil(min(ax, bx, cx) - 0.5)))
        column_last = min(width - 1, int(np.floor(max(ax, bx, cx) - 0.5)))
        for i in range(row_first, row_last + 1):
            y = i + 0.5
            for j in range(column_first, column_last + 1):
                x = j + 0.5
                u = ((x - ax) * (cy - ay) - (y - ay) * (cx - ax)) / area
                v = ((bx - ax) * (y - ay) - (by - ay) * (x - ax)) / area
                w = 1.0 - u - v
                if u < 0.0 or v < 0.0 or w < 0.0:
                    continue
                nearness = w * screen[a, 2] + u * screen[b, 2] + v * screen[c, 2]
                if nearness > near[i, j]:
                    near[i, j] = nearness
                    for k in range(image.shape[2]):
                        image[i, j, k] = w * attributes[a, k] + u * attributes[b, k] + v * attributes[c, k]


def shade(base: FloatArray, normals: FloatArray, toward_eye: FloatArray, axes: FloatArray) -> FloatArray:
    """Lit colours of surface points: sky light, a key light over the viewer's left shoulder, a fill, gloss and a rim.

    `base` holds sRGB colours in 0…1, `normals` directions facing the eye, `toward_eye` unit directions, all (n, 3).
    """
    n = normals / np.maximum(np.linalg.norm(normals, axis=1, keepdims=True), 1e-12)
    key = _unit(0.75 * axes[2] - 0.5 * axes[0] + 0.3 * axes[1] + np.array([0.0, 0.0, 0.5]))
    fill = _unit(axes[2] + 1.4 * axes[0])
    sky = (0.5 + 0.5 * n[:, 2])[:, None]
    ambient = (1.0 - sky) * np.array([0.34, 0.33, 0.37]) + sky * np.array([0.60, 0.62, 0.66])
    diffuse = np.maximum(0.0, (n @ key + 0.2) / 1.2) * 0.60 + np.maximum(0.0, n @ fill) * 0.22
    halfway = key + toward_eye
    halfway /= np.linalg.norm(halfway, axis=1, keepdims=True)
    glint = np.maximum(0.0, np.einsum("ij,ij->i", n, halfway))
    facing = np.clip(np.einsum("ij,ij->i", n, toward_eye), 0.0, 1.0)
    light = srgb_to_linear(base)
    rim = (0.14 * (1.0 - facing) ** 3)[:, None] * (0.35 + 0.65 * sky) * (0.4 + 0.6 * light)
    lit = light * (ambient + diffuse[:, None]) + (0.16 * glint**42 + 0.05 * glint**8)[:, None] + rim
    return linear_to_srgb(lit)


def shrink(image: FloatArray, factor: int) -> FloatArray:
    """Means over blocks of `factor` × `factor` pixels: the antialiasing of an image drawn too large on purpose."""
    total = np.zeros((image.shape[0] // factor, image.shape[1] // factor, image.shape[2]))
    for row in range(factor):
        for column in range(factor):
            total += image[row::factor, column::factor]
    return np.asarray(total / factor**2)


def _unit(vector: FloatArray) -> FloatArray:
    return np.asarray(vector / np.linalg.norm(vector))
