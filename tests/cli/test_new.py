"""`pliant new`: files that run as they are, and never written over another."""

import json

import pytest

from pliant.cli.new import KINDS, scene_text
from pliant.cli.scene_file import SceneFile


@pytest.mark.parametrize("kind", KINDS)
def test_a_new_scene_runs_as_it_is(pliant, kind):
    code, out, _ = pliant("new", "scene.py", "--kind", kind)
    assert code == 0
    assert "pliant run scene.py" in out
    code, out, err = pliant("run", "scene.py", "--until", 0.03, "--json", "-")
    assert code == 0, err
    report = json.loads(out)
    assert report["run"]["steps"] == 3
    assert report["measures"]


@pytest.mark.parametrize("kind", KINDS)
def test_a_new_scene_has_parameters_and_says_how_to_run_it(kind, tmp_path):
    (tmp_path / "scene.py").write_text(scene_text(kind), encoding="utf-8")
    assert "until" in SceneFile.read(tmp_path / "scene.py").parameters
    assert "pliant run" in scene_text(kind)


def test_a_file_is_not_written_over(pliant, tmp_path):
    (tmp_path / "scene.py").write_text("mine")
    code, _, err = pliant("new", "scene.py")
    assert code == 1
    assert "exists" in err
    assert (tmp_path / "scene.py").read_text() == "mine"
    assert pliant("new", "scene.py", "--force")[0] == 0


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["scene.txt"], "scene.py, not scene.txt"),
        (["scene.py", "--kind", "rocket"], "there is no kind 'rocket'"),
        (["nowhere/scene.py"], "does not exist"),
    ],
)
def test_bad_names_are_refused(pliant, arguments, said):
    code, _, err = pliant("new", *arguments)
    assert code == 1
    assert said in err
