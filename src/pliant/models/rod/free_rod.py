"""The rotation of a free rod about its centre of mass: what implicit Euler needs of it, and takes from it."""

from __future__ import annotations

import numpy as np

from pliant.core.lie import rotation_exp
from pliant.core.types import FloatArray
from pliant.models.free_spin import free_turn, inertia_of, lost_moment


def add_rotation(
    free: FloatArray, mu: FloatArray, frames: FloatArray, momenta: FloatArray, basis: FloatArray, dt: float
) -> None:
    """Add to the displacement `free` (2 + 2N, 3), h v, what the rotation adds to it in the second order.

    The stations, of masses `mu` (S, 3), stand at `frames` (S, 4, 3), and their particles have `momenta` (S, 3, 3).
    """
    total = mu[:, 0].sum()
    centre = mu[:, 0] @ frames[:, 0] / total
    arms = frames[:, 0] - centre
    inertia, moment = inertia_of(arms, mu[:, 0]), np.cross(arms, momenta[:, 0]).sum(axis=0)
    for axis in (1, 2):
        inertia = inertia + inertia_of(frames[:, 1:, axis], mu[:, axis])
        moment = moment + np.cross(frames[:, 1:, axis], momenta[:, axis]).sum(axis=0)
    turn = free_turn(inertia, moment, dt)
    straight = dt * np.linalg.solve(inertia, moment)
    free[0] += basis.T @ (centre - rotation_exp(turn) @ centre + np.cross(straight, centre))
    free[1] += basis.T @ (turn - straight)


def restore_spin(
    v: FloatArray, mu: FloatArray, start: FloatArray, end: FloatArray, momenta: FloatArray, basis: FloatArray
) -> None:
    """Add to the rates v (2 + 2N, 3) the rotation whose angular momentum implicit Euler takes from a free rod, whose
    stations went from `start` to `end` (S, 4, 3) with `momenta` (S, 3, 3) at first.
    """
    arms = end[:, 0] - mu[:, 0] @ end[:, 0] / mu[:, 0].sum()
    lost = lost_moment(end[:, 0] - start[:, 0], momenta[:, 0], mu[:, 0])
    inertia = inertia_of(arms, mu[:, 0])
    for axis in (1, 2):
        way = end[:, 1:, axis] - start[:, 1:, axis]
        lost = lost + np.cross(way, momenta[:, axis]).sum(axis=0)
        inertia = inertia + inertia_of(end[:, 1:, axis], mu[:, axis])
    spin = np.linalg.solve(inertia, -lost)
    v[0] += basis.T @ np.cross(spin, arms[0] - end[0, 0])  # of the base, where frames count from
    v[1] += basis.T @ spin
