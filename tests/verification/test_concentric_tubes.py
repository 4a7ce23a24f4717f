"""Concentric tubes against the theory of their robots; the theory and the scenes are in
validation/literature/concentric_tubes.py.
"""

import numpy as np
import pytest

import pliant as pl
from validation.literature.concentric_tubes import (
    EI,
    IN_PLANE,
    INNER,
    YOUNG,
    angles,
    nested,
    pushed,
    pushed_tip,
    torsion,
    tube,
    turned,
)


@pytest.mark.parametrize("angle", [0.0, np.pi / 2, 2.0, np.pi])
def test_two_tubes_that_cannot_twist_have_the_mean_curvature(angle):
    """As vectors, the inner one turned by the angle: aligned, across and opposed."""
    world, outer, inner, base = nested(0.1, 10, (6.0, 10.0), strains=IN_PLANE)
    state = turned(world, base, angle, 2)
    mean = (EI[0] * 6.0 * np.array([1.0, 0.0]) + EI[1] * 10.0 * np.array([np.cos(angle), np.sin(angle)])) / EI.sum()
    for body in (outer, inner):
        bends = np.linalg.norm(state.strains(body)[:, 1:3], axis=1)
        np.testing.assert_allclose(bends, np.linalg.norm(mean), rtol=1e-6)


@pytest.mark.parametrize("shift", [0.02, 0.05, 0.047])
def test_an_inner_tube_that_is_pushed_out_has_three_curvatures(shift):
    """Its straight part bends the outer tube less, its bent part more, and what looks out bends as it rests. By whole
    sections the tip is where the three arcs end; between them within half a per cent of the length.
    """
    tip, exact = pushed(shift), pushed_tip(shift)
    away = np.hypot(*(tip - exact)[:2]) / 0.1
    assert away < (5e-3 if shift == 0.047 else 1e-9)
    assert abs(tip[2]) < 1e-9


@pytest.mark.parametrize(("length", "angle"), [(0.1, np.pi / 2), (0.1, 2.5), (0.2, 2.8)])
def test_torsion_follows_the_pendulum_of_the_theory(length, angle):
    """Second order in the sections: the error falls by four."""
    exact, _ = torsion(length, 8.0, angle)
    errors = []
    for count in (10, 20):
        world, outer, inner, base = nested(length, count, (8.0, 8.0), strains=("bend_y", "bend_z", "twist"))
        state = turned(world, base, angle, 6)
        found = angles(state, outer, inner, angle)
        errors.append(np.abs(found - exact(np.linspace(0, length, count + 1))).max())
    assert errors[1] < 2.5e-3
    assert errors[0] / errors[1] == pytest.approx(4.0, rel=0.15)


def test_long_tubes_snap_and_short_ones_do_not():
    """Opposed at the base, short tubes (L √c < π/2) stay opposed; long ones have let the tip go round before."""
    tips = []
    for length in (0.1, 0.2):
        assert (torsion(length, 8.0, 1.0)[1] < np.pi / 2) == (length == 0.1)
        world, outer, inner, base = nested(length, 12, (8.0, 8.0), strains=("bend_y", "bend_z", "twist"))
        state = turned(world, base, np.pi - 1e-3, 8)
        tips.append(angles(state, outer, inner, np.pi - 1e-3)[-1])
    assert tips[0] == pytest.approx(np.pi, abs=0.01)
    assert tips[1] < 2.0


@pytest.mark.parametrize(("angle", "friction"), [(0.3, 0.4), (0.5, 0.3), (0.5, 0.0)])
def test_a_rod_slides_in_a_tube_as_a_block_on_a_slope(angle, friction):
    scene = pl.Scene(gravity=9.81 * np.array([np.sin(angle), 0, -np.cos(angle)]))
    stuff = {"poisson": 0.3, "density": 1e3}
    outer = scene.add(pl.Rod(0.3, 10, section=pl.sections.Tube(0.004, 0.003), young=1e11, name="outer", **stuff))
    inner = scene.add(
        pl.Rod(0.08, 4, section=pl.sections.Circle(0.003), young=1e9, position=(0.06, 0, 0), base="free", **stuff)
    )
    scene.add(pl.Sheath(outer, inner, friction=friction, places=np.linspace(0, 0.3, 11)))
    world = scene.compile()
    state, step = world.initial_state(), pl.ImplicitEuler(0.002)
    for _ in range(50):
        state, _ = step(world, state)
    expected = max(0.0, 9.81 * (np.sin(angle) - friction * np.cos(angle)) * 0.1)
    assert state.velocities(inner)[0, 0] == pytest.approx(expected, abs=1e-3 * expected + 1e-9)
    np.testing.assert_allclose(state.points(inner)[:, 2], 0.0, atol=2e-5)


def test_a_bent_wire_with_play_in_a_straight_tube_leans_on_it_with_its_tip():
    """Clamped on the axis its tip wants to stand κL²/2 off, five times the play c: it leans on the wall with
    F = 3 EI (κL²/2 − c)/L³, and takes the shape c (2ξ³ − ξ²) between, which touches nowhere else.
    """
    length, play = 0.1, 0.4e-3
    kappa = 10 * play / length**2
    scene = pl.Scene()
    wire, hollow = pl.sections.Circle(0.5e-3), pl.sections.Tube(6e-3, 0.5e-3 + play)
    outer = scene.add(tube(hollow, 0.14, 7, 0.0, position=(-0.02, 0, 0), name="tube"))
    inner = scene.add(tube(wire, length, 20, kappa, strains=IN_PLANE, name="wire"))
    scene.collide(inner, outer)
    world = scene.compile()
    state, info = pl.QuasiStatic()(world, world.initial_state())
    force = 3 * YOUNG * wire.second_moments[0] * (kappa * length**2 / 2 - play) / length**3
    np.testing.assert_allclose(info.contact_force(outer, inner), (0, force, 0), atol=0.01 * force)
    assert (info.lam > 1e-6 * force).sum() == 1
    xi = np.linspace(0, 1, 21)
    np.testing.assert_allclose(state.points(inner)[:, 1], play * (2 * xi**3 - xi**2), atol=0.01 * play)


def test_two_tubes_with_little_play_have_nearly_the_mean_curvature():
    """Away from their tips, and the nearer the less play there is."""
    off = []
    for play in (1e-4, 2e-5):
        hollow = pl.sections.Tube(1.2e-3, 0.9e-3 + play)
        scene = pl.Scene()
        outer = scene.add(tube(hollow, 0.1, 10, 6.0, strains=IN_PLANE, name="outer"))
        inner = scene.add(tube(INNER, 0.1, 10, 10.0, strains=IN_PLANE, name="inner"))
        scene.collide(outer, inner)
        world = scene.compile()
        state, _ = pl.QuasiStatic()(world, world.initial_state())
        stiffness = np.array([YOUNG * s.second_moments[0] for s in (hollow, INNER)])
        mean = (stiffness @ [6.0, 10.0]) / stiffness.sum()
        bends = [state.strains(body)[:8, 2].mean() for body in (outer, inner)]
        np.testing.assert_allclose(bends, mean, rtol=0.01)
        away = state.points(inner)[-1] - state.points(outer)[-1]
        off.append(np.linalg.norm(away[:2]))
        assert off[-1] < 1.1 * play + 1e-7
        moments = stiffness[0] * (state.strains(outer)[:, 2] - 6.0) + stiffness[1] * (state.strains(inner)[:, 2] - 10.0)
        np.testing.assert_allclose(moments, 0.0, atol=0.02 * stiffness.sum())  # nothing bends both from outside
    assert off[1] < 0.3 * off[0]
