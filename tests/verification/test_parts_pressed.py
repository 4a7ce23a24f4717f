"""Random contact statics of machine parts: each converges to an equilibrium that an independent check accepts."""

import pytest

import pliant as pl
from tests.verification.statics.parts_pressed import scene
from tests.verification.statics.random_contact import violations

MOST_SOLVES = 200
QUICK = {
    ("beam_over_rollers", 3): "the first solve of an increment carried the beam through the rollers",
    ("beam_over_rollers", 6): "the same on one roller beside the middle",
    ("plug_pushed_into_pipe", 8): "a tangent that rows stabilize only if they are ten times as stiff as the nodes",
}
"""Scenes that once failed or took more linear solves, and why."""


LONG = {
    (
        "stack_under_press",
        27,
    ): "140 redundant contacts, whose forces differed from solve to solve by more than balances",
}


@pytest.mark.parametrize(("kind", "seed"), [*QUICK, *(pytest.param(*each, marks=pytest.mark.slow) for each in LONG)])
def test_a_scene_that_once_failed_converges(kind, seed):
    made = scene(kind, seed)
    state, info = pl.QuasiStatic(dt=made.dt)(made.world, made.world.initial_state(), made.controls)
    found = violations(made, state, info)
    assert info.iterations <= MOST_SOLVES
    assert found["balance"] < 1e-6, found
    assert found["cone"] < 1e-6, found
    assert found["gap"] < 1e-3, found
    assert found["overlap"] < 0.05, found


@pytest.mark.slow
def test_a_beam_that_slides_off_its_rollers_is_named():
    """Its ends are lowered and free to move along it; friction of 0.2 on two rollers no longer holds it."""
    made = scene("beam_over_rollers", 21)
    with pytest.raises(pl.ConvergenceError, match=r"'volume' slips at all of its contacts \(2\)"):
        pl.QuasiStatic(maximum_solves=500)(made.world, made.world.initial_state(), made.controls)
