"""The first piece: the contacts that touch at the last actuation, or a feasible piece where limits exclude that."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from pliant.core.errors import ConvergenceError, InfeasibleError
from pliant.core.types import BoolArray, FloatArray
from pliant.solvers.contact.blocks import BlockProblem, Blocks, scaled
from pliant.solvers.contact.principal_pivoting import solve_boxes
from pliant.solvers.inverse.branch_and_bound import branch
from pliant.solvers.inverse.descent import descend
from pliant.solvers.inverse.pieces import Piece, PiecePoint
from pliant.solvers.inverse.problem import ScaledProblem
from pliant.solvers.inverse.quadratic import FREE, SOLVED, solve_scaled

_LCP = 1e-10  # relative residual of the contact forces at a given actuation


def first_point(piece: Piece, x: FloatArray, guess: FloatArray | None, *, limit: int) -> tuple[PiecePoint, int]:
    """A piece with a point inside all limits, and its minimum; `piece` is left there. Also the QPs solved.

    Tried in this order: the contacts with a force in `guess` (nc,), those of the last step; the contacts that touch at
    x (Coevoet 2017, III.D); the piece where the limits, made elastic, are violated least; a search over all pieces.
    Raises `InfeasibleError` where that proves that there is none, `ConvergenceError` where `limit` QPs did not find
    one, with the point of the least violation (a `PiecePoint`) in `result`.
    """
    p = piece.problem
    x = np.clip(x, p.lower[: p.na], p.upper[: p.na])
    count = 0
    if guess is not None:
        piece.set(guess > 0.0)
        point = piece.minimum()
        count = 1
        if point is not None:
            return point, count
    nearest: PiecePoint | None = None
    active = touching_at(piece, x, guess)
    for candidate in (active, None):
        if active is None:
            break
        if candidate is None:
            if len(p.R) == 0:
                break
            nearest, more = _least_violation(p, active, limit)
            candidate, count = (active if nearest is None else nearest.active), count + more
        piece.set(candidate)
        point = piece.minimum()
        count += 1
        if point is not None:
            return point, count
    nodes = max(1, limit - count)
    found = branch(p, np.zeros(p.nc, np.bool_), np.arange(p.nc), cost=np.inf, node_limit=nodes, first=True)
    if found.point is not None:
        piece.set(found.point.active)
        return found.point, count + found.nodes
    if found.complete:
        raise InfeasibleError(
            f"no forces of the {p.na} actuators satisfy all limits together with the {p.nc} contacts: "
            "loosen force_lower/upper or displacement_lower/upper, or move the bodies apart"
        )
    raise ConvergenceError(
        f"no point inside all limits was found in {found.nodes} relaxations ({p.nc} contacts), and none was excluded: "
        "give a `warm` actuation that satisfies them, raise `maximum_iterations`, or loosen the limits",
        result=nearest,
    )


def touching_at(piece: Piece, x: FloatArray, guess: FloatArray | None) -> BoolArray | None:
    """Which contacts touch with a force when x is imposed; None where no contact forces keep the gaps open.

    `guess` (nc,) are contact forces to start from.
    """
    p = piece.problem
    if not p.nc:
        return np.zeros(0, np.bool_)
    gaps = p.Q[:, : p.na] @ x + p.Q[:, p.na]
    if guess is not None and piece.holds(guess > 0.0, gaps):
        return guess > 0.0
    if (gaps >= 0.0).all():
        return np.zeros(p.nc, np.bool_)
    n, start = p.nc, guess
    if p.symmetric and (found := _by_program(p.W, gaps)) is not None:
        start = found
    blocks = Blocks(np.zeros(0, np.int64), np.zeros(0), np.arange(n), np.zeros(n), np.full(n, np.inf))
    core, _ = scaled(BlockProblem(p.W, gaps, blocks), np.ones(n))
    y, residual, _ = solve_boxes(core, start=start, tolerance=_LCP)
    return y > 0.0 if residual <= _LCP else None


def _by_program(W: FloatArray, gaps: FloatArray) -> FloatArray | None:
    """Contact forces y ≥ 0 that minimise ½ yᵀW y + gapsᵀy, to start from; None where they are not found.

    On a slender body with many contacts, most of them nearly redundant, an active set takes one at a time and is some
    twenty times quicker than block pivots, which go in circles there. Which of several redundant contacts carry the
    force is left to the pivots.
    """
    n = len(gaps)
    y, _, flag, _ = solve_scaled(W, gaps, np.zeros((0, n)), np.zeros(n), np.full(n, FREE), np.zeros(n, np.int32))
    return y if flag == SOLVED else None


def _least_violation(p: ScaledProblem, active: BoolArray, limit: int) -> tuple[PiecePoint | None, int]:
    """A local minimum of ½‖s‖², s being added to the limited rows: zero where the limits can be met. Also the QPs."""
    na, nc, nr = p.na, p.nc, len(p.R)
    rows = np.zeros((nc + 2 * nr, na + nr + 1 + nc))
    rows[: nc + nr, :na], rows[: nc + nr, na + nr :] = p.rows[: nc + nr, :na], p.rows[: nc + nr, na:]
    for k in (nc, nc + nr):  # s is added to the rows, and is what effectors are to bring to zero
        rows[k : k + nr, na : na + nr] = np.eye(nr)
    slack = np.tile([[-FREE], [FREE]], nr)
    elastic = replace(
        p,
        rows=rows,
        G=np.zeros((na + nr, na + nr)),
        bounds=np.hstack([p.bounds[:, :na], slack, p.bounds[:, na:]]),
        D_a=np.ones(na + nr),
    )
    piece = Piece(elastic)
    piece.set(active)
    point = piece.minimum()
    if point is None:
        return None, 1
    end = descend(piece, point, limit=limit)
    return replace(end.point, x=end.point.x[:na]), end.iterations
