"""Geometric simulation: the shape of a pneumatic robot at a given volume of its chambers, without time.

After G. Fang, Y. Tian, A. Weightman, C. C. L. Wang, Collision-aware fast simulation for soft robots by
optimization-based geometric computing, IROS 2022, made a true energy: see `Geometric`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from pliant.actuators.limits import refuse_rates
from pliant.constraints.spring import SpringRows
from pliant.core.checks import positive, positive_count
from pliant.core.declared import check_declared
from pliant.core.errors import ConvergenceError, InputError
from pliant.core.interrupts import answer_interrupts
from pliant.core.one_line import one_line
from pliant.core.status import Status
from pliant.core.threads import pinned_threads
from pliant.core.timers import StageTimers
from pliant.models.scheme import STATIC_SCHEME
from pliant.models.volume import VolumeModel
from pliant.models.workspace import Workspace
from pliant.stepping.bodies import StepBodies
from pliant.stepping.info import StepInfo
from pliant.stepping.minimum_energy.control_path import ControlPath
from pliant.stepping.minimum_energy.descent import Descent, Effort, Settings
from pliant.stepping.minimum_energy.mixed import mixed_body
from pliant.stepping.minimum_energy.quadratic import IncrementError, StalledError
from pliant.stepping.minimum_energy.shapes import inverted_cells
from pliant.world import State, World
from pliant.world.belonging import check_belongs
from pliant.world.copies import Copies

EASY_ITERATIONS = 7
"""Iterations up to which a load increment was easy, so that the next may be longer."""
TARGET_STRAIN = 0.35
"""Strain of a cell in the first step of an increment that the size of increments aims at."""
LONGER = 4.0
"""Largest ratio of an increment to the one before it."""
UNSTABLE_INCREMENT = 0.1
"""Increments below this fraction of the longest one may follow negative curvature from unstable configurations."""
SHORTEST_INCREMENT = 1e-3
"""Shortest fraction of the load path that is tried."""


@one_line
@dataclass(frozen=True, eq=False)
class GeometricInfo(StepInfo):
    """Outcome of a geometric step, beside what every step reports; `load_steps` counts load increments.

    `factorizations` counts matrices; `inverted` inverted cells, always 0; `volume_changes` are those of the bodies
    relative to rest, one each; `depth` is the largest penetration, m. `barrier` is the fraction of the energy that the
    barrier against inverted cells has: where it is not tiny the mesh is too coarse for the configuration. `unstable`
    counts directions of negative curvature near the end: not 0 where the configuration is in equilibrium but not a
    minimum, as of a tube about to bulge elsewhere.
    """

    factorizations: int = 0
    inverted: int = 0
    volume_changes: tuple[float, ...] = ()
    depth: float = 0.0
    barrier: float = 0.0
    unstable: int = 0
    gradient: float = 0.0
    """Relative norm of the gradient of the Lagrangian, which is the `residual`."""

    @cached_property
    def residual(self) -> float:
        """Relative norm of the gradient of the Lagrangian."""
        return self.gradient

    @cached_property
    def full_order_residual(self) -> float:
        """The `residual`: bodies of geometric steps are never reduced."""
        return self.gradient


@dataclass(frozen=True)
class Geometric:
    """The configuration of least energy in which every chamber has its prescribed volume and nothing penetrates.

    min Σ ψ(F) vol − loads   over the free nodes,   with   V = α V₀ for each chamber,   gap ≥ 0 for each contact

    ψ is any material of the library; `pl.VolumeRatio(α)` is the control of a cavity. There is no time. The
    result is path-independent, except where contacts or instabilities make it depend on the load path. λ of a chamber
    is its pressure, λ of a contact its force.

    The paper blends shapes over one constant Laplacian; its stress is no gradient, so that energy, pressure and contact
    force have no meaning in it. Here the energy is that of the material, and the quadratic problems of the descent are
    solved with the factorized tangent, kept for several iterations and improved by quasi-Newton updates: a Laplacian
    ignores the volume that rubber keeps. It bends the steps instead, so that what rotates does not stretch; one
    iteration for each intermediate load increment is then enough, and only the last one is solved to the tolerance.

    Chambers are closed surfaces: they have no mesh of their own, and none that could be too coarse at a large growth.
    Walls that are stretched beyond twice their length want `pl.Volume(…, anti_locking="volume")`. Where the load path
    meets an instability, as of a tube that bulges, the descent goes on to the next stable configuration.

    tolerance
        ‖∂L/∂q‖ over the free unknowns as a fraction of the largest force norm, L the Lagrangian; usual 1e-4 … 1e-8.
    growth
        Largest ratio by which a chamber grows in one load increment; shorter increments follow where that fails.
    memory
        Steps that improve the kept factor.
    iterations
        Most iterations of a load increment.
    threads
        Threads that large bodies take, 1 or 2; the answer is the same to the last bit.
    """

    _: KW_ONLY
    tolerance: float = 1e-5
    growth: float = 1.15
    memory: int = 8
    iterations: int = 15
    threads: int = 2
    workspace: Workspace = field(default_factory=Workspace, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        check_declared(self)
        positive("tolerance", self.tolerance)
        positive_count("memory", self.memory)
        positive_count("iterations", self.iterations)
        positive_count("threads", self.threads)
        if not positive("growth", self.growth) > 1.0:
            raise InputError(f"growth must be above 1, got {self.growth:g}")

    def __call__(
        self, world: World, state: State, controls: Mapping[Any, Any] | None = None
    ) -> tuple[State, GeometricInfo]:
        """The configuration reached from `state` and what it took; `state` is left as it is. Where the load path ends
        early, the `result` of the `ConvergenceError` is the last configuration that was accepted.
        """
        if isinstance(world, Copies):
            return world.step(self, state, controls)  # type: ignore[no-any-return]
        _check(world)
        check_belongs(state, world)
        values = world.controls(controls)
        refuse_rates(values)
        load_path = _LoadPath(self, world, state, ControlPath(world, state, values))
        with pinned_threads(self.threads):
            load_path.follow()
        return load_path.finished()


class _LoadPath:
    """The load path from one state to the controls, in increments."""

    def __init__(self, options: Geometric, world: World, state: State, path: ControlPath) -> None:
        self.options = options
        self.world = world
        self.start = self.state = state
        self.path = path
        self.timers, self.effort = StageTimers(), Effort()
        self.increments = 0
        self.settings = Settings(options.tolerance, options.iterations, options.memory)
        self.descent: Descent | None = None

    def follow(self) -> None:
        """Increment after increment, shorter ones where one fails.

        Intermediate increments end after one step. Where the path does not go on from there, that configuration is
        solved to the tolerance first; where that fails too, the one before it, and so on back to the last that was
        solved. From there to where it failed every increment is solved to the tolerance.
        """
        longest = np.log(self.options.growth) / max(self.path.length, 1e-12)
        reached, size = 0.0, 1.0 / np.ceil(max(1.0, 1.0 / longest) - 1e-9)
        shortened, reflect = 0, False  # how often this increment was too long; whether negative curvature is followed
        steep = 0.0  # every increment up to here is solved to the tolerance
        visited: list[tuple[float, State, Descent | None]] = [(reached, self.state, self.descent)]
        while reached < 1.0:
            end = min(reached + size, 1.0) if reached + 1.001 * size < 1.0 else 1.0
            stable = self.descent is None or not self.descent.unstable
            before, intermediate = self.effort.iterations, steep <= reached and end < 1.0 and stable
            try:
                self._increment(reached, end, intermediate=intermediate, reflect=reflect)
            except StalledError as error:
                size = 0.5 * (end - reached)
                if isinstance(error, IncrementError) and shortened < 2:
                    size, shortened = TARGET_STRAIN / error.rate * (end - reached), shortened + 1
                elif size < UNSTABLE_INCREMENT * longest and not reflect:
                    size, reflect = end - reached, True
                elif len(visited) > 1:
                    steep = reached
                    reached = self._solved_before(visited)
                elif size < SHORTEST_INCREMENT:
                    raise ConvergenceError(
                        f"no equilibrium found beyond {reached:.1%} of the load path ({self.path.text(reached)}): "
                        f"{error}; take smaller steps, refine the mesh where it is stretched most, or loosen the "
                        "tolerance",
                        result=self.state,
                    ) from error
                continue
            reached, shortened, reflect = end, 0, False
            if not intermediate:
                visited.clear()
            visited.append((reached, self.state, self.descent))
            if self.effort.iterations - before <= EASY_ITERATIONS:
                strain = 0.0 if self.descent is None or self.descent.rate is None else self.descent.rate
                size = min(size * min(LONGER, TARGET_STRAIN / max(strain, 0.01)), longest)

    def _solved_before(self, visited: list[tuple[float, State, Descent | None]]) -> float:
        """Go back over the configurations `visited` to the last one that can be solved to the tolerance, which is all
        that is left of them; the first one is solved already. Returns its parameter on the load path.
        """
        while True:
            reached, self.state, self.descent = visited.pop()
            if not visited:
                break
            try:
                self._increment(reached, reached, intermediate=False)
            except StalledError:
                continue
            break
        visited[:] = [(reached, self.state, self.descent)]
        return reached

    def _increment(self, reached: float, end: float, *, intermediate: bool, reflect: bool = False) -> None:
        """One load increment."""
        answer_interrupts()
        values, space = self.path.values(end), self.options.workspace
        bodies = StepBodies.begin(self.world, self.state, STATIC_SCHEME, values, space)
        descent = Descent(bodies.loaded((end - reached) / (1.0 - reached)), self.settings, self.timers, self.effort)
        try:
            descent.run(before=self.descent, intermediate=intermediate, reflect=reflect)
        finally:
            descent.release()
        self.state = descent.step(self.timers).advanced()
        self.descent = descent
        self.increments += end > reached

    def finished(self) -> tuple[State, GeometricInfo]:
        """The last configuration, and what the load path took."""
        assert self.descent is not None
        step, state = self.descent.step(self.timers), self.state
        volumes = list(zip(self.world.volumes, state.q, strict=True))
        energy = sum(model.elastic_energy(q) for model, q in volumes)
        upright = sum(mixed_body(model, self.options.workspace).barrier(q) for model, q in volumes)
        return state, GeometricInfo(
            status=Status.CONVERGED,
            iterations=self.effort.iterations,
            linear_residual=0.0,
            stage_times=self.timers.seconds,
            step=step,
            advanced=state,
            load_steps=self.increments,
            lam=step.lam,
            shift=self.effort.shift,
            gradient=self.descent.residual,
            factorizations=self.effort.factorizations,
            inverted=sum(inverted_cells(model, q) for model, q in volumes),
            volume_changes=tuple(_volume_change(model, q) for model, q in volumes),
            depth=self.descent.depth,
            barrier=upright / energy if energy else 0.0,
            unstable=self.descent.unstable,
        )


def _volume_change(model: VolumeModel, q: Any) -> float:
    return float(replace(model.mesh, points=np.array(q)).cell_volumes().sum() / model.mesh.volume - 1.0)


def _check(world: World) -> None:
    """Raise where the world has what a geometric step does not support."""
    for model in world.models:
        if not isinstance(model, VolumeModel):
            raise InputError(
                f"{model.name!r} is no volume; pl.Geometric moves volumes only: make it an obstacle or a stiff volume, "
                "or use pl.QuasiStatic"
            )
        if model.memory is not None and model.memory.softening is not None:
            raise InputError(
                f"the material of {model.name!r} softens, and a geometric step minimises the energy of the virgin one: "
                "use pl.QuasiStatic, or the base of pl.materials.Mullins"
            )
    constraints: list[Any] = list(world.constraints)
    for constraint in constraints:
        if isinstance(constraint, SpringRows):
            raise InputError(f"pl.Geometric has no springs such as {constraint.name!r}; use pl.QuasiStatic")
        if constraint.is_contact and constraint.mu:
            raise InputError(
                f"{constraint.name} collide with friction {constraint.mu:g}; a geometric step has no slip history: "
                "use friction=0, or a dynamic stepper"
            )
