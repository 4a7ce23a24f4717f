"""Rigid motions that supports leave open: how many, and what they do to loads."""

import numpy as np
import pytest

import pliant as pl
from pliant.models.free_modes import motions_of_points
from pliant.models.model import StepStart
from pliant.models.scheme import STATIC_SCHEME

RUBBER = pl.materials.Corotated(young=1e5, poisson=0.3, density=1000.0)
LOW = {axis: pl.regions.plane(axis=axis, at=0.0) for axis in "xyz"}
CORNER = pl.regions.nodes([0])


def compiled(*supports, lumped=True):
    scene = pl.Scene()
    body = scene.add(pl.Volume(pl.mesh.box((0.3, 0.2, 0.1), (3, 2, 2)), RUBBER, lumped_mass=lumped))
    for region, axes in supports:
        scene.add(pl.Support(body, region, axes=axes))
    return scene.compile().models[0]


@pytest.mark.parametrize(
    ("supports", "open_motions"),
    [
        ((), 6),
        (((CORNER, "xyz"),), 3),
        (((LOW["z"], "z"),), 3),
        (((LOW["z"], "z"), (LOW["y"], "y")), 1),
        (((LOW["z"], "z"), (LOW["y"], "y"), (LOW["x"], "x")), 0),
        (((LOW["x"], "xyz"),), 0),
        (((pl.regions.nodes([0, 1, 2]), "xyz"),), 1),
    ],
)
def test_number_of_open_motions(supports, open_motions):
    """Three translations and three rotations, less what is held; a held line leaves the turn about it."""
    model = compiled(*supports)
    modes = model.free_modes(model.rest)
    assert (0 if modes is None else modes.count) == open_motions


@pytest.mark.parametrize("lumped", [True, False])
def test_modes_are_orthonormal_in_mass_and_cost_no_energy(lumped):
    model = compiled(lumped=lumped)
    modes = model.free_modes(model.rest)
    np.testing.assert_allclose(modes.modes.T @ modes.weighted, np.eye(6), atol=1e-10)
    for mode in modes.modes.T:
        step = 1e-6 * mode.reshape(-1, 3) / np.abs(mode).max()
        _, force = model.internal(model.rest + step)
        assert np.abs(force).max() < 1e-6 * 1e5 * 0.1 * 1e-4


def test_balanced_loads_have_no_resultant():
    model = compiled()
    modes = model.free_modes(model.rest)
    load = np.random.default_rng(0).normal(size=model.rest.shape)
    rest = modes.balanced(load)
    np.testing.assert_allclose(rest.sum(axis=0), 0.0, atol=1e-10)
    np.testing.assert_allclose(np.cross(model.rest, rest).sum(axis=0), 0.0, atol=1e-10)
    np.testing.assert_allclose(modes.balanced(rest), rest, atol=1e-10)


def test_acceleration_of_a_rigid_spin():
    """Inertia forces M (a + α × r) are read back as a and α about the centre of mass."""
    model = compiled()
    modes = model.free_modes(model.rest)
    mass = model.mass.nodal
    arm = model.rest - mass @ model.rest / mass.sum()
    a, alpha = np.array([1.0, -2.0, 0.5]), np.array([3.0, 0.2, -1.0])
    load = mass[:, None] * (a + np.cross(alpha, arm))
    np.testing.assert_allclose(modes.acceleration(load), [*a, *alpha], rtol=1e-10)
    np.testing.assert_allclose(modes.balanced(load), 0.0, atol=1e-12)


SLENDER = {"section": pl.sections.Circle(0.002), "young": 1e8, "poisson": 0.3, "density": 1e3}


@pytest.mark.parametrize(
    ("options", "open_motions"),
    [({}, 6), ({"pin": [0]}, 3), ({"pin": [0, 8]}, 1), ({"clamp": [0]}, 0), ({"pin": [0, 4, 8]}, 1)],
)
def test_number_of_open_motions_of_a_beam(options, open_motions):
    """A pin leaves three rotations, two pins the turn about the line between them, a clamp nothing."""
    scene = pl.Scene()
    scene.add(pl.Beam(np.linspace((0, 0, 0), (0.2, 0.1, 0), 9), **SLENDER, **options))
    model = scene.compile().models[0]
    modes = model.free_modes(model.rest)
    assert (0 if modes is None else modes.count) == open_motions


@pytest.mark.parametrize("kind", ["beam", "rod"])
def test_modes_of_slender_bodies_cost_no_energy_and_carry_their_mass(kind):
    scene = pl.Scene()
    if kind == "beam":
        scene.add(pl.Beam(np.array([(0.0, 0, 0), (0.1, 0, 0), (0.15, 0.1, 0), (0.2, 0.1, 0.1)]), **SLENDER))
    else:
        scene.add(pl.Rod(0.2, 4, rest_strain=(1, 2, 5, 0, 0, 0), base="free", **SLENDER))
    world = scene.compile()
    model, (q, v) = world.models[0], world.models[0].initial()
    modes = model.free_modes(q)
    assert modes.count == 6
    np.testing.assert_allclose(modes.modes.T @ modes.weighted, np.eye(6), atol=1e-9)
    for mode in modes.modes.T:
        trial = model.trial(StepStart(q, v, STATIC_SCHEME, np.zeros(3), {}))
        trial.dx = trial.moved(trial.dx, (1e-5 * mode / np.abs(mode).max()).reshape(v.shape), 1.0)
        assert model.elastic_energy(trial.positions()) < 1e-18
    spin = np.array([0.2, -0.5, 1.0, 2.0, -1.0, 0.3])
    load = modes.weighted @ np.linalg.solve(modes.twists, spin)
    np.testing.assert_allclose(modes.acceleration(load), spin, atol=1e-9)


def test_positions_must_be_finite():
    model = compiled()
    q = model.rest.copy()
    q[3, 1] = np.nan
    with pytest.raises(pl.InputError, match=r"positions of 'volume' must be finite, but entry \[3, 1\]"):
        model.free_modes(q)


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_unit_rotations_move_the_farthest_point_by_a_unit(sign):
    """On whichever side of the centre of mass it is; translations are units, both are rigid."""
    x = sign * np.array([(0.0, 0.0, 0.0), (0.3, 0.1, 0.0), (0.1, -0.2, 0.05), (0.2, 0.1, 0.3)])
    mass = np.array([7.0, 1.0, 1.0, 0.5])
    motions, size = motions_of_points(x, mass)
    arm = x - mass @ x / mass.sum()
    assert size == pytest.approx(np.abs(arm).max())
    np.testing.assert_allclose(motions[:, :, :3], np.broadcast_to(np.eye(3), (4, 3, 3)))
    for axis in range(3):
        np.testing.assert_allclose(size * motions[:, :, 3 + axis], np.cross(np.eye(3)[axis], arm), atol=1e-15)
        np.testing.assert_allclose(mass @ motions[:, :, 3 + axis], 0.0, atol=1e-15)
    assert np.abs(motions).max() == pytest.approx(1.0)
