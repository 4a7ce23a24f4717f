"""A spine whose ribs press on each other in a few modes: near the full one where modes know, the same where not."""

import dataclasses

import numpy as np
import pytest

import pliant as pl
from pliant.reduced.contact_basis import ContactBasis


def static(world, robot, tendons, forces=(4.0, 8.0, 12.0)):
    state, step = world.initial_state(), pl.QuasiStatic(tolerance=1e-6)
    infos = []
    for force in forces:
        state, info = step(world, state, {robot.cables[k]: pl.Force(force) for k in tendons})
        infos.append(info)
    return robot.tip.at(state), infos


@pytest.fixture(scope="module")
def spines():
    """A short spine, its world with full contacts and with none, and the forces of its contacts in a few poses."""
    robot = pl.robots.spine(length=0.24, vertebra_count=9)
    scene = pl.Scene()
    scene.add(robot)
    world = scene.compile()
    _, infos = static(world, robot, (0, 3, 6), np.linspace(4.0, 12.0, 5))
    constraint, snapshots = world.constraints[-1], []
    for info in infos:
        contacts, lam = info.assembly.memories[-1].contacts, info.lam[info.assembly.slices[-1]]
        column = np.zeros(constraint.count)
        column[contacts.nodes_a[:, 0]] = lam
        snapshots.append(column)
    free = dataclasses.replace(world, constraints=world.constraints[:-1])
    return robot, world, free, np.array(snapshots).T


def in_modes(world, snapshots, **options):
    *others, constraint = world.constraints
    last = snapshots.sum(axis=1)
    each = np.equal.outer(constraint.table.group, np.unique(constraint.table.group[last > 0.0])) * last[:, None]
    basis = ContactBasis.of(constraint, each, **options)
    return dataclasses.replace(world, constraints=(*others, basis.reduced(constraint))), basis.count


@pytest.mark.parametrize("guards", [0, 40])
def test_a_mode_for_every_rib_bends_it_as_all_points(spines, guards):
    robot, world, free, snapshots = spines
    few, count = in_modes(world, snapshots, guards=guards)
    tip, infos = static(few, robot, (0, 3, 6))
    full, full_infos = static(world, robot, (0, 3, 6))
    alone, _ = static(free, robot, (0, 3, 6))
    assert count <= 9
    assert np.linalg.norm(tip - full) < 0.03 * np.linalg.norm(alone - full)
    assert infos[-1].penetration < 6e-5
    assert infos[-1].unknown_contacts <= 1
    unknown = infos[-1].assembly.memories[-1].unknown  # one pair of ribs came near, but never pushed
    assert unknown <= 16
    if not guards:
        assert infos[-1].assembly.rows.count - 9 <= count + unknown < full_infos[-1].assembly.rows.count - 9


def test_bent_another_way_it_is_the_full_one(spines):
    robot, world, _, snapshots = spines
    few, _ = in_modes(world, snapshots)
    tip, infos = static(few, robot, (1, 4, 7))
    full, full_infos = static(world, robot, (1, 4, 7))
    pushing = int(full_infos[-1].contacts(robot.facings[0]).forces.any(axis=1).sum())
    assert infos[-1].unknown_contacts == pushing > 10
    assert np.allclose(tip, full, atol=1e-6)


def test_a_straight_one_has_no_rows_of_contacts(spines):
    robot, world, _, snapshots = spines
    few, _ = in_modes(world, snapshots)
    state = few.initial_state()
    for _ in range(3):
        state, info = pl.ImplicitEuler(0.01)(few, state, {robot.cables[0]: pl.Force(0.1)})
    assert info.assembly.rows.count == 9
    assert len(info.contacts(robot.facings[0]).gaps) == 0
