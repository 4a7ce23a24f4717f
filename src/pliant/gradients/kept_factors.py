"""Factors of the steps of one linear solve that a backward run takes up again.

A stepper uses the memory of a factor again in its next step. The factor is taken out of its workspace before that, and
the memory of one that is no longer needed is put in its place: memory is new once for each step of a stretch. Some is
left to the next gradient with the same stepper: fresh memory costs page faults, a quarter of a small step.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pliant.models.workspace import Workspace
from pliant.world import World

MOST = 2**30
"""Bytes of factors that are kept; steps beyond are factorized again."""
LEFT = 2**27
"""Bytes of factors of a body whose memory is left to the next gradient."""
_KIND = "spare factors"


class KeptFactors:
    """The factors that a stepper with this `workspace` leaves behind in a `world`, by body, while there is room."""

    def __init__(self, world: World, workspace: Workspace) -> None:
        self._models, self._workspace = world.models, workspace
        self._spare: list[list[Any]] = [workspace.take(model, _KIND) or [] for model in world.models]
        self._bytes = 0

    def take(self) -> Sequence[Any] | None:
        """The factors of the step that was just made, None for bodies without one; None where there is no room."""
        if self._bytes > MOST:
            return None
        made = [self._workspace.take(model, "factor") for model in self._models]
        for model, spare, factor in zip(self._models, self._spare, made, strict=True):
            if factor is not None:
                self._bytes += factor.panels.nbytes
                if spare:
                    self._workspace.give(model, "factor", spare.pop())
        return made

    def leave(self) -> None:
        """Leave the memory that is not used to the next gradient."""
        for model, spare in zip(self._models, self._spare, strict=True):
            if spare:
                self._workspace.give(model, _KIND, spare[: LEFT // max(spare[0].panels.nbytes, 1)])

    def free(self, factors: Sequence[Any] | None) -> None:
        """Leave the memory of `factors` to later steps."""
        for spare, factor in zip(self._spare, factors or (), strict=False):
            if factor is not None:
                self._bytes -= factor.panels.nbytes
                spare.append(factor)
