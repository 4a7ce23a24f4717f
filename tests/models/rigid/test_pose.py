"""The pose after a displacement is the exponential map, and a rotation to rounding."""

import numpy as np
import pytest

from pliant.core.arrays import frozen
from pliant.core.lie import rotation_exp
from pliant.models.rigid.pose import displaced_pose


@pytest.mark.parametrize("angle", [0.0, 1e-9, 1e-5, 1e-2, 1.0, 3.0])
@pytest.mark.parametrize("noise", [0.0, 1e-6])
def test_the_pose_is_the_nearest_rotation(angle, noise):
    rng = np.random.default_rng(1)
    turn = angle * rng.normal(size=3)
    q = np.vstack([rng.normal(size=3), rotation_exp(rng.normal(size=3)) + noise * rng.normal(size=(3, 3))])
    dx, pose = np.stack([rng.normal(size=3), turn]), np.full((4, 3), np.inf)
    displaced_pose(frozen(q), frozen(dx), 0.7, pose)
    U, _, V = np.linalg.svd(rotation_exp(0.7 * turn) @ q[1:])
    np.testing.assert_allclose(pose[0], q[0] + 0.7 * dx[0], rtol=1e-15)
    np.testing.assert_allclose(pose[1:], U @ V, atol=3e-15)
    np.testing.assert_allclose(pose[1:].T @ pose[1:], np.eye(3), atol=2e-15)
