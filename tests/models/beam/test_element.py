"""The element: forces and stiffness are derivatives of its energy, and turning it whole changes nothing."""

import numpy as np
import pytest

from pliant.core.lie import rotation_exp
from pliant.models.beam import element
from pliant.solvers.linear import BlockMatrix

EPS = 1e-6


def differences(function, q, moved):
    """Central differences of function(q) over the 6n unknowns, (…, 6n)."""
    count = 6 * len(q)
    units = EPS * np.eye(count).reshape(count, len(q), 2, 3)
    return np.stack([(function(moved(q, u)) - function(moved(q, -u))) / (2 * EPS) for u in units], axis=-1)


def stiffness(model, q, tangent):
    values = np.zeros((model.pattern.block_count, 3, 3))
    energy, force = model.assemble(q, tangent=tangent, scale=1.0, values=values)
    return BlockMatrix(model.pattern, values).to_scipy().toarray(), energy, force


def test_the_rest_shape_is_free_of_force(bent):
    model, _ = bent
    energy, force = model.internal(model.rest)
    assert energy < 1e-25
    assert np.abs(force).max() < 1e-12


def test_forces_are_the_gradient_of_the_energy(bent, moved):
    model, q = bent
    energy, force = model.internal(q)
    slope = differences(lambda x: np.array(model.internal(x)[0]), q, moved)
    error = np.abs(slope - force.ravel()).max() / np.abs(force).max()
    print(f"energy {energy:.3g} J, relative error of the forces {error:.1e}")
    assert energy > 1.0
    assert error < 1e-8


def test_the_stiffness_is_the_symmetric_derivative_of_the_forces(bent, moved):
    """Exact: what is left out is ½ [moment at the node]×, skew, block by block."""
    model, q = bent
    K, energy, force = stiffness(model, q, element.EXACT)
    assert energy == model.internal(q)[0]
    np.testing.assert_allclose(force, model.internal(q)[1], atol=1e-14)
    numeric = differences(lambda x: model.internal(x)[1].ravel(), q, moved)
    scale = np.abs(K).max()
    assert np.abs(K - 0.5 * (numeric + numeric.T)).max() < 1e-8 * scale
    skew = 0.5 * (numeric - numeric.T)
    for node, (x, y, z) in enumerate(force[:, 1]):
        place = slice(6 * node + 3, 6 * node + 6)
        expected = -0.5 * np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
        np.testing.assert_allclose(skew[place, place], expected, atol=1e-8 * scale)
        skew[place, place] = 0.0
    assert np.abs(skew).max() < 1e-8 * scale


def test_stiffness_far_from_and_near_zero_bending_agree():
    """The series of small angles and the closed forms meet: α, β, k and their derivatives at the switch."""
    below, above = np.array(element.angles(0.01 - 1e-12)), np.array(element.angles(0.01 + 1e-12))
    np.testing.assert_allclose(below, above, rtol=1e-8)


@pytest.mark.parametrize("tangent", [element.MATERIAL, element.PROJECTED])
def test_other_tangents_are_positive_semi_definite(bent, tangent):
    model, q = bent
    roots = np.linalg.eigvalsh(stiffness(model, q, tangent)[0])
    assert roots.min() > -1e-12 * roots.max()
    assert np.linalg.eigvalsh(stiffness(model, q, element.EXACT)[0]).min() < -1e-6 * roots.max()


@pytest.mark.parametrize("tangent", [element.MATERIAL, element.EXACT, element.PROJECTED])
def test_all_tangents_agree_at_rest(bent, tangent):
    model, _ = bent
    K = stiffness(model, model.rest, tangent)[0]
    exact = stiffness(model, model.rest, element.EXACT)[0]
    np.testing.assert_allclose(K, exact, atol=1e-10 * np.abs(exact).max())
    assert (np.linalg.eigvalsh(K) < 1e-10 * np.abs(K).max()).sum() == 6  # the rigid motions


def test_energy_and_forces_turn_with_the_body(bent):
    model, q = bent
    R, shift = rotation_exp(np.array([1.0, -2.0, 1.5])), np.array([1.0, 2.0, -3.0])
    turned = np.concatenate([q[:, :1] @ R.T + shift, R @ q[:, 1:]], axis=1)
    energy, force = model.internal(q)
    there, forces = model.internal(turned)
    assert there == pytest.approx(energy, rel=1e-12)
    np.testing.assert_allclose(forces, force @ R.T, atol=1e-11 * np.abs(force).max())


def test_forces_need_no_support(bent):
    """Their resultant and their moment about any point vanish."""
    model, q = bent
    force = model.internal(q)[1]
    np.testing.assert_allclose(force[:, 0].sum(axis=0), 0.0, atol=1e-11 * np.abs(force).max())
    moment = (np.cross(q[:, 0], force[:, 0]) + force[:, 1]).sum(axis=0)
    np.testing.assert_allclose(moment, 0.0, atol=1e-12 * np.abs(force).max())


def test_a_piece_turned_back_on_itself_has_no_finite_energy(bent):
    model, _ = bent
    q = model.rest.copy()
    q[0, 0, 0] = 0.2  # behind its neighbour, with the frames as they were
    assert model.internal(q)[0] == np.inf
