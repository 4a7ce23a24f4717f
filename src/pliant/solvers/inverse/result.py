"""What the solvers of quadratic programs with complementarity return."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

import numpy as np

from pliant.core.types import BoolArray, FloatArray


class QpccStatus(Enum):
    """What is known about the answer. `.text` says what to try next, `.ok` whether the answer is stationary."""

    GLOBAL = "the global minimum, within the tolerance of the search"
    LOCAL = (
        "a local minimum, proved: no piece that meets this point is better; `globalize=True` looks for the global one"
    )
    ONE_FLIP = (
        "no flip of one contact improves it, but it is not proved a local minimum: too many contacts touch without "
        "force, or there is friction on the true cone; try another `warm`"
    )
    LIMIT = (
        "stopped at the iteration limit with a feasible point: raise `maximum_iterations`, or start from it (`warm`)"
    )

    @property
    def text(self) -> str:
        """What is known, and what to try next."""
        return self.value

    @property
    def ok(self) -> bool:
        """Whether the answer is a stationary point."""
        return self is not QpccStatus.LIMIT


@dataclass(frozen=True, eq=False)
class QpccResult:
    """Forces that satisfy every limit and the law of every contact, and what is known about their cost.

    x (na,) actuator forces, y contact forces and w contact gaps (nc,), N and m. `objective` is the cost at them, m²;
    `lower_bound` is proved to be below the cost of every feasible point (−inf where nothing is proved) and `gap` the
    difference. `residual` is the largest violation of a limit and of min(y, w) = 0 after scaling: independent of units,
    usually below 1e-9. `iterations` counts the QPs solved. `path` holds the pieces visited, from the first to the last:
    the touching contacts as sorted tuples, and x (na,) at the minimum of each.
    """

    x: FloatArray
    y: FloatArray
    w: FloatArray
    objective: float
    lower_bound: float
    status: QpccStatus
    residual: float
    iterations: int
    active: BoolArray
    """Which contacts (nc,) belong to the piece of the answer."""
    path: tuple[tuple[tuple[int, ...], FloatArray], ...] = ()

    @property
    def solution(self) -> FloatArray:
        """All forces, x then y, N, (na + nc,)."""
        return np.concatenate([self.x, self.y])

    @property
    def gap(self) -> float:
        """objective − lower_bound, m²; inf where no bound is proved."""
        return self.objective - self.lower_bound
