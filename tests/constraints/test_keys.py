"""One int64 for all rows: ranges of kinds do not meet, and what would leave its range is refused."""

from itertools import pairwise

import numpy as np
import pytest

import pliant as pl
from pliant.collision.contacts import PAIR_LIMIT, ContactKind, key_base
from pliant.collision.surface import EDGE_LIMIT
from pliant.constraints import keys
from pliant.core.errors import CapacityError

KINDS = {
    "attachments": keys.ATTACHMENTS,
    "cable friction": keys.CABLE_FRICTION,
    "joints": keys.JOINTS,
    "channels": keys.CHANNELS,
    "sheaths": keys.SHEATHS,
    "least volumes": keys.VOLUMES,
    "springs": keys.SPRINGS,
    "linear constraints": keys.LINEAR,
    "ties": keys.TIES,
    "holds": keys.HOLDS,
}


def test_ranges_do_not_overlap_and_fit_an_int64():
    ranges = sorted(keys.RANGES.values())
    assert ranges[0][0] == 0
    assert all(first < stop for first, stop in ranges)
    assert all(stop <= first for (_, stop), (first, _) in pairwise(ranges))
    assert ranges[-1][1] - 1 <= np.iinfo(np.int64).max


@pytest.mark.parametrize("name", KINDS)
def test_rows_of_the_first_and_the_last_constraint_are_in_the_range_of_their_kind(name):
    first, stop = keys.RANGES[name]
    for index in (1, (1 << keys.INDEX_BITS) - 1):
        made = keys.row_keys(KINDS[name], index, 1 << keys.ROW_BITS)
        assert first <= made.min()
        assert made.max() < stop
    assert keys.first_key(KINDS[name], 2) == keys.row_keys(KINDS[name], 1, 1 << keys.ROW_BITS)[-1] + 1


@pytest.mark.parametrize("kind", ContactKind)
def test_contact_rows_are_in_their_range(kind):
    first, stop = keys.RANGES["contacts"]
    ends = [key_base(kind, 1), key_base(kind, PAIR_LIMIT - 1) + EDGE_LIMIT**2 - 1]
    for width in (1, 3):
        made = keys.contact_row_keys(np.array(ends), width)
        assert len(set(made)) == 2 * width
        assert first <= made.min()
        assert made.max() < stop


def test_what_does_not_fit_is_refused():
    with pytest.raises(CapacityError, match="at most 262144 constraints"):
        keys.first_key(keys.CHANNELS, 1 << keys.INDEX_BITS)
    with pytest.raises(CapacityError, match="at most 1048576 rows"):
        keys.row_keys(keys.SHEATHS, 0, (1 << keys.ROW_BITS) + 1)


def test_rows_of_a_world_have_keys_of_their_kinds():
    scene = pl.Scene(gravity=(0, 0, 0))
    rubber = pl.materials.Corotated(young=1e5, poisson=0.3, density=1e3)
    mesh = pl.mesh.box((0.1, 0.02, 0.02), (5, 1, 1))
    body = scene.add(pl.Volume(mesh, rubber, clamp=pl.regions.plane(axis="x", at=0.0)))
    other = scene.add(pl.Volume(mesh, rubber), position=(0.1, 0.0, 0.0))
    scene.add(pl.Cable(body, [(0.0, 0.01, 0.01), (0.05, 0.01, 0.015), (0.1, 0.01, 0.01)], friction=0.2))
    scene.attach(body, other, points=[(0.1, 0.0, 0.0), (0.1, 0.02, 0.0), (0.1, 0.0, 0.02)])
    ball = scene.add(pl.Obstacle.sphere(center=(0.16, 0.0, 0.0305), radius=0.01))
    scene.collide(other, ball, friction=0.3, margin=0.004)
    world = scene.compile()
    state, _ = pl.ImplicitEuler(0.01)(world, world.initial_state())
    assert len(set(state.keys)) == len(state.keys)
    names = [next(name for name, (first, stop) in keys.RANGES.items() if first <= key < stop) for key in state.keys]
    assert names[:2] == ["drives", "cable friction"]
    assert names[2:11] == ["attachments"] * 9
    assert set(names[11:]) == {"contacts"}
