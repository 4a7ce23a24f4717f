"""POD against what defines it: orthonormal modes, the best ones, and the rank of the snapshots."""

import numpy as np
import pytest

import pliant as pl
from pliant.core.lie import rotation_exp
from pliant.materials import Tangent
from pliant.reduced.chart import rigid_motions
from pliant.reduction import pod
from pliant.solvers.linear import BlockMatrix
from scenes import bar


def beam(*, held=True, lumped=True):
    options = {} if held else {"clamp": None}
    return bar(lumped_mass=lumped, **options)[0].compile().models[0]


def random_shapes(model, rank, count=20):
    """Snapshots (count, n, 3) whose displacements have the given rank, with ever smaller parts."""
    random = np.random.default_rng(0)
    modes = np.where(model.constrained, 0.0, random.standard_normal((rank, *model.rest.shape)))
    parts = 1e-3 * 0.1 ** np.arange(rank) * random.standard_normal((count, rank))
    return model.rest + np.einsum("sk,kni->sni", parts, modes)


def product_of(model, product):
    if product == "plain":
        return np.eye(model.size)
    values = np.zeros((model.pattern.block_count, 3, 3))
    if product == "mass":
        model.mass.add_to(values, 1.0)
    else:
        model.assemble(model.rest.copy(), mass=0.0, stiffness=1.0, tangent=Tangent.EXACT, values=values)
    return BlockMatrix(model.pattern, values).to_scipy().toarray()


@pytest.mark.parametrize("lumped", [True, False])
@pytest.mark.parametrize("product", ["mass", "energy", "plain"])
def test_modes_are_orthonormal_and_the_best_of_their_number(product, lumped):
    """ΦᵀGΦ = I, and what they discard is the tail of the eigenvalues of the snapshots' Gram matrix."""
    model = beam(lumped=lumped)
    shapes = random_shapes(model, 6)
    found = pod(model, shapes, product=product, size=4)
    G = product_of(model, product)
    np.testing.assert_allclose(found.modes.T @ G @ found.modes, np.eye(4), rtol=0, atol=1e-12)
    U = (shapes - model.rest).reshape(len(shapes), -1).T
    squares = np.linalg.eigvalsh(U.T @ G @ U)[::-1]
    assert found.discarded == pytest.approx(np.sqrt(squares[4:6].sum() / squares.sum()), rel=1e-6)
    rest = U - found.modes @ (found.modes.T @ (G @ U))
    assert np.sqrt(np.trace(rest.T @ G @ rest) / np.trace(U.T @ G @ U)) == pytest.approx(found.discarded, rel=1e-6)


@pytest.mark.parametrize("product", ["mass", "energy", "plain"])
def test_the_tolerance_gives_the_size(product):
    model = beam()
    shapes = random_shapes(model, 6)
    sizes = [pod(model, shapes, product=product, tolerance=tolerance) for tolerance in (0.2, 1e-2, 1e-3, 1e-9)]
    for found, tolerance in zip(sizes, (0.2, 1e-2, 1e-3, 1e-9), strict=True):
        assert found.discarded <= tolerance
        assert found.size == 1 or pod(model, shapes, product=product, size=found.size - 1).discarded > tolerance
    assert [found.size for found in sizes] == sorted(found.size for found in sizes)
    assert sizes[-1].size == 6


def test_rigid_motions_of_a_free_body_make_no_modes():
    """Snapshots that fly and turn hold one deformation: one mode, of the frame of the body."""
    model = beam(held=False)
    random = np.random.default_rng(1)
    bend = np.zeros_like(model.rest)
    bend[:, 2] = 1e-2 * ((model.rest[:, 0] - 0.05) / 0.05) ** 2
    bend = _without_rigid(model, bend)
    shapes = [
        (model.rest + random.normal() * bend) @ rotation_exp(random.normal(size=3)).T + random.normal(size=3)
        for _ in range(10)
    ]
    found = pod(model, shapes, tolerance=1e-9)
    assert found.size == 1
    length = np.sqrt(model.mass.nodal @ (bend**2).sum(axis=1))
    np.testing.assert_allclose(np.abs(found.modes[:, 0]), np.abs(bend.ravel()) / length, atol=1e-8)


def _without_rigid(model, shape):
    m = np.repeat(model.mass.nodal, 3)[:, None]
    rigid = rigid_motions(model.rest - model.mass.nodal @ model.rest / model.mass.total)
    return shape - (rigid @ np.linalg.solve(rigid.T @ (m * rigid), rigid.T @ (m[:, 0] * shape.ravel()))).reshape(-1, 3)


def test_bad_snapshots_are_named():
    model = beam()
    with pytest.raises(pl.InputError, match="no snapshot moves"):
        pod(model, np.stack([model.rest, model.rest]))
    with pytest.raises(pl.InputError, match="hold 2 modes, not 3"):
        pod(model, random_shapes(model, 2), size=3)
    with pytest.raises(pl.InputError, match="product must be one of"):
        pod(model, random_shapes(model, 2), product="volume")
    with pytest.raises(pl.InputError, match="shape"):
        pod(model, np.zeros((2, 5, 3)))


def test_one_mode_is_taken_however_loose_the_tolerance():
    model = beam()
    assert pod(model, random_shapes(model, 3), tolerance=5.0).size == 1
    with pytest.raises(pl.InputError, match="hold 3 modes, not 4"):
        pod(model, random_shapes(model, 3), size=4)
    assert pod(model, random_shapes(model, 3), size=3).size == 3
