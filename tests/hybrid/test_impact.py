"""Impulsive impacts by closed forms: one and several contacts, joints, both laws, rest speeds, energy removed."""

import numpy as np
import pytest

from pliant.hybrid import Contact, HybridSystem, Joint, Restitution
from pliant.hybrid.equations import Equations
from pliant.hybrid.impact import impact, with_energy_removed
from pliant.hybrid.initial_state import initial_discrete

MASS = np.array([[2.0, 0.3], [0.3, 1.0]])


def system_of(*constraints, mass=MASS, v=(0.0, 0.0)):
    n = len(v)
    made = HybridSystem(q0=np.zeros(n), v0=v, mass=mass, constraints=constraints)
    equations = Equations(made)
    return equations, initial_discrete(equations, made.q0), made.q0, np.array(v, float)


def wall(name, normal, e, law="newton", rest_speed=0.0):
    direction = np.array(normal, float)
    return Contact(name, lambda q: direction @ q, restitution=Restitution(e, law, rest_speed))


@pytest.mark.parametrize("law", ["newton", "poisson"])
@pytest.mark.parametrize("e", [0.0, 0.4, 1.0])
def test_one_contact_reverses_its_normal_speed_in_the_metric_of_the_mass(law, e):
    equations, discrete, q, v = system_of(wall("w", (0.6, 0.8), e, law), v=(-1.0, -0.5))
    before, after, rests = impact(equations, discrete, q, v, [0])
    n = np.array([0.6, 0.8])
    assert before == pytest.approx([n @ v])
    assert n @ after == pytest.approx(-e * (n @ v))
    np.testing.assert_allclose(np.linalg.det(np.stack([MASS @ (after - v), n])), 0.0, atol=1e-12)
    lost = 0.5 * v @ MASS @ v - 0.5 * after @ MASS @ after
    assert lost == pytest.approx(0.5 * (1 - e * e) * (n @ v) ** 2 / (n @ np.linalg.solve(MASS, n)))
    assert rests.tolist() == [False]
    assert discrete.modes.tolist() == [0], "what was given stays as it was"


def test_a_slow_impact_rests_at_the_threshold():
    for speed, rest in ((0.1, True), (0.1000001, False)):
        equations, discrete, q, v = system_of(wall("w", (1, 0), 0.5, rest_speed=0.1), v=(-speed, 0.0))
        _, after, rests = impact(equations, discrete, q, v, [0])
        assert rests.tolist() == [rest]
        assert after[0] == pytest.approx(0.0 if rest else 0.5 * speed)


def test_contacts_that_meet_at_once_have_their_own_restitution():
    """Along the axes of a diagonal mass they do not know of each other; one rests, the other rebounds."""
    walls = wall("a", (1, 0), 0.5, rest_speed=0.3), wall("b", (0, 1), 0.8, rest_speed=0.3)
    equations, discrete, q, v = system_of(*walls, mass=np.array([2.0, 1.0]), v=(-0.2, -2.0))
    for rows in ([0, 1], [1, 0]):
        before, after, rests = impact(equations, discrete, q, v, rows)
        np.testing.assert_allclose(before, v[rows])
        np.testing.assert_allclose(after, [0.0, 1.6], atol=1e-12)
        assert rests.tolist() == [row == 0 for row in rows]


def test_newtons_and_poissons_laws_differ_where_contacts_are_coupled():
    """Two walls, of which one is approached: Newton's complementarity and Poisson's two phases, enumerated."""
    a, b, e = np.array([1.0, 0.0]), np.array([0.6, 0.8]), 0.7
    H, v = np.stack([a, b]), np.array([-1.0, 0.6])
    W, u = H @ np.linalg.solve(MASS, H.T), H @ v
    assert u[0] < 0.0 < 0.1 > u[1]

    def enumerated(offset):
        """All p ≥ 0 ⟂ W p + offset ≥ 0 of two rows."""
        for active in ([], [0], [1], [0, 1]):
            p = np.zeros(2)
            if active:
                p[active] = np.linalg.solve(W[np.ix_(active, active)], -offset[active])
            if (p >= -1e-12).all() and (W @ p + offset >= -1e-12).all():
                return p
        raise AssertionError

    expected = {"newton": enumerated(u + e * np.minimum(u, 0.0))}
    compression = enumerated(u)
    expected["poisson"] = (1 + e) * compression + enumerated(u + W @ ((1 + e) * compression))
    for law, p in expected.items():
        equations, discrete, q, _ = system_of(wall("a", a, e, law), wall("b", b, e, law), v=v)
        _, after, _ = impact(equations, discrete, q, v, [0, 1])
        np.testing.assert_allclose(after, v + np.linalg.solve(MASS, H.T @ p), atol=1e-10)
        assert (H @ after >= -1e-12).all()


@pytest.mark.parametrize("twice", [False, True])
def test_a_joint_keeps_its_velocity_at_zero_through_an_impact(twice):
    """q₁ = q₂ moves as one mass; the joint may be there twice."""
    tie = Joint("tie", lambda q: q[:1] - q[1:2])
    again = (Joint("again", lambda q: 2.0 * (q[:1] - q[1:2])),) if twice else ()
    equations, discrete, q, v = system_of(
        tie, *again, wall("w", (0, 1), 0.5), mass=np.array([3.0, 1.0]), v=(-1.0, -1.0)
    )
    row = 1 + twice
    _, after, _ = impact(equations, discrete, q, v, [row])
    np.testing.assert_allclose(after, [0.5, 0.5], atol=1e-10)


def test_energy_is_removed_from_the_normal_motion_alone():
    n = np.array([0.6, 0.8])
    equations, discrete, q, v = system_of(wall("w", n, 0.5), v=(1.0, 0.7))
    ease = n @ np.linalg.solve(MASS, n)
    normal = 0.5 * (n @ v) ** 2 / ease
    for energy in (0.3 * normal, -0.5 * normal, 2.0 * normal, 0.0):
        after = with_energy_removed(equations, discrete, q, v, 0, energy)
        lost = 0.5 * v @ MASS @ v - 0.5 * after @ MASS @ after
        assert lost == pytest.approx(min(energy, normal), abs=1e-12)
        np.testing.assert_allclose(np.linalg.det(np.stack([MASS @ (after - v), n])), 0.0, atol=1e-12)
        assert n @ after >= 0.0
