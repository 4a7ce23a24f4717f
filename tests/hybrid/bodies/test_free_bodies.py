"""Rigid bodies in rotation vectors: rotations, derivatives, and a torque-free top."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import pliant as pl
from pliant.hybrid.bodies import FreeBodies
from pliant.hybrid.bodies.free_bodies import rotations, turning, turning_drift

RNG = np.random.default_rng(3)
THETAS = np.concatenate([RNG.uniform(-2.0, 2.0, (5, 3)), 1e-3 * RNG.uniform(-1, 1, (2, 3)), [[0.09, 0.03, 0.0]]])


def test_rotations_agree_with_scipy():
    assert rotations(THETAS) == pytest.approx(Rotation.from_rotvec(THETAS).as_matrix(), abs=1e-14)


def test_turning_is_the_angular_velocity_of_the_rotation():
    rates = RNG.uniform(-1.0, 1.0, THETAS.shape)
    step = 1e-30
    R = rotations(THETAS)
    dR = rotations(THETAS + 1j * step * rates).imag / step
    spin = R.transpose(0, 2, 1) @ dR
    w = np.einsum("kij,kj->ki", turning(THETAS), rates)
    assert np.stack([spin[:, 2, 1], spin[:, 0, 2], spin[:, 1, 0]], axis=1) == pytest.approx(w, abs=1e-13)
    dJ = turning(THETAS + 1j * step * rates).imag / step
    assert turning_drift(THETAS, rates) == pytest.approx(np.einsum("kij,kj->ki", dJ, rates), abs=1e-11)


def test_points_have_exact_derivatives():
    bodies = FreeBodies([1.0, 2.0], [[0.1, 0.2, 0.3], [0.2, 0.2, 0.1]])
    q, v = RNG.uniform(-1.0, 1.0, 12), RNG.uniform(-1.0, 1.0, 12)
    owner, local = np.array([0, 1, 1]), RNG.uniform(-1.0, 1.0, (3, 3))
    x, jacobian, drift = bodies.point_rows(q, v, owner, local)
    assert x == pytest.approx(bodies.points(q, owner, local))
    step = 1e-30
    moved = bodies.points(q + 1j * step * v, owner, local).imag / step
    parts = v.reshape(2, 6)[owner]
    assert np.einsum("pij,pj->pi", jacobian, parts) == pytest.approx(moved, abs=1e-13)
    later = bodies.point_rows(q + 1j * step * v, v.astype(complex), owner, local)[1].imag / step
    assert np.einsum("pij,pj->pi", later, parts) == pytest.approx(drift, abs=1e-12)


def test_a_free_top_keeps_energy_and_angular_momentum():
    inertia = np.array([0.01, 0.02, 0.03])
    top = FreeBodies([1.0], [inertia], gravity=0.0)
    q0, v0 = np.zeros(6), np.array([0.1, 0.0, 0.0, 0.2, 3.0, 0.1])
    system = pl.hybrid.HybridSystem(q0=q0, v0=v0, mass=top.mass, bias=top.bias)
    final = pl.hybrid.integrate(system, until=1.0).final

    def invariants(q, v):
        theta, rate = q[None, 3:], v[3:]
        w = turning(theta)[0] @ rate
        return np.append(rotations(theta)[0] @ (inertia * w), 0.5 * w @ (inertia * w))

    assert invariants(final.q, final.v) == pytest.approx(invariants(q0, v0), abs=1e-8)
    assert np.abs(final.q[3:]).max() > 1.0


def test_massless_bodies_are_refused():
    with pytest.raises(pl.InputError, match="must be > 0"):
        FreeBodies([0.0], [[1.0, 1.0, 1.0]])
