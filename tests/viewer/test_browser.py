"""The studio in a real browser, Chromium without a display, driven as a person would; the page says what happened."""

import io
import os
import re
import shutil
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import pliant as pl
from pliant.viewer.simulation import LiveSimulation
from pliant.viewer.subject import SLIDERS, TARGET
from pliant.viewer.world_subject import WorldSubject

pytest.importorskip("viser")
SIZE = (1120, 400)
SCENE = """
import pliant as pl

scene = pl.Scene(gravity=(0, 0, -9.81))
robot = scene.add(pl.robots.finger())
"""


def until(condition, seconds=90.0):
    """Wait; without a graphics card a browser may stand still for ten seconds before its first picture."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.05)


@pytest.fixture(scope="module")
def studio():
    scene = pl.Scene(gravity=(0, 0, -9.81))
    finger = scene.add(pl.robots.finger())
    subject = WorldSubject(scene.compile(), name="finger", tip=finger.tip, actuators=finger.cables)
    with LiveSimulation(subject, port=0) as viewer:
        viewer.play()
        yield viewer


@pytest.fixture(scope="module")
def page(studio, chromium):
    opened = chromium.new_page(viewport={"width": SIZE[0], "height": SIZE[1]})
    opened.set_default_timeout(90_000)
    opened.problems = []
    opened.on("pageerror", lambda error: opened.problems.append(str(error)))
    opened.goto(studio.url)
    opened.get_by_text("finger cable (mm)").wait_for(timeout=60_000)
    opened.locator("canvas").first.wait_for()
    opened.add_style_tag(content=".mantine-Notifications-root{display:none}")
    first = clock(opened)
    until(lambda: clock(opened) > first)
    yield opened
    opened.context.close()


def clock(page):
    """Simulated time that the panel shows, s."""
    return float(page.locator("td", has_text=re.compile(r"^[\d.]+ s$")).first.inner_text().removesuffix(" s"))


def shown_tip(page):
    """The position of the tip as the panel says, mm."""
    text = page.locator("td", has_text=re.compile(r"^-?[\d.]+, -?[\d.]+, -?[\d.]+ mm$")).first.inner_text()
    return np.array([float(x) for x in text.removesuffix(" mm").split(", ")])


def slider_box(page, label):
    """The number beside a slider."""
    row = page.get_by_text(label, exact=True).locator("xpath=ancestor::*[.//input][1]")
    return row.locator("input[inputmode]").last


def on_screen(client, point):
    """Pixel of a place in the scene, as the browser's camera sees it."""
    camera = client.camera
    w, x, y, z = camera.wxyz
    seen = Rotation.from_quat([x, y, z, w]).inv().apply(np.asarray(point) - camera.position)
    focal = 0.5 * SIZE[1] / np.tan(0.5 * camera.fov)
    return np.array([0.5 * SIZE[0], 0.5 * SIZE[1]]) + focal * seen[:2] / seen[2]


def test_a_slider_moves_the_tip(studio, page):
    until(lambda: clock(page) > 0.5)
    before = shown_tip(page)
    box = slider_box(page, "finger cable (mm)")
    box.fill("24")
    box.press("Enter")
    until(lambda: shown_tip(page)[2] < before[2] - 5.0)
    assert studio.driver.current is not None, "whoever touches a control drives"
    assert studio.error is None
    assert page.problems == []


NAMELESS = """() => [...document.querySelectorAll(
    "button, input, [role=slider], [role=button], [tabindex='0']")]
  .filter((node) => node.offsetParent !== null && node.type !== "hidden")
  .filter((node) => !(node.getAttribute("aria-label") || node.textContent.trim() || node.title ||
    node.id && document.querySelector(`label[for="${CSS.escape(node.id)}"]`)))
  .map((node) => node.outerHTML.slice(0, 200))"""


def test_the_keyboard_alone_drives_and_everything_has_a_name(studio, page):
    page.keyboard.press("Escape")  # out of the text field
    page.keyboard.press("p")
    until(lambda: not studio.playing)
    with studio.busy:
        held = studio.subject.time
    page.keyboard.press("n")
    until(lambda: studio.subject.time == pytest.approx(held + 0.01))
    page.keyboard.press("m")
    until(lambda: studio.driver.value(studio.mode) == TARGET)
    page.keyboard.press("m")
    until(lambda: studio.driver.value(studio.mode) == SLIDERS)
    page.keyboard.press("Shift+?")
    page.get_by_text("record; again: keep the file and replay it").wait_for()
    page.keyboard.press("Escape")
    page.get_by_text("record; again: keep the file and replay it").wait_for(state="detached")
    assert page.evaluate(NAMELESS) == []
    slider = page.get_by_role("slider", name="finger cable (mm)")
    before = studio.inputs.sliders[studio.subject.actuators[0]][0].value
    slider.press("ArrowRight")
    until(lambda: studio.inputs.sliders[studio.subject.actuators[0]][0].value > before)
    slider.press("ArrowLeft")
    folder = page.get_by_role("button", name="Look")
    assert folder.get_attribute("aria-expanded") == "true"
    folder.press("Enter")
    until(lambda: folder.get_attribute("aria-expanded") == "false")
    style = folder.evaluate("node => getComputedStyle(node).outlineWidth")
    assert style == "3px", "what has the focus is seen"
    folder.press(" ")
    page.keyboard.press("p")
    until(lambda: studio.playing)
    assert studio.error is None


def test_a_reload_keeps_the_state_and_follows_a_dark_browser(studio, page):
    box = slider_box(page, "finger cable (mm)")
    box.fill("24")
    box.press("Enter")
    until(lambda: studio.inputs.sliders[studio.subject.actuators[0]][0].value == 24.0)
    held = studio.subject.time
    page.emulate_media(color_scheme="dark")
    page.reload()
    page.get_by_text("finger cable (mm)").wait_for(timeout=60_000)
    page.add_style_tag(content=".mantine-Notifications-root{display:none}")
    assert slider_box(page, "finger cable (mm)").input_value() == "24"
    until(lambda: page.get_by_text(" mm").count() > 0)
    until(lambda: np.abs(shown_tip(page) - 1e3 * studio.subject.frame().tip).max() < 1.0)
    assert studio.playing
    assert clock(page) > held - 1.0, "the simulation went on; it did not start over"
    until(lambda: studio.dark)
    page.locator("html[data-mantine-color-scheme=dark]").wait_for()
    page.keyboard.press("l")
    until(lambda: not studio.dark)


def test_the_picture_is_not_blank_and_can_be_downloaded(studio, page):
    matplotlib = pytest.importorskip("matplotlib.image")
    button = page.get_by_role("button", name="Screenshot")
    button.wait_for()

    shots = []

    def shows_something():
        """Whether a picture has many colours: the page fills slowly."""
        with page.expect_download(timeout=60_000) as download:
            button.press("Enter")
        shots.append(matplotlib.imread(io.BytesIO(download.value.path().read_bytes())))
        return len(np.unique(np.round(8 * shots[-1][..., :3]).reshape(-1, 3), axis=0)) > 8

    until(shows_something)
    picture = shots[-1]
    assert picture.shape[:2] == (SIZE[1], SIZE[0])
    bluish = (picture[..., 2] - picture[..., 0] > 0.1).mean()
    assert bluish > 0.005, "the finger is somewhere"
    corner = picture[:20, :20, :3].mean(axis=(0, 1))
    assert np.abs(corner - [0.88, 0.9, 0.93]).max() < 0.03, "the background of exported pictures"


def test_the_tip_follows_a_target_that_is_dragged(studio, page):
    box = slider_box(page, "finger cable (mm)")
    box.fill("24")  # from rest, one cable cannot lift the tip
    box.press("Enter")
    until(lambda: shown_tip(page)[2] < 1e3 * studio._gizmos._start[2] - 5.0)
    page.get_by_role("textbox", name="drive").or_(page.locator("input[value^='direct']")).first.click()
    page.get_by_text(TARGET).last.click()
    until(lambda: studio._gizmos.target.visible)
    (client,) = studio.server.get_clients().values()
    start, size = studio._gizmos.aimed, studio._scene_view.size
    grip, pulled = (on_screen(client, start + np.array([0, 0, up * size])) for up in (0.08, 0.28))

    def drag():
        """Pull the arrow of the gizmo up; the page may not show it yet."""
        page.wait_for_timeout(1000)
        page.mouse.move(*grip)
        page.wait_for_timeout(300)
        page.mouse.down()
        for part in np.linspace(0.1, 1.0, 8):
            page.mouse.move(*(grip + part * (pulled - grip)))
            page.wait_for_timeout(60)
        page.mouse.up()
        page.wait_for_timeout(700)
        return studio._gizmos.aimed[2] > start[2] + 0.1 * size

    until(drag)
    until(lambda: shown_tip(page)[2] > 1e3 * start[2] + 3.0)  # one cable cannot reach it, but comes as near as it can
    assert studio.error is None


def test_a_second_browser_watches_until_it_takes_over(studio, browser, page):
    """On a phone, whose page is drawn quickly too."""
    other = browser.new_page(viewport={"width": 390, "height": 620})
    other.set_default_timeout(90_000)
    try:
        other.goto(studio.url)
        first = studio.driver.current
        other.get_by_text("drives; you").wait_for(timeout=60_000)
        other.get_by_role("button", name="Pause").press("Enter")
        other.get_by_text("You are watching").first.wait_for(timeout=20_000)
        assert studio.playing, "a watcher cannot stop it"
        assert other.evaluate("document.documentElement.scrollWidth <= innerWidth"), "nothing sticks out at the side"
        other.get_by_role("button", name="Take over").press("Enter")
        until(lambda: studio.driver.current not in (first, None))
        other.get_by_role("button", name="Pause").press("Enter")
        until(lambda: not studio.playing)
    finally:
        other.close()
    until(lambda: studio.driver.current is None)
    assert studio.error is None, "a browser that goes away takes nothing with it"


def test_a_camera_follows_until_a_person_turns_it(studio, page):
    """What leaves the picture is followed by a camera that nobody turned; “Show all” brings back one that was."""
    (client,) = studio.server.get_clients().values()
    framing = studio._scene_view.framing
    studio.fit()
    until(lambda: np.linalg.norm(client.camera.look_at - framing.center) < 1e-3 * framing.size)
    lower, upper, before = framing.lower, framing.upper, np.array(client.camera.position)
    framing.follow(lower - 0.5 * (upper - lower), upper)
    page.wait_for_timeout(1000)
    assert np.linalg.norm(client.camera.position - before) > 0.1 * framing.size, "it stepped back"
    page.mouse.move(200, 120)
    page.mouse.down()
    for k in range(8):
        page.mouse.move(200 + 12 * k, 120)
        page.wait_for_timeout(60)
    page.mouse.up()
    page.wait_for_timeout(1500)
    turned = np.array(client.camera.position)
    framing.follow(framing.lower - 0.5 * (upper - lower), framing.upper)
    page.wait_for_timeout(1500)
    assert np.linalg.norm(client.camera.position - turned) < 0.02 * framing.size, "it stays where it was turned to"
    page.keyboard.press("f")
    until(lambda: np.linalg.norm(client.camera.look_at - framing.center) < 1e-2 * framing.size)
    until(lambda: np.linalg.norm(client.camera.position - turned) > 0.1 * framing.size)
    assert page.problems == []


def children(number):
    """Processes that `number` started."""
    found = subprocess.run(["ps", "-o", "pid=", "--ppid", str(number)], capture_output=True, text=True)
    return found.stdout.split()


@pytest.mark.skipif(shutil.which("ps") is None, reason="needs ps")
def test_closing_leaves_no_process_behind(tmp_path):
    file = tmp_path / "scene.py"
    file.write_text(SCENE)
    command = [sys.executable, "-u", "-c", "from pliant.cli import main; main()", "view", str(file), "--port", "0"]
    with subprocess.Popen([*command, "--no-browser"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as run:
        lines = iter(run.stdout.readline, "")
        assert any("Ctrl-C ends it" in line for line in lines), run.stderr.read()
        own = children(run.pid)
        run.send_signal(signal.SIGINT)
        _, errors = run.communicate(timeout=30)
    assert run.returncode == 0, errors
    assert "Traceback" not in errors
    assert not [number for number in own if os.path.exists(f"/proc/{number}")]
