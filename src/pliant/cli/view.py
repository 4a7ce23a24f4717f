"""`pliant view`: the studio, a saved world or run, or a scene file, in the browser; or a picture of it."""

from __future__ import annotations

import webbrowser
from pathlib import Path
from typing import Any

from pliant.cli.output import Output
from pliant.viewer.live import has_screen, open_viewer
from pliant.viewer.opening import opened
from pliant.viewer.session import LOOPBACK

PORT = 8080
"""Where the viewer is served unless told otherwise."""


def show_view(
    output: Output, what: str, *, port: int | None, host: str, open_browser: bool, screenshot: Path | None
) -> None:
    """Serve `what` until Ctrl-C or SIGTERM; or write a picture of the page to `screenshot` and stop."""
    if screenshot is not None:
        from pliant.cli.output import check_folder
        from pliant.viewer.screenshot import write_screenshot

        check_folder(screenshot)
        picture = write_screenshot(opened(what), screenshot)
        output.say(f"wrote {picture}")
        output.finish({"what": what, "picture": picture})
        return
    serve(output, opened(what), what=what, port=port, host=host, open_browser=open_browser)


def serve(output: Output, thing: Any, *, what: str, port: int | None, host: str = LOOPBACK, open_browser: bool) -> None:
    """Serve `thing`, called `what`, until Ctrl-C or SIGTERM. The address is told, as JSON too, once it is served.

    A port that was asked for is taken or refused; without one the first free one from 8080 on is.
    """
    with open_viewer(thing, port=PORT if port is None else port, host=host, exact=port is not None) as viewer:

        def announce() -> None:
            if host != LOOPBACK:
                output.console.print(
                    f"serving {host}: everyone who reaches this machine can watch and drive", style="yellow"
                )
            output.say(f"Pliant viewer at {viewer.url}, Ctrl-C ends it")
            output.finish({"what": what, "url": viewer.url, "host": host, "port": viewer.port})
            if open_browser and has_screen():
                webbrowser.open(viewer.url)

        viewer.wait(announce=announce)
    if viewer.error is not None:
        output.say(f"the last thing that went wrong: {viewer.error}")
