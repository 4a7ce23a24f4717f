"""`pliant view`: what it refuses, and how it says so."""

import socket
import sys
import time

import numpy as np
import pytest
from typer.testing import CliRunner

import pliant as pl
from pliant import cli
from pliant.cli.app import app
from pliant.cli.new import KINDS
from pliant.cli.output import Output
from pliant.cli.view import keep_unsaved, thing_named
from pliant.viewer.live import open_viewer
from pliant.viewer.subject import AUTOMATIC, SLIDERS, TARGET, Demand

pytest.importorskip("viser")


def fail(monkeypatch, capsys, *arguments):
    """Exit code and standard error of the installed command."""
    monkeypatch.setattr(sys, "argv", ["pliant", "view", *arguments])
    with pytest.raises(SystemExit) as stop:
        cli.main()
    return stop.value.code, capsys.readouterr().err


def test_help_says_what_can_be_viewed():
    text = CliRunner().invoke(app, ["view", "--help"], env={"COLUMNS": "200"}).output
    assert all(word in text for word in ("--port", "--host", "--no-browser", "--screenshot", "SCENE.py"))


def test_names_and_files_that_are_none(monkeypatch, capsys, tmp_path):
    broken = tmp_path / "broken.py"
    broken.write_text("import pliant as pl\nscene = pl.Scene(gravity=3)\n")
    for what, words in (
        ("octopus", ["'octopus'", "finger", "trunk", "maze"]),
        (str(tmp_path / "none.npz"), ["no file", "none.npz"]),
        (str(broken), ["gravity"]),
    ):
        code, error = fail(monkeypatch, capsys, what, "--no-browser")
        assert code == 1
        assert all(word in error for word in words)
        assert "Traceback" not in error


def test_a_taken_port_is_refused_where_it_was_asked_for(monkeypatch, capsys, tmp_path):
    scene = tmp_path / "scene.py"
    scene.write_text("import pliant as pl\nscene = pl.Scene()\nscene.add(pl.robots.finger())\n")
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        code, error = fail(monkeypatch, capsys, str(scene), "--port", port, "--no-browser")
    assert code == 1
    assert f"port {port}" in error
    assert "0 for any that is free" in error


def test_a_picture_is_a_png(monkeypatch, capsys, tmp_path):
    code, error = fail(monkeypatch, capsys, "ball", "--screenshot", str(tmp_path / "ball.gif"))
    assert code == 1
    assert ".png" in error


SCENE = """
import pliant as pl

pull = 0.01
scene = pl.Scene()
thumb = scene.add(pl.robots.finger(name="thumb"))
stepper = pl.ImplicitEuler(dt=0.02)


def control(t, state):
    return {thumb.cable: pl.Displacement(pull * min(t / 0.1, 1.0))}
"""


def stepped(subject, mode, count=8):
    for _ in range(count):
        subject.step(0.02, Demand(mode, {}, np.zeros(3), np.zeros((len(subject.handles), 3))))
    return subject


def test_a_scene_file_is_driven_by_hand_by_a_target_and_by_its_own_control(tmp_path):
    file = tmp_path / "mine.py"
    file.write_text(SCENE)
    subject = thing_named(str(file), ["pull=0.004"])
    assert subject.name == "mine"
    assert subject.modes == (AUTOMATIC, SLIDERS, TARGET), "it begins with what the file says"
    assert subject.usual_step == 0.02
    stepped(subject, AUTOMATIC)
    assert subject.info.actuation(subject.actuators[0])[0] == pytest.approx(0.004, rel=1e-6)


STATIC = """
import pliant as pl

scene = pl.Scene(gravity=(0, 0, -9.81))
beam = scene.add(pl.Volume(pl.mesh.box((0.1, 0.02, 0.02), (5, 1, 1)),
    pl.materials.Corotated(young=4e5, poisson=0.4, density=1000), clamp=pl.regions.plane(axis="x", at=0.0)))
cable = scene.add(pl.Cable(beam, [(0.1, 0.01, 0.018), (0.0, 0.01, 0.018)], max_displacement=0.012))
end = pl.Effector(beam, [(0.1, 0.0, 0.01), (0.1, 0.02, 0.01)], directions=(0, 0, 1))
stepper = pl.QuasiStatic(newton_iterations=1, solver=pl.Inverse(effectors=[end], actuators=[cable]))


def control(t, state):
    return {end: [(0.1, 0.0, 0.01), (0.1, 0.02, 0.01)]}
"""


def test_a_quasi_static_scene_with_an_inverse_is_run_and_viewed_in_every_mode(pliant, tmp_path):
    file = tmp_path / "static.py"
    file.write_text(STATIC)
    code, output = pliant("run", str(file), "--until", "0.1", "--out", "static.npz")[:2]
    assert code == 0, output
    run = pl.load(tmp_path / "static.npz")
    assert run.times[-1] == pytest.approx(0.1)
    subject = thing_named(str(file))
    assert subject.modes == (AUTOMATIC, TARGET, SLIDERS)
    assert subject.static
    assert "Static equilibria" in subject.about
    tip = subject.frame().tip
    assert tip == pytest.approx((0.1, 0.01, 0.01)), "the middle of its effector"
    stepped(subject, AUTOMATIC)
    (cable,) = subject.actuators
    assert subject.idle(SLIDERS) == ()
    assert set(subject.idle(TARGET)) == set(subject.idle(AUTOMATIC)) == {cable}
    assert subject.frame().tip[2] == pytest.approx(0.01, abs=2e-4), "the controller holds the end up"
    held = subject.actuation()[cable]
    assert held > 0.0
    wanted = subject.frame().tip - np.array([0.0, 0.0, 0.003])
    for _ in range(8):
        subject.step(0.02, Demand(TARGET, {}, wanted, np.zeros((0, 3))))
    assert subject.frame().tip[2] == pytest.approx(wanted[2], abs=2e-4)
    for _ in range(8):
        subject.step(0.02, Demand(SLIDERS, {cable: pl.Displacement(held)}, wanted, np.zeros((0, 3))))
    assert subject.frame().tip[2] == pytest.approx(0.01, abs=5e-4)
    assert subject.time == pytest.approx(24 * 0.02)


def test_a_stepper_of_another_kind_is_refused_by_name(tmp_path):
    file = tmp_path / "mine.py"
    file.write_text(SCENE.replace("stepper = pl.ImplicitEuler(dt=0.02)", "stepper = 0.02"))
    with pytest.raises(pl.InputError, match=r"`stepper` of .*mine.py is a float; the studio takes pl.ImplicitEuler"):
        thing_named(str(file))


def test_a_recording_of_its_own_control_replays_bit_for_bit(tmp_path):
    file = tmp_path / "mine.py"
    file.write_text(SCENE)
    subject = thing_named(str(file))
    subject.begin_recording()
    run = stepped(subject, AUTOMATIC).end_recording()
    again = pl.load(run.save(tmp_path / "run.npz")).replay()
    assert np.array_equal(again.positions[0], run.positions[0])


def test_every_kind_of_new_scene_can_be_driven(pliant, tmp_path):
    for kind in KINDS:
        assert pliant("new", f"{kind}.py", "--kind", kind)[0] == 0
        subject = stepped(thing_named(str(tmp_path / f"{kind}.py")), AUTOMATIC, 2)
        assert subject.time == pytest.approx(0.04)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x = 1\n", "defines nothing to simulate"),
        ("import pliant\n\nscene = 1 / 0\n", r"line 3: ZeroDivisionError"),
        ("scene = (\n", r"line 1: '\(' was never closed"),
        ("raise SystemExit(3)\n", r"SystemExit: 3"),
        ("scene = 5\n", "defines nothing to simulate"),
    ],
)
def test_broken_scene_files_say_where(tmp_path, text, message):
    file = tmp_path / "broken.py"
    file.write_text(text)
    with pytest.raises(pl.PliantError, match=message):
        thing_named(str(file))


def test_a_control_that_fails_is_blamed_on_its_line(tmp_path):
    file = tmp_path / "mine.py"
    file.write_text(SCENE.replace("return {", "return 1 / 0 or {"))
    subject = thing_named(str(file))
    with pytest.raises(pl.PliantError, match=r"mine.py, line 11, in control: ZeroDivisionError"):
        stepped(subject, AUTOMATIC)


def test_parameters_are_those_of_scene_files():
    with pytest.raises(pl.InputError, match="'finger' is none"):
        thing_named("finger", ["pull=3"])


def test_a_recording_that_nobody_saved_is_kept(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.py").write_text(SCENE)
    (tmp_path / "mine-run.npz").write_text("of another time")
    with open_viewer(thing_named("mine.py"), port=0) as viewer:
        viewer.recording_panel.toggle()
        end = time.monotonic() + 30.0
        begun = viewer.subject.time  # steps may have been made before the recording begins
        while viewer.subject.time < begun + 0.1:
            assert time.monotonic() < end
            time.sleep(0.01)
    keep_unsaved(Output(), viewer)
    assert "mine-run-2.npz" in capsys.readouterr().out
    run = pl.load(tmp_path / "mine-run-2.npz")
    assert run.times[-1] > 0.05
    assert (tmp_path / "mine-run.npz").read_text() == "of another time"
    assert np.array_equal(run.replay().positions[0], run.positions[0])
