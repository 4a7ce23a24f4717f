"""The slope of a step of one linear solve against differences of its forces, and against the assembled matrices."""

import numpy as np
import pytest

import pliant as pl
from pliant.materials import Tangent
from pliant.models.volume.corotated_slope import corotated_slope
from pliant.solvers.linear.matrix import BlockMatrix


def random_body(seed, *, fibre):
    """A box of two materials, one of small strain where the seed is odd, of random elements."""
    rng = np.random.default_rng(seed)
    kind = (pl.materials.Corotated, pl.materials.Linear)[seed % 2]
    soft = pl.materials.Corotated(young=1e5, poisson=0.4, density=1e3)
    stiff = kind(young=3e5, poisson=0.3, density=1e3)
    scene = pl.Scene()
    mesh = pl.mesh.box((0.02, 0.01, 0.01), (2, 1, 1), element=("tet4", "hex8")[seed // 2 % 2])
    inclusions = [(pl.regions.box((0.01, -1, -1), (1, 1, 1)), stiff)]
    body = scene.add(pl.Volume(mesh, soft, inclusions=inclusions, anti_locking=seed % 3 != 1))
    if fibre:
        scene.add(pl.Fibre(body, [(0.001, 0.004, 0.005), (0.011, 0.006, 0.005), (0.019, 0.004, 0.004)], stiffness=3.0))
    (model,) = scene.compile().volumes
    return model, rng


@pytest.mark.parametrize("seed", range(6))
def test_it_is_the_derivative_of_the_forces_of_a_step(seed):
    """wᵀ (f(q) + s K(q) (q⁺ − q)) by q at fixed q⁺, with fibres that are pulled and pressed."""
    model, rng = random_body(seed, fibre=True)
    q = model.rest + 4e-4 * rng.normal(size=model.rest.shape)
    end = q + 4e-4 * rng.normal(size=q.shape)
    w, y, scale = *rng.normal(size=(2, *q.shape)), rng.uniform(0.5, 3.0)

    def work(q):
        K = np.empty((model.pattern.block_count, 3, 3))
        model.assemble(q, mass=0.0, stiffness=scale, tangent=Tangent.WARPED, values=K)
        return float(np.vdot(w, model.internal(q)[1] + BlockMatrix(model.pattern, K).matvec(end - q)))

    force, constants = np.zeros(q.shape), np.zeros((len(model.laws), 2))
    corotated_slope(q, end - q, w, *model.points.arrays, model.laws, model.table, scale, force, constants)
    for bars in model.fibres:
        bars.add_step_slope(q, end - q, w, scale, force)
    h = 1e-8
    change = (8.0 * (work(q + h * y) - work(q - h * y)) - (work(q + 2 * h * y) - work(q - 2 * h * y))) / (12.0 * h)
    assert np.vdot(force, y) == pytest.approx(change, rel=1e-6, abs=1e-7 * np.linalg.norm(force) * np.linalg.norm(y))


@pytest.mark.parametrize("seed", range(3))
def test_forces_are_linear_in_the_constants(seed):
    model, rng = random_body(seed, fibre=False)
    q = model.rest + 4e-4 * rng.normal(size=model.rest.shape)
    d, w, scale = *rng.normal(size=(2, *q.shape)), rng.uniform(0.5, 3.0)
    force, constants = np.zeros(q.shape), np.zeros((len(model.laws), 2))
    corotated_slope(q, d, w, *model.points.arrays, model.laws, model.table, scale, force, constants)
    K = np.empty((model.pattern.block_count, 3, 3))
    model.assemble(q, mass=0.0, stiffness=scale, tangent=Tangent.WARPED, values=K)
    work = np.vdot(w, model.internal(q)[1] + BlockMatrix(model.pattern, K).matvec(d))
    assert np.vdot(constants, model.table[:, :2]) == pytest.approx(work, rel=1e-10)
