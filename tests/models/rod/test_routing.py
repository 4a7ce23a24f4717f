"""Angles by which a path along a rod turns, in closed form."""

import numpy as np
import pytest

import pliant as pl

LENGTH, SECTIONS = 0.3, 3


def tendon(offset, strain, *, start=0.0, end=LENGTH):
    """The routing of a tendon at a constant offset (y, z) m along a rod whose sections have ψ of `strain` (3, 6)."""
    scene = pl.Scene()
    rod = scene.add(
        pl.Rod(
            LENGTH, SECTIONS, section=pl.sections.Circle(0.02), young=1e6, poisson=0.4, density=1e3,
            strains=("bend_y", "bend_z", "twist", "stretch"),
        )
    )  # fmt: skip
    scene.add(pl.Tendon(rod, offset=offset, start=start, end=end, friction=0.2))
    world = scene.compile()
    q = world.models[0].initial()[0].copy()
    q[4:] += np.asarray(strain, float).reshape(-1, 3) * LENGTH / SECTIONS
    return world.constraints[0], q


@pytest.mark.parametrize("curvature", [(3.0, 3.0, 3.0), (1.0, -2.0, 4.0)])
def test_in_a_bent_section_it_turns_by_the_angle_of_the_section(curvature):
    """Bending about y: the offset changes the length of the path, not its angle, and the path has no kinks."""
    strain = np.zeros((3, 6))
    strain[:, 1] = curvature
    tendon_rows, q = tendon((0.0, 0.01), strain)
    angles = tendon_rows.spec.routing.turns(q)
    np.testing.assert_allclose(angles, np.abs(curvature) * LENGTH / SECTIONS, rtol=1e-9)


def test_between_twisted_sections_half_of_the_kink_belongs_to_each():
    """A helix of radius r that twists by τ has the slope tan α = τ r and turns by τ L sin α."""
    r, twist = 0.01, np.array([5.0, -20.0, 12.0])
    strain = np.zeros((3, 6))
    strain[:, 0] = twist
    tendon_rows, q = tendon((0.0, r), strain)
    alpha = np.arctan(twist * r)
    kinks = np.abs(np.diff(alpha))
    expected = np.abs(twist) * LENGTH / SECTIONS * np.abs(np.sin(alpha))
    expected[:-1] += 0.5 * kinks
    expected[1:] += 0.5 * kinks
    np.testing.assert_allclose(tendon_rows.spec.routing.turns(q), expected, rtol=2e-3)
