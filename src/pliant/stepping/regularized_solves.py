"""Linear solves of a quasi-static equilibrium, and their regularization.

Two multiples of the mass may be added to the stiffness:

- σM of bodies that their own supports leave free, or whose tangent is not positive definite. It is a proximal term: the
  residual does not know it, so the equilibrium does not depend on it, and `stepping.refinement` removes its effect on
  the linear solve.
- the damping cM, with which the iteration follows the overdamped motion to the next stable equilibrium.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from pliant.constraints.contact import ContactPair
from pliant.constraints.contact_curvature import ContactCurvature, curvature_of
from pliant.constraints.kept_contacts import KeptContacts, with_kept
from pliant.core.arrays import transposed_product
from pliant.core.errors import SingularError
from pliant.core.immutable import evolve
from pliant.core.types import FloatArray
from pliant.materials import Tangent
from pliant.models.model import Factor, System
from pliant.models.rigid import RigidModel
from pliant.solvers.contact import MixedProblem
from pliant.solvers.linear.response import Motion
from pliant.stepping.bodies import Reactions, StepBodies
from pliant.stepping.contact_stiffening import STIFFER, contact_blocks
from pliant.stepping.neutral_motions import Hold, NeutralMotions
from pliant.stepping.newton import check_finite
from pliant.stepping.refinement import refined
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
MOST_SLENDER_SHIFT, MOST_JUDGING_SHIFT = 10.0, 1e4
"""The same of a rod, whose strains of bending move more mass than its stiff ones: a loaded column needs 0.1 or more.
And where only the stability of an equilibrium is judged, against forces of constraints that alone keep it there: a
twisted ring needs 100.
"""
NEAR = 0.05
"""Relative residual above which an indefinite tangent is projected: far from equilibrium its negative curvature says
little about where that is, and the projected one goes downhill.
"""
FINE_FROM = 1e-5
"""Relative residual from which on contact forces are found as finely as the equilibrium needs them."""
LOOSE_SHARE = 1e-3
"""σM of a soft body that contacts hold, over its stiffness: under its weight it moves by millimetres in a solve."""
FARTHEST = 0.25
"""How far colliding bodies approach each other in a linear solve at most, over the size of the smallest of them."""
_INDEFINITE = "the stiffness stays indefinite whatever multiple of the mass is added: check the loads"


class RegularizedSolves:
    """The linear solves of one quasi-static solve in progress, at the bodies of `step`.

    `shift` σ is the fraction of the mass that was last added to the stiffness; `indefinite` says whether a tangent was
    not positive definite. With `once` a fixed number of linear solves is all that is asked for.
    """

    def __init__(self, step: Step, *, once: bool = False) -> None:
        world = step.world
        self.step = step
        self.shift = self.damping = 0.0
        self.ease = 1.0
        self.indefinite = False
        indices = range(len(world.models))
        self._once = once
        self._welded = [any(each.welds(index) for each in world.constraints) for index in indices]
        self._attached = [any(each.constrains(index) for each in world.constraints) for index in indices]
        pairs: list[Any] = [each for each in world.constraints if each.is_contact]
        self._apart = [pair for pair in pairs if pair.a is not pair.b]
        self._follows = isinstance(step.session, DirectSession)
        self._stable, self._nearness = True, np.inf
        self._stiffens = self._stiffened = self._judging = False
        self._last: tuple[list[System] | None, Any, MixedProblem | None] = (None, None, None)
        self._kept: dict[int, KeptContacts] = {}
        self._hold: NeutralMotions | None = None
        self._carried: NeutralMotions | None = None
        self.begin(step.bodies)

    def begin(self, bodies: StepBodies) -> None:
        """Start from `bodies`, at another load or from another state. Neutral motions that the last increment ended
        with stay constrained: one linear solve without that may leave an equilibrium which only a mesh makes unstable.
        """
        triples = list(zip(bodies.world.models, bodies.start.q, self._attached, strict=True))
        kept = [None if attached else model.free_modes(q) for model, q, attached in triples]
        self._loose = [not self._once and attached and _is_free(model, q) for model, q, attached in triples]
        self.step = evolve(self.step, bodies=bodies, free_modes=tuple(kept), assembly=None, lam=np.zeros(0), dx=())
        self.shift, self.ease, self.damping = 0.0, 1.0, 0.0
        self._shifts = [0.0] * len(self._attached)
        self._kept, self._hold = {}, self._carried

    def loose(self, index: int) -> bool:
        """Whether supports leave rigid motions of a body open that constraints could resist."""
        return self._loose[index]

    def _plain_solve(self, tangent: Tangent) -> Correction:
        """One linear solve, with σ raised until the matrix is positive definite; the bodies stay where they are."""
        self.step = step = self._with_free_modes()
        contacts = detect(step)
        rows = assemble(step, contacts)
        for _ in range(14):
            systems = linearize(step, tangent, self)
            try:
                factors = factorize(step, systems)
                break
            except SingularError:
                self.shift = FIRST_SHIFT if self.shift == 0.0 else 10.0 * self.shift
        else:
            raise SingularError(_INDEFINITE)
        free = solve(step, factors)
        problem = condense(step, rows, factors, free)
        correction = correct(step, rows, factors, free, problem)
        check_finite(correction)
        self.shift *= 0.1 if self.shift > 1e-7 else 0.0
        self.step = correction.step
        return correction

    def _linear_solve(self, tangent: Tangent) -> Correction:
        """One linear solve without the effect of its regularization; the bodies stay where they are. Contacts are
        looked for again where bodies would move farther than they were looked for.
        """
        self.step = step = self._with_free_modes()
        if self._follows:
            # effectors that are measured are rows of the session too, and stay the last ones
            others = [each for each in step.session.constraints if not isinstance(each, Hold)]
            rows = (*([] if self._hold is None else [Hold(self._hold)]), *others)
            fine = self._nearness <= FINE_FROM and not self.damping
            self.step = step = evolve(step, session=evolve(step.session, follow=True, fine=fine, constraints=rows))
        contacts = self._with_kept(detect(step))
        stiffness, factors = self._factors(step, tangent)
        self.indefinite |= factors.projected or self.shift > 0.0 or self._stiffened
        free = solve(step, factors)

        def corrected(found: Detection | None) -> Correction:
            rows = assemble(step, found)
            condensed = condense(step, rows, factors, free)
            problem = None if condensed is None else condensed.problem
            made = self._refined(correct(step, rows, factors, free, condensed), stiffness, factors, problem)
            check_finite(made)
            return made

        correction = corrected(contacts)
        if self._apart:
            reach = min(1.2 * self._approach(correction), self._farthest())
            if any(reach > pair.margin for pair in self._apart):
                wider = detect(evolve(step, bodies=evolve(step.bodies, approach=reach)))
                correction = corrected(self._with_kept(wider))
        if correction.step.assembly is not None and self._follows:
            recent = correction.step.assembly.memories[: len(step.world.constraints)]
            correction = correction._replace(
                step=evolve(correction.step, bodies=evolve(correction.step.bodies, recent=recent))
            )
        self.step = correction.step
        self._keep_contacts()
        return correction

    def _with_kept(self, contacts: Detection | None) -> Detection | None:
        """`contacts` with those that pushed in the last linear solves and are still possible."""
        if contacts is None or not self._kept:
            return contacts
        found = list(contacts.found)
        for index, kept in self._kept.items():
            pair: Any = contacts.constraints[index]
            found[index] = with_kept(pair, contacts.views[index], found[index], kept)
        return contacts._replace(found=tuple(found))

    def _keep_contacts(self) -> None:
        """Remember the contacts of the last linear solve that push."""
        assembly, lam = self.step.assembly, self.step.lam
        if assembly is None or not self._follows:
            return
        for index, (pair, place) in enumerate(zip(self.step.world.constraints, assembly.slices, strict=False)):
            if type(pair) is ContactPair:
                contacts = assembly.memories[index].contacts
                forces = lam[place].reshape(contacts.count, -1)[:, 0] if contacts.count else np.zeros(0)
                self._kept[index] = KeptContacts.after(self._kept.get(index), contacts, forces)

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
        raise SingularError(_INDEFINITE)

    def _factors(self, step: Step, tangent: Tangent) -> tuple[list[System] | None, Factorization]:
        """K + cM of each body, and the factors of K + cM + σM with σ raised for those bodies that need it; None for K,
        and the factors of a projected tangent, where σ would get too large.
        """
        self.shift = 0.0
        made = linearize(step, tangent)
        stiffness = [system.copied() for system in made.systems]
        for K in stiffness:
            if self.damping and K.elastic:
                K.add_mass(self.damping)
        systems, factors = [], []
        self._stiffened = False
        for index, K in enumerate(stiffness):
            blocks, tried = None, 0
            while True:
                system = K.copied()
                self._regularize(step, index, system)
                if blocks is not None:
                    system.add_blocks(blocks)
                try:
                    with step.timers.stage("factorize"):
                        factors.append(system.factorize())
                    systems.append(system)
                    break
                except SingularError:
                    if tried < len(STIFFER) and self._stiffens and K.takes_blocks and self._nearness <= NEAR:
                        stiffer, across = STIFFER[tried]
                        blocks = contact_blocks(step, index, K.diagonal(), stiffer=stiffer, across=across)
                        tried = tried + 1 if blocks is not None else len(STIFFER)
                        self._stiffened |= blocks is not None
                        if blocks is not None:
                            continue
                    self._shifts[index] = max(FIRST_SHIFT, 10.0 * self._shifts[index], 4.0 * self.damping)
                    far = self._nearness > NEAR and not self._loose[index]
                    if self._shifts[index] > (FAR_SHIFT if far else self._most_shift(index)):
                        self._shifts[index] = 0.0
                        return None, self._shifted(step, tangent)
        self.shift = max(self._shifts)
        self._shifts = [0.1 * shift if shift > FIRST_SHIFT else 0.0 for shift in self._shifts]
        kept = Linearization(tuple(systems), made.forces, tangent, made.round_off, self)
        observed = step.session.observe(made.systems)
        return stiffness, Factorization(kept, tuple(factors), observed, False)

    def _most_shift(self, index: int) -> float:
        """Largest σ of a body as a fraction of the stiffness."""
        if not self.step.world.models[index].spec.slender:
            return MOST_SHIFT
        return MOST_JUDGING_SHIFT if self._judging else MOST_SLENDER_SHIFT

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
        curvature = self._curvature(correction.step)
        regularized = self.shift > 0.0 or self._stiffened or any(self._loose) or curvature is not None
        symmetric = all(getattr(system, "symmetric", True) for system in factors.linearization.systems)
        if stiffness is None or not regularized or not symmetric or not self._follows:
            return correction
        step = correction.step
        rows = None if step.assembly is None or problem is None else step.assembly.rows
        moved = [system.constrained_dx for system in stiffness]
        dx = [x if h is None else x - h for x, h in zip(correction.dx, moved, strict=True)]
        forces = [system.r for system in factors.linearization.systems]
        found = refined(stiffness, factors.factors, rows, problem, dx, step.lam, forces, step.free_modes, curvature)
        self._stable = found.stable
        total = tuple(x if h is None else x + h for x, h in zip(found.dx, moved, strict=True))
        bodies = step.bodies
        if rows is not None and bodies.reactions is not None:
            pushes = tuple(
                transposed_product(H, found.lam).reshape(x.shape) for H, x in zip(rows.H, total, strict=True)
            )
            bodies = evolve(bodies, reactions=Reactions(bodies.reactions.assembly, found.lam, given=pushes))
        return correction._replace(step=evolve(step, bodies=bodies, lam=found.lam, dx=total))

    def _curvature(self, step: Step) -> ContactCurvature | None:
        """The geometric stiffness of the contacts that push in `step`."""
        assembly = step.assembly
        if assembly is None or not len(step.lam) or not self._follows or self.damping:
            return None
        pairs = [
            (pair, assembly.memories[index], step.lam[place])
            for index, (pair, place) in enumerate(zip(step.world.constraints, assembly.slices, strict=False))
            if type(pair) is ContactPair and place.stop > place.start
        ]
        if any(_slips(pair.mu, lam) for pair, _, lam in pairs):
            # between two loose bodies contacts at the limit of friction leave motions that curvature alone would resist
            pairs = [each for each in pairs if not self._between_loose(each[0])]
        return curvature_of(pairs, step.bodies.view(), step.world.models) if pairs else None

    def _between_loose(self, pair: ContactPair) -> bool:
        sides = pair.a.index, pair.b.index
        return all(index is not None and self._loose[index] for index in sides)

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
        shift = max(self.shift, self._shifts[index], least, model.min_inertia_correction)
        if not system.elastic and not self._once:
            system.add_mass(ease)
        elif shift:
            system.add_mass(shift if system.elastic else 1.0)
        if modes is not None:
            system.r = np.where(model.constrained, 0.0, modes.balanced(system.r))

    def constrain(self, factors: Sequence[Factor], free: list[Motion]) -> None:
        """Hold the free rigid motion of each body with the inertia forces that it takes."""
        for index, (factor, modes) in enumerate(zip(factors, self.step.free_modes, strict=True)):
            if modes is not None:
                dx = modes.without_rigid_motion(free[index].dx, factor.solve(modes.weighted))
                free[index] = free[index].displaced(dx)

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


def _slips(mu: float, lam: FloatArray) -> bool:
    """Whether a contact of a pair with friction `mu` and forces `lam` (rows,) N is at the limit of friction."""
    if not mu:
        return False
    normal, tangential = lam[::3], np.hypot(lam[1::3], lam[2::3])
    return bool(((normal > 0.0) & (tangential >= (1.0 - 1e-6) * mu * normal)).any())


def _is_free(model: Any, q: FloatArray) -> bool:
    """Whether the supports of a body leave some of its rigid motions open."""
    return isinstance(model, RigidModel) or model.free_modes(q) is not None
