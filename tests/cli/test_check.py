"""`pliant check`: the exit code says whether a scene has a fault, and nothing is simulated."""

import json

import pytest


def test_a_usual_scene_is_fine_and_not_simulated(pliant, scene, tmp_path):
    code, out, err = pliant("check", scene, "--set", "young=5e5", "--json", "found.json")
    assert code == 0, err
    assert "0 faults" in out or "nothing unusual" in out
    report = json.loads((tmp_path / "found.json").read_text())
    assert report["faults"] == 0


def test_a_fault_is_told_in_one_line_with_exit_code_1(pliant, scene):
    code, out, err = pliant("check", scene, "--set", "young=0.1")
    assert code == 1, err
    line = next(line for line in out.splitlines() if "Young's modulus" in line)
    assert line == (
        "fault: Young's modulus of 'block': 0.1 Pa; expected 1 kPa to 2 TPa; silicone has 0.05e6 to 2e6: moduli are "
        "Pa, not MPa (× 1e6)"
    )


SELF = """
import pliant as pl
scene = pl.Scene(gravity=(0, 0, -9810))
mesh = pl.mesh.box((0.06, 0.02, 0.02), (4, 2, 2))
rubber = pl.materials.Corotated(young=1e6, poisson=0.4, density=1000)
body = scene.add(pl.Volume(mesh, rubber, clamp=pl.regions.plane(axis="x", at=0.0)))
"""
LOOP = """
world = scene.compile()
state = world.initial_state()
while True:
    try:
        state, info = pl.QuasiStatic()(world, state)
    except Exception:
        pass
"""
RUN = "pl.simulate(scene.compile(), pl.ImplicitEuler(dt=0.01), until=1e9)\n"
SIMULATES = {
    "simulate": SELF + "run = " + RUN,
    "a loop": SELF + LOOP,
    "main": "def main():\n" + (SELF + "return " + RUN).replace("\n", "\n    "),
}


@pytest.mark.parametrize("kind", SIMULATES)
def test_a_file_that_simulates_by_itself_ends_at_its_first_step(pliant, tmp_path, kind):
    (tmp_path / "own.py").write_text(SIMULATES[kind])
    code, out, err = pliant("check", "own.py")
    assert code == 1, err
    assert "gravity: 9810 m/s²" in out


@pytest.mark.parametrize(
    ("text", "said"),
    [("x = 1\n", "defines nothing to simulate"), ("1 / 0\n", "ZeroDivisionError"), ("def\n", "line 1")],
)
def test_a_bad_file_is_one_paragraph(pliant, tmp_path, text, said):
    (tmp_path / "bad.py").write_text(text)
    code, _, err = pliant("check", "bad.py")
    assert code == 1
    assert said in err
    assert "Traceback" not in err
