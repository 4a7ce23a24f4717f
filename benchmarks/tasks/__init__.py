"""Benches: how fast a named task runs, beside its floor and beside other simulators on the same task."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.tasks.batch import run_batch
from benchmarks.tasks.beam import run_beam
from benchmarks.tasks.coverage import run_coverage
from benchmarks.tasks.gradient import run_gradient
from benchmarks.tasks.memory import run_memory
from benchmarks.tasks.rod import run_rod
from benchmarks.tasks.scaling import run_scaling
from benchmarks.tasks.shooting import run_shooting
from benchmarks.tasks.tail import run_tail
from benchmarks.tasks.threads import run_threads
from benchmarks.tasks.touch import run_block, run_contacts, run_finger, run_gripper, run_trunk
from pliant.core.errors import InputError


def run_gym(*, data: Path | None = None) -> dict[str, Any]:
    """Steps a second of every environment and of its reduced twin; see `benchmarks.tasks.gym`."""
    from benchmarks.tasks.gym import run_gym as run  # needs the extra gym

    return run(data=data)


def run_arm(*, data: Path | None = None) -> dict[str, Any]:
    """Steps a second of the tasks of the elastic arm, beside published ones; see `benchmarks.tasks.arm`."""
    from benchmarks.tasks.arm import run_arm as run  # needs the extra gym

    return run(data=data)


BENCHES: dict[str, Callable[..., dict[str, Any]]] = {
    "arm": run_arm,
    "batch": run_batch,
    "beam": run_beam,
    "block": run_block,
    "contacts": run_contacts,
    "coverage": run_coverage,
    "finger": run_finger,
    "gradient": run_gradient,
    "gripper": run_gripper,
    "gym": run_gym,
    "memory": run_memory,
    "rod": run_rod,
    "scaling": run_scaling,
    "shooting": run_shooting,
    "tail": run_tail,
    "threads": run_threads,
    "trunk": run_trunk,
}
"""Function of each bench by name."""

__all__ = ["BENCHES", "run_bench"]


def run_bench(name: str, *, data: Path | None = None) -> dict[str, Any]:
    """Run the bench `name` and return its report, ready for JSON.

    data
        Folder of side-by-side meshes to use in place of the procedural ones.

    The report has "step_ms", the median processor time of a step on one thread ("step_wall_ms" and the medians in
    "stages_ms" by the clock); "floor_ms", the same of the numeric factorization and one solve of the same matrices, and
    "floor_ratio", step over floor; "outside_kernels_ms", the part of the step outside compiled code, which it calls
    "kernel_calls" times; "nodes", "tets", "rows"; "residual", the largest ‖A dx − r‖/‖r‖ of a step, and
    "nonlinear_residual", the largest residual of the nonlinear problem over its force scale; "peers" by name, each with
    "step_ms" measured in the same run, empty where the peers' environment does not exist, and in "peer_errors" why one
    failed; "variants" with the same entries for variants of the task. That of "tail" has "median_ms", "p99_ms" and
    "max_ms" of a step, "steps", and under "robots" the same of each robot with the counts of the soak. That of
    "scaling" has "cases" and "exponent" under "unknowns", "rows" and "bodies", that of "threads" for each body the
    "step_ms" by the clock on "1" and "2" threads, their "ratio" and "same_bits". That of "gradient" has
    "adjoint_over_run", "worst_relative_error", "taylor_order" and "memory_mb". That of "memory" has for each body and
    law "step_ms" and its "ratio" to the law without memory. That of "batch" has "steps_per_second" of all copies,
    "ratio_per_core", "bit_identical", and the same of each robot by count of copies in "cases". That of "gym" has
    "steps_per_second" of the reduced Reach, and in "tasks" those of every environment and of its twin. That of "arm"
    has in "tasks" the same of the elastic arm, and the "published" rates. That of "coverage" has "trials", and for
    "young" and "friction" how often their intervals "covered" the truth. That of "shooting" has "ratio", simulations
    of CMA-ES over those of `pl.optimize`.
    """
    if name not in BENCHES:
        raise InputError(f"there is no bench {name!r}; choose one of {', '.join(sorted(BENCHES))}")
    return {"name": name} | BENCHES[name](data=data)
