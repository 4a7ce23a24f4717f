"""Sliders and the controls they stand for: limits, travel, units, resetting."""

from types import SimpleNamespace

import numpy as np
import pytest

import pliant as pl
from pliant.viewer.inputs import Inputs, Range, _frame_range, scalar, world_ranges
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


def test_every_value_of_a_handle_has_its_slider_unit_and_factor():
    low, high, start = np.array([[-0.02, -np.pi], [0.02, np.pi], [0.01, 0.5 * np.pi]])
    factor = np.array([1e3, 180.0 / np.pi])
    inputs = inputs_of(Range("base", ("push", "turn"), ("mm", "°"), factor, low, high, start, lambda v: v.copy()))
    push, turn = inputs.sliders["base"]
    assert (push.label, turn.label) == ("base push (mm)", "base turn (°)")
    assert [push.min, push.max, push.value] == pytest.approx([-20.0, 20.0, 10.0])
    assert [turn.min, turn.max, turn.value] == pytest.approx([-180.0, 180.0, 90.0])
    push.value, turn.value = -20.0, 180.0
    np.testing.assert_allclose(inputs.controls(0.1)["base"], [0.01 - 0.2 * 0.04, 0.5 * np.pi + 0.2 * 2 * np.pi])
    assert not inputs.settled
    np.testing.assert_allclose(inputs.controls(10.0)["base"], [-0.02, np.pi])
    assert inputs.settled
    turn.value = 179.0
    assert not inputs.settled, "one of two has not arrived"


@pytest.mark.parametrize("span", [1.0, 3.0, 0.04, 360.0, 5000.0, 7e-7])
def test_a_slider_moves_by_one_two_or_five_powers_of_ten_about_a_pixel(span):
    gui = Gui()
    inputs = Inputs(gui, [scalar("x", "", 1.0, (0.0, span, 0.0), float)], AnyDriver())
    (slider,) = inputs.sliders["x"]
    digits = f"{slider.step:.3e}".partition("e")[0]
    assert digits in ("1.000", "2.000", "5.000")
    assert 1 / 1000 <= slider.step / span <= 1 / 150, "about 1 / 400"


def test_what_an_inverse_found_is_shown_on_the_grid_of_the_slider():
    inputs = inputs_of(pull())
    (slider,) = inputs.sliders["pull"]
    inputs.follow("pull", 1.23456789)
    assert slider.value == pytest.approx(slider.step * round(1234.56789 / slider.step), abs=1e-3 * slider.step)
    assert inputs.controls(0.0)["pull"].value == pytest.approx(1.23456789)
    inputs.follow("another", 3.0)
    assert inputs.controls(0.0)["pull"].value == pytest.approx(1.23456789)
    two = inputs_of(Range("two", ("a", "b"), "", 1.0, *np.array([[0.0, 0], [1, 1], [0, 0]]), lambda v: v.copy()))
    two.follow("two", 0.5)
    assert not two.controls(0.0)["two"].any(), "an inverse tells numbers only"


def test_a_range_may_set_controls_of_several_handles():
    both = Range("both", ("",), "", 1.0, *np.array([[0.0], [2.0], [1.0]]), lambda v: {"a": v[0], "b": -v[0]})
    inputs = inputs_of(both, pull())
    controls = inputs.controls(0.0)
    assert set(controls) == {"a", "b", "pull"}
    assert (controls["a"], controls["b"]) == (1.0, -1.0)


def test_actuators_and_loads_stand_in_folders_of_their_own_and_equal_names_are_numbered():
    scene, body = bar((0.1, 0.02, 0.02), (2, 1, 1), clamp=None, name="bar")
    end, other = (pl.regions.plane(axis="x", at=at) for at in (0.1, 0.0))
    things = [
        pl.PointLoad(body, end, (0.0, -3.0, 1.0)), pl.PointLoad(body, other, (0.0, 0.0, 0.0)),
        pl.PressureLoad(body, end, 50.0), pl.Support(body, other),
        pl.Cable(body, [(0.1, 0.01, 0.01), (0.0, 0.01, 0.01)], max_force=3.0, name="wire"),
        pl.Cable(body, [(0.1, 0.0, 0.0), (0.0, 0.0, 0.0)], name="wire 2"),
    ]  # fmt: skip
    for thing in things:
        scene.add(thing)
    made = []

    class Ordered(Gui):
        def add_folder(self, title, order):
            made.append((title, order, []))
            return Folder()

        def add_slider(self, text, *rest):
            made[-1][2].append(text)
            return super().add_slider(text, *rest)

    gui = Ordered()
    inputs = Inputs(gui, list(world_ranges(scene.compile())), AnyDriver(), order=30.0)
    (first, at, actuators), (second, after, loads) = made
    assert (first, second) == ("Actuators", "Loads and supports")
    assert 30.0 <= at < after < 40.0
    assert actuators == ["wire (N)", "wire 2 (mm)"]
    assert loads[0::1] == [
        *(f"force on bar 1 {axis} (N)" for axis in "xyz"), *(f"force on bar 2 {axis} (N)" for axis in "xyz"),
        "pressure on bar (kPa)", *(f"support of bar {axis} (mm)" for axis in "xyz"),
    ]  # fmt: skip
    assert gui.notes == [
        '<div class="pliant-note">Usual ranges, since no limits are given: wire 2 (max_displacement).</div>'
    ]
    pressure = inputs.sliders[things[2]][0]
    assert [pressure.min, pressure.max, pressure.value] == pytest.approx([-0.1, 0.1, 0.05])
    unloaded = inputs.sliders[things[1]]
    assert [(slider.min, slider.max) for slider in unloaded] == [(-1.0, 1.0)] * 3, "a usual range"


def test_three_actuators_without_limits_are_all_named():
    gui = Gui()
    Inputs(gui, [Range(n, ("",), "", 1.0, *np.zeros((3, 1)), float, missing="m") for n in "abc"], AnyDriver())
    assert "a (m), b (m), c (m)." in gui.notes[0]


def test_a_rod_is_pushed_along_itself_and_turned_about_its_axis():
    """Its supports hold frames; the values of both sliders arrive in the one they belong to."""
    scene = pl.Scene()
    material = {"section": pl.sections.Circle(0.002), "young": 1e7, "poisson": 0.4, "density": 1000.0}
    rod = scene.add(pl.Rod(0.3, 4, base="free", position=(1, 2, -3), **material))
    base = scene.add(pl.Support(rod, [0], rotation=(0, 0, 0)))
    (r,) = world_ranges(scene.compile())
    assert r.handle is base
    assert (r.labels, r.unit) == (("push", "turn"), ("mm", "°"))
    np.testing.assert_allclose(r.factor * np.array([1.0, np.pi]), [1e3, 180.0])
    assert r.high[1] == -r.low[1] == np.pi
    assert r.high[0] == -r.low[0] == pytest.approx(0.04), "between a tenth and a quarter of its length"
    np.testing.assert_array_equal(r.start, np.zeros(2))
    place, turn = base.placement(None)
    moved = r.control(np.array([0.02, 0.5])).value
    np.testing.assert_allclose(moved[0] - place, [0.02, 0.0, 0.0], atol=1e-15)
    np.testing.assert_allclose(moved[1] - turn, [0.5, 0.0, 0.0], atol=1e-15)


@pytest.mark.parametrize(("axes", "rotation"), [("xy", (0, 0, 0)), ("z", (0, 0, 0)), ("xyz", None)])
def test_frames_that_are_not_held_along_all_axes_are_moved_along_those_that_are(axes, rotation):
    material = {"section": pl.sections.Circle(0.002), "young": 1e7, "poisson": 0.4, "density": 1000.0}
    rod = pl.Rod(0.3, 4, base="free", **material)
    r = _frame_range(pl.Support(rod, [0], axes=axes, rotation=rotation), None)
    assert (r.labels, r.unit, r.factor) == (tuple(axes), "mm", 1e3)
    assert len(r.low) == len(r.high) == len(axes)
    control = r.control(np.arange(1.0, 1.0 + len(axes)))
    assert isinstance(control, pl.Displacement)
    np.testing.assert_array_equal(control.value, np.arange(1.0, 1.0 + len(axes)))
