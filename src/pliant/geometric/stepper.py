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
from pliant.constraints.contact import ContactPair
from pliant.core.checks import positive, positive_count
from pliant.core.errors import ConvergenceError, InputError
from pliant.core.status import Status
from pliant.core.threads import allow_threads, one_blas_thread
from pliant.core.timers import StageTimers
from pliant.geometric.descent import Descent, Effort, Settings
from pliant.geometric.mixed import mixed_body
from pliant.geometric.path import Path
from pliant.geometric.quadratic import LeapError, StalledError
from pliant.geometric.shapes import inverted_cells
from pliant.models.scheme import STATIC_SCHEME
from pliant.models.volume import VolumeModel
from pliant.models.workspace import Workspace
from pliant.stepping.bodies import StepBodies
from pliant.stepping.info import StepInfo
from pliant.world import State, World

EASY = 7
"""Iterations up to which a part of the way was easy, so that the next may be longer."""
STRIDE = 0.35
"""Strain of a cell in the first step of a part that parts are made for."""
LONGER = 4.0
"""Most by which a part is longer than the one before it."""
FALL_PART = 0.1
"""Parts shorter than this share of the longest one are allowed to fall from unstable shapes."""
SHORTEST_PART = 1e-3
"""Shortest part of the way of the controls that is tried."""


@dataclass(frozen=True, eq=False)
class GeometricInfo(StepInfo):
    """Outcome of a geometric step, beside what every step reports; `load_steps` are the parts the way was taken in.

    `factorizations` counts matrices; `inverted` cells turned inside out, always 0; `volume_changes` are those of the
    bodies relative to rest, one each; `depth` is how deep contacts stand in each other, m. `barrier` is the share that
    the barrier against inverted cells has in the energy: where it is not tiny the mesh is too coarse for the shape.
    `unstable` counts directions along which the energy fell near the end: not 0 where the shape is in equilibrium but
    not a minimum, as of a tube about to bulge elsewhere.
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
    """The shape of least energy in which every chamber has the volume asked for and nothing is crossed.

    min Σ ψ(F) vol − loads   over the free nodes,   with   V = α V₀ for each chamber,   gap ≥ 0 for each contact

    ψ is any material of the library; `pl.VolumeRatio(α)` is the control of a cavity. There is no time: the answer does
    not depend on the way, but where contacts come to lie or shapes are unstable. λ of a chamber is its
    pressure, λ of a contact its force.

    The paper blends shapes over one constant Laplacian; its stress is no gradient, so that energy, pressure and contact
    force have no meaning in it. Here the energy is that of the material, and the quadratic problems of the descent are
    solved with the factorized tangent, kept for several iterations and improved by their steps: rubber keeps its
    volume, of which a Laplacian knows nothing. The Laplacian bends their steps instead, so that what turns does not
    stretch; with that one iteration for each part of the way is enough to go on, and only its end is found in full.

    Chambers are closed surfaces: they have no mesh of their own, and none that could be too coarse at a large growth.
    Walls that are stretched beyond twice their length want `pl.Volume(…, anti_locking="volume")`. Where the shape
    becomes unstable on the way, as a tube that bulges, it falls to the next stable one.

    tolerance
        ‖∂L/∂q‖ over the free unknowns as a fraction of the largest force norm, L the Lagrangian; usual 1e-4 … 1e-8.
    growth
        Largest ratio by which a chamber grows before the matrix is made again; smaller parts follow where that fails.
    memory
        Steps that improve the kept factor.
    iterations
        Most iterations for a part of the way.
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
        positive("tolerance", self.tolerance)
        positive_count("memory", self.memory)
        positive_count("iterations", self.iterations)
        positive_count("threads", self.threads)
        if not positive("growth", self.growth) > 1.0:
            raise InputError(f"growth must be above 1, got {self.growth:g}")

    def __call__(
        self, world: World, state: State, controls: Mapping[Any, Any] | None = None
    ) -> tuple[State, GeometricInfo]:
        """The shape reached from `state` and what it took; `state` is left as it is. Where the way ends early a
        `ConvergenceError` has the last shape that was accepted as its `result`.
        """
        _check(world)
        values = world.controls(controls)
        refuse_rates(values)
        way = _Way(self, world, state, Path(world, state, values))
        with one_blas_thread(), allow_threads(self.threads):
            way.walk()
        return way.finished()


class _Way:
    """The way from one state to the controls, in parts."""

    def __init__(self, options: Geometric, world: World, state: State, path: Path) -> None:
        self.options = options
        self.world = world
        self.start = self.state = state
        self.path = path
        self.timers, self.effort = StageTimers(), Effort()
        self.parts = 0
        self.settings = Settings(options.tolerance, options.iterations, options.memory)
        self.descent: Descent | None = None

    def walk(self) -> None:
        """Part after part, shorter ones where one fails.

        Shapes on the way are passed through. Where it does not go on from one, that one is found in full first; where
        that fails too, the one before it, and so on back to the last that was found in full. From there to where it
        failed each shape is found in full.
        """
        longest = np.log(self.options.growth) / max(self.path.length, 1e-12)
        reached, part = 0.0, 1.0 / np.ceil(max(1.0, 1.0 / longest) - 1e-9)
        leaps, fall = 0, False  # how often the present part was too long, and whether it may fall
        steep = 0.0  # up to where shapes are found in full
        passed: list[tuple[float, State, Descent | None]] = [(reached, self.state, self.descent)]
        while reached < 1.0:
            end = min(reached + part, 1.0) if reached + 1.001 * part < 1.0 else 1.0
            stable = self.descent is None or not self.descent.unstable
            before, passing = self.effort.iterations, steep <= reached and end < 1.0 and stable
            try:
                self._go(reached, end, passing=passing, fall=fall)
            except StalledError as error:
                part = 0.5 * (end - reached)
                if isinstance(error, LeapError) and leaps < 2:
                    part, leaps = STRIDE / error.rate * (end - reached), leaps + 1
                elif part < FALL_PART * longest and not fall:
                    part, fall = end - reached, True
                elif len(passed) > 1:
                    steep = reached
                    reached = self._settled(passed)
                elif part < SHORTEST_PART:
                    raise ConvergenceError(
                        f"no shape found beyond {reached:.1%} of the way ({self.path.text(reached)}): {error}; take "
                        "smaller steps, refine the mesh where it is stretched most, or loosen the tolerance",
                        result=self.state,
                    ) from error
                continue
            reached, leaps, fall = end, 0, False
            if not passing:
                passed.clear()
            passed.append((reached, self.state, self.descent))
            if self.effort.iterations - before <= EASY:
                part = min(part * min(LONGER, STRIDE / max(self._rate(), 0.01)), longest)

    def _rate(self) -> float:
        """Strain of a cell in the first step of the last part."""
        return 0.0 if self.descent is None or self.descent.rate is None else self.descent.rate

    def _settled(self, passed: list[tuple[float, State, Descent | None]]) -> float:
        """Go back over the shapes that were `passed` through to the last one that can be found in full, which is all
        that is left of them; the first one is found already. Says where it lies.
        """
        while True:
            reached, self.state, self.descent = passed.pop()
            if not passed:
                break
            try:
                self._go(reached, reached, passing=False)
            except StalledError:
                continue
            break
        passed[:] = [(reached, self.state, self.descent)]
        return reached

    def _go(self, reached: float, end: float, *, passing: bool, fall: bool = False) -> None:
        """One part of the way."""
        values, space = self.path.values(end), self.options.workspace
        bodies = StepBodies.begin(self.world, self.state, STATIC_SCHEME, values, space)
        descent = Descent(bodies.loaded((end - reached) / (1.0 - reached)), self.settings, self.timers, self.effort)
        try:
            descent.run(before=self.descent, passing=passing, fall=fall)
        finally:
            descent.release()
        self.state = descent.step(self.timers).advanced()
        self.descent = descent
        self.parts += end > reached

    def finished(self) -> tuple[State, GeometricInfo]:
        """The last shape, and what the way took."""
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
            load_steps=self.parts,
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
    """Raise where the world has what a geometric step does not know."""
    for model in world.models:
        if not isinstance(model, VolumeModel):
            raise InputError(
                f"{model.name!r} is no volume; pl.Geometric moves volumes only: make it an obstacle or a stiff volume, "
                "or use pl.QuasiStatic"
            )
    for maker in world.constraints:
        if isinstance(maker, ContactPair) and maker.mu:
            raise InputError(
                f"{maker.name} collide with friction {maker.mu:g}; a geometric step has no slip, since it has no way: "
                "use friction=0, or a dynamic stepper"
            )
