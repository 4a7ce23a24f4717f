"""Points on beams: where they ride, their frames, and `pull` as the derivative."""

import numpy as np
import pytest
from scipy import sparse

import pliant as pl
from pliant.core.lie import rotation_exp, rotation_log
from pliant.models.beam import BeamModel, dynamics
from pliant.models.beam.beam_map import BeamMap, sampled

POINTS = np.array([(0, 0, 0), (0.1, 0, 0), (0.2, 0.05, 0.0), (0.2, 0.05, 0.1), (0.3, 0, 0.02)], float)
EDGES = [(0, 1), (1, 2), (3, 2), (1, 4)]
RNG = np.random.default_rng(0)


@pytest.fixture(scope="module")
def model():
    section = pl.sections.Rectangle(0.01, 0.02)
    return BeamModel.compiled(pl.Beam(POINTS, edges=EDGES, section=section, young=1e6, poisson=0.3, density=1e3))


def moved(q, dx):
    out = np.empty_like(q)
    dynamics.advance(q.copy(), np.ascontiguousarray(dx), 1.0, out)
    return out


@pytest.fixture(scope="module")
def bent(model):
    return moved(model.rest, RNG.normal(size=(5, 2, 3)) * np.array([0.03, 0.6])[None, :, None])


@pytest.fixture(scope="module")
def riding(model):
    return BeamMap.at(model, [0, 1, 2, 3, 1], [0.0, 0.3, 0.6, 1.0, 0.9], 0.01 * RNG.normal(size=(5, 3)))


def test_points_ride_where_they_were_put(model):
    where = np.array([(0.05, 0.004, 0.009), (0.15, 0.025, -0.005), (0.2, 0.05, 0.07)])
    np.testing.assert_allclose(BeamMap.of_points(model, where, what="x").points(model.rest), where, atol=1e-15)


def test_rigid_motions_carry_points_and_frames_along(model, bent, riding):
    R, shift = rotation_exp(np.array([0.4, 2.0, -0.7])), np.array([1.0, 2.0, 3.0])
    turned = np.concatenate([bent[:, :1] @ R.T + shift, R @ bent[:, 1:]], axis=1)
    np.testing.assert_allclose(riding.points(turned), riding.points(bent) @ R.T + shift, atol=1e-13)
    np.testing.assert_allclose(riding.frames(turned), R @ riding.frames(bent), atol=1e-13)


def test_pull_is_the_derivative_of_points_and_frames(bent, riding):
    """Central differences over all 30 unknowns of a bent network."""
    eps, every = 1e-6, sparse.identity(15, format="csr")
    units = eps * np.eye(30).reshape(30, 5, 2, 3)
    pairs = [(moved(bent, u), moved(bent, -u)) for u in units]
    points = np.stack([(riding.points(a) - riding.points(b)).ravel() / (2 * eps) for a, b in pairs], axis=1)
    spins = np.stack(
        [
            np.concatenate([rotation_log(x @ y.T) for x, y in zip(riding.frames(a), riding.frames(b), strict=True)])
            for a, b in pairs
        ],
        axis=1,
    ) / (2 * eps)
    np.testing.assert_allclose(riding.pull_back(bent, every).toarray(), points, atol=1e-8)
    np.testing.assert_allclose(riding.pull_back_spins(bent, every).toarray(), spins, atol=1e-8)


def test_one_row_and_rows_along_directions_are_those_of_pull(bent, riding):
    slope, directions = RNG.normal(size=(5, 3)), RNG.normal(size=(5, 2, 3))
    one = riding.pull_back(bent, sparse.csr_matrix(slope.reshape(1, -1))).toarray()
    np.testing.assert_allclose(riding.pull_back_row(bent, slope).toarray(), one, atol=1e-14)
    each = sparse.block_diag(list(directions), format="csr")
    along = riding.pull_back_along(bent, directions).toarray()
    np.testing.assert_allclose(along, riding.pull_back(bent, each).toarray(), atol=1e-14)


def test_the_axis_passes_the_nodes_along_their_frames(model, bent):
    for coordinate, end in ((0.0, 0), (1.0, 1)):
        riding = BeamMap.at(model, [0, 1, 2, 3], np.full(4, coordinate))
        nodes = model.elements.edges[:, end]
        np.testing.assert_allclose(riding.points(bent), bent[nodes, 0], atol=1e-15)
        triads = bent[nodes, 1:] @ model.elements.triads[:, end]
        np.testing.assert_allclose(riding.frames(bent), triads, atol=1e-13)


def test_a_cubic_deflection_is_interpolated_exactly():
    """One piece under a small tip force bends as w = P x² (3L − x)/6EI; the map gives just that between its nodes."""
    scene = pl.Scene()
    section = pl.sections.Circle(0.01)
    beam = scene.add(
        pl.Beam([(0, 0, 0), (1, 0, 0)], section=section, young=1e7, poisson=0.3, density=1e3, clamp=[0], shear=False)
    )
    scene.add(pl.PointLoad(beam, [1], (0, 0, 1e-6)))
    world = scene.compile()
    state, _ = pl.QuasiStatic()(world, world.initial_state())
    x = np.linspace(0.0, 1.0, 9)
    riding = BeamMap.at(world.models[0], np.zeros(9, int), x)
    expected = 1e-6 * x**2 * (3 - x) / (6 * 1e7 * section.second_moments[0])
    np.testing.assert_allclose(riding.points(state.q[0])[:, 2], expected, atol=1e-5 * expected[-1])


def test_samples_stand_on_every_node_and_between(model):
    samples = sampled(model, 4)
    assert len(samples.coordinate) == 5 + 3 * 4
    np.testing.assert_allclose(samples.points(model.rest)[:5], POINTS, atol=1e-15)
    assert sampled(model, 1).coordinate.shape == (5,)


def test_points_keep_their_place_when_the_beam_bends(model, bent, riding):
    where = riding.points(bent) + 0.01
    carried = riding.carrying(bent, where)
    np.testing.assert_allclose(carried.points(bent), where, atol=1e-15)
    np.testing.assert_array_equal(carried.selected([2, 0]).points(bent), carried.points(bent)[[2, 0]])


def test_far_points_and_wrong_coordinates_are_named(model):
    with pytest.raises(pl.InputError, match=r"eyelets: point 1 .* from the axis"):
        BeamMap.of_points(model, np.array([(0.05, 0, 0), (0.05, 0.2, 0)]), what="eyelets")
    assert BeamMap.of_points(model, np.array([(0.05, 0.2, 0)]), what="eyelets", reach=0.2).offset.shape == (1, 3)
    with pytest.raises(pl.InputError, match=r"in \[0, 1\]"):
        BeamMap.at(model, [0], [1.5])


def test_the_skin_is_closed_and_holds_the_volume_of_the_beam(model):
    skin, triangles = model.skin().map, model.skin().triangles
    a, b, c = (skin.points(model.rest)[triangles[:, k]] for k in range(3))
    volume = np.einsum("ti,ti->", a, np.cross(b, c)) / 6.0
    assert volume == pytest.approx(model.elements.length.sum() * model.spec.section.area, rel=1e-12)
    edges = np.concatenate([triangles[:, [0, 1]], triangles[:, [1, 2]], triangles[:, [2, 0]]])
    assert set(map(tuple, edges)) == set(map(tuple, edges[:, ::-1]))


def test_an_axis_of_unequal_elements_is_as_long_as_all_of_them():
    scene = pl.Scene()
    nodes = [(0.0, 0, 0), (0.03, 0, 0), (0.03, 0.05, 0), (0.03, 0.05, 0.11)]
    scene.add(pl.Beam(nodes, section=pl.sections.Circle(0.002), young=1e7, poisson=0.3, density=1e3))
    axis = scene.compile().models[0].axis()
    assert axis.length == pytest.approx(0.03 + 0.05 + 0.11)
    np.testing.assert_allclose(axis.starts, [0.0, 0.03, 0.08])
    np.testing.assert_allclose(axis.ends, [0.03, 0.08, 0.19])
