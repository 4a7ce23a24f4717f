"""The interior point: the algebra of its cones and its path, by definition, finite differences and bisection."""

import numpy as np
import pytest

from pliant.solvers.contact.blocks import BlockProblem, Blocks, residual_of
from pliant.solvers.contact.budget import Budget
from pliant.solvers.contact.fallback.interior_point import (
    _determinant,
    _nesterov_todd,
    _Path,
    _Point,
    _to_boundary,
    interior_point,
)
from pliant.solvers.contact.newton import newton


def cones(rng, count):
    """Points strictly inside the Lorentz cone."""
    x = rng.normal(size=(count, 3))
    x[:, 0] = np.hypot(x[:, 1], x[:, 2]) + rng.exponential(size=count)
    return x


def mixed(seed):
    """Three contacts and boxes with two bounds (also narrow ones), with one, and bounds away from zero."""
    rng = np.random.default_rng(seed)
    m = 14
    H = rng.normal(size=(m, m))
    lower = np.array([-0.3, 0.0, -np.inf, 0.5, -5.0])
    upper = np.array([0.4, np.inf, 0.1, 0.6, 5.0])
    blocks = Blocks(np.array([0, 4, 11]), np.array([0.3, 0.8, 0.5]), np.array([3, 7, 8, 9, 10]), lower, upper)
    return BlockProblem(H @ H.T / m, rng.normal(size=m), blocks), rng


def test_the_scaling_takes_x_to_s():
    rng = np.random.default_rng(0)
    x, s = cones(rng, 40), cones(rng, 40)
    T = _nesterov_todd(x, s)
    np.testing.assert_allclose(np.einsum("cij,cj->ci", T, x), s, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(T, T.transpose(0, 2, 1), atol=1e-12)
    assert (np.linalg.eigvalsh(T) > 0.0).all()
    np.testing.assert_allclose(_determinant(x), x[:, 0] ** 2 - x[:, 1] ** 2 - x[:, 2] ** 2, rtol=1e-9)


def boundary_by_bisection(inside):
    """The least t > 0 at which `inside` ceases to hold on a scan, inf where it holds up to 100."""
    grid = np.concatenate([np.linspace(0.0, 5.0, 2001), np.geomspace(5.0, 100.0, 500)])
    out = next((k for k, t in enumerate(grid) if not inside(t)), None)
    if out is None:
        return np.inf
    low, high = grid[out - 1], grid[out]
    for _ in range(60):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if inside(middle) else (low, middle)
    return high


@pytest.mark.parametrize("seed", range(30))
def test_the_step_to_the_boundary_of_a_cone(seed):
    rng = np.random.default_rng(seed)
    x, d = cones(rng, 1), rng.normal(size=(1, 3))
    if seed % 5 == 0:
        d = cones(rng, 1)  # never leaves
    if seed % 5 == 1:
        d[0, 0] = -np.hypot(d[0, 1], d[0, 2])  # parallel to the boundary
    found = _to_boundary(x, d)

    def inside(t):
        y = x[0] + t * d[0]
        return y[0] > np.hypot(y[1], y[2])

    expected = boundary_by_bisection(inside)
    assert (found > 100.0) if expected == np.inf else found == pytest.approx(expected, rel=1e-6)
    both = _to_boundary(np.vstack([x, cones(rng, 1)]), np.vstack([d, np.zeros((1, 3))]))
    assert both == found
    assert _to_boundary(np.zeros((0, 3)), np.zeros((0, 3))) == np.inf


@pytest.mark.parametrize("seed", range(8))
def test_the_path_begins_inside_and_is_linearised_as_differences_say(seed):
    problem, rng = mixed(seed)
    path = _Path(problem)
    start, b = path.start(), problem.blocks
    forces = path.forces(start)
    assert (forces[b.boxes] > b.lower).all()
    assert (forces[b.boxes] < b.upper).all()
    assert (b.mu * forces[b.cones] > np.hypot(forces[b.cones + 1], forces[b.cones + 2])).all()
    assert (_determinant(start.s) > 0.0).all()
    x = start.x + 0.05 * rng.normal(size=len(start.x))
    target, M = path._linearised(x)
    u = problem.slip(path.D * x)  # s = (u_n/μ + ‖u_t‖, u_t)
    for i, mu in zip(b.cones, b.mu, strict=True):
        slip = u[i + 1 : i + 3]
        np.testing.assert_allclose(target[i : i + 3], [u[i] / mu + np.linalg.norm(slip), *slip], atol=1e-12)
    np.testing.assert_allclose(target[b.boxes], u[b.boxes], atol=1e-12)
    step = 1e-6
    for k, e in enumerate(step * np.eye(len(x))):
        change = (path._linearised(x + e)[0] - path._linearised(x - e)[0]) / (2.0 * step)
        np.testing.assert_allclose(M[:, k], change, atol=1e-6)


@pytest.mark.parametrize("seed", range(8))
def test_inverses_gaps_and_lengths_are_those_of_the_definition(seed):
    problem, rng = mixed(seed)
    path, b = _Path(problem), problem.blocks
    start = path.start()
    x = start.x.copy()
    x[path.rows] = cones(rng, 3)
    point = _Point(x, cones(rng, 3), start.low * rng.uniform(0.5, 2.0, 5), start.high * rng.uniform(0.5, 2.0, 5))
    low, high = path._room(x)
    inverse = path._inverse(x, low, high)
    for rows in path.rows:  # x ∘ x⁻¹ = (1, 0, 0)
        y, z = x[rows], inverse[rows]
        np.testing.assert_allclose([y @ z, *(y[0] * z[1:] + z[0] * y[1:])], [1.0, 0.0, 0.0], atol=1e-9)

    def barrier(z):
        room = np.concatenate([(z - b.lower)[np.isfinite(b.lower)], (b.upper - z)[np.isfinite(b.upper)]])
        return np.log(room).sum()

    for k, i in enumerate(b.boxes):
        e = 1e-6 * np.eye(5)[k]
        assert inverse[i] == pytest.approx((barrier(x[b.boxes] + e) - barrier(x[b.boxes] - e)) / 2e-6, abs=1e-5)
    finite = np.isfinite(b.lower).sum() + np.isfinite(b.upper).sum()
    below, above = point.low > 0.0, point.high > 0.0
    pairs = (x[path.rows] * point.s).sum() + point.low[below] @ (x[b.boxes] - b.lower)[below]
    pairs += point.high[above] @ (b.upper - x[b.boxes])[above]
    assert path._gap(point) == pytest.approx(pairs / (3 + finite))
    change = _Point(*(rng.normal(size=np.shape(part)) for part in (point.x, point.s, point.low, point.high)))

    def inside(t):
        z, s = x + t * change.x, point.s + t * change.s
        rows = z[path.rows]
        within = (z[b.boxes] > b.lower).all() and (z[b.boxes] < b.upper).all()
        within &= (rows[:, 0] > np.hypot(rows[:, 1], rows[:, 2])).all() and (s[:, 0] > np.hypot(s[:, 1], s[:, 2])).all()
        for value, rate in ((point.low, change.low), (point.high, change.high)):
            within &= (value + t * rate > 0.0)[value > 0.0].all()
        return bool(within)

    assert path._longest(point, change, low, high) == pytest.approx(boundary_by_bisection(inside), rel=1e-6)


@pytest.mark.parametrize("seed", range(12))
def test_it_solves_contacts_beside_boxes_and_stays_inside(seed):
    """Every step stays inside; from its end a few steps of Newton reach the last digits."""
    problem, _ = mixed(seed)
    path = _Path(problem)
    point, gap = path.start(), np.inf
    for _ in range(40):
        following = path.step(point)
        assert following is not None
        point, length = following
        assert 0.0 < length <= 1.0
        assert (_determinant(point.x[path.rows]) > 0.0).all()
        assert (_determinant(point.s) > 0.0).all()
        gap = path._gap(point)
        if gap < 1e-10:
            break
    assert gap < 1e-10
    r, residual = interior_point(problem, tolerance=1e-8, budget=Budget(len(problem.q), 1000))
    assert residual <= 1e-5
    assert residual == pytest.approx(residual_of(problem, r), rel=1e-9)
    assert newton(problem, r, tolerance=1e-11, steps=15, budget=Budget(len(r), 1000))[1] <= 1e-11


def test_a_system_that_is_not_finite_ends_the_path():
    problem, _ = mixed(0)
    broken = BlockProblem(np.full_like(problem.W, np.nan), problem.q, problem.blocks)
    budget = Budget(len(problem.q), 1000)
    r, residual = interior_point(broken, tolerance=1e-8, budget=budget)
    assert budget.iterations == 1
    assert residual == np.inf
    assert np.isfinite(r).all()


def test_a_step_that_leaves_the_cones_is_refused(monkeypatch):
    """With a boundary that is said to be far away: what is returned has a gap to close, or nothing is."""
    refused = 0
    for seed in range(40):
        problem, _ = mixed(seed)
        problem = BlockProblem(problem.W, 10.0 * problem.q, problem.blocks)
        path = _Path(problem)
        point = path.start()
        monkeypatch.setattr(path, "_longest", lambda *_: 1e9)
        for _ in range(3):
            following = path.step(point)
            if following is None:
                refused += 1
                break
            point = following[0]
            assert path._gap(point) > 0.0
    assert refused > 3
