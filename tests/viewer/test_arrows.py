"""Contact forces of runs as arrows, in files and on the page of `pliant play`."""

from dataclasses import replace

import numpy as np
import pytest

import pliant as pl
from pliant.viewer.arrows import LENGTH, MOST, arrow_surfaces
from pliant.viewer.export_surfaces import shown_run
from pliant.viewer.picture import write_picture
from pliant.viewer.shapes import ball
from pliant.viewer.surfaces import SurfaceFrames

NONE = (np.zeros((0, 3)), np.zeros((0, 3)))


def some(count, seed=0):
    random = np.random.default_rng(seed)
    return random.normal(size=(count, 3)), random.normal(size=(count, 3))


@pytest.fixture(scope="module")
def run():
    """A ball that falls on a floor and lies there."""
    scene = pl.Scene(gravity=(0, 0, -9.81))
    ball = scene.add(pl.RigidBody.sphere(radius=0.01, mass=0.1, position=(0, 0, 0.012), name="ball"))
    scene.collide(ball, scene.add(pl.Obstacle.plane(name="floor")))
    return pl.simulate(scene.compile(), pl.ImplicitEuler(dt=0.005), until=0.1)


def test_nothing_that_ever_pushed_is_no_surface():
    assert arrow_surfaces([NONE, NONE], 1.0) == []


def test_an_arrow_begins_at_its_point_and_is_as_long_as_its_force():
    force = np.array([[0.0, 0.0, 2.0], [0.0, -1.0, 0.0]])
    point = np.array([[0.1, 0.2, 0.3], [0.4, 0.5, 0.6]])
    (surface,) = arrow_surfaces([NONE, (point, force), (point[:1], 0.5 * force[:1])], size=10.0)
    assert "the longest 2 N" in surface.label
    half = surface.frames.shape[1] // 2
    first, second = surface.frames[1, :half], surface.frames[1, half:]
    assert np.ptp(first, axis=0)[2] == pytest.approx(LENGTH * 10.0)
    assert first.min(axis=0)[2] == pytest.approx(0.3)
    assert first.mean(axis=0)[:2] == pytest.approx([0.1, 0.2])
    assert np.ptp(second, axis=0)[1] == pytest.approx(0.5 * LENGTH * 10.0)
    assert second.max(axis=0)[1] == pytest.approx(0.5)
    assert np.ptp(surface.frames[2, :half], axis=0)[2] == pytest.approx(0.5 * LENGTH * 10.0)
    assert np.ptp(surface.frames[2, half:], axis=0).max() == 0.0, "no second force, so an arrow without length"
    assert np.ptp(surface.frames[0], axis=0).max() == 0.0


def test_only_the_largest_forces_have_arrows():
    points, forces = some(3 * MOST)
    (surface,) = arrow_surfaces([(points, forces)], size=1.0)
    sizes = np.sort(np.linalg.norm(forces, axis=1))[-MOST:]
    drawn = surface.frames[0].reshape(MOST, -1, 3)
    lengths = [np.linalg.norm(one - one.mean(axis=0), axis=1).max() for one in drawn]
    assert np.argsort(lengths)[-1] == 0
    assert lengths[0] / lengths[-1] == pytest.approx(sizes[-1] / sizes[0], rel=0.1)


def test_runs_are_shown_with_their_contact_forces(run, tmp_path):
    last = {surface.label.partition(",")[0]: surface for surface in shown_run(run).surfaces}["contact forces"]
    assert last.frames[-1][:, 2].min() == pytest.approx(0.0, abs=1e-3)
    assert np.ptp(last.frames[-1], axis=0)[2] > 0.0
    assert "contact forces" not in {
        surface.label.partition(",")[0] for surface in shown_run(run, arrows=False).surfaces
    }
    page = pl.export(run, tmp_path / "run.html").read_text(encoding="utf-8")
    assert "contact forces, the longest" in page


def test_a_played_run_shows_them_too(run):
    pytest.importorskip("viser")
    with pl.view(run, port=0, open_browser=False, block=False) as viewer:
        points, forces = viewer._frame_at(len(run.times) - 1).arrows
        assert len(points) == 1
        assert forces[0, 2] == pytest.approx(0.981, rel=1e-3)
        assert viewer.appearance.arrows.value
        hardest = np.linalg.norm(run.contact_force("ball", "floor"), axis=1).max()
        assert viewer.appearance.lengthen(0.0) == pytest.approx(hardest, rel=1e-5), "one scale for the whole run"


def test_arrows_are_seen_through_what_hides_them(tmp_path):
    """In a picture: an arrow inside a ball is red in the middle of the picture, where it is drawn in front."""
    image = pytest.importorskip("matplotlib.image")
    points, triangles = ball(np.zeros(3), 0.5)
    hiding = SurfaceFrames(triangles, points[None], color="#5b82d6")
    (arrow,) = arrow_surfaces([(np.array([[0.0, 0.0, -0.1]]), np.array([[0.0, 0.0, 1.0]]))], size=1.0)
    for shown, red in ((arrow, True), (replace(arrow, in_front=False), False)):
        path = write_picture(tmp_path / "a.png", surfaces=[hiding, shown], frames=[0], times=[0.0], size=(320, 240))
        pixels = image.imread(path)[..., :3]
        assert bool((pixels[..., 0] > pixels[..., 2] + 0.2).any()) is red


def test_one_pose_is_the_last(run, tmp_path):
    image = pytest.importorskip("matplotlib.image")
    one, none = (
        image.imread(pl.export(part, tmp_path / f"{k}.png", poses=1, size=(320, 180)))[..., :3]
        for k, part in enumerate((run, replace(run, forces=())))
    )
    reddish = [(picture[..., 0] > picture[..., 2] + 0.2).sum() for picture in (one, none)]
    assert reddish[0] > reddish[1], "the ball pushes at the end and not at the beginning"
