"""Minimise the energy of all bodies under the rows that push: sequential quadratic programming over a kept factor.

    min E(q)   with   V_c(q) = α V₀ for every chamber,   gap(q) ≥ 0 for every contact

Each iteration solves the quadratic problem of the present shape: dx = H (r + Cᵀλ) with the inverse H of a kept matrix
(`metric`), improved by the last steps (`quasi_newton`), r = −∂E/∂q, rows C, and λ from δ = gap + C dx and the laws of
the rows. λ of a chamber is its pressure, λ of a contact its force. Contacts that neither pushed before nor would be
crossed are left out of W and looked at again afterwards: they join it until none is crossed. The step is as long as the
augmented Lagrangian

    φ(s) = E − Σ λ c + ½ Σ ρ c²        (c: what chambers and cables still lack, ρ = 4/|W|)

allows: it must not overshoot, nor turn a cell inside out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from pliant.constraints import Assembly, Rows, assemble, forces_of
from pliant.constraints.contact import ContactPair
from pliant.core.arrays import transposed_product
from pliant.core.errors import ConvergenceError, SingularError
from pliant.core.timers import StageTimers
from pliant.core.types import FloatArray, IndexArray
from pliant.geometric.laws import lack, lengths, meeting, solved, unbounded
from pliant.geometric.metric import TangentMetric
from pliant.geometric.mixed import Expected
from pliant.geometric.quasi_newton import QuasiNewton
from pliant.geometric.shapes import Energy, Shapes
from pliant.solvers.complementarity import MixedProblem
from pliant.stepping.motion import Motion

PATIENCE = 6
"""Iterations for which a factor may still be needed, at the present rate, before a new one is cheaper."""
CLOSE = 1e-2
"""Relative gradient from which on a factor is kept: farther away the steps are too long to learn from."""
SHORTEST = 1e-4
"""Shortest share of a step that is tried."""
SLACK = 2e-4
"""How deep contacts may stand in each other at the end, as a share of the size of the largest body: where a vertex
slides over an edge its nearest face changes for ever from one iteration to the next.
"""
ROUNDING = 1e-7
"""Forces below this share of modulus times size squared are nothing."""
ROUNDS = 12
"""How often crossed contacts may join the quadratic problem of one iteration."""


@dataclass(frozen=True)
class Settings:
    """What a descent may do: the relative gradient to reach, iterations, and steps remembered."""

    tolerance: float
    maximum_iterations: int
    memory: int


@dataclass(eq=False)
class Effort:
    """What descents took: iterations, factorizations, and the largest σ that a tangent needed."""

    iterations: int = 0
    factorizations: int = 0
    shift: float = 0.0


class StalledError(Exception):
    """A descent that did not reach its tolerance; its text says why."""


class Point(NamedTuple):
    """A shape with all that is known of it: energy (J), r (N,) in N, the rows of drives and their matrix (m, N)."""

    dx: FloatArray
    energy: Energy
    drives: Rows | None
    C: sparse.csr_matrix

    @property
    def r(self) -> FloatArray:
        """Forces (N,), N."""
        return self.energy.r


class Step(NamedTuple):
    """The solution of a quadratic problem: dx (N,) m, λ of the drives and of the contacts, and ρ of the drives."""

    dx: FloatArray
    of_drives: FloatArray
    of_contacts: FloatArray
    rho: FloatArray


class Descent:
    """The way of one `Motion` from its start to the minimum of the energy."""

    def __init__(self, motion: Motion, settings: Settings, timers: StageTimers, effort: Effort) -> None:
        self.motion = motion
        self.settings = settings
        self.timers = timers
        self.effort = effort
        self.shapes = Shapes(motion)
        self.metric: Any = None
        self.pairs = QuasiNewton(settings.memory)
        self.is_contact = np.array([isinstance(maker, ContactPair) for maker in motion.makers], bool)
        margins = [maker.margin for maker in motion.makers if isinstance(maker, ContactPair)]
        self.reach = 0.5 * min(margins, default=np.inf)
        self.size = max(float(np.ptp(model.rest, axis=0).max()) for model in self.shapes.models)
        stiffest = max(material.shear_modulus for model in self.shapes.models for material in model.spec.materials)
        self.noise = ROUNDING * stiffest * self.size**2
        self.memories: tuple[Any, ...] = motion.start.memories or (None,) * len(motion.makers)
        self.assembly: Assembly | None = None
        self.lam: FloatArray = np.zeros(0)
        self.known = (motion.start.keys, motion.start.lam)
        self.used: Assembly | None = None
        self.moved = 0.0
        self.expected: Sequence[Expected | None] = [None] * len(self.shapes.models)
        self.of_drives: FloatArray = np.zeros(0)
        self.pushed: FloatArray = np.zeros(len(self.shapes.held))
        self.correction: list[FloatArray] = self.shapes.split(np.zeros(len(self.shapes.held)))
        self.residual = np.inf
        self.depth, self.age, self.length = 0.0, 0, 1.0
        self._last: tuple[Point, FloatArray, FloatArray] | None = None

    def run(self) -> None:
        """Descend to the tolerance; raises `StalledError` where that fails."""
        point, before = self._start(), np.inf
        for number in range(self.settings.maximum_iterations + 1):
            with self.timers.stage("rows"):
                self._find_rows()
            if self._arrived(point):
                return
            if self.depth > self.reach:
                raise StalledError(f"bodies stand {1e3 * self.depth:.3g} mm in each other after a step")
            self._choose_metric(self.residual / before if before else 1.0)
            before = self.residual
            found = self._search(point, self._solve(point))
            if found is None and self.age:
                self._renew()
                found = self._search(point, self._solve(point))
            if found is None or (number == 0 and self.length < 1.0):
                raise StalledError("the step turns cells inside out")
            point = found
            self.age += 1
            self.effort.iterations += 1
        raise StalledError(
            f"the gradient is still {self.residual:.1e} after {self.settings.maximum_iterations} iterations"
        )

    def outcome(self) -> tuple[Assembly | None, FloatArray]:
        """The rows of the last quadratic problem and their λ; those of the start where none was solved."""
        used = self.assembly if self.used is None else self.used
        return used, np.zeros(0) if used is None else forces_of(used.rows.key, *self.known)

    def pushes(self) -> list[FloatArray]:
        """Forces of all rows on the nodes of each body, (n, 3), N."""
        drives = self._drives()
        push = self.pushed if drives is None else self.pushed + self._push(drives, slice(None), self.of_drives)
        return self.shapes.split(push)

    def release(self) -> None:
        """Hand the memory of the factor back."""
        if self.metric is not None:
            self.metric.release()
            self.metric = None

    def _start(self) -> Point:
        """The start, with what is held moved to where it has to be."""
        dx = np.zeros(len(self.shapes.held))
        trials: Any = self.motion.trials
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
            drives = self._drives()
            C = sparse.csr_matrix((0, len(dx))) if drives is None else sparse.hstack(drives.H, format="csr")
        return Point(dx, energy, drives, C)

    def _drives(self) -> Rows | None:
        """Rows of everything but contacts at the present shape."""
        makers = [maker for maker, contact in zip(self.motion.makers, self.is_contact, strict=True) if not contact]
        if not makers:
            return None
        return assemble(makers, [self.motion.view()] * len(makers)).rows

    def _find_rows(self) -> None:
        """All rows at the present shape; before the first step with λ of those that were there at the start."""
        if not len(self.is_contact):
            return
        view = self.motion.view()
        views = [view if memory is None else replace(view, memory=memory) for memory in self.memories]
        self.assembly = assemble(self.motion.makers, views)
        self.memories = self.assembly.memories
        of_contacts = np.zeros(self.assembly.rows.count, bool)
        for place, contact in zip(self.assembly.places, self.is_contact, strict=True):
            of_contacts[place] = contact
        self.contact_rows, self.drive_rows = np.flatnonzero(of_contacts), np.flatnonzero(~of_contacts)
        rows = self.assembly.rows
        self.lam = forces_of(rows.key, *self.known)
        if self.used is None:
            self.of_drives = self.lam[self.drive_rows]
            self.pushed = self._push(rows, self.contact_rows, self.lam[self.contact_rows])

    def _push(self, rows: Rows, which: Any, lam: FloatArray) -> FloatArray:
        """Forces (N,) of the rows `which` under λ, zero at held unknowns."""
        push = np.concatenate([transposed_product(H[which], lam) for H in rows.H])
        return np.where(self.shapes.held, 0.0, push)

    def _arrived(self, point: Point) -> bool:
        """Whether equilibrium, drives and contacts all hold within the tolerance; notes how well.

        Contacts push along the normals at which their forces were found, one short step ago; what they must not do,
        cross, is looked up again. Two sets of features that stand for the same contact may follow each other for ever.
        """
        tolerance = self.settings.tolerance
        push: FloatArray = self.pushed
        lacking = 0.0
        if point.drives is not None:
            push = push + np.where(self.shapes.held, 0.0, point.C.T @ self.of_drives)
            lacks = lack(point.drives, self.of_drives) / lengths(point.drives)
            lacking = float(np.abs(lacks).max(initial=0.0))
        scale = max(point.energy.scale, float(np.linalg.norm(push)), self.noise)
        self.residual = _ratio(float(np.linalg.norm(point.r + push)), scale)
        near, slack = 0.1 * tolerance * self.size, SLACK * self.size
        if self.assembly is not None:
            self.depth = max(0.0, -float(self.assembly.rows.gap[self.contact_rows].min(initial=0.0)))
        settled = self.used is None or self.moved <= slack
        return self.residual <= tolerance and lacking <= near and self.depth <= slack and settled

    def _choose_metric(self, rate: float) -> None:
        """A new factor where the present one is too slow for what is left to do."""
        if self.metric is not None and self.residual < CLOSE:
            left = np.log(self.settings.tolerance / max(self.residual, 1e-300)) / np.log(min(max(rate, 1e-9), 0.99))
            if left <= PATIENCE:
                return
        self._renew()

    def _renew(self) -> None:
        with self.timers.stage("factorize"):
            if self.metric is not None:
                self.metric.release()
            self.motion.assembly, self.motion.lam = self.assembly, self.lam
            try:
                self.metric = TangentMetric(self.motion, self.expected, self._given_count())
            except SingularError as error:
                raise StalledError(str(error)) from error
        if self.metric.shift:
            self.pairs.rebase(self.metric.solve)
        else:
            self.pairs.clear()
        self._last, self.age = None, 0
        self.effort.factorizations += 1
        self.effort.shift = max(self.effort.shift, self.metric.shift)

    def _given_count(self) -> int:
        """Rows that have to meet their target, and so hold a direction each."""
        return 0 if self.assembly is None else int(np.count_nonzero(unbounded(self.assembly.rows)))

    def _solve(self, point: Point) -> Step:
        """The quadratic problem at `point`: the drives, and as many contacts as it takes that none is crossed."""
        free = ~self.shapes.held
        with self.timers.stage("solve"):
            given = np.column_stack([point.r, point.C.toarray().T]) * free[:, None]
            raw = self.metric.solve(given)
            self._learn(point, raw)
            solved = self.pairs.improved(given, raw)
        m = point.C.shape[0]
        if self.assembly is None or not self.assembly.rows.count:
            return Step(solved[:, 0], np.zeros(0), np.zeros(0), np.zeros(0))
        rows = self.assembly.rows
        H = sparse.hstack(rows.H, format="csr")
        drive, contact = self.drive_rows, self.contact_rows
        response = H @ solved  # of all rows to r and to unit forces of the drives
        rho = 4.0 / np.maximum(np.abs(response[drive, 1 + np.arange(m)]), 1e-300)
        delta_free = rows.gap + response[:, 0]
        chosen = self.lam[contact] > 0.0
        lam_c = np.zeros(len(contact))
        for _ in range(ROUNDS):
            picked = np.concatenate([drive, contact[chosen]])
            across = response[contact[chosen], 1:]
            W = np.block([[response[drive, 1:], across.T], [across, self._compliance(rows, contact[chosen])]])
            lam = self._forces(rows, picked, W, delta_free)
            dx = solved[:, 0] + solved[:, 1:] @ lam[:m]
            if chosen.any():
                push = np.concatenate([transposed_product(h[contact[chosen]], lam[m:]) for h in rows.H]) * free
                with self.timers.stage("solve"):
                    dx = dx + self.pairs.improved(push, self.metric.solve(push[:, None])[:, 0])
            end = (rows.gap + H @ dx)[contact]
            crossed = ~chosen & (end < -1e-9 * self.size)
            if not crossed.any():
                break
            chosen |= crossed
        lam_c[chosen] = lam[m:]
        whole = np.zeros(rows.count)
        whole[drive], whole[contact] = lam[:m], lam_c
        self.lam, self.known = whole, (rows.key, whole)
        return Step(dx, lam[:m], lam_c, np.where(meeting(rows, whole)[drive], rho, 0.0))

    def _compliance(self, rows: Rows, which: IndexArray) -> FloatArray:
        """W of the rows `which` among themselves."""
        if not len(which):
            return np.zeros((0, 0))
        with self.timers.stage("condense"):
            own = [H[which] for H in rows.H]
            W: FloatArray = self.metric.compliance(own)
            if self.pairs.update is not None:
                U, M = self.pairs.update
                CU = sparse.hstack(own, format="csr") @ U
                W = W + CU @ M @ CU.T
        return W

    def _forces(self, rows: Rows, picked: IndexArray, W: FloatArray, delta_free: FloatArray) -> FloatArray:
        """λ of the rows `picked` from their laws. Those that have to meet their target are eliminated here: W of a
        chamber is negative where its pressure falls as it grows.
        """
        p = MixedProblem(
            0.5 * (W + W.T),
            delta_free[picked],
            rows.law[picked],
            rows.mu[picked],
            rows.lower[picked],
            rows.upper[picked],
            rows.target[picked],
        )
        fixed = unbounded(rows)[picked]
        with self.timers.stage("constraints"):
            try:
                return solved(p, fixed, self.lam[picked])
            except (ConvergenceError, np.linalg.LinAlgError) as error:
                raise StalledError(str(error)) from error

    def _learn(self, point: Point, raw: FloatArray) -> None:
        """Add the pair of the last step, from the solutions with the kept factor before and after it."""
        if self._last is not None:
            before, old, lam = self._last
            s = point.dx - before.dx
            change = (point.C - before.C).T @ lam if len(lam) else 0.0
            y = np.where(self.shapes.held, 0.0, -(point.r - before.r) - change)
            self.pairs.learn(s, y, -(raw[:, 0] - old[:, 0]) - (raw[:, 1:] - old[:, 1:]) @ lam)
        self._raw = raw

    def _search(self, point: Point, step: Step) -> Point | None:
        """The point at the end of the step, as much of it as does not overshoot nor turn cells inside out."""
        pushed: FloatArray = np.zeros(len(point.dx))
        if self.assembly is not None:
            pushed = self._push(self.assembly.rows, self.contact_rows, step.of_contacts)
        self.shapes.place(point.dx)
        expected = self.shapes.expected(step.dx)
        slope = self._slope(point, step, pushed + self.shapes.forces(expected))
        s = 1.0
        while s > SHORTEST:
            new = self._at(point.dx + s * step.dx)
            if new is None:
                s *= 0.5
                continue
            now = self._slope(new, step, pushed + self.shapes.forces(expected))
            if slope >= 0.0 or now <= -0.9 * slope:
                self._last = (point, self._raw, step.of_drives)
                self.used, self.pushed, self.of_drives = self.assembly, pushed, step.of_drives
                self.correction = self.shapes.split(s * step.dx)
                self.moved = float(np.abs(step.dx).max())
                self.expected, self.length = expected, s
                if s < 1.0:
                    self.shapes.place(point.dx)
                    self.expected = self.shapes.expected(s * step.dx)
                    self.shapes.place(new.dx)
                return new
            s *= min(max(-slope / (now - slope), 0.1), 0.6)
        self.shapes.place(point.dx)
        return None

    def _slope(self, point: Point, step: Step, forces: FloatArray) -> float:
        """φ′ along the step at `point`, where bodies and contacts have the `forces` (N,)."""
        gradient = -forces
        if len(step.of_drives):
            assert point.drives is not None
            missing = point.drives.gap - point.drives.target
            gradient = gradient - point.C.T @ (step.of_drives - step.rho * missing)
        return float(np.where(self.shapes.held, 0.0, gradient) @ step.dx)


def _ratio(value: float, scale: float) -> float:
    return value / scale if scale else 0.0
