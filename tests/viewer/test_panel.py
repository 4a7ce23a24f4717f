"""Pieces of the panel: tables, the bar of stages, and the curve of the last steps against real time."""

import re

import numpy as np
import pytest

from pliant.viewer.panel import _STAGES, strip_html, table_html


def curve_of(drawn):
    """Points (k, 2) of the curve, height of the dashed line or None, size of the box."""
    points = re.search(r'points="([^"]*)"', drawn)[1].split()
    line = re.search(r'y1="([\d.]+)" y2="([\d.]+)"', drawn)
    assert line is None or line[1] == line[2]
    box = re.search(r'viewBox="0 0 ([\d.]+) ([\d.]+)"', drawn)
    return (
        np.array([[float(x) for x in point.split(",")] for point in points]),
        None if line is None else float(line[1]),
        (float(box[1]), float(box[2])),
    )


@pytest.mark.parametrize(
    ("seconds", "budget"), [([0.0, 0.5, 1.0], None), ([0.001, 0.002, 0.004, 0.008], 0.01), ([0.05, 0.1], 0.01)]
)
def test_times_are_drawn_from_zero_upwards_with_real_time_on_the_same_scale(seconds, budget):
    points, line, (width, height) = curve_of(strip_html({}, seconds, budget))
    np.testing.assert_allclose(points[:, 0], np.linspace(0.0, width, len(seconds)), atol=0.05)
    top = max([*seconds] if budget is None else [*seconds, 1.2 * budget])
    np.testing.assert_allclose(points[:, 1], height * (1.0 - np.array(seconds) / top), atol=0.051)
    assert (points >= 0.0).all()
    assert (points[:, 1] <= height).all()
    if budget is None:
        assert line is None
    else:
        assert line == pytest.approx(height * (1.0 - budget / top), abs=0.051)
        assert 0.0 < line < height, "the line can be seen"


def test_the_curve_says_how_many_steps_and_what_real_time_allows():
    assert "svg" not in strip_html({}, [0.01], 0.01), "one step is no curve"
    drawn = strip_html({}, [0.01, 0.02], 0.0125)
    assert "last 2 steps" in drawn
    assert "real time: 12.5 ms a step" in drawn
    assert "real time" not in strip_html({}, [0.01, 0.02], None)


def test_any_number_of_stages_is_drawn_the_last_in_one_colour():
    stages = {f"s{k}": 1e-3 * (20 - k) for k in range(12)}
    drawn = strip_html(stages, [], None)
    widths = [float(text) for text in re.findall(r"width:([\d.]+)%", drawn)]
    assert widths == pytest.approx([100.0 * span / sum(stages.values()) for span in stages.values()], abs=0.051)
    colors = re.findall(r"width:[\d.]+%;background:(#\w+)", drawn)
    assert colors[:8] == list(_STAGES)
    assert set(colors[8:]) == {_STAGES[-1]}
    assert drawn.count("■") == 6, "a legend of the six that take longest"
    (told,) = re.findall('aria-label="([^"]*)"', drawn)
    assert told == ", ".join(f"s{k} {20 - k:.2f} ms" for k in range(6))
    assert re.findall('color:(#\\w+)">■</i> s2 18.00', drawn) == [_STAGES[2]]


def test_stages_that_take_no_time_are_drawn():
    drawn = strip_html({"a": 0.0, "b": 0.0}, [], None)
    assert drawn.count("width:0.0%") == 2


def test_the_slow_row_alone_is_red_and_words_are_escaped():
    html = table_html([("a", "<1>"), ("b & c", "2")], red="b & c")
    assert re.findall(r'<tr( class=pliant-slow)?><th scope="row">(.*?)</th><td>(.*?)</td></tr>', html) == [
        ("", "a", "&lt;1&gt;"), (" class=pliant-slow", "b &amp; c", "2"),
    ]  # fmt: skip
    assert "pliant-slow" not in table_html([("a", "1")])
