"""Frame invariance: a rigid motion costs no energy, forces turn with the body, and they hold their own balance."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import pliant as pl
from pliant.materials import Tangent
from pliant.solvers.linear.matrix import BlockMatrix

KINDS = [("tet4", False), ("tet4", True), ("tet10", True), ("hex8", False), ("hex8", True)]
LAME = {"young": 1e5, "poisson": 0.45, "density": 1e3}
MATERIALS = [
    pl.materials.Corotated(**LAME),
    pl.materials.StVenantKirchhoff(**LAME),
    pl.materials.NeoHookean(**LAME),
    pl.materials.MooneyRivlin(c1=2e4, c2=5e3, density=1e3),
    pl.materials.Yeoh(c1=2e4, c2=1e3, c3=50.0, density=1e3),
    pl.materials.Ogden(m=2e4, a=3.0, density=1e3),
]
R = Rotation.from_rotvec([1.1, -2.0, 0.7]).as_matrix()
SHIFT = np.array([0.4, -3.0, 2.0])


def named(material):
    return type(material).__name__


def bent(mesh, seed=1):
    """A smooth, large deformation with some noise, of moderate strain."""
    x = mesh.points
    noise = 0.01 * np.random.default_rng(seed).normal(size=x.shape)
    return x + 0.15 * np.sin(2.0 * x[:, [1, 2, 0]]) + noise


@pytest.mark.parametrize(("element", "anti_locking"), KINDS)
@pytest.mark.parametrize("material", MATERIALS, ids=named)
def test_rotated_rest_shape_is_free_of_force(element, anti_locking, material, distorted_box, model_of):
    mesh = distorted_box(element, cells=(2, 2, 2))
    model = model_of(mesh, material, anti_locking=anti_locking)
    energy, force = model.internal(mesh.points @ R.T + SHIFT)
    young = material.small_strain_young
    assert abs(energy) < 1e-12 * young * mesh.volume
    assert np.abs(force).max() < 1e-11 * young


@pytest.mark.parametrize(("element", "anti_locking"), KINDS)
@pytest.mark.parametrize("material", MATERIALS, ids=named)
def test_forces_turn_with_the_body_and_are_in_balance(element, anti_locking, material, distorted_box, model_of):
    """f(R q + c) = R f(q), the same energy; Σ f = 0 and Σ q × f = 0."""
    mesh = distorted_box(element, cells=(2, 2, 2))
    model = model_of(mesh, material, anti_locking=anti_locking)
    q = bent(mesh)
    energy, force = model.internal(q)
    scale = np.abs(force).max()
    assert np.isfinite(energy)
    assert energy > 1e-4 * material.small_strain_young * mesh.volume
    turned_energy, turned = model.internal(q @ R.T + SHIFT)
    assert turned_energy == pytest.approx(energy, rel=1e-12)
    np.testing.assert_allclose(turned, force @ R.T, atol=1e-11 * scale)
    np.testing.assert_allclose(force.sum(axis=0), 0.0, atol=1e-11 * scale)
    np.testing.assert_allclose(np.cross(q, force).sum(axis=0), 0.0, atol=1e-11 * scale)


@pytest.mark.parametrize(("element", "anti_locking"), KINDS)
def test_rest_stiffness_has_six_rigid_modes_and_no_others(element, anti_locking, distorted_box, model_of):
    """The stiffness at rest has rank 3n − 6: neither spurious modes (hourglass) nor stiff rigid motions."""
    mesh = distorted_box(element, cells=(2, 2, 2) if element != "tet10" else (1, 1, 1))
    model = model_of(mesh, MATERIALS[2], anti_locking=anti_locking)
    values = np.empty((model.pattern.block_count, 3, 3))
    model.assemble(model.rest, mass=0.0, stiffness=1.0, tangent=Tangent.EXACT, values=values)
    eigenvalues = np.linalg.eigvalsh(BlockMatrix(model.pattern, values).to_scipy().toarray())
    assert np.abs(eigenvalues[:6]).max() < 1e-11 * eigenvalues[-1]
    assert eigenvalues[6] > 1e-4 * eigenvalues[-1]


def test_linear_law_is_the_exception(distorted_box, model_of):
    """Small-strain elasticity is not frame-invariant: a rotation by ε costs energy of order ε⁴, translation none."""
    mesh = distorted_box("tet4", cells=(2, 2, 2))
    model = model_of(mesh, pl.materials.Linear(**LAME))
    assert abs(model.internal(mesh.points + SHIFT)[0]) < 1e-12 * 1e5
    turned = [model.internal(mesh.points @ Rotation.from_rotvec([0, 0, a]).as_matrix().T)[0] for a in (0.1, 0.2)]
    assert turned[1] / turned[0] == pytest.approx(16.0, rel=0.03)
