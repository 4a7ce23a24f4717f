"""The linear model of a step of a reduced world, against central differences of converged steps."""

from dataclasses import replace

import numpy as np
import pytest

import pliant as pl
from pliant.control.kinematics import origin
from pliant.control.step_model import mode_count, step_model
from pliant.core.immutable import evolve

DT = 0.02


def made(damping=None, curvature=False):
    """A reduced bar that two cables bend, and its full world."""
    scene = pl.Scene(gravity=(0, 0, -9.81))
    rubber = pl.materials.Corotated(young=2e5, poisson=0.4, density=1000)
    mesh, clamp = pl.mesh.box((0.1, 0.02, 0.02), (5, 1, 1)), pl.regions.plane(axis="x", at=0.0)
    body = scene.add(pl.Volume(mesh, rubber, clamp=clamp, damping=damping or pl.Rayleigh(stiffness=5e-3)))
    routes = [[(x, 0.01, z) for x in (0.01, 0.05, 0.095)] for z in (0.004, 0.016)]
    cables = [scene.add(pl.Cable(body, route, name=name)) for route, name in zip(routes, "du", strict=True)]
    world = scene.compile()
    plan = pl.reduction.latin_hypercube(world, 8, steps=3, amplitude=0.6, kind=pl.Force, actuators=cables, seed=1)
    fast = pl.reduction.reduce(
        world, plan, motion_tolerance=5e-3, curvature=curvature, stepper=pl.QuasiStatic(), progress=False
    )
    return world, fast, cables, pl.Effector(pl.robots.Marker(body, (0.1, 0.01, 0.01)))


def central(function, count, j, size):
    """The derivative by the number j of `count`."""
    unit = size * np.eye(count)[j]
    return (function(unit) - function(-unit)) / (2 * size)


@pytest.mark.parametrize("kind", [pl.Force, pl.Displacement])
def test_derivatives_of_a_step(kind):
    """By positions, rates and commands; without stiffness damping, whose change with the shape is not in the model."""
    _, fast, cables, tip = made(pl.Rayleigh(mass=3.0, stiffness=0.0))
    commands = np.array([0.4, 0.15] if kind is pl.Force else [0.004, 0.0005])
    stepper, model, k = pl.ImplicitEuler(DT, tolerance=1e-11), fast.models[0], mode_count(fast)
    state, chart, point = fast.initial_state(), model.chart, tip.where

    def controls(u):
        return {cable: kind(float(x)) for cable, x in zip(cables, u, strict=True)}

    for part in np.linspace(0.1, 1.0, 10):
        state, _ = stepper(fast, state, controls(part * commands))
    here = chart.at(state.q[0])

    def after(change):
        q = chart.positions(replace(here, y=here.y + change[:k]))
        v = state.v[0] + (here.motions @ change[k : 2 * k]).reshape(-1, 3)
        end, _ = stepper(fast, evolve(state, q=(q,), v=(v,)), controls(commands + change[2 * k :]))
        return point.at(end)

    end, info = stepper(fast, state, controls(commands))
    values = dict(fast.controls(controls(commands))) | {tip: origin(tip)}
    found = step_model(fast, end, values, DT, cables, [tip.bound(fast)])
    assert (info.actuation(cables)[1] > 0.0).all()
    slopes = found.C @ np.hstack([found.F, found.G])[:k]
    sizes = np.concatenate(
        [np.full(k, 1e-4 * np.abs(here.y).max()), np.full(k, 1e-3), 1e-4 * commands.max() * np.ones(2)]
    )
    for part in (slice(0, k), slice(k, 2 * k), slice(2 * k, None)):
        columns = range(2 * k + 2)[part]
        known = np.stack([central(after, 2 * k + 2, j, sizes[j]) for j in columns], axis=1)
        assert np.abs(slopes[:, part] - known).max() < 1e-4 * np.abs(known).max()


def test_worlds_that_are_not_reduced_are_refused():
    world, fast, cables, tip = made()
    _, curved, *_ = made(curvature=True)
    for refused, text in ((world, "not reduced"), (curved, "curvature=False")):
        with pytest.raises(pl.InputError, match=text):
            pl.control.Predictive(refused, effectors=[tip], actuators=cables, dt=DT)
    assert pl.control.Predictive(fast, effectors=[tip], actuators=cables, dt=DT).horizon == 15
