"""The spine: its size, what its tendons do, and that its ribs stiffen it."""

from dataclasses import replace

import numpy as np
import pytest

import pliant as pl
from pliant.constraints.facing import FacingPair
from pliant.reduced.contact_basis import ContactBasis
from pliant.world.reduced import reduced


def bent(robot, tendons, force, *, steps=80, dt=0.02):
    scene = pl.Scene()
    scene.add(robot)
    world = scene.compile()
    state, step = world.initial_state(), pl.ImplicitEuler(dt)
    for number in range(steps):
        pull = pl.Force(force * min(1.0, 2.0 * number / steps))
        state, info = step(world, state, {robot.cables[k]: pull for k in tendons})
    return world, state, info


@pytest.mark.parametrize(("points", "count"), [((5, 3), 1350), ((10, 5), 4500)])
def test_potential_contacts_stand_at_the_clearance(points, count):
    robot = pl.robots.spine(rib_points=points)
    scene = pl.Scene()
    scene.add(robot, position=(1.0, 2.0, 3.0), rotation=(0.3, -0.2, 0.5))
    world = scene.compile()
    (constraint,) = (constraint for constraint in world.constraints if isinstance(constraint, FacingPair))
    assert constraint.count == count
    state = world.initial_state()
    points, corners = constraint.a.map.points(state.q[0]), constraint.b.map.points(state.q[0])
    seen = constraint.table.gaps(points, corners)
    assert np.allclose(seen.gap, 0.003, atol=1e-9)
    assert len(robot.cables) == 9


@pytest.mark.parametrize(("tendons", "towards"), [((0, 3, 6), 0.0), ((1, 4, 7), 120.0), ((2, 5, 8), 240.0)])
def test_tendons_bend_towards_their_side(tendons, towards):
    robot = pl.robots.spine()
    _, state, _ = bent(robot, tendons, 3.0, steps=30)
    _, y, z = robot.tip.at(state)
    assert np.hypot(y, z) > 0.05
    turned = np.degrees(np.arctan2(z, y)) - towards
    assert abs((turned + 180.0) % 360.0 - 180.0) < 10.0


def test_ribs_stiffen_a_bent_spine_in_statics():
    tips = {}
    for contact in (False, True):
        robot = pl.robots.spine(contact=contact)
        scene = pl.Scene()
        scene.add(robot)
        world = scene.compile()
        state, step = world.initial_state(), pl.QuasiStatic(tolerance=1e-6)
        for force in (3.0, 6.0, 9.0):
            state, info = step(world, state, {robot.cables[k]: pl.Force(force) for k in (0, 3, 6)})
        tips[contact] = robot.tip.at(state)
        assert info.status is pl.Status.CONVERGED
    assert 0.15 < np.linalg.norm(tips[True] - tips[False]) < 0.45  # the published robot: 0.28 m of 0.8 m
    assert (info.contacts(robot.facings[0]).forces[:, 0] != 0.0).sum() > 10
    assert info.penetration < 1e-5


def test_a_bent_spine_is_stable_in_dynamics():
    robot = pl.robots.spine()
    _, state, info = bent(robot, (0, 3, 6), 14.0, steps=50, dt=0.06)
    contacts = info.contacts(robot.facings[0])
    assert (contacts.forces[:, 0] != 0.0).sum() > 5
    assert info.penetration < 1e-5
    assert np.abs(state.velocities(robot.body)[:, 0]).max() < 0.5


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"vertebra_count": 10}, "multiple of 3"),
        ({"clearance": 0.03}, "leaves nothing of vertebrae"),
        ({"radius": -1.0}, "radius of a spine must be > 0"),
    ],
)
def test_bad_sizes_are_refused(options, message):
    with pytest.raises(pl.InputError, match=message):
        pl.robots.spine(**options)


@pytest.fixture
def looks(monkeypatch):
    """Every look that a facing takes: how many of its groups."""
    counts, look = [], FacingPair.look
    monkeypatch.setattr(
        FacingPair,
        "look",
        lambda self, view, groups, *more: counts.append(groups.sum()) or look(self, view, groups, *more),
    )
    return counts


def test_ribs_that_wave_together_are_not_looked_at(looks):
    robot = pl.robots.spine()
    scene = pl.Scene()
    scene.add(robot)
    world = scene.compile()
    state, step, tips = world.initial_state(), pl.ImplicitEuler(0.02), []
    for number in range(30):
        pull = pl.Force(0.5 + 0.5 * np.sin(0.3 * number))
        state, info = step(world, state, {robot.cables[k]: pull for k in (0, 3, 6)})
        assert info.assembly.rows.count == 9  # the tendons
        tips.append(robot.tip.at(state))
    assert np.ptp(tips, axis=0).max() > 0.05
    assert looks[0] == 90
    assert sum(looks[1:]) < 90


@pytest.mark.parametrize("modes", [False, True])
def test_no_contact_is_missed_where_nothing_is_looked_at(modes, looks, monkeypatch):
    robot = pl.robots.spine(length=0.24, vertebra_count=9, rib_points=(3, 2))
    scene = pl.Scene()
    scene.add(robot)
    world = scene.compile()
    (constraint,) = (constraint for constraint in world.constraints if isinstance(constraint, FacingPair))
    if modes:
        bells = np.random.default_rng(0).random((constraint.count, 8)) * (
            constraint.table.group[:, None] % 8 == np.arange(8)
        )
        world = reduced(world, [ContactBasis.of(constraint, bells)])
    rows, near = type(world.constraints[-1]).rows, []

    def checked(self, view, found):
        made, memory = rows(self, view, found)
        blank = replace(view, memory=None)
        fresh, _ = rows(self, blank, self.detect(blank))
        assert np.array_equal(made.key, fresh.key)
        assert np.allclose(made.gap, fresh.gap, atol=1e-13)
        near.append(made.count)
        return made, memory

    monkeypatch.setattr(type(world.constraints[-1]), "rows", checked)
    state, step = world.initial_state(), pl.ImplicitEuler(0.02)
    for number in range(120):
        pull = pl.Force(9.0 * np.sin(0.08 * number) ** 2)
        tendons = (0, 3, 6) if number < 60 else (1, 5, 8)
        state, _ = step(world, state, {robot.cables[k]: pull for k in tendons})
    assert near[0] == 0
    assert max(near) > (3 if modes else 20)
    assert sum(0 < count < constraint.table.group_count for count in looks) > 10
    assert 0.05 < np.mean(np.array(near) == 0) < 0.9
