"""Older factors against exact ones: the linear part of a step, and whole steps of a trunk with contact.

    python -m benchmarks.lagged [--cells 2,4 4,5 6,6] [--rows 0 10 50 150] [--solves 8] [--json FILE]

The trunk bends by its cables at dt = 20 ms, its tip moving by 0.8 mm a step, against a cylinder; matrices are those of
successive steps. The linear part is factor, one solve, W of the given rows, one response. "Older" decides by itself
whether to find W by iteration or to wait for the factor; "iterated" always iterates. Times are medians of wall-clock
milliseconds with one thread for the step and one for the factorization, exact and older ones in turns. They mean little
where another job takes the second core: the processor time of each thread stands beside them. On two free cores a solve
takes at least the larger of them, and less than their sum.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

import pliant as pl
from pliant.core.threads import one_blas_thread
from pliant.materials import Tangent
from pliant.models.scheme import euler_scheme
from pliant.solvers.linear import BlockMatrix, CholeskyFactor, LaggedFactor

DT = 0.02  # s
STEPS = 40  # of the whole-step comparison


def trunk_world(cells: tuple[int, int], friction: float) -> tuple[pl.World, Any, Any]:
    """A trunk beside a cylinder that it will touch."""
    scene = pl.Scene(gravity=(0, 0, -9.81))
    trunk = scene.add(pl.robots.trunk(cells=cells))
    post = scene.add(pl.Obstacle.cylinder(start=(0.024, -0.05, 0.17), end=(0.024, 0.05, 0.17), radius=0.01))
    scene.collide(trunk, post, friction=friction)
    return scene.compile(), trunk, post


def target(step: int) -> tuple[float, float, float]:
    """Where the tip has to be after a step, m."""
    part = (step + 1) / STEPS
    return 0.03 * part, 0.01 * part, 0.195 - 0.01 * part


def is_touching(info: Any, trunk: Any, post: Any) -> bool:
    """Whether the trunk presses on the cylinder."""
    return bool(np.linalg.norm(info.contact_force(trunk, post)) > 1e-4)


def walk(world: pl.World, trunk: Any, factors: pl.LaggedFactors | None) -> tuple[list[Any], list[Any], list[float]]:
    """States, infos and milliseconds of steps whose tip follows the target."""
    tip = pl.Effector(trunk.tip)
    step = pl.ImplicitEuler(DT, solver=pl.Inverse(effectors=[tip], actuators=trunk.cables), factors=factors)
    states, infos, times = [world.initial_state()], [], []
    for number in range(STEPS):
        begin = time.perf_counter()
        state, info = step(world, states[-1], {tip: target(number)})
        times.append(1e3 * (time.perf_counter() - begin))
        states.append(state)
        infos.append(info)
    return states, infos, times


def contact_rows(model: Any, rows: int) -> sparse.csr_matrix:
    """Rows of nine non-zeros at random places of the upper half of the surface, in random directions."""
    rng = np.random.default_rng(0)
    triangles = model.mesh.surface().triangles
    used = model.mesh.surface().points[triangles][:, :, 2].min(axis=1) > 0.5 * model.rest[:, 2].max()
    chosen = triangles[used][rng.integers(0, used.sum(), rows)]
    weights, normals = rng.dirichlet([1.0, 1.0, 1.0], rows), rng.standard_normal((rows, 3))
    normals /= np.linalg.norm(normals, axis=1)[:, None]
    columns = (3 * chosen[:, :, None] + np.arange(3)).reshape(rows, 9)
    values = (weights[:, :, None] * normals[:, None, :]).reshape(rows, 9)
    return sparse.csr_matrix((values.ravel(), columns.ravel(), 9 * np.arange(rows + 1)), shape=(rows, model.size))


class Timed(NamedTuple):
    """Milliseconds of every solve; mean processor milliseconds of the step's thread and of the second; iterations."""

    wall: list[float]
    first: float
    second: float
    iterations: float


class Matrices:
    """The matrices of successive steps, solved with one kind of factor."""

    def __init__(self, world: pl.World, states: Sequence[Any]) -> None:
        self.model = world.models[0]
        self.parts = []
        self.second = 0.0
        for state in states:
            trial = self.model.trial(state.q[0], state.v[0], euler_scheme(DT), world.gravity, {})
            system, _ = trial.linearize(Tangent.WARPED)
            self.parts.append((system.values.copy(), system.r, np.array(state.q[0])))
        self.memory = [self.made(self.parts[0][0], None) for _ in range(3)]
        self.worker = ThreadPoolExecutor(1)

    def made(self, values: Any, memory: Any) -> CholeskyFactor:
        """The factor as the steppers make it for later solves; notes the processor time it takes."""
        begin = time.thread_time()
        factor = self.model.symbolic.factorize(values, out=memory).round()
        self.second += 1e3 * (time.thread_time() - begin)
        return factor

    def exact(self, H: sparse.csr_matrix) -> Timed:
        """Every matrix factorized."""
        lam, times = np.ones(H.shape[0]), []
        busy = time.thread_time()
        for values, r, _ in self.parts[1:]:
            begin = time.perf_counter()
            factor = self.model.symbolic.factorize(values, out=self.memory[0])
            factor.solve(r)
            self.W = factor.compliance(H)
            factor.solve(H.T @ lam)
            times.append(1e3 * (time.perf_counter() - begin))
        return Timed(times, 1e3 * (time.thread_time() - busy) / len(times), 0.0, 0.0)

    def lagged(self, H: sparse.csr_matrix, most_rows: int | None) -> Timed:
        """The same with older factors."""
        lam, times, iterations = np.ones(H.shape[0]), [], []
        older, spare = self.made(self.parts[0][0], self.memory[0]), self.memory[1:]
        busy, self.second = time.thread_time(), 0.0
        for (_, _, before), (values, r, q) in zip(self.parts[:-1], self.parts[1:], strict=True):
            begin = time.perf_counter()
            job = self.worker.submit(self.made, values, spare.pop())
            factor = LaggedFactor(
                BlockMatrix(self.model.pattern, values),
                older,
                job.result,
                tolerance=1e-8,
                limit=100,
                most_rows=most_rows,
                rotations=self.model.rotations(before, q),
            )
            factor.solve(r)
            self.W = factor.compliance(H)
            factor.response(H, lam)
            spare.append(older)
            older = job.result()
            times.append(1e3 * (time.perf_counter() - begin))
            iterations.append(factor.iterations)
        first = 1e3 * (time.thread_time() - busy)
        return Timed(times, first / len(times), self.second / len(times), float(np.mean(iterations)))


def compare_linear(sequence: Matrices, H: sparse.csr_matrix) -> dict[str, Any]:
    """Medians of the three ways, in turns, and how far the W of older factors are from the exact one."""
    ways: dict[str, Callable[[], Timed]] = {
        "exact": lambda: sequence.exact(H),
        "older": lambda: sequence.lagged(H, None),
        "iterated": lambda: sequence.lagged(H, 10**9),
    }
    with one_blas_thread():
        rounds: list[dict[str, Timed]] = []
        W: dict[str, Any] = {}
        for _ in range(3):
            rounds.append({})
            for name, way in ways.items():
                rounds[-1][name] = way()
                W[name] = sequence.W
    scale = np.sqrt(np.diagonal(W["exact"]))
    report: dict[str, Any] = {}
    for name in ways:
        report[name] = {
            "ms": min(median(r[name].wall) for r in rounds),
            "first_thread_ms": min(r[name].first for r in rounds),
            "second_thread_ms": min(r[name].second for r in rounds),
            "iterations": rounds[0][name].iterations,
            "error_of_W": float(np.abs((W[name] - W["exact"]) / np.outer(scale, scale)).max(initial=0.0)),
        }
    return report


def compare_steps(world: pl.World, trunk: Any, post: Any) -> dict[str, Any]:
    """Medians of whole steps with an inverse, those in contact; exact and with older factors."""
    report: dict[str, Any] = {}
    reference = None
    for name, factors in (("exact", None), ("older", pl.LaggedFactors())) * 2:
        states, infos, times = walk(world, trunk, factors)
        reference = states[-1].q[0] if reference is None else reference
        pairs = zip(infos, times, strict=True)
        touching = [(info, ms) for info, ms in pairs if is_touching(info, trunk, post)]
        ms = median(ms for _, ms in touching)
        stages = {s: 1e3 * median(info.stage_times[s] for info, _ in touching) for s in infos[-1].stage_times}
        if name not in report or ms < report[name]["ms"]:
            report[name] = {
                "ms": ms,
                "hertz": 1e3 / ms,
                "rows": median(len(info.lam) for info, _ in touching),
                "touching": len(touching),
                "contact_N": max(float(np.linalg.norm(info.contact_force(trunk, post))) for info in infos),
                "iterations": float(np.mean([info.cg_iterations for info in infos[1:]])),
                "awaited": int(sum(info.factor_use.awaited for info in infos)),
                "redone": int(sum(info.factor_use.redone for info in infos)),
                "difference_mm": 1e3 * float(np.abs(states[-1].q[0] - reference).max()),
                "stages_ms": stages,
            }
    return report


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cells", nargs="+", default=["2,4", "4,5", "6,6"], help="cells of robots.trunk")
    parser.add_argument("--rows", nargs="+", type=int, default=[0, 10, 50, 150])
    parser.add_argument("--solves", type=int, default=8, help="successive matrices of the linear part")
    parser.add_argument("--friction", type=float, default=0.0, help="between trunk and cylinder, whole steps only")
    parser.add_argument("--json", type=Path, help="write the table there")
    options = parser.parse_args()
    table: dict[str, Any] = {}
    for cells in options.cells:
        side, layers = map(int, cells.split(","))
        world, trunk, post = trunk_world((side, layers), options.friction)
        steps = compare_steps(world, trunk, post)
        states, _, _ = walk(world, trunk, None)
        sequence = Matrices(world, states[STEPS // 2 : STEPS // 2 + options.solves + 1])
        unknowns = world.models[0].symbolic.unknown_count
        print(f"\ntrunk of {world.models[0].size} DoFs, {unknowns} free")
        titles = ("ms", "ratio", "thread 1", "thread 2", "iterations", "error of W")
        widths = (8, 7, 10, 10, 12, 12)
        print(f"  {'rows':>5}{'way':>10}" + "".join(f"{t:>{w}}" for t, w in zip(titles, widths, strict=True)))
        linear: dict[str, Any] = {}
        for rows in options.rows:
            linear[str(rows)] = found = compare_linear(sequence, contact_rows(world.models[0], rows))
            for name, f in found.items():
                ratio = f["ms"] / found["exact"]["ms"]
                line = f"  {rows:5d}{name:>10}{f['ms']:8.1f}{ratio:7.2f}{f['first_thread_ms']:10.1f}"
                line += f"{f['second_thread_ms']:10.1f}"
                print(f"{line}{f['iterations']:12.1f}{f['error_of_W']:12.1e}", flush=True)
        for name, f in steps.items():
            use = f"{f['iterations']:.1f} iterations, {f['awaited']} awaited, {f['redone']} redone"
            print(f"  step {name:>6}: {f['ms']:.1f} ms, {f['hertz']:.0f} Hz, {f['rows']:.0f} rows; {use}; ", end="")
            print(f"{f['touching']} steps touch, up to {f['contact_N']:.2f} N; differs by {f['difference_mm']:.0e} mm")
            print("    " + ", ".join(f"{stage} {ms:.1f}" for stage, ms in f["stages_ms"].items()), flush=True)
        table[cells] = {"unknowns": unknowns, "linear": linear, "steps": steps}
    if options.json:
        options.json.write_text(json.dumps(table, indent=1))


if __name__ == "__main__":
    main()
