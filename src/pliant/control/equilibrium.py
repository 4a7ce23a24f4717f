"""Where the bodies come to rest under the actuation that an inverse found.

A step with a fixed number of linear solves ends where the linearised forces balance, not the true ones. With the
actuation held, the bodies settle somewhere else. `settle` computes that place by a converged forward solve without an
inverse: the static equilibrium after a quasi-static step, the converged step after a dynamic one. The effectors stay
rows of this solve, so that their errors are read in the same way.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from pliant.actuators import Stiffness
from pliant.actuators.values import Cut, Displacement
from pliant.core.errors import ConvergenceError, InputError
from pliant.core.status import Status
from pliant.models.workspace import Workspace
from pliant.stepping.implicit_euler import ImplicitEuler
from pliant.stepping.implicit_midpoint import ImplicitMidpoint
from pliant.stepping.info import StepInfo
from pliant.stepping.quasi_static import QuasiStatic
from pliant.stepping.session import DirectSession
from pliant.world import State, World

if TYPE_CHECKING:
    from pliant.control.effectors import EffectorRows
    from pliant.control.inverse import InverseReport

HOLDS = ("displacement", "force")
"""What of an actuator is held: its displacement (volume, angle) or its force (pressure, torque)."""
TOLERANCE = 1e-5
"""Relative residual of the forward solve: its error of position is far below that of one linear solve."""
UNBALANCED = 1e-3
"""Relative residual below which a step counts as being in equilibrium, without a forward solve."""


@dataclass(frozen=True, eq=False)
class HeldActuation:
    """The solver of a forward step in which the targets of `effectors` are measured and nothing follows them."""

    effectors: tuple[EffectorRows, ...]

    def begin(
        self, world: World, state: State, controls: Mapping[Any, Any] | None, workspace: Workspace
    ) -> tuple[dict[Any, Any], DirectSession]:
        """Checked controls of a step from `state`, targets among them, and the solver of its forces."""
        given = dict(controls or {})
        targets = {rows.effector: rows.effector.target(given.pop(rows.effector)) for rows in self.effectors}
        return world.controls(given) | targets, DirectSession(self.effectors)


def held_controls(report: InverseReport, info: StepInfo, hold: str) -> dict[Any, Any]:
    """Controls of a forward step with the actuation that was found, the targets of the effectors included."""
    if hold not in HOLDS:
        raise InputError(f"hold is one of {', '.join(map(repr, HOLDS))}, got {hold!r}")
    session = report.session
    made = dict(session.controls)
    for actuator in session.bound.actuators:
        if isinstance(made.get(actuator), Cut):
            continue
        displacement, force = info.actuation(actuator)
        made[actuator] = commanded(actuator, displacement, force, hold)
    for driven in session.supports:
        made[driven.spec.support] = Displacement(driven.reached)
    return made


def is_modulus(actuator: Any) -> bool:
    """Whether an actuator is a modulus, which has no displacement."""
    return isinstance(actuator, Stiffness)


def commanded(actuator: Any, displacement: float, force: float, hold: str) -> Any:
    """The control value that holds an actuator at its displacement, or at its force. A displacement is brought into its
    limits, which the solution of an inverse meets up to rounding.
    """
    if hold == "force" or is_modulus(actuator):
        return actuator.imposing(float(np.clip(force, actuator.limits.lower, actuator.limits.upper)))
    return actuator.moving(float(np.clip(displacement, actuator.limits.least, actuator.limits.most)))


def settle(report: InverseReport, info: StepInfo, hold: str) -> tuple[State, StepInfo]:
    """The state in which the bodies come to rest with the actuation of the step `info` held, and its report."""
    scheme, solver = info.step.bodies.scheme, HeldActuation(report.session.bound.effectors)
    controls = held_controls(report, info, hold)
    try:
        if scheme.inertia:
            kind = ImplicitEuler if scheme.theta == 1.0 else ImplicitMidpoint
            stepper: Any = kind(scheme.dt, tolerance=TOLERANCE, solver=solver)
            state, found = stepper(info.world, info.step.bodies.start, controls)
        else:
            stepper = QuasiStatic(tolerance=TOLERANCE, dt=scheme.interval or None, solver=solver)
            state, found = stepper(info.world, info.advanced, controls)
    except ConvergenceError as error:
        raise ConvergenceError(
            f"no equilibrium was found with the {hold}s of the actuators held, so the error there is unknown: {error}",
            result=error.result,
        ) from error
    return state, replace(found, inverse=report)


class EquilibriumWatch:
    """Decides when the equilibrium of the steps of one stepper is compared with what they report.

    The comparison takes several linear solves. It is made at the first step that is not in equilibrium, then after
    2, 4, 8, … further ones until it has led to a warning, which is given once.
    """

    def __init__(self) -> None:
        self._steps, self._next, self._warned = 0, 1, False

    def warnings(self, report: InverseReport, info: StepInfo) -> tuple[str, ...]:
        """A warning where an effector would settle elsewhere than reported by more than its tolerance."""
        if self._warned or info.status is not Status.FIXED_ITERATIONS:
            return ()
        self._steps += 1
        if self._steps < self._next or info.residual <= UNBALANCED:
            return ()
        self._next = 2 * self._steps
        texts = []
        for effector in report.session.inverse.effectors:
            reported = info.error(effector)
            try:
                settled = info.equilibrium_error(effector)
            except ConvergenceError as error:
                texts.append(f"{effector.name!r} is reported {reported:.3g} from its target, but {error}")
                break
            if abs(settled - reported) > effector.tolerance:
                texts.append(
                    f"{effector.name!r} is reported {reported:.3g} from its target, but the step is not in "
                    f"equilibrium: with the actuation held it settles {settled:.3g} from it, more than its tolerance "
                    f"{effector.tolerance:.3g}; take smaller motions per step, more newton_iterations, or "
                    "pl.Inverse(tolerance=…)"
                )
        self._warned = bool(texts)
        return tuple(texts)
