"""Minimise the energy of all bodies under the rows that push: sequential quadratic programming over a kept factor.

    min E(q)   with   V_c(q) = α V₀ for every chamber,   gap(q) ≥ 0 for every contact

Each iteration solves the quadratic problem of the present shape (`quadratic`) with the inverse of a kept matrix
(`metric`), improved by the last steps (`quasi_newton`). λ of a chamber is its pressure, λ of a contact its force. The
step is followed along the curve that it begins (`curved`), as far as the augmented Lagrangian

    φ(s) = E − Σ λ c + ½ Σ ρ c²        (c: what chambers and cables still lack, ρ = 4/|W|)

allows: it must not overshoot, nor turn a cell inside out.

A shape on the way, from which the next part of it goes on, need not be a minimum: one step from the last one is enough,
as long as nothing is crossed.
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
from pliant.geometric.laws import imposed, lack, lengths, unbounded
from pliant.geometric.metric import TangentMetric
from pliant.geometric.mixed import Expected
from pliant.geometric.quadratic import LeapError, Point, Quadratic, StalledError, Step
from pliant.geometric.shapes import Shapes
from pliant.geometric.touching import Touching
from pliant.stepping.bodies import Reactions, StepBodies
from pliant.stepping.session import DirectSession
from pliant.stepping.stages import Step as BodyStep

PATIENCE = 6
"""Iterations for which a factor may still be needed, at the present rate, before a new one is cheaper."""
CLOSE = 1e-2
"""Relative gradient from which on a factor is kept: farther away the steps are too long to learn from."""
STILL = 8e-4
"""Length of the last step, as a share of the size of the largest body, up to which a factor is kept: what is slender
turns with a longer one, and then bends where the factor says that it stretches.
"""
FALL = 0.15
"""Most strain of a cell in a step from an unstable shape."""
FALLS = 60
"""Most steps from unstable shapes."""
LEAP = 0.6
"""Strain of a cell in the first step of a part of the way beyond which that part is too long."""
SHORTEST = 1e-4
"""Shortest share of a step that is tried."""
SLACK = 2e-4
"""How deep contacts may stand in each other at the end, as a share of the size of the largest body."""
NEARBY = 1e-3
"""Length of a step up to which contacts are followed instead of looked for, as a share of that size."""
ROUNDING = 1e-7
"""Forces below this share of modulus times size squared are nothing."""


@dataclass(frozen=True)
class Settings:
    """What a descent may do: the relative gradient to reach, iterations, and steps remembered."""

    tolerance: float
    maximum_iterations: int
    memory: int


@dataclass(eq=False)
class Effort:
    """What descents took: iterations, factorizations, the largest σ that a tangent needed; which attempt gave the last
    one, and the nodes that had to be lifted in each body (`metric`).
    """

    iterations: int = 0
    factorizations: int = 0
    shift: float = 0.0
    attempt: int = 0
    lifts: list[list[int]] = field(default_factory=list)


class Descent:
    """The way of the bodies of a step from its start to the minimum of the energy."""

    def __init__(self, bodies: StepBodies, settings: Settings, timers: StageTimers, effort: Effort) -> None:
        self.settings = settings
        self.timers = timers
        self.effort = effort
        self.shapes = Shapes(bodies)
        self.touching = Touching(self.shapes)
        self.size = max(float(np.ptp(model.rest, axis=0).max()) for model in self.shapes.models)
        stiffest = max(material.shear_modulus for model in self.shapes.models for material in model.spec.materials)
        self.noise = ROUNDING * stiffest * self.size**2
        self.quadratic = Quadratic(~self.shapes.held, self.size, settings.memory, timers)
        self.used: Assembly | None = None
        self.expected: Sequence[Expected | None] = [None] * len(self.shapes.models)
        self.of_drives: FloatArray = np.zeros(0)
        self.pushed: FloatArray = np.zeros(len(self.shapes.held))
        self.correction: list[FloatArray] = self.shapes.split(np.zeros(len(self.shapes.held)))
        self.residual, self.moved = np.inf, np.inf
        self.age, self.length = 0, 1.0
        self.fall = self.falling = False
        self.unstable = 0
        self.rate: float | None = None
        if not effort.lifts:
            effort.lifts = [[] for _ in self.shapes.models]

    @property
    def depth(self) -> float:
        """How deep contacts stand in each other, m."""
        return self.touching.depth

    def run(self, *, before: Descent | None = None, passing: bool = False, fall: bool = False) -> None:
        """Descend to the tolerance, or no farther than needed to go on where the shape is `passing`, under the
        stresses that the descent `before` expected. Raises `StalledError` where that fails.
        """
        self.fall = fall
        if before is not None:
            self.expected = before.expected
        point, last = self._start(), np.inf
        self._find(point)
        number = falls = 0
        while number - falls <= self.settings.maximum_iterations and falls <= FALLS:
            if self._arrived(point) or (passing and number and self.depth <= self.touching.reach):
                return
            self._choose_metric(self.residual / last if last else 1.0)
            last = self.residual
            found = self._advance(point)
            if found is None or (number == 0 and self.length < 1.0 and not self.falling):
                raise StalledError("the step turns cells inside out")
            point = found
            number, falls = number + 1, falls + self.falling
            self.age += 1
            self.effort.iterations += 1
        raise StalledError(f"the gradient is still {self.residual:.1e} after {number} iterations")

    def outcome(self) -> tuple[Assembly | None, FloatArray]:
        """The rows of the last quadratic problem and their λ; those of the start where none was solved."""
        used = self.touching.assembly if self.used is None else self.used
        return used, np.zeros(0) if used is None else forces_of(used.rows.key, *self.touching.known)

    def step(self, timers: StageTimers) -> BodyStep:
        """The shape that was reached as the data of a step."""
        assembly, lam = self.outcome()
        reactions = None if assembly is None else Reactions(assembly, lam, tuple(self.pushes()))
        bodies = replace(self.shapes.bodies, reactions=reactions)
        return BodyStep(bodies, DirectSession(), timers, assembly, lam, tuple(self.correction))

    def pushes(self) -> list[FloatArray]:
        """Forces of all rows on the nodes of each body, (n, 3), N."""
        drives, push = self.touching.drives(), self.pushed
        if drives is not None:
            push = push + np.where(self.shapes.held, 0.0, _matrix(drives).T @ self.of_drives)
        return self.shapes.split(push)

    def release(self) -> None:
        """Hand the memory of the factor back."""
        self.quadratic.release()

    def _start(self) -> Point:
        """The start, with what is held moved to where it has to be."""
        dx = np.zeros(len(self.shapes.held))
        trials: Any = self.shapes.bodies.trials
        for part, trial in zip(self.shapes.split(dx), trials, strict=True):
            moved = trial.held_motion()
            if moved is not None:
                part += moved
        point = self._at(dx)
        if point is None:
            raise StalledError("what is held would turn cells inside out on its way")
        return point

    def _at(self, dx: FloatArray) -> Point | None:
        """The point at `dx`, or None where a material is undefined or a cell is turned inside out."""
        with self.timers.stage("energy"):
            energy = self.shapes.energy(dx)
            if not np.isfinite(energy.total) or self.shapes.inverted():
                return None
        with self.timers.stage("rows"):
            drives = self.touching.drives()
            return Point(dx, energy, drives, sparse.csr_matrix((0, len(dx))) if drives is None else _matrix(drives))

    def _find(self, point: Point) -> None:
        """Look for contacts at `point`; before the first step λ of those that were there at the start push."""
        with self.timers.stage("rows"):
            self.touching.find(point.dx)
        if self.used is None and self.touching.assembly is not None:
            touching = self.touching
            self.of_drives = touching.lam[touching.drive]
            push = touching.H.T @ touching.lam[touching.contact]
            self.pushed = np.where(self.shapes.held, 0.0, push)

    def _arrived(self, point: Point) -> bool:
        """Whether equilibrium, drives and contacts all hold within the tolerance; notes how well.

        Contacts push along the normals at which their forces were found, a short step ago; what they must not do,
        cross, is looked up again.
        """
        if not self._balanced(point):
            return False
        if self.used is not None and self.moved > SLACK * self.size:
            return False
        if self.depth <= SLACK * self.size and self.touching.found_at(point.dx):
            return True
        self._find(point)
        return self.depth <= SLACK * self.size

    def _balanced(self, point: Point) -> bool:
        """Whether equilibrium and drives hold within the tolerance."""
        push: FloatArray = self.pushed
        lacking = 0.0
        if point.drives is not None:
            push = push + np.where(self.shapes.held, 0.0, point.C.T @ self.of_drives)
            lacks = lack(point.drives, self.of_drives) / lengths(point.drives)
            lacking = float(np.abs(lacks).max(initial=0.0)) if imposed(point.drives, self.of_drives) else np.inf
        scale = max(point.energy.scale, float(np.linalg.norm(push)), self.noise)
        self.residual = _ratio(float(np.linalg.norm(point.r + push)), scale)
        return self.residual <= self.settings.tolerance and lacking <= 0.1 * self.settings.tolerance * self.size

    def _choose_metric(self, rate: float) -> None:
        """A new factor where the present one is too slow for what is left to do."""
        if self.quadratic.metric is not None and self.residual < CLOSE and self.moved < STILL * self.size:
            left = np.log(self.settings.tolerance / max(self.residual, 1e-300)) / np.log(min(max(rate, 1e-9), 0.99))
            if left <= PATIENCE:
                return
        self._renew()

    def _renew(self) -> None:
        with self.timers.stage("factorize"):
            self.quadratic.release()
            found, bodies = self.touching.assembly, self.shapes.bodies
            if found is not None:
                bodies = replace(bodies, reactions=Reactions(found, self.touching.lam, None))
            try:
                given, effort = self._given(), self.effort
                metric = TangentMetric(bodies, self.expected, given, effort.lifts, last=effort.attempt, fall=self.fall)
            except SingularError as error:
                raise StalledError(str(error)) from error
        self.quadratic.renew(metric)
        self.age = 0
        self.effort.factorizations += 1
        self.effort.shift = max(self.effort.shift, metric.shift)
        self.effort.attempt = metric.attempt
        self.unstable = metric.unstable

    def _given(self) -> sparse.csr_matrix:
        """Rows that have to meet their target at the present shape, over the free unknowns, (m, N)."""
        drives, free = self.touching.drives(), sparse.diags((~self.shapes.held).astype(float))
        if drives is None:
            return sparse.csr_matrix((0, len(self.shapes.held)))
        return (_matrix(drives)[unbounded(drives)] @ free).tocsr()

    def _advance(self, point: Point) -> Point | None:
        """The next point, with its contacts. Where a long step comes to stand in something that it did not know of,
        the problem is solved once more with what it met.
        """
        known = self.touching.known
        found = self._search(point, self.quadratic.solve(point, self.touching))
        if found is None and self.age:
            self.shapes.place(point.dx)
            self._renew()
            found = self._search(point, self.quadratic.solve(point, self.touching))
        if found is None:
            return None
        if self.moved <= NEARBY * self.size:
            self.touching.follow(found.dx)
            return found
        self._find(found)
        if self.depth > SLACK * self.size and self.age == 0:
            self.touching.known = known
            self.touching.follow(point.dx)
            again = self._search(point, self.quadratic.solve(point, self.touching))
            if again is not None:
                found = again
                self._find(found)
        return found

    def _search(self, point: Point, step: Step) -> Point | None:
        """The point at the end of the step, as much of it as does not overshoot nor turn cells inside out."""
        assert self.quadratic.metric is not None
        metric = self.quadratic.metric
        self.falling = metric.attempt > 0 or (self.fall and metric.unstable > 0)
        if self.falling:
            return self._fall(point, step)
        self.shapes.place(point.dx)
        with self.timers.stage("energy"):
            if self.rate is None:
                self.rate = self.shapes.rate(step.dx)
                if self.rate > LEAP:
                    raise LeapError(f"a step strains cells by {self.rate:.2g}", self.rate)
            expected = self.shapes.expected(step.dx)
            slope = self._slope(point, step, step.dx, self.shapes.forces(expected))
        s = 1.0
        while s > SHORTEST:
            self.shapes.place(point.dx)
            with self.timers.stage("curve"):
                way = self.shapes.curved(s * step.dx)
            new = self._at(point.dx + way)
            if new is None:
                s *= 0.5
                continue
            with self.timers.stage("energy"):
                now = self._slope(new, step, 2.0 * way / s - step.dx, self.shapes.forces(expected))
            if slope >= 0.0 or now <= -0.9 * slope:
                self._take(point, step, s, expected)
                self.shapes.place(new.dx)
                return new
            s *= min(max(-slope / (now - slope), 0.1), 0.6)
        self.shapes.place(point.dx)
        return None

    def _fall(self, point: Point, step: Step) -> Point | None:
        """The point along the step where the matrix had to be lifted: an unstable shape, which falls. A short way of
        that is right to first order, along which the augmented Lagrangian itself goes down.
        """
        self.shapes.place(point.dx)
        s = min(1.0, FALL / max(self.shapes.rate(step.dx), 1e-300))
        start, slope = self._merit(point, step, point), self._slope(point, step, step.dx, point.r)
        while s > SHORTEST:
            self.shapes.place(point.dx)
            with self.timers.stage("curve"):
                way = self.shapes.curved(s * step.dx)
            new = self._at(point.dx + way)
            if new is not None and self._merit(new, step, point) <= start + 1e-4 * s * slope:
                self._take(point, step, s, [None] * len(self.expected))
                self.shapes.place(new.dx)
                return new
            s *= 0.5
        self.shapes.place(point.dx)
        return None

    def _merit(self, point: Point, step: Step, start: Point) -> float:
        """φ at `point` with the forces of `step` from `start`, J."""
        merit = point.energy.total - float(step.pushed @ (point.dx - start.dx))
        if len(step.of_drives):
            assert point.drives is not None
            missing = point.drives.gap - point.drives.target
            merit += float(missing @ (0.5 * step.rho * missing - step.of_drives))
        return merit

    def _take(self, point: Point, step: Step, s: float, expected: Sequence[Expected | None]) -> None:
        """Note that the share s of `step` was taken."""
        self.quadratic.taken(point, step)
        self.used, self.pushed, self.of_drives = self.touching.present(point.drives), step.pushed, step.of_drives
        self.correction = self.shapes.split(s * step.dx)
        self.moved = float(np.abs(step.dx).max())
        self.expected, self.length = expected, s
        if s < 1.0 and not self.falling:
            self.shapes.place(point.dx)
            self.expected = self.shapes.expected(s * step.dx)

    def _slope(self, point: Point, step: Step, along: FloatArray, forces: FloatArray) -> float:
        """φ′ along the direction `along` at `point`, where bodies have the `forces` (N,)."""
        gradient = -forces - step.pushed
        if len(step.of_drives):
            assert point.drives is not None
            missing = point.drives.gap - point.drives.target
            gradient = gradient - point.C.T @ (step.of_drives - step.rho * missing)
        return float(np.where(self.shapes.held, 0.0, gradient) @ along)


def _matrix(rows: Rows) -> sparse.csr_matrix:
    return sparse.hstack(rows.H, format="csr")


def _ratio(value: float, scale: float) -> float:
    return value / scale if scale else 0.0
