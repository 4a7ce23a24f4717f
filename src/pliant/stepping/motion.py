"""One step in the making: residual and matrix of every model at the current displacement dx."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from pliant.core.types import FloatArray
from pliant.materials import Tangent
from pliant.models.volume import VolumeModel
from pliant.solvers.linear.matrix import BlockMatrix
from pliant.stepping.scheme import Scheme
from pliant.world import World
from pliant.world.state import State


@dataclass(frozen=True, eq=False)
class System:
    """A dx = r of one model: the blocks `values` of A, the residual r (n, 3) in N, and the motion of held unknowns
    (n, 3).
    """

    model: VolumeModel
    values: FloatArray
    r: FloatArray
    held_dx: FloatArray | None


@dataclass(frozen=True, eq=False)
class Forces:
    """Residuals by model (n, 3), N; the largest norm of the forces in them, N; whether all are finite."""

    r: tuple[FloatArray, ...]
    scale: float
    finite: bool


class Motion:
    """The step from `start` under `controls`: dx of every model, and what the residual needs of the start.

    `blend` in [0, 1] is the fraction of the load change applied: the residual at the start, (1 − blend) of it, is
    balanced away, and held unknowns go that fraction of their way. 1 is the true problem.
    """

    def __init__(self, world: World, start: State, scheme: Scheme, controls: Mapping[Any, FloatArray]) -> None:
        self.world = world
        self.start = start
        self.scheme = scheme
        self.controls = controls
        self.dx = [np.zeros_like(q) for q in start.q]
        self.blend = 1.0
        self.pushes: list[FloatArray] | None = None
        self.targets = [model.prescribed(controls) for model in world.models]
        self._start_residuals: tuple[FloatArray, ...] | None = None
        self._start_stiffness: list[FloatArray | None] = [None] * len(world.models)

    def evaluation_point(self, number: int) -> FloatArray:
        """Positions at which forces of a model are evaluated, q + θ dx, (n, 3), m."""
        x: FloatArray = self.start.q[number] + self.scheme.theta * self.dx[number]
        return x

    def forces(self) -> Forces:
        """Residual at the current dx with the forces of the rows, by a pass over the elements without stiffness."""
        parts = [self._residual(k, *m.internal(self.evaluation_point(k))) for k, m in enumerate(self.world.models)]
        return self.pushed(_gathered(parts))

    def pushed(self, forces: Forces) -> Forces:
        """`forces` with Hᵀλ of the last linear solve added to the residuals."""
        if self.pushes is None:
            return forces
        r = tuple(r + push for r, push in zip(forces.r, self.pushes, strict=True))
        return replace(forces, r=r, scale=max(forces.scale, *(_norm(push) for push in self.pushes)))

    def linearize(self, tangent: Tangent) -> tuple[list[System], Forces]:
        """A and r of every model at the current dx."""
        systems, parts = [], []
        for number, model in enumerate(self.world.models):
            values = model.blocks()
            parts.append(self._assemble(number, tangent, values))
            held_dx = self._held_motion(number)
            r = parts[-1][0]
            if held_dx is not None:
                r = r - BlockMatrix(model.pattern, values).matvec(held_dx)
            systems.append(System(model, values, np.where(model.held, 0.0, r), held_dx))
        return systems, _gathered(parts)

    def advanced(self, lam: FloatArray) -> State:
        """The state at the end of the step."""
        scheme = self.scheme
        q = tuple(a + dx for a, dx in zip(self.start.q, self.dx, strict=True))
        v = tuple(scheme.next_velocity(dx, v) for dx, v in zip(self.dx, self.start.v, strict=True))
        return State(self.world, self.start.time + scheme.dt, q, v, lam)

    def _assemble(self, number: int, tangent: Tangent, values: FloatArray) -> tuple[FloatArray, float]:
        model, scheme, x = self.world.models[number], self.scheme, self.evaluation_point(number)
        damping = model.spec.damping
        mass = scheme.inertia + damping.mass * scheme.rate
        stiffness = scheme.theta + damping.stiffness * scheme.rate
        energy, internal = model.assemble(x, mass=mass, stiffness=stiffness, tangent=tangent, values=values)
        model.add_load_stiffness(x, scheme.theta, self.controls, values)
        return self._residual(number, energy, internal)

    def _residual(self, number: int, energy: float, internal: FloatArray) -> tuple[FloatArray, float]:
        model, scheme = self.world.models[number], self.scheme
        dx, v = self.dx[number], self.start.v[number]
        _, external = model.external(self.evaluation_point(number), self.world.gravity, self.controls)
        r = external - internal
        scale = max(_norm(external), _norm(internal))
        if scheme.inertia:
            kick = model.mass.apply(scheme.momentum * v)
            scale = max(scale, _norm(kick))
            r += kick
            if dx.any():
                damping = model.spec.damping
                r -= model.mass.apply((scheme.inertia + damping.mass * scheme.rate) * dx)
                if damping.stiffness:
                    r -= damping.stiffness * scheme.rate * self._damping_product(number, dx)
        if self.blend < 1.0 and self._start_residuals is not None:
            r -= (1.0 - self.blend) * self._start_residuals[number]
        return r, scale if np.isfinite(energy) else np.inf

    def _damping_product(self, number: int, dx: FloatArray) -> FloatArray:
        model = self.world.models[number]
        K = self._start_stiffness[number]
        if K is None:
            K = np.empty((model.pattern.block_count, 3, 3))
            model.assemble(self.start.q[number], mass=0.0, stiffness=1.0, tangent=Tangent.WARPED, values=K)
            self._start_stiffness[number] = K
        product: FloatArray = BlockMatrix(model.pattern, K).matvec(dx)
        return product

    def _held_motion(self, number: int) -> FloatArray | None:
        """What held unknowns still have to move, zero at free ones; None where nothing has to."""
        held = self.world.models[number].held_unknowns
        way = self.targets[number].ravel()[held] - self.start.q[number].ravel()[held]
        ahead = self.blend * way - self.dx[number].ravel()[held]
        if not ahead.any():
            return None
        motion = np.zeros(self.dx[number].shape)
        motion.ravel()[held] = ahead
        return motion

    def must_move(self) -> bool:
        """Whether held unknowns are not yet where supports and clamps want them."""
        return any(self._held_motion(number) is not None for number in range(len(self.dx)))

    def ease_in(self) -> None:
        """Remember the residual at the start, to be faded out by `blend`."""
        self._start_residuals = self.pushes = None
        self._start_residuals = self.forces().r


def _gathered(parts: list[tuple[FloatArray, float]]) -> Forces:
    scale = max(scale for _, scale in parts)
    r = tuple(r for r, _ in parts)
    return Forces(r, scale, bool(np.isfinite(scale)) and all(np.isfinite(x).all() for x in r))


def _norm(x: FloatArray) -> float:
    return float(np.sqrt(np.vdot(x, x)))
