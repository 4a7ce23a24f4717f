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


def test_a_volume_mesh_is_reported_as_it_is(pliant, files):
    code, out, _ = pliant("mesh", "box.vtu", "--unit", "m", "--json", "-")
    assert code == 0
    assert json.loads(out)["cells"] == 12


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["box.stl", "--size", 4], "--unit mm"),
        (["box.stl", "--unit", "mm"], "--size 3"),
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
