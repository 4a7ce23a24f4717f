"""Quasi-static equilibria of random slender robots with cables, in one call; dynamics stays where they are."""

import numpy as np
import pytest

import pliant as pl
from tests.verification.statics.random_robots import after_dynamics, random_robot

GROWING = {117}
"""Seeds whose dynamics takes longer, with growing steps: steps in time bound the forces of opposed cables at first,
which lets the beam spring away, and it comes back.
"""


def off(seed):
    """How far dynamics moves from the equilibrium of a random robot, over its size, and the report."""
    world, controls, body = random_robot(seed)
    state, info = pl.QuasiStatic()(world, world.initial_state(), controls)
    moved = after_dynamics(world, controls, state, growing=seed in GROWING)
    points = state.points(body)
    return np.abs(moved.points(body) - points).max() / np.ptp(points, axis=0).max(), info


@pytest.mark.parametrize("seed", [0, 1, 2, 34, 109])
def test_a_slender_robot_rests_in_its_equilibrium(seed):
    distance, info = off(seed)
    assert info.status.ok
    assert distance < 1e-4


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(120))
def test_slender_robots_rest_in_their_equilibria(seed):
    distance, info = off(seed)
    assert info.status.ok
    assert distance < 1e-4
