"""Responses of a linear model to forces and rows, by dense algebra, for soft and for stiff bodies."""

import numpy as np
import pytest
from scipy import linalg

import pliant as pl
from pliant.control.linearization import Linearization


def bar(young):
    """A bar with a cable, and a corner that two attachments hold: rows that depend on each other."""
    scene = pl.Scene()
    law = pl.materials.StVenantKirchhoff(young=young, poisson=0.3, density=1000)
    clamp = pl.regions.plane(axis="x", at=0.0)
    body = scene.add(pl.Volume(pl.mesh.box((0.1, 0.02, 0.02), (3, 1, 1)), law, clamp=clamp, anti_locking=False))
    cable = scene.add(pl.Cable(body, [(s, 0.01, 0.016) for s in (0.0, 0.05, 0.1)]))
    for name in ("one", "same"):
        scene.attach(body, points=[(0.1, 0.02, 0.0)], name=name)
    return scene.compile(), body, cable


@pytest.mark.parametrize("young", [1e3, 1e6, 1e11])
def test_motions_under_forces_leave_the_rows_that_hold(young):
    world, body, cable = bar(young)
    tip = pl.Effector(body, (0.1, 0.01, 0.01))
    about = Linearization.of(world, world.initial_state(), [cable], [tip], {cable: pl.Force(0.0)})
    assert len(about.held) == 6
    n = sum(about.sizes)
    K = np.column_stack([about.stiffness(e) for e in np.eye(n)])
    free = ~world.models[0].constrained.ravel()
    H = np.asarray(about.H.toarray() if hasattr(about.H, "toarray") else about.H)
    Y, inverse = about.responses
    dense = np.zeros((n, 6))
    dense[free] = np.linalg.solve(K[np.ix_(free, free)], H[:, free].T)
    np.testing.assert_allclose(Y, dense, atol=1e-8 * np.abs(dense).max())
    W = H @ dense
    np.testing.assert_allclose(inverse, np.linalg.pinv(W, rcond=1e-8), rtol=1e-6, atol=1e-9 * np.abs(inverse).max())
    force = np.random.default_rng(0).normal(size=n) * free
    moved = about.constrained(force)
    alone = np.zeros(n)
    alone[free] = np.linalg.solve(K[np.ix_(free, free)], force[free])
    expected = alone - dense @ np.linalg.pinv(W, rcond=1e-8) @ (H @ alone)
    np.testing.assert_allclose(moved, expected, atol=1e-7 * np.abs(expected).max())
    again = about.constrained(force, start=-3.0 * expected)
    np.testing.assert_allclose(again, expected, atol=1e-6 * np.abs(expected).max())


@pytest.mark.parametrize("small", [400, 0])
def test_modes_of_a_body_that_only_rows_hold(small, monkeypatch):
    """Without supports the stiffness alone has no factor; modes against a dense problem in the motions rows leave."""
    monkeypatch.setattr("pliant.control.linearization._SMALL", small)
    scene = pl.Scene()
    law = pl.materials.StVenantKirchhoff(young=1e6, poisson=0.3, density=1000)
    body = scene.add(pl.Volume(pl.mesh.box((0.1, 0.02, 0.02), (3, 1, 1)), law, anti_locking=False))
    cable = scene.add(pl.Cable(body, [(s, 0.01, 0.016) for s in (0.0, 0.05, 0.1)]))
    scene.attach(body, points=[(0.0, 0.0, 0.0), (0.0, 0.02, 0.0), (0.0, 0.0, 0.02), (0.0, 0.02, 0.02)])
    world = scene.compile()
    tip = pl.Effector(body, (0.1, 0.01, 0.01))
    about = Linearization.of(world, world.initial_state(), [cable], [tip], {cable: pl.Force(0.0)})
    n = sum(about.sizes)
    K, M = (np.column_stack([product(e) for e in np.eye(n)]) for product in (about.stiffness, about.mass))
    H = np.asarray(about.H.toarray() if hasattr(about.H, "toarray") else about.H)
    assert np.linalg.matrix_rank(K, tol=1e-8 * np.abs(K).max()) == n - 6
    Z = linalg.null_space(H)
    expected = linalg.eigh(Z.T @ K @ Z, Z.T @ M @ Z, eigvals_only=True)[:4]
    squares, modes = about.modes(4)
    np.testing.assert_allclose(squares, expected, rtol=5e-6)
    np.testing.assert_allclose(H @ modes, 0.0, atol=1e-6 * np.abs(modes).max())
    np.testing.assert_allclose(modes.T @ M @ modes, np.eye(4), atol=1e-6)
    force = np.random.default_rng(0).normal(size=n)
    found = about.constrained(force)
    np.testing.assert_allclose(found, Z @ np.linalg.solve(Z.T @ K @ Z, Z.T @ force), atol=1e-6 * np.abs(found).max())
