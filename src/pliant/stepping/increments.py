"""Load increments: how a quasi-static solve gets from a state to the equilibrium under its controls."""

from __future__ import annotations

from typing import Any

import numpy as np

from pliant.core.errors import ConvergenceError
from pliant.core.immutable import evolve
from pliant.core.types import FloatArray
from pliant.models.workspace import Workspace
from pliant.stepping.bodies import StepBodies
from pliant.stepping.diagnosis import shape_warnings
from pliant.stepping.equilibrium import FIRST_DAMPING, Equilibrium
from pliant.stepping.load_path import LoadPath
from pliant.stepping.obstruction import closed_pieces, collapse, slipping
from pliant.stepping.passing import crosses
from pliant.stepping.relaxation import Relaxation
from pliant.stepping.session import DirectSession
from pliant.stepping.stages import Step
from pliant.world import State

NEWTON = "newton"
INCREMENTS = "load increments"
RELAXATION = "dynamic relaxation"

AT_ONCE = 40
"""Newton iterations at the full load."""
WITH_FRICTION = 8
"""The same where friction acts, and increments follow anyway."""
FULL_STEPS, LAST_STEPS, DAMPED_STEPS = 14, 20, 50
"""Newton iterations of a load increment with full steps, of the last one, whose tolerance is smaller, and with
damping.
"""
FIRST_INCREMENT = 0.25
FRICTION_INCREMENT = 0.125
"""Longest increment where contacts slip: the slip follows the path in so many pieces at least."""
PART_OF_MARGIN, MOST_INCREMENTS = 0.3, 40
"""How far an obstacle moves in an increment, over the margin of its contacts, unless more than so many increments were
needed: an obstacle that slides along a body is followed in fewer.
"""
SHORTER, LONGER = 0.25, 2.0
EASY = 6
"""Linear solves of an increment after which the next one may be longer."""
SMALLEST_INCREMENT = 1.0 / 1024.0
MOST_FAILURES = 4
"""Failures of an increment in a row: two of Newton's iteration, then of relaxation, each time shorter."""
FINE, FINE_FREE = 0.25, 0.2
"""Fraction of the linear solves in which round obstacles have to find rest on edges and faces, and free bodies, which
may roll on facets without end.
"""
PROMISING = 50
"""Linear solves from which on their number for the whole path is estimated."""
WITH_FALLBACK = 0.4
"""Fraction of the linear solves for a path that friction alone asks for, where the full load has an equilibrium."""
MOST_LEAVES = 4
"""Motions along which an unstable equilibrium is left, one after the other."""
SHORTEST_CROSSING = 1.0 / 64.0
"""Increment from which on one in which bodies cross is not made shorter: `info.warnings` names them."""
INTERMEDIATE_TOLERANCE = 1e-5
"""Relative residual of an increment before the last one."""


def follow(equilibrium: Equilibrium, tolerance: float, workspace: Workspace, budget: int) -> tuple[str, int]:
    """Bring `equilibrium` to the full load in at most `budget` linear solves; the method that did it, and the number of
    load increments. Round bodies that find no rest on edges and faces are left to vertices.
    """
    begin = equilibrium.step
    coarsens: list[Any] = [each for each in begin.world.constraints if getattr(each, "may_coarsen", False)]
    free = any(each.b.index is not None for each in coarsens)
    equilibrium.budget = int((FINE_FREE if free else FINE) * budget) if coarsens else budget
    try:
        return _walk(equilibrium, tolerance, workspace, budget)
    except ConvergenceError:
        if not coarsens:
            raise
    equilibrium.budget = budget
    equilibrium.restart(begin, evolve(begin.bodies, coarse=True))
    return _walk(equilibrium, tolerance, workspace, budget)


def _walk(equilibrium: Equilibrium, tolerance: float, workspace: Workspace, budget: int) -> tuple[str, int]:
    walk = _Walk(equilibrium, tolerance, workspace, budget)
    return (NEWTON, 1) if walk.at_once() else walk.in_increments()


class _Walk:
    """The load path of one solve."""

    def __init__(self, equilibrium: Equilibrium, tolerance: float, workspace: Workspace, budget: int) -> None:
        step = equilibrium.step
        self._equilibrium, self._tolerance = equilibrium, tolerance
        self._begin, bodies = step, step.bodies
        scheme = bodies.scheme
        self._path = LoadPath(
            step.world, bodies.start, bodies.controls, scheme.interval, workspace,
            instantaneous=scheme.instantaneous, coarse=bodies.coarse,
        )  # fmt: skip
        self._pairs: list[Any] = [each for each in step.world.constraints if each.is_contact]
        self._frictional = any(pair.mu for pair in self._pairs)
        self._longest = FRICTION_INCREMENT if self._frictional else 1.0
        if bodies.scheme.interval:
            self._longest = min(self._longest, self._obstacle_increment())
        self._rebase = isinstance(step.session, DirectSession)
        self._fallback: Step | None = None
        self._with_fallback, self._whole = int(WITH_FALLBACK * budget), budget
        self._indefinite = False

    def _obstacle_increment(self) -> float:
        """Longest increment in which no obstacle moves so far into a body that the nearest way out is the wrong one."""
        bodies = self._begin.bodies
        end = bodies.view()
        begin = evolve(end, time=bodies.start.time)
        longest = 1.0
        for pair in self._pairs:
            travel = pair.approached(begin, end) if pair.a is not pair.b else 0.0
            if pair.b.index is None and travel > PART_OF_MARGIN * pair.margin:
                longest = min(longest, max(PART_OF_MARGIN * pair.margin / travel, 1.0 / MOST_INCREMENTS))
        return longest

    def at_once(self) -> bool:
        """Newton at the full load: with full steps, because bending makes a line search timid; under loads alone then
        with line search. Commands of actuators are better followed: a long step may end in another equilibrium.

        With friction the outcome counts only where it does not depend on the path, and nowhere where bodies would have
        passed through each other.
        """
        equilibrium = self._equilibrium
        if self._longest < 1.0 and not self._frictional:
            return False
        start = [np.zeros_like(x) for x in equilibrium.step.bodies.dx]
        frictional = self._frictional and self._rebase
        if equilibrium.newton(self._tolerance, WITH_FRICTION if frictional else AT_ONCE):
            if not self._rebase:
                return True
            if crosses(equilibrium.step):
                return False
            if not frictional or _path_independent(equilibrium.step):
                return True
            self._fallback = equilibrium.step
            equilibrium.budget = min(equilibrium.budget, self._with_fallback)
            return False
        if self._rebase and (self._pairs or self._path.commanded):
            return False
        equilibrium.move_to(start)
        return equilibrium.newton(self._tolerance, AT_ONCE, search=True)

    def in_increments(self) -> tuple[str, int]:
        """Increments to the full load, shorter ones where one fails; relaxation where short ones fail."""
        equilibrium, state = self._equilibrium, self._begin.bodies.start
        longest = self._longest
        reached, size, count, failures, method = 0.0, min(FIRST_INCREMENT, longest), 0, 0, INCREMENTS
        good = [np.zeros_like(x) for x in self._begin.bodies.dx]
        while reached < 1.0:
            if self._too_slow(reached):
                self._give_up(reached, reached, state)
                return NEWTON, 1
            end = 1.0 if reached + 1.2 * size >= 1.0 else reached + size
            before = equilibrium.step.iterations
            relaxed = failures > 1
            way: list[State] = []
            if relaxed and self._rebase:
                found, way = self._relaxed(state, reached, end)
            else:
                equilibrium.begin(self._bodies(state, reached, end, good))
                equilibrium.escapes = 0
                found = self._increment(end, damped=relaxed and failures % 2 == 0)
                if not found and equilibrium.escapes and self._rebase:
                    found, way = self._left(state, reached, end, good)
                    relaxed = bool(way)
            if found and not relaxed and self._rebase and size > SHORTEST_CROSSING and crosses(equilibrium.step):
                size, longest = SHORTER * size, max(0.5 * longest, SHORTEST_CROSSING)
                continue
            self._indefinite = not found and (self._indefinite or equilibrium.indefinite)
            if found:
                equilibrium.attempt = 0
                if relaxed:
                    method = RELAXATION
                count, reached, failures = count + 1, end, 0
                if equilibrium.step.iterations - before <= EASY or relaxed:
                    size = min(LONGER * size, longest)
                if self._rebase:
                    through = [state, *way[:-1]] if not way or way[0] is not state else way[:-1]
                    equilibrium.passed += [(each.time, each.q) for each in through]
                if self._rebase and reached < 1.0:
                    state = equilibrium.step.advanced()
                good = equilibrium.step.bodies.dx
                continue
            failures += 1
            if failures != 2:
                size = SHORTER * size
            if failures > MOST_FAILURES or size < SMALLEST_INCREMENT or equilibrium.spent:
                self._give_up(reached, end, state)
                return NEWTON, 1
        return method, count

    def _left(self, state: State, reached: float, end: float, good: list[FloatArray]) -> tuple[bool, list[State]]:
        """The same from an unstable equilibrium at `end` that Newton's iteration has just left: where the motion does
        not come to rest, it is left along other motions.
        """
        equilibrium = self._equilibrium
        for _ in range(MOST_LEAVES):
            found, way = self._relaxed(equilibrium.step.advanced(), end, end)
            if found or equilibrium.spent:
                break
            equilibrium.attempt += 1
            equilibrium.begin(self._bodies(state, reached, end, good))
            equilibrium.escapes = 0
            if self._increment(end, damped=False):
                return True, []
            if not equilibrium.escapes:
                break
        return found, way

    def _relaxed(self, state: State, reached: float, end: float) -> tuple[bool, list[State]]:
        """Whether dynamic relaxation comes to rest, and the states that it goes through."""
        relaxation = Relaxation(self._equilibrium, self._path, state, reached, end)
        return relaxation.to_rest(self._tolerance_at(end)), relaxation.states

    def _too_slow(self, reached: float) -> bool:
        """Whether a path over edges and faces of round obstacles, which can be left to vertices, takes twice the linear
        solves that it has, at the rate so far.
        """
        used, most = self._equilibrium.step.iterations, self._equilibrium.budget
        return most < self._whole and used > PROMISING and used > 2.0 * reached * most

    def _bodies(self, state: State, reached: float, end: float, good: list[FloatArray]) -> StepBodies:
        """The bodies at the start of an increment. An inverse keeps its state from linear solve to linear solve; its
        increments scale loads alone.
        """
        if self._rebase:
            return self._path.increment(state, reached, end)
        force = tuple((1.0 - end) * r for r in self._path.loaded_residuals())
        bodies = self._equilibrium.step.bodies.at(good).loaded(end)
        return bodies.without(force if end < 1.0 else None)

    def _tolerance_at(self, end: float) -> float:
        return self._tolerance if end >= 1.0 else max(self._tolerance, INTERMEDIATE_TOLERANCE)

    def _increment(self, end: float, *, damped: bool) -> bool:
        tolerance = self._tolerance_at(end)
        if damped:
            return self._equilibrium.newton(tolerance, DAMPED_STEPS, damping=FIRST_DAMPING)
        return self._equilibrium.newton(tolerance, FULL_STEPS if end < 1.0 else LAST_STEPS, passing=end < 1.0)

    def _give_up(self, reached: float, end: float, state: State) -> None:
        """Take the equilibrium of the full load at once where friction alone asked for increments; otherwise raise."""
        equilibrium = self._equilibrium
        if self._fallback is not None:
            equilibrium.step = evolve(self._fallback, iterations=equilibrium.step.iterations)
            return
        known = equilibrium.unsupported() or closed_pieces(equilibrium, state) or collapse(equilibrium, state)
        slips = None if known else slipping(equilibrium)
        why, limit = known or slips or equilibrium.trouble, ""
        if self._indefinite and not known:
            limit = "; the stiffness is not positive definite there, as at a limit point (buckling, ballooning)"
        if equilibrium.spent:
            limit += f"; all {equilibrium.budget} linear solves were taken (`maximum_solves`)"
        remedy = "; take smaller loads, refine the mesh, or use a dynamic stepper"
        if known:
            remedy = ""
        elif slips:
            remedy = "; more friction, a support or a stop would, or a dynamic stepper follows the slide"
        loads = self._path.described(reached)
        raise ConvergenceError(
            f"no equilibrium found beyond {reached:.1%} of the load path{f' ({loads})' if loads else ''}, tried up to "
            f"{end:.1%}: {why}{limit}{remedy} "
            "(`result` is the last equilibrium)"
            + "".join(f". Before that, {text}" for text in shape_warnings(equilibrium.step)),
            result=state,
        )


def _path_independent(step: Step) -> bool:
    """Whether every contact that pushes did so before, and sticks: the slip then knows no path."""
    assembly, start = step.assembly, step.bodies.start
    if assembly is None or not len(step.lam):
        return True
    largest = float(np.abs(step.lam).max())
    pushed = set() if start.keys is None else set(start.keys[start.lam != 0.0].tolist())
    for constraint, place in zip(step.world.constraints, assembly.slices, strict=False):
        pair: Any = constraint
        if not pair.is_contact or not pair.mu or place.stop == place.start:
            continue
        forces = step.lam[place].reshape(-1, 3)
        normal, tangential = forces[:, 0], np.linalg.norm(forces[:, 1:], axis=1)
        pushing = normal > 1e-9 * largest
        if (tangential > (1.0 - 1e-6) * pair.mu * normal)[pushing].any():
            return False
        if any(key not in pushed for key in assembly.rows.key[place].reshape(-1, 3)[pushing, 0].tolist()):
            return False
    return True
