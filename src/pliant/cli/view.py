"""`pliant view`: the studio, a saved world or run, or a scene file, in the browser; or a picture of it."""

from __future__ import annotations

import webbrowser
from pathlib import Path

from rich.console import Console

from pliant.viewer.live import has_screen, open_viewer
from pliant.viewer.opening import opened
from pliant.viewer.session import LOOPBACK

PORT = 8080
"""Where the viewer is served unless told otherwise."""


def show_view(
    console: Console, what: str, *, port: int | None, host: str, open_browser: bool, screenshot: Path | None
) -> None:
    """Serve `what` until Ctrl-C or SIGTERM; or write a picture of the page to `screenshot` and stop.

    A port that was asked for is taken or refused; without one the first free one from 8080 on is.
    """
    thing = opened(what)
    if screenshot is not None:
        from pliant.viewer.screenshot import write_screenshot

        console.print(f"wrote {write_screenshot(thing, screenshot)}", markup=False, soft_wrap=True)
        return
    with open_viewer(thing, port=PORT if port is None else port, host=host, exact=port is not None) as viewer:
        if host != LOOPBACK:
            console.print(f"serving {host}: everyone who reaches this machine can watch and drive", style="yellow")
        if open_browser and has_screen():
            webbrowser.open(viewer.url)
        viewer.wait(f"Pliant viewer at {viewer.url}, Ctrl-C ends it")
    if viewer.error is not None:
        console.print(f"the last thing that went wrong: {viewer.error}", style="yellow", markup=False, soft_wrap=True)
