from __future__ import annotations

import sys
from dataclasses import replace
from itertools import product

import numpy as np
import pytest

import pliant as pl
from pliant.solvers.contact import ConflictingRowsError, Law, MixedProblem, friction, solve

BILATERAL, SIGNORINI, COULOMB, IMPOSED, BOUNDED, CAPSTAN, GUIDE = Law


def compliance(rng: np.random.Generator, m: int, rank: int | None = None) -> np.ndarray:
    A = rng.standard_normal((m, rank or m))
    return 1e-3 * (A @ A.T)


def enumerate_boxes(W, q, lower, upper) -> np.ndarray | None:
    """u = W r + q in [lower, upper] complementarity by trying every row at either bound or free."""
    m = len(q)
    for sides in product((-1, 0, 1), repeat=m):
        side = np.array(sides)
        r = np.where(side < 0, lower, np.where(side > 0, upper, 0.0))
        if not np.isfinite(r).all():
            continue
        free = side == 0
        if free.any():
            r[free] = np.linalg.solve(W[np.ix_(free, free)], -(W @ r + q)[free])
        u = W @ r + q
        inside = (r >= lower - 1e-9 * np.abs(r).max()).all() and (r <= upper + 1e-9 * np.abs(r).max()).all()
        if inside and (u[side < 0] >= -1e-12).all() and (u[side > 0] <= 1e-12).all():
            return r
    return None


def test_laws_without_friction_agree_with_enumeration() -> None:
    rng = np.random.default_rng(0)
    laws = [BILATERAL, SIGNORINI, IMPOSED, BOUNDED]
    for _ in range(60):
        m = int(rng.integers(1, 7))
        W, gaps = compliance(rng, m) + 1e-4 * np.eye(m), 1e-3 * rng.standard_normal(m)
        law = rng.choice(laws, m)
        target = np.where(law == IMPOSED, rng.standard_normal(m), 1e-4 * rng.standard_normal(m))
        lower = np.where(rng.random(m) < 0.3, -np.inf, -rng.random(m))
        upper = np.where(rng.random(m) < 0.3, np.inf, rng.random(m))
        result = solve(MixedProblem.of(W, gaps, law, lower=lower, upper=upper, target=target))
        low = np.select([law == BILATERAL, law == SIGNORINI, law == IMPOSED], [-np.inf, 0.0, target], lower)
        high = np.select([law == BILATERAL, law == SIGNORINI, law == IMPOSED], [np.inf, np.inf, target], upper)
        expected = enumerate_boxes(W, gaps - np.where(law == IMPOSED, 0.0, target), low, high)
        assert expected is not None
        np.testing.assert_allclose(result.lam, expected, atol=1e-7 * max(1.0, np.abs(expected).max()))
        np.testing.assert_allclose(result.delta, gaps + W @ expected, atol=1e-9)
        assert result.residual <= 1e-8


def test_each_law_alone() -> None:
    def one(law: Law, gap: float, **options: float) -> tuple[float, float]:
        result = solve(MixedProblem.of([[1e-3]], [gap], [law], **options))
        return float(result.lam[0]), float(result.delta[0])

    assert one(BILATERAL, 2e-3) == pytest.approx((-2.0, 0.0))
    assert one(BILATERAL, 2e-3, target=1e-3) == pytest.approx((-1.0, 1e-3))
    assert one(SIGNORINI, 2e-3) == pytest.approx((0.0, 2e-3))
    assert one(SIGNORINI, -2e-3) == pytest.approx((2.0, 0.0))
    assert one(IMPOSED, 1e-3, target=3.0) == pytest.approx((3.0, 4e-3))
    assert one(BOUNDED, -2e-3, lower=0.0, upper=5.0) == pytest.approx((2.0, 0.0))
    assert one(BOUNDED, -9e-3, lower=0.0, upper=5.0) == pytest.approx((5.0, -4e-3))
    assert one(BOUNDED, 1e-3, lower=0.0, upper=5.0) == pytest.approx((0.0, 1e-3))
    assert one(BOUNDED, 1e-3, upper=-2.0) == pytest.approx((-2.0, -1e-3))
    assert one(BOUNDED, 1e-3, lower=4.0, upper=4.0) == pytest.approx((4.0, 5e-3))
    assert one(BOUNDED, 1e-3) == pytest.approx((-1.0, 0.0))


def grasp(rng: np.random.Generator, contacts: int, others: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Bilateral, bounded, imposed and Signorini rows among frictional contacts of a redundant body."""
    m = others + 3 * contacts
    W = compliance(rng, m, rank=max(others + 4, 2 * contacts))
    law = np.concatenate([np.resize([BILATERAL, BOUNDED, IMPOSED, SIGNORINI], others), np.full(3 * contacts, COULOMB)])
    gaps = W @ rng.standard_normal(m)
    return W, gaps, law


@pytest.mark.parametrize("seed", range(8))
def test_all_laws_together(seed: int) -> None:
    rng = np.random.default_rng(seed)
    W, gaps, law = grasp(rng, 10, 8)
    mu = np.full(38, 0.5)
    p = MixedProblem.of(W, gaps, law, mu=mu, lower=-0.3, upper=0.4, target=np.where(law == IMPOSED, 0.2, 0.0))
    result = solve(p)
    lam, delta = result.lam, result.delta
    size = 1e-6 * np.abs(gaps).max()
    np.testing.assert_allclose(delta, gaps + W @ lam)
    assert np.abs(delta[law == BILATERAL]).max() <= size
    assert (lam[law == IMPOSED] == 0.2).all()
    assert min(delta[law == SIGNORINI].min() / size, lam[law == SIGNORINI].min() / 1e-9) >= -1.0
    assert np.abs(lam * delta)[law == SIGNORINI].max() <= size * np.abs(lam).max()
    bounded, slip = lam[law == BOUNDED], delta[law == BOUNDED]
    assert (np.abs(slip[(bounded > -0.3) & (bounded < 0.4)]) <= size).all()
    assert (slip[bounded <= -0.3] >= -size).all()
    assert (slip[bounded >= 0.4] <= size).all()
    forces = lam[8:].reshape(-1, 3)
    assert (np.linalg.norm(forces[:, 1:], axis=1) <= 0.5 * forces[:, 0] + 1e-6 * np.abs(lam).max()).all()
    assert (delta[8::3] >= -size).all()
    assert result.gap <= 1e-5 * np.abs(gaps).max() * np.abs(lam).max()


def test_contacts_alone_agree_with_friction(pile) -> None:  # type: ignore[no-untyped-def]
    W, q = pile(20, 30, seed=3)
    W = W + 0.1 * np.eye(len(q))
    mixed = solve(MixedProblem.of(W, q, np.full(90, COULOMB), mu=0.6), tolerance=1e-11)
    np.testing.assert_allclose(mixed.lam, friction(W, q, 0.6, tolerance=1e-11).solution, atol=1e-7)


def test_elimination_agrees_with_very_wide_bounds(pile) -> None:  # type: ignore[no-untyped-def]
    W, q = pile(20, 20, seed=4)
    W = W + 0.1 * np.eye(len(q))
    law = np.full(60, COULOMB)
    law[:9] = BILATERAL
    eliminated = solve(MixedProblem.of(W, q, law, mu=0.4), tolerance=1e-11)
    law[:9] = BOUNDED
    iterated = solve(MixedProblem.of(W, q, law, mu=0.4, lower=-1e6, upper=1e6), tolerance=1e-11)
    np.testing.assert_allclose(iterated.lam, eliminated.lam, atol=1e-7)


def test_units_of_rows_do_not_matter() -> None:
    rng = np.random.default_rng(5)
    W, gaps, law = grasp(rng, 6, 8)
    W = W + 1e-4 * np.eye(len(W))
    unit = np.concatenate([10.0 ** rng.integers(-5, 6, 8), np.ones(18)])  # a chamber in Pa and m³ beside points
    options = {"mu": 0.5, "target": np.where(law == IMPOSED, 0.2, 0.0)}
    plain = solve(MixedProblem.of(W, gaps, law, lower=-0.3, upper=0.4, **options), tolerance=1e-11)
    options["target"] = options["target"] / unit
    other = MixedProblem.of(unit[:, None] * W * unit, unit * gaps, law, lower=-0.3 / unit, upper=0.4 / unit, **options)
    np.testing.assert_allclose(solve(other, tolerance=1e-11).lam * unit, plain.lam, atol=1e-7)


def test_redundant_bilateral_rows_share_the_load() -> None:
    W = 1e-3 * np.ones((2, 2))
    result = solve(MixedProblem.of(W, [1e-3, 1e-3], [BILATERAL, BILATERAL]))
    np.testing.assert_allclose(result.lam, [-0.5, -0.5])
    with pytest.raises(ConflictingRowsError, match="rows 0, 1 contradict") as caught:
        solve(MixedProblem.of(W, [1e-3, 2e-3], [BILATERAL, BILATERAL]))
    assert caught.value.rows == (0, 1)


def test_redundant_rows_at_rest_differ_by_rounding_only() -> None:
    W = 1e-3 * np.ones((2, 2))
    result = solve(MixedProblem.of(W, [1e-18, -1e-18], [BILATERAL, BILATERAL]))
    assert np.abs(result.lam).max() < 1e-12
    with pytest.raises(ConflictingRowsError):
        solve(MixedProblem.of(W, [1e-18, -1e-18], [BILATERAL, BILATERAL]), negligible=0.0)


def test_contact_on_a_part_held_by_bilateral_rows() -> None:
    W = 1e-3 * np.array([[1.0, 1.0, 0.0], [1.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    laws = [BILATERAL, SIGNORINI, SIGNORINI]
    fine = solve(MixedProblem.of(W, [0.0, 1e-3, -1e-3], laws))
    np.testing.assert_allclose(fine.lam, [0.0, 0.0, 1.0], atol=1e-12)
    with pytest.raises(ConflictingRowsError) as caught:
        solve(MixedProblem.of(W, [0.0, -1e-3, -1e-3], laws))
    assert caught.value.rows == (0, 1)


@pytest.mark.parametrize("mu", [0.0, 0.5])
def test_squeezed_body_is_infeasible(mu: float) -> None:
    normal = np.array([[1.0, 0, 0], [-1.0, 0, 0]])  # two walls closer than the body is wide
    H = np.vstack([np.vstack([n, [0, 1.0, 0], [0, 0, 1.0]]) for n in normal])
    with pytest.raises(ConflictingRowsError) as caught:
        solve(MixedProblem.of(1e-3 * H @ H.T, [-1e-3, 0, 0, -1e-3, 0, 0], np.full(6, COULOMB), mu=mu))
    assert caught.value.rows == (0, 3)


def test_warm_start_is_cheaper_and_deterministic() -> None:
    rng = np.random.default_rng(9)
    W, gaps, law = grasp(rng, 40, 8)
    cold = solve(MixedProblem.of(W, gaps, law, mu=0.6, lower=-1, upper=1))
    again = solve(MixedProblem.of(W, gaps, law, mu=0.6, lower=-1, upper=1))
    assert np.array_equal(cold.lam, again.lam)
    moved = MixedProblem.of(W, gaps + 1e-4 * W @ rng.standard_normal(len(gaps)), law, mu=0.6, lower=-1, upper=1)
    assert solve(moved, cold.lam).iterations <= solve(moved).iterations


def test_unsymmetric_compliance() -> None:
    rng = np.random.default_rng(11)
    W, gaps, law = grasp(rng, 10, 8)
    W = W * (1 + 1e-5 * rng.standard_normal(W.shape)) + 1e-5 * np.eye(len(W))
    result = solve(MixedProblem.of(W, gaps, law, mu=0.5, lower=-1, upper=1))
    assert result.residual <= 1e-8
    assert np.abs(result.delta[law == BILATERAL]).max() <= 1e-8 * np.abs(gaps).max()


def test_no_rows() -> None:
    result = solve(MixedProblem.of(np.zeros((0, 0)), [], []))
    assert result.lam.shape == result.delta.shape == (0,)


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"mu": -0.2}, "mu must be ≥ 0, but row 0 has -0.2"),
        ({"mu": np.nan}, "mu must be ≥ 0"),
        ({"law": [7, 7, 7]}, "law must be one of Law, but row 0 has 7"),
        ({"law": [COULOMB, COULOMB, BILATERAL]}, "Coulomb rows must come in threes"),
        ({"law": [BOUNDED] * 3, "lower": 2.0, "upper": 1.0}, "lower must be ≤ upper"),
        ({"law": [BOUNDED] * 3, "lower": np.inf}, "finite force"),
        ({"target": np.nan}, "target must be finite"),
        ({"delta_free": [0.0, np.nan, 0.0]}, "delta_free must be finite"),
        ({"W": np.eye(2)}, "W must have shape"),
    ],
)
def test_bad_input(change: dict, text: str) -> None:
    given = {"W": np.eye(3), "delta_free": [-1.0, 0.0, 0.0], "law": [COULOMB] * 3, "mu": 0.3} | change
    W, gaps, law = given.pop("W"), given.pop("delta_free"), given.pop("law")
    with pytest.raises(pl.InputError, match=text):
        solve(MixedProblem.of(W, gaps, law, **given))


def test_nan_is_caught_where_a_problem_was_made_by_hand() -> None:
    p = MixedProblem.of(np.eye(1), [1.0], [BILATERAL])
    p.W[0, 0] = np.nan
    with pytest.raises(pl.InputError, match="W must be finite"):
        solve(p)


@pytest.mark.parametrize("length", [1.0, 1e-3, 1e4])
def test_what_bilateral_rows_leave_counts_in_the_residual_in_any_unit(length):
    """Two rows that are the same but for 1e-10 of their gap cannot both be met: half of it is left on either, relative
    to the norm of the gaps.
    """
    h = np.array([[1.0, 0.2], [1.0, 0.2], [0.3, 1.0]])
    law = [Law.BILATERAL, Law.BILATERAL, Law.SIGNORINI]
    gaps = length * np.array([1.0, 1.0 + 1e-10, -2.0])
    result = solve(MixedProblem.of(h @ h.T, gaps, law))
    scale = np.sqrt((h**2).sum(axis=1))
    left = np.abs(result.delta[:2] / scale[:2])
    assert result.delta[2] >= -1e-9 * length
    assert result.residual == pytest.approx(np.linalg.norm(left) / np.linalg.norm(gaps / scale), rel=0.05)
    assert result.residual > 1e-12


@pytest.mark.parametrize("seed", range(4))
def test_given_forces_leave_nothing_to_solve(seed):
    """Rows with imposed forces alone: δ = δ_free + W λ with λ as given, no residual, no iteration, of any rank."""
    rng = np.random.default_rng(seed)
    W, gaps, forces = compliance(rng, 6, rank=2 + seed), rng.normal(size=6), rng.normal(size=6)
    result = solve(MixedProblem.of(W, gaps, [IMPOSED] * 6, target=forces))
    np.testing.assert_array_equal(result.lam, forces)
    np.testing.assert_allclose(result.delta, gaps + W @ forces, atol=1e-15)
    assert (result.residual, result.gap, result.status) == (0.0, 0.0, pl.Status.CONVERGED)


@pytest.mark.parametrize("size", [1e-6, 1e-3])
def test_an_error_beyond_rounding_is_no_convergence(monkeypatch, size):
    """The result is judged by the rows given: an elimination that loses `size` of the gaps is found out."""
    solving = sys.modules["pliant.solvers.contact.solve"]
    rng = np.random.default_rng(0)
    H = rng.normal(size=(20, 24))
    law = [Law.BILATERAL] * 4 + [Law.SIGNORINI] * 16
    problem = MixedProblem.of(H @ H.T, rng.normal(size=20), law)
    assert solve(problem).status.ok
    exact = solving.eliminate

    def wrong(*given, **options):
        found = exact(*given, **options)
        return replace(found, q=found.q * (1.0 + size))

    monkeypatch.setattr(solving, "eliminate", wrong)
    with pytest.raises(pl.ConvergenceError) as caught:
        solve(problem)
    assert caught.value.result.status is pl.Status.STALLED
    assert caught.value.result.residual == pytest.approx(size, rel=0.9)
