"""The widening of a body that turns freely, and forces without a moment, against closed forms."""

import numpy as np
import pytest

from pliant.models.scheme import midpoint_scheme
from pliant.models.volume.free_rotation import widened, widening, without_moment
from scenes import bar

SPIN = np.array([3.0, -6.0, 2.0])


@pytest.fixture(scope="module")
def model():
    return bar(clamp=None)[0].compile().models[0]


@pytest.mark.parametrize("drift", [(0.0, 0.0, 0.0), (4.0, -1.0, 2.0)])
def test_chords_of_a_rotation_cut_off_what_the_widening_gives_back(model, drift):
    """The middle of two positions h apart, on tangents of rate ω, lies at 1/√(1 + (ωh/2)²) of the radius, about the
    axis through the centre of mass, however that moves.
    """
    q, h = np.add(model.rest, (1.0, 2.0, 3.0)), 0.05
    centre = model.mass.nodal @ q / model.mass.total
    S = widening(q, np.cross(SPIN, q - centre) + drift, model.mass, midpoint_scheme(h))
    axis = np.outer(SPIN, SPIN) / 49.0
    np.testing.assert_allclose(
        S, np.sqrt(1.0 + (0.5 * 7.0 * h) ** 2) * (np.eye(3) - axis) + axis, rtol=1e-9, atol=1e-12
    )
    np.testing.assert_allclose(widened(q, S, model.mass), centre + (q - centre) @ S, atol=1e-12)


def test_a_body_that_hardly_turns_is_not_widened(model):
    assert widening(model.rest, np.ones_like(model.rest), model.mass, midpoint_scheme(0.05)) is None


def test_forces_lose_their_moment_and_keep_their_resultant(model):
    q, mass = np.add(model.rest, (1.0, 2.0, 3.0)), model.mass.nodal
    force = np.random.default_rng(0).normal(size=q.shape)
    left, arms = without_moment(force, q, mass), q - mass @ q / mass.sum()
    np.testing.assert_allclose(np.cross(arms, left).sum(axis=0), 0.0, atol=1e-12)
    np.testing.assert_allclose(left.sum(axis=0), force.sum(axis=0), rtol=1e-9)
