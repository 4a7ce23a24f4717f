"""Forces are the gradient of the energy, the stiffness their derivative: every element, by central differences."""

import numpy as np
import pytest

import pliant as pl
from pliant.materials import Tangent
from pliant.solvers.linear.matrix import BlockMatrix

KINDS = [("tet4", False), ("tet4", True), ("tet10", True), ("hex8", False), ("hex8", True)]
LAME = {"young": 1.0, "poisson": 0.4, "density": 1.0}
MATERIALS = [
    pl.materials.Linear(**LAME),
    pl.materials.Corotated(**LAME),
    pl.materials.StVenantKirchhoff(**LAME),
    pl.materials.NeoHookean(**LAME),
    pl.materials.MooneyRivlin(c1=0.2, c2=0.05, density=1.0),
    pl.materials.Ogden(m=0.3, a=3.0, density=1.0),
]
STEP = 1e-6


def deformed(mesh):
    x = mesh.points
    noise = 0.02 * np.random.default_rng(3).normal(size=x.shape)
    return x + 0.2 * np.sin(x[:, [1, 2, 0]]) + noise


def differences(function, q):
    """∂function/∂q by central differences, (outputs, 3n)."""
    columns = []
    for k in range(q.size):
        ahead, behind = q.copy(), q.copy()
        ahead.flat[k] += STEP
        behind.flat[k] -= STEP
        columns.append((np.ravel(function(ahead)) - np.ravel(function(behind))) / (2.0 * STEP))
    return np.stack(columns, axis=1)


@pytest.mark.parametrize(("element", "anti_locking"), KINDS)
@pytest.mark.parametrize("material", MATERIALS, ids=lambda m: type(m).__name__)
def test_force_and_stiffness_of_elements(element, anti_locking, material, distorted_box, model_of):
    mesh = distorted_box(element, cells=(1, 1, 1) if element == "tet10" else (2, 1, 1))
    model = model_of(mesh, material, anti_locking=anti_locking)
    q = deformed(mesh)
    energy, force = model.internal(q)
    values = np.empty((model.pattern.block_count, 3, 3))
    same_energy, same_force = model.assemble(q, mass=0.0, stiffness=1.0, tangent=Tangent.EXACT, values=values)
    assert same_energy == pytest.approx(energy, rel=1e-13)
    np.testing.assert_allclose(same_force, force, atol=1e-13 * np.abs(force).max())
    slope = differences(lambda x: model.internal(x)[0], q)[0]
    np.testing.assert_allclose(force.ravel(), slope, atol=1e-7 * np.abs(force).max())
    K = BlockMatrix(model.pattern, values).to_scipy().toarray()
    expected = differences(lambda x: model.internal(x)[1], q)
    np.testing.assert_allclose(K, expected, atol=2e-8 * np.abs(K).max())


@pytest.mark.parametrize(("element", "anti_locking"), KINDS)
def test_warped_stiffness_is_exact_where_strain_vanishes(element, anti_locking, distorted_box, model_of):
    """The warped tangent drops terms of the order of strain: at a rotated rest shape it is exact."""
    mesh = distorted_box(element, cells=(1, 1, 1))
    model = model_of(mesh, pl.materials.Corotated(**LAME), anti_locking=anti_locking)
    turn = np.array([[0.6, -0.8, 0.0], [0.8, 0.6, 0.0], [0.0, 0.0, 1.0]])
    exact, warped = np.empty((2, model.pattern.block_count, 3, 3))
    model.assemble(mesh.points @ turn.T, mass=0.0, stiffness=1.0, tangent=Tangent.EXACT, values=exact)
    model.assemble(mesh.points @ turn.T, mass=0.0, stiffness=1.0, tangent=Tangent.WARPED, values=warped)
    np.testing.assert_allclose(warped, exact, atol=1e-9 * np.abs(exact).max())


def pressed(mesh, region, pressure=0.7):
    scene = pl.Scene()
    body = scene.add(pl.Volume(mesh, MATERIALS[3]))
    scene.add(pl.PressureLoad(body, region, pressure))
    return scene.compile().models[0]


def load_stiffness(model, q):
    values = np.zeros((model.pattern.block_count, 3, 3))
    model.add_load_stiffness(q, 1.0, {}, values)
    return BlockMatrix(model.pattern, values).to_scipy().toarray()


@pytest.mark.parametrize("element", ["tet4", "tet10", "hex8"])
def test_pressure_on_a_closed_surface_has_a_potential(element, distorted_box):
    """Over a closed surface f = −p ∂V/∂q: forces are minus the gradient of the potential, the stiffness is exact."""
    mesh = distorted_box(element, cells=(1, 1, 1) if element == "tet10" else (2, 1, 1))
    model = pressed(mesh, pl.regions.everything())
    q, gravity = deformed(mesh), np.zeros(3)
    _, force = model.external(q, gravity, {})
    assert np.abs(force).max() > 1e-2
    np.testing.assert_allclose(force.sum(axis=0), 0.0, atol=1e-12)
    np.testing.assert_allclose(np.cross(q, force).sum(axis=0), 0.0, atol=1e-12)
    slope = differences(lambda x: model.external(x, gravity, {})[0], q)[0]
    np.testing.assert_allclose(-force.ravel(), slope, atol=1e-8)
    expected = -differences(lambda x: model.external(x, gravity, {})[1], q)
    np.testing.assert_allclose(expected, expected.T, atol=1e-8)
    np.testing.assert_allclose(load_stiffness(model, q), expected, atol=1e-8)


def test_closed_potential_is_pressure_times_volume():
    """The potential of a closed pressure is p V (divergence theorem); at rest V = 1 · 2 · 3."""
    model = pressed(pl.mesh.box((1, 2, 3), (2, 2, 2)), pl.regions.everything(), pressure=5.0)
    assert model.external(model.rest.copy(), np.zeros(3), {})[0] == pytest.approx(30.0, rel=1e-12)


@pytest.mark.parametrize("element", ["tet4", "tet10", "hex8"])
def test_pressure_on_an_open_patch_uses_the_symmetric_part(element, distorted_box):
    mesh = distorted_box(element, cells=(1, 1, 1) if element == "tet10" else (2, 2, 1))
    model = pressed(mesh, pl.regions.plane(axis="z", at=1.0))
    q, gravity = deformed(mesh), np.zeros(3)
    expected = -differences(lambda x: model.external(x, gravity, {})[1], q)
    skew = np.abs(expected - expected.T).max()
    assert skew > 1e-3, "an open patch must show the unsymmetric part"
    np.testing.assert_allclose(load_stiffness(model, q), 0.5 * (expected + expected.T), atol=1e-8)


def test_pressure_pushes_into_the_body():
    """On the face z = 1 of a unit cube a pressure p gives the force −p e_z."""
    model = pressed(pl.mesh.box((1, 1, 1), (2, 2, 2)), pl.regions.plane(axis="z", at=1.0), pressure=7.0)
    _, force = model.external(model.rest.copy(), np.zeros(3), {})
    np.testing.assert_allclose(force.sum(axis=0), [0.0, 0.0, -7.0], atol=1e-13)
