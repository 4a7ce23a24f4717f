"""A bending beam of 200 × 40 × 40 mm, made up: smooth motion, stress-like values, a few vertices no triangle uses."""

import shutil

import numpy as np
import pytest

from pliant.viewer.screenshot import FLAGS
from pliant.viewer.surfaces import SurfaceFrames


def box_surface(size, cells):
    """Vertices (n, 3) and outward triangles (t, 3) of the surface of a box; inner grid points stay unused."""
    axes = [np.linspace(0.0, length, count + 1) for length, count in zip(size, cells)]
    points = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 3)
    number = np.arange(len(points)).reshape([count + 1 for count in cells])
    triangles = []
    for axis in range(3):
        for side, turn in ((0, -1), (-1, 1)):
            sheet = np.take(np.moveaxis(number, (axis, (axis + 1) % 3, (axis + 2) % 3), (0, 1, 2)), side, axis=0)
            a, b, c, d = sheet[:-1, :-1], sheet[1:, :-1], sheet[1:, 1:], sheet[:-1, 1:]
            for corners in ((a, b, c), (a, c, d)):
                triangles.append(np.stack(corners[::turn], axis=-1).reshape(-1, 3))
    return points, np.concatenate(triangles)


def bending_beam(cells=(12, 3, 3), instants=20):
    points, triangles = box_surface((0.2, 0.04, 0.04), cells)
    x, y, z = points.T - np.array([[0.0], [0.02], [0.02]])
    frames, values = [], []
    for bend in np.sin(np.linspace(0.0, np.pi, instants)):
        angle = -(1.2 * bend + 1e-9) * x / 0.2
        radius = -0.2 / (1.2 * bend + 1e-9)
        along, rise = radius * np.sin(angle), radius * (1.0 - np.cos(angle))
        frames.append(np.stack([along - z * np.sin(angle), y, rise + z * np.cos(angle) + 0.15], axis=1))
        values.append(bend * np.abs(z) * 1e3)
    return SurfaceFrames(triangles, np.array(frames), np.array(values), "beam", "stress (kPa)")


@pytest.fixture
def beam():
    return bending_beam()


@pytest.fixture
def make_beam():
    return bending_beam


@pytest.fixture
def make_box():
    return box_surface


@pytest.fixture(scope="session")
def chromium():
    """One Chromium for all tests: it takes seconds to start."""
    api = pytest.importorskip("playwright.sync_api", reason="needs Playwright: pip install playwright")
    path = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if path is None:
        pytest.skip("needs Chromium: sudo apt-get install -y chromium")
    with api.sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=path, args=list(FLAGS))
        yield opened
        opened.close()


@pytest.fixture
def browser(chromium):
    """That Chromium; the pages that a test opened are closed with it."""
    before = list(chromium.contexts)
    yield chromium
    for context in chromium.contexts:
        if context not in before:
            context.close()
