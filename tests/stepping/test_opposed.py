"""Drives that contradict contacts: bounded forces, a warning, and nothing else changed."""

from __future__ import annotations

import numpy as np
import pytest

import pliant as pl
from pliant.solvers.contact import Law, MixedProblem, solve
from pliant.solvers.contact.direct import solve_and_judge
from pliant.stepping.opposed import miss, opposed_drives, with_bounded_drives


def blocked(rest: float) -> MixedProblem:
    """A cable that is to shorten by 10 mm, and a contact that it presses; `rest` of its compliance is left to it."""
    W = np.array([[1.0, -np.sqrt(1.0 - rest)], [-np.sqrt(1.0 - rest), 1.0]]) * 1e-3
    return MixedProblem.of(W, [-0.01, 0.0], [Law.BOUNDED, Law.SIGNORINI], lower=[0.0, -np.inf], upper=np.inf)


@pytest.mark.parametrize(("rest", "opposed"), [(1.0, False), (0.2, False), (0.01, True), (1e-4, True)])
def test_forces_that_cancel_are_told_by_the_motion_of_their_own(rest: float, opposed: bool) -> None:
    problem = blocked(rest)
    lam = solve(problem).lam
    assert lam[0] == pytest.approx(0.01 / (1e-3 * rest))
    assert len(opposed_drives(problem, lam)) == opposed


def test_bounded_drives_pull_ten_times_as_hard_as_the_command_needs_alone() -> None:
    problem = blocked(1e-4)
    result = solve(with_bounded_drives(problem, np.array([0])))
    assert result.lam[0] == pytest.approx(10.0 * 0.01 / 1e-3)
    assert len(opposed_drives(problem, result.lam)) == 0
    assert miss(problem, result.delta, np.array([0])) == pytest.approx(0.999, abs=2e-3)
    given = MixedProblem.of(problem.W, problem.delta_free, problem.law, lower=problem.lower, upper=[50.0, np.inf])
    assert len(opposed_drives(given, solve(given).lam)) == 0  # a largest force of its own


@pytest.mark.parametrize("rest", [1.0, 1e-3])
def test_bilateral_rows_are_part_of_the_bodies_of_a_drive(rest: float) -> None:
    """A rod that is attached to a finger moves it: the drive is judged by the compliance that the attachments leave."""
    rng = np.random.default_rng(2)
    H = rng.normal(size=(6, 9))
    H[0] = 1e2 * H[1] + 0.1 * rest * rng.normal(size=9)
    problem = MixedProblem.of(
        H @ H.T, [-1e-3, 0, 0, 0, 0, 0], [Law.BOUNDED] + [Law.BILATERAL] * 5, lower=[0.0] + [-np.inf] * 5
    )
    alone = 1e-3 / (1.0 / np.linalg.inv(problem.W)[0, 0])  # the force that the command needs
    for factor, opposed in ((9.9, False), (10.1, True)):
        assert len(opposed_drives(problem, np.array([factor * alone, 0, 0, 0, 0, 0]))) == opposed


@pytest.mark.parametrize("seed", range(40))
def test_a_drive_whose_force_only_closes_its_gap_is_not_opposed(seed: int) -> None:
    """Among bilateral rows and imposed forces; its least force, and imposed ones, may well be opposed."""
    rng = np.random.default_rng(seed)
    laws = [Law.BOUNDED] + [Law.BILATERAL] * 3 + [Law.IMPOSED] * (seed % 2)
    H = rng.normal(size=(len(laws), 8))
    H[0] = 30.0 * H[1] + 10.0 ** rng.uniform(-1, 1) * rng.normal(size=8)
    least = rng.choice([0.0, 1.0])
    lower = [least] + [-np.inf] * (len(laws) - 1)
    target = [0.0] * 4 + [1.0] * (seed % 2)
    problem = MixedProblem.of(H @ H.T, 1e-3 * rng.normal(size=len(laws)), laws, lower=lower, target=target)
    found = solve_and_judge(problem)
    assert found is not None
    result, closes = found
    assert closes == (seed % 2 == 0 and (least == 0.0 or result.lam[0] > least))
    if closes:
        assert len(opposed_drives(problem, result.lam)) == 0


def pressed_block(max_force: float | None) -> tuple[pl.World, pl.Cable]:
    """A stiff block on the floor, with a cable from its top through the floor."""
    scene = pl.Scene(gravity=(0.0, 0.0, -9.81))
    mesh = pl.mesh.box((0.02, 0.02, 0.02), (1, 1, 2))
    block = scene.add(pl.Volume(mesh, pl.materials.Corotated(young=2e9, poisson=0.3, density=1000.0), name="block"))
    limit = {} if max_force is None else {"max_force": max_force}
    cable = scene.add(pl.Cable(block, [(0.01, 0.01, 0.019)], pull_point=(0.01, 0.01, -0.05), name="cable", **limit))
    scene.collide(block, scene.add(pl.Obstacle.plane(point=(0.0, 0.0, 0.0))), friction=0.5)
    return scene.compile(), cable


def test_a_cable_that_contacts_block_is_bounded_and_named() -> None:
    world, cable = pressed_block(None)
    state, stepper = world.initial_state(), pl.ImplicitEuler(dt=0.01)
    for _ in range(3):
        state, _ = stepper(world, state)
    with pytest.warns(pl.errors.PliantWarning, match="'cable' cannot follow the command"):
        after, info = stepper(world, state, {cable: pl.Displacement(0.005)})
    assert not info.constraint_status.ok
    assert info.constraint_residual > 0.1
    assert np.abs(after.v[0]).max() < 0.1
    world, cable = pressed_block(20.0)
    after, info = stepper(world, world.initial_state(), {cable: pl.Displacement(0.005)})
    assert info.constraint_status.ok
