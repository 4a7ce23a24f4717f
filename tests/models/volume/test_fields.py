"""Amplitudes of loads over time: what is taken, what it is between its lines, and what is refused."""

import numpy as np
import pytest

import pliant as pl
from pliant.core.errors import InputError
from pliant.models.volume.fields import checked_amplitude
from scenes import bar

TABLE = [(0.0, 1.0), (0.5, 2.0), (2.0, -1.0)]


def load(amplitude):
    _, body = bar()
    return pl.PointLoad(body, pl.regions.plane(axis="x", at=0.1), (0.0, 0.0, 3.0), amplitude=amplitude)


@pytest.mark.parametrize(
    ("time", "factor"), [(-1.0, 1.0), (0.0, 1.0), (0.25, 1.5), (1.25, 0.5), (2.0, -1.0), (9.0, -1.0)]
)
def test_a_table_is_interpolated_and_constant_beyond_its_ends(time, factor):
    assert load(TABLE).factor(time) == pytest.approx(factor)
    np.testing.assert_allclose(load(TABLE).value_at(time), (0.0, 0.0, 3.0 * factor))


def test_an_amplitude_may_be_missing_a_function_or_one_line():
    assert load(None).factor(3.0) == 1.0
    assert load(lambda t: 2.0 * t).factor(3.0) == 6.0
    assert load([(1.0, 4.0)]).factor(0.0) == 4.0
    with pytest.raises(InputError, match="amplitude of a PointLoad at 3 s"):
        load(lambda t: np.nan).factor(3.0)


@pytest.mark.parametrize(
    ("amplitude", "text"),
    [
        ([1.0, 2.0], r"pairs \[\(t, factor\), …\], got the shape \(2,\)"),
        ([(0.0, 1.0, 2.0)], r"got the shape \(1, 3\)"),
        ([[(0.0, 1.0)]], r"got the shape \(1, 1, 2\)"),
        (np.zeros((0, 2)), r"got the shape \(0, 2\)"),
        ([(0.0, 1.0), (0.0, 2.0)], "must rise"),
        ([(1.0, 1.0), (0.0, 2.0)], "must rise"),
        ([(0.0, np.inf)], "amplitude of a load"),
    ],
)
def test_other_amplitudes_are_refused(amplitude, text):
    with pytest.raises(InputError, match=text):
        checked_amplitude("load", amplitude)


def sheared(kind, values):
    """Nodal forces of a traction on the far end or of a load in all cells, and their nodes and sizes."""
    scene, body = bar(size=(0.1, 0.02, 0.03), cells=(3, 2, 2))
    end = pl.regions.plane(axis="x", at=0.1)
    if kind == "traction":
        triangles = body.mesh.surface().triangles
        pieces = triangles[np.isclose(body.mesh.points[triangles][:, :, 0], 0.1).all(axis=1)]
        corners = body.mesh.points[pieces]
        sizes = 0.5 * np.linalg.norm(np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]), axis=1)
        load = pl.TractionLoad(body, end, values(pieces, body.mesh.points))
    else:
        pieces = body.mesh.cells
        sizes = body.mesh.cell_volumes()
        load = pl.BodyLoad(body, values(pieces, body.mesh.points))
    scene.add(load)
    model = scene.compile().models[0]
    return model.external(model.rest.copy(), np.zeros(3), {})[1], pieces, sizes


@pytest.mark.parametrize("kind", ["traction", "body"])
def test_values_of_facets_and_cells_load_their_own_nodes(kind):
    """One value each: the force of a piece is value times size, in equal parts on its corners."""
    rng = np.random.default_rng(0)
    given = []

    def values(pieces, points):
        given.append(rng.normal(size=(len(pieces), 3)))
        return given[0]

    force, pieces, sizes = sheared(kind, values)
    expected = np.zeros_like(force)
    width = pieces.shape[1]
    for nodes, value, size in zip(pieces, given[0], sizes, strict=True):
        expected[nodes] += value * size / width
    np.testing.assert_allclose(force, expected, atol=1e-12 * np.abs(expected).max())


@pytest.mark.parametrize("kind", ["traction", "body"])
def test_values_of_nodes_are_interpolated_within_facets_and_cells(kind):
    """A field that is linear in the place has the resultant of its mean over each piece; a function gives the same."""
    slope = np.array([[1.0, 2.0, 0.0], [0.0, 3.0, -1.0], [5.0, 0.0, 1.0]])
    force, pieces, sizes = sheared(kind, lambda pieces, points: points @ slope)
    again, _, _ = sheared(kind, lambda pieces, points: lambda x: x @ slope)
    np.testing.assert_allclose(again, force, rtol=1e-12, atol=1e-18)
    points = pl.mesh.box((0.1, 0.02, 0.03), (3, 2, 2)).points
    middles = points[pieces].mean(axis=1)
    np.testing.assert_allclose(force.sum(axis=0), (sizes[:, None] * (middles @ slope)).sum(axis=0), rtol=1e-12)
