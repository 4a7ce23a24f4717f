"""Block Gauss–Seidel with exact blocks: the base of the friction solver.

Each block in turn takes the force that satisfies its law while the others are fixed (Jourdan, Alart, Jean, "A
Gauss–Seidel like algorithm to solve frictional contact problems", CMAME 155, 1998). In column form: u = W r + q is
kept, and a block whose force changes adds its columns of W to it, so that blocks at rest cost nothing. Robust and
cheap; linear, and slow on hyperstatic sets, where `newton` finishes.
"""

from __future__ import annotations

from pliant.core.kernels import kernel
from pliant.core.types import FloatArray
from pliant.solvers.contact.blocks import Blocks
from pliant.solvers.contact.single_contact import solve_contact


@kernel
def gauss_seidel(columns: FloatArray, r: FloatArray, u: FloatArray, blocks: Blocks, sweeps: int) -> None:
    """Do `sweeps` sweeps on r and u = W r + q in place; `columns` is Wᵀ, row-major, so that columns of W are rows."""
    m = len(r)
    for _ in range(sweeps):
        for b in range(len(blocks.boxes)):
            i = blocks.boxes[b]
            column = columns[i]
            if column[i] <= 0.0:
                continue
            change = min(max(r[i] - u[i] / column[i], blocks.lower[b]), blocks.upper[b]) - r[i]
            if change != 0.0:
                r[i] += change
                for k in range(m):
                    u[k] += column[k] * change
        for c in range(len(blocks.cones)):
            i = blocks.cones[c]
            w0, w1, w2 = columns[i], columns[i + 1], columns[i + 2]
            r0, r1, r2 = r[i], r[i + 1], r[i + 2]
            q0 = u[i] - w0[i] * r0 - w1[i] * r1 - w2[i] * r2
            q1 = u[i + 1] - w0[i + 1] * r0 - w1[i + 1] * r1 - w2[i + 1] * r2
            q2 = u[i + 2] - w0[i + 2] * r0 - w1[i + 2] * r1 - w2[i + 2] * r2
            tangential = r1 * r1 + r2 * r2
            guess = -(u[i + 1] * r1 + u[i + 2] * r2) / tangential if tangential > 0.0 else 0.0
            n, t1, t2 = solve_contact(
                w0[i], w1[i], w2[i], w0[i + 1], w1[i + 1], w2[i + 1], w0[i + 2], w1[i + 2], w2[i + 2],
                q0, q1, q2, blocks.mu[c], guess,
            )  # fmt: skip
            d0, d1, d2 = n - r0, t1 - r1, t2 - r2
            if d0 != 0.0 or d1 != 0.0 or d2 != 0.0:
                r[i], r[i + 1], r[i + 2] = n, t1, t2
                for k in range(m):
                    u[k] += w0[k] * d0 + w1[k] * d1 + w2[k] * d2
