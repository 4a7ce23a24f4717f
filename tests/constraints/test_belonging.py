"""Which bodies a constraint says it may hold, and which turn its rows."""

from dataclasses import replace

import numpy as np
import pytest

import pliant as pl
from pliant.constraints import RowLaw, Rows, RowView
from pliant.constraints.facing import FacingPair
from pliant.constraints.slender import SlenderPair
from scenes import RUBBER

MESH = pl.mesh.box((0.04, 0.04, 0.04), (2, 2, 2))
ROD = {"section": pl.sections.Circle(0.004), "young": 1e7, "poisson": 0.3, "density": 1e3}
TOP = np.array([(0.0, 0, 0.04), (0.04, 0, 0.04), (0.04, 0.04, 0.04), (0, 0.04, 0.04)])
POINTS = np.array([(0.01, 0.01, 0.0), (0.03, 0.01, 0.0), (0.02, 0.03, 0.0)])
HALVES = np.array([(0, 1, 2), (0, 2, 3)])


def things(scene):
    """Three soft blocks above each other, a box, a floor, and two rods."""
    blocks = [scene.add(pl.Volume(MESH, RUBBER, name=f"block {k}"), position=(0, 0, 0.05 * k)) for k in range(3)]
    box = scene.add(pl.RigidBody.box(size=(0.02,) * 3, mass=0.1, position=(0.5, 0, 0)))
    rods = [scene.add(pl.Rod(0.2, 3, position=(0, 1.0 + k, 0), base="free", name=f"rod {k}", **ROD)) for k in range(2)]
    return blocks, box, scene.add(pl.Obstacle.plane(point=(0, 0, -1))), rods


END = pl.regions.plane(axis="z", at=0.0)
MADE = {
    "two soft bodies": (lambda s, blocks, box, floor, rods: s.collide(blocks[0], blocks[2]), {0, 2}),
    "a soft body and the floor": (lambda s, blocks, box, floor, rods: s.collide(blocks[1], floor), {1}),
    "a soft body and a box": (lambda s, blocks, box, floor, rods: s.collide(blocks[1], box), {1, 3}),
    "a body and itself": (lambda s, blocks, box, floor, rods: s.collide(blocks[1], blocks[1]), set()),
    "two rods": (lambda s, blocks, box, floor, rods: s.collide(rods[0], rods[1]), {4, 5}),
    "a rod and itself": (lambda s, blocks, box, floor, rods: s.collide(rods[1], rods[1]), set()),
    "a rod and the floor": (lambda s, blocks, box, floor, rods: s.collide(rods[1], floor), {5}),
    "faces of two bodies": (
        lambda s, blocks, box, floor, rods: s.add(pl.Facing(blocks[1], blocks[0], POINTS, TOP, HALVES)),
        {0, 1},
    ),
    "an attachment": (lambda s, blocks, box, floor, rods: s.attach(blocks[2], box, region=END), {2, 3}),
    "a sum of displacements": (
        lambda s, blocks, box, floor, rods: s.add(
            pl.LinearConstraint([pl.Term(blocks[k], (1, 0, 0), region=END, pick="mean") for k in (0, 2)])
        ),
        {0, 2},
    ),
    "a slider": (lambda s, blocks, box, floor, rods: s.add(pl.Slider(box, (0, 0, 1))), {3}),
    "a cable inside": (
        lambda s, blocks, box, floor, rods: s.add(pl.Cable(blocks[0], [(0.02, 0.02, 0.0), (0.02, 0.02, 0.04)])),
        set(),
    ),
    "a cable between": (
        lambda s, blocks, box, floor, rods: s.add(pl.Cable([blocks[0], box], [(0.02, 0.02, 0.0), (0, 0, 0)])),
        {0, 3},
    ),
    "a cable to the world": (
        lambda s, blocks, box, floor, rods: s.add(pl.Cable(blocks[1], [(0.02, 0.02, 0.0)], pull_point=(1, 0, 0))),
        {1},
    ),
}


@pytest.mark.parametrize("kind", MADE)
def test_constraints_say_which_bodies_they_may_hold(kind):
    """Those that rest on, or hang from, something else; what acts within one body holds nothing."""
    scene = pl.Scene()
    make, held = MADE[kind]
    make(scene, *things(scene))
    world = scene.compile()
    (constraint,) = world.constraints
    assert {k for k in range(len(world.models)) if constraint.constrains(k)} == held
    assert held <= {k for k in range(len(world.models)) if constraint.connects(k)}
    if isinstance(constraint, FacingPair):  # faces of one body
        assert not any(replace(constraint, b=constraint.a).constrains(k) for k in range(len(world.models)))
    if isinstance(constraint, SlenderPair):
        assert set(constraint.direction_models) == ({5} if kind == "a rod and itself" else held)
        assert None not in constraint.direction_models
    rows, _ = constraint.rows_at(RowView.of(world.models))
    assert {k for k, h in enumerate(rows.H) if h.nnz} <= held | {0, 1, 5}


@pytest.mark.parametrize("count", [1, 64, 65, 200])
@pytest.mark.parametrize("kind", [np.int64, np.int32, list, int])
def test_rows_keep_the_keys_that_they_are_given(count, kind):
    """Whatever holds them, in 64 bits; columns of few rows of one law are named, so that they are made once."""
    keys = 7 + 2**20 * np.arange(count)
    given = {np.int64: keys, np.int32: keys.astype(np.int32), list: keys.tolist(), int: 7}[kind]
    if kind is np.int32 and keys.max() > 2**31 - 1:
        keys = given.astype(np.int64)
    rows = Rows.of([], np.zeros(count), int(RowLaw.BILATERAL), key=given)
    np.testing.assert_array_equal(rows.key, np.full(count, 7) if kind is int else keys)
    assert rows.key.dtype == np.int64
    assert (rows.laws is not None) == (kind is int or (kind is np.int64 and count <= 64))
    again = Rows.of([], np.ones(count), int(RowLaw.BILATERAL), key=given)
    assert (again.law is rows.law) == (rows.laws is not None or count <= 200)
    assert rows.law.tolist() == [int(RowLaw.BILATERAL)] * count
    for name, value in (("lower", -np.inf), ("upper", np.inf), ("mu", 0.0), ("target", 0.0)):
        assert getattr(rows, name).tolist() == [value] * count
