"""A thin wire under tension is a string: 0.1 mm of nylon at 4 N, whose own stiffness is nothing beside the tension."""

import numpy as np
import pytest

import pliant as pl

LENGTH, TENSION, RADIUS, YOUNG, DENSITY = 0.1, 4.0, 1e-4, 2e9, 1100.0
AREA = np.pi * RADIUS**2
PER_LENGTH = DENSITY * AREA


def string(count):
    """A wire between two points, free to turn there, stretched by the tension when the world begins."""
    scene = pl.Scene(gravity=(0, 0, 0))
    wire = scene.add(
        pl.Rod(
            LENGTH, count, section=pl.sections.Circle(RADIUS), young=YOUNG, poisson=0.3, density=DENSITY, base="free",
            strains=("bend_y", "bend_z", "stretch"), start_strain=np.zeros(6),
            rest_strain=(0, 0, 0, -TENSION / (YOUNG * AREA), 0, 0),
        )
    )  # fmt: skip
    scene.add(pl.Support(wire, [0]))
    scene.attach(wire, points=[(LENGTH, 0, 0)])
    return scene.compile(), wire


def sagged(count):
    world, wire = string(count)
    state, _ = pl.QuasiStatic(tolerance=1e-9)(world, world.initial_state(), {"gravity": (0.0, 0.0, -9.81)})
    return world, wire, state


def middle(state, wire):
    return state.points(wire)[wire.sections // 2, 2]


def test_a_string_sags_by_its_weight_over_its_tension():
    """ρAg L²/8T in the middle, but for the bending stiffness, 4 parts in 100 000: arcs make the parabola."""
    expected = PER_LENGTH * 9.81 * LENGTH**2 / (8.0 * TENSION)
    for count in (2, 8):
        _, wire, state = sagged(count)
        assert -middle(state, wire) == pytest.approx(expected, rel=2e-4)


def test_a_plucked_string_has_its_pitch():
    """f = √(T/ρA)/2L: released from its sag, all odd modes pass zero together after a quarter and three quarters."""
    world, wire, state = sagged(8)
    expected = np.sqrt(TENSION / PER_LENGTH) / (2.0 * LENGTH)
    step = pl.ImplicitMidpoint(1.0 / (80.0 * expected), tolerance=None, newton_iterations=3)
    heights = [middle(state, wire)]
    for _ in range(2 * 80 + 4):
        state, _ = step(world, state)
        heights.append(middle(state, wire))
    heights = np.array(heights)
    after = np.flatnonzero(np.diff(np.sign(heights)))
    crossings = after + heights[after] / (heights[after] - heights[after + 1])
    found = 0.5 * (len(crossings) - 1) / ((crossings[-1] - crossings[0]) * step.dt)
    print(f"{found:.1f} Hz, expected {expected:.1f} Hz, {len(crossings)} passes")
    assert len(crossings) == 4
    assert found == pytest.approx(expected, rel=5e-3)
    assert np.abs(heights).max() < 1.2 * abs(heights[0])
