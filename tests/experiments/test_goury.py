"""Finger and manipulator of Goury 2021, in short: contact modes beside full contact and the published procedure."""

from dataclasses import replace

import numpy as np
import pytest

import pliant as pl
from experiments import EXPERIMENTS, goury_finger, goury_manipulator
from experiments.every_contact import GaussSeidel, with_every_contact
from experiments.goury_parts import Sizes, contact_arrows, sizes
from experiments.goury_pictures import mode_picture, size_picture


@pytest.fixture(scope="module")
def finger():
    bench = goury_finger.build(3 * 4 * 5)
    plan = pl.reduction.ramps(bench.world, goury_finger.PULL, 40)
    seen = pl.reduction.experiments(bench.world, plan, workers=1, progress=False)
    return bench, bench.forces(seen), goury_finger.pulled(bench, bench.world, steps=27)


@pytest.fixture(scope="module")
def tried(finger):
    bench, forces, wanted = finger
    return sizes(
        bench, forces, (1, 3, 6), lambda world: goury_finger.off(bench, pulls(bench, world), wanted).max()
    )  # fmt: skip


def pulls(bench, world):
    return goury_finger.pulled(bench, world, steps=27)


def test_both_are_listed():
    assert {"goury-finger", "goury-manipulator"} <= set(EXPERIMENTS)


def test_a_finger_in_modes_stands_where_the_full_one_does(finger, tried):
    bench, _, wanted = finger
    without = goury_finger.off(bench, pulls(bench, bench.without), wanted).max()
    assert without > 3e-3
    assert tried.tip[-1] < 0.1 * without
    assert (np.diff(tried.held_out) < 0.0).all()


def test_an_inverse_in_modes_knows_where_the_full_tip_goes(finger, tried):
    bench, _, wanted = finger
    found = goury_finger.inverses(bench, tried.bases[-1].basis, goury_finger.targets(bench, wanted, 24))
    assert found.apart.max() < 0.01 * goury_finger.LENGTH
    assert found.errors[-1] < 1.5e-3  # the targets are 1 mm beside what can be reached
    assert found.errors[-1] < 0.6 * found.blind_errors[-1]


def test_the_smallest_size_that_suffices_is_chosen_and_rises_are_told():
    ranks = np.array([1, 2, 3, 4])
    curve = Sizes(ranks, np.zeros(4), np.array([0.5, 0.08, 0.2, 0.06]), np.zeros(4), [])
    assert curve.chosen(0.1) == 1
    assert curve.chosen(0.01) == 3
    assert curve.rise(1) == 1.0
    assert curve.rise() == pytest.approx(2.5)


def test_modes_are_drawn_as_arrows_along_the_normals(finger, tried, tmp_path):
    bench, _, wanted = finger
    modes = tried.bases[-1].basis
    points, arrows = contact_arrows(bench, wanted[-1], modes[:, 0])
    lengths = np.linalg.norm(arrows, axis=1)
    assert len(points) == (modes[:, 0] > 1e-2 * modes[:, 0].max()).sum()
    assert lengths.max() == pytest.approx(1.0)
    for file in (
        mode_picture(tmp_path / "modes.png", bench, wanted[-1], modes, [0, 1]),
        size_picture(tmp_path / "sizes.png", tried, 1, 5e-3, 0.1),
    ):
        assert file.stat().st_size > 5000


@pytest.fixture(scope="module")
def spine():
    return goury_manipulator.build((3, 2), length=0.24, vertebra_count=9)


def bent(bench, world, force=9.0):
    return goury_manipulator.bent(bench, world, force=force, steps=3)


def test_the_published_procedure_finds_what_pivots_find(spine):
    state = bent(spine, spine.world)
    everywhere = with_every_contact(spine.world)
    controls = goury_manipulator.pulls(spine, 9.3)
    exact, info = pl.ImplicitEuler(0.02)(spine.world, state, controls)
    swept, reference = pl.ImplicitEuler(0.02, solver=GaussSeidel(tolerance=1e-9, sweeps=20_000))(
        everywhere, replace(state, world=everywhere), controls
    )
    count = goury_manipulator.row_count(reference)
    assert count == spine.facing.count > goury_manipulator.row_count(info) > 0
    assert reference.inverse > 1
    assert info.contacts(spine.robot.facings[0]).forces.any()
    moved = np.abs(exact.q[0][:, 0] - state.q[0][:, 0]).max()
    assert np.abs(swept.q[0] - exact.q[0])[:, 0].max() < 1e-4 * moved


def test_the_published_procedure_refuses_what_it_does_not_know(spine):
    everywhere = with_every_contact(spine.world)
    with pytest.raises(pl.InputError, match="commanded by their force"):
        pl.ImplicitEuler(0.02, solver=GaussSeidel())(
            everywhere, everywhere.initial_state(), {spine.robot.cables[0]: pl.Displacement(1e-3)}
        )


def test_ribs_stiffen_a_short_spine(spine):
    curves = goury_manipulator.bending(spine, np.array([2.0, 9.0]))
    assert curves.stiffness[0] == pytest.approx(curves.stiffness_without[0], rel=1e-6)
    assert curves.stiffness[1] > 1.5 * curves.stiffness_without[1]
    assert np.linalg.norm(curves.tip[1] - curves.tip_without[1]) > 0.01


def test_turned_runs_have_turned_forces(spine, tmp_path):
    """A run and its copy turned by 120 degrees: the forces of the second are those of the first at the next rib."""
    forces = goury_manipulator.snapshots(spine, 6, folder=tmp_path)
    own, turned, _ = np.split(forces, 3, axis=1)
    assert own.any()
    ribs = own.reshape(9, 3, 6, -1)
    assert np.array_equal(turned.reshape(ribs.shape), np.roll(ribs, 1, axis=1))


def test_table_two_has_every_rate(spine):
    modes = np.ones((spine.facing.count, 1)) * (spine.facing.table.group[:, None] == np.arange(0, 27, 3))
    table = goury_manipulator.rates(spine, modes, steps=3, reference_steps=1)
    rates = (table.straight, table.straight_reduced, table.waving, table.full, table.reduced, table.published)
    assert min(rates) > 0.0
    assert table.wave > 0.001
    assert table.reduced_rows < table.rows


def test_fresh_poses_are_none_of_those_trained_and_stay_within_their_forces(spine):
    forces = goury_manipulator.fresh()
    assert forces.shape == (goury_manipulator.FRESH, 9)
    assert forces.min() >= 0.0
    assert 5.0 <= forces.max() <= 10.0 < goury_manipulator.TRAINED
    ahead = np.array([[0.0, np.pi / 3.0, 2.0 * np.pi / 3.0]])
    assert np.allclose(goury_manipulator.towards(ahead, np.array([[3.0, 4.0, 5.0]])), [[3, 0, 0, 4, 4, 0, 0, 5, 0]])
    every = np.eye(spine.facing.count)
    same, without = goury_manipulator.pose_errors(spine, [spine.few(every), spine.without], forces[:1])
    assert same.max() < 1e-4
    assert without.max() > 0.005
