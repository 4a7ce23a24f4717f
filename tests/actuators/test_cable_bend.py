"""Cables across bends: the bend that a straight piece spans, and its report where the piece cuts the corner."""

import warnings

import numpy as np
import pytest

import pliant as pl
from pliant.core.errors import PliantWarning

LENGTH = 0.08


def finger(via_count, *, height=-0.004):
    scene = pl.Scene()
    mesh = pl.mesh.box((LENGTH, 0.015, 0.012), (10, 2, 2)).translated((0, -0.0075, -0.006))
    rubber = pl.materials.NeoHookean(young=1e6, poisson=0.45, density=1e3)
    body = scene.add(pl.Volume(mesh, rubber, clamp=pl.regions.plane(axis="x", at=0)))
    via = np.linspace((0.001, 0, height), (LENGTH - 0.001, 0, height), via_count)
    cable = scene.add(pl.Cable(body, via, reach=0.01, name="tendon"))
    return scene.compile(), body, cable


def bent(body, angle):
    """The nodes (n, 3) of the finger rolled to a circle of `angle`, rad, about its middle plane."""
    x, y, z = body.mesh.points.T
    radius, turn = LENGTH / angle, angle * x / LENGTH
    return np.column_stack([(radius + z) * np.sin(turn), y, (radius + z) * np.cos(turn) - radius])


@pytest.mark.parametrize("degrees", [5.0, 20.0, 40.0])
def test_bend_of_a_circle_is_its_angle(degrees):
    world, body, _ = finger(2)
    rows = next(each for each in world.constraints if each.name == "tendon")
    q = bent(body, np.radians(degrees))
    path = rows.path([q])
    (middles,) = rows.middles
    bends, sagitta = middles.bends(path, q)
    spanned = np.radians(degrees) * (LENGTH - 0.002) / LENGTH
    assert bends == pytest.approx(spanned, rel=0.02)  # via points between nodes lie on chords of the cells
    radius = LENGTH / np.radians(degrees) - 0.004
    assert sagitta == pytest.approx(radius * (1.0 - np.cos(0.5 * spanned)), rel=0.03)


def test_each_piece_has_its_own_bend():
    world, body, _ = finger(3)
    rows = next(each for each in world.constraints if each.name == "tendon")
    q = bent(body, np.radians(40.0))
    bends, sagitta = rows.middles[0].bends(rows.path([q]), q)
    assert bends == pytest.approx([np.radians(20.0 * 0.975)] * 2, rel=0.05)
    assert sagitta == pytest.approx((LENGTH / np.radians(40.0) - 0.004) * (1.0 - np.cos(0.5 * bends)), rel=0.05)


def test_a_piece_across_a_bend_is_reported_and_more_via_points_mend_it():
    texts = []
    for via_count in (2, 11):
        world, _, cable = finger(via_count)
        _, info = pl.QuasiStatic()(world, world.initial_state(), {cable: pl.Displacement(0.003)})
        texts.append(info.warnings)
    assert len(texts[0]) == 1
    assert "a piece of 'tendon' spans 2" in texts[0][0]
    assert "more via points" in texts[0][0]
    assert texts[1] == ()


def test_a_run_reports_it_once():
    world, _, cable = finger(2)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        pl.simulate(
            world, pl.ImplicitEuler(dt=0.05), until=0.5, control=lambda t, state: {cable: pl.Displacement(0.006)}
        )
    assert sum("tendon" in str(each.message) for each in caught if each.category is PliantWarning) == 1


def test_a_cable_outside_the_material_is_straight():
    """Between guides in the air a cable is what it is drawn as."""
    world, _, _ = finger(2, height=-0.008)
    assert next(each for each in world.constraints if each.name == "tendon").middles == ()
