"""Answers of other programs: fresh where they run, stored elsewhere, refused where the stored setup is another."""

import json

import numpy as np
import pytest

from benchmarks import ccx
from pliant.core.errors import MissingExtraError
from validation.peers import asked, drops, statics, swings


@pytest.fixture
def figures(tmp_path, monkeypatch):
    """No program is installed, and no answer is stored."""
    monkeypatch.setattr(asked, "FIGURES", tmp_path / "figures.json")
    monkeypatch.setattr(asked, "FRESH", {})
    monkeypatch.setattr(asked, "run_peers", lambda commands, setup: ({}, {}))
    monkeypatch.setattr(ccx, "installed", lambda: False)
    return tmp_path / "figures.json"


def answering(monkeypatch, **values):
    answer = {"peer": "A", "version": "1", **values}
    monkeypatch.setattr(asked, "run_peers", lambda commands, setup: (dict.fromkeys(commands, answer), {}))


def test_an_answer_is_kept_and_found_again(figures, monkeypatch):
    with pytest.raises(MissingExtraError, match=r"make bench-peers.* and there is no stored answer"):
        asked.from_script("case", "script.py", {"x": [1.0, 2.0]}, 3)
    answering(monkeypatch, tip=[1.0, 2.0])
    fresh = asked.from_script("case", "script.py", {"x": [1.0, 2.0]}, 3)
    assert fresh.said_by == "A 1, computed here (benchmarks/peers/script.py 3)"
    asked.store(asked.FRESH)
    asked.FRESH.clear()
    monkeypatch.setattr(asked, "run_peers", lambda commands, setup: ({}, {}))
    kept = asked.from_script("case", "script.py", {"x": [1.0, 2.0]}, 3)
    assert kept.array("tip").tolist() == [1.0, 2.0]
    assert kept.said_by.startswith("A 1, stored; ")
    with pytest.raises(MissingExtraError, match="another setup"):
        asked.from_script("case", "script.py", {"x": [1.0, 2.1]}, 3)
    with pytest.raises(MissingExtraError, match="another setup"):
        asked.from_script("case", "script.py", {"x": [1.0, 2.0]}, 4)


@pytest.mark.usefixtures("figures")
def test_a_program_that_fails_is_named(monkeypatch):
    monkeypatch.setattr(asked, "run_peers", lambda commands, setup: ({}, dict.fromkeys(commands, "no module x")))
    with pytest.raises(MissingExtraError, match=r"script\.py did not run .* no module x"):
        asked.from_script("case", "script.py", {})


def test_stored_answers_belong_to_the_setups_of_today():
    """Every stored answer was given to the very mesh, loads and options that are compared now."""
    kept = json.loads(asked.FIGURES.read_text(encoding="utf-8"))
    assert len(kept) >= 17
    setup = swings.setup(0.3)
    how = "benchmarks/peers/mujoco_swing.py Euler 2e-05 0.3"
    assert kept["mujoco-Euler"]["how"] == how
    assert kept["mujoco-Euler"]["setup"] == asked._digest({**setup, "how": how})
    how = f"benchmarks/peers/drake_drop.py kCorotated lagged 5e-05 {drops.SECONDS}"
    assert kept["drake-drop-5e-05"]["setup"] == asked._digest({**drops.setup(0.0), "how": how})


@pytest.mark.usefixtures("without_programs")
def test_a_bent_beam_stands_where_felupe_and_calculix_have_it():
    end = statics.at(statics.beam_mesh("hex8"), 0, statics.BEAM[0])
    ours = statics.bent("hex8")[end]
    for answer in (statics.felupe_beam("hex8"), statics.calculix_beam("hex8")):
        assert np.linalg.norm(ours - answer.array("watch"), axis=1).max() < 1e-7


@pytest.fixture
def without_programs(monkeypatch):
    """Stored answers only: the programs take seconds."""
    monkeypatch.setattr(asked, "run_peers", lambda commands, setup: ({}, {}))
    monkeypatch.setattr(ccx, "installed", lambda: False)


@pytest.mark.usefixtures("without_programs")
def test_a_pressed_dome_stands_where_felupe_and_calculix_have_it():
    rows = statics.dome_rows()
    assert len(rows) == 6
    assert all(row.met for row in rows)


@pytest.mark.usefixtures("without_programs")
def test_a_beam_swings_as_in_mujoco():
    rows = swings.mujoco_rows()
    assert [row.met for row in rows] == [True] * 4


@pytest.mark.slow
@pytest.mark.usefixtures("without_programs")
def test_a_block_bounces_as_in_mujoco_and_drake():
    rows = drops.mujoco_rows()
    assert [row.met for row in rows] == [True] * 3
    apart, top, coarse = drops.drake_rows()
    assert apart.error < 5.0
    assert top.error < 0.15 < coarse.error  # smaller steps of Drake bring it nearer


def test_the_top_of_a_rebound_is_that_of_its_parabola():
    times = drops.FRAME * np.arange(36)
    flight = 0.015 + 0.003 - 0.5 * 9.81 * (times - 0.0571) ** 2
    assert drops.rebound(np.where(times < 0.03, 0.02, flight)) == pytest.approx(3.0, abs=1e-9)


def test_the_output_of_calculix_is_read():
    printed = (
        " displacements (vx,vy,vz) for set NALL and time  0.5\n\n  1 9.0 9.0 9.0\n\n"
        " displacements (vx,vy,vz) for set NALL and time  0.1000000E+01\n\n"
        "         1  1.000000E+00  2.0  3.0\n         3 -1.0  0.0  5.0E-01\n\n"
        " forces (fx,fy,fz) for set NTOP and time  0.1000000E+01\n\n         2  0.0  0.0  -4.0\n"
    )
    assert ccx._last(printed, "displacements", 3).tolist() == [[1, 2, 3], [0, 0, 0], [-1, 0, 0.5]]
    assert ccx._last(printed, "forces", 3)[1, 2] == -4.0
    assert ccx._last(printed, "stresses", 3) is None
