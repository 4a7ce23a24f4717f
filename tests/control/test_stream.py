"""Streams of actuation: their lines, their rate, where they go, and the way back."""

import socket
import sys
from types import SimpleNamespace

import numpy as np
import pytest

import pliant as pl
from pliant.control import stream

MESH = pl.mesh.box((0.2, 0.03, 0.03), (6, 1, 1))
RUBBER = pl.materials.Corotated(young=2e5, poisson=0.3, density=1e3)
PATH = [(0.0, 0.015, 0.025), (0.1, 0.015, 0.025), (0.2, 0.015, 0.025)]


class FakeClock(stream.Clock):
    """Time passes only by sleeping, and where a test says so."""

    def __init__(self):
        super().__init__(lambda: self.time[0], self._sleep)
        object.__setattr__(self, "time", [100.0])
        object.__setattr__(self, "slept", [])

    def _sleep(self, seconds):
        self.slept.append(seconds)
        self.time[0] += seconds


class FakePort:
    def __init__(self):
        self.written, self.closed = b"", False

    def write(self, data):
        self.written += data

    def close(self):
        self.closed = True


@pytest.fixture(scope="module")
def arm():
    scene = pl.Scene()
    body = scene.add(pl.Volume(MESH, RUBBER, clamp=pl.regions.plane(axis="x", at=0.0)))
    cables = [
        scene.add(pl.Cable(body, np.array(PATH) * (1, 1, s) + (0, 0, 0.03 * (s < 0)), name=n))
        for n, s in (("up", 1), ("down", -1))
    ]
    return scene.compile(), cables


def simulated(arm, sink, **options):
    world, cables = arm
    streamer = stream.Streamer(sink, cables, **options)
    control = lambda t, s: {cables[0]: pl.Force(t), cables[1]: pl.Displacement(0.0)}  # noqa: E731
    return pl.simulate(world, pl.ImplicitEuler(0.01), until=0.2, control=control, callback=streamer), streamer


def test_a_csv_file_comes_back_as_it_was(arm, tmp_path):
    path = tmp_path / "stream.csv"
    with stream.CsvSink(path) as sink:
        run, streamer = simulated(arm, sink)
    assert path.read_text().splitlines()[0] == "time,up.displacement,up.force,down.displacement,down.force"
    found = stream.read(path)
    assert found.names == ("up", "down")
    assert streamer.sent == 20
    np.testing.assert_allclose(found.times, run.times[1:], rtol=1e-8)
    for k, cable in enumerate(arm[1]):
        expected = np.column_stack(run.actuation(cable))[1:]
        np.testing.assert_allclose(found.values[:, k], expected, rtol=1e-8, atol=1e-12)
    assert found.values[-1, 0, 1] == pytest.approx(0.2)


def test_a_recorded_run_streams_as_its_steps_did(arm):
    live, later = stream.Recorder(), stream.Recorder()
    run, _ = simulated(arm, live, rate=25.0)
    count = stream.Streamer(later, arm[1], rate=25.0).run(run)
    assert count == 5
    np.testing.assert_array_equal(later.recorded.times, live.recorded.times)
    np.testing.assert_allclose(later.recorded.values, live.recorded.values, atol=1e-12)


def test_the_rate_leaves_steps_out(arm):
    kept = stream.Recorder()
    simulated(arm, kept, rate=50.0)
    np.testing.assert_allclose(kept.recorded.times, np.arange(0.01, 0.2, 0.02), rtol=1e-8)
    kept = stream.Recorder()
    simulated(arm, kept, rate=40.0)  # every 25 ms, of steps every 10 ms: every third
    np.testing.assert_allclose(np.diff(kept.recorded.times), 0.03, rtol=1e-7)


def test_a_paced_stream_keeps_its_times_and_counts_late_lines():
    clock, kept = FakeClock(), stream.Recorder()
    streamer = stream.Streamer(kept, ["motor"], pace=clock)
    streamer.put(5.0, [(0.0, 0.0)])
    assert clock.slept == []
    clock.time[0] += 0.01
    streamer.put(5.1, [(1e-3, 2.0)])
    np.testing.assert_allclose(clock.slept, [0.09], rtol=1e-9)
    assert streamer.late == 0
    clock.time[0] += 0.5
    streamer.put(5.2, [(2e-3, 3.0)])
    assert len(clock.slept) == 1
    assert streamer.late == 1


def test_a_live_clock_limits_the_rate_of_statics(arm):
    world, cables = arm
    clock, kept = FakeClock(), stream.Recorder()
    streamer = stream.Streamer(kept, cables, rate=10.0, live=clock)
    state, info = pl.QuasiStatic()(world, world.initial_state(), {cables[0]: pl.Force(0.1)})
    for _ in range(10):
        streamer(state, info)
        clock.time[0] += 0.04
    np.testing.assert_allclose(kept.recorded.times, [0.0, 0.12, 0.24, 0.36], atol=1e-8)
    assert kept.recorded.values[0, 0, 1] == pytest.approx(0.1)


@pytest.mark.parametrize("speed", [1.0, 4.0])
def test_a_replay_takes_the_time_of_the_stream(arm, tmp_path, speed):
    path = tmp_path / "stream.csv"
    with stream.CsvSink(path) as sink:
        simulated(arm, sink)
    clock, again = FakeClock(), stream.Recorder()
    assert stream.replay(path, again, speed=speed, clock=clock) == 20
    assert clock.time[0] - 100.0 == pytest.approx(0.19 / speed)
    np.testing.assert_array_equal(again.recorded.values, stream.read(path).values)
    assert stream.replay(again.recorded, stream.Recorder(), rate=10.0, clock=FakeClock()) == 2


def test_datagrams_arrive(arm):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as listener:
        listener.bind(("127.0.0.1", 0))
        listener.settimeout(5.0)
        with stream.UdpSink("127.0.0.1", listener.getsockname()[1]) as sink:
            run, streamer = simulated(arm, sink, rate=20.0)
            lines = [listener.recv(1024).decode("ascii") for _ in range(streamer.sent)]
    assert streamer.sent == 4
    numbers = np.array([[float(x) for x in line.rstrip("\n").split(",")] for line in lines])
    np.testing.assert_allclose(numbers[:, 0], [0.01, 0.06, 0.11, 0.16], rtol=1e-8)
    np.testing.assert_allclose(numbers[:, 2], run.actuation(arm[1][0])[1][[1, 6, 11, 16]], rtol=1e-8)


def test_a_serial_port_gets_lines(arm):
    port = FakePort()
    with stream.SerialSink(port) as sink:
        _, streamer = simulated(arm, sink)
    lines = port.written.decode("ascii").splitlines()
    assert len(lines) == streamer.sent == 20
    assert all(len(line.split(",")) == 5 for line in lines)
    assert port.closed


def test_a_port_by_name_needs_pyserial(monkeypatch):
    monkeypatch.setitem(sys.modules, "serial", None)
    with pytest.raises(pl.MissingExtraError, match=r"pliant\[stream\]"):
        stream.SerialSink("/dev/null")


def test_a_moved_support_is_streamed_by_its_way():
    scene = pl.Scene()
    body = scene.add(pl.Volume(MESH, RUBBER))
    cable = scene.add(pl.Cable(body, PATH))
    base = scene.add(pl.Support(body, pl.regions.plane(axis="x", at=0.0)))
    platform = pl.MovedSupport(base, (1, 0, 0), name="platform")
    tip, world = pl.Effector(body, (0.2, 0.015, 0.015)), scene.compile()
    kept = stream.Recorder()
    step = pl.ImplicitEuler(0.02, solver=pl.Inverse([tip], [cable, platform]))
    state, info = step(world, world.initial_state(), {tip: (0.21, 0.015, 0.015)})
    stream.Streamer(kept, [cable, platform])(state, info)
    way = state.displacements(body)[0, 0]
    assert way > 5e-3
    np.testing.assert_allclose(kept.recorded.values[0, 1], [way, 0.0], rtol=1e-8)


def test_standard_output_gets_the_header_and_the_lines(capsys):
    with stream.CsvSink() as sink:
        stream.Streamer(sink, ["motor"]).put(0.5, [(1e-3, 2.0)])
    assert capsys.readouterr().out == "time,motor.displacement,motor.force\n0.5,0.001,2\n"


def test_what_is_refused(tmp_path):
    with pytest.raises(pl.InputError, match="needs actuators"):
        stream.Streamer(stream.Recorder(), [])
    with pytest.raises(pl.InputError, match="rate"):
        stream.Streamer(stream.Recorder(), ["motor"], rate=0.0)
    with pytest.raises(pl.InputError, match="not both"):
        stream.Streamer(stream.Recorder(), ["motor"], pace=stream.Clock(), live=stream.Clock())
    with pytest.raises(pl.InputError, match="finite"):
        stream.Streamer(stream.Recorder(), ["motor"]).put(0.0, [(np.nan, 0.0)])
    bad = tmp_path / "bad.csv"
    for text, match in (
        ("a,b\n", "first line"),
        ("time,m.displacement,m.force\n1,2\n", "2 numbers instead of 3"),
        ("time,m.displacement,m.force\n1,2,x\n", "not made of numbers"),
    ):
        bad.write_text(text)
        with pytest.raises(pl.InputError, match=match):
            stream.read(bad)


def test_a_port_is_opened_by_its_name_and_rate(monkeypatch):
    opened = []
    monkeypatch.setitem(sys.modules, "serial", SimpleNamespace(Serial=lambda *given: opened.append(given)))
    stream.SerialSink("/dev/ttyUSB0", 9600)
    assert opened == [("/dev/ttyUSB0", 9600)]


@pytest.mark.parametrize(
    "header",
    ["time,a.displacement", "time", "t,a.displacement,a.force", "", "Time,a.displacement,a.force"],
)
def test_files_whose_first_line_is_no_header_are_refused(tmp_path, header):
    path = tmp_path / "stream.csv"
    path.write_text(f"{header}\n0,1,2\n")
    if header == "time":
        path.write_text("time\n0,1\n")
        with pytest.raises(pl.InputError, match=r"line 1 of .* has 2 numbers instead of 1"):
            stream.read(path)
        return
    with pytest.raises(pl.InputError, match="is not a stream of actuation"):
        stream.read(path)
