"""A collection of friction problems: how many are solved, how well, and how fast beside Siconos.

The folder holds .npz files with W (n·dim, n·dim), q, mu (n,) and dim. The residual is that of `pl.solvers.friction`,
computed by `benchmarks.friction` for every solver. Siconos is asked in Debian's Python (package python3-siconos); where
it is absent its rows are left out, and a note says so.
"""

from __future__ import annotations

from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from benchmarks.friction import DEBIAN, TOLERANCE, load, ours, peer
from pliant.core.errors import InputError, MissingExtraError
from validation.row import Row

Answers = dict[str, dict[str, Any]]
_NEAR = 10.0 * TOLERANCE  # Siconos stops by a residual of its own, which is scaled otherwise


def solved(folder: Path) -> tuple[Answers, Answers]:
    """Residual, iterations and ms of every problem of the folder: ours, and the best of Siconos (empty without it)."""
    problems = load(folder)
    if not problems:
        raise InputError(f"{folder} has no .npz file with W, q, mu and dim")
    found = {name: {"contacts": len(problem[2]), **ours(problem, 3)} for name, problem in problems.items()}
    return found, peer(DEBIAN, problems)


def rows(folder: Path) -> list[Row]:
    """How many problems reach 1e-8, the largest residual, and what fraction is solved within a multiple of the best."""
    found, others = solved(folder)
    count, worst = len(found), max(answer["residual"] for answer in found.values())
    good = sum(answer["residual"] <= TOLERANCE for answer in found.values())
    table = [
        Row(quantity=f"problems solved to {TOLERANCE:g}", ours=good, reference=count, allowed=0.0),
        Row(quantity="largest residual", ours=worst, reference=0.0, allowed=TOLERANCE),
    ]
    if not others:
        note = f"Siconos was not found in {DEBIAN} (apt install python3-siconos): its rows are left out"
        return [table[0], Row(quantity=table[1].quantity, ours=worst, reference=0.0, allowed=TOLERANCE, note=note)]
    theirs = sum(np.isfinite(_time(answer)) for answer in others.values())
    times = [found[name]["ms"] / others[name]["ms"] for name in others]
    fastest = profile(found, others, 1.0)[0]
    largest = max(others, key=lambda name: found[name]["contacts"])
    size = f"time of the largest problem ({found[largest]['contacts']} contacts), Siconos as reference"
    reported = [
        (f"problems that the best method of Siconos solves to {_NEAR:g}", theirs, count, ""),
        (size, found[largest]["ms"], others[largest]["ms"], "ms"),
        ("our time over that of Siconos, median of all problems", median(times), 0.0, ""),
        ("problems that we solve faster than Siconos", round(fastest * count), 0.0, f"of {count}"),
    ]
    note = (
        "Siconos is the fastest of its NSGS, NSN_AC and ADMM that reaches the tolerance; times are of a machine in use"
    )
    return table + [
        Row(quantity=what, ours=value, reference=of, unit=unit, note=note) for what, value, of, unit in reported
    ]


def profile(found: Answers, others: Answers, factor: float) -> tuple[float, float]:
    """Fractions of the problems that we, and Siconos, solve within `factor` times the shortest time (Dolan and Moré,
    Math. Program. 91, 2002); a problem that is not solved to the tolerance takes forever.
    """
    names = [name for name in found if name in others]
    taken = np.array([[_time(found[name]), _time(others[name])] for name in names])
    best = taken.min(axis=1, keepdims=True)
    within = np.isfinite(taken) & (taken <= factor * best)
    return float(within[:, 0].mean()), float(within[:, 1].mean())


def _time(answer: dict[str, Any]) -> float:
    return float(answer["ms"]) if answer["residual"] <= _NEAR else np.inf


def pictures(folder: Path, out: Path) -> list[Path]:
    """The performance profile, as an SVG; none without Siconos."""
    found, others = solved(folder)
    if not others:
        return []
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise MissingExtraError("the performance profile needs matplotlib: pip install 'pliant[plot]'") from error
    factors = np.logspace(0.0, 4.0, 200)
    curves = np.array([profile(found, others, factor) for factor in factors])
    figure = Figure(figsize=(5.0, 3.2), layout="constrained")
    axes = figure.add_subplot()
    for curve, name in zip(curves.T, ("Pliant", "Siconos (best of three)"), strict=True):
        axes.step(factors, curve, where="post", label=name)
    axes.set(xscale="log", ylim=(0.0, 1.05), xlabel="time over the shortest", ylabel="fraction of problems solved")
    axes.legend(loc="lower right")
    file = out / "friction-profile.svg"
    figure.savefig(file)
    return [file]
