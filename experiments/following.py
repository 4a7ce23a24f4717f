"""Following targets with an inverse, step by step: errors, contacts and times, as the tables of the papers report them.

The two columns of Coevoet et al. 2017 are the time of the compliance W and the time of the sequence of QPs. A path may
also be followed by an optimisation that does not know the contacts, to show what they are worth.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from time import perf_counter
from typing import Any

import numpy as np

from pliant.constraints import RowLaw
from pliant.core.types import BoolArray, FloatArray
from pliant.record import Recorder, Run
from pliant.stepping import StepInfo
from pliant.world import State, World

Place = Callable[[State], FloatArray]

W_NOTE = (
    "w_ms is the time of W, the factorization and H A⁻¹ Hᵀ, qp_ms that of the QPs, with setting them up, as in the "
    "paper's table; step_ms has all stages, also elements, contact detection and rows, which the table leaves out."
)


@dataclass(frozen=True, eq=False)
class Following:
    """What happened step by step, k steps: the recorded run, distances from the targets (k,) m, seconds of whole steps
    (k,) by the clock, states and infos.
    """

    run: Run
    errors: FloatArray
    seconds: FloatArray
    states: list[State] = field(repr=False)
    infos: list[StepInfo] = field(repr=False)

    @property
    def state(self) -> State:
        """The last state."""
        return self.states[-1]

    @property
    def info(self) -> StepInfo:
        """The report of the last step."""
        return self.infos[-1]

    @property
    def commands(self) -> list[Mapping[Any, Any]]:
        """The actuation that was found, as controls of steps without an inverse."""
        return list(self.run.controls)

    @property
    def contacts(self) -> FloatArray:
        """Frictionless contacts in the problem of each step, (k,)."""
        return np.array([_contacts(info).sum() for info in self.infos], float)

    @property
    def touching(self) -> FloatArray:
        """Contacts with a force in each step, (k,)."""
        return np.array([(_contacts(info) & (_forces(info) > 0.0)).sum() for info in self.infos], float)

    @property
    def w_seconds(self) -> FloatArray:
        """Time of W in each step, (k,) s: the factorization and H A⁻¹ Hᵀ, without elements and contact detection."""
        spent = [info.stage_times for info in self.infos]
        return np.array([times["factorize"] + times.get("condense", 0.0) for times in spent])

    @property
    def qp_seconds(self) -> FloatArray:
        """Time of the QPs in each step, (k,) s."""
        return np.array([info.stage_times.get("constraints", 0.0) for info in self.infos])

    @property
    def stage_seconds(self) -> FloatArray:
        """Time of all stages of each step, (k,) s."""
        return np.array([sum(info.stage_times.values()) for info in self.infos])


def follow(
    world: World,
    stepper: Any,
    controls: Sequence[Mapping[Any, Any]],
    error: Callable[[int, State, StepInfo], float],
    *,
    start: State | None = None,
) -> Following:
    """Take one step for each of `controls`; `error(k, state, info)` is the distance from the target of step k, m."""
    state = world.initial_state() if start is None else start
    recorder = Recorder(world, state, stepper)
    states: list[State] = []
    infos: list[StepInfo] = []
    seconds: list[float] = []
    for given in controls:
        begin = perf_counter()
        state, info = stepper(world, state, given)
        seconds.append(perf_counter() - begin)
        recorder.add(state, info, given)
        states.append(state)
        infos.append(info)
    errors = [error(k, *step) for k, step in enumerate(zip(states, infos, strict=True))]
    return Following(recorder.run(), np.array(errors), np.array(seconds), states, infos)


def follow_point(
    world: World,
    stepper: Any,
    controls: Sequence[Mapping[Any, Any]],
    targets: FloatArray,
    place: Place,
    *,
    start: State | None = None,
) -> Following:
    """Take one step for each of `controls`; `place(state)` (3,) m is what should stand at `targets` (k, 3), m."""
    return follow(
        world, stepper, controls, lambda k, state, _: float(np.linalg.norm(place(state) - targets[k])), start=start
    )


def follow_effector(world: World, stepper: Any, start: State, effector: Any, targets: FloatArray) -> Following:
    """Step `stepper`, whose solver is an inverse, from `start` through `targets` (k, 3) m of `effector`."""
    controls = [{effector: target} for target in targets]
    return follow(world, stepper, controls, lambda _, __, info: info.error(effector), start=start)


def follow_blind(
    world: World, without: World, stepper: Any, start: State, effector: Any, targets: FloatArray
) -> tuple[FloatArray, State]:
    """The same path with an optimisation that does not know the contacts: errors (k,) m and the last state.

    Each step the inverse is solved at the present state in `without`, the same bodies and actuators but no contacts,
    and the actuator forces it finds are applied in `world`, where there are contacts.
    """
    direct, state, errors = replace(stepper, solver=None), start, []
    for target in targets:
        _, found = stepper(without, replace(state, world=without, memories=()), {effector: target})
        state, _ = direct(world, state, found.inverse.commands(None, found))
        errors.append(distance(world, state, effector, target))
    return np.array(errors), state


def ramp(world: World, stepper: Any, state: State, controls: Sequence[Mapping[Any, Any]]) -> State:
    """The state after steps with the given direct `controls`, one mapping a step; `stepper` may have an inverse."""
    direct = replace(stepper, solver=None)
    for values in controls:
        state, _ = direct(world, state, values)
    return state


def distance(world: World, state: State, effector: Any, target: Any) -> float:
    """How far `effector` is from `target` in `state`, m, along the directions that it measures."""
    return float(np.linalg.norm(effector.bound(world).measure.error(state.q, effector.target(target))))


def times(*parts: Following) -> dict[str, float]:
    """Median ms of W, of the QPs, of both and of all stages of a step, and mean numbers of contacts, over all steps of
    `parts`.
    """
    w = 1e3 * np.concatenate([part.w_seconds for part in parts])
    qp = 1e3 * np.concatenate([part.qp_seconds for part in parts])
    whole = 1e3 * np.concatenate([part.stage_seconds for part in parts])
    return {
        "w_ms": float(np.median(w)),
        "qp_ms": float(np.median(qp)),
        "w_qp_ms": float(np.median(w + qp)),
        "step_ms": float(np.median(whole)),
        "contacts": float(np.concatenate([part.contacts for part in parts]).mean()),
        "touching": float(np.concatenate([part.touching for part in parts]).mean()),
    }


def _contacts(info: StepInfo) -> BoolArray:
    """Which rows of a step are frictionless contacts."""
    if info.assembly is None:
        return np.zeros(0, bool)
    return np.asarray(info.assembly.rows.law == RowLaw.SIGNORINI)


def _forces(info: StepInfo) -> FloatArray:
    return np.zeros(0) if info.lam is None else info.lam
