"""The viewer of a recorded run: play, pause, a slider for the time, speed, colours."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from pliant.actuators import ActuatorRows, Cavity, TensionActuator
from pliant.core.types import FloatArray
from pliant.record import Run
from pliant.viewer.appearance import PRESSURE, TENSION, Appearance
from pliant.viewer.contents import SceneContents
from pliant.viewer.frame import Frame, reading_text
from pliant.viewer.panel import table_html
from pliant.viewer.viewer import LOOPBACK, Viewer

SPEEDS = ("0.1×", "0.25×", "0.5×", "1×", "2×", "5×")
_SCALE_FRAMES = 12
"""Frames that set a colour scale at first: stress read-outs of all frames would take seconds."""


class Playback(Viewer):
    """Plays `run` over and over at the speed that is set."""

    def __init__(self, run: Run, *, port: int, host: str = LOOPBACK) -> None:
        self.run = run
        self._time = float(run.times[0])
        self._clock: float | None = None
        self._shown = -1
        constraints = () if run.world is None else run.world.constraints
        actuators = [constraint.handle for constraint in constraints if isinstance(constraint, ActuatorRows)]
        self._actuators = {actuator.name: actuator for actuator in actuators}
        self._cache: dict[tuple[str, int], dict[int, FloatArray]] = {}
        super().__init__(port=port, host=host)
        self._set_scene_view(
            SceneContents.of_run(run), self._frame_at(0), [_view_points(run, k) for k in range(len(run.bodies))]
        )
        self._add_play_button()
        gui = self.server.gui
        first, last = float(run.times[0]), float(run.times[-1])
        step = max((last - first) / max(len(run.times) - 1, 1), 1e-9)
        self.time_slider = gui.add_slider("time (s)", first, max(last, first + step), step, first)
        self.driver.guard(self.time_slider, lambda event: self._seek(event.target.value))
        self.speed = self.driver.guard(gui.add_dropdown("speed", SPEEDS, initial_value="1×"))
        self._add_fit_button()
        self._add_keys()
        arrows = any(rows.touches is not None for rows in run.forces)
        self.appearance = Appearance(gui, self._contents, self.driver, self.ask, arrows=arrows)
        self._widen()
        self._begin()

    def _add_keys(self) -> None:
        def change_speed(step: int) -> None:
            place = SPEEDS.index(self.speed.value) + step
            self.speed.value = SPEEDS[min(max(place, 0), len(SPEEDS) - 1)]

        add = self.shortcuts.add
        add("N", "next frame, then pause", lambda _: self._move(1))
        add("B", "frame before, then pause", lambda _: self._move(-1))
        add("Z", "back to the start", lambda _: self._move(-len(self.run.times)))
        add("J", "slower", lambda _: change_speed(-1))
        add("K", "faster", lambda _: change_speed(1))
        self._add_look_keys()
        keys = self.server.gui.add_button("Keys (?)", icon="keyboard", color="gray", order=90.0)
        keys.on_click(lambda event: self.shortcuts.show(event.client))

    def _move(self, count: int) -> None:
        """Pause at the frame `count` further on."""
        self.pause()
        self.time = float(self.run.times[int(np.clip(self.frame + count, 0, len(self.run.times) - 1))])

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
            self.ask()

    def _frame(self) -> None:
        now = time.perf_counter()
        if self._playing:
            passed = 0.0 if self._clock is None else now - self._clock
            moved = self._time + passed * float(self.driver.value(self.speed).rstrip("×"))
            self._time = moved if moved <= self.run.times[-1] else float(self.run.times[0])
            self._clock = now
            self.time_slider.value = self._time
        frame = self.frame
        self._draw(self._frame_at(frame), self._values(frame))
        if frame != self._shown:
            self._shown = frame
            self.readout.content = table_html(self._readings(frame))

    def _frame_at(self, frame: int) -> Frame:
        run, instant = self.run, float(self.run.times[frame])
        obstacles = () if run.world is None else tuple(one.pose(instant) for one in run.world.obstacles)
        q = tuple(positions[frame] for positions in run.positions)
        tensions, pressures = (self._forces(kind)[frame] for kind in (TensionActuator, Cavity))
        return Frame(instant, q, obstacles, tensions, pressures, run.contacts(frame))

    def _forces(self, kind: type) -> FloatArray:
        """Tensions of the cables or pressures of the chambers, (steps, k)."""
        columns = [
            rows.values[:, 1] for rows in self.run.forces if isinstance(self._actuators.get(rows.names[0]), kind)
        ]
        return np.stack(columns, axis=1) if columns else np.zeros((len(self.run.times), 0))

    def _widen(self) -> None:
        """Scales that take in the whole run."""
        for kind, mode, factor in ((TensionActuator, TENSION, 1.0), (Cavity, PRESSURE, 1e-3)):
            values = self._forces(kind)
            if values.size:
                self.appearance.widen(mode, factor * np.abs(values).max())
        for rows in self.run.forces:
            if rows.touches is not None and len(rows.touches.forces):
                self.appearance.lengthen(float(np.linalg.norm(rows.touches.forces, axis=1).max()))

    def _values(self, frame: int) -> dict[int, FloatArray]:
        mode = self.driver.value(self.appearance.mode)
        if not any(known == mode for known, _ in self._cache):
            for sample in np.unique(np.linspace(0, len(self.run.times) - 1, _SCALE_FRAMES).astype(int)):
                values = self._computed(mode, int(sample))
                if values:
                    self.appearance.widen(mode, np.concatenate(list(values.values())))
        return self._computed(mode, frame)

    def _computed(self, mode: str, frame: int) -> dict[int, FloatArray]:
        if (mode, frame) not in self._cache:
            q = tuple(positions[frame] for positions in self.run.positions)
            self._cache[mode, frame] = self._contents.values(mode, q)
        return self._cache[mode, frame]

    def _readings(self, frame: int) -> list[tuple[str, str]]:
        rows = [("time", f"{self.run.times[frame]:.3f} s"), ("frame", f"{frame} of {len(self.run.times) - 1}")]
        for recorded in self.run.forces:
            text = reading_text(self._actuators.get(recorded.names[0]), recorded.values[frame])
            if text:
                rows.append((" – ".join(recorded.names), text))
        return rows


def _view_points(run: Run, index: Any) -> FloatArray:
    """Corners (2, 3) m of the box that a body occupies during a run."""
    points, radius = run.points(index), run.bodies[index].radius
    lower, upper = points.min(axis=(0, 1)) - radius, points.max(axis=(0, 1)) + radius
    return np.stack([lower, upper])
