"""The trial of a rod as one call of a kernel makes it, and a step of implicit Euler in one call or two.

The mathematics stands in `models.rod.trial`, the kernels in `models.rod.euler`.
"""

from __future__ import annotations

from math import sqrt
from typing import TYPE_CHECKING, Self

import numpy as np

from pliant.core.arrays import writable
from pliant.core.errors import SingularError
from pliant.core.immutable import evolve
from pliant.core.lie import rotation_exp
from pliant.core.types import FloatArray
from pliant.materials import Tangent
from pliant.models.model import Residual, StepStart
from pliant.models.rod import euler
from pliant.models.rod.moments import rest_under
from pliant.models.rod.stations import Sweep
from pliant.models.rod.system import RodSystem
from pliant.models.slender_trial import SlenderTrial
from pliant.solvers.linear.lapack import cholesky_addresses

if TYPE_CHECKING:
    from pliant.models.rod.model import RodModel

GAUSS = (0.5 - np.sqrt(1.0 / 12.0), 0.5 + np.sqrt(1.0 / 12.0))
"""Gauss points of the step, of equal weight: two integrate δy exactly to (δψ)⁴ of it."""


class OneCallTrial(SlenderTrial):
    """One step of a rod from q (4 + 2N, 3) and v (2 + 2N, 3), and its calls where implicit Euler takes few."""

    model: RodModel

    def __init__(self, model: RodModel, start: StepStart) -> None:
        super().__init__(model, start)
        scheme, controls = start.scheme, start.controls
        self._q, self._v = writable(start.q), writable(start.v)
        self._loads = model.given_loads(controls) if model.loads else model.no_loads
        self._symmetric = scheme.theta == 1.0 and not (model.loads and self._moments.any())
        self._kept: dict[float, tuple[FloatArray, Sweep]] = {}
        self._tests = (1.0,) if scheme.theta == 1.0 else GAUSS  # fractions at which strains are tested, of equal weight
        self._target = model.prescribed(controls)
        self._base_stays = model.base_is_open or _same(self._q[:4], self._target)
        self._still = self.dx
        self._in_one_call = bool(scheme.inertia) and scheme.theta == 1.0 and model.is_small and model.is_supported
        self._begun: FloatArray | None = None
        self._stiffness, self._rest = model.stiffness, model.rest
        if self._recalled is not None:
            self._stiffness, self._rest = self._recalled[0].reshape(-1, 3), model.rest.copy()
            self._rest[4:] += self._recalled[1].reshape(-1, 3)
        if model.muscles:
            self._rest = rest_under(model.muscles, controls, self._rest, self._stiffness)
        self._ended: list[tuple[FloatArray, FloatArray, FloatArray]] = []

    @property
    def _moments(self) -> FloatArray:
        return self._loads[1]

    def whole_step(self) -> tuple[Self, float, float] | None:
        """The trial at the end of one linear solve without constraint forces, in one call (`Trial.whole_step`)."""
        if not (self._in_one_call and self._base_stays and self._symmetric and self.dx is self._still):
            return None
        model, scheme, damping, stations = self.model, self._scheme, self.model.spec.damping, self.model.stations
        shape, size = self.dx.shape, model.sweep_size
        dx, q, v, start, end = np.empty(shape), np.empty(self._q.shape), np.empty(shape), np.empty(size), np.empty(size)
        found, error, total = euler.whole(
            self._q, self._v, self._gravity, *self._loads, model.spec.active, stations.first, stations.fraction,
            stations.mu, model.basis, model.constrained, self._stiffness, self._rest, model.active, model.free,
            model.free_active, model.constrained_active, model.no_rates, scheme.dt,
            scheme.inertia + damping.mass * scheme.rate, scheme.momentum, self._damping * scheme.rate,
            scheme.theta + self._damping * scheme.rate, model.turned_basis, model.base_turns, scheme.velocity,
            cholesky_addresses(), start, end, dx, q, v,
        )  # fmt: skip
        if not found:
            return None
        return evolve(self, dx=dx, _begun=start, _ended=[(dx, q, v)]), error, total

    def _begin(self, tangent: Tangent) -> tuple[RodSystem, Residual]:
        """A and r at the start of a step of implicit Euler, in one call."""
        model, scheme, damping, stations = self.model, self._scheme, self.model.spec.damping, self.model.stations
        kinds, count, shape = model.spec.active, len(model.active), self.dx.shape
        start, there, q_there = np.empty(model.sweep_size), np.empty(model.sweep_size), np.empty(self._q.shape)
        A, r, now = np.empty((count, count)), np.empty(shape), np.empty(shape)
        exact = tangent is not Tangent.PROJECTED
        symmetric = self._symmetric or not exact
        square, moves = euler.begin(
            self._q, self._v, self._gravity, *self._loads, kinds, stations.first, stations.fraction, stations.mu,
            model.basis, model.constrained, self._stiffness, self._rest, model.active, scheme.dt,
            scheme.inertia + damping.mass * scheme.rate, scheme.momentum, self._damping * scheme.rate,
            scheme.theta + self._damping * scheme.rate, 1.0 if exact else 0.0, model.turned_basis,
            symmetric and model.base_turns, True, start, there, q_there, A, r, now,
        )  # fmt: skip
        self._begun = start
        sweep = Sweep.filled(*((q_there, there) if moves else (self._q, start)), kinds, stations)
        return RodSystem(model, A, r, None, sweep, symmetric, not exact), Residual(now, sqrt(square))

    def _end(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """The displacement dx of a step of implicit Euler in one call, with q (4 + 2N, 3) and the rates (2 + 2N, 3) at
        its end.
        """
        if self._ended and self._ended[0][0] is self.dx:
            return self._ended[0]
        assert self._begun is not None
        model, stations, kinds = self.model, self.model.stations, self.model.spec.active
        known = model.no_rates
        if not self._base_stays:
            known = np.zeros(len(model.active))
            self._set_known_rates(known)
        q, v, space = np.empty(self._q.shape), np.empty(self.dx.shape), np.empty(len(self._begun))
        if not euler.finish(
            self._q, self.dx, kinds, stations.first, stations.fraction, stations.mu, model.basis, model.active,
            model.free_active, model.constrained_active, known, self._scheme.velocity, model.turned_basis,
            self._begun, space, q, v,
        ):  # fmt: skip
            raise self._refined_too_much()
        self._ended[:] = [(self.dx, q, v)]
        return self._ended[0]

    def _set_known_rates(self, known: FloatArray) -> None:
        """Put the rates of a base that moves as prescribed into `known` (n,), which are zero."""
        if len(self.model.constrained_active) and (self._scheme.memory or not self._base_stays):  # else they are zero
            known[:6] = np.where(self.model.constrained[:2], self._base_rates(), 0.0).ravel()

    def _base_rates(self) -> FloatArray:
        """Rates (2, 3) of a base that moves as the step did."""
        scheme = self._scheme
        gained = self._gained
        base = scheme.next_velocity(self.dx[:2], self._v[:2], gained=None if gained is None else gained[:2])
        if scheme.memory and self.dx[1].any():
            base[1] += scheme.memory * (rotation_exp(self.dx[1]) @ self._v[1] - self._v[1])
        return base

    def _refined_too_much(self) -> SingularError:
        return SingularError(f"the mass matrix of {self.model.name!r} is not positive definite: refine the rod less")


def _same(x: FloatArray, y: FloatArray) -> bool:
    """Whether all entries are the same; of the same bits in most cases, which takes a fifth of the time."""
    return x.tobytes() == y.tobytes() or bool((x == y).all())
