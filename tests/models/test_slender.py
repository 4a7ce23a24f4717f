"""Surfaces that are swept along slender bodies: closed, outward, of the right volume."""

import numpy as np
import pytest

import pliant as pl
from pliant.models.rigid.inertia import solid_moments
from pliant.models.slender import swept_surface

SECTIONS = {
    "circle": pl.sections.Circle(0.01),
    "rectangle": pl.sections.Rectangle(0.02, 0.03),
}


@pytest.mark.parametrize("stations", [2, 4])
@pytest.mark.parametrize("kind", SECTIONS)
def test_every_element_has_a_closed_surface_of_its_own(kind, stations):
    """Placed along x, 0.1 m each: closed, normals outward, the volume of a prism on the outline."""
    section = SECTIONS[kind]
    (elements, fractions, offsets), triangles = swept_surface([section] * 3, stations, 1)
    points = offsets + np.stack([0.1 * (elements + fractions), *np.zeros((2, len(elements)))], axis=1)
    outline = section.outline()
    area = 0.5 * abs(np.sum(outline[:, 0] * np.roll(outline[:, 1], -1) - outline[:, 1] * np.roll(outline[:, 0], -1)))
    for element in range(3):
        own = triangles[(elements[triangles] == element).all(axis=1)]
        edges = {tuple(edge) for edge in own[:, [0, 1, 1, 2, 2, 0]].reshape(-1, 2).tolist()}
        assert len(edges) == 3 * len(own), "each edge once in its direction"
        assert edges == {(b, a) for a, b in edges}, "and once in the other"
        assert solid_moments(points, own)[0] == pytest.approx(0.1 * area, rel=1e-12)
    assert np.array_equal(np.unique(triangles), np.arange(len(elements)))
