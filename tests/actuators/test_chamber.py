"""Surfaces that bound no air inside their body are refused, each with what is wrong with it."""

import numpy as np
import pytest

import pliant as pl
from pliant.actuators.cavity import hollow_surfaces
from pliant.mesh.lattice import Lattice
from pliant.mesh.surface import Surface

RUBBER = pl.materials.NeoHookean(young=1e5, poisson=0.49, density=1e3)
LINE = np.linspace(0.0, 0.04, 5)


def carved(*hollows):
    """A cube of 4³ cells without those at `hollows`."""
    keep = np.ones((4, 4, 4), bool)
    for place in hollows:
        keep[place] = False
    lattice = Lattice.grid(LINE, LINE, LINE, keep=keep)
    return pl.Volume(lattice.mesh(*lattice.points.T, element="tet4"), RUBBER)


def compiled(body, surface=None):
    scene = pl.Scene()
    scene.add(body)
    scene.add(pl.Cavity(body, surface, name="lung"))
    return scene.compile()


@pytest.fixture(scope="module")
def hollow():
    body = carved((slice(1, 3),) * 3)
    return body, hollow_surfaces(body.mesh)[0]


def test_a_chamber_inside_its_body_is_taken(hollow):
    body, surface = hollow
    assert compiled(body, surface).constraints[0].rest_volume == pytest.approx(8e-6)


def test_an_open_surface_is_refused(hollow):
    body, surface = hollow
    with pytest.raises(pl.MeshError, match="open at 3 of its edges"):
        compiled(body, Surface.from_triangles(body.mesh.points, surface.triangles[1:]))


def test_the_flipped_outside_is_not_inside(hollow):
    body, _ = hollow
    outside = next(shell for shell in body.mesh.surface().components() if shell.volume() > 0.0)
    with pytest.raises(pl.MeshError, match="face into the body"):
        compiled(body, outside.flipped())


def test_a_surface_in_the_midst_of_rubber_is_refused(hollow):
    _, surface = hollow
    full = carved()
    places = {tuple(p): k for k, p in enumerate(np.round(full.mesh.points, 9))}
    same = np.array([places[tuple(p)] for p in np.round(surface.points, 9)], np.int32)
    with pytest.raises(pl.MeshError, match="material on both sides"):
        compiled(full, Surface.from_triangles(full.mesh.points, same[surface.triangles]))


def test_nodes_of_another_mesh_are_refused(hollow):
    _, surface = hollow
    with pytest.raises(pl.MeshError, match="has only 8 nodes"):
        compiled(pl.Volume(pl.mesh.box((0.01,) * 3, (1, 1, 1)), RUBBER), surface)


def test_a_surface_in_another_unit_is_refused(hollow):
    """A ratio of volumes would be taken of 8 m³."""
    body, surface = hollow
    with pytest.raises(pl.MeshError, match="check its unit"):
        compiled(body, Surface.from_triangles(100.0 * body.mesh.points, surface.triangles))


@pytest.mark.parametrize("outer", [(2, 1, 3), (1, 1, 3)], ids=["at an edge", "at a face"])
def test_a_chamber_that_touches_the_outside_is_none(outer):
    with pytest.raises(pl.MeshError, match="touches the outer surface"):
        compiled(carved((1, 1, 2), outer))


def test_a_chamber_that_meets_another_at_a_node_is_named():
    """Both are one shell of the mesh; a part of it that is closed by itself shares a node with the rest."""
    body = carved((1, 1, 1), (2, 2, 2))
    shells = hollow_surfaces(body.mesh)
    triangles = np.concatenate([shell.triangles for shell in shells])
    near = (body.mesh.points[triangles] < 0.02 + 1e-9).all(axis=(1, 2))
    with pytest.raises(pl.MeshError, match="or another chamber at node"):
        compiled(body, Surface.from_triangles(body.mesh.points, triangles[near]))


def test_the_last_shape_is_kept_when_the_way_ends(hollow):
    body, surface = hollow
    held = pl.Volume(body.mesh, RUBBER, clamp=pl.regions.plane(axis="z", at=0.0))
    scene = pl.Scene()
    scene.add(held)
    lung = scene.add(pl.Cavity(held, surface))
    world = scene.compile()
    with pytest.raises(pl.ConvergenceError, match="of its volume") as caught:
        pl.Geometric(iterations=1, tolerance=1e-12)(world, world.initial_state(), {lung: pl.VolumeRatio(3.0)})
    assert caught.value.result.volume(lung) >= world.initial_state().volume(lung)
