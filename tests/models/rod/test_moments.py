"""Internal moments of rods: the rest shape that they command, that they are internal, their work, files, messages."""

import numpy as np
import pytest

import pliant as pl
from pliant.models.rod import RodModel
from pliant.models.rod.moments import rest_under

ROD = {"section": pl.sections.Circle(0.01), "young": 1e6, "poisson": 0.3, "density": 1e3}
RUBBER = pl.materials.Corotated(young=1e6, poisson=0.3, density=1e3)
VISCOELASTIC = pl.materials.Viscoelastic(RUBBER, branches=[(0.5, 0.5)])


def stiffness(world):
    """GJ, EI, EI of each section of the only rod, (N, 3), N·m²."""
    model = world.models[0]
    return model.stiffness[::2] * model.spec.lengths[:, None]


def moved(*, moments=None, rest=None, control=None, steps=25, gravity=(0, 0, -9.81), stepper=None, **options):
    """States of a rod that begins straight, under moments, or with a curvature at rest."""
    scene = pl.Scene(gravity=gravity)
    start = np.zeros(6)
    bent = {} if rest is None else {"rest_strain": np.hstack([rest, np.zeros((len(rest), 3))]), "start_strain": start}
    rod = scene.add(pl.Rod(0.5, 5, **(ROD | bent | options)))
    muscles = None if moments is None else scene.add(pl.RodMoments(rod, moments))
    world = scene.compile()
    stepper, states = stepper or pl.ImplicitEuler(dt=0.01), [world.initial_state()]
    for _ in range(steps):
        given = {} if control is None else {muscles: pl.values.Torque(control)}
        states.append(stepper(world, states[-1], given)[0])
    return rod, states


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("stepper", [pl.ImplicitEuler(dt=0.01), pl.ImplicitMidpoint(dt=0.005)])
def test_a_rod_under_moments_moves_as_one_with_that_curvature_at_rest(seed, stepper):
    """EI κ as moment is κ as natural curvature, at every step, in gravity; as control and as value of the load."""
    rng = np.random.default_rng(seed)
    kappa = rng.uniform(-3.0, 3.0, (5, 3))
    bent, expected = moved(rest=kappa, stepper=stepper)
    wanted = stiffness(expected[0].world) * kappa
    assert np.linalg.norm(expected[-1].points(bent)[-1] - expected[0].points(bent)[-1]) > 0.02
    for given in ({"moments": wanted}, {"moments": rng.uniform(-1.0, 1.0, (5, 3)), "control": wanted}):
        rod, found = moved(stepper=stepper, **given)
        for one, other in zip(found, expected, strict=True):
            np.testing.assert_allclose(one.points(rod), other.points(bent), atol=1e-9)
            np.testing.assert_allclose(one.v[0], other.v[0], atol=1e-7)


def test_a_viscoelastic_rod_creeps_to_the_curvature_of_its_relaxed_stiffness():
    """The moments hold while branches fade; one with that curvature at rest would not creep."""
    moments = (0.0, 0.0, 0.004)
    scene = pl.Scene()
    rod = scene.add(pl.Rod(0.5, 5, section=pl.sections.Circle(0.01), material=VISCOELASTIC))
    muscles = scene.add(pl.RodMoments(rod, moments))
    world = scene.compile()
    relaxed = moments[2] / stiffness(world)[0, 2]
    state, _ = pl.QuasiStatic()(world, world.initial_state())
    np.testing.assert_allclose(world.models[0].strains(state.q[0])[:, 2], relaxed, rtol=1e-7)
    state, reached = world.initial_state(), []
    for _ in range(400):
        state, _ = pl.ImplicitEuler(dt=0.05)(world, state)
        reached.append(world.models[0].strains(state.q[0])[0, 2])
    assert reached[0] < 0.9 * relaxed
    assert reached[-1] == pytest.approx(relaxed, rel=1e-3)
    assert muscles in world.handles


def test_moments_are_internal():
    """A free rod keeps its linear and angular momentum, however its muscles twitch."""
    rng = np.random.default_rng(1)
    scene = pl.Scene()
    rod = scene.add(pl.Rod(0.5, 5, base="free", **ROD))
    muscles = scene.add(pl.RodMoments(rod))
    world = scene.compile()
    state, step = world.initial_state(), pl.ImplicitMidpoint(dt=2e-3, tolerance=1e-10)
    largest = 0.0
    for _ in range(30):
        state, _ = step(world, state, {muscles: pl.values.Torque(rng.uniform(-0.02, 0.02, (5, 3)))})
        np.testing.assert_allclose(world.models[0].momentum(state.q[0], state.v[0]), 0.0, atol=1e-9)
        largest = max(largest, world.models[0].kinetic_energy(state.q[0], state.v[0]))
    assert largest > 1e-5


def test_the_potential_is_minus_the_work(rod, bent):
    """At random shapes: differences of the potential are the moments."""
    spec = rod(base="fixed")
    load = pl.RodMoments(spec, np.random.default_rng(2).normal(size=(4, 3)))
    model, plain = (RodModel.compiled(spec, None, parts_of(loads)) for loads in ([load], []))
    q = bent(model)

    def potential(at, values):
        none = np.zeros(3)
        return model.potential_energy(at, none, values) - plain.potential_energy(at, none, {})

    for values in ({}, {load: np.random.default_rng(3).normal(size=(4, 3))}):
        for k, c in np.ndindex(4, 3):
            other = q.copy()
            other[4 + 2 * k, c] += 1e-3
            expected = -1e-3 * values.get(load, load.value)[k, c]
            assert potential(other, values) - potential(q, values) == pytest.approx(expected, abs=1e-12)
    moved = rest_under([load, load], {}, model.rest, model.stiffness)
    np.testing.assert_allclose((moved - model.rest)[4::2] * model.stiffness[::2], 2.0 * load.value, atol=1e-12)
    assert np.array_equal(moved[5::2], model.rest[5::2])


def parts_of(loads):
    from pliant.models.body import Parts

    return Parts(loads=loads, supports=[], couplings=[], fibres=[])


def test_an_amplitude_multiplies_them_and_a_control_replaces_both():
    scene = pl.Scene()
    rod = scene.add(pl.Rod(0.5, 5, **ROD))
    muscles = scene.add(pl.RodMoments(rod, (0.0, 0.0, 0.004), amplitude=[(0.0, 0.0), (1.0, 2.0)]))
    world = scene.compile()
    EI = stiffness(world)[0, 2]
    state, _ = pl.QuasiStatic(dt=0.5)(world, world.initial_state())
    np.testing.assert_allclose(world.models[0].strains(state.q[0])[:, 2], 0.004 / EI, rtol=1e-7)
    state, _ = pl.QuasiStatic(dt=0.5)(world, state, {muscles: pl.values.Torque((0.0, 0.001, 0.0))})
    found = world.models[0].strains(state.q[0])
    np.testing.assert_allclose(found[:, 1:3], np.tile([0.001 / EI, 0.0], (5, 1)), atol=1e-7)


def test_another_modulus_leaves_the_moments(tmp_path):
    """In a changed world, and in one from a file."""
    scene = pl.Scene()
    rod = scene.add(pl.Rod(0.5, 5, **ROD))
    scene.add(pl.RodMoments(rod, (0.0, 0.0, 0.004)))
    world = scene.compile()
    EI = stiffness(world)[0, 2]
    world.save(tmp_path / "world.npz")
    for other, factor in (
        (pl.changed(world, {pl.parameters.Material(rod, "young"): 2e6}), 2.0),
        (pl.load(tmp_path / "world.npz"), 1.0),
    ):
        state, _ = pl.QuasiStatic()(other, other.initial_state())
        np.testing.assert_allclose(other.models[0].strains(state.q[0])[:, 2], 0.004 / (factor * EI), rtol=1e-7)


def test_what_is_wrong_is_named():
    rod = pl.Rod(0.5, 5, **ROD)
    with pytest.raises(pl.InputError, match=r"shape \(3,\) or \(5, 3\), one for each section, got \(4, 3\)"):
        pl.RodMoments(rod, np.zeros((4, 3)))
    with pytest.raises(pl.InputError, match="RodMoments are for rods; 'box' is none"):
        pl.RodMoments(pl.RigidBody.box(size=(1, 1, 1), mass=1.0, name="box"))
    scene = pl.Scene()
    scene.add(rod)
    muscles = scene.add(pl.RodMoments(rod))
    world = scene.compile()
    for value, message in (
        (pl.Force((0, 0, 1)), "control of a RodMoments must be pl.*Torque"),
        (pl.values.Torque(1.0), r"shape \(3,\) or \(5, 3\)"),
        (pl.values.Torque((0, 0, np.nan)), "finite"),
    ):
        with pytest.raises(pl.InputError, match=message):
            pl.ImplicitEuler(dt=0.01)(world, world.initial_state(), {muscles: value})
