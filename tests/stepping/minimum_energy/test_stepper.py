"""What a geometric step accepts, refuses and reports."""

import numpy as np
import pytest

import pliant as pl
from pliant.models.scheme import STATIC_SCHEME
from pliant.stepping.bodies import StepBodies
from pliant.stepping.minimum_energy.constraint_rows import DescentConstraints
from pliant.stepping.minimum_energy.shapes import Shapes
from scenes import chamber_world


@pytest.fixture(scope="module")
def pressed():
    """The box under a plate 0.5 mm above it, its chamber at 1.6 times its volume."""
    plate = pl.Obstacle.plane(point=(0.0, 0.0, 0.0205), normal=(0.0, 0.0, -1.0))
    world, body, chamber = chamber_world(plate=plate, margin=0.004)
    state, info = pl.Geometric()(world, world.initial_state(), {chamber: pl.VolumeRatio(1.6)})
    return body, chamber, plate, state, info


def test_contact_force_clamp_and_equilibrium_agree(pressed):
    """λ are newtons: what the plate pushes down is what the clamp pushes up, and nothing is crossed."""
    body, _, plate, state, info = pressed
    contacts = info.contacts(body, plate)
    force = info.contact_force(body, plate)
    assert info.residual <= 1e-5
    assert force[2] < -0.1
    assert (contacts.forces[:, 2] <= 0.0).all()
    assert force + info.reaction(body).sum(axis=0) == pytest.approx(np.zeros(3), abs=1e-3 * abs(force[2]))
    assert state.points(body)[:, 2].max() < 0.0205 + 1e-5
    assert np.abs(contacts.gaps[np.linalg.norm(contacts.forces, axis=1) > 0.0]).max() < 1e-6


def test_the_volume_is_met_and_its_multiplier_is_the_pressure(pressed):
    """The pressure found is one under which `QuasiStatic` comes to the same volume."""
    body, chamber, _, state, info = pressed
    growth, pressure = info.actuation(chamber)
    rest = state.world.initial_state().volume(chamber)
    assert state.volume(chamber) == pytest.approx(1.6 * rest, rel=1e-6)
    assert growth == pytest.approx(0.6 * rest, rel=1e-5)
    again, _ = pl.QuasiStatic(tolerance=1e-7)(state.world, state, {chamber: pl.Pressure(pressure)})
    assert again.points(body) == pytest.approx(state.points(body), abs=2e-6)


def test_a_pressure_leads_where_statics_lead():
    finger = pl.robots.pneumatic_finger(cell_size=0.005)
    scene = pl.Scene()
    scene.add(finger)
    world = scene.compile()
    asked = {finger.cavity: pl.Pressure(2e3)}
    state, info = pl.Geometric()(world, world.initial_state(), asked)
    still, _ = pl.QuasiStatic()(world, world.initial_state(), asked)
    assert info.actuation(finger.cavity)[1] == pytest.approx(2e3)
    np.testing.assert_allclose(finger.tip.at(state), finger.tip.at(still), atol=1e-6)


@pytest.mark.parametrize("growth", [1.06, 1.4])
def test_neither_the_way_nor_threads_matter(pressed, growth):
    """Passed through in other parts and on one thread the shape under the plate is the same, and so is its force."""
    body, chamber, plate, state, info = pressed
    stepper = pl.Geometric(growth=growth, threads=1)
    other, found = stepper(state.world, state.world.initial_state(), {chamber: pl.VolumeRatio(1.6)})
    moved = np.abs(state.points(body) - body.mesh.points).max()
    assert np.abs(other.points(body) - state.points(body)).max() < 0.01 * moved
    assert found.contact_force(body, plate)[2] == pytest.approx(info.contact_force(body, plate)[2], rel=0.01)
    assert found.load_steps != info.load_steps


def test_contacts_that_are_followed_are_those_that_were_found(pressed):
    """The gaps carried over to a shape nearby are those found there, but for the curvature of the way: a plate has
    none.
    """
    body, _, _, state, _ = pressed
    motion = StepBodies.begin(state.world, state, STATIC_SCHEME, state.world.controls(None))
    shapes = Shapes(motion)
    constraints = DescentConstraints(shapes)
    there = 1e-5 * np.random.default_rng(0).normal(size=body.mesh.points.shape)
    constraints.detect(np.zeros(there.size))
    constraints.extrapolate(there.ravel())
    followed = constraints.gap
    shapes.place(there.ravel())
    constraints.detect(there.ravel())
    assert len(followed)
    assert constraints.gap == pytest.approx(followed, abs=1e-12)


def test_the_state_that_it_starts_from_stays(pressed):
    state = pressed[3].world.initial_state()
    before = state.q[0].copy()
    pl.Geometric()(state.world, state, {pressed[1]: pl.VolumeRatio(1.01)})
    assert (state.q[0] == before).all()


def test_nothing_asked_for_is_nothing_done(pressed):
    state, info = pl.Geometric()(pressed[3].world, pressed[3].world.initial_state())
    assert info.iterations == 0
    assert state.q[0] == pytest.approx(pressed[0].mesh.points, abs=1e-15)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"growth": 1.0}, "growth"),
        ({"tolerance": 0.0}, "tolerance"),
        ({"memory": 0}, "memory"),
        ({"threads": 0}, "threads"),
    ],
)
def test_bad_options_are_named(options, words):
    with pytest.raises(pl.InputError, match=words):
        pl.Geometric(**options)


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (pl.VolumeRatio(0.0), "VolumeRatio of 'cavity'"),
        (pl.VolumeGrowth(-1.0), "volume at rest"),
        (1.5, "VolumeGrowth"),
    ],
)
def test_bad_volumes_are_named(pressed, value, words):
    with pytest.raises(pl.InputError, match=words):
        pl.Geometric()(pressed[3].world, pressed[3].world.initial_state(), {pressed[1]: value})


def test_friction_and_rigid_bodies_are_refused():
    plate = pl.Obstacle.plane(point=(0.0, 0.0, 0.03), normal=(0.0, 0.0, -1.0))
    world, _, _ = chamber_world(plate=plate, friction=0.3)
    with pytest.raises(pl.InputError, match="friction"):
        pl.Geometric()(world, world.initial_state())
    scene = pl.Scene()
    scene.add(pl.RigidBody.sphere(radius=0.01, mass=0.1, name="ball"))
    world = scene.compile()
    with pytest.raises(pl.InputError, match="'ball' is no volume"):
        pl.Geometric()(world, world.initial_state())


def test_a_way_that_ends_early_keeps_the_last_shape(pressed):
    """Two iterations are not enough: the error says how far it came, and has the shape."""
    world, chamber = pressed[3].world, pressed[1]
    with pytest.raises(pl.ConvergenceError, match="of its volume") as caught:
        pl.Geometric(iterations=1, tolerance=1e-12)(world, world.initial_state(), {chamber: pl.VolumeRatio(3.0)})
    assert np.isfinite(caught.value.result.q[0]).all()
