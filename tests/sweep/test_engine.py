"""What every engine keeps: no case is lost or counted twice, and a case that kills workers is told from the others."""

from concurrent.futures import Future

import numpy as np
import pytest

import pliant as pl
from pliant.sweep import engine as engines
from pliant.sweep.case import Outcome
from pliant.sweep.engine import ALONE, TOGETHER, outcomes


@pytest.fixture(autouse=True)
def impatient(monkeypatch):
    monkeypatch.setattr(engines, "_WATCH", 0.01)


class LostError(Exception):
    pass


class Fake:
    """Three slots; a worker that meets a deadly case takes all that are being computed with it."""

    name, slots, lost = "fake", 3, (LostError,)

    def __init__(self, deadly=(), kills=10**9):
        self.deadly, self.kills, self.begun, self.waiting = set(deadly), kills, [], []
        self.checks = 0

    def submit(self, job):
        future = Future()
        self.begun.append(job[0])
        self.waiting.append((job, future))
        if len(self.waiting) == self.slots or job[0] in self.deadly or job[0] >= 97:
            self.run()
        return future

    def run(self):
        waiting, self.waiting = self.waiting, []
        dead = self.deadly & {job[0] for job, _ in waiting} and self.kills > 0
        self.kills -= bool(dead)
        for (index, _), future in waiting:
            if dead:
                future.set_exception(LostError())
            else:
                future.set_result(Outcome(index, {"value": np.array(index)}))

    def check(self):
        self.checks += 1
        self.run()


def found(engine, count=100):
    made = list(outcomes(engine, [(k, None) for k in range(count)]))
    assert sorted(outcome.index for outcome in made) == list(range(count))
    return {outcome.index: outcome for outcome in made}


def test_every_case_comes_once():
    engine = Fake()
    assert all(outcome.error is None for outcome in found(engine).values())
    assert sorted(engine.begun) == list(range(100))


@pytest.mark.parametrize("deadly", [(0,), (99,), (4, 5, 6), (10, 50, 51)])
def test_only_the_case_that_kills_its_worker_fails(deadly):
    engine = Fake(deadly)
    made = found(engine)
    assert {k for k, outcome in made.items() if outcome.error is not None} == set(deadly)
    assert "killed" in str(made[deadly[0]].error)
    assert all(engine.begun.count(k) == TOGETHER + ALONE for k in deadly)
    assert engine.checks


def test_a_worker_that_others_killed_costs_no_case():
    engine = Fake((20, 40, 60), kills=3)
    assert all(outcome.error is None for outcome in found(engine).values())


def test_a_result_that_cannot_be_sent_is_the_failure_of_its_case():
    class Broken(Fake):
        def submit(self, job):
            future = Future()
            if job[0] == 2:
                future.set_exception(TypeError("cannot pickle"))
                return future
            return super().submit(job)

    engine = Broken()
    made = found(engine, 100)
    assert [k for k, outcome in made.items() if outcome.error is not None] == [2]
    assert isinstance(made[2].error, TypeError)
    assert made[2].trace == "TypeError: cannot pickle"
    assert "machine" in made[2].made
    assert 2 not in engine.begun, "it is not tried again"


def test_a_worker_that_can_compute_nothing_ends_the_sweep():
    class Unfit(Fake):
        def submit(self, job):
            future = Future()
            future.set_result(Outcome(job[0], error=pl.PliantError("numpy 1.0 instead of 2.0"), unfit=True))
            return future

    with pytest.raises(pl.PliantError, match="numpy"):
        list(outcomes(Unfit(), [(0, None)]))


def test_two_cases_for_each_slot_are_begun_and_one_alone():
    class Narrow(Fake):
        """Answers only when it is asked whether it is alive, so that the window fills."""

        slots, most = 3, 0

        def submit(self, job):
            future = Future()
            self.waiting.append((job, future))
            self.most = max(self.most, len(self.waiting))
            self.begun.append(len(self.waiting))
            return future

    engine = Narrow()
    assert all(outcome.error is None for outcome in found(engine, 20).values())
    assert engine.most == 6, "one computed and one waiting for each slot"
    engine = Narrow({1})
    assert [k for k, outcome in found(engine, 3).items() if outcome.error is not None] == [1]
    assert engine.begun[-ALONE:] == [1] * ALONE


def test_a_killed_case_says_how_often_it_was_tried():
    outcome = found(Fake((5,)), 10)[5]
    assert isinstance(outcome.error, pl.PliantError)
    assert f"in each of {TOGETHER + ALONE} attempts of this case, {ALONE} of them alone" in str(outcome.error)
    assert outcome.trace == str(outcome.error)
    assert outcome.result is None
    assert outcome.made["versions"]["numpy"] == np.__version__


def test_a_case_that_lives_alone_is_not_tried_again():
    engine = Fake((5,), kills=TOGETHER)
    assert found(engine, 10)[5].error is None
    assert engine.begun.count(5) == TOGETHER + 1


def test_an_engine_that_is_gone_ends_the_sweep_where_a_worker_dies():
    class Gone(Fake):
        def submit(self, job):
            future = Future()
            future.set_exception(LostError())
            return future

        def check(self):
            raise pl.PliantError("the scheduler is gone")

    with pytest.raises(pl.PliantError, match="gone"):
        list(outcomes(Gone(), [(0, None)]))
