"""A cantilever pressed onto another through facing surfaces, against the beam theory of Euler and Bernoulli.

Two equal cantilevers stand g apart; at the distance a from the clamps the upper one carries P and touches the lower.
Both deflect by a³/3EI of what they carry there, so that the contact bears R = (P − 3EI g/a³)/2.
"""

import dataclasses

import numpy as np
import pytest

import pliant as pl
from pliant.reduced.contact_basis import ContactBasis

LENGTH, AT, RADIUS, YOUNG, GAP, LOAD = 0.2, 0.15, 0.002, 1e9, 1e-4, 5e-3
STIFFNESS = 3.0 * YOUNG * np.pi / 4.0 * RADIUS**4 / AT**3


def cantilevers(across):
    """The world, and the facing with `across` points side by side under the upper beam."""
    scene = pl.Scene()
    nodes = np.column_stack([np.linspace(0.0, LENGTH, 9), np.zeros((9, 2))])
    made = {"section": pl.sections.Circle(RADIUS), "young": YOUNG, "poisson": 0.3, "density": 1e3, "shear": False}
    lower = scene.add(pl.Beam(nodes, clamp=[0], name="lower", **made))
    upper = scene.add(pl.Beam(nodes, clamp=[0], name="upper", **made), position=(0, 0, 2 * RADIUS + GAP))
    scene.add(pl.PointLoad(upper, [6], (0.0, 0.0, -LOAD)))
    half = 0.5 * RADIUS
    points = [(AT, y, -RADIUS) for y in np.linspace(-half, half, across)]
    corners = [(x, y, RADIUS) for x in (AT - 0.01, AT + 0.01) for y in (-RADIUS, RADIUS)]
    facing = scene.add(pl.Facing(upper, lower, points, corners, [(0, 2, 3), (0, 3, 1)], margin=1e-3, reach=RADIUS))
    return scene.compile(), facing


@pytest.mark.parametrize("modes", [None, 1])
def test_two_cantilevers_share_a_load(modes):
    world, facing = cantilevers(1 if modes is None else 5)
    if modes:
        constraint = world.constraints[-1]
        basis = ContactBasis.of(constraint, np.ones((constraint.count, modes)))
        world = dataclasses.replace(world, constraints=(basis.reduced(constraint),))
    state, info = pl.QuasiStatic()(world, world.initial_state())
    wanted = 0.5 * (LOAD - STIFFNESS * GAP)
    force = info.contact_force(facing)
    assert force[2] == pytest.approx(wanted, rel=1e-3)
    assert np.abs(force[:2]).max() < 5e-3 * wanted  # the surfaces are tilted by their slope
    sunk = [state.points(body)[6, 2] for body in (facing.other, facing.body)]
    assert sunk[0] == pytest.approx(-wanted / STIFFNESS, rel=1e-3)
    assert sunk[1] - 2 * RADIUS - GAP == pytest.approx(-(LOAD - wanted) / STIFFNESS, rel=1e-3)
    assert info.penetration < 1e-4 * GAP
