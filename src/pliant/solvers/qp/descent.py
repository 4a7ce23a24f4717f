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

from pliant.core.types import BoolArray, FloatArray, IndexArray
from pliant.solvers.qp.branch_and_bound import BETTER, branch
from pliant.solvers.qp.pieces import Piece, PiecePoint
from pliant.solvers.qp.result import QpccStatus

_TOUCH = 1e-9  # y and w below this are zero, for scaled problems
_SIGN = 1e-10  # a multiplier above minus this is not negative
_PROOF_NODES = 300


@dataclass(eq=False)
class Descent:
    """Where the method ended: the point, its status, the QPs solved, and the pieces on the way."""

    point: PiecePoint
    status: QpccStatus
    iterations: int
    path: list[tuple[tuple[int, ...], FloatArray]] = field(default_factory=list)


def descend(piece: Piece, point: PiecePoint, *, limit: int) -> Descent:
    """Go downhill from `point`, the minimum of `piece` as it stands, through at most `limit` QPs."""
    solved = 1
    path = [_step(point)]
    tried = {point.active.tobytes()}
    while True:
        at_boundary = np.flatnonzero((point.y <= _TOUCH) & (point.w <= _TOUCH))
        hidden = np.where(point.active, point.mu, point.nu)[at_boundary]
        if not (hidden < -_SIGN).any():
            return Descent(point, QpccStatus.LOCAL, solved, path)
        lower, count = _best_flip(piece, point, _ordered(point, at_boundary, hidden), tried, limit - solved)
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
        path.append(_step(point))


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


def _ordered(point: PiecePoint, at_boundary: IndexArray, hidden: FloatArray) -> IndexArray:
    """Contacts on the boundary: those whose flip promises descent first, each kind by its multiplier, largest first."""
    visible = np.where(point.active, point.nu, point.mu)[at_boundary]
    ordered: IndexArray = at_boundary[np.lexsort((hidden, -visible, hidden >= -_SIGN))]
    return ordered


def _step(point: PiecePoint) -> tuple[tuple[int, ...], FloatArray]:
    active: BoolArray = point.active
    return tuple(int(i) for i in np.flatnonzero(active)), point.x
