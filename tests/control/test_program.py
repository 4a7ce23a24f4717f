"""The quadratic program of predictive control on random data, against least squares and a solver of SciPy."""

from types import SimpleNamespace

import numpy as np
import pytest
from scipy.optimize import minimize

import pliant as pl
from pliant.control.predictive import Predictive
from pliant.control.step_model import _diagonal

STEPS, OUTPUTS = 4, 3


def problem(seed, width=2):
    chance = np.random.default_rng(seed)
    S = chance.normal(size=(STEPS, OUTPUTS, STEPS * width))
    return S, chance.normal(size=(STEPS, OUTPUTS)), chance.normal(size=(STEPS, width)), chance.normal(size=width)


def solved(S, left, inputs, last, *, smoothness=0.3, roots=(1.0, 2.0, 0.5), limits=None, units=None):
    width = inputs.shape[1]
    limits = [(-np.inf, np.inf, np.inf)] * width if limits is None else limits
    own = SimpleNamespace(
        _roots=np.array(roots), smoothness=smoothness, actuators=list(range(width)),
        limits=lambda each, by_force: limits[each],
    )  # fmt: skip
    plan = SimpleNamespace(inputs=np.vstack([last, inputs]), by_force=np.ones(width, bool))
    return Predictive._program(own, plan, inputs, left, S)


def terms(S, left, inputs, last, *, smoothness=0.3, roots=(1.0, 2.0, 0.5)):
    """Rows and right sides of the least squares: outputs by their weights, then changes of the commands."""
    n = inputs.size
    M = (S * np.array(roots)[:, None]).reshape(-1, n)
    epsilon = smoothness * np.trace(M.T @ M) / n
    width = inputs.shape[1]
    D, d = np.zeros((n, n)), np.zeros(n)
    for k in range(len(inputs)):
        for j in range(width):
            D[k * width + j, k * width + j] = 1.0
            d[k * width + j] = inputs[k, j] - (inputs[k - 1, j] if k else last[j])
            if k:
                D[k * width + j, (k - 1) * width + j] = -1.0
    rows = np.vstack([M, np.sqrt(epsilon) * D])
    return rows, np.concatenate([(left * np.array(roots)).ravel(), -np.sqrt(epsilon) * d]), D, d


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("smoothness", [1e-3, 0.3])
def test_without_limits_it_is_a_least_squares_problem(seed, smoothness):
    data = problem(seed)
    rows, right, *_ = terms(*data, smoothness=smoothness)
    expected = np.linalg.lstsq(rows, right, rcond=None)[0].reshape(data[2].shape)
    np.testing.assert_allclose(solved(*data, smoothness=smoothness), expected, atol=1e-7)


@pytest.mark.parametrize("seed", range(4))
def test_bounds_and_rates_are_those_of_commands_of_several_units(seed):
    """Commands of two sizes; the optimum of a general solver, and every limit kept."""
    S, left, inputs, last = problem(seed)
    unit = np.array([1.0, 0.1])
    inputs, last, left = 0.3 * np.tanh(inputs) * unit, 0.3 * np.tanh(last) * unit, 2.0 * left
    limits = [(-0.35, 0.4, 0.65), (-0.04, 0.035, 0.05)]
    found = solved(S, left, inputs, last, limits=limits)
    rows, right, D, d = terms(S, left, inputs, last)
    scale = np.tile(unit, STEPS)
    limited = np.vstack([np.eye(inputs.size), D])
    low, high, most = (np.tile([limit[k] for limit in limits], STEPS) for k in range(3))
    reference = minimize(
        lambda x: 0.5 * np.sum((rows @ (scale * x) - right) ** 2), np.zeros(inputs.size), method="SLSQP",
        jac=lambda x: scale * (rows.T @ (rows @ (scale * x) - right)), constraints=[
            {"type": "ineq", "fun": lambda x, s=s, a=a: s * (a - (limited @ (scale * x)))}
            for s, a in ((1.0, np.concatenate([high - inputs.ravel(), most - d])),
                         (-1.0, np.concatenate([low - inputs.ravel(), -most - d])))
        ], options={"ftol": 1e-12, "maxiter": 500},
    )  # fmt: skip
    cost = 0.5 * np.sum((rows @ found.ravel() - right) ** 2)
    assert cost <= reference.fun * (1.0 + 1e-5)
    after = inputs + found
    assert (after.ravel() >= low - 1e-12).all()
    assert (after.ravel() <= high + 1e-12).all()
    changes = np.diff(np.vstack([last, after]), axis=0).ravel()
    assert (np.abs(changes) <= most * (1.0 + 1e-6)).all()
    assert (
        np.isclose(after.ravel(), low).any()
        or np.isclose(after.ravel(), high).any()
        or (np.abs(changes) > 0.999 * most).any()
    )


def test_what_no_command_moves_is_left_alone():
    S, left, inputs, last = problem(0)
    assert not solved(np.zeros_like(S), left, inputs, last).any()


def test_blocks_stand_on_the_diagonal():
    a, b = np.arange(4.0).reshape(2, 2), np.array([[7.0]])
    assert _diagonal([a]) is a
    np.testing.assert_array_equal(_diagonal([a, b]), [[0, 1, 0], [2, 3, 0], [0, 0, 7]])


class Cable:
    """An actuator with limits of its own."""

    name = "cable"
    limits = SimpleNamespace(lower=0.5, upper=9.0, force_rate=50.0, least=-0.01, most=0.03, rate=0.5)


@pytest.mark.parametrize(
    ("bounds", "rate", "by_force", "expected"),
    [
        (None, None, True, (0.5, 9.0, 1.0)),
        (None, None, False, (-0.01, 0.03, 0.01)),
        ((1.0, 3.0), 10.0, True, (1.0, 3.0, 0.2)),
        ((0.0, 30.0), 100.0, True, (0.5, 9.0, 1.0)),
        ([-1.0, 0.02], 0.1, False, (-0.01, 0.02, 0.002)),
    ],
)
def test_bounds_and_rates_narrow_the_limits_of_an_actuator(bounds, rate, by_force, expected):
    cable = Cable()
    own = SimpleNamespace(
        bounds=None if bounds is None else {cable: bounds}, rates=None if rate is None else {cable: rate}, dt=0.02
    )
    assert Predictive.limits(own, cable, by_force=by_force) == pytest.approx(expected)


@pytest.mark.parametrize("bounds", [(1.0, 1.0), (2.0, 1.0), (1.0,), (1.0, 2.0, 3.0), 5.0, None, (np.nan, 1.0)])
def test_bounds_are_pairs_that_ascend(bounds):
    cable = Cable()
    own = SimpleNamespace(bounds={cable: bounds}, rates=None, dt=0.02)
    with pytest.raises(pl.InputError, match=r"bounds of 'cable' must be a pair \(lower, upper\)"):
        Predictive.limits(own, cable, by_force=True)
