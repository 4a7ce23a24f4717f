"""Dynamic relaxation of a quasi-static solve: the overdamped motion under a load that grows along the load path.

A step of the motion is one linear solve, (K + cM) dx = r, implicit Euler of c M ẋ = r with a pseudo-time step that c
stands for. Its length follows the motion, not the residual: a slender body that bends leaves a large residual of
stretch, which the next solve removes. Beyond a limit point or a bifurcation the motion runs to the next stable
equilibrium, as slow dynamics would; at rest c vanishes and Newton's iteration takes over. The states in between are no
equilibria, but friction and contacts follow them as they follow the steps of a dynamic stepper.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pliant.core.errors import ConvergenceError, InfeasibleError, SingularError
from pliant.core.immutable import evolve
from pliant.core.types import FloatArray
from pliant.stepping.bodies import largest, relative_motions
from pliant.stepping.equilibrium import Equilibrium
from pliant.stepping.load_path import LoadPath
from pliant.world import State

MOST_SOLVES = 150
"""Linear solves of a relaxation: a robot that snaps takes 20 to 100."""
FIRST_DAMPING, LEAST_DAMPING, MOST_DAMPING = 1e-3, 1e-8, 1e4
"""Damping cM as a fraction of the stiffness: at first, at least, and where no motion is short enough."""
FIRST_INCREMENT = 0.25
"""First part of the load that is added, over all of it."""
LONGEST_MOTION = 0.05
"""Motion of a body in a step over its size: rotations stay near 0.1 rad, where linearization still says something."""
FASTER, SLOWER = 2.0, 4.0
"""Factors of the pseudo-time step after a short motion and after one that was too long."""
AT_REST, NEARLY_STATIC = 1e-3, 1e-5
"""Motion over the size, and damping, below which Newton's iteration is tried."""
PARTS = (0.5, 0.25, 0.1)
"""Parts of a step that are tried where elements would invert."""
RESTORING = 2
"""Linear solves that restore constraints: one for the gaps, one for the forces."""
NEWTON_STEPS = 20
MOST_ESCAPES = 6
"""How often a relaxation leaves an unstable equilibrium."""


class Relaxation:
    """The overdamped motion from the equilibrium `state` at the parameter `reached` of the load path to `end`, through
    its `states`.
    """

    def __init__(self, equilibrium: Equilibrium, path: LoadPath, state: State, reached: float, end: float) -> None:
        self._equilibrium, self._path = equilibrium, path
        self._state, self._reached, self._end = state, reached, end
        self.states = [state]
        self._damping, self._increment = FIRST_DAMPING, FIRST_INCREMENT * (end - reached)
        self._motion = self._rejected = np.inf
        self._last: list[FloatArray] | None = None

    def to_rest(self, tolerance: float) -> bool:
        """Whether an equilibrium at the end was found to the relative residual `tolerance`."""
        equilibrium, end = self._equilibrium, self._end
        tried, escapes = AT_REST, 0
        for _ in range(MOST_SOLVES):
            if equilibrium.spent:
                break
            if not self._step():
                if self._damping > MOST_DAMPING:
                    break
                continue
            if self._reached < end or self._motion > tried or self._damping > NEARLY_STATIC:
                continue
            tried = 0.2 * self._motion
            equilibrium.begin(self._path.increment(self._state, end, end))
            equilibrium.escapes = 0
            if equilibrium.newton(tolerance, NEWTON_STEPS):
                return True
            if equilibrium.escapes and escapes < MOST_ESCAPES:
                escapes, tried = escapes + 1, AT_REST
                self._state, self._damping = equilibrium.step.advanced(), NEARLY_STATIC
                self._last = None
        equilibrium.trouble = equilibrium.trouble or "the overdamped motion does not come to rest"
        return False

    def _step(self) -> bool:
        """One step of the motion; whether it was made."""
        equilibrium, begin = self._equilibrium, self._reached
        end = min(begin + self._increment, self._end)
        equilibrium.begin(self._path.increment(self._state, begin, end))
        try:
            correction = equilibrium.damped_solve(self._damping)
        except (ConvergenceError, InfeasibleError, SingularError) as error:
            equilibrium.trouble = str(error)
            return self._shorter(SLOWER)
        if not equilibrium.stable:
            self._damping *= SLOWER
            tried = equilibrium.step
            self._restore()
            equilibrium.step = evolve(tried, iterations=equilibrium.step.iterations)  # says what the load stopped at
            return False
        bodies, scale = correction.step.bodies, 1.0
        moved = bodies.moved(correction.dx)
        steps = relative_motions(bodies, moved)
        motion = largest(steps)
        if motion > LONGEST_MOTION:
            # Motion that constraints enforce does not get shorter with the damping: a part of it is made then.
            if motion < 0.7 * self._rejected:
                self._rejected = motion
                return self._shorter(SLOWER if motion < 4.0 * LONGEST_MOTION else SLOWER**2)
            scale = LONGEST_MOTION / motion
        self._rejected = np.inf
        if not equilibrium.accept(bodies.moved(correction.dx, scale)) and not any(
            equilibrium.accept(bodies.moved(correction.dx, part * scale)) for part in PARTS
        ):
            return self._shorter(SLOWER**2)
        self._state, self._reached, self._motion = equilibrium.step.advanced(), end, motion
        self.states.append(self._state)
        turns = self._last is not None and _opposed(steps, self._last)
        self._last = steps
        if turns and self._damping < FIRST_DAMPING:  # with more of it, constraints act on the nearest nodes alone
            self._damping *= SLOWER
        elif motion < 0.5 * LONGEST_MOTION:
            self._damping = max(self._damping / FASTER, LEAST_DAMPING)
            self._increment *= 2.0
        return True

    def _restore(self) -> None:
        """Bring constraints back to where they hold: finite rotations open gaps, the forces that close them in a step
        grow with the damping, and so would their geometric stiffness.
        """
        equilibrium = self._equilibrium
        for _ in range(RESTORING):
            equilibrium.begin(self._path.increment(self._state, self._reached, self._reached))
            try:
                correction = equilibrium.restoring_solve(self._damping)
            except (ConvergenceError, InfeasibleError, SingularError) as error:
                equilibrium.trouble = str(error)
                return
            bodies = correction.step.bodies
            moved = bodies.moved(correction.dx)
            if largest(relative_motions(bodies, moved)) > LONGEST_MOTION or not equilibrium.accept(moved):
                return
            self._state = equilibrium.step.advanced()

    def _shorter(self, factor: float) -> bool:
        self._damping, self._increment = factor * self._damping, self._increment / factor
        return False


def _opposed(step: Sequence[FloatArray], before: Sequence[FloatArray]) -> bool:
    """Whether a step takes back most of the one before."""
    work = sum(float(np.vdot(x, y)) for x, y in zip(step, before, strict=True))
    size = sum(float(np.vdot(x, x)) for x in step) * sum(float(np.vdot(y, y)) for y in before)
    return bool(work < -0.5 * np.sqrt(size))
