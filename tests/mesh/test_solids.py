"""Several solids of one CAD file as parts of one mesh."""

import numpy as np
import pytest

import pliant as pl
from pliant.mesh.gmsh_session import drawing

pytest.importorskip("gmsh")


@pytest.fixture(scope="module")
def two(tmp_path_factory):
    """A soft block of 40 × 10 × 6 mm on a layer of 2 mm, in one STEP file."""
    file = tmp_path_factory.mktemp("cad") / "two.step"
    with drawing(1.0) as gmsh:
        gmsh.model.occ.addBox(0, 0, 0, 40, 10, 2)
        gmsh.model.occ.addBox(0, 0, 2, 40, 10, 6)
        gmsh.model.occ.synchronize()
        gmsh.write(str(file))
    return file


def test_solids_are_parts_of_one_mesh(two):
    mesh, parts = pl.mesh.tetrahedralize_solids(two, cell_size=0.004)
    layer, block = parts.values()
    volumes, centers = mesh.cell_volumes(), mesh.points[mesh.corner_cells].mean(axis=1)
    inside = layer.select(centers)
    np.testing.assert_array_equal(inside, ~block.select(centers))
    np.testing.assert_array_equal(inside, centers[:, 2] < 0.002)
    assert volumes[inside].sum() == pytest.approx(8e-7)
    assert volumes.sum() == pytest.approx(3.2e-6)
    assert len(mesh.surface().components()) == 1  # bonded


def test_parts_have_materials_of_their_own(two):
    mesh, parts = pl.mesh.tetrahedralize_solids(two, cell_size=0.004)
    first = next(iter(parts.values()))
    soft, stiff = pl.materials.dragon_skin_20(), pl.materials.Corotated(young=1e7, poisson=0.4, density=1100)
    volume = pl.Volume(mesh, soft, inclusions=[(first, stiff)])
    centers = mesh.points[mesh.corner_cells].mean(axis=1)
    np.testing.assert_array_equal(volume.cell_materials() == 1, centers[:, 2] < 0.002)


def test_what_is_wrong_is_told(two, tmp_path):
    with pytest.raises(pl.errors.MeshError, match="tetrahedralize_solids makes one mesh of them"):
        pl.mesh.tetrahedralize(two, cell_size=0.004)
    with pytest.raises(pl.errors.MeshError, match="does not exist"):
        pl.mesh.tetrahedralize_solids(tmp_path / "none.step", cell_size=0.004)
    with pytest.raises(pl.InputError, match="another unit"):
        pl.mesh.tetrahedralize_solids(two, cell_size=4e-6)
