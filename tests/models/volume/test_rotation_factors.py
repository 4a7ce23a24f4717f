"""Rotation factors of matrices, also of inverted ones, against singular values; and supports that turn."""

import numpy as np
import pytest

import pliant as pl
from pliant.models.volume.damping_slope import rotations


def nearest(F):
    """The proper rotation nearest to F."""
    U, _, V = np.linalg.svd(F)
    return U @ np.diag([1.0, 1.0, np.sign(np.linalg.det(U @ V))]) @ V


@pytest.mark.parametrize("stretch", [1e-3, 0.3, 1.5])
def test_factors_are_the_nearest_rotations_also_of_mixed_matrices(stretch):
    """Nearly rigid, strongly stretched and inverted ones together: each is what it is alone."""
    rng = np.random.default_rng(0)
    F = np.array(
        [nearest(rng.normal(size=(3, 3))) @ (np.eye(3) + stretch * rng.normal(size=(3, 3))) for _ in range(60)]
    )
    F[::4, :, 0] *= -1.0  # inverted
    expected = np.array([nearest(each) for each in F])
    found = rotations(F)
    np.testing.assert_allclose(found, expected, atol=1e-7)
    np.testing.assert_allclose(np.linalg.det(found), 1.0, atol=1e-12)
    for k in (0, 1):
        np.testing.assert_allclose(rotations(F[k : k + 1])[0], expected[k], atol=1e-7)


def test_a_support_turns_its_nodes_about_its_center():
    mesh = pl.mesh.box((0.1, 0.02, 0.02), (5, 1, 1))
    rubber = pl.materials.Corotated(young=1e5, poisson=0.3, density=1e3)
    center = (0.0, 0.01, 0.05)
    scene = pl.Scene()
    body = scene.add(pl.Volume(mesh, rubber))
    base = scene.add(pl.Support(body, pl.regions.plane(axis="x", at=0.0), rotation=(0, 0, 0), center=center))
    world = scene.compile()
    turn = np.array([0.02, 0.0, 0.0])
    state, _ = pl.QuasiStatic(tolerance=1e-8)(
        world, world.initial_state(), {base: pl.Placement([(0.0, 0.0, 0.0), tuple(turn)])}
    )
    nodes = np.flatnonzero(mesh.points[:, 0] < 1e-9)
    arms = mesh.points[nodes] - center
    c, s = np.cos(0.02), np.sin(0.02)
    expected = center + arms @ np.array([[1, 0, 0], [0, c, -s], [0, s, c]]).T
    np.testing.assert_allclose(state.points(body)[nodes], expected, atol=1e-9)
    for wrong in ((0.0, 0.01), "middle", (0.0, 0.01, np.nan)):
        with pytest.raises(pl.InputError, match="center of a Support"):
            pl.Support(body, pl.regions.plane(axis="x", at=0.0), rotation=(0, 0, 0), center=wrong)
