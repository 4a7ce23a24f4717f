"""The greedy cone basis, and the choice of a size by forces that were held out."""

import numpy as np
import pytest
from scipy.optimize import nnls

import pliant as pl


def cone(contacts=30, snapshots=80, rank=5, seed=0):
    rng = np.random.default_rng(seed)
    modes = rng.random((contacts, rank)) * (rng.random((contacts, rank)) < 0.5)
    weights = rng.dirichlet(np.full(rank, 0.4), size=snapshots).T
    weights[:, :rank] = 2.0 * np.eye(rank)
    return modes, modes @ weights


def test_the_greedy_basis_is_made_of_the_extreme_rays_of_a_cone():
    _, S = cone()
    found = pl.reduction.cone_basis(S, tolerance=1e-9)
    assert sorted(found.picked.tolist()) == list(range(5))
    assert found.error < 1e-12
    assert found.weights.min() >= 0.0
    assert np.linalg.norm(found.basis, axis=0) == pytest.approx(1.0)


def test_the_greedy_basis_starts_with_the_most_intense_and_ends_at_its_tolerance():
    S = np.random.default_rng(1).random((20, 40)) ** 4
    found = pl.reduction.cone_basis(S, tolerance=0.2)
    sizes = np.linalg.norm(S, axis=0)
    assert found.picked[0] == sizes.argmax()
    worst = max(nnls(found.basis, s)[1] for s in S.T) / sizes.max()
    assert found.errors[-1] == pytest.approx(worst, rel=1e-9)
    assert worst <= 0.2 < found.errors[-2]
    assert found.errors[0] == 1.0
    assert len(found.errors) == found.rank + 1


def test_the_greedy_basis_stops_at_its_largest_size():
    S = np.random.default_rng(1).random((20, 40))
    assert pl.reduction.cone_basis(S, tolerance=1e-9, largest=3).rank == 3


def test_a_cone_of_nothing_is_refused():
    with pytest.raises(pl.InputError, match="no forces"):
        pl.reduction.cone_basis(np.zeros((4, 5)), tolerance=0.1)


def test_the_chosen_size_is_the_smallest_that_fits_what_was_held_out():
    _, S = cone(snapshots=200)
    rng = np.random.default_rng(3)
    S = S + 0.005 * rng.random(S.shape)
    choice = pl.reduction.choose_basis(
        S[:, ::2], S[:, 1::2], tolerance=0.05, seed=0, ranks=range(1, 9), whole_curve=True
    )
    assert choice.ranks.tolist() == list(range(1, 9))
    assert choice.rank == 5
    assert choice.error == choice.held_out_errors[4] <= 0.05 < choice.held_out_errors[:4].min()
    for rank in range(1, choice.rank):
        assert choice.error <= 1.1 * choice.held_out_errors[rank - 1]
    direct = np.sqrt(sum(nnls(choice.basis, s)[1] ** 2 for s in S[:, 1::2].T)) / np.linalg.norm(S[:, 1::2])
    assert choice.error == pytest.approx(direct, rel=1e-9)
    assert (np.diff(choice.training_errors) <= 0.0).all()


def test_without_the_whole_curve_it_stops_where_the_tolerance_is_reached():
    _, S = cone(snapshots=200)
    choice = pl.reduction.choose_basis(S[:, ::2], S[:, 1::2], tolerance=0.05, seed=0)
    assert choice.ranks[-1] == choice.rank


def test_a_tolerance_out_of_reach_says_what_was_reached():
    rng = np.random.default_rng(0)
    with pytest.raises(pl.ConvergenceError, match="modes reach") as caught:
        pl.reduction.choose_basis(rng.random((20, 8)), rng.random((20, 8)), tolerance=1e-6, seed=0)
    assert caught.value.result.error > 1e-6


def test_forces_that_never_act_cannot_choose():
    with pytest.raises(pl.InputError, match="held-out snapshots hold no forces"):
        pl.reduction.choose_basis(np.eye(3), np.zeros((3, 2)), tolerance=0.1, seed=0)
    with pytest.raises(pl.InputError, match="3 contacts"):
        pl.reduction.choose_basis(np.eye(3), np.eye(4), tolerance=0.1, seed=0)


def test_the_curve_is_drawn(tmp_path):
    pytest.importorskip("matplotlib")
    _, S = cone()
    choice = pl.reduction.choose_basis(S[:, ::2], S[:, 1::2], tolerance=0.2, seed=0)
    assert choice.plot(tmp_path / "curve.png").stat().st_size > 1000
