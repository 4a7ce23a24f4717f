"""The studio as a whole, without a browser: robots, recordings, reset, properties."""

import subprocess
import sys
import time

import numpy as np
import pytest

import pliant as pl
from pliant.viewer import zoo
from pliant.viewer.budget import Budget
from pliant.viewer.live import thing_of
from pliant.viewer.panel import budget_html
from pliant.viewer.properties import materials_of
from pliant.viewer.shortcuts import Shortcuts
from pliant.viewer.simulation import SPEEDS, LiveSimulation
from pliant.viewer.subject import AUTOMATIC, TARGET
from scenes import swinging_bar

pytest.importorskip("viser")
RUBBER = pl.materials.Corotated(young=2e5, poisson=0.4, density=1000.0)


def until(condition, seconds=30.0):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.01)


def beam_scene(obstacle=None):
    scene, beam, cable = swinging_bar(RUBBER)
    if obstacle is not None:
        scene.add(obstacle)
        scene.collide(beam, obstacle, friction=0.3)
    return scene, beam, cable


@pytest.fixture
def studio():
    catalogue = {name: zoo.entry(name).made for name in ("ball", "maze")}
    catalogue["broken"] = lambda: 1 / 0
    with LiveSimulation(port=0, catalogue=catalogue, first="ball") as viewer:
        until(lambda: viewer.subject is not None and not viewer.building)
        yield viewer


def test_another_robot_is_built_in_the_background(studio, capsys):
    studio.play()
    until(lambda: studio.subject.time > 0.05)
    before = studio.inputs.sliders
    studio.picker.value = "maze"
    until(lambda: studio.subject.name == "maze" and not studio.building)
    assert studio.mode.value == AUTOMATIC
    assert set(studio.inputs.sliders) == {"torque"} != set(before)
    until(lambda: studio.subject.time > 0.05)
    assert studio.error is None
    studio.picker.value = "broken"
    until(lambda: studio.error is not None and "ZeroDivisionError" in studio._message.content)
    assert studio.subject.name == "maze"
    until(lambda: studio.picker.value == "maze")
    studio.play()
    start = studio.subject.time
    until(lambda: studio.subject.time > start)


def test_times_of_the_robot_before_are_not_shown(studio):
    studio.play()
    until(lambda: "real time: 10 ms" in studio._strip.content)
    studio.pause()
    studio.picker.value = "maze"
    until(lambda: studio.subject.name == "maze" and not studio.building)
    until(lambda: studio._strip.content == "")


def test_a_factor_below_what_is_asked_for_is_red_and_says_so(studio, monkeypatch):
    slow = studio.subject.step
    monkeypatch.setattr(studio.subject, "step", lambda dt, demand: (time.sleep(0.03), slow(dt, demand)))
    studio.play()
    until(lambda: "slower than the 1× asked for" in studio.readout.content)
    assert studio.readout.content.count("pliant-slow") == 1
    studio.speed.value = "0.1×"
    until(lambda: "pliant-slow" not in studio.readout.content)


def test_record_replay_and_save(studio, tmp_path):
    studio.play()
    studio.recording_panel.toggle()
    until(lambda: studio.subject.time > 0.3)
    studio.recording_panel.toggle()
    run = studio.recording_panel.run
    assert len(run.times) > 10
    assert len(studio.recording_panel.frames) >= 5
    assert pl.load(run.save(tmp_path / "ball.npz")).bodies[0].name == "ball"
    studio.recording_panel.replay(True)
    assert not studio.playing
    with studio.busy:  # a step that had begun ends
        held = studio.subject.time
    until(lambda: "replay" in studio.readout.content)
    seen = []
    until(lambda: seen.append(round(studio.recording_panel.time, 2)) or len(set(seen)) > 3)
    assert studio.subject.time == held
    studio.play()
    assert not studio.recording_panel.replaying
    until(lambda: studio.subject.time > held)


def test_one_click_keeps_the_recording_in_a_file_and_replays_it(studio, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "ball-run.npz").write_text("of another time")
    panel = studio.recording_panel
    panel.record_or_keep()
    panel.record_or_keep()
    assert "nothing was recorded" in panel._kept.content
    studio.play()
    panel.record_or_keep()
    begun = studio.subject.time
    assert panel.record_button.label == "Stop, keep and replay"
    until(lambda: studio.subject.time > begun + 0.1)
    panel.record_or_keep()
    assert panel.replaying
    assert not studio.playing
    assert panel.unsaved is None
    assert "ball-run-2.npz" in panel._kept.content
    assert len(pl.load(tmp_path / "ball-run-2.npz").times) == len(panel.run.times)
    until(lambda: "replay" in studio.readout.content)


def test_a_folder_that_cannot_be_written_is_told_and_the_run_stays(studio, monkeypatch):
    panel = studio.recording_panel
    studio.play()
    panel.record_or_keep()
    begun = studio.subject.time
    until(lambda: studio.subject.time > begun + 0.05)

    def refuse(path):
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(pl.Run, "save", lambda run, path: refuse(path))
    panel.record_or_keep()
    assert "cannot be written" in panel._kept.content
    assert panel.unsaved is panel.run is not None
    assert not panel.save_button.disabled


def test_target_and_obstacles_are_typed_as_well_as_dragged():
    ball = pl.Obstacle.sphere(center=(0.09, 0.01, -0.04), radius=0.012, name="ball")
    scene, *_ = beam_scene(ball)
    with LiveSimulation(thing_of(scene.compile()), port=0) as viewer:
        gizmos = viewer._gizmos
        assert not gizmos.target_field.visible
        viewer.mode.value = TARGET
        until(lambda: gizmos.target_field.visible)
        gizmos.target_field.value = (95.0, 10.0, 4.0)
        assert gizmos.aimed == pytest.approx((0.095, 0.01, 0.004))
        viewer.driver.move(gizmos.target, (0.09, 0.01, 0.0))
        viewer.ask()
        until(lambda: tuple(gizmos.target_field.value) == (90.0, 10.0, 0.0))
        assert gizmos.aimed == pytest.approx((0.09, 0.01, 0.0)), "what is shown rounded does not move it"
        (field,) = (field for gizmo, field in gizmos._typed.values() if gizmo is gizmos.obstacles[0])
        field.value = (90.0, 10.0, -30.0)
        assert gizmos.displacements[0] == pytest.approx((0.0, 0.0, 0.01))


def test_the_budget_of_a_step_names_the_costliest_stage_and_its_remedy(studio):
    slow = Budget({"detect": 0.0041, "factorize": 0.003, "solve": 0.001}, 0.0095, 0.01, nodes=900, contacts=120)
    assert slow.text() == (
        "9.5 of 10 ms: detect takes 4.1 ms (120 contacts). Cheaper: fewer contact pairs, a smaller margin, or coarser "
        "surfaces. Or a time step of 20 ms."
    )
    assert "border-left" in budget_html(slow)
    fine = Budget({"solve": 0.002}, 0.003, 0.01)
    assert fine.text() == "3.0 of 10 ms: real time with 70 % to spare."
    shared = Budget({"solve": 0.002}, 0.03, 0.01)
    assert "Outside the stages 28.0 ms" in shared.text()
    assert "lower speed" in Budget({"factorize": 0.09}, 0.1, 0.02, nodes=9000).text()
    studio.play()
    until(lambda: " of 10 ms" in studio._budget.content)


def test_sliders_take_their_limits_from_the_actuators():
    scene, beam, cable = beam_scene()
    strong = scene.add(pl.Cable(beam, [(0.1, 0.01, 0.002), (0.0, 0.01, 0.002)], max_force=3.0, min_force=0.5, name="a"))
    short = scene.add(pl.Cable(beam, [(0.1, 0.01, 0.01), (0.0, 0.01, 0.01)], max_displacement=0.012, name="b"))
    subject = thing_of(scene.compile())
    ranges = {r.handle: r for r in subject.ranges}
    assert (ranges[strong].unit, *ranges[strong].low, *ranges[strong].high) == ("N", 0.5, 3.0)
    assert (ranges[short].unit, *ranges[short].high, ranges[short].missing) == ("mm", 0.012, "")
    assert ranges[cable].high[0] == pytest.approx(0.025), "a quarter of its length"
    assert ranges[cable].missing == "max_displacement"
    body = pl.Volume(pl.mesh.block_with_cavity((0.04, 0.04, 0.04), wall=0.012, cell_size=0.014), RUBBER)
    for limits, unit, high, missing in (
        ({"max_pressure": 5e3}, "Pa", 5e3, ""),
        ({"max_growth": 2e-6}, "m³", 2e-6, ""),
        ({}, "Pa", 2e4, "max_pressure"),
    ):
        r = pl.Cavity(body, **limits).control_range()
        assert (r.unit, r.high, r.missing) == (unit, high, missing)
        assert pl.Cavity(body, **limits).command(r.make(r.high)).amount == pytest.approx(high)
    with LiveSimulation(subject, port=0) as viewer:
        assert viewer.inputs.sliders[strong][0].max == 3.0
        assert viewer.inputs.sliders[strong][0].label == "a (N)"
        viewer.step()
        until(lambda: viewer.subject.info is not None)
        assert viewer.subject.actuation()[strong] == pytest.approx(0.5)


def test_reset_brings_sliders_and_gizmos_back():
    ball = pl.Obstacle.sphere(center=(0.09, 0.01, -0.04), radius=0.012, name="ball")
    scene, _, cable = beam_scene(ball)
    with LiveSimulation(thing_of(scene.compile()), port=0) as viewer:
        viewer.play()
        viewer.inputs.sliders[cable][0].value = 5.0
        viewer.driver.move(viewer._gizmos.obstacles[0], (0.09, 0.01, -0.03))
        until(lambda: np.allclose(viewer.subject.frame().obstacles[0][0], (0, 0, 0.01)))
        viewer.mode.value = TARGET
        until(lambda: viewer._gizmos.target.visible)
        assert viewer.inputs.sliders[cable][0].disabled
        viewer.pause()
        viewer.reset()
        until(lambda: viewer.subject.time == 0.0)
        until(lambda: np.allclose(viewer._gizmos.obstacles[0].position, (0.09, 0.01, -0.04)))
        assert viewer.inputs.sliders[cable][0].value == 0.0


def test_properties_are_applied_by_building_again():
    scene, *_ = beam_scene()
    with LiveSimulation(thing_of(scene.compile()), port=0) as viewer:
        viewer.play()
        until(lambda: viewer.subject.time > 0.02)
        (slider,) = viewer.properties.stiffness
        assert (slider.value, slider.label) == (200.0, "Young's modulus of beam (kPa)")
        slider.value = 400.0
        old = viewer.subject
        viewer.properties.apply()
        until(lambda: viewer.subject is not old and not viewer.building)
        assert materials_of(viewer.subject.original)[0][1].young == pytest.approx(4e5)
        until(lambda: viewer.subject.time > 0.02)
        assert viewer.error is None


def test_importing_the_studio_loads_no_optional_package():
    script = "import sys, pliant.viewer.live; print({'viser', 'gmsh', 'playwright', 'control'} & set(sys.modules))"
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "set()"


def test_keys_make_it_faster_and_slower_within_the_offered_speeds(monkeypatch):
    acts, add = {}, Shortcuts.add

    def noted(self, key, text, act, **options):
        acts[key] = act
        return add(self, key, text, act, **options)

    monkeypatch.setattr(Shortcuts, "add", noted)
    with LiveSimulation(thing_of(beam_scene()[0].compile()), port=0) as viewer:
        start = SPEEDS.index(viewer.speed.value)
        for key, place in (("K", start + 1), ("J", start), ("J", start - 1)):
            acts[key](None)
            assert viewer.speed.value == SPEEDS[place]
        for key, end in (("J", SPEEDS[0]), ("K", SPEEDS[-1])):
            for _ in SPEEDS:
                acts[key](None)
            assert viewer.speed.value == end
