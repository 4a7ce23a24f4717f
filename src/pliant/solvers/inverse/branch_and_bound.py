"""Branch and bound over which contacts touch: what proves a local or a global minimum.

A node fixes some contacts as open (y = 0) or touching (w = 0) and asks y ≥ 0, w ≥ 0 of the others without their
product being zero: a convex QP, whose cost bounds that of every piece below it. The node is split at the contact with
the largest min(y, w), and dropped where its bound is not below the best cost known (Bai, Mitchell and Pang, "On convex
quadratic programs with linear complementarity constraints", Computational Optimization and Applications 54, 2013).
Nodes are taken by their bound, the least first; the least bound of the nodes left holds for the whole problem.
"""

from __future__ import annotations

from dataclasses import dataclass
from heapq import heappop, heappush

import numpy as np

from pliant.core.types import BoolArray, IndexArray
from pliant.solvers.inverse.pieces import Piece, PiecePoint
from pliant.solvers.inverse.problem import ScaledProblem

BETTER = 1e-12
"""The least difference of scaled costs that counts as better."""
_SPLIT = 1e-9  # a contact with min(y, w) below this satisfies its law


@dataclass(frozen=True, eq=False)
class Branched:
    """The best point found (None: none below the cost given), a bound on all, whether the search is complete."""

    point: PiecePoint | None
    bound: float
    complete: bool
    nodes: int


def branch(
    problem: ScaledProblem, active: BoolArray, undecided: IndexArray, *, cost: float, node_limit: int,
    first: bool = False,
) -> Branched:  # fmt: skip
    """Search the pieces that agree with `active` (nc,) outside `undecided`, for a cost below `cost` (inf: any).

    `first` stops at the first such point. The search is complete where no node was left and every QP had an answer.
    """
    piece = Piece(problem)
    fixed = active.copy()
    fixed[undecided] = False
    heap: list[tuple[float, int, float, BoolArray, IndexArray]] = [(-np.inf, 0, -np.inf, fixed, undecided)]
    best: PiecePoint | None = None
    nodes = pushed = 0
    while heap and nodes < node_limit:
        _, _, bound, touching, rest = heappop(heap)
        if bound >= cost - BETTER:
            continue
        nodes += 1
        piece.set(touching, rest)
        point = piece.minimum()
        if point is None and not (piece.failed and len(rest)):
            continue
        if point is None:  # no answer, but pieces have fewer variables than relaxations: split, with the bound above
            piece.failed = False
            at, closes = 0, False
        elif point.cost >= cost - BETTER:
            continue
        else:
            bound = point.cost
            least = np.minimum(point.y, point.w)[rest]
            if not len(rest) or least.max() <= _SPLIT:
                settled = _settled(piece, touching, rest, point)
                if settled is not None and settled.cost < cost - BETTER:
                    best, cost = settled, settled.cost
                    if first:
                        break
                if not len(rest) or (settled is not None and settled.cost <= point.cost + BETTER):
                    continue
            at = int(least.argmax())
            closes = bool(point.y[rest[at]] > point.w[rest[at]])
        others = np.delete(rest, at)
        for choice in (closes, not closes):
            child = touching.copy()
            child[rest[at]] = choice
            pushed += 1
            priority = float(len(others)) if first else bound  # any point is found sooner by going deep
            heappush(heap, (priority, pushed, bound, child, others))
    bound = min((entry[2] for entry in heap), default=cost)
    if piece.failed:
        bound = -np.inf
    return Branched(best, min(bound, cost), not heap and not piece.failed, nodes)


def _settled(piece: Piece, touching: BoolArray, rest: IndexArray, point: PiecePoint) -> PiecePoint | None:
    """The minimum of the piece that a relaxation with min(y, w) = 0 lies on."""
    if not len(rest):
        return point
    chosen = touching.copy()
    chosen[rest] = point.y[rest] > point.w[rest]
    piece.set(chosen)
    return piece.minimum()
