"""What a step reports beside the new state."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Any

import numpy as np

from pliant.constraints import Assembly, RowView
from pliant.core.errors import InputError
from pliant.core.status import Status
from pliant.core.types import FloatArray
from pliant.stepping.factors import FactorUse
from pliant.world import World


@dataclass(frozen=True, eq=False)
class RigidMotion:
    """Motion of an unclamped body that static equilibrium leaves open.

    `acceleration` (6,): the linear (m/s²) and angular (rad/s²) acceleration that the unbalanced loads would give it,
    about its centre of mass; `free_directions` is how many of the six rigid motions nothing resists.
    """

    body: str
    free_directions: int
    acceleration: FloatArray


@dataclass(frozen=True, eq=False)
class Contacts:
    """Contacts between two bodies, m of them: `points` (m, 3) m, `normals` (m, 3) towards the first body, `gaps` (m,) m
    at the end of the step, and `forces` (m, 3) N on the first body.
    """

    points: FloatArray
    normals: FloatArray
    gaps: FloatArray
    forces: FloatArray


@dataclass(frozen=True, eq=False)
class StepInfo:
    """Outcome of one step.

    `iterations` counts linear solves. `linear_residual` is ‖A dx − r‖/‖r‖ of the last of them. `tangents_projected`
    counts those whose tangent had to be projected to positive definite. `stage_times` holds seconds by stage. `lam`
    (rows,) are the multipliers of the rows, in N; `correction` is dx of each model in the last solve, (n, 3), m.
    `inverse` is what an inverse solver reports; `shift` the share of the mass that statics last added to the matrix.
    `factor_use` says which factors were used: all zeros where every matrix was factorized.
    """

    status: Status
    iterations: int
    linear_residual: float
    stage_times: dict[str, float]
    tangents_projected: int = 0
    load_steps: int = 1
    rigid_motion: tuple[RigidMotion, ...] = ()
    inverse: Any = None
    shift: float = 0.0
    factor_use: FactorUse = field(default_factory=FactorUse)
    lam: FloatArray | None = None
    assembly: Assembly | None = field(default=None, repr=False)
    world: World | None = field(default=None, repr=False)
    correction: tuple[FloatArray, ...] | None = field(default=None, repr=False)
    measure: Callable[[], Measures] | None = field(default=None, repr=False)
    watch: Callable[[], tuple[str, ...]] | None = field(default=None, repr=False)
    end: Callable[[], RowView] | None = field(default=None, repr=False)

    def actuation(self, actuator: Any) -> tuple[Any, Any]:
        """Displacement (m) and tension (N) of a cable; growth (m³) and pressure (Pa) of a cavity; angle and torque of a
        hinge. Of several actuators, two arrays (k,).
        """
        assert self.world is not None
        if isinstance(actuator, Sequence) and not isinstance(actuator, str):
            pairs = np.array([self.actuation(one) for one in actuator]).reshape(-1, 2)
            return pairs[:, 0], pairs[:, 1]
        if self.assembly is None or self.lam is None:
            return 0.0, 0.0
        place = self.assembly.places[self.world.constraint_index(actuator)].start
        delta = self.delta
        return float(delta[place]), float(self.lam[place])

    def error(self, effector: Any) -> float:
        """How far an effector of the inverse is from its target at the end of the step, m (m³, rad); of several points
        the root of the mean square.
        """
        if self.inverse is None:
            raise InputError("this step had no inverse solver, so it had no effectors: solver=pl.Inverse(…)")
        return float(self.inverse.error(effector, self))

    @property
    def delta(self) -> FloatArray:
        """δ of the rows at the end of the step as the linear solve sees it, (rows,), m (m³ for cavities)."""
        assert self.assembly is not None
        assert self.correction is not None
        rows = self.assembly.rows
        delta = rows.gap.copy()
        for H, dx in zip(rows.H, self.correction, strict=True):
            delta += H @ dx.ravel()
        return delta

    @property
    def factor_age(self) -> int:
        """Largest age of a factor that was used, in linear solves; 0: that of the matrix itself."""
        return self.factor_use.age

    @property
    def cg_iterations(self) -> int:
        """Conjugate-gradient iterations of all solves with older factors; one for all the rows of W counts once."""
        return self.factor_use.iterations

    def contacts(self, a: Any, b: Any = None) -> Contacts:
        """Contacts between `a` and `b`, or those of a `pl.Facing`: points, normals, gaps and the forces on `a`."""
        assert self.world is not None
        found = self.world.pairs(a, b)
        if self.assembly is None or self.lam is None:
            return Contacts(np.zeros((0, 3)), np.zeros((0, 3)), np.zeros(0), np.zeros((0, 3)))
        parts = [self._contacts(number, sign) for number, sign in found]
        if len(parts) == 1:
            return parts[0]
        return Contacts(*(np.concatenate([getattr(p, item.name) for p in parts]) for item in fields(Contacts)))

    def _contacts(self, number: int, sign: float) -> Contacts:
        assert self.assembly is not None
        assert self.lam is not None
        assert self.world is not None
        assert self.end is not None
        maker: Any = self.world.constraints[number]
        memory, place = self.assembly.memories[number], self.assembly.places[number]
        force, found = sign * memory.forces(self.lam[place]), memory.contacts
        gaps = maker.end_gaps(memory, self.delta[place], self.end())
        return Contacts(found.point_a, sign * found.normal, gaps, force)

    def contact_force(self, a: Any, b: Any = None) -> FloatArray:
        """Total force that `b` exerts on `a`, or on the points of the `pl.Facing` `a`, (3,), N."""
        total: FloatArray = self.contacts(a, b).forces.sum(axis=0)
        return total

    @property
    def unknown_contacts(self) -> int:
        """Contacts that push and that a reduced contact model does not know: they have rows of their own."""
        if self.assembly is None or self.lam is None or self.world is None:
            return 0
        parts = zip(self.world.constraints, self.assembly.memories, self.assembly.places, strict=False)
        return sum(constraint.unknown_pushing(memory, self.lam[rows]) for constraint, memory, rows in parts)

    @cached_property
    def penetration(self) -> float:
        """How deep any point stands in what it touches at the end of the step, m. Computed when read."""
        if self.world is None or self.end is None:
            return 0.0
        view = self.end()
        return max((constraint.overlap(view) for constraint in self.world.constraints), default=0.0)

    @property
    def residual(self) -> float:
        """Nonlinear residual ‖r(dx)‖ at the end of the step over the largest force norm in it. Computed when read."""
        return self._measures.residual

    @property
    def whole_residual(self) -> float:
        """The same with all motions of all bodies: what reduced ones cannot balance, as a share of the forces, counts
        as well. Near 1 a reduced body stands where the body itself would not: it needs other modes, or more of them.
        For others it is the `residual`. Computed when read.
        """
        return self._measures.whole_residual()

    @property
    def energy_change(self) -> float:
        """Change of total energy (kinetic + elastic + potential) over the step, J. Computed when read."""
        return self._measures.energy_change

    @cached_property
    def warnings(self) -> tuple[str, ...]:
        """What the step may have missed, in words: bodies faster than contact detection, points of channels that a tip
        has passed by. Computed when read.
        """
        return () if self.watch is None else self.watch()

    def reaction(self, body: Any) -> FloatArray:
        """Forces (n, 3), N, that clamps and supports exert on the nodes of `body`, zero at free unknowns."""
        return self._measures.reaction(body)

    @cached_property
    def _measures(self) -> Measures:
        assert self.measure is not None
        return self.measure()


@dataclass(frozen=True, eq=False)
class Measures:
    """What is computed only when somebody reads it: it costs another pass over the elements."""

    residual: float
    energy_change: float
    reaction: Callable[[Any], FloatArray]
    whole_residual: Callable[[], float]
