"""The reduced QP of a piece against the full one, rank-one updates against new factors, and whole solves.

    python -m benchmarks.qpcc [--repeat 7] [--problems 12] [--json FILE]

Pieces are those that the solver visits on random problems of (actuators, contacts). Every variant walks the same
pieces and must reach the same costs. Times are microseconds a QP, the least of `repeat` walks, then the median over the
problems, on one thread with kernels compiled.

- reduced: contact forces eliminated by the Cholesky factor, updated at each pivot; with so few variables the QP is
  solved in the same compiled call, where all others but "new factor" call daqp
- new factor: the same, factorized anew at each pivot
- touching: the forces of touching contacts stay variables
- full: all contact forces are variables, eq. (8)–(13) of Coevoet, Escande, Duriez, IEEE RA-L 2017, whose ratios of full
  to reduced are 1.25, 1.88 and 7.82 at (3, 3), (3, 10) and (3, 50), and 1.2 to 1.25 of new factor to update
- naive: the reduced QP by NumPy with an explicit inverse

The first table is what a caller of Python gets: about 5 µs of each QP are calls. The second one is the paper's
comparison, compiled code alone and one QP code for all: daqp by its own clock (set-up and solution), plus for the
reduced QP the kernels that pivot the factor and fill the QP, less the time of calling them on a problem with one
actuator and one contact.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

import daqp
import numpy as np

from pliant.core.threads import one_blas_thread
from pliant.solvers.inverse import QpccProblem, compliance_problem, solve_qpcc
from pliant.solvers.inverse.factor import append_row, delete_row
from pliant.solvers.inverse.pieces import Piece
from pliant.solvers.inverse.problem import ScaledProblem, scaled_problem
from pliant.solvers.inverse.programs import enter_contacts, reduced_program
from pliant.solvers.inverse.quadratic import EQUAL, FREE, solve_scaled

SIZES = ((3, 3), (3, 10), (3, 50))
SOLVES = ((2, 16), (4, 21), (5, 47), (8, 76))
"""Actuators and contacts of the problems whose pieces are timed, and of those that are solved."""
VARIANTS = ("reduced", "new factor", "touching", "full", "naive")


def problem(na: int, nc: int, *, pressed: float, seed: int) -> QpccProblem:
    """A body with `na` actuators and `nc` contacts; `pressed` shifts the free gaps so that more contacts touch."""
    rng = np.random.default_rng(seed)
    e, a, c = slice(0, 3), slice(3, 3 + na), slice(3 + na, None)
    H = rng.normal(size=(3 + na + nc, nc + na + 30))
    W = H @ H.T / H.shape[1]
    return compliance_problem(
        W_ea=W[e, a], W_ec=W[e, c], W_aa=W[a, a], W_ac=W[a, c], W_cc=W[c, c], delta_e=rng.normal(size=3),
        delta_c=0.5 * rng.normal(size=nc) - pressed, force_lower=-3.0, force_upper=3.0,
    )  # fmt: skip


class FullQp:
    """All forces as variables; between two pieces only the limits change."""

    def __init__(self, p: ScaledProblem) -> None:
        na, nc = p.na, p.nc
        E = np.hstack([p.E[:, :na], p.Ec])
        self.e = p.E[:, na]
        self.E, self.G, self.na = E, p.G, na
        self.H, self.f = E.T @ E, E.T @ self.e
        self.H[:na, :na] += p.G
        self.A = np.ascontiguousarray(np.hstack([p.Q[:, :na], p.W]))
        self.lower = np.concatenate([p.lower[:na], np.zeros(nc), -p.Q[:, na]])
        self.upper = np.concatenate([p.upper[:na], np.full(2 * nc, FREE)])
        self.sense = np.zeros(na + 2 * nc, np.int32)

    def arguments(self, active: np.ndarray) -> tuple[Any, ...]:
        """What daqp is given on a piece."""
        na, nc = self.na, len(active)
        upper, sense = self.upper.copy(), self.sense.copy()
        upper[na : na + nc][~active] = 0.0
        upper[na + nc :][active] = self.lower[na + nc :][active]
        sense[na : na + nc][~active] = EQUAL
        sense[na + nc :][active] = EQUAL
        return self.H, self.f, self.A, upper, self.lower, sense

    def cost(self, active: np.ndarray) -> float:
        """The least cost on a piece."""
        na = self.na
        H, f, A, upper, lower, sense = self.arguments(active)
        z, *_ = solve_scaled(H, f, A, lower, upper, sense)
        rest = self.E @ z + self.e
        return float(0.5 * rest @ rest + 0.5 * z[:na] @ self.G @ z[:na])


def naive_cost(p: ScaledProblem, active: np.ndarray) -> float:
    """The reduced QP as one would first write it."""
    na = p.na
    touching, still = np.flatnonzero(active), np.flatnonzero(~active)
    Y = -np.linalg.inv(p.W[np.ix_(touching, touching)]) @ p.Q[touching]
    gaps = p.Q[still] + p.W[np.ix_(still, touching)] @ Y
    E = p.E + p.Ec[:, touching] @ Y
    rows = np.vstack([Y, gaps])
    low, high = -rows[:, na], np.full(len(rows), FREE)
    x, *_ = solve_scaled(
        E[:, :na].T @ E[:, :na] + p.G, E[:, :na].T @ E[:, na], rows[:, :na].copy(),
        np.concatenate([p.lower[:na], low]), np.concatenate([p.upper[:na], high]),
    )  # fmt: skip
    rest = E[:, :na] @ x + E[:, na]
    return float(0.5 * rest @ rest + 0.5 * x @ p.G @ x)


def walks(p: ScaledProblem, path: list[np.ndarray]) -> dict[str, Callable[[], list[float]]]:
    """For each variant the walk over the pieces of `path`, returning their costs."""
    flips = [int(np.flatnonzero(a != b)[0]) for a, b in pairwise(path)]

    def by_piece(problem: ScaledProblem, *, anew: bool = False) -> Callable[[], list[float]]:
        piece = Piece(problem)

        def walk() -> list[float]:
            piece.set(path[0])
            costs = [piece.minimum().cost]
            for i, active in zip(flips, path[1:], strict=True):
                if anew:
                    piece.set(active)
                else:
                    piece.flip(i)
                costs.append(piece.minimum().cost)
            return costs

        return walk

    full = FullQp(p)
    return {
        "reduced": by_piece(p),
        "new factor": by_piece(p, anew=True),
        "touching": by_piece(replace(p, symmetric=False)),
        "full": lambda: [full.cost(active) for active in path],
        "naive": lambda: [naive_cost(p, active) for active in path],
    }


def least_time(walk: Callable[[], Any], repeat: int) -> float:
    walk()
    times = []
    for _ in range(repeat):
        start = perf_counter()
        walk()
        times.append(perf_counter() - start)
    return min(times)


def visited(given: QpccProblem) -> list[np.ndarray]:
    """The pieces of a solve as masks; those that follow each other differ by one contact."""
    path = []
    for contacts, _ in solve_qpcc(given).path:
        active = np.zeros(given.contact_count, bool)
        active[list(contacts)] = True
        if path and (active != path[-1]).sum() != 1:
            break
        path.append(active)
    return path


def pieces_row(na: int, nc: int, pressed: float, problems: int, repeat: int) -> dict[str, Any]:
    """Median microseconds a QP of every variant, over problems with at least two pieces."""
    times: dict[str, list[float]] = {name: [] for name in VARIANTS}
    touching, lengths, seed = [], [], 0
    while len(lengths) < problems:
        given = problem(na, nc, pressed=pressed, seed=seed)
        seed += 1
        path = visited(given)
        if len(path) < 2:
            continue
        p = scaled_problem(given)
        costs = {}
        for name, walk in walks(p, path).items():
            costs[name] = walk()
            times[name].append(least_time(walk, repeat) / len(path) * 1e6)
            assert np.allclose(costs[name], costs["reduced"], rtol=1e-6, atol=1e-9), (name, seed)
        touching.append(float(np.mean([active.sum() for active in path])))
        lengths.append(len(path))
    row = {name: median(values) for name, values in times.items()}
    ratio = {name: median(np.divide(times[name], times["reduced"]).tolist()) for name in VARIANTS[1:]}
    return {"us": row, "ratio": ratio, "touching": median(touching), "pieces": median(lengths)}


def compiled_row(na: int, nc: int, pressed: float, problems: int, repeat: int) -> dict[str, float]:
    """Median microseconds of compiled code a QP: full, reduced with an updated factor, reduced with a new one."""
    times: dict[str, list[float]] = {"full": [], "reduced": [], "new factor": []}
    smallest = Piece(scaled_problem(problem(1, 1, pressed=5.0, seed=0)))
    smallest.set(np.ones(1, bool))
    smallest.minimum()
    call = {name: kernel_time(function, repeat) for name, function in kernels(smallest, 0).items()}
    for seed in range(problems):
        given = problem(na, nc, pressed=pressed, seed=seed)
        p = scaled_problem(given)
        piece, full = Piece(p), FullQp(p)
        for active in visited(given):
            touching = np.flatnonzero(active)
            piece.set(active)
            if not len(touching) or piece.minimum() is None:
                continue
            table, limits, sense, _ = piece._programs[0]
            n = table.shape[1]
            clock = daqp_time((table[:n], table[-1], table[n:-1], limits[1], limits[0], sense), repeat)
            own = kernels(piece, int(touching[len(touching) // 2]))
            spent = {name: max(0.0, kernel_time(function, repeat) - call[name]) for name, function in own.items()}
            times["full"].append(daqp_time(full.arguments(active), repeat))
            times["reduced"].append(clock + spent["program"] + 0.5 * spent["update"])
            times["new factor"].append(clock + spent["program"] + spent["factor"])
    return {name: median(values) for name, values in times.items()}


def kernels(piece: Piece, i: int) -> dict[str, Callable[[], Any]]:
    """Calls that fill the QP, make the factor, and take contact i out and put it in again: two pivots."""
    table, limits, sense, Y = piece._programs[0]
    p, state, marks, k, extra = piece.problem, piece._state, piece._marks, piece._k, piece._extra

    def update() -> None:
        delete_row(state, marks[1], k, i)
        append_row(p.rows, state, marks[1], k - 1, i)

    return {
        "program": lambda: reduced_program(p.rows, p.G, p.bounds, state, marks, k, extra, table, limits, sense, Y),
        "factor": lambda: enter_contacts(p.rows, state, marks, piece.active),
        "update": update,
    }


def kernel_time(function: Callable[[], Any], repeat: int) -> float:
    """Microseconds of one call."""

    def many() -> None:
        for _ in range(50):
            function()

    return least_time(many, repeat) / 50 * 1e6


def daqp_time(arguments: tuple[Any, ...], repeat: int) -> float:
    """Microseconds of daqp's set-up and solution by its own clock."""
    reports = [daqp.solve(*arguments, primal_tol=1e-11)[3] for _ in range(3 * repeat)]
    return min(report["setup_time"] + report["solve_time"] for report in reports) * 1e6


def solve_row(na: int, nc: int, problems: int, repeat: int) -> dict[str, float]:
    """Median milliseconds of a cold solve and of one from the answer of a slightly different problem."""
    cold, warm, moved, pieces = [], [], [], []
    for seed in range(problems):
        given = problem(na, nc, pressed=0.0, seed=seed)
        near = problem(na, nc, pressed=0.002, seed=seed)
        last = solve_qpcc(given)
        pieces.append(len(last.path))
        cold.append(least_time(lambda given=given: solve_qpcc(given), repeat))
        warm.append(least_time(lambda given=given, last=last: solve_qpcc(given, warm=last), repeat))
        moved.append(least_time(lambda near=near, last=last: solve_qpcc(near, warm=last), repeat))
    times = {"cold_ms": median(cold) * 1e3, "warm_ms": median(warm) * 1e3, "moved_ms": median(moved) * 1e3}
    return times | {"pieces": median(pieces)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeat", type=int, default=7)
    parser.add_argument("--problems", type=int, default=12)
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    report: dict[str, Any] = {"pieces": {}, "compiled": {}, "solves": {}}
    with one_blas_thread():
        print(f"{'pieces':22} {'touch':>5} {'QPs':>4}" + "".join(f"{name:>20}" for name in VARIANTS) + "   µs (ratio)")
        for (na, nc), pressed in [(size, pressed) for size in SIZES for pressed in (0.0, 0.7)]:
            row = pieces_row(na, nc, pressed, given.problems, given.repeat)
            name = f"({na}, {nc}) " + ("half touch" if not pressed else "most touch")
            cells = "".join(f"{row['us'][v]:11.1f} ({row['ratio'].get(v, 1.0):6.2f})" for v in VARIANTS)
            print(f"{name:22} {row['touching']:5.0f} {row['pieces']:4.0f}{cells}", flush=True)
            report["pieces"][name] = row
        print(f"\n{'compiled code':22} {'reduced':>9} {'new factor':>18} {'full':>18}   µs (ratio)")
        for (na, nc), pressed in [(size, pressed) for size in SIZES for pressed in (0.0, 0.7)]:
            row = compiled_row(na, nc, pressed, given.problems, given.repeat)
            name = f"({na}, {nc}) " + ("half touch" if not pressed else "most touch")
            cells = "".join(f"{row[v]:10.2f} ({row[v] / row['reduced']:5.2f})" for v in ("new factor", "full"))
            print(f"{name:22} {row['reduced']:9.2f} {cells}", flush=True)
            report["compiled"][name] = row
        print(f"\n{'solves':12} {'pieces':>6} {'cold':>9} {'warm, moved':>12} {'warm':>9}   ms")
        for na, nc in SOLVES:
            row = solve_row(na, nc, given.problems, given.repeat)
            times = f"{row['cold_ms']:9.3f} {row['moved_ms']:12.3f} {row['warm_ms']:9.3f}"
            print(f"({na}, {nc})".ljust(12), f"{row['pieces']:6.0f} {times}", flush=True)
            report["solves"][f"({na}, {nc})"] = row
    if given.json:
        given.json.write_text(json.dumps(report, indent=1))


if __name__ == "__main__":
    main()
