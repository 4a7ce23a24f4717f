"""What the two experiments of Goury 2021 share: snapshots kept between runs, bases of several sizes, their errors."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from importlib.util import find_spec
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

import pliant
from pliant.constraints.facing import FacingPair
from pliant.core.errors import ConvergenceError
from pliant.core.kernels import cache_folder
from pliant.core.threads import one_blas_thread
from pliant.core.types import FloatArray, IndexArray
from pliant.reduced.contact_basis import ContactBasis
from pliant.reduction import Factorization, Plan, Snapshots, experiments, fit_error, nnmf_family
from pliant.robots import Robot
from pliant.stepping import StepInfo
from pliant.sweep import digest_of, world_digest
from pliant.world import Scene, State, World
from pliant.world.reduced import reduced

DEPTH = 0.01
"""How deep a point may be that no mode touches, as a fraction of the margin; see `ContactBasis`."""
HELD_OUT = 0.2
"""Fraction of the snapshots with contact that is held out of the bases."""


@dataclass(frozen=True, eq=False)
class Bench:
    """A robot with one facing, in a world of its own."""

    world: World
    robot: Robot

    @classmethod
    def of(cls, robot: Robot, gravity: Any = (0.0, 0.0, 0.0), *more: Any) -> Bench:
        """The compiled scene of `robot` and whatever else is added to it."""
        scene = Scene(gravity=gravity)
        scene.add(robot)
        for one in more:
            scene.add(one)
        return cls(scene.compile(), robot)

    @property
    def number(self) -> int:
        """Index of the constraint that is the facing."""
        return next(k for k, constraint in enumerate(self.world.constraints) if isinstance(constraint, FacingPair))

    @property
    def facing(self) -> FacingPair:
        """The rows of the potential contacts."""
        constraint = self.world.constraints[self.number]
        assert isinstance(constraint, FacingPair)
        return constraint

    @property
    def without(self) -> World:
        """The world without its contacts."""
        kept = [constraint for k, constraint in enumerate(self.world.constraints) if k != self.number]
        return replace(self.world, constraints=tuple(kept))

    def few(self, modes: FloatArray) -> World:
        """The world with its contacts in `modes` (contacts, k)."""
        return reduced(self.world, [ContactBasis.of(self.facing, modes, tolerance=DEPTH)])

    def offline(self, plan: Plan, stepper: Any, *, spread: bool = True, folder: Path | None = None) -> Snapshots:
        """The snapshots of `plan`, kept in the cache folder, so that another run finds them; see `experiments`."""
        if folder is None:
            own = digest_of([world_digest(self.world), plan.digest(), _options(stepper), spread, pliant.__version__])
            folder = cache_folder().parent / "experiments" / own
        workers = None if find_spec("joblib") else 1
        return experiments(
            self.world, plan, stepper=stepper, folder=folder, workers=workers, progress=None, spread=spread
        )

    def forces(self, snapshots: Snapshots) -> FloatArray:
        """Normal forces (contacts, snapshots) of all potential contacts, N."""
        keys = 3 * self.facing.key(np.arange(self.facing.count))
        found: FloatArray = snapshots.forces(self.number, keys=keys)[1].toarray()
        return found


@dataclass(frozen=True, eq=False)
class Sizes:
    """Bases of several sizes: `ranks` (r,) modes, errors of forces (r,) in training and held out, no unit, and of the
    tip (r,), m, in a motion that was not trained; not a number where no equilibrium was found.
    """

    ranks: IndexArray
    training: FloatArray
    held_out: FloatArray
    tip: FloatArray
    bases: list[Factorization]

    def chosen(self, tolerance: float) -> int:
        """The place of the smallest basis whose held-out error is at most `tolerance`, else of the best."""
        enough = np.flatnonzero(self.held_out <= tolerance)
        return int(enough[0]) if len(enough) else int(self.held_out.argmin())

    def rise(self, place: int | None = None) -> float:
        """Held-out error of the basis at `place` over the best of all smaller ones and itself; None: the largest."""
        ratios: FloatArray = self.held_out / np.minimum.accumulate(self.held_out)
        return float(ratios.max() if place is None else ratios[place])


def sizes(
    bench: Bench, forces: FloatArray, ranks: Sequence[int], error: Callable[[World], float], *, seed: int = 0
) -> Sizes:
    """Bases of `forces` (contacts, snapshots), N, with `ranks` modes; `error(world)` is that of the tip, m."""
    touching = np.random.default_rng(seed).permutation(np.flatnonzero(forces.any(axis=0)))
    count = max(1, round(HELD_OUT * len(touching)))
    held_out, training = forces[:, touching[:count]], forces[:, touching[count:]]
    most = min(training.shape[1], int(training.any(axis=1).sum()))
    tried = list(nnmf_family(training, ranks=[rank for rank in ranks if rank <= most], seed=seed))
    tips = []
    for basis in tried:
        try:
            tips.append(error(bench.few(basis.basis)))
        except ConvergenceError:
            tips.append(float("nan"))
    return Sizes(
        ranks=np.array([basis.rank for basis in tried], np.int64),
        training=np.array([basis.error for basis in tried]),
        held_out=np.array([fit_error(basis.basis, held_out) for basis in tried]),
        tip=np.array(tips),
        bases=tried,
    )


@dataclass(eq=False)
class Timed:
    """A world that steps through `controls` from `state`: `seconds` and `states` of its steps, and the last report."""

    world: World
    stepper: Any
    state: State
    controls: Sequence[Mapping[Any, Any]]
    seconds: list[float] = field(default_factory=list)
    states: list[State] = field(default_factory=list, repr=False)
    info: StepInfo | None = None

    @property
    def rate(self) -> float:
        """Steps per second: one over the median."""
        return float(1.0 / np.median(self.seconds))

    @property
    def report(self) -> StepInfo:
        """The report of the last step."""
        assert self.info is not None
        return self.info

    def step(self) -> None:
        """One step, on one thread; nothing where all are done."""
        if len(self.seconds) < len(self.controls):
            start = perf_counter()
            self.state, self.info = self.stepper(self.world, self.state, self.controls[len(self.seconds)])
            self.seconds.append(perf_counter() - start)
            self.states.append(self.state)


def side_by_side(runs: Sequence[Timed]) -> None:
    """Take all steps of `runs`, in turn, so that whatever else the machine does falls on all of them."""
    with one_blas_thread():
        for _ in range(max(len(one.controls) for one in runs)):
            for one in runs:
                one.step()


def paces(make: Callable[[], Sequence[Timed]], repeats: int = 5) -> tuple[list[float], Sequence[Timed]]:
    """Steps per second of what `make` makes, over all of their steps, and the last of them. They are run so often, and
    of every step the shortest time counts, so that whatever else the machine does falls on none.
    """
    seconds = []
    for _ in range(repeats):
        runs = make()
        side_by_side(runs)
        seconds.append([one.seconds for one in runs])
    rates = 1.0 / np.min(seconds, axis=0).mean(axis=1)
    return [float(rate) for rate in rates], runs


def contact_arrows(bench: Bench, state: State, mode: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Points (m, 3) m and arrows (m, 3), no unit, of the part of a mode (contacts,) that is not faint, in `state`."""
    constraint = bench.facing
    assert constraint.a.index is not None
    assert constraint.b.index is not None
    q = state.q
    seen = constraint.table.gaps(
        constraint.a.map.points(q[constraint.a.index]), constraint.b.map.points(q[constraint.b.index])
    )
    used = np.flatnonzero(mode > 1e-2 * mode.max())
    arrows: FloatArray = seen.normal[used] * (mode[used] / mode.max())[:, None]
    return seen.points[used], arrows


def _options(stepper: Any) -> str:
    """All options of a stepper, exactly: its representation rounds them."""
    return repr([type(stepper).__name__, *((f.name, getattr(stepper, f.name)) for f in fields(stepper) if f.init)])
