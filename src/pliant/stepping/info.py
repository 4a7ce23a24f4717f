"""What a step reports beside the new state."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Any

import numpy as np

from pliant.constraints import Assembly
from pliant.core.errors import InputError
from pliant.core.immutable import filled
from pliant.core.one_line import one_line
from pliant.core.status import Status
from pliant.core.types import FloatArray
from pliant.stepping import diagnosis
from pliant.stepping.diagnosis import Diagnosis
from pliant.stepping.passing import Waypoint, passing_warnings
from pliant.stepping.stages import Step
from pliant.world import State, World


@one_line
@dataclass(frozen=True, eq=False)
class RigidMotion:
    """Motion of an unclamped body that static equilibrium leaves open.

    `acceleration` (6,): the linear (m/s²) and angular (rad/s²) acceleration that the unbalanced loads would give it,
    about its centre of mass; `free_directions` is how many of the six rigid motions nothing resists.
    """

    body: str
    free_directions: int
    acceleration: FloatArray


@one_line
@dataclass(frozen=True, eq=False)
class Contacts:
    """Contacts between two bodies, m of them: `points` (m, 3) m, `normals` (m, 3) towards the first body, `gaps` (m,) m
    at the end of the step, and `forces` (m, 3) N on the first body.
    """

    points: FloatArray
    normals: FloatArray
    gaps: FloatArray
    forces: FloatArray


@one_line
@dataclass(frozen=True, eq=False)
class StepInfo:
    """Outcome of one step, in numbers and arrays.

    `iterations` counts linear solves. `linear_residual` is ‖A dx − r‖/‖r‖ of the last of them. `tangents_projected`
    counts those whose tangent had to be projected to positive definite. `stage_times` holds seconds by stage. `lam`
    (rows,) are the multipliers of the rows, in N. `inverse` is what an inverse solver reports; `shift` the fraction of
    the mass that a quasi-static solve last added to the matrix, and `method` how it found the equilibrium: "newton" at
    the full load, "load increments", or "dynamic relaxation". `step` is the data of the finished step, frozen, from
    which read-outs and `diagnose` are computed; `advanced` is the state that it led to. `passed` are the equilibria of
    the load path before the last increment.
    """

    status: Status
    iterations: int
    linear_residual: float
    stage_times: dict[str, float]
    step: Step = field(repr=False)
    advanced: State = field(repr=False)
    tangents_projected: int = 0
    load_steps: int = 1
    rigid_motion: tuple[RigidMotion, ...] = ()
    inverse: Any = None
    shift: float = 0.0
    method: str = ""
    lam: FloatArray | None = None
    passed: Sequence[Waypoint] = field(default=(), repr=False)

    @property
    def world(self) -> World:
        """The world that was stepped."""
        return self.step.world

    @property
    def parts(self) -> int:
        """Parts into which the step was divided: more than usual where elements inverted, or an iteration failed."""
        return self.step.parts

    @property
    def constraint_status(self) -> Status:
        """How the search for the constraint forces of the last linear solve ended."""
        return self.step.constraint_status

    @property
    def constraint_residual(self) -> float:
        """How far these forces are from the laws of their rows, relative to the gaps without forces; usually < 1e-8."""
        return self.step.constraint_residual

    @property
    def assembly(self) -> Assembly | None:
        """The rows of the last linear solve, None where the world has no constraint."""
        return self.step.assembly

    @property
    def correction(self) -> tuple[FloatArray, ...]:
        """Displacement of each body in the last linear solve, of the shape of its dx, m (and rad)."""
        return self.step.dx

    def actuation(self, actuator: Any) -> tuple[Any, Any]:
        """Displacement (m) and tension (N) of a cable; growth (m³) and pressure (Pa) of a cavity; angle and torque of a
        hinge. Of several actuators, two arrays (k,).
        """
        if isinstance(actuator, Sequence) and not isinstance(actuator, str):
            pairs = np.array([self.actuation(one) for one in actuator]).reshape(-1, 2)
            return pairs[:, 0], pairs[:, 1]
        if self.assembly is None or self.lam is None:
            return 0.0, 0.0
        row = self.assembly.slices[self.world.constraint_index(actuator)].start
        return float(self.delta[row]), float(self.lam[row])

    def error(self, effector: Any) -> float:
        """Distance of an effector from its target at the end, m (m³, rad); root mean square of several points."""
        if self.inverse is None:
            raise InputError("this step had no inverse solver, so it had no effectors: solver=pl.Inverse(…)")
        return float(self.inverse.error(effector, self))

    def equilibrium_error(self, effector: Any, *, hold: str = "displacement") -> float:
        """Distance of an effector from its target once the actuation found is held and the forces balance, m (m³, rad):
        what a person measures on the robot. `error` is that of the linearised step.

        hold
            "displacement" holds the cable lengths, volumes and angles, "force" the tensions, pressures and torques.

        After a quasi-static step this is the static equilibrium; after a dynamic one, the same step converged. A
        forward solve of several linear solves, made when first read. `ConvergenceError` where there is no equilibrium.
        """
        if self.inverse is None:
            raise InputError("this step had no inverse solver, so it had no effectors: solver=pl.Inverse(…)")
        return self._equilibria(hold).error(effector)

    def _equilibria(self, hold: str) -> StepInfo:
        """The equilibrium with the actuation held, computed once for each way of holding it."""
        found: dict[str, StepInfo] = self._settled
        if hold not in found:
            found[hold] = self.inverse.equilibrium(self, hold)
        return found[hold]

    @cached_property
    def _settled(self) -> dict[str, StepInfo]:
        return {}

    @cached_property
    def delta(self) -> FloatArray:
        """δ of the rows at the end of the step as the linear solve sees it, (rows,), m (m³ for cavities)."""
        assert self.assembly is not None
        rows = self.assembly.rows
        delta = rows.gap.copy()
        for H, dx in zip(rows.H, self.correction, strict=True):
            delta += H @ dx.ravel()
        return delta

    def contacts(self, a: Any, b: Any = None) -> Contacts:
        """Contacts between `a` and `b`, or those of a `pl.Facing`: points, normals, gaps and the forces on `a`."""
        found = self.world.pairs(a, b)
        if self.assembly is None or self.lam is None:
            return Contacts(np.zeros((0, 3)), np.zeros((0, 3)), np.zeros(0), np.zeros((0, 3)))
        parts = [self._contacts(number, sign) for number, sign in found]
        if len(parts) == 1:
            return parts[0]
        return Contacts(*(np.concatenate([getattr(p, item.name) for p in parts]) for item in fields(Contacts)))

    def _contacts(self, index: int, sign: float) -> Contacts:
        assembly = self.assembly
        assert assembly is not None
        assert self.lam is not None
        pair: Any = self.world.constraints[index]
        memory, rows = assembly.memories[index], assembly.slices[index]
        force, found = sign * memory.forces(self.lam[rows]), memory.contacts
        gaps = pair.end_gaps(memory, self.delta[rows], self.step.bodies.view())
        return Contacts(found.point_a, sign * found.normal, gaps, force)

    def contact_force(self, a: Any, b: Any = None) -> FloatArray:
        """Total force that `b` exerts on `a`, or on the points of the `pl.Facing` `a`, (3,), N."""
        return np.asarray(self.contacts(a, b).forces.sum(axis=0))

    @property
    def unknown_contacts(self) -> int:
        """Contacts that push and that a reduced contact model does not know: they have rows of their own."""
        assembly = self.assembly
        if assembly is None or self.lam is None:
            return 0
        parts = zip(self.world.constraints, assembly.memories, assembly.slices, strict=False)
        return sum(constraint.unknown_pushing(memory, self.lam[rows]) for constraint, memory, rows in parts)

    def diagnose(self) -> Diagnosis:
        """What costs another pass over elements or contacts: residuals, energy change, penetration, warnings."""
        return Diagnosis(
            residual=self.residual,
            full_order_residual=self.full_order_residual,
            energy_change=self.energy_change,
            penetration=self.penetration,
            warnings=self.warnings,
        )

    @cached_property
    def penetration(self) -> float:
        """Largest penetration of any contact point at the end of the step, m. Computed when read."""
        return diagnosis.penetration(self.step)

    @cached_property
    def residual(self) -> float:
        """Nonlinear residual ‖r(dx)‖ at the end of the step over the largest force norm in it. Computed when read."""
        return diagnosis.residual(self.step)

    @cached_property
    def full_order_residual(self) -> float:
        """Relative residual of the full-order model at the reduced solution: what reduced bodies cannot balance counts
        as well. Near 1 a reduced body stands where the full one would not: it needs other modes, or more of them. For
        worlds that are not reduced it is the `residual`; nan where a viscoelastic body remembers at few integration
        points. Computed when read.
        """
        return diagnosis.full_order_residual(self.step)

    @cached_property
    def energy_change(self) -> float:
        """Change of total energy (kinetic + elastic + potential) over the step, J. Computed when read."""
        return diagnosis.energy_change(self.step, self.advanced)

    @cached_property
    def warnings(self) -> tuple[str, ...]:
        """What the step may have missed, in words: bodies faster than detection, channel points passed by a tip,
        effectors of an inverse that would settle elsewhere than reported (once for a stepper and a world).
        """
        own = diagnosis.warnings(self.step) + passing_warnings(self.step, self.passed)
        return own if self.inverse is None else (*own, *self.inverse.warnings(self))

    def reaction(self, body: Any) -> FloatArray:
        """Forces (n, 3), N, that clamps and supports exert on the nodes of `body`, zero at free DoFs."""
        return diagnosis.reaction(self.step, body)


def finish(step: Step, status: Status, **more: Any) -> tuple[State, StepInfo]:
    """The state that a step leads to, and what it reports; `more` are further fields of the report."""
    advanced = step.advanced()
    own = {
        "status": status,
        "iterations": step.iterations,
        "linear_residual": step.linear_residual,
        "stage_times": step.timers.seconds,
        "step": step,
        "advanced": advanced,
        "tangents_projected": step.projected,
        "inverse": step.report,
        "lam": step.lam,
        **more,
    }
    return advanced, filled(StepInfo, own)
