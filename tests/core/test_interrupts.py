"""Ctrl-C sets a flag during long calls; twice it raises; in sweeps it raises at once."""

import signal

import pytest

from pliant.core import interrupts
from pliant.core.interrupts import interruptible, interrupts_raise


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
