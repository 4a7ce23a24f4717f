"""One step of a world in the making: a trial for each model, the rows that push, and what is known of their forces."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from pliant.constraints import Assembly, RowView, assemble, detect, forces_of
from pliant.core.types import FloatArray
from pliant.materials import Tangent
from pliant.models.model import Residual, System
from pliant.models.scheme import Scheme
from pliant.stepping.factors import ExactFactors, FactorSource
from pliant.stepping.session import DirectSession, Session
from pliant.world import World
from pliant.world.state import State


@dataclass(frozen=True, eq=False)
class Forces:
    """Residuals by model, N; the largest norm of the forces in them, N; whether all are finite."""

    r: tuple[FloatArray, ...]
    scale: float
    finite: bool


class Motion:
    """The step from `start` under `controls`.

    `blend` in [0, 1] is the fraction of the load change applied: the residual at the start, (1 − blend) of it, is
    balanced away, and held unknowns go that fraction of their way. 1 is the true problem.
    """

    def __init__(
        self,
        world: World,
        start: State,
        scheme: Scheme,
        controls: Mapping[Any, FloatArray],
        session: Session | None = None,
        factors: FactorSource | None = None,
    ) -> None:
        self.world = world
        self.factors = ExactFactors() if factors is None else factors
        self.session = DirectSession() if session is None else session
        self.makers = (*world.constraints, *self.session.makers)
        self.start = start
        self.scheme = scheme
        self.controls = controls
        self.gravity = controls.get("gravity", world.gravity)
        pairs = zip(world.models, start.q, start.v, strict=True)
        self.trials = [model.trial(q, v, scheme, self.gravity, controls) for model, q, v in pairs]
        self.pushes: list[FloatArray] | None = None
        self.assembly: Assembly | None = None
        self.lam: FloatArray | None = None
        self._blend = 1.0
        self._start_residuals: tuple[FloatArray, ...] | None = None

    @property
    def dx(self) -> list[FloatArray]:
        """Displacement of each model so far."""
        return [trial.dx for trial in self.trials]

    @dx.setter
    def dx(self, values: list[FloatArray]) -> None:
        for trial, dx in zip(self.trials, values, strict=True):
            trial.dx = dx

    def move(self, steps: Sequence[FloatArray], scale: float = 1.0) -> None:
        """Follow the displacement so far by `scale` × a step of each model; rotations by exp."""
        self.dx = [t.moved(t.dx, step, scale) for t, step in zip(self.trials, steps, strict=True)]

    @property
    def blend(self) -> float:
        """Fraction of the load change applied."""
        return self._blend

    @blend.setter
    def blend(self, value: float) -> None:
        self._blend = value
        for trial in self.trials:
            trial.blend = value

    def forces(self) -> Forces:
        """Residual at the current dx with the forces of the rows, by a pass over the elements without stiffness."""
        return self.pushed(self._gathered([trial.residual() for trial in self.trials]))

    def pushed(self, forces: Forces) -> Forces:
        """`forces` with Hᵀλ of the last linear solve added to the residuals."""
        if self.pushes is None:
            return forces
        pushes = [trial.confined(push) for trial, push in zip(self.trials, self.pushes, strict=True)]
        r = tuple(r + push for r, push in zip(forces.r, pushes, strict=True))
        return replace(forces, r=r, scale=max(forces.scale, *(_norm(push) for push in pushes)))

    def whole(self, forces: Forces) -> Forces:
        """`forces`, those of rows in them, as models with all their motions have them: supports bear them where bodies
        are held, and where they are not, it is what reduced bodies cannot balance.
        """
        pushes = [None] * len(self.trials) if self.pushes is None else self.pushes
        triples = zip(self.trials, forces.r, pushes, strict=True)
        parts = [trial.whole(Residual(r, forces.scale), push) for trial, r, push in triples]
        return Forces(tuple(part.r for part in parts), max(part.scale for part in parts), forces.finite)

    def linearize(self, tangent: Tangent) -> tuple[list[System], Forces]:
        """A and r of every model at the current dx."""
        pairs = [trial.linearize(tangent) for trial in self.trials]
        self.add_row_stiffness([system for system, _ in pairs])
        forces = self._gathered([residual for _, residual in pairs])
        systems = [system for system, _ in pairs]
        if self._blend < 1.0 and self._start_residuals is not None:
            for system, model, r in zip(systems, self.world.models, self._start_residuals, strict=True):
                system.r = system.r - np.where(model.held, 0.0, (1.0 - self._blend) * r)
        return systems, forces

    def add_row_stiffness(self, systems: list[System]) -> None:
        """Geometric stiffness −λ ∂²δ/∂q² of the rows that have one, at the last λ, of this step or the one before."""
        if not self.world.stiff_constraints:
            return
        x = [trial.evaluation_point() for trial in self.trials]
        known = (self.start.keys, self.start.lam)
        if self.assembly is not None and self.lam is not None:
            known = (self.assembly.rows.key, self.lam)
        keys, ends = self.world.stiff_keys
        forces = np.split(forces_of(keys, *known), ends)
        for maker, lam in zip(self.world.stiff_constraints, forces, strict=True):
            for index, K in maker.stiffness(x, lam, self.scheme.theta):
                systems[index].add_stiffness(K)

    def assemble_rows(self) -> Assembly:
        """The rows of all makers at the current dx."""
        view, known = self.view(), self.start.memories or (None,) * len(self.world.constraints)
        memories = (*known, *(None for _ in self.session.makers))
        views = [view if memory is None else replace(view, memory=memory) for memory in memories]
        self.assembly = assemble(self.makers, views, detect(self.makers, views))
        return self.assembly

    def view(self) -> RowView:
        """What makers of rows see at the current dx."""
        return RowView(
            q=[trial.positions() for trial in self.trials],
            start=self.start.q,
            moved=self.dx,
            sizes=[model.size for model in self.world.models],
            controls=self.controls,
            time=self.start.time + self.scheme.dt,
            dt=self.scheme.dt,
            speeds=self.start.v,
            gravity=float(np.linalg.norm(self.gravity)),
            last_keys=self.start.keys,
            last_lam=self.start.lam,
        )

    def warnings(self) -> tuple[str, ...]:
        """What went faster than contact detection can follow, and points of channels that a tip has passed by, once the
        step is done.
        """
        view = self.view()
        memories = (None,) * len(self.makers) if self.assembly is None else self.assembly.memories
        pairs = zip(self.world.constraints, memories, strict=False)
        return tuple(text for constraint, memory in pairs for text in constraint.warnings(view, memory))

    def must_move(self) -> bool:
        """Whether held unknowns are not yet where supports and clamps want them."""
        return any(trial.must_move() for trial in self.trials)

    def ease_in(self) -> None:
        """Remember the residual at the start, to be faded out by `blend`."""
        self._start_residuals = self.pushes = None
        self._start_residuals = self.forces().r

    def advanced(self, lam: FloatArray) -> State:
        """The state at the end of the step."""
        positions = tuple(trial.positions() for trial in self.trials)
        for trial, q in zip(self.trials, positions, strict=True):
            trial.ended(q)
        return State(
            self.world,
            self.start.time + self.scheme.dt,
            positions,
            tuple(trial.velocities() for trial in self.trials),
            lam,
            keys=None if self.assembly is None else self.assembly.rows.key,
            memories=() if self.assembly is None else self.assembly.memories[: len(self.world.constraints)],
        )

    def _gathered(self, parts: list[Residual]) -> Forces:
        scale = max(part.scale for part in parts)
        r = tuple(part.r for part in parts)
        if self._blend < 1.0 and self._start_residuals is not None:
            r = tuple(x - (1.0 - self._blend) * y for x, y in zip(r, self._start_residuals, strict=True))
        return Forces(r, scale, bool(np.isfinite(scale)) and all(np.isfinite(x).all() for x in r))


def _norm(x: FloatArray) -> float:
    return float(np.sqrt(np.vdot(x, x)))
