"""Surfaces and CAD files become tetrahedra: volumes, hollows, sizes, and clear words about bad ones."""

import subprocess
import sys

import numpy as np
import pytest

import pliant as pl
from pliant.mesh.filling import nested_shells, winding
from pliant.mesh.surface import Surface

gmsh = pytest.importorskip("gmsh")


def joined(*surfaces):
    """Several surfaces as one."""
    starts = np.cumsum([0, *(len(surface.points) for surface in surfaces)])
    points = np.concatenate([surface.points for surface in surfaces])
    triangles = [surface.triangles + start for surface, start in zip(surfaces, starts, strict=False)]
    return Surface.from_triangles(points, np.concatenate(triangles))


def block(size, corner=(0.0, 0.0, 0.0)):
    mesh = pl.mesh.box(size, (1, 1, 1)).translated(corner)
    return Surface.from_triangles(mesh.surface().points, mesh.surface().triangles)


def test_winding_is_one_inside_and_zero_outside():
    ball = pl.mesh.shell(0.5, 1.0, cells=(1, 4)).surface().components()[0]
    points = np.array([(0.0, 0.0, 0.0), (0.9, 0.0, 0.0), (2.0, 0.0, 0.0), (0.0, -1.5, 1.0)])
    np.testing.assert_allclose(winding(ball, points), [1.0, 1.0, 0.0, 0.0], atol=1e-9)
    np.testing.assert_allclose(winding(ball.flipped(), points)[:1], [-1.0], atol=1e-9)


@pytest.mark.parametrize("inside_out", [False, True])
def test_a_hollow_stays_empty_whichever_way_it_is_turned(inside_out):
    hollow = block((0.02, 0.01, 0.01), (0.01, 0.005, 0.005))
    surface = joined(block((0.04, 0.02, 0.02)), hollow if inside_out else hollow.flipped())
    mesh = pl.mesh.tetrahedralize(surface, cell_size=0.005)
    outer, inner = mesh.surface().components()
    assert mesh.volume == pytest.approx(16e-6 - 2e-6, rel=1e-9)
    assert outer.volume() == pytest.approx(16e-6, rel=1e-9)
    assert inner.volume() == pytest.approx(-2e-6, rel=1e-9)
    body = pl.Volume(mesh, pl.materials.ecoflex_00_30(), clamp=pl.regions.plane(axis="x", at=0.0))
    scene = pl.Scene()
    scene.add(body)
    scene.add(pl.Cavity(body))
    assert scene.compile().volumes[0].mesh.cell_count == mesh.cell_count


def test_the_size_of_cells_is_obeyed():
    coarse, fine = (
        pl.mesh.mesh_report(pl.mesh.tetrahedralize(block((0.04, 0.02, 0.02)), cell_size=size))
        for size in (0.006, 0.003)
    )
    assert coarse.mean_edge_mm == pytest.approx(6.0, rel=0.25)
    assert fine.mean_edge_mm == pytest.approx(3.0, rel=0.25)
    assert fine.cells > 4 * coarse.cells


def test_a_round_surface_is_meshed_anew_or_kept():
    ball = pl.mesh.shell(0.005, 0.01, cells=(1, 4)).surface().components()[0]
    ball = Surface.from_triangles(ball.points, ball.triangles)
    kept = pl.mesh.tetrahedralize(ball, cell_size=0.004, keep_surface=True)
    anew = pl.mesh.tetrahedralize(ball, cell_size=0.003)
    assert kept.volume == pytest.approx(ball.volume(), rel=1e-9)
    assert len(kept.surface().nodes) == len(ball.nodes)
    assert anew.volume == pytest.approx(ball.volume(), rel=0.05)
    for mesh in (kept, anew):
        mesh.check_quality(minimum=0.1)


@pytest.mark.parametrize("ending", ["stl", "obj", "ply"])
def test_files_are_read_in_their_unit(tmp_path, ending):
    pl.mesh.save(block((0.02, 0.01, 0.01)), tmp_path / f"part.{ending}", unit="mm")
    mesh = pl.mesh.tetrahedralize(tmp_path / f"part.{ending}", unit="mm", cell_size=0.005, element="tet10")
    assert mesh.element == "tet10"
    assert mesh.volume == pytest.approx(2e-6, rel=1e-6)
    with pytest.raises(pl.InputError, match="unit"):
        pl.mesh.tetrahedralize(tmp_path / f"part.{ending}", cell_size=0.005)


@pytest.fixture(scope="module")
def cad(tmp_path_factory):
    """A plate of 40 × 20 × 10 mm with a hole of radius 4 mm as STEP and BREP, and two separate boxes."""
    folder = tmp_path_factory.mktemp("cad")
    gmsh.initialize([], readConfigFiles=False, interruptible=False)
    gmsh.option.setNumber("General.Terminal", 0)
    occ = gmsh.model.occ
    plate, hole = occ.addBox(0, 0, 0, 40, 20, 10), occ.addCylinder(20, 10, -1, 0, 0, 12, 4)
    occ.cut([(3, plate)], [(3, hole)])
    occ.synchronize()
    for ending in ("step", "brep"):
        gmsh.write(str(folder / f"plate.{ending}"))
    occ.addBox(100, 0, 0, 1, 1, 1)
    occ.synchronize()
    gmsh.write(str(folder / "two.step"))
    gmsh.finalize()
    (folder / "noise.step").write_text("nothing of the kind")
    return folder


@pytest.mark.parametrize(("name", "unit"), [("plate.step", None), ("plate.brep", "mm")])
def test_a_cad_file_has_its_volume(cad, name, unit):
    mesh = pl.mesh.tetrahedralize(cad / name, unit=unit, cell_size=0.002)
    assert mesh.volume == pytest.approx(1e-9 * (40 * 20 * 10 - np.pi * 4**2 * 10), rel=5e-3)
    np.testing.assert_allclose(mesh.bounds, [(0, 0, 0), (0.04, 0.02, 0.01)], atol=1e-9)


def test_a_brep_file_in_another_unit(cad):
    mesh = pl.mesh.tetrahedralize(cad / "plate.brep", unit="cm", cell_size=0.05)
    np.testing.assert_allclose(mesh.bounds[1], (0.4, 0.2, 0.1), atol=1e-8)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("two.step", "2 solids"),
        ("noise.step", "noise.step"),
        ("nowhere.step", "does not exist"),
        ("plate.brep", "unit"),
    ],
)
def test_bad_cad_files_are_told(cad, name, said):
    with pytest.raises(pl.PliantError, match=said):
        pl.mesh.tetrahedralize(cad / name, cell_size=0.005)


def test_gmsh_is_left_as_it_was(cad):
    pl.mesh.tetrahedralize(cad / "plate.step", cell_size=0.01)
    assert not gmsh.isInitialized()


def test_a_broken_pipe_is_still_an_error_and_not_the_end(tmp_path):
    """Gmsh sets SIGPIPE back to what ends a process; in a thread of a viewer that would take the viewer down."""
    script = (
        "import os, threading, pliant as pl\n"
        "make = lambda: pl.mesh.block_with_cavity((1, 1, 1), wall=0.3, cell_size=1.0)\n"
        "thread = threading.Thread(target=make); thread.start(); thread.join()\n"
        "read, write = os.pipe(); os.close(read)\n"
        "try:\n    os.write(write, b'x')\nexcept BrokenPipeError:\n    print('alive')\n"
    )
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert result.stdout.strip() == "alive", result.stderr


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGTERM that could be caught")
def test_signals_are_handled_as_before():
    """Gmsh sets SIGTERM back to what ends a process at once; a viewer that meshed a robot could not close itself."""
    script = (
        "import os, signal, threading, pliant as pl\n"
        "for number in (signal.SIGTERM, signal.SIGINT):\n"
        "    signal.signal(number, lambda number, frame: print('told', int(number)))\n"
        "make = lambda: pl.mesh.block_with_cavity((1, 1, 1), wall=0.3, cell_size=1.0)\n"
        "thread = threading.Thread(target=make); thread.start(); thread.join()\n"
        "for number in (signal.SIGTERM, signal.SIGINT):\n"
        "    os.kill(os.getpid(), number)\n"
    )
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert result.stdout.split("\n")[:2] == ["told 15", "told 2"], result.stderr
    assert result.returncode == 0


def crossing():
    return joined(block((0.02, 0.02, 0.02)), block((0.02, 0.02, 0.02), (0.01, 0.01, 0.01)))


@pytest.mark.parametrize(
    ("surface", "said"),
    [
        (lambda: Surface.from_triangles(block((1, 1, 1)).points, block((1, 1, 1)).triangles[1:]), "open at 3"),
        (lambda: joined(block((1, 1, 1)), block((1, 1, 1), (5, 0, 0))), "2 separate solids"),
        (lambda: joined(block((1, 1, 1)), block((0.6,) * 3, (0.2,) * 3), block((0.2,) * 3, (0.4,) * 3)), "solids"),
        (crossing, "solids|could not be filled"),
    ],
)
def test_bad_surfaces_are_told(surface, said):
    with pytest.raises(pl.MeshError, match=said):
        pl.mesh.tetrahedralize(surface(), cell_size=0.3)


def test_triangles_turned_against_each_other_are_told():
    cube = block((1, 1, 1))
    triangles = np.array(cube.triangles)
    triangles[0] = triangles[0, ::-1]
    with pytest.raises(pl.MeshError, match="opposite orientations"):
        pl.mesh.tetrahedralize(Surface.from_triangles(cube.points, triangles), cell_size=0.3)


def test_hexahedra_and_sizes_of_nothing_are_refused():
    with pytest.raises(pl.InputError, match="tet4"):
        pl.mesh.tetrahedralize(block((1, 1, 1)), cell_size=0.3, element="hex8")
    with pytest.raises(pl.InputError, match="cell_size"):
        pl.mesh.tetrahedralize(block((1, 1, 1)), cell_size=0.0)


def test_shells_come_with_the_outer_one_first():
    shells = nested_shells(joined(block((0.2,) * 3, (0.4,) * 3).flipped(), block((1, 1, 1))))
    assert [abs(shell.volume()) for shell in shells] == pytest.approx([1.0, 0.008])


def outside(size=(0.02, 0.01, 0.01)):
    """Points and triangles, outward, of a box."""
    surface = pl.mesh.box(size, (8, 4, 4)).surface()
    nodes = surface.nodes
    number = np.zeros(len(surface.points), int)
    number[nodes] = np.arange(len(nodes))
    return surface.points[nodes], number[surface.triangles]


def test_the_nodes_of_the_surface_come_first_and_the_volume_is_its_own():
    points, triangles = outside()
    mesh = pl.mesh.fill(points, triangles)
    assert mesh.points[: len(points)] == pytest.approx(points, abs=1e-15)
    assert mesh.volume == pytest.approx(2e-6, rel=1e-12)
    ours, theirs = ({tuple(sorted(t)) for t in part.tolist()} for part in (triangles, mesh.surface().triangles))
    assert ours == theirs


def test_a_finer_filling_has_more_cells():
    points, triangles = outside()
    assert pl.mesh.fill(points, triangles, cell_size=1e-3).cell_count > pl.mesh.fill(points, triangles).cell_count


def test_open_inward_and_crossing_surfaces_are_named():
    points, triangles = outside()
    with pytest.raises(pl.MeshError, match="open"):
        pl.mesh.fill(points, triangles[1:])
    with pytest.raises(pl.MeshError, match="inward"):
        pl.mesh.fill(points, triangles[:, ::-1])
    crossing = points.copy()
    crossing[np.argmax(points @ [0.0, 0.0, 1.0]), 2] -= 0.015
    with pytest.raises(pl.MeshError, match="crosses itself"):
        pl.mesh.fill(crossing, triangles)


def test_surfaces_are_meshed_in_another_process():
    """Where a surface crosses itself Gmsh may crash: not in the process of the caller."""
    script = (
        "import sys, pliant as pl\n"
        "mesh = pl.mesh.tetrahedralize(pl.mesh.box((1, 1, 1), (1, 1, 1)).surface(), cell_size=1.0)\n"
        "print(round(mesh.volume, 9), 'gmsh' in sys.modules)"
    )
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert result.stdout.split() == ["1.0", "False"], result.stderr
