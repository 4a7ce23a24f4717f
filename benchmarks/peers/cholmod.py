"""CHOLMOD as a timing server: reads a system from an .npz, then one task name per line, answers one JSON line each.

Runs in the environment of the peers, with scikit-sparse (METIS or AMD, whichever is faster) or else cvxopt (AMD or the
order in the file, whichever is faster). Compliance is Y = L⁻¹ P Hᵀ with dense right-hand sides, then Yᵀ Y.
"""

from __future__ import annotations

import os

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ[_name] = "1"

import json
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse

Tasks = dict[str, Callable[[], Any]]


def timed(task: Callable[[], Any]) -> float:
    start = time.process_time()
    task()
    return 1e3 * (time.process_time() - start)


def fastest(candidates: dict[str, Tasks]) -> tuple[str, Tasks]:
    """The candidate that factorizes fastest."""
    name = min(candidates, key=lambda key: min(timed(candidates[key]["factor"]) for _ in range(4)))
    return name, candidates[name]


def scikit_sparse(A: sparse.csc_matrix, rows: dict[str, np.ndarray]) -> tuple[str, Tasks]:
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
            own[name] = lambda right=np.asfortranarray(H.T): compliance(right)
        return own

    name, best = fastest({method: tasks(method) for method in ("metis", "amd")})
    return f"CHOLMOD by scikit-sparse, {name}", best


def cvxopt(A: sparse.csc_matrix, rows: dict[str, np.ndarray], order: np.ndarray) -> tuple[str, Tasks]:
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
            own[name] = lambda right=H.T.copy(): compliance(right)
        return own

    name, best = fastest({"amd": tasks(None), "our order": tasks(matrix(order.tolist()))})
    return f"CHOLMOD by cvxopt, {name}", best


def load(path: str, library: str) -> tuple[str, Tasks]:
    data = np.load(path)
    A = sparse.csc_matrix((data["data"], data["indices"], data["indptr"]))
    rows = {name: data[name] for name in data.files if name.startswith("W")}
    if library != "cvxopt":
        try:
            return scikit_sparse(A, rows)
        except ImportError:
            pass
    try:
        return cvxopt(A, rows, data["order"])
    except ImportError:
        return "neither scikit-sparse nor cvxopt installed: CHOLMOD not measured", {}


def main() -> None:
    note, tasks = load(sys.argv[1], os.environ.get("PEER_LIBRARY", ""))
    print(json.dumps({"note": note}), flush=True)
    for line in sys.stdin:
        name = line.strip()
        if name == "quit":
            return
        print(json.dumps({"ms": timed(tasks[name]) if name in tasks else None}), flush=True)


if __name__ == "__main__":
    main()
