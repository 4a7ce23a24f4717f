"""A step whose constraint forces do not reach their tolerance goes on from the best ones, and says so."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import pliant as pl
from pliant.solvers.contact import solve
from pliant.stepping import session


def block_on_floor() -> pl.World:
    scene = pl.Scene(gravity=(0.0, 0.0, -9.81))
    block = scene.add(pl.RigidBody.box(size=(0.1, 0.1, 0.1), mass=1.0, position=(0.0, 0.0, 0.05)))
    scene.collide(block, scene.add(pl.Obstacle.plane(point=(0.0, 0.0, 0.0), normal=(0.0, 0.0, 1.0))), friction=0.5)
    return scene.compile()


def spoiled(residual: float):  # type: ignore[no-untyped-def]
    def fail(problem, warm=None, **options):  # type: ignore[no-untyped-def]
        result = dataclasses.replace(solve(problem, warm), residual=residual, status=pl.Status.ITERATION_LIMIT)
        raise pl.errors.ConvergenceError("stopped", result=result)

    return fail


def test_a_step_reports_how_well_its_laws_are_met() -> None:
    world = block_on_floor()
    _, info = pl.ImplicitEuler(dt=0.01)(world, world.initial_state())
    assert info.constraint_status is pl.Status.CONVERGED
    assert info.constraint_residual <= 1e-8


def test_the_best_forces_are_used_with_a_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    world, stepper = block_on_floor(), pl.ImplicitEuler(dt=0.01)
    known, _ = stepper(world, world.initial_state())
    monkeypatch.setattr(session, "solve", spoiled(1e-5))
    with pytest.warns(pl.errors.PliantWarning, match="constraint_residual"):
        state, info = stepper(world, world.initial_state())
    assert info.constraint_status is pl.Status.ITERATION_LIMIT
    assert info.constraint_residual == 1e-5
    np.testing.assert_allclose(state.q[0], known.q[0], atol=1e-9)


def test_useless_forces_still_raise(monkeypatch: pytest.MonkeyPatch) -> None:
    world = block_on_floor()
    monkeypatch.setattr(session, "solve", spoiled(0.5))
    with pytest.raises(pl.errors.ConvergenceError):
        pl.ImplicitEuler(dt=0.01)(world, world.initial_state())
