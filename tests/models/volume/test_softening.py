"""Mullins softening of a volume: derivative of its forces, storage, replay, mixed bodies, what does not soften."""

import numpy as np
import pytest

import pliant as pl
from pliant.core.errors import InputError
from pliant.materials import Tangent
from pliant.models.scheme import STATIC_SCHEME, euler_scheme
from pliant.models.volume.softening import Softened
from pliant.reduced import Subspace
from pliant.reduced.subspace_model import SubspaceModel
from pliant.solvers.linear.matrix import BlockMatrix

RUBBER = pl.materials.NeoHookean(young=1e5, poisson=0.45, density=1e3)
SOFT = pl.materials.Mullins(RUBBER, r=1.7, m=100.0, beta=0.1)
LAWS = {
    "neo-Hookean": RUBBER,
    "Yeoh": pl.materials.Yeoh(c1=2e4, c2=1e3, c3=50.0, density=1e3),
    "Ogden": pl.materials.Ogden(m=3e4, a=2.5, density=1e3),
    "corotated": pl.materials.Corotated(young=1e5, poisson=0.45, density=1e3),
    "linear": pl.materials.Linear(young=1e5, poisson=0.45, density=1e3),
}


def beam(material=SOFT, element="tet4", **given):
    scene = pl.Scene(gravity=(0, 0, -9.81))
    mesh = pl.mesh.box((0.1, 0.02, 0.02), (5, 1, 1), element=element)
    body = scene.add(pl.Volume(mesh, material, clamp=pl.regions.plane(axis="x", at=0.0), **given))
    return scene.compile(), body


@pytest.fixture(scope="module")
def swung():
    """A beam after a few steps down and up."""
    world, body = beam(pl.materials.Viscoelastic(SOFT, [(0.2, 0.1)]))
    state, step = world.initial_state(), pl.ImplicitEuler(dt=0.01)
    for k in range(12):
        state, _ = step(world, state, {"gravity": (0.0, 0.0, -30.0 if k < 6 else 10.0)})
    return world, body, state


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("element", ["tet4", "hex8"])
def test_the_stiffness_is_the_derivative_of_the_forces(law, element):
    """At random shapes with points above and below their largest energy."""
    world, _ = beam(pl.materials.Mullins(LAWS[law], r=1.7, m=100.0, beta=0.1), element)
    (model,) = world.models
    rng = np.random.default_rng(1)
    q = model.rest @ np.diag([1.2, 1.0, 0.9]) + 5e-4 * rng.standard_normal(model.rest.shape)
    points = model.memory.softening
    largest = points.energies(q) * rng.uniform(0.5, 3.0, points.points.count)
    soft, d = Softened(points, largest, np.array([1.3])), 0.01 * rng.standard_normal(q.shape)
    values, force = np.zeros((model.pattern.block_count, 3, 3)), np.zeros_like(q)
    soft.add(q, 1.0, Tangent.EXACT, values, force)
    ends = [np.zeros_like(q), np.zeros_like(q)]
    for sign, end in zip((1.0, -1.0), ends, strict=True):
        soft.add_forces(q + sign * 1e-5 * d, end)
    product = BlockMatrix(model.pattern, values).matvec(d)
    np.testing.assert_allclose(product, (ends[0] - ends[1]) / 2e-5, atol=2e-6 * np.abs(product).max())
    again = np.zeros_like(q)
    soft.add_forces(q, again)
    np.testing.assert_array_equal(again, force)


def test_forces_are_the_derivative_of_the_stored_energy(swung):
    world, _, state = swung
    (model,) = world.models
    rng = np.random.default_rng(2)
    q, history = state.q[0], state.histories[0].copy()
    history[:, -1, 0] = 1.5 * model.memory.softening.energies(q)
    d = 1e-3 * rng.standard_normal(q.shape)
    force = model.internal(q)[1]
    Softened(model.memory.softening, history[:, -1, 0], np.ones(1)).add_forces(q, force)
    ends = [model.stored_energy(q + sign * 1e-4 * d, history) for sign in (1.0, -1.0)]
    assert np.vdot(force, d) == pytest.approx((ends[0] - ends[1]) / 2e-4, rel=1e-6)
    assert model.element_energies(q, history).sum() == pytest.approx(model.stored_energy(q, history), rel=1e-12)


def test_a_projected_tangent_stays_positive():
    world, _ = beam(SOFT)
    (model,) = world.models
    rng = np.random.default_rng(3)
    q = model.rest + 2e-3 * rng.standard_normal(model.rest.shape)
    values = np.empty((model.pattern.block_count, 3, 3))
    _, force = model.assemble(q, mass=0.0, stiffness=1.0, tangent=Tangent.PROJECTED, values=values)
    points = model.memory.softening
    Softened(points, 4.0 * points.energies(q), np.ones(1)).add(q, 1.0, Tangent.PROJECTED, values, force)
    K = BlockMatrix(model.pattern, values)
    dense = np.stack([K.matvec(e.reshape(q.shape)).ravel() for e in np.eye(q.size)])
    volume = np.linalg.eigvalsh(0.5 * (dense + dense.T))
    assert volume.min() > -1e-9 * volume.max()


def test_the_largest_energy_never_falls_and_lives_in_the_state(swung, tmp_path):
    world, body, state = swung
    step, before = pl.ImplicitEuler(dt=0.01), state.histories[0][:, -1, 0]
    after = step(world, state)[0].histories[0][:, -1, 0]
    assert (after >= before).all()
    assert (before > 0.0).all()
    again = world.load_state(state.save(tmp_path / "state.npz"))
    assert np.array_equal(again.histories[0], state.histories[0])
    assert np.array_equal(step(world, again)[0].q[0], step(world, state)[0].q[0])
    assert state.lost_energy(body).sum() > 0.0


def test_a_saved_world_and_a_replayed_run_soften(tmp_path):
    world, body = beam()
    run = pl.simulate(world, pl.ImplicitEuler(dt=0.01), until=0.06)
    assert np.array_equal(run.replay().points(body), run.points(body))
    run.save(tmp_path / "run.npz")
    loaded = pl.load(tmp_path / "run.npz")
    assert loaded.world.models[0].spec.material == SOFT
    assert np.array_equal(loaded.replay().points("volume"), run.points(body))


def test_softening_turns_with_the_body(swung):
    world, _, state = swung
    (model,) = world.models
    a = 0.7
    R = np.array([[np.cos(a), -np.sin(a), 0.0], [np.sin(a), np.cos(a), 0.0], [0.0, 0.0, 1.0]])
    memory, history, q = model.memory, state.histories[0], state.q[0]
    same, turned = (memory.after(history, euler_scheme(0.01), x) for x in (q, q @ R.T))
    np.testing.assert_allclose(turned, same, atol=1e-9 * np.abs(same).max())


def test_parts_that_do_not_soften_and_parts_that_only_soften():
    """Three materials in a body: elastic, softening, and both with branches; only the last has stresses to keep."""
    ends = [pl.regions.box((low, -1, -1), (1, 1, 1)) for low in (0.03, 0.06)]
    both = pl.materials.Viscoelastic(SOFT, [(0.2, 0.1)])
    world, body = beam(RUBBER, inclusions=[(ends[0], SOFT), (ends[1], both)])
    (model,) = world.models
    assert 0 < model.memory.points.count < model.points.count
    state, step = world.initial_state(), pl.ImplicitEuler(dt=0.01, tolerance=1e-8)
    for g in (-60.0, -60.0, -60.0, 0.0, 0.0):
        state, _ = step(world, state, {"gravity": (0.0, 0.0, g)})
    history, kind = state.histories[0], model.memory.points.material
    assert np.abs(history[kind == 2, 1]).max() > 0.0
    assert np.abs(history[kind == 1, 1]).max() == 0.0
    lost = state.lost_energy(body)
    start = body.mesh.points[body.mesh.cells].mean(axis=1)[:, 0] < 0.02
    assert lost[start].sum() == 0.0
    assert lost.sum() > 0.0


def test_a_virgin_body_moves_as_its_base_until_it_unloads():
    (soft, body), (plain, other) = beam(), beam(RUBBER)
    step = pl.QuasiStatic()
    for g in (-2.0, -5.0, -9.0):
        found, expected = (step(world, world.initial_state(), {"gravity": (0.0, 0.0, g)})[0] for world in (soft, plain))
        np.testing.assert_allclose(found.q[0], expected.q[0], atol=1e-9)
        np.testing.assert_allclose(found.stress(body), expected.stress(other), atol=1e-2)
    assert soft.models[0].memory.at_start(found.histories[0], STATIC_SCHEME) is not None
    plain_state, _ = step(plain, expected, {"gravity": (0.0, 0.0, -4.0)})
    soft_state, _ = step(soft, found, {"gravity": (0.0, 0.0, -4.0)})
    assert soft_state.q[0][-1, 2] < plain_state.q[0][-1, 2] - 1e-4, "it hangs lower once it is soft"


@pytest.mark.parametrize(("tolerance", "m"), [(None, 2.0), (1e-6, 2.0), (None, 200.0)])
def test_one_linear_solve_warns_where_it_does_not_follow_the_softening(tolerance, m):
    """A width m of 0.2 % of the largest energy: one solve gains energy and says so, a tolerance does not."""
    world, _ = beam(pl.materials.Mullins(RUBBER, r=1.3, m=m))
    state, step = world.initial_state(), pl.ImplicitEuler(dt=0.005, tolerance=tolerance)
    energies, texts = [], []
    for _ in range(50):
        state, info = step(world, state)
        energies.append(world.energy(state)["total"])
        texts += [text for text in info.warnings if "softening" in text]
    gained = np.diff(energies).max() > 1e-3 * np.abs(energies).max()
    assert gained == (tolerance is None and m < 100.0)
    assert bool(texts) == gained
    if texts:
        assert "tolerance" in texts[0]


def test_what_does_not_soften_says_so():
    world, body = beam()
    (model,) = world.models
    modes = np.zeros((*model.rest.shape, 1))
    modes[-4:, 2] = 1.0
    with pytest.raises(InputError, match="reduced body"):
        SubspaceModel.of(model, Subspace(body, modes.reshape(-1, 1), rest=model.rest))
    with pytest.raises(InputError, match="softens"):
        pl.Geometric()(world, world.initial_state())
