"""A viewer that runs: a web server, what it draws, and one thread that draws."""

from __future__ import annotations

import io
import signal
import socket
import sys
import threading
import time
import traceback
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import redirect_stdout, suppress
from html import escape
from types import TracebackType
from typing import Any

from pliant.core.errors import InputError, PliantError
from pliant.viewer.admission import TOKEN
from pliant.viewer.appearance import Appearance
from pliant.viewer.contents import SceneContents
from pliant.viewer.driver import Driver
from pliant.viewer.frame import Frame
from pliant.viewer.guarded_server import start_server
from pliant.viewer.picking import pick
from pliant.viewer.scene_view import SceneView
from pliant.viewer.shortcuts import Shortcuts

FRAME_SECONDS = 1.0 / 40.0
"""Least time between two frames, s."""
LOOPBACK = "127.0.0.1"
"""The loopback address: only this machine can connect."""

LAST_PORT = 65535
"""Largest number of a port."""


class Viewer(ABC):
    """A running viewer at `url`; ends with `close`, with the end of a ``with`` block, or where `wait` is interrupted.

    `error` is what stopped the playing, None where nothing did; it is shown in the browser too. `driver` says which
    browser may use the controls.
    """

    appearance: Appearance

    def __init__(self, *, port: int, host: str = LOOPBACK, title: str = "Pliant") -> None:
        self.error: Exception | None = None
        # a browser may leave while a picture is on its way to it, and nothing is lost by that
        warnings.filterwarnings("ignore", message="Queued a .* on a closed connection", category=UserWarning)
        self.server, self.guard = start_server(host, _free_port(host, port) if port else 0, title)
        self.driver = Driver(self.server)
        self._scene_view: SceneView | None = None
        self._wake = threading.Condition()
        self._ended = threading.Event()
        self._playing = False
        self._redraw = True
        self._threads = [threading.Thread(target=self._draw_on, name="pliant viewer", daemon=True)]
        gui = self.server.gui
        self.dark = False
        self._theme_chosen = False
        self._set_theme(dark=False)
        self.shortcuts = Shortcuts(self.server, self.driver)
        self.shortcuts.add_themes(self._follow_browser)
        self.readout = gui.add_html("")
        self._message = gui.add_html("", visible=False)
        self.picked = gui.add_html("", visible=False)
        self._shown_frame: tuple[SceneContents, Frame] | None = None
        self.server.scene.on_click(modifier="shift")(self._show_pick)
        self.server.on_client_connect(self._frame_new_client)

    @property
    def port(self) -> int:
        """The port that is served; another than was asked for where that one is taken."""
        return int(self.server.get_port())

    @property
    def url(self) -> str:
        """Address for the browser; with a token where others than this machine can connect."""
        host, token = str(self.server.get_host()), self.guard.admission.token
        page = f"http://{'localhost' if host in (LOOPBACK, '0.0.0.0') else host}:{self.port}"
        return page if token is None else f"{page}/?{TOKEN}={token}"

    @property
    def playing(self) -> bool:
        """Whether time goes on."""
        return self._playing

    @property
    def closed(self) -> bool:
        """Whether the viewer has ended."""
        return self._ended.is_set()

    def play(self) -> None:
        """Let time go on."""
        self._tell(None)
        self._set_playing(True)

    def pause(self) -> None:
        """Hold the time."""
        self._set_playing(False)

    def close(self) -> None:
        """End the viewer: stop playing, end its threads and its server. Closing twice does nothing."""
        with self._wake:
            if self._ended.is_set():
                return
            self._ended.set()
            self._wake.notify_all()
        for thread in self._threads:
            if thread.is_alive() and threading.current_thread() is not thread:
                thread.join(timeout=10.0)
        with redirect_stdout(io.StringIO()):
            self.server.stop()

    def wait(self, message: str = "", *, announce: Callable[[], None] | None = None) -> None:
        """Block until the viewer is closed, or closes it on Ctrl-C and SIGTERM.

        `message` is printed, and `announce` called, once both are listened to.
        """
        asked = threading.Event()
        before: dict[signal.Signals, Any] = {}
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGTERM):
                before[number] = signal.signal(number, lambda *_: asked.set())
        try:
            if message:
                print(message, flush=True)
            if announce is not None:
                announce()
            while not (asked.is_set() or self._ended.wait(0.2)):
                pass
        finally:
            self.close()
            for number, handler in before.items():
                signal.signal(number, signal.SIG_DFL if handler is None else handler)

    def __enter__(self) -> Viewer:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @abstractmethod
    def _frame(self) -> None:
        """Draw once, in the viewer's own thread."""

    def _add_play_button(self) -> None:
        def toggle(_: Any) -> None:
            self.pause() if self._playing else self.play()

        self.play_button = self.server.gui.add_button("Play", icon="player-play", color="blue")
        self.driver.press(self.play_button, toggle)
        self.shortcuts.add("P", "play or pause", toggle)

    def choose_theme(self, *, dark: bool) -> None:
        """Show dark or light pages, whatever browsers prefer."""
        self._theme_chosen = True
        self._set_theme(dark=dark)

    def _follow_browser(self, dark: bool) -> None:
        """A browser prefers dark pages or not: it gets its way while it is alone and no one chose."""
        if not self._theme_chosen and len(self.server.get_clients()) <= 1:
            self._set_theme(dark=dark)

    def _set_theme(self, *, dark: bool) -> None:
        self.dark = dark
        self.server.gui.configure_theme(
            show_logo=False, show_share_button=False, control_width="medium", dark_mode=dark
        )
        if self._scene_view is not None:
            self._scene_view.set_dark(dark)

    def _add_look_keys(self) -> None:
        """Keys that change how the scene looks: of what `appearance` and the camera are now."""

        def see_through(_: Any) -> None:
            self.appearance.see_through.value = not self.appearance.see_through.value

        def next_color(_: Any) -> None:
            mode = self.appearance.mode
            mode.value = following(mode.options, mode.value)

        self.shortcuts.add("F", "show all of the scene", lambda event: self.fit(event.client), guarded=False)
        self.shortcuts.add("T", "see through bodies, or not", see_through)
        self.shortcuts.add("C", "next body colour", next_color)
        self.shortcuts.add("L", "light or dark page", lambda _: self.choose_theme(dark=not self.dark), guarded=False)

    def _set_scene_view(self, contents: SceneContents, frame: Frame, view_points: Any, direction: Any = None) -> None:
        """Build the scene anew; browsers show all of it, from `direction`."""
        self.server.scene.reset()
        self._contents, self._shown_frame = contents, (contents, frame)
        self._scene_view = SceneView(self.server, contents, frame, view_points, direction, dark=self.dark)

    def _frame_new_client(self, client: Any) -> None:
        """Frame the scene in a new browser, whose page has its own aspect ratio."""
        if self._scene_view is not None:
            self._scene_view.framing.turn(client)

    def fit(self, client: Any = None) -> None:
        """Fit the camera of `client`, or of all browsers for None, to what is shown."""
        if self._scene_view is not None and self._shown_frame is not None:
            self._scene_view.fit(self._shown_frame[1], client)

    def _add_fit_button(self, *, order: float | None = None) -> None:
        self.fit_button = self.server.gui.add_button("Show all", icon="focus-2", color="gray", order=order)
        self.fit_button.on_click(lambda event: self.fit(event.client))

    def _begin(self) -> None:
        for thread in self._threads:
            thread.start()

    def ask(self) -> None:
        """Have a picture drawn, in the viewer's own thread."""
        with self._wake:
            self._redraw = True
            self._wake.notify_all()

    def _set_playing(self, playing: bool) -> None:
        with self._wake:
            self._playing = playing
            self._redraw = True  # the last picture may be older than the last step
            self._wake.notify_all()
        self.play_button.label = "Pause" if playing else "Play"
        self.play_button.icon = "player-pause" if playing else "player-play"

    def _draw_on(self) -> None:
        while True:
            with self._wake:
                self._wake.wait_for(lambda: self.closed or self._playing or self._redraw)
                if self.closed:
                    return
                self._redraw = False
            begin = time.perf_counter()
            try:
                self._frame()
            except Exception as error:  # whatever it is, the person at the browser must learn of it
                self._fail(error)
            self._sleep_until(begin + FRAME_SECONDS)

    def _fail(self, error: Exception) -> None:
        self.error = error
        self._set_playing(False)
        self._redraw = False  # it may be the drawing that fails
        self._tell(f"{type(error).__name__}: {error}")
        if not isinstance(error, PliantError):
            traceback.print_exception(error, file=sys.stderr)

    def _tell(self, text: str | None, *, kind: str = "stopped", color: str = "#c92a2a") -> None:
        """Show an error or a note below the read-outs, or take it away."""
        if text is None:
            self.error = None
        else:
            style = (
                f"margin:0 1em .6em;padding:.5em .7em;border-radius:4px;background:{color};color:#fff;font-size:.8em"
            )
            role = "alert" if kind == "stopped" else "status"
            self._message.content = f'<div role="{role}" style="{style}">{escape(kind)}: {escape(text)}</div>'
        self._message.visible = text is not None

    def _draw(self, frame: Frame, values: Any) -> None:
        assert self._scene_view is not None
        self._shown_frame = (self._contents, frame)
        self._scene_view.show(frame, self.appearance.shading(frame, values))

    def _show_pick(self, event: Any) -> None:
        """Say which point of a body was clicked at, with Shift."""
        shown = self._shown_frame
        point = None if shown is None else pick(*shown, event.ray_origin, event.ray_direction)
        self.picked.visible = point is not None
        if point is not None:
            self.picked.content = (
                f'<div role="status" class="pliant-note" style="user-select:all">{escape(point.text)}</div>'
            )

    def _sleep_until(self, due: float) -> None:
        """Wait for the clock to reach `due` (s); the end of the viewer cuts it short."""
        left = due - time.perf_counter()
        if left > 0.0:
            self._ended.wait(left)


def following(choices: Any, present: Any, step: int = 1) -> Any:
    """The choice after the `present` one, around at the end; or `step` further."""
    listed = list(choices)
    return listed[(listed.index(present) + step) % len(listed)]


def check_port(host: str, port: int, *, exact: bool = True) -> None:
    """Raise unless `port` of `host` can be served; a taken one is refused where it must be `exact`ly that."""
    if isinstance(port, bool) or not isinstance(port, int) or not 0 <= port <= LAST_PORT:
        raise InputError(f"port must be a whole number, 0 (any free one) to {LAST_PORT}, got {port!r}")
    if not isinstance(host, str) or not host.strip():
        raise InputError(f"host must be an address of this machine, such as {LOOPBACK}, got {host!r}")
    port = port if exact else 0  # where the next free port will do, the host has to be one of ours still
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as error:
            if port == 0:
                raise InputError(
                    f"host {host!r} cannot be served: {error.strerror}; give an address of this machine, such as "
                    f"{LOOPBACK}, or 0.0.0.0 for all of them"
                ) from error
            raise InputError(
                f"port {port} of {host} cannot be served: {error.strerror}; it may be taken, perhaps by another "
                "viewer: give another one, or 0 for any that is free"
            ) from error


def _free_port(host: str, first: int) -> int:
    """`first` or the next port of `host` that is free, 0 (any) where the next hundred are taken."""
    for port in range(first, min(first + 100, LAST_PORT + 1)):
        with suppress(InputError):
            check_port(host, port)
            return port
    return 0
