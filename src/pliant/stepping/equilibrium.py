"""Newton's iteration for a quasi-static equilibrium at one load.

Each linear solve linearises bodies and gaps, and finds the constraint forces of that linear problem exactly: Newton's
method for the generalised equation of contact and friction. With damping, which shrinks as the residual does, the
iteration follows the overdamped motion to the next stable equilibrium (pseudo-transient continuation, Kelley and Keyes,
SIAM J. Numer. Anal. 35, 1998).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from pliant.core.errors import ConvergenceError, InfeasibleError, SingularError
from pliant.core.immutable import evolve
from pliant.core.types import FloatArray
from pliant.materials import Tangent
from pliant.stepping.bodies import Forces, Reactions, StepBodies, largest, relative_motions
from pliant.stepping.constrained_solves import RIGID, ConstrainedSolves
from pliant.stepping.contact_stiffening import STIFFENED
from pliant.stepping.info import RigidMotion
from pliant.stepping.newton import SETTLED, Convergence, apply_with_line_search, flips, relative_residual, slope
from pliant.stepping.progress import PATIENCE, is_astray, is_hopeless, is_steady, next_fraction
from pliant.stepping.regularized_solves import LEAST_WELDED
from pliant.stepping.stages import Correction, Step

FIRST_DAMPING, LEAST_DAMPING, MOST_DAMPING = 1e-2, 1e-7, 10.0
"""Damping cM as a fraction of the stiffness: at first, where it is dropped, and at most."""
LAWFUL = 1e-7
"""Residual of the laws of constraint forces with which an equilibrium is accepted, relative to the free gaps."""
MOST_ESCAPES, PERTURBATION = 4, 1e-3
"""How often an unstable equilibrium is left where contacts or an inverse act; and by which motion at first, over the
size of a body, or over the motion so far.
"""
LONGEST_STEP = 64.0
"""Most times that a step along an unresisted motion is taken at once."""
ROUNDINGS = 8.0
"""Round-off of the forces over that of one change of the positions by their last bit: a body that moves without any
force has nothing else.
"""

RELEASED = 8
"""Linear solves in which a body whose neutral motions were constrained comes to rest without that; a longer motion is
one along facets, which do not match.
"""

SMALL = 0.03
"""Correction that leaves contacts where they are, as a fraction of their margin times √tolerance: it turns facets by
about that fraction, in radians, and forces by the same fraction of them.
"""


NEARLY = 100.0
"""Residual over the tolerance below which twice as many linear solves are given: another load increment costs more."""

IN_PASSING = 10.0
"""How much longer that correction may be in an equilibrium that the load path only passes."""


class Equilibrium(ConstrainedSolves):
    """One quasi-static solve in progress: Newton's iteration at one load.

    `trouble` says why the last iteration ended without an equilibrium, `escapes` how many unstable ones were left, and
    `collapsed` which bodies had elements inverted, as laws without a barrier allow. `budget` is the most linear
    solves of the whole quasi-static solve, `passed` times (s) and positions of the states on the load path before the
    last increment.
    """

    def __init__(self, step: Step, *, once: bool = False) -> None:
        super().__init__(step, once=once)
        self.trouble = ""
        self.escapes = 0
        self.collapsed: set[str] = set()
        self.budget = np.inf
        self.passed: list[tuple[float, Sequence[FloatArray]]] = []

    def restart(self, step: Step, bodies: StepBodies) -> None:
        """Begin again with `bodies` from `step`, where only the linear solves taken are remembered."""
        self.step = evolve(step, iterations=self.step.iterations)
        self.trouble, self.escapes, self.collapsed, self.passed, self.attempt = "", 0, set(), [], 0
        self._carried = None
        self.begin(bodies)

    def fixed(self, iterations: int) -> None:
        """`iterations` full linear solves, with the cheapest tangent that is consistent to first order: it is positive
        definite also where the exact one is about to buckle, where a single solve would jump.
        """
        for _ in range(iterations):
            correction = self._plain_solve(Tangent.WARPED)
            self.ease = max(0.1 * self.ease, LEAST_WELDED)
            self.step = evolve(correction.step, bodies=correction.step.bodies.moved(correction.dx))

    def newton(
        self, tolerance: float, most: int, *, search: bool = False, damping: float = 0.0, passing: bool = False
    ) -> bool:
        """At most `most` Newton iterations at the present load, with full steps, or with line `search`, or from the
        `damping` c on; whether the relative residual went below `tolerance`. In an equilibrium that the load path is
        only `passing` neutral motions stay constrained.
        """
        self.neutral, self._releases, self._constrained_at = None, False, None
        self._carried = None
        found = self._iterate(tolerance, most, search=search, damping=damping, passing=passing)
        if passing and self._constrained_at is not None:
            self._carried = self._constrained_at[1][0]
        elif passing and found:
            self._carried = self._hold
        if found or self._constrained_at is None:
            return found
        step, self.neutral = self._constrained_at
        self.step = evolve(step, iterations=self.step.iterations)
        return True

    def _iterate(self, tolerance: float, most: int, *, search: bool, damping: float, passing: bool) -> bool:
        """The iteration itself; `_constrained_at` is an equilibrium with constrained motions from which it goes on."""
        passive = not self.step.constraints  # what constraints do here is known only after a solve
        bodies = self.step.bodies
        if passive and self._residual(bodies.forces()) <= tolerance and not bodies.must_move():
            return True
        self.shift, self.ease, self.damping = 0.0, 1.0, damping
        self._shifts = [0.0] * len(self._attached)
        self.indefinite = False
        convergence, history, self._nearness = Convergence(tolerance, at_rest=True), [np.inf], np.inf
        before: Sequence[FloatArray] = ()
        left: list[float] = []
        self._fraction = 1.0
        for count in range(3 * most):  # more than `most` only where forces balance and rows still turn
            if self.spent:
                return self._fails("no linear solves are left")
            self._stiffens = count < STIFFENED
            try:
                correction = self._linear_solve(Tangent.EXACT)
                if self._slides(correction):
                    correction = self._linear_solve(Tangent.EXACT)
            except (ConvergenceError, InfeasibleError, SingularError) as error:
                return self._fails(str(error))
            self._fraction = next_fraction(self._fraction, correction.dx, before) if self._apart else 1.0
            if passing and history[-1] <= tolerance:  # an extrapolation would change contacts of balanced bodies
                self._fraction = min(self._fraction, 1.0)
            before = correction.dx if self._fraction <= 1.0 else ()
            forces, full = self._apply(correction, search or damping > 0.0)
            if not forces.finite:
                return self._fails(f"an element of {self._undefined()} would invert")
            residual = self._residual(forces)
            self._adapt(residual, history[-1])
            self._nearness = residual
            history.append(residual)
            lawful = self.step.constraint_status.ok or self.step.constraint_residual <= LAWFUL
            settled = (
                full
                and lawful
                and self._contacts_settled(correction, tolerance, passing=passing)
                and not self.step.bodies.must_move()
            )
            noise = correction._replace(round_off=ROUNDINGS * correction.round_off)
            if convergence.reached(residual, forces.scale, noise, self.step) and settled:
                if names := self._inverted():
                    self.collapsed |= set(names)
                    return self._fails("the equilibrium found has inverted elements")
                if self._released(tolerance, passing=passing):
                    if self._constrained_at is None:
                        continue
                    if passing:
                        return False
                    most = min(most, count + 1 + RELEASED)
                    continue
                if not self._leaves_unstable(correction):
                    return True
                if self._judges:
                    return self._fails("the equilibrium found is unstable")
            left.append(residual * forces.scale)
            if residual > tolerance and (
                (not (search or damping or self._apart) and self._follows and is_astray(left))
                or (count + 1 >= (2 * most if residual <= NEARLY * tolerance else most) and not is_steady(history))
                or (not damping and is_hopeless(history, PATIENCE if search else 0))
            ):
                break
        text = f"the residual stays at {min(history):.1e} of the forces, the tolerance is {tolerance:.1e}"
        return self._fails(self._unresisted(before) or text)

    @property
    def spent(self) -> bool:
        """Whether the linear solves of the budget are used up."""
        return self.step.iterations >= self.budget

    @property
    def stable(self) -> bool:
        """Whether the last matrix was positive definite in the motions that its active constraints leave."""
        return self._stable

    def accept(self, bodies: StepBodies) -> bool:
        """Go on from `bodies` after a linear solve, unless elements invert there; whether they do not."""
        before = self.step.bodies
        self.step = evolve(self.step, bodies=bodies)
        if not bodies.forces().finite:
            return self._fails(f"an element of {self._undefined()} would invert")
        new = [
            trial.model.name
            for trial, start in zip(bodies.trials, before.start.q, strict=True)
            if trial.model.is_inverted(trial.evaluation_point()) and not trial.model.is_inverted(start)
        ]
        self.collapsed |= set(new)
        self.trouble = f"elements of {', '.join(map(repr, new))} invert" if new else ""
        return not new

    def move_to(self, dx: Sequence[FloatArray]) -> None:
        """The bodies at the displacements dx, without what was found on the way."""
        bodies = self.step.bodies.at(dx)
        if bodies.reactions is not None:
            bodies = evolve(bodies, reactions=Reactions(bodies.reactions.assembly, bodies.reactions.lam))
        self.step = evolve(self.step, bodies=bodies)

    def rigid_motion(self) -> tuple[RigidMotion, ...]:
        """The rigid motion of each body that is left open."""
        modes = self.step.free_modes
        if self.neutral is not None:
            motions, along = self.neutral
            pairs = zip(self.step.world.models, motions.twists, strict=True)
            return tuple(RigidMotion(m.name, motions.count, -twist @ along) for m, twist in pairs if twist is not None)
        if all(each is None for each in modes):
            return ()
        forces = self.step.bodies.forces()
        triples = zip(self.step.world.models, modes, forces.r, strict=True)
        return tuple(
            RigidMotion(model.name, each.count, each.acceleration(r)) for model, each, r in triples if each is not None
        )

    def unsupported(self) -> str | None:
        """A body that only constraints could hold, and that none of them touches: its name in a sentence."""
        bodies = self.step.bodies
        forces, reactions = bodies.forces(), bodies.reactions
        pushes = None if reactions is None else reactions.generalized
        for index, (model, loose) in enumerate(zip(self.step.world.models, self._loose, strict=True)):
            net = float(np.abs(np.where(model.constrained, 0.0, forces.r[index])).max())
            if loose and net > 1e-6 * forces.scale and (pushes is None or not pushes[index].any()):
                return f"{model.name!r} is supported by nothing: no contact balances the load on it"
        return None

    def _apply(self, correction: Correction, search: bool) -> tuple[Forces, bool]:
        """Move the bodies, and the forces there; whether the step was taken in full."""
        with self.step.timers.stage("line search"):
            scale = 1.0
            if self._apart:
                approach = self._approach(correction)
                longest = self._farthest() / approach if approach > 0.0 else np.inf
                scale = min(longest, 1.0 if self.step.bodies.must_move() else self._fraction)
            if search and scale == 1.0:
                self.step, forces = apply_with_line_search(correction)
                return forces, True
            bodies = correction.step.bodies
            for _ in range(3 if self._apart else 1):
                moved = bodies.moved(correction.dx, scale)
                forces = moved.forces()
                if forces.finite and flips(bodies, moved):
                    forces = forces._replace(scale=np.inf)  # as where a law is undefined
                if forces.finite:
                    break
                scale *= 0.5
            self.step = evolve(correction.step, bodies=moved)
            if not self._stable and forces.finite:
                self.step, forces, scale = self._extended(correction, forces, scale)
        return forces, scale == 1.0

    def _extended(self, correction: Correction, forces: Forces, scale: float) -> tuple[Step, Forces, float]:
        """The step along motions that the stiffness does not resist, taken several times where the forces still push
        along it: with the mass alone it would be arbitrarily short.
        """
        step, dx = self.step, correction.dx
        base = correction.step.bodies
        if base.must_move():
            return step, forces, scale
        first = slope(base, base.with_reactions(correction.forces), dx)
        approach = self._approach(correction) if self._apart else 0.0
        while scale < LONGEST_STEP and 2.0 * scale * approach <= self._farthest():
            moved = base.moved(dx, 2.0 * scale)
            there = moved.forces()
            if not there.finite or slope(moved, there, dx) <= 0.1 * abs(first):
                break
            step, forces, scale = evolve(correction.step, bodies=moved), there, 2.0 * scale
        return step, forces, scale

    def _leaves_unstable(self, correction: Correction) -> bool:
        """Whether the equilibrium is unstable; the bodies are then moved away from it, to where the forces stop pushing
        along the unstable motion.
        """
        self._factorize_here(correction)
        if not (self.shift or self._stiffened) or (self.escapes >= MOST_ESCAPES and not self._judges):
            return False
        motion = self._unstable_motion()
        if motion is None or self._is_neutral(motion):
            return False
        base = self.step.bodies
        unit = largest(motion)
        if self._judges:
            tried = largest(relative_motions(base, base.moved(motion, 1e-6 / unit)))
            size = 1e-6 / tried if tried else 1e-3
        else:
            size = largest(base.dx) or 1e-3
        motion = [PERTURBATION * size / unit * x for x in motion]
        pushes = slope(base, base.forces(), tuple(motion)) >= 0.0
        sign = 1.0 if pushes == (self.attempt % 2 == 0) else -1.0
        scale, moved = sign, base.moved(motion, sign)
        while abs(scale) < 1e4:
            further = base.moved(motion, 2.0 * scale)
            forces = further.forces()
            if not forces.finite or sign * slope(further, forces, tuple(motion)) <= 0.0:
                break
            scale, moved = 2.0 * scale, further
        self.step = evolve(self.step, bodies=moved)
        self.escapes += 1
        return True

    def _factorize_here(self, correction: Correction) -> None:
        """Linearize at the equilibrium where the last matrix says nothing about the stability there: it was projected,
        or the correction was long. A straight column under its load balances after one solve.
        """
        motion = max(float(np.abs(trial.dx).max()) for trial in self.step.bodies.trials)
        last = max(float(np.abs(x).max()) for x in correction.dx)
        if not self._judges or (last <= SETTLED * motion and self._last[0] is not None):
            return
        step, self._nearness, self._judging = self.step, 0.0, True
        try:
            self._linear_solve(Tangent.EXACT)
        except (ConvergenceError, InfeasibleError, SingularError):
            self._last = (None, None, None)
        self._judging = False
        self.step = evolve(step, iterations=self.step.iterations)

    def _adapt(self, residual: float, before: float) -> None:
        """Less regularization where the residual decreases, more where it grows."""
        better = residual < before
        self.ease = max(0.1 * self.ease, LEAST_WELDED) if better else min(5.0 * self.ease, 1.0)
        if self.damping:
            ratio = min(max(residual / before, 0.2), 3.0) if np.isfinite(before) else 1.0
            self.damping = min(self.damping * ratio, MOST_DAMPING)
            self.damping = 0.0 if self.damping < LEAST_DAMPING else self.damping

    def _contacts_settled(self, correction: Correction, tolerance: float, *, passing: bool) -> bool:
        """Whether the last correction was too small to turn the normals of contacts that push."""
        longer = IN_PASSING if passing else 1.0
        assembly, lam = correction.step.assembly, correction.step.lam
        if assembly is None or not len(lam) or not self._apart:
            return True
        touched: dict[int, float] = {}
        for constraint, place in zip(self.step.world.constraints, assembly.slices, strict=False):
            pair: Any = constraint
            if pair.is_contact and lam[place].any():
                sides = [index for index in (pair.a.index, pair.b.index) if index is not None]
                touched |= {index: min(pair.margin, touched.get(index, np.inf)) for index in sides}
        for index, margin in touched.items():
            trial = self.step.bodies.trials[index]
            last, motion = float(np.abs(correction.dx[index]).max()), float(np.abs(trial.dx).max())
            if last > max(
                longer * SETTLED * motion,
                longer * SMALL * np.sqrt(tolerance) * margin,
                1e-10 * float(np.abs(trial.evaluation_point()).max()),
            ):
                return False
        return True

    def _unresisted(self, dx: Sequence[FloatArray]) -> str | None:
        """A body that contacts hold and that still moved as a rigid one in the last correction dx, in a sentence."""
        world, trials = self.step.world, self.step.bodies.trials
        for model, loose, trial, x in zip(world.models, self._loose, trials, dx, strict=False):
            size = float(np.linalg.norm(x))
            modes = model.free_modes(trial.positions()) if loose and size and not model.has_frames else None
            if modes is None:
                continue
            basis = np.linalg.qr(modes.modes)[0]
            if float(np.linalg.norm(basis.T @ x.ravel())) > RIGID * size:
                most = 1e3 * float(np.linalg.norm(x, axis=1).max())
                return (
                    f"{model.name!r} still slides, rolls or tips by {most:.2g} mm in a linear solve: its contacts do "
                    "not hold it here; more friction, a support or a stop would"
                )
        return None

    def _residual(self, forces: Forces) -> float:
        """Relative residual, less what only accelerates free bodies."""
        return relative_residual(self.step.bodies, self.step.balanced(forces))

    def _inverted(self) -> list[str]:
        """The names of the bodies that have inverted elements."""
        return [t.model.name for t in self.step.bodies.trials if t.model.is_inverted(t.evaluation_point())]

    def _undefined(self) -> str:
        """The names of the bodies whose forces are not finite."""
        names = [t.model.name for t in self.step.bodies.trials if not np.isfinite(t.residual().scale)]
        return ", ".join(repr(name) for name in names) or "a body"

    def _fails(self, text: str) -> bool:
        self.trouble = text
        return False
