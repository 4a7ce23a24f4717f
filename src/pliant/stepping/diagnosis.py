"""What costs another pass over elements or contacts, computed from the data of a finished step."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from pliant.core.one_line import one_line
from pliant.core.types import FloatArray
from pliant.stepping.energy_balance import MOST
from pliant.stepping.newton import relative_residual
from pliant.stepping.stages import Step
from pliant.world import State

_KEPT = (
    "contacts changed from one linear solve to the next and were kept as found in the last of them: the step is "
    "converged with their planes; read info.penetration for others",
)

_REPEATED = (
    "a first attempt at the step inverted elements, failed or added energy, and it was repeated with more linear "
    "solves or in more parts: read info.iterations and info.parts; a smaller dt avoids this"
)
_GAINS = (
    "the midpoint rule added energy in this step, by {most:.0%} of what moved or more, although it was divided: "
    "elements or constraints turn too far in it; take a smaller dt, damping, or pl.DampedMidpoint"
)
_CUT = (
    "a step was cut to {fraction:.2g} of its motion, beyond which elements invert: commands lag behind and momentum is "
    "lost; take a smaller dt, smaller changes of the commands, or a finer mesh where it is compressed most"
)


@one_line
@dataclass(frozen=True)
class Diagnosis:
    """Relative residuals, of full-order models too, energy change (J), largest penetration (m) and warnings."""

    residual: float
    full_order_residual: float
    energy_change: float
    penetration: float
    warnings: tuple[str, ...]


def residual(step: Step) -> float:
    """Nonlinear residual at the end of the step over the largest force norm in it."""
    forces = step.bodies.forces()
    return relative_residual(step.bodies, step.balanced(forces))


def full_order_residual(step: Step) -> float:
    """The same of the full-order bodies; nan where a reduced body does not know all of its stresses."""
    if not all(trial.knows_full_residual for trial in step.bodies.trials):
        return float("nan")
    forces = step.bodies.full_order(step.bodies.forces())
    return relative_residual(step.bodies, step.balanced(forces))


def energy_change(step: Step, advanced: State) -> float:
    """Change of total energy over the step, J."""
    world, controls = step.world, step.bodies.controls
    before = world.energy_at(step.start, controls)["total"]
    return world.energy_at(advanced, controls)["total"] - before


def reaction(step: Step, body: Any) -> FloatArray:
    """Forces that supports exert on the nodes of `body`, of the shape of its dx, N; zero at free DoFs."""
    index, bodies = step.world.index(body), step.bodies
    return np.where(step.world.models[index].constrained, -bodies.full_order(bodies.forces()).r[index], 0.0)


def penetration(step: Step) -> float:
    """Largest penetration of any contact point at the end of the step, m."""
    view = step.bodies.view()
    return max((each.overlap(view) for each in step.world.constraints), default=0.0)


def warnings(step: Step) -> tuple[str, ...]:
    """Inverted elements, shapes beyond what elements follow, bodies that approached faster than contact detection
    follows, points of channels that a tip passed by.
    """
    view, constraints = step.bodies.view(), step.world.constraints
    memories = (None,) * len(constraints) if step.assembly is None else step.assembly.memories
    pairs = zip(constraints, memories, strict=False)
    inverted = tuple(
        f"{trial.model.name!r} has inverted elements, det F ≤ 0: stresses there are meaningless; use a smaller dt, "
        "smaller changes of the commands, or a finer mesh where it is compressed most"
        for trial in step.bodies.trials
        if trial.model.is_inverted(trial.positions())
    )
    of_rows = tuple(text for each, memory in pairs for text in each.warnings(view, memory))
    how: tuple[str, ...] = _KEPT if step.kept is not None else ()
    if step.fraction < 1.0:
        how += (_CUT.format(fraction=step.fraction),)
    elif step.repeated:
        how += (_REPEATED,)
    if step.gains:
        how += (_GAINS.format(most=MOST),)
    return inverted + of_rows + how + shape_warnings(step)


def shape_warnings(step: Step) -> tuple[str, ...]:
    """What bodies report of their present shapes."""
    return tuple(text for trial in step.bodies.trials for text in trial.warnings(step.iterations))
