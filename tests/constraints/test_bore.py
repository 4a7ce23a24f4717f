"""Slender bodies with play in the bore of others: which pairs they are, rows, mouths, sliding out, files."""

import numpy as np
import pytest

import pliant as pl
from pliant.constraints.bore import BorePair
from pliant.constraints.rows import RowView
from pliant.constraints.slender import SlenderPair

STUFF = {"young": 1e8, "poisson": 0.3, "density": 1e3}
TUBE = {"section": pl.sections.Tube(0.004, 0.003), **STUFF}
WIRE = {"section": pl.sections.Circle(0.002), **STUFF}


def view_of(world, q):
    return RowView.of(world.models, q)


def made(inner, outer, **options):
    scene = pl.Scene()
    scene.add(inner)
    scene.add(outer)
    scene.collide(inner, outer, **options)
    return scene.compile()


def bent_pair(kind="rod"):
    bend = (0.2, 0.5, 2.0, 0, 0, 0)
    outer = pl.Rod(0.1, 4, rest_strain=bend, base="free", name="outer", **TUBE)
    if kind == "rod":
        inner = pl.Rod(0.16, 5, rest_strain=bend, position=(0, 2e-4, 5e-4), base="free", name="inner", **WIRE)
    else:
        inner = pl.Beam(outer.node_points + np.array([0, 2e-4, 1e-4]), name="inner", **WIRE)
    return made(inner, outer, friction=0.3)


@pytest.mark.parametrize("kind", ["rod", "beam"])
def test_no_row_feels_a_rigid_motion_of_both(kind):
    world = bent_pair(kind)
    pair, q = world.constraints[0], [model.initial()[0] for model in world.models]
    rows, _ = pair.rows_at(view_of(world, q))
    assert rows.count > 3 * 8 * 4
    for axis in range(6):
        shift, turn = np.eye(6)[axis].reshape(2, 3)
        change = 0.0
        for h, x, model in zip(rows.H, q, world.models, strict=True):
            rigid = np.zeros(model.constrained.shape)
            if x.ndim == 3:
                rigid[:, 0], rigid[:, 1] = shift + np.cross(turn, x[:, 0]), turn
            else:
                rigid[0], rigid[1] = shift + np.cross(turn, x[0]), turn
            change = change + h @ rigid.ravel()
        np.testing.assert_allclose(change, 0.0, atol=1e-12)


def test_gaps_are_those_of_the_octagon_around_the_clearance():
    """Straight and 0.4 mm off the axis towards a wall: the gaps are c − d cos of the angle from that wall."""
    inner = pl.Rod(0.06, 2, position=(0.02, 4e-4, 0), name="inner", **WIRE)
    world = made(inner, pl.Rod(0.1, 4, name="outer", **TUBE))
    pair = world.constraints[0]
    assert isinstance(pair, BorePair)
    contacts = pair.contact_set(view_of(world, [model.initial()[0] for model in world.models]), None)
    assert contacts.count == 9 * 8
    expected = 1e-3 - 4e-4 * np.cos(0.25 * np.pi * np.arange(8))
    np.testing.assert_allclose(contacts.gap.reshape(9, 8), np.tile(expected, (9, 1)), atol=1e-12)
    assert (np.diff(contacts.key) > 0).all()


def test_mouths_touch_between_the_points_of_the_inner_body_and_what_is_outside_does_not():
    inner = pl.Rod(0.2, 1, contact_points=2, position=(-0.05, 0, 0), name="inner", **WIRE)
    world = made(inner, pl.Rod(0.08, 2, name="outer", **TUBE))
    contacts = world.constraints[0].contact_set(view_of(world, [model.initial()[0] for model in world.models]), None)
    assert contacts.count == 3 * 8, "the middle of the wire, and two mouths"
    np.testing.assert_allclose(np.unique(contacts.point_b[:, 0].round(9)), (0.0, 0.05, 0.08))


def test_which_pairs_are_in_a_bore():
    tube = pl.Rod(0.1, 4, name="outer", **TUBE)
    assert isinstance(made(tube, pl.Rod(0.1, 4, **WIRE)).constraints[0], BorePair)
    beside = made(tube, pl.Rod(0.1, 4, position=(0, 0.007, 0), **WIRE)).constraints[0]
    assert isinstance(beside, SlenderPair)
    assert not isinstance(beside, BorePair)
    with pytest.raises(pl.InputError, match="overlaps"):
        made(tube, pl.Rod(0.1, 4, position=(0, 0.002, 0), name="off", **WIRE))
    with pytest.raises(pl.InputError, match="overlaps"):
        made(pl.Rod(0.1, 4, name="solid", **{**TUBE, "section": pl.sections.Circle(0.004)}), pl.Rod(0.1, 4, **WIRE))


def test_a_wire_falls_out_of_an_upright_tube_and_is_saved(tmp_path):
    """It slides down under its weight alone, g t, while its points pass the mouth one after another."""
    scene = pl.Scene(gravity=(0, 0, -9.81))
    down = (0, np.pi / 2, 0)
    outer = scene.add(pl.Rod(0.1, 4, rotation=down, name="outer", **TUBE))
    inner = scene.add(pl.Rod(0.08, 2, rotation=down, position=(3e-4, 0, -0.01), base="free", name="inner", **WIRE))
    scene.collide(inner, outer, friction=0.3)
    world = scene.compile()
    state, step, counts = world.initial_state(), pl.ImplicitEuler(0.005), []
    for _ in range(30):
        state, _ = step(world, state)
        counts.append(state.memories[0].contacts.count)
    assert state.velocities(inner)[0, 2] == pytest.approx(-9.81 * 0.15, rel=1e-6)
    assert counts[0] > counts[-1] == 0
    again = pl.load(world.save(tmp_path / "world.npz"))
    assert isinstance(again.constraints[0], BorePair)
