"""Steps that are repeated in smaller parts: where an element inverts, and where Newton's iteration fails."""

import numpy as np
import pytest

import pliant as pl
from pliant.models.scheme import euler_scheme
from pliant.models.workspace import Workspace
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
@pytest.mark.parametrize("speed", [10.0, 20.0])
def test_no_element_of_a_law_with_a_barrier_inverts(speed):
    """One linear solve inverts elements; the step is repeated, and says so."""
    world, _, start = squeezed(speed)
    stepper, model = pl.ImplicitEuler(0.01), world.models[0]
    once = stepper.solved(
        begin(world, start, None, scheme=euler_scheme(0.01), solver=None, workspace=Workspace()), stepper.iteration()
    )
    assert model.least_volume_ratio(once.bodies.trials[0].positions()) < 0.0
    state, info = stepper(world, start)
    assert model.least_volume_ratio(state.q[0]) > 0.0
    assert info.iterations > 1
    assert any("repeated" in text for text in info.warnings)
    assert not any("inverted elements, det" in text for text in info.warnings)
    assert state.time == pytest.approx(0.01)
    assert info.energy_change == pytest.approx(world.energy(state)["total"] - world.energy(start)["total"], rel=1e-9)
    _, info = stepper(world, world.initial_state())
    assert info.iterations == info.parts == 1


@pytest.mark.filterwarnings("ignore:cells of")
def test_a_law_without_a_barrier_inverts_and_warns():
    world, _, start = squeezed(10.0, pl.materials.Corotated)
    state, info = pl.ImplicitEuler(0.01)(world, start)
    assert world.models[0].least_volume_ratio(state.q[0]) < 0.0
    assert any("inverted elements, det" in text for text in info.warnings)


@pytest.mark.filterwarnings("ignore:cells of")
def test_a_step_that_cannot_be_saved_is_what_it_was():
    """A body that comes with inverted elements is stepped as a whole."""
    world, _, start = squeezed(0.0, pl.materials.Corotated)
    q = start.q[0].copy()
    q[:, 0] *= -0.2
    q[world.models[0].constrained[:, 0], 0] = 0.0
    _, info = pl.ImplicitEuler(0.01)(world, pl.State(world, 0.0, (q,), start.v, np.zeros(0)))
    assert info.parts == 1


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
