"""Older factors, corrected by conjugate gradients, while a second thread factorizes the newest matrix.

The idea is that of asynchronous preconditioners (Courtecuisse et al. 2010, see `solvers.linear.lagged`), but made to
repeat: a factor that is begun in linear solve n is used from solve n + lag on, never earlier and never later, however
fast the threads are. Results depend on the clock in no bit.

What is kept between steps belongs to the option object, not to the state. It is used only when a step continues where
the last one with the same world ended, to the bit; every other step begins with a factor of its own matrix. A run from
a given state therefore always takes the same bits, and one that is restored continues within the tolerance.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import KW_ONLY, dataclass, field, replace
from functools import cache, cached_property
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from pliant.core.checks import positive, positive_count
from pliant.core.errors import InputError, SingularError
from pliant.core.types import FloatArray
from pliant.models.model import Factor, System
from pliant.models.scheme import Scheme
from pliant.models.volume import VolumeModel
from pliant.models.volume.held_factor import HeldFactor
from pliant.models.volume.trial import VolumeSystem
from pliant.solvers.linear import BlockMatrix, CholeskyFactor, LaggedFactor, LateSingularError, Symbolic
from pliant.stepping.factors import ExactFactors, FactorSource, FactorUse
from pliant.world import State, World


@dataclass(frozen=True)
class LaggedFactors:
    """Solve with an older factor of each deformable volume: ``pl.ImplicitEuler(dt, factors=pl.LaggedFactors())``.

    A second thread factorizes the matrix of this solve for a later one. Answers are those of the exact factor up to
    `tolerance`; where the iteration does not get there the step waits for the factor of its own matrix, and
    ``info.factor_use`` says so. Beams and rigid bodies keep their exact factors. An object serves one simulation at a
    time: steps that do not continue the last one begin anew, with a factor of their own.

    tolerance
        Error of a solve A x = b in the energy norm ‖x‖_A, relative, as the older factor measures it; of W, error of an
        entry over √(W_ii W_jj). Usual 1e-6 … 1e-10.
    lag
        Linear solves from the beginning of a factorization to its use. 1 factorizes every matrix; with 2 or more a
        factorization may last that many solves, for bodies so large that it takes longer than a step. In statics, and
        where Newton's iteration runs to a tolerance, matrices may be indefinite, so each is factorized before its
        solve ends, and the lag is 1.
    iterations
        Most iterations of a solve before it waits for the factor of its own matrix.
    most_rows
        Most rows for which W is found by iteration; with more the step waits for the factor of its own matrix, whose W
        is cheaper. None compares the operations of both ways; 0 always waits.
    """

    _: KW_ONLY
    tolerance: float = 1e-8
    lag: int = 1
    iterations: int = 16
    most_rows: int | None = None

    def __post_init__(self) -> None:
        positive("tolerance", self.tolerance)
        positive_count("lag", self.lag)
        positive_count("iterations", self.iterations)
        if self.most_rows is not None and self.most_rows != 0:
            positive_count("most_rows", self.most_rows)
        if self.tolerance < 1e-13:
            raise InputError(f"tolerance must be ≥ 1e-13, which rounding allows, got {self.tolerance:g}")

    def begin(self, world: World, state: State, scheme: Scheme) -> _LaggedStep:
        """The factors of one step from `state`."""
        memory = self._memories.get(world)
        if memory is None or not memory.continues(state, scheme):
            memory = _Memory(scheme)
            self._memories[world] = memory
        memory.end = None
        return _LaggedStep(self, memory)

    @cached_property
    def _memories(self) -> WeakKeyDictionary[World, _Memory]:
        return WeakKeyDictionary()

    def __getstate__(self) -> dict[str, Any]:
        """The options alone: threads and factors are neither copied nor sent to other processes."""
        return {name: getattr(self, name) for name in ("tolerance", "lag", "iterations", "most_rows")}


def begin_factors(factors: LaggedFactors | None, world: World, state: State, scheme: Scheme) -> FactorSource:
    """Where the factors of a step from `state` come from."""
    return ExactFactors() if factors is None else factors.begin(world, state, scheme)


@cache
def _second_thread() -> ThreadPoolExecutor:
    """One thread for all: on two cores a third would only slow the step down."""
    return ThreadPoolExecutor(1, thread_name_prefix="pliant-factorize")


def _factorized(symbolic: Symbolic, values: FloatArray, memory: CholeskyFactor | None) -> CholeskyFactor:
    """The factor of the blocks `values`, as exact factor and as preconditioner."""
    return symbolic.factorize(values, out=memory).round()


@dataclass(frozen=True, eq=False)
class _Made:
    """The factor of the matrix of solve `number`, linearised at the shape q (n, 3), m."""

    factor: CholeskyFactor
    number: int
    q: FloatArray


@dataclass(frozen=True, eq=False)
class _Job:
    """A factorization under way, of the blocks `values` (b, 3, 3)."""

    future: Future[CholeskyFactor]
    number: int
    q: FloatArray
    values: FloatArray


@dataclass(eq=False)
class _Line:
    """The succession of factors of one volume."""

    model: VolumeModel
    number: int = -1
    older: _Made | None = None
    job: _Job | None = None
    spare: list[CholeskyFactor] = field(default_factory=list)

    def begin_solve(self, lag: int) -> bool:
        """Count one more linear solve, and take over the factor that is due; false where that failed.

        It fails where an earlier matrix was not positive definite although its solves had converged: the line begins
        anew, with a factor of the present matrix.
        """
        self.number += 1
        job = self.job
        if job is None or self.number - job.number < lag:
            return True
        try:
            self.take_job()
        except SingularError:
            self.older = None
        self.give_back(job.values)
        return self.older is not None

    def take_job(self) -> _Made:
        """Wait for the factorization under way; a `SingularError` where its matrix is not positive definite."""
        assert self.job is not None
        job, self.job = self.job, None
        return self.take(_Made(job.future.result(), job.number, job.q))

    def take(self, made: _Made) -> _Made:
        """Use `made` from now on, unless a newer one is in use."""
        if self.older is not None and self.older.number > made.number:
            self.spare.append(made.factor)
            return self.older
        if self.older is not None:
            self.spare.append(self.older.factor)
        self.older = made
        return made

    def start_job(self, values: FloatArray, q: FloatArray) -> None:
        """Factorize `values` in the second thread."""
        memory = self.spare.pop() if self.spare else None
        future = _second_thread().submit(_factorized, self.model.symbolic, values, memory)
        self.job = _Job(future, self.number, q, values)

    def factorize_here(self, values: FloatArray, q: FloatArray) -> _Made:
        """Factorize `values` now."""
        memory = self.spare.pop() if self.spare else None
        return self.take(_Made(_factorized(self.model.symbolic, values, memory), self.number, q))

    def own_factor(self, values: FloatArray, q: FloatArray) -> CholeskyFactor | HeldFactor:
        """The factor of the present solve's matrix: the one under way, or made now."""
        try:
            if self.job is not None and self.job.number == self.number:
                made = self.take_job()
            else:
                made = self.factorize_here(values, q)
        except SingularError as error:
            raise LateSingularError(str(error), row=error.row) from error
        return self.model.held_factor(made.factor)

    def give_back(self, values: FloatArray) -> None:
        """Let the model use the memory of blocks again, unless a factorization still reads it."""
        busy = self.job is not None and self.job.values is values
        if not busy and len(self.model.spare_blocks) < 2:
            self.model.spare_blocks.append(values)


@dataclass(eq=False)
class _Memory:
    """What is kept from step to step in one world: the lines of its volumes, and where the last step ended."""

    scheme: Scheme
    lines: dict[int, _Line] = field(default_factory=dict)
    end: tuple[Any, ...] | None = None

    def continues(self, state: State, scheme: Scheme) -> bool:
        """Whether a step from `state` follows the last one."""
        if self.end is None or scheme != self.scheme:
            return False
        time, *arrays = self.end
        given = (*state.q, *state.v)
        return state.time == time and all(x is y or np.array_equal(x, y) for x, y in zip(arrays, given, strict=True))


class _LaggedStep:
    """The factors of one step."""

    def __init__(self, options: LaggedFactors, memory: _Memory) -> None:
        self._options = options
        self._memory = memory
        self.use = FactorUse()

    def factorize(self, systems: Sequence[System], shapes: Sequence[FloatArray]) -> list[Factor]:
        """A factor of every system: of volumes an older one, of others their own."""
        return [self._factor(number, *pair) for number, pair in enumerate(zip(systems, shapes, strict=True))]

    def release(self, systems: Sequence[System], factors: Sequence[Factor]) -> None:
        """Count what was used, and take memory back.

        A matrix that may be indefinite is checked here, by its own factorization: with the same outcome as if it had
        been factorized at first. The warped tangent of dynamics is positive definite as it is made.
        """
        for number, (system, factor) in enumerate(zip(systems, factors, strict=True)):
            if not isinstance(system, VolumeSystem):
                system.release(factor)
                continue
            line = self._memory.lines[number]
            if isinstance(factor, LaggedFactor):
                self._count(factor)
            if not system.warped and line.job is not None and line.job.number == line.number:
                line.own_factor(system.values, line.job.q)
            line.give_back(system.values)

    def end(self, advanced: State) -> None:
        """Remember where the step has led, so that the next one can be told to follow it."""
        self._memory.end = (advanced.time, *advanced.q, *advanced.v)

    def _factor(self, number: int, system: System, q: FloatArray) -> Factor:
        if not isinstance(system, VolumeSystem):
            return system.factorize()
        model, options = system.model, self._options
        line = self._memory.lines.setdefault(number, _Line(model))
        if not line.begin_solve(options.lag):
            self.use = replace(self.use, redone=self.use.redone + 1)
        values = system.values
        model.hold(values)
        if line.older is None:
            return model.held_factor(line.factorize_here(values, q).factor)
        if line.job is None:
            line.start_job(values, q)
        older = line.older
        self.use = replace(self.use, age=max(self.use.age, line.number - older.number))
        return LaggedFactor(
            BlockMatrix(model.pattern, values),
            older.factor,
            lambda: line.own_factor(values, q),
            tolerance=options.tolerance,
            limit=options.iterations,
            most_rows=options.most_rows,
            rotations=model.rotations(older.q, q),
            held=model.held_unknowns if model.partly_held else None,
        )

    def _count(self, factor: LaggedFactor) -> None:
        use = self.use
        self.use = FactorUse(
            use.age, use.iterations + factor.iterations, use.awaited + factor.awaited, use.redone + factor.redone
        )
