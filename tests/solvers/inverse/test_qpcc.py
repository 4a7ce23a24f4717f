"""The inverse problem with contacts against the enumeration of all pieces, its units, its claims and its messages."""

from dataclasses import replace

import numpy as np
import pytest

import pliant as pl
from pliant.solvers.inverse import QpccProblem, QpccStatus, compliance_problem, solve_qpcc
from pliant.solvers.inverse.branch_and_bound import Branched

TOUCH = 1e-7


def assert_feasible(p, result):
    """Limits, y ≥ 0, w ≥ 0 and y · w = 0, for problems whose numbers are of the order of one."""
    assert result.residual < 1e-7
    assert (result.x >= p.x_lower).all()
    assert (result.x <= p.x_upper).all()
    assert (result.y >= 0.0).all()
    w = p.C_a @ result.x + p.W_cc @ result.y + p.c
    assert w.min(initial=0.0) > -1e-7
    assert np.abs(np.minimum(result.y, w)).max(initial=0.0) < 1e-7
    rows = p.R_a @ result.x + p.R_c @ result.y + p.r
    assert (rows >= p.row_lower - 1e-7).all()
    assert (rows <= p.row_upper + 1e-7).all()
    assert result.objective == pytest.approx(p.objective(result.x, result.y), rel=1e-12)


def assert_local(p, result, enumerated):
    """No piece that meets the point is better: those that differ where a contact touches without force."""
    both = np.flatnonzero((result.y <= TOUCH) & (result.w <= TOUCH))
    around = enumerated(p, fixed=result.y > result.w, free=both)
    assert result.objective <= around + 1e-7 * max(1.0, around)


@pytest.mark.parametrize("block", range(26))
def test_random_problems_agree_with_the_enumeration_of_all_pieces(random_problem, enumerated, block):
    for seed in range(20 * block, 20 * block + 20):
        _, p = random_problem(seed, contacts=(1, 5) if seed % 20 else (7, 8))
        best = enumerated(p)
        if not np.isfinite(best):
            with pytest.raises(pl.InfeasibleError, match="loosen"):
                solve_qpcc(p)
            continue
        local, overall = solve_qpcc(p), solve_qpcc(p, globalize=True)
        for result in (local, overall):
            assert_feasible(p, result)
        assert local.status is QpccStatus.LOCAL
        assert_local(p, local, enumerated)
        assert overall.status is QpccStatus.GLOBAL
        assert overall.objective == pytest.approx(best, rel=1e-7, abs=1e-8), seed
        assert overall.gap <= 1e-9


def test_ten_contacts_against_the_enumeration(random_problem, enumerated):
    _, p = random_problem(4, contacts=(10, 10))
    best = enumerated(p)
    assert solve_qpcc(p, globalize=True).objective == pytest.approx(best, rel=1e-7, abs=1e-8)


@pytest.mark.parametrize("seed", range(24))
def test_units_do_not_matter(random_problem, seed):
    arrays, _ = random_problem(seed)
    arrays.pop("energy_weight", None)
    length, force = 1e3, 10.0
    factor = {"W": length / force, "delta": length, "displacement": length, "force": force}
    scaled = {name: value * factor[name.split("_")[0]] for name, value in arrays.items()}
    try:
        one = pl.solvers.qpcc(**arrays)
    except pl.InfeasibleError:
        with pytest.raises(pl.InfeasibleError):
            pl.solvers.qpcc(**scaled)
        return
    other = pl.solvers.qpcc(**scaled)
    assert other.status is one.status
    np.testing.assert_allclose(other.x / force, one.x, rtol=1e-9, atol=1e-9)
    assert [piece for piece, _ in other.path] == [piece for piece, _ in one.path]


@pytest.mark.parametrize("seed", range(15))
def test_the_unreduced_form_gives_an_answer_too(random_problem, seed):
    _, p = random_problem(seed)
    try:
        solve_qpcc(p)
    except pl.InfeasibleError:
        return
    full = solve_qpcc(replace(p, symmetric=False))
    assert full.status is QpccStatus.LOCAL
    assert_feasible(p, full)


def two_valleys() -> QpccProblem:
    """One actuator between two stops: pushing either way lowers the cost, one way more."""
    return compliance_problem(
        W_ea=[[0.0]], W_ec=[[1.0, 1.0]], W_aa=[[1.0]], W_ac=[[-1.0, 1.0]], W_cc=[[1.0, 0.0], [0.0, 1.0]],
        delta_e=[-2.0], delta_c=[1.0, 0.5], force_lower=-2.0, force_upper=2.0, energy_weight=1e-3,
    )  # fmt: skip


def test_the_last_actuation_decides_which_local_minimum_is_found():
    p = two_valleys()
    right, left = solve_qpcc(p, warm=np.array([1.5])), solve_qpcc(p, warm=np.array([-1.5]))
    np.testing.assert_allclose([right.x[0], left.x[0]], [2.0, -2.0], atol=1e-9)
    assert right.status is left.status is QpccStatus.LOCAL
    assert left.objective < right.objective  # y = |x| − gap, and the left stop is nearer
    best = solve_qpcc(p, warm=np.array([1.5]), globalize=True)
    assert best.status is QpccStatus.GLOBAL
    np.testing.assert_allclose(best.x, left.x, atol=1e-9)


def test_a_kink_between_two_pieces_is_a_minimum_with_a_contact_that_touches_without_force():
    """Cost ½(x − 2)² while open; beyond the stop at x = 1 the contact pushes the effector back four times as much."""
    arrays = {
        "W_ea": [[1.0]], "W_ec": [[-4.0]], "W_aa": [[1.0]], "W_ac": [[-1.0]], "W_cc": [[1.0]], "delta_e": [-2.0],
        "delta_c": [1.0], "energy_weight": 0.0,
    }  # fmt: skip
    result = pl.solvers.qpcc(**arrays)
    assert result.status is QpccStatus.LOCAL
    np.testing.assert_allclose([result.x[0], result.y[0], result.w[0]], [1.0, 0.0, 0.0], atol=1e-9)
    assert result.objective == pytest.approx(0.5)


def test_a_warm_result_saves_the_way(random_problem):
    _, p = random_problem(12, contacts=(8, 8), easy=True)
    cold = solve_qpcc(p)
    warm = solve_qpcc(p, warm=cold)
    np.testing.assert_allclose(warm.x, cold.x, atol=1e-9)
    assert warm.iterations <= cold.iterations
    assert warm.path[0][0] == cold.path[-1][0]


@pytest.mark.parametrize("seed", range(8))
def test_the_last_contact_forces_say_the_piece(random_problem, seed):
    """The same answer as from the actuation alone, and no contact problem on the way to the first piece."""
    _, problem = random_problem(seed, contacts=(4, 8), easy=True)
    first = solve_qpcc(problem)
    plain = solve_qpcc(problem, warm=first.x)
    again = solve_qpcc(problem, warm=first.x, pressed=first.y)
    assert again.objective == pytest.approx(plain.objective, rel=1e-9, abs=1e-15)
    np.testing.assert_allclose(again.y, plain.y, atol=1e-9)
    with pytest.raises(pl.InputError, match="pressed"):
        solve_qpcc(problem, warm=first.x, pressed=first.y[:-1])


def test_wrong_contact_forces_do_no_harm(random_problem):
    _, problem = random_problem(3, contacts=(4, 8), easy=True)
    first = solve_qpcc(problem)
    again = solve_qpcc(problem, warm=first.x, pressed=np.where(first.y > 0.0, 0.0, 1.0))
    assert again.objective == pytest.approx(solve_qpcc(problem, warm=first.x).objective, rel=1e-9)


def test_the_path_goes_downhill_through_pieces_that_differ(random_problem):
    lengths = []
    for seed in range(30):
        _, p = random_problem(seed, contacts=(8, 8), easy=True)
        path = solve_qpcc(p).path
        lengths.append(len(path))
        assert len({contacts for contacts, _ in path}) == len(path)
        np.testing.assert_array_equal(np.shape([x for _, x in path]), (len(path), p.actuator_count))
    assert max(lengths) >= 4


def test_stopping_early_is_said(random_problem):
    for seed in range(60):
        _, p = random_problem(seed, contacts=(8, 8), easy=True)
        if len(solve_qpcc(p).path) < 3:
            continue
        stopped = solve_qpcc(p, maximum_iterations=1)
        assert stopped.status is QpccStatus.LIMIT
        assert not stopped.status.ok
        assert "maximum_iterations" in stopped.status.text
        assert_feasible(p, stopped)
        return
    pytest.fail("no problem with a path of three pieces")


@pytest.mark.parametrize("seed", [48, 108, 148])
def test_what_is_not_proved_is_not_claimed(random_problem, enumerated, monkeypatch, seed):
    """Multipliers do not prove these; the pieces around them do, and where those are not searched it is said."""
    _, p = random_problem(seed)
    proved = solve_qpcc(p)
    assert proved.status is QpccStatus.LOCAL
    assert_local(p, proved, enumerated)
    monkeypatch.setattr("pliant.solvers.inverse.descent._PROOF_NODES", 1)
    unproved = solve_qpcc(p)
    assert unproved.status is QpccStatus.ONE_FLIP
    assert unproved.objective == pytest.approx(proved.objective, rel=1e-9)
    assert "not proved" in unproved.status.text


def test_two_contacts_that_only_together_lower_the_cost_are_found(random_problem, enumerated, monkeypatch):
    _, p = random_problem(140)
    result = solve_qpcc(p)
    assert_local(p, result, enumerated)
    monkeypatch.setattr("pliant.solvers.inverse.descent._PROOF_NODES", 1)
    assert solve_qpcc(p).objective > 1.1 * result.objective


@pytest.mark.parametrize(("na", "contacts"), [(2, 12), (5, 47), (8, 76)])
def test_more_contacts_than_freedoms(slender_beam, na, contacts):
    for seed in range(8):
        p = slender_beam(na, contacts, seed)
        assert np.linalg.matrix_rank(p.W_cc) < contacts or contacts == 12
        result = solve_qpcc(p)
        assert result.status is QpccStatus.LOCAL
        assert result.residual < 1e-8
        again = solve_qpcc(p, warm=result)
        assert again.objective == pytest.approx(result.objective, rel=1e-6, abs=1e-16)
        if contacts == 12:
            best = solve_qpcc(p, globalize=True)
            assert best.status is QpccStatus.GLOBAL
            assert best.objective <= result.objective * (1 + 1e-9)


def test_a_search_cut_short_keeps_an_honest_gap(random_problem, enumerated):
    checked = 0
    for seed in range(40):
        _, p = random_problem(seed, contacts=(7, 7))
        try:
            result = solve_qpcc(p, globalize=True, node_limit=3)
        except pl.InfeasibleError:
            continue
        best = enumerated(p) if checked < 6 else result.lower_bound
        assert result.lower_bound <= best + 1e-8
        if result.status is not QpccStatus.GLOBAL:
            checked += 1
            assert result.gap > 0.0
        assert_feasible(p, result)
    assert checked > 2


def test_without_contacts_it_is_a_qp_with_a_global_answer():
    result = pl.solvers.qpcc(W_ea=[[1.0, 0.5]], W_aa=np.eye(2), delta_e=[-1.0], energy_weight=0.2)
    H = np.array([[1.0, 0.5], [0.5, 0.25]]) + 0.2 * np.eye(2)
    np.testing.assert_allclose(result.solution, np.linalg.solve(H, [1.0, 0.5]), rtol=1e-9)
    assert result.status is QpccStatus.GLOBAL
    assert result.gap == 0.0


def test_the_default_weight_is_the_one_of_the_paper(random_problem):
    arrays, p = random_problem(0)
    arrays.pop("energy_weight", None)
    p = compliance_problem(**arrays)
    W_ea, W_aa = arrays["W_ea"], arrays["W_aa"]
    weight = 1e-3 * np.linalg.norm(W_ea.T @ W_ea, np.inf) / np.linalg.norm(W_aa, np.inf)
    np.testing.assert_allclose(p.G, weight * W_aa)


def test_a_displacement_can_be_asked_for_exactly(random_problem):
    arrays, _ = random_problem(1)
    arrays = {k: v for k, v in arrays.items() if not k.startswith(("force", "displacement"))}
    free = pl.solvers.qpcc(**arrays)
    moved = arrays["W_aa"] @ free.x + arrays["W_ac"] @ free.y + arrays["delta_a"]
    again = pl.solvers.qpcc(**arrays, displacement_lower=moved, displacement_upper=moved, warm=free)
    np.testing.assert_allclose(again.x, free.x, atol=1e-6)


def test_limits_beyond_the_first_piece_are_found():
    """At x = 0 the contact is open, but the displacement asked for needs it to touch."""
    arrays = {
        "W_ea": [[1.0]], "W_ec": [[0.3]], "W_aa": [[1.0]], "W_ac": [[-0.9]], "W_cc": [[1.0]], "delta_e": [0.0],
        "delta_c": [0.5], "displacement_lower": 1.0, "displacement_upper": 1.2,
    }  # fmt: skip
    result = pl.solvers.qpcc(**arrays)
    assert result.y[0] > 0.1
    moved = result.x[0] - 0.9 * result.y[0]
    assert 1.0 - 1e-9 <= moved <= 1.2 + 1e-9


GOOD = {
    "W_ea": [[1.0, 0.2]], "W_ec": [[0.3]], "W_aa": np.eye(2), "W_ac": [[0.1], [0.2]], "W_cc": [[1.0]],
    "delta_e": [1.0], "delta_c": [0.5],
}  # fmt: skip


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"W_cc": [[np.nan]]}, "W_cc must be finite"),
        ({"W_cc": [[-1.0]]}, "W_cc must be positive semidefinite"),
        ({"W_cc": np.eye(2)}, "W_cc must have shape"),
        ({"W_cc": None}, "W_cc is missing"),
        ({"W_ac": None}, "W_ac is missing"),
        ({"W_ec": [[0.3, 0.1]]}, "E_c must have shape"),
        ({"W_aa": [[1.0, 0.5], [0.0, 1.0]]}, "G must be symmetric"),
        ({"delta_e": [np.inf]}, "e must be finite"),
        ({"force_lower": 2.0, "force_upper": 1.0}, r"x_lower\[0\] = 2 must not exceed x_upper\[0\] = 1"),
        ({"displacement_lower": [0.0, 1.0, 2.0]}, "displacement_lower"),
        ({"displacement_lower": 1.0, "displacement_upper": 0.0}, "row_lower"),
        ({"energy_weight": -1.0}, "energy_weight must be ≥ 0"),
        ({"warm": [0.0]}, "warm must have shape"),
        ({"maximum_iterations": 0}, "maximum_iterations"),
        ({"facets": 4}, "give mu"),
        ({"mu": 0.5}, "three rows"),
    ],
)
def test_bad_input_is_named(change, message):
    with pytest.raises(pl.InputError, match=message):
        pl.solvers.qpcc(**(GOOD | change))


def test_an_unsymmetric_compliance_is_named():
    with pytest.raises(pl.InputError, match=r"W_cc must be symmetric, but \[0, 1\] is 0.5"):
        QpccProblem.of(E_a=[[1.0]], E_c=[[0.0, 0.0]], e=[1.0], C_a=[[1.0], [1.0]], W_cc=[[1, 0.5], [0, 1]], c=[0, 0])


def test_a_search_for_a_feasible_piece_that_is_cut_short_hands_back_the_least_violation(monkeypatch) -> None:
    """Thirty redundant contacts and displacement limits that contradict them."""
    rng = np.random.default_rng(0)
    H, A = rng.normal(size=(30, 4)), rng.normal(size=(2, 4))
    W = np.vstack([A, H]) @ np.vstack([A, H]).T
    arrays = {
        "W_ea": rng.normal(size=(2, 2)), "W_aa": W[:2, :2], "W_ac": W[:2, 2:], "W_cc": W[2:, 2:],
        "W_ec": rng.normal(size=(2, 30)), "delta_e": [1.0, 1.0], "delta_c": H @ np.ones(4),
        "displacement_lower": 50.0, "displacement_upper": 50.1, "force_lower": -1.0, "force_upper": 1.0,
    }  # fmt: skip
    with pytest.raises(pl.errors.InfeasibleError):
        pl.solvers.qpcc(**arrays)
    nodes = []

    def undecided(*args, node_limit, **options):
        nodes.append(node_limit)
        return Branched(None, -np.inf, complete=False, nodes=node_limit)

    monkeypatch.setattr("pliant.solvers.inverse.start.branch", undecided)
    with pytest.raises(pl.errors.ConvergenceError, match="maximum_iterations") as caught:
        pl.solvers.qpcc(**arrays, maximum_iterations=50)
    assert 1 <= nodes[0] < 50
    best = caught.value.result
    assert best.status is QpccStatus.LIMIT
    assert best.residual > 1e-3
    assert np.abs(np.minimum(best.y, best.w)).max() <= 1e-9
