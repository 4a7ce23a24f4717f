"""Following targets with an inverse, step by step: errors, contacts and times, as the tables of the paper report them.

The paper's two columns are the time of the compliance W (everything up to the condensed problem, and the motion that
follows from its answer) and the time of the sequence of QPs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any

import numpy as np

from pliant.constraints import RowLaw
from pliant.core.types import FloatArray
from pliant.record import Recorder, Run
from pliant.stepping import StepInfo
from pliant.world import State, World

Place = Callable[[State], FloatArray]


@dataclass(eq=False)
class Following:
    """What happened step by step, k steps: distances of a point from its target (k,), m, contacts (k,), and seconds of
    W, of the QPs and of whole steps (k,); the last state and info, and the recorded run.
    """

    run: Run
    state: State
    info: StepInfo
    errors: FloatArray
    contacts: FloatArray
    w_seconds: FloatArray
    stage_seconds: FloatArray
    qp_seconds: FloatArray
    seconds: FloatArray
    states: list[State] = field(repr=False)
    infos: list[StepInfo] = field(repr=False)

    @property
    def commands(self) -> list[Mapping[Any, Any]]:
        """The actuation that was found, as controls of steps without an inverse."""
        return list(self.run.controls)


def follow(
    world: World,
    stepper: Any,
    controls: Sequence[Mapping[Any, Any]],
    targets: FloatArray,
    place: Place,
    *,
    start: State | None = None,
) -> Following:
    """Take one step for each of `controls`; `place(state)` (3,) m is what should stand at `targets` (k, 3), m."""
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
    qp = np.array([info.stage_times.get("constraints", 0.0) for info in infos])
    return Following(
        run=recorder.run(),
        state=state,
        info=info,
        errors=np.array([np.linalg.norm(place(s) - t) for s, t in zip(states, targets, strict=True)]),
        contacts=np.array([contact_count(info) for info in infos], float),
        w_seconds=np.array([compliance_seconds(info) for info in infos]),
        stage_seconds=np.array([sum(info.stage_times.values()) for info in infos]),
        qp_seconds=qp,
        seconds=np.array(seconds),
        states=states,
        infos=infos,
    )


W_NOTE = (
    "w_ms is the time of W, the factorization and H A⁻¹ Hᵀ, qp_ms that of the QPs, with setting them up, as in the "
    "paper's table; step_ms has all stages, also elements, contact detection and rows, which the table leaves out."
)


def compliance_seconds(info: StepInfo) -> float:
    """Time of W, s: the factorization and H A⁻¹ Hᵀ. Elements, contact detection and the free motion are not in it."""
    return info.stage_times["factorize"] + info.stage_times.get("condense", 0.0)


def contact_count(info: StepInfo) -> int:
    """Number of frictionless contacts that the step looked at."""
    return 0 if info.assembly is None else int((info.assembly.rows.law == RowLaw.SIGNORINI).sum())


def times(parts: Sequence[Following]) -> dict[str, float]:
    """Median ms of W, of the QPs, of both and of all stages of a step, and the mean number of contacts, over all steps
    of `parts`.
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
    }
