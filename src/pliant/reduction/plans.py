"""Actuation plans: the targets of every actuator in every run of the offline experiments.

A run ramps linearly from rest to its targets; all its steps are recorded, so that a basis sees contacts small and
large. Runs are independent: they can be computed in parallel, in any order and again.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from pliant.actuators import Actuator, Stiffness
from pliant.actuators import values as v
from pliant.actuators.limits import refuse_rates
from pliant.core.checks import finite_array, positive_count
from pliant.core.declared import declared
from pliant.core.errors import InputError
from pliant.core.one_line import one_line
from pliant.core.types import FloatArray
from pliant.reduction.designs import (
    fractional_factorial_levels,
    full_factorial_levels,
    latin_hypercube_levels,
    plackett_burman_levels,
)
from pliant.world import World

KINDS = (
    v.Displacement, v.Force, v.Pressure, v.VolumeGrowth, v.AreaGrowth, v.SpreadingPressure, v.Angle, v.Torque,
)  # fmt: skip
"""Control values that a plan can ramp: all are 0 at rest."""
Handles = Sequence[Any] | None
"""Actuators or their names; None: all of the world, except stiffness, which is not 0 at rest."""


@one_line
@dataclass(frozen=True, eq=False)
class Plan:
    """Targets of `actuators` in each run, reached in `steps` steps from rest.

    `kinds` says for each actuator by which control value it is commanded (`pl.Displacement`, `pl.Force`…); `targets`
    (runs, actuators) are its values at the end of each run, in m, N, Pa, m³, rad or N·m. Targets beyond the limits of
    an actuator are an error here, before anything is simulated.
    """

    actuators: tuple[Actuator, ...]
    kinds: tuple[type, ...]
    targets: FloatArray
    steps: int

    def __post_init__(self) -> None:
        targets = np.array(finite_array("targets of the plan", self.targets, shape=(None, len(self.actuators))))
        targets.setflags(write=False)
        object.__setattr__(self, "targets", targets)
        positive_count("steps of the plan", self.steps)
        if not len(targets):
            raise InputError("the plan has no runs")
        if len(self.kinds) != len(self.actuators):
            raise InputError(f"the plan has {len(self.actuators)} actuators but {len(self.kinds)} kinds of command")
        twice = sorted({name for name in self.names if self.names.count(name) > 1})
        if twice:
            raise InputError(f"several actuators are called {twice[0]!r}; give each its own name=… to plan for them")
        self._check_limits()

    def _check_limits(self) -> None:
        for column, (actuator, kind) in enumerate(zip(self.actuators, self.kinds, strict=True)):
            if not any(kind is each for each in KINDS):
                known = ", ".join(each.__name__ for each in KINDS)
                raise InputError(f"a plan cannot ramp {getattr(kind, '__name__', kind)!r:.60}; use {known}")
            for run, value in enumerate(self.targets[:, column]):
                try:
                    actuator.command(kind(float(value)))
                except InputError as error:
                    raise InputError(f"run {run} of the plan: {error}") from error

    def check_rates(self, dt: float | None) -> None:
        """Raise an `InputError` where steps of `dt` (s) exceed the rate limits; None: no time passes."""
        if dt is None:
            refuse_rates(self.actuators)
            return
        for column, (actuator, kind) in enumerate(zip(self.actuators, self.kinds, strict=True)):
            limits, wanted = actuator.limits, float(np.abs(self.targets[:, column]).max())
            by_force = actuator.command(kind(float(self.targets[0, column]))).by_force
            rate = limits.force_rate if by_force else limits.rate
            if wanted > rate * dt * self.steps * (1.0 + 1e-9):
                raise InputError(
                    f"the plan changes {actuator.name!r} at a rate of {wanted / (dt * self.steps):g} per second, its "
                    f"limit is {rate:g}; take {int(np.ceil(wanted / (rate * dt)))} steps of {dt:g} s or more"
                )

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the actuators."""
        return tuple(actuator.name for actuator in self.actuators)

    @property
    def run_count(self) -> int:
        """Number of runs."""
        return len(self.targets)

    @property
    def snapshot_count(self) -> int:
        """Number of steps of all runs."""
        return self.run_count * self.steps

    def controls(self, run: int, step: int) -> dict[Any, Any]:
        """Controls of step `step` (0 … steps − 1) of run `run`, by actuator; the last step reaches the targets."""
        columns = zip(self.actuators, self.kinds, self.values(run, step), strict=True)
        return {actuator: kind(float(value)) for actuator, kind, value in columns}

    def values(self, run: int, step: int) -> FloatArray:
        """Commands of step `step` of run `run`, (actuators,), in m, N, Pa, m³, rad or N·m."""
        if not 0 <= run < self.run_count or not 0 <= step < self.steps:
            raise InputError(
                f"step {step} of run {run} is not in a plan of {self.run_count} runs of {self.steps} steps"
            )
        return np.asarray(self.targets[run] * ((step + 1) / self.steps))

    def permuted(self, order: Sequence[int]) -> Plan:
        """The plan of the mirrored or rotated robot: actuator ``order[k]`` does what actuator k does here."""
        targets = np.empty_like(self.targets)
        targets[:, _permutation("order of the actuators", order, len(self.actuators))] = self.targets
        return replace(self, targets=targets)

    def distinct(self, orders: Sequence[Sequence[int]] = ()) -> Plan:
        """The plan without zero runs and without runs that repeat an earlier one up to a permutation in `orders`."""
        count = len(self.actuators)
        permutations = [np.arange(count), *(_permutation("order", order, count) for order in orders)]
        seen: set[bytes] = set()
        kept = []
        for run, target in enumerate(self.targets):
            if not target.any() or (np.round(target, 12) + 0.0).tobytes() in seen:
                continue
            kept.append(run)
            for permutation in permutations:
                image = np.empty_like(target)
                image[permutation] = target
                seen.add((np.round(image, 12) + 0.0).tobytes())
        return replace(self, targets=self.targets[kept])

    def described(self) -> dict[str, Any]:
        """The plan as plain values for JSON: names, kinds, targets and steps."""
        kinds = [kind.__name__ for kind in self.kinds]
        return {"actuators": list(self.names), "kinds": kinds, "targets": self.targets.tolist(), "steps": self.steps}

    @classmethod
    def of(cls, world: World, described: dict[str, Any]) -> Plan:
        """The plan that `described` gave, for the actuators of `world` with the same names."""
        by_name = {kind.__name__: kind for kind in KINDS}
        actuators = tuple(_by_name(world, name) for name in described["actuators"])
        kinds = tuple(by_name[name] for name in described["kinds"])
        return cls(actuators, kinds, np.array(described["targets"], float), int(described["steps"]))

    def digest(self) -> str:
        """A fingerprint of the plan."""
        text = repr((self.names, [kind.__name__ for kind in self.kinds], self.steps))
        return hashlib.sha256(text.encode() + np.ascontiguousarray(self.targets).tobytes()).hexdigest()[:16]


@declared
def ramps(
    world: World, amplitude: Any = 0.02, steps: int = 200, *,
    actuators: Handles = None, kind: Any = None, together: bool = True,
) -> Plan:  # fmt: skip
    """Every actuator ramped to `amplitude` alone, and, where there are several, all of them `together` in a last run.

    amplitude
        Target in m (N, Pa, m³, rad or N·m by kind), one for all actuators or one for each.
    steps
        Steps of each run; all are recorded.
    actuators
        Handles, names, or None: all of the world, except stiffness, which is not 0 at rest.
    kind
        Control value that commands them (`pl.Displacement`, `pl.Force`, `pl.Pressure`, `pl.VolumeGrowth`…), one for all
        or one for each; None: the displacement of each (of a cavity its growth, of a hinge its angle).
    """
    chosen = _actuators(world, actuators)
    levels = np.eye(len(chosen))
    if together and len(chosen) > 1:
        levels = np.vstack([levels, np.ones(len(chosen))])
    return _plan(chosen, kind, levels, 0.0, amplitude, steps, span=(0.0, 1.0))


@declared
def plackett_burman(
    world: World, amplitude: Any = 0.02, steps: int = 120, *,
    low: Any = 0.0, actuators: Handles = None, kind: Any = None,
) -> Plan:  # fmt: skip
    """Two levels, `low` and `amplitude`, m (N, Pa, m³, rad or N·m), in the fewest runs that estimate the effect of
    every actuator: 12 for 8 to 11 actuators, 20 for 16 to 19, 24 for 20 to 23. Options as in `ramps`.
    """
    chosen = _actuators(world, actuators)
    return _plan(chosen, kind, plackett_burman_levels(len(chosen)), low, amplitude, steps)


@declared
def full_factorial(
    world: World, amplitude: Any = 0.02, steps: int = 120, *,
    levels: int = 2, low: Any = 0.0, actuators: Handles = None, kind: Any = None,
) -> Plan:  # fmt: skip
    """Every combination of `levels` levels from `low` to `amplitude`, m (N, Pa, m³, rad or N·m); options of `ramps`."""
    chosen = _actuators(world, actuators)
    return _plan(chosen, kind, full_factorial_levels(len(chosen), levels), low, amplitude, steps)


@declared
def fractional_factorial(
    world: World, generators: str, amplitude: Any = 0.02, steps: int = 120, *,
    low: Any = 0.0, actuators: Handles = None, kind: Any = None,
) -> Plan:  # fmt: skip
    """Two levels, `low` and `amplitude` (m, N, Pa, m³, rad or N·m), in a fraction of all combinations.

    `generators` has one word for each actuator: a letter is an actuator of its own, several letters the product of
    those actuators' levels. "a b c ab ac bc abc" moves 7 actuators in 8 runs. Other options as in `ramps`.
    """
    chosen = _actuators(world, actuators)
    table = fractional_factorial_levels(generators)
    if table.shape[1] != len(chosen):
        raise InputError(f"generators {generators!r} are for {table.shape[1]} actuators; there are {len(chosen)}")
    return _plan(chosen, kind, table, low, amplitude, steps)


@declared
def latin_hypercube(
    world: World, runs: int, amplitude: Any = 0.02, steps: int = 120, *,
    seed: int, low: Any = 0.0, actuators: Handles = None, kind: Any = None,
) -> Plan:  # fmt: skip
    """`runs` random targets from `low` to `amplitude` (m, N, Pa, m³, rad or N·m), spread evenly; options of `ramps`."""
    chosen = _actuators(world, actuators)
    table = latin_hypercube_levels(len(chosen), positive_count("runs", runs), seed)
    return _plan(chosen, kind, table, low, amplitude, steps)


def _plan(
    actuators: tuple[Actuator, ...], kind: Any, levels: FloatArray, low: Any, high: Any, steps: int,
    span: tuple[float, float] = (-1.0, 1.0),
) -> Plan:  # fmt: skip
    """Targets from `low` to `high` by `levels` (runs, actuators) within `span`."""
    count = len(actuators)
    least, most = (_spread(name, value, count) for name, value in (("low", low), ("amplitude", high)))
    fraction = (levels - span[0]) / (span[1] - span[0])
    if kind is None:
        kinds: tuple[type, ...] = tuple(actuator.kinds[0][0] for actuator in actuators)
    else:
        kinds = tuple(kind) if isinstance(kind, Sequence) else (kind,) * count
    return Plan(actuators, kinds, least + fraction * (most - least), steps)


def _spread(name: str, value: Any, count: int) -> FloatArray:
    numbers = finite_array(name, value)
    if numbers.shape not in ((), (count,)):
        raise InputError(f"{name} must be one number or one for each of {count} actuators, got shape {numbers.shape}")
    return np.broadcast_to(numbers, (count,))


def _actuators(world: World, wanted: Handles) -> tuple[Actuator, ...]:
    present = _present(world)
    if wanted is None:
        ramped = tuple(actuator for actuator in present if not isinstance(actuator, Stiffness))
        if not ramped:
            raise InputError("this world has no actuators to plan for: scene.add(pl.Cable(…))")
        return ramped
    if isinstance(wanted, str) or not isinstance(wanted, Iterable):
        raise InputError(f"actuators must be a list of actuators or of their names, got {wanted!r:.60}")
    chosen = tuple(_by_name(world, one) if isinstance(one, str) else one for one in wanted)
    for one in chosen:
        if not any(one is actuator for actuator in present):
            raise InputError(f"{getattr(one, 'name', one)!r} is not an actuator of this world")
    if not chosen:
        raise InputError("actuators is empty; leave it out to plan for all of the world")
    return chosen


def _present(world: World) -> tuple[Actuator, ...]:
    """The actuators of a world."""
    return tuple(spec for each in world.constraints if isinstance(spec := getattr(each, "spec", None), Actuator))


def _by_name(world: World, name: str) -> Actuator:
    for actuator in _present(world):
        if actuator.name == name:
            return actuator
    raise InputError(f"this world has no actuator called {name!r}")


def _permutation(name: str, order: Sequence[int], count: int) -> Any:
    indices = np.asarray(order)
    if indices.shape != (count,) or indices.dtype.kind not in "iu" or sorted(indices.tolist()) != list(range(count)):
        raise InputError(f"{name} must hold each of 0 … {count - 1} once, got {list(order)}")
    return indices
