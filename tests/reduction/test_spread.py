"""Forces of hyperstatic contacts: the same push, by more points, and without jumps from step to step."""

import numpy as np
import pytest

import pliant as pl
from pliant.constraints.facing import FacingPair
from pliant.reduction.spread import spread_forces


@pytest.fixture(scope="module")
def pressed():
    """Steps of a finger whose many contact points press on few elements."""
    scene = pl.Scene()
    finger = scene.add(pl.robots.finger(contact_points=3 * 6 * 7))
    world = scene.compile()
    state, infos = world.initial_state(), []
    for pull in np.linspace(0.002, 0.032, 32):
        state, info = pl.QuasiStatic(newton_iterations=3)(world, state, {finger.cable: pl.Displacement(float(pull))})
        infos.append(info)
    assert isinstance(world.constraints[-1], FacingPair)
    return infos


def test_the_push_stays_and_more_points_carry_it(pressed):
    info = pressed[-1]
    place, H = info.assembly.slices[-1], info.assembly.rows.H[0]
    before, after = info.lam[place], spread_forces(info)[place]
    assert after.min() >= 0.0
    assert np.linalg.norm(H[place].T @ (after - before)) < 0.03 * np.linalg.norm(H[place].T @ before)
    assert (after > 0.0).sum() > 2 * (before > 0.0).sum()
    assert np.linalg.norm(after) < np.linalg.norm(before)


def test_rows_of_cables_keep_their_forces(pressed):
    info = pressed[-1]
    place = info.assembly.slices[0]
    assert np.array_equal(spread_forces(info)[place], info.lam[place])


def test_a_basis_of_spread_forces_fits_what_it_has_not_seen(pressed):
    errors = {}
    for name, forces in (("as solved", lambda info: info.lam), ("spread", spread_forces)):
        columns = []
        for info in pressed:
            column = np.zeros(126)
            column[info.assembly.memories[-1].contacts.nodes_a[:, 0]] = forces(info)[info.assembly.slices[-1]]
            columns.append(column)
        S = np.array([column for column in columns if column.any()]).T
        basis = pl.reduction.nnmf(S[:, ::2], rank=4, seed=0).basis
        errors[name] = pl.reduction.fit_error(basis, S[:, 1::2])
    assert errors["spread"] < 0.6 * errors["as solved"]
