"""The memory of viscoelastic rods and beams: derivative of their forces, damping of each strain, storage, bad input."""

from dataclasses import replace

import numpy as np
import pytest

import pliant as pl
from pliant.core.errors import InputError
from pliant.materials import Tangent
from pliant.models.beam.dynamics import advance
from pliant.models.beam.element import EXACT
from pliant.models.model import StepStart
from pliant.models.scheme import euler_scheme, midpoint_scheme
from pliant.models.slender_memory import STRAINS
from pliant.models.workspace import Workspace
from pliant.solvers.linear.matrix import BlockMatrix

BASE = pl.materials.NeoHookean(young=2e5, poisson=0.45, density=1e3)
SLOW = pl.materials.Viscoelastic(BASE, [(0.2, 0.02), (0.2, 0.2)])
VISCOUS = pl.materials.Viscoelastic(BASE, viscosity=0.01)
ROUND = {"section": pl.sections.Circle(0.005)}
NODES = np.linspace((0, 0, 0), (0.1, 0, 0), 4)


def made(kind, **options):
    """A cantilever under gravity, of a rod or a beam: (world, body)."""
    scene = pl.Scene(gravity=(0, 3.0, -9.81))
    given = ROUND | options
    if kind == "rod":
        body = scene.add(pl.Rod(0.1, 2, strains=STRAINS, **given))
    else:
        body = scene.add(pl.Beam(NODES, clamp=[0], **given))
    return scene.compile(), body


@pytest.fixture(scope="module", params=["rod", "beam"])
def swung(request):
    """A body that is let fall for some steps: (kind, world, body, state)."""
    world, body = made(request.param, material=SLOW)
    state = world.initial_state()
    for _ in range(4):
        state, _ = pl.ImplicitEuler(dt=0.02)(world, state)
    return request.param, world, body, state


@pytest.mark.parametrize("scheme", [euler_scheme(0.02), midpoint_scheme(0.02)])
def test_the_matrix_of_a_rod_is_the_derivative_of_its_residual(scheme):
    world, _ = made("rod", material=SLOW)
    (model,), (q,), (v,) = world.models, world.initial_state().q, world.initial_state().v
    history = 1e-3 * np.random.default_rng(0).normal(size=(2, 3, 6))
    trial = model.trial(StepStart(q, v, scheme, world.gravity, {}, history=history))
    dx, way = np.random.default_rng(1).normal(size=(2, *trial.dx.shape)) * ~model.constrained
    dx *= 1e-3
    system, _ = trial.at(dx).linearize(Tangent.EXACT)
    ahead, back = (trial.at(dx + h * way).residual().r for h in (1e-6, -1e-6))
    found = np.where(model.constrained, 0.0, (back - ahead) / 2e-6)
    expected = system.product(way)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-6 * np.abs(expected).max())


def test_the_matrix_of_a_beam_is_the_curvature_of_its_energy():
    """With strains at rest, as a memory gives them: along exp, as `models.beam.element` says."""
    world, _ = made("beam", material=BASE)
    (model,), rng = world.models, np.random.default_rng(1)
    elements = replace(model.elements, rest=1e-2 * rng.normal(size=model.elements.rest.shape))
    way, q = rng.normal(size=(4, 2, 3)) * [[[0.03], [1.0]]], np.empty((4, 4, 3))
    advance(model.rest, way, 0.1, q)

    def energy(h):
        moved = np.empty(q.shape)
        advance(q, way, h, moved)
        return model.internal(moved, elements)[0]

    h, values = 1e-3, model.blocks(Workspace())
    values[:] = 0.0
    _, force = model.assemble(q, tangent=EXACT, scale=1.0, values=values, elements=elements)
    ahead, here, back = energy(h), energy(0.0), energy(-h)
    assert np.vdot(force, way) == pytest.approx((ahead - back) / (2 * h), rel=1e-4)
    curvature = np.vdot(way, BlockMatrix(model.pattern, values).matvec(way.ravel()))
    assert curvature == pytest.approx((ahead - 2 * here + back) / h**2, rel=1e-4)
    assert here == pytest.approx(0.5 * np.sum(elements.stiffness * (model.element_strains(q) - elements.rest) ** 2))


def test_a_saved_state_goes_on_bit_for_bit(swung, tmp_path):
    _, world, _, state = swung
    assert state.histories[0].shape[1:] == (3, 6)
    again = world.load_state(state.save(tmp_path / "state.npz"))
    assert np.array_equal(again.histories[0], state.histories[0])
    step = pl.ImplicitMidpoint(dt=0.01)
    assert np.array_equal(step(world, again)[0].q[0], step(world, state)[0].q[0])


@pytest.mark.parametrize("material", [SLOW, {"bending": SLOW, "torsion": VISCOUS}])
@pytest.mark.parametrize("kind", ["rod", "beam"])
def test_a_saved_world_and_a_replayed_run_remember(kind, material, tmp_path):
    world, body = made(kind, material=material, damping=pl.Rayleigh(stiffness={"stretch": 0.01}))
    run = pl.simulate(world, pl.ImplicitEuler(dt=0.01), until=0.03)
    assert np.array_equal(run.replay().points(body), run.points(body))
    run.save(tmp_path / "run.npz")
    assert np.array_equal(pl.load(tmp_path / "run.npz").replay().points(kind), run.points(body))


def test_a_body_that_rotates_with_its_history_has_the_same_forces(swung):
    """What is remembered belongs to the strains: a turned body at rest goes on as the one that was not turned."""
    kind, _, _, state = swung
    scene = pl.Scene(gravity=(0, 0, 0))
    if kind == "rod":
        bodies = [pl.Rod(0.1, 2, strains=STRAINS, material=SLOW, name=name, **ROUND) for name in ("plain", "turned")]
    else:
        bodies = [pl.Beam(NODES, clamp=[0], material=SLOW, name=name, **ROUND) for name in ("plain", "turned")]
    scene.add(bodies[0])
    scene.add(bodies[1], rotation=(0.3, -0.5, 0.8))
    both = scene.compile()
    start = both.initial_state()
    q = np.array(start.q[1])
    if kind == "rod":
        q[4:] = state.q[0][4:]
    else:
        R = q[0, 1:] @ start.q[0][0, 1:].T
        q[:, 0] = state.q[0][:, 0] @ R.T
        q[:, 1:] = R @ state.q[0][:, 1:]
    start = replace(start, q=(state.q[0], q), histories=(state.histories[0], state.histories[0]))
    after, _ = pl.ImplicitEuler(dt=0.01, tolerance=1e-10)(both, start)
    np.testing.assert_allclose(after.histories[1], after.histories[0], atol=1e-7 * np.abs(after.histories[0]).max())


@pytest.mark.parametrize("stepper", [pl.ImplicitEuler, pl.ImplicitMidpoint])
def test_equal_dampings_of_all_strains_are_rayleigh_damping(stepper):
    elastic = {"young": 2e5, "poisson": 0.45, "density": 1e3}
    one, _ = made("rod", damping=pl.Rayleigh(mass=0.5, stiffness=0.02), **elastic)
    each = {"bending": 0.02, "torsion": 0.02, "stretch": 0.02, "shear": 0.02}
    other, _ = made("rod", damping=pl.Rayleigh(mass=0.5, stiffness=each), **elastic)
    assert one.models[0].memory is None
    first, second = one.initial_state(), other.initial_state()
    for _ in range(10):
        first, _ = stepper(dt=0.01, tolerance=1e-10)(one, first)
        second, _ = stepper(dt=0.01, tolerance=1e-10)(other, second)
    np.testing.assert_allclose(second.q[0], first.q[0], atol=1e-9)


@pytest.mark.parametrize("group", ["bending", "torsion", "stretch", "shear"])
def test_each_strain_has_its_own_damping(group):
    """Let go, an overdamped strain without mass returns as e^(−t/ζ) with its own ζ, the others at once."""
    zeta, index = 0.1, {"torsion": 0, "bending": 1, "stretch": 3, "shear": 5}[group]
    light = pl.materials.Linear(young=2e5, poisson=0.45, density=1e-6)
    scene = pl.Scene(gravity=(0, 0, 0))
    start = np.zeros(6)
    start[[0, 1, 3, 5]] = 1e-3
    damping = pl.Rayleigh(stiffness={group: zeta})
    body = scene.add(pl.Rod(0.1, 1, strains=STRAINS, material=light, start_strain=start, damping=damping, **ROUND))
    world = scene.compile()
    state, step = world.initial_state(), pl.ImplicitEuler(dt=1e-3, tolerance=1e-10)
    for _ in range(100):
        state, _ = step(world, state)
    left = state.strains(body)[0]
    assert left[index] == pytest.approx(1e-3 * (1.0 + 1e-3 / zeta) ** -100, rel=1e-3)
    others = np.delete(left, index)
    assert np.abs(others).max() < 1e-5


def test_moduli_of_the_base_are_relaxed_or_instantaneous():
    fast = pl.materials.Viscoelastic(BASE, [(0.2, 0.02), (0.2, 0.2)], moduli="instantaneous")
    for kind in ("rod", "beam"):
        slow_world, body = made(kind, material=SLOW)
        fast_world, _ = made(kind, material=fast)
        sudden, _ = pl.QuasiStatic(viscoelastic="instantaneous")(fast_world, fast_world.initial_state())
        plain, _ = made(kind, material=BASE)
        elastic, _ = pl.QuasiStatic()(plain, plain.initial_state())
        np.testing.assert_allclose(sudden.points(0), elastic.points(0), atol=1e-8)
        relaxed, _ = pl.QuasiStatic()(slow_world, slow_world.initial_state())
        np.testing.assert_allclose(relaxed.points(0), elastic.points(0), atol=1e-8)
        assert relaxed.elastic_energy(body).sum() > 0.0


def test_only_named_strains_remember():
    world, _ = made("rod", material={"torsion": SLOW})
    (model,) = world.models
    assert [strain for strain, own in zip(STRAINS, model.memory.relaxations, strict=True) if own] == ["twist"]
    assert made("rod", material=BASE)[0].models[0].memory is None


OTHER = pl.materials.NeoHookean(young=3e5, poisson=0.45, density=1e3)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"material": {"bendings": SLOW}}, "'bendings' is none of its strains; they are torsion, bending, shear"),
        ({"material": {"bending": SLOW, "bend_y": SLOW}}, "both give 'bend_y'"),
        ({"material": {"bending": SLOW, "torsion": OTHER}}, "different bases"),
        ({"material": {"bending": 3.0}}, "for 'bending' must be one of pl.materials"),
        ({"material": pl.materials.Mullins(BASE, r=2.0, m=1e3)}, "softens"),
        ({"material": 3.0}, "must be one of pl.materials"),
        ({"material": {}}, "has no entries"),
        ({"material": SLOW, "young": 1e7}, "young of 'rod' is 1e\\+07"),
        ({}, "needs young, poisson and density, or a material"),
        ({"material": BASE, "damping": pl.Rayleigh(stiffness={"bend": 0.1})}, "'bend' is none of its strains"),
    ],
)
def test_bad_input_is_named(given, message):
    with pytest.raises(InputError, match=message):
        pl.Rod(0.1, 2, **ROUND, **given)


@pytest.mark.parametrize("factor", [-0.1, "x"])
def test_bad_damping_of_a_strain_is_named(factor):
    with pytest.raises(pl.InputError, match="for 'bending'"):
        pl.Rayleigh(stiffness={"bending": factor})


def test_what_a_beam_and_a_volume_do_not_have_is_refused():
    with pytest.raises(InputError, match="'shear' is none of its strains; they are torsion, bending"):
        pl.Beam(NODES, material={"shear": SLOW}, **ROUND)
    mesh = pl.mesh.box((0.1, 0.1, 0.1), (1, 1, 1))
    with pytest.raises(InputError, match="a volume takes one number"):
        pl.Volume(mesh, BASE, damping=pl.Rayleigh(stiffness={"bending": 0.1}))
