"""Contact statics of twelve kinds, five of each drawn at random, converge by default in at most 200 linear solves."""

import pytest

import pliant as pl
from tests.verification.statics.press_and_slide import KINDS, scene
from tests.verification.statics.random_contact import RandomCase, violations

QUICK = (
    ("sheared_blocks", 0),
    ("finger_at_a_cylinder", 0),
    ("rigid_box_on_soft_blocks", 0),
    ("strip_over_a_cylinder", 0),
    ("plug_in_a_hole", 2),  # all of it slips, and only contacts keep it from turning and buckling
    ("stacked_blocks", 1),
)


def check(kind, seed):
    world, controls, dt = scene(kind, seed)
    state, info = pl.QuasiStatic(dt=dt)(world, world.initial_state(), controls)
    wrong = violations(RandomCase(world, kind, controls, dt), state, info)
    assert info.iterations <= 200
    assert wrong["cone"] <= 1e-6
    assert wrong["balance"] <= 1e-3


@pytest.mark.parametrize(("kind", "seed"), QUICK)
def test_a_scene_converges_in_few_linear_solves(kind, seed):
    check(kind, seed)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("kind", KINDS)
def test_every_scene_converges_in_few_linear_solves(kind, seed):
    check(kind, seed)


def test_a_round_tool_is_kept_out_between_the_nodes_of_coarse_cells():
    """A cylinder presses between rows of nodes, where only edges are near: nothing overlaps or is reported."""
    world, controls, _ = scene("pressed_then_slid", 0)
    _, info = pl.QuasiStatic(dt=1.0)(world, world.initial_state(), controls)
    assert info.penetration < 1e-6
    assert not any("overlap by" in text for text in info.warnings)
