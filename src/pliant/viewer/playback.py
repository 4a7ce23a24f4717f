"""The viewer of a recorded run: play, pause, a slider for the time, speed, colours."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from pliant.actuators import ActuatorRows, BaseDrive, Cable, Cavity, ForcePoint, Hinge, Layer, Slider, Stiffness
from pliant.core.types import FloatArray
from pliant.stepping import Run
from pliant.viewer.cast import Cast
from pliant.viewer.session import FRAME_SECONDS, Viewer, table_html

SPEEDS = ("0.1×", "0.25×", "0.5×", "1×", "2×", "5×")
_SCALE_FRAMES = 12
"""Frames from which a colour scale is first taken."""


class Playback(Viewer):
    """Plays `run` over and over at the speed that is set."""

    def __init__(self, run: Run, *, port: int) -> None:
        self.run = run
        self._time = float(run.times[0])
        self._clock: float | None = None
        self._shown = -1
        makers = () if run.world is None else run.world.row_makers
        actuators = [maker.spec for maker in makers if isinstance(maker, ActuatorRows)]
        self._actuators = {actuator.name: actuator for actuator in actuators}
        self._cache: dict[tuple[str, int], dict[int, FloatArray]] = {}
        super().__init__(
            Cast.of_run(run),
            q=self._q(0),
            time=self._time,
            seen=[_seen(run, k) for k in range(len(run.bodies))],
            port=port,
        )
        gui = self.server.gui
        first, last = float(run.times[0]), float(run.times[-1])
        step = max((last - first) / max(len(run.times) - 1, 1), 1e-9)
        self.time_slider = gui.add_slider("time (s)", first, last, step, first)
        self.time_slider.on_update(lambda event: self._seek(event.target.value))
        self.speed = gui.add_dropdown("speed", SPEEDS, initial_value="1×")
        self._begin()

    @property
    def time(self) -> float:
        """The instant that is shown, s."""
        return self._time

    @time.setter
    def time(self, instant: float) -> None:
        self._seek(instant)
        self.time_slider.value = self._time

    @property
    def frame(self) -> int:
        """Index of the frame that belongs to `time`."""
        last = len(self.run.times) - 1
        # a slider's value is rounded, so the next frame counts as reached a little early
        early = 1e-6 * float(np.ptp(self.run.times))
        return int(np.clip(np.searchsorted(self.run.times, self._time + early, side="right") - 1, 0, last))

    def play(self) -> None:
        """Let time go on."""
        self._clock = None
        super().play()

    def _seek(self, instant: float) -> None:
        if instant != self._time:
            self._time = float(np.clip(instant, self.run.times[0], self.run.times[-1]))
            self._ask()

    def _turn(self) -> None:
        now = time.perf_counter()
        if self._playing:
            passed = 0.0 if self._clock is None else now - self._clock
            moved = self._time + passed * float(self.speed.value.rstrip("×"))
            self._time = moved if moved <= self.run.times[-1] else float(self.run.times[0])
            self._clock = now
            self.time_slider.value = self._time
        frame = self.frame
        self._draw(self._q(frame), float(self.run.times[frame]), self._values(frame))
        if frame != self._shown:
            self._shown = frame
            self.readout.content = table_html(self._readings(frame))
        self._sleep_until(now + FRAME_SECONDS)

    def _q(self, frame: int) -> tuple[FloatArray, ...]:
        return tuple(positions[frame] for positions in self.run.positions)

    def _values(self, frame: int) -> dict[int, FloatArray]:
        mode = self.look.mode.value
        if not any(known == mode for known, _ in self._cache):
            for sample in np.unique(np.linspace(0, len(self.run.times) - 1, _SCALE_FRAMES).astype(int)):
                self.look.widen(self._computed(mode, int(sample)))
        return self._computed(mode, frame)

    def _computed(self, mode: str, frame: int) -> dict[int, FloatArray]:
        if (mode, frame) not in self._cache:
            self._cache[mode, frame] = self._cast.values(mode, self._q(frame))
        return self._cache[mode, frame]

    def _readings(self, frame: int) -> list[tuple[str, str]]:
        rows = [("time", f"{self.run.times[frame]:.3f} s"), ("frame", f"{frame} of {len(self.run.times) - 1}")]
        for recorded in self.run.forces:
            text = reading_text(self._actuators.get(recorded.names[0]), recorded.values[frame])
            if text:
                rows.append((" – ".join(recorded.names), text))
        return rows


def reading_text(actuator: Any, values: FloatArray) -> str:
    """What an actuator does, or how large a contact force (3,) N is; empty where the kind of actuator is not known."""
    if len(values) == 3:
        return f"{float(np.linalg.norm(values)):.3f} N"
    if isinstance(actuator, (Cable, ForcePoint, Slider)) or (isinstance(actuator, BaseDrive) and not actuator.turns):
        return f"{1e3 * values[0]:.1f} mm  {values[1]:.2f} N"
    if isinstance(actuator, Cavity):
        return f"{1e6 * values[0]:+.2f} mL  {1e-3 * values[1]:.2f} kPa"
    if isinstance(actuator, Layer):
        return f"{1e6 * values[0]:+.2f} mm²  {values[1]:.2f} N/m"
    if isinstance(actuator, Stiffness):
        return f"{1e-3 * (float(actuator.material.young) + values[1]):.1f} kPa"
    if isinstance(actuator, (Hinge, BaseDrive)):
        return f"{np.rad2deg(values[0]):.1f}°  {values[1]:.3f} N·m"
    return ""


def _seen(run: Run, number: int) -> FloatArray:
    """The places of a body over a run that the picture must hold, (m, 3) m."""
    points = run.points(number)
    radius = run.bodies[number].radius
    lower, upper = points.min(axis=(0, 1)) - radius, points.max(axis=(0, 1)) + radius
    return np.stack([lower, upper])
