"""Several steps of a world as one step of a task."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pliant.core.immutable import evolve
from pliant.models.workspace import Workspace
from pliant.stepping import ImplicitEuler, StepInfo
from pliant.world import State, World
from pliant.world.copies import Copies


@dataclass(frozen=True, eq=False)
class Substeps:
    """Steps by `stepper` as often as its controls say: ``controls[handle]`` has a value for each step.

    A stepper of worlds and of batches like any other. What is kept between steps stands in `workspace`, which a batch
    replaces for each copy.
    """

    stepper: ImplicitEuler
    workspace: Workspace = field(default_factory=Workspace)

    def __call__(self, world: World, state: State, controls: Mapping[Any, Sequence[Any]]) -> tuple[State, StepInfo]:
        """The state after the last of the steps, and what that step reports."""
        if isinstance(world, Copies):
            return world.step(self, state, controls)  # type: ignore[no-any-return]
        one = evolve(self.stepper, workspace=self.workspace)
        for values in zip(*controls.values(), strict=True):
            state, info = one(world, state, dict(zip(controls, values, strict=True)))
        return state, info
