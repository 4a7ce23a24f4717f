"""Eight tetrahedra at a time give the same energy, forces and blocks as one by one."""

import numpy as np
import pytest

import pliant as pl
from pliant.materials import Tangent
from pliant.models.volume.halved import DividedPoints
from pliant.models.volume.tetrahedra import Tetrahedra

CLAMP = pl.regions.plane(axis="x", at=0.0)


def model_of(material, **options):
    scene = pl.Scene()
    scene.add(pl.Volume(pl.mesh.box((0.1, 0.03, 0.03), (5, 1, 2)), material, clamp=CLAMP, **options))
    return scene.compile().models[0]


@pytest.mark.parametrize("turned", [False, True])
def test_lanes_agree_with_single_cells(monkeypatch, turned):
    model = model_of(pl.materials.Corotated(young=1e6, poisson=0.4, density=1e3), anti_locking=False)
    q = model.rest + 0.004 * np.random.default_rng(0).standard_normal(model.rest.shape)
    if turned:
        q = q @ np.array([[0.0, 1.0, 0.0], [-1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
    found = []
    lanes = model._divided(None).first
    assert lanes.cells is not None
    for points in (lanes, lanes._replace(cells=None)):
        monkeypatch.setitem(model.__dict__, "_divided", lambda split, points=points: DividedPoints(points))
        values = np.empty((model.pattern.block_count, 3, 3))
        energy, force = model.assemble(q, mass=10.0, stiffness=0.7, tangent=Tangent.WARPED, values=values)
        found.append((energy, force, values))
    for one, other in zip(*found, strict=True):
        np.testing.assert_allclose(one, other, rtol=0.0, atol=1e-12 * np.abs(other).max())


@pytest.mark.parametrize(
    ("material", "options"),
    [
        (pl.materials.NeoHookean(young=1e6, poisson=0.4, density=1e3), {"anti_locking": False}),
        (pl.materials.Corotated(young=1e6, poisson=0.4, density=1e3), {}),
    ],
)
def test_other_laws_and_smoothed_points_are_not_taken(material, options):
    model = model_of(material, **options)
    assert Tetrahedra.of(model.points, model.laws, model.table) is None
