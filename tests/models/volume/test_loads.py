"""Loads and supports: resultants, directions, what is refused."""

import numpy as np
import pytest

import pliant as pl
from pliant.core.errors import InputError, MeshError

RUBBER = pl.materials.NeoHookean(young=1e5, poisson=0.4, density=1000.0)
TOP = pl.regions.plane(axis="z", at=0.3)
NOWHERE = pl.regions.box((5, 5, 5), (6, 6, 6))


def scene_of(element="tet4"):
    scene = pl.Scene()
    return scene, scene.add(pl.Volume(pl.mesh.box((0.1, 0.2, 0.3), (2, 3, 2), element=element), RUBBER, name="block"))


def external(scene, **controls):
    model = scene.compile().models[0]
    return model.external(model.rest.copy(), np.zeros(3), controls)[1], model.rest


def test_point_load_is_shared_equally():
    scene, body = scene_of()
    scene.add(pl.PointLoad(body, TOP, (1.0, 2.0, 3.0)))
    force, rest = external(scene)
    loaded = np.abs(rest[:, 2] - 0.3) < 1e-9
    np.testing.assert_allclose(force[loaded], np.broadcast_to(np.array([1, 2, 3]) / 12, (12, 3)))
    assert not force[~loaded].any()


@pytest.mark.parametrize("element", ["tet4", "tet10", "hex8"])
def test_traction_has_its_resultant_and_its_centre(element):
    """Σ f = t A, and the moment is that of the resultant at the centroid of the face."""
    scene, body = scene_of(element)
    scene.add(pl.TractionLoad(body, TOP, (10.0, -20.0, 30.0)))
    force, rest = external(scene)
    total = np.array([10.0, -20.0, 30.0]) * 0.02
    np.testing.assert_allclose(force.sum(axis=0), total, rtol=1e-12)
    np.testing.assert_allclose(np.cross(rest, force).sum(axis=0), np.cross([0.05, 0.1, 0.3], total), rtol=1e-12)


@pytest.mark.parametrize("element", ["tet4", "tet10", "hex8"])
def test_pressure_is_minus_the_normal_traction_at_rest(element):
    scene, body = scene_of(element)
    scene.add(pl.PressureLoad(body, TOP, 50.0))
    pressed, _ = external(scene)
    scene, body = scene_of(element)
    scene.add(pl.TractionLoad(body, TOP, (0.0, 0.0, -50.0)))
    np.testing.assert_allclose(pressed, external(scene)[0], atol=1e-14)


def test_pressure_follows_the_surface():
    """Turned by 90° about x the face z = top looks towards −y: the force turns with it."""
    scene, body = scene_of()
    scene.add(pl.PressureLoad(body, TOP, 50.0))
    model = scene.compile().models[0]
    turn = np.array([[1, 0, 0], [0, 0, -1], [0, 1, 0]], float)
    _, force = model.external(model.rest @ turn.T, np.zeros(3), {})
    np.testing.assert_allclose(force.sum(axis=0), [0.0, 50.0 * 0.02, 0.0], atol=1e-12)


def test_gravity_is_mass_times_acceleration():
    scene, _ = scene_of()
    model = scene.compile().models[0]
    potential, force = model.external(model.rest.copy(), np.array([0, 0, -10.0]), {})
    np.testing.assert_allclose(force, model.mass.nodal[:, None] * [0, 0, -10.0])
    assert potential == pytest.approx(6.0 * 10.0 * 0.15, rel=1e-12), "m g z of the centre"


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_bad_numbers_are_refused_when_written(bad):
    _, body = scene_of()
    with pytest.raises(InputError, match=r"force of a PointLoad must be finite, but entry \[1\]"):
        pl.PointLoad(body, TOP, (0.0, bad, 0.0))
    with pytest.raises(InputError, match="traction of a TractionLoad must be finite"):
        pl.TractionLoad(body, TOP, (bad, 0.0, 0.0))
    with pytest.raises(InputError, match=r"pressure of a PressureLoad must be finite \(in Pa\)"):
        pl.PressureLoad(body, TOP, bad)
    with pytest.raises(InputError, match="displacement of a Support must be finite"):
        pl.Support(body, TOP, displacement=bad)


@pytest.mark.parametrize("axes", ["", "w", "xx", "xyzx"])
def test_bad_axes(axes):
    _, body = scene_of()
    with pytest.raises(InputError, match="distinct letters of 'xyz'"):
        pl.Support(body, TOP, axes=axes)


def test_a_displacement_has_one_value_or_one_per_axis():
    _, body = scene_of()
    np.testing.assert_array_equal(pl.Support(body, TOP, axes="zx", displacement=0.1).value, [0.1, 0.1])
    np.testing.assert_array_equal(pl.Support(body, TOP, axes="zx", displacement=(0.1, 0.2)).value, [0.1, 0.2])
    with pytest.raises(InputError, match=r"one value or 2, got shape \(3,\)"):
        pl.Support(body, TOP, axes="zx", displacement=(1, 2, 3))


@pytest.mark.parametrize("load", [lambda b: pl.PointLoad(b, NOWHERE, (0, 0, 1)), lambda b: pl.Support(b, NOWHERE)])
def test_empty_regions_name_themselves(load):
    scene, body = scene_of()
    scene.add(load(body))
    with pytest.raises(MeshError, match=r"box from \(5, 5, 5\) to \(6, 6, 6\) m selects none"):
        scene.compile()


@pytest.mark.parametrize(
    "load", [lambda b: pl.TractionLoad(b, pl.regions.nodes([0]), (0, 0, 1)), lambda b: pl.PressureLoad(b, NOWHERE, 1.0)]
)
def test_a_surface_load_needs_whole_facets(load):
    scene, body = scene_of()
    scene.add(load(body))
    with pytest.raises(InputError, match="contains no surface facet"):
        scene.compile()


def test_a_point_load_takes_node_indices():
    scene, body = scene_of()
    scene.add(pl.PointLoad(body, [0, 2], (0, 0, 4.0)))
    model = scene.compile().models[0]
    force = model.external(model.rest, np.zeros(3), {})[1]
    assert force[[0, 2], 2].tolist() == [2.0, 2.0]
    assert np.count_nonzero(force) == 2
