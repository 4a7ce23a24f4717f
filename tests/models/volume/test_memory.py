"""The memory of a viscoelastic volume: derivative of its forces, storage, replay, frames, what has no memory."""

import numpy as np
import pytest

import pliant as pl
from pliant.models.scheme import euler_scheme
from pliant.models.volume.memory import Remembered
from pliant.solvers.linear.matrix import BlockMatrix

RUBBER = pl.materials.NeoHookean(young=1e5, poisson=0.45, density=1e3)
SLOW = pl.materials.Viscoelastic(RUBBER, [(0.2, 0.02), (0.2, 0.2)])


def beam(material=SLOW, **given):
    scene = pl.Scene(gravity=(0, 0, -9.81))
    mesh = pl.mesh.box((0.1, 0.02, 0.02), (5, 1, 1))
    body = scene.add(pl.Volume(mesh, material, clamp=pl.regions.plane(axis="x", at=0.0), **given))
    return scene.compile(), body


@pytest.fixture(scope="module")
def swung():
    """A beam after a few steps, with stresses of all branches."""
    world, body = beam()
    state, step = world.initial_state(), pl.ImplicitEuler(dt=0.01)
    for _ in range(8):
        state, _ = step(world, state)
    return world, body, state


@pytest.mark.parametrize("law", [RUBBER, pl.materials.Corotated(young=1e5, poisson=0.45, density=1e3)])
def test_the_stiffness_is_the_derivative_of_the_forces(law):
    world, _ = beam(pl.materials.Viscoelastic(law, [(0.3, 0.1)]))
    (model,) = world.models
    rng = np.random.default_rng(1)
    memory, q = model.memory, model.rest + 1e-3 * rng.standard_normal(model.rest.shape)
    H, d = 1e4 * rng.standard_normal((memory.points.count, 6)), rng.standard_normal(q.shape)
    values = np.zeros((model.pattern.block_count, 3, 3))
    held = Remembered(memory, H)
    held.add_stiffness(1.0, values)
    forces = [np.zeros_like(q), np.zeros_like(q)]
    for sign, force in zip((1.0, -1.0), forces, strict=True):
        held.add_forces(q + sign * 1e-4 * d, force)
    product = BlockMatrix(model.pattern, values).matvec(d)
    np.testing.assert_allclose(product, (forces[0] - forces[1]) / 2e-4, rtol=1e-7, atol=1e-7 * np.abs(product).max())


def test_stresses_turn_with_the_body(swung):
    """A history belongs to the material: turning the body turns the forces of the memory and changes nothing else."""
    world, _, state = swung
    (model,) = world.models
    a = 0.7
    R = np.array([[np.cos(a), -np.sin(a), 0.0], [np.sin(a), np.cos(a), 0.0], [0.0, 0.0, 1.0]])
    memory = model.memory
    held = memory.at_start(state.histories[0], euler_scheme(0.01))
    here, there = np.zeros_like(state.q[0]), np.zeros_like(state.q[0])
    held.add_forces(state.q[0], here)
    held.add_forces(state.q[0] @ R.T, there)
    np.testing.assert_allclose(there, here @ R.T, atol=1e-12 * np.abs(here).max())
    turned = memory.after(state.histories[0], euler_scheme(0.01), state.q[0] @ R.T)
    same = memory.after(state.histories[0], euler_scheme(0.01), state.q[0])
    np.testing.assert_allclose(turned, same, atol=1e-9 * np.abs(same).max())


def test_a_saved_state_goes_on_bit_for_bit(swung, tmp_path):
    world, _, state = swung
    again = world.load_state(state.save(tmp_path / "state.npz"))
    assert np.array_equal(again.histories[0], state.histories[0])
    step = pl.ImplicitEuler(dt=0.01)
    assert np.array_equal(step(world, again)[0].q[0], step(world, state)[0].q[0])
    with pytest.raises(ValueError, match="read-only"):
        state.histories[0][0] = 0.0


def test_a_saved_world_and_a_replayed_run_remember(tmp_path):
    world, body = beam()
    run = pl.simulate(world, pl.ImplicitEuler(dt=0.01), until=0.05)
    assert np.array_equal(run.replay().points(body), run.points(body))
    run.save(tmp_path / "run.npz")
    assert np.array_equal(pl.load(tmp_path / "run.npz").replay().points("volume"), run.points(body))


def test_only_viscoelastic_parts_remember():
    mesh_end = pl.regions.box((0.05, -1, -1), (1, 1, 1))
    world, _ = beam(RUBBER, inclusions=[(mesh_end, SLOW)])
    (model,) = world.models
    assert 0 < model.memory.points.count < model.points.count
    plain, _ = beam(RUBBER)
    assert plain.models[0].memory is None
    assert pl.ImplicitEuler(dt=0.01)(plain, plain.initial_state())[0].histories == ()
