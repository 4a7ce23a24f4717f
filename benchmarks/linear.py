"""Factorization, solve and compliance of the linear core, beside CHOLMOD.

    python -m benchmarks.linear [--sizes 1.6k 6k 20k] [--rows 30 300 1500] [--json FILE]

Matrices are A = M/h² + K of silicone boxes of tetrahedra (linear elasticity); rows of H are contacts on the bottom
face, three rows each, nine non-zeros per row. Times are medians of process time on one thread, in milliseconds. CHOLMOD
runs in a second process, `peers/cholmod.py`, in the environment of the peers; the two take turns, so that noise hits
both.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from scipy import sparse

from pliant.solvers.linear import BlockMatrix, BlockPattern, analyze

SIZES = {"1.6k": (20, 4, 4), "6k": (30, 7, 7), "20k": (54, 10, 10), "60k": (77, 15, 15)}
EXTENT = (0.1, 0.02, 0.02)  # m
YOUNG, POISSON, DENSITY, STEP = 3e5, 0.45, 1070.0, 0.01  # Pa, –, kg/m³, s
PEERS = Path(__file__).parent.parent / ".venv-peers" / "bin" / "python"


def box(cells: tuple[int, int, int]) -> tuple[np.ndarray, np.ndarray]:
    """Points (n, 3) in metres and tetrahedra (t, 4) of a box, six per cell around its diagonal."""
    shape = tuple(c + 1 for c in cells)
    axes = [np.linspace(0.0, length, n) for length, n in zip(EXTENT, shape)]
    points = np.stack(np.meshgrid(*axes, indexing="ij"), -1).reshape(-1, 3)
    number = np.arange(len(points)).reshape(shape)
    corner = number[:-1, :-1, :-1].ravel()
    step = np.array([number[1, 0, 0], number[0, 1, 0], number[0, 0, 1]])
    paths = [(0, 1, 2), (0, 2, 1), (1, 0, 2), (1, 2, 0), (2, 0, 1), (2, 1, 0)]
    tets = [corner[:, None] + np.concatenate([[0], np.cumsum(step[list(path)])]) for path in paths]
    return points, np.sort(np.concatenate(tets), axis=1)


def stiffness(points: np.ndarray, tets: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Blocks (t, 4, 4, 3, 3) in N/m of linear elasticity, and volumes (t,) in m³."""
    edges = (points[tets[:, 1:]] - points[tets[:, :1]]).transpose(0, 2, 1)
    volumes = np.abs(np.linalg.det(edges)) / 6.0
    g = np.empty((len(tets), 4, 3))
    g[:, 1:] = np.linalg.inv(edges)
    g[:, 0] = -g[:, 1:].sum(1)
    lam = YOUNG * POISSON / ((1 + POISSON) * (1 - 2 * POISSON))
    mu = YOUNG / (2 * (1 + POISSON))
    outer = np.einsum("eai,ebj->eabij", g, g)
    blocks = lam * outer + mu * outer.transpose(0, 1, 2, 4, 3)
    blocks += mu * np.einsum("eak,ebk->eab", g, g)[..., None, None] * np.eye(3)
    return blocks * volumes[:, None, None, None, None], volumes


def system(cells: tuple[int, int, int]) -> tuple[np.ndarray, np.ndarray, BlockMatrix]:
    """Points, tetrahedra and A = M/h² + K of a box."""
    points, tets = box(cells)
    ptr = 4 * np.arange(len(tets) + 1)
    pattern = BlockPattern.from_cliques(len(points), ptr, tets.ravel())
    _, positions = pattern.clique_positions(ptr, tets.ravel())
    blocks, volumes = stiffness(points, tets)
    a, b = np.tril_indices(4)
    matrix = BlockMatrix.zeros(pattern)
    np.add.at(matrix.values, positions, blocks[:, a, b].reshape(-1, 3, 3))
    mass = np.bincount(tets.ravel(), np.repeat(DENSITY * volumes / 4, 4), len(points))
    matrix.values[pattern.diagonal] += mass[:, None, None] / STEP**2 * np.eye(3)
    return points, tets, matrix


def contacts(points: np.ndarray, tets: np.ndarray, rows: int) -> sparse.csr_matrix:
    """`rows` contact rows at random places of the bottom face, three per contact, each in its own random frame."""
    rng = np.random.default_rng(0)
    faces = np.concatenate([tets[:, list(f)] for f in ((0, 1, 2), (0, 1, 3), (0, 2, 3), (1, 2, 3))])
    faces = faces[np.all(points[faces][:, :, 2] < 1e-9, axis=1)]
    count = rows // 3
    chosen, weights = faces[rng.integers(0, len(faces), count)], rng.dirichlet([1.0, 1.0, 1.0], count)
    frames = np.linalg.qr(rng.standard_normal((count, 3, 3)))[0]
    columns = np.broadcast_to((3 * chosen[:, :, None] + np.arange(3)).reshape(count, 1, 9), (count, 3, 9))
    values = weights[:, None, :, None] * frames[:, :, None, :]
    index = (np.repeat(np.arange(3 * count), 9), columns.ravel())
    return sparse.csr_matrix((values.ravel(), index), shape=(3 * count, 3 * len(points)))


def own_tasks(
    points: np.ndarray, matrix: BlockMatrix, rows: dict[str, sparse.csr_matrix]
) -> dict[str, Callable[[], Any]]:
    """What is timed: name → call."""
    symbolic = analyze(matrix.pattern, coordinates=points)
    factor = symbolic.factorize(matrix.values)
    rhs = np.random.default_rng(0).standard_normal(matrix.size)
    many = np.random.default_rng(0).standard_normal((matrix.size, 100))
    tasks: dict[str, Callable[[], Any]] = {
        "factor": lambda: symbolic.factorize(matrix.values, out=factor),
        "solve": lambda: factor.solve(rhs),
        "solve100": lambda: factor.solve(many),
    }
    for name, H in rows.items():
        tasks[name] = lambda H=H: factor.compliance(H)
    return tasks


class Peer:
    """CHOLMOD in a process of its own, asked for one timed run at a time; silent where it is not installed."""

    def __init__(
        self, python: Path, matrix: BlockMatrix, order: np.ndarray, rows: dict[str, sparse.csr_matrix]
    ) -> None:
        self.process: subprocess.Popen[str] | None = None
        self.by: dict[str, str] = {}
        self.note = f"no {python.parents[1].name}: CHOLMOD not measured (make bench-peers)"
        if not python.exists():
            return
        self.folder = tempfile.TemporaryDirectory()
        path = Path(self.folder.name) / "system.npz"
        A = matrix.to_scipy().tocsc()
        parts = {"data": A.data, "indices": A.indices, "indptr": A.indptr, "order": order}
        np.savez(path, **parts, **{name: H.toarray() for name, H in rows.items()})
        script = Path(__file__).parent / "peers" / "cholmod.py"
        env = os.environ | {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
        command = [str(python), str(script), str(path)]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=env)
        self.note = json.loads(self._line())["note"]

    def milliseconds(self, task: str) -> float | None:
        """One run of `task`."""
        if self.process is None or self.process.stdin is None:
            return None
        self.process.stdin.write(task + "\n")
        self.process.stdin.flush()
        answer = json.loads(self._line())
        self.by[task] = answer["by"]
        return None if answer["ms"] is None else float(answer["ms"])

    def close(self) -> None:
        """End the process."""
        if self.process is not None:
            self.process.communicate("quit\n")
            self.folder.cleanup()

    def _line(self) -> str:
        assert self.process is not None
        assert self.process.stdout is not None
        return self.process.stdout.readline() or '{"note": "CHOLMOD ended unexpectedly", "ms": null, "by": ""}'


def measure(tasks: dict[str, Callable[[], Any]], peer: Peer, seconds: float) -> dict[str, dict[str, float]]:
    """Median milliseconds of every task, ours and the peer's, in turns, about `seconds` per task."""
    results: dict[str, dict[str, float]] = {}
    for name, task in tasks.items():
        task()
        peer.milliseconds(name)
        own, other = [], []
        begin = time.perf_counter()
        while len(own) < 5 or (time.perf_counter() - begin < seconds and len(own) < 200):
            start = time.process_time()
            task()
            own.append(1e3 * (time.process_time() - start))
            other.append(peer.milliseconds(name))
        results[name] = {"pliant": median(own)}
        if all(t is not None for t in other):
            results[name]["cholmod"] = median(t for t in other if t is not None)
    return results


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", nargs="+", choices=SIZES, default=["1.6k", "6k", "20k"])
    parser.add_argument("--rows", nargs="+", type=int, default=[30, 300, 1500], help="rows of H, multiples of 3")
    parser.add_argument("--seconds", type=float, default=1.5, help="time per measurement")
    parser.add_argument("--peer-python", type=Path, default=PEERS, help="Python with cvxopt or scikit-sparse")
    parser.add_argument("--json", type=Path, help="write the table there")
    options = parser.parse_args()
    table: dict[str, Any] = {}
    for size in options.sizes:
        points, tets, matrix = system(SIZES[size])
        rows = {f"W{count}": contacts(points, tets, count) for count in options.rows}
        analyze(matrix.pattern, coordinates=points)  # compiles
        begin = time.perf_counter()
        symbolic = analyze(matrix.pattern, coordinates=points)
        analysis = 1e3 * (time.perf_counter() - begin)
        order = (3 * symbolic.nodes[:, None] + np.arange(3)).ravel()
        peer = Peer(options.peer_python, matrix, order, rows)
        print(
            f"\n{size}: {matrix.size} unknowns, {symbolic.factor_nonzeros / 1e6:.2f} M in L, analysis {analysis:.0f} ms"
        )
        print(f"  {peer.note}")
        table[size] = measure(own_tasks(points, matrix, rows), peer, options.seconds)
        for name, result in table[size].items():
            line = f"  {name:9s} {result['pliant']:9.3f} ms"
            if "cholmod" in result:
                ratio = result["cholmod"] / result["pliant"]
                line += f"   CHOLMOD {result['cholmod']:9.3f} ms   × {ratio:5.2f}   ({peer.by[name]})"
            print(line, flush=True)
        peer.close()
    if options.json:
        options.json.write_text(json.dumps(table, indent=1))


if __name__ == "__main__":
    sys.exit(main())
