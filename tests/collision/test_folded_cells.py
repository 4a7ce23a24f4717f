"""Penetration of a solid in itself where cells are turned inside out, against brute force over cells."""

import numpy as np
import pytest

import pliant as pl
from benchmarks.soak.checker import Solid
from pliant.collision.folded_cells import folded_penetration
from pliant.collision.self_penetration import self_penetration


@pytest.fixture(scope="module")
def block():
    """Tetrahedra of a block, and the contact of the block with itself."""
    scene = pl.Scene()
    rubber = pl.materials.Corotated(young=1e5, poisson=0.4, density=1e3)
    body = scene.add(pl.Volume(pl.mesh.box((0.03, 0.03, 0.03), (3, 3, 3)), rubber))
    scene.collide(body, body)
    (contact,) = scene.compile().constraints
    return body.mesh, contact.a


def test_a_block_without_folded_cells_has_no_such_penetration(block):
    mesh, side = block
    assert folded_penetration(side.surface.at(1.3 * mesh.points), side.cells) == 0.0


def test_no_penetration_of_crumpled_blocks_is_unreported(block):
    """One to five nodes moved by about a cell: the winding number alone misses overlaps of folded cells."""
    mesh, side = block
    solid, missed, equal = Solid(np.asarray(mesh.cells)), 0, 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        points = mesh.points.copy()
        moved = rng.integers(len(points), size=rng.integers(1, 6))
        points[moved] += 0.008 * rng.normal(size=(len(moved), 3))
        pose, true = side.surface.at(points), solid.self_depth(points)
        wound = self_penetration(pose)
        reported = max(wound, folded_penetration(pose, side.cells))
        missed += true > wound + 1e-4
        equal += abs(reported - true) <= 1e-9
        assert reported >= true - 1e-9
    assert missed >= 5
    assert equal >= 38
