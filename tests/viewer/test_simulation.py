"""The live simulation step by step, without its threads: its clock, read-outs, controls, and the order of its panel."""

import threading

import numpy as np
import pytest

import pliant as pl
from pliant.viewer import simulation as module
from pliant.viewer.contents import SceneContents
from pliant.viewer.frame import Frame
from pliant.viewer.inputs import scalar
from pliant.viewer.shortcuts import Shortcuts
from pliant.viewer.simulation import LARGEST_LAG, READ_SECONDS, SPEEDS, STEPS, LiveSimulation
from pliant.viewer.subject import AUTOMATIC, SLIDERS, TARGET, FinishedError, Handle

pytest.importorskip("viser")


class Subject:
    """Nothing but a clock and a tip; keeps what it was asked for."""

    name, about, usual_step = "clock", "a <clock>", 0.005
    has_contacts = False
    contents = SceneContents(())

    def __init__(self, *, timed=True, has_gravity=True, modes=(SLIDERS, TARGET, AUTOMATIC), takes=0.004):
        self.timed, self.has_gravity, self.modes, self.takes = timed, has_gravity, modes, takes
        self.handles = (Handle("stone", 0, np.array([0.0, 0.0, 0.1])),)
        self.ranges = [
            scalar("pull", "N", 1.0, (0.0, 5.0, 1.0), float),
            scalar("push", "N", 1.0, (0.0, 5.0, 0.0), float),
        ]
        self.stage_times = {"solve": 0.001}
        self.info, self.demands, self.there = None, [], True
        self.end, self.clock = None, None
        self.reset()

    def reset(self):
        self.time, self.steps = 0.0, []

    def step(self, dt, demand):
        if self.end is not None and len(self.steps) >= self.end:
            raise FinishedError("all done")
        self.time += dt
        self.steps.append(dt)
        self.demands.append(demand)
        self.info = "stepped"
        self.clock.now += self.takes

    def idle(self, mode):
        return ("push",) if mode == TARGET else ()

    def view_points(self):
        return [np.array([[0.0, 0, 0], [0.1, 0.1, 0.1]])]

    def arrived(self, displacements):
        return self.there

    def frame(self):
        return Frame(self.time, (), tip=np.array([0.01, 0.02, 0.03]), readings=(("pull", "1 N"),))

    def values(self, mode, frame):
        return {}

    def actuation(self):
        return {"pull": 2.5}

    def begin_recording(self):
        self.recorded = True

    def end_recording(self):
        return None


class Clock:
    """The clock of the studio, moved by hand."""

    def __init__(self):
        self.now = 1000.0

    def perf_counter(self):
        return self.now


@pytest.fixture
def live(monkeypatch):
    """Makes studios whose threads do not start."""
    made, drawn = [], []
    clock = Clock()
    monkeypatch.setattr(module, "time", clock)
    monkeypatch.setattr(LiveSimulation, "_begin", lambda self: None)
    monkeypatch.setattr(LiveSimulation, "_draw", lambda self, frame, values: drawn.append((frame, values)))

    def make(**options):
        subject = Subject(**options)
        subject.clock = clock
        made.append(LiveSimulation(subject, port=0))
        made[-1].drawn = drawn
        return made[-1], subject, clock

    yield make
    for one in made:
        one.close()


def test_one_studio_from_its_first_step_to_its_reset(live):
    """A studio starts its server in a tenth of a second, so that one goes through many things."""
    viewer, subject, clock = live(takes=0.001)
    assert viewer.dt.value == "5 ms", "the usual step of the subject"
    assert viewer.dt.options == STEPS
    assert viewer._about.content == '<div class="pliant-note">a &lt;clock&gt;</div>'
    assert (viewer._about.visible, viewer.mode.visible, viewer.gravity.disabled) == (True, True, False)
    # a step takes what the panel says
    viewer._due = clock.now
    viewer._advance()
    viewer.dt.value, viewer.gravity.value = "2 ms", False
    viewer._advance()
    assert subject.steps == [0.005, 0.002]
    first, second = subject.demands
    assert (first.mode, first.gravity, second.gravity) == (SLIDERS, True, False)
    assert first.controls == {"pull": 1.0, "push": 0.0}
    np.testing.assert_array_equal(first.displacements, np.zeros((1, 3)))
    # read-outs: the factor stands there while it plays and where two steps were made
    rows = dict(viewer._readings(subject.frame()))
    assert rows == {"time": "0.01 s", "step": "1.00 ms", "tip": "10.0, 20.0, 30.0 mm"}
    viewer._playing = True
    assert viewer._pace.factor == pytest.approx(0.002 / 0.001)
    assert dict(viewer._readings(subject.frame()))["real-time factor"] == "2.00×"
    assert viewer.factor == viewer._pace.factor
    # a target: its distance from the tip, sliders of idle actuators off, what the inverse found on the others
    viewer.mode.value = TARGET
    assert [viewer.inputs.sliders[name][0].disabled for name in ("pull", "push")] == [False, True]
    assert viewer._gizmos.target.visible
    viewer.driver.move(viewer._gizmos.target, (0.01, 0.02, 0.035))
    assert dict(viewer._readings(subject.frame()))["tip to target"] == "5.00 mm"
    viewer._advance()
    np.testing.assert_allclose(subject.demands[-1].target, (0.01, 0.02, 0.035))
    viewer._read = 0.0
    viewer._show()
    assert viewer.inputs.sliders["pull"][0].value == 2.5
    assert "real-time factor" in viewer.readout.content
    assert viewer.drawn[-1][0].time == subject.time
    assert "1 N" in viewer.forces.content
    assert "svg" in viewer._strip.content
    assert viewer._budget.visible
    # read-outs do not change within a quarter of a second while it plays
    viewer.readout.content = "old"
    clock.now += 0.9 * READ_SECONDS
    viewer._show()
    assert viewer.readout.content == "old"
    clock.now += 0.2 * READ_SECONDS
    viewer._show()
    assert viewer.readout.content != "old"
    viewer._playing, viewer.readout.content = False, "old"
    viewer._show()
    assert viewer.readout.content != "old", "at once where it is held"
    # back to the start
    viewer.driver.move(viewer._gizmos.obstacles[0], (0.0, 0.0, 0.2))
    viewer._restart()
    assert (subject.time, viewer._pace.count) == (0.0, 0)
    assert viewer.inputs.sliders["pull"][0].value == 1.0
    np.testing.assert_allclose(viewer._gizmos.displacements, np.zeros((1, 3)))
    np.testing.assert_allclose(viewer._gizmos.aimed, (0.01, 0.02, 0.03))


def test_the_clock_of_steps(live):
    """The next step is due a step later, by the speed; a lag beyond what is caught up with is forgiven."""
    viewer, subject, clock = live(takes=0.0)
    for speed, factor in (("1×", 1.0), ("0.1×", 0.1), ("2×", 2.0)):
        assert speed in SPEEDS
        viewer.speed.value = speed
        viewer._due = clock.now
        viewer._advance()
        assert viewer._due - clock.now == pytest.approx(0.005 / factor)
    viewer.speed.value = "1×"
    viewer._due = clock.now - 0.9 * LARGEST_LAG
    viewer._advance()
    assert viewer._due == pytest.approx(clock.now - 0.9 * LARGEST_LAG + 0.005), "caught up with"
    viewer._due = clock.now - 1.1 * LARGEST_LAG
    viewer._advance()
    assert viewer._due == clock.now
    # in a hurry no step waits, and the last one stops it
    viewer.hurry_to, viewer._due, viewer._playing = subject.time + 0.01, clock.now + 5.0, True
    viewer._advance()
    assert (viewer._due, viewer._playing) == (clock.now, True)
    viewer._advance()
    assert viewer._playing is False
    assert subject.time == pytest.approx(viewer.hurry_to)
    viewer._playing = True
    viewer._advance()
    assert viewer._playing is False, "also beyond"
    # play begins the clock and its times anew
    clock.now += 10.0
    viewer.play()
    assert (viewer._due, viewer._pace.count, viewer.playing) == (clock.now, 0, True)
    assert viewer.play_button.label == "Pause"


def test_slow_steps_are_red_and_say_what_was_asked_for(live):
    viewer, subject, _ = live(takes=0.02)
    viewer.speed.value = "0.5×"
    for _ in range(3):
        viewer._advance()
    viewer._playing = True
    assert dict(viewer._readings(subject.frame()))["real-time factor"] == "0.25×, slower than the 0.5× asked for"
    viewer._read = 0.0
    viewer._show()
    assert "pliant-slow" in viewer.readout.content
    budget = viewer._step_budget(subject.frame())
    assert (budget.step, budget.allowed) == pytest.approx((0.02, 0.01))
    assert (budget.nodes, budget.contacts) == (None, None)
    subject.has_contacts = True
    assert viewer._step_budget(subject.frame()).contacts == 0
    subject.takes = 1.5
    viewer._pace = type(viewer._pace)()
    viewer._advance()
    rows = dict(viewer._readings(subject.frame()))
    assert rows["step"] == "1.50 s"
    assert "real-time factor" not in rows, "one step has no factor"


def test_a_subject_without_time_rests_where_it_has_arrived(live):
    viewer, subject, clock = live(timed=False, has_gravity=False, modes=(SLIDERS,))
    assert (viewer.mode.visible, viewer.dt.visible, viewer.gravity.disabled) == (False, False, True)
    viewer._advance()
    assert len(subject.steps) == 1, "the first shape is found"
    assert subject.demands[0].gravity, "there is none to switch off"
    before = clock.now
    viewer._advance()
    assert len(subject.steps) == 1
    assert viewer._due == pytest.approx(before + READ_SECONDS)
    subject.there = False
    viewer._advance()
    assert len(subject.steps) == 2, "an obstacle is still on its way"
    subject.there = True
    viewer.inputs.sliders["pull"][0].value = 3.0
    viewer._advance()
    assert len(subject.steps) == 3
    rows = dict(viewer._readings(subject.frame()))
    assert "time" not in rows
    assert rows["shape found in"] == "4.00 ms"
    viewer._playing, viewer._read = True, 0.0
    viewer._show()
    assert "real-time" not in viewer.readout.content
    assert viewer._budget.visible is False
    assert "real time" not in viewer._strip.content


def run_loop(viewer, turns):
    """The loop of the thread that steps, ended when `turns(ready)` says so."""

    class Wake:
        def __enter__(self):
            return self

        def __exit__(self, *error):
            pass

        def wait_for(self, ready):
            if turns(ready):
                viewer._ended.set()

        def notify_all(self):
            pass

    real, viewer._wake, viewer._sleep_until = viewer._wake, Wake(), lambda due: None
    viewer._step_on()
    viewer._wake = real
    viewer._ended.clear()


def test_steps_and_resets_that_were_asked_for_are_made_once(live):
    viewer, subject, _ = live()
    for _ in range(3):
        viewer.step()
    viewer.reset()
    run_loop(viewer, lambda ready: not ready())
    assert subject.steps == [0.005] * 3
    assert subject.time == pytest.approx(0.015), "the reset came first"
    assert not viewer.playing


def test_the_end_and_failures_are_told(live):
    viewer, subject, _ = live()
    subject.end, viewer._playing = 2, True
    turns = iter(range(3))
    run_loop(viewer, lambda ready: next(turns, None) is None)
    assert len(subject.steps) == 2
    assert not viewer.playing
    assert viewer.error is None, "an end is no error"
    assert "finished: all done" in viewer._message.content
    assert 'role="status"' in viewer._message.content


def test_another_subject_is_built_once_and_errors_leave_the_present_one(live, monkeypatch):
    viewer, subject, clock = live()
    go, built = threading.Event(), []

    def build():
        built.append(1)
        go.wait(10.0)
        raise pl.InputError("no such robot")

    assert not viewer.building
    viewer._build(build, "robot")
    assert viewer.building
    assert "please wait: building robot…" in viewer._message.content
    viewer._build(build, "robot")
    viewer.play()
    assert viewer.playing
    assert "building robot" in viewer._message.content, "the panel keeps saying so"
    go.set()
    viewer._builder.join(10.0)
    assert built == [1]
    assert not viewer.building
    assert viewer.subject is subject
    assert isinstance(viewer.error, pl.InputError)
    assert not viewer.playing
    other = Subject(modes=(AUTOMATIC,))
    other.clock, other.usual_step = clock, 0.0123
    viewer._build(lambda: other, "other")
    viewer._builder.join(10.0)
    assert viewer.subject is other
    assert viewer.error is None
    assert not viewer._message.visible
    assert viewer.dt.value == "10 ms", "where the usual step of the subject is not offered"
    assert (viewer.mode.options, viewer.mode.visible) == ((AUTOMATIC,), False)


def test_every_key_does_what_its_button_does(live, monkeypatch):
    keys = {}
    monkeypatch.setattr(Shortcuts, "add", lambda self, key, text, act, **options: keys.update({key: act}))
    viewer, subject, _ = live()
    assert {"N", "Z", "J", "K", "M", "R", "V", "P", "F", "T", "C", "L"} <= set(keys)
    done = []
    for name in ("step", "reset", "fit"):
        monkeypatch.setattr(viewer, name, lambda *_, name=name: done.append(name))
    for name in ("record_or_keep", "replay"):
        monkeypatch.setattr(viewer.recording_panel, name, lambda *given, name=name: done.append((name, *given)))
    for key in ("N", "Z", "R", "V"):
        keys[key](None)
    assert done == ["step", "reset", ("record_or_keep",), ("replay", True)]
    for mode in (*subject.modes[1:], subject.modes[0]):
        keys["M"](None)
        assert viewer.mode.value == mode
    keys["P"](None)
    assert viewer.playing
    keys["P"](None)
    assert not viewer.playing
    dark, through, color = viewer.dark, viewer.appearance.see_through.value, viewer.appearance.mode.value
    for key in ("L", "T", "C"):
        keys[key](None)
    assert (viewer.dark, viewer.appearance.see_through.value) == (not dark, not through)
    assert viewer.appearance.mode.value == color, "there is one colour mode"


def test_buttons_of_the_panel(live):
    """Step and Reset, the drive, and the speed say what they do to the simulation."""
    viewer, _, _ = live()
    assert (viewer._steps, viewer._reset, viewer.playing) == (0, False, False), "nothing is asked for at first"
    viewer._playing = True
    viewer.step()
    assert (viewer._steps, viewer.playing) == (1, False)
    viewer.reset()
    assert viewer._reset
    assert (viewer.speed.value, viewer.speed.options, viewer._speed) == ("1×", SPEEDS, 1.0)
    assert all(thread.daemon for thread in viewer._threads), "none keeps the program from ending"


def test_the_panel_is_ordered_from_driving_to_saving(live, monkeypatch):
    """What stands where: numbers of one list, given in several places."""
    viewer, *_ = live()
    folders = {}
    gui = viewer.server.gui
    for handle in gui._gui_input_handle_from_uuid.values():
        folders.setdefault(getattr(handle, "label", ""), handle.order)
    ordered = [
        viewer.readout.order, viewer._message.order, viewer._about.order, viewer.play_button.order, viewer.once.order,
        viewer.speed.order, viewer.fit_button.order, viewer.mode.order, viewer._gizmos.target_field.order,
        viewer.inputs.folders[0].order, viewer.appearance.folder.order,
    ]  # fmt: skip
    assert ordered == sorted(ordered)
    assert len(set(ordered)) == len(ordered)
    assert folders["Keys (?)"] > viewer.appearance.folder.order
