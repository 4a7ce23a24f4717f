"""Flat cells in bending: what the warning says is what a cantilever strip shows."""

import warnings

import numpy as np
import pytest

import pliant as pl
from pliant.core.errors import PliantWarning
from pliant.models.volume.flat_cells import NOTABLE, _distances, bending_stiffness_factor

YOUNG, LENGTH, WIDTH, HEIGHT = 1e6, 0.1, 0.01, 0.002


def strip(count, element="tet4", layers=1):
    return pl.mesh.box((LENGTH, WIDTH, HEIGHT), (count, max(1, round(count * WIDTH / LENGTH)), layers), element=element)


def measured(mesh, anti_locking=True):
    """Stiffness of a cantilever strip under a load at its tip, over that of beam theory."""
    scene = pl.Scene()
    material = pl.materials.Linear(young=YOUNG, poisson=0.45, density=1e3)
    clamp = pl.regions.plane(axis="x", at=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PliantWarning)
        body = scene.add(pl.Volume(mesh, material, clamp=clamp, anti_locking=anti_locking))
        scene.add(pl.PointLoad(body, pl.regions.plane(axis="x", at=LENGTH), (0, 0, -1e-6)))
        world = scene.compile()
    state, _ = pl.QuasiStatic()(world, world.initial_state())
    exact = 1e-6 * LENGTH**3 / 3.0 / (YOUNG * WIDTH * HEIGHT**3 / 12.0)
    return exact / -state.displacements(body)[mesh.points[:, 0] > LENGTH - 1e-9, 2].mean()


@pytest.mark.parametrize(
    ("element", "anti_locking"), [("tet4", True), ("hex8", True), ("tet4", "volume"), ("tet4", False)]
)
@pytest.mark.parametrize(("count", "layers"), [(10, 1), (20, 1), (10, 2), (20, 2)])
def test_the_factor_is_that_of_a_strip(element, anti_locking, count, layers):
    """Within 40 % where it matters, in one layer and in two: layers do not help."""
    if anti_locking is False and layers == 1:
        pytest.skip("a single layer of plain tetrahedra locks in volume as well")
    mesh = strip(count, element, layers)
    factor, ratio = bending_stiffness_factor(mesh, anti_locking)
    assert ratio == pytest.approx(LENGTH / count / HEIGHT)
    assert factor == pytest.approx(measured(mesh, anti_locking), rel=0.4)


def test_cells_as_long_as_the_wall_is_thick_are_right():
    mesh = strip(50)
    assert bending_stiffness_factor(mesh, True)[0] < NOTABLE
    assert measured(mesh) == pytest.approx(1.0, abs=0.15)


def test_a_body_of_flat_cells_is_reported_with_the_remedy():
    scene = pl.Scene()
    material = pl.materials.Linear(young=YOUNG, poisson=0.45, density=1e3)
    scene.add(pl.Volume(strip(10), material, name="strip"))
    with pytest.warns(PliantWarning, match=r"cells of 'strip' .* 5.0 times .* up to 4.8 times too stiff .*tet10"):
        scene.compile()


@pytest.mark.parametrize("make", [pl.robots.finger, pl.robots.bellows, pl.robots.tower])
def test_robots_are_not_reported(make):
    body = make().body
    assert bending_stiffness_factor(body.mesh, body.anti_locking)[0] < NOTABLE


def test_quadratic_tetrahedra_are_not_reported():
    mesh = strip(10, "tet10")
    assert bending_stiffness_factor(mesh, True) == (1.0, 0.0)
    assert measured(mesh) == pytest.approx(1.0, abs=0.15)


def test_thickness_is_that_of_the_wall_and_not_of_the_cell():
    """A wide plate of one and of three layers has the same ratio of length to thickness."""
    ratios = [bending_stiffness_factor(pl.mesh.box((0.2, 0.2, 0.01), (10, 10, n)), True)[1] for n in (1, 3)]
    np.testing.assert_allclose(ratios, 2.0, rtol=1e-9)


def test_rays_meet_the_nearest_triangle_and_no_other():
    """Two parallel triangles with legs of 10 and 20 mm, 3 and 5 mm above a grid of origins."""
    small = np.array([(0.0, 0.0, 3e-3), (0.01, 0.0, 3e-3), (0.0, 0.01, 3e-3)])
    large = 2.0 * small - (0.0, 0.0, 1e-3)
    x, y = (each.ravel() for each in np.meshgrid(np.linspace(-4e-3, 0.0223, 9), np.linspace(-3e-3, 0.0217, 8)))
    origins = np.stack([x, y, np.zeros_like(x)], axis=1)
    inside = (x > 0.0) & (y > 0.0)
    expected = np.where(inside & (x + y < 0.01), 3e-3, np.where(inside & (x + y < 0.02), 5e-3, np.inf))
    assert len(np.unique(expected)) == 3
    up = np.tile((0.0, 0.0, 1.0), (len(x), 1))
    np.testing.assert_allclose(_distances(origins, up, np.stack([large, small])), expected, rtol=1e-12)
    assert np.isinf(_distances(origins, -up, np.stack([large, small]))).all()
