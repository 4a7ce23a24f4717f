"""The inverse of a robot: the actuation that brings effectors to their targets, contacts included.

In a step δ = δ_free + W λ holds for effectors e, actuators a and contacts c together. The inverse minimises

    ½ Σ weight ‖δ_e‖² + ½ ε λ_aᵀ W_aa λ_a     over λ_a within limits of force, displacement and their changes,

while the contacts obey their law (Coevoet, Escande, Duriez, "Optimization-based inverse model of soft robots with
contact handling", IEEE RA-L 2017). Bilateral rows are eliminated first. ε is the paper's, 1e-3 ‖W_eaᵀW_ea‖∞/‖W_aa‖∞;
with actuators of several kinds every one is scaled by √W_aa,ii for it, so that it does not depend on units. A support
among the actuators is moved instead of pulled: its column is the motion that a unit of it causes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from pliant.actuators import Actuator, Limits
from pliant.actuators.joint import JointMemory
from pliant.actuators.values import Cut, Displacement
from pliant.constraints.rows import RowLaw, forces_of
from pliant.control.effectors import AnyEffector, EffectorRows
from pliant.control.guides import has_guides, solve_with_guides
from pliant.control.supports import DrivenSupport, MovedSupport
from pliant.core.checks import non_negative
from pliant.core.errors import InputError
from pliant.core.types import FloatArray, IndexArray
from pliant.models.model import Factor, System
from pliant.solvers.complementarity import MixedProblem
from pliant.solvers.complementarity.blocks import NO_BLOCKS, equilibrating_scale
from pliant.solvers.complementarity.elimination import eliminate
from pliant.solvers.qp import QpccProblem, QpccResult, solve_qpcc
from pliant.solvers.qp.friction import solve_frictional
from pliant.stepping.info import StepInfo
from pliant.stepping.motion import Motion
from pliant.world import State, World

ENERGY = 1e-3
"""The paper's ε, relative to ‖W_eaᵀW_ea‖∞ / ‖W_aa‖∞."""
_BILATERAL, _SIGNORINI, _COULOMB, _IMPOSED, _BOUNDED = (
    int(law) for law in (RowLaw.BILATERAL, RowLaw.SIGNORINI, RowLaw.COULOMB, RowLaw.IMPOSED, RowLaw.BOUNDED)
)


@dataclass(frozen=True, eq=False)
class Inverse:
    """Finds the actuation for targets: ``pl.QuasiStatic(newton_iterations=1, solver=pl.Inverse(effectors=[tip], …))``.

    effectors
        What is wanted; each step's controls give their targets, ``{tip: (x, y, z)}``.
    actuators
        What may be used, each within its own limits: cables, cavities, force points, joints, base drives, stiffnesses,
        and `pl.MovedSupport` for a base that a platform carries.
    energy_weight
        ε of the mechanical work in the cost, m/N; None: the paper's scale. It decides between actuations that reach
        the target equally well.
    globalize
        Look for the global minimum over all contact states, with the gap that is left; for few contacts.
    facets
        Number of facets of the friction cone; None: the true cone.
    """

    effectors: Sequence[AnyEffector]
    actuators: Sequence[Any]
    _: KW_ONLY
    energy_weight: float | None = None
    globalize: bool = False
    facets: int | None = None
    _bound: dict[int, tuple[World, _Bound]] = field(default_factory=dict, init=False, repr=False)

    def __post_init__(self) -> None:
        if not self.effectors or not self.actuators:
            raise InputError("an inverse needs effectors (what is wanted) and actuators (what may be used)")
        for actuator in self.actuators:
            if not isinstance(actuator, (Actuator, MovedSupport)):
                raise InputError(f"{actuator!r} is not an actuator that an inverse can use")
        if self.energy_weight is not None:
            non_negative("energy_weight", self.energy_weight, unit="m/N")

    def begin(
        self, world: World, state: State, controls: Mapping[Any, Any] | None
    ) -> tuple[dict[Any, Any], InverseSession]:
        """Checked controls of a step from `state`, and who finds its forces."""
        given = dict(controls or {})
        targets: dict[Any, Any] = {}
        for effector in self.effectors:
            if effector not in given:
                raise InputError(f"{effector.name!r} has no target: give the step {{effector: target}}")
            targets[effector] = effector.target(given.pop(effector))
        for actuator in self.actuators:
            if actuator in given and not isinstance(given[actuator], Cut):
                raise InputError(f"{actuator.name!r} is given to the inverse, so it takes no control but pl.Cut()")
        bound = self.bound(world)
        values = world.controls(given) | targets
        supports = [driven.at(state) for driven in bound.supports]
        values |= {driven.spec.support: np.array(driven.reached) for driven in supports}
        return values, InverseSession(self, bound, supports)

    def bound(self, world: World) -> _Bound:
        """Effectors and actuators in `world`, found once."""
        if id(world) not in self._bound:
            self._bound[id(world)] = (world, _Bound.of(self, world))
        return self._bound[id(world)][1]


@dataclass(frozen=True, eq=False)
class _Bound:
    """Rows of the effectors; numbers of the actuators' row makers, their limits, and the supports that are moved."""

    effectors: tuple[EffectorRows, ...]
    actuators: tuple[Any, ...]
    makers: tuple[int, ...]
    limits: tuple[Limits, ...]
    supports: tuple[DrivenSupport, ...]

    @classmethod
    def of(cls, inverse: Inverse, world: World) -> _Bound:
        forces = tuple(a for a in inverse.actuators if not isinstance(a, MovedSupport))
        moved = tuple(a for a in inverse.actuators if isinstance(a, MovedSupport))
        made = cls(
            tuple(effector.bound(world) for effector in inverse.effectors),
            forces,
            tuple(world.maker(actuator) for actuator in forces),
            tuple(actuator.limits for actuator in forces),
            tuple(DrivenSupport.of(support, world) for support in moved),
        )
        _check_reach(inverse, world)
        return made

    @cached_property
    def weights(self) -> list[float]:
        """Square roots of the weights of the effectors."""
        return [float(np.sqrt(rows.spec.weight)) for rows in self.effectors]


def _check_reach(inverse: Inverse, world: World) -> None:
    """Every effector must be moved by some actuator: on the same body, or through bodies that touch or are tied."""
    groups: list[set[int]] = [{k} for k in range(len(world.models))]

    def join(numbers: Sequence[int]) -> None:
        joined = set().union(*(groups[k] for k in numbers))
        for k in joined:
            groups[k] = joined

    for maker in world.row_makers:
        numbers = [k for k in range(len(world.models)) if _acts_on(maker, world, k)]
        if numbers:
            join(numbers)
    driven = {world.index(body) for actuator in inverse.actuators for body in actuator.bodies}
    reached = set().union(*(groups[k] for k in driven))
    for effector in inverse.effectors:
        if not {world.index(body) for body in effector.bodies} & reached:
            raise InputError(f"no actuator of the inverse can move {effector.name!r}: nothing ties or touches its body")


def _acts_on(maker: Any, world: World, number: int) -> bool:
    if hasattr(maker, "spec") and hasattr(maker.spec, "bodies"):
        return any(world.index(body) == number for body in maker.spec.bodies)
    return bool(maker.holds(number))


@dataclass(eq=False)
class InverseReport:
    """What an inverse tells about a step.

    `result` is that of the QPCC solver, with status, objective, gap and path; `problem` the problem it solved.
    `friction_change` is by how much friction in guides still changed in the last turn of `control.guides`, over the
    largest force: above 1e-6 the actuation is near the best one.
    """

    session: InverseSession
    result: QpccResult
    problem: QpccProblem
    _at_limits: Callable[[], tuple[str, ...]]
    friction_change: float = 0.0

    @cached_property
    def limited(self) -> tuple[str, ...]:
        """Names of the actuators that stand at a limit of force or displacement. Computed when read."""
        return self._at_limits()

    def error(self, effector: Any, info: StepInfo) -> float:
        """Distance of an effector from its target at the end of the step, m (m³, rad)."""
        assert info.assembly is not None
        for rows, place, memory in self.session.effector_rows(info):
            if rows.effector is effector:
                rest = info.delta[place] + memory.ahead
                count = max(1, len(rest) // 3)
                return float(np.sqrt(rest @ rest / count))
        raise InputError(f"{effector!r} is not an effector of this inverse")

    def reached(self, info: StepInfo) -> bool:
        """Whether every effector is within its tolerance."""
        return all(self.error(e, info) <= e.tolerance for e in self.session.inverse.effectors)

    def text(self, info: StepInfo) -> str:
        """What was reached, in words."""
        if self.reached(info):
            return f"reached; {self.result.status.text}"
        limits = f", with {', '.join(self.limited)} at a limit" if self.limited else ""
        return f"not reached: this is as close as the actuators come{limits}; {self.result.status.text}"

    def commands(self, controls: Mapping[Any, Any] | None, info: StepInfo) -> dict[Any, Any]:
        """Controls that repeat the step without an inverse: forces of the actuators, places of the supports."""
        bound = self.session.bound
        known = set(self.session.inverse.effectors)
        kept = {handle: value for handle, value in (controls or {}).items() if handle not in known}
        for actuator in bound.actuators:
            if actuator not in kept:
                kept[actuator] = actuator.imposing(float(info.actuation(actuator)[1]))
        for driven in self.session.supports:
            kept[driven.spec.support] = Displacement(driven.reached)
        return kept


class InverseSession:
    """One step of an inverse."""

    def __init__(self, inverse: Inverse, bound: _Bound, supports: Sequence[DrivenSupport]) -> None:
        self.inverse = inverse
        self.bound = bound
        self.supports = supports
        self.makers = bound.effectors
        self.report: InverseReport | None = None
        self._columns: list[FloatArray] = []

    def observe(self, motion: Motion, systems: Sequence[System]) -> None:
        """What a unit of each driven support pushes the free unknowns by."""
        self._columns = [driven.right_side(systems) for driven in self.supports]

    def effector_rows(self, info: StepInfo) -> list[tuple[EffectorRows, slice, Any]]:
        """Rows of the effectors, their places, and what the speed limit left out."""
        assert info.assembly is not None
        first = len(info.assembly.places) - len(self.makers)
        places, memories = info.assembly.places[first:], info.assembly.memories[first:]
        return list(zip(self.makers, places, memories, strict=True))

    def solve(
        self, motion: Motion, factors: Sequence[Factor], problem: MixedProblem, dx: list[FloatArray]
    ) -> FloatArray:
        """λ of all rows, N; driven supports are moved in dx."""
        if has_guides(problem):
            return self._solve_with_guides(motion, factors, problem, dx)
        solving = _Solving(self, motion, factors, problem, self._columns)
        lam, moved, result, qpcc = solving.solve()
        return self._reported(motion, solving, dx, lam, moved, result, qpcc)

    def _reported(
        self,
        motion: Motion,
        solving: _Solving,
        dx: list[FloatArray],
        lam: FloatArray,
        moved: FloatArray,
        result: QpccResult,
        qpcc: QpccProblem,
    ) -> FloatArray:
        """λ, with supports moved in dx and what there is to tell kept."""
        for driven, motions, amount in zip(self.supports, solving.motions, moved, strict=True):
            dx[driven.number] += amount * motions
            driven.move(motion, amount)
        self.report = InverseReport(self, result, qpcc, lambda: solving.limited(lam, moved))
        return lam

    def _solve_with_guides(
        self, motion: Motion, factors: Sequence[Factor], problem: MixedProblem, dx: list[FloatArray]
    ) -> FloatArray:
        """The same where rows have friction in their guides; see `control.guides`."""
        assert motion.assembly is not None
        rows, places = motion.assembly.rows, motion.assembly.places
        watched = np.zeros(rows.count, np.bool_)
        for place in places[len(places) - len(self.makers) :]:
            watched[place] = True

        def invert(without: MixedProblem) -> tuple[FloatArray, FloatArray, Any]:
            solving = _Solving(self, motion, factors, without, self._columns)
            lam, moved, result, qpcc = solving.solve()
            return lam, solving.B @ moved, (solving, moved, result, qpcc)

        last = forces_of(rows.key, motion.start.keys, motion.start.lam)
        driven = np.array([places[k].start for k in self.bound.makers], np.int64)
        lam, (solving, moved, result, qpcc), change = solve_with_guides(problem, last, driven, watched, invert)
        self._reported(motion, solving, dx, lam, moved, result, qpcc)
        assert self.report is not None
        self.report.friction_change = change
        return lam


class _Solving:
    """From the rows of a step to the QPCC, and back to the forces of all rows."""

    def __init__(
        self,
        session: InverseSession,
        motion: Motion,
        factors: Sequence[Factor],
        problem: MixedProblem,
        columns: Sequence[FloatArray],
    ) -> None:
        assert motion.assembly is not None
        self.session, self.motion, self.problem = session, motion, problem
        self.bound = session.bound
        self.places = motion.assembly.places
        rows = motion.assembly.rows
        self.drives = np.array([self.places[k].start for k in self.bound.makers], np.int64)
        count, first = len(rows.gap), len(self.places) - len(session.makers)
        self.effector_places = self.places[first:]
        law = np.array(problem.law)
        law[self.drives] = -1
        for place in self.effector_places:
            law[place] = -2
        self._classify(law)
        self.motions = [
            driven.response(factors, column) for driven, column in zip(session.supports, columns, strict=True)
        ]
        self.B = np.zeros((count, len(self.motions)))
        for k, (driven, motions) in enumerate(zip(session.supports, self.motions, strict=True)):
            self.B[:, k] = rows.H[driven.number] @ motions.ravel()
        self.last = forces_of(rows.key, motion.start.keys, motion.start.lam)
        self.limits: tuple[FloatArray, FloatArray, FloatArray, FloatArray] = (np.zeros(0),) * 4

    def _classify(self, law: Any) -> None:
        """Which rows are imposed, bilateral, frictionless and frictional contacts."""
        p = self.problem
        zero, single = law == _BILATERAL, law == _SIGNORINI
        least = None
        if law.max() >= _BOUNDED:  # the last laws: driven rows beside the inverse, friction in guides
            bounded = law == _BOUNDED
            unlimited = bounded & (p.lower == -np.inf) & (p.upper == np.inf)
            one_sided = bounded & np.isfinite(p.lower) & (p.upper == np.inf)
            if (bounded & ~unlimited & ~one_sided).any() or law.max() > _BOUNDED:
                raise InputError(
                    "beside an inverse an actuator may be commanded by force, or by displacement without a largest "
                    "force: give it to the inverse, or take the limit away"
                )
            zero, single, least = zero | unlimited, single | one_sided, np.where(one_sided, p.lower, 0.0)
        self.imposed = law == _IMPOSED
        self.zero, self.single = np.flatnonzero(zero), np.flatnonzero(single)
        self.least = np.zeros(len(self.single)) if least is None else least[self.single]
        self.cones = np.flatnonzero(law == _COULOMB)
        self.others = np.flatnonzero(law < 0)

    def solve(self) -> tuple[FloatArray, FloatArray, QpccResult, QpccProblem]:
        """λ of all rows, motions of the supports, the result and the problem."""
        p, m = self.problem, len(self.drives)
        lam = np.where(self.imposed, p.target, 0.0)
        lam[self.single] = self.least
        q = p.delta_free + p.W @ lam
        q[self.zero] -= p.target[self.zero]
        q[self.single] -= p.target[self.single]
        kept = np.concatenate([self.others, self.single, self.cones])
        W, q, B, back = self._eliminated(q, kept)
        where = np.full(len(lam), -1)
        where[kept] = np.arange(len(kept))
        qpcc, mu = self._qpcc(W, q, B, where)
        x, y, result = self._solved(qpcc, mu)
        lam[self.drives] = x[:m]
        lam[self.single] += y[: len(self.single)]
        lam[self.cones] = y[len(self.single) :]
        forces = np.zeros(len(kept))
        forces[where[self.drives]] = x[:m]
        forces[len(self.others) :] = y
        if len(self.zero):
            lam[self.zero] = back(forces, x[m:])
        return lam, x[m:], result, qpcc

    def _eliminated(self, q: FloatArray, kept: IndexArray) -> Any:
        """W, q and B of the kept rows after bilateral ones have taken their forces, and those forces."""
        W = self.problem.W
        if not len(self.zero):
            return W[np.ix_(kept, kept)], q[kept], self.B[kept], None
        D = equilibrating_scale(W, NO_BLOCKS)
        size = float(np.linalg.norm(D * q)) or 1.0
        reduced = eliminate(W, np.column_stack([q, self.B]), kept, self.zero, D, allowed=1e-8 * size)

        def back(forces: FloatArray, moved: FloatArray) -> FloatArray:
            lam: FloatArray = reduced.forces_free @ np.append(1.0, moved) + reduced.forces_kept @ forces
            return lam

        return reduced.W, reduced.q[:, 0], reduced.q[:, 1:], back

    def _qpcc(self, W: FloatArray, q: FloatArray, B: FloatArray, where: Any) -> tuple[QpccProblem, FloatArray]:
        """The problem over x = (λ of the drives, motions of the supports) and y = contact forces."""
        a = where[self.drives]
        c = np.concatenate([where[self.single], where[self.cones]])
        soft: list[IndexArray] = []
        hard: list[IndexArray] = []
        weights: list[FloatArray] = []
        for rows, weight, place in zip(self.bound.effectors, self.bound.weights, self.effector_places, strict=True):
            own = where[np.arange(place.start, place.stop)]
            (hard if rows.spec.hard else soft).append(own)
            weights += [] if rows.spec.hard else [np.full(len(own), weight)]
        e = np.concatenate(soft) if soft else np.zeros(0, np.int64)
        h = np.concatenate(hard) if hard else np.zeros(0, np.int64)
        scale = np.concatenate(weights) if weights else np.zeros(0)

        W_a, W_c = np.hstack([W[:, a], B]), W[:, c]
        E_a = scale[:, None] * W_a[e]
        x_low, x_high, low, high = self.limits = self._limits(len(a))
        limited = np.isfinite(low) | np.isfinite(high)
        r = np.concatenate([a[limited], h])
        W_cc = W_c[c]
        mu = self.problem.mu[self.cones[::3]]
        zeros = np.zeros(len(h))
        qpcc = QpccProblem(
            E_a=E_a,
            E_c=scale[:, None] * W_c[e],
            e=scale * q[e],
            G=self._energy(E_a, W_a[a, : len(a)]),
            x_lower=x_low,
            x_upper=x_high,
            R_a=W_a[r],
            R_c=W_c[r],
            r=q[r],
            row_lower=np.concatenate([low[limited], zeros]),
            row_upper=np.concatenate([high[limited], zeros]),
            C_a=W_a[c],
            W_cc=0.5 * (W_cc + W_cc.T),
            c=q[c],
        )
        return qpcc, mu

    def _limits(self, count: int) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """Bounds of x (na,) and of the drives' displacements."""
        x_low, x_high, low, high = (np.zeros(count) for _ in range(4))
        assembly = self.motion.assembly
        assert assembly is not None
        for k, (maker, limit) in enumerate(zip(self.bound.makers, self.bound.limits, strict=True)):
            last = self.last[self.drives[k]]
            x_low[k] = min(max(limit.lower, last - limit.force_change), limit.upper)
            x_high[k] = max(min(limit.upper, last + limit.force_change), limit.lower)
            start = self._displacement(maker) if np.isfinite(limit.change) else 0.0
            low[k] = max(limit.least, start - limit.change)
            high[k] = min(limit.most, start + limit.change)
            if getattr(assembly.memories[maker], "cut", False):
                x_low[k] = x_high[k] = 0.0
                low[k], high[k] = -np.inf, np.inf
        spans = [driven.span(self.motion) for driven in self.session.supports]
        extra = np.array(spans).reshape(-1, 2)
        return np.append(x_low, extra[:, 0]), np.append(x_high, extra[:, 1]), low, high

    def _displacement(self, maker: int) -> float:
        """δ of a drive at the start of the step; what turns has counted its turns."""
        memories, rows = self.motion.start.memories, self.motion.world.row_makers
        memory = memories[maker] if memories else None
        drive: Any = rows[maker]
        return memory.angle if isinstance(memory, JointMemory) else float(drive.displacement(self.motion.start.q))

    def _energy(self, E_a: FloatArray, W_aa: FloatArray) -> FloatArray:
        """G of the mechanical work, with a small weight on the motion of supports."""
        count, total = len(W_aa), E_a.shape[1]
        G = np.zeros((total, total))
        if count:
            E = E_a[:, :count]
            kinds = {type(actuator) for actuator in self.bound.actuators}
            diagonal = W_aa.diagonal()
            D = np.ones(count)
            if len(kinds) > 1:
                D = 1.0 / np.sqrt(np.where(diagonal > 0.0, diagonal, 1.0))
            epsilon = self.session.inverse.energy_weight
            if epsilon is None:
                work = float(np.abs(D[:, None] * W_aa * D).sum(axis=1).max())
                epsilon = ENERGY * float(np.abs((E * D).T @ (E * D)).sum(axis=1).max()) / work if work else 0.0
            G[:count, :count] = 0.5 * epsilon * (W_aa + W_aa.T)
        for k in range(count, total):
            G[k, k] = ENERGY * float(E_a[:, k] @ E_a[:, k])
        return G

    def _solved(self, qpcc: QpccProblem, mu: FloatArray) -> tuple[FloatArray, FloatArray, QpccResult]:
        inverse, singles = self.session.inverse, len(self.single)
        x = np.concatenate([self.last[self.drives], np.zeros(len(self.motions))])
        x = np.clip(x, qpcc.x_lower, qpcc.x_upper)
        if not len(mu):
            pressed = np.maximum(self.last[self.single] - self.least, 0.0)
            result = solve_qpcc(qpcc, warm=x, pressed=pressed, globalize=inverse.globalize)
            return result.x, result.y, result
        padded, rows = _padded(qpcc, singles)
        friction = np.concatenate([np.zeros(singles), mu])
        result = solve_frictional(padded, friction, warm=x)
        return result.x, result.y[rows], result

    def limited(self, lam: FloatArray, moved: FloatArray) -> tuple[str, ...]:
        """Names of the actuators at a limit of force or displacement."""
        x_low, x_high, low, high = self.limits
        delta = (self.problem.delta_free + self.problem.W @ lam + self.B @ moved)[self.drives]
        names = [*(a.name for a in self.bound.actuators), *(d.spec.name for d in self.bound.supports)]
        x = np.concatenate([lam[self.drives], moved])
        at = _near(x, x_low) | _near(x, x_high)
        at[: len(delta)] |= _near(delta, low) | _near(delta, high)
        return tuple(name for name, there in zip(names, at, strict=True) if there)


def _near(x: FloatArray, bound: FloatArray) -> Any:
    return np.isfinite(bound) & (np.abs(x - bound) <= 1e-9 * np.maximum(np.abs(bound), 1e-12))


def _padded(p: QpccProblem, singles: int) -> tuple[QpccProblem, IndexArray]:
    """The problem with two empty tangents behind each frictionless contact, and where the given rows went."""
    if not singles:
        return p, np.arange(p.contact_count)
    total = p.contact_count + 2 * singles
    rows = np.concatenate([3 * np.arange(singles), np.arange(3 * singles, total)])

    def spread(block: FloatArray, axis: int) -> FloatArray:
        shape = list(block.shape)
        shape[axis] = total
        made = np.zeros(shape)
        made[(slice(None),) * axis + (rows,)] = block
        return made

    return replace(
        p,
        E_c=spread(p.E_c, 1),
        R_c=spread(p.R_c, 1),
        C_a=spread(p.C_a, 0),
        W_cc=spread(spread(p.W_cc, 0), 1),
        c=spread(p.c, 0),
    ), rows
