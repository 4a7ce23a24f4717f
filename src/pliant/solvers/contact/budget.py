"""How much work one solve may do: the same on every machine, and a limit of time where one is asked for.

Iterations differ in cost by orders of magnitude: a sweep over m rows takes m² multiply–adds, a Newton step a third of
the cube of its active rows, an interior-point step m³/3. Each method takes what it costs from the budget and ends where
nothing is left; the best iterate is then the answer, with its residual. A solve is therefore bounded whatever its
problem is, and deterministic unless `seconds` is given.
"""

from __future__ import annotations

from math import inf
from time import perf_counter

_CALL = 3e5  # multiply–adds that the calls of one Newton or interior-point step cost beside its arithmetic
_THOROUGH = (1e9, 3000.0, 6.0)
"""Multiply–adds, × m² and × m³: a second for the smallest problems (3000 steps), 4 s for 1400 rows (18 dense
factorizations).
"""
_QUICK = (3e7, 500.0, 1.0)
"""The same within a step of a simulation: 60 ms for 300 rows. Of 700 steps of grippers with random pulls 46 end here,
with residuals below 2e-4; the others converge.
"""
_EASED = (1.0 / 3.0, 10.0)
"""Of a quick budget: the fraction of the multiply–adds after which a residual this many times the tolerance is good
enough. Redundant contacts come near the tolerance early and may take hundreds of steps for the last digit, of 1e-8.
"""
_FIRST = 0.25
"""Fraction of what is left that the first attempt may take: 25 Newton steps for 300 rows."""
_RATE = 1e9
"""Multiply–adds in a second, at least, of an attempt that does not look at the time."""
_LEAST = 1e8
"""Multiply–adds that every problem may take, as many as one of 300 rows: smaller ones, such as 60 rows of two soft
blocks on each other, converge within them.
"""


class Budget:
    """Work that is left for a problem of m rows: `maximum_iterations`, the default of multiply–adds for its size, and
    `seconds` of wall time (None: no such limit). A `quick` one is for steps of a simulation, which go on from the best
    iterate; late in it ten times the tolerance is enough.
    """

    def __init__(self, m: int, maximum_iterations: int, seconds: float | None = None, *, quick: bool = False) -> None:
        self.limit = maximum_iterations
        self.iterations = 0
        constant, square, cube = _QUICK if quick else _THOROUGH
        self._operations = max(_LEAST, constant + square * m**2 + cube * m**3)
        self._eased = (1.0 - _EASED[0]) * self._operations if quick else -inf
        self._deadline = None if seconds is None else perf_counter() + seconds

    @property
    def first(self) -> tuple[int, float]:
        """Iterations and multiply–adds that the first attempt may take, before others go on from its best iterate."""
        left = _FIRST * self._operations
        if self._deadline is not None:
            left = min(left, _RATE * (self._deadline - perf_counter()))
        return self.limit - self.iterations, left

    @property
    def spent(self) -> bool:
        """Whether nothing is left."""
        late = self._deadline is not None and perf_counter() >= self._deadline
        return self.iterations >= self.limit or self._operations <= 0.0 or late

    def allowed(self, tolerance: float) -> float:
        """The residual that is small enough at this point of the budget."""
        return tolerance if self._operations > self._eased else _EASED[1] * tolerance

    def take(self, iterations: int, operations: float) -> None:
        """Count iterations of `operations` multiply–adds each."""
        self.iterations += iterations
        self._operations -= iterations * (operations + _CALL)

    def take_sweeps(self, wanted: int, m: int) -> int:
        """At most `wanted` sweeps over m rows, as many as are left; they are counted."""
        affordable = max(0, min(wanted, self.limit - self.iterations, 1 + int(self._operations / m**2)))
        self.iterations += affordable
        self._operations -= affordable * float(m) ** 2 + _CALL
        return affordable
