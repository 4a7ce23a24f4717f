"""Contact statics in one call with default settings: they converge in few linear solves, to a closed form or to where
slow dynamics of the same world comes to rest.
"""

import numpy as np
import pytest

import pliant as pl
from tests.verification.statics.table import CASES

MOST_SOLVES = 200
UNCONFIRMED = {
    "balloon to 8 volumes": pytest.mark.xfail(
        reason="steps of 5 ms invert elements of the balloon in the middle of its inflation; statics arrives",
        strict=True,
        raises=pl.ConvergenceError,
    ),
}
"""Cases in which slow dynamics does not confirm statics, and why."""
LONG = {
    "balloon to 8 volumes", "billet, μ 0.2", "billet, μ 1", "ironing, μ 0.3", "plane presses block, μ 0.3",
    "plug in pipe, μ 0.2",
}  # fmt: skip
"""Cases of 2 to 6 s, each of which has a quick neighbour."""


@pytest.mark.parametrize("name", [pytest.param(name, marks=[pytest.mark.slow] * (name in LONG)) for name in CASES])
def test_a_case_converges_in_few_linear_solves(name):
    case = CASES[name]()
    _, info, value = case.solved()
    print(f"{name}: {value:.6g} in {info.iterations} linear solves, {info.load_steps} increments, by {info.method}")
    assert info.status.ok
    assert info.residual <= 1e-8
    assert info.iterations <= MOST_SOLVES
    assert info.method in ("newton", "load increments", "dynamic relaxation")
    if case.expected is not None:
        assert value == pytest.approx(case.expected, rel=case.within, abs=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("name", [pytest.param(name, marks=UNCONFIRMED.get(name, ())) for name in CASES])
def test_slow_dynamics_comes_to_rest_in_the_same_place(name):
    case = CASES[name]()
    _, _, value = case.solved()
    settled, _ = case.settled()
    assert value == pytest.approx(settled, rel=case.close, abs=1e-12)


@pytest.mark.parametrize("name", ["ball on sagging beam", "ball on sagging beam, frictionless"])
def test_a_ball_comes_to_rest_in_the_pit_that_it_presses(name):
    """Edges and faces do not rock about their lowest point above the ball, at a constant speed and at any dt."""
    _, speed = CASES[name]().settled()
    assert speed < 1e-6


@pytest.mark.slow
@pytest.mark.parametrize("friction", ["", ", μ 0.5"])
def test_a_block_comes_to_rest_under_a_small_ball(friction):
    _, speed = CASES["small ball indents block" + friction]().settled()
    assert speed < 1e-9


@pytest.mark.slow
def test_a_trunk_whose_gaps_close_arrives_where_dynamics_comes_to_rest():
    """One long cable pulled so far that its last gaps close: the same equilibrium as that of damped motion."""
    scene = pl.Scene(gravity=(0, 0, -9.81))
    trunk = scene.add(pl.robots.trunk(guide_stiffness=0.0, max_displacement=(0.07, 0.039)))
    world = scene.compile()
    pulls = {trunk.cables[2]: 0.0562, trunk.cables[6]: 0.0187}
    found, info = pl.QuasiStatic()(world, world.initial_state(), {c: pl.Displacement(x) for c, x in pulls.items()})
    assert info.status is pl.Status.CONVERGED
    step, state = pl.ImplicitEuler(dt=0.02), world.initial_state()
    for k in range(150):
        state, _ = step(world, state, {c: pl.Displacement(min(k / 50, 1.0) * x) for c, x in pulls.items()})
    np.testing.assert_allclose(trunk.tip.at(found), trunk.tip.at(state), atol=1e-4)
