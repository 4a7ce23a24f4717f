"""`pliant reduce`: a small world reduced into a file, and what it says about bad input."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

import pliant as pl
from pliant.cli.app import app
from scenes import bar


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """A block with a cable, saved as a world."""
    scene, body = bar(cells=(6, 2, 2), name="block")
    scene.add(pl.Cable(body, [(0.005, 0.01, 0.002), (0.05, 0.01, 0.002), (0.099, 0.01, 0.002)], name="cable"))
    return scene.compile().save(tmp_path_factory.mktemp("reduce") / "block.npz")


def reduce(*arguments):
    return CliRunner().invoke(app, ["reduce", *(str(one) for one in arguments)])


def test_a_saved_world_is_reduced_into_a_file(saved, tmp_path):
    out, report = tmp_path / "fast.npz", tmp_path / "fast.json"
    result = reduce(
        saved, "--out", out, "--amplitude", 0.004, "--steps", 8, "--motion-tolerance", 1e-3, "--json", report,
        "--folder", tmp_path / "runs",
    )  # fmt: skip
    assert result.exit_code == 0, result.output
    assert "error of motion" in result.output
    assert json.loads(report.read_text())["metrics"]["motion_error"] < 0.02
    fast = pl.load(out)
    assert fast.reductions[0].size <= 4
    state, _ = pl.QuasiStatic()(fast, fast.initial_state(), {fast.thing("cable"): pl.Displacement(0.002)})
    assert np.abs(state.points("block") - fast.initial_state().points("block")).max() > 1e-3
    assert len(list((tmp_path / "runs").iterdir())) >= 1, "finished runs are kept"


def test_random_targets_are_a_plan(saved, tmp_path):
    out = tmp_path / "fast.npz"
    result = reduce(
        saved, "--out", out, "--amplitude", 0.004, "--plan", "latin-hypercube", "--runs", 6, "--steps", 3,
        "--motion-tolerance", 1e-2,
    )  # fmt: skip
    assert result.exit_code == 0, result.output
    assert len(json.loads(pl.load(out).reductions[-1].plan)["targets"]) == 6


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["no-such-robot", "--out", "x.npz", "--amplitude", 0.01], "there is no robot 'no-such-robot'"),
        (["finger", "--out", "no/such/folder/x.npz", "--amplitude", 0.01], "does not exist"),
        (["finger", "--out", "x.npz", "--amplitude", 0.01, "--plan", "guess"], "there is no plan 'guess'"),
        (["finger", "--out", "x.npz", "--amplitude", 0.01], "nothing to reduce"),
    ],
)
def test_bad_input_is_told_before_anything_runs(arguments, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = reduce(*arguments)
    assert result.exit_code != 0
    assert message in f"{result.output} {result.exception}"
    assert not list(tmp_path.iterdir())
