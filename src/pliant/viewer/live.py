"""`pl.view`: a run or a world in the browser; `pliant view`: the studio, or what a name or a file gives."""

from __future__ import annotations

import os
import sys
import webbrowser
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pliant.core.errors import InputError
from pliant.record import Run, load
from pliant.viewer.playback import Playback
from pliant.viewer.simulation import LiveSimulation
from pliant.viewer.tips import inferred_tip, world_actuators
from pliant.viewer.viewer import LOOPBACK, Viewer, check_port
from pliant.viewer.world_subject import WorldSubject
from pliant.viewer.zoo import Entry, catalogue, entry
from pliant.world import Scene, World

__all__ = ["LiveSimulation", "Playback", "Viewer", "open_viewer", "view"]


def view(thing: Run | World, *, port: int = 8080, open_browser: bool = True, block: bool | None = None) -> Viewer:
    """Show a run, or simulate a world live with a slider for each actuator, load and support, in the browser.

    `thing` is a `Run`, played over and over, or a `World`, stepped in real time from its initial state. `port` is a
    port on this machine; the next free one where it is taken, any free one for 0. The address is printed; only this
    machine can connect. `open_browser` opens a page in the browser, where there is a screen. `block` waits until Ctrl-C
    or SIGTERM, then closes the viewer; None waits in a script, but not at an interactive prompt.

    Returns the viewer. Not waited for, it runs in a thread of its own until ``viewer.close()``; it is a context manager
    too. Needs viser: ``pip install 'pliant[viewer]'``.
    """
    if not isinstance(thing, (Run, World)):
        raise InputError(f"pl.view shows a Run or a World (scene.compile()), not a {type(thing).__name__}")
    viewer = open_viewer(thing_of(thing), port=port)
    waits = not _interactive() if block is None else block
    if open_browser and has_screen():
        webbrowser.open(viewer.url)
    if waits:
        viewer.wait(f"Pliant viewer at {viewer.url} (Ctrl-C ends it)")
    else:
        print(f"Pliant viewer at {viewer.url}", flush=True)
    return viewer


def open_viewer(
    thing: Entry | Run | WorldSubject, *, port: int = 8080, host: str = LOOPBACK, exact: bool = False
) -> Viewer:
    """A viewer that plays a run, simulates a world, or is the studio that begins with a robot of the zoo.

    `host` is the address that is served: by default only this machine can connect. `exact` refuses other ports.
    """
    check_port(host, port, exact=exact)
    viewer: Viewer
    if isinstance(thing, Run):
        viewer = Playback(thing, port=port, host=host)
    elif isinstance(thing, Entry):
        viewer = LiveSimulation(port=port, host=host, catalogue=catalogue(), first=thing.name)
    else:
        viewer = LiveSimulation(thing, port=port, host=host)
    viewer.play()
    return viewer


def opened(what: str) -> Entry | Run | WorldSubject:
    """The robot called `what`, or what the file of that name holds."""
    path = Path(what)
    if path.suffix == ".npz" or path.is_file():
        return thing_of(loaded(path), name=path.stem)
    return entry(what)


def loaded(path: Path) -> Run | World:
    """The run or world saved in a file."""
    if not path.is_file():
        raise InputError(f"there is no file {str(path)!r}")
    return load(path)


def thing_of(
    thing: Any, *, name: str = "", tip: Any = None, actuators: Sequence[Any] = (), **options: Any
) -> Run | WorldSubject:
    """What a viewer shows: a run, or the subject of a world or a scene; its `tip` and `actuators` are inferred unless
    given.
    """
    if isinstance(thing, Scene):
        thing = thing.compile()
    if isinstance(thing, Run):
        return thing
    if not isinstance(thing, World):
        kind = type(thing).__name__
        raise InputError(f"a Run, a World (scene.compile()) or a Scene can be viewed, not something of type {kind}")
    if tip is None:
        tip, found = inferred_tip(thing)
        actuators = actuators or found
    return WorldSubject(thing, name=name, tip=tip, actuators=actuators or world_actuators(thing), **options)


def _interactive() -> bool:
    """Whether a person types the commands: a Python prompt, `python -i`, IPython or a notebook."""
    shell: Any = getattr(sys, "ps1", None)
    return shell is not None or bool(sys.flags.interactive) or "IPython" in sys.modules


def has_screen() -> bool:
    """Whether a browser window can open; without one, a browser might take over the terminal."""
    return sys.platform in ("darwin", "win32") or bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))
