"""Ctrl-C sets a flag during long calls; twice it raises; in sweeps it raises at once."""

import signal

import pytest

from pliant.core import interrupts
from pliant.core.interrupts import (
    answer_interrupts,
    interruptible,
    interrupts_raise,
    interrupts_wait,
    undisturbed,
)


@pytest.fixture(autouse=True)
def long_ago(monkeypatch):
    monkeypatch.setattr(interrupts, "_last", -1e9)


def test_ctrl_c_sets_a_flag():
    with interruptible() as interrupted:
        assert not interrupted()
        signal.raise_signal(signal.SIGINT)
        assert interrupted()
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_ctrl_c_twice_raises():
    with interruptible() as interrupted:
        signal.raise_signal(signal.SIGINT)
        assert interrupted()
    with interruptible(), pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGINT)


def test_partial_results_are_refused_where_they_would_be_stored():
    with interrupts_raise(), interruptible(), pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGINT)


def test_ctrl_c_waits_for_a_checkpoint_or_for_the_end():
    def answered():
        with interrupts_wait():
            signal.raise_signal(signal.SIGINT)
            reached.append("after")
            with interrupts_wait():
                reached.append("inside")
            answer_interrupts()
            reached.append("never")

    def unanswered():
        with interrupts_wait():
            signal.raise_signal(signal.SIGINT)
            reached.append("end")

    reached = []
    for work in (answered, unanswered):
        with pytest.raises(KeyboardInterrupt):
            work()
    assert reached == ["after", "inside", "end"]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    answer_interrupts()


def test_a_call_that_is_not_disturbed_ends_first():
    def work(value):
        signal.raise_signal(signal.SIGINT)
        done.append(value)

    done = []
    with pytest.raises(KeyboardInterrupt):
        undisturbed(work, 3)
    with interruptible() as interrupted:
        undisturbed(work, 4)
        assert interrupted(), "the handler that was there is asked"
    assert done == [3, 4]


def test_another_handler_is_left_alone():
    seen = []
    before = signal.signal(signal.SIGINT, lambda number, frame: seen.append(number))
    try:
        with interruptible() as interrupted:
            signal.raise_signal(signal.SIGINT)
            assert not interrupted()
    finally:
        signal.signal(signal.SIGINT, before)
    assert seen == [signal.SIGINT]
