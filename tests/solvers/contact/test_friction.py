from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import pliant as pl
from pliant.solvers import friction, lcp
from pliant.solvers.contact import friction_residual

DATA = Path(__file__).parents[3].parent / "shared" / "data" / "friction"
FILES = sorted(DATA.glob("*.npz"))


def assert_coulomb(W, q, mu, r, *, dim=3, tolerance=1e-6) -> None:
    """Signorini and Coulomb said plainly, without cones or projections."""
    u = (W @ r + q).reshape(-1, dim)
    r = r.reshape(-1, dim)
    slip, force = tolerance * max(np.abs(q).max(), 1e-300), tolerance * max(np.abs(r).max(), 1e-300)
    assert r[:, 0].min() >= 0.0
    assert u[:, 0].min() >= -slip
    pushing = r[:, 0] > force
    assert np.abs(u[pushing, 0]).max(initial=0.0) <= slip
    tangential, speed = np.linalg.norm(r[:, 1:], axis=1), np.linalg.norm(u[:, 1:], axis=1)
    assert (tangential <= mu * r[:, 0] + force).all()
    sliding = pushing & (speed > 1e3 * slip)
    opposed = -(mu * r[:, 0] / np.maximum(speed, 1e-300))[:, None] * u[:, 1:]
    np.testing.assert_allclose(r[sliding, 1:], opposed[sliding], atol=1e3 * force)


@pytest.mark.skipif(not FILES, reason="the friction problems are not beside this checkout")
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_published_problems(path: Path) -> None:
    data = np.load(path)
    W, q, mu, dim = data["W"], data["q"], data["mu"], int(data["dim"])
    result = friction(W, q, mu, dim=dim)
    assert result.status is pl.Status.CONVERGED
    u = (W @ result.solution + q).reshape(-1, dim)
    rho = 1.0 / W.diagonal().mean()
    assert result.residual == pytest.approx(written_out(result.solution.reshape(-1, dim), u, mu, rho, q), abs=1e-12)
    assert result.residual <= 1e-8


def written_out(r, u, mu, rho, q) -> float:
    """The residual of the documentation, one contact at a time."""
    total = 0.0
    for force, slip, m in zip(r, u, np.broadcast_to(mu, len(r)), strict=True):
        shifted = slip.copy()
        shifted[0] += m * np.linalg.norm(slip[1:])
        x = force - rho * shifted
        t = np.linalg.norm(x[1:])
        if t <= m * x[0]:
            projection = x
        elif m * t <= -x[0]:
            projection = np.zeros_like(x)
        else:
            n = (x[0] + m * t) / (1 + m * m)
            projection = np.concatenate([[n], m * n * x[1:] / t])
        total += ((force - projection) ** 2).sum()
    return float(np.sqrt(total) / (rho * np.linalg.norm(q)))


@pytest.mark.parametrize(
    ("q", "force"),
    [
        ([0.1, 0.3, 0.0], [0.0, 0.0, 0.0]),  # open
        ([-0.2, 0.15, 0.0], [0.1, -0.03, 0.0]),  # sticks: w⁻¹q
        ([-0.2, 0.9, -1.2], [0.1, -0.03, 0.04]),  # slides: μ r_n against the slip
        ([0.0, 1.0, 0.0], [0.0, 0.0, 0.0]),  # touches
    ],
)
def test_one_contact_in_closed_form(q: list[float], force: list[float]) -> None:
    result = friction(np.diag([2.0, 5.0, 5.0]), q, 0.5)
    np.testing.assert_allclose(result.solution, force, atol=1e-12)
    assert result.residual <= 2e-14  # relative to ‖q‖


@pytest.mark.parametrize("dim", [2, 3])
def test_one_coupled_contact(dim: int) -> None:
    rng = np.random.default_rng(dim)
    seen = set()
    for _ in range(200):
        A = rng.standard_normal((dim, dim))
        W, q, mu = A @ A.T + 0.05 * np.eye(dim), rng.standard_normal(dim), rng.choice([0.0, 0.1, 0.7, 3.0])
        result = friction(W, q, mu, dim=dim)
        assert_coulomb(W, q, mu, result.solution, dim=dim)
        r = result.solution
        seen.add("open" if r[0] == 0 else "sticks" if np.linalg.norm(r[1:]) < 0.999 * mu * r[0] else "slides")
    assert seen == {"open", "sticks", "slides"}


def test_cone_is_round(block) -> None:  # type: ignore[no-untyped-def]
    for angle in np.linspace(0.0, np.pi / 2, 7):
        push = np.array([np.cos(angle), np.sin(angle), -0.1, 0.0, 0.0, 0.0])
        W, q, H = block(push)
        r = friction(W, q, 0.5).solution
        wrench = H.T @ r
        assert np.linalg.norm(wrench[:2]) == pytest.approx(0.5 * wrench[2], rel=1e-6)


def test_tangential_frames_do_not_matter(pile) -> None:  # type: ignore[no-untyped-def]
    W, q = pile(30, 40, seed=1)
    W = W + 0.05 * np.eye(len(q))  # a unique force
    mu = np.full(40, 0.4)
    angles = np.random.default_rng(0).uniform(0, 2 * np.pi, 40)
    R = np.zeros((120, 120))
    for c, a in enumerate(angles):
        R[3 * c : 3 * c + 3, 3 * c : 3 * c + 3] = [[1, 0, 0], [0, np.cos(a), -np.sin(a)], [0, np.sin(a), np.cos(a)]]
    straight = friction(W, q, mu, tolerance=1e-11).solution
    turned = friction(R @ W @ R.T, R @ q, mu, tolerance=1e-11).solution
    np.testing.assert_allclose(R.T @ turned, straight, atol=1e-8 * np.abs(straight).max())


@pytest.mark.parametrize(("compliance", "length"), [(1e-6, 1.0), (1e3, 1e-4), (1e-5, 1e-6)])
def test_units_do_not_matter(pile, compliance: float, length: float) -> None:  # type: ignore[no-untyped-def]
    W, q = pile(12, 40, seed=2)
    reference = friction(W, q, 0.5)
    other = friction(compliance * W, length * q, 0.5)
    assert other.iterations == pytest.approx(reference.iterations, abs=5)
    scale = length / compliance
    np.testing.assert_allclose(
        other.solution, scale * reference.solution, atol=1e-5 * scale * np.abs(reference.solution).max()
    )


@pytest.mark.parametrize("degrees", [20.0, 35.0])
def test_hyperstatic_block_on_a_slope(block, degrees: float) -> None:  # type: ignore[no-untyped-def]
    slope, mu, gravity = np.radians(degrees), 0.5, 0.0981
    free = gravity * np.array([np.sin(slope), 0.0, -np.cos(slope), 0.0, 0.0, 0.0])
    W, q, H = block(free)
    assert np.linalg.matrix_rank(W) == 6
    result = friction(W, q, mu)
    after = free + np.array([1, 1, 1, 6, 6, 6]) * (H.T @ result.solution)
    expected = max(0.0, np.sin(slope) - mu * np.cos(slope)) * gravity
    np.testing.assert_allclose(after, [expected, 0, 0, 0, 0, 0], atol=1e-8)
    assert (H.T @ result.solution)[2] == pytest.approx(gravity * np.cos(slope))


@pytest.mark.parametrize("mu", [0.1, 0.5, 1.5])
@pytest.mark.parametrize("noise", [0.0, 0.03])
def test_stack(stack, mu: float, noise: float) -> None:  # type: ignore[no-untyped-def]
    W, q = stack(8, noise=noise, seed=3)
    result = friction(W, q, mu)
    assert_coulomb(W, q, mu, result.solution)
    if not noise:
        assert result.solution[:12:3].sum() == pytest.approx(0.8)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("mu", [0.3, 0.9])
def test_redundant_piles(pile, seed: int, mu: float) -> None:  # type: ignore[no-untyped-def]
    W, q = pile(10, 60, seed=seed)
    result = friction(W, q, mu)
    assert result.residual <= 1e-8
    assert_coulomb(W, q, mu, result.solution, tolerance=1e-5)


def test_slightly_unsymmetric_and_indefinite(pile) -> None:  # type: ignore[no-untyped-def]
    W, q = pile(12, 40, seed=5)
    rng = np.random.default_rng(0)
    W = W * (1 + 1e-4 * rng.standard_normal(W.shape)) - 1e-9 * np.eye(len(q))
    result = friction(W, q, 0.6)
    assert result.residual <= 1e-8
    assert_coulomb(W, q, 0.6, result.solution, tolerance=1e-5)


def test_different_friction_at_each_contact(pile) -> None:  # type: ignore[no-untyped-def]
    W, q = pile(12, 40, seed=6)
    mu = np.random.default_rng(0).choice([0.0, 0.2, 1.0, 10.0], 40)
    result = friction(W, q, mu)
    assert_coulomb(W, q, mu, result.solution, tolerance=1e-5)
    assert not result.solution.reshape(-1, 3)[mu == 0.0, 1:].any()


def test_without_friction_it_is_the_lcp(pile) -> None:  # type: ignore[no-untyped-def]
    W, q = pile(20, 40, seed=7)
    normals = lcp(W[::3, ::3], q[::3])
    result = friction(W, q, 0.0)
    np.testing.assert_allclose(result.delta[::3], normals.delta, atol=1e-7)


def test_zero_rows() -> None:
    W = np.zeros((6, 6))
    W[:3, :3] = np.diag([1.0, 0.0, 0.0])  # nothing resists the slip of the first, nothing moves the second
    q = np.array([-1.0, 0.3, 0.4, 0.2, 1.0, 0.0])
    result = friction(W, q, 0.5)
    np.testing.assert_allclose(result.solution, [1.0, -0.3, -0.4, 0.0, 0.0, 0.0], atol=1e-9)
    with pytest.raises(pl.InfeasibleError, match="row"):
        friction(W, -np.abs(q), 0.5)


def test_nothing_to_do() -> None:
    assert friction(np.zeros((0, 0)), [], 0.3).solution.shape == (0,)
    assert not friction(np.eye(3), np.zeros(3), 0.3).solution.any()


def test_warm_start_and_determinism(stack) -> None:  # type: ignore[no-untyped-def]
    W, q = stack(5, noise=0.02)
    cold = friction(W, q, 0.5)
    assert np.array_equal(cold.solution, friction(W, q, 0.5).solution)
    warm = friction(W, q, 0.5, warm=cold.solution)
    assert warm.iterations == 0
    assert warm.residual == pytest.approx(cold.residual, rel=1e-3, abs=1e-15)


def test_stopping_early_raises_with_best_iterate(stack) -> None:  # type: ignore[no-untyped-def]
    W, q = stack(5, noise=0.02)
    with pytest.raises(pl.ConvergenceError, match="20 contacts: residual") as caught:
        friction(W, q, 0.5, maximum_iterations=3)
    best = caught.value.result
    assert best.status is pl.Status.ITERATION_LIMIT
    assert best.residual == pytest.approx(friction_residual(W, q, np.full(20, 0.5), best.solution))


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"mu": -0.1}, r"mu must be ≥ 0, but mu\[0\] is -0.1"),
        ({"mu": [0.1, 0.2]}, "mu must have shape"),
        ({"mu": np.nan}, "mu must be finite"),
        ({"q": [0.0, np.nan, 0.0]}, "q must be finite"),
        ({"q": [0.0, 1.0]}, "3 rows for each contact"),
        ({"W": np.eye(2)}, "W must have shape"),
        ({"W": np.full((3, 3), np.inf)}, "W must be finite"),
        ({"dim": 4}, "dim must be 2 or 3"),
        ({"tolerance": 0.0}, "tolerance must be > 0"),
        ({"warm": [1.0]}, "warm must have shape"),
        ({"maximum_iterations": 0}, "maximum_iterations"),
    ],
)
def test_bad_input(change: dict, text: str) -> None:
    given = {"W": np.eye(3), "q": [-1.0, 0.0, 0.0], "mu": 0.3} | change
    W, q, mu = given.pop("W"), given.pop("q"), given.pop("mu")
    with pytest.raises(pl.InputError, match=text):
        friction(W, q, mu, **given)


@pytest.mark.parametrize("seed", range(4))
def test_planar_contacts_begin_from_a_previous_solution(pile, seed: int) -> None:
    """The forces of before are the answer at once, those of others lead to the same slips."""
    W, q = pile(4, 6, seed=seed)
    rows = (3 * np.arange(6)[:, None] + np.arange(2)).ravel()
    W, q = W[np.ix_(rows, rows)], q[rows]
    cold = friction(W, q, 0.4, dim=2)
    warm = friction(W, q, 0.4, dim=2, warm=cold.solution)
    assert warm.iterations <= cold.iterations
    np.testing.assert_allclose(warm.solution, cold.solution, atol=1e-6 * np.abs(cold.solution).max())
    other = friction(W, q, 0.4, dim=2, warm=np.ones(12))
    assert_coulomb(W, q, 0.4, other.solution, dim=2)
