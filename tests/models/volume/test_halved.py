"""Points assembled in two halves: the sums of all of them, and the same ones on one thread and on two."""

import numpy as np
import pytest

import pliant as pl
from pliant.core.threads import allow_threads
from pliant.materials import Tangent
from pliant.models.volume import assembly, halved


@pytest.fixture(params=["Mooney–Rivlin", "corotated"])
def case(request, monkeypatch):
    """A body of smoothed elements, whose points have as many nodes as they like, at a shape far from rest."""
    monkeypatch.setattr(halved, "MANY", 10)
    material = {
        "Mooney–Rivlin": pl.materials.MooneyRivlin(c1=4.0, c2=1.0, poisson=0.45, density=1.0),
        "corotated": pl.materials.Corotated(young=3.0, poisson=0.3, density=1.0),
    }[request.param]
    scene = pl.Scene()
    scene.add(pl.Volume(pl.mesh.box((1, 1, 1), (3, 2, 2)), material))
    model = scene.compile().models[0]
    q = model.rest * (1.2, 0.8, 1.1) + 0.03 * np.random.default_rng(0).normal(size=model.rest.shape)
    return model, q, (model.points.arrays, model.laws, model.table)


def given(module, points):
    """Arguments of a kernel, which takes the arrays one by one, or of its halves."""
    return points if module is halved else (*points[0], *points[1:])


def forces(module, q, points):
    force, density = np.zeros_like(q), np.empty(len(points[0][3]))
    return module.internal_forces(q, *given(module, points), force, density), force, density


def tangent(module, model, q, points):
    values, force = np.zeros((model.pattern.block_count, 3, 3)), np.zeros_like(q)
    return (
        module.assemble(q, *given(module, points), int(Tangent.EXACT), model.positions, 0.5, values, force),
        values,
        force,
    )


def test_forces_of_halves_are_those_of_all(case):
    _, q, points = case
    for mine, whole in zip(forces(halved, q, points), forces(assembly, q, points), strict=True):
        np.testing.assert_allclose(mine, whole, rtol=1e-12, atol=1e-13)


def test_tangent_of_halves_is_that_of_all(case):
    model, q, points = case
    for mine, whole in zip(tangent(halved, model, q, points), tangent(assembly, model, q, points), strict=True):
        np.testing.assert_allclose(mine, whole, rtol=1e-12, atol=1e-12)


def test_threads_change_nothing(case):
    """Not a bit."""
    model, q, points = case
    alone = (*forces(halved, q, points), *tangent(halved, model, q, points))
    with allow_threads(2):
        together = (*forces(halved, q, points), *tangent(halved, model, q, points))
    for one, two in zip(alone, together, strict=True):
        np.testing.assert_array_equal(one, two)
