"""Beams as they are drawn: a tube round the axis, in the page's cast and in still pictures."""

import numpy as np
import pytest

import pliant as pl
from pliant.viewer.contents import DISPLACEMENT, PLAIN, SceneContents
from pliant.viewer.pose_renderer import render_poses
from pliant.viewer.rasterizer import fit_camera
from pliant.viewer.shapes import is_hollow, shape_triangles
from pliant.viewer.surfaces import SurfaceFrames


@pytest.fixture(scope="module")
def recorded():
    scene = pl.Scene(gravity=(0, 0, -9.81))
    section = pl.sections.Circle(0.01)
    points = np.linspace((0, 0, 0), (0.3, 0, 0), 7)
    beam = scene.add(pl.Beam(points, section=section, young=1e6, poisson=0.4, density=1e3, clamp=[0]))
    return pl.simulate(scene.compile(), pl.ImplicitEuler(dt=0.01), until=0.1), beam


def test_the_surface_keeps_its_distance_from_the_axis(recorded):
    run, beam = recorded
    surface, axis = run.surface_points(beam)[-1], run.points(beam)[-1]
    assert axis[-1, 2] < -0.01
    ends = np.linalg.norm(surface[:, None] - axis, axis=2).min(axis=1)
    assert ends.min() < 1e-12  # the middles of the caps
    ring = run.bodies[0].skin.coordinate == 0.0
    rims = ring & (np.linalg.norm(run.bodies[0].skin.offset, axis=1) > 0.0)
    np.testing.assert_allclose(np.linalg.norm(surface - axis[run.bodies[0].skin.nodes[:, 0]], axis=1)[rims], 0.01)


def test_a_beam_stands_in_the_cast_and_has_no_cells_to_colour(recorded):
    run, _ = recorded
    contents = SceneContents.of_run(run)
    body = contents.bodies[0]
    assert not body.is_rigid
    assert contents.color_modes == (PLAIN,)
    assert contents.values(DISPLACEMENT, (run.positions[0][-1],)) == {}
    assert len(body.surface_points(run.positions[0][-1])) == len(body.skin.coordinate)


def test_a_still_picture_of_a_beam_covers_it(recorded):
    run, beam = recorded
    shown = SurfaceFrames(run.bodies[0].surface_triangles().astype(np.int64), run.surface_points(beam)[[0, -1]])
    options = {"size": (120, 80), "area": (5.0, 5.0, 110.0, 70.0), "azimuth": -1.2, "elevation": 0.2}
    camera = fit_camera(shown.frames.reshape(-1, 3), **options)
    picture = render_poses([shown], [], camera)
    empty = SurfaceFrames(shown.triangles[:1], shown.frames)  # the same view without most of the beam
    differs = np.abs(picture - render_poses([empty], [], camera)).max(axis=2) > 0.05
    assert picture.shape == (80, 120, 3)
    assert 0.01 < differs.mean() < 0.6


def test_tubes_are_drawn_around_their_axes():
    solid = pl.Obstacle.tubes([[(0, 0, 0), (1, 0, 0)], [(1, 0, 0), (1, 1, 0)]], radius=0.1)
    points, triangles = shape_triangles(solid.shape, half_width=1.0)
    gap = solid.shape.solid.distance(np.clip(points, [0, -1, -1], [2, 1, 1])).gap
    assert np.isfinite(points).all()
    assert triangles.max() == len(points) - 1
    assert np.abs(gap[: len(points) // 2][points[: len(points) // 2, 0] < 0.5]).max() < 1e-12


def test_vessels_are_seen_through_and_their_bends_have_no_seams():
    angle = np.linspace(0.0, 0.5, 6)
    path = np.column_stack([np.sin(angle), 1.0 - np.cos(angle), 0.0 * angle])
    vessel = pl.Obstacle.tubes(path, radius=0.1)
    points, _ = shape_triangles(vessel.shape, half_width=1.0)
    assert len(points) == 6 * 48
    assert is_hollow(vessel.shape)
    assert not is_hollow(pl.Obstacle.sphere(center=(0, 0, 0), radius=0.1).shape)
