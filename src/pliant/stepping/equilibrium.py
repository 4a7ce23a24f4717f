"""Newton's iteration for a quasi-static equilibrium at one load, with the regularization of its linear solves.

Each linear solve linearises bodies and gaps, and finds the constraint forces of that linear problem exactly: Newton's
method for the generalised equation of contact and friction. Two multiples of the mass may be added to the stiffness:

- σM of bodies that their own supports leave free, or whose tangent is not positive definite. It is a proximal term: the
  residual does not know it, so the equilibrium does not depend on it. It shrinks as the residual does.
- the damping c, with which the iteration follows the overdamped motion to the next stable equilibrium (pseudo-transient
  continuation, Kelley and Keyes, SIAM J. Numer. Anal. 35, 1998). It shrinks with the residual as well.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from pliant.core.arrays import transposed_product
from pliant.core.errors import ConvergenceError, InfeasibleError, SingularError
from pliant.core.immutable import evolve
from pliant.core.types import FloatArray
from pliant.materials import Tangent
from pliant.models.model import Factor, System
from pliant.models.rigid import RigidModel
from pliant.solvers.contact import MixedProblem
from pliant.stepping.bodies import Forces, StepBodies
from pliant.stepping.info import RigidMotion
from pliant.stepping.newton import SETTLED, Convergence, apply_with_line_search, check_finite, relative_residual, slope
from pliant.stepping.refinement import refined, unstable_motion
from pliant.stepping.session import DirectSession
from pliant.stepping.stages import (
    Correction,
    Detection,
    Factorization,
    Linearization,
    Step,
    assemble,
    condense,
    correct,
    detect,
    factorize,
    linearize,
    solve,
)

LEAST_WELDED = 1e-8
"""Least fraction of the σM of a welded rigid body: what holds the body, however soft, soon outweighs it."""
LEAST_LOOSE = 0.1
"""Least fraction of the σM of a body that contacts hold: below, the free motion of a linear solve is so long that the
contact forces lose their digits.
"""
FIRST_SHIFT, FAR_SHIFT, MOST_SHIFT = 1e-6, 1e-5, 1e-2
"""σM as a fraction of the stiffness, where the exact tangent is not positive definite; beyond, it is projected."""
NEAR = 0.05
"""Relative residual above which an indefinite tangent is projected: far from equilibrium its negative curvature says
little about where that is, and the projected one goes downhill.
"""
LOOSE_SHARE = 1e-3
"""σM of a soft body that contacts hold, over its stiffness: under its weight it moves by millimetres in a solve."""
FIRST_DAMPING, LEAST_DAMPING, MOST_DAMPING = 1e-2, 1e-7, 10.0
"""Damping cM as a fraction of the stiffness: at first, where it is dropped, and at most."""
FARTHEST = 0.25
"""How far colliding bodies approach each other in a linear solve at most, over the size of the smallest of them."""
MOST_ESCAPES, PERTURBATION = 4, 1e-3
"""How often an unstable equilibrium is left in one solve, and by which fraction of the motion so far at first."""
LONGEST_STEP = 64.0
"""Most times that a step along an unresisted motion is taken at once."""
PATIENCE = 10
"""Linear solves in which the residual has to improve; bending of slender bodies takes most of them."""


class Equilibrium:
    """One quasi-static solve in progress: the bodies at one load, and the regularization of the linear solves.

    `shift` σ is the fraction of the mass that was last added to the stiffness; `trouble` says why the last iteration
    ended without an equilibrium; `indefinite` whether a tangent of it was not positive definite. With `once` a fixed
    number of linear solves is all that is asked for.
    """

    def __init__(self, step: Step, *, once: bool = False) -> None:
        world = step.world
        self.step = step
        self._once = once
        self.shift = self.damping = 0.0
        self.ease = 1.0
        self.trouble = ""
        self.escapes = 0
        self._last: tuple[list[System] | None, Any, MixedProblem | None] = (None, None, None)
        self.indefinite = False
        self._stable, self._nearness = True, np.inf
        indices = range(len(world.models))
        self._welded = [any(each.welds(index) for each in world.constraints) for index in indices]
        self._held = [any(each.constrains(index) for each in world.constraints) for index in indices]
        self._pairs: list[Any] = [each for each in world.constraints if each.is_contact]
        self._apart: list[Any] = [pair for pair in self._pairs if pair.a is not pair.b]
        self._follows = isinstance(step.session, DirectSession)
        self.begin(step.bodies)

    def begin(self, bodies: StepBodies) -> None:
        """Start from `bodies`, at another load or from another state."""
        triples = list(zip(bodies.world.models, bodies.start.q, self._held, strict=True))
        kept = [None if held else model.free_modes(q) for model, q, held in triples]
        self._loose = [not self._once and held and _is_free(model, q) for model, q, held in triples]
        self.step = evolve(self.step, bodies=bodies, free_modes=tuple(kept), assembly=None, lam=np.zeros(0), dx=())
        self.shift, self.ease, self.damping = 0.0, 1.0, 0.0
        self._shifts = [0.0] * len(self._held)

    def fixed(self, iterations: int) -> None:
        """`iterations` full linear solves, with the cheapest tangent that is consistent to first order: it is positive
        definite also where the exact one is about to buckle, where a single solve would jump.
        """
        for _ in range(iterations):
            correction = self._linear_solve(Tangent.WARPED)
            self.ease = max(0.1 * self.ease, LEAST_WELDED)
            self.step = evolve(correction.step, bodies=correction.step.bodies.moved(correction.dx))

    def newton(self, tolerance: float, most: int, *, search: bool = False, damping: float = 0.0) -> bool:
        """At most `most` Newton iterations at the present load, with full steps, or with line `search`, or from the
        `damping` c on; whether the relative residual went below `tolerance`.
        """
        passive = not self.step.constraints  # what constraints do here is known only after a solve
        bodies = self.step.bodies
        if passive and self._residual(bodies.forces()) <= tolerance and not bodies.must_move():
            return True
        self.shift, self.ease, self.damping = 0.0, 1.0, damping
        self._shifts = [0.0] * len(self._held)
        self.indefinite = False
        convergence, history, self._nearness = Convergence(tolerance), [np.inf], np.inf
        for count in range(3 * most):  # more than `most` only where forces balance and rows still turn
            try:
                correction = self._linear_solve(Tangent.EXACT, careful=True)
            except (ConvergenceError, InfeasibleError, SingularError) as error:
                return self._fails(str(error))
            forces, full = self._apply(correction, search or damping > 0.0)
            if not forces.finite:
                return self._fails(f"an element of {self._undefined()} would invert")
            residual = self._residual(forces)
            self._adapt(residual, history[-1])
            self._nearness = residual
            history.append(residual)
            settled = full and self._contacts_settled(correction) and not self.step.bodies.must_move()
            if convergence.reached(residual, forces.scale, correction, self.step) and settled:
                if self._inverted():
                    return self._fails("the equilibrium found has inverted elements")
                if not self._leaves_unstable(correction):
                    return True
            if residual > tolerance and (count + 1 >= most or (not damping and _hopeless(history))):
                break
        return self._fails(f"the residual stays at {min(history):.1e} of the forces, the tolerance is {tolerance:.1e}")

    def move_to(self, dx: Sequence[FloatArray]) -> None:
        """The bodies at the displacements dx, without what was found on the way."""
        bodies = self.step.bodies.at(dx)
        if bodies.reactions is not None:
            bodies = evolve(bodies, reactions=bodies.reactions._replace(generalized=None))
        self.step = evolve(self.step, bodies=bodies)

    def rigid_motion(self) -> tuple[RigidMotion, ...]:
        """The rigid motion of each body that is left open."""
        modes = self.step.free_modes
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

    # Linear solves

    def _linear_solve(self, tangent: Tangent, *, careful: bool = False) -> Correction:
        """One linear solve, with σ raised until the matrix is positive definite; the bodies stay where they are. With
        `careful` contacts are looked for again where bodies would move farther than they were looked for.
        """
        self.step = step = self._with_free_modes()
        if careful and self._follows:
            self.step = step = evolve(step, session=evolve(step.session, follow=True))
        contacts = detect(step)
        stiffness, factors = (None, self._shifted(step, tangent)) if self._once else self._factors(step, tangent)
        self.indefinite |= factors.projected or self.shift > 0.0
        free = solve(step, factors)

        def corrected(found: Detection | None) -> Correction:
            rows = assemble(step, found)
            problem = condense(step, rows, factors, free)
            return self._refined(correct(step, rows, factors, free, problem), stiffness, factors, problem)

        correction = corrected(contacts)
        check_finite(correction)
        if careful and self._apart:
            reach = min(1.2 * self._approach(correction), self._farthest())
            if any(reach > pair.margin for pair in self._apart):
                wide = evolve(step, bodies=evolve(step.bodies, approach=reach))
                correction = corrected(detect(wide))
                check_finite(correction)
        if self._once:
            self.shift *= 0.1 if self.shift > 1e-7 else 0.0
        self.step = correction.step
        return correction

    def _shifted(self, step: Step, tangent: Tangent) -> Factorization:
        """Factors of a tangent that is projected where it is not positive definite, with σ raised for all bodies where
        that does not help.
        """
        for _ in range(14):
            systems = linearize(step, tangent, self)
            try:
                return factorize(step, systems)
            except SingularError:
                self.shift = 1e-6 if self.shift == 0.0 else 10.0 * self.shift
        raise SingularError("the stiffness stays indefinite whatever multiple of the mass is added: check the loads")

    def _factors(self, step: Step, tangent: Tangent) -> tuple[list[System] | None, Factorization]:
        """K of each body, and the factors of K + σM with σ raised for those bodies that need it; None for K, and the
        factors of a projected tangent, where σ would get too large.
        """
        self.shift = 0.0
        made = linearize(step, tangent)
        stiffness = [system.copied() for system in made.systems]
        systems, factors = [], []
        for index, K in enumerate(stiffness):
            while True:
                system = K.copied()
                self._regularize(step, index, system)
                try:
                    with step.timers.stage("factorize"):
                        factors.append(system.factorize())
                    systems.append(system)
                    break
                except SingularError:
                    self._shifts[index] = max(FIRST_SHIFT, 10.0 * self._shifts[index])
                    far = self._nearness > NEAR and not self._loose[index]
                    if self._shifts[index] > (FAR_SHIFT if far else MOST_SHIFT):
                        self._shifts[index] = 0.0
                        return None, self._shifted(step, tangent)
        self.shift = max(self._shifts)
        self._shifts = [0.1 * shift if shift > FIRST_SHIFT else 0.0 for shift in self._shifts]
        kept = Linearization(tuple(systems), made.forces, tangent, made.round_off, self)
        observed = step.session.observe(made.systems)
        return stiffness, Factorization(kept, tuple(factors), observed, False)

    def _refined(
        self,
        correction: Correction,
        stiffness: list[System] | None,
        factors: Factorization,
        problem: MixedProblem | None,
    ) -> Correction:
        """The correction without the regularization of its matrices, where that leaves it stable and lawful."""
        self._stable = True
        self._last = (stiffness, factors, problem)
        regularized = self.shift > 0.0 or any(self._loose)
        symmetric = all(getattr(system, "symmetric", True) for system in factors.linearization.systems)
        if stiffness is None or not regularized or self.damping or not symmetric or not self._follows:
            return correction
        step = correction.step
        rows = None if step.assembly is None or problem is None else step.assembly.rows
        moved = [system.constrained_dx for system in stiffness]
        dx = [x if h is None else x - h for x, h in zip(correction.dx, moved, strict=True)]
        forces = [system.r for system in factors.linearization.systems]
        found = refined(stiffness, factors.factors, rows, problem, dx, step.lam, forces, step.free_modes)
        self._stable = found.stable
        total = tuple(x if h is None else x + h for x, h in zip(found.dx, moved, strict=True))
        bodies = step.bodies
        if rows is not None and bodies.reactions is not None:
            pushes = tuple(
                transposed_product(H, found.lam).reshape(x.shape) for H, x in zip(rows.H, total, strict=True)
            )
            bodies = evolve(bodies, reactions=bodies.reactions._replace(lam=found.lam, generalized=pushes))
        return correction._replace(step=evolve(step, bodies=bodies, lam=found.lam, dx=total))

    def _apply(self, correction: Correction, search: bool) -> tuple[Forces, bool]:
        """Move the bodies, and the forces there; whether the step was taken in full."""
        with self.step.timers.stage("line search"):
            scale = 1.0
            if self._apart:
                approach = self._approach(correction)
                scale = min(1.0, self._farthest() / approach) if approach > 0.0 else 1.0
            if search and scale == 1.0:
                self.step, forces = apply_with_line_search(correction)
                return forces, True
            bodies = correction.step.bodies
            for _ in range(3 if self._apart else 1):
                moved = bodies.moved(correction.dx, scale)
                forces = moved.forces()
                if forces.finite:
                    break
                scale *= 0.5
            self.step = evolve(correction.step, bodies=moved)
            if not self._stable and forces.finite:
                self.step, forces, scale = self._extended(correction, forces, scale)
        return forces, scale == 1.0

    def _leaves_unstable(self, correction: Correction) -> bool:
        """Whether the equilibrium is unstable; the bodies are then moved away from it, to where the forces stop pushing
        along the unstable motion.
        """
        stiffness, factors, problem = self._last
        if not self.shift or stiffness is None or self.escapes >= MOST_ESCAPES:
            return False
        rows = None if problem is None or self.step.assembly is None else self.step.assembly.rows
        motion = unstable_motion(stiffness, factors.factors, rows, problem, self.step.lam, self.step.free_modes)
        if motion is None:
            return False
        base = self.step.bodies
        size = max(float(np.abs(trial.dx).max()) for trial in base.trials) or 1e-3
        motion = [PERTURBATION * size / max(float(np.abs(x).max()) for x in motion) * x for x in motion]
        sign = 1.0 if slope(base, base.forces(), tuple(motion)) >= 0.0 else -1.0
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

    def _adapt(self, residual: float, before: float) -> None:
        """Less regularization where the residual decreases, more where it grows."""
        better = residual < before
        self.ease = max(0.1 * self.ease, LEAST_WELDED) if better else min(5.0 * self.ease, 1.0)
        if self.damping:
            ratio = min(max(residual / before, 0.2), 3.0) if np.isfinite(before) else 1.0
            self.damping = min(self.damping * ratio, MOST_DAMPING)
            self.damping = 0.0 if self.damping < LEAST_DAMPING else self.damping

    def regularize(self, step: Step, systems: Sequence[System]) -> None:
        """A += σM + cM, and balanced loads for bodies that can move freely."""
        for index, system in enumerate(systems):
            self._regularize(step, index, system)

    def _regularize(self, step: Step, index: int, system: System) -> None:
        model, modes = step.world.models[index], step.free_modes[index]
        if not system.elastic and self._welded[index]:
            system.add_mass(max(self.ease, LEAST_WELDED))
            return
        ease = max(self.ease, LEAST_LOOSE)
        least = LOOSE_SHARE * ease if self._loose[index] else 1e-8 if modes is not None else 0.0
        shift = max(self.shift, self._shifts[index], self.damping, least, model.min_inertia_correction)
        if not system.elastic and not self._once:
            system.add_mass(ease)
        elif shift:
            system.add_mass(shift if system.elastic else 1.0)
        if modes is not None:
            system.r = np.where(model.constrained, 0.0, modes.balanced(system.r))

    def constrain(self, factors: Sequence[Factor], dx: list[FloatArray]) -> None:
        """Hold the free rigid motion of each body with the inertia forces that it takes."""
        for index, (factor, modes) in enumerate(zip(factors, self.step.free_modes, strict=True)):
            if modes is not None:
                dx[index] = modes.without_rigid_motion(dx[index], factor.solve(modes.weighted))

    def _with_free_modes(self) -> Step:
        """The step with the free rigid motions at the present positions: those of frames turn with them."""
        step = self.step
        if all(modes is None or not m.has_frames for modes, m in zip(step.free_modes, step.world.models)):
            return step
        found = [
            modes if modes is None or not model.has_frames else model.free_modes(trial.positions())
            for modes, model, trial in zip(step.free_modes, step.world.models, step.bodies.trials, strict=True)
        ]
        return evolve(step, free_modes=tuple(found))

    # Contacts

    def _approach(self, correction: Correction) -> float:
        """How far two colliding bodies move against each other in the correction at most, m."""
        bodies = correction.step.bodies
        before = bodies.view()
        after = bodies.moved(correction.dx).view()
        return max((pair.approached(before, after) for pair in self._apart), default=0.0)

    def _farthest(self) -> float:
        """Longest approach of colliding bodies in one linear solve, m."""
        world, q = self.step.world, self.step.bodies.start.q
        indices = {index for pair in self._apart for index in (pair.a.index, pair.b.index) if index is not None}
        sizes = [float(np.ptp(world.models[k].node_positions(q[k]), axis=0).max()) for k in indices]
        sizes += [2.0 * getattr(pair.b.solid, "radius", 0.0) for pair in self._apart if pair.b.index is not None]
        return FARTHEST * min((size for size in sizes if size > 0.0), default=np.inf)

    def _contacts_settled(self, correction: Correction) -> bool:
        """Whether the last correction was too small to turn the normals of contacts that push."""
        assembly, lam = correction.step.assembly, correction.step.lam
        if assembly is None or not len(lam) or not self._apart:
            return True
        touched: set[int] = set()
        for constraint, place in zip(self.step.world.constraints, assembly.slices, strict=False):
            pair: Any = constraint
            if pair.is_contact and lam[place].any():
                touched |= {index for index in (pair.a.index, pair.b.index) if index is not None}
        for index in touched:
            trial = self.step.bodies.trials[index]
            last, motion = float(np.abs(correction.dx[index]).max()), float(np.abs(trial.dx).max())
            if last > max(SETTLED * motion, 1e-10 * float(np.abs(trial.evaluation_point()).max())):
                return False
        return True

    # Judgement

    def _residual(self, forces: Forces) -> float:
        """Relative residual, less what only accelerates free bodies."""
        return relative_residual(self.step.bodies, self.step.balanced(forces))

    def _inverted(self) -> bool:
        """Whether this equilibrium has inverted elements."""
        return any(trial.model.is_inverted(trial.evaluation_point()) for trial in self.step.bodies.trials)

    def _undefined(self) -> str:
        """The names of the bodies whose forces are not finite."""
        names = [t.model.name for t in self.step.bodies.trials if not np.isfinite(t.residual().scale)]
        return ", ".join(repr(name) for name in names) or "a body"

    def _fails(self, text: str) -> bool:
        self.trouble = text
        return False


def _is_free(model: Any, q: FloatArray) -> bool:
    """Whether the supports of a body leave some of its rigid motions open."""
    return isinstance(model, RigidModel) or model.free_modes(q) is not None


def _hopeless(history: Sequence[float]) -> bool:
    """Whether the residual has not improved for so long that it will not."""
    count = len(history) - 1
    if count >= PATIENCE and min(history) > 0.05:
        return True
    return count >= 2 * PATIENCE and min(history[-PATIENCE:]) > 0.5 * min(history[:-PATIENCE])
