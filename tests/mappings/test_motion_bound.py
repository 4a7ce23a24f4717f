"""A bound of how far riding points moved, from their body alone; and their derivatives as blocks."""

import numpy as np
import pytest
from scipy import sparse

import pliant as pl
from pliant.mappings import largest_motion, riding
from pliant.models.scheme import STATIC_SCHEME

MADE = {"section": pl.sections.Circle(0.01), "young": 1e6, "poisson": 0.3, "density": 1e3}
RUBBER = pl.materials.Corotated(young=1e5, poisson=0.4, density=1e3)
BODIES = {
    "volume": lambda: pl.Volume(pl.mesh.box((0.2, 0.02, 0.02), (4, 1, 1)), RUBBER),
    "beam": lambda: pl.Beam(np.linspace((0.0, 0.01, 0.01), (0.2, 0.01, 0.01), 5), **MADE),
    "rod": lambda: pl.Rod(0.2, 3, position=(0.0, 0.01, 0.01), base="free", **MADE),
    "rigid": lambda: pl.RigidBody.box(size=(0.2, 0.02, 0.02), mass=0.1, position=(0.1, 0.01, 0.01)),
}


def ridden(kind, seed):
    scene = pl.Scene()
    scene.add(BODIES[kind]())
    world = scene.compile()
    model, rng = world.models[0], np.random.default_rng(seed)
    points = rng.uniform((-0.002, -0.002, -0.002), (0.202, 0.022, 0.022), (60, 3))
    q, v = model.initial()
    trial = model.trial(q, v, STATIC_SCHEME, world.gravity, {})
    return model, riding(model, points, what="points", reach=0.01), q, trial, rng


@pytest.mark.parametrize("kind", BODIES)
@pytest.mark.parametrize("size", [1e-4, 1e-2, 0.3])
def test_no_point_moves_farther_than_the_bound(kind, size):
    for seed in range(5):
        _, riders, q, trial, rng = ridden(kind, seed)
        trial.dx = (
            size
            * rng.normal(size=trial.dx.shape)
            * np.linspace(0.2, 1.0, len(trial.dx)).reshape(-1, *[1] * (trial.dx.ndim - 1))
        )
        now = trial.positions()
        moved = np.linalg.norm(riders.points(now) - riders.points(q), axis=1).max()
        bound = largest_motion(riders, now, q)
        assert moved <= bound * (1.0 + 1e-12)
        assert bound < 30.0 * moved
    assert largest_motion(riders, q, q) == 0.0


@pytest.mark.parametrize("kind", BODIES)
def test_blocks_hold_the_derivatives(kind):
    model, riders, _, trial, rng = ridden(kind, 3)
    trial.dx = 0.01 * rng.normal(size=trial.dx.shape)
    q = trial.positions()
    values, columns = riders.blocks(q)
    whole = np.zeros((len(values), 3, model.size))
    for point in range(len(values)):
        np.add.at(whole[point], (slice(None), columns[point]), values[point])
    wanted = riders.pull(q, sparse.identity(3 * len(values), format="csr"))
    assert np.allclose(whole.reshape(-1, model.size), wanted.toarray(), atol=1e-12)


@pytest.mark.parametrize("kind", BODIES)
def test_selected_points_are_the_same_points(kind):
    _, riders, q, _, _ = ridden(kind, 4)
    which = np.array([5, 2, 2, 40])
    assert np.allclose(riders.selected(which).points(q), riders.points(q)[which])
