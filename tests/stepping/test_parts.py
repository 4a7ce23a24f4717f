"""Steps that are repeated in smaller parts: where an element inverts, and where Newton's iteration fails."""

import numpy as np
import pytest

import pliant as pl
from pliant.models.scheme import euler_scheme
from pliant.models.workspace import Workspace
from pliant.stepping import parts
from pliant.stepping.stages import begin


def squeezed(speed, material=pl.materials.NeoHookean):
    """A soft block that is clamped at x = 0, and whose other end moves towards it at `speed` (m/s)."""
    scene = pl.Scene(gravity=(0, 0, 0))
    mesh = pl.mesh.box((0.04, 0.02, 0.02), (2, 1, 1), element="hex8")
    clamp = pl.regions.box((-1, -1, -1), (1e-6, 1, 1))
    body = scene.add(pl.Volume(mesh, material(young=1e4, poisson=0.3, density=1000), clamp=clamp))
    world = scene.compile()
    q, v = world.models[0].initial()
    v = v.copy()
    v[:, 0] = -speed * q[:, 0] / 0.04
    return world, body, pl.State(world, 0.0, (q,), (v,), np.zeros(0))


@pytest.mark.filterwarnings("ignore:cells of")
@pytest.mark.parametrize("material", [pl.materials.NeoHookean, pl.materials.Corotated])
@pytest.mark.parametrize("speed", [10.0, 20.0])
def test_no_element_inverts_with_or_without_a_barrier(speed, material):
    """One linear solve inverts elements; the step is repeated with their volume bounded, and says so."""
    world, _, start = squeezed(speed, material)
    stepper, model = pl.ImplicitEuler(0.01), world.models[0]
    once = stepper.solved(
        begin(world, start, None, scheme=euler_scheme(0.01), solver=None, workspace=Workspace()), stepper.iteration()
    )
    assert model.least_volume_ratio(once.bodies.trials[0].positions()) < 0.0
    state, info = stepper(world, start)
    assert model.least_volume_ratio(state.q[0]) > 0.0
    assert any("repeated" in text or "cut to" in text for text in info.warnings)
    assert not any("inverted elements, det" in text for text in info.warnings)
    assert state.time == pytest.approx(0.01)
    assert info.energy_change == pytest.approx(world.energy(state)["total"] - world.energy(start)["total"], rel=1e-9)
    assert info.energy_change < 0.0
    for _ in range(20):
        state, info = stepper(world, state)
        assert model.least_volume_ratio(state.q[0]) > 0.0
    _, info = stepper(world, world.initial_state())
    assert info.iterations == info.parts == 1


@pytest.mark.filterwarnings("ignore:cells of")
def test_parts_of_a_damped_step_are_repeated():
    """As steps of the others are: no element inverts, and the step says what it took."""
    world, _, state = squeezed(20.0, pl.materials.Corotated)
    stepper = pl.DampedMidpoint(0.01, tolerance=None)
    state, info = stepper(world, state)
    assert state.time == pytest.approx(0.01)
    assert any("repeated" in text or "cut to" in text for text in info.warnings)
    for _ in range(5):
        assert world.models[0].least_volume_ratio(state.q[0]) > 0.0
        state, info = stepper(world, state)


@pytest.mark.filterwarnings("ignore:cells of")
def test_repeats_are_bounded():
    """A step that inverts elements takes at most two more linear solves, whatever comes of them."""
    world, _, start = squeezed(20.0)
    calls = []
    solved = pl.ImplicitEuler.solved
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pl.ImplicitEuler, "solved", lambda *given: calls.append(1) or solved(*given))
        pl.ImplicitEuler(0.01)(world, start)
    assert 2 <= len(calls) <= 3


@pytest.mark.filterwarnings("ignore:cells of")
def test_a_motion_that_no_bound_saves_is_cut_or_refused():
    """Where repeats do not help the motion is cut, and its fraction reported; an explosion is an error at once."""
    world, _, start = squeezed(20.0)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(parts, "MOST_REPEATS", 0)
        state, info = pl.ImplicitEuler(0.01)(world, start)
        assert world.models[0].least_volume_ratio(state.q[0]) > 0.0
        assert 0.1 <= info.step.fraction < 1.0
        assert not info.constraint_status.ok
        assert info.constraint_residual >= 1.0 - info.step.fraction
        assert any("was cut to" in text for text in info.warnings)
        world, _, start = squeezed(400.0)
        with pytest.raises(pl.ConvergenceError, match=r"invert within 10 % .* squeezed more than it can give"):
            pl.ImplicitEuler(0.01)(world, start)


@pytest.mark.filterwarnings("ignore:cells of")
def test_a_step_to_a_tolerance_inverts_no_element_of_a_law_without_a_barrier():
    world, _, start = squeezed(4.0, pl.materials.Corotated)
    state, _ = pl.ImplicitEuler(0.01, tolerance=1e-6)(world, start)
    assert world.models[0].least_volume_ratio(state.q[0]) > 0.0


@pytest.mark.filterwarnings("ignore:cells of")
def test_a_body_that_comes_inverted_is_stepped_as_it_is():
    world, _, start = squeezed(0.0, pl.materials.Corotated)
    q = start.q[0].copy()
    q[:, 0] *= -0.2
    q[world.models[0].constrained[:, 0], 0] = 0.0
    _, info = pl.ImplicitEuler(0.01)(world, pl.State(world, 0.0, (q,), start.v, np.zeros(0)))
    assert info.parts == info.iterations == 1


def test_commands_are_divided_too():
    """Two halves of a commanded motion end where the whole does."""
    scene = pl.Scene()
    body = scene.add(pl.RigidBody.box(size=(0.02, 0.02, 0.02), mass=0.1, position=(0, 0, 0)))
    slider = scene.add(pl.Slider(body, (1, 0, 0)))
    world = scene.compile()
    calls = []

    def failing(self, step, newton):
        calls.append(step.bodies.scheme.dt)
        if len(calls) == 1:
            raise pl.ConvergenceError("first")
        return solved(self, step, newton)

    solved = pl.ImplicitEuler.solved
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pl.ImplicitEuler, "solved", failing)
        state, info = pl.ImplicitEuler(0.01, tolerance=1e-8)(
            world, world.initial_state(), {slider: pl.Displacement(0.004)}
        )
    assert calls == [0.01, 0.005, 0.005]
    assert info.parts == 2
    assert state.pose(body)[0][0] == pytest.approx(0.004, abs=1e-9)
    assert state.v[0][0, 0] == pytest.approx(0.4, rel=1e-6)
