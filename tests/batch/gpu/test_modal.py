"""Reduced volumes by JAX: every step that of each copy alone."""

import numpy as np
import pytest

jax = pytest.importorskip("jax", reason="needs the extra gpu")
import pliant as pl  # noqa: E402
from pliant.batch.gpu import kinds, modal  # noqa: E402
from pliant.batch.gpu.elements import determinant  # noqa: E402
from pliant.batch.gpu.precision import in_double  # noqa: E402
from pliant.materials import Tangent  # noqa: E402
from pliant.reduced import Subspace  # noqa: E402
from pliant.world.reduced import reduced as reduced_world  # noqa: E402
from tests.batch.gpu.soft_beam import agrees, polynomials, scene_of, single_precision_agrees  # noqa: E402

P = pl.parameters
COUNT = 3


def reduced(modes, rng, *, sampled, friction=0.5):
    """The soft beam in products of polynomials, at all integration points or at some with random weights."""
    scene, body, *things = scene_of(friction)
    world = scene.compile()
    return reduced_world(world, [polynomials(world, body, modes, rng, sampled=sampled)]), body, *things


@pytest.mark.parametrize(("modes", "sampled"), [(9, True), (36, False)])
def test_every_step_is_that_of_each_copy_alone(modes, sampled):
    """In few modes without friction: more rows of friction than modes have many solutions, of different motion."""
    friction = 0.5 * (modes > 9)
    world, body, cables, floor, wall = reduced(modes, np.random.default_rng(modes), sampled=sampled, friction=friction)
    vary = {
        P.Material(body, "young"): [2e5, 3e5, 5e5],
        P.Material(body, "density"): [800.0, 1000.0, 1500.0],
        P.Friction(body, floor): np.array([0.0, 0.4, 0.9]) * (friction > 0.0),
        P.Damping(body, "stiffness"): [0.004, 0.01, 0.0],
        P.Gravity(): [(0.0, 0.0, -9.81), (0.0, -3.0, -9.81), (1.0, 0.0, -15.0)],
    }
    batch = pl.Batch(world, COUNT, vary=vary, device="jax", capacity=32)
    agrees(batch, body, cables, (floor, wall), steps=10)


def test_forces_and_stiffness_are_those_of_the_ordinary_kernel():
    world = reduced(12, np.random.default_rng(0), sampled=True)[0]
    lowered, rng = kinds.lower(world, [], slots=4), np.random.default_rng(1)
    y = rng.normal(size=(12, 4)) * 1e-4
    with in_double():
        made = modal.linearize(jax.tree.map(jax.numpy.asarray, lowered), jax.numpy.asarray(y), jax.numpy.full(1, 1.7))
    assert np.asarray(determinant(made.F)).min() > 0.1
    assert np.abs(np.asarray(determinant(made.F)) - 1.0).max() > 0.1
    for k in range(4):
        _, force, K = world.models[0].strained(y[:, k], Tangent.WARPED, 1.7)
        np.testing.assert_allclose(made.forces[:, k], force, atol=1e-11 * np.abs(force).max())
        np.testing.assert_allclose(made.stiffness[k].reshape(12, 12), K, atol=1e-11 * np.abs(K).max())


def test_single_precision_stays_near_double():
    world, body, cables, *_ = reduced(9, np.random.default_rng(2), sampled=True, friction=0.0)
    wide, single = (
        pl.Batch(world, COUNT, device="jax", precision=precision, errors="keep") for precision in ("float64", "float32")
    )
    single_precision_agrees(wide, single, body, cables, steps=5)


def test_curved_modes_are_named():
    scene, body, *_ = scene_of()
    world = scene.compile()
    model = world.models[0]
    modes = np.random.default_rng(3).normal(size=(model.rest.size, 2)) * ~model.constrained.reshape(-1, 1)
    root = np.repeat(np.sqrt(model.mass.nodal), 3)[:, None]
    modes = np.linalg.qr(root * modes)[0] / root
    curved = Subspace(body, modes, rest=model.rest, curvature=np.zeros((len(modes), 5)), point_count=model.points.count)
    with pytest.raises(pl.PliantError, match=r"the curved modes of 'volume': .*device='cpu'"):
        pl.Batch(reduced_world(world, [curved]), 2, device="jax")
