"""Run one function for many cases, on this machine or on a cluster; an interruption loses running cases only.

Finished cases are kept in a folder, each in a file of its own that is written whole. Started again with the same
folder, a sweep computes the missing cases.
"""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from traceback import format_exception_only
from typing import Any

from pliant.core.checks import positive_count
from pliant.core.errors import InputError, PliantError
from pliant.core.progress import progress_bar
from pliant.sweep.addresses import checked_address, cluster_at
from pliant.sweep.case import Job, Outcome, compute_here
from pliant.sweep.engine import Engine, outcomes
from pliant.sweep.memory import checked_memory
from pliant.sweep.parcel import Parcel, digest_of_bytes, file_contents
from pliant.sweep.processes import Processes
from pliant.sweep.records import Records, digest_of
from pliant.sweep.table import Table

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
    table: str | Path | Table | None = None,
    on: str | None = None,
    files: Sequence[str | Path] = (),
    memory: float | None = None,
    workers: int | None = None,
    progress: bool | None = None,
) -> list[dict[str, Any]]:
    """Results of ``task(case)`` for every case, in the order of `cases`.

    task
        Takes a case and returns arrays by name; random choices take their seed from the case.
    cases
        Distinct plain values that JSON can represent.
    folder
        Stores finished cases, which a later call reads, and why cases failed; None: results are not stored.
    identity
        Fingerprints by name of what the results depend on beside the case (`world_digest`, `digest_of`). A folder or a
        table of another identity is an error.
    table
        File for a row of each case, .csv, .json or .parquet, or a `Table`; written at the end, also where cases failed.
    on
        ``dask://HOST:PORT`` or ``ray://HOST:PORT`` (extra `cluster`); None: processes of this machine.
    files
        Files and folders below the present one that the task reads, sent to each worker of a cluster once.
    memory
        Bytes that a case may allocate beside what its worker has; one that needs more fails. None: no bound.
    workers
        Processes of this machine; None: one for each core. 1 runs in this process and needs no extra.
    progress
        Show a progress bar with the time left; None: on a terminal and in a notebook, where it takes long.

    A case that fails does not stop the others: all failures are raised together at the end, as a `SweepError`.
    """
    digests = Counter(digest_of(case) for case in cases)
    if len(digests) < len(cases):
        twice = next(case for case in cases if digests[digest_of(case)] > 1)
        raise InputError(f"the case {twice!r} occurs more than once in the sweep")
    if on is not None and workers is not None:
        raise InputError(f"workers counts processes of this machine; the workers at {on} are those of the cluster")
    if on is not None:
        checked_address(on)
    own, bound = dict(identity or {}), checked_memory(memory)
    sheet = table if isinstance(table, Table) or table is None else Table(Path(table))
    if sheet is not None:
        sheet.check(own, cases)
    records = None if folder is None else Records.opened(folder, own)
    found: dict[int, Outcome] = {} if records is None else dict(_stored(records, cases))
    missing: list[Job] = [(k, case) for k, case in enumerate(cases) if k not in found]
    count = min(os.cpu_count() or 1 if workers is None else positive_count("workers", workers), max(len(missing), 1))
    parcel = (
        Parcel(task, memory=bound, records=None if records is None else records.absolute(), home=os.getcwd())
        if on is None  # processes of this machine may be those of an earlier sweep in another folder
        else Parcel(task, file_contents(files), bound)
    )
    with (
        closing(_computed(parcel, missing, on, count)) as computed,
        progress_bar("sweep", len(missing), shown=progress) as advance,
    ):
        for outcome in computed:
            if outcome.index in found:
                continue  # a case whose first worker was lost too late
            found[outcome.index] = outcome
            _keep(records, cases[outcome.index], outcome)
            if outcome.error is not None and progress is not False:
                print(f"case {cases[outcome.index]} failed: {_text(outcome.error)}", file=sys.stderr)
            advance()
    done = [found[k] for k in range(len(cases))]
    if sheet is not None:
        sheet.write(own, cases, done)
    _raise_failures(cases, done, records)
    return [outcome.result or {} for outcome in done]


def _stored(records: Records, cases: Sequence[Any]) -> Iterator[tuple[int, Outcome]]:
    """Finished cases of an earlier call."""
    for k, case in enumerate(cases):
        read = records.read(k, case)
        if read is not None:
            header, arrays = read
            seconds = float(header.get("seconds") or 0.0)
            yield k, Outcome(k, arrays, seconds=seconds, made=dict(header.get("made") or {}), stored=True)


def _computed(parcel: Parcel, jobs: Sequence[Job], on: str | None, count: int) -> Generator[Outcome, None, None]:
    """The outcome of each job as it is done."""
    if not jobs:
        return
    if on is None and count == 1:
        for job in jobs:
            yield compute_here(parcel, *job)
        return
    engine: Engine = Processes(count) if on is None else cluster_at(on)
    packed = parcel.packed(by_value=on is not None)
    with engine:
        engine.send(packed, digest_of_bytes(packed))
        yield from outcomes(engine, jobs)


def _keep(records: Records | None, case: Any, outcome: Outcome) -> None:
    """Store what came of a case, where its worker did not."""
    if records is None or outcome.stored:
        return
    if outcome.result is not None:
        records.write(outcome.index, case, outcome.result, outcome.seconds, outcome.made)
    elif outcome.error is not None:
        text = _text(outcome.error)
        records.write_failure(outcome.index, case, text, outcome.trace, outcome.seconds, outcome.made)


def _raise_failures(cases: Sequence[Any], done: Sequence[Outcome], records: Records | None) -> None:
    failures = [(cases[outcome.index], outcome.error) for outcome in done if outcome.error is not None]
    if failures:
        stored = "" if records is None else f" The others are stored in {records.folder}; run it again for the failed."
        raise SweepError(
            f"{len(failures)} of {len(cases)} cases failed; the first, {failures[0][0]}, with "
            f"{_text(failures[0][1])}.{stored}",
            failures=[*failures],
            results=[outcome.result for outcome in done],
        ) from failures[0][1]


def _text(error: BaseException) -> str:
    return "".join(format_exception_only(error)).strip()
