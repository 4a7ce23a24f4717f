"""Sliders and the controls they stand for: limits, travel, units, resetting."""

from types import SimpleNamespace

import numpy as np
import pytest

import pliant as pl
from pliant.viewer.inputs import Inputs, Range, scalar, world_ranges
from pliant.viewer.panel import strip_html
from scenes import bar


class Folder:
    def __enter__(self):
        return self

    def __exit__(self, *error):
        pass


class Gui:
    """A panel without a browser; `notes` are its texts."""

    def __init__(self):
        self.notes = []

    def add_folder(self, title, order):
        return Folder()

    def add_slider(self, text, low, high, step, start):
        return SimpleNamespace(label=text, min=low, max=high, step=step, value=start, disabled=False)

    def add_html(self, text):
        self.notes.append(text)


class AnyDriver:
    """Accepts whatever a slider stands at."""

    def guard(self, slider):
        return slider

    def value(self, slider):
        return slider.value


def inputs_of(*ranges):
    return Inputs(Gui(), ranges, AnyDriver())


def pull(**options):
    """A range of 0 to 5 N, shown in mN, that starts at 1 N."""
    return scalar("pull", "mN", 1e3, (0.0, 5.0, 1.0), pl.Force, **options)


@pytest.mark.parametrize(("asked", "reached"), [(9e9, 5.0), (-9e9, 0.0), (3000.0, 3.0)])
def test_a_value_goes_to_its_slider_but_not_beyond_its_limits(asked, reached):
    inputs = inputs_of(pull())
    (slider,) = inputs.sliders["pull"]
    assert (slider.min, slider.max, slider.value, slider.label) == (0.0, 5000.0, 1000.0, "pull (mN)")
    slider.value = asked
    values = [inputs.controls(0.1)["pull"].value for _ in range(12)]
    assert values[-1] == pytest.approx(reached)
    assert np.abs(np.diff([1.0, *values])).max() <= 5.0 * 0.1 / 0.5 + 1e-12, "the whole range takes half a second"
    assert inputs.settled is (0.0 <= asked <= 5000.0)


def test_without_time_a_value_goes_by_its_stride():
    zero, one = np.zeros(1), np.ones(1)
    inputs = inputs_of(Range("x", ("",), "", 1.0, zero, 4.0 * one, one, lambda v: float(v[0]), stride=0.25))
    inputs.sliders["x"][0].value = 2.0
    assert [inputs.controls(0.0)["x"] for _ in range(5)] == [1.25, 1.5, 1.75, 2.0, 2.0]


def test_what_an_inverse_found_moves_the_slider_within_its_limits():
    inputs = inputs_of(pull())
    (slider,) = inputs.sliders["pull"]
    inputs.follow("pull", 2.0)
    assert slider.value == pytest.approx(2000.0, abs=slider.step)
    assert inputs.controls(0.0)["pull"].value == 2.0
    for amount, end in ((7.0, 5.0), (-1.0, 0.0)):
        inputs.follow("pull", amount)
        assert inputs.controls(0.0)["pull"].value == end
        assert slider.value == pytest.approx(1e3 * end)


def test_reset_brings_value_and_slider_to_the_start():
    inputs = inputs_of(pull())
    (slider,) = inputs.sliders["pull"]
    slider.value = 4000.0
    inputs.controls(10.0)
    inputs.reset()
    assert slider.value == 1000.0
    assert inputs.controls(0.0)["pull"].value == 1.0


def test_sliders_of_others_stay_enabled():
    inputs = inputs_of(pull(), scalar("push", "N", 1.0, (0.0, 1.0, 0.0), pl.Force))
    inputs.set_disabled(["push"])
    assert [inputs.sliders[name][0].disabled for name in ("pull", "push")] == [False, True]
    inputs.set_disabled([])
    assert not inputs.sliders["push"][0].disabled


def test_limits_that_were_not_given_are_named():
    inputs = inputs_of(*(Range(n, ("",), "", 1.0, *np.zeros((3, 1)), float, missing="max_force") for n in "abcd"))
    gui = Gui()
    Inputs(gui, inputs._ranges, AnyDriver())
    (note,) = gui.notes
    assert "a (max_force), b (max_force), c (max_force) and 1 more" in note


def test_ranges_of_loads_and_supports():
    """Twice the load to both sides, a usual range for one that starts at zero, a quarter of the size for a support."""
    scene, body = bar((0.1, 0.02, 0.02), (2, 1, 1), clamp=None)
    end = pl.regions.plane(axis="x", at=0.1)
    load = scene.add(pl.PointLoad(body, end, (0.0, -3.0, 1.0)))
    air = scene.add(pl.PressureLoad(body, end, 0.0))
    base = scene.add(pl.Support(body, pl.regions.plane(axis="x", at=0.0)))
    found = {r.handle: r for r in world_ranges(scene.compile())}
    np.testing.assert_array_equal(found[load].low, [-6.0, -6.0, -6.0])
    np.testing.assert_array_equal(found[load].high, [6.0, 6.0, 6.0])
    np.testing.assert_array_equal(found[load].start, [0.0, -3.0, 1.0])
    assert (found[air].unit, found[air].factor, found[air].low[0], found[air].high[0]) == ("kPa", 1e-3, -1e4, 1e4)
    np.testing.assert_allclose(found[base].high - found[base].start, 0.02)
    np.testing.assert_allclose(found[base].low, -found[base].high)
    assert (found[base].unit, found[base].factor) == ("mm", 1e3)
    control = found[base].control(np.array([0.01, 0.0, 0.02]))
    assert isinstance(control, pl.Displacement)
    np.testing.assert_array_equal(control.value, [0.01, 0.0, 0.02])


def test_stages_are_drawn_with_the_costliest_first_and_in_proportion():
    drawn = strip_html({"cheap": 1e-3, "free": 1e-9, "dear": 3e-3}, [], None)
    assert 'aria-label="dear 3.00 ms, cheap 1.00 ms, free 0.00 ms"' in drawn
    assert "</i> dear 3.00" in drawn
    assert "</i> cheap 1.00" in drawn
    assert "</i> free" not in drawn, "too short to be seen"
    assert drawn.index("width:75.0%") < drawn.index("width:25.0%")
