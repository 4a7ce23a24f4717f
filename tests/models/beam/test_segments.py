"""What a cable's tension stiffens a beam by: against differences of its force, and against Euler's buckling."""

import numpy as np
import pytest

import pliant as pl
from pliant.constraints import RowView
from pliant.models.beam import dynamics
from pliant.models.beam.segments import BeamSegments
from pliant.models.scheme import STATIC_SCHEME
from pliant.solvers.linear.matrix import BlockMatrix
from pliant.stepping.bodies import StepBodies

ROD = {"section": pl.sections.Circle(0.003), "young": 2e6, "poisson": 0.4, "density": 1e3}
POINTS = np.linspace((0.0, 0.0, 0.0), (0.2, 0.0, 0.0), 11)


def cabled(via, **placed):
    scene = pl.Scene()
    rod = scene.add(pl.Beam(POINTS, clamp=[0], **ROD), **placed)
    cable = scene.add(pl.Cable(rod, via))
    return scene.compile(), rod, cable


def moved(q, dx):
    out = np.empty_like(q)
    dynamics.advance(q.copy(), np.ascontiguousarray(dx), 1.0, out)
    return out


def added(world, q, tension):
    """The matrix (66, 66) that the cable adds at q."""
    bodies = StepBodies.begin(world, world.initial_state(), STATIC_SCHEME, {})
    (system,), _ = bodies.linearized(pl.materials.Tangent.EXACT)
    system.values[:] = 0.0
    for _, K in world.constraints[0].stiffness([q], np.array([tension]), 1.0):
        system.add_stiffness(K)
    return BlockMatrix(world.models[0].pattern, system.values).to_scipy().toarray()


@pytest.mark.parametrize("placed", [{}, {"position": (1.0, 2.0, 3.0), "rotation": (0.3, -0.8, 1.1)}])
def test_through_the_nodes_it_is_the_derivative_of_the_force(placed):
    """Points on nodes move along straight lines, so nothing is left out: T ∂²L/∂q², by central differences."""
    world, _, _ = cabled(POINTS, **placed)
    rng, tension, eps = np.random.default_rng(0), 3.0, 1e-6
    q = moved(world.models[0].rest, 0.002 * rng.normal(size=(11, 2, 3)))
    K = added(world, q, tension)

    def force(dx):
        there = moved(q, dx)
        view = RowView.of(world.models, [there], moved=[dx])
        return -tension * world.constraints[0].rows(view)[0].H[0].toarray().ravel()

    units = eps * np.eye(66).reshape(66, 11, 2, 3)
    expected = np.stack([(force(u) - force(-u)) / (2 * eps) for u in units], axis=1)
    translations = np.arange(66).reshape(11, 2, 3)[:, 0].ravel()
    own = np.ix_(translations, translations)
    np.testing.assert_allclose(K[own], expected[own], atol=1e-5 * np.abs(expected[own]).max())
    assert np.abs(K).max() > 10.0


def test_off_the_axis_and_between_nodes_it_is_symmetric_and_never_softens():
    via = [(0.013, 0.0, 0.0024), (0.071, 0.001, 0.002), (0.15, 0.0, 0.0024), (0.2, 0.0, 0.0024)]
    world, _, _ = cabled(via)
    q = moved(world.models[0].rest, 0.01 * np.random.default_rng(1).normal(size=(11, 2, 3)))
    K = added(world, q, 2.0)
    np.testing.assert_allclose(K, K.T, atol=1e-12 * np.abs(K).max())
    assert np.linalg.eigvalsh(K).min() > -1e-9 * np.abs(K).max()
    along = np.tile([(1.0, 2.0, 3.0), (0.0, 0.0, 0.0)], (11, 1, 1))
    np.testing.assert_allclose(K @ along.ravel(), 0.0, atol=1e-10 * np.abs(K).max())


def test_a_cable_inside_a_rod_does_not_buckle_it(monkeypatch):
    """At eight times Euler's load of a cantilever the tangent stays definite; without the cable's part it does not."""
    load = 8.0 * np.pi**2 * ROD["young"] * ROD["section"].second_moments[0] / (4.0 * 0.2**2)
    counts = []
    for stiffened in (True, False):
        if not stiffened:
            monkeypatch.setattr(BeamSegments, "add_blocks", lambda *_: None)
        world, rod, cable = cabled(POINTS)
        state, step, projected = world.initial_state(), pl.ImplicitEuler(1.0), 0
        for _ in range(5):
            state, info = step(world, state, {cable: pl.Force(load)})
            projected += info.tangents_projected
        counts.append(projected)
        if stiffened:
            np.testing.assert_allclose(state.points(rod)[:, 1:], 0.0, atol=1e-9)
    assert counts[0] == 0
    assert counts[1] > 0
