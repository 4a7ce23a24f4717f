"""Patch test: a linear displacement field is reproduced exactly, whatever the mesh (Irons and Razzaque 1972)."""

import numpy as np
import pytest

import pliant as pl

KINDS = [("tet4", False), ("tet4", True), ("tet10", True), ("hex8", False), ("hex8", True)]
MATERIALS = [
    pl.materials.Linear(young=1e5, poisson=0.3, density=1e3),
    pl.materials.Corotated(young=1e5, poisson=0.45, density=1e3),
    pl.materials.StVenantKirchhoff(young=1e5, poisson=0.3, density=1e3),
    pl.materials.NeoHookean(young=1e5, poisson=0.49, density=1e3),
    pl.materials.MooneyRivlin(c1=2e4, c2=5e3, density=1e3),
    pl.materials.Yeoh(c1=2e4, c2=1e3, c3=50.0, density=1e3),
    pl.materials.Ogden(m=2e4, a=3.0, density=1e3),
]
F = np.array([[1.12, 0.07, -0.04], [0.03, 0.93, 0.06], [-0.05, 0.02, 1.08]])


def named(material):
    return type(material).__name__


@pytest.mark.parametrize(("element", "anti_locking"), KINDS)
@pytest.mark.parametrize("material", MATERIALS, ids=named)
def test_uniform_gradient_leaves_interior_nodes_in_balance(
    element, anti_locking, material, distorted_box, interior, model_of
):
    """At x = F X the stress is uniform, so no interior node of a distorted mesh feels a force; energy is V ψ(F)."""
    mesh = distorted_box(element)
    model = model_of(mesh, material, anti_locking=anti_locking)
    energy, force = model.internal(mesh.points @ F.T + np.array([0.3, -0.2, 0.1]))
    inside = interior(mesh)
    assert inside.sum() >= 8
    assert np.abs(force[inside]).max() < 1e-10 * np.abs(force[~inside]).max()
    assert energy == pytest.approx(mesh.volume * float(material.energy(F)), rel=1e-10)


@pytest.mark.parametrize(("element", "anti_locking"), KINDS)
@pytest.mark.parametrize("material", MATERIALS, ids=named)
def test_uniform_gradient_gives_the_traction_of_its_stress(element, anti_locking, material, distorted_box, model_of):
    """The forces on the face x = 1 sum to its area times P e_x, Cauchy's theorem."""
    mesh = distorted_box(element)
    model = model_of(mesh, material, anti_locking=anti_locking)
    _, force = model.internal(mesh.points @ F.T)
    # virtual displacement of every node by X e_i: internal work = V P e_x · e_i
    P = material.stress(F)
    np.testing.assert_allclose(force.T @ mesh.points, mesh.volume * P, atol=1e-10 * np.abs(P).max())


@pytest.mark.parametrize(("element", "anti_locking"), KINDS)
@pytest.mark.parametrize("material", [MATERIALS[1], MATERIALS[3]], ids=named)
def test_linear_field_on_the_boundary_is_solved_inside(element, anti_locking, material, distorted_box, interior):
    """Every boundary node is prescribed the linear field; the equilibrium inside is that field, to 1e-10."""
    mesh = distorted_box(element, cells=(2, 2, 2) if element == "tet10" else (3, 3, 3))
    wanted = mesh.points @ F.T
    inside = interior(mesh)
    scene = pl.Scene()
    body = scene.add(pl.Volume(mesh, material, anti_locking=anti_locking))
    for node in np.flatnonzero(~inside):
        region = pl.regions.nodes([int(node)])
        scene.add(pl.Support(body, region, displacement=wanted[node] - mesh.points[node]))
    world = scene.compile()
    state, info = pl.QuasiStatic(tolerance=1e-12)(world, world.initial_state())
    assert info.status is pl.Status.CONVERGED
    np.testing.assert_allclose(state.points(body), wanted, rtol=0.0, atol=1e-10)
    stress = state.stress(body)
    np.testing.assert_allclose(
        stress, np.broadcast_to(stress.mean(axis=0), stress.shape), atol=1e-8 * np.abs(stress).max()
    )
