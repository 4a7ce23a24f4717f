"""`pl.Estimator`: the external forces and the shape of a robot in equilibrium, from what its sensors read.

    min ‖(y(f) − ŷ)/σ‖² + ‖f/σ_f‖²        over forces f within bounds, and the place of a push

y(f) are the readings in the equilibrium under f, ŷ those of the sensors, σ their noise, σ_f the size of forces that are
expected (`estimation.search` has the rounds).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from functools import cached_property
from typing import Any

from pliant.core.checks import positive, positive_count
from pliant.core.declared import check_declared
from pliant.core.errors import InputError
from pliant.core.one_line import one_line
from pliant.core.singular import named_singular
from pliant.estimation.estimate import Estimate, estimate
from pliant.estimation.forces import check_forces
from pliant.estimation.problem import Problem
from pliant.estimation.search import Search
from pliant.identification.measurements import Measurement
from pliant.stepping import QuasiStatic
from pliant.world import State, World
from pliant.world.belonging import check_belongs


@one_line
@dataclass(frozen=True, eq=False)
class Estimator:
    """Finds the external forces on a robot, and its shape, from what its sensors read in equilibrium.

    sensors
        `pl.identification.Markers`, `ActuatorForce` and `ActuatorDisplacement` with their noise; without ``values``
        they are read anew in each call.
    forces
        What is unknown: any number of `pl.estimation.PointForce`, and at most one `pl.estimation.Push`.
    stepper
        The `pl.QuasiStatic` that finds equilibria.
    tolerance
        Decrease of the cost that a further round promises, in squares of deviations, at which the search ends; usual
        0.1 … 0.001.
    max_rounds
        Rounds at most from each place where a push is looked for.
    """

    world: World
    sensors: Sequence[Measurement]
    forces: Sequence[Any]
    _: KW_ONLY
    stepper: Any = field(default_factory=lambda: QuasiStatic(tolerance=1e-8))
    tolerance: float = 0.01
    max_rounds: int = 30

    def __post_init__(self) -> None:
        check_declared(self)
        check_forces(self.forces, "an estimator")
        if not isinstance(self.stepper, QuasiStatic) or self.stepper.newton_iterations is not None:
            raise InputError(
                "an estimator reads equilibria: its stepper is a pl.QuasiStatic without newton_iterations; for motion "
                "take pl.estimation.Filter"
            )
        if self.stepper.solver is not None:
            raise InputError("the stepper of an estimator has no solver of its own: give pl.QuasiStatic(tolerance=…)")
        positive("tolerance of an estimator", self.tolerance)
        positive_count("max_rounds", self.max_rounds)
        _ = self.problem  # what the world does not have is an error here

    @cached_property
    def problem(self) -> Problem:
        """The sensors and forces in the world."""
        return Problem.of(self.world, self.sensors, self.forces)

    @named_singular
    def __call__(
        self, state: State, controls: Mapping[Any, Any] | None = None, readings: Mapping[Any, Any] | None = None
    ) -> Estimate:
        """The estimate from `readings`, sensor → value of one instant with NaN at gaps, under known `controls`.

        `state` is where the search begins: the last estimate's, or the initial one.
        """
        check_belongs(state, self.world)
        search = Search(self, self.problem, self.problem.sensors.gathered(readings), controls)
        return estimate(self.problem, search.run(state), search.readings)
