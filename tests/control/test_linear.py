"""Linear models of small worlds by identities: modes, damping, static gains, several bodies, inputs and outputs."""

from types import SimpleNamespace

import numpy as np
import pytest

import pliant as pl
from pliant.control.linear import _labels
from pliant.control.linearization import Linearization
from pliant.core.immutable import evolve

control = pytest.importorskip("control")
DAMPING = pl.Rayleigh(mass=0.3, stiffness=2e-3)
TIP = (0.1, 0.01, 0.01)


def bar(scene, young=1e6, *, element="tet4", x=0.0):
    law = pl.materials.StVenantKirchhoff(young=young, poisson=0.3, density=1000)
    mesh = pl.mesh.box((0.1, 0.02, 0.02), (5, 1, 1), element=element)
    clamp = pl.regions.plane(axis="x", at=x)
    body = scene.add(pl.Volume(mesh.translated((x, 0, 0)), law, clamp=clamp, damping=DAMPING, anti_locking=False))
    route = [(x + s, 0.01, 0.016) for s in (0.0, 0.05, 0.1)]
    return body, scene.add(pl.Cable(body, route, name=f"cable at {x:g}"))


def tip(body, x=0.0):
    return pl.Effector(body, (TIP[0] + x, *TIP[1:]), name=f"tip at {x:g}")


def one(young=1e6):
    scene = pl.Scene()
    body, cable = bar(scene, young)
    return scene.compile(), body, cable


@pytest.fixture(scope="module")
def pair():
    """Two bars of their own stiffness in one world, and each in a world of its own."""
    scene = pl.Scene()
    (first, a), (second, b) = bar(scene, 1e6), bar(scene, 3e6, x=1.0)
    return scene.compile(), (first, second), (a, b)


@pytest.mark.parametrize("kind", [pl.Force, pl.Displacement])
def test_modes_diagonalize_mass_and_stiffness_and_leave_the_rows_that_hold(kind):
    world, body, cable = one()
    about = Linearization.of(world, world.initial_state(), [cable], [tip(body)], {cable: kind(0.0)})
    squares, modes = about.modes(8)
    assert np.all(np.diff(squares) > 0.0)
    products = [modes.T @ np.column_stack([product(phi) for phi in modes.T])
                for product in (about.mass, about.stiffness, about.damping)]  # fmt: skip
    expected = np.eye(8), np.diag(squares), np.diag(DAMPING.mass + DAMPING.stiffness * squares)
    for found, wanted in zip(products, expected, strict=True):
        np.testing.assert_allclose(found, wanted, atol=1e-8 * np.abs(wanted).max())
    clamped = np.ravel(world.models[0].constrained)
    assert not modes[clamped].any()


def test_all_modes_of_dense_matrices_are_those_of_the_iteration(monkeypatch):
    world, body, cable = one()
    dense = Linearization.of(world, world.initial_state(), [cable], [tip(body)], None).modes(4)[0]
    monkeypatch.setattr("pliant.control.linearization._SMALL", 0)
    about = Linearization.of(world, world.initial_state(), [cable], [tip(body)], None)
    squares, modes = about.modes(4)
    np.testing.assert_allclose(squares, dense, rtol=1e-7)
    for phi, square in zip(modes.T, squares, strict=True):
        np.testing.assert_allclose(
            about.stiffness(phi), square * about.mass(phi), atol=1e-6 * square * np.abs(phi).max()
        )


def test_poles_of_two_bodies_are_those_of_each(pair):
    world, (first, second), (a, b) = pair
    both = pl.control.linearize(world, world.initial_state(), [a, b], [tip(first), tip(second, 1.0)], modes=1000)
    for (young, own), place in zip(((1e6, 0), (3e6, 1)), (slice(0, 3), slice(3, 6)), strict=True):
        alone, body, cable = one(young)
        single = pl.control.linearize(alone, alone.initial_state(), [cable], [tip(body)], modes=1000)
        poles = both.poles()
        for pole in single.poles()[np.abs(single.poles()) < 2e3]:
            assert np.abs(poles - pole).min() < 1e-5 * abs(pole)
        s = 2j * np.pi * np.array([1.0, 10.0, 25.0])
        for at in s:
            response = both(at)
            np.testing.assert_allclose(response[place, own], single(at)[:, 0], rtol=1e-6, atol=1e-12)
            assert not np.abs(response[place, 1 - own]).max() > 1e-9, "no body moves the other"


@pytest.mark.parametrize("modes", [1, 3, 20])
def test_static_gains_do_not_depend_on_the_modes_and_are_those_of_equilibria(modes):
    world, body, cable = one()
    step, amount = pl.QuasiStatic(tolerance=1e-11), 1e-4
    ends = [step(world, world.initial_state(), {cable: pl.Force(f)})[0] for f in (amount, 2 * amount)]
    origin = [tip(body).bound(world).measure.error(end.q, np.zeros((1, 3))) for end in ends]
    gain = (2.0 * origin[0] - 0.5 * origin[1] - 1.5 * np.array(TIP)) / amount  # of second order, from one side
    system = pl.control.linearize(world, world.initial_state(), [cable], [tip(body)], modes=modes)
    assert system.nstates == 2 * modes
    np.testing.assert_allclose(np.ravel(control.dcgain(system)), gain, atol=1e-5 * np.abs(gain).max())


def test_a_force_acts_on_the_rates():
    """ẇ = s, ṡ = −Ω² w − D s + Φᵀ Hᵀ u with Rayleigh's D = α + β Ω²."""
    world, body, cable = one()
    start = world.initial_state()
    force = pl.control.linearize(world, start, [cable], [tip(body)], modes=6)
    squares = Linearization.of(world, start, [cable], [tip(body)], None).modes(6)[0]
    k = 6
    np.testing.assert_array_equal(force.A[:k, :k], np.zeros((k, k)))
    np.testing.assert_array_equal(force.A[:k, k:], np.eye(k))
    np.testing.assert_allclose(force.A[k:, :k], -np.diag(squares))
    np.testing.assert_allclose(np.diag(force.A[k:, k:]), -(DAMPING.mass + DAMPING.stiffness * squares), rtol=1e-7)
    assert not force.B[:k].any()
    assert not force.C[:, k:].any()


def test_a_slack_cable_is_an_input_without_effect(pair):
    world, (first, second), (a, b) = pair
    controls = {a: pl.Displacement(-0.01), b: pl.Force(0.0)}
    state, _ = pl.QuasiStatic(tolerance=1e-11)(world, world.initial_state(), controls)
    system = pl.control.linearize(world, state, [a, b], [tip(first), tip(second, 1.0)], controls=controls, modes=4)
    assert not system.B[:, 0].any()
    assert not system.D[:, 0].any()
    assert system.B[:, 1].any()


def test_names_of_inputs_outputs_and_states(pair):
    world, (first, second), (a, b) = pair
    system = pl.control.linearize(world, world.initial_state(), [b, a], [tip(second, 1.0), tip(first)], modes=2)
    assert system.input_labels == ["cable at 1", "cable at 0"]
    assert system.output_labels == [f"tip at {x}[{k}]" for x in (1, 0) for k in range(3)]
    assert system.state_labels == ["w1", "w2", "s1", "s2"]
    assert _labels(["a.b", "c", "a_b", "a.b"]) == ["a_b 1", "c", "a_b 2", "a_b 3"]
    assert system.name == "linearized"


@pytest.mark.parametrize(("given", "said"), [
    ({"inputs": "cable"}, "inputs of a linear model"), ({"outputs": []}, "outputs of a linear model"),
    ({"outputs": [SimpleNamespace()]}, "outputs are effectors"), ({"modes": 0}, "modes"),
])  # fmt: skip
def test_what_is_no_list_of_inputs_or_outputs(given, said):
    world, body, cable = one()
    options = {"inputs": [cable], "outputs": [tip(body)], "modes": 2} | given
    with pytest.raises(pl.InputError, match=said):
        pl.control.linearize(
            world, world.initial_state(), options["inputs"], options["outputs"], modes=options["modes"]
        )


def test_memory_dashpots_and_states_of_other_worlds_are_refused():
    world, body, cable = one()
    other, *_ = one(2e6)
    with pytest.raises(pl.InputError, match="world"):
        pl.control.linearize(world, other.initial_state(), [cable], [tip(body)])
    for what in ("memory", "dashpot"):
        scene = pl.Scene()
        law = pl.materials.NeoHookean(young=1e6, poisson=0.3, density=1000)
        law = pl.materials.Viscoelastic(law, [(0.1, 0.1)]) if what == "memory" else law
        mesh = pl.mesh.box((0.1, 0.02, 0.02), (5, 1, 1))
        own = scene.add(pl.Volume(mesh, law, clamp=pl.regions.plane(axis="x", at=0.0)))
        pull = scene.add(pl.Cable(own, [(0.0, 0.01, 0.01), (0.1, 0.01, 0.01)]))
        if what == "dashpot":
            scene.add(pl.Spring(own, None, points=[TIP], ends=[(0.1, 0.01, 0.05)], stiffness=2.0, damping=0.1))
        made = scene.compile()
        with pytest.raises(pl.InputError, match=what):
            pl.control.linearize(made, made.initial_state(), [pull], [tip(own)])


@pytest.mark.parametrize(
    ("tied", "stiff", "lost"), [(None, None, 0), ("cable", None, 1), ("spring", 50.0, 0), ("both", 50.0, 1)]
)
def test_there_are_as_many_modes_as_unknowns_that_rows_leave_free(tied, stiff, lost):
    """A taut cable takes one; a spring adds stiffness and takes none."""
    scene = pl.Scene()
    body, cable = bar(scene)
    if stiff is not None:
        scene.add(pl.Spring(body, None, points=[TIP], ends=[(0.1, 0.01, 0.05)], stiffness=stiff))
    world = scene.compile()
    controls = {cable: pl.Displacement(1e-4) if tied in ("cable", "both") else pl.Force(0.0)}
    state, _ = pl.QuasiStatic(tolerance=1e-11)(world, world.initial_state(), controls)
    about = Linearization.of(world, state, [cable], [tip(body)], controls)
    free = int(np.count_nonzero(~world.models[0].constrained))
    squares, modes = about.modes(10**6)
    assert len(squares) == modes.shape[1] == free - lost
    assert squares.min() > 0.0
    if lost:
        held = about.H.toarray()[about._compliance == 0.0]
        np.testing.assert_allclose(held @ modes, 0.0, atol=1e-9 * np.abs(held).max() * np.abs(modes).max())


def test_a_spring_at_the_tip_adds_its_stiffness_to_the_lowest_mode():
    """Rayleigh's quotient of the mode without it, to first order: ω² grows by k φ² for a weak spring."""
    squares, shape = [], None
    for stiffness in (1e-9, 0.05):
        scene = pl.Scene()
        body, cable = bar(scene)
        scene.add(pl.Spring(body, None, points=[TIP], ends=[TIP], stiffness=stiffness))
        world = scene.compile()
        about = Linearization.of(world, world.initial_state(), [cable], [tip(body)], None)
        found, modes = about.modes(1)
        squares.append(found[0])
        if shape is None:
            shape = about.seen @ modes[:, 0]
    assert squares[1] - squares[0] == pytest.approx(0.05 * shape @ shape, rel=0.02)


def test_what_is_no_equilibrium_is_refused():
    """A body that moves, one that was displaced; an equilibrium is taken."""
    world, body, cable = one()
    rest = world.initial_state()
    moving = evolve(rest, v=(rest.v[0] + 1e-3 * ~world.models[0].constrained,))
    with pytest.raises(pl.InputError, match="the bodies move"):
        Linearization.of(world, moving, [cable], [tip(body)], None)
    displaced = evolve(rest, q=(rest.q[0] + 1e-4 * np.sin(1e3 * rest.q[0]) * ~world.models[0].constrained,))
    with pytest.raises(pl.InputError, match="are not balanced"):
        Linearization.of(world, displaced, [cable], [tip(body)], None)
    pulled, _ = pl.QuasiStatic(tolerance=1e-9)(world, rest, {cable: pl.Force(1.0)})
    Linearization.of(world, pulled, [cable], [tip(body)], {cable: pl.Force(1.0)})
