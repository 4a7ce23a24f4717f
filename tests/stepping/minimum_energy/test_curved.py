"""Steps that curve: material turns without stretching and keeps its volume."""

import numpy as np
import pytest
from scipy.linalg import expm

import pliant as pl
from pliant.stepping.minimum_energy.curved import Curves

RUBBER = pl.materials.NeoHookean(young=1e5, poisson=0.49, density=1e3)


def model_of(*, clamp=None, element="tet4"):
    scene = pl.Scene()
    scene.add(pl.Volume(pl.mesh.box((0.03, 0.01, 0.01), (6, 2, 2), element=element), RUBBER, clamp=clamp))
    return scene.compile().volumes[0]


@pytest.mark.parametrize("element", ["tet4", "hex8"])
def test_one_rate_everywhere_is_followed_exactly(element):
    """A body without clamps whose step has the gradient L in every cell moves by exp(L), up to where it is."""
    model = model_of(element=element)
    rate = np.array([[0.1, -0.9, 0.2], [0.8, -0.3, 0.1], [-0.1, 0.3, 0.2]])
    q = model.rest @ np.array([[1.1, 0.2, 0.0], [0.0, 0.9, 0.1], [0.1, 0.0, 1.0]]).T
    moved = q + Curves(model).moved(q, q @ rate.T)
    wanted = q @ expm(rate).T
    assert moved - moved.mean(axis=0) == pytest.approx(wanted - wanted.mean(axis=0), abs=1e-4 * np.ptp(wanted))


def test_a_short_step_stays_and_held_nodes_do_not_move():
    """The bend is of second order in the step, and none of it is where nodes are held."""
    model = model_of(clamp=pl.regions.plane(axis="x", at=0.0))
    x, y, z = model.rest.T
    dx = np.column_stack([-x * y, x**2, 0.0 * z]) * 10.0
    bends = [np.abs(Curves(model).moved(model.rest, s * dx) - s * dx).max() for s in (1.0, 0.5)]
    assert bends[0] == pytest.approx(4.0 * bends[1], rel=0.2)
    assert bends[0] > 0.0
    assert (Curves(model).moved(model.rest, dx)[model.constrained] == dx[model.constrained]).all()
