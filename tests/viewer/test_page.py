import base64
import io
import json
import re

import numpy as np
import pytest

from pliant.core.errors import InputError
from pliant.viewer.page import SurfaceFrames, write_page


def times_of(surface):
    return np.linspace(0.0, 2.0, len(surface.frames))


def write(path, surface, **options):
    options = {"times": times_of(surface), "title": "Beam", **options}
    return write_page(path / "page.html", surfaces=[surface], **options)


def page_data(text):
    (found,) = re.findall(r'<script type="application/json" id="data">(.*?)</script>', text, re.DOTALL)
    return json.loads(found)


def levels(text, kind="<u2"):
    return np.frombuffer(base64.b64decode(text), dtype=kind)


def test_positions_and_values_survive_the_page(tmp_path, beam):
    data = page_data(write(tmp_path, beam).read_text(encoding="utf-8"))
    (surface,) = data["surfaces"]
    used = np.unique(beam.triangles)
    assert data["times"] == pytest.approx(times_of(beam).tolist(), rel=1e-8, abs=0.0)
    assert (surface["frameCount"], surface["vertexCount"]) == (20, len(used))
    lower, upper = np.array(surface["lower"]), np.array(surface["upper"])
    stored = lower + (upper - lower) * levels(surface["positions"]).reshape(20, len(used), 3) / 65535
    assert np.all(np.abs(stored - beam.frames[:, used]) < (upper - lower) / 60000)
    values = surface["low"] + (surface["high"] - surface["low"]) * levels(surface["values"]).reshape(20, -1) / 65535
    assert np.abs(values - beam.values[:, used]).max() < np.ptp(beam.values) / 60000
    corners, source = levels(surface["corners"], "<u4").reshape(-1, 3), levels(surface["source"], "<u4")
    assert np.array_equal(used[source[corners]], beam.triangles)


def test_page_reaches_for_nothing_outside(tmp_path, beam):
    text = write(tmp_path, beam).read_text(encoding="utf-8")
    assert [url for url in re.findall(r"https?://[^\s\"'<]*", text) if "www.w3.org" not in url] == []
    assert re.findall(r"(?:src|href)=\"(?!data:)", text) == []
    assert "default-src 'none'" in text
    assert "{{" not in text


def test_page_is_small(tmp_path, make_beam):
    surface = make_beam(cells=(26, 5, 5), instants=200)
    assert len(np.unique(surface.triangles)) > 550
    assert write(tmp_path, surface).stat().st_size < 1_500_000


def test_text_is_escaped(tmp_path, beam):
    evil = "</script><script>alert(1)</script> {{data}} & <b>"
    named = SurfaceFrames(beam.triangles, beam.frames, beam.values, evil, evil)
    text = write(tmp_path, named, title=evil, caption=evil, stats={evil: evil}).read_text(encoding="utf-8")
    assert "alert(1)</script>" not in text
    assert "<title>&lt;/script&gt;&lt;script&gt;alert(1)&lt;/script&gt; {{data}} &amp; &lt;b&gt;</title>" in text
    assert text.count("</script>") == 2
    data = page_data(text)
    assert data["stats"] == [[evil, evil]]
    assert data["scales"][0]["label"] == data["surfaces"][0]["label"] == evil


def test_flat_and_still_surfaces_are_written(tmp_path, beam):
    wall = SurfaceFrames(np.array([[0, 1, 2]]), np.array([[[0, 0, 0], [0, 1, 0], [0, 0, 1.0]]]), None, "wall")
    path = write_page(tmp_path / "p.html", surfaces=[beam, wall], times=times_of(beam), title="", floor=-0.5)
    data = page_data(path.read_text(encoding="utf-8"))
    assert [s["frameCount"] for s in data["surfaces"]] == [20, 1]
    assert [s["scale"] for s in data["surfaces"]] == [0, -1]
    assert data["floor"] == -0.5


def test_wrong_times_are_refused(tmp_path, beam):
    with pytest.raises(InputError, match="increase"):
        write(tmp_path, beam, times=np.zeros(20))
    with pytest.raises(InputError, match="20 frames but 19 instants"):
        write(tmp_path, beam, times=np.arange(19.0))
    with pytest.raises(InputError, match="times must be finite"):
        write(tmp_path, beam, times=np.full(20, np.nan))
    assert list(tmp_path.iterdir()) == []


def open_page(browser, path, **options):
    page = browser.new_page(viewport={"width": 900, "height": 600}, **options)
    page.problems = []
    page.on("console", lambda m: page.problems.append(m.text) if m.type in ("error", "warning") else None)
    page.on("pageerror", lambda error: page.problems.append(str(error)))
    page.on("request", lambda r: None if r.url.startswith(("file:", "data:")) else page.problems.append(r.url))
    page.goto(path.as_uri())
    return page


def pixels(page):
    """The middle of the canvas, where only the body and the floor are, as floats of shape (rows, columns, 3)."""
    image = pytest.importorskip("matplotlib.image")
    shot = page.screenshot(clip={"x": 150, "y": 130, "width": 500, "height": 350})
    return image.imread(io.BytesIO(shot), format="png")[..., :3]


def settle(page):
    page.evaluate("() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")


def wait_until_played(page, time):
    """Wait for the playing page to pass `time` [s]; polled from here, as the page's own policy forbids eval."""
    for _ in range(200):
        if float(page.locator("#scrub").input_value()) > time:
            return
        page.wait_for_timeout(50)
    pytest.fail(f"the page did not play up to {time} s")


def scrub_to(page, time):
    page.evaluate(
        "t => { const s = document.getElementById('scrub'); s.value = t; s.dispatchEvent(new Event('input')); }", time
    )
    settle(page)


def test_page_plays_scrubs_and_turns(tmp_path, beam, browser):
    page = open_page(browser, write(tmp_path, beam, stats={"step": "3 ms"}))
    wait_until_played(page, 0.2)
    page.keyboard.press("Space")
    paused = page.locator("#scrub").input_value()
    page.wait_for_timeout(150)
    assert page.locator("#scrub").input_value() == paused
    assert page.locator("#toggle").get_attribute("aria-label") == "Play"

    scrub_to(page, 0.0)
    straight = pixels(page)
    assert straight.std() > 0.05
    scrub_to(page, 1.0)
    bent = pixels(page)
    assert page.locator("#time").inner_text() == "1.00 / 2.00 s"
    assert np.abs(bent - straight).mean() > 0.01
    # At rest every value is 0, the indigo end; bent, the beam shows the warm colours: red far above blue.
    assert (straight[..., 0] - straight[..., 2]).max() < 0.1
    assert (bent[..., 0] - bent[..., 2]).max() > 0.3

    page.keyboard.press("ArrowRight")
    settle(page)
    assert float(page.locator("#scrub").input_value()) == pytest.approx(20 / 19, abs=1e-6)
    before = pixels(page)
    page.keyboard.press("w")
    settle(page)
    assert page.locator("#wire").get_attribute("aria-pressed") == "true"
    assert np.abs(pixels(page) - before).mean() > 0.001
    page.keyboard.press("w")
    page.mouse.move(400, 300)
    page.mouse.down()
    page.mouse.move(520, 330)
    page.mouse.up()
    settle(page)
    assert np.abs(pixels(page) - before).mean() > 0.01
    page.mouse.dblclick(400, 300)
    settle(page)
    assert np.abs(pixels(page) - before).mean() < 1e-4
    assert page.locator("#stats").inner_text().split() == ["step", "3", "ms"]
    assert page.problems == []


def test_reduced_motion_starts_paused_and_dark_is_dark(tmp_path, beam, browser):
    path = write(tmp_path, beam)
    light = open_page(browser, path, reduced_motion="reduce")
    dark = open_page(browser, path, reduced_motion="reduce", color_scheme="dark")
    for page in (light, dark):
        settle(page)
        assert page.locator("#toggle").get_attribute("aria-label") == "Play"
        assert float(page.locator("#scrub").input_value()) == 0.0
    assert pixels(light).mean() > 0.7
    assert pixels(dark).mean() < 0.3


def test_text_from_the_caller_never_runs(tmp_path, beam, browser):
    evil = "<img src=x onerror=\"document.title='ran'\"></script><script>document.title='ran'</script>"
    named = SurfaceFrames(beam.triangles, beam.frames, None, evil)
    page = open_page(browser, write(tmp_path, named, title=evil, caption=evil, stats={evil: evil}))
    settle(page)
    assert page.title() == evil
    assert page.locator("h1").first.inner_text() == evil
    assert page.problems == []


def test_without_webgl_the_page_says_so(tmp_path, beam, browser):
    page = browser.new_page()
    page.add_init_script("HTMLCanvasElement.prototype.getContext = () => null")
    page.goto(write(tmp_path, beam).as_uri())
    assert page.locator("#message").is_visible()
    assert "WebGL 2" in page.locator("#message").inner_text()
    assert not page.locator("#play").is_visible()


@pytest.mark.parametrize("height", [520, 700])
def test_several_colour_scales_leave_room_for_the_controls(tmp_path, beam, browser, height):
    other = SurfaceFrames(beam.triangles, beam.frames + 0.1, 2.0 * beam.values, "other", "tension (N)")
    stats = {name: "1" for name in ("trunk", "gripper", "error", "step", "cells")}
    path = write_page(
        tmp_path / "p.html", surfaces=[beam, other], times=times_of(beam), title="Two", caption="Both.", stats=stats
    )
    page = open_page(browser, path)
    page.set_viewport_size({"width": 1000, "height": height})
    settle(page)
    boxes = {name: page.locator(name).bounding_box() for name in ("#stats", "#bars", "#play")}
    assert boxes["#play"]["y"] + boxes["#play"]["height"] <= height
    assert boxes["#bars"]["y"] >= boxes["#stats"]["y"] + boxes["#stats"]["height"]
    assert boxes["#bars"]["y"] + boxes["#bars"]["height"] <= boxes["#play"]["y"]
