"""A straight finger with its cable in the middle plane bends in that plane."""

import numpy as np
import pytest

import pliant as pl
from pliant.models.volume.smoothing import star_domains


def tip(symmetric, *, element="tet4", anti_locking=True):
    """Displacement (3,) m of the tip of a finger of 80 mm whose cable lies 4 mm below its axis."""
    mesh = pl.mesh.box((0.08, 0.015, 0.012), (10, 2, 2), element=element, symmetric=symmetric)
    scene = pl.Scene(gravity=(0, 0, -9.81))
    rubber = pl.materials.dragon_skin_20()
    clamp = pl.regions.plane(axis="x", at=0)
    body = pl.Volume(mesh.translated((0, -0.0075, -0.006)), rubber, clamp=clamp, anti_locking=anti_locking)
    finger = scene.add(body)
    cable = scene.add(pl.Cable(finger, np.linspace((0.001, 0, -0.004), (0.079, 0, -0.004), 6)))
    world = scene.compile()
    marker = pl.robots.Marker(finger, (0.08, 0, 0))
    state, _ = pl.QuasiStatic()(world, world.initial_state(), {cable: pl.Displacement(0.004)})
    return marker.at(state) - marker.at(world.initial_state())


@pytest.mark.parametrize(
    ("symmetric", "element", "anti_locking"),
    [
        (None, "tet4", True),
        (None, "tet4", "volume"),
        (None, "tet4", False),
        (None, "tet10", True),
        ("y", "tet4", True),
        ("yz", "tet4", "volume"),
        ("y", "tet10", True),
    ],
)
def test_a_symmetric_finger_bends_in_its_plane(symmetric, element, anti_locking):
    moved = tip(symmetric, element=element, anti_locking=anti_locking)
    assert moved[2] < -5e-3
    assert abs(moved[1]) < 1e-9


def test_it_bends_sideways_where_all_diagonals_point_the_same_way():
    moved = tip("")
    assert abs(moved[1]) > 0.03 * abs(moved[2])


@pytest.mark.parametrize("symmetric", ["", "y", "xz", "yz"])
def test_patches_of_smoothed_tetrahedra_are_the_cubes(symmetric):
    mesh = pl.mesh.box((1, 1, 1), (4, 4, 4), symmetric=symmetric)
    domains = star_domains(mesh.points, mesh.cells, mesh.cell_volumes(), np.zeros(mesh.cell_count, np.int32))
    patch = np.empty(mesh.cell_count, int)
    patch[domains.cell] = domains.domain
    assert (patch.reshape(-1, 6) == patch.reshape(-1, 6)[:, :1]).all()
    assert len(np.unique(patch)) == 64


@pytest.mark.parametrize(("cells", "seed"), [((7, 2, 3), 0), ((6, 4, 2), 1), ((5, 6, 1), 2)])
def test_a_distorted_symmetric_finger_bends_in_its_plane(cells, seed):
    """Tapered, bulged and graded, with odd numbers of cells along the other axes: patches are mirrored as well."""
    a, b, c, d = np.random.default_rng(seed).uniform(-0.3, 0.3, 4)
    box = pl.mesh.box((0.1, 0.02, 0.015), cells)
    x, y, z = (box.points / (0.1, 0.01, 0.015) - (0.0, 1.0, 0.0)).T
    shape = np.column_stack(
        [
            0.1 * (x + 0.1 * a * np.sin(np.pi * x) * (1 - y * y) * z),
            0.01 * y * (1 + x * (a + b * z + c * np.abs(y))),
            0.015 * (z + 0.3 * x * d * z * (1 - z) * (1 + y * y)),
        ]
    )
    scene = pl.Scene(gravity=(0, 0, 0))
    mesh = pl.mesh.Mesh(shape, box.cells, "tet4")
    material = pl.materials.NeoHookean(young=5e5, poisson=0.45, density=1e3)
    body = scene.add(pl.Volume(mesh, material, clamp=pl.regions.plane(axis="x", at=0.0)))
    cable = scene.add(pl.Cable(body, np.linspace((0.01, 0, 0.012), (0.098, 0, 0.012), 8)))
    world = scene.compile()
    state, _ = pl.QuasiStatic()(world, world.initial_state(), {cable: pl.Displacement(0.006)})
    moved = (state.points(body) - shape)[x > 1.0 - 1e-9].mean(axis=0)
    assert abs(moved[2]) > 5e-3
    assert abs(moved[1]) < 1e-9 * abs(moved[2])
