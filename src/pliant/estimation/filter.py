"""`pl.estimation.Filter`: external forces, shape and velocities of a robot in motion, from what its sensors read.

An extended Kalman filter on the steps of implicit Euler. Its errors x = (δq, δv, δf) have the covariance P = L Lᵀ; a
step carries the columns of L on by its tangent (`estimation.motion`), forces drift as random walks, and a reading y
with the noise R corrects, with Y = ∂y/∂x L,

    x ← L M⁻¹ Yᵀ R⁻¹ (ŷ − y),     L ← L M^(−1/2),     M = 1 + Yᵀ R⁻¹ Y

Few columns suffice, since what is unknown enters by few forces: L is cut to a given rank (the reduced-rank square-root
filter of M. Verlaan and A. W. Heemink, Stochastic Hydrology and Hydraulics 11, 1997).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from pliant.core.checks import finite_array, non_negative, positive, positive_count, time_step
from pliant.core.declared import check_declared
from pliant.core.errors import InputError
from pliant.core.immutable import evolve
from pliant.core.one_line import one_line
from pliant.core.singular import named_singular
from pliant.core.types import FloatArray
from pliant.estimation.estimate import Felt
from pliant.estimation.forces import PointForce, check_forces
from pliant.estimation.motion import Motion, motion_of
from pliant.estimation.problem import Guess, Problem
from pliant.estimation.search import WithLoads
from pliant.identification.measurements import Measurement
from pliant.stepping import ImplicitEuler
from pliant.world import State, World
from pliant.world.belonging import check_belongs

_NOTHING = 1e-9
"""Singular values of the scaled root of the covariance, over the largest, below which they are rounding."""


@one_line
@dataclass(frozen=True, eq=False)
class Belief:
    """What a `Filter` knows at an instant.

    state
        The most probable positions and velocities.
    forces
        Components of the unknown forces along their directions, in order, (k,), N; also ``belief[unknown]``, a `Felt`.
    covariance
        Of these components, (k, k), N².
    innovation
        Readings less what was expected of them, by sensor, in its unit; NaN at gaps. Empty at the start.
    surprise, readings
        Square of the innovation over its expected size, and count of the readings: about equal where model and noise
        are right.
    root
        L, (positions + velocities + forces, columns).
    """

    filter: Filter
    state: State
    forces: FloatArray
    root: FloatArray = field(repr=False)
    innovation: Mapping[Any, FloatArray] = field(default_factory=dict)
    surprise: float = 0.0
    readings: int = 0

    @property
    def covariance(self) -> FloatArray:
        """Of the components of the forces, (k, k), N²."""
        own = self.root[len(self.root) - len(self.forces) :]
        return np.asarray(own @ own.T)

    def __getitem__(self, unknown: Any) -> Felt:
        """What is known of an unknown force."""
        at = 0
        for one, place in self.filter.problem.points:
            own = slice(at, at + len(one.directions))
            at = own.stop
            if one is unknown:
                spread = one.directions.T @ self.covariance[own, own] @ one.directions
                where = place.map.points(self.state.q[place.index])[0]
                return Felt(self.forces[own] @ one.directions, where, spread, np.zeros((3, 3)), one.point)
        raise InputError(f"{unknown!r:.80} is none of the forces of this filter")

    def shape_covariance(self, body: Any, points: Any) -> FloatArray:
        """Covariance (k, 3, 3), m², of where `points` (k, 3), m, of `body` (frame of its mesh) are."""
        world, motion = self.filter.world, self.filter.motion
        index = world.index(getattr(body, "body", body))
        where = finite_array("points", points, shape=(None, 3))
        embedded = world.models[index].embed(where, what="point")
        rows = embedded.pull_back_along(self.state.q[index], np.broadcast_to(np.eye(3), (len(where), 3, 3)))
        moved = (motion.of_points(self.state, index, rows) @ self.root[: motion.size]).reshape(len(where), 3, -1)
        return np.asarray(moved @ moved.transpose(0, 2, 1))


@one_line
@dataclass(frozen=True, eq=False)
class Filter:
    """Follows the external forces on a robot in motion, and its shape, by an extended Kalman filter.

        belief = follow.begin(state)
        belief = follow(belief, controls, {markers: positions, tension: newtons})      # once each dt

    world
        A world, reduced or not; without contacts with friction between volumes and turning bodies (`pl.gradient`).
    sensors
        `pl.identification.Markers`, `ActuatorForce` and `ActuatorDisplacement`, with their noise.
    forces
        Unknown forces at known places, `pl.estimation.PointForce`; their deviation is that of the start.
    dt
        Step, s.
    drift
        Standard deviation of the change of each component of the forces in one second, N; it grows with the root of
        time.
    rank
        Columns of the root of the covariance at most.
    tolerance
        Of the steps, as of `pl.ImplicitEuler`.
    """

    world: World
    sensors: Sequence[Measurement]
    forces: Sequence[PointForce]
    _: KW_ONLY
    dt: float
    drift: float
    rank: int = 60
    tolerance: float = 1e-8

    def __post_init__(self) -> None:
        check_declared(self)
        check_forces(self.forces, "a filter")
        for each in self.forces:
            if not isinstance(each, PointForce):
                raise InputError(
                    "a filter follows forces at known places, pl.estimation.PointForce; find the place of a push by "
                    "pl.Estimator"
                )
            if np.isfinite([*each.lower, *each.upper]).any():
                raise InputError(f"{each.name!r} has bounds, which a Kalman filter does not keep: leave them out")
        time_step("dt", self.dt)
        non_negative("drift of a filter", self.drift, unit="N")
        positive_count("rank", self.rank)
        positive("tolerance of a filter", self.tolerance)
        _ = self.problem, self.motion  # what the world does not have is an error here

    @cached_property
    def problem(self) -> Problem:
        """The sensors and forces in the world."""
        return Problem.of(self.world, self.sensors, self.forces)

    @cached_property
    def motion(self) -> Motion:
        """How steps carry errors on."""
        return motion_of(self.world)

    @cached_property
    def _stepper(self) -> ImplicitEuler:
        return ImplicitEuler(self.dt, tolerance=self.tolerance)

    def begin(self, state: State) -> Belief:
        """The belief of a robot that is in `state`; the forces are about zero, as far as their deviations say."""
        check_belongs(state, self.world)
        deviations = self.problem.deviations
        root = np.zeros((2 * self.motion.size + len(deviations), len(deviations)))
        root[2 * self.motion.size :] = np.diag(deviations)
        return Belief(self, state, np.zeros(len(deviations)), root)

    @named_singular
    def __call__(
        self, belief: Belief, controls: Mapping[Any, Any] | None = None, readings: Mapping[Any, Any] | None = None
    ) -> Belief:
        """The belief a step later, under known `controls` of the step and `readings` at its end: sensor → value with
        NaN at gaps; None: nothing was read.
        """
        problem, size = self.problem, 2 * self.motion.size
        stepper = evolve(self._stepper, solver=WithLoads(problem.loads(Guess(belief.forces, None))))
        state, info = stepper(self.world, belief.state, controls)
        k = len(belief.forces)
        walk = self.drift * np.sqrt(self.dt) * np.eye(k, k if self.drift else 0)
        errors = np.hstack([belief.root[:size], np.zeros((size, walk.shape[1]))])
        forces = np.hstack([belief.root[size:], walk])
        places = [(place, one.directions) for one, place in problem.points]
        ends, Y = self.motion.carried(info, problem.sensors, places, errors, forces)
        root = np.vstack([ends, forces])
        if readings is None:
            return Belief(self, state, belief.forces, self._cut(root))
        left = problem.sensors.gathered(readings) - problem.sensors.predicted(info)
        seen, noise = np.isfinite(left), problem.sensors.noise
        Y, e = Y[seen] / noise[seen, None], left[seen] / noise[seen]
        M = np.eye(Y.shape[1]) + Y.T @ Y
        weights = np.linalg.solve(M, Y.T @ e)
        change = root @ weights
        surprise = float(e @ e - (Y.T @ e) @ weights)
        root = np.linalg.solve(np.linalg.cholesky(M), root.T).T
        state = self.motion.corrected(state, change[:size])
        return Belief(
            self, state, belief.forces + change[size:], self._cut(root), problem.sensors.shaped(left), surprise,
            int(seen.sum()),
        )  # fmt: skip

    def _cut(self, root: FloatArray) -> FloatArray:
        """The root with as many columns as its rank, the largest ones in units of the start."""
        if root.shape[1] <= min(self.rank, len(root)):
            return root
        size = self.motion.size
        units = np.ones(len(root))
        blocks = (slice(0, size), slice(size, 2 * size), slice(2 * size, None))
        for own in blocks:
            units[own] = float(np.sqrt((root[own] ** 2).sum())) or 1.0
        U, values, _ = np.linalg.svd(root / units[:, None], full_matrices=False)
        kept = min(self.rank, int(np.count_nonzero(values > _NOTHING * values[0])))
        return np.asarray(units[:, None] * U[:, :kept] * values[:kept])
