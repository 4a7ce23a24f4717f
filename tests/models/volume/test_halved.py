"""Points assembled in two halves: the sums of all of them, and the same ones on one thread and on two."""

import numpy as np
import pytest

import pliant as pl
from pliant.core.threads import allow_threads
from pliant.materials import Tangent
from pliant.models.volume import halved
from pliant.models.volume.halved import DividedPoints, Divisions, PointSet
from pliant.models.volume.tetrahedra import Tetrahedra


@pytest.fixture(params=["Mooney–Rivlin", "corotated", "tetrahedra", "hexahedra"])
def case(request, monkeypatch):
    """A body, at first of smoothed elements whose points have as many nodes as they like, at a shape far from rest."""
    monkeypatch.setattr(halved, "MANY", 10)
    material = {
        "Mooney–Rivlin": pl.materials.MooneyRivlin(c1=4.0, c2=1.0, poisson=0.45, density=1.0),
    }.get(request.param, pl.materials.Corotated(young=3.0, poisson=0.3, density=1.0))
    mesh = pl.mesh.box((1, 1, 1), (3, 2, 2), element="hex8" if request.param == "hexahedra" else "tet4")
    scene = pl.Scene()
    scene.add(pl.Volume(mesh, material, anti_locking=request.param != "tetrahedra"))
    model = scene.compile().models[0]
    q = model.rest * (1.2, 0.8, 1.1) + 0.03 * np.random.default_rng(0).normal(size=model.rest.shape)
    return model, q


def forces(model, q):
    """Energy and forces."""
    return model.internal(q)


def tangents(model, q, tangent):
    """Energy, forces and the matrix."""
    values = np.full((model.pattern.block_count, 3, 3), np.nan)
    energy, force = model.assemble(q, mass=2.0, stiffness=0.5, tangent=tangent, values=values)
    return energy, force, values


def all_of(model, q):
    """What depends on the points, with the tangents of all kinds."""
    return [*forces(model, q), *(x for tangent in Tangent for x in tangents(model, q, tangent))]


def test_halves_are_the_whole(case):
    """Up to rounding: in the halves a sum is taken in another order."""
    model, q = case
    assert model._divided(model.split_at(q)).second is not None
    halves = all_of(model, q)

    class Undivided(Divisions):
        def __call__(self, split):
            points, positions = self.own(split)
            return DividedPoints(PointSet(points.arrays, positions, Tetrahedra.of(points, model.laws, model.table)))

    model.__dict__["_divided"] = Undivided(model.points, model.positions)
    for mine, whole in zip(halves, all_of(model, q), strict=True):
        np.testing.assert_allclose(mine, whole, rtol=1e-12, atol=1e-12)


def test_the_second_half_adds_to_few_blocks_of_the_first():
    """A long body is cut across: some 5 % of the blocks belong to both halves."""
    scene = pl.Scene()
    rubber = pl.materials.Corotated(young=3.0, poisson=0.3, density=1.0)
    scene.add(pl.Volume(pl.mesh.box((40, 1, 1), (40, 2, 2)), rubber, anti_locking=False))
    model = scene.compile().models[0]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(halved, "MANY", 10)
        divided = model._divided(None)
    shared = np.intersect1d(divided.first.positions, divided.blocks)
    assert len(shared) < 0.05 * model.pattern.block_count


def test_threads_change_nothing(case):
    """Not a bit."""
    model, q = case
    alone = all_of(model, q)
    with allow_threads(2):
        together = all_of(model, q)
    for one, two in zip(alone, together, strict=True):
        np.testing.assert_array_equal(one, two)
