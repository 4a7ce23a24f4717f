"""Minimise the energy of all bodies under their constraints: sequential quadratic programming with a kept factor.

    min E(q)   with   V_c(q) = α V₀ for every chamber,   gap(q) ≥ 0 for every contact

Each iteration solves the quadratic problem of the present configuration (`quadratic`) with the inverse of a kept matrix
(`metric`), improved by the last steps (`quasi_newton`). λ of a chamber is its pressure, λ of a contact its force. The
line search follows the curve that the step begins (`curved`), as far as the augmented Lagrangian

    φ(s) = E − Σ λ c + ½ Σ ρ c²        (c: violation of chamber and cable constraints, ρ = 4/|W|)

allows: it must not overshoot, nor invert a cell.

The end of an intermediate load increment need not be a minimum: one step is enough, as long as nothing penetrates.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from scipy import sparse

from pliant.constraints import Assembly, Rows, forces_of
from pliant.core.errors import SingularError
from pliant.core.timers import StageTimers
from pliant.core.types import FloatArray
from pliant.stepping.bodies import Reactions, StepBodies
from pliant.stepping.minimum_energy.constraint_rows import DescentConstraints
from pliant.stepping.minimum_energy.laws import equalities, imposed_forces_met, row_norms, violation
from pliant.stepping.minimum_energy.metric import TangentMetric
from pliant.stepping.minimum_energy.mixed import Expected
from pliant.stepping.minimum_energy.quadratic import IncrementError, Point, Quadratic, StalledError, Step
from pliant.stepping.minimum_energy.shapes import Shapes
from pliant.stepping.session import DirectSession
from pliant.stepping.stages import Step as BodyStep

PATIENCE = 6
"""Iterations for which a factor may still be needed, at the present rate, before a new one is cheaper."""
CLOSE = 1e-2
"""Relative gradient from which on a factor is kept: farther away the steps are too long to learn from."""
STILL = 8e-4
"""Length of the last step, as a fraction of the size of the largest body, up to which a factor is kept: slender parts
turn with a longer one, and then bend where the factor says that they stretch.
"""
UNSTABLE_STRAIN = 0.15
"""Largest strain of a cell in a step from an unstable configuration."""
UNSTABLE_STEPS = 60
"""Most steps from unstable configurations."""
INCREMENT_STRAIN = 0.6
"""Strain of a cell in the first step of a load increment beyond which the increment is too long."""
SHORTEST = 1e-4
"""Shortest fraction of a step that is tried."""
SLACK = 2e-4
"""Allowed penetration at the end, as a fraction of the size of the largest body."""
NEARBY = 1e-3
"""Length of a step up to which contacts are extrapolated instead of detected, as a fraction of that size."""
ROUNDING = 1e-7
"""Forces below this fraction of modulus times size squared are rounding."""


@dataclass(frozen=True)
class Settings:
    """What a descent may do: the relative gradient to reach, iterations, and steps remembered."""

    tolerance: float
    maximum_iterations: int
    memory: int


@dataclass(eq=False)
class Effort:
    """Cost of descents: iterations, factorizations, the largest inertia correction σ of a tangent; the attempt that
    gave the last tangent, and the nodes of each body whose diagonal is shifted for it (`metric`).
    """

    iterations: int = 0
    factorizations: int = 0
    shift: float = 0.0
    attempt: int = 0
    shifted_nodes: list[list[int]] = field(default_factory=list)


class Descent:
    """The iteration from the start of a load increment to the minimum of the energy."""

    def __init__(self, bodies: StepBodies, settings: Settings, timers: StageTimers, effort: Effort) -> None:
        self.settings = settings
        self.timers = timers
        self.effort = effort
        self.shapes = Shapes(bodies)
        self.constraints = DescentConstraints(self.shapes)
        self.size = max(float(np.ptp(model.rest, axis=0).max()) for model in self.shapes.models)
        stiffest = max(material.shear_modulus for model in self.shapes.models for material in model.spec.materials)
        self.noise = ROUNDING * stiffest * self.size**2
        self.quadratic = Quadratic(~self.shapes.constrained, self.size, settings.memory, timers)
        self.used: Assembly | None = None
        self.expected: Sequence[Expected | None] = [None] * len(self.shapes.models)
        self.actuator_forces: FloatArray = np.zeros(0)
        self.contact_push: FloatArray = np.zeros(len(self.shapes.constrained))
        self.correction: list[FloatArray] = self.shapes.split(np.zeros(len(self.shapes.constrained)))
        self.residual, self.moved = np.inf, np.inf
        self.age, self.length = 0, 1.0
        self.reflect = self.unstable_step = False
        self.unstable = 0
        self.rate: float | None = None
        if not effort.shifted_nodes:
            effort.shifted_nodes = [[] for _ in self.shapes.models]

    @property
    def depth(self) -> float:
        """Largest penetration where contacts were last detected, m."""
        return self.constraints.depth

    def run(self, *, before: Descent | None = None, intermediate: bool = False, reflect: bool = False) -> None:
        """Descend to the tolerance, or no farther than an `intermediate` increment needs, with the stresses that the
        descent `before` expected. `reflect` allows steps along negative curvature. Raises `StalledError` on failure.
        """
        self.reflect = reflect
        if before is not None:
            self.expected = before.expected
        point, last = self._start(), np.inf
        self._detect(point)
        count = unstable_steps = 0
        while count - unstable_steps <= self.settings.maximum_iterations and unstable_steps <= UNSTABLE_STEPS:
            if self._arrived(point) or (intermediate and count and self.depth <= self.constraints.passing_depth):
                return
            self._choose_metric(self.residual / last if last else 1.0)
            last = self.residual
            found = self._advance(point)
            if found is None or (count == 0 and self.length < 1.0 and not self.unstable_step):
                raise StalledError("the step inverts cells")
            point = found
            count, unstable_steps = count + 1, unstable_steps + self.unstable_step
            self.age += 1
            self.effort.iterations += 1
        raise StalledError(f"the gradient is still {self.residual:.1e} after {count} iterations")

    def outcome(self) -> tuple[Assembly | None, FloatArray]:
        """The rows of the last quadratic problem and their λ; those of the start where none was solved."""
        used = self.constraints.assembly if self.used is None else self.used
        return used, np.zeros(0) if used is None else forces_of(used.rows.key, *self.constraints.last_forces)

    def step(self, timers: StageTimers) -> BodyStep:
        """The configuration reached, as the data of a step."""
        assembly, lam = self.outcome()
        reactions = None if assembly is None else Reactions(assembly, lam, given=tuple(self.generalized_forces()))
        bodies = replace(self.shapes.bodies, reactions=reactions)
        return BodyStep(bodies, DirectSession(), timers, assembly, lam, tuple(self.correction))

    def generalized_forces(self) -> list[FloatArray]:
        """Hᵀλ of all rows on the nodes of each body, (n, 3), N."""
        actuators, push = self.constraints.actuator_rows(), self.contact_push
        if actuators is not None:
            push = push + np.where(self.shapes.constrained, 0.0, _matrix(actuators).T @ self.actuator_forces)
        return self.shapes.split(push)

    def release(self) -> None:
        """Hand the memory of the factor back."""
        self.quadratic.release()

    def _start(self) -> Point:
        """The start, with constrained DoFs moved to where they have to be."""
        dx = np.zeros(len(self.shapes.constrained))
        trials: Any = self.shapes.bodies.trials
        for part, trial in zip(self.shapes.split(dx), trials, strict=True):
            moved = trial.remaining_motion()
            if moved is not None:
                part += moved
        point = self._at(dx)
        if point is None:
            raise StalledError("the motion of constrained nodes inverts cells")
        return point

    def _at(self, dx: FloatArray) -> Point | None:
        """The point at `dx`, or None where a material is undefined or a cell is inverted."""
        with self.timers.stage("energy"):
            energy = self.shapes.energy(dx)
            if not np.isfinite(energy.total) or self.shapes.inverted():
                return None
        with self.timers.stage("rows"):
            actuators = self.constraints.actuator_rows()
            return Point(
                dx, energy, actuators, sparse.csr_matrix((0, len(dx))) if actuators is None else _matrix(actuators)
            )

    def _detect(self, point: Point) -> None:
        """Detect contacts at `point`; before the first step they push with λ of the start."""
        with self.timers.stage("rows"):
            self.constraints.detect(point.dx)
        if self.used is None and self.constraints.assembly is not None:
            constraints = self.constraints
            self.actuator_forces = constraints.lam[constraints.actuator]
            push = constraints.H.T @ constraints.lam[constraints.contact]
            self.contact_push = np.where(self.shapes.constrained, 0.0, push)

    def _arrived(self, point: Point) -> bool:
        """Whether equilibrium, actuators and contacts all hold within the tolerance; notes the residual.

        Contacts push along the normals of a short step ago; penetration is detected again.
        """
        if not self._balanced(point):
            return False
        if self.used is not None and self.moved > SLACK * self.size:
            return False
        if self.depth <= SLACK * self.size and self.constraints.detected_at(point.dx):
            return True
        self._detect(point)
        return self.depth <= SLACK * self.size

    def _balanced(self, point: Point) -> bool:
        """Whether equilibrium and actuator rows hold within the tolerance."""
        push: FloatArray = self.contact_push
        violated = 0.0
        if point.actuators is not None:
            push = push + np.where(self.shapes.constrained, 0.0, point.C.T @ self.actuator_forces)
            violations = violation(point.actuators, self.actuator_forces) / row_norms(point.actuators)
            met = imposed_forces_met(point.actuators, self.actuator_forces)
            violated = float(np.abs(violations).max(initial=0.0)) if met else np.inf
        scale = max(point.energy.scale, float(np.linalg.norm(push)), self.noise)
        self.residual = float(np.linalg.norm(point.r + push)) / scale if scale else 0.0
        return self.residual <= self.settings.tolerance and violated <= 0.1 * self.settings.tolerance * self.size

    def _choose_metric(self, rate: float) -> None:
        """Factorize anew where the kept factor converges too slowly."""
        if self.quadratic.metric is not None and self.residual < CLOSE and self.moved < STILL * self.size:
            left = np.log(self.settings.tolerance / max(self.residual, 1e-300)) / np.log(min(max(rate, 1e-9), 0.99))
            if left <= PATIENCE:
                return
        self._renew()

    def _renew(self) -> None:
        with self.timers.stage("factorize"):
            self.quadratic.release()
            found, bodies = self.constraints.assembly, self.shapes.bodies
            if found is not None:
                bodies = replace(bodies, reactions=Reactions(found, self.constraints.lam))
            try:
                C, shifted, last = self._equality_rows(), self.effort.shifted_nodes, self.effort.attempt
                metric = TangentMetric(bodies, self.expected, C, shifted, last=last, reflect=self.reflect)
            except SingularError as error:
                raise StalledError(str(error)) from error
        self.quadratic.renew(metric)
        self.age = 0
        self.effort.factorizations += 1
        self.effort.shift = max(self.effort.shift, metric.shift)
        self.effort.attempt = metric.attempt
        self.unstable = metric.unstable

    def _equality_rows(self) -> sparse.csr_matrix:
        """Equality rows at the present configuration, over the free DoFs, (m, N)."""
        actuators, free = self.constraints.actuator_rows(), sparse.diags((~self.shapes.constrained).astype(float))
        if actuators is None:
            return sparse.csr_matrix((0, len(self.shapes.constrained)))
        return (_matrix(actuators)[equalities(actuators)] @ free).tocsr()

    def _advance(self, point: Point) -> Point | None:
        """The next point; where a long step penetrates new contacts, its problem is solved once more with them."""
        known = self.constraints.last_forces
        found = self._search(point, self.quadratic.solve(point, self.constraints))
        if found is None and self.age:
            self.shapes.place(point.dx)
            self._renew()
            found = self._search(point, self.quadratic.solve(point, self.constraints))
        if found is None:
            return None
        if self.moved <= NEARBY * self.size:
            self.constraints.extrapolate(found.dx)
            return found
        self._detect(found)
        if self.depth > SLACK * self.size and self.age == 0:
            self.constraints.last_forces = known
            self.constraints.extrapolate(point.dx)
            again = self._search(point, self.quadratic.solve(point, self.constraints))
            if again is not None:
                found = again
                self._detect(found)
        return found

    def _search(self, point: Point, step: Step) -> Point | None:
        """Line search: the point along the step where it neither overshoots nor inverts cells."""
        assert self.quadratic.metric is not None
        metric = self.quadratic.metric
        self.unstable_step = metric.attempt > 0 or (self.reflect and metric.unstable > 0)
        if self.unstable_step:
            return self._search_unstable(point, step)
        self.shapes.place(point.dx)
        with self.timers.stage("energy"):
            if self.rate is None:
                self.rate = self.shapes.rate(step.dx)
                if self.rate > INCREMENT_STRAIN:
                    raise IncrementError(f"a step strains cells by {self.rate:.2g}", self.rate)
            expected = self.shapes.expected(step.dx)
            slope = self._slope(point, step, step.dx, self.shapes.forces(expected))
        s = 1.0
        while s > SHORTEST:
            self.shapes.place(point.dx)
            with self.timers.stage("curve"):
                moved = self.shapes.curved(s * step.dx)
            new = self._at(point.dx + moved)
            if new is None:
                s *= 0.5
                continue
            with self.timers.stage("energy"):
                now = self._slope(new, step, 2.0 * moved / s - step.dx, self.shapes.forces(expected))
            if slope >= 0.0 or now <= -0.9 * slope:
                self._take(point, step, s, expected)
                self.shapes.place(new.dx)
                return new
            s *= min(max(-slope / (now - slope), 0.1), 0.6)
        self.shapes.place(point.dx)
        return None

    def _search_unstable(self, point: Point, step: Step) -> Point | None:
        """Line search along negative curvature: a short step that decreases the augmented Lagrangian (Armijo)."""
        self.shapes.place(point.dx)
        s = min(1.0, UNSTABLE_STRAIN / max(self.shapes.rate(step.dx), 1e-300))
        start, slope = self._merit(point, step, point), self._slope(point, step, step.dx, point.r)
        while s > SHORTEST:
            self.shapes.place(point.dx)
            with self.timers.stage("curve"):
                moved = self.shapes.curved(s * step.dx)
            new = self._at(point.dx + moved)
            # Armijo's constant, the usual one
            if new is not None and self._merit(new, step, point) <= start + 1e-4 * s * slope:
                self._take(point, step, s, [None] * len(self.expected))
                self.shapes.place(new.dx)
                return new
            s *= 0.5
        self.shapes.place(point.dx)
        return None

    def _merit(self, point: Point, step: Step, start: Point) -> float:
        """φ at `point` with the forces of `step` from `start`, J."""
        merit = point.energy.total - float(step.contact_push @ (point.dx - start.dx))
        if len(step.actuator_forces):
            assert point.actuators is not None
            missing = point.actuators.gap - point.actuators.target
            merit += float(missing @ (0.5 * step.rho * missing - step.actuator_forces))
        return merit

    def _take(self, point: Point, step: Step, s: float, expected: Sequence[Expected | None]) -> None:
        """Note that the fraction s of `step` was taken."""
        self.quadratic.taken(point, step)
        self.used = self.constraints.at_present(point.actuators)
        self.contact_push, self.actuator_forces = step.contact_push, step.actuator_forces
        self.correction = self.shapes.split(s * step.dx)
        self.moved = float(np.abs(step.dx).max())
        self.expected, self.length = expected, s
        if s < 1.0 and not self.unstable_step:
            self.shapes.place(point.dx)
            self.expected = self.shapes.expected(s * step.dx)

    def _slope(self, point: Point, step: Step, along: FloatArray, forces: FloatArray) -> float:
        """φ′ along the direction `along` at `point`, where bodies have the `forces` (N,)."""
        gradient = -forces - step.contact_push
        if len(step.actuator_forces):
            assert point.actuators is not None
            missing = point.actuators.gap - point.actuators.target
            gradient = gradient - point.C.T @ (step.actuator_forces - step.rho * missing)
        return float(np.where(self.shapes.constrained, 0.0, gradient) @ along)


def _matrix(rows: Rows) -> sparse.csr_matrix:
    return sparse.hstack(rows.H, format="csr")
