"""What steppers ask of every model, whatever it is: answers of trials and factors that belong together."""

import numpy as np
import pytest
from scipy import sparse

import pliant as pl
from pliant.materials import Tangent
from pliant.models.model import StepStart
from pliant.models.scheme import Scheme, euler_scheme
from pliant.reduction import pod
from pliant.stepping.bodies import StepBodies
from pliant.world.reduced import reduced
from scenes import RUBBER, bar

STEEL = {"section": pl.sections.Circle(0.002), "young": 2e11, "poisson": 0.3, "density": 7800.0}
EULER = euler_scheme(0.01)


def volume(**options):
    return bar(**options)[0].compile()


def reduced_volume():
    world = volume()
    model = world.models[0]
    random = np.random.default_rng(0)
    shapes = model.rest + np.where(model.constrained, 0.0, 1e-3 * random.standard_normal((5, *model.rest.shape)))
    return reduced(world, [pod(model, shapes, size=3).subspace()])


def one(body):
    scene = pl.Scene()
    scene.add(body)
    return scene.compile()


BODIES = {
    "volume": volume,
    "reduced": reduced_volume,
    "beam": lambda: one(pl.Beam([(0, 0, 0), (0.05, 0, 0), (0.1, 0, 0)], clamp=[0], **STEEL)),
    "rod": lambda: one(pl.Rod(0.1, 3, **STEEL)),
    "rigid": lambda: one(pl.RigidBody.sphere(radius=0.01, mass=0.1)),
}


def trial_of(world, scheme: Scheme = EULER):
    model, state = world.models[0], world.initial_state()
    return model.trial(StepStart(state.q[0], state.v[0], scheme, np.array([0.0, 0.0, -9.81]), {}))


@pytest.mark.parametrize("name", BODIES)
def test_the_response_to_rows_is_the_solution_under_their_forces(name):
    """Also after W of the same rows was formed, from which some factors begin."""
    trial = trial_of(BODIES[name]())
    factor = trial.linearize(Tangent.EXACT)[0].factorize()
    random = np.random.default_rng(1)
    H = sparse.csr_matrix(random.standard_normal((2, trial.dx.size)))
    lam = random.standard_normal(2)
    wanted = factor.solve((H.T @ lam).reshape(trial.dx.shape)).ravel()
    assert np.linalg.norm(wanted) > 0.0
    for _ in range(2):
        np.testing.assert_allclose(factor.response(H, lam), wanted, rtol=0, atol=1e-12 * np.abs(wanted).max())
        W = factor.compliance(H)
    np.testing.assert_allclose(W @ lam, H @ wanted, rtol=1e-9)


@pytest.mark.parametrize("name", BODIES)
def test_the_motions_of_a_model_feel_what_is_left_of_a_force(name):
    """Twice is once, and the motion under what is left is that under the whole."""
    trial = trial_of(BODIES[name]())
    force = np.random.default_rng(2).standard_normal(trial.dx.shape)
    left = trial.reduced_force(force)
    np.testing.assert_allclose(trial.reduced_force(left), left, rtol=0, atol=1e-12 * np.abs(left).max())
    factor = trial.linearize(Tangent.EXACT)[0].factorize()
    moved = factor.solve(force)
    np.testing.assert_allclose(factor.solve(left), moved, rtol=0, atol=1e-10 * np.abs(moved).max())
    assert (name == "reduced") == (np.linalg.norm(left - force) > 1e-3)


def test_supports_of_a_reduced_body_bear_what_those_of_the_whole_body_do():
    """At rest, where both stand alike: the weight on the clamp."""
    r = [trial_of(world) for world in (volume(), reduced_volume())]
    held = [trial.full_residual(trial.residual(), None).r[trial.model.constrained].reshape(-1, 3) for trial in r]
    np.testing.assert_allclose(held[1], held[0], rtol=0, atol=1e-12)
    assert np.abs(held[0]).max() > 0.0


def test_a_fraction_of_the_load_is_a_fraction_of_the_prescribed_motion():
    scene, body = bar(clamp=None)
    base = scene.add(pl.Support(body, pl.regions.plane(axis="x", at=0.0)))
    world = scene.compile()
    controls = world.controls({base: pl.Displacement((1e-3, 0.0, 2e-3))})
    trial = StepBodies.begin(world, world.initial_state(), EULER, controls).trials[0]
    whole = trial.remaining_motion()
    np.testing.assert_allclose(whole[world.models[0].constrained[:, 0]], np.tile((1e-3, 0.0, 2e-3), (4, 1)))
    np.testing.assert_allclose(trial.loaded(0.25).remaining_motion(), 0.25 * whole, rtol=1e-12)
    assert trial.loaded(0.0).remaining_motion() is None


def test_a_body_follows_its_support_in_one_linear_solve():
    """Without other loads it is carried along as a whole."""
    scene, body = bar(clamp=None)
    base = scene.add(pl.Support(body, pl.regions.plane(axis="x", at=0.0)))
    world, away = scene.compile(), np.array((1e-3, -2e-3, 3e-3))
    state, _ = pl.QuasiStatic(newton_iterations=1)(world, world.initial_state(), {base: pl.Displacement(away)})
    np.testing.assert_allclose(state.displacements(body), np.tile(away, (len(world.models[0].rest), 1)), atol=1e-12)


PLACED = {
    "volume": lambda: one(pl.Volume(pl.mesh.box((0.1, 0.02, 0.03), (2, 1, 1)).translated((-0.3, -0.5, 0.1)), RUBBER)),
    "beam": lambda: one(pl.Beam([(-0.3, -0.5, 0.1), (-0.25, -0.5, 0.1), (-0.2, -0.48, 0.13)], clamp=[0], **STEEL)),
    "rod": lambda: one(pl.Rod(0.1, 2, position=(-0.3, -0.5, 0.1), **STEEL)),
    "rigid": lambda: one(pl.RigidBody.sphere(radius=0.01, mass=0.1, position=(-0.3, -0.5, 0.1))),
}
LARGEST = {
    "volume": [0.3, 0.5, 0.13],
    "beam": [[0.3, 0.5, 0.13], [1.0, 1.0, 1.0]],
    "rigid": [[0.3, 0.5, 0.1], [1.0, 1.0, 1.0]],
    # base and its turn, then of each section its turn and its stretch vector, as long as the section
    "rod": [[0.5] * 3, [1.0] * 3, [1.0] * 3, [0.05] * 3, [1.0] * 3, [0.05] * 3],
}


@pytest.mark.parametrize("name", PLACED)
def test_the_scale_of_coordinates_is_the_largest_of_them_whatever_its_sign(name):
    np.testing.assert_allclose(trial_of(PLACED[name]()).coordinate_scale(), LARGEST[name])


def test_cables_of_bodies_that_join_none_stay_single():
    """Two cables from a rigid body to the world are evaluated one by one, and move it."""
    scene = pl.Scene()
    ball = scene.add(pl.RigidBody.sphere(radius=0.1, mass=1.0))
    pulls = [scene.add(pl.Cable([ball], [(0, y, 0)], pull_point=(1.0, y, 0), name=str(y))) for y in (0.05, -0.05)]
    world = scene.compile()
    assert world.bundles == ()
    state, _ = pl.ImplicitEuler(0.01)(world, world.initial_state(), dict.fromkeys(pulls, pl.Force(1.0)))
    assert state.v[0][0, 0] == pytest.approx(2.0 * 0.01)


ROUND, TUBE, THIN = (
    pl.sections.Circle(0.004),
    pl.sections.Tube(0.004, inner=0.002),
    pl.sections.Tube(0.004, inner=0.001),
)
HOLLOW = {"young": 1e7, "poisson": 0.3, "density": 1e3}


@pytest.mark.parametrize(
    ("body", "bores"),
    [
        (lambda: pl.Beam([(0, 0, 0), (0.1, 0, 0), (0.2, 0, 0)], section=ROUND, **HOLLOW), None),
        (lambda: pl.Beam([(0, 0, 0), (0.1, 0, 0), (0.2, 0, 0)], section=TUBE, **HOLLOW), [0.002]),
        (lambda: pl.Rod(0.2, 1, section=ROUND, **HOLLOW), None),
        (lambda: pl.Rod(0.2, 2, section=[TUBE, THIN], **HOLLOW), [0.002, 0.001]),
        (lambda: pl.Rod(0.2, 2, section=[TUBE, ROUND], **HOLLOW), None),  # a part of it is solid
    ],
)
def test_only_a_body_that_is_hollow_all_along_has_bores(body, bores):
    """Inner radii of all its segments, and outer ones in any case."""
    axis = one(body()).models[0].axis()
    np.testing.assert_allclose(axis.radii, 0.004)
    if bores is None:
        assert axis.bores is None
    else:
        np.testing.assert_allclose(axis.bores, np.repeat(bores, len(axis.radii) // len(bores)))
