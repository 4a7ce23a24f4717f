"""Factors of matrices that are not positive definite, and BFGS in its compact form, against dense algebra."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

import pliant as pl
from pliant.core.errors import SingularError
from pliant.materials import Tangent
from pliant.models.scheme import STATIC_SCHEME
from pliant.solvers.linear import BlockMatrix
from pliant.stepping.bodies import StepBodies
from pliant.stepping.minimum_energy.indefinite_factor import IndefiniteFactor
from pliant.stepping.minimum_energy.metric import TangentMetric
from pliant.stepping.minimum_energy.mixed import MixedBody
from pliant.stepping.minimum_energy.quasi_newton import QuasiNewton


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
    free = np.flatnonzero(~model.constrained.ravel())
    dense = np.array([BlockMatrix(model.pattern, values).matvec(e.reshape(-1, 3)).ravel() for e in np.eye(model.size)])
    eigenvalues = np.linalg.eigvalsh(dense[np.ix_(free, free)])
    shift = 0.5 * (eigenvalues[1] + eigenvalues[2])
    values[model.pattern.diagonal] -= shift * np.eye(3)
    return values, dense[np.ix_(free, free)] - shift * np.eye(len(free)), free


def test_a_matrix_with_two_negative_eigenvalues_is_solved(model, softened):
    values, dense, free = softened
    with pytest.raises(SingularError):
        model.symbolic.factorize(values)
    nodes = []
    factor = IndefiniteFactor(model.symbolic, values, nodes)
    assert factor.negative == 2
    assert nodes
    rng = np.random.default_rng(1)
    b = np.zeros((model.size, 3))
    b[free] = rng.normal(size=(len(free), 3))
    x = np.linalg.solve(dense, b[free])
    assert factor.solve(b)[free] == pytest.approx(x, abs=1e-8 * np.abs(x).max())
    assert factor.compliance(sparse.csr_matrix(b.T)) == pytest.approx(b[free].T @ x, abs=1e-7 * np.abs(x).max())


def test_a_positive_definite_matrix_needs_no_lift(model):
    values = model.blocks()
    model.assemble(model.rest, mass=0.0, stiffness=1.0, tangent=Tangent.EXACT, values=values)
    nodes = []
    factor = IndefiniteFactor(model.symbolic, values, nodes)
    assert (factor.negative, nodes) == (0, [])
    b = np.random.default_rng(2).normal(size=(model.size, 2))
    np.testing.assert_array_equal(factor.solve(b), model.symbolic.factorize(values).solve(b))
    again = IndefiniteFactor(model.symbolic, values, [int(model.symbolic.nodes[0])])
    assert again.negative == 0
    assert again.solve(b) == pytest.approx(factor.solve(b), abs=1e-9 * np.abs(factor.solve(b)).max())


def test_a_matrix_with_many_negative_eigenvalues_is_refused(model, softened):
    """And the shifted nodes are left as they were."""
    nodes = [int(model.symbolic.nodes[-1])]
    with pytest.raises(SingularError):
        IndefiniteFactor(model.symbolic, -softened[0], nodes)
    assert nodes == [int(model.symbolic.nodes[-1])]


@pytest.fixture(scope="module")
def pressed():
    """A block pressed beyond its stability: a motion, its tangent over the free unknowns, and where those are."""
    world = model_world()
    start, model = world.initial_state(), world.models[0]
    shorter = replace(start, q=(start.q[0] * (0.93, 1.0, 1.0),))
    motion = StepBodies.begin(world, shorter, STATIC_SCHEME, world.controls(None))
    values = model.blocks()
    MixedBody(model).tangent(motion.trials[0].evaluation_point(), None, Tangent.EXACT, values)
    free = np.flatnonzero(~model.constrained.ravel())
    dense = np.array([BlockMatrix(model.pattern, values).matvec(e.reshape(-1, 3)).ravel() for e in np.eye(model.size)])
    return motion, dense[np.ix_(free, free)], free


def test_the_sign_of_negative_curvature_is_reversed(pressed):
    """As many as there are negative eigenvalues under what is given; there A⁻¹ changes its sign and nowhere else."""
    motion, dense, free = pressed
    size = len(motion.world.models[0].constrained.ravel())
    negative = int(np.count_nonzero(np.linalg.eigvalsh(dense) < 0.0))
    nothing = sparse.csr_matrix((0, size))
    metric = TangentMetric(motion, [None], nothing, [[]])
    assert (metric.attempt, metric.unstable) == (0, negative)
    assert negative > 0
    plain = metric.solve(np.eye(size)[:, free])[free]
    assert plain == pytest.approx(np.linalg.inv(dense), abs=1e-6 * np.abs(plain).max())
    turned = TangentMetric(motion, [None], nothing, [[]], reflect=True).solve(np.eye(size)[:, free])[free]
    assert np.linalg.eigvalsh(0.5 * (turned + turned.T)).min() > 0.0
    assert np.linalg.matrix_rank(turned - plain, tol=1e-6 * np.abs(turned).max()) == negative


def test_what_is_given_holds_a_direction(pressed):
    """A row along the worst eigenvector leaves one unstable direction less, and W of that row is negative."""
    motion, dense, free = pressed
    values, vectors = np.linalg.eigh(dense)
    row = np.zeros((1, len(motion.world.models[0].constrained.ravel())))
    row[0, free] = vectors[:, 0]
    metric = TangentMetric(motion, [None], sparse.csr_matrix(row), [[]])
    assert metric.unstable == int(np.count_nonzero(values < 0.0)) - 1
    assert metric.compliance([sparse.csr_matrix(row)])[0, 0] == pytest.approx(1.0 / values[0], rel=1e-6)


def test_attempts_begin_where_the_last_one_succeeded(monkeypatch):
    """A block pressed flat needs more than its exact tangent; again, those before the last are left out."""
    world = model_world()
    start = world.initial_state()
    shorter = replace(start, q=(start.q[0] * (0.5, 1.0, 1.0),))
    motion = StepBodies.begin(world, shorter, STATIC_SCHEME, world.controls(None))
    tried = []
    factorize = TangentMetric._factorize
    monkeypatch.setattr(TangentMetric, "_factorize", lambda self, n: (tried.append(self.attempt), factorize(self, n)))
    nothing = sparse.csr_matrix((0, world.models[0].size))
    metric = TangentMetric(motion, [None], nothing, [[]])
    assert metric.attempt > 0
    assert tried == list(range(metric.attempt + 1))
    tried.clear()
    again = TangentMetric(motion, [None], nothing, [[]], last=metric.attempt)
    assert tried[0] == metric.attempt - 1
    b = np.random.default_rng(4).normal(size=(world.models[0].size, 1))
    np.testing.assert_allclose(again.solve(b), metric.solve(b), rtol=1e-6, atol=1e-9 * np.abs(metric.solve(b)).max())


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
