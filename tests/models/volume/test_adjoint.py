"""Adjoints of a step of a volume: transposes and derivatives of its residual, against differences of the residual."""

from types import SimpleNamespace

import numpy as np
import pytest
from scipy import sparse

import pliant as pl
from pliant.core.immutable import evolve
from pliant.materials import Tangent
from pliant.models.scheme import damped_schemes, euler_scheme, midpoint_scheme
from pliant.stepping.bodies import StepBodies

NEO = pl.materials.NeoHookean(young=1e5, poisson=0.4, density=1e3)
WARPED = pl.materials.Corotated(young=1e5, poisson=0.4, density=1e3)
SCHEMES = {
    "euler": euler_scheme(0.01), "midpoint": midpoint_scheme(0.01), "first of two": damped_schemes(0.02, 0.3)[0]
}  # fmt: skip
H = 1e-7


def step_of(material, scheme, *, free=False, damping=(2.0, 0.01)):
    """A bent beam of twelve nodes in motion: its model, a start and an end, and trials of the step between any."""
    scene, rng = pl.Scene(), np.random.default_rng(1)
    options = {} if free else {"clamp": pl.regions.plane(axis="x", at=0.0)}
    mesh = pl.mesh.box((0.04, 0.02, 0.02), (2, 1, 1))
    scene.add(pl.Volume(mesh, material, damping=pl.Rayleigh(mass=damping[0], stiffness=damping[1]), **options))
    world = scene.compile()
    (model,) = world.models
    loose = ~model.constrained
    q = model.rest + 3e-4 * rng.normal(size=model.rest.shape) * loose
    v = 0.05 * rng.normal(size=q.shape) * loose
    if free:
        v += np.cross((3.0, -5.0, 14.0), q - q.mean(axis=0))
    end = q + 0.01 * v + 2e-4 * rng.normal(size=q.shape) * loose

    def trial(q, v, end):
        state = evolve(world.initial_state(), q=(q,), v=(v,))
        return StepBodies.begin(world, state, scheme, world.controls(None)).trials[0].at(end - q)

    return SimpleNamespace(model=model, loose=loose, q=q, v=v, end=end, trial=trial, rng=rng)


def check(step, adjoint, residual, *, rest=True):
    """`residual(q, v, end)` is −R: its changes by the start and the end are those of `adjoint`, and transposed."""
    q, v, end, loose = step.q, step.v, step.end, step.loose
    dq, dv, de, w = (step.rng.normal(size=q.shape) * loose for _ in range(4))

    def slope(by_q, by_v, by_end):
        ahead, back = (residual(q + s * by_q, v + s * by_v, end + s * by_end) for s in (H, -H))
        return loose * (ahead - back) / (2.0 * H)

    zero = np.zeros_like(q)
    by_start, by_end = slope(dq, dv, zero), slope(zero, zero, de)
    columns = [np.stack([each.ravel(), zero.ravel()], axis=1) for each in (dq, dv)]
    started = adjoint.started(*columns)
    size = np.abs(by_start).max()
    np.testing.assert_allclose(loose * started[:, 0].reshape(q.shape), by_start, atol=1e-6 * size)
    np.testing.assert_array_equal(started[:, 1], 0.0)
    to_q, to_v = adjoint.start(w)
    assert (to_q * dq).sum() == pytest.approx((w * slope(dq, zero, zero)).sum(), rel=1e-5, abs=1e-6 * size)
    assert (to_v * dv).sum() == pytest.approx((w * slope(zero, dv, zero)).sum(), rel=1e-5, abs=1e-8 * size)
    beside = adjoint.rest_along(de)
    force = -by_end - (0.0 if beside is None else beside)
    np.testing.assert_allclose(adjoint.solve(force), de, atol=1e-6 * np.abs(de).max())
    transposed = adjoint.rest(w)
    if transposed is not None:
        assert (transposed * de).sum() == pytest.approx((w * beside).sum(), rel=1e-9)
    rows = sparse.csr_matrix(np.stack([w.ravel(), force.ravel()]))
    np.testing.assert_allclose(adjoint.solve_rows(rows)[:, 1], de.ravel(), atol=1e-6 * np.abs(de).max())
    np.testing.assert_allclose(adjoint.solve_columns(rows.T.toarray()), adjoint.solve_rows(rows), rtol=1e-12)
    check_velocity(step, adjoint)
    adjoint.release()


def check_velocity(step, adjoint):
    """Velocities at the end follow the end and the start as differences of them say, and transposed."""
    zero = np.zeros_like(step.q)
    dq, dv, de, g = (step.rng.normal(size=step.q.shape) * step.loose for _ in range(4))
    pulled = adjoint.velocity(g)
    ways = np.stack([zero.ravel(), de.ravel()], axis=1), np.stack([dq.ravel(), zero.ravel()], axis=1)
    ended = adjoint.ended(*ways, np.stack([dv.ravel(), zero.ravel()], axis=1))
    for k, (e, b, c) in enumerate(((zero, dq, dv), (de, zero, zero))):
        ahead, back = (step.trial(step.q + s * b, step.v + s * c, step.end + s * e).velocities() for s in (H, -H))
        change = (ahead - back) / (2.0 * H)
        size = np.abs(change).max()
        np.testing.assert_allclose(ended[:, k].reshape(zero.shape), change, atol=1e-6 * size)
        total = sum((each * way).sum() for each, way in zip(pulled[:3], (e, b, c), strict=True))
        assert total == pytest.approx((g * change).sum(), rel=1e-5, abs=1e-6 * size)
    assert not any(np.any(each) for each in adjoint.velocity(zero)[:3])


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("damping", [(2.0, 0.01), (0.0, 0.0)])
def test_it_is_the_derivative_of_the_residual(scheme, damping):
    step = step_of(NEO, SCHEMES[scheme], damping=damping)

    def residual(q, v, end):
        return step.trial(q, v, end).linearize(Tangent.EXACT)[1].r

    check(step, step.trial(step.q, step.v, step.end).adjoint([]), residual)


@pytest.mark.parametrize("material", [NEO, WARPED])
@pytest.mark.parametrize("damping", [(2.0, 0.01), (0.0, 0.0)])
def test_that_of_one_linear_solve_is_the_derivative_of_its_equation(material, damping):
    """A(q) dx = r(q, v), both of the start of the step."""
    step = step_of(material, SCHEMES["euler"], damping=damping)

    def residual(q, v, end):
        system, found = step.trial(q, v, q).linearize(Tangent.WARPED)
        return found.r - system.product(end - q)

    check(step, step.trial(step.q, step.v, step.end).linear_adjoint(lambda q: []), residual)


def test_a_body_that_turns_by_itself_has_the_derivative_of_its_rotation():
    step = step_of(NEO, SCHEMES["euler"], free=True)
    trial = step.trial(step.q, step.v, step.end)
    assert trial.turning is not None

    def residual(q, v, end):
        return step.trial(q, v, end).linearize(Tangent.EXACT)[1].r

    check(step, trial.adjoint([]), residual)
