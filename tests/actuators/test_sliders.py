"""Sliders of actuators: ranges within the limits, usual ones where there are none, and readings in their units."""

import numpy as np
import pytest

import pliant as pl
from scenes import RUBBER, bar, hollow_box

ROD = {"section": pl.sections.Circle(0.005), "young": 1e7, "poisson": 0.3, "density": 1e3}
LENGTH = 0.3


def cable(**limits):
    _, body = bar()
    return pl.Cable(body, [(0.0, 0.01, 0.015), (0.1, 0.01, 0.015)], **limits)


def ball():
    return pl.RigidBody.sphere(radius=0.1, mass=1.0)


def rod(base="fixed"):
    return pl.Rod(LENGTH, 2, base=base, **ROD)


TRAVEL, SPIN = ("displacement", "force", "m", "N"), ("angle", "torque", "rad", "N·m")
TWO_WAY = {
    "slider": (lambda **limits: pl.Slider(ball(), (0, 0, 1), **limits), TRAVEL, "force"),
    "hinge": (lambda **limits: pl.Hinge(ball(), (0, 0, 1), point=(0, 0, 0), **limits), SPIN, "torque"),
    "sliding base": (lambda **limits: pl.BaseDrive(rod(pl.Slide()), **limits), TRAVEL, "force"),
}
"""How each is made, what its displacement and force are called, their units, and the name of its force limits."""
USUAL = {"m": 0.04, "rad": 1.5}
VALUES = {"m": pl.Displacement, "rad": pl.Angle, "N": pl.Force, "N·m": pl.Torque}


def closest_to_zero(low, high):
    return min(max(0.0, low), high)


def assert_usable(actuator, found):
    """Every place of the slider makes a control value that the actuator accepts, and the slider reads it back."""
    for amount in np.linspace(found.low, found.high, 5):
        value = found.make(float(amount))
        command = actuator.command(value)
        assert command.amount == pytest.approx(amount)
        own, other = float(amount), 1e9
        pair = (other, own) if command.by_force else (own, other)
        assert actuator.slider_amount(*pair) == own
    assert found.low <= found.start <= found.high


@pytest.mark.parametrize("kind", TWO_WAY)
@pytest.mark.parametrize("bounded", [(), ("low",), ("high",), ("low", "high")])
@pytest.mark.parametrize("forces", [(), ("low",), ("low", "high")])
def test_the_slider_of_a_drive_is_its_travel_or_its_force_where_only_that_is_limited(kind, bounded, forces):
    """What is not limited has a usual range, and the names of the missing limits."""
    make, (travel, _, unit, force_unit), force = TWO_WAY[kind]
    limits = {f"{'min' if end == 'low' else 'max'}_{travel}": {"low": -0.3, "high": 0.9}[end] for end in bounded}
    limits |= {f"{'min' if end == 'low' else 'max'}_{force}": {"low": 2.0, "high": 7.0}[end] for end in forces}
    actuator = make(**limits)
    found = actuator.control_range()
    if not bounded and len(forces) == 2:
        assert (found.unit, found.low, found.high, found.start, found.missing) == (force_unit, 2.0, 7.0, 2.0, "")
    else:
        low, high = (-0.3 if "low" in bounded else -USUAL[unit]), (0.9 if "high" in bounded else USUAL[unit])
        missing = [name for name in (f"min_{travel}", f"max_{travel}") if name not in limits]
        assert (found.unit, found.low, found.high, found.start) == (unit, low, high, 0.0)
        assert found.missing == ", ".join(missing)
    assert found.make(1.0) == VALUES[found.unit](1.0)
    assert_usable(actuator, found)


@pytest.mark.parametrize(
    ("limits", "expected"),
    [
        ({}, (-5.0, 5.0, 0.0, "min_force, max_force")),
        ({"max_force": 2.0}, (-5.0, 2.0, 0.0, "min_force")),
        ({"min_force": -3.0}, (-3.0, 5.0, 0.0, "max_force")),
        ({"min_force": 0.5, "max_force": 2.0}, (0.5, 2.0, 0.5, "")),
        ({"min_force": -2.0, "max_force": -1.0}, (-2.0, -1.0, -1.0, "")),
    ],
)
def test_the_slider_of_a_force_is_that_force(limits, expected):
    _, body = bar()
    point = pl.ForcePoint(body, (0.1, 0.01, 0.01), direction=(0, 0, 1), **limits)
    found = point.control_range()
    assert (found.low, found.high, found.start, found.missing) == expected
    assert found.unit == "N"
    assert_usable(point, found)


@pytest.mark.parametrize(
    ("limits", "expected"),
    [
        ({}, ("m", 0.0, 0.025, 0.0, "max_displacement")),  # a quarter of its length
        ({"max_displacement": 0.01, "max_force": 5.0}, ("m", 0.0, 0.01, 0.0, "")),
        ({"max_force": 5.0}, ("N", 0.0, 5.0, 0.0, "")),
        ({"max_force": 5.0, "min_force": 1.0}, ("N", 1.0, 5.0, 1.0, "")),
    ],
)
def test_the_slider_of_a_cable_is_its_shortening_or_its_tension(limits, expected):
    found = cable(**limits).control_range()
    assert (found.unit, found.low, found.high, found.start, found.missing) == expected
    assert_usable(cable(**limits), found)


def test_the_usual_shortening_of_long_cables_and_of_those_between_bodies_is_that_of_a_drive():
    """A quarter of the length within one body and along a rod, to two digits, and never more than 4 cm."""
    _, body = bar(size=(0.4, 0.02, 0.02), cells=(8, 1, 1))
    long = pl.Cable(body, [(0.0, 0.01, 0.015), (0.4, 0.01, 0.015)])
    assert long.control_range().high == 0.04
    between = pl.Cable([body, ball()], [(0.0, 0.01, 0.015), (0.0, 0.0, 0.01)])
    assert between.control_range().high == 0.04
    bent = pl.Cable(body, [(0.0, 0.01, 0.015), (0.03, 0.01, 0.015), (0.03, 0.01, 0.005)])
    assert bent.control_range().high == 0.01
    pulled = pl.Cable(body, [(0.0, 0.01, 0.015), (0.1234, 0.01, 0.015)], pull_point=(-1.0, 0.0, 0.0))
    assert pulled.control_range().high == 0.031
    assert pl.Tendon(pl.Rod(0.1, 2, **ROD), (0.004, 0.0)).control_range().high == 0.025


@pytest.mark.parametrize(
    ("young", "limits", "expected"),
    [
        (1e5, {}, ("Pa", 0.0, 1e4, 0.0, "max_pressure")),  # a tenth of Young's modulus
        (1e7, {}, ("Pa", 0.0, 3e4, 0.0, "max_pressure")),  # at most 30 kPa
        (1e5, {"min_pressure": 2e3}, ("Pa", 2e3, 1.2e4, 2e3, "max_pressure")),
        (1e5, {"min_pressure": -2e3}, ("Pa", -2e3, 1e4, 0.0, "max_pressure")),
        (1e5, {"max_pressure": 6e3}, ("Pa", 0.0, 6e3, 0.0, "")),
        (1e5, {"min_pressure": 1e3, "max_pressure": 6e3, "max_growth": 1e-6}, ("Pa", 1e3, 6e3, 1e3, "")),
        (1e5, {"max_growth": 1e-6}, ("m³", 0.0, 1e-6, 0.0, "")),
    ],
)
def test_the_slider_of_a_chamber_is_its_pressure_or_its_growth(young, limits, expected):
    chamber = pl.Cavity(hollow_box(pl.materials.NeoHookean(young=young, poisson=0.4, density=1e3)), **limits)
    found = chamber.control_range()
    assert (found.unit, found.low, found.high, found.start, found.missing) == pytest.approx(expected)
    assert_usable(chamber, found)


@pytest.mark.parametrize(("limit", "high"), [(np.inf, 0.2), (0.1, 0.1), (0.5, 0.2)])
def test_the_slider_of_a_layer_is_a_fifth_of_its_area_or_its_limit(limit, high):
    mesh = pl.mesh.box((0.04, 0.03, 0.02), (3, 2, 2))
    region = pl.regions.box((-1.0, -1.0, 0.01), (1.0, 1.0, 1.0))
    area = 0.04 * 0.03
    layer = pl.Layer(pl.Volume(mesh, RUBBER), region, normal=(0, 0, 1), thickness=0.01, max_growth=limit * area)
    found = layer.control_range()
    assert (found.low, found.high, found.start, found.unit) == pytest.approx((-high * area, high * area, 0.0, "m²"))
    assert_usable(layer, found)


def test_the_slider_of_a_stiffness_is_its_modulus():
    _, body = bar()
    found = pl.Stiffness(body, min_young=5e4, max_young=4e5).control_range()
    assert (found.low, found.high, found.start, found.unit) == (5e4, 4e5, RUBBER.young, "Pa")


@pytest.mark.parametrize(
    ("actuator", "values", "text"),
    [
        (lambda: cable(), (0.0123, 2.345), "12.3 mm  2.35 N"),
        (lambda: pl.Hinge(ball(), (0, 0, 1), point=(0, 0, 0)), (np.pi / 3, 0.12345), "60.0°  0.123 N·m"),
        (lambda: pl.Cavity(hollow_box()), (2.5e-6, 1234.0), "+2.50 mL  1.23 kPa"),
        (lambda: pl.Cavity(hollow_box()), (-2.5e-6, -500.0), "-2.50 mL  -0.50 kPa"),
        (lambda: pl.Stiffness(bar()[1], min_young=5e4, max_young=4e5), (0.0, 2.5e4), "125.0 kPa"),
    ],
)
def test_readings_have_the_units_that_people_use(actuator, values, text):
    assert actuator().reading(np.array(values)) == text
