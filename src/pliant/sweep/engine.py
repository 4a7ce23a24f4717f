"""What computes the cases of a sweep: processes of this machine or the workers of a cluster, behind one contract.

No case is lost and none is counted twice. A case whose worker was killed is tried again, in the end alone, so that one
that kills its workers is told from those that were beside it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from queue import Empty, SimpleQueue
from types import TracebackType
from typing import Any, Protocol

from pliant.core.errors import PliantError
from pliant.sweep.case import Job, Outcome, made_here

TOGETHER, ALONE = 2, 2
"""How often a case is tried beside others and then alone while its worker dies."""
_WATCH = 2.0
"""Seconds without a result after which the engine is asked whether it is alive."""


class Engine(Protocol):
    """Workers; entering connects to them and checks them, leaving gives back what they hold."""

    name: str
    slots: int
    """Cases that are computed at a time."""
    lost: tuple[type[BaseException], ...]
    """What a future raises where its worker died."""

    def __enter__(self) -> Engine: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...

    def send(self, packed: bytes, digest: str) -> None:
        """Send a parcel to the workers, once to each."""

    def submit(self, job: Job) -> Any:
        """Begin a case; a future of its `Outcome` with `add_done_callback` and `result`."""

    def check(self) -> None:
        """An error where no further result can come."""


def outcomes(engine: Engine, jobs: Sequence[Job]) -> Iterator[Outcome]:
    """The outcome of each job, once, in the order in which they are done."""
    for _ in range(TOGETHER):
        suspects: list[Job] = []
        for job, future in _completed(engine, jobs, window=2 * engine.slots):
            outcome = _outcome(engine, job, future)
            if outcome is None:
                suspects.append(job)
            else:
                yield outcome
        jobs = suspects
    for job in jobs:
        for _ in range(ALONE):
            ((_, future),) = _completed(engine, [job], window=1)
            outcome = _outcome(engine, job, future)
            if outcome is not None:
                break
        yield outcome or _killed(job)


def _completed(engine: Engine, jobs: Iterable[Job], *, window: int) -> Iterator[tuple[Job, Any]]:
    """Jobs with their futures as they are done, at most `window` of them begun at a time."""
    done: SimpleQueue[tuple[Job, Any]] = SimpleQueue()
    waiting, running = iter(jobs), 0

    def begin() -> bool:
        job = next(waiting, None)
        if job is not None:
            engine.submit(job).add_done_callback(lambda future: done.put((job, future)))
        return job is not None

    while running < window and begin():
        running += 1
    while running:
        try:
            finished = done.get(timeout=_WATCH)
        except Empty:
            engine.check()
            continue
        running += begin() - 1
        yield finished


def _outcome(engine: Engine, job: Job, future: Any) -> Outcome | None:
    """What a future gives; None where its worker died. An error where the worker can compute no case at all."""
    try:
        outcome: Outcome = future.result()
    except engine.lost:
        engine.check()
        return None
    except Exception as error:  # the case could not be sent, or its result could not
        return Outcome(job[0], None, error, f"{type(error).__name__}: {error}", 0.0, made_here())
    if outcome.unfit:
        assert outcome.error is not None
        raise outcome.error
    return outcome


def _killed(job: Job) -> Outcome:
    error = PliantError(
        f"a worker of the sweep was killed in each of {TOGETHER + ALONE} attempts of this case, {ALONE} of them alone, "
        "often by lack of memory: bound it with memory, or take fewer workers"
    )
    return Outcome(job[0], None, error, str(error), 0.0, made_here())
