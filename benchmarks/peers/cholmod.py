"""CHOLMOD as a timing server: reads a system from an .npz, then one task name per line, answers one JSON line each.

Runs in the environment of the peers on one BLAS thread (set OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 before). Every
installed binding and ordering is tried on every task and the fastest answers: scikit-sparse with METIS and AMD, cvxopt
with AMD and with the order in the file. Compliance is Y = L⁻¹ P Hᵀ with dense right-hand sides, then Yᵀ Y.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any

import numpy as np
from scipy import sparse

Tasks = dict[str, Callable[[], Any]]


def timed(task: Callable[[], Any]) -> float:
    start = time.process_time()
    task()
    return 1e3 * (time.process_time() - start)


def fastest(candidates: dict[str, Tasks]) -> dict[str, tuple[str, Callable[[], Any]]]:
    """For every task the quickest candidate: task → (name of the candidate, call)."""
    best = {}
    for task in next(iter(candidates.values()), {}):
        times = {name: min(timed(tasks[task]) for _ in range(3)) for name, tasks in candidates.items()}
        name = min(times, key=lambda key: times[key])
        best[task] = (name, candidates[name][task])
    return best


def scikit_sparse(A: sparse.csc_matrix, rows: dict[str, np.ndarray]) -> dict[str, Tasks]:
    from sksparse.cholmod import analyze

    lower = sparse.tril(A, format="csc")
    rng = np.random.default_rng(0)
    one, many = rng.standard_normal(A.shape[0]), rng.standard_normal((A.shape[0], 100))

    def tasks(method: str) -> Tasks:
        factor = analyze(lower, mode="supernodal", ordering_method=method)
        factor.cholesky_inplace(lower)

        def compliance(right: np.ndarray) -> np.ndarray:
            half = factor.solve_L(factor.apply_P(right), use_LDLt_decomposition=False)
            return half.T @ half

        own: Tasks = {"factor": lambda: factor.cholesky_inplace(lower), "solve": lambda: factor.solve_A(one)}
        own["solve100"] = lambda: factor.solve_A(many)
        for name, H in rows.items():
            own[name] = partial(compliance, np.asfortranarray(H.T))
        return own

    return {f"scikit-sparse {method}": tasks(method) for method in ("metis", "amd")}


def cvxopt(A: sparse.csc_matrix, rows: dict[str, np.ndarray], order: np.ndarray) -> dict[str, Tasks]:
    from cvxopt import cholmod, matrix, spmatrix

    cholmod.options["supernodal"] = 2
    lower = sparse.tril(A).tocoo()
    M = spmatrix(lower.data.tolist(), lower.row.tolist(), lower.col.tolist(), A.shape)
    rng = np.random.default_rng(0)
    one, many = matrix(rng.standard_normal((A.shape[0], 1))), matrix(rng.standard_normal((A.shape[0], 100)))

    def tasks(given: Any) -> Tasks:
        factor = cholmod.symbolic(M) if given is None else cholmod.symbolic(M, given)
        cholmod.numeric(M, factor)

        def compliance(right: np.ndarray) -> np.ndarray:
            half = matrix(right)
            cholmod.solve(factor, half, sys=7)
            cholmod.solve(factor, half, sys=4)
            dense = np.array(half)
            return dense.T @ dense

        own: Tasks = {"factor": lambda: cholmod.numeric(M, factor)}
        own["solve"] = lambda: cholmod.solve(factor, +one)
        own["solve100"] = lambda: cholmod.solve(factor, +many)
        for name, H in rows.items():
            own[name] = partial(compliance, H.T.copy())
        return own

    return {"cvxopt amd": tasks(None), "cvxopt with our order": tasks(matrix(order.tolist()))}


def load(path: str) -> dict[str, Tasks]:
    """All candidates that are installed."""
    data = np.load(path)
    A = sparse.csc_matrix((data["data"], data["indices"], data["indptr"]))
    rows = {name: data[name] for name in data.files if name.startswith("W")}
    candidates: dict[str, Tasks] = {}
    with suppress(ImportError):
        candidates |= scikit_sparse(A, rows)
    with suppress(ImportError):
        candidates |= cvxopt(A, rows, data["order"])
    return candidates


def main() -> None:
    candidates = load(sys.argv[1])
    best = fastest(candidates)
    found = ", ".join(candidates) or "neither scikit-sparse nor cvxopt is installed: not measured"
    print(json.dumps({"note": f"CHOLMOD: {found}"}), flush=True)
    for line in sys.stdin:
        task = line.strip()
        if task == "quit":
            return
        name, call = best.get(task, ("", None))
        print(json.dumps({"ms": None if call is None else timed(call), "by": name}), flush=True)


if __name__ == "__main__":
    main()
