"""Small problems that reach every kernel of the solvers of contact forces and of inverses."""

from __future__ import annotations

import numpy as np

from pliant.core.types import FloatArray
from pliant.solvers import friction, lcp
from pliant.solvers.contact.blocks import BlockProblem, Blocks
from pliant.solvers.contact.budget import Budget
from pliant.solvers.contact.friction_iteration import Iterate
from pliant.solvers.inverse import compliance_problem, solve_qpcc
from pliant.solvers.inverse.pieces import Piece
from pliant.solvers.inverse.problem import scaled_problem


def _friction_rounds(W: FloatArray, q: FloatArray) -> None:
    """A round of sweeps and Newton, which problems reach where full steps fail."""
    cones = 3 * np.arange(len(q) // 3)
    none = np.zeros(0)
    blocks = Blocks(cones, np.full(len(cones), 0.5), none.astype(np.int64), none, none)
    Iterate(BlockProblem(W, q, blocks), np.zeros(len(q)), 1e-12, Budget(len(q), 100)).rounds(1)


def contact_problems() -> None:
    """Small problems for every solver of contact forces, and an inverse with two actuators and three contacts."""
    lcp(np.array([[2.0, 1.0], [1.0, 2.0]]), np.array([-1.0, -1.0]))
    lcp(np.array([[0.0, 1.0], [-1.0, 0.0]]), np.array([-1.0, 1.0]))
    rng = np.random.default_rng(0)
    for count, rank in ((2, 6), (8, 6)):
        J = rng.normal(size=(3 * count, rank))
        friction(J @ J.T, rng.normal(size=3 * count), np.full(count, 0.5))
    _friction_rounds(J @ J.T, rng.normal(size=len(J)))
    H = rng.normal(size=(6, 8))
    W = H @ H.T
    problem = compliance_problem(
        W_ea=W[:1, 1:3], W_ec=W[:1, 3:], W_aa=W[1:3, 1:3], W_ac=W[1:3, 3:], W_cc=W[3:, 3:], delta_e=[1.0],
        delta_c=[-0.1, 0.2, -0.3], displacement_lower=-10.0, displacement_upper=10.0,
    )  # fmt: skip
    solve_qpcc(problem, warm=solve_qpcc(problem, globalize=True))
    solve_qpcc(compliance_problem(W_ea=W[:1, 1:3], W_aa=W[1:3, 1:3], delta_e=[1.0]))
    piece = Piece(scaled_problem(problem))
    piece.flip(0)
    piece.flip(0)
    piece.holds(np.ones(3, np.bool_), np.full(3, -1.0))
