"""Mappings: positions of riding points, and `pull` as the derivative of the points."""

import numpy as np
import pytest
from scipy import sparse

import pliant as pl
from pliant.core.errors import InputError, PliantError
from pliant.core.lie import rotation_exp
from pliant.models.rigid.frame_map import FrameMap
from pliant.models.volume.barycentric import BarycentricMap, NodeMap

MESH = pl.mesh.box((0.2, 0.1, 0.1), (4, 2, 2))
RNG = np.random.default_rng(0)


def rows_over(count, rows=5):
    """Random rows (rows, 3 count), some of them empty."""
    return sparse.random(rows, 3 * count, density=0.5, format="csr", random_state=1)


def test_points_ride_where_they_were_put():
    where = RNG.uniform((0.01,) * 3, (0.19, 0.09, 0.09), (20, 3))
    riding = BarycentricMap.of_points(MESH, where, what="points")
    np.testing.assert_allclose(riding.weights.sum(axis=1), 1.0, atol=1e-12)
    np.testing.assert_allclose(riding.points(MESH.points), where, atol=1e-14)


def test_affine_motions_carry_riding_points_along():
    where = RNG.uniform((0.01,) * 3, (0.19, 0.09, 0.09), (20, 3))
    riding = BarycentricMap.of_points(MESH, where, what="points")
    A, b = RNG.normal(size=(3, 3)), RNG.normal(size=3)
    np.testing.assert_allclose(riding.points(MESH.points @ A.T + b), where @ A.T + b, atol=1e-13)


@pytest.mark.parametrize("element", ["tet4", "tet10", "hex8"])
def test_pull_of_a_barycentric_map_is_the_derivative(element):
    mesh = pl.mesh.box((0.2, 0.1, 0.1), (2, 1, 1), element=element)
    riding = BarycentricMap.of_points(mesh, RNG.uniform((0.01,) * 3, (0.19, 0.09, 0.09), (6, 3)), what="points")
    H = rows_over(6)
    direction = RNG.normal(size=mesh.points.shape)
    change = riding.points(mesh.points + direction) - riding.points(mesh.points)
    np.testing.assert_allclose(riding.pull_back(mesh.points, H) @ direction.ravel(), H @ change.ravel(), atol=1e-12)


def test_rows_along_directions_are_those_of_pull():
    directions = RNG.normal(size=(4, 2, 3))
    each = sparse.block_diag(list(directions), format="csr")
    places = RNG.uniform((0.01,) * 3, (0.19, 0.09, 0.09), (4, 3))
    pose = np.vstack([RNG.normal(size=3), rotation_exp(np.array([0.4, -1.1, 0.9]))])
    cases = ((BarycentricMap.of_points(MESH, places, what="points"), MESH.points), (FrameMap(places), pose))
    for riding, q in cases:
        along = riding.pull_back_along(q, directions).toarray()
        np.testing.assert_allclose(along, riding.pull_back(q, each).toarray(), atol=1e-14)


def test_pull_of_nodes_is_the_identity():
    H = rows_over(MESH.node_count)
    assert NodeMap().pull_back(MESH.points, H) is H
    assert NodeMap().points(MESH.points) is MESH.points


def moved(pose, unknowns):
    """The pose after a translation and a rotation about its position, both in world axes."""
    return np.vstack([pose[0] + unknowns[:3], rotation_exp(unknowns[3:]) @ pose[1:]])


def test_pull_of_a_frame_is_the_derivative():
    """Central differences over the six unknowns, at a turned pose."""
    local = RNG.normal(size=(7, 3))
    riding = FrameMap(local)
    pose = np.vstack([RNG.normal(size=3), rotation_exp(np.array([0.4, -1.1, 0.9]))])
    np.testing.assert_allclose(riding.points(pose), pose[0] + (pose[1:] @ local.T).T)
    H, eps = rows_over(7), 1e-6
    columns = []
    for unit in np.eye(6):
        change = riding.points(moved(pose, eps * unit)) - riding.points(moved(pose, -eps * unit))
        columns.append(H @ change.ravel() / (2 * eps))
    pulled = riding.pull_back(pose, H)
    assert pulled.shape == (5, 6)
    np.testing.assert_allclose(pulled.toarray(), np.array(columns).T, atol=1e-8)


def test_forces_pulled_to_a_frame_are_force_and_torque():
    """Hᵀλ of point rows is the resultant and its moment about the position."""
    local = RNG.normal(size=(4, 3))
    pose = np.vstack([(1.0, 2.0, 3.0), rotation_exp(np.array([0.0, 0.5, 0.0]))])
    force = RNG.normal(size=(4, 3))
    wrench = FrameMap(local).pull_back(pose, sparse.eye(12, format="csr")).T @ force.ravel()
    arms = local @ pose[1:].T
    np.testing.assert_allclose(wrench[:3], force.sum(axis=0), atol=1e-13)
    np.testing.assert_allclose(wrench[3:], np.cross(arms, force).sum(axis=0), atol=1e-13)


def test_a_point_outside_is_named():
    with pytest.raises(PliantError, match="eyelets") as caught:
        BarycentricMap.of_points(MESH, np.array([[0.1, 0.05, 0.05], [0.3, 0.05, 0.05]]), what="eyelets")
    assert isinstance(caught.value, InputError | pl.MeshError)
    assert "1" in str(caught.value)
