"""Steps cut before continuous pairs cross: how they are divided, and what is said where that does not end."""

from types import SimpleNamespace

import numpy as np
import pytest

import pliant as pl
from pliant.core.errors import ConvergenceError
from pliant.models.scheme import euler_scheme
from pliant.models.workspace import Workspace
from pliant.stepping import cuts
from pliant.stepping.parts import second_part
from pliant.stepping.stages import begin

DT, SPEED = 0.01, 2.0
FAILS = "fails"
NEVER = np.inf
SHORTENED = np.cumprod([1, 0.97, 0.91, 0.85, 0.79, 0.73, 0.67, 0.61, 0.6, 0.6, 0.6])


def test_pairs_that_would_cross_are_named(monkeypatch):
    monkeypatch.setattr(cuts, "crossing_time", lambda pair, view: pair.time)
    step = SimpleNamespace(bodies=SimpleNamespace(view=lambda: SimpleNamespace(time=0.25)))
    thin, thick = SimpleNamespace(name="wire", time=0.1), SimpleNamespace(name="block", time=np.inf)
    assert cuts._first([thick, thin], step) == 0.1
    for pairs, named in (([thick, thin], "wire would"), ([thick], "block would")):
        error = cuts._passing(pairs, step, 7)
        assert isinstance(error, ConvergenceError)
        assert str(error).startswith(f"{named} pass through each other at 0.25 s in spite of 7 shorter")


@pytest.fixture
def flight():
    """A ball that flies at a constant speed, far from a wall that it would meet continuously: stepper and step."""
    scene = pl.Scene(gravity=(0, 0, 0))
    ball = scene.add(pl.RigidBody.sphere(radius=0.01, mass=0.1, velocity=(SPEED, 0, 0)))
    wall = scene.add(pl.Obstacle.plane(point=(10.0, 0, 0), normal=(-1, 0, 0)))
    scene.collide(ball, wall, continuous=True)
    world = scene.compile()
    step = begin(world, world.initial_state(), None, scheme=euler_scheme(DT), solver=None, workspace=Workspace())
    return pl.ImplicitEuler(DT), step


def scripted(monkeypatch, outcomes):
    """The attempts of a step end as `outcomes` say: the time of the crossing, none, or a failure. Their lengths."""
    lengths, left, solved = [], list(outcomes), cuts.repeated_where_needed

    def attempt(stepper, part, scheme):
        lengths.append(part.bodies.scheme.dt / DT)
        if left[0] == FAILS:
            left.append(left.pop(0))
            raise ConvergenceError("planes contradict each other")
        return solved(stepper, part, scheme)

    def crossing(pair, view):
        left.append(left.pop(0))
        return left[-1]

    monkeypatch.setattr(cuts, "repeated_where_needed", attempt)
    monkeypatch.setattr(cuts, "crossing_time", crossing)
    return lengths


@pytest.mark.parametrize(
    ("outcomes", "lengths"),
    [
        ([NEVER], [1.0]),
        ([0.5, NEVER, NEVER], [1.0, 0.495, 0.505]),  # 1 % before the crossing, then the rest
        ([0.01, NEVER, NEVER], [1.0, 0.1, 0.9]),  # no attempt is less than a tenth of the last
        ([0.999, NEVER, NEVER], [1.0, 0.97, 0.03]),  # and none is nearly the same
        ([FAILS, NEVER, NEVER], [1.0, 0.2475, 0.7525]),  # as if it crossed in a quarter of its time
        ([0.5, 0.5, NEVER, NEVER], [1.0, 0.495, 0.245025, 0.754975]),
        ([0.1, NEVER, 0.9, NEVER, NEVER], [1.0, 0.1, 0.9, 0.8, 0.1]),  # eight times the last part
        ([0.1, NEVER, 0.9, 0.5, NEVER, NEVER], [1.0, 0.1, 0.9, 0.8, 0.396, 0.504]),
        ([0.1, 0.1, NEVER, NEVER, NEVER], [1.0, 0.1, 0.01, 0.08, 0.91]),  # after a hard impact
        ([0.1, NEVER, 0.5, NEVER, NEVER], [1.0, 0.1, 0.9, 0.4455, 0.4545]),
        # what goes on crossing near its end is shortened by more and more, down to 0.6
        ([0.999, 0.999, 0.999, NEVER, NEVER], [1.0, 0.97, 0.8827, 0.750295, 0.249705]),
        (10 * [0.999] + [NEVER] * 3, [*SHORTENED, 8 * SHORTENED[-1], 1.0 - 9 * SHORTENED[-1]]),
    ],
)
def test_steps_are_shortened_before_crossings_and_lengthened_after(monkeypatch, flight, outcomes, lengths):
    """The parts that count are those without a crossing: they make up the step, and nothing else moves a ball."""
    stepper, step = flight
    tried = scripted(monkeypatch, outcomes)
    found = cuts.without_crossing(stepper, step, euler_scheme)
    assert tried == pytest.approx(lengths)
    done = [length for outcome, length in zip(outcomes, tried, strict=True) if outcome == NEVER]
    assert sum(done) == pytest.approx(1.0)
    assert found.parts == found.iterations == len(done)
    end = found.advanced()
    assert end.time == pytest.approx(DT)
    assert end.q[0][0] == pytest.approx([SPEED * DT, 0.0, 0.0])
    assert found.start is step.start


def test_an_attempt_that_was_repeated_in_halves_is_tried_shorter(monkeypatch, flight):
    """Its end shows the motion of the second half alone: the first may cross unseen."""
    stepper, step = flight
    tried = scripted(monkeypatch, [NEVER])
    attempt = cuts.repeated_where_needed

    def halved(stepper, part, scheme):
        found = attempt(stepper, part, scheme)
        return found if len(tried) > 1 else second_part(part, found, scheme(DT))

    monkeypatch.setattr(cuts, "repeated_where_needed", halved)
    assert cuts.without_crossing(stepper, step, euler_scheme).parts == 2
    assert tried == pytest.approx([1.0, 0.495, 0.505])


@pytest.mark.parametrize(("outcomes", "text"), [([0.5], "in spite of 6 shorter"), ([FAILS], "contradict each other")])
def test_a_step_that_needs_too_many_parts_is_an_error(monkeypatch, flight, outcomes, text):
    monkeypatch.setattr(cuts, "MOST_SOLVES", 6)
    tried = scripted(monkeypatch, outcomes)
    with pytest.raises(ConvergenceError, match=text):
        cuts.without_crossing(*flight, euler_scheme)
    assert len(tried) == 6


def test_steps_without_continuous_pairs_and_those_of_an_inverse_are_not_cut(monkeypatch, flight):
    """Neither asks for a crossing; a failure of theirs is passed on."""
    stepper, step = flight
    tried = scripted(monkeypatch, [0.5])
    inverse = SimpleNamespace(world=step.world, session=object(), bodies=step.bodies)
    monkeypatch.setattr(cuts, "repeated_where_needed", lambda *arguments: tried.append(arguments))
    cuts.without_crossing(stepper, inverse, euler_scheme)
    without = SimpleNamespace(world=SimpleNamespace(continuous_pairs=()), session=step.session)
    cuts.without_crossing(stepper, without, euler_scheme)
    assert [arguments[1] for arguments in tried] == [inverse, without]


def test_a_part_in_which_a_body_gains_energy_is_iterated_to_balance(monkeypatch, flight):
    """One that does not arrive is shortened like one that fails, and says why where that does not help."""
    tried = scripted(monkeypatch, [NEVER])
    assert not cuts.without_crossing(*flight, euler_scheme).repeated
    monkeypatch.setattr(cuts, "_gains_energy", lambda found: True)
    found = cuts.without_crossing(*flight, euler_scheme)
    assert found.repeated
    assert found.advanced().q[0][0] == pytest.approx([SPEED * DT, 0.0, 0.0])
    assert tried == [1.0, 1.0]
    monkeypatch.setattr(cuts, "USABLE", -1.0)
    monkeypatch.setattr(cuts, "MOST_SOLVES", 6)
    with pytest.raises(ConvergenceError, match="gains energy in one linear solve"):
        cuts.without_crossing(*flight, euler_scheme)
    assert len(tried) == 8


@pytest.mark.parametrize(("outcomes", "text"), [([0.0], "in spite of 14 shorter"), ([FAILS], "contradict each other")])
def test_parts_are_not_shortened_without_end(monkeypatch, flight, outcomes, text):
    """Something that crosses or fails however short the part is ends in an error, at a 1e-12th of the step."""
    tried = scripted(monkeypatch, outcomes)
    with pytest.raises(ConvergenceError, match=text):
        cuts.without_crossing(*flight, euler_scheme)
    assert tried[-2] > 1e-12 > tried[-1]
