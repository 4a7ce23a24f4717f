"""Single contacts of a run: recorded and saved."""

import numpy as np
import pytest

import pliant as pl
from archives import of_version_1
from pliant.record.forces import TouchesRecorder
from pliant.stepping.info import Contacts


@pytest.fixture(scope="module")
def landing():
    """A cube that falls on a floor and comes to rest on its four corners."""
    scene = pl.Scene(gravity=(0, 0, -9.81))
    cube = scene.add(pl.RigidBody.box(size=(0.02, 0.02, 0.02), mass=0.05, position=(0, 0, 0.012), name="cube"))
    floor = scene.add(pl.Obstacle.plane(name="floor"))
    scene.collide(cube, floor, friction=0.3)
    return pl.simulate(scene.compile(), pl.ImplicitEuler(dt=0.005), until=0.3)


def test_contacts_are_where_bodies_touch_and_add_up_to_the_force_of_the_pair(landing):
    points, forces = landing.contacts(0)
    assert points.shape == forces.shape == (0, 3)
    points, forces = landing.contacts(len(landing.times) - 1)
    assert len(points) == 4
    assert np.abs(points[:, :2]) == pytest.approx(np.full((4, 2), 0.01), abs=1e-4)
    assert forces.sum(axis=0) == pytest.approx([0, 0, 0.05 * 9.81], rel=1e-3, abs=1e-4)
    for k in range(len(landing.times)):
        total = landing.contact_force("cube", "floor")[k]
        assert landing.contacts(k)[1].sum(axis=0) == pytest.approx(total, rel=1e-5, abs=1e-6)


def test_they_are_saved_and_older_files_have_none(landing, tmp_path):
    path = landing.save(tmp_path / "run.npz")
    again = pl.load(path)
    last = len(landing.times) - 1
    for mine, read in zip(landing.contacts(last), again.contacts(last), strict=True):
        np.testing.assert_array_equal(mine, read)

    def without(header, arrays):
        for name in [name for name in arrays if name.startswith("touches")]:
            del arrays[name]

    old = pl.load(of_version_1(path, tmp_path / "old.npz", without))
    assert old.forces[0].touches is None
    assert len(old.contacts(last)[0]) == 0
    np.testing.assert_array_equal(old.contact_force("cube", "floor"), landing.contact_force("cube", "floor"))


def test_what_does_not_push_is_left_out():
    def step(*pushes):
        k = len(pushes)
        forces = np.outer(pushes, (0.0, 0.0, 1.0)).reshape(-1, 3)
        return Contacts(np.arange(3.0 * k).reshape(k, 3), np.zeros((k, 3)), np.zeros(k), forces)

    recorder = TouchesRecorder()
    for contacts in (step(1.0, 0.0), step(), step(2.0, 3.0, 4.0)):
        recorder.add(contacts)
    touches = recorder.recorded()
    np.testing.assert_array_equal(touches.counts, [0, 1, 0, 3])
    np.testing.assert_array_equal(touches.at(3)[1][:, 2], [2.0, 3.0, 4.0])
    np.testing.assert_array_equal(touches.at(1)[0], [[0.0, 1.0, 2.0]])
