"""One case where it is computed: its time, its machine, and errors that can cross to another process."""

import platform
import threading
import time

import numpy as np
import pytest

import pliant as pl
from pliant.sweep.case import Outcome, _sendable, compute_here
from pliant.sweep.parcel import Parcel
from pliant.sweep.records import Records


class ForeignError(Exception):
    """Of a module that a worker or the user may not have."""


class ChangesError(ValueError):
    """Becomes another error on its way."""

    __module__ = "numpy.somewhere"

    def __reduce__(self):
        return ValueError, self.args


class UnreadableError(ValueError):
    __module__ = "pliant.somewhere"

    def __init__(self, a, b):
        super().__init__(f"{a}, {b}")


@pytest.mark.parametrize("error", [ForeignError("x"), ChangesError("x"), UnreadableError("x", 1)], ids=str)
def test_errors_that_would_not_arrive_are_sent_as_their_text(error):
    outcome = Outcome(3, None, error, "the trace", 1.5, {"machine": "m"})
    sent = _sendable(outcome)
    assert type(sent.error) is pl.PliantError
    assert str(sent.error) == f"{type(error).__name__}: {error}"
    assert (sent.index, sent.result, sent.trace, sent.seconds, sent.made) == (
        3,
        None,
        "the trace",
        1.5,
        {"machine": "m"},
    )


@pytest.mark.parametrize("error", [KeyError("x"), pl.InputError("x"), np.linalg.LinAlgError("x")], ids=repr)
def test_errors_that_everybody_can_read_are_sent_as_they_are(error):
    outcome = Outcome(3, None, error)
    assert _sendable(outcome) is outcome


def test_the_time_of_a_case_is_its_own():
    def task(case):
        time.sleep(0.05)
        if case == "fails":
            raise ValueError("no")
        return {"x": np.array(case)}

    for case in (1, "fails"):
        begin = time.perf_counter()
        outcome = compute_here(Parcel(task), 4, case)
        assert 0.05 <= outcome.seconds <= time.perf_counter() - begin
        assert outcome.made["machine"] == (platform.node() or "unknown")
        assert (outcome.index, outcome.stored, outcome.unfit) == (4, False, False)
        assert bool(outcome.error) == (case == "fails") == ("ValueError: no" in outcome.trace)


def test_waiting_for_another_case_of_the_process_is_not_counted():
    begun, go = threading.Event(), threading.Event()

    def first(case):
        begun.set()
        go.wait(10.0)
        return {}

    found = {}
    thread = threading.Thread(target=lambda: compute_here(Parcel(first), 0, None))
    other = threading.Thread(target=lambda: found.update(o=compute_here(Parcel(lambda case: {}), 1, None)))
    thread.start()
    begun.wait(10.0)
    other.start()
    time.sleep(0.2)
    assert not found, "cases of one process take turns"
    go.set()
    thread.join()
    other.join()
    assert found["o"].seconds < 0.15


def test_a_worker_with_records_stores_what_it_computed(tmp_path):
    records = Records.opened(tmp_path, {"world": "w"})
    outcome = compute_here(Parcel(lambda case: {"x": np.array(case)}, records=records), 2, 5)
    assert outcome.stored
    header, arrays = records.read(2, 5)
    assert (header["number"], header["seconds"], int(arrays["x"])) == (2, outcome.seconds, 5)
    assert header["made"] == outcome.made
