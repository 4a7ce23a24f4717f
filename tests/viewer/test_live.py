import importlib
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.request

import numpy as np
import pytest

import pliant as pl
from pliant.viewer import steppers
from pliant.viewer import viewer as viewer_module
from pliant.viewer.bands import color_bands
from pliant.viewer.contents import DISPLACEMENT, PLAIN, STRESS
from pliant.viewer.live import view
from pliant.viewer.shapes import shape_triangles
from pliant.viewer.viewer import Viewer
from scenes import swinging_bar

viser = pytest.importorskip("viser")

RUBBER = pl.materials.Corotated(young=2e5, poisson=0.4, density=1000.0)


def until(condition, seconds=20.0):
    """Wait for another thread to make `condition` true."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.01)


@pytest.fixture(scope="module")
def beam():
    scene, body, cable = swinging_bar(RUBBER)
    ball = scene.add(pl.RigidBody.sphere(radius=0.01, mass=0.01, position=(0.05, 0.01, 0.06)))
    table = scene.add(pl.Obstacle.plane(point=(0, 0, -0.1)))
    scene.collide(ball, table, friction=0.3)
    return scene.compile(), body, cable, ball


@pytest.fixture(scope="module")
def run(beam):
    world, _, cable, _ = beam
    return pl.simulate(
        world, pl.ImplicitEuler(0.02), until=0.2, control=lambda t, state: {cable: pl.Displacement(0.05 * t)}
    )


@pytest.fixture
def open_viewer():
    opened = []

    def start(thing, **options):
        viewer = view(thing, port=0, open_browser=False, block=False, **options)
        opened.append(viewer)
        return viewer

    yield start
    for viewer in opened:
        viewer.close()


@pytest.fixture
def seen_controls(monkeypatch):
    """The controls that the stepper is given, step by step."""
    seen = []

    class Spy:
        def __init__(self, dt):
            self.dt, self._true = dt, pl.ImplicitEuler(dt)

        def __call__(self, world, state, controls=None):
            seen.append((self.dt, dict(controls)))
            return self._true(world, state, controls)

    monkeypatch.setattr(steppers, "ImplicitEuler", Spy)
    return seen


def is_free(port):
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) != 0


@pytest.mark.parametrize("kind", ["world", "run"])
def test_it_serves_a_page_and_ends(beam, run, kind):
    with view({"world": beam[0], "run": run}[kind], port=0, open_browser=False, block=False) as viewer:
        assert isinstance(viewer, Viewer)
        assert viewer.playing
        with urllib.request.urlopen(viewer.url, timeout=10) as answer:
            assert answer.status == 200
        port = viewer.port
    assert viewer.closed
    assert viewer.error is None
    assert is_free(port)
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("pliant ")]
    viewer.close()


def test_a_taken_port_gives_way_to_the_next(run, open_viewer):
    first = open_viewer(run)
    with view(run, port=first.port, open_browser=False, block=False) as second:
        assert second.port != first.port


@pytest.mark.parametrize(("port", "told"), [(99999, "99999"), (-1, "-1"), ("80", "'80'"), (True, "True")])
def test_a_port_out_of_range_is_refused_at_once(run, port, told):
    with pytest.raises(pl.InputError, match=rf"port must be a whole number, 0 .* to 65535, got {told}"):
        view(run, port=port, open_browser=False, block=False)


def test_the_last_port_gives_way_to_any():
    assert viewer_module._free_port("127.0.0.1", 65535) in (0, 65535)
    with socket.socket() as taken:
        taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            taken.bind(("127.0.0.1", 65535))
            taken.listen()
        except OSError:
            pytest.skip("port 65535 of this machine is taken")
        assert viewer_module._free_port("127.0.0.1", 65535) == 0


def test_only_runs_and_worlds_are_shown():
    with pytest.raises(pl.InputError, match=r"scene\.compile\(\)"):
        view(pl.Scene(), open_browser=False)


def test_without_viser_the_extra_is_named(beam, monkeypatch):
    true_import = importlib.import_module

    def without_viser(name, *rest):
        if name == "viser":
            raise ImportError("No module named 'viser'")
        return true_import(name, *rest)

    monkeypatch.setattr("pliant.core.extras.import_module", without_viser)
    with pytest.raises(pl.MissingExtraError, match=r"pip install 'pliant\[viewer\]'"):
        view(beam[0], open_browser=False)


def test_a_slider_drives_the_cable(beam, open_viewer, seen_controls):
    world, _, cable, _ = beam
    viewer = open_viewer(world)
    until(lambda: len(seen_controls) > 2)
    assert all(controls[cable] == pl.Displacement(0.0) for _, controls in seen_controls)
    (slider,) = viewer.inputs.sliders[cable]
    assert (slider.min, slider.max, slider.label) == (0.0, 25.0, "cable (mm)")
    slider.value = 8.0
    until(lambda: seen_controls[-1][1][cable].value == pytest.approx(0.008))
    values = np.array([controls[cable].value for _, controls in seen_controls])
    assert np.diff(values).max() <= 0.04 * 0.01 / 0.5 + 1e-12, "a slider is followed at a bounded speed"
    until(lambda: viewer.info.actuation(cable)[1] > 0.0)
    assert viewer.error is None
    viewer.pause()
    until(lambda: "N</td>" in viewer.forces.content)


def test_reset_step_and_time_step(beam, open_viewer, seen_controls):
    world, body, cable, _ = beam
    viewer = open_viewer(world)
    viewer.inputs.sliders[cable][0].value = 5.0
    until(lambda: viewer.state.time > 0.05)
    viewer.pause()
    viewer.reset()
    until(lambda: viewer.state.time == 0.0)
    assert viewer.inputs.sliders[cable][0].value == 0.0
    assert np.array_equal(viewer.state.points(body), world.initial_state().points(body))
    viewer.dt.value = "5 ms"
    for number in (1, 2):
        viewer.step()
        until(lambda number=number: viewer.state.time == pytest.approx(0.005 * number))
    time.sleep(0.1)
    assert viewer.state.time == pytest.approx(0.01)
    assert not viewer.playing
    assert seen_controls[-1][0] == 0.005


def test_real_time(beam, open_viewer):
    viewer = open_viewer(beam[0])
    until(lambda: viewer.state.time > 0.1)  # the first step may load kernels
    start, clock = viewer.state.time, time.perf_counter()
    time.sleep(1.0)
    assert viewer.state.time - start < 1.2 * (time.perf_counter() - clock) + 0.1, "faster than real time"


def test_gravity_can_be_switched_off(beam, open_viewer, seen_controls):
    viewer = open_viewer(beam[0])
    until(lambda: seen_controls)
    assert "gravity" not in seen_controls[-1][1]
    viewer.gravity.value = False
    until(lambda: np.array_equal(seen_controls[-1][1].get("gravity", np.ones(3)), np.zeros(3)))


def test_everything_that_can_be_driven_has_sliders(open_viewer, seen_controls):
    scene, body, cable = swinging_bar(RUBBER, max_displacement=0.01)
    block = pl.mesh.box((0.03, 0.03, 0.03), (3, 3, 3), element="hex8")
    center = np.linalg.norm(block.points[block.cells].mean(axis=1) - 0.015, axis=1)
    shell = pl.mesh.Mesh(block.points, block.cells[center > 1e-6], "hex8")
    chamber = scene.add(pl.Volume(shell, RUBBER, name="chamber"), position=(0, 0.1, 0))
    cavity = scene.add(pl.Cavity(chamber, max_pressure=2e3))
    support = scene.add(pl.Support(chamber, pl.regions.plane(axis="z", at=0), "xyz"))
    tip = pl.regions.plane(axis="x", at=0.1)
    loads = [
        scene.add(pl.PointLoad(body, tip, (0, 0, -0.01))),
        scene.add(pl.TractionLoad(body, tip, (0, 0, 0))),
        scene.add(pl.PressureLoad(body, tip, 100.0)),
    ]
    world = scene.compile()
    viewer = open_viewer(world)
    sliders = viewer.inputs.sliders
    assert set(sliders) == set(world.handles)
    assert [sliders[cable][0].max, sliders[cavity][0].max, sliders[cavity][0].min] == [10.0, 2.0, 0.0]
    assert [len(sliders[thing]) for thing in (support, *loads)] == [3, 3, 3, 1]
    assert [slider.value for slider in sliders[loads[0]]] == [0.0, 0.0, -0.01]
    sliders[cavity][0].value = 1.0
    sliders[support][2].value = 3.0
    until(lambda: seen_controls and seen_controls[-1][1][cavity].value == pytest.approx(1e3))
    until(lambda: np.allclose(seen_controls[-1][1][support].value, (0, 0, 0.003)))
    assert viewer.error is None
    until(lambda: "kPa" in viewer.forces.content)


def test_sliders_of_one_name_are_numbered(open_viewer):
    scene, body, cable = swinging_bar(RUBBER)
    other = scene.add(pl.Cable(body, [(0, 0.01, 0.018), (0.1, 0.01, 0.018)]))
    viewer = open_viewer(scene.compile())
    labels = [viewer.inputs.sliders[thing][0].label for thing in (cable, other)]
    assert labels == ["cable 1 (mm)", "cable 2 (mm)"]


@pytest.mark.parametrize("error", [pl.ConvergenceError("take a smaller dt & <b>"), ZeroDivisionError("oops")])
def test_an_error_is_shown_and_stops_the_playing(beam, open_viewer, monkeypatch, error):
    viewer = open_viewer(beam[0])
    until(lambda: viewer.state.time > 0.0)

    def fail(stepper, controls):
        raise error

    with monkeypatch.context() as patch:
        patch.setattr(viewer.subject, "_stepped", fail)
        until(lambda: viewer.error is not None)
        until(lambda: not viewer.playing)
    assert viewer.error is error
    until(lambda: viewer._message.visible)
    assert type(error).__name__ in viewer._message.content
    assert "<b>" not in viewer._message.content
    stopped = viewer.state.time
    viewer.play()
    until(lambda: viewer.state.time > stopped)
    assert viewer.error is None
    assert not viewer._message.visible


def test_a_picture_that_fails_is_not_tried_for_ever(beam, open_viewer, monkeypatch):
    viewer = open_viewer(beam[0])
    until(lambda: viewer.state.time > 0.0)
    calls = []

    def fail(*arguments, **options):
        calls.append(arguments)
        raise ValueError("no picture")

    monkeypatch.setattr(viewer._scene_view, "show", fail)
    until(lambda: viewer.error is not None)
    time.sleep(0.3)
    assert len(calls) <= 2
    assert not viewer.playing


def test_surfaces_and_rigid_bodies_follow_the_state(beam, open_viewer):
    world, body, _, ball = beam
    viewer = open_viewer(world)
    until(lambda: viewer.state.time > 0.05)
    viewer.pause()
    viewer.ask()
    until(lambda: not viewer._redraw)
    state = viewer.state
    skin, solid = viewer._scene_view._skins[0], viewer._scene_view._solids[1]
    until(lambda: np.allclose(skin._plain.vertices, state.points(body)[skin._source], atol=1e-7))
    until(lambda: np.allclose(solid.position, state.pose(ball)[0], atol=1e-7))
    assert state.points(body)[:, 2].min() < -1e-4
    assert len(viewer._scene_view._cables[0].points) == 5


def test_a_run_is_played_and_sought(run, open_viewer):
    viewer = open_viewer(run)
    until(lambda: viewer.frame > 0)
    viewer.pause()
    skin = viewer._scene_view._skins[0]
    for instant in (0.2, 0.0, 0.1):
        viewer.time_slider.value = instant
        frame = round(instant / 0.02)
        assert viewer.frame == frame
        shown = run.positions[0][frame][skin._source]
        until(lambda shown=shown: np.allclose(skin._plain.vertices, shown, atol=1e-7))
    until(lambda: "5 of 10" in viewer.readout.content)
    viewer.time = 0.16
    assert viewer.time_slider.value == pytest.approx(0.16)
    assert viewer.frame == 8


def test_playing_starts_over_and_obeys_the_speed(run, open_viewer):
    viewer = open_viewer(run)
    viewer.pause()
    viewer.speed.value = "0.1×"
    viewer.time = 0.0
    viewer.play()
    time.sleep(0.5)
    assert 0.0 < viewer.time < 0.12
    viewer.speed.value = "1×"
    frames = []
    until(lambda: frames.append(viewer.frame) or (max(frames) > 6 and frames[-1] < 4))


@pytest.mark.parametrize("loaded", [False, True])
def test_colours(run, open_viewer, tmp_path, loaded):
    shown = pl.load(run.save(tmp_path / "run.npz")) if loaded else run
    viewer = open_viewer(shown)
    viewer.pause()
    assert viewer.appearance.mode.options == (PLAIN, DISPLACEMENT, STRESS)
    viewer.time = 0.2
    skin = viewer._scene_view._skins[0]
    for mode in (DISPLACEMENT, STRESS):
        viewer.appearance.mode.value = mode
        until(lambda: skin._bands and not skin._plain.visible)
        until(lambda mode=mode: mode in viewer.appearance._highs and (mode, 10) in viewer._cache)
    until(lambda: sum(len(handle.faces) > 1 for handle in skin._bands) > 4)
    stress = viewer._cache[STRESS, 10][0]
    assert viewer.appearance._highs[STRESS] >= np.quantile(stress, 0.99)
    viewer.appearance.mode.value = PLAIN
    until(lambda: skin._plain.visible and not any(handle.visible for handle in skin._bands))


def test_a_run_without_its_world_shows_its_bodies(run, open_viewer):
    bare = pl.Run(
        times=run.times,
        bodies=run.bodies,
        positions=run.positions,
        motions=run.motions,
        step_seconds=run.step_seconds,
        iterations=run.iterations,
        linear_residual=run.linear_residual,
    )
    viewer = open_viewer(bare)
    assert viewer.appearance.mode.options == (PLAIN, DISPLACEMENT)
    until(lambda: viewer.frame > 0)
    assert viewer.error is None


def area_and_volume(points, triangles):
    corners = points[triangles]
    normals = 0.5 * np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    return np.linalg.norm(normals, axis=1).sum(), np.einsum("ti,ti->", corners.mean(axis=1), normals) / 3.0


@pytest.mark.parametrize("seed", range(5))
def test_bands_cover_the_surface_once_and_hold_their_values(make_box, seed):
    points, triangles = make_box((1.0, 1.0, 1.0), (4, 4, 4))
    rng = np.random.default_rng(seed)
    slope = rng.normal(size=3)
    values = points @ slope
    values = (values - values.min()) / np.ptp(values)
    if seed % 2:  # values that lie on the borders of bands, also over whole triangles
        values = np.rint(8.0 * values) / 8.0
    bands = color_bands(points, triangles, values, 8)
    measures = np.array([area_and_volume(*band) for band in bands if len(band[1])])
    assert measures.sum(axis=0) == pytest.approx([6.0, 1.0])
    if not seed % 2:
        for number, (places, _) in enumerate(bands):
            found = (places @ slope - (points @ slope).min()) / np.ptp(points @ slope)
            assert found.min() > number / 8 - 1e-9
            assert found.max() < (number + 1) / 8 + 1e-9


@pytest.mark.parametrize("level", [0.0, 0.3, 0.5, 1.0])
def test_a_surface_of_one_value_is_one_band(make_box, level):
    points, triangles = make_box((1.0, 1.0, 1.0), (2, 2, 2))
    bands = color_bands(points, triangles, np.full(len(points), level), 4)
    counts = [len(band[1]) for band in bands]
    assert counts[min(int(4 * level), 3)] == len(triangles) == sum(counts)


@pytest.mark.parametrize(
    ("obstacle", "volume"),
    [
        (pl.Obstacle.sphere(center=(1, 2, 3), radius=0.5), np.pi / 6),
        (pl.Obstacle.cylinder(start=(0, 0, 0), end=(1, 1, 0), radius=0.5), np.pi / 4 * np.sqrt(2)),
        (pl.Obstacle.capsule(start=(0, 0, 0), end=(0, 0, 2), radius=0.5), np.pi / 2 + np.pi / 6),
        (pl.Obstacle.pipe(start=(0, 0, 0), end=(0, 1, 0), radius=1.0, thickness=1.0), 3 * np.pi),
        (pl.Obstacle.box(center=(0, 0, 0), size=(1, 2, 3)), 6.0),
    ],
    ids=lambda value: getattr(value, "name", None),
)
def test_obstacles_are_drawn_as_closed_outward_surfaces(obstacle, volume):
    points, triangles = shape_triangles(obstacle.shape, half_width=1.0)
    assert area_and_volume(points, triangles)[1] == pytest.approx(volume, rel=0.01)
    assert np.abs(obstacle.shape.solid.distance(points).gap).max() < 1e-9


def test_planes_and_endless_pipes_are_drawn():
    plane = pl.Obstacle.plane(point=(0, 0, 1), normal=(1, 0, 1))
    points, triangles = shape_triangles(plane.shape, half_width=2.0)
    assert area_and_volume(points, triangles)[0] == pytest.approx(16.0)
    assert np.abs(plane.shape.solid.distance(points).gap).max() < 1e-12
    pipe = pl.Obstacle.pipe(start=(0, 0, 0), end=(1, 0, 0), radius=0.1)
    assert area_and_volume(*shape_triangles(pipe.shape, half_width=1.0))[0] == pytest.approx(0.2 * np.pi, rel=0.01)


SCRIPT = """
import pliant as pl
from pliant.viewer.live import view
run = pl.load({path!r})
print("after", view(run, port=0, open_browser=False).closed, flush=True)
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_script_waits_and_ends_cleanly_on_a_signal(run, tmp_path, number):
    path = str(run.save(tmp_path / "run.npz"))
    script = [sys.executable, "-u", "-c", SCRIPT.format(path=path)]
    with subprocess.Popen(script, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        lines = iter(process.stdout.readline, "")
        assert any("Ctrl-C ends it" in line for line in lines)
        process.send_signal(number)
        output, errors = process.communicate(timeout=30)
    assert process.returncode == 0, errors
    assert "after True" in output
    assert "Traceback" not in errors
