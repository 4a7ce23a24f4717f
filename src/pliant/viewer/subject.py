"""What a live viewer simulates: a world or a hybrid system, behind one small contract."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from pliant.core.types import FloatArray
from pliant.viewer.cast import Cast
from pliant.viewer.inputs import Range
from pliant.viewer.moment import Moment

SLIDERS, TARGET, AUTOMATIC = "direct: sliders", "inverse: drag the target", "automatic"
"""Ways to drive: by hand, by where the tip is to be, or by a controller of the robot's own."""


@dataclass(frozen=True, eq=False)
class Handle:
    """An obstacle that can be dragged: its `name`, its number among the obstacles, and its `center` (3,) m at rest."""

    name: str
    number: int
    center: FloatArray
    """Position (3,), m."""


@dataclass(frozen=True, eq=False)
class Demand:
    """What is asked of a step: a way to drive (`mode`), the `controls` that the sliders stand for, where the tip is to
    be (`target`, (3,) m), how far each obstacle is dragged (`places`, (k, 3) m), and whether there is gravity.
    """

    mode: str
    controls: Mapping[Any, Any]
    target: FloatArray
    """Position (3,), m."""
    places: FloatArray
    """Displacements (k, 3), m."""
    gravity: bool = True


class Subject(Protocol):
    """Something that can be stepped and drawn. Its thread alone calls `step` and `reset`; `moment` may be asked for by
    another one.
    """

    name: str
    about: str
    cast: Cast
    timed: bool
    """Whether steps take simulated time; otherwise a step finds a shape."""
    heavy: bool
    """Whether there is gravity to be switched off."""
    usual_step: float
    """Length of a step to begin with, s: one that an ordinary machine keeps up with."""

    @property
    def modes(self) -> tuple[str, ...]:
        """Ways to drive, the usual one first."""

    @property
    def ranges(self) -> Sequence[Range]:
        """What sliders there are."""

    @property
    def handles(self) -> Sequence[Handle]:
        """The obstacles that can be dragged."""

    @property
    def time(self) -> float:
        """Simulated time, s."""

    @property
    def stage_times(self) -> Mapping[str, float]:
        """Seconds of the stages of the last step."""

    @property
    def actuators(self) -> tuple[Any, ...]:
        """Handles whose sliders rest while something else drives."""

    @property
    def has_contacts(self) -> bool:
        """Whether there may be contact forces to draw."""

    def seen(self) -> list[FloatArray]:
        """Places (n, 3) m that the picture must hold."""

    def reset(self) -> None:
        """Back to the start."""

    def step(self, dt: float, demand: Demand) -> None:
        """One step of dt (s)."""

    def arrived(self, places: FloatArray) -> bool:
        """Whether every obstacle is where it was dragged to, `places` (k, 3) m from where it stood."""

    def moment(self) -> Moment:
        """What there is to draw now."""

    def values(self, mode: str, moment: Moment) -> dict[int, FloatArray]:
        """What bodies are coloured by."""

    def found(self) -> Mapping[Any, float]:
        """What an inverse found for its actuators in the last step, in the unit of their sliders' SI."""

    def state_file(self) -> tuple[str, bytes]:
        """The present state as a file: its name and what it holds."""
