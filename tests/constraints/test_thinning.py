"""Candidates of a pair: those that can close in the step, and those that pushed."""

from types import SimpleNamespace

import numpy as np
import pytest

import pliant as pl
from pliant.collision import ContactSet
from pliant.constraints.keys import contact_row_keys
from pliant.constraints.thinning import MANY, MOST, thinned


def points_above_a_plane(gaps):
    """Contacts of points with a plane below them."""
    count = len(gaps)
    heights = np.column_stack([np.arange(count), np.zeros(count), gaps]).astype(float)
    nodes = np.column_stack([np.arange(count), *2 * [np.full(count, -1)]]).astype(np.int32)
    return ContactSet(
        kind=np.full(count, 3, np.uint8), nodes_a=nodes, weights_a=np.tile((1.0, 0.0, 0.0), (count, 1)),
        nodes_b=np.full((count, 3), -1, np.int32), weights_b=np.zeros((count, 3)),
        normal=np.tile((0.0, 0.0, 1.0), (count, 1)), gap=np.asarray(gaps, float), point_a=heights,
        point_b=heights * (1, 1, 0), key=np.arange(count, dtype=np.int64), face=np.full(count, -1, np.int32),
        point_count_a=count, point_count_b=0,
    )  # fmt: skip


def view(keys=None, lam=None):
    return SimpleNamespace(dt=0.01, gravity=9.81, last_keys=keys, last_lam=lam)


def test_only_points_that_can_close_their_gap_remain():
    """A point that moves by 10 mm reaches the plane, its slow neighbours at the same height do not."""
    contacts = points_above_a_plane(np.full(10, 0.008))
    motion = np.zeros((10, 3))
    motion[3, 2] = -0.010
    found = thinned(contacts, view(), (motion, np.zeros((1, 3))), margin=0.002, approach=1.2)
    assert found.key.tolist() == [3]


def test_contacts_within_the_margin_and_those_that_pushed_remain():
    contacts = points_above_a_plane(np.linspace(0.001, 0.010, 10))
    still = np.zeros((10, 3))
    row = contact_row_keys(np.array([7]), 3)
    found = thinned(contacts, view(row, np.array([1.0, 0, 0])), (still, still[:1]), margin=0.0025, approach=1.2)
    assert found.key.tolist() == [0, 1, 7]


def test_a_pair_keeps_the_contacts_that_would_be_deepest():
    rng = np.random.default_rng(0)
    count = 3 * MOST
    contacts = points_above_a_plane(rng.uniform(0.0, 0.01, count))
    motion = np.zeros((count, 3))
    motion[:, 2] = -rng.uniform(0.02, 0.1, count)
    found = thinned(contacts, view(), (motion, np.zeros((1, 3))), margin=0.002, approach=1.2)
    assert found.count == MOST
    end = contacts.gap + motion[:, 2]
    assert set(found.key.tolist()) == set(np.argsort(end)[:MOST].tolist())


@pytest.mark.filterwarnings("ignore:cells of")
def test_a_thinned_step_is_that_of_all_contacts(monkeypatch):
    """A block of which one corner is fast lands on a floor: the forces are those of the whole candidate set."""
    scene = pl.Scene()
    mesh = pl.mesh.box((0.1, 0.1, 0.01), (12, 12, 1))
    body = scene.add(pl.Volume(mesh, pl.materials.Corotated(young=1e5, poisson=0.4, density=1000)))
    floor = scene.add(pl.Obstacle.plane(point=(0, 0, -0.0005)))
    scene.collide(body, floor, friction=0.5, margin=0.001)
    world = scene.compile()
    q, v = world.models[0].initial()
    v = v.copy()
    q = q + np.array([0, 0, 0.004])
    v[(q[:, 0] > 0.085) & (q[:, 1] > 0.085), 2] = -2.0
    start = pl.State(world, 0.0, (q,), (v,), np.zeros(0))
    thin, info = pl.ImplicitEuler(0.01)(world, start)
    monkeypatch.setattr("pliant.constraints.contact.MANY", 10**6)
    whole, every = pl.ImplicitEuler(0.01)(world, start)
    assert every.contacts(body, floor).points.shape[0] > MANY > info.contacts(body, floor).points.shape[0] > 3
    np.testing.assert_allclose(thin.q[0], whole.q[0], atol=1e-9)
    np.testing.assert_allclose(info.contact_force(body, floor), every.contact_force(body, floor), rtol=1e-5)


def test_contacts_that_overlap_are_kept_however_many_they_are():
    """A wide flat body pressed on a floor: open contacts are dropped first, none that pushed or overlaps."""
    count = MOST + 40
    contacts = points_above_a_plane(np.concatenate([np.full(MOST + 20, -1e-4), np.full(20, 1e-3)]))
    row = contact_row_keys(np.array([count - 1]), 3)
    still = np.zeros((count, 3))
    found = thinned(contacts, view(row, np.array([1.0, 0, 0])), (still, still[:1]), margin=0.002, approach=1.2)
    assert found.key.tolist() == [*range(MOST + 20), count - 1]
