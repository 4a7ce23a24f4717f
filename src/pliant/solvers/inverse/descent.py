"""From piece to piece downhill: the local method.

Solve the QP of a piece. Contacts with y = w = 0 there sit on the boundary to another piece, which also contains the
point: flipping one cannot raise the cost. They are tried in the order of their multipliers, the largest first, and the
first flip that lowers the cost is kept (Coevoet, Escande, Duriez, IEEE RA-L 2017, III.B; Chen and Goldfarb, "An active
set method for mathematical programs with linear complementarity constraints", 2007). Since the cost falls strictly no
piece is met twice and the method ends.

At the end, multipliers ≥ 0 of both y and w at every such contact prove a local minimum (strong stationarity). Where
they do not, all pieces around the point are searched by `branch`: pieces are convex, so if none of them has a lower
cost the point is a local minimum, and if one has, the method goes on from there.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from pliant.core.kernels import kernel
from pliant.core.types import BoolArray, FloatArray, IndexArray
from pliant.solvers.inverse.branch_and_bound import BETTER, branch
from pliant.solvers.inverse.pieces import Piece, PiecePoint
from pliant.solvers.inverse.result import QpccStatus

_TOUCH = 1e-9  # scaled y and w below this are zero: 100 times the violation that the QPs leave
_SIGN = 1e-10  # a scaled multiplier above minus this is rounding, not negative
_PROOF_NODES = 300  # relaxations spent on the proof of a local minimum, so that a step stays fast


@dataclass(eq=False)
class Descent:
    """Where the method ended: the point, its status, the QPs solved, and the pieces visited."""

    point: PiecePoint
    status: QpccStatus
    iterations: int
    path: list[tuple[BoolArray, FloatArray]] = field(default_factory=list)


def descend(piece: Piece, point: PiecePoint, *, limit: int) -> Descent:
    """Go downhill from `point`, the minimum of `piece` as it stands, through at most `limit` QPs."""
    solved = 1
    path = [(point.active, point.x)]
    tried = {point.active.tobytes()}
    order = np.empty(piece.problem.nc, np.int64)
    while True:
        count, promising = boundary_order(point.y, point.w, point.nu, point.mu, point.active, order)
        if not promising:
            return Descent(point, QpccStatus.LOCAL, solved, path)
        at_boundary = order[:count].copy()
        lower, count = _best_flip(piece, point, at_boundary, tried, limit - solved)
        solved += count
        if lower is None and solved < limit:
            found = branch(
                piece.problem, point.active, at_boundary, cost=point.cost, node_limit=_PROOF_NODES, first=True
            )
            solved += found.nodes
            lower = found.point
            if lower is None:
                proved = found.complete and not piece.failed
                return Descent(point, QpccStatus.LOCAL if proved else QpccStatus.ONE_FLIP, solved, path)
            piece.set(lower.active)
        if lower is None:
            return Descent(point, QpccStatus.LIMIT, solved, path)
        point = lower
        path.append((point.active, point.x))


def _best_flip(
    piece: Piece, point: PiecePoint, order: IndexArray, tried: set[bytes], budget: int
) -> tuple[PiecePoint | None, int]:
    """The minimum of the first neighbour with a lower cost, `piece` left there, and the QPs it took."""
    count = 0
    for i in order:
        flipped = point.active.copy()
        flipped[i] = not flipped[i]
        if flipped.tobytes() in tried:
            continue
        if count >= budget:
            break
        tried.add(flipped.tobytes())
        piece.flip(int(i))
        count += 1
        trial = piece.minimum()
        if trial is not None and trial.cost < point.cost - BETTER:
            return trial, count
        piece.flip(int(i))
    return None, count


@kernel
def boundary_order(
    y: FloatArray, w: FloatArray, nu: FloatArray, mu: FloatArray, active: BoolArray, order: IndexArray
) -> tuple[int, int]:  # fmt: skip
    """Contacts with y = w = 0 into `order`: those whose flip promises descent first, then by multiplier, largest first.

    Returns how many there are, and how many of them promise descent: the multiplier that their piece hides, of w where
    they touch and of y where they are open, is negative.
    """
    count, promising = 0, 0
    for i in range(len(y)):
        if y[i] > _TOUCH or w[i] > _TOUCH:
            continue
        hidden, visible = (mu[i], nu[i]) if active[i] else (nu[i], mu[i])
        promises = hidden < -_SIGN
        place = count
        while place > 0:
            j = order[place - 1]
            other_hidden, other = (mu[j], nu[j]) if active[j] else (nu[j], mu[j])
            other_promises = other_hidden < -_SIGN
            if (other_promises == promises and other >= visible) or (other_promises and not promises):
                break
            order[place] = j
            place -= 1
        order[place] = i
        count += 1
        promising += promises
    return count, promising
