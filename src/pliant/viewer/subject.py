"""What a live viewer simulates: a world, or anything else that keeps this small contract."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from pliant.core.errors import ConvergenceError
from pliant.core.types import FloatArray
from pliant.viewer.contents import SceneContents
from pliant.viewer.frame import Frame
from pliant.viewer.inputs import Range

SLIDERS, TARGET, AUTOMATIC = "direct: sliders", "inverse: drag the target", "automatic: own controller"
"""Drive modes: actuators set by sliders, inverse control of the tip, or the subject's own controller."""


@dataclass(frozen=True, eq=False)
class Handle:
    """An obstacle that can be dragged: its `name`, its index among the obstacles, and its `center` (3,) m at rest."""

    name: str
    index: int
    center: FloatArray


@dataclass(frozen=True, eq=False)
class Demand:
    """Input of a step: the drive `mode`, the `controls` of the sliders, the `target` (3,) m of the tip, the wanted
    `displacements` (k, 3) m of the obstacles, and whether there is gravity.
    """

    mode: str
    controls: Mapping[Any, Any]
    target: FloatArray
    displacements: FloatArray
    gravity: bool = True


class FinishedError(ConvergenceError):
    """A subject reached a final state: there is nothing more to step."""


class Subject(Protocol):
    """Something that can be stepped and drawn. One thread calls `step` and `reset`; another may call `frame`."""

    name: str
    about: str
    contents: SceneContents
    timed: bool
    """Whether steps advance simulated time; otherwise they are quasi-static."""
    has_gravity: bool
    """Whether there is gravity to be switched off."""
    usual_step: float
    """Default length of a step, s: runs in real time on an ordinary machine."""

    @property
    def modes(self) -> tuple[str, ...]:
        """Drive modes, the default first."""

    @property
    def ranges(self) -> Sequence[Range]:
        """Ranges of the sliders."""

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
    def static(self) -> bool:
        """Whether a timed step is a static equilibrium, without inertia."""

    def idle(self, mode: str) -> tuple[Any, ...]:
        """Handles whose sliders have no effect in `mode`."""

    @property
    def has_contacts(self) -> bool:
        """Whether there may be contact forces to draw."""

    def view_points(self) -> list[FloatArray]:
        """Points (n, 3) m that must be in view."""

    def reset(self) -> None:
        """Back to the start."""

    def step(self, dt: float, demand: Demand) -> None:
        """One step of dt (s)."""

    def arrived(self, displacements: FloatArray) -> bool:
        """Whether every obstacle has its wanted displacement (k, 3) m."""

    def frame(self) -> Frame:
        """The present frame."""

    def values(self, mode: str, frame: Frame) -> dict[int, FloatArray]:
        """Values that bodies are coloured by."""

    def actuation(self) -> Mapping[Any, float]:
        """The actuation of the last step by actuator, in the quantity of its slider, SI."""

    def state_file(self) -> tuple[str, bytes]:
        """The present state as a file: name and content."""
