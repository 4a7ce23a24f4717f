"""`pliant new`: files that run as they are, and never written over another."""

import json

import pytest

from pliant.cli.new import KINDS, USES_GMSH, scene_text
from pliant.cli.scene_file import SceneFile, run_scene

COARSE = {
    "bender": ["--set", "cell_size=0.008"],
    "reduced": ["--set", "cells=(2,1,1)", "--set", "steps=12", "--set", "tolerance=0.05"],
}
"""Parameters that make a template fast."""
FULL = {
    "grasp": ("tip travel (mm)", 25.0, 45.0),
    "bender": ("force on the table (N)", 0.02, 0.5),
    "arm": ("force on the post (N)", 0.1, 1.0),
    "gripper": ("ball lifted (mm)", 30.0, 60.0),
    "vessel": ("tip turned off (mm)", 30.0, 40.0),
    "inverse": ("mean error of the moving tip (mm)", 0.0, 0.1),
    "reduced": ("error of the reduced motion", 0.0, 0.02),
    "chamber": ("stretch (mm)", 10.0, 20.0),
    "own": ("body moved by (mm)", 20.0, 50.0),
}
"""A measure of each template, run as it is, with its range."""


def needs(kind):
    if kind in USES_GMSH:
        pytest.importorskip("gmsh")


@pytest.mark.parametrize("kind", KINDS)
def test_a_new_scene_runs_as_it_is(pliant, kind):
    needs(kind)
    code, out, _ = pliant("new", "scene.py", "--kind", kind)
    assert code == 0
    assert "pliant run scene.py" in out
    code, out, err = pliant("run", "scene.py", "--until", 0.03, *COARSE.get(kind, []), "--json", "-")
    assert code == 0, err
    report = json.loads(out[out.index("{\n") :])
    assert report["run"]["steps"] == 3
    assert report["measures"]


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_the_whole_run_of_a_template_does_what_it_says(kind, tmp_path):
    needs(kind)
    (tmp_path / "scene.py").write_text(scene_text(kind), encoding="utf-8")
    result = run_scene(SceneFile.read(tmp_path / "scene.py"))
    name, least, largest = FULL[kind]
    assert result.stopped is None
    assert least <= result.measures[name] <= largest, result.measures


def test_a_wire_that_snaps_round_stays_in_a_tight_vessel(tmp_path):
    """Bend of 60° and 50 mm, bore of 3 mm: the tip turns over by 3 mm in a step, which led it through the wall."""
    text = (
        scene_text("vessel")
        .replace("np.pi / 4", "np.pi / 3")
        .replace("0.08", "0.05")
        .replace("stiffness=0.05", "stiffness=0.01")
    )
    (tmp_path / "scene.py").write_text(text, encoding="utf-8")
    file = SceneFile.read(tmp_path / "scene.py")
    result = run_scene(file, {"bore": 3e-3, "bend": 20.0, "until": 1.5})
    assert result.stopped is None
    (wire,) = result.run.bodies
    solid = next(thing.shape.solid for thing in result.run.world.obstacles if thing.name == "vessel")
    gaps = [solid.distance(points).gap.min() for points in result.run.points(wire.name)]
    assert min(gaps) > 0.0


def test_the_bender_draws_its_example_and_takes_another(pliant, tmp_path):
    pytest.importorskip("gmsh")
    assert pliant("new", "scene.py", "--kind", "bender")[0] == 0
    settings = ["--until", 0.01, *COARSE["bender"]]
    assert pliant("run", "scene.py", *settings)[0] == 0
    (tmp_path / "bender.stl").rename(tmp_path / "part.stl")
    code, _, err = pliant("run", "scene.py", "--set", "drawing=part.stl", *settings)
    assert code == 0, err
    assert not (tmp_path / "bender.stl").exists()


def test_the_templates_are_listed(pliant):
    code, out, _ = pliant("new", "--list")
    assert code == 0
    assert all(kind in out for kind in KINDS)
    code, _, err = pliant("new")
    assert code == 1
    assert "--list" in err


@pytest.mark.parametrize("kind", KINDS)
def test_a_template_is_short(kind):
    assert scene_text(kind).count("\n") <= 85


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
