"""Episodes without a world: commands and their rates, measured rates, scales, limits and failures; a thrown block."""

from types import SimpleNamespace

import numpy as np
import pytest

from pliant.gym.episodes import LARGEST, Episodes
from pliant.gym.task import Channel, Moment, Seen, Task, Verdict, distance
from pliant.gym.tasks.throw import EDGE, GRAVITY, Throw


class Plain(Task):
    """Measures what it is given; success within 0.1 of the goal."""

    actions = (Channel("pull", "m", 0.0, 0.02, 0.1, start=0.005), Channel("turn", "rad", -1.0, 3.0, 20.0, start=1.0))
    observations = (Seen("place", 3, "m", 0.5), Seen("rates", 3, "m/s", 2.0), Seen("commands", 2, "1", 1.0))
    dt = 0.02
    start = None

    def build(self, *, coarse):
        return None

    def controls(self, command):
        return {"command": command.copy()}

    def goal(self, rng):
        return np.zeros(3)

    def measured(self, shapes):
        return shapes

    def observed(self, now):
        return [now.measured, now.rates, now.position]

    def judged(self, now):
        error = distance(now.measured - now.goal)
        return Verdict(-error, error < 0.1, error > 5.0, error)


class Slow(Plain):
    """Actions are rates of the commands."""

    incremental = True


def begun(task, count=2, **options):
    episodes = Episodes(task, count, **options)
    for copy in range(count):
        episodes.begin(copy, np.random.default_rng(copy))
    episodes.first(np.zeros((count, 3)), np.ones(count, bool))
    return episodes


def test_commands_approach_what_an_action_asks_for_as_fast_as_they_may():
    """A pull from 5 mm to 20 mm at 0.1 m/s takes 7.5 steps of 0.02 s; the turn is there in 5; neither overshoots."""
    episodes = begun(Plain())
    seen = [episodes.controls(np.array([[1.0, -1.0], [7.0, 1.0]])) for _ in range(10)]  # 7 is taken for 1
    pulls = [found[1]["command"][0] for found in seen]
    np.testing.assert_allclose(pulls, np.minimum(0.005 + 0.002 * np.arange(1, 11), 0.02), atol=1e-12)
    turns = [found[0]["command"][1] for found in seen]
    np.testing.assert_allclose(turns, np.maximum(1.0 - 0.4 * np.arange(1, 11), -1.0), atol=1e-12)
    np.testing.assert_allclose(episodes.controls(np.zeros((2, 2)))[0]["command"], [0.018, -0.6], atol=1e-12)


def test_actions_that_are_rates_move_commands_within_their_limits():
    episodes = begun(Slow())
    seen = [episodes.controls(np.array([[0.5, -1.0], [-1.0, 0.0]])) for _ in range(20)]
    np.testing.assert_allclose(
        [found[0]["command"][0] for found in seen], np.minimum(0.005 + 0.001 * np.arange(1, 21), 0.02), atol=1e-12
    )
    np.testing.assert_allclose(seen[-1][1]["command"], [0.0, 1.0], atol=1e-12)


def test_observations_are_places_rates_and_commands_over_their_scales():
    episodes = begun(Plain())
    for k in range(1, 4):
        places = k * np.array([[0.01, 0.02, -0.03], [0.0, 0.4, 0.0]])
        found = episodes.after(places, {})
        rates = places / k / 0.02
        expected = np.concatenate([places / 0.5, rates / 2.0, [[-0.5, 0.0]] * 2], axis=1)
        np.testing.assert_allclose(found.observations, np.clip(expected, -LARGEST, LARGEST), rtol=1e-6)
        assert found.observations.dtype == np.float32
        np.testing.assert_allclose(found.rewards, -np.linalg.norm(places, axis=1))
    far = episodes.after(np.full((2, 3), 1e3), {})
    assert np.abs(far.observations).max() == LARGEST
    assert far.terminated.all()


def test_a_step_that_failed_is_no_success_and_moves_nothing():
    """By an error, or by places that are no numbers; the next step measures from where the copy was."""
    episodes = begun(Plain(), 3)
    near = np.full((3, 3), 0.01)
    assert episodes.after(near, {}).success.all()
    bad = near + 0.01
    bad[2] = np.nan
    found = episodes.after(bad, {1: RuntimeError("no")})
    assert found.success.tolist() == [True, False, False]
    assert found.terminated.tolist() == [False, True, True]
    assert found.rewards[1:].tolist() == [Task.failed] * 2
    np.testing.assert_allclose(found.observations[:, :3], [[0.04] * 3, [0.02] * 3, [0.02] * 3], rtol=1e-6)
    np.testing.assert_allclose(found.observations[:, 3:6], [[0.25] * 3, [0.0] * 3, [0.0] * 3], atol=1e-6)


@pytest.mark.parametrize("limit", [None, 1, 3])
def test_an_episode_has_as_many_steps_as_its_limit(limit):
    episodes = begun(Plain(), limit=limit)
    late = [episodes.after(np.zeros((2, 3)), {}).truncated.tolist() for _ in range(4)]
    assert late == [[limit is not None and k >= limit] * 2 for k in range(1, 5)]
    episodes.begin(1, np.random.default_rng(0))
    assert episodes.after(np.zeros((2, 3)), {}).truncated.tolist() == [limit is not None, limit == 1]


def test_a_block_in_flight_is_judged_by_where_its_parabola_ends():
    """At every instant of a flight the error is the distance from the goal of the place where it lands."""
    x0, height, forward, upward = -0.02, 0.09, -0.6, 0.8
    flight = (upward + np.sqrt(upward**2 + 2.0 * GRAVITY * height)) / GRAVITY
    t = np.linspace(0.0, 0.95 * flight, 9)
    z = 0.5 * EDGE + height + upward * t - 0.5 * GRAVITY * t**2
    measured = np.stack([x0 + forward * t, 0.0 * t, z, np.ones(9), 0.0 * t, 0.0 * t], axis=1)
    rates = np.zeros((9, 6))
    rates[:, 0], rates[:, 2] = forward, upward - GRAVITY * t
    goal = np.full((9, 1), -0.1)
    none = np.zeros((9, 1))

    def judged(measured):
        return Throw.judged(SimpleNamespace(), Moment(measured, rates, goal, none, none, none))

    lands = abs(x0 + forward * flight + 0.1)
    verdict = judged(measured)
    np.testing.assert_allclose(verdict.error, lands, atol=1e-12)
    np.testing.assert_allclose(verdict.reward, -lands, atol=1e-12)
    assert not verdict.success.any()
    lying = measured.copy()
    lying[:, 3:] = lying[:, :3]  # still on the arm
    np.testing.assert_allclose(judged(lying).error, np.abs(lying[:, 0] + 0.1), atol=1e-12)
    np.testing.assert_array_equal(judged(lying).reward, -0.02)
    landed = measured.copy()
    landed[:, 2], landed[:, 0] = 0.5 * EDGE, -0.1 + np.linspace(-0.04, 0.04, 9)
    on_floor = judged(landed)
    assert on_floor.over.all()
    assert on_floor.success.tolist() == (np.abs(landed[:, 0] + 0.1) < 0.02).tolist()
    np.testing.assert_allclose(on_floor.reward, 10.0 - 100.0 * np.abs(landed[:, 0] + 0.1), atol=1e-9)
