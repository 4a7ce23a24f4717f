"""A viewer that runs: a web server, what it draws, and one thread that plays."""

from __future__ import annotations

import signal
import sys
import threading
import time
import traceback
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from html import escape
from importlib import import_module
from types import TracebackType
from typing import Any

import numpy as np

from pliant.core.errors import MissingExtraError, PliantError
from pliant.core.types import FloatArray
from pliant.viewer.cast import PLAIN, Cast
from pliant.viewer.palette import map_colors
from pliant.viewer.stage import BAND_COUNT, Stage

FRAME_SECONDS = 1.0 / 30.0
"""Least time between two pictures, s."""


class Viewer(ABC):
    """A running viewer at `url`; ends with `close`, with the end of a ``with`` block, or where `wait` is interrupted.

    `error` is what stopped the playing, None where nothing did; it is shown in the browser too.
    """

    def __init__(self, cast: Cast, *, q: Sequence[FloatArray], time: float, seen: Sequence[FloatArray], port: int):
        self.error: Exception | None = None
        self.server = _start_server(port)
        self._cast = cast
        self._stage = Stage(self.server, cast, q, time, seen)
        self._wake = threading.Condition()
        self._ended = threading.Event()
        self._playing = False
        self._redraw = True
        gui = self.server.gui
        gui.configure_theme(show_logo=False, show_share_button=False, control_width="medium")
        self.readout = gui.add_html("")
        self._message = gui.add_html("", visible=False)
        self.play_button = gui.add_button("Play", icon="player-play")
        self.play_button.on_click(lambda _: self.pause() if self._playing else self.play())
        self._thread = threading.Thread(target=self._work, name="pliant viewer", daemon=True)

    @property
    def port(self) -> int:
        """The port that is served; another than was asked for where that one is taken."""
        return int(self.server.get_port())

    @property
    def url(self) -> str:
        """Address for the browser."""
        return f"http://localhost:{self.port}"

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
        """End the viewer: stop playing, end its thread and its server. Closing twice does nothing."""
        with self._wake:
            if self._ended.is_set():
                return
            self._ended.set()
            self._wake.notify_all()
        if threading.current_thread() is not self._thread:
            self._thread.join(timeout=10.0)
        self.server.stop()

    def wait(self, message: str = "") -> None:
        """Block until the viewer is closed, or closes it on Ctrl-C and SIGTERM.

        `message` is printed once both are listened to.
        """
        asked = threading.Event()
        before: dict[signal.Signals, Any] = {}
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGTERM):
                before[number] = signal.signal(number, lambda *_: asked.set())
        if message:
            print(message, flush=True)
        try:
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
    def _turn(self) -> None:
        """One frame or one step, in the viewer's own thread."""

    def _has_work(self) -> bool:
        return self._playing or self._redraw

    def _begin(self) -> None:
        """Add what stands below the controls, and start the thread."""
        self.look = Look(self.server.gui, self._cast, self._ask)
        self._thread.start()

    def _ask(self) -> None:
        """Have the thread draw once more."""
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

    def _work(self) -> None:
        while True:
            with self._wake:
                self._wake.wait_for(lambda: self.closed or self._has_work())
                if self.closed:
                    return
                self._redraw = False
            try:
                self._turn()
            except Exception as error:  # whatever it is, the person at the browser must learn of it
                self._fail(error)

    def _fail(self, error: Exception) -> None:
        self.error = error
        self._set_playing(False)
        self._redraw = False  # it may be the drawing that fails
        self._tell(f"{type(error).__name__}: {error}")
        if not isinstance(error, PliantError):
            traceback.print_exception(error, file=sys.stderr)

    def _tell(self, text: str | None) -> None:
        """Show an error below the read-outs, or take it away."""
        if text is None:
            self.error = None
        else:
            style = "margin:0 1em .6em;padding:.5em .7em;border-radius:4px;background:#c92a2a;color:#fff"
            self._message.content = f'<div style="{style};font-size:.8em">stopped: {escape(text)}</div>'
        self._message.visible = text is not None

    def _draw(self, q: tuple[FloatArray, ...], time: float, values: dict[int, FloatArray]) -> None:
        self._stage.show(q, time, self.look.fractions(values), see_through=bool(self.look.see_through.value))

    def _sleep_until(self, due: float) -> None:
        """Wait for the clock to reach `due` (s); the end of the viewer cuts it short."""
        left = due - time.perf_counter()
        if left > 0.0:
            self._ended.wait(left)


class Look:
    """How things look: what colours them, and the scale of it, which grows as larger values come."""

    def __init__(self, gui: Any, cast: Cast, changed: Callable[[], None]) -> None:
        self._highs: dict[str, float] = {}
        with gui.add_folder("Look"):
            self.mode = gui.add_dropdown("colour", cast.color_modes, initial_value=PLAIN)
            self._legend = gui.add_html("", visible=False)
            self.see_through = gui.add_checkbox("see through", initial_value=False)
        self.mode.on_update(lambda _: changed())
        self.see_through.on_update(lambda _: changed())

    def widen(self, values: dict[int, FloatArray]) -> float:
        """Upper end of the present mode's scale once it takes in `values`, but for the highest 0.2 % of them."""
        mode = self.mode.value
        largest = max((float(np.quantile(v, 0.998)) for v in values.values()), default=0.0)
        self._highs[mode] = max(self._highs.get(mode, 0.0), largest)
        return self._highs[mode]

    def forget(self) -> None:
        """Start the scales anew."""
        self._highs.clear()

    def fractions(self, values: dict[int, FloatArray]) -> dict[int, FloatArray]:
        """Places of `values` on the colour map, 0…1; the legend follows."""
        self._legend.visible = bool(values)
        if not values:
            return {}
        high = self.widen(values)
        self._legend.content = _legend_html(high, self.mode.value)
        return {k: v / max(high, 1e-300) for k, v in values.items()}


def _legend_html(high: float, label: str) -> str:
    colors = np.rint(255.0 * map_colors((np.arange(BAND_COUNT) + 0.5) / BAND_COUNT)).astype(int)
    boxes = "".join(f'<span style="flex:1;background:rgb{tuple(color)}"></span>' for color in colors.tolist())
    bar = f'<div style="display:flex;height:.8em">{boxes}</div>'
    ends = f'<div style="display:flex;justify-content:space-between"><span>0</span><span>{high:.3g}</span></div>'
    frame = f'<div style="margin:0 1em .4em;font-size:.75em" title="{escape(label)}">'
    return f"{frame}{bar}{ends}</div>"


def table_html(rows: Sequence[tuple[str, str]]) -> str:
    """A table of names and values for the panel."""
    cells = "".join(
        f'<tr><td style="opacity:.7;padding-right:1em">{escape(name)}</td>'
        f'<td style="text-align:right;font-variant-numeric:tabular-nums">{escape(value)}</td></tr>'
        for name, value in rows
    )
    return f'<table style="margin:.2em 1em .6em;width:calc(100% - 2em);font-size:.85em">{cells}</table>'


def _start_server(port: int) -> Any:
    try:
        viser = import_module("viser")
    except ImportError as error:
        message = "the viewer needs viser, which is not installed: pip install 'pliant[viewer]'"
        raise MissingExtraError(message) from error
    return viser.ViserServer(host="127.0.0.1", port=port, label="Pliant", verbose=False)
