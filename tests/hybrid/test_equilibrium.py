"""Equilibria and operating points by closed forms, returns and what a system keeps of what it is given."""

import numpy as np
import pytest

import pliant as pl
from pliant.hybrid import Contact, Friction, HybridSystem, Joint, Machine, Mode, Transition
from pliant.hybrid.contact_laws import Grip
from pliant.hybrid.equations import Equations
from pliant.hybrid.limit_cycles import return_map
from pliant.hybrid.linearize import equilibrium, resolve

WEIGHT = 9.81


def springs(**options):
    """Two masses of 2 and 3 kg under gravity on springs of 100 and 50 N/m, the second on the first; a floor at −1 m."""
    K = np.array([[150.0, -50.0], [-50.0, 50.0]])
    return HybridSystem(
        q0=[0.1, 0.2], v0=[0.0, 0.0], mass=[2.0, 3.0], bias=lambda q, v: K @ q + WEIGHT * np.array([2.0, 3.0]) + v,
        inputs=np.array([[1.0], [2.0]]), constraints=(Contact("floor", lambda q: q[1] + 1.0),), **options,
    ), K  # fmt: skip


def test_springs_rest_where_their_forces_balance():
    system, K = springs()
    load = np.array([2.0, 3.0]) * WEIGHT
    q, u, lam = equilibrium(system, ([0.3, -0.2], [0, 0]), active="none")
    np.testing.assert_allclose(q, np.linalg.solve(K, -load), atol=1e-12)
    assert (u.tolist(), lam.tolist()) == ([0.0], [])
    q, u, lam = equilibrium(system, ([0.3, -0.2], [0, 0], [5.0]), active="none")
    np.testing.assert_allclose(q, np.linalg.solve(K, 5.0 * np.array([1, 2]) - load), atol=1e-12)
    assert u.tolist() == [5.0]
    q, _, lam = equilibrium(system, ([0.3, -0.9], [0, 0]), active="all")
    assert q[1] == pytest.approx(-1.0)
    assert q[0] == pytest.approx((-2.0 * WEIGHT - 50.0) / 150.0)
    assert lam == pytest.approx([K[1] @ q + 3.0 * WEIGHT])


def test_inputs_are_found_where_the_place_is_given_by_joints():
    system, K = springs()
    place = Joint("place", lambda q: q[:1] - 0.4)
    held = HybridSystem(q0=[0.4, 0.0], v0=[0, 0], mass=[2.0, 3.0], bias=system.bias, inputs=system.inputs,
                        constraints=(place,))  # fmt: skip
    q, u, lam = equilibrium(held, ([0.3, 0.2], [0, 0]), solve_inputs=True)
    assert q[0] == pytest.approx(0.4)
    np.testing.assert_allclose(K @ q + WEIGHT * np.array([2.0, 3.0]), [u[0] + lam[0], 2.0 * u[0]], atol=1e-10)


def test_no_equilibrium_is_told():
    falling = HybridSystem(q0=[0.0], v0=[0.0], mass=[1.0], bias=lambda q, v: np.array([WEIGHT]))
    with pytest.raises(pl.ConvergenceError, match=r"no equilibrium near the guess, residual 9\.81"):
        equilibrium(falling, ([0.0], [0.0]))


def test_what_touches_is_active_at_a_point_given_by_hand():
    rub = Friction(0.3, slide=lambda q: q[2:3])
    contacts = tuple(
        Contact(name, lambda q, k=k: q[k : k + 1], friction=rub if name == "b" else None) for k, name in enumerate("ab")
    )
    pin = Joint("pin", lambda q: q[2:3] - 0.5, relative=True)
    catch = Joint("catch", lambda q: q[:1])
    machine = Machine("latch", {1: ("catch",)}, (Transition(0, 1, lambda t, q, v, lam: 1.0 - t),))
    system = HybridSystem(q0=[1.0, 1.0, 0.5], v0=np.zeros(3), mass=np.ones(3), constraints=(*contacts, pin, catch),
                          machines=(machine,))  # fmt: skip
    equations = Equations(system)

    def modes(active, q=(0.9e-6, 1.1e-6, 0.7)):
        _, _, _, discrete = resolve(equations, (q, np.zeros(3)), active)
        return [int(mode) for mode in discrete.modes == Mode.CONTACT], discrete

    assert modes("contact")[0] == [1, 0, 1, 0]
    assert modes("contact", (-0.9e-6, -0.9e-6, 0.7))[0] == [1, 1, 1, 0]
    assert modes("contact", (-1.1e-6, 0.9e-6, 0.7))[0] == [0, 1, 1, 0]
    assert modes("none")[0] == [0, 0, 1, 0]
    assert modes("all")[0] == [1, 1, 1, 1]
    assert modes(["b"])[0] == [0, 1, 1, 0]
    assert modes(["catch"])[0] == [0, 0, 1, 1]
    held, discrete = modes(["a", "b"])
    assert held == [1, 1, 1, 0]
    assert discrete.grips.tolist() == [Grip.NONE, Grip.STICK, Grip.NONE, Grip.NONE]
    assert discrete.offsets[2] == pytest.approx(0.2), "a relative joint stays where it is"
    for bad, said in ((["x"], r"no constraints \['x'\]"), ("some", 'must be "contact"'), ([1], "names of constraints")):
        with pytest.raises(pl.InputError, match=said):
            resolve(equations, (np.zeros(3), np.zeros(3)), bad)
    for point in ((np.zeros(3),), np.zeros(3), 5, (np.zeros(2), np.zeros(3)), (np.zeros(3), np.zeros(3), [1.0])):
        with pytest.raises(pl.InputError, match="point"):
            resolve(equations, point, "contact")


def test_a_return_is_to_the_next_event_of_its_kind():
    """A ball between two plates in a swing: events of the other plate, and one at the start itself, do not count."""
    e = 1.0
    plates = (
        Contact("low", lambda q: q[:1], restitution=pl.hybrid.Restitution(e, rest_speed=0.0)),
        Contact("high", lambda q: 1.0 - q[:1], restitution=pl.hybrid.Restitution(e, rest_speed=0.0)),
    )
    system = HybridSystem(q0=[0.5], v0=[2.0], mass=[1.0], constraints=plates)
    run = pl.hybrid.integrate(system, until=0.26)
    found = return_map(system, run.final, event=lambda event: event.name == "high", until=5.0)
    assert found.time == pytest.approx(0.25 - 0.26 + 1.0)
    np.testing.assert_allclose(found.x, [1.0, -2.0], atol=1e-9)
    with pytest.raises(pl.InputError, match=r"no such event within 0\.3 s"):
        return_map(system, run.final, event=lambda event: event.name == "high", until=0.3)


def test_lists_become_tuples_and_copies_and_bad_descriptions_are_named():
    joint = Joint("a", lambda q: q[:1])
    system = HybridSystem(
        q0=[1, 2], v0=[0, 0], mass=[[2, 0], [0, 3]], constraints=[joint], machines=[], inputs=[[1], [0]]
    )
    assert (system.constraints, system.machines) == ((joint,), ())
    assert (system.q0.dtype, system.mass.shape, system.inputs.shape) == (np.float64, (2, 2), (2, 1))
    assert (system.coordinate_count, system.input_count, system.labels) == (2, 1, ("q1", "q2"))
    assert HybridSystem(q0=[1], v0=[0], mass=[1]).input_count == 0
    several = HybridSystem(q0=[1, 2], v0=[0, 0], mass=[1, 1], constraints=(Joint("b", lambda q: q, count=2), joint))
    assert several.row_names == ("b[0]", "b[1]", "a")
    machine = Machine("m", {0: ("a",), 1: ("a", "b")}, ())
    assert machine.owned == {"a", "b"}
    good = {"q0": [1.0, 2.0], "v0": [0.0, 0.0], "mass": [1.0, 1.0]}
    for change, said in (
        ({"v0": [0.0]}, "v0"), ({"mass": [1.0]}, r"shape \(2,\) or \(2, 2\)"), ({"mass": np.ones((2, 3))}, "shape"),
        ({"mass": [[1.0, 0.1], [0.2, 1.0]]}, "symmetric"), ({"inputs": [1.0, 2.0]}, "inputs"),
        ({"constraints": (joint, joint)}, r"twice: \['a'\]"), ({"constraints": joint}, "must be a tuple of Joint"),
        ({"machines": (machine,), "constraints": (joint,)}, r"unknown ones: \['b'\]"),
        ({"machines": ("m",)}, "must be a tuple of Machine"), ({"labels": ("x",)}, "2 coordinates, but 1 labels"),
    ):  # fmt: skip
        with pytest.raises(pl.InputError, match=said):
            HybridSystem(**good | change)
    twice = (Machine("m", {0: ("a",)}, ()), Machine("n", {0: ("a",)}, ()))
    with pytest.raises(pl.InputError, match=r"share constraints .*\['a', 'a'\]"):
        HybridSystem(**good, constraints=(joint,), machines=twice)
