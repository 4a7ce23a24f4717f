"""`pliant identify`: the report, its JSON and its picture say what `pl.identify` found; bad files are one paragraph."""

import json

import pytest

MODEL = """
import numpy as np
import pliant as pl
from pliant.identification import Experiment, Markers, Unknown

true = 1.3e5
noise = 1e-4
points = np.array([(0.06, 0.0, 0.005), (0.06, 0.01, 0.005), (0.03, 0.005, 0.01)])


def bar(young):
    scene = pl.Scene(gravity=(0, 0, -9.81))
    rubber = pl.materials.Corotated(young=young, poisson=0.4, density=1000)
    mesh = pl.mesh.box((0.06, 0.01, 0.01), (4, 1, 1))
    body = scene.add(pl.Volume(mesh, rubber, clamp=pl.regions.plane(axis="x", at=0.0), name="bar"))
    return scene.compile(), body


def seen():
    world, body = bar(true)
    state, _ = pl.QuasiStatic()(world, world.initial_state())
    found = pl.recordings.BoundMarkers(world, body, points).at(state)
    return found + np.random.default_rng(1).normal(scale=noise, size=found.shape)


world, body = bar(1e5)
"""
DATA = "data = Experiment(Markers(body, points, values=seen(), noise=noise), name='sag')\n"
YOUNG = "parameters = Unknown(pl.parameters.Material(body, 'young'), log=True)\n"
BOTH = "parameters = [Unknown(pl.parameters.Material(body, name), log=True) for name in ('young', 'density')]\n"


@pytest.fixture
def fit(tmp_path):
    file = tmp_path / "fit.py"

    def written(*parts):
        file.write_text("".join(parts), encoding="utf-8")
        return file.name

    return written


def test_report_json_and_picture(pliant, fit, tmp_path):
    pytest.importorskip("matplotlib")
    file = fit(MODEL, DATA, YOUNG)
    code, out, err = pliant("identify", file, "--json", "found.json", "--plot", "left.png")
    assert code == 0, err
    assert "young of 'bar'" in out
    assert "the data determine each parameter" in out
    assert "sag: markers on 'bar'" in out
    found = json.loads((tmp_path / "found.json").read_text())
    young = found["parameters"]["young of 'bar'"]
    assert young["interval"][0] < 1.3e5 < young["interval"][1]
    assert young["value"] == pytest.approx(1.3e5, rel=0.03)
    assert found["measurements"]["sag: markers on 'bar'"]["noise"] == 1e-4
    assert found["undetermined"] == []
    assert (tmp_path / "left.png").stat().st_size > 5000


def test_settings_and_options(pliant, fit, tmp_path):
    file = fit(MODEL, DATA, YOUNG, "options = {'loss': 'huber', 'level': 0.5}\n")
    code, _, err = pliant("identify", file, "--set", "true=1e5", "--json", "found.json")
    assert code == 0, err
    found = json.loads((tmp_path / "found.json").read_text())
    assert found["loss"] == "huber"
    assert found["level"] == 0.5
    assert found["parameters"]["young of 'bar'"]["value"] == pytest.approx(1e5, rel=0.03)


def test_what_the_data_leave_open_is_told_once(pliant, fit, tmp_path):
    code, out, err = pliant("identify", fit(MODEL, DATA, BOTH), "--json", "found.json")
    assert code == 0, err
    assert "do not determine all parameters" in out
    assert "cannot tell apart" in out
    assert "cannot tell apart" not in err
    found = json.loads((tmp_path / "found.json").read_text())
    assert len(found["undetermined"]) == 1
    assert found["parameters"]["young of 'bar'"]["interval"][1] is None or abs(found["correlation"][0][1]) > 0.99


def test_a_file_that_fits_by_itself(pliant, fit):
    code, out, err = pliant("identify", fit(MODEL, DATA, YOUNG, "found = pl.identify(world, data, parameters)\n"))
    assert code == 0, err
    assert "young of 'bar'" in out


BAD = {
    "nothing": ("x = 1\n", "does not define scene and data and parameters"),
    "no data": (MODEL + YOUNG, "does not define data:"),
    "raw data": (MODEL + YOUNG + "data = seen()\n", "data of identify() must be pl.identification.Experiment"),
    "numbers as parameters": (MODEL + DATA + "parameters = [1e5]\n", "must be of pl.parameters"),
    "unknown options": (
        MODEL + DATA + YOUNG + "options = {'solver': 'lm'}\n",
        "arguments of pl.identify by name, of loss",
    ),
    "options of another kind": (MODEL + DATA + YOUNG + "options = 3\n", "arguments of pl.identify by name"),
    "a wrong option": (MODEL + DATA + YOUNG + "options = {'loss': 'absolute'}\n", "must be one of 'squares'"),
    "no world": (MODEL + DATA + YOUNG + "world = None\n", "defines nothing to simulate"),
    "millimetres": (MODEL + YOUNG + DATA.replace("seen()", "1e3 * seen()"), "check their unit"),
    "a parameter that does nothing": (
        MODEL + DATA + "parameters = Unknown(pl.parameters.Damping(body, 'mass'), 0.1)\n",
        "fit.py: mass damping of 'bar' changes none of the measurements",
    ),
    "an error of its own": (MODEL + "1 / 0\n", "ZeroDivisionError"),
}


@pytest.mark.parametrize("kind", BAD)
def test_bad_files_are_one_paragraph(pliant, fit, kind):
    text, said = BAD[kind]
    code, _, err = pliant("identify", fit(text))
    assert code == 1
    assert said in err
    assert "Traceback" not in err


def test_files_are_checked_before_anything_runs(pliant, fit):
    file = fit("raise SystemExit('it ran')\n")
    assert "writes .png" in pliant("identify", file, "--plot", "left.jpg")[2]
    assert "folder of" in pliant("identify", file, "--plot", "no/folder/left.png")[2]
    assert "no file none.py" in pliant("identify", "none.py")[2]
