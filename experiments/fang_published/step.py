"""One step of the published geometric simulation, with chambers of elements.

G. Fang, Y. Tian, A. Weightman, C. C. L. Wang, Collision-aware fast simulation for soft robots by optimization-based
geometric computing, IROS 2022, algorithm 1. Rounds of local projections (`blend`) and one global solve go on to the
fixed point, accelerated (`anderson`); collided vertices are drawn out by springs (`springs`); chambers are filled again
where their elements have grown or are distorted too far (`chambers`).

Kept as published, so that its behaviour can be seen: the ratio α is nominal, for the air is elastic with a weight that
means nothing; the body keeps its volume as far as ω says; contact has no force. Made right: the cube root of equation
(7), proper rotations, boxes refitted in every round, a stop by what is left of the forces, and a rest shape that stays.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from experiments.fang_published.anderson import Anderson
from experiments.fang_published.blend import Elements, Laplacian
from experiments.fang_published.blend_tangent import BlendTangent
from experiments.fang_published.chambers import Filling, air, filled, mean_pressure, swell, weighed, worst_element
from experiments.fang_published.info import LocalGlobalInfo
from experiments.fang_published.springs import Springs
from pliant.actuators.cavity import CavityRows
from pliant.actuators.limits import Command
from pliant.constraints import RowView
from pliant.constraints.contact import ContactPair
from pliant.core.errors import ConvergenceError, InputError, MeshError
from pliant.core.timers import StageTimers
from pliant.core.types import FloatArray
from pliant.mesh.geometry import cell_volumes
from pliant.models.volume import VolumeModel
from pliant.world import State, World

if TYPE_CHECKING:
    from experiments.fang_published.stepper import LocalGlobal

NOISE = 1e-9
"""Forces below this fraction of modulus times size squared are nothing."""
CLOSE, SLOW = 0.02, 0.7
"""What has to be left of the forces for the elastic matrix to be kept, at most, and after another step over it."""
LONGEST, NEARBY = 0.05, 0.005
"""Longest step over the elastic matrix, as a fraction of the size of the largest body: free, and with springs."""


class Step:
    """The load path from a state to the ratios asked for, in increments; `accepted` is the last solution on it."""

    def __init__(self, options: LocalGlobal, world: World, state: State, values: Mapping[Any, Any]) -> None:
        self.options, self.tolerance, self.world, self.values = options, options.tolerance, world, values
        self.start = self.accepted = state
        self.timers = StageTimers()
        self.models = world.volumes
        sizes = [len(model.rest) for model in self.models]
        self.offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        self.count = int(self.offsets[-1])
        self.cavities: list[CavityRows] = []
        self.targets: list[float] = []
        for handle, value in values.items():
            cavity = world.constraints[world.constraint_index(handle)] if isinstance(value, Command) else None
            if isinstance(cavity, CavityRows):
                self.cavities.append(cavity)
                self.targets.append(1.0 + value.amount / cavity.rest_volume)
        self.remeshes = self.failed = self.iterations = self.factorizations = self.parts = 0
        self.residual = 0.0
        self.x = np.concatenate(state.q)
        self.fillings = [self._first(cavity) for cavity in self.cavities]
        self.size = max(float(np.ptp(model.rest, axis=0).max()) for model in self.models)
        distance = 1e-3 * self.size if options.offset is None else options.offset
        self.springs = Springs(world, self.offsets, self.count, distance)
        rest = [q if options.plastic else model.rest for model, q in zip(self.models, state.q, strict=True)]
        self.body = _body(options, self.models, rest, self.offsets)
        stiffest = max(material.shear_modulus for model in self.models for material in model.spec.materials)
        self.noise = NOISE * stiffest * self.size**2
        self._lay_out()

    def walk(self) -> None:
        """Follow the load path, in increments of at most the ratio `step` in nominal volume."""
        begin = np.array([filling.ratio for filling in self.fillings])
        length = float(np.abs(np.log(np.array(self.targets) / begin)).max()) if self.cavities else 0.0
        parts = max(1, int(np.ceil(length / np.log(self.options.step) - 1e-9)))
        for part in range(1, parts + 1):
            ratios = begin ** (1.0 - part / parts) * np.array(self.targets) ** (part / parts)
            self.fillings = [replace(f, ratio=float(r)) for f, r in zip(self.fillings, ratios, strict=True)]
            self._settle(part / parts)
            if self._remesh():
                self._settle(part / parts)
            self._accept()

    def _first(self, cavity: CavityRows) -> Filling:
        """The filling that the state remembers, or a new one."""
        index = self.world.constraints.index(cavity)
        known = self.start.memories[index] if self.start.memories else None
        if isinstance(known, Filling):
            return known
        return self._filled(cavity, self.start.q[cavity.index])

    def _filled(self, cavity: CavityRows, q: FloatArray) -> Filling:
        """The chamber filled at the shape q (n, 3) m of its body; the error of a mesher has the last accepted state."""
        try:
            with self.timers.stage("remesh"):
                made = filled(cavity, q, self.options.cell_size)
        except MeshError as error:
            error.result = self.accepted
            raise
        self.failed += made.failed
        return made.filling

    def _lay_out(self) -> None:
        """Index the nodes of bodies and air, and factorize the Laplacian of both."""
        with self.timers.stage("factorize"):
            body_x = self.x[: self.count]
            self.local: list[Any] = []
            self.air: list[Elements] = []
            moved, parts, begin = [body_x], [self.body], self.count
            for cavity, filling in zip(self.cavities, self.fillings, strict=True):
                inner = np.arange(begin, begin + len(filling.inner))
                indices = np.concatenate([self.offsets[cavity.index] + filling.nodes, inner])
                elements = air(filling, self._weight(cavity), self.options.weighting)
                self.local.append(indices)
                self.air.append(elements)
                parts.append(replace(elements, cells=indices[elements.cells].astype(np.int32)))
                moved.append(filling.inner)
                begin += len(filling.inner)
            self.x = np.concatenate(moved)
            constrained = np.zeros((begin, 3), bool)
            constrained[: self.count] = np.concatenate([model.constrained for model in self.models])
            self.constrained = constrained
            self.elements = parts
            self.laplacian = Laplacian(begin, parts, constrained, self.x)
            self.stiffness = np.zeros(begin)
            if self.springs.active.any():
                self._place_springs()

    def _weight(self, cavity: CavityRows) -> float:
        """Weight (Pa) of the air in a chamber of a body."""
        return self.options.chamber_weight * self.options.blend_of(self.models[cavity.index].spec.material)[1]

    def _forces(self) -> tuple[FloatArray, float]:
        """Forces over two (n, 3) N of all elements and springs at x, and the largest norm of a part of them."""
        x = self.x
        force = np.zeros_like(x)
        force[: self.count] = self.body.forces(x[: self.count], 0.0, self.options.softening_table())
        push = np.zeros_like(x)
        for filling, elements, indices in zip(self.fillings, self.air, self.local, strict=True):
            push[indices] += elements.forces(np.ascontiguousarray(x[indices]), swell(filling))
        self.body_forces = force[: self.count].copy()
        scale = max(float(np.linalg.norm(part[~self.constrained])) for part in (force, push))
        force += push
        if self.springs.active.any():
            force[: self.count] -= self.stiffness[: self.count, None] * self.springs.stretch
        force[self.constrained] = 0.0
        return force, max(scale, self.noise)

    def _settle(self, along: float) -> None:
        """To the fixed point at the present ratios: rounds over the Laplacian, then steps over the elastic matrix."""
        self._move_supports()
        if self._rounds() or (self.options.finish and self._finish()):
            return
        raise ConvergenceError(
            f"the published method did not converge at {along:.0%} of the load path: residual {self.residual:.1e}, "
            f"wanted {self.tolerance:.1e}; "
            + ("raise `iterations`, take a smaller `step`, or" if self.options.finish else "set finish=True, or")
            + " use pl.Geometric",
            result=self.accepted,
        )

    def _rounds(self) -> bool:
        """Rounds of local projections and global solves, accelerated; whether they have settled."""
        mixing = Anderson(self.options.window)
        for _ in range(self.options.rounds):
            if self._collide():
                mixing.restart()
            force = self._measured()
            if self.residual <= self.tolerance:
                return True
            with self.timers.stage("global"):
                step = -self.laplacian.solve(force)
            moved = self._moved(mixing.step(self.x, step))
            if self.options.stop_motion is not None and moved < self.options.stop_motion:
                return True
        return False

    def _finish(self) -> bool:
        """Steps over the elastic matrix, accelerated; whether they have settled.

        Steps are taken in full: what a long one leaves is the curvature of stiff directions, which the next one mends.
        """
        tangent = BlendTangent(len(self.x), self.elements[0], self.elements[1:], self.constrained, self.x)
        mixing, before = Anderson(self.options.window), np.inf
        for iteration in range(self.options.iterations + 1):
            changed = self._collide()
            force = self._measured()
            if self.residual <= self.tolerance:
                self.factorizations += tangent.factorizations
                return True
            if changed:
                mixing.restart()
            if not iteration or changed or self.residual > CLOSE or self.residual > SLOW * before:
                with self.timers.stage("factorize"):
                    normals = np.zeros_like(self.x)
                    normals[: self.count] = self.springs.normal
                    tangent.factorize(self.x, self.stiffness, normals)
            before = self.residual
            with self.timers.stage("global"):
                step = -tangent.solve(force)
            longest = NEARBY if self.springs.active.any() else LONGEST
            self._moved(mixing.step(self.x, step), longest * self.size)
        return False

    def _measured(self) -> FloatArray:
        """The forces at x, and what is left of them."""
        with self.timers.stage("local"):
            force, scale = self._forces()
        self.residual = float(np.linalg.norm(force)) / scale
        return force

    def _moved(self, step: FloatArray, longest: float = np.inf) -> float:
        """Follow `step`, shortened to `longest` (m) and to what the look for collisions allows; how far the farthest
        node would go, m.
        """
        farthest = float(np.abs(step).max())
        self.x = self.x + min(1.0, min(longest, self.springs.reach) / max(farthest, 1e-300)) * step
        self.iterations += 1
        return farthest

    def _move_supports(self) -> None:
        """Constrained unknowns go where clamps and supports want them."""
        for model, start in zip(self.models, self.offsets, strict=False):
            there = model.prescribed(self.values)
            own = self.x[start : start + len(there)]
            own[model.constrained] = there[model.constrained]

    def _collide(self) -> bool:
        """Look for collisions at x; whether the springs are others than before."""
        with self.timers.stage("collide"):
            changed = self.springs.update(self._view())
        if changed:
            with self.timers.stage("factorize"):
                self._place_springs()
        return changed

    def _place_springs(self) -> None:
        self.stiffness[: self.count] = self.options.spring * np.where(
            self.springs.active, self.laplacian.diagonal[: self.count], 0.0
        )
        self.laplacian.spring(self.stiffness)

    def _view(self) -> RowView:
        """What collision detection sees at x."""
        start = self.start
        parts = np.split(self.x[: self.count], self.offsets[1:-1])
        moved = [x - q for x, q in zip(parts, start.q, strict=True)]
        q = [q + dx for q, dx in zip(start.q, moved, strict=True)]
        options = {"start": start.q, "moved": moved, "controls": self.values, "time": start.time, "speeds": start.v}
        return RowView.of(self.models, q, **options)

    def _remesh(self) -> bool:
        """Fill chambers again whose elements are stretched too far; whether there were any."""
        changed = False
        for index, cavity in enumerate(self.cavities):
            x = self.x[self.local[index]]
            growth, distortion = worst_element(self.air[index], self.fillings[index], x)
            too_far = growth > self.options.max_growth or distortion > self.options.max_distortion
            if self.options.remesh and too_far:
                self.fillings[index] = self._refilled(index, cavity)
                changed = True
                self.remeshes += 1
            else:
                self.fillings[index] = replace(self.fillings[index], inner=x[len(self.fillings[index].nodes) :])
        if changed:
            self.factorizations += self.laplacian.factorizations
            self._lay_out()
        return changed

    def _refilled(self, index: int, cavity: CavityRows) -> Filling:
        """A new filling of a chamber at x, with the pressure of the old one."""
        old, x = self.fillings[index], self.x[self.local[index]]
        q = self.x[self.offsets[cavity.index] : self.offsets[cavity.index + 1]]
        volume = cavity.volume(q)
        pressure = mean_pressure(self.air[index], old, x, volume)
        new = replace(self._filled(cavity, q), ratio=old.ratio)
        elements = air(new, self._weight(cavity), self.options.weighting)
        there = np.concatenate([q[new.nodes], new.inner])
        return weighed(new, old, pressure, mean_pressure(elements, new, there, volume))

    def _accept(self) -> None:
        """Make the present shape the one that stays if what follows fails."""
        memories: list[Any] = [None] * len(self.world.constraints)
        view, self.pressures = self._view(), []
        for index, cavity in enumerate(self.cavities):
            x = self.x[self.local[index]]
            filling = replace(self.fillings[index], inner=x[len(self.fillings[index].nodes) :])
            volume = cavity.volume(view.q[cavity.index])
            self.pressures.append(mean_pressure(self.air[index], filling, x, volume))
            memories[self.world.constraints.index(cavity)] = filling
        self.parts += 1
        still = tuple(np.zeros_like(v) for v in self.start.v)
        self.accepted = State(self.world, self.start.time, tuple(view.q), still, np.zeros(0), memories=tuple(memories))

    def info(self) -> LocalGlobalInfo:
        """What the load path took."""
        state = self.accepted
        volumes = [cell_volumes(q, model.mesh.cells, "tet4") for model, q in zip(self.models, state.q, strict=True)]
        worst = [
            worst_element(elements, filling, self.x[indices])
            for elements, filling, indices in zip(self.air, self.fillings, self.local, strict=True)
        ]
        return LocalGlobalInfo(
            world=self.world,
            residual=self.residual,
            iterations=self.iterations,
            load_steps=self.parts,
            factorizations=self.factorizations + self.laplacian.factorizations,
            stage_times=self.timers.seconds,
            inverted=sum(int(np.count_nonzero(volume <= 0.0)) for volume in volumes),
            volume_changes=tuple(
                float(volume.sum() / model.mesh.volume - 1.0)
                for model, volume in zip(self.models, volumes, strict=True)
            ),
            depth=self.springs.depth,
            chambers=tuple(cavity.spec for cavity in self.cavities),
            growths=tuple(state.volume(cavity.spec) / cavity.rest_volume for cavity in self.cavities),
            nominal=tuple(self.targets),
            pressures=tuple(self.pressures),
            remeshes=self.remeshes,
            failed_meshes=self.failed,
            springs=int(np.count_nonzero(self.springs.active)),
            worst_growth=max((growth for growth, _ in worst), default=1.0),
            worst_distortion=max((distortion for _, distortion in worst), default=0.0),
            forces=tuple(2.0 * part for part in np.split(self.body_forces, self.offsets[1:-1])),
        )


def _body(options: LocalGlobal, models: Any, rest: list[FloatArray], offsets: Any) -> Elements:
    """The elements of all bodies over all nodes."""
    parts = []
    for model, shape, start in zip(models, rest, offsets, strict=False):
        indices = model.spec.cell_materials()
        omega, weight = np.array([options.blend_of(material) for material in model.spec.materials]).T
        own = Elements.of(shape, model.mesh.cells, weight[indices], omega[indices], options.weighting)
        parts.append(replace(own, cells=(own.cells + start).astype(np.int32)))
    names = ("cells", "G", "X", "K", "omega", "strength")
    return Elements(*(np.concatenate([getattr(part, name) for part in parts]) for name in names))


def check(world: World, values: Mapping[Any, Any]) -> None:
    """Raise where the world has what the published method does not know."""
    for model in world.models:
        if not isinstance(model, VolumeModel):
            raise InputError(f"{model.name!r} is no volume; the published method moves volumes only")
    if np.any(values.get("gravity", world.gravity)):
        raise InputError("the published method knows no weight: its energy has no unit of force; set gravity to 0")
    for model in world.volumes:
        if model.mesh.element != "tet4":
            raise InputError(f"{model.name!r} is made of {model.mesh.element}; the published method takes tet4 only")
        if model.nodal_loads or model.pressure_loads or model.fibres:
            raise InputError(
                f"{model.name!r} has loads or fibres, which the published method does not know: remove them"
            )
    for constraint in world.constraints:
        if not isinstance(constraint, (CavityRows, ContactPair)):
            name = getattr(getattr(constraint, "spec", constraint), "name", type(constraint).__name__)
            raise InputError(f"{name!r} is no chamber; the published method drives chambers only")
        if isinstance(constraint, ContactPair) and constraint.mu:
            raise InputError(f"{constraint.name} have friction {constraint.mu:g}; the published method has none: use 0")
    for handle, value in values.items():
        if isinstance(value, Command) and value.by_force:
            raise InputError(f"{handle.name!r} is asked for a pressure; the published method takes pl.VolumeRatio(α)")
