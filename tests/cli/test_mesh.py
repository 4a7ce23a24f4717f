"""`pliant mesh`: a surface or CAD file becomes a mesh in metres with a report; bad ones are told."""

import json

import numpy as np
import pytest

import pliant as pl

gmsh = pytest.importorskip("gmsh")


@pytest.fixture
def files(tmp_path):
    """Surfaces of a closed and of an open box, in millimetres, and a volume mesh in metres."""
    box = pl.mesh.box((0.02, 0.01, 0.01), (2, 1, 1))
    pl.mesh.save(box.surface(), tmp_path / "box.stl", unit="mm")
    pl.mesh.save(box, tmp_path / "box.vtu", unit="m")
    whole = box.surface()
    pl.mesh.save(pl.mesh.Surface.from_triangles(whole.points, whole.triangles[1:]), tmp_path / "open.stl", unit="mm")
    (tmp_path / "noise.stl").write_bytes(bytes(range(256)) * 4)
    return tmp_path


def test_a_surface_becomes_a_mesh_in_metres(pliant, files):
    code, out, err = pliant("mesh", "box.stl", "--unit", "mm", "--size", 4, "--out", "out.vtu", "--json", "report.json")
    assert code == 0, err
    assert "angles" in out
    report = json.loads((files / "report.json").read_text())
    assert report["volume_ml"] == pytest.approx(2.0, rel=1e-9)
    assert report["inverted"] == 0
    assert report["closed"]
    mesh = pl.mesh.load(files / "out.vtu", unit="m")
    np.testing.assert_allclose(mesh.bounds, [(0, 0, 0), (0.02, 0.01, 0.01)], atol=1e-9)


def test_without_a_size_the_walls_decide(pliant, files):
    code, out, err = pliant("mesh", "box.stl", "--unit", "mm", "--json", "report.json")
    assert code == 0, err
    assert "walls of 10 mm: 4 cells across" in out
    assert "a step (ms)" in out
    report = json.loads((files / "report.json").read_text())
    assert report["sizes"]["wall_mm"] == pytest.approx(10.0, rel=1e-6)
    assert 0.5 < report["sizes"]["expected_cells"] / report["cells"] < 2.0
    assert 0.1 < report["step_ms"] < 100.0


def test_a_volume_mesh_is_reported_as_it_is(pliant, files):
    code, out, _ = pliant("mesh", "box.vtu", "--unit", "m", "--json", "-")
    assert code == 0
    assert json.loads(out)["cells"] == 12


def test_regions_are_counted_and_written_beside_the_mesh(pliant, files):
    meshio = pytest.importorskip("meshio")
    options = [
        "base=plane:x=0",
        "far=box:19,-1,-1:21,11,11",
        "near=sphere:0,0,0:1",
        "one=nodes:3",
        "mid=plane:x=10,0.5",
    ]
    code, out, err = pliant(
        "mesh", "box.vtu", "--unit", "m", *(part for text in options[:1] for part in ("--region", text)), "--json", "-"
    )
    assert code == 0, err
    assert len(json.loads(out)["regions"]["base"]) == 4
    flags = [part for text in options for part in ("--region", text)]
    code, out, err = pliant("mesh", "box.stl", "--unit", "mm", "--size", 20, *flags, "--out", "out.vtu")
    assert code == 0, err
    marks = meshio.read(files / "out.vtu")
    x = marks.points[:, 0]
    np.testing.assert_array_equal(marks.point_data["base"] > 0.5, np.isclose(x, 0.0, atol=1e-9))
    np.testing.assert_array_equal(marks.point_data["far"] > 0.5, x > 0.0189)
    assert marks.point_data["one"].sum() == 1.0
    assert marks.point_data["near"].sum() == 1.0


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("base", "NAME=plane:x=0"),
        ("base=plane:w=0", "got 'base=plane:w=0'"),
        ("base=box:0,0:1,1,1", "NAME=box"),
        ("base=torus:1", "NAME=sphere"),
        ("base=plane:x=99", "selects none"),
        ("base=box:1,1,1:0,0,0", "swap them"),
        ("base=nodes:999999", "only"),
    ],
)
def test_bad_regions_are_told(pliant, files, text, said):
    code, _, err = pliant("mesh", "box.vtu", "--unit", "m", "--region", text)
    assert code == 1
    assert said in err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["box.stl", "--size", 4], "--unit mm"),
        (["box.stl", "--unit", "furlong", "--size", 4], "furlong"),
        (["box.stl", "--unit", "mm", "--size", -4], "cell_size"),
        (["box.stl", "--unit", "mm", "--size", 4, "--element", "hex8"], "tet4"),
        (["box.vtu", "--unit", "m", "--size", 4], "volume mesh already"),
        (["open.stl", "--unit", "mm", "--size", 4], "open at"),
        (["nowhere.stl", "--unit", "mm", "--size", 4], "does not exist"),
        (["nowhere.step", "--size", 4], "does not exist"),
        (["noise.stl", "--unit", "mm", "--size", 4], "noise.stl"),
        (["box.stl", "--unit", "mm", "--size", 4, "--out", "no/out.vtu"], "does not exist"),
    ],
)
def test_bad_input_is_one_paragraph(pliant, files, arguments, said):
    code, _, err = pliant("mesh", *arguments)
    assert code == 1
    assert said in err
    assert "Traceback" not in err
