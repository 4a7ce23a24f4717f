"""Stage timers add up, also when a stage fails."""

import time

import pytest

from pliant.core.timers import StageTimers


def test_stages_accumulate():
    timers = StageTimers()
    for _ in range(2):
        with timers.stage("solve"):
            time.sleep(0.005)
    with timers.stage("rows"):
        pass
    assert list(timers.seconds) == ["solve", "rows"]
    assert 0.01 <= timers.seconds["solve"] < 1.0
    assert 0.0 <= timers.seconds["rows"] < 0.005


def test_a_failing_stage_is_timed_and_its_error_passes():
    timers = StageTimers()

    def fail():
        with timers.stage("factorize"):
            raise ArithmeticError("singular")

    with pytest.raises(ArithmeticError, match="singular"):
        fail()
    assert timers.seconds["factorize"] >= 0.0
