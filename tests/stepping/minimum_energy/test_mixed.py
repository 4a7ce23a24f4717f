"""Energies, forces, stresses and matrices of the mixed form against each other and against the plain one."""

import numpy as np
import pytest

import pliant as pl
from pliant.materials import Tangent
from pliant.solvers.linear import BlockMatrix
from pliant.stepping.minimum_energy.mixed import MixedBody

MATERIALS = {
    "Mooney–Rivlin": pl.materials.MooneyRivlin(c1=4.0, c2=1.0, poisson=0.45, density=1.0),
    "neo-Hookean": pl.materials.NeoHookean(young=3.0, poisson=0.45, density=1.0),
    "corotated": pl.materials.Corotated(young=3.0, poisson=0.3, density=1.0),
}
STEP = 1e-6


@pytest.fixture(params=[(name, kind) for name in MATERIALS for kind in (True, "volume")], scope="module")
def case(request):
    """A body, a shape far from rest with one cell nearly flat, and a direction."""
    scene = pl.Scene()
    name, kind = request.param
    scene.add(pl.Volume(pl.mesh.box((1, 1, 1), (2, 2, 2), symmetric=""), MATERIALS[name], anti_locking=kind))
    model = scene.compile().models[0]
    rng = np.random.default_rng(0)
    stretch = np.array([[1.2, 0.3, 0.0], [0.0, 0.8, 0.1], [0.1, 0.0, 1.1]])
    q = model.rest @ stretch + 0.03 * rng.normal(size=model.rest.shape)
    inner = np.flatnonzero((np.abs(model.rest - 0.5) < 0.1).all(axis=1))
    q[inner] += (0.0, 0.0, 0.38)
    return model, q, rng.normal(size=q.shape)


def volumes(model, q):
    corners = q[model.mesh.cells]
    return np.linalg.det(corners[:, 1:] - corners[:, :1]) / np.linalg.det(
        model.rest[model.mesh.cells][:, 1:] - model.rest[model.mesh.cells][:, :1]
    )


def test_the_barrier_alone_sets_it_apart_from_the_plain_energy(case):
    """Equal where every cell keeps a tenth of its volume; more where one does not."""
    model, q, _ = case
    upright = model.rest @ np.diag([1.1, 0.9, 1.0])
    assert MixedBody(model).energy(upright)[0] == pytest.approx(model.internal(upright)[0], rel=1e-12)
    assert 0.0 < volumes(model, q).min() < 0.1
    assert MixedBody(model).energy(q)[0] > model.internal(q)[0]


def test_forces_are_the_slope_of_the_energy(case):
    model, q, d = case
    body = MixedBody(model)
    slope = (body.energy(q + STEP * d)[0] - body.energy(q - STEP * d)[0]) / (2.0 * STEP)
    assert np.vdot(body.energy(q)[1], d) == pytest.approx(slope, rel=1e-7)


def test_the_matrix_is_the_slope_of_the_forces(case):
    model, q, d = case
    body, values = MixedBody(model), model.blocks()
    body.tangent(q, None, Tangent.EXACT, values)
    slope = (body.energy(q + STEP * d)[1] - body.energy(q - STEP * d)[1]) / (2.0 * STEP)
    assert BlockMatrix(model.pattern, values).matvec(d) == pytest.approx(slope, abs=1e-6 * np.abs(slope).max())


def test_expected_stresses_are_the_stresses_and_their_slope(case):
    model, q, d = case
    body, still = MixedBody(model), np.zeros_like(d)
    own = body.expected(q, still)
    plain = body.energy(q)[1]
    assert body.forces(q, own) == pytest.approx(plain, abs=1e-10 * np.abs(plain).max())
    ahead, behind = (body.expected(q + sign * STEP * d, still) for sign in (1, -1))
    forward, backward = (body.expected(q, sign * STEP * d) for sign in (1, -1))
    for name in ("stress", "pressure"):
        slope = getattr(ahead, name) - getattr(behind, name)
        assert getattr(forward, name) - getattr(backward, name) == pytest.approx(
            slope, abs=1e-6 * np.abs(slope).max(initial=0.0)
        )


def test_stresses_that_are_its_own_leave_the_matrix_alone(case):
    model, q, d = case
    body, plain, given = MixedBody(model), model.blocks(), model.blocks()
    body.tangent(q, None, Tangent.EXACT, plain)
    body.tangent(q, body.expected(q, np.zeros_like(d)), Tangent.EXACT, given)
    assert given == pytest.approx(plain, abs=1e-12 * np.abs(plain).max())
