"""Initial states: what violates a constraint is named with its amount; projections are nearest in the mass metric."""

import numpy as np
import pytest

import pliant as pl
from pliant.hybrid import Contact, HybridSystem, Joint, Machine, Mode, Transition
from pliant.hybrid.equations import Equations
from pliant.hybrid.initial_state import consistent_initial_state

MASS = np.array([[2.0, 0.5, 0.0], [0.5, 1.0, 0.1], [0.0, 0.1, 3.0]])
A, B = np.array([[1.0, 2.0, -1.0], [0.5, 0.0, 1.0]]), np.array([0.3, -0.2])


def started(constraints, *, q0=(0.3, -0.1, 0.4), v0=(0.5, 0.2, -0.3), project=True, machines=(), mass=MASS):
    system = HybridSystem(q0=q0, v0=v0, mass=mass, constraints=constraints, machines=machines, name="arm")
    return consistent_initial_state(Equations(system), project=project)


def nearest(q, rows, values, mass=MASS):
    """argmin (x − q)ᵀM(x − q) with rows x = values, by its optimality conditions."""
    k = len(rows)
    whole = np.block([[mass, rows.T], [rows, np.zeros((k, k))]])
    return np.linalg.solve(whole, np.concatenate([mass @ q, values]))[: len(q)]


@pytest.mark.parametrize("kind", ["matrix", "function"])
def test_linear_joints_are_met_by_the_nearest_state(kind):
    joint = Joint("plane", lambda q: A @ q - B, count=2)
    mass = MASS if kind == "matrix" else lambda q: MASS
    q0, v0 = np.array([0.3, -0.1, 0.4]), np.array([0.5, 0.2, -0.3])
    q, v, discrete = started((joint,), mass=mass)
    np.testing.assert_allclose(q, nearest(q0, A, B), atol=1e-10)
    np.testing.assert_allclose(v, nearest(v0, A, np.zeros(2)), atol=1e-10)
    assert discrete.modes.tolist() == [Mode.CONTACT] * 2


def test_a_contact_inside_is_moved_out_and_an_approach_is_stopped():
    """Two floors of which one is violated; the other one stays open and is not touched."""
    low = Contact("low", lambda q: A[:1] @ q - 1.0)
    far = Contact("far", lambda q: A[1:] @ q + 5.0)
    q0, v0 = np.array([0.3, -0.1, 0.4]), np.array([0.5, 0.2, -0.3])
    for sign in (1.0, -1.0):
        q, v, discrete = started((low, far), v0=sign * v0)
        np.testing.assert_allclose(q, nearest(q0, A[:1], np.ones(1)), atol=1e-10)
        approaches = A[0] @ (sign * v0) < 0.0
        expected = nearest(sign * v0, A[:1], np.zeros(1)) if approaches else sign * v0
        np.testing.assert_allclose(v, expected, atol=1e-10)
        assert discrete.modes.tolist() == [Mode.FREE] * 2


def test_what_is_violated_most_is_named_with_its_amount():
    joint = Joint("hinge", lambda q: q[:1], count=1)
    floor = Contact("floor", lambda q: q[1:2])
    for q0, v0, said in (
        ((0.2, 1.0, 0.0), (0, 0, 0), "joint 'hinge' violated by 0.2"),
        ((-0.2, -0.3, 0.0), (0, 0, 0), "contact 'floor' violated by -0.3"),
        ((-0.4, -0.3, 0.0), (0, 0, 0), "joint 'hinge' violated by -0.4"),
        ((0.0, 1.0, 0.0), (-0.5, 0, 0), "joint 'hinge' rate violated by -0.5"),
        ((0.1, 1.0, 0.0), (-0.5, -9, 0), "joint 'hinge' rate violated by -0.5"),
        ((2e-8, 1.0, 0.0), (0, 0, 0), "joint 'hinge' violated by 2e-08"),
    ):
        with pytest.raises(pl.InputError, match=f"arm starts with {said}: .*project=True"):
            started((joint, floor), q0=q0, v0=v0, project=False)
    for q0 in ((0.5e-8, 1.0, 0.0), (0.0, -0.5e-8, 0.0), (0.0, 0.0, 0.0)):
        q, v, _ = started((joint, floor), q0=q0, v0=(0.0, -3.0, 0.0), project=False)
        np.testing.assert_array_equal(q, q0)
        np.testing.assert_array_equal(v, (0.0, -3.0, 0.0))


def test_curved_joints_are_met_exactly_and_contradictions_are_told():
    sphere = Joint("sphere", lambda q: q @ q - 1.0)
    q, v, _ = started((sphere,), q0=(0.0, 2.0, 0.0), v0=(1.0, 1.0, 1.0), mass=np.ones(3))
    np.testing.assert_allclose(q, (0.0, 1.0, 0.0), atol=1e-9)
    np.testing.assert_allclose(v, (1.0, 0.0, 1.0), atol=1e-9)
    both = Joint("one", lambda q: q[:1]), Joint("other", lambda q: q[:1] - 1.0)
    with pytest.raises(pl.ConvergenceError, match="arm: no state near the start satisfies all constraints"):
        started(both)


def test_joints_of_a_machine_are_closed_in_its_initial_state_and_relative_ones_keep_their_value():
    first, second = (Joint(name, lambda q, k=k: q[k : k + 1]) for k, name in enumerate(("first", "second")))
    steps = (Transition(0, 1, lambda t, q, v, lam: 1.0 - t),)
    for initial, moved in ((0, 0), (1, 1)):
        machine = Machine("latch", {0: ("first",), 1: ("second",)}, steps, initial=initial)
        q, _, discrete = started((first, second), machines=(machine,), mass=np.ones(3))
        expected = np.array([0.3, -0.1, 0.4])
        expected[moved] = 0.0
        np.testing.assert_allclose(q, expected, atol=1e-12)
        assert discrete.states == (initial,)
        assert discrete.modes.tolist() == [Mode.CONTACT if k == moved else Mode.FREE for k in range(2)]
    weld = Joint("weld", lambda q: q[:2], count=2, relative=True)
    q, _, discrete = started((weld,), v0=(0, 0, 1.0), project=False)
    np.testing.assert_array_equal(discrete.offsets, (0.3, -0.1))
    np.testing.assert_array_equal(q, (0.3, -0.1, 0.4))
