"""`pliant run`: what it takes from a scene file, what it writes, and how it speaks of a broken one."""

import json

import numpy as np
import pytest

import pliant as pl
from pliant.cli.scene_file import SceneFile, run_scene


def test_a_scene_is_simulated_reported_and_kept(pliant, scene, tmp_path):
    code, out, _ = pliant("run", scene, "--out", "run.npz", "--out", "run.html", "--json", "run.json")
    assert code == 0
    assert "real-time factor" in out
    assert "sag (mm)" in out
    report = json.loads((tmp_path / "run.json").read_text())
    assert report["complete"]
    assert report["run"]["steps"] == 5
    run = pl.load(tmp_path / "run.npz")
    sag = -1e3 * (run.points("block")[-1, :, 2] - run.points("block")[0, :, 2]).min()
    assert report["measures"]["sag (mm)"] == pytest.approx(sag)
    assert "<html" in (tmp_path / "run.html").read_text(encoding="utf-8")


def test_json_on_standard_output_is_all_that_stands_there(pliant, scene):
    code, out, err = pliant("run", scene, "--json", "-")
    assert code == 0
    assert json.loads(out)["run"]["steps"] == 5
    assert "real-time factor" in err


def test_options_stand_in_for_what_the_file_says(pliant, scene):
    soft = json.loads(pliant("run", scene, "--set", "young=5e4", "--until", 0.03, "--dt", 0.005, "--json", "-")[1])
    assert soft["run"]["steps"] == 6
    assert soft["parameters"] == {"young": 5e4}
    assert "arm" in json.loads(pliant("run", scene, "--set", "label=arm", "--json", "-")[1])["run"]["bodies"]


def test_parameters_are_the_plain_values_at_the_top_level(scene):
    assert SceneFile.read(scene).parameters == {"young": 1e5, "push": 0.0, "label": "block", "until": 0.05}


def test_a_pushed_block_moves_sideways(scene):
    pushed = run_scene(SceneFile.read(scene), {"push": 0.1}).run
    free = run_scene(SceneFile.read(scene)).run
    assert pushed.points(0)[-1, :, 1].max() > free.points(0)[-1, :, 1].max() + 1e-4


def test_a_file_may_simulate_by_itself(pliant, tmp_path):
    (tmp_path / "own.py").write_text(
        "import pliant as pl\nscene = pl.Scene(gravity=(0, 0, -9.81))\n"
        "ball = scene.add(pl.RigidBody.sphere(radius=0.01, mass=0.1, name='ball'))\n"
        "run = pl.simulate(scene.compile(), pl.ImplicitEuler(dt=0.01), until=0.1)\n"
        "if __name__ == '__main__':\n    raise RuntimeError('not here')\n"
    )
    code, out, _ = pliant("run", "own.py", "--json", "-")
    fall = json.loads(out)["measures"]["ball moved by (mm)"]
    assert code == 0
    assert fall == pytest.approx(1e3 * 9.81 * 0.1**2 / 2 * 1.1)  # implicit Euler: n(n + 1)/2 steps of g dt²
    code, _, err = pliant("run", "own.py", "--until", 1)
    assert code == 1
    assert "--until would have no effect" in err


def test_main_may_return_numbers_a_run_or_nothing(pliant, tmp_path):
    (tmp_path / "main.py").write_text("size = 2\ndef main():\n    return {'area': size**2, 'kind': 'square'}\n")
    assert json.loads(pliant("run", "main.py", "--set", "size=3", "--json", "-")[1])["measures"] == {
        "area": 9,
        "kind": "square",
    }
    code, _, err = pliant("run", "main.py", "--out", "x.npz")
    assert code == 1
    assert "gave no run" in err
    (tmp_path / "none.py").write_text("def main():\n    pass\n")
    assert pliant("run", "none.py")[0] == 0


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("import pliant as pl\nscene = pl.Scene(\n", ["line 2", "never closed", "pl.Scene("]),
        ("import pliant as pl\nx = 1\nscene = pl.Scene(gravity=yy)\n", ["line 3", "NameError", "'yy'"]),
        ("import pliant as pl\nscene = pl.Scene(gravity=(0, 0))\n", ["line 2", "gravity", "pl.Scene(gravity=(0, 0))"]),
        ("def main():\n    def inner():\n        assert 1 == 2\n    inner()\n", ["line 3, in inner", "AssertionError"]),
        ("def main():\n    return [1]\n", ["main()", "numbers by name", "list"]),
        ("def main():\n    return {'x': [1]}\n", ["'x' = [1]", "not a number"]),
        ("x = 1\n", ["nothing to simulate", "pliant new"]),
        ("import sys\nsys.exit(3)\n", ["line 2", "SystemExit: 3"]),
        ("import nowhere_at_all\n", ["line 1", "nowhere_at_all"]),
        ("x = 1\0\n", ["scene.py"]),
    ],
)
def test_a_broken_file_is_one_paragraph_with_its_line(pliant, tmp_path, text, said):
    (tmp_path / "scene.py").write_text(text)
    code, _, err = pliant("run", "scene.py")
    assert code == 1
    assert all(part in err for part in said), err
    assert "Traceback" not in err
    assert len(err.strip().splitlines()) == 1


def test_debug_shows_the_traceback_as_well(pliant, tmp_path):
    (tmp_path / "scene.py").write_text("1 / 0\n")
    for arguments in (["--debug", "run", "scene.py"], ["run", "scene.py", "--debug"]):
        code, _, err = pliant(*arguments)
        assert code == 1
        assert "Traceback" in err
        assert "scene.py, line 1: ZeroDivisionError" in err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["nowhere.py"], "there is no file nowhere.py"),
        (["scene.py", "--set", "yong=1"], "no parameter 'yong'; its parameters are young, push, label, until"),
        (["scene.py", "--set", "young=soft"], "of another type"),
        (["scene.py", "--set", "young"], "NAME=VALUE"),
        (["scene.py", "--set", "young=1,2"], "2 values"),
        (["scene.py", "--set", "young=1", "--set", "young=2"], "2 times"),
        (["scene.py", "--out", "nowhere/x.npz"], "does not exist"),
        (["scene.py", "--out", "x.docx"], "ending must be one of"),
        (["scene.py", "--until", "-1"], "until"),
    ],
)
def test_bad_options_are_told_before_anything_runs(pliant, scene, arguments, said):
    code, out, err = pliant("run", *arguments)
    assert code == 1
    assert said in err
    assert "steps" not in out


def test_what_was_recorded_before_a_failure_is_kept(pliant, scene, tmp_path):
    text = scene.read_text(encoding="utf-8").replace("    return {load", "    assert t < 0.035\n    return {load")
    scene.write_text(text, encoding="utf-8")
    code, out, err = pliant("run", scene, "--out", "half.npz", "--json", "half.json")
    assert code == 1
    assert "in control: AssertionError" in err
    assert "kept in half.npz" in out
    np.testing.assert_allclose(pl.load(tmp_path / "half.npz").times, [0.0, 0.01, 0.02, 0.03])
    assert not json.loads((tmp_path / "half.json").read_text())["complete"]


def test_a_stop_from_the_keyboard_keeps_the_run(pliant, scene, tmp_path):
    stopping = "    if t > 0.025:\n        raise KeyboardInterrupt\n    return {load"
    scene.write_text(scene.read_text(encoding="utf-8").replace("    return {load", stopping), encoding="utf-8")
    code, _, _ = pliant("run", scene, "--out", "half.npz")
    assert code == 130
    assert len(pl.load(tmp_path / "half.npz").times) == 3
