"""What a newcomer gets wrong: every mistake is named, with what was found and what to do."""

import numpy as np
import pytest

import pliant as pl
from pliant.hybrid import Contact, Continuous, HybridSystem, Joint, Machine, Outcome, Sampled, Transition


def falling(**options):
    """A ball of 1 kg above a floor at 0."""
    usual = {
        "q0": [1.0], "v0": [0.0], "mass": [1.0], "bias": lambda q, v: np.array([9.81]),
        "constraints": (Contact("floor", lambda q: q[0]),), "name": "ball",
    }  # fmt: skip
    return HybridSystem(**(usual | options))


SYSTEMS = {
    "bias of another shape": ({"bias": lambda q, v: np.zeros(2)}, r"bias\(q, v\) of ball .* got shape \(2,\)"),
    "bias a list": ({"bias": lambda q, v: [9.81]}, r"bias\(q, v\) of ball must be an array .* got list"),
    "bias no number": ({"bias": lambda q, v: np.array([np.nan])}, "not finite at the start"),
    "mass(q) a diagonal": ({"mass": lambda q: np.ones(1)}, r"mass\(q\) of ball must be an array of shape \(1, 1\)"),
    "gap with two values": ({"constraints": (Contact("floor", lambda q: np.array([q[0], q[0]])),)}, "gives 2 values"),
    "gap with too few": ({"constraints": (Contact("floor", lambda q: q[0], count=3),)}, "1 values, but its count is 3"),
    "gap that fails": ({"constraints": (Contact("floor", lambda q: np.hypot(q[0], 1.0)),)}, "derivatives cannot be"),
    "gap no number": ({"constraints": (Contact("floor", lambda q: q[0] * np.nan),)}, "not finite at the start"),
    "gap without direction": ({"constraints": (Contact("floor", lambda q: 0.0 * q[0]),)}, "'floor' cannot be enforced"),
    "joint that cannot hold": ({"constraints": (Joint("rod", lambda q: q[0] ** 2 + 1.0),)}, "violated by 2"),
}  # fmt: skip


@pytest.mark.parametrize("name", SYSTEMS)
def test_functions_are_tried_at_the_start(name):
    change, words = SYSTEMS[name]
    with pytest.raises(pl.PliantError, match=words):
        pl.hybrid.integrate(falling(**change), until=1.0)


CONTROLLERS = {
    "of another size": (lambda t, q, v: np.zeros(3), r"shape \(1,\), got shape \(3,\)"),
    "no number": (lambda t, q, v: np.array([np.nan]), "not finite at the start"),
    "without a memory": (Sampled(0.1, lambda t, q, v, m: [0.0]), r"a pair \(u, memory\), got \[0.0\]"),
    "rates of another size": (
        Continuous(2, lambda t, x, q, v: np.zeros(3), lambda t, x, q, v: x[:1]), r"\(2,\), got \(3,\)"),
    "states of another size": (
        Continuous(2, lambda t, x, q, v: -x, lambda t, x, q, v: x[:1], initial=[1.0]), r"initial states .* \(2,\)"),
}  # fmt: skip


@pytest.mark.parametrize("name", CONTROLLERS)
def test_controllers_are_tried_at_the_start(name):
    control, words = CONTROLLERS[name]
    with pytest.raises(pl.InputError, match=words):
        pl.hybrid.integrate(pl.hybrid.bouncing_ball(), until=1.0, control=control)


def test_a_controller_needs_inputs():
    with pytest.raises(pl.InputError, match="ball has no inputs"):
        pl.hybrid.integrate(falling(), until=1.0, control=lambda t, q, v: np.array([1.0]))


def test_descriptions_are_checked():
    with pytest.raises(pl.InputError, match="must be a tuple of Joint and Contact"):
        falling(constraints=Contact("floor", lambda q: q[0]))
    with pytest.raises(pl.InputError, match="1 coordinates, but 2 labels"):
        falling(labels=("a", "b"))
    with pytest.raises(pl.InputError, match="symmetric"):
        HybridSystem(q0=[0.0, 0.0], v0=[0.0, 0.0], mass=[[1.0, 0.5], [0.0, 1.0]])
    with pytest.raises(pl.InputError, match=r"rotation_vectors must have shape \(1, 3\)"):
        pl.hybrid.falling_cubes(positions=[(0.0, 0.0, 0.1)], rotation_vectors=np.zeros((2, 3)))
    with pytest.raises(pl.InputError, match=r"\(q, v\) or \(q, v, u\), got 3.0"):
        pl.hybrid.linearize(pl.hybrid.bouncing_ball(), 3.0)


def test_a_point_of_another_system_is_refused():
    other = pl.hybrid.integrate(pl.hybrid.bouncing_ball(), until=0.1).final
    with pytest.raises(pl.InputError, match="not one of ball maze"):
        pl.hybrid.integrate(pl.hybrid.ball_maze(), until=1.0, start=other)


def test_overlapping_cubes_are_refused_with_the_depth():
    with pytest.raises(pl.InputError, match=r"contact 'pairs' violated by -0.05"):
        pl.hybrid.integrate(
            pl.hybrid.falling_cubes(positions=[(0, 0, 0.05), (0, 0, 0.1)], rotation_vectors=np.zeros((2, 3))), until=0.1
        )


@pytest.mark.parametrize("what", ["bias", "gap", "guard"])
def test_numbers_that_cease_to_be_finite_end_the_run(what):
    """Below q = 0.5 a root has no value."""
    root = lambda q: np.sqrt(q[0] - 0.5)  # noqa: E731
    guard = Machine("m", {}, (Transition(0, 1, lambda t, q, v, lam: float(root(q)) + 1.0),))
    change = {
        "bias": {"bias": lambda q, v: np.array([9.81 + 0.0 * root(q)])},
        "gap": {"constraints": (Contact("floor", lambda q: root(q) + 1.0),)},
        "guard": {"machines": (guard,)},
    }[what]
    with np.errstate(invalid="ignore"), pytest.warns(pl.PliantWarning, match="not finite"):
        solution = pl.hybrid.integrate(falling(**change), until=1.0, max_step=0.01)
    assert solution.status is Outcome.NOT_FINITE
    assert solution.final.q[0] == pytest.approx(0.5, abs=0.05)
    assert np.isfinite(solution.q).all()


def test_a_soft_world_cannot_be_linearized_as_a_hybrid_system():
    with pytest.raises(
        pl.InputError,
        match=r"system of linearize.* must be .*HybridSystem.*got Scene.*kinematics",
    ):
        pl.hybrid.linearize(pl.Scene(), None)
