"""The stages of a step, one by one: what each makes of what it is given, and what it says where it cannot."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

import pliant as pl
from pliant.core.errors import ConvergenceError, InputError, SingularError
from pliant.core.status import Status
from pliant.materials import Tangent
from pliant.models.scheme import STATIC_SCHEME, euler_scheme, midpoint_scheme
from pliant.models.workspace import Workspace
from pliant.solvers.contact import ConflictingRowsError
from pliant.stepping import stages
from pliant.stepping.session import DirectSession
from pliant.stepping.stages import KeptContacts
from scenes import DOWN, RUBBER, bar

DT = 0.01


def begun(world, *, scheme=None, state=None, controls=None):
    scheme, state = scheme or euler_scheme(DT), state or world.initial_state()
    return stages.begin(world, state, controls, scheme=scheme, solver=None, workspace=Workspace())


def pulled_block():
    """A soft block on the floor with friction, pulled down by a cable: world and cable."""
    scene = pl.Scene(gravity=DOWN)
    block = scene.add(pl.Volume(pl.mesh.box((0.03, 0.03, 0.02), (2, 2, 1)), RUBBER, name="block"))
    cable = scene.add(pl.Cable(block, [(0.01, 0.012, 0.018)], pull_point=(0.01, 0.012, -0.05), name="cable"))
    scene.collide(block, scene.add(pl.Obstacle.plane(name="floor")), friction=0.4)
    return scene.compile(), cable


def test_every_stage_is_timed_and_counted():
    """Each adds its own time and nothing else; a linear solve is one iteration, with its forces and its motion."""
    world, cable = pulled_block()
    step = begun(world, controls={cable: pl.Force(1.0)})
    seconds = step.timers.seconds
    assert not seconds
    contacts = stages.detect(step)
    assert list(seconds) == ["detect"]
    assembly = stages.assemble(step, contacts)
    assert list(seconds) == ["detect", "rows"]
    linearization = stages.linearize(step, Tangent.WARPED)
    assert list(seconds)[2:] == ["linearize"]
    factorization = stages.factorize(step, linearization)
    assert list(seconds)[3:] == ["factorize"]
    free = stages.solve(step, factorization)
    assert list(seconds)[4:] == ["solve"]
    condensation = stages.condense(step, assembly, factorization, free)
    assert list(seconds)[5:] == ["condense"]
    done = stages.correct(step, assembly, factorization, free, condensation).step
    assert list(seconds)[6:] == ["constraints", "correct"]
    assert all(0.0 < each < 60.0 for each in seconds.values())
    assert (step.iterations, done.iterations, done.projected) == (0, 1, 0)
    assert done.lam[0] == 1.0  # the force of the cable
    mass = RUBBER.density * 0.03 * 0.03 * 0.02
    momentum = (world.models[0].mass.nodal @ done.dx[0][:, 2]) / DT
    assert done.lam[1:].reshape(-1, 3)[:, 0].sum() == pytest.approx(mass * 9.81 + 1.0 + momentum / DT, rel=1e-4)
    assert done.linear_residual < 1e-12
    assert done.constraint_status is Status.CONVERGED
    assert done.bodies.reactions.lam is done.lam
    again = stages.correct(replace_counts(step, 3, 2), assembly, factorization, free, condensation)
    assert (again.step.iterations, again.step.projected) == (4, 2)
    projected = factorization._replace(projected=True)
    assert stages.correct(replace_counts(step, 3, 2), assembly, projected, free, condensation).step.projected == 3


def replace_counts(step, iterations, projected):
    return replace(step, iterations=iterations, projected=projected)


def test_a_world_without_constraints_needs_no_rows():
    scene, _ = bar(gravity=DOWN)
    step = begun(scene.compile())
    assert stages.detect(step) is None
    assert stages.assemble(step, None) is None
    factorization = stages.factorize(step, stages.linearize(step, Tangent.WARPED))
    free = stages.solve(step, factorization)
    assert stages.condense(step, None, factorization, free) is None
    correction = stages.correct(step, None, factorization, free, None)
    assert len(correction.step.lam) == 0
    assert correction.step.bodies.reactions is None
    assert correction.step.constraint_residual == 0.0
    np.testing.assert_array_equal(correction.dx[0], free[0].dx)
    assert list(step.timers.seconds) == ["linearize", "factorize", "solve", "correct"]


def test_the_bodies_of_a_correction_are_those_before_it():
    """Where a step was free of rows before, its reactions are those of the rows now, and dx waits to be applied."""
    world, cable = pulled_block()
    step = begun(world, controls={cable: pl.Force(1.0)})
    assembly = stages.assemble(step, stages.detect(step))
    factorization = stages.factorize(step, stages.linearize(step, Tangent.WARPED))
    free = stages.solve(step, factorization)
    condensation = stages.condense(step, assembly, factorization, free)
    done = stages.correct(step, assembly, factorization, free, condensation).step
    assert not done.bodies.dx[0].any()
    assert np.abs(done.dx[0]).max() > 0.0
    np.testing.assert_array_equal(done.bodies.last_forces[0], assembly.rows.key)


@pytest.mark.parametrize("motion", [2e-4, np.nan])
def test_supports_that_an_inverse_moves_add_their_motion(motion):
    """Where that is not finite neither is the residual of the linear solve."""
    world, cable = pulled_block()
    moved = np.full((len(world.initial_state().q[0]), 3), motion)

    class Moving(DirectSession):
        def solve(self, condensed):
            return super().solve(condensed)._replace(moved=[(0, moved)], report="moved")

    step = begun(world, controls={cable: pl.Force(1.0)})
    found = []
    for session in (DirectSession(), Moving()):
        step = replace(step, session=session)
        assembly = stages.assemble(step, stages.detect(step))
        factorization = stages.factorize(step, stages.linearize(step, Tangent.WARPED))
        free = stages.solve(step, factorization)
        condensation = stages.condense(step, assembly, factorization, free)
        found.append(stages.correct(step, assembly, factorization, free, condensation).step)
    np.testing.assert_array_equal(found[1].dx[0], found[0].dx[0] + moved)
    assert np.isfinite(found[1].linear_residual) == np.isfinite(motion)
    assert [one.report for one in found] == [None, "moved"]


@pytest.mark.parametrize("scheme", [euler_scheme(DT), midpoint_scheme(DT), STATIC_SCHEME])
def test_round_off_is_what_the_last_bits_of_the_positions_change(scheme):
    """ε ‖A_ii x_i‖/θ over the free DoFs, with A_ii from differences of the residual and x_i the largest coordinate."""
    scene, _ = bar(size=(0.04, 0.02, 0.03), cells=(2, 1, 2))
    world = scene.compile()
    step = begun(world, scheme=scheme)
    trial, free = step.bodies.trials[0], ~world.models[0].constrained
    squares, eps = 0.0, 1e-7
    for node, axis in zip(*np.nonzero(np.broadcast_to(free, trial.dx.shape)), strict=True):
        kick = np.zeros(trial.dx.shape)
        kick[node, axis] = eps
        change = [trial.at(sign * kick).residual().r[node, axis] for sign in (1.0, -1.0)]
        squares += ((change[1] - change[0]) / (2.0 * eps) * (0.04, 0.02, 0.03)[axis]) ** 2
    expected = np.finfo(float).eps * np.sqrt(squares) / scheme.theta
    assert stages.linearize(step, Tangent.EXACT).round_off == pytest.approx(expected, rel=1e-6)
    assert stages.linearize(step, Tangent.PROJECTED).round_off == pytest.approx(expected, rel=1e-6)
    assert stages.linearize(step, Tangent.WARPED).round_off == 0.0


def test_steps_without_time_refuse_limits_of_rates():
    scene, body = bar()
    fast = scene.add(pl.Cable(body, [(0.0, 0.01, 0.015), (0.1, 0.01, 0.015)], max_rate=0.1))
    world = scene.compile()
    begun(world, controls={fast: pl.Displacement(1e-3)})
    with pytest.raises(InputError, match="limits a rate, but no time passes"):
        begun(world, scheme=STATIC_SCHEME, controls={fast: pl.Displacement(1e-3)})
    with pytest.raises(InputError, match="limits a rate, but no time passes"):
        stages.begin(
            world, world.initial_state(), None, scheme=STATIC_SCHEME, workspace=Workspace(),
            solver=SimpleNamespace(actuators=[fast], begin=lambda *given: ({}, None)),
        )  # fmt: skip


def test_kept_contacts_change_their_gaps_with_the_motion_alone():
    """δ = δ₀ + H (dx − dx₀), exactly the gap over a plane; other constraints are evaluated where the bodies are."""
    world, cable = pulled_block()
    step = begun(world, controls={cable: pl.Displacement(1e-3)})
    first = stages.assemble(step, stages.detect(step))
    there = [np.full_like(step.bodies.dx[0], 1e-4)]
    there[0][:, 2] = np.linspace(0.0, 5e-4, len(there[0]))
    moved = replace(step, bodies=step.bodies.at(there))
    fresh = stages.assemble(moved, stages.detect(moved))
    found = stages.detect(replace(moved, kept=KeptContacts(first, step.bodies.dx)))
    assert found.found == (None, None)
    kept = stages.assemble(replace(moved, kept=KeptContacts(first, step.bodies.dx)), found)
    np.testing.assert_array_equal(kept.rows.key, fresh.rows.key)
    np.testing.assert_allclose(kept.rows.gap, fresh.rows.gap, atol=1e-15)
    np.testing.assert_array_equal(kept.rows.law, first.rows.law)
    assert kept.memories[1] is first.memories[1]
    place = first.slices[1]
    assert np.abs(kept.rows.gap[place] - first.rows.gap[place]).max() > 1e-4
    again = KeptContacts(first, there).rows(1, there)
    np.testing.assert_array_equal(again.gap, first.rows.gap[place])


class Stubborn:
    """A system that is factorized at the `attempt`-th time."""

    operations = 1.0

    def __init__(self, attempt):
        self.left = attempt

    def factorize(self):
        self.left -= 1
        if self.left > 0:
            raise SingularError("A is not positive definite")
        return "factor"


@pytest.mark.parametrize(
    ("tangent", "stiff", "attempt", "asked"),
    [
        (Tangent.EXACT, True, 1, []),
        (Tangent.EXACT, True, 2, [True]),  # a projected tangent first
        (Tangent.EXACT, True, 3, [True, False]),  # then without the stiffness of constraints
        (Tangent.EXACT, True, 4, None),
        (Tangent.EXACT, False, 2, [True]),
        (Tangent.EXACT, False, 3, None),
        (Tangent.PROJECTED, True, 2, [False]),
        (Tangent.PROJECTED, True, 3, None),
        (Tangent.PROJECTED, False, 2, None),
    ],
)
def test_a_tangent_that_is_not_definite_is_projected_then_freed_of_stiffness(
    monkeypatch, tangent, stiff, attempt, asked
):
    seen, observed = [], []
    session = SimpleNamespace(observe=lambda systems: observed.append(systems) or len(observed))
    world = SimpleNamespace(stiff_constraints=("cable",) if stiff else ())
    step = SimpleNamespace(session=session, timers=stages.StageTimers(), world=world)
    system = Stubborn(attempt)
    made = stages.Linearization((system,), None, tangent, 0.0, "regularization")

    def linearize(step, tangent, regularization, *, stiffened):
        assert (tangent, regularization) == (Tangent.PROJECTED, "regularization")
        seen.append(stiffened)
        return made._replace(tangent=tangent)

    monkeypatch.setattr(stages, "linearize", linearize)
    if asked is None:
        with pytest.raises(SingularError):
            stages.factorize(step, made)
        return
    factorization = stages.factorize(step, made)
    assert seen == asked
    assert factorization.projected is bool(asked)
    assert factorization.factors == ("factor",)
    assert factorization.observed == len(observed) == attempt
    assert step.timers.seconds["factorize"] > 0.0


def test_motion_that_is_not_finite_is_an_error_that_says_where():
    scene, _ = bar(gravity=DOWN)
    world = scene.compile()
    step = begun(world)
    factorization = stages.factorize(step, stages.linearize(step, Tangent.WARPED))
    factorization.linearization.systems[0].r[-1, 0] = np.nan
    with pytest.raises(ConvergenceError, match="the motion without constraint forces is not finite"):
        stages.condense(step, None, factorization, stages.solve(step, factorization))
    world, _ = pulled_block()
    step = begun(world)
    assembly = stages.assemble(step, stages.detect(step))
    factorization = stages.factorize(step, stages.linearize(step, Tangent.WARPED))
    factorization.linearization.systems[0].r[-1, 0] = np.nan
    with pytest.raises(ConvergenceError, match="the motion without constraint forces is not finite"):
        stages.condense(step, assembly, factorization, stages.solve(step, factorization))
    assembly.rows.gap[1] = np.inf
    factorization = stages.factorize(step, stages.linearize(step, Tangent.WARPED))
    with pytest.raises(ConvergenceError, match="δ of the constraints is not finite"):
        stages.condense(step, assembly, factorization, stages.solve(step, factorization))


def test_constraints_that_contradict_each_other_are_named():
    """Two sums of the same displacements with other values; a third one that agrees is not named."""
    scene, body = bar()
    end = pl.regions.plane(axis="x", at=0.1)
    for name, axis, value in (("one", (1, 0, 0), 1e-3), ("side", (0, 1, 0), 1e-3), ("two", (1, 0, 0), 2e-3)):
        scene.add(pl.LinearConstraint(pl.Term(body, axis, region=end, pick="mean"), value=value, name=name))
    world = scene.compile()
    with pytest.raises(ConflictingRowsError, match=r"^'one', 'two' cannot be satisfied together: ") as error:
        pl.ImplicitEuler(DT)(world, world.initial_state())
    assert error.value.rows == (0, 2)
    assert "reduced" not in str(error.value)
    step = SimpleNamespace(constraints=world.constraints, world=SimpleNamespace(reductions=("finger",)))
    assembly = SimpleNamespace(slices=(slice(0, 1), slice(1, 2), slice(2, 3)))
    reduced = stages._named_conflict(step, assembly, ConflictingRowsError("why", rows=(1,)))
    assert str(reduced).startswith("'side' cannot be satisfied together: why; bodies of this world are reduced")
    assert reduced.rows == (1,)
