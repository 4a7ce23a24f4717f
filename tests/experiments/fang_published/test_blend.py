"""Blended elements: their moduli, their targets, and the matrices over which they are solved."""

import numpy as np
import pytest

import pliant as pl
from experiments.fang_published.anderson import Anderson
from experiments.fang_published.blend import Elements, Laplacian, Softening
from experiments.fang_published.blend_tangent import BlendTangent
from experiments.fang_published.stepper import ECOFLEX_00_30, LocalGlobal

W = 3e4
SIZE = np.array([0.02, 0.01, 0.01])


@pytest.fixture(scope="module")
def mesh():
    box = pl.mesh.box(SIZE, (4, 2, 2))
    inside = ((box.points > 0.0) & (box.points < SIZE)).all(axis=1)
    moved = box.points.copy()
    moved[inside] += 1e-3 * np.random.default_rng(1).uniform(-1.0, 1.0, (int(inside.sum()), 3))
    return pl.mesh.Mesh(moved, box.cells, "tet4")


def stress(mesh, omega, F, weighting="elastic"):
    """Traction (3,), Pa, on the face at the end of x, from the nodal forces under a uniform F."""
    elements = Elements.of(mesh.points, mesh.cells, W, omega, weighting)
    force = 2.0 * elements.forces(mesh.points @ F.T)
    inside = ((mesh.points > 0.0) & (mesh.points < SIZE)).all(axis=1)
    assert np.abs(force[inside]).max() < 1e-6 * np.abs(force).max()
    return force[mesh.points[:, 0] > 0.999 * SIZE[0]].sum(axis=0) / (SIZE[1] * SIZE[2])


@pytest.mark.parametrize("omega", [0.027, 0.2, 1.0])
def test_small_strain_moduli_are_those_of_the_blend(mesh, omega):
    """μ = W ω and λ = 2W(1 − ω)/3, from a stretch and from a shear."""
    mu, lam = W * omega, 2.0 * W * (1.0 - omega) / 3.0
    e = 1e-6
    stretched, sheared = np.eye(3), np.eye(3)
    stretched[0, 0] += e
    sheared[1, 0] += e
    assert stress(mesh, omega, stretched)[0] / e == pytest.approx(lam + 2.0 * mu, rel=1e-4)
    sideways = np.diag([1.0, 1.0 + e, 1.0])
    assert stress(mesh, omega, sideways)[0] / e == pytest.approx(lam, rel=1e-4, abs=1e-4 * W)
    assert stress(mesh, omega, sheared)[1] / e == pytest.approx(mu, rel=1e-4)


def test_poissons_ratio_of_a_material_is_that_of_its_blend():
    """ν = (1 − ω)/(2 + ω): 0.364, 0.463 and 0.48 for ω = 0.2, 0.05 and 0.027."""
    for omega, nu in ((0.2, 0.364), (0.05, 0.463), (0.027, 0.48)):
        assert (1.0 - omega) / (2.0 + omega) == pytest.approx(nu, abs=5e-4)
        material = pl.materials.NeoHookean(young=1e5, poisson=(1.0 - omega) / (2.0 + omega), density=1e3)
        found, weight = LocalGlobal().blend_of(material)
        assert found == pytest.approx(omega)
        assert weight * omega == pytest.approx(material.shear_modulus)


def test_turns_and_swollen_air_at_its_target_have_no_forces(mesh):
    R = pl.mesh.mesh.rotation_matrix((0.3, -1.0, 2.0))
    body = Elements.of(mesh.points, mesh.cells, W, 0.1, "elastic")
    assert np.abs(body.forces(mesh.points @ R.T)).max() < 1e-12 * W
    swollen = 2.0 ** (1.0 / 3.0) * mesh.points @ R.T
    assert np.abs(body.forces(swollen, 2.0 ** (1.0 / 3.0))).max() < 1e-12 * W


def test_an_element_turned_inside_out_costs_something(mesh):
    """Rotations are proper ones: a mirrored body is under stress."""
    body = Elements.of(mesh.points, mesh.cells, W, 0.1, "elastic")
    assert np.abs(body.forces(mesh.points * [1.0, 1.0, -1.0])).max() > 1e-3 * W * SIZE[1] ** 2


@pytest.mark.parametrize(("weighting", "power"), [("elastic", 3), ("published", 5), ("released", 2)])
def test_weights_go_with_their_power_of_the_size(mesh, weighting, power):
    """What an element weighs in the Laplacian times the square of its size: energies of the same strain."""
    F = np.diag([1.2, 0.9, 1.0])
    energies = []
    for size in (1.0, 2.0):
        points = size * mesh.points
        elements = Elements.of(points, mesh.cells, W, 0.5, weighting)
        energies.append(float(np.vdot(elements.forces(points @ F.T), points)))
    assert energies[1] / energies[0] == pytest.approx(2.0**power)


def test_softening_lowers_the_stress_of_a_stretched_body(mesh):
    body = Elements.of(mesh.points, mesh.cells, W, 0.1, "elastic")
    x = mesh.points * [2.0, 2.0**-0.5, 2.0**-0.5]
    table = LocalGlobal(softening=ECOFLEX_00_30).softening_table()
    plain, soft = body.forces(x), body.forces(x, 0.0, table)
    half = body.forces(x, 0.0, Softening(np.ones(1), 0.43 * np.ones(1)))
    assert np.abs(soft).max() < 0.6 * np.abs(plain).max()
    assert soft == pytest.approx(half)


def test_both_matrices_lead_to_the_same_rest(mesh):
    """A moved end: one solve over the elastic matrix, many rounds over the Laplacian, the same shape."""
    body = Elements.of(mesh.points, mesh.cells, W, 0.3, "elastic")
    held = np.zeros_like(mesh.points, bool)
    held[mesh.points[:, 0] < 1e-9] = True
    held[mesh.points[:, 0] > SIZE[0] - 1e-9, 0] = True
    start = mesh.points.copy()
    start[held[:, 0] & (start[:, 0] > 0.5 * SIZE[0]), 0] += 1e-4
    shapes = []
    for solver in (Laplacian(len(start), [body], held, start), BlendTangent(len(start), body, [], held, start)):
        x, mixing = start.copy(), Anderson(6)
        for _ in range(200):
            force = np.where(held, 0.0, body.forces(x))
            if np.linalg.norm(force) < 1e-9 * W * SIZE[1] ** 2:
                break
            if isinstance(solver, BlendTangent):
                solver.factorize(x, np.zeros(len(x)), np.zeros_like(x))
            x = x + mixing.step(x, -solver.solve(force))
        shapes.append(x)
    assert shapes[0] == pytest.approx(shapes[1], abs=1e-8)
    assert not np.allclose(shapes[0], start, atol=1e-6)


def test_anderson_solves_a_linear_problem_in_as_many_steps_as_it_has_unknowns():
    rng = np.random.default_rng(0)
    A, b = np.eye(5) - 0.9 * np.linalg.qr(rng.normal(size=(5, 5)))[0] * 0.9, rng.normal(size=5)
    x, mixing = np.zeros(5), Anderson(6)
    for _ in range(7):
        x = x + mixing.step(x, b - A @ x)
    assert x == pytest.approx(np.linalg.solve(A, b), abs=1e-8)
    plain = np.zeros(5)
    for _ in range(7):
        plain = plain + Anderson(0).step(plain, b - A @ plain)
    assert np.abs(plain - np.linalg.solve(A, b)).max() > 1e-2
