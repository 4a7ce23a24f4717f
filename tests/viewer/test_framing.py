"""Where cameras stand: everything is in the picture, and only cameras that nobody turned are moved."""

import time
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

import pliant as pl
from pliant.viewer import zoo
from pliant.viewer.contents import LARGEST_SKIN, SceneContents
from pliant.viewer.framing import FARTHEST, FIELD, NARROW, PANEL, Framing
from pliant.viewer.screenshot import pose_subject
from pliant.viewer.simulation import LiveSimulation
from pliant.viewer.subject import SLIDERS, Demand
from pliant.viewer.world_subject import WorldSubject

LOWER, UPPER = np.array([0.0, -0.01, 0.0]), np.array([0.1, 0.01, 0.02])
HEIGHT = 800.0  # pixels
WAYS = [None, (0.12, -1.0, 0.12), (1.0, 0.2, 0.9)]


class Camera(SimpleNamespace):
    """As viser's: a new position takes the place that is looked at along."""

    def __setattr__(self, name, value):
        if name == "position" and hasattr(self, "position") and hasattr(self, "look_at"):
            super().__setattr__("look_at", self.look_at + np.asarray(value) - self.position)
        super().__setattr__(name, value)


def a_server(*aspects):
    clients = {
        k: SimpleNamespace(
            client_id=k, camera=Camera(aspect=a, image_height=HEIGHT, position=np.ones(3), look_at=np.zeros(3))
        )
        for k, a in enumerate(aspects)
    }
    return SimpleNamespace(initial_camera=SimpleNamespace(), get_clients=lambda: clients)


def on_page(camera, points, aspect):
    """Where points (n, 3) are on the page: −1 … 1 from edge to edge."""
    back = camera.position - camera.look_at
    distance = np.linalg.norm(back)
    back = back / distance
    right = np.cross((0.0, 0.0, 1.0), back)
    right = right / np.linalg.norm(right)
    away = points - camera.position
    depth = -away @ back
    assert (depth > 0.0).all()
    slope = np.tan(0.5 * FIELD)
    return np.column_stack([away @ right / depth / slope / aspect, away @ np.cross(back, right) / depth / slope])


def corners(lower, upper):
    return np.array(np.meshgrid(*np.stack([lower, upper], axis=1))).reshape(3, -1).T


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("aspect", [0.6, 1.6, 2.8])
def test_all_of_a_box_is_on_the_page_and_fills_it(aspect, way):
    server = a_server(aspect)
    Framing(server, LOWER, UPPER, way)
    camera = server.get_clients()[0].camera
    seen = np.abs(on_page(camera, corners(LOWER, UPPER), aspect))
    assert np.asarray(camera.look_at) == pytest.approx(0.5 * (LOWER + UPPER))
    assert seen.max() < 1.0
    beside = 1 - PANEL / HEIGHT / aspect if aspect * HEIGHT >= NARROW else 0.9
    assert (seen[:, 0] <= max(beside, 0.35)).all(), "nothing is behind the panel"
    assert (seen.max(axis=0) / [max(beside, 0.35), 1.0]).max() > 0.85, "no farther away than needed"


def test_a_camera_that_nobody_turned_steps_back_and_one_that_was_stays():
    server = a_server(1.6, 1.6)
    framing = Framing(server, LOWER, UPPER)
    still, turned = (client.camera for client in server.get_clients().values())
    turned.position = turned.position + np.array([0.02, 0.0, 0.0])
    place = turned.position
    assert not framing.follow(LOWER, UPPER)
    below = np.array([0.02, -0.01, -0.07])
    assert framing.follow(below, UPPER)
    assert np.abs(on_page(still, corners(below, UPPER), 1.6)).max() < 1.0
    assert np.array_equal(turned.position, place)
    assert not framing.follow(below, UPPER), "with room to spare"
    framing.show(below, UPPER, server.get_clients()[1])
    assert np.abs(on_page(turned, corners(below, UPPER), 1.6)).max() < 1.0


def test_what_flies_off_is_not_followed_for_ever():
    framing = Framing(a_server(), LOWER, UPPER)
    size = framing.size
    framing.follow(np.array([-1e9, np.nan, 0.0]), UPPER)
    assert np.isfinite(framing.size)
    assert framing.size < 2.0 * FARTHEST * size


@pytest.mark.parametrize("name", ["pneunet", "bellows"])
def test_chambers_bear_what_their_sliders_ask_for(name):
    """Shaken once, a robot at the upper end of its pressure comes to rest, in steps of the length it begins with."""
    subject = zoo.entry(name).made()
    (air,) = subject.ranges
    stepper, state = pl.ImplicitEuler(subject.usual_step), subject.state
    for k in range(110):
        aside = 40.0 * np.sin(k) if k < 20 else 0.0
        controls = {air.handle: air.control(air.high * min(1.0, k / 20)), "gravity": (1.0, aside, -9.81)}
        state, _ = stepper(subject.world, state, controls)
    assert max(np.abs(v).max() for v in state.v) < 1e-3
    assert state.volume(air.handle) < 2.0 * subject.world.initial_state().volume(air.handle)


def test_a_body_that_bursts_is_said_to():
    scene = pl.Scene()
    bellows = scene.add(pl.robots.bellows(cells=(2, 4)))
    subject = WorldSubject(scene.compile(), name="bellows")
    blown = Demand(SLIDERS, {bellows.cavity: pl.Pressure(60e3)}, np.zeros(3), np.zeros((0, 3)))

    def blow():
        for _ in range(100):
            subject.step(0.02, blown)

    with pytest.raises(pl.ConvergenceError, match="a chamber may be beyond the pressure that its wall holds"):
        blow()


def test_a_network_of_beams_gets_a_coarser_skin_of_the_same_shape():
    scene = pl.Scene()
    spine = scene.add(pl.robots.spine())
    world = scene.compile()
    full = pl.simulate(world, pl.ImplicitEuler(0.01), until=0.01).bodies[0]
    thin = SceneContents.of_world(world).bodies[0]
    assert len(full.skin.offset) > 5 * LARGEST_SKIN
    q = world.initial_state().q[0]
    points, fine = thin.surface_points(q), full.surface_points(q)
    assert 1000 < len(points) <= LARGEST_SKIN
    assert thin.surface_triangles().max() == len(points) - 1
    assert points.min(axis=0) == pytest.approx(fine.min(axis=0), abs=0.2 * spine.body.section.radius)
    assert points.max(axis=0) == pytest.approx(fine.max(axis=0), abs=0.2 * spine.body.section.radius)


def test_a_pose_is_struck_at_once_and_taken_in():
    """Without regard to the clock, exactly at its time, and with all of the bent robot in the picture."""
    pytest.importorskip("viser")
    entry = zoo.entry("ball")
    with LiveSimulation(port=0, catalogue=zoo.catalogue(), first="ball") as viewer:
        viewer.play()
        end = time.monotonic() + 30.0
        while viewer.subject is None or viewer.building:
            assert time.monotonic() < end
            time.sleep(0.01)
        begin = time.monotonic()
        pose_subject(viewer, replace(entry, seconds=6.0))
        assert viewer.subject.time == pytest.approx(6.0)
        assert time.monotonic() - begin < 6.0
        assert not viewer.playing
        framing, height = viewer._scene_view.framing, viewer.subject.frame().q[0][0, 2]
        assert framing.lower[2] <= 1e-9, "the floor is shown"
        assert framing.upper[2] > height
