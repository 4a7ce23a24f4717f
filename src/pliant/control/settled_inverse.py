"""The inverse in static equilibrium: a quasi-Newton iteration over what the linear model is asked for.

One linear solve of an inverse gives the actuation that changes the errors of the effectors by y in its linear model.
With the displacements of the actuators held, the bodies settle at errors that changed by about B y. With e the errors
in equilibrium and e* the least ones of the linear model, each round asks for y = B⁻¹ (e* − e), solves for the
equilibrium, and corrects B by Broyden's update; the size of y is bounded by a trust region.
Every iterate is a converged forward solve. Bodies that are stable only because their cables are held, such as an
upright trunk beyond its buckling load, are thus treated like others, although B is far from the identity for them.

The linear model also moves redundant actuators to where they take less energy, so that the errors change even for
y = 0. Where this keeps the iteration from converging, `_finished` goes on over the displacements alone, and the moduli,
which have none: Gauss–Newton with a Jacobian from forward solves, for the actuators that carry a force within their
limits.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from pliant.actuators import ActuatorRows
from pliant.actuators.joint import JointMemory
from pliant.actuators.values import Cut
from pliant.constraints.rows import Constraint, Rows, RowView, forces_of
from pliant.control.equilibrium import HeldActuation, commanded, is_modulus
from pliant.control.supports import MovedSupport
from pliant.core.errors import ConvergenceError, InputError
from pliant.core.types import FloatArray, IndexArray
from pliant.models.workspace import Workspace
from pliant.stepping.info import StepInfo
from pliant.world import State, World

if TYPE_CHECKING:
    from pliant.control.effectors import EffectorRows
    from pliant.control.inverse import Inverse

ROUNDS = 40
"""Most forward solves with the linear model; a stable robot takes two to four, one near buckling about ten."""
LEAST_RADIUS = 1e-3
"""Radius of the trust region at which B is given up, over the errors at the start."""
RESTARTS = 1
"""How often the iteration begins anew with B = I: cables that become taut or slack change B at once."""
JACOBIANS, CORRECTIONS = 3, 8
"""Most Jacobians from forward solves, and most corrections with each: cables that become taut or slack change it."""
FRACTIONS = (1.0, 0.5, 0.25, 0.0)
"""Of the change of moduli that the linear model promises first, which may be too soft to hold."""
PROBE = 0.01
"""Displacement by which an actuator is probed, over its own: well above the tolerance of equilibria, nearly linear."""
TAUT = 1e-6
"""Distance of a force from its limits, over the largest force of the actuators, at which it counts as within them."""


@dataclass(frozen=True, eq=False)
class _Shifted(Constraint):
    """The rows of an effector with `shift` (k,) added to their error: they ask for another change."""

    rows_of: EffectorRows
    shift: FloatArray

    @property
    def spec(self) -> Any:  # type: ignore[override]
        """The effector."""
        return self.rows_of.spec

    @property
    def effector(self) -> Any:
        """The effector in the controls."""
        return self.rows_of.effector

    def rows(self, view: RowView, found: Any = None) -> tuple[Rows, Any]:
        """The shifted rows."""
        rows, memory = self.rows_of.rows(view, found)
        return replace(rows, gap=rows.gap + self.shift), memory


@dataclass(frozen=True, eq=False)
class _Asking:
    """An inverse whose effectors are asked for errors other than zero: −`shifts`, one of each effector."""

    inverse: Inverse
    shifts: tuple[FloatArray, ...]

    def begin(
        self, world: World, state: State, controls: Mapping[Any, Any] | None, workspace: Workspace
    ) -> tuple[dict[Any, Any], Any]:
        """Checked controls of a step from `state`, and the solver of its forces."""
        values, session = self.inverse.begin(world, state, controls, workspace)
        if not self.shifts:
            return values, session
        shifted: Any = tuple(_Shifted(rows, by) for rows, by in zip(session.bound.effectors, self.shifts, strict=True))
        return values, replace(session, bound=replace(session.bound, effectors=shifted))


class _Rounds:
    """The forward solves and the linear inverses of one settled step."""

    def __init__(self, inverse: Inverse, stepper: Any, world: World, controls: Mapping[Any, Any] | None) -> None:
        self.inverse, self.world, self.given = replace(inverse, tolerance=None), world, dict(controls or {})
        self.linear = replace(stepper, dt=None, newton_iterations=1)
        effectors = tuple(effector.bound(world) for effector in inverse.effectors)
        self.forward = replace(stepper, dt=None, newton_iterations=None, solver=HeldActuation(effectors))
        self.actuators = [each for each in inverse.actuators if not isinstance(self.given.get(each), Cut)]
        self.iterations = 0

    def asked(self, state: State, shifts: tuple[FloatArray, ...] = ()) -> StepInfo:
        """The linear inverse from `state`, with the errors asked for shifted."""
        stepper = replace(self.linear, solver=_Asking(self.inverse, shifts))
        info: StepInfo = stepper(self.world, state, self.given)[1]
        return info

    def settled(self, state: State, displacements: Any, forces: Any) -> tuple[State, StepInfo] | None:
        """The equilibrium with the actuators held; None where none is found."""
        values = zip(self.actuators, displacements, forces, strict=True)
        commands = {one: commanded(one, d, f, "displacement") for one, d, f in values}
        try:
            state, info = self.forward(self.world, state, self.given | commands)
        except ConvergenceError:
            return None
        self.iterations += info.iterations
        return state, info

    def report(self, best: tuple[State, StepInfo], promised: StepInfo) -> tuple[State, StepInfo]:
        """The state and the report of the step that ends in the equilibrium `best`."""
        made = replace(promised.inverse, hold="displacement")
        return best[0], replace(best[1], inverse=made, iterations=self.iterations)


def settled_inverse(
    inverse: Inverse, stepper: Any, world: World, state: State, controls: Mapping[Any, Any] | None
) -> tuple[State, StepInfo]:
    """The state in which the effectors are at their targets in equilibrium, and its report."""
    _refuse(inverse)
    assert inverse.tolerance is not None
    rounds = _Rounds(inverse, stepper, world, controls)
    start = replace(state, time=state.time + (stepper.dt or 0.0))  # the rounds pass no time
    promised = rounds.asked(start)
    report = promised.inverse
    best = _first(rounds, start, promised.actuation(rounds.actuators)[1])
    if best is None:
        raise _stalled(inverse, None, None, report.weighted_errors(promised))
    e: FloatArray = report.weighted_errors(best[1])
    B, radius, least, restarts = np.eye(len(e)), np.inf, LEAST_RADIUS * _norm(e), RESTARTS
    roots, ends = _weights(report, promised)
    for _ in range(ROUNDS):
        promised = rounds.asked(best[0])
        wanted = report.weighted_errors(promised)
        if _norm(e) <= _norm(wanted) + inverse.tolerance:
            return rounds.report(best, promised)
        y: FloatArray = np.linalg.solve(B, wanted - e).astype(np.float64, copy=False)
        y *= min(1.0, radius / _norm(y))
        asked = rounds.asked(best[0], tuple(np.split((-y - e) / roots, ends)))
        found = rounds.settled(best[0], *asked.actuation(rounds.actuators))
        if found is None:
            radius = 0.3 * _norm(y)
        else:
            change = report.weighted_errors(found[1]) - e
            B = B + np.outer(change - B @ y, y) / (y @ y)
            better = _norm(e + change) < _norm(e)
            radius = 2.0 * _norm(y) if better else 0.5 * _norm(y)
            if better:
                best, e = found, e + change
        if radius < least or np.linalg.cond(B) > 1e6:
            if not restarts:
                break
            B, radius, restarts = np.eye(len(e)), np.inf, restarts - 1
    return _finished(rounds, inverse, report, best)


def _first(rounds: _Rounds, start: State, promised: FloatArray) -> tuple[State, StepInfo] | None:
    """The equilibrium with the displacements of `start` held. A modulus has no displacement: it takes the `promised`
    value, or, where the body finds no equilibrium with that, one between it and that of `start`.
    """
    held = [_displacement(rounds.world, start, each) for each in rounds.actuators]
    drives: list[Any] = [rounds.world.constraints[rounds.world.constraint_index(each)] for each in rounds.actuators]
    fractions = FRACTIONS if any(is_modulus(each) for each in rounds.actuators) else FRACTIONS[:1]
    last = forces_of(np.array([drive.key for drive in drives]), start.keys, start.lam)
    for fraction in fractions:
        found = rounds.settled(start, held, last + fraction * (promised - last))
        if found is not None:
            return found
    return None


def _finished(rounds: _Rounds, inverse: Inverse, report: Any, best: tuple[State, StepInfo]) -> tuple[State, StepInfo]:
    """The settled step from the equilibrium `best`, by Gauss–Newton over the displacements of the actuators."""
    assert inverse.tolerance is not None
    for _ in range(JACOBIANS):
        e, moved = report.weighted_errors(best[1]), _Moved.of(rounds, best[1])
        probes = moved.probes()
        J = _jacobian(rounds, report, best, moved, probes)
        radius = np.inf  # of the values over their probes
        for _ in range(CORRECTIONS):
            promised = rounds.asked(best[0])
            wanted = report.weighted_errors(promised)
            if _norm(e) <= _norm(wanted) + inverse.tolerance:
                return rounds.report(best, promised)
            z: FloatArray = np.linalg.lstsq(J, -e, rcond=1e-6)[0].astype(np.float64, copy=False)
            if not z.any():
                break
            z *= min(1.0, radius / _norm(z))
            found = moved.by(probes * z).settled(best[0])
            if found is None:
                radius = 0.3 * _norm(z)
                continue
            change = report.weighted_errors(found[1]) - e
            J = J + np.outer(change - J @ z, z) / (z @ z)
            if _norm(e + change) < _norm(e):
                best, e, moved, radius = found, e + change, _Moved.of(rounds, found[1]), 2.0 * _norm(z)
            else:
                radius = 0.5 * _norm(z)
    raise _stalled(inverse, best, e, wanted)


@dataclass(frozen=True)
class _Moved:
    """What the actuators are held at: `values` (k,), displacements, and changes of moduli, which have none; `forces`
    (k,) are theirs.
    """

    rounds: _Rounds
    values: FloatArray
    forces: FloatArray

    @classmethod
    def of(cls, rounds: _Rounds, info: StepInfo) -> _Moved:
        """Those of a step."""
        d, forces = info.actuation(rounds.actuators)
        return cls(rounds, np.where([is_modulus(each) for each in rounds.actuators], forces, d), forces)

    def by(self, change: FloatArray) -> _Moved:
        """The values changed by `change`."""
        return replace(self, values=self.values + change)

    def settled(self, state: State) -> tuple[State, StepInfo] | None:
        """The equilibrium with these values."""
        return self.rounds.settled(state, self.values, self.values)

    def probes(self) -> FloatArray:
        """By how much each value is changed for a column of the Jacobian, (k,); 0 where the force is at a limit.

        A slack cable moves nothing.
        """
        slack = TAUT * np.abs(self.forces).max(initial=0.0)
        actuators = self.rounds.actuators
        sizes = [abs(each.slider_amount(x, x)) for each, x in zip(actuators, self.values, strict=True)]
        largest: dict[type, float] = {}
        for each, size in zip(actuators, sizes, strict=True):
            largest[type(each)] = max(size, largest.get(type(each), 0.0))
        return np.array(
            [
                PROBE * max(size, 0.1 * largest[type(each)])
                if each.limits.lower + slack < force < each.limits.upper - slack
                else 0.0
                for each, size, force in zip(actuators, sizes, self.forces, strict=True)
            ]
        )


def _jacobian(
    rounds: _Rounds, report: Any, best: tuple[State, StepInfo], moved: _Moved, probes: FloatArray
) -> FloatArray:
    """Change of the errors in equilibrium for one probe of each actuator, (errors, k)."""
    e = report.weighted_errors(best[1])
    J = np.zeros((len(e), len(probes)))
    for k in np.flatnonzero(probes):
        found = moved.by(probes * (np.arange(len(probes)) == k)).settled(best[0])
        if found is not None:
            J[:, k] = report.weighted_errors(found[1]) - e
    return J


def _weights(report: Any, info: StepInfo) -> tuple[FloatArray, IndexArray]:
    """The square roots of the weights of the effectors' rows, and where the rows of one effector end."""
    counts = [own.stop - own.start for _, own, _ in report.session.effector_rows(info)]
    return np.repeat(report.session.bound.roots, counts), np.cumsum(counts)[:-1]


def _norm(x: FloatArray) -> float:
    return float(np.linalg.norm(x))


def _stalled(
    inverse: Inverse, best: tuple[State, StepInfo] | None, errors: FloatArray | None, wanted: FloatArray
) -> ConvergenceError:
    reached = "no equilibrium was found" if errors is None else f"the errors stay at {_norm(errors):.3g}"
    return ConvergenceError(
        f"the inverse did not settle: with the displacements of the actuators held {reached}, the linear model "
        f"promises {_norm(wanted):.3g}, the tolerance is {inverse.tolerance:.3g}; approach the target in "
        "smaller steps, or loosen the tolerance (`result` is the last equilibrium)",
        result=None if best is None else best[0],
    )


def _displacement(world: World, state: State, actuator: Any) -> float:
    """δ of an actuator in `state`, m (m³, rad)."""
    index = world.constraint_index(actuator)
    memory = state.memories[index] if state.memories else None
    if isinstance(memory, JointMemory):
        return memory.angle
    rows = world.constraints[index]
    assert isinstance(rows, ActuatorRows)
    return float(rows.displacement(state.q))


def _refuse(inverse: Inverse) -> None:
    """Raise an `InputError` for what a step of many rounds cannot keep: rates, and moved supports."""
    for each in (*inverse.actuators, *inverse.effectors):
        if each.rate_limited or isinstance(each, MovedSupport):
            raise InputError(
                f"an inverse with a tolerance takes several rounds in a step: {each.name!r} may not limit a rate nor "
                "be a pl.MovedSupport; leave out the tolerance"
            )
