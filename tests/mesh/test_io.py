"""Files: the format by content, the unit always said, only volume cells, errors that name the file."""

import subprocess
import sys
from pathlib import Path

import meshio
import numpy as np
import pytest

from pliant.core.errors import MeshError, UnitError
from pliant.mesh import box, load, load_surface, save, tube
from pliant.mesh.io import _check_read, file_format

ROBOTS = Path(__file__).resolve().parents[2].parent / "shared" / "data" / "robots"
needs_robots = pytest.mark.skipif(not ROBOTS.is_dir(), reason=f"robot meshes are not at {ROBOTS}")
BEAM = box((0.1, 0.02, 0.02), (3, 1, 2))


@needs_robots
@pytest.mark.parametrize(
    ("name", "nodes", "tetrahedra"),
    [
        ("finger.vtk", 158, 389),
        ("trunk.vtk", 709, 1972),
        ("diamond.vtk", 1628, 4147),
        ("pneunet.vtk", 2316, 9560),
        ("pneunet-coarse.vtk", 376, 1195),
        ("tripod-low.gidmsh", 235, 579),
        ("tripod-mid.gidmsh", 781, 2684),
        ("tripod-high.gidmsh", 1455, 5221),
    ],
)
def test_robots_of_other_projects_load(name, nodes, tetrahedra):
    mesh = load(ROBOTS / name, unit="mm")
    assert (mesh.node_count, mesh.cell_count) == (nodes, tetrahedra)
    mesh.surface().check_closed()
    assert 0.01 < np.ptp(mesh.bounds, axis=0).max() < 0.3


@needs_robots
def test_cavity_of_the_pneumatic_robot_is_a_closed_surface():
    cavity = load_surface(ROBOTS / "pneunet-cavity.stl", unit="mm")
    cavity.check_closed()
    cavity.check_orientation()
    body = load(ROBOTS / "pneunet.vtk", unit="mm")
    assert cavity.volume() == pytest.approx(-body.surface().components()[1].volume(), rel=1e-6)


@pytest.mark.parametrize("element", ["tet4", "tet10", "hex8"])
@pytest.mark.parametrize("ending", [".vtu", ".vtk", ".msh", ".inp"])
def test_saved_meshes_load_again(tmp_path, element, ending):
    mesh = tube(0.01, 0.02, 0.03, cells=(1, 6, 2), element=element)
    save(mesh, tmp_path / f"tube{ending}", unit="mm")
    again = load(tmp_path / f"tube{ending}", unit="mm")
    assert again.element == element
    assert again.points == pytest.approx(mesh.points, abs=1e-12)
    assert (again.cells == mesh.cells).all()


@pytest.mark.parametrize(("written", "named"), [("vtu", ".vtk"), ("vtk", ".vtu"), ("gmsh", ".dat"), ("vtu", ".msh")])
def test_the_name_of_a_file_does_not_matter(tmp_path, written, named):
    path = tmp_path / f"mesh{named}"
    meshio.write(path, meshio.Mesh(BEAM.points, [("tetra", BEAM.cells)]), file_format=written)
    assert file_format(path) == written
    assert load(path, unit="m").cell_count == BEAM.cell_count


@pytest.mark.parametrize(("unit", "metres"), [("m", 1.0), ("mm", 1e-3), ("cm", 1e-2), ("inch", 0.0254)])
def test_the_unit_scales(tmp_path, unit, metres):
    meshio.write(tmp_path / "mesh.vtu", meshio.Mesh(BEAM.points, [("tetra", BEAM.cells)]))
    assert load(tmp_path / "mesh.vtu", unit=unit).volume == pytest.approx(BEAM.volume * metres**3)


def test_a_missing_or_unknown_unit_is_an_error_with_the_remedy(tmp_path):
    save(BEAM, tmp_path / "mesh.vtu", unit="m")
    with pytest.raises(UnitError, match='unit="mm"'):
        load(tmp_path / "mesh.vtu")
    with pytest.raises(UnitError, match='unit="mm"'):
        load_surface(tmp_path / "mesh.vtu")
    with pytest.raises(UnitError, match='unit="mm"'):
        save(BEAM, tmp_path / "mesh.vtu")
    with pytest.raises(UnitError, match="parsec"):
        load(tmp_path / "mesh.vtu", unit="parsec")


def test_other_cells_and_unused_nodes_are_left_out(tmp_path):
    points = np.vstack([[(7, 7, 7)], BEAM.points, [(8, 8, 8)]])
    cells = [("triangle", [[0, 1, 2]]), ("tetra", BEAM.cells + 1), ("line", [[0, 1]])]
    meshio.write(tmp_path / "mixed.vtk", meshio.Mesh(points, cells))
    mesh = load(tmp_path / "mixed.vtk", unit="m")
    assert (mesh.points == BEAM.points).all()
    assert (mesh.cells == BEAM.cells).all()


def test_mirrored_cells_are_put_right(tmp_path):
    cells = np.array(BEAM.cells)
    cells[::2] = cells[::2][:, [1, 0, 2, 3]]
    meshio.write(tmp_path / "mesh.vtu", meshio.Mesh(BEAM.points, [("tetra", cells)]))
    assert load(tmp_path / "mesh.vtu", unit="m").volume == pytest.approx(BEAM.volume)


@pytest.mark.parametrize(
    ("cells", "words"),
    [
        ([("tetra", BEAM.cells), ("wedge", [[0, 1, 2, 3, 4, 5]])], "several kinds of volume cells .*tetra.*wedge"),
        ([("wedge", [[0, 1, 2, 3, 4, 5]])], "wedge are not supported"),
        ([("triangle", [[0, 1, 2]])], "no volume cells .*1 triangle.*load_surface"),
        ([("tetra", np.vstack([BEAM.cells, BEAM.cells[:1]]))], "cell 36 is repeated"),
        ([("tetra", [[0, 1, 2, 3], [0, 1, 2, 6]])], "is flat"),
    ],
)
def test_unusable_cells_are_explained(tmp_path, cells, words):
    points = BEAM.points
    if "flat" in words:
        points = np.array([(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1), (9, 9, 9), (9, 9, 9), (1, 1, 0)], dtype=float)
    meshio.write(tmp_path / "mesh.vtu", meshio.Mesh(points, cells))
    with pytest.raises(MeshError, match=rf"mesh\.vtu: .*{words}"):
        load(tmp_path / "mesh.vtu", unit="m")


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "is empty"),
        (b"hello, this is a letter", "no known mesh format"),
        (
            b"# vtk DataFile Version 2.0\nx\nASCII\nDATASET UNSTRUCTURED_GRID\nPOINTS 9 double\n1 2",
            "cannot be read as vtk",
        ),
        (b"<?xml version='1.0'?><VTKFile type='UnstructuredGrid'>", "cannot be read as vtu"),
        (b"MESH dimension 3 ElemType Tetrahedra Nnode 4\nCoordinates\n1 0 0 x\n", "line 3"),
        (b"MESH dimension 3 ElemType Prism Nnode 6\n", "Prism with 6 nodes"),
    ],
)
def test_damaged_files_are_named(tmp_path, content, words):
    path = tmp_path / "bad.vtk"
    path.write_bytes(content)
    with pytest.raises(MeshError, match=rf"bad\.vtk.*{words}"):
        load(path, unit="mm")


def test_missing_files_and_folders_are_named(tmp_path):
    with pytest.raises(MeshError, match=r"nowhere\.vtu does not exist"):
        load(tmp_path / "nowhere.vtu", unit="mm")
    with pytest.raises(MeshError, match="is a folder"):
        load(tmp_path, unit="mm")


def test_gid_meshes_with_gaps_in_their_numbers(tmp_path):
    path = tmp_path / "mesh.gidmsh"
    nodes = "\n".join(f"{10 * i + 5} {x} {y} {z}" for i, (x, y, z) in enumerate(BEAM.points.tolist()))
    cells = "\n".join(f"{i + 1} {' '.join(str(10 * n + 5) for n in c)} 1" for i, c in enumerate(BEAM.cells.tolist()))
    head = 'MESH "beam" dimension 3 ElemType Tetrahedra Nnode 4\n# a comment\n'
    path.write_text(f"{head}Coordinates\n{nodes}\nEnd Coordinates\n\nElements\n{cells}\nEnd Elements\n")
    mesh = load(path, unit="m")
    assert mesh.points == pytest.approx(BEAM.points)
    assert (mesh.cells == BEAM.cells).all()
    path.write_text(f"{head}Coordinates\n{nodes}\nEnd Coordinates\nElements\n1 5 15 25 7\nEnd Elements\n")
    with pytest.raises(MeshError, match="node 7, which has no coordinates"):
        load(path, unit="m")


@pytest.mark.parametrize(("ending", "binary"), [(".stl", True), (".stl", False), (".obj", None), (".ply", None)])
def test_surfaces_are_merged_into_closed_ones(tmp_path, ending, binary):
    surface = BEAM.surface()
    soup = surface.points[surface.triangles].reshape(-1, 3)
    path = tmp_path / f"surface{ending}"
    options = {} if binary is None else {"binary": binary}
    triangles = np.arange(len(soup)).reshape(-1, 3)
    meshio.write(path, meshio.Mesh(1e3 * soup, [("triangle", triangles)]), **options)
    loaded = load_surface(path, unit="mm")
    loaded.check_closed()
    loaded.check_orientation()
    assert len(loaded.points) == len(surface.nodes)
    assert loaded.volume() == pytest.approx(BEAM.volume, rel=1e-6)


def test_a_surface_is_saved_without_the_nodes_inside(tmp_path):
    mesh = box((1, 1, 1), (3, 3, 3))
    save(mesh.surface(), tmp_path / "skin.vtu", unit="m", point_data={"height": mesh.points[:, 2]})
    data = meshio.read(tmp_path / "skin.vtu")
    assert len(data.points) == 56
    assert data.point_data["height"] == pytest.approx(data.points[:, 2])
    with pytest.raises(MeshError, match="load_surface"):
        load(tmp_path / "skin.vtu", unit="m")
    assert load_surface(tmp_path / "skin.vtu", unit="m").is_closed()


def test_a_volume_is_not_read_as_a_surface(tmp_path):
    save(BEAM, tmp_path / "mesh.vtu", unit="m")
    with pytest.raises(MeshError, match=r"volume mesh; use pl\.mesh\.load"):
        load_surface(tmp_path / "mesh.vtu", unit="m")


def test_an_unknown_ending_cannot_be_written(tmp_path):
    with pytest.raises(MeshError, match=r"mesh\.bag.*\.vtu"):
        save(BEAM, tmp_path / "mesh.bag", unit="m")


def test_importing_the_room_loads_neither_meshio_nor_gmsh():
    script = "import sys, pliant.mesh; print(sorted({'meshio', 'gmsh'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_a_file_without_a_signature_is_what_its_ending_says(tmp_path):
    path = tmp_path / "part.med"
    path.write_bytes(b"\x89HDF\r\n\x1a\n" + bytes(100))
    assert file_format(path) == "med"
    with pytest.raises(MeshError, match="of no known mesh format"):
        file_format(path.rename(tmp_path / "part.xyzw"))


@pytest.mark.parametrize("far", [1e101, -1e101, np.inf, -np.inf, np.nan])
def test_nodes_beyond_all_sizes_are_refused(tmp_path, far):
    """On either side of the origin."""
    points = np.array(BEAM.points)
    points[3, 1] = far
    path = tmp_path / "far.vtu"
    meshio.write_points_cells(path, points, [("tetra", BEAM.cells)])
    with pytest.raises(MeshError, match="has nodes that are not finite, or beyond"):
        load(path, unit="m")


@pytest.mark.parametrize(
    ("points", "blocks", "words"),
    [
        (np.zeros((3, 0)), [], "holds no nodes"),
        (np.zeros(6), [], "holds no nodes"),
        (BEAM.points, [("tetra", np.zeros(4, int))], "its tetra cells are no lists of nodes"),
        (BEAM.points, [("tetra", np.zeros((2, 4)))], "its tetra cells are no lists of nodes"),
        (BEAM.points, [("polygon", np.zeros((2, 4), int)), ("polygon", np.zeros((2, 5), int))], "different numbers"),
    ],
)
def test_what_a_reader_returns_is_checked(tmp_path, points, blocks, words):
    """Empty blocks are no cells; unsigned indices are indices."""
    with pytest.raises(MeshError, match=words):
        _check_read(tmp_path, points, blocks)
    _check_read(tmp_path, BEAM.points, [("tetra", np.zeros(0)), ("tetra", BEAM.cells.astype(np.uint32))])
