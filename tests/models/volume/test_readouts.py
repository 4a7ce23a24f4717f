"""Read-outs: exact for uniform states, sums that hold for any state."""

import numpy as np
import pytest

import pliant as pl
from pliant.models.volume.readouts import von_mises

KINDS = [("tet4", False), ("tet4", True), ("tet10", True), ("hex8", False), ("hex8", True)]
KINDS += [("tet4", "volume"), ("hex8", "volume")]
NEO = pl.materials.NeoHookean(young=1e5, poisson=0.4, density=1000.0)
F = np.array([[1.2, 0.1, 0.0], [0.0, 0.9, -0.1], [0.05, 0.0, 1.1]])


def state_at(element, anti_locking, deform, material=NEO):
    scene = pl.Scene()
    mesh = pl.mesh.box((0.2, 0.1, 0.1), (3, 2, 2), element=element)
    body = scene.add(pl.Volume(mesh, material, anti_locking=anti_locking))
    world = scene.compile()
    q = deform(mesh.points)
    return pl.State(world, 0.0, (q,), (np.zeros_like(q),), np.zeros(0)), body


@pytest.mark.parametrize(("element", "anti_locking"), KINDS)
@pytest.mark.parametrize("at", ["cells", "nodes"])
def test_uniform_states_are_exact(element, anti_locking, at):
    """x = F X: Cauchy stress P Fᵀ/J, Green–Lagrange strain (FᵀF − I)/2, everywhere."""
    state, body = state_at(element, anti_locking, lambda x: x @ F.T)
    P = NEO.stress(F)
    cauchy = P @ F.T / np.linalg.det(F)
    count = body.mesh.cell_count if at == "cells" else body.mesh.node_count
    stress = state.stress(body, at=at)
    assert stress.shape == (count, 3, 3)
    np.testing.assert_allclose(stress, np.broadcast_to(cauchy, stress.shape), atol=1e-9 * np.abs(cauchy).max())
    strain = state.strain(body, at=at)
    np.testing.assert_allclose(strain, np.broadcast_to((F.T @ F - np.eye(3)) / 2, strain.shape), atol=1e-12)


@pytest.mark.parametrize(("element", "anti_locking"), KINDS)
@pytest.mark.parametrize("law", [pl.materials.Linear, pl.materials.Corotated, pl.materials.NeoHookean])
def test_cell_energies_sum_to_the_energy(element, anti_locking, law):
    material = law(young=1e5, poisson=0.4, density=1e3)
    state, body = state_at(element, anti_locking, lambda x: x + 0.02 * np.sin(30 * x[:, [1, 2, 0]]), material)
    energy = state.world.energy(state)
    assert state.elastic_energy(body).shape == (body.mesh.cell_count,)
    assert state.elastic_energy(body).sum() == pytest.approx(energy["elastic"], rel=1e-12)
    assert energy["total"] == pytest.approx(energy["elastic"], rel=1e-12)


def test_kinetic_energy_and_potential():
    scene = pl.Scene(gravity=(0, 0, -10.0))
    mesh = pl.mesh.box((0.1, 0.1, 0.1), (2, 2, 2))
    scene.add(pl.Volume(mesh, NEO))
    world = scene.compile()
    q = mesh.points + np.array([0.0, 0.0, 2.0])
    state = pl.State(world, 0.0, (q,), (np.full(mesh.points.shape, 3.0),), np.zeros(0))
    energy = world.energy(state)
    assert energy["kinetic"] == pytest.approx(0.5 * 1.0 * 27.0, rel=1e-12)
    assert energy["potential"] == pytest.approx(1.0 * 10.0 * 2.05, rel=1e-12)
    assert energy["elastic"] == pytest.approx(0.0, abs=1e-9)
    assert energy["total"] == pytest.approx(sum(energy[k] for k in ("kinetic", "elastic", "potential")))


def test_von_mises_of_known_states():
    uniaxial = np.diag([7.0, 0, 0])
    shear = np.array([[0, 2.0, 0], [2.0, 0, 0], [0, 0, 0]])
    np.testing.assert_allclose(
        von_mises(np.stack([uniaxial, shear, 5 * np.eye(3)])), [7.0, 2 * np.sqrt(3), 0.0], atol=1e-12
    )


def test_von_mises_of_a_state():
    state, body = state_at("tet4", True, lambda x: x @ F.T)
    np.testing.assert_allclose(state.von_mises(body), von_mises(state.stress(body)))
    assert state.von_mises(body, at="nodes").shape == (body.mesh.node_count,)
