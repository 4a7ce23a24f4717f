"""Kernels of contacts with friction, taken from the disk ahead of the first contact.

A kernel is read when it is first called, which takes a few milliseconds each, 50 ms for those of the friction solver
together: as much as ten steps of a small robot, in the step of its first contact. `scene.compile()` calls them once
instead.
"""

from __future__ import annotations

from functools import cache

import numpy as np

from pliant.solvers.contact.blocks import BlockProblem, Blocks
from pliant.solvers.contact.budget import Budget
from pliant.solvers.contact.first_attempt import first_attempt
from pliant.solvers.contact.friction_iteration import solve_blocks
from pliant.solvers.contact.laws import Law, MixedProblem
from pliant.solvers.contact.newton import newton


@cache
def load_friction_kernels() -> None:
    """Solve one contact beside a bounded row by all methods of the main path; the second call does nothing."""
    blocks = Blocks(np.array([1]), np.array([0.5]), np.array([0]), np.zeros(1), np.full(1, np.inf))
    q = np.array([-0.5, -0.5, 0.6, 0.2])
    for order in ("C", "F"):  # W comes in both: as it is, and from the elimination of bilateral rows
        problem = BlockProblem(np.array(np.eye(4) + 0.1, order=order), q, blocks)
        solve_blocks(problem, start=None, tolerance=1e-8, budget=Budget(4, 100))
        newton(problem, np.zeros(4), tolerance=1e-8, steps=1, budget=Budget(4, 100))
    law = [Law.SIGNORINI, Law.COULOMB, Law.COULOMB, Law.COULOMB]
    first_attempt(MixedProblem.of(problem.W, q, law, mu=0.5), None, 1e-8, 1e-16, Budget(4, 100))
