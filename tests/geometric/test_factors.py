"""Factors of matrices that are not positive definite, and BFGS in its compact form, against dense algebra."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

import pliant as pl
from pliant.core.errors import SingularError
from pliant.geometric.metric import TangentMetric
from pliant.geometric.quasi_newton import QuasiNewton
from pliant.geometric.rooted import RootedFactor
from pliant.materials import Tangent
from pliant.models.scheme import STATIC_SCHEME
from pliant.solvers.linear import BlockMatrix
from pliant.stepping.motion import Motion


def model_world():
    scene = pl.Scene()
    rubber = pl.materials.NeoHookean(young=1.0, poisson=0.3, density=1.0)
    mesh = pl.mesh.box((4, 1, 1), (8, 2, 2))
    scene.add(pl.Volume(mesh, rubber, clamp=pl.regions.plane(axis="x", at=0.0)))
    return scene.compile()


@pytest.fixture(scope="module")
def model():
    return model_world().models[0]


@pytest.fixture(scope="module")
def softened(model):
    """Blocks with two negative eigenvalues, the same densely over the free unknowns, and where those are."""
    values = model.blocks()
    model.assemble(model.rest, mass=0.0, stiffness=1.0, tangent=Tangent.EXACT, values=values)
    free = np.flatnonzero(~model.held.ravel())
    dense = np.array([BlockMatrix(model.pattern, values).matvec(e.reshape(-1, 3)).ravel() for e in np.eye(model.size)])
    eigenvalues = np.linalg.eigvalsh(dense[np.ix_(free, free)])
    shift = 0.5 * (eigenvalues[1] + eigenvalues[2])
    values[model.pattern.diagonal] -= shift * np.eye(3)
    return values, dense[np.ix_(free, free)] - shift * np.eye(len(free)), free


def test_a_matrix_with_two_negative_eigenvalues_is_solved(model, softened):
    values, dense, free = softened
    with pytest.raises(SingularError):
        model.symbolic.factorize(values)
    factor = RootedFactor(model.symbolic, values)
    assert factor.negative == 2
    rng = np.random.default_rng(1)
    b = np.zeros((model.size, 3))
    b[free] = rng.normal(size=(len(free), 3))
    x = np.linalg.solve(dense, b[free])
    assert factor.solve(b)[free] == pytest.approx(x, abs=1e-8 * np.abs(x).max())
    assert factor.compliance(sparse.csr_matrix(b.T)) == pytest.approx(b[free].T @ x, abs=1e-7 * np.abs(x).max())


def test_a_positive_definite_matrix_needs_no_root(model):
    values = model.blocks()
    model.assemble(model.rest, mass=0.0, stiffness=1.0, tangent=Tangent.EXACT, values=values)
    factor = RootedFactor(model.symbolic, values)
    assert factor.negative == 0
    b = np.random.default_rng(2).normal(size=(model.size, 2))
    np.testing.assert_array_equal(factor.solve(b), model.symbolic.factorize(values).solve(b))


def test_a_root_that_is_held_does_not_mend_a_leaf(model, softened):
    values = softened[0].copy()
    first = model.symbolic.nodes[0]
    values[model.pattern.diagonal[first]] *= -1.0
    with pytest.raises(SingularError) as caught:
        RootedFactor(model.symbolic, values)
    assert caught.value.row // 3 == first


def test_attempts_begin_where_the_last_one_succeeded(model, monkeypatch):
    """A compressed block needs a share of its mass; asked again, only the attempt before that one is tried as well."""
    world = model_world()
    start = world.initial_state()
    pressed = replace(start, q=(start.q[0] * (0.9, 1.0, 1.0),))
    motion = Motion(world, pressed, STATIC_SCHEME, world.controls(None))
    tried = []
    factorize = TangentMetric._factorize
    monkeypatch.setattr(TangentMetric, "_factorize", lambda self, n: (tried.append(self.attempt), factorize(self, n)))
    metric = TangentMetric(motion, [None])
    assert metric.shift > 0.0
    assert tried == list(range(metric.attempt + 1))
    tried.clear()
    again = TangentMetric(motion, [None], last=metric.attempt)
    assert again.attempt == metric.attempt
    assert tried == [0, metric.attempt - 1, metric.attempt]
    b = np.random.default_rng(4).normal(size=(model.size, 1))
    np.testing.assert_allclose(again.solve(b), metric.solve(b), rtol=1e-9)


def test_the_compact_form_is_that_of_bfgs():
    """H₀ + U M Uᵀ against the recursion, H ← (I − ρ s yᵀ) H (I − ρ y sᵀ) + ρ s sᵀ, with a pair forgotten and one
    refused; also over another H₀.
    """
    rng = np.random.default_rng(3)
    n, memory = 7, 3
    A, B = (x @ x.T + np.eye(n) for x in rng.normal(size=(2, n, n)))
    S = rng.normal(size=(5, n))
    Y = S @ B
    for H0 in (np.linalg.inv(A), np.eye(n)):
        pairs = QuasiNewton(memory)
        for s, y in zip(S, Y, strict=True):
            pairs.learn(s, y, np.linalg.inv(A) @ y)
            pairs.learn(s, -y, -np.linalg.inv(A) @ y)
        pairs.rebase(lambda columns, H0=H0: H0 @ columns)
        H = H0
        for s, y in zip(S[-memory:], Y[-memory:], strict=True):
            rho, eye = 1.0 / (s @ y), np.eye(n)
            H = (eye - rho * np.outer(s, y)) @ H @ (eye - rho * np.outer(y, s)) + rho * np.outer(s, s)
        b = rng.normal(size=n)
        assert pairs.improved(b, H0 @ b) == pytest.approx(H @ b)
