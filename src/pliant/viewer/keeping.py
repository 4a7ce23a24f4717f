"""What is kept of a live simulation: a recording that can be played again and saved, pictures, and the state."""

from __future__ import annotations

import struct
import tempfile
import time
import zlib
from pathlib import Path
from typing import Any

import numpy as np

from pliant.core.errors import PliantError
from pliant.record import Run
from pliant.viewer.driver import Driver
from pliant.viewer.moment import Moment

REPLAY_SECONDS = 1.0 / 30.0
"""Simulated time between two moments of a replay, s."""
PICTURE_SECONDS = 20.0
"""How long a browser may take for a picture, s."""


class Keeping:
    """The folder "Record and save" of a live viewer."""

    def __init__(self, viewer: Any, driver: Driver, *, order: float) -> None:
        self.run: Run | None = None
        self.moments: list[Moment] = []
        self.recording = False
        self.replaying = False
        self._name = ""
        self._saved = True
        self._viewer = viewer
        self._clock = 0.0
        gui = viewer.server.gui
        with gui.add_folder("Record and save", order=order, expand_by_default=False):
            self.record_button = driver.press(gui.add_button("Record", icon="player-record"), lambda _: self.toggle())
            self.replay_button = driver.press(
                gui.add_button("Replay", icon="repeat", disabled=True), lambda _: self.replay(not self.replaying)
            )
            self.slider = driver.guard(gui.add_slider("replay (s)", 0.0, 1.0, 0.01, 0.0, disabled=True), self._sought)
            self.save_button = gui.add_button("Save run", icon="download", disabled=True)
            self.save_button.on_click(lambda event: self._save_run(event.client))
            self.state_button = gui.add_button("Save state", icon="download")
            self.state_button.on_click(lambda event: self._save_state(event.client))
            self.picture_button = gui.add_button("Screenshot", icon="camera")
            self.picture_button.on_click(lambda event: self._screenshot(event.client))

    @property
    def time(self) -> float:
        """The instant of the replay, s from its beginning."""
        return float(self.slider.value)

    def toggle(self) -> None:
        """Begin to record, or end it."""
        if self.recording:
            self.stop()
        else:
            with self._viewer.busy:
                self.moments, self.run, self.recording = [self._viewer.subject.moment()], None, True
                self._viewer.subject.begin_recording()
                self._name, self._saved = self._viewer.subject.name, False
            self.replay(False)
            self.record_button.label, self.record_button.color = "Stop recording", "red"

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
        """What was recorded last and nobody has saved, None where there is nothing of the kind."""
        return None if self._saved else self.run

    @property
    def file(self) -> str:
        """Name of a file for what was recorded."""
        return f"{file_name(self._name)}-run.npz"

    def add(self, moment: Moment) -> None:
        """A step was made."""
        if self.recording and moment.time - self.moments[-1].time >= REPLAY_SECONDS - 1e-9:
            self.moments.append(moment)

    def due(self, instant: float) -> bool:
        """Whether the moment at `instant` (s) is to be kept."""
        return self.recording and instant - self.moments[-1].time >= REPLAY_SECONDS - 1e-9

    def replay(self, on: bool) -> None:
        """Play what was recorded, over and over, or go back to the simulation, which waits meanwhile."""
        if on and (self.run is None or not self.moments):
            return
        if on:
            self._viewer.pause()
        self.replaying, self._clock = on, time.perf_counter()
        self.replay_button.label = "Back to the simulation" if on else "Replay"
        self._viewer.ask()

    def forget(self) -> None:
        """Another subject: end the recording; the run that was recorded can still be saved."""
        self.stop()
        self.replay(False)
        self.moments = []
        self.replay_button.disabled = self.slider.disabled = True

    def shown(self) -> Moment:
        """The moment of the replay that is due now."""
        now = time.perf_counter()
        span = self.moments[-1].time - self.moments[0].time
        instant = (self.time + now - self._clock) % max(span, 1e-3)
        self._clock = now
        self.slider.value = min(instant, float(self.slider.max))
        times = np.array([moment.time for moment in self.moments]) - self.moments[0].time
        return self.moments[int(np.clip(np.searchsorted(times, instant, side="right") - 1, 0, len(times) - 1))]

    def _sought(self, event: Any) -> None:
        if event.client_id is not None:
            self.replay(True)

    def _save_run(self, client: Any) -> None:
        if self.run is None or client is None:
            return
        try:
            with tempfile.TemporaryDirectory() as folder:
                content = self.run.save(Path(folder) / "run.npz").read_bytes()
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
            f"{file_name(self._viewer.subject.name)}.png", png_bytes(picture), save_immediately=True
        )


def file_name(name: str) -> str:
    """`name` as the name of a file."""
    return name.replace(" ", "-").replace("/", "-").replace(",", "")


def png_bytes(picture: Any) -> bytes:
    """A picture (height, width, 3 or 4), 0…255, as a PNG; what is transparent becomes white."""
    pixels = np.asarray(picture, float)
    if pixels.shape[2] == 4:
        cover = pixels[..., 3:] / 255.0
        pixels = pixels[..., :3] * cover + 255.0 * (1.0 - cover)
    rows = np.rint(pixels).astype(np.uint8)
    height, width = rows.shape[:2]
    raw = np.concatenate([np.zeros((height, 1), np.uint8), rows.reshape(height, -1)], axis=1).tobytes()

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    body = chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(raw, 9)) + chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + body
