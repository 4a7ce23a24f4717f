"""Finger, sections, radius and pre-bent rod of Adagolodjo 2021: what the paper shows has to happen here too."""

import matplotlib.pyplot as plt
import numpy as np
import pytest

import pliant as pl
from experiments import EXPERIMENTS, reproduce
from experiments import adagolodjo_parts as parts
from experiments import adagolodjo_prebent as prebent
from pliant.constraints.coupling import couple
from pliant.control.kinematics import _watched, kinematics, origin

NAMES = ("finger", "convergence", "radius", "prebent")


@pytest.fixture(scope="module")
def reports():
    return {name: reproduce(f"adagolodjo-{name}") for name in NAMES}


@pytest.mark.parametrize("name", NAMES)
def test_the_paper_is_reported_by_the_same_names(name, reports):
    report = reports[name]
    assert f"adagolodjo-{name}" in EXPERIMENTS
    assert set(report.paper) <= set(report.metrics)
    assert all(np.isfinite(value) for value in report.metrics.values())


def test_the_fingertip_follows_its_targets_by_the_base_of_the_rod(reports):
    m = reports["finger"].metrics
    assert m["tip_way_mm"] > 30.0
    assert m["mean_error_mm"] < 0.01 * m["tip_way_mm"]
    assert m["final_error_mm"] < 0.05
    assert m["tetrahedra"] == pytest.approx(389, rel=0.03)
    assert m["sliding_points"] == 15


def test_a_rod_that_hardly_bends_is_a_cable(reports):
    m = reports["finger"].metrics
    assert m["cable_difference_percent"] < 1.0
    assert m["eight_sections_difference_percent"] < 3.0


def test_six_sections_are_enough(reports):
    """The shape of the rod is within 1 % of its length of that with 80 sections, and not with three."""
    m = reports["convergence"].metrics
    assert m["deviation_six_sections"] < 0.01 < m["deviation_three_sections"]
    assert m["sections_within_percent"] == 6


def test_a_thicker_rod_bends_the_finger_less(reports):
    m = reports["radius"].metrics
    assert m["less_with_every_radius"]
    assert m["thick_tip_way_mm"] < 0.8 * m["thin_tip_way_mm"]


def test_a_turned_pre_bent_rod_sweeps_the_body_round(reports):
    """Bar and rod are the same in all directions: the tip keeps its distance and turns as far as the base."""
    m = reports["prebent"].metrics
    assert m["swept_deg"] == pytest.approx(m["turned_deg"], abs=0.5)
    assert m["least_radius_mm"] > 0.95 * m["largest_radius_mm"]
    assert 0.3 * m["free_radius_mm"] < m["largest_radius_mm"] < m["free_radius_mm"]


def test_the_body_holds_the_rod_straight_at_first():
    bench = prebent.build()
    np.testing.assert_allclose(bench.aside(bench.world.initial_state()), 0.0, atol=1e-15)


@pytest.fixture(scope="module")
def coupled():
    """The finger with a rod at rest under a pull of 1 mm."""
    bench = parts.with_rod(15)
    state, _ = pl.QuasiStatic(tolerance=1e-10)(bench.world, bench.world.initial_state(), pull(bench, 1e-3))
    return bench, state


def pull(bench, amount):
    return {bench.drive: pl.Displacement(amount)}


def test_kinematics_of_the_coupled_finger_match_differences(coupled):
    """Equation 14: how the fingertip moves with the rod's base, through sliding points on another model. Exact: the
    slip of points and the turning of the axis under them couple both models, and are there.
    """
    bench, state = coupled
    tip = pl.Effector(bench.robot.tip)
    found = kinematics(bench.world, state, effectors=[tip], actuators=[bench.drive], controls=pull(bench, 1e-3))
    ends = []
    for amount in (1e-3 + 1e-5, 1e-3 - 1e-5):
        moved, _ = pl.QuasiStatic(tolerance=1e-10)(bench.world, state, pull(bench, amount))
        ends.append(bench.robot.tip.at(moved))
    expected = (ends[0] - ends[1]) / 2e-5
    off = np.linalg.norm(found.jacobian[:, 0] - expected) / np.linalg.norm(expected)
    print(f"differences {expected}, kinematics {found.jacobian[:, 0]}, off by {off:.2e}")
    assert off < 1e-6


def test_equation_14_takes_both_schur_complements(coupled):
    """From the whole W: Δδ_e = (W_ea − W_es W_ss⁻¹ W_sa)(W_aa − W_as W_ss⁻¹ W_sa)⁻¹ Δδ_a; W_ea is zero but for the
    coupling of the models, and the printed form with W_aa alone is far off. A spring at the base changes none of it.
    """
    bench, state = coupled
    tip = pl.Effector(bench.robot.tip)
    found = kinematics(bench.world, state, effectors=[tip], actuators=[bench.drive], controls=pull(bench, 1e-3))
    rows = tip.bound(bench.world)
    watched = _watched(bench.world, state, [rows], pull(bench, 1e-3), None, {tip: origin(tip)})
    channel, _spring = watched.couplings
    W, slices = couple(watched.W[:-1, :-1], [channel]), watched.slices
    a = [slices[bench.world.constraint_index(bench.drive)].start]
    e = list(range(slices[-1].start, slices[-1].stop))
    s = [k for k in range(len(W)) if k not in {*a, *e}]
    assert len(s) == 2 * 14 + 3
    assert (watched.W[np.ix_(e, a)] == 0.0).all()
    through = np.linalg.solve(W[np.ix_(s, s)], W[np.ix_(s, a)])
    whole = W[np.ix_(e, a)] - W[np.ix_(e, s)] @ through
    right = whole / (W[np.ix_(a, a)] - W[np.ix_(a, s)] @ through)
    np.testing.assert_allclose(found.jacobian, right, rtol=1e-6, atol=1e-8)
    assert np.linalg.norm(whole / W[np.ix_(a, a)]) < 0.1 * np.linalg.norm(right)


def test_rods_are_drawn_beside_each_other_in_the_colours_of_their_bending(tmp_path):
    """Figure 6: the skin carries the bending of its section, and the picture has all rods with their targets."""
    from experiments.adagolodjo_bending import BentRod, write_bending
    from experiments.adagolodjo_parts import channel_points, with_rod

    bench = with_rod(3, points=channel_points(in_base=2, in_phalanx=2))
    start = bench.world.initial_state()
    number = bench.world.index(bench.rod)
    q = list(start.q)
    q[number] = q[number].copy()
    q[number][4::2, 1] = np.array([0.0, 5.0, 20.0]) * bench.rod.lengths  # rotation of each section about y
    rod = BentRod.of(bench, pl.State(bench.world, 0.0, tuple(q), start.v, start.lam))
    assert sorted(set(np.round(rod.bending, 6))) == [0.0, 5.0, 20.0]
    assert len(rod.points) == len(rod.bending)
    straight = BentRod.of(bench, start)
    assert not straight.bending.any()
    targets = rod.points[:: len(rod.points) // 4][:4]
    (file,) = write_bending([straight, rod], tmp_path, targets=targets)
    image = plt.imread(file)
    assert image.shape[:2] == (900, 1600)
    yellow = (image[..., 0] > 0.75) & (image[..., 1] > 0.6) & (image[..., 2] < 0.45)
    assert yellow.sum() > 500, "the targets, and the top of the colour bar"
