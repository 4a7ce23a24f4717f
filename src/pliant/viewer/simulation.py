"""The viewer of a world: it is simulated while it is looked at, in real time where the machine can."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from pliant.actuators import ActuatorRows
from pliant.constraints.contact import ContactPair
from pliant.constraints.facing import FacingPair
from pliant.core.types import FloatArray
from pliant.stepping import ImplicitEuler, StepInfo
from pliant.viewer.cast import Cast
from pliant.viewer.inputs import Inputs
from pliant.viewer.playback import reading_text
from pliant.viewer.session import FRAME_SECONDS, Viewer, table_html
from pliant.world import State, World

STEPS = ("1 ms", "2 ms", "5 ms", "10 ms", "20 ms")
READ_SECONDS = 0.25
"""Time between two changes of the read-outs, s."""
LARGEST_LAG = 0.1
"""Lag behind real time that is still caught up with, s."""


class LiveSimulation(Viewer):
    """Steps `world` with implicit Euler, driven by the sliders in `inputs`. `state` and `info` are those of the last
    step.
    """

    def __init__(self, world: World, *, port: int) -> None:
        self.world = world
        self.state: State = world.initial_state()
        self.info: StepInfo | None = None
        self._steps = 0
        self._reset = False
        self._due = self._draw_due = self._read = 0.0
        self._pace = Pace()
        super().__init__(Cast.of_world(world), q=self.state.q, time=0.0, seen=_seen(world, self.state), port=port)
        gui = self.server.gui
        self.step_button = gui.add_button("Step", icon="player-track-next")
        self.reset_button = gui.add_button("Reset", icon="refresh")
        self.dt = gui.add_dropdown("time step", STEPS, initial_value="10 ms")
        heavy = bool(np.any(world.gravity))
        self.gravity = gui.add_checkbox("gravity", initial_value=heavy, disabled=not heavy)
        self.inputs = Inputs(gui, world)
        self.step_button.on_click(lambda _: self.step())
        self.reset_button.on_click(lambda _: self.reset())
        self._begin()

    def play(self) -> None:
        """Let time go on."""
        self._due = time.perf_counter()
        self._pace = Pace()
        super().play()

    def step(self) -> None:
        """Hold the time, then make one step."""
        self._tell(None)
        self._set_playing(False)
        with self._wake:
            self._steps += 1
            self._wake.notify_all()

    def reset(self) -> None:
        """Back to the initial state, with every slider where it started."""
        self._tell(None)
        with self._wake:
            self._reset = True
            self._wake.notify_all()

    def _has_work(self) -> bool:
        return super()._has_work() or self._steps > 0 or self._reset

    def _turn(self) -> None:
        with self._wake:
            again, self._reset = self._reset, False
            single, self._steps = self._steps > 0, max(self._steps - 1, 0)
        if again:
            self._restart()
        if single or self._playing:
            self._advance()
        now = time.perf_counter()
        if not self._playing or now >= self._draw_due:
            self._draw(self.state.q, self.state.time, self._cast.values(self.look.mode.value, self.state.q))
            # pictures take at most a quarter of the time, the steps have the rest
            self._draw_due = now + max(FRAME_SECONDS, 4.0 * (time.perf_counter() - now))
        if not self._playing or now - self._read >= READ_SECONDS:
            self._read = now
            self.readout.content = table_html(self._readings())
        if self._playing:
            self._sleep_until(self._due)

    def _restart(self) -> None:
        self.state, self.info = self.world.initial_state(), None
        self.inputs.reset()
        self.look.forget()
        self._pace = Pace()

    def _advance(self) -> None:
        dt = 1e-3 * float(self.dt.value.split()[0])
        controls = self.inputs.controls(dt)
        if not self.gravity.value:
            controls["gravity"] = np.zeros(3)
        begin = time.perf_counter()
        self.state, self.info = ImplicitEuler(dt)(self.world, self.state, controls)
        end = time.perf_counter()
        self._pace.add(dt, end - begin, end)
        self._due = self._due + dt if end - self._due <= LARGEST_LAG else end

    def _readings(self) -> list[tuple[str, str]]:
        rows = [("time", f"{self.state.time:.2f} s")]
        if self.info is None:
            return rows
        rows.append(("step", f"{1e3 * self._pace.step_seconds:.2f} ms"))
        if self._playing:
            rows.append(("real-time factor", f"{self._pace.factor:.2f}×"))
        return rows + [_reading(maker, self.info) for maker in self.world.row_makers if _is_read(maker)]


class Pace:
    """How long steps take, and how simulated time compares with the clock, over about the last second."""

    def __init__(self) -> None:
        self._marks: list[tuple[float, float, float]] = []

    def add(self, dt: float, seconds: float, now: float) -> None:
        """A step of dt (s) took `seconds` and ended at `now` on the clock (s)."""
        self._marks.append((dt, seconds, now))
        while now - self._marks[0][2] > 1.0:
            self._marks.pop(0)

    @property
    def step_seconds(self) -> float:
        """Median time of a step, s."""
        return float(np.median([seconds for _, seconds, _ in self._marks])) if self._marks else 0.0

    @property
    def factor(self) -> float:
        """Simulated time over the clock's."""
        if len(self._marks) < 2:
            return 0.0
        return sum(dt for dt, _, _ in self._marks[1:]) / (self._marks[-1][2] - self._marks[0][2])


def _is_read(maker: Any) -> bool:
    return isinstance(maker, (ActuatorRows, ContactPair))


def _reading(maker: Any, info: StepInfo) -> tuple[str, str]:
    if isinstance(maker, FacingPair):
        return maker.name, reading_text(None, info.contact_force(maker.spec))
    if isinstance(maker, ContactPair):
        a, b = maker.a.handle, maker.b.handle
        return f"{a.name} – {b.name}", reading_text(None, info.contact_force(a, b))
    return maker.spec.name, reading_text(maker.spec, np.array(info.actuation(maker.spec)))


def _seen(world: World, state: State) -> list[FloatArray]:
    """Places that the picture must hold: the bodies, rigid balls and beams with their radius."""
    places = []
    for number, model in enumerate(world.models):
        points = state.points(number)
        round_part = getattr(model.spec, "shape", None) or getattr(model.spec, "section", None)
        parts = round_part if isinstance(round_part, (tuple, list)) else (round_part,)
        radius = max(getattr(part, "radius", 0.0) for part in parts)
        places.append(np.concatenate([points - radius, points + radius]))
    return places
