"""A hybrid system as a subject of the studio: integrated over one step at a time, drawn as rigid parts."""

from __future__ import annotations

import io
import time as clock
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from pliant.core.archive import write_stream
from pliant.core.errors import ConvergenceError
from pliant.core.types import FloatArray
from pliant.hybrid import Continuous, HybridState, HybridSystem, Outcome, Sampled, integrate
from pliant.hybrid.controllers import as_controllers
from pliant.models.rigid import Obstacle
from pliant.record import RecordedBody, Run
from pliant.viewer.contents import SceneContents
from pliant.viewer.frame import Frame
from pliant.viewer.inputs import Range
from pliant.viewer.shapes import Triangles
from pliant.viewer.subject import SLIDERS, Demand, FinishedError, Handle


@dataclass(frozen=True, eq=False)
class Part:
    """A rigid part of the picture: its surface in its own frame, its colour (#rrggbb), and where it is.

    `pose(q)` gives its pose (4, 3), position and rows of the rotation, at the coordinates q (n,).
    """

    name: str
    surface: Triangles
    color: str
    pose: Callable[[FloatArray], FloatArray]


@dataclass(frozen=True, eq=False)
class Picture:
    """How a system is drawn and driven.

    `controllers` by drive mode, each ``(demand of the viewer) → control`` of `integrate`; `view_points` (n, 3) m must
    be in view; `arrows(point)` gives points and forces of contacts; `tip(q)` the point that follows a target.
    """

    parts: tuple[Part, ...]
    controllers: Mapping[str, Callable[[Callable[[], Demand]], Any]]
    view_points: FloatArray
    ranges: tuple[Range, ...] = ()
    obstacles: tuple[Obstacle, ...] = ()
    arrows: Callable[[HybridState], tuple[FloatArray, FloatArray]] | None = None
    tip: Callable[[FloatArray], FloatArray] | None = None
    readings: Callable[[HybridState], list[tuple[str, str]]] = lambda point: []
    order: int = 8
    view: Any = None


class HybridSubject:
    """`system`, drawn and driven as `picture` says. `point` is the last one that was reached."""

    timed = True
    static = False
    has_gravity = False
    usual_step = 0.01
    handles: tuple[Handle, ...] = ()  # nothing can be dragged but the target

    def __init__(self, system: HybridSystem, picture: Picture, *, name: str, about: str = "") -> None:
        self.name, self.about = name, about
        self.system, self.picture = system, picture
        self.view, self.ranges = picture.view, picture.ranges
        self.has_contacts = picture.arrows is not None
        bodies = tuple(
            RecordedBody(part.name, None, part.surface[0], part.surface[1].astype(np.int32)) for part in picture.parts
        )
        self.contents = SceneContents(bodies, picture.obstacles, tints=tuple(part.color for part in picture.parts))
        self.modes = tuple(picture.controllers)
        self.point: HybridState | None = None
        self.seconds = 0.0
        self._demand: Demand | None = None
        self._mode = ""
        self._frames: list[tuple[float, tuple[FloatArray, ...], float]] | None = None
        self._control: Any = None

    @property
    def time(self) -> float:
        """Simulated time, s."""
        return 0.0 if self.point is None else self.point.time

    @property
    def stage_times(self) -> Mapping[str, float]:
        """An integration has no stages: all of it."""
        return {"integration": self.seconds} if self.seconds else {}

    def idle(self, mode: str) -> tuple[Any, ...]:
        """All sliders, outside the mode that they drive."""
        return () if mode == SLIDERS else tuple(r.handle for r in self.ranges)

    def view_points(self) -> list[FloatArray]:
        """Positions (n, 3) m that must be in view."""
        return [self.picture.view_points]

    def reset(self) -> None:
        """Back to the start."""
        self.point, self._mode = None, ""

    def step(self, dt: float, demand: Demand) -> None:
        """Integrate over dt (s). A change of the drive mode starts its controller anew."""
        self._demand = demand
        if demand.mode != self._mode:
            self._mode = demand.mode
            self._control = self.picture.controllers[demand.mode](lambda: self._demand or demand)
            self.point = self._handed_over()
        begin = clock.perf_counter()
        solution = integrate(
            self.system, until=self.time + dt, sample=None, start=self.point, control=self._control, rtol=1e-6,
            atol=1e-9, order=self.picture.order,
        )  # fmt: skip
        self.seconds = clock.perf_counter() - begin
        if not solution.status.ok:
            raise ConvergenceError(f"{self.system.name} at {self.time:.3f} s {solution.status.text}")
        self.point = solution.final
        if self._frames is not None:
            self._frames.append((self.time, self.frame().q, self.seconds))
        if solution.status is Outcome.STOPPED:
            raise FinishedError(f"{self.system.name}: {solution.status.text}, after {self.time:.2f} s")

    def arrived(self, displacements: FloatArray) -> bool:
        """Nothing can be dragged, so nothing is on its way."""
        return True

    def frame(self) -> Frame:
        """The present frame."""
        point = self.point
        q = self.system.q0 if point is None else point.q
        poses = tuple(part.pose(q) for part in self.picture.parts)
        still = tuple(obstacle.pose(0.0) for obstacle in self.picture.obstacles)
        tip = None if self.picture.tip is None else self.picture.tip(q)
        if point is None:
            return Frame(0.0, poses, still, tip=tip)
        arrows = (np.zeros((0, 3)),) * 2 if self.picture.arrows is None else self.picture.arrows(point)
        return Frame(point.time, poses, still, arrows=arrows, tip=tip, readings=tuple(self.picture.readings(point)))

    def values(self, mode: str, frame: Frame) -> dict[int, FloatArray]:
        """Rigid parts have one colour."""
        return {}

    def actuation(self) -> dict[Any, float]:
        """Empty: there is no inverse problem."""
        return {}

    def state_file(self) -> tuple[str, bytes]:
        """Time, coordinates, velocities and modes."""
        stream, point = io.BytesIO(), self.point
        q, v, modes = (self.system.q0, self.system.v0, ()) if point is None else (point.q, point.v, point.modes)
        arrays = {"time": np.array(self.time), "q": q, "v": v, "modes": np.asarray(modes)}
        write_stream(stream, "pliant hybrid state 1", arrays, compress=False)
        return f"{self.name}-state.npz", stream.getvalue()

    def begin_recording(self) -> None:
        """Record from now on."""
        self._frames = [(self.time, self.frame().q, 0.0)]

    def end_recording(self) -> Run | None:
        """What was recorded, as a run of rigid bodies; None where no step was."""
        frames, self._frames = self._frames, None
        if not frames or len(frames) < 2:
            return None
        seconds = np.array([one[2] for one in frames[1:]])
        positions: Sequence[FloatArray] = [np.stack(poses) for poses in zip(*(one[1] for one in frames), strict=True)]
        return Run(
            times=np.array([one[0] for one in frames]),
            bodies=self.contents.bodies,
            positions=tuple(positions),
            motions=tuple(np.zeros((len(frames), 2, 3)) for _ in positions),
            step_seconds=seconds,
            iterations=np.zeros(len(seconds)),
            linear_residual=np.zeros(len(seconds)),
        )

    def _handed_over(self) -> HybridState | None:
        """The present point for another controller, whose memory begins here."""
        if self.point is None:
            return None
        controllers = as_controllers(self._control)
        states = [one.start() for one in controllers if isinstance(one, Continuous)]
        memories = tuple(one.memory for one in controllers if isinstance(one, Sampled))
        return replace(self.point, x=np.concatenate(states) if states else np.zeros(0), memories=memories)
