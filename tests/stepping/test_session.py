"""Who finds the constraint forces of a step: islands put together, budgets, starts, and what a stepper accepts."""

import warnings
from types import SimpleNamespace

import numpy as np
import pytest

import pliant as pl
from pliant.constraints.condense import Island
from pliant.core.errors import ConvergenceError, InputError, PliantWarning
from pliant.core.status import Status
from pliant.models.workspace import Workspace
from pliant.solvers.contact import ConflictingRowsError, Law, MixedProblem
from pliant.solvers.contact.result import ComplementarityResult
from pliant.stepping import session
from pliant.stepping.session import DirectSession, begin_session, solve_in_budget, warm_start

ISLANDS = {(0, 3): [1.0, 2.0], (1,): [3.0], (2, 4): [4.0, 5.0]}
"""Rows of three islands, and their forces."""


def problem_of(rows):
    """A problem that tells its island by its gaps."""
    return MixedProblem.of(np.eye(len(rows)), np.array(rows, float), [Law.SIGNORINI] * len(rows))


def result(lam, residual=0.0, status=Status.CONVERGED):
    forces = np.array(lam, float)
    return ComplementarityResult(forces, np.zeros(len(forces)), status, residual, 0.0, 1)


def condensed_of(*islands, known, dt=0.01):
    """A linear solve with rows 100, 101 … in islands, and the forces of the last step by their keys."""
    keys = 100 + np.arange(sum(map(len, islands)))
    start = SimpleNamespace(keys=np.array(list(known)), lam=np.array(list(known.values())))
    made = [Island(np.array(rows), problem_of(rows)) for rows in islands]
    return SimpleNamespace(
        bodies=SimpleNamespace(reactions=None, start=start, scheme=SimpleNamespace(dt=dt)),
        condensation=SimpleNamespace(islands=made),
        assembly=SimpleNamespace(rows=SimpleNamespace(count=len(keys), key=keys)),
    )


@pytest.mark.parametrize("closed", [None, (1,)])
@pytest.mark.parametrize("bad", [None, *ISLANDS])
@pytest.mark.parametrize("status", [Status.ITERATION_LIMIT, Status.STALLED])
def test_islands_are_put_together_with_the_worst_of_their_outcomes(monkeypatch, closed, bad, status):
    """Forces where their rows are, the largest residual, the status of the one that failed, and starts of the same
    rows; an island in closed form is not searched for.
    """
    starts = {}

    def outcome(problem):
        rows = tuple(problem.delta_free.astype(int))
        failed = rows == bad
        return result(ISLANDS[rows], 1e-3 if failed else 1e-9 * rows[0], status if failed else Status.CONVERGED)

    def search(problem, warm=None, **options):
        starts[tuple(problem.delta_free.astype(int))] = list(warm)
        return outcome(problem)

    def directly(problem):
        return (outcome(problem), False) if closed == tuple(problem.delta_free.astype(int)) else None

    monkeypatch.setattr(session, "solve_and_judge", directly)
    monkeypatch.setattr(session, "solve", search)
    solution = DirectSession().solve(condensed_of(*ISLANDS, known={104: 9.0, 101: 7.0}))
    assert solution.lam.tolist() == [1.0, 3.0, 4.0, 2.0, 5.0]
    assert solution.residual == (2e-9 if bad is None else 1e-3)
    assert solution.status is (Status.CONVERGED if bad is None else status)
    expected = {(0, 3): [0.0, 0.0], (1,): [7.0], (2, 4): [0.0, 9.0]}
    assert starts == {rows: warm for rows, warm in expected.items() if rows != closed}
    one = DirectSession().solve(condensed_of((1,), known={100: 8.0}))
    assert (one.lam.tolist(), one.residual) == ([3.0], 1e-3 if bad == (1,) else 1e-9)
    assert one.status is (status if bad == (1,) else Status.CONVERGED)
    assert closed or starts[1,] == [8.0]


def test_contradicting_rows_of_an_island_are_named_among_all(monkeypatch):
    def search(problem, warm=None, **options):
        if problem.delta_free[0] == 2.0:
            raise ConflictingRowsError("no forces", rows=(1,))
        return result(np.zeros(len(problem.delta_free)))

    monkeypatch.setattr(session, "solve_and_judge", lambda problem: None)
    monkeypatch.setattr(session, "solve", search)
    with pytest.raises(ConflictingRowsError, match="no forces") as error:
        DirectSession().solve(condensed_of(*ISLANDS, known={100: 1.0}))
    assert error.value.rows == (4,)


@pytest.mark.parametrize(
    ("residual", "follow", "outcome"),
    [
        (1e-9, False, None), (1e-6, False, None), (1.01e-6, False, "warns"), (1e-2, False, "warns"),
        (1.01e-2, False, "raises"), (np.nan, False, "raises"), (1e-3, True, None), (1e-2, True, None),
        (1.01e-2, True, "raises"),
    ],
)  # fmt: skip
def test_the_best_forces_are_used_up_to_a_residual_of_a_hundredth(monkeypatch, residual, follow, outcome):
    """Without a word up to 1e-6, with a warning beyond, unless an iteration goes on from them; that one has the larger
    budget.
    """
    asked = []

    def fail(problem, warm=None, *, quick):
        asked.append(quick)
        raise ConvergenceError("stopped", result=result([2.0], residual, Status.ITERATION_LIMIT))

    monkeypatch.setattr(session, "solve", fail)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        if outcome == "raises":
            with pytest.raises(ConvergenceError, match="stopped"):
                solve_in_budget(problem_of((0,)), None, follow=follow)
        else:
            assert solve_in_budget(problem_of((0,)), None, follow=follow).lam.tolist() == [2.0]
    assert [one.category for one in said] == [PliantWarning] * (outcome == "warns")
    assert asked == [not follow]


def test_an_error_without_a_result_is_passed_on(monkeypatch):
    def fail(problem, warm=None, **options):
        raise ConvergenceError("nothing found")

    monkeypatch.setattr(session, "solve", fail)
    monkeypatch.setattr(session, "solve_and_judge", lambda problem: None)
    with pytest.raises(ConvergenceError, match="nothing found"):
        solve_in_budget(problem_of((0,)), None)
    with pytest.raises(ConvergenceError, match="nothing found"):
        DirectSession().solve(condensed_of((0,), known={100: 1.0}))


def test_forces_start_from_the_last_step_or_the_last_linear_solve():
    """By their keys, zero for new rows, nothing where there were none."""
    keys = np.array([102, 100])
    last = SimpleNamespace(keys=np.array([100, 101]), lam=np.array([1.0, 2.0]))
    assert warm_start(last, keys).tolist() == [0.0, 1.0]
    for nothing in (SimpleNamespace(keys=None, lam=np.ones(1)), SimpleNamespace(keys=keys[:0], lam=np.zeros(0))):
        assert warm_start(nothing, keys) is None
    bodies = SimpleNamespace(reactions=object(), start=last, last_forces=(np.array([102]), np.array([5.0])))
    condensed = SimpleNamespace(bodies=bodies, assembly=SimpleNamespace(rows=SimpleNamespace(key=keys)))
    assert DirectSession()._warm(condensed).tolist() == [0.0, 1.0]
    assert DirectSession(follow=True)._warm(condensed).tolist() == [5.0, 0.0]
    bodies.reactions = None
    assert DirectSession(follow=True)._warm(condensed).tolist() == [0.0, 1.0]


def test_a_stepper_accepts_what_begins_a_session():
    scene = pl.Scene()
    scene.add(pl.RigidBody.sphere(radius=0.1, mass=1.0))
    world = scene.compile()
    state = world.initial_state()
    for wrong in (pl.Inverse, "inverse", object(), 3):
        with pytest.raises(InputError, match=r"solver of a stepper must be None or a pl\.Inverse"):
            begin_session(wrong, world, state, None, Workspace())

    class Own:
        def begin(self, *given):
            return given

    assert begin_session(Own(), world, state, {"gravity": (0, 0, 0)}, space := Workspace()) == (
        world, state, {"gravity": (0, 0, 0)}, space,
    )  # fmt: skip
    values, own = begin_session(None, world, state, {"gravity": (0, 0, -1.0)}, Workspace())
    assert own is session.BY_LAWS
    np.testing.assert_array_equal(values["gravity"], (0, 0, -1.0))


@pytest.mark.parametrize("follow", [False, True])
def test_an_iteration_that_goes_on_from_its_forces_has_the_larger_budget(monkeypatch, follow):
    """Of every island, and of the problem as a whole."""
    asked = []

    def search(problem, warm=None, *, quick):
        asked.append(quick)
        return result(np.zeros(len(problem.delta_free)))

    monkeypatch.setattr(session, "solve_and_judge", lambda problem: None)
    monkeypatch.setattr(session, "solve", search)
    DirectSession(follow=follow).solve(condensed_of((0, 1), known={100: 1.0}))
    DirectSession(follow=follow).solve(condensed_of(*ISLANDS, known={100: 1.0}))
    assert asked == [not follow] * 4
