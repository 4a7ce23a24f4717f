"""The number of contact modes: the fewest within the tolerance, or the smallest within a tenth of the best."""

import numpy as np
import pytest

import pliant as pl
from pliant.reduction.choose import BasisChoice, _least, choose_basis
from pliant.reduction.choose_modes import ModeChoice, is_rich


def snapshots(rank=4, noise=0.0, seed=0):
    rng = np.random.default_rng(seed)
    modes = rng.random((30, rank)) * (rng.random((30, rank)) < 0.4)
    S, T = (modes @ rng.dirichlet(np.full(rank, 0.5), size=60).T for _ in range(2))
    return S + noise * rng.random(S.shape), T + noise * rng.random(T.shape)


def test_the_fewest_modes_within_the_tolerance_are_taken():
    S, T = snapshots()
    choice = choose_basis(S, T, tolerance=0.02, seed=0, progress=False)
    assert choice.rank <= 4
    assert choice.held_out_errors[-1] == choice.error <= 0.02
    assert (choice.held_out_errors[:-1] > 0.02).all(), "it ends at the first"
    np.testing.assert_array_equal(choice.ranks, np.arange(1, choice.rank + 1))
    assert choice.basis.shape == (30, choice.rank)
    best = np.array([np.linalg.norm(T - choice.basis @ weights) for weights in [nonnegative(choice.basis, T)]])[0]
    assert choice.error == pytest.approx(best / np.linalg.norm(T), rel=1e-4)
    whole = choose_basis(S, T, tolerance=0.02, seed=0, ranks=[1, 3, 5, 6], whole_curve=True, progress=False)
    assert whole.ranks.tolist() == [1, 3, 5, 6]
    assert whole.rank in (3, 5)
    assert whole.error == whole.held_out_errors[whole.ranks.tolist().index(whole.rank)]
    assert (np.diff(whole.training_errors) <= 0.0).all()


def test_an_error_that_equals_the_tolerance_is_within_it():
    S, T = snapshots()
    first = choose_basis(S, T, tolerance=0.2, seed=0, progress=False)
    again = choose_basis(S, T, tolerance=first.error, seed=0, progress=False)
    assert again.ranks.tolist() == first.ranks.tolist()


def nonnegative(basis, T):
    from scipy.optimize import nnls

    return np.column_stack([nnls(basis, column)[0] for column in T.T])


def test_a_tolerance_out_of_reach_gives_the_best_it_found():
    S, T = snapshots(noise=0.3)
    with pytest.raises(pl.ConvergenceError, match=r"no basis of up to 3 modes reaches 0\.0001") as caught:
        choose_basis(S, T, tolerance=1e-4, seed=0, ranks=[1, 2, 3], progress=False)
    choice = caught.value.result
    assert isinstance(choice, BasisChoice)
    assert choice.error <= 1.1 * choice.held_out_errors.min()


@pytest.mark.parametrize(
    ("errors", "least"),
    [([1.0, 0.5, 0.1, 0.1099, 0.05], 4), ([1.0, 0.1099, 0.5, 0.1], 1), ([1.0, 0.111, 0.1], 2), ([0.3], 0)],
)
def test_the_smallest_within_a_tenth_of_the_best(errors, least):
    assert _least(errors) == least


def test_what_cannot_be_chosen_from_is_named():
    S, T = snapshots()
    for given, said in (
        ((S, T[:-1]), "have 30 contacts, the held-out ones 29"),
        ((0.0 * S, T), "training snapshots hold no forces"),
        ((S, 0.0 * T), "held-out snapshots hold no forces"),
        ((-S, T), r"training snapshots\["),
        ((S, -T), r"held-out snapshots\["),
    ):
        with pytest.raises(pl.InputError, match=said):
            choose_basis(*given, tolerance=0.1, seed=0, progress=False)
    with pytest.raises(pl.InputError, match="tolerance"):
        choose_basis(S, T, tolerance=0.0, seed=0)


@pytest.mark.parametrize(("size", "error"), [(0, 1.0), (2, 0.2), (3, 0.1), (9, 0.1)])
def test_the_error_of_a_choice_is_that_of_as_many_modes_or_of_the_most(size, error):
    class Space:
        pass

    space = Space()
    space.size = size
    assert ModeChoice(space, np.array([1.0, 0.5, 0.2, 0.1]), "runs").error == error


@pytest.mark.parametrize(
    ("targets", "rich"),
    [
        (np.eye(2).repeat(5, axis=0), True),
        (np.eye(2).repeat(5, axis=0)[:-1], False),
        (np.ones((5, 3)), True),
        (np.ones((4, 3)), False),
    ],
)
def test_whole_runs_are_held_out_where_every_actuator_moves_in_five(targets, rich):
    class Told:
        provenance = {"plan": {"targets": targets.tolist()}}  # noqa: RUF012

    assert is_rich(Told()) is rich
    Told.provenance = {}
    assert is_rich(Told()) is False
