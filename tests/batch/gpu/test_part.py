"""Batches by JAX, on the processor of the tests: every step that of each copy alone, and what bad input says."""

import subprocess
import sys

import numpy as np
import pytest

jax = pytest.importorskip("jax", reason="needs the extra gpu")
import pliant as pl  # noqa: E402
from pliant.core.errors import CapacityError, ConvergenceError  # noqa: E402
from tests.batch.gpu.soft_beam import EULER, agrees, commands, scene_of, single_precision_agrees  # noqa: E402
from tests.scenes import DOWN  # noqa: E402

P = pl.parameters
COUNT = 3


@pytest.fixture(scope="module")
def beam():
    scene, *things = scene_of()
    world = scene.compile()
    body, _, floor, _ = things
    vary = {
        P.Material(body, "young"): [2e5, 3e5, 5e5],
        P.Material(body, "density"): [800.0, 1000.0, 1500.0],
        P.Friction(body, floor): [0.0, 0.4, 0.9],
        P.Damping(body, "mass"): [0.0, 1.0, 0.2],
        P.Damping(body, "stiffness"): [0.004, 0.01, 0.0],
        P.Gravity(): [DOWN, (0.0, -3.0, -9.81), (1.0, 0.0, -15.0)],
    }
    return world, vary, *things


@pytest.fixture(scope="module")
def batch(beam):
    world, vary, *_ = beam
    return pl.Batch(world, COUNT, vary=vary, device="jax", capacity=32)


def test_every_step_is_that_of_each_copy_alone(beam, batch):
    _, _, body, cables, floor, wall = beam
    agrees(batch, body, cables, (floor, wall), steps=14)


def test_a_copy_goes_on_alone_from_its_state(beam, batch):
    _, _, body, cables, *_ = beam
    states = batch.initial_states()
    for k in range(3):
        states, _ = EULER(batch, states, commands(cables, k, COUNT)[0])
    together, own = commands(cables, 3, COUNT)
    after, _ = EULER(batch, states, together)
    end, _ = EULER(batch.world_of(1), states[1], own[1])
    np.testing.assert_allclose(after.points(body)[1], end.q[0], atol=1e-11)
    np.testing.assert_allclose(EULER(batch, states, own)[0].points(body), after.points(body), atol=1e-15)


def test_single_precision_stays_near_double(beam, batch):
    world, vary, body, cables, *_ = beam
    single = pl.Batch(world, COUNT, vary=vary, device="jax", capacity=32, precision="float32", errors="keep")
    single_precision_agrees(batch, single, body, cables, steps=6)


def test_a_copy_with_too_many_contacts_stays_and_says_so(beam, batch):
    world, vary, body, *_ = beam
    fast = [batch.world_of(k).initial_state() for k in range(COUNT)]
    fast[1] = pl.State(fast[1].world, 0.0, fast[1].q, [np.where(world.models[0].constrained, 0.0, 20.0)], np.zeros(0))
    kept = pl.Batch(world, COUNT, vary=vary, device="jax", capacity=32, errors="keep")
    states, infos = EULER(kept, kept.states(fast), {})
    assert set(infos.errors) == {1}
    assert isinstance(infos.errors[1], CapacityError)
    assert "40 contacts are in reach of a step, the capacity is 32" in str(infos.errors[1])
    assert [status is None for status in infos.status] == [False, True, False]
    np.testing.assert_array_equal(states.points(body)[1], fast[1].q[0])
    np.testing.assert_array_equal(states.times, [0.01, 0.0, 0.01])
    with pytest.raises(CapacityError, match=r"copy 1 of 3: 40 contacts are in reach"):
        EULER(batch, batch.states(fast), {})


def test_what_a_card_cannot_step_is_named(beam):
    world = beam[0]
    rubber = pl.materials.NeoHookean(young=3e5, poisson=0.45, density=1e3)
    fine = pl.materials.Corotated(young=3e5, poisson=0.45, density=1e3)
    for material, cells, named in ((rubber, (4, 1, 1), "the material of 'volume'"), (fine, (20, 5, 5), "unknowns")):
        other = pl.Scene(gravity=DOWN)
        mesh = pl.mesh.box((0.1, 0.02, 0.02), cells)
        other.add(pl.Volume(mesh, material, clamp=pl.regions.plane(axis="x", at=0.0)))
        with pytest.raises(pl.PliantError, match=rf"cannot step .*{named}.*device='cpu'"):
            pl.Batch(other.compile(), 2, device="jax")
    scene = pl.Scene(gravity=DOWN)
    scene.add(pl.RigidBody.sphere(radius=0.01, mass=0.1))
    with pytest.raises(pl.PliantError, match=r"device='gpu' cannot step the bodies 'sphere'.*device='cpu'"):
        pl.Batch(scene.compile(), 2, device="jax")
    two = batch_of(world)
    with pytest.raises(pl.PliantError, match="QuasiStatic"):
        pl.QuasiStatic()(two, two.initial_states(), {})
    with pytest.raises(pl.PliantError, match="newton_iterations=2"):
        pl.ImplicitEuler(0.01, newton_iterations=2)(two, two.initial_states(), {})
    with pytest.raises(pl.PliantError, match="leave out workers=2"):
        pl.Batch(world, 2, device="jax", workers=2)


def batch_of(world, **options):
    return pl.Batch(world, 2, device="jax", capacity=32, **options)


def test_bad_commands_change_nothing(beam):
    world, _, body, cables, *_ = beam
    two = batch_of(world)
    states = two.initial_states()
    for bad, text in [
        ({cables[0]: pl.Displacement(np.zeros(3))}, "has 3 values, the batch 2 copies"),
        ({cables[0]: pl.Displacement(np.array([0.0, np.nan]))}, "must be finite, copy 1 has nan"),
        ({cables[0]: pl.Force(np.array([-1.0, 1.0]))}, "must be ≥ 0"),
        ({body: pl.Displacement(0.0)}, "volume"),
        ({"gravity": np.zeros(4)}, "gravity"),
    ]:
        with pytest.raises(pl.PliantError, match=text):
            EULER(two, states, bad)
    np.testing.assert_array_equal(states.points(body)[1], world.initial_state().q[0])


def test_copies_begun_again_have_their_states_and_numbers(beam):
    """As on the processor: the others go on, and states of before keep the numbers that they had."""
    world, vary, body, cables, floor, _ = beam
    batch = pl.Batch(world, COUNT, vary=vary, device="jax", capacity=32)
    before = batch.initial_states()
    for k in range(3):
        before, _ = EULER(batch, before, commands(cables, k, COUNT)[0])
    young = P.Material(body, "young")
    changes = {0: {young: 4e5, P.Friction(body, floor): 0.1}, 2: {}}
    start = before[1]
    states = batch.restarted(before, {0: start, 2: world.initial_state()}, changes)
    assert young.value(batch.world_of(0)) == 4e5
    assert young.value(batch.world_of(2)) == young.value(world)
    np.testing.assert_array_equal(states.points(body)[0], states.points(body)[1])
    np.testing.assert_array_equal(states.times, [before.times[1], before.times[1], 0.0])
    np.testing.assert_allclose(states[0].lam, start.lam)
    together, own = commands(cables, 4, COUNT)
    for given in (states, before):
        after, _ = EULER(batch, given, together)
        for k, control in enumerate(own):
            end, _ = EULER(given[k].world, given[k], control)
            np.testing.assert_allclose(after.points(body)[k], end.q[0], atol=1e-11)
    kept = pl.Batch(world, COUNT, vary=vary, device="jax", capacity=32, errors="keep")
    first = kept.initial_states()
    kept.restarted(first, {0: start}, {0: changes[0]})
    old, _ = EULER(kept, first, together)
    assert young.value(old[0].world) == young.value(first[0].world) != 4e5
    with pytest.raises(pl.PliantError, match="must be one of 0 … 2 that has a start"):
        batch.restarted(before, {5: start})


def test_a_machine_without_a_card_is_an_error(beam):
    if any(device.platform != "cpu" for device in jax.devices()):
        pytest.skip("this machine has a card")
    with pytest.raises(pl.PliantError, match=r"JAX sees no GPU here.*device='cpu'"):
        pl.Batch(beam[0], 2, device="gpu")


def test_elements_that_would_invert_cut_the_motion_or_fail(beam):
    world, vary, body, *_ = beam
    kept = pl.Batch(world, COUNT, vary=vary, device="jax", capacity=32, errors="keep")
    pushed = kept.initial_states()
    for _ in range(3):
        pushed, infos = EULER(kept, pushed, {"gravity": np.array([DOWN, [-2e4, 0.0, 0.0], [-4e5, 0.0, 0.0]])})
    model = world.models[0]
    assert np.isfinite(pushed.points(body)).all()
    assert min(model.least_volume_ratio(q) for q in pushed.points(body)) > 0.0
    assert 1 in infos.errors or infos.status[1] is not infos.status[0]
    assert all(isinstance(error, (CapacityError, ConvergenceError)) for error in infos.errors.values())


def test_a_lowered_world_is_stepped_without_the_rest_of_the_library(beam, tmp_path):
    """Saved arrays are stepped where Numba and SciPy are not installed, by the same code."""
    from pliant.batch.gpu.arrays import save
    from pliant.batch.gpu.kinds import lower

    save(lower(beam[0], [], slots=32), tmp_path / "world.npz")
    code = (
        "import sys\nfrom pliant.batch.gpu.arrays import load\nimport pliant.batch.gpu.step\n"
        f"print(load({str(tmp_path / 'world.npz')!r}).slots, 'numba' in sys.modules)"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.split() == ["32", "False"]
