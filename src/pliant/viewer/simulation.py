"""The live viewer: a subject is simulated while it is looked at, in real time where the machine can.

Two threads: one steps, the other draws the last state up to forty times a second. Neither waits for the other.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from html import escape
from typing import Any

import numpy as np

from pliant.viewer.appearance import Appearance
from pliant.viewer.budget import Budget
from pliant.viewer.gizmos import Gizmos
from pliant.viewer.inputs import Inputs
from pliant.viewer.pace import Pace
from pliant.viewer.panel import budget_html, strip_html, table_html
from pliant.viewer.properties import Properties
from pliant.viewer.recording_panel import RecordingPanel
from pliant.viewer.subject import SLIDERS, TARGET, Demand, FinishedError, Subject
from pliant.viewer.viewer import LOOPBACK, Viewer, following
from pliant.viewer.world_subject import WorldSubject

STEPS = ("1 ms", "2 ms", "5 ms", "10 ms", "20 ms")
SPEEDS = ("0.1×", "0.25×", "0.5×", "1×", "2×")
READ_SECONDS = 0.25
"""Time between two changes of the read-outs, s."""
LARGEST_LAG = 0.1
"""Lag behind real time that is still caught up with, s."""
_PICK, _PLAY, _MODE, _INPUTS, _VALUES, _LOOK, _TIME, _PROPERTIES, _KEEP = np.arange(0.0, 90.0, 10.0).tolist()
"""Order of the panel."""
_FACTOR = "real-time factor"


class LiveSimulation(Viewer):
    """Steps a `subject`, or `first` of the builders by name in `catalogue`, which the picker shows."""

    def __init__(
        self,
        subject: Any = None,
        *,
        port: int,
        host: str = LOOPBACK,
        catalogue: Mapping[str, Callable[[], Subject]] | None = None,
        first: str = "",
    ) -> None:
        self.subject: Any = None
        self.busy = threading.RLock()
        self._scene_lock = threading.RLock()
        self._steps = 0
        self._reset = False
        self._due = self._read = 0.0
        self.hurry_to: float | None = None
        """Time to which steps follow each other without regard to the clock, and at which they stop, s."""
        self._pace = Pace()
        self._catalogue = dict(catalogue or {})
        self._builder: threading.Thread | None = None
        super().__init__(port=port, host=host)
        self.readout.order, self._message.order = -10.0, -9.0
        self._threads.append(threading.Thread(target=self._step_on, name="pliant simulation", daemon=True))
        self._add_controls(first)
        if subject is not None:
            self._install(subject)
        self._begin()
        if subject is None:
            self.load(first)

    # what a script reads
    @property
    def state(self) -> Any:
        """State of the world that is simulated."""
        return self.subject.state

    @property
    def info(self) -> Any:
        """What the last step reported, None before the first."""
        return self.subject.info

    @property
    def world(self) -> Any:
        """The world that is simulated."""
        return self.subject.world

    @property
    def factor(self) -> float:
        """Simulated time over the clock's in the last second."""
        return self._pace.factor

    @property
    def building(self) -> bool:
        """Whether a subject is being built in the background."""
        return self._builder is not None and self._builder.is_alive()

    def play(self) -> None:
        """Let time go on."""
        self._due = time.perf_counter()
        self._pace = Pace()
        self.recording_panel.replay(False)
        if self.building:  # it goes on once it stands, and the panel keeps saying so
            self._set_playing(True)
        else:
            super().play()

    def close(self) -> None:
        """End the viewer; a recording ends with it, and stays in `recording_panel`."""
        if not self.closed:
            self.recording_panel.stop()
        super().close()

    def step(self) -> None:
        """Hold the time, then make one step."""
        self._tell(None)
        self._set_playing(False)
        self.recording_panel.replay(False)
        with self._wake:
            self._steps += 1
            self._wake.notify_all()

    def reset(self) -> None:
        """Back to the initial state, with every slider and gizmo where it started."""
        self._tell(None)
        with self._wake:
            self._reset = True
            self._wake.notify_all()

    def fit(self, client: Any = None) -> None:
        """Fit the camera of `client`, or of all browsers for None, to the present frame."""
        if self._scene_view is not None and self.subject is not None:
            self._scene_view.fit(self.subject.frame(), client)

    def load(self, name: str) -> None:
        """Build `name` of the catalogue in the background and go on with it."""
        self._build(self._catalogue[name], name)

    def rebuild(self, stiffness: Sequence[float], friction: Sequence[float]) -> None:
        """Build the world again with other materials and friction, in the background; it starts over."""
        subject = self.subject
        self._build(
            lambda: subject.rebuilt(stiffness, friction), f"{subject.name} with other properties, from the start"
        )

    # the panel
    def _add_controls(self, first: str) -> None:
        gui, driver = self.server.gui, self.driver
        self.picker = None
        if self._catalogue:
            self.picker = gui.add_dropdown("robot", tuple(self._catalogue), initial_value=first, order=_PICK)
            driver.guard(self.picker, lambda event: self.load(event.target.value))
        self._about = gui.add_html("", order=_PICK + 1.0)
        self._add_play_button()
        self.play_button.order = _PLAY
        self.once = gui.add_button_group("", ("Step", "Reset"), order=_PLAY + 1.0)
        driver.press(self.once, lambda event: self.step() if event.target.value == "Step" else self.reset())
        self.speed = driver.guard(gui.add_dropdown("speed", SPEEDS, initial_value="1×", order=_PLAY + 2.0))
        self._add_fit_button(order=_PLAY + 3.0)
        self.mode: Any = None
        with gui.add_folder("Forces", order=_VALUES):
            self.forces = gui.add_html("")
        with gui.add_folder("Time of a step", order=_TIME):
            self.dt = driver.guard(gui.add_dropdown("time step", STEPS, initial_value="10 ms"))
            self._budget = gui.add_html("")
            self._strip = gui.add_html("")
        self.recording_panel = RecordingPanel(self, driver, order=_KEEP)
        self.inputs: Any = None
        self._parts: list[Any] = []
        self._add_keys()
        keys = gui.add_button("Keys (?)", icon="keyboard", color="gray", order=_KEEP + 9.0)
        keys.on_click(lambda event: self.shortcuts.show(event.client))

    def _add_keys(self) -> None:
        def next_mode(_: Any) -> None:
            if self.mode is not None:
                self.mode.value = following(self.mode.options, self.mode.value)

        def change_speed(step: int) -> None:
            place = SPEEDS.index(self.speed.value) + step
            self.speed.value = SPEEDS[min(max(place, 0), len(SPEEDS) - 1)]

        add, panel = self.shortcuts.add, self.recording_panel
        add("N", "one step, then pause", lambda _: self.step())
        add("Z", "reset: back to the start", lambda _: self.reset())
        add("J", "slower", lambda _: change_speed(-1))
        add("K", "faster", lambda _: change_speed(1))
        add("M", "next drive: controller, sliders, target", next_mode)
        add("R", "record; again: keep the file and replay it", lambda _: panel.record_or_keep())
        add("V", "replay the recording, or go on", lambda _: panel.replay(not panel.replaying))
        self._add_look_keys()

    def _install(self, subject: Subject) -> None:
        """Replace the present subject and its controls by `subject`."""
        with self.busy, self._scene_lock:
            if self.subject is not None:
                self.recording_panel.forget()
            for part in self._parts:
                part.remove()
            self.driver.drop_removed()
            self.subject = subject
            frame = subject.frame()
            self._set_scene_view(subject.contents, frame, subject.view_points(), getattr(subject, "view", None))
            assert self._scene_view is not None
            self._gizmos = Gizmos(self.server, self.driver, self._scene_view.size, frame.tip, subject.handles)
            self._add_parts(subject)
            usual = f"{1e3 * subject.usual_step:g} ms"
            self.driver.set(self.dt, usual if usual in STEPS else "10 ms")
            self.dt.visible = subject.timed
            self._pace, self._due = Pace(), time.perf_counter()
            self._strip.content = self._budget.content = self.forces.content = ""
        self._change_mode()
        self.ask()

    def _add_parts(self, subject: Any) -> None:
        gui, driver = self.server.gui, self.driver
        self._about.content = f'<div class="pliant-note">{escape(subject.about)}</div>'
        self._about.visible = bool(subject.about)
        self.mode = gui.add_dropdown("drive", subject.modes, initial_value=subject.modes[0], order=_MODE)
        self.mode.visible = len(subject.modes) > 1
        driver.guard(self.mode, lambda _: self._change_mode())
        self._parts = [self.mode, *self._gizmos.add_fields(gui, order=_MODE + 1.0)]
        self.inputs = Inputs(gui, subject.ranges, driver, order=_INPUTS)
        self._parts += self.inputs.folders
        self.appearance = Appearance(gui, subject.contents, driver, self.ask, arrows=subject.has_contacts, order=_LOOK)
        self._parts.append(self.appearance.folder)
        folder = gui.add_folder("Scene and materials", order=_PROPERTIES, expand_by_default=False)
        self._parts.append(folder)
        with folder:
            self.gravity = gui.add_checkbox(
                "gravity", initial_value=subject.has_gravity, disabled=not subject.has_gravity
            )
            driver.guard(self.gravity)
            if subject.handles:
                driver.guard(
                    gui.add_checkbox("drag obstacles", initial_value=True),
                    lambda event: self._gizmos.show_drags(event.target.value),
                )
            self.properties = Properties(gui, driver, self) if isinstance(subject, WorldSubject) else None

    def _change_mode(self) -> None:
        """Apply the drive mode: sliders are disabled in inverse control, and the target starts at the tip."""
        mode = self.driver.value(self.mode)
        aims = mode == TARGET
        self._gizmos.aim(aims, self.subject.frame().tip if aims else None)
        self.inputs.set_disabled(self.subject.idle(mode))
        self.ask()

    def _build(self, build: Callable[[], Subject], name: str) -> None:
        if self.building:
            return
        self._tell(f"building {name}…", kind="please wait", color="#1c7ed6")

        def work() -> None:
            try:
                self._install(build())
            except Exception as error:  # the one that stands goes on
                self._fail(error)
                self._show_picked()
            else:
                self._tell(None)
                self._show_picked()

        self._builder = threading.Thread(target=work, name="pliant builder", daemon=True)
        self._builder.start()

    def _show_picked(self) -> None:
        """Let the picker show the present subject."""
        name = "" if self.subject is None else self.subject.name
        if self.picker is not None and name in self._catalogue and self.picker.value != name:
            self.driver.set(self.picker, name)

    # stepping
    def _step_on(self) -> None:
        while True:
            with self._wake:
                self._wake.wait_for(
                    lambda: self.closed or (self.subject is not None and (self._playing or self._steps or self._reset))
                )
                if self.closed:
                    return
                again, self._reset = self._reset, False
                single, self._steps = self._steps > 0, max(self._steps - 1, 0)
            try:
                with self.busy:
                    if again:
                        self._restart()
                    if single or self._playing:
                        self._advance()
            except FinishedError as end:
                self._set_playing(False)
                self._tell(str(end), kind="finished", color="#2b8a3e")
            except Exception as error:  # whatever it is, the person at the browser must learn of it
                self._fail(error)
            if self._playing:
                self._sleep_until(self._due)
            else:
                self.ask()

    def _restart(self) -> None:
        self.recording_panel.stop()
        self.inputs.reset()
        self._gizmos.reset()
        self.appearance.forget()
        self._pace = Pace()
        self.subject.reset()  # last: who sees the time at 0 finds all of it done

    def _advance(self) -> None:
        driver, subject = self.driver, self.subject
        dt = 1e-3 * float(driver.value(self.dt).split()[0])
        speed = self._speed
        mode = driver.value(self.mode)
        begin = time.perf_counter()
        settled = not subject.timed and self.inputs.settled and subject.arrived(self._gizmos.displacements)
        if settled and subject.info is not None:
            self._due = begin + READ_SECONDS  # an equilibrium does not change by itself
            return
        demand = Demand(mode, self.inputs.controls(dt), self._gizmos.aimed, self._gizmos.displacements,
                        bool(driver.value(self.gravity)) or not subject.has_gravity)  # fmt: skip
        subject.step(dt, demand)
        end = time.perf_counter()
        self._pace.add(dt, end - begin, end, subject.stage_times)
        if self.recording_panel.due(subject.time):
            self.recording_panel.frames.append(subject.frame())
        self._due = self._due + dt / speed if end - self._due <= LARGEST_LAG and self.hurry_to is None else end
        if self.hurry_to is not None and subject.timed and subject.time >= self.hurry_to - 0.5 * dt:
            self._set_playing(False)

    # drawing
    def _frame(self) -> None:
        with self._scene_lock:
            if self.subject is not None:
                self._show()

    def _show(self) -> None:
        subject = self.subject
        frame = self.recording_panel.shown() if self.recording_panel.replaying else subject.frame()
        self._draw(frame, subject.values(self.driver.value(self.appearance.mode), frame))
        self._gizmos.follow(frame)
        now = time.perf_counter()
        if not self._playing or now - self._read >= READ_SECONDS:
            self._read = now
            self.readout.content = table_html(self._readings(frame), red="" if self._keeps_up else _FACTOR)
            self.forces.content = table_html(frame.readings)
            self._gizmos.show_positions()
            if self._pace.count:
                self._strip.content = strip_html(
                    self._pace.stages, self._pace.seconds, self._pace.step if subject.timed else None
                )
                self._budget.visible = subject.timed
                if subject.timed:
                    self._budget.content = budget_html(self._step_budget(frame))
            if self._playing and self.driver.value(self.mode) != SLIDERS:
                for actuator, amount in subject.actuation().items():
                    self.inputs.follow(actuator, amount)
        if self.recording_panel.replaying:
            self._redraw = True

    def _readings(self, frame: Any) -> list[tuple[str, str]]:
        subject = self.subject
        if self.recording_panel.replaying:
            return [("replay", f"{frame.time:.2f} s")]
        rows = [("time", f"{frame.time:.2f} s")] if subject.timed else []
        if self._pace.count:
            seconds = self._pace.step_seconds
            text = f"{1e3 * seconds:.2f} ms" if seconds < 1.0 else f"{seconds:.2f} s"
            rows.append(("step" if subject.timed else "shape found in", text))
        if self._playing and subject.timed and self._pace.count > 1:
            slow = "" if self._keeps_up else f", slower than the {self._speed:g}× asked for"
            rows.append((_FACTOR, f"{self._pace.factor:.2f}×{slow}"))
        if frame.tip is not None:
            rows.append(("tip", ", ".join(f"{1e3 * x:.1f}" for x in frame.tip) + " mm"))
            if self.driver.value(self.mode) == TARGET:
                away = float(np.linalg.norm(self._gizmos.aimed - frame.tip))
                rows.append(("tip to target", f"{1e3 * away:.2f} mm"))
        return rows

    def _step_budget(self, frame: Any) -> Budget:
        """Times of the last steps against what the chosen speed allows."""
        nodes = sum(len(q) for q in frame.q) if isinstance(self.subject, WorldSubject) else None
        contacts = len(frame.arrows[0]) if self.subject.has_contacts else None
        allowed = self._pace.step / self._speed
        return Budget(self._pace.stages, self._pace.step_seconds, allowed, nodes, contacts)

    @property
    def _speed(self) -> float:
        """How many simulated seconds a second is to have."""
        return float(self.driver.value(self.speed).rstrip("×"))

    @property
    def _keeps_up(self) -> bool:
        return self._pace.factor > 0.93 * self._speed
