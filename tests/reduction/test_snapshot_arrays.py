"""Snapshots made at random: forces by key, parts of them, files whose arrays do not belong together."""

from dataclasses import replace

import numpy as np
import pytest

import pliant as pl
from pliant.reduction import Snapshots

MAKERS = ("cable", "arm – floor", "arm – wall")


def random_snapshots(seed=0, count=12, runs=4):
    """Each step has some rows of each maker, by keys of 0 … 19; some are friction, some without force."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(0, 9, count)
    rows = int(sizes.sum())
    keys = np.concatenate([rng.permutation(20)[:n] for n in sizes])
    return Snapshots(
        ("arm", "ball"), MAKERS, (rng.normal(size=(count, 5, 3)), rng.normal(size=(count, 4, 3))),
        run=np.repeat(np.arange(runs), count // runs), step=np.tile(np.arange(count // runs), runs),
        actuation=rng.normal(size=(count, 2, 2)), residual=rng.random(count),
        starts=np.concatenate([[0], np.cumsum(sizes)]), keys=keys, lam=rng.choice([0.0, 1.0, 2.5, 7.0], rows),
        maker=rng.integers(0, 3, rows), normal=rng.random(rows) < 0.7, nodes=np.zeros((rows, 2, 3), np.int32),
        weights=rng.random((rows, 2, 3)), provenance={"plan": {"targets": [[1.0]]}},
    )  # fmt: skip


def table(snapshots, maker):
    """λ by key and snapshot, one after the other."""
    found = {}
    for k in range(snapshots.count):
        for row in range(snapshots.starts[k], snapshots.starts[k + 1]):
            if snapshots.maker[row] == maker and snapshots.normal[row]:
                found[int(snapshots.keys[row]), k] = found.get((int(snapshots.keys[row]), k), 0.0) + snapshots.lam[row]
    return found


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("maker", [0, 1, 2])
def test_forces_are_those_of_each_key_in_each_step(seed, maker):
    snapshots = random_snapshots(seed)
    rows, matrix = snapshots.forces(MAKERS[maker])
    expected = table(snapshots, maker)
    assert rows.tolist() == sorted({key for key, _ in expected})
    dense = matrix.toarray()
    assert dense.shape == (len(rows), 12)
    for (key, k), value in expected.items():
        assert dense[rows.tolist().index(key), k] == value
    assert dense.sum() == pytest.approx(sum(expected.values()))
    wanted = np.random.default_rng(seed).permutation(np.arange(25))
    again, wide = snapshots.forces(maker, keys=wanted)
    np.testing.assert_array_equal(again, wanted)
    for place, key in enumerate(wanted):
        line = dense[rows.tolist().index(key)] if key in rows else np.zeros(12)
        np.testing.assert_array_equal(wide.toarray()[place], line)
    np.testing.assert_array_equal(snapshots.force_matrix(maker)[1], dense)


@pytest.mark.parametrize("seed", range(3))
def test_rows_that_push_must_be_among_the_keys(seed):
    snapshots = random_snapshots(seed)
    strongest = max(table(snapshots, 1).items(), key=lambda item: item[1])
    others = [key for key in range(20) if key != strongest[0][0]]
    with pytest.raises(pl.InputError, match="of 'arm – floor' pushes in a snapshot but is not among the keys"):
        snapshots.forces("arm – floor", keys=others)
    key = strongest[0][0]
    pulled = -1e3 * ((snapshots.keys == key) & (snapshots.maker == 1)) + snapshots.lam
    with pytest.raises(pl.InputError, match=f"row {key} of 'arm – floor'"):
        replace(snapshots, lam=pulled).forces("arm – floor", keys=[])
    silent = replace(snapshots, lam=0.0 * snapshots.lam)
    rows, matrix = silent.forces("arm – floor", keys=[])
    assert (len(rows), matrix.shape, matrix.nnz) == (0, (0, 12), 0)
    with pytest.raises(pl.InputError, match="never pushes in these 12 snapshots"):
        silent.force_matrix("arm – floor")


def test_parts_keep_what_belongs_to_each_step():
    snapshots = random_snapshots(2)
    which = np.array([7, 3, 3, 11, 0])
    for chosen, index in ((which, which), (np.arange(12) % 2 == 0, np.arange(0, 12, 2))):
        part = snapshots.selected(chosen)
        assert part.count == len(part) == len(index)
        for new, old in enumerate(index):
            for name in ("run", "step", "actuation", "residual"):
                np.testing.assert_array_equal(getattr(part, name)[new], getattr(snapshots, name)[old])
            for body in (0, 1):
                np.testing.assert_array_equal(part.positions(body)[new], snapshots.positions(body)[old])
            a, b = slice(*part.starts[new : new + 2]), slice(*snapshots.starts[old : old + 2])
            for name in ("keys", "lam", "maker", "normal", "weights"):
                np.testing.assert_array_equal(getattr(part, name)[a], getattr(snapshots, name)[b])
        part._check()


@pytest.mark.parametrize(
    ("by", "held_out", "count"), [("snapshots", 0.25, 3), ("runs", 0.25, 3), ("runs", 0.5, 6), ("snapshots", 0.9, 11)]
)
def test_splits_are_whole_and_without_repetition(by, held_out, count):
    snapshots = random_snapshots(1)
    training, apart = snapshots.split(held_out, seed=4, by=by)
    assert apart.count == count
    pairs = [
        tuple(pair) for part in (training, apart) for pair in zip(part.run.tolist(), part.step.tolist(), strict=True)
    ]
    assert sorted(pairs) == sorted(zip(snapshots.run.tolist(), snapshots.step.tolist(), strict=True))
    if by == "runs":
        assert not set(training.run) & set(apart.run)
    again = snapshots.split(held_out, seed=4, by=by)[1]
    np.testing.assert_array_equal(again.residual, apart.residual)
    others = [snapshots.split(held_out, seed=seed, by=by)[1].residual.tolist() for seed in range(8)]
    assert len({tuple(one) for one in others}) > 1
    for bad in (0.0, 1.0, -0.1, 0.01, 0.99):
        with pytest.raises(pl.InputError, match=r"held_out must be|too few to hold out"):
            snapshots.split(bad, by=by)
    with pytest.raises(pl.InputError, match='by must be "snapshots" or "runs"'):
        snapshots.split(0.5, by="steps")


def test_things_are_found_by_name_and_index():
    snapshots = random_snapshots()

    class Named:
        def __init__(self, name):
            self.name = name

    arm, floor = Named("arm"), Named("floor")
    for pair in ((arm, floor), (floor, arm), ("arm", floor), ("floor", "arm"), "arm – floor", 1):
        np.testing.assert_array_equal(snapshots.forces(pair)[0], snapshots.forces("arm – floor")[0])
    assert snapshots.positions(Named("ball")) is snapshots.positions(1)
    for bad in ("leg", 2, -1, None):
        with pytest.raises(pl.InputError, match="is not a body of these snapshots; there are 'arm', 'ball'"):
            snapshots.positions(bad)
    twice = replace(snapshots, bodies=("arm", "arm"))
    with pytest.raises(pl.InputError, match="several things are called 'arm'; say which by its index 0 … 1"):
        twice.positions("arm")
    assert twice.positions(1) is snapshots.positions(1)


@pytest.mark.parametrize(
    "change",
    [
        lambda s: {"run": s.run[:-1]},
        lambda s: {"step": s.step.astype(float)},
        lambda s: {"residual": s.residual[:-1]},
        lambda s: {"actuation": s.actuation[..., :1]},
        lambda s: {"starts": s.starts[:-1]},
        lambda s: {"keys": s.keys[:-1]},
        lambda s: {"lam": s.lam[:-1]},
        lambda s: {"maker": s.maker + 1},
        lambda s: {"maker": s.maker - 1},
        lambda s: {"normal": s.normal.astype(int)},
        lambda s: {"nodes": s.nodes[:, :1]},
        lambda s: {"weights": s.weights[:-1]},
        lambda s: {"starts": s.starts + 1},
        lambda s: {"starts": np.concatenate([[0, 99], s.starts[2:]])},
        lambda s: {"starts": np.concatenate([s.starts[:-1], [s.starts[-1] + 1]])},
        lambda s: {"q": (s.q[0][:-1], s.q[1])},
    ],
)
def test_arrays_that_do_not_belong_together_are_refused(change, tmp_path):
    snapshots = random_snapshots(3)
    snapshots._check()
    again = Snapshots.load(snapshots.save(tmp_path / "good.npz"))
    np.testing.assert_array_equal(again.lam, snapshots.lam)
    bad = replace(snapshots, **change(snapshots))
    with pytest.raises(pl.InputError):
        bad._check()
