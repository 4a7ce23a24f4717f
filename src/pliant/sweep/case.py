"""One case of a sweep, where it is computed."""

from __future__ import annotations

import pickle
import platform
import sys
from dataclasses import dataclass, field
from time import perf_counter
from traceback import format_exception
from typing import Any

from pliant.core.errors import PliantError
from pliant.core.interrupts import interrupts_raise
from pliant.core.provenance import provenance
from pliant.sweep.memory import bounded
from pliant.sweep.parcel import Parcel, Unpacked, unpacked

Job = tuple[int, Any]
"""Index and case."""
_KNOWN = {*sys.stdlib_module_names, "pliant", "numpy", "scipy"}
"""Packages whose errors every worker and the process of the user can read."""


@dataclass(frozen=True)
class Outcome:
    """What came of a case: arrays by name, or an `error` with the text of its `trace`; its time and its machine.

    `stored`: the worker has written it to the folder of the sweep. `unfit`: this worker can compute no case.
    """

    index: int
    result: dict[str, Any] | None = None
    error: Exception | None = None
    trace: str = ""
    seconds: float = 0.0
    made: dict[str, Any] = field(default_factory=dict)
    stored: bool = False
    unfit: bool = False


def made_here() -> dict[str, Any]:
    """Provenance of a case that this process computes: date, versions, processor and the name of the machine."""
    return {**provenance(), "machine": platform.node() or "unknown"}


def compute(packed: Any, digest: str, index: int, case: Any) -> Outcome:
    """Compute one case in a worker; `packed` as of `unpacked`."""
    try:
        own = unpacked(packed, digest)
    except PliantError as error:
        return Outcome(index, None, error, unfit=True)
    outcome = _computed(own, index, case)
    return outcome if outcome.error is None else _sendable(outcome)


def compute_here(parcel: Parcel, index: int, case: Any) -> Outcome:
    """Compute one case in the process of the user, beside its own files."""
    return _computed(Unpacked(parcel, None), index, case)


def _computed(own: Unpacked, index: int, case: Any) -> Outcome:
    begin, parcel = perf_counter(), own.parcel
    try:
        with own.entered(), bounded(parcel.memory), interrupts_raise():
            begin = perf_counter()  # cases of one process take turns
            result = dict(parcel.task(case))
        seconds, made = perf_counter() - begin, made_here()
        if parcel.records is not None:
            parcel.records.write(index, case, result, seconds, made)
    except Exception as error:  # raised at the end of the sweep, with its case
        trace = "".join(format_exception(error))
        return Outcome(index, None, error, trace, perf_counter() - begin, made_here())
    return Outcome(index, result, None, "", seconds, made, stored=parcel.records is not None)


def _sendable(outcome: Outcome) -> Outcome:
    """The same with an error that another process can read: some errors take more than a text."""
    error = outcome.error
    assert error is not None
    try:
        again = pickle.loads(pickle.dumps(error))
        if type(again) is type(error) and type(error).__module__.partition(".")[0] in _KNOWN:
            return outcome
    except Exception:  # what pickling does to a foreign error is not known
        pass
    text = PliantError(f"{type(error).__name__}: {error}")
    return Outcome(outcome.index, None, text, outcome.trace, outcome.seconds, outcome.made)
