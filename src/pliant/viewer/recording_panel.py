"""The panel that records a live simulation, replays and saves it, and saves screenshots and the state."""

from __future__ import annotations

import io
import tempfile
import time
from collections.abc import Callable
from html import escape
from importlib import import_module
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np

from pliant.core.errors import PliantError
from pliant.record import Run
from pliant.viewer.driver import Driver
from pliant.viewer.frame import Frame
from pliant.viewer.pose_renderer import background_image

REPLAY_SECONDS = 1.0 / 30.0
"""Simulated time between two frames of a replay, s."""
PICTURE_SECONDS = 20.0
"""How long a browser may take for a picture, s."""


class RecordingPanel:
    """The folder "Record and save" of a live viewer."""

    def __init__(self, viewer: Any, driver: Driver, *, order: float) -> None:
        self.run: Run | None = None
        self.frames: list[Frame] = []
        self.recording = False
        self.replaying = False
        self._name = ""
        self._saved = True
        self._viewer = viewer
        self._clock = 0.0
        gui = viewer.server.gui
        with gui.add_folder("Record and save", order=order):
            self.record_button = driver.press(
                gui.add_button("Record", icon="player-record"), lambda _: self.record_or_keep()
            )
            self._kept = gui.add_html("", visible=False)
            self.replay_button = driver.press(
                gui.add_button("Replay", icon="repeat", disabled=True), lambda _: self.replay(not self.replaying)
            )
            self.slider = driver.guard(gui.add_slider("replay (s)", 0.0, 1.0, 0.01, 0.0, disabled=True), self._sought)
            self.save_button = gui.add_button("Download run", icon="download", disabled=True)
            self.save_button.on_click(lambda event: self._save_run(event.client))
            self.state_button = gui.add_button("Download state", icon="download")
            self.state_button.on_click(lambda event: self._save_state(event.client))
            self.picture_button = gui.add_button("Screenshot", icon="camera")
            self.picture_button.on_click(lambda event: self._screenshot(event.client))

    @property
    def time(self) -> float:
        """The instant of the replay, s from its beginning."""
        return float(self.slider.value)

    def record_or_keep(self) -> None:
        """Begin to record; or end it, write the run to a new file of this folder, and replay it."""
        if not self.recording:
            self._say(None)
            self.toggle()
            return
        self.stop()
        if self.run is None:
            self._say("nothing was recorded: let time go on (Play) while recording")
            return
        try:
            file = self.keep()
        except (PliantError, OSError) as error:
            self._say(f"the run cannot be written here: {error}; “Download run” sends it to this browser")
        else:
            self._say(f"wrote {file} ({self.run.times[-1] - self.run.times[0]:.2f} s): pliant play {file.name}")
        self.replay(True)

    def keep(self) -> Path:
        """Write the last recording to this folder, under a new name."""
        assert self.run is not None
        wanted = Path.cwd() / self.file
        names = (wanted if k == 1 else wanted.with_stem(f"{wanted.stem}-{k}") for k in count(1))
        file = Path(self.run.save(next(name for name in names if not name.exists())))
        self._saved = True
        return file

    def _say(self, text: str | None) -> None:
        self._kept.visible = text is not None
        if text is not None:
            self._kept.content = f'<div role="status" class="pliant-note">{escape(text)}</div>'

    def toggle(self) -> None:
        """Begin to record, or end it without writing a file."""
        if self.recording:
            self.stop()
        else:
            with self._viewer.busy:
                self.frames, self.run, self.recording = [self._viewer.subject.frame()], None, True
                self._viewer.subject.begin_recording()
                self._name, self._saved = self._viewer.subject.name, False
            self.replay(False)
            self.record_button.label, self.record_button.color = "Stop, keep and replay", "red"

    def stop(self) -> None:
        """End recording; what was recorded can be played again and saved."""
        if not self.recording:
            return
        with self._viewer.busy:
            self.recording = False
            self.run = self._viewer.subject.end_recording()
        self.record_button.label, self.record_button.color = "Record", None
        self.replay_button.disabled = self.slider.disabled = self.save_button.disabled = self.run is None
        if self.run is not None:
            self.slider.max = max(float(self.run.times[-1] - self.run.times[0]), 0.01)

    @property
    def unsaved(self) -> Run | None:
        """The last recording if it is not saved, else None."""
        return None if self._saved else self.run

    @property
    def file(self) -> str:
        """Name of a file for what was recorded."""
        return f"{file_name(self._name)}-run.npz"

    def due(self, instant: float) -> bool:
        """Whether the frame at `instant` (s) is to be recorded."""
        return self.recording and instant - self.frames[-1].time >= REPLAY_SECONDS - 1e-9

    def replay(self, on: bool) -> None:
        """Replay the recording in a loop while the simulation is paused, or return to the simulation."""
        if on and (self.run is None or not self.frames):
            return
        if on:
            self._viewer.pause()
        self.replaying, self._clock = on, time.perf_counter()
        self.replay_button.label = "Back to the simulation" if on else "Replay"
        self._viewer.ask()

    def forget(self) -> None:
        """Another subject: end the recording; its run can still be saved."""
        self.stop()
        self.replay(False)
        self.frames = []
        self.replay_button.disabled = self.slider.disabled = True

    def shown(self) -> Frame:
        """The frame of the replay that is due now."""
        now = time.perf_counter()
        span = self.frames[-1].time - self.frames[0].time
        instant = (self.time + now - self._clock) % max(span, 1e-3)
        self._clock = now
        self.slider.value = min(instant, float(self.slider.max))
        times = np.array([frame.time for frame in self.frames]) - self.frames[0].time
        return self.frames[int(np.clip(np.searchsorted(times, instant, side="right") - 1, 0, len(times) - 1))]

    def _sought(self, event: Any) -> None:
        if event.client_id is not None:
            self.replay(True)

    def _save_run(self, client: Any) -> None:
        if self.run is None or client is None:
            return
        try:
            content = file_bytes(self.run.save)
        except PliantError as error:
            client.add_notification("The run cannot be saved", str(error), color="red")
            return
        client.send_file_download(self.file, content, save_immediately=True)
        self._saved = True

    def _save_state(self, client: Any) -> None:
        if client is None:
            return
        with self._viewer.busy:
            name, content = self._viewer.subject.state_file()
        client.send_file_download(file_name(name), content, save_immediately=True)

    def _screenshot(self, client: Any) -> None:
        if client is None:
            return
        try:
            width, height = int(client.camera.image_width), int(client.camera.image_height)
            picture = client.get_render(height, width, transport_format="png", timeout=PICTURE_SECONDS)
        except (TimeoutError, RuntimeError) as error:
            client.add_notification("No picture", f"the browser gave none: {error}", color="red")
            return
        client.send_file_download(
            f"{file_name(self._viewer.subject.name)}.png",
            png_bytes(picture, dark=self._viewer.dark),
            save_immediately=True,
        )


def file_bytes(save: Callable[[Path], Any]) -> bytes:
    """What `save(path)` writes."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "file.npz"
        save(path)
        return path.read_bytes()


def file_name(name: str) -> str:
    """`name` as the name of a file."""
    return name.replace(" ", "-").replace("/", "-").replace(",", "")


def png_bytes(picture: Any, *, dark: bool = False) -> bytes:
    """A picture (height, width, 3 or 4), 0…255, as a PNG; what is transparent gets the background of the page."""
    pixels = np.asarray(picture, float)
    if pixels.shape[2] == 4:
        cover = pixels[..., 3:] / 255.0
        behind = 255.0 * background_image((pixels.shape[1], pixels.shape[0]), dark=dark)
        pixels = pixels[..., :3] * cover + behind * (1.0 - cover)
    stream, image = io.BytesIO(), import_module("PIL.Image")  # comes with viser
    image.fromarray(np.rint(pixels).astype(np.uint8)).save(stream, "png", optimize=True)
    return stream.getvalue()
