"""Trials of a step: what they say does not depend on what they were asked before."""

import numpy as np
import pytest

import pliant as pl
from pliant.core.immutable import evolve
from pliant.materials import Tangent
from pliant.models.scheme import euler_scheme, midpoint_scheme, static_scheme
from pliant.stepping.bodies import StepBodies
from scenes import bar

SLENDER = {"section": pl.sections.Circle(0.004), "young": 1e7, "poisson": 0.3, "density": 1e3}


def one(body):
    scene = pl.Scene(gravity=(0.0, 0.0, -9.81))
    scene.add(body)
    return scene.compile()


BODIES = {
    "volume": lambda: bar()[0].compile(),
    "beam": lambda: one(pl.Beam([(0, 0, 0), (0.05, 0, 0), (0.1, 0, 0)], clamp=[0], **SLENDER)),
    "rod": lambda: one(pl.Rod(0.1, 3, **SLENDER)),
    "free rod": lambda: one(pl.Rod(0.1, 2, base="free", **SLENDER)),
    "rigid": lambda: one(pl.RigidBody.box(size=(0.01, 0.02, 0.03), mass=0.1)),
}


def answers(trial):
    """Where the trial leads, how fast, and its residual."""
    return trial.positions(), trial.velocities(), trial.evaluation_point(), trial.linearize(Tangent.EXACT)[1].r


@pytest.mark.parametrize("name", BODIES)
@pytest.mark.parametrize("scheme", [euler_scheme(0.01), midpoint_scheme(0.01), static_scheme(0.0)])
def test_what_a_trial_says_does_not_depend_on_others(name, scheme):
    """Two displacements by turns, each in another order of questions, against trials that were asked nothing."""
    world, rng = BODIES[name](), np.random.default_rng(0)
    state = world.initial_state()
    (model,) = world.models
    state = evolve(state, v=(0.01 * rng.normal(size=state.v[0].shape) * ~model.constrained,))

    def fresh():
        return StepBodies.begin(world, state, scheme, world.controls(None)).trials[0]

    moves = [1e-4 * rng.normal(size=fresh().dx.shape) * ~model.constrained for _ in range(2)]
    expected = [answers(fresh().at(dx)) for dx in moves]
    trial = fresh().at(moves[0])
    for k in (0, 1, 0, 0, 1):
        trial = trial.at(moves[k])
        for _ in range(2):  # the second answer may be kept from the first
            for found, wanted in zip(answers(trial), expected[k], strict=True):
                np.testing.assert_allclose(found, wanted, rtol=1e-12, atol=1e-14 * max(1.0, np.abs(wanted).max()))
        assert np.abs(expected[0][0] - expected[1][0]).max() > 0.0
