"""What a task is: a scene, what an action commands, what is observed, and how an episode is judged.

A task says this once, for one environment and for many: quantities of several copies have a leading axis of copies, and
none of them is summed over it, so that a copy has the same bits in any number of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

import numpy as np

from pliant.core.errors import InputError
from pliant.core.types import BoolArray, FloatArray
from pliant.gym.substeps import Substeps
from pliant.stepping import ImplicitEuler
from pliant.world import State, World


class Channel(NamedTuple):
    """One number of an action: −1 … 1 asks for a command of `low` … `high` in `unit`, which it approaches by at most
    `rate` per second, or for its rate where a task is `incremental`. `start` is the command at the begin of an episode;
    `meaning` what it does.
    """

    meaning: str
    unit: str
    low: float
    high: float
    rate: float
    start: float = 0.0


class Seen(NamedTuple):
    """`size` numbers of an observation, in `unit`, divided by `scale` so that they are of the order of one."""

    meaning: str
    size: int
    unit: str
    scale: float


class Variation(NamedTuple):
    """Numbers of the world that episodes may vary together: `parameters` of the world of a task, and the default
    range of the factor on their values.
    """

    name: str
    parameters: Callable[[Any], Sequence[Any]]
    low: float
    high: float


@dataclass(frozen=True, eq=False)
class Shapes:
    """Where the bodies of several copies are: `q` of each body with a leading axis of copies."""

    world: World
    q: Sequence[FloatArray]

    def points(self, body: Any) -> FloatArray:
        """Nodes (c, n, 3), m, of a body in each copy."""
        index = self.world.index(body)
        model, q = self.world.models[index], self.q[index]
        return np.stack([model.node_positions(each) for each in q])

    def frames(self, body: Any) -> FloatArray:
        """Frames (c, n, 3, 3) of the ends of the sections of a rod in each copy, first columns along it."""
        index = self.world.index(body)
        model: Any = self.world.models[index]
        return np.stack([model.node_frames(each) for each in self.q[index]])

    def marker(self, marker: Any) -> FloatArray:
        """Positions (c, 3), m, of a marker such as ``robot.tip``."""
        index = self.world.index(marker.body)
        points = self.points(marker.body) if marker.body.slender else self.q[index]
        nodes, weights = marker._map.nodes[0], marker._map.weights[0]
        total = np.zeros((len(points), 3))
        for node, weight in zip(nodes, weights, strict=True):  # four: not einsum, whose order depends on the copies
            total += weight * points[:, node]
        return total

    def place(self, body: Any) -> FloatArray:
        """Positions (c, 3), m, of a rigid body."""
        return self.q[self.world.index(body)][:, 0]

    def turn(self, body: Any) -> FloatArray:
        """Rotation matrices (c, 3, 3) of a rigid body from its initial orientation in the scene."""
        index = self.world.index(body)
        first = self.world.models[index].initial()[0][1:4]
        return np.asarray((self.q[index][:, 1:4, None, :] * first).sum(axis=-1))


@dataclass(frozen=True, eq=False)
class Moment:
    """Several copies after a step. `measured` (c, m) is what the task measures and `rates` (c, m) its change per
    second; `goal` (c, g) is drawn at the begin of an episode, and may move; `command` (c, k) are the commands in their
    units, `position` (c, k) the same as −1 … 1, and `action` (c, k) what was asked for.
    """

    measured: FloatArray
    rates: FloatArray
    goal: FloatArray
    command: FloatArray
    position: FloatArray
    action: FloatArray


class Verdict(NamedTuple):
    """The `reward` (c,) of a step, whether the copies are where they should be (`success`, (c,)), whether their
    episodes are `over` (c,) early, and the `error` (c,) in the unit of the task.
    """

    reward: FloatArray
    success: BoolArray
    over: BoolArray
    error: FloatArray


class Task:
    """A task, declared by its class attributes and by the methods that a subclass has."""

    title: ClassVar[str]
    """One line of what is to be done."""
    reward: ClassVar[str]
    """What the reward of a step is, for people."""
    error: ClassVar[str]
    """What `info["error"]` is, with its unit."""
    succeeds: ClassVar[str]
    """When `info["success"]` is true, for people."""
    ends: ClassVar[str] = ""
    """When an episode is over before its last step, beside steps that fail."""
    actions: ClassVar[tuple[Channel, ...]]
    observations: ClassVar[tuple[Seen, ...]]
    variations: ClassVar[tuple[Variation, ...]] = ()
    dt: ClassVar[float] = 0.01
    """Duration of a step, s."""
    steps: ClassVar[int] = 100
    """Steps of an episode."""
    substeps: ClassVar[int] = 1
    """Steps of the world in a step; commands change evenly over them."""
    incremental: ClassVar[bool] = False
    """Whether actions are rates of commands: −1 … 1 changes a command by ± `Channel.rate` per second, within its
    limits; otherwise they are where a command goes.
    """
    goal_moves: ClassVar[bool] = False
    """Whether the goal goes on in each step, see `moved`."""
    newton_iterations: ClassVar[int] = 1
    settle: ClassVar[int] = 0
    """Steps with the commands of `approach` before the start of every episode."""
    failed: ClassVar[float] = -10.0
    """Reward of a step that could not be computed."""
    view: ClassVar[tuple[Any, Any]]
    """Corners of the box that a picture shows, m."""
    eye: ClassVar[tuple[float, float]] = (-60.0, 18.0)
    """Azimuth and elevation of the eye, degrees."""
    twin: ClassVar[Any]
    """How the reduced twin is made; see `pliant.gym.twins`."""

    world: World

    def __init__(self, *, coarse: bool = False) -> None:
        self.world = self.build(coarse=coarse)

    @property
    def name(self) -> str:
        """The name in the id of the environment."""
        return type(self).__name__

    def build(self, *, coarse: bool) -> World:
        """The compiled scene; its handles are kept as attributes. `coarse` asks for fewer unknowns, where a twin is
        made in that manner.
        """
        raise NotImplementedError

    def controls(self, command: FloatArray) -> dict[Any, Any]:
        """Controls of a step from the commands (k,) of one copy."""
        raise NotImplementedError

    def goal(self, rng: np.random.Generator) -> FloatArray:
        """Random numbers (g,) that describe what is asked for in an episode."""
        raise NotImplementedError

    def moved(self, goal: FloatArray, rng: np.random.Generator) -> FloatArray:
        """The goal (g,) after one more step, where `goal_moves`."""
        return goal

    def approach(self, step: int) -> FloatArray:
        """Commands (k,) of a step before the start of every episode; the last ones are those of the start."""
        return np.array([each.start for each in self.actions])

    def begin(self, state: State, goal: FloatArray, rng: np.random.Generator) -> State:
        """The state at the begin of an episode, from the settled one."""
        return state

    def measured(self, shapes: Shapes) -> FloatArray:
        """What rewards and observations are computed from, (c, m); the first three are positions, m."""
        raise NotImplementedError

    def observed(self, now: Moment) -> Sequence[FloatArray]:
        """The quantities of `observations` in their units, each (c, size)."""
        raise NotImplementedError

    def judged(self, now: Moment) -> Verdict:
        """How the copies do."""
        raise NotImplementedError

    def marks(self, goal: FloatArray) -> list[tuple[FloatArray, float]]:
        """Balls that show the goal in pictures: places (3,) m, and radii, m."""
        return []

    @cached_property
    def stepper(self) -> ImplicitEuler | Substeps:
        """What steps the world, under what `ramped` gives."""
        one = ImplicitEuler(self.dt / self.substeps, newton_iterations=self.newton_iterations)
        return one if self.substeps == 1 else Substeps(one)

    def ramped(self, before: FloatArray, after: FloatArray) -> dict[Any, Any]:
        """Controls of a step in which the commands (k,) of one copy go from `before` to `after`."""
        if self.substeps == 1:
            return self.controls(after)
        fractions = np.arange(1, self.substeps + 1) / self.substeps
        parts = [self.controls(before + fraction * (after - before)) for fraction in fractions]
        return {handle: tuple(part[handle] for part in parts) for handle in parts[0]}

    @cached_property
    def start(self) -> State:
        """The settled state."""
        state = self.world.initial_state()
        for step in range(self.settle):
            command = self.approach(step)
            state, _ = self.stepper(self.world, state, self.ramped(command, command))
        return replace(self.world.initial_state(), q=state.q)

    def varied(self, given: Any) -> dict[str, tuple[Variation, float, float]]:
        """The variations that `randomize` asks for, with the ranges of their factors."""
        if given is None or given is False:
            return {}
        if given is True:
            given = {each.name: (each.low, each.high) for each in self.variations}
        if not isinstance(given, Mapping):
            raise InputError(
                f"randomize must be True, False or ranges of factors such as {{'modulus': (0.8, 1.2)}}, got {given!r}"
            )
        known = {each.name: each for each in self.variations}
        for name, span in given.items():
            if name not in known:
                raise InputError(f"{self.name} cannot vary {name!r}, only {', '.join(known) or 'nothing'}")
            _span(name, span)
        return {name: (each, *_span(name, given[name])) for name, each in known.items() if name in given}

    def drawn(self, varied: Mapping[str, tuple[Variation, float, float]], rng: np.random.Generator) -> Any:
        """Random factors by name, and the numbers of the world that they lead to."""
        factors = {name: float(rng.uniform(low, high)) for name, (_, low, high) in varied.items()}
        changes = {
            number: factors[name] * value
            for name, (variation, _, _) in varied.items()
            for number, value in self._numbers(name, variation)
        }
        return factors, changes

    def _numbers(self, name: str, variation: Variation) -> list[tuple[Any, Any]]:
        """The parameters of a variation and their values in the world."""
        known: dict[str, Any] = self.__dict__.setdefault("_known_numbers", {})
        if name not in known:
            known[name] = [(number, np.asarray(number.value(self.world))) for number in variation.parameters(self)]
        return [(number, value if value.ndim else value.item()) for number, value in known[name]]


def _span(name: str, given: Any) -> tuple[float, float]:
    """A checked range of factors."""
    wanted = f"the range of {name!r} must be two factors 0 < low ≤ high, such as (0.8, 1.2), got {given!r}"
    try:
        low, high = (float(each) for each in given)
    except (TypeError, ValueError) as error:
        raise InputError(wanted) from error
    if not (0.0 < low <= high < np.inf):
        raise InputError(wanted)
    return low, high


def distance(vectors: FloatArray) -> FloatArray:
    """Lengths (c,) of vectors (c, k)."""
    return np.asarray(np.sqrt((vectors * vectors).sum(axis=-1)))


__all__ = ["Channel", "Moment", "Seen", "Shapes", "Task", "Variation", "Verdict", "distance"]
