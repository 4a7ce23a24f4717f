"""The slope of stiffness-proportional damping against differences of the damping force."""

import numpy as np
import pytest

import pliant as pl
from pliant.materials import Tangent
from pliant.materials.response import evaluate
from pliant.models.volume.damping_slope import damping_slope


def damping_force(points, laws, table, x, d):
    """K(x) d (n, 3) N, with the projected tangent of each point."""
    owner, force = np.repeat(np.arange(points.count), np.diff(points.ptr)), np.zeros(x.shape)
    F, Fd = np.zeros((points.count, 3, 3)), np.zeros((points.count, 3, 3))
    for field, made in ((x, F), (d, Fd)):
        np.add.at(made, owner, field[points.nodes][:, :, None] * points.gradients[:, None, :])
    for p in range(points.count):
        material, C = points.material[p], np.empty((1, 3, 3, 3, 3))
        law = int(laws[material]), int(points.part[p]), table[material], int(Tangent.PROJECTED)
        evaluate(*law, F[p : p + 1].copy(), np.empty(1), np.empty((1, 3, 3)), C)
        stress = points.weight[p] * np.einsum("ijkl,kl->ij", C[0], Fd[p])
        own = slice(points.ptr[p], points.ptr[p + 1])
        np.add.at(force, points.nodes[own], points.gradients[own] @ stress.T)
    return force


@pytest.mark.parametrize("anti_locking", [False, True])
def test_it_is_the_derivative_of_the_damping_force(anti_locking):
    rubber = pl.materials.NeoHookean(young=1e5, poisson=0.4, density=1e3)
    scene, rng = pl.Scene(), np.random.default_rng(3)
    scene.add(pl.Volume(pl.mesh.box((0.02, 0.01, 0.01), (2, 1, 1)), rubber, anti_locking=anti_locking))
    (model,) = scene.compile().volumes
    x = model.rest + 3e-4 * rng.normal(size=model.rest.shape)
    d, w, y = rng.normal(size=(3, *x.shape))
    given = model.points, model.laws, model.table
    slope, h = damping_slope(*given, x, d), 1e-7
    ends = [damping_force(*given, x + sign * h * y, d) for sign in (1.0, -1.0)]
    change = (ends[0] - ends[1]) / (2.0 * h)
    np.testing.assert_allclose(slope.along(y), change, rtol=0.0, atol=1e-5 * np.abs(change).max())
    assert (slope.product(w) * y).sum() == pytest.approx((w * change).sum(), rel=1e-5)
