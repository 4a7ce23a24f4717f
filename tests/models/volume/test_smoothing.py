"""Smoothing domains partition the body, within one material."""

import numpy as np
import pytest

import pliant as pl
from pliant.models.volume.smoothing import edge_domains, star_domains


def scattered():
    base = pl.mesh.box((1.0, 1.0, 1.0), (3, 3, 3))
    return base.mapped(lambda x: x + 0.06 * np.sin(5 * x[:, [2, 0, 1]] + 2 * x))


def materials(mesh):
    return (mesh.points[mesh.cells].mean(axis=1)[:, 2] > 0.4).astype(np.int32)


def domains(mesh, kind, material):
    volumes = mesh.cell_volumes()
    if kind == "edges":
        return edge_domains(mesh.cells, volumes, material)
    return star_domains(mesh.points, mesh.cells, volumes, material)


@pytest.mark.parametrize("kind", ["edges", "stars"])
def test_domains_partition_the_volume(kind):
    mesh = scattered()
    found = domains(mesh, kind, materials(mesh))
    np.testing.assert_allclose(np.bincount(found.cell, found.volume), mesh.cell_volumes(), rtol=1e-13)
    assert (np.bincount(found.domain) > 0).all(), "domains are numbered without gaps"


@pytest.mark.parametrize("kind", ["edges", "stars"])
def test_domains_stay_within_one_material(kind):
    mesh = scattered()
    number = materials(mesh)
    found = domains(mesh, kind, number)
    for domain in range(found.domain.max() + 1):
        assert len(set(number[found.cell[found.domain == domain]].tolist())) == 1


def test_cells_of_a_patch_share_an_edge():
    mesh = scattered()
    found = star_domains(mesh.points, mesh.cells, mesh.cell_volumes(), materials(mesh))
    for patch in range(found.domain.max() + 1):
        cells = mesh.cells[found.cell[found.domain == patch]]
        shared = set(cells[0].tolist()).intersection(*(set(cell.tolist()) for cell in cells))
        assert len(shared) >= 2


def test_patches_of_a_kuhn_box_are_its_cubes():
    mesh = pl.mesh.box((2.0, 1.0, 1.0), (4, 2, 2), symmetric="")
    found = star_domains(mesh.points, mesh.cells, mesh.cell_volumes(), np.zeros(mesh.cell_count, np.int32))
    volumes = np.bincount(found.domain, found.volume)
    np.testing.assert_allclose(volumes, 0.125, rtol=1e-12)
    assert len(volumes) == 16


def test_an_edge_takes_a_sixth_of_every_cell_around_it():
    mesh = scattered()
    found = edge_domains(mesh.cells, mesh.cell_volumes(), np.zeros(mesh.cell_count, np.int32))
    assert found.domain.max() + 1 == len(mesh.edges())
    np.testing.assert_allclose(found.volume, np.repeat(mesh.cell_volumes() / 6.0, 6), rtol=1e-13)


def test_the_volume_part_adds_nothing_to_the_pattern():
    """Star patches couple only nodes that edge domains couple: the promise of the module's docstring."""
    mesh = scattered()
    zero = np.zeros(mesh.cell_count, np.int32)

    def coupled(found):
        pairs = set()
        for domain in range(found.domain.max() + 1):
            nodes = np.unique(mesh.cells[found.cell[found.domain == domain]])
            pairs |= {(int(a), int(b)) for a in nodes for b in nodes}
        return pairs

    assert coupled(domains(mesh, "stars", zero)) <= coupled(domains(mesh, "edges", zero))
