"""Forces and stiffness of a volume in all copies against the kernel of the ordinary steps."""

import numpy as np
import pytest

jax = pytest.importorskip("jax", reason="needs the extra gpu")
import pliant as pl  # noqa: E402
from pliant.batch.gpu import elements, kinds, lowering  # noqa: E402
from pliant.batch.gpu.precision import in_double  # noqa: E402
from pliant.materials import Tangent  # noqa: E402
from tests.scenes import DOWN  # noqa: E402

STIFF = 1.7


def body(anti_locking):
    rubber = pl.materials.Corotated(young=3e5, poisson=0.45, density=1e3)
    small = pl.materials.Linear(young=6e5, poisson=0.3, density=1e3)
    inclusion = [(pl.regions.box((0.0, 0.0, 0.0), (0.04, 1.0, 1.0)), small)]
    mesh = pl.mesh.box((0.1, 0.03, 0.03), (5, 1, 1))
    clamp = pl.regions.plane(axis="x", at=0.0)
    scene = pl.Scene(gravity=DOWN)
    scene.add(pl.Volume(mesh, rubber, clamp=clamp, anti_locking=anti_locking, inclusions=inclusion))
    return scene.compile()


def dense_of(model, values):
    """The matrix (3n, 3n) of lower blocks."""
    pattern, n = model.pattern, len(model.rest)
    rows = np.repeat(np.arange(n), np.diff(pattern.indptr))
    K = np.zeros((n, 3, n, 3))
    K[rows, :, pattern.indices] = values
    lower = K.reshape(3 * n, 3 * n)
    return np.tril(lower) + np.tril(lower, -1).T


@pytest.mark.parametrize("anti_locking", [False, True])
def test_forces_and_stiffness_are_those_of_the_ordinary_kernel(anti_locking):
    world = body(anti_locking)
    model = world.models[0]
    lowered, order = kinds.lower(world, [], slots=4), lowering.order_of(world)
    rng = np.random.default_rng(0)
    stretched = rng.normal(size=(3, 3)) * 0.2 + np.linalg.qr(rng.normal(size=(3, 3)))[0]
    stretched *= np.sign(np.linalg.det(stretched))
    moved = rng.normal(size=(2, *model.rest.shape)) * 1e-3
    moved[1] += model.rest @ stretched.T - model.rest
    moved[:, model.constrained] = 0.0
    with in_double():
        u = jax.numpy.asarray(np.moveaxis(moved[:, order], 0, -1))
        plain = jax.tree.map(jax.numpy.asarray, lowered)
        made = elements.linearize(plain.elements, plain.numbers, u, jax.numpy.full(1, STIFF))
    for k in range(2):
        values = np.empty((model.pattern.block_count, 3, 3))
        q = model.rest + moved[k]
        _, force = model.assemble(q, mass=0.0, stiffness=STIFF, tangent=Tangent.WARPED, values=values)
        np.testing.assert_allclose(made.forces[..., k], force[order], atol=1e-11 * np.abs(force).max())
        unknowns = (3 * order[:, None] + np.arange(3)).ravel()
        K = dense_of(model, values)[np.ix_(unknowns, unknowns)]
        entries = np.append(np.asarray(made.stiffness)[k], [0.0, 0.0])
        columns, blocks, width, _ = lowered.source.shape
        for c in range(columns):
            for i in range(blocks):
                rows = np.arange((c + i) * width, (c + i + 1) * width)
                own = np.arange(c * width, (c + 1) * width)
                rows, own = rows[rows < len(K)], own[own < len(K)]
                tile = entries[lowered.source[c, i]].T[: len(rows), : len(own)]
                np.testing.assert_allclose(tile, K[np.ix_(rows, own)], atol=1e-11 * np.abs(K).max())
