"""Residual, iterations and time of the friction solver on published and synthetic problems, beside Siconos.

    python -m benchmarks.friction [--data DIR] [--repeat 5] [--siconos PYTHON] [--json FILE]

`--data` is a folder of .npz with W, q, mu, dim (default: ../shared/data/friction beside the checkout). Times are
medians of process time on one thread, in milliseconds, kernels compiled. The residual is that of `pl.solvers.friction`,
computed here for both. Siconos (Debian: python3-siconos) runs in the interpreter `--siconos`, which needs no Pliant;
its solvers NSGS, NSN_AC and ADMM are tried with the same tolerance, and the fastest that reaches it is shown, or the
closest.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

DATA = Path(__file__).resolve().parents[2] / "shared" / "data" / "friction"
DEBIAN = "/usr/bin/python3"
TOLERANCE = 1e-8  # residual of pl.solvers.friction that is asked of every solver
Problem = tuple[np.ndarray, np.ndarray, np.ndarray, int]


def residual(problem: Problem, r: np.ndarray) -> float:
    """‖r − P_K(r − ρ(u + μ‖u_t‖e_n))‖ / (ρ‖q‖), ρ = 1/mean(diag W), as of `pl.solvers.friction`."""
    W, q, mu, dim = problem
    rho = 1.0 / W.diagonal().mean()
    u = (W @ r + q).reshape(-1, dim)
    r = r.reshape(-1, dim)
    x = r - rho * u
    x[:, 0] -= rho * mu * np.linalg.norm(u[:, 1:], axis=1)
    t = np.linalg.norm(x[:, 1:], axis=1)
    edge = np.maximum((x[:, 0] + mu * t) / (1 + mu**2), 0.0)
    normal = np.where(t <= mu * x[:, 0], x[:, 0], np.where(mu * t <= -x[:, 0], 0.0, edge))
    share = np.where(t <= mu * x[:, 0], 1.0, mu * normal / np.maximum(t, 1e-300))
    projection = np.column_stack([normal, share[:, None] * x[:, 1:]])
    return float(np.linalg.norm(r - projection) / (rho * np.linalg.norm(q)))


def load(folder: Path) -> dict[str, Problem]:
    problems = {}
    for path in sorted(folder.glob("*.npz")):
        data = np.load(path)
        problems[path.stem] = (data["W"], data["q"], np.ravel(data["mu"]).astype(float), int(data["dim"]))
    return problems


def synthetic() -> dict[str, Problem]:
    """Soft pads of `n` contacts and stacks of cubes on four points each, q in the range of H."""
    problems: dict[str, Problem] = {}
    for count in (16, 64, 200):
        rng = np.random.default_rng(count)
        points = rng.random((count, 2))
        distance = ((points[:, None] - points) ** 2).sum(axis=2)
        pad = np.exp(-distance / 0.01) + 1e-3 * np.eye(count)
        W = 1e-3 * np.kron(pad, np.array([[1.0, 0.1, 0.0], [0.1, 0.6, 0.0], [0.0, 0.0, 0.6]]))
        q = 1e-3 * rng.standard_normal(3 * count)
        q[::3] -= 1e-3
        problems[f"soft pad of {count} contacts"] = (W, q, np.full(count, 0.6), 3)
    for count, mu in ((5, 0.5), (20, 0.5), (20, 1.2)):
        problems[f"stack of {count} cubes, μ {mu}"] = stack(count, mu)
    return problems


def stack(count: int, mu: float) -> Problem:
    H = np.zeros((12 * count, 6 * count))
    corners = [(x, y) for x in (-0.5, 0.5) for y in (-0.5, 0.5)]
    for level in range(count):
        for c, (x, y) in enumerate(corners):
            rows = slice(12 * level + 3 * c, 12 * level + 3 * c + 3)
            for body, z, sign in ((level, -0.5, 1.0), (level - 1, 0.5, -1.0)):
                if body >= 0:
                    turn = np.array([[y, -x, 0.0], [0.0, z, -y], [-z, 0.0, x]])  # rows: normal z, tangents x and y
                    H[rows, 6 * body : 6 * body + 6] = sign * np.hstack([np.eye(3)[[2, 0, 1]], turn])
    rng = np.random.default_rng(count)
    velocity = np.tile([0.0, 0.0, -0.1, 0.0, 0.0, 0.0], count) + 0.03 * rng.standard_normal(6 * count)
    inverse_mass = np.tile([1.0, 1.0, 1.0, 6.0, 6.0, 6.0], count)
    return (H * inverse_mass) @ H.T, H @ velocity, np.full(4 * count, mu), 3


def timed(task: Callable[[], Any], repeat: int) -> tuple[Any, float]:
    times = []
    for _ in range(repeat):
        start = time.process_time()
        answer = task()
        times.append(1e3 * (time.process_time() - start))
    return answer, median(times)


def ours(problem: Problem, repeat: int) -> dict[str, Any]:
    import pliant as pl

    W, q, mu, dim = problem

    def run() -> Any:
        try:
            return pl.solvers.friction(W, q, mu, dim=dim, tolerance=TOLERANCE)
        except pl.ConvergenceError as error:
            return error.result

    run()
    result, milliseconds = timed(run, repeat)
    return {"residual": residual(problem, result.solution), "iterations": result.iterations, "ms": milliseconds}


def siconos(problem: Problem) -> dict[str, Any]:
    """The best of Siconos: the fastest solver that reaches the tolerance, or the one that comes closest."""
    import siconos.numerics as sn  # type: ignore[import-not-found]

    W, q, mu, dim = problem
    given = sn.FrictionContactProblem(dim, len(mu), W, q, mu)
    names = ["NSGS", "NSN_AC", "ADMM"] if dim == 3 else ["NSGS"]
    answers: list[dict[str, Any]] = []
    for name in names:
        options = sn.SolverOptions(getattr(sn, f"SICONOS_FRICTION_{dim}D_{name}"))
        options.dparam[sn.SICONOS_DPARAM_TOL] = TOLERANCE
        options.iparam[sn.SICONOS_IPARAM_MAX_ITER] = 1000 if name == "NSN_AC" else 20_000
        r, u = np.zeros(len(q)), np.zeros(len(q))
        driver = sn.fc3d_driver if dim == 3 else sn.fc2d_driver
        _, milliseconds = timed(lambda r=r, u=u, o=options, d=driver: d(given, r, u, o), 1)  # type: ignore[misc]
        iterations = int(options.iparam[sn.SICONOS_IPARAM_ITER_DONE])
        answers.append({"solver": name, "residual": residual(problem, r), "iterations": iterations, "ms": milliseconds})
    reached = [a for a in answers if a["residual"] <= 10 * TOLERANCE]
    return min(reached, key=lambda a: a["ms"]) if reached else min(answers, key=lambda a: a["residual"])


def peer(interpreter: str, problems: dict[str, Problem]) -> dict[str, dict[str, Any]]:
    """Answers of Siconos from another interpreter, none where it is not installed there."""
    with tempfile.TemporaryDirectory() as folder:
        for name, (W, q, mu, dim) in problems.items():
            np.savez(Path(folder) / f"{name}.npz", W=W, q=q, mu=mu, dim=dim)
        try:
            command = [interpreter, __file__, "--serve", folder]
            done = subprocess.run(command, capture_output=True, text=True, timeout=600)
        except (OSError, subprocess.TimeoutExpired):
            return {}
    lines = [line for line in done.stdout.splitlines() if line.startswith('{"name"')]
    return {answer.pop("name"): answer for answer in map(json.loads, lines)}


def serve(folder: Path) -> None:
    for name, problem in load(folder).items():
        print("\n" + json.dumps({"name": name, **siconos(problem)}), flush=True)


def table(problems: dict[str, Problem], repeat: int, interpreter: str) -> dict[str, Any]:
    others = peer(interpreter, problems)
    print(f"{'problem':36} {'n':>4} {'residual':>9} {'it':>5} {'ms':>8}   {'Siconos':>9} {'it':>6} {'ms':>8}")
    rows = {}
    for name, problem in problems.items():
        mine, other = ours(problem, repeat), others.get(name)
        rows[name] = {"contacts": len(problem[2]), **mine, "siconos": other}
        beside = "{residual:9.1e} {iterations:6} {ms:8.2f} {solver}".format(**other) if other else ""
        line = f"{name:36} {len(problem[2]):4} {mine['residual']:9.1e} {mine['iterations']:5} {mine['ms']:8.2f}"
        print(f"{line}   {beside}", flush=True)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--siconos", default=DEBIAN)
    parser.add_argument("--serve", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    if given.serve:
        serve(given.serve)
        return
    rows = table(load(given.data) | synthetic(), given.repeat, given.siconos)
    if given.json:
        given.json.write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
