"""The inverse problem of a robot: the actuation that brings effectors to their targets, contacts included.

In a step δ = δ_free + W λ holds for effectors e, actuators a and contacts c together. The inverse minimises

    ½ Σ weight ‖δ_e‖² + ½ ε λ_aᵀ W_aa λ_a     over λ_a within limits of force, displacement and their rates,

subject to the contact laws (Coevoet, Escande, Duriez, "Optimization-based inverse model of soft robots with
contact handling", IEEE RA-L 2017). Bilateral rows are eliminated first. ε is the paper's, 1e-3 ‖W_eaᵀW_ea‖∞/‖W_aa‖∞;
with actuators of several kinds each is scaled by √W_aa,ii, so that it does not depend on units. A support among the
actuators is displaced: its column is the response of the rows to a unit displacement.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from functools import cached_property, partial
from math import sqrt
from typing import Any

import numpy as np

from pliant.actuators import Actuator, Limits
from pliant.actuators.values import Cut, Displacement
from pliant.constraints.rows import forces_of
from pliant.control.effectors import AnyEffector, EffectorRows
from pliant.control.equilibrium import EquilibriumWatch, commanded, settle
from pliant.control.guides import has_guides, solve_with_guides
from pliant.control.settled_inverse import settled_inverse
from pliant.control.step_qpcc import Reached, RowLayout, StepQpcc
from pliant.control.supports import DrivenSupport, MovedSupport
from pliant.core.checks import non_negative, positive
from pliant.core.declared import check_declared
from pliant.core.errors import InputError
from pliant.core.immutable import evolve, fresh
from pliant.core.one_line import one_line
from pliant.core.types import FloatArray
from pliant.models.model import System
from pliant.models.workspace import Workspace
from pliant.solvers.contact import MixedProblem
from pliant.solvers.inverse import QpccProblem, QpccResult
from pliant.stepping.info import StepInfo
from pliant.stepping.session import Condensed, Solution
from pliant.world import State, World


@one_line
@dataclass(frozen=True, eq=False)
class Inverse:
    """Finds the actuation for targets: ``pl.QuasiStatic(newton_iterations=1, solver=pl.Inverse(effectors=[tip], …))``.

    effectors
        The outputs; each step's controls give their targets, ``{tip: (x, y, z)}``.
    actuators
        The inputs, each within its own limits: cables, cavities, force points, joints, base drives, stiffnesses, and
        `pl.MovedSupport` for a support on a moving platform.
    energy_weight
        Weight ε of the mechanical work in the cost, m/N; None: the paper's. It selects among actuations that reach the
        target equally well.
    globalize
        Search the global minimum over all contact states and report the optimality gap; for few contacts, all of them
        frictionless (`pl.solvers.qpcc(facets=…)` proves a minimum for a friction pyramid).
    tolerance
        Iterate until the actuation brings the effectors to their targets in static equilibrium, within this distance,
        m (m³, rad), of what is possible; usual 1e-4 … 1e-3. The returned state is that of a converged forward solve
        with the displacements found. For `pl.QuasiStatic`; None: the stepper decides when to stop.
    """

    effectors: Sequence[AnyEffector]
    actuators: Sequence[Any]
    _: KW_ONLY
    energy_weight: float | None = None
    globalize: bool = False
    tolerance: float | None = None

    def __post_init__(self) -> None:
        check_declared(self)
        for what in ("effectors", "actuators"):
            if not isinstance(getattr(self, what), (tuple, list)):
                raise InputError(f"{what} of an inverse must be a list, got {getattr(self, what)!r:.60}")
        for effector in self.effectors:
            if not isinstance(effector, AnyEffector):
                raise InputError(f"{effector!r:.60} is no effector, such as pl.Effector(robot.tip)")
        if not self.effectors or not self.actuators:
            raise InputError("an inverse needs effectors and actuators; give at least one of each")
        for actuator in self.actuators:
            if not isinstance(actuator, (Actuator, MovedSupport)):
                raise InputError(f"{actuator!r} is not an actuator of a world or a pl.MovedSupport")
        if self.energy_weight is not None:
            non_negative("energy_weight", self.energy_weight, unit="m/N")
        if self.tolerance is not None:
            positive("tolerance", self.tolerance, unit="m")

    def begin(
        self, world: World, state: State, controls: Mapping[Any, Any] | None, workspace: Workspace
    ) -> tuple[dict[Any, Any], InverseSession]:
        """Checked controls of a step from `state`, and the solver of its forces."""
        given = dict(controls or {})
        targets: dict[Any, Any] = {}
        for effector in self.effectors:
            if effector not in given:
                raise InputError(f"{effector.name!r} has no target: give the step {{effector: target}}")
            targets[effector] = effector.target(given.pop(effector))
        for actuator in self.actuators:
            if actuator in given and not isinstance(given[actuator], Cut):
                raise InputError(f"{actuator.name!r} is an unknown of the inverse, so it takes no control but pl.Cut()")
        bound = workspace.once(world, self, lambda: _Bound.of(self, world))
        values = world.controls(given) | targets
        supports: tuple[DrivenSupport, ...] = ()
        if bound.supports:
            supports = tuple(driven.at(state) for driven in bound.supports)
            values |= {driven.spec.support: np.array(driven.reached) for driven in supports}
        session = fresh(InverseSession, inverse=self, bound=bound, supports=supports, controls=dict(controls or {}))
        return values, session

    def settled(
        self, stepper: Any, world: World, state: State, controls: Mapping[Any, Any] | None
    ) -> tuple[State, StepInfo]:
        """The quasi-static step of `stepper` with the effectors at their targets in equilibrium, within `tolerance`."""
        return settled_inverse(self, stepper, world, state, controls)


@dataclass(frozen=True, eq=False)
class _Bound:
    """Rows of the effectors, indices of the actuators' constraints, their limits, and the moved supports."""

    effectors: tuple[EffectorRows, ...]
    actuators: tuple[Any, ...]
    constraints: tuple[int, ...]
    limits: tuple[Limits, ...]
    supports: tuple[DrivenSupport, ...]
    watch: EquilibriumWatch = field(default_factory=EquilibriumWatch)
    layouts: dict[tuple[int, ...], RowLayout] = field(default_factory=dict)

    def layout(self, slices: Sequence[slice]) -> RowLayout:
        """Where the rows of actuators and effectors stand, for the slices of all constraints, those of effectors last.
        The last layout is kept: it changes with the number of contacts only.
        """
        own = [*[slices[k] for k in self.constraints], *slices[len(slices) - len(self.effectors) :]]
        key = tuple([each.start for each in own])
        found = self.layouts.get(key)
        if found is None:
            self.layouts.clear()
            hard = [rows.spec.hard for rows in self.effectors]
            count = len(self.constraints)
            found = self.layouts[key] = RowLayout.of(own[:count], own[count:], self.roots, hard)
        return found

    @classmethod
    def of(cls, inverse: Inverse, world: World) -> _Bound:
        forces = tuple(a for a in inverse.actuators if not isinstance(a, MovedSupport))
        moved = tuple(a for a in inverse.actuators if isinstance(a, MovedSupport))
        made = cls(
            tuple(effector.bound(world) for effector in inverse.effectors),
            forces,
            tuple(world.constraint_index(actuator) for actuator in forces),
            tuple(actuator.limits for actuator in forces),
            tuple(DrivenSupport.of(support, world) for support in moved),
        )
        _check_movable(inverse, world)
        return made

    @cached_property
    def of_one_kind(self) -> bool:
        """Whether all actuators are of one type, so that their forces have one unit."""
        return len({type(actuator) for actuator in self.actuators}) <= 1

    @cached_property
    def any_limit(self) -> bool:
        """Whether a displacement or its rate is limited."""
        return bool(np.isfinite(self.change_limits).any())

    @cached_property
    def any_rate(self) -> bool:
        """Whether the rate of a displacement is limited."""
        return bool(np.isfinite(self.change_limits[2]).any())

    @cached_property
    def any_force_rate(self) -> bool:
        """Whether the rate of a force is limited."""
        return bool(np.isfinite(self.force_limits[2]).any())

    @cached_property
    def force_limits(self) -> FloatArray:
        """Bounds of the actuator forces and their largest rates per second, (3, actuators), N."""
        return np.array([(k.lower, k.upper, k.force_rate) for k in self.limits]).reshape(-1, 3).T.copy()

    @cached_property
    def change_limits(self) -> FloatArray:
        """Bounds of the actuator displacements and their largest rates per second, (3, actuators), m."""
        return np.array([(k.least, k.most, k.rate) for k in self.limits]).reshape(-1, 3).T.copy()

    @cached_property
    def steady_limits(self) -> tuple[tuple[FloatArray, FloatArray], tuple[FloatArray, FloatArray]] | None:
        """Bounds of the actuator forces, N, and of their displacements, m, where no rate is limited."""
        if self.any_rate or self.any_force_rate:
            return None
        (x_low, x_high, _), (low, high, _) = self.force_limits, self.change_limits
        return (x_low, x_high), (low, high)

    @cached_property
    def roots(self) -> list[float]:
        """Square roots of the weights of the effectors."""
        return [sqrt(rows.spec.weight) for rows in self.effectors]


def _check_movable(inverse: Inverse, world: World) -> None:
    """Raise an `InputError` for an effector that no actuator moves, directly or through constraints."""
    groups: list[set[int]] = [{k} for k in range(len(world.models))]
    for constraint in world.constraints:
        joined = set().union(*(groups[k] for k in range(len(world.models)) if constraint.connects(k)))
        for k in joined:
            groups[k] = joined
    driven = {world.index(body) for actuator in inverse.actuators for body in actuator.bodies}
    reached = set().union(*(groups[k] for k in driven))
    for effector in inverse.effectors:
        if not {world.index(body) for body in effector.bodies} & reached:
            raise InputError(
                f"no actuator of the inverse can move {effector.name!r}: no constraint connects their bodies"
            )


@dataclass(frozen=True, eq=False)
class InverseReport:
    """The report of an inverse on a step.

    `result` is that of the QPCC solver, with status, objective, gap and path; `problem` the problem it solved.
    `friction_change` is the last change of guide friction in `control.guides`, relative to the largest force: above
    1e-6 the actuation is only nearly optimal. `hold` is what of the actuators repeats the step: their "force", or their
    "displacement" where `Inverse.tolerance` was given.
    """

    session: InverseSession
    result: QpccResult
    problem: QpccProblem
    measured: Callable[[], Reached] = field(repr=False)
    friction_change: float = 0.0
    hold: str = "force"

    @cached_property
    def extent(self) -> Reached:
        """How far actuators and supports have gone."""
        return self.measured()

    @property
    def limited(self) -> tuple[str, ...]:
        """Names of the actuators that stand at a limit of force or displacement."""
        bound = self.session.bound
        names = [*(each.name for each in bound.actuators), *(each.spec.name for each in bound.supports)]
        return tuple(name for name, there in zip(names, self.extent.at_limit(), strict=True) if there)

    def error(self, effector: Any, info: StepInfo) -> float:
        """Distance of an effector from its target at the end of the step, m (m³, rad)."""
        for rows, own, memory in self.session.effector_rows(info):
            if rows.effector is effector:
                rest = info.delta[own] + memory.ahead
                count = max(1, len(rest) // 3)
                return float(np.sqrt(rest @ rest / count))
        raise InputError(f"{effector!r} is not an effector of this inverse")

    def weighted_errors(self, info: StepInfo) -> FloatArray:
        """Errors of all rows of the effectors at the end of the step, times the square roots of their weights."""
        parts = zip(self.session.effector_rows(info), self.session.bound.roots, strict=True)
        return np.concatenate([root * (info.delta[own] + memory.ahead) for (_, own, memory), root in parts])

    def equilibrium(self, info: StepInfo, hold: str) -> StepInfo:
        """The report of a converged forward solve with the actuation of the step held."""
        return settle(self, info, hold)[1]

    def warnings(self, info: StepInfo) -> tuple[str, ...]:
        """A warning where the effectors would settle elsewhere than reported; once for a stepper and a world."""
        return self.session.bound.watch.warnings(self, info)

    def reached(self, info: StepInfo) -> bool:
        """Whether every effector is within its tolerance."""
        return all(self.error(e, info) <= e.tolerance for e in self.session.inverse.effectors)

    def text(self, info: StepInfo) -> str:
        """Whether the targets were reached, in words."""
        if self.reached(info):
            return f"reached; {self.result.status.text}"
        limits = f", with {', '.join(self.limited)} at a limit" if self.limited else ""
        return f"not reached: this is as close as the actuators come{limits}; {self.result.status.text}"

    def commands(self, controls: Mapping[Any, Any] | None, info: StepInfo) -> dict[Any, Any]:
        """Controls that repeat the step without an inverse: forces of the actuators, or the displacements where these
        are held, and displacements of the supports.
        """
        bound = self.session.bound
        effectors = set(self.session.inverse.effectors)
        kept = {handle: value for handle, value in (controls or {}).items() if handle not in effectors}
        for actuator in bound.actuators:
            if actuator not in kept:
                displacement, force = info.actuation(actuator)
                held = self.hold == "displacement"
                kept[actuator] = (
                    commanded(actuator, displacement, force, self.hold) if held else actuator.imposing(force)
                )
        for driven in self.session.supports:
            kept[driven.spec.support] = Displacement(driven.reached)
        return kept


@dataclass(frozen=True, eq=False)
class InverseSession:
    """One step of an inverse, with its `supports` as the last linear solve left them; `controls` are those given."""

    inverse: Inverse
    bound: _Bound
    supports: tuple[DrivenSupport, ...]
    controls: Mapping[Any, Any]

    @property
    def constraints(self) -> tuple[EffectorRows, ...]:
        """The rows of the effectors."""
        return self.bound.effectors

    @property
    def moves_supports(self) -> bool:
        """Whether supports are among the actuators."""
        return bool(self.supports)

    def of_first_part(self, fraction: float) -> InverseSession:
        """That of the first `fraction` of the step: effectors go this fraction of their way."""
        effectors = tuple(replace(each, fraction=fraction) for each in self.bound.effectors)
        return evolve(self, bound=replace(self.bound, effectors=effectors))

    def observe(self, systems: Sequence[System]) -> list[FloatArray]:
        """The force on the free DoFs that a unit of each driven support causes."""
        return [driven.right_side(systems) for driven in self.supports]

    def effector_rows(self, info: StepInfo) -> list[tuple[EffectorRows, slice, Any]]:
        """Rows of the effectors, their slices, and their memories."""
        assembly = info.step.assembly
        assert assembly is not None
        first = len(assembly.slices) - len(self.constraints)
        return list(zip(self.constraints, assembly.slices[first:], assembly.memories[first:], strict=True))

    def solve(self, condensed: Condensed) -> Solution:
        """λ of all rows, N, and the bodies carried by the supports that it moves."""
        change, problem = 0.0, condensed.problem
        if has_guides(problem):
            lam, (step_qpcc, moved, result, qpcc), change = self._with_guides(condensed)
        else:
            step_qpcc = StepQpcc(self, condensed, problem)
            lam, moved, result, qpcc = step_qpcc.solve()
        bodies, supports, carried = condensed.bodies, [], []
        for driven, motions, amount in zip(self.supports, step_qpcc.motions, moved):
            carried.append((driven.index, amount * motions))
            driven, bodies = driven.moved(bodies, amount)
            supports.append(driven)
        session = evolve(self, supports=tuple(supports)) if supports else self
        measured = partial(step_qpcc.reached, lam, moved)
        report = fresh(
            InverseReport, session=session, result=result, problem=qpcc, measured=measured, friction_change=change
        )
        return Solution(lam, bodies, session, report, moved=carried)

    def _with_guides(self, condensed: Condensed) -> tuple[FloatArray, Any, float]:
        """λ of all rows where some have guide friction, the last inverse, and the last change of the friction."""
        rows, slices, start = condensed.assembly.rows, condensed.assembly.slices, condensed.bodies.start
        watched = np.zeros(rows.count, np.bool_)
        for own in slices[len(slices) - len(self.constraints) :]:
            watched[own] = True

        def invert(without: MixedProblem) -> tuple[FloatArray, FloatArray, Any]:
            step_qpcc = StepQpcc(self, condensed, without)
            lam, moved, result, qpcc = step_qpcc.solve()
            return lam, step_qpcc.B @ moved, (step_qpcc, moved, result, qpcc)

        last = forces_of(rows.key, start.keys, start.lam)
        driven = np.array([slices[k].start for k in self.bound.constraints], np.int64)
        return solve_with_guides(condensed.problem, last, driven, watched, invert)
