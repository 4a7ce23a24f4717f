"""Outcome of an iteration, with what to try next."""

from __future__ import annotations

from enum import Enum


class Status(Enum):
    """Outcome of an iterative computation. `Status.X.text` says what happened and what to try."""

    CONVERGED = "converged to the requested tolerance"
    FIXED_ITERATIONS = "did the requested fixed number of iterations; read `residual` to judge them"
    FREE_MOTION = (
        "converged up to a rigid motion that nothing resists: read `info.rigid_motion`, or clamp the body "
        "(`pl.Volume(…, clamp=region)`)"
    )
    ITERATION_LIMIT = "stopped at the iteration limit: raise it, loosen the tolerance or take smaller load steps"
    STALLED = "no step reduced the residual: take smaller load steps, or check for inverted elements"

    @property
    def text(self) -> str:
        """What happened, and what to try next."""
        return self.value

    @property
    def ok(self) -> bool:
        """Whether the result can be used as it is."""
        return self in (Status.CONVERGED, Status.FIXED_ITERATIONS, Status.FREE_MOTION)
