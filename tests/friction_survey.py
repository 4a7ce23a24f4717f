"""Solve random friction problems by the thousand and let the independent check of their laws meet every answer.

    python tests/friction_survey.py [COUNT of each kind, 500] [quick]

prints for every kind how many converged, stopped at their budget or were shown to be infeasible, iterations and
milliseconds (p50, p99, most), the worst residual of those that stopped, and the worst violation of a law by an answer
that is called converged. Its exit status is 1 where that exceeds 1e-6. `quick` is the budget of a step.
"""

from __future__ import annotations

import sys
from collections import Counter
from time import process_time

import numpy as np

import pliant as pl
from friction_problems import KINDS, problem, violation
from pliant.solvers.contact import Law, MixedProblem, solve


def survey(kind: str, count: int, *, quick: bool) -> float:
    """Solve `count` problems of a kind, print what happened, and return the worst violation of a converged answer."""
    ends: Counter[str] = Counter()
    iterations, times, worst, stopped, of = [], [], 0.0, 0.0, -1
    for seed in range(count):
        p = problem(kind, seed)
        start = process_time()
        try:
            if quick:
                rows = MixedProblem.of(p.W, p.q, np.full(len(p.q), Law.COULOMB), mu=np.repeat(p.mu, 3))
                result = solve(rows, quick=True)
            else:
                result = pl.solvers.friction(p.W, p.q, p.mu)
            ends["converged"] += 1
        except pl.errors.InfeasibleError:
            ends["infeasible"] += 1
            continue
        except pl.errors.ConvergenceError as error:
            result = error.result
            ends["stopped"] += 1
            stopped = max(stopped, result.residual if p.solvable else 0.0)
        times.append(1e3 * (process_time() - start))
        iterations.append(result.iterations)
        if result.status.ok and (found := violation(p.W, p.q, p.mu, result.solution)) > worst:
            worst, of = found, seed
    p50 = [np.percentile(values, [50, 99, 100]) for values in (iterations, times)] if times else [np.zeros(3)] * 2
    print(
        f"{kind:15s} converged {ends['converged']:5d}  stopped {ends['stopped']:4d} (residual ≤ {stopped:.0e})  "
        f"infeasible {ends['infeasible']:4d}  iterations {p50[0][0]:5.0f} {p50[0][1]:6.0f} {p50[0][2]:6.0f}  "
        f"ms {p50[1][0]:6.2f} {p50[1][1]:7.1f} {p50[1][2]:7.1f}  worst violation {worst:.0e} (seed {of})",
        flush=True,
    )
    return worst


if __name__ == "__main__":
    number = int(sys.argv[1]) if len(sys.argv) > 1 else 500
    sys.exit(max(survey(kind, number, quick="quick" in sys.argv) for kind in KINDS) > 1e-6)
