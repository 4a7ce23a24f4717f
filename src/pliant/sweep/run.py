"""Run one function for many cases over local processes; an interruption loses running cases only.

With a folder each case is written by the process that computed it, as soon as it is done. Started again with the same
folder, a sweep computes the missing cases.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import starmap
from pathlib import Path
from time import perf_counter
from traceback import format_exception_only
from typing import Any

from pliant.core.checks import positive_count
from pliant.core.errors import InputError, MissingExtraError, PliantError
from pliant.core.interrupts import interrupts_raise
from pliant.core.progress import progress_bar
from pliant.sweep.records import Records, digest_of

Task = Callable[[Any], Mapping[str, Any]]


class SweepError(PliantError):
    """Some cases of a sweep failed: `failures` are (case, error) pairs; `results` of all cases, None where failed."""

    def __init__(self, message: str, *, failures: list[tuple[Any, BaseException]], results: list[Any]) -> None:
        super().__init__(message)
        self.failures = failures
        self.results = results


def run(
    task: Task,
    cases: Sequence[Any],
    *,
    folder: str | Path | None = None,
    identity: Mapping[str, str] | None = None,
    workers: int | None = None,
    progress: bool | None = None,
) -> list[dict[str, Any]]:
    """Results of ``task(case)`` for every case, in the order of `cases`.

    task
        Takes a case and returns arrays by name; random choices take their seed from the case.
    cases
        Distinct plain values that JSON can represent.
    folder
        Stores finished cases, which a later call reads; None: results are not stored.
    identity
        Fingerprints by name of what the results depend on beside the case (`world_digest`, `digest_of`). A folder of
        another identity is an error.
    workers
        Processes; None: one for each core. 1 runs in this process and needs no extra.
    progress
        Show a progress bar with the time left; None: on a terminal and in a notebook, where it takes long.

    A case that fails does not stop the others: all failures are raised together at the end, as a `SweepError`.
    """
    digests = [digest_of(case) for case in cases]
    if len(set(digests)) < len(digests):
        twice = next(case for case, digest in zip(cases, digests, strict=True) if digests.count(digest) > 1)
        raise InputError(f"the case {twice!r} occurs more than once in the sweep")
    records = None if folder is None else Records.opened(folder, identity or {})
    results: list[Any] = [None if records is None else records.read(k, case) for k, case in enumerate(cases)]
    missing = [k for k, result in enumerate(results) if result is None]
    count = min(os.cpu_count() or 1 if workers is None else positive_count("workers", workers), max(len(missing), 1))
    failures: list[tuple[Any, BaseException]] = []
    with progress_bar("sweep", len(missing), shown=progress) as advance:
        jobs = [(task, k, cases[k], records) for k in missing]
        for index, result, error in starmap(_compute_case, jobs) if count == 1 else _parallel(jobs, count, records):
            results[index] = result
            if error is not None:
                failures.append((cases[index], error))
                if progress is not False:
                    print(f"case {cases[index]} failed: {_text(error)}", file=sys.stderr)
            advance()
    if failures:
        stored = "" if records is None else f" The others are stored in {records.folder}; run it again for the failed."
        raise SweepError(
            f"{len(failures)} of {len(cases)} cases failed; the first, {failures[0][0]}, with "
            f"{_text(failures[0][1])}.{stored}",
            failures=failures,
            results=results,
        ) from failures[0][1]
    return results


Job = tuple[Task, int, Any, Records | None]
CaseResult = tuple[int, dict[str, Any] | None, Exception | None]


def _compute_case(task: Task, index: int, case: Any, records: Records | None) -> CaseResult:
    """Compute one case and store it."""
    start = perf_counter()
    try:
        with interrupts_raise():
            result = dict(task(case))
        if records is not None:
            records.write(index, case, result, perf_counter() - start)
    except Exception as error:  # raised at the end of the sweep, with its case
        return index, None, error
    return index, result, None


def _parallel(jobs: Sequence[Job], workers: int, records: Records | None) -> Iterator[CaseResult]:
    try:
        from joblib import Parallel, delayed
        from joblib.externals.loky.process_executor import TerminatedWorkerError
    except ImportError as error:
        raise MissingExtraError(
            f"{workers} workers need joblib: pip install 'pliant[sweep]', or run with workers=1"
        ) from error
    pool = Parallel(
        n_jobs=workers,
        backend="loky",
        batch_size=1,
        pre_dispatch=workers,
        return_as="generator_unordered",
        max_nbytes=None,  # larger arrays would be read-only memory maps, and a task may write to its workspaces
    )
    try:
        yield from pool(delayed(_compute_case)(*job) for job in jobs)
    except TerminatedWorkerError as error:
        advice = "give it a folder" if records is None else f"run it again, finished cases are in {records.folder}"
        raise PliantError(
            f"a worker of the sweep was killed, often by lack of memory: {advice}, or take fewer workers than {workers}"
        ) from error


def _text(error: BaseException) -> str:
    return "".join(format_exception_only(error)).strip()
