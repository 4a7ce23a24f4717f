"""Residuals and matrices of a step: one is the derivative of the other; mass by sums over points."""

import numpy as np
import pytest

import pliant as pl
from pliant.materials import Tangent
from pliant.models.body import Parts
from pliant.models.model import StepStart
from pliant.models.rod import RodModel
from pliant.models.rod.rod_map import RodMap
from pliant.models.scheme import STATIC_SCHEME, euler_scheme, midpoint_scheme

GRAVITY = np.array([0.0, 0.0, -9.81])
SCHEMES = {"static": STATIC_SCHEME, "euler": euler_scheme(0.05), "midpoint": midpoint_scheme(0.05)}


def loaded(rod, *, moment):
    loads = [pl.RodLoad(rod, 0.83, (1.0, 2.0, 3.0), moment), pl.RodLoad(rod, 0.31, (1.0, -2.0, 0.5))]
    return RodModel.compiled(rod, parts=Parts(loads=loads))


def slope(trial, model):
    """−∂r/∂dx by central differences of 4th order over the active unknowns."""
    base, columns, h = trial.dx.copy(), [], 1e-3
    for number in model.active:
        unit = np.zeros(base.size)
        unit[number] = h
        total = np.zeros(base.size)
        for k, w in ((-2, 1), (-1, -8), (1, 8), (2, -1)):
            trial.dx = trial.moved(base, unit.reshape(base.shape), float(k))
            total += w * trial.residual().r.ravel()
        columns.append(-total[model.active] / (12 * h))
    trial.dx = base
    return np.stack(columns, axis=1)


@pytest.mark.parametrize("moment", [(0, 0, 0), (0.3, 0.2, -0.5)], ids=["forces", "moments"])
@pytest.mark.parametrize("name", SCHEMES)
def test_the_matrix_is_the_derivative_of_the_residual(rod, bent, name, moment):
    """A symmetric matrix has the symmetric part where the base turns under a moment; the midpoint rule is exact for a
    base that does not.
    """
    model = loaded(rod(damping=pl.Rayleigh(mass=0.3, stiffness=0.02)), moment=moment)
    rng = np.random.default_rng(2)
    v = rng.normal(size=model.constrained.shape) if name != "static" else np.zeros(model.constrained.shape)
    trial = model.trial(StepStart(bent(model), v, SCHEMES[name], GRAVITY, {}))
    trial.dx = 0.05 * rng.normal(size=model.constrained.shape)
    if name == "midpoint":
        trial.dx[1] = 0.0
    system, _ = trial.linearize(Tangent.EXACT)
    expected = slope(trial, model)
    if system.symmetric:
        expected[3:6, 3:6] = 0.5 * (expected + expected.T)[3:6, 3:6]
    error, scale = np.abs(expected - system.A), np.abs(system.A).max()
    kept = slice(None) if name != "midpoint" else [0, 1, 2, *range(6, len(error))]
    assert error[:, kept][kept].max() < 1e-9 * scale


def test_dead_forces_make_a_symmetric_stiffness_and_moments_do_not(rod, bent):
    for moment, symmetric in (((0, 0, 0), True), ((0.3, 0.2, -0.5), False)):
        model = loaded(rod(base="fixed"), moment=moment)
        trial = model.trial(StepStart(bent(model), np.zeros(model.constrained.shape), STATIC_SCHEME, GRAVITY, {}))
        system, _ = trial.linearize(Tangent.EXACT)
        K = system.A[np.ix_(model.free_active, model.free_active)]
        assert bool(np.abs(K - K.T).max() < 1e-11 * np.abs(K).max()) is symmetric
        assert system.symmetric is symmetric


def test_the_mass_matrix_is_the_sum_over_points(model, bent):
    """J from the map of points on the axis and at the ends of the sections' axes, which carry ρA, ρI_z and ρI_y."""
    q, stations = bent(model), model.stations
    section = np.repeat(np.arange(4), np.diff(stations.first))
    at = (section + stations.fraction) * 0.25
    total = np.zeros((len(model.active), len(model.active)))
    center = RodMap.at(model, at).jacobians(q)[0]
    for axis, offset in enumerate([(0, 0, 0), (0, 1, 0), (0, 0, 1)]):
        J = RodMap.at(model, at, np.tile(np.array(offset, float), (len(at), 1))).jacobians(q)[0]
        J = J - center if axis else J
        total += np.einsum("s,sra,srb->ab", stations.mu[:, axis], J, J)
    np.testing.assert_allclose(model.mass_matrix(model.sweep(q)), total, atol=1e-14 * np.abs(total).max() * 50)


def test_the_mass_matrix_between_two_poses_is_that_of_both_jacobians(model, bent):
    one, other = model.sweep(bent(model, 1)), model.sweep(bent(model, 2))
    M, back = model.mass_matrix(one, 1.0, other), model.mass_matrix(other, 1.0, one)
    np.testing.assert_allclose(M, back.T, atol=1e-14 * np.abs(M).max() * 50)
    assert np.abs(M - M.T).max() > 1e-3 * np.abs(M).max()


def test_forces_are_the_derivative_of_the_energy(rod, bent, moved):
    model = loaded(rod(), moment=(0, 0, 0))
    q, zero = bent(model), np.zeros(model.constrained.shape)
    r = model.trial(StepStart(q, zero, STATIC_SCHEME, GRAVITY, {})).residual().r
    dx = np.random.default_rng(5).normal(size=zero.shape)

    def energy(h):
        x = moved(model, q, h * dx)
        return model.elastic_energy(x) + model.potential_energy(x, GRAVITY, {})

    h = 1e-3
    slope = sum(w * energy(k * h) for k, w in ((-2, 1), (-1, -8), (1, 8), (2, -1))) / (12 * h)
    assert slope == pytest.approx(-float(np.vdot(r, dx)), rel=1e-8)


def test_one_linear_solve_has_the_coriolis_terms(rod):
    """A free rod that spins and bends: one solve of Euler's step is of order 1, the midpoint rule of order 2."""
    scene = pl.Scene()
    body = scene.add(rod(strains=("twist", "bend_y", "bend_z"), young=1e7))
    world = scene.compile()
    q, v = world.models[0].initial()
    v[1] = (0.0, 3.0, 8.0)
    v[2::2] = (0.3, 1.0, -2.0)

    def tip(stepper):
        state = pl.State(world, 0.0, (q.copy(),), (v.copy(),), np.zeros(0))
        for _ in range(round(0.1 / stepper.dt)):
            state, _ = stepper(world, state)
        return state.points(body)[-1]

    exact = tip(pl.ImplicitMidpoint(2.5e-4))
    once = [np.linalg.norm(tip(pl.ImplicitEuler(dt)) - exact) for dt in (0.002, 0.001)]
    middle = [np.linalg.norm(tip(pl.ImplicitMidpoint(dt)) - exact) for dt in (0.004, 0.002)]
    print(f"errors of the tip, m: Euler {once}, midpoint {middle}")
    assert 1.7 < once[0] / once[1] < 2.3
    assert 3.3 < middle[0] / middle[1] < 7.0
    assert once[1] < 5e-3
    assert middle[1] < 1e-4
