"""Stiffness of a cable on a rod against differences of its generalised force."""

import numpy as np
import pytest

import pliant as pl
from pliant.constraints.rows import RowView


def wound(rod):
    """A cable through points around the axis."""
    return pl.Cable(rod, [(0.04 * k, 0.015 * np.cos(k), 0.015 * np.sin(k)) for k in range(6)], reach=0.02)


def along(rod):
    """A tendon at a varying offset."""
    return pl.Tendon(rod, lambda s: (0.005 * np.cos(9.0 * s), 0.006 * np.sin(7.0 * s)), start=0.02, end=0.19)


@pytest.mark.parametrize(("path", "method"), [(wound, "turning_stiffness"), (along, "stiffness")])
def test_the_stiffness_of_a_cable_is_the_derivative_of_its_force(path, method):
    rng = np.random.default_rng(0)
    scene = pl.Scene()
    strains = ("bend_y", "bend_z", "twist", "stretch")
    rod = scene.add(
        pl.Rod(0.2, 5, section=pl.sections.Circle(0.01), young=1e6, poisson=0.4, density=1e3, strains=strains)
    )
    scene.add(path(rod))
    world = scene.compile()
    model, cable = world.models[0], world.constraints[0]
    free = np.flatnonzero(~model.constrained)
    bent = model.initial()[0].copy()
    bent[4:] += np.where(model.constrained[2:], 0.0, rng.uniform(-3.0, 3.0, bent[4:].shape))
    tension = 2.0

    def force(q):
        rows, _ = cable.rows_at(RowView.of(world.models, [q]))
        return tension * rows.H[0].toarray()[0]

    K = np.zeros((len(model.active), len(model.active)))
    for _, part in getattr(cable, method)([bent], np.array([tension]), 1.0):
        part.add_to(K)
    place = {int(unknown): k for k, unknown in enumerate(model.active)}
    rows, step = [place[int(k)] for k in free], 1e-5
    for k in free[free >= 6]:
        change = np.zeros(bent[4:].size)
        change[k - 6] = step
        up, down = bent.copy(), bent.copy()
        up[4:] += change.reshape(-1, 3)
        down[4:] -= change.reshape(-1, 3)
        column = -(force(up) - force(down))[free] / (2 * step)
        np.testing.assert_allclose(K[rows, place[int(k)]], column, atol=1e-6 * np.abs(K).max())
