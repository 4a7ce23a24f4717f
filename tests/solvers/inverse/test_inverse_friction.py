"""Friction in the inverse problem: the forward law holds at every answer, and no actuation nearby is better."""

import numpy as np
import pytest

import pliant as pl
from pliant.solvers.contact import Law, MixedProblem, solve
from pliant.solvers.inverse import QpccStatus, compliance_problem
from pliant.solvers.inverse.facets import faceted_problem

MU = 0.5


def forward(p, x, warm=None):
    """Contact forces of the forward law with x imposed."""
    return solve(MixedProblem.of(p.W_cc, p.C_a @ x + p.c, int(Law.COULOMB), mu=MU), warm, tolerance=1e-11).lam


def cost(p, x):
    return p.objective(x, forward(p, x))


def assert_coulomb(y, w, mu):
    """Signorini's law, the cone, and slip opposed to the pull."""
    y, w = y.reshape(-1, 3), w.reshape(-1, 3)
    assert y[:, 0].min() > -1e-9
    assert w[:, 0].min() > -1e-8
    assert np.abs(y[:, 0] * w[:, 0]).max() < 1e-8
    pull, slip = np.linalg.norm(y[:, 1:], axis=1), np.linalg.norm(w[:, 1:], axis=1)
    assert (pull <= mu * y[:, 0] + 1e-8).all()
    sliding = (slip > 1e-6) & (y[:, 0] > 1e-6)
    np.testing.assert_allclose(y[sliding, 1:], -mu * y[sliding, :1] * (w[:, 1:] / slip[:, None])[sliding], atol=1e-6)


CASES = [
    (na, contacts, seed) for seed, (na, contacts) in enumerate([(1, 1), (2, 1), (1, 2), (2, 2), (3, 2), (2, 3)] * 3)
]


@pytest.mark.parametrize(("na", "contacts", "seed"), CASES)
def test_answers_obey_the_forward_law_and_nothing_nearby_is_better(frictional, na, contacts, seed):
    arrays = frictional(na, contacts, seed)
    p = compliance_problem(**arrays)
    result = pl.solvers.qpcc(**arrays, mu=MU)
    assert result.status is QpccStatus.ONE_FLIP
    assert result.lower_bound == -np.inf
    assert_coulomb(result.y, p.gaps(result.x, result.y), MU)
    np.testing.assert_allclose(forward(p, result.x, result.y), result.y, atol=1e-7)
    assert result.objective == pytest.approx(p.objective(result.x, result.y), rel=1e-12)
    rng = np.random.default_rng(seed)
    for size in (1e-5, 1e-4, 1e-3, 1e-2):
        for _ in range(8):
            x = np.clip(result.x + size * rng.normal(size=na), -2.0, 2.0)
            assert cost(p, x) >= result.objective - 1e-7


@pytest.mark.parametrize("seed", [0, 6, 12, 18, 24, 30])
def test_one_actuator_against_a_dense_grid(frictional, seed):
    """Started from every valley of the grid, the least answer is the least value of the grid or below."""
    arrays = frictional(1, 2, seed)
    p = compliance_problem(**arrays)
    grid = np.linspace(-2.0, 2.0, 161)
    values = np.array([cost(p, np.array([x])) for x in grid])
    padded = np.concatenate([[np.inf], values, [np.inf]])
    valleys = grid[(values <= padded[:-2]) & (values <= padded[2:])]
    answers = [pl.solvers.qpcc(**arrays, mu=MU, warm=[x]).objective for x in valleys]
    assert min(answers) <= values.min() + 1e-9
    assert min(answers) >= values.min() - 0.05  # the grid is fine enough not to miss a valley


@pytest.mark.parametrize("seed", [1, 3])
def test_two_actuators_against_a_grid(frictional, seed):
    arrays = frictional(2, 1, seed)
    p = compliance_problem(**arrays)
    grid = np.linspace(-2.0, 2.0, 17)
    points = np.array([(a, b) for a in grid for b in grid])
    values = np.array([cost(p, x) for x in points])
    answer = pl.solvers.qpcc(**arrays, mu=MU, warm=points[values.argmin()])
    assert answer.objective <= values.min() + 1e-9


def test_without_friction_it_is_the_frictionless_problem(frictional):
    arrays = frictional(2, 2, 4)
    result = pl.solvers.qpcc(**arrays, mu=0.0)
    normal = arrays | {
        "W_ec": arrays["W_ec"][:, ::3], "W_ac": arrays["W_ac"][:, ::3], "W_cc": arrays["W_cc"][::3, ::3],
        "delta_c": arrays["delta_c"][::3],
    }  # fmt: skip
    frictionless = pl.solvers.qpcc(**normal)
    np.testing.assert_allclose(result.x, frictionless.x, atol=1e-6)


def test_displacement_limits_hold_with_friction(frictional):
    arrays = frictional(2, 2, 5)
    free = pl.solvers.qpcc(**arrays, mu=MU)
    moved = arrays["W_aa"] @ free.x + arrays["W_ac"] @ free.y
    limit = 0.8 * np.abs(moved).max()
    limited = pl.solvers.qpcc(**arrays, mu=MU, displacement_lower=-limit, displacement_upper=limit)
    moved = arrays["W_aa"] @ limited.x + arrays["W_ac"] @ limited.y
    assert np.abs(moved).max() <= limit * (1 + 1e-6)
    assert limited.objective >= free.objective - 1e-9


def test_limits_that_cannot_be_met_are_not_called_an_answer(frictional):
    arrays = frictional(1, 1, 0) | {"displacement_lower": 50.0, "displacement_upper": 60.0}
    with pytest.raises(pl.ConvergenceError, match="stay violated"):
        pl.solvers.qpcc(**arrays, mu=MU)


@pytest.mark.parametrize("seed", range(8))
def test_a_pyramid_has_a_global_answer(frictional, seed):
    """Against a dense grid on which the law of the pyramid is solved as an LCP."""
    arrays = frictional(1, 1 + seed % 2, seed)
    p = compliance_problem(**arrays)
    result = pl.solvers.qpcc(**arrays, mu=MU, facets=4, globalize=True)
    assert result.status is QpccStatus.GLOBAL
    pyramid, to_rows = faceted_problem(p, np.full(1 + seed % 2, MU), 4)
    values = []
    for x in np.linspace(-2.0, 2.0, 121):
        v = pl.solvers.lcp(pyramid.W_cc, pyramid.C_a @ [x] + pyramid.c, tolerance=1e-9).solution
        values.append(p.objective(np.array([x]), to_rows @ v))
    assert result.objective <= min(values) + 1e-9
    assert result.objective >= min(values) - 0.02
    y = result.y.reshape(-1, 3)
    assert (np.abs(y[:, 1]) + np.abs(y[:, 2]) <= MU * y[:, 0] + 1e-8).all()


def test_more_facets_approach_the_true_cone(frictional):
    arrays = frictional(1, 1, 11)
    true = pl.solvers.qpcc(**arrays, mu=MU)
    errors = []
    for facets in (4, 8, 16, 32):
        faceted = pl.solvers.qpcc(**arrays, mu=MU, facets=facets, warm=true.x)
        errors.append(abs(faceted.objective - true.objective))
    assert errors[0] > 1e-3
    assert errors == sorted(errors, reverse=True)
    assert errors[-1] < 0.05 * errors[0]


def test_bad_friction_is_named(frictional):
    arrays = frictional(1, 1, 0)
    with pytest.raises(pl.InputError, match="globalize needs pieces"):
        pl.solvers.qpcc(**arrays, mu=MU, globalize=True)
    for facets in (2, 3, 5):
        with pytest.raises(pl.InputError, match="even number ≥ 4"):
            pl.solvers.qpcc(**arrays, mu=MU, facets=facets)
    with pytest.raises(pl.InputError, match="facets"):
        pl.solvers.qpcc(**arrays, mu=MU, facets=0)
    with pytest.raises(pl.InputError, match="mu must be finite and ≥ 0"):
        pl.solvers.qpcc(**arrays, mu=-0.1)
    with pytest.raises(pl.InputError, match=r"mu must be a number or have shape \(1,\)"):
        pl.solvers.qpcc(**arrays, mu=[0.1, 0.2])


@pytest.mark.parametrize("limit", [2, 20])
@pytest.mark.parametrize("mu", [0.5, 1e6])
def test_maximum_iterations_bounds_qps_and_forward_solves(mu: float, limit: int) -> None:
    rng = np.random.default_rng(1)
    H = rng.normal(size=(51, 20))
    W = H @ H.T
    arrays = {
        "W_ea": rng.normal(size=(1, 3)), "W_aa": W[:3, :3], "W_ac": W[:3, 3:], "W_cc": W[3:, 3:],
        "W_ec": rng.normal(size=(1, 48)), "delta_e": [1.0], "delta_c": H[3:] @ rng.normal(size=20),
    }  # fmt: skip
    counted = 0

    def counting(*args, **options):
        nonlocal counted
        try:
            result = solve(*args, **options)
        except pl.errors.ConvergenceError as error:
            counted += error.result.iterations
            raise
        counted += result.iterations
        return result

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("pliant.solvers.inverse.friction.solve", counting)
        result = pl.solvers.qpcc(**arrays, mu=mu, maximum_iterations=limit)
    assert result.iterations <= limit
    assert counted <= 40 * limit + 60
    assert result.residual <= 1e-7


def test_a_limit_of_time_ends_the_search() -> None:
    arrays = {"W_ea": [[1.0]], "W_aa": [[1.0]], "W_ac": [[1.0, 0.2, 0.0]], "W_cc": np.eye(3), "W_ec": [[0.5, 0.1, 0.0]]}
    result = pl.solvers.qpcc(**arrays, delta_e=[1.0], delta_c=[-0.1, 0.0, 0.0], mu=MU, seconds=1e-9)
    assert result.status is QpccStatus.LIMIT
    assert result.residual <= 1e-8
