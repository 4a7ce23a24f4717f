"""The bodies of a world in the course of one step: where they are, and the forces that act on them there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import isfinite
from typing import Any, NamedTuple

import numpy as np

from pliant.constraints import Assembly, Constraint, RowView, assemble, detect, forces_of
from pliant.constraints.rocking import pushing, rocking_stiffness
from pliant.core.arrays import transposed_product
from pliant.core.checks import all_finite
from pliant.core.immutable import evolve, filled
from pliant.core.types import FloatArray, IndexArray
from pliant.materials import Tangent
from pliant.models.model import FirstPart, Residual, StepStart, System, Trial
from pliant.models.scheme import Scheme
from pliant.models.workspace import Workspace
from pliant.solvers.contact import MixedProblem
from pliant.world import State, World


class Forces(NamedTuple):
    """Residuals by body, N; the largest norm of the forces in them, N."""

    r: tuple[FloatArray, ...]
    scale: float

    @property
    def finite(self) -> bool:
        """Whether all are finite."""
        return isfinite(self.scale) and all(all_finite(x) for x in self.r)


@dataclass(frozen=True, eq=False)
class Reactions:
    """Constraint forces of the last linear solve: λ (rows,) N of the rows of `assembly`.

    `shapes` are those of dx of the bodies, None where the bodies have gone back to the start, which these forces do not
    balance; `given` are their generalized forces where they are known.
    """

    assembly: Assembly
    lam: FloatArray
    shapes: tuple[tuple[int, ...], ...] | None = None
    given: tuple[FloatArray, ...] | None = None

    @cached_property
    def generalized(self) -> tuple[FloatArray, ...] | None:
        """Hᵀλ of each body, of the shape of its dx, N (and N·m); None where they do not balance the bodies."""
        if self.given is not None or self.shapes is None:
            return self.given
        pairs = zip(self.assembly.rows.H, self.shapes, strict=True)
        return tuple(transposed_product(H, self.lam).reshape(shape) for H, shape in pairs)


class Projection(NamedTuple):
    """How velocities at the end of a midpoint step were made to agree with the rows `picked` (k,): the `problem` on the
    rates of these, the forces `known` (k,) that were taken back and `found` (k,) instead, N; and `lam` (rows,), N, of
    the step itself.
    """

    picked: IndexArray
    problem: MixedProblem
    known: FloatArray
    found: FloatArray
    lam: FloatArray


@dataclass(frozen=True, eq=False)
class StepBodies:
    """The step from `start` under `controls`, at the displacement found so far; moving it gives another one.

    `load_fraction` in [0, 1] is the fraction of their way that constrained DoFs go. `fictitious` are forces of each
    body, of the shape of its dx, N (and N·m), that are subtracted from the residuals on a load path; None: the true
    problem. `approach` (m) widens the detection of contacts beyond their margins, `coarse` leaves round bodies to
    vertices, and `still` takes the motion of the step for over, as derivatives of its end do; `recent` are the memories
    of the last linear solve, with which detection goes on in an iteration to a tolerance.
    `reactions` are those of the last linear solve, None before it or where no constraint acts. `velocities` are those
    at the end of the step where a stepper has projected them, by `projection`; None where they follow from the
    displacements alone.
    `workspace` is that of the stepper, None outside of one.
    """

    world: World
    start: State
    scheme: Scheme
    controls: Mapping[Any, Any]
    trials: tuple[Trial, ...]
    reactions: Reactions | None = None
    load_fraction: float = 1.0
    fictitious: tuple[FloatArray, ...] | None = None
    approach: float = 0.0
    coarse: bool = False
    still: bool = False
    recent: tuple[Any, ...] | None = None
    velocities: tuple[FloatArray, ...] | None = None
    projection: Projection | None = None
    workspace: Workspace | None = None

    @classmethod
    def begin(
        cls,
        world: World,
        start: State,
        scheme: Scheme,
        controls: Mapping[Any, Any],
        workspace: Workspace | None = None,
        first: StepBodies | None = None,
    ) -> StepBodies:
        """All bodies where they are in `start`, to which `first` led where this is the second part of a step."""
        if world.timed_loads:
            controls = world.timed(controls, start.time + (scheme.elapsed if scheme.dt else scheme.interval))
        gravity = controls.get("gravity", world.gravity)
        space = Workspace() if workspace is None else workspace
        none = (None,) * len(world.models)
        before = none if first is None else first._passed()
        parts = zip(world.models, start.q, start.v, before, world.supported, start.histories or none)
        trials = [
            model.trial(StepStart(q, v, scheme, gravity, controls, space, passed, supported, known))
            for model, q, v, passed, supported, known in parts
        ]
        given = {"world": world, "start": start, "scheme": scheme, "controls": controls, "trials": tuple(trials)}
        return filled(cls, given | {"workspace": workspace})

    def _passed(self) -> list[FirstPart]:
        """What the second part of a step knows of this first one."""
        return [FirstPart(*each) for each in zip(self.start.q, self.start.v, self.dx, strict=True)]

    @property
    def gravity(self) -> FloatArray:
        """Gravity of the step, (3,), m/s²."""
        return np.asarray(self.controls.get("gravity", self.world.gravity))

    @property
    def dx(self) -> list[FloatArray]:
        """Displacement of each body so far."""
        return [trial.dx for trial in self.trials]

    def at(self, dx: Sequence[FloatArray]) -> StepBodies:
        """The bodies at the displacements dx from the start."""
        return evolve(self, trials=tuple([trial.at(x) for trial, x in zip(self.trials, dx)]))

    def moved(self, steps: Sequence[FloatArray], scale: float = 1.0) -> StepBodies:
        """The displacement so far followed by `scale` × a step of each body; rotations by exp."""
        pairs = zip(self.trials, steps)
        return evolve(self, trials=tuple([trial.at(trial.moved(trial.dx, step, scale)) for trial, step in pairs]))

    def loaded(self, fraction: float) -> StepBodies:
        """The same at another fraction of the load increment."""
        return evolve(self, load_fraction=fraction, trials=tuple(trial.loaded(fraction) for trial in self.trials))

    def without(self, forces: tuple[FloatArray, ...] | None) -> StepBodies:
        """The same with fictitious `forces` of each body subtracted from the residuals."""
        return evolve(self, fictitious=forces)

    def must_move(self) -> bool:
        """Whether constrained DoFs are not yet where supports and clamps want them."""
        return any(trial.must_move() for trial in self.trials)

    def forces(self) -> Forces:
        """Residual with the constraint forces, by a pass over the elements without stiffness."""
        return self.with_reactions(self._gathered([trial.residual() for trial in self.trials]))

    def with_reactions(self, forces: Forces) -> Forces:
        """`forces` with Hᵀλ of the last linear solve added to the residuals."""
        generalized = self._generalized
        if generalized is None:
            return forces
        pushes = [trial.reduced_force(push) for trial, push in zip(self.trials, generalized, strict=True)]
        r = tuple(r + push for r, push in zip(forces.r, pushes, strict=True))
        return forces._replace(r=r, scale=max(forces.scale, *(_norm(push) for push in pushes)))

    def full_order(self, forces: Forces) -> Forces:
        """`forces` with those of constraints, of the full-order bodies: reactions, and what reduced ones leave."""
        pushes = self._generalized or (None,) * len(self.trials)
        triples = zip(self.trials, forces.r, pushes, strict=True)
        parts = [trial.full_residual(Residual(r, forces.scale), push) for trial, r, push in triples]
        return Forces(tuple(part.r for part in parts), max(part.scale for part in parts))

    def linearized(self, tangent: Tangent, *, stiffened: bool = True) -> tuple[list[System], Forces]:
        """A and r of every body at the present displacement, and the forces in r without those of constraints. A is
        `stiffened` by the geometric stiffness of constraints, which may be negative.
        """
        systems: list[System] = []
        residuals: list[Residual] = []
        for trial in self.trials:
            system, residual = trial.linearize(tangent)
            systems.append(system)
            residuals.append(residual)
        if stiffened:
            exact = tangent is Tangent.EXACT
            self.add_geometric_stiffness(systems, exact=exact, turning=exact and not self.scheme.inertia)
        forces = self._gathered(residuals)
        if self.fictitious is not None:
            for system, model, force in zip(systems, self.world.models, self.fictitious, strict=True):
                system.r = system.r - np.where(model.constrained, 0.0, force)
        return systems, forces

    def round_off(self, systems: Sequence[System]) -> float:
        """The force, N, that a change of all positions by their last bit causes, ε ‖A_ii x_i‖/θ."""
        squares = 0.0
        for trial, system in zip(self.trials, systems, strict=True):
            reach = np.broadcast_to(trial.coordinate_scale(), trial.dx.shape)
            noise = np.where(trial.model.constrained, 0.0, system.diagonal() * reach)
            squares += float(np.vdot(noise, noise))
        # Forces are evaluated at q + θ dx: A holds θ K, but the last bit of these positions changes the forces by K.
        return float(np.finfo(np.float64).eps * np.sqrt(squares)) / self.scheme.theta

    def add_geometric_stiffness(self, systems: Sequence[System], *, exact: bool = True, turning: bool = False) -> None:
        """Add −λ ∂²δ/∂q² of the constraints that have one, at the last λ: of this step, or of the one before; where not
        `exact` it is one for full linear solves. With `turning` that of lever arms too.
        """
        world = self.world
        if self.scheme.dt and world.rocking_pairs:
            self._add_rocking_stiffness(systems)
        if not world.stiff_constraints:
            return
        x, theta = [trial.evaluation_point() for trial in self.trials], self.scheme.theta
        keys, slices = world.stiff_keys
        forces = forces_of(keys, *self.last_forces, named=world.stiff_rows_named)
        if not exact:
            for one, own in world.stiffening:
                for index, K in one.bounded_stiffness(x, forces[own], theta):
                    systems[index].add_stiffness(K)
            return
        for constraint, own in zip(world.stiff_constraints, slices, strict=True):
            lam = forces[own]
            for index, K in constraint.stiffness(x, lam, theta):
                systems[index].add_stiffness(K)
            for index, K in constraint.turning_stiffness(x, lam, theta) if turning else ():
                systems[index].add_stiffness(K)

    def _add_rocking_stiffness(self, systems: Sequence[System]) -> None:
        """Add the stiffness of edges and faces that push above round solids, at the last λ."""
        memories = self.start.memories if self.reactions is None else self.reactions.assembly.memories
        for index, pair in self.world.rocking_pairs if memories else ():
            found = pushing(pair, memories[index], *self.last_forces)
            if found is not None:
                body: Any = pair.a.index
                model: Any = self.world.models[body]
                K = rocking_stiffness(pair, self.view(), *found, model, self.scheme.theta)
                if K is not None:
                    systems[body].add_stiffness(K)

    @property
    def last_forces(self) -> tuple[IndexArray | None, FloatArray]:
        """Keys and λ (N) of the rows of the last linear solve, of this step or of the one before."""
        if self.reactions is None:
            return self.start.keys, self.start.lam
        return self.reactions.assembly.rows.key, self.reactions.lam

    def view(self) -> RowView:
        """What constraints see of the step at the present displacement."""
        world, start, scheme, trials, controls = self.world, self.start, self.scheme, self.trials, self.controls
        given = controls.get("gravity")
        own = {
            "q": [trial.positions() for trial in trials],
            "start": start.q,
            "moved": [trial.dx for trial in trials],
            "sizes": world.sizes,
            "controls": controls,
            "time": start.time + scheme.interval,
            "dt": scheme.dt,
            "interval": scheme.interval,
            "speeds": start.v,
            "gravity": world.gravity_magnitude if given is None else float(np.linalg.norm(given)),
            "last_keys": start.keys,
            "last_lam": start.lam,
            "approach": self.approach,
            "coarse": self.coarse,
            "still": self.still,
            "velocity_offsets": _offsets(trials),
            "workspace": self.workspace,
            "evaluated": () if scheme.theta == 1.0 else [trial.evaluation_point() for trial in trials],
            "theta": scheme.theta,
        }
        return filled(RowView, own)

    def views(self, session_count: int) -> list[RowView]:
        """`view` for each constraint of the world, with what it remembers, and for `session_count` others."""
        view, known = self.view(), self.start.memories
        if self.recent is None and not _any_known(known):
            return [view] * (len(self.world.constraints) + session_count)
        known = known or (None,) * len(self.world.constraints)
        if self.recent is not None:
            known = tuple(
                now if constraint.is_contact else before
                for constraint, now, before in zip(self.world.constraints, self.recent, known, strict=False)
            )
        return [
            *[view if memory is None else evolve(view, memory=memory) for memory in known],
            *[view] * session_count,
        ]

    def assembled(self, more: Sequence[Constraint] = ()) -> Assembly:
        """The rows of all constraints of the world, and of `more`, at the present displacement."""
        constraints, views = (*self.world.constraints, *more), self.views(len(more))
        return assemble(constraints, views, detect(constraints, views), self.world.bundles)

    def end_velocities(self) -> tuple[FloatArray, ...]:
        """Velocities of each body at the end of the step, m/s (and rad/s)."""
        return tuple([trial.velocities() for trial in self.trials]) if self.velocities is None else self.velocities

    def advanced(self, assembly: Assembly | None, lam: FloatArray) -> State:
        """The state at the end of the step, whose last rows were those of `assembly` with forces `lam` (N)."""
        world = self.world
        if assembly is None:
            keys, memories = None, ()
        else:
            keys, memories = assembly.rows.key, assembly.memories[: len(world.constraints)]
        positions = tuple([trial.positions() for trial in self.trials])
        histories = tuple([trial.history() for trial in self.trials]) if world.remembers else ()
        for trial, q in zip(self.trials, positions):
            trial.accept(q)
        time = self.start.time + self.scheme.interval
        return State.of(world, time, positions, self.end_velocities(), lam, keys, memories, histories)

    @property
    def _generalized(self) -> tuple[FloatArray, ...] | None:
        """Hᵀλ of each body, where constraint forces act."""
        return None if self.reactions is None else self.reactions.generalized

    def _gathered(self, parts: Sequence[Residual]) -> Forces:
        r = tuple([part.r for part in parts])
        if self.fictitious is not None:
            r = tuple(x - force for x, force in zip(r, self.fictitious, strict=True))
        return Forces(r, parts[0].scale if len(parts) == 1 else max([part.scale for part in parts]))


def _any_known(memories: Sequence[Any]) -> bool:
    """Whether a constraint remembers anything."""
    for memory in memories:  # noqa: SIM110  a generator takes longer
        if memory is not None:
            return True
    return False


def _offsets(trials: Sequence[Trial]) -> Sequence[FloatArray | None]:
    """v⁺ − dx/h of the bodies, m/s; empty where all are zero."""
    for trial in trials:
        if trial.velocity_offset is not None:
            return [each.velocity_offset for each in trials]
    return ()


def _norm(x: FloatArray) -> float:
    return float(np.sqrt(np.vdot(x, x)))


def relative_motions(before: StepBodies, after: StepBodies) -> list[FloatArray]:
    """Displacements of the nodes of each body, (n, 3), over its size."""
    made = []
    for one, other in zip(before.trials, after.trials, strict=True):
        points = one.model.node_positions(one.positions())
        size = max(float(np.ptp(points, axis=0).max()), np.finfo(np.float64).tiny)
        made.append((one.model.node_positions(other.positions()) - points) / size)
    return made


def largest(arrays: Sequence[FloatArray]) -> float:
    """The largest absolute entry."""
    return max(float(np.abs(x).max()) for x in arrays)
