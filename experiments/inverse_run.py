"""What the inverse experiments share: follow a path of targets with contacts in the optimisation, or blind to them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from experiments.following import compliance_seconds
from pliant.core.types import FloatArray
from pliant.record import Recorder, Run
from pliant.stepping.info import StepInfo
from pliant.world import State, World


@dataclass(frozen=True, eq=False)
class Followed:
    """A path of targets and what became of it, step by step.

    `errors` (k,) m are the distances of the effector from its target; `contacts` (k,) counts the contacts in the
    optimisation, `touching` (k,) those with a force; `w_ms` and `qp_ms` (k,) are the times of W (the factorization and
    H A⁻¹ Hᵀ) and of the QPs, `step_ms` (k,) those of all stages of a step. `run` is the
    recorded motion, `state` its end, `info` the report of the last step.
    """

    errors: FloatArray
    contacts: FloatArray
    touching: FloatArray
    w_ms: FloatArray
    qp_ms: FloatArray
    step_ms: FloatArray
    state: State
    info: StepInfo
    run: Run

    def timings(self) -> dict[str, float]:
        """Medians over the steps, ms: the paper's two columns, their sum, the whole step; mean numbers of contacts."""
        return {
            "w_ms": float(np.median(self.w_ms)),
            "qp_ms": float(np.median(self.qp_ms)),
            "w_qp_ms": float(np.median(self.w_ms + self.qp_ms)),
            "step_ms": float(np.median(self.step_ms)),
            "contacts": float(self.contacts.mean()),
            "touching": float(self.touching.mean()),
        }


def follow(world: World, stepper: Any, start: State, effector: Any, targets: FloatArray) -> Followed:
    """Step `stepper`, whose solver is an inverse, from `start` through `targets` (k, 3) m of `effector`."""
    recorder = Recorder(world, start, stepper)
    state, infos = start, []
    for target in targets:
        state, info = stepper(world, state, {effector: target})
        recorder.add(state, info, {effector: target})
        infos.append(info)
    results = [info.inverse.result for info in infos]
    qp = np.array([1e3 * info.stage_times["constraints"] for info in infos])
    return Followed(
        errors=np.array([info.error(effector) for info in infos]),
        contacts=np.array([len(result.y) for result in results], float),
        touching=np.array([(result.y > 0.0).sum() for result in results], float),
        w_ms=np.array([1e3 * compliance_seconds(info) for info in infos]),
        qp_ms=qp,
        step_ms=np.array([1e3 * sum(info.stage_times.values()) for info in infos]),
        state=state,
        info=infos[-1],
        run=recorder.run(),
    )


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
