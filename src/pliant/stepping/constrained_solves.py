"""Linear solves of a quasi-static equilibrium that may constrain neutral motions (`stepping.neutral_motions`), damped
ones, and the stability of what they find.
"""

from __future__ import annotations

from collections.abc import Sequence

from pliant.core.types import FloatArray
from pliant.materials import Tangent
from pliant.stepping.neutral_motions import NEGLIGIBLE, PASSING, NeutralMotions, neutral_motions, normal_force
from pliant.stepping.refinement import unstable_motion
from pliant.stepping.regularized_solves import LOOSE_SHARE, RegularizedSolves
from pliant.stepping.stages import Correction, Step

RIGID = 0.9
"""Fraction of a correction that is a rigid motion from which on a body is said to slide, roll or tip."""


class ConstrainedSolves(RegularizedSolves):
    """`neutral` are motions that hardly anything resists, with the forces that constrain them in the equilibrium found;
    None where none are constrained. `attempt` counts how often an unstable equilibrium was left in vain: each time it
    is left along another motion.
    """

    def __init__(self, step: Step, *, once: bool = False) -> None:
        super().__init__(step, once=once)
        self.neutral: tuple[NeutralMotions, FloatArray] | None = None
        self._constrained_at: tuple[Step, tuple[NeutralMotions, FloatArray]] | None = None
        self._releases = False
        self.attempt = 0
        # Contacts open and close in a motion: with them the curvature of one tangent does not decide on stability.
        self._judges = self._follows and not any(each.is_contact for each in step.world.constraints)

    def damped_solve(self, damping: float) -> Correction:
        """One linear solve with the damping cM; the bodies stay where they are. It is `stable` only where K + cM is
        positive definite in the motions that the active constraints leave: less damping would move them backwards.
        """
        self.damping, self.ease, self._nearness = damping, damping / LOOSE_SHARE, 0.0
        self._judging = True
        try:
            correction = self._linear_solve(Tangent.EXACT)
        finally:
            self._judging = False
        if self._stable and self.shift and self._unstable_motion() is not None:
            self._stable = False
        return correction

    def restoring_solve(self, damping: float) -> Correction:
        """One linear solve with the damping cM and no geometric stiffness, which brings constraints back to where they
        hold; the bodies stay where they are.
        """
        self.damping, self.ease, self._nearness = damping, damping / LOOSE_SHARE, 0.0
        return self._linear_solve(Tangent.PROJECTED)

    def _unstable_motion(self) -> list[FloatArray] | None:
        """A motion of negative curvature of the last matrix without its regularization, if one is found."""
        stiffness, factors, problem = self._last
        if stiffness is None:
            return None
        rows = None if problem is None or self.step.assembly is None else self.step.assembly.rows
        free = self.step.free_modes
        return unstable_motion(stiffness, factors.factors, rows, problem, self.step.lam, free, self.attempt)

    def _slides(self, correction: Correction) -> bool:
        """Constrain the neutral motions that make up the correction; whether it has to be solved again."""
        if self._releases or not self._follows or not any(self._loose) or self.damping:
            return False
        motions, known = neutral_motions(correction.step, self._loose), self._hold
        if motions is None or (known is not None and motions.count <= known.count):
            return False
        if motions.fraction(correction.dx) < RIGID:
            return False
        self._hold = motions
        return True

    def _released(self, tolerance: float, *, passing: bool) -> bool:
        """Release the neutral motions where a force constrains them in the equilibrium found, and go on without;
        whether that is so. Where the force is negligible, the equilibrium is one to come back to.
        """
        assembly, motions = self.step.assembly, self._hold
        first = len(self.step.world.constraints)  # the rows that constrain them follow those of the world
        if motions is None or assembly is None or len(assembly.slices) <= first:
            return False
        forces = self.step.lam[assembly.slices[first]]
        if len(forces) != motions.count:
            return False
        rest = motions.effort(forces) / normal_force(self.step)
        if rest <= tolerance:
            return False
        if rest <= (PASSING if passing else NEGLIGIBLE):
            self._constrained_at = self.step, (motions, forces)
        self._hold, self._releases = None, True
        return True

    def _is_neutral(self, motion: Sequence[FloatArray]) -> bool:
        """Whether bodies that contacts alone hold slide in this motion. Under dead loads that is an instability of any
        pair of faces without friction: the smaller their common part, the softer they are.
        """
        neutral = None if self._judges or not any(self._loose) else neutral_motions(self.step, self._loose)
        return neutral is not None and neutral.fraction(motion) > 0.5
