"""A picture of the studio's page, made without a display: Chromium, headless, driven by Playwright."""

from __future__ import annotations

import io
import shutil
import time
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from pliant.core.errors import InputError, MissingExtraError
from pliant.core.replacing import replacing
from pliant.record import Run
from pliant.viewer.live import open_viewer
from pliant.viewer.playback import Playback
from pliant.viewer.simulation import LiveSimulation
from pliant.viewer.viewer import Viewer
from pliant.viewer.world_subject import WorldSubject
from pliant.viewer.zoo import Entry

SIZE = (1280, 800)
"""Width and height of the page, pixels."""
FLAGS = ("--no-sandbox", "--use-angle=swiftshader", "--enable-unsafe-swiftshader", "--disable-background-networking")
SECONDS = 1.0
"""Simulated time of a scene that does not say what a picture of it shows, s."""
PATIENCE = 180.0
"""Time limit for building and simulating, s: the slowest entry takes a tenth of it."""


def chromium() -> str:
    """Where Chromium is."""
    found = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if found is None:
        raise MissingExtraError("pictures of the page need Chromium: sudo apt-get install -y chromium")
    return found


def playwright() -> Any:
    """Playwright's synchronous interface."""
    try:
        return import_module("playwright.sync_api").sync_playwright
    except ImportError as error:
        raise MissingExtraError("pictures of the page need Playwright: pip install playwright") from error


def write_screenshot(thing: Entry | Run | WorldSubject, path: Path, *, size: tuple[int, int] = SIZE) -> Path:
    """Pose `thing` as its entry in the zoo says, and write what the page shows to `path` (.png)."""
    if path.suffix.lower() != ".png":
        raise InputError(f"a picture of the page is a .png, got {str(path)!r}")
    executable, driver = chromium(), playwright()
    with open_viewer(thing, port=0) as viewer, driver() as play:
        if isinstance(viewer, LiveSimulation):
            _wait(lambda: viewer.subject is not None and not viewer.building, viewer)
            pose_subject(viewer, thing if isinstance(thing, Entry) else None)
        elif isinstance(viewer, Playback):
            viewer.pause()
            viewer.time = float(viewer.run.times[-1])
        browser = play.chromium.launch(executable_path=executable, args=list(FLAGS))
        try:
            page = browser.new_page(viewport={"width": size[0], "height": size[1]})
            page.goto(viewer.url)
            page.locator("canvas").first.wait_for(timeout=60_000)
            page.get_by_text("Look").first.wait_for(timeout=60_000)
            # a note that there is no graphics card is of no use in a picture
            page.add_style_tag(content=".mantine-Notifications-root{display:none}")
            with replacing(path) as part:
                part.write_bytes(_small(_settled(page)))
        finally:
            browser.close()
    return path


def _settled(page: Any) -> bytes:
    """What the page shows once it no longer changes: it fades in, slowly without a graphics card."""
    last = b""
    for _ in range(60):
        page.wait_for_timeout(500)
        now: bytes = page.screenshot(timeout=60_000)
        if now == last:
            break
        last = now
    return last


def _small(picture: bytes) -> bytes:
    """The picture with at most 256 colours: half the size, for pages and README files."""
    image = import_module("PIL.Image")  # comes with viser
    stream, full = io.BytesIO(), image.open(io.BytesIO(picture)).convert("RGB")
    # a palette by coverage, not by how often colours occur, keeps legends and arrows vivid; dithering, the background
    palette = full.quantize(colors=256, method=image.Quantize.MAXCOVERAGE)
    full.quantize(palette=palette, dither=image.Dither.FLOYDSTEINBERG).save(stream, "png", optimize=True)
    return stream.getvalue()


def pose_subject(viewer: LiveSimulation, entry: Entry | None) -> None:
    """Bring the subject into the pose of its entry in the zoo, or let another one run for a second; hold and fit it."""
    viewer.pause()  # it plays as soon as it is built: the pose starts from the initial state
    with viewer.busy:
        viewer._restart()
    viewer.hurry_to = SECONDS if entry is None else entry.seconds
    if entry is not None:
        _set(viewer, entry)
    viewer.play()
    _wait(lambda: not viewer.playing or (not viewer.subject.timed and viewer.inputs.settled), viewer)
    viewer.pause()
    viewer.hurry_to = None
    with viewer.busy:  # the last step ends
        viewer.fit()


def _set(viewer: LiveSimulation, entry: Entry) -> None:
    """Controls as the entry has them."""
    viewer.mode.value = entry.mode
    for sliders in viewer.inputs.sliders.values():
        for slider in sliders:
            for label, value in entry.pose.items():
                if slider.label.startswith(label) and "support" not in slider.label.removeprefix(label):
                    slider.value = value
    tip = viewer.subject.frame().tip
    if tip is not None and viewer._gizmos.target is not None:
        viewer.driver.move(viewer._gizmos.target, tip + np.array(entry.target))


def _wait(done: Callable[[], bool], viewer: Viewer) -> None:
    end = time.monotonic() + PATIENCE
    while not done():
        if viewer.error is not None:
            raise viewer.error
        if time.monotonic() > end:
            raise InputError(f"the scene was not ready for its picture within {PATIENCE:g} s")
        time.sleep(0.05)
