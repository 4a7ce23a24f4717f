"""Accelerations and forces in one discrete state, against the matrices of the whole system, densely."""

from dataclasses import replace

import numpy as np
import pytest

from pliant.hybrid import Contact, Friction, HybridSystem, Joint, Mode
from pliant.hybrid.contact_laws import Grip
from pliant.hybrid.equations import Equations
from pliant.hybrid.initial_state import initial_discrete
from pliant.hybrid.mode_dynamics import ModeDynamics, NoForceError

N = 5


def random_matrices(seed):
    chance = np.random.default_rng(seed)
    root = chance.normal(size=(N, N))
    return chance, root @ root.T + N * np.eye(N)


def quadratic(A, b, c):
    """h = c + b·q + ½ qᵀA q for each of the rows, with its gradient and the curvature along v, by hand."""

    def value(q):
        return c + b @ q + 0.5 * np.stack([q @ each @ q for each in A])

    def rows(q, v):
        return value(q), b + np.stack([each @ q for each in A]), np.stack([v @ each @ v for each in A])

    return value, rows


def machine(seed, *, by_hand=False, compliance=0.0, mass="matrix", friction=None, odd=None):
    """A joint of two rows and a contact of two rows, quadratic in q, with random inertia, forces and inputs."""
    chance, M = random_matrices(seed)
    parts = []
    for _ in range(2):
        A = chance.normal(size=(2, N, N))
        parts.append(quadratic(A + A.transpose(0, 2, 1), chance.normal(size=(2, N)), 0.1 * chance.normal(size=2)))
    joint = Joint("joint", parts[0][0], alpha=(30.0, 7.0), count=2, rows=parts[0][1] if by_hand else None)
    contact = Contact("contact", parts[1][0], alpha=(50.0, 3.0, 2e3), count=2, friction=friction, odd=odd,
                      rows=parts[1][1] if by_hand else None)  # fmt: skip
    given = {"matrix": M, "diagonal": np.diag(M).copy(), "function": lambda q: M * (1.0 + q[0] ** 2)}[mass]
    B, weight = chance.normal(size=(N, 2)), chance.normal(size=N)
    system = HybridSystem(
        q0=0.1 * chance.normal(size=N), v0=chance.normal(size=N), mass=given, inputs=B, compliance=compliance,
        bias=lambda q, v: weight + 0.3 * v, constraints=(joint, contact),
    )  # fmt: skip
    return system, parts, B, weight, chance


def matrix_of(system):
    given = system.mass(system.q0) if callable(system.mass) else system.mass
    return np.diag(given) if given.ndim == 1 else given


def discrete_of(equations, closed, grips=None):
    made = initial_discrete(equations, equations.system.q0)
    modes = made.modes.copy()
    modes[closed] = Mode.CONTACT
    return replace(made, modes=modes, grips=made.grips if grips is None else np.array(grips, np.int8))


@pytest.mark.parametrize("by_hand", [False, True])
@pytest.mark.parametrize("mass", ["matrix", "diagonal", "function"])
@pytest.mark.parametrize("closed", [[], [2], [2, 3], [3]])
def test_accelerations_obey_newton_and_the_stabilised_constraints(by_hand, mass, closed):
    """One dense solve of M v̇ − Hᵀλ = B u − b, H v̇ = −c, with the contact's own cubic term."""
    system, parts, B, weight, chance = machine(1, by_hand=by_hand, mass=mass)
    equations = Equations(system)
    dynamics = ModeDynamics(equations, discrete_of(equations, closed))
    q, v, u = system.q0, system.v0, chance.normal(size=2)
    found = dynamics.acceleration(q, v, u)
    rows, rhs = [], []
    for (_, own), alpha, chosen in zip(
        parts, ((30.0, 7.0, 0.0), (50.0, 3.0, 2e3)), ([0, 1], [k - 2 for k in closed]), strict=True
    ):
        h, H, c = own(q, v)
        a0, a1, a2 = alpha
        rows.append(H[chosen])
        rhs.append((c + a1 * (H @ v) + a0 * h + a2 * h**3)[chosen])
    H, c, M = np.concatenate(rows), np.concatenate(rhs), matrix_of(system)
    k = len(H)
    whole = np.block([[M, -H.T], [H, np.zeros((k, k))]])
    solved = np.linalg.solve(whole, np.concatenate([B @ u - weight - 0.3 * v, -c]))
    np.testing.assert_allclose(found, solved[:N], rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(dynamics.lam, solved[N:], rtol=1e-7, atol=1e-7)
    spread = np.zeros(4)
    spread[[0, 1, *closed]] = solved[N:]
    np.testing.assert_allclose(dynamics.normals(), spread, rtol=1e-7, atol=1e-7)
    np.testing.assert_array_equal(dynamics.dv, found)


def test_an_odd_law_replaces_the_cubic_term():
    own = lambda h: 9.0 * h + 4.0 * h**5  # noqa: E731
    plain, _, _, _, _ = machine(2)
    odd, parts, *_ = machine(2, odd=own)
    q, v = plain.q0, plain.v0
    h = parts[1][1](q, v)[0]
    c = []
    for system in (plain, odd):
        equations = Equations(system)
        c.append(ModeDynamics(equations, discrete_of(equations, [2, 3])).assemble(q, v)[2])
    np.testing.assert_allclose(c[1] - c[0], [0, 0, *(own(h) - 2e3 * h**3)], rtol=1e-10, atol=1e-12)


def test_one_row_alone_is_solved_as_several_are():
    """The short way of a single row with a constant mass gives what the general one does, by any of its inputs."""
    chance, M = random_matrices(3)
    value, rows = quadratic(np.stack([M / 9.0]), chance.normal(size=(1, N)), np.array([-0.01]))
    for inputs in (None, chance.normal(size=(N, 2)), lambda q: np.outer(1.0 + q, [1.0, 2.0])):
        for bias in (None, lambda q, v: 0.5 * v - q):
            for given in (None, rows):
                contact = Contact("floor", value, alpha=(40.0, 6.0, 5e2), rows=given)
                shared = {"q0": 0.1 * np.ones(N), "v0": np.arange(N) - 1.5, "mass": M, "bias": bias, "inputs": inputs}
                quick = HybridSystem(constraints=(contact,), **shared)
                found = []
                for forced in (False, True):
                    equations = Equations(quick)
                    dynamics = ModeDynamics(equations, discrete_of(equations, [0]))
                    assert ("acceleration" in vars(dynamics)) is True
                    way = type(dynamics).acceleration.__get__(dynamics) if forced else dynamics.acceleration
                    dynamics.trace = []
                    u = None if inputs is None else np.array([0.3, -0.7])
                    found.append((way(quick.q0, quick.v0, u), dynamics.lam, dynamics.trace[0]))
                for a, b in zip(*found, strict=True):
                    np.testing.assert_allclose(a, b, rtol=1e-10)


@pytest.mark.parametrize("compliance", [1e-3, 0.1])
def test_compliance_softens_by_its_fraction_of_the_mean_diagonal(compliance):
    system, *_ = machine(4, compliance=compliance)
    equations = Equations(system)
    dynamics = ModeDynamics(equations, discrete_of(equations, [2, 3]))
    dv = dynamics.acceleration(system.q0, system.v0, None)
    R, _, c = dynamics.assemble(system.q0, system.v0)
    S = R @ np.linalg.solve(matrix_of(system), R.T)
    np.testing.assert_allclose(R @ dv + c, -compliance * np.trace(S) / 4.0 * dynamics.lam, rtol=1e-7, atol=1e-8)


def test_redundant_rows_share_their_force_and_are_counted():
    """The same floor twice and once more: each carries half or a third of the weight."""
    for copies in (2, 3):
        floor = tuple(Contact(f"floor {k}", lambda q: q[:1]) for k in range(copies))
        system = HybridSystem(q0=[0.0, 0.0], v0=[0.0, 0.0], mass=[2.0, 1.0], bias=lambda q, v: np.array([19.62, 0.0]),
                              constraints=floor)  # fmt: skip
        equations = Equations(system)
        dynamics = ModeDynamics(equations, discrete_of(equations, list(range(copies))))
        np.testing.assert_allclose(dynamics.acceleration(system.q0, system.v0, None), [0.0, 0.0], atol=1e-12)
        np.testing.assert_allclose(dynamics.lam, np.full(copies, 19.62 / copies))
        assert equations.redundant == copies - 1


def test_a_row_without_direction_is_named():
    for mass in (np.ones(2), lambda q: np.eye(2)):
        contact = Contact("flat", lambda q: 0.0 * q[:1])
        system = HybridSystem(q0=[0.0, 0.0], v0=[0.0, 0.0], mass=mass, constraints=(contact,))
        equations = Equations(system)
        dynamics = ModeDynamics(equations, discrete_of(equations, [0]))
        with pytest.raises(NoForceError, match="constraint 'flat' cannot be enforced"):
            dynamics.acceleration(system.q0, system.v0, None)


PLANE = Friction(0.4, slide=lambda q: np.stack([q[0], q[1], q[3], q[4]]), directions=2, damping=6.0)
"""Two blocks, (x, y, z) each, on a floor."""


def blocks(velocity, grips, *, push=(0.0,) * 6):
    floor = Contact("floor", lambda q: np.stack([q[2], q[5]]), count=2, friction=PLANE, alpha=(0.0, 0.0, 0.0))
    weight = np.array([0.0, 0.0, 9.81, 0.0, 0.0, 9.81 * 3.0])
    system = HybridSystem(q0=np.zeros(6), v0=velocity, mass=[1.0] * 3 + [3.0] * 3, constraints=(floor,),
                          bias=lambda q, v: weight, inputs=np.eye(6))  # fmt: skip
    equations = Equations(system)
    dynamics = ModeDynamics(equations, discrete_of(equations, [0, 1], grips))
    dv = dynamics.acceleration(system.q0, system.v0, np.array(push))
    return dynamics, system, dv


def test_sticking_and_slipping_blocks_side_by_side():
    """The first slides at (0.3, 0.4) m/s and is braked by μg against its motion; the second sticks against a push."""
    velocity, push = [0.3, 0.4, 0.0, 0.01, -0.02, 0.0], (0.0, 0.0, 0.0, 3.0, -4.0, 0.0)
    dynamics, system, dv = blocks(velocity, [Grip.SLIP, Grip.STICK], push=push)
    np.testing.assert_allclose(dv[:3], [-0.4 * 9.81 * 0.6, -0.4 * 9.81 * 0.8, 0.0], atol=1e-9)
    np.testing.assert_allclose(dv[3:], [-6.0 * 0.01, 6.0 * 0.02, 0.0], atol=1e-9)
    friction = np.array([-3.0 - 3.0 * 0.06, 4.0 + 3.0 * 0.12])
    np.testing.assert_allclose(dynamics.normals(), [9.81, 29.43], rtol=1e-9)
    np.testing.assert_allclose(
        dynamics.tangentials(system.q0, system.v0), [[-0.4 * 9.81 * 0.6, -0.4 * 9.81 * 0.8], friction], rtol=1e-8
    )
    dynamics.discrete.slips[0] = 0.6, 0.8
    margins = dynamics.friction_margins(system.q0, system.v0)
    np.testing.assert_allclose(margins, [0.5, 0.4 * 29.43 - np.linalg.norm(friction)], rtol=1e-8)
    ((normals, tangents, mu),) = dynamics.sticking()
    assert (normals.tolist(), tangents.tolist(), mu) == ([1], [[2, 3]], 0.4)


def test_both_blocks_stick_or_slip():
    dynamics, system, dv = blocks([0.0] * 6, [Grip.STICK] * 2, push=(1.0, 0.0, 0.0, 0.0, 2.0, 0.0))
    np.testing.assert_allclose(dv, 0.0, atol=1e-9)
    np.testing.assert_allclose(dynamics.tangentials(system.q0, system.v0), [[-1.0, 0.0], [0.0, -2.0]], atol=1e-9)
    np.testing.assert_allclose(
        dynamics.friction_margins(system.q0, system.v0), [0.4 * 9.81 - 1.0, 0.4 * 29.43 - 2.0], rtol=1e-9
    )
    ((normals, tangents, _),) = dynamics.sticking()
    assert (normals.tolist(), tangents.tolist()) == ([0, 1], [[2, 3], [4, 5]])
    dynamics, system, dv = blocks([1.0, 0, 0, 0, -1.0, 0], [Grip.SLIP] * 2)
    np.testing.assert_allclose(dv, [-0.4 * 9.81, 0, 0, 0, 0.4 * 9.81, 0], atol=1e-9)
    assert not dynamics.sticking()


def test_sliding_that_no_force_resists_is_said():
    """A rod that leans into its motion: friction turns the ease of the normal direction negative (Painlevé)."""
    tip = Contact("tip", lambda q: q[1:2], friction=Friction(2.0, slide=lambda q: q[:1]))
    M = np.array([[1.0, -0.9], [-0.9, 1.0]])
    refused = []
    for speed in (-1.0, 1.0):
        system = HybridSystem(q0=[0.0, 0.0], v0=[speed, 0.0], mass=M, constraints=(tip,), name="chalk",
                              bias=lambda q, v: np.array([0.0, 1.0]))  # fmt: skip
        equations = Equations(system)
        discrete = discrete_of(equations, [0], [Grip.SLIP])
        discrete.slips[0, 0] = np.sign(speed)
        dynamics = ModeDynamics(equations, discrete)
        ease = np.linalg.inv(M)[1, 1] - 2.0 * np.sign(speed) * np.linalg.inv(M)[1, 0]
        refused.append(ease <= 0.0)
        if refused[-1]:
            with pytest.raises(NoForceError, match="chalk: no force is consistent with sliding"):
                dynamics.acceleration(system.q0, system.v0, None)
        else:
            dynamics.acceleration(system.q0, system.v0, None)
            assert dynamics.lam[0] == pytest.approx(np.linalg.inv(M)[1, 1] / ease, rel=1e-9)
    assert sorted(refused) == [False, True]
