"""The parts of the studio without a browser: subjects, dragging, rebuilding, recording, who drives, files."""

import io
import json
import socket
import time
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

import pliant as pl
from pliant.models.rigid import Waypoints
from pliant.viewer import zoo
from pliant.viewer.arrows import ARROW
from pliant.viewer.dragging import DraggedMotion
from pliant.viewer.driver import Driver
from pliant.viewer.live import loaded, open_viewer, opened, thing_of
from pliant.viewer.pace import Pace
from pliant.viewer.palette import COLOR_MAP, OBSTACLE, TINTS, rgb
from pliant.viewer.panel import strip_html
from pliant.viewer.properties import materials_of, stiffened
from pliant.viewer.recording_panel import png_bytes
from pliant.viewer.simulation import LiveSimulation
from pliant.viewer.subject import AUTOMATIC, SLIDERS, TARGET, Demand, FinishedError
from pliant.viewer.tips import inferred_tip
from pliant.viewer.tones import LIGHT, displayed, shown_color
from pliant.viewer.viewer import check_port
from pliant.viewer.world_subject import WorldSubject
from scenes import swinging_bar

pytest.importorskip("viser")
RUBBER = pl.materials.Corotated(young=2e5, poisson=0.4, density=1000.0)
NOWHERE = np.zeros((0, 3))


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
def touching():
    """A beam above a block that can be dragged."""
    block = pl.Obstacle.box(center=(0.09, 0.01, -0.03), size=(0.04, 0.04, 0.01), name="block")
    scene, beam, cable = beam_scene(block)
    return WorldSubject(scene.compile(), name="beam", tip=pl.robots.Marker(beam, (0.1, 0.01, 0.01)), actuators=(cable,))


def demand(subject, *, mode=SLIDERS, target=(0, 0, 0), places=None, **controls):
    where = np.zeros((len(subject.handles), 3)) if places is None else np.array(places, float)
    given = {}
    for r in subject.ranges:
        value = r.control(r.start)
        given |= value if isinstance(value, dict) else {r.handle: value}
    given |= controls.pop("controls", {})
    return Demand(mode, given, np.array(target, float), where)


def test_every_robot_of_the_library_can_be_picked():
    names = {name.replace("_", "-") for name in pl.robots.__all__ if name.islower()} - {"robot", "marker"}
    assert names <= set(zoo.catalogue())
    assert {"ball", "maze", "delta", "cubes", "tubes", "needle"} <= set(zoo.catalogue())
    assert zoo.entry("Pneumatic_Finger").name == "pneumatic-finger"
    with pytest.raises(pl.InputError, match="robots are finger, gripper"):
        zoo.entry("hand")


@pytest.mark.parametrize("name", ["finger", "gripper", "trunk", "tower", "tubes", "needle", "ball", "delta", "cubes"])
def test_subjects_step_and_are_drawn_in_every_mode(name):
    subject = zoo.entry(name).made()
    start = subject.frame()
    assert len(start.q) == len(subject.contents.bodies)
    for mode in subject.modes:
        tip = subject.frame().tip
        target = np.zeros(3) if tip is None else tip + np.array([0.0, 0.0, -0.002])
        for _ in range(2):
            subject.step(0.01, demand(subject, mode=mode, target=target))
    assert subject.time == pytest.approx(0.02 * len(subject.modes))
    frame = subject.frame()
    assert all(np.isfinite(q).all() for q in frame.q)
    assert len(frame.tensions) == len(subject.contents.strands)
    assert len(frame.pressures) == len(subject.contents.chambers)
    assert subject.stage_times
    assert strip_html(subject.stage_times, [0.01, 0.02], 0.01).count("<svg") == 1
    subject.reset()
    assert subject.time == 0.0
    assert all(np.array_equal(a, b) for a, b in zip(subject.frame().q, start.q, strict=True))


def test_a_geometric_robot_takes_the_volume_of_its_slider():
    subject = zoo.entry("twister").made()
    (volume,) = subject.ranges
    assert (volume.low[0], volume.start[0], volume.high[0]) == (0.6, 1.0, 3.0)
    subject.step(0.01, demand(subject, controls={volume.handle: pl.VolumeRatio(1.02)}))
    rest = subject.world.initial_state().volume(volume.handle)
    assert subject.state.volume(volume.handle) == pytest.approx(1.02 * rest, rel=1e-4)
    assert subject.frame().pressures[0] > 0.0
    assert subject.modes == (SLIDERS,)
    assert "real time" not in strip_html({"solve": 0.1}, [0.1, 0.2], None), "a shape has no time"


@pytest.mark.parametrize("name", ["membrane", "pneumatic-gripper"])
def test_geometric_robots_of_several_bodies_take_the_volumes_of_their_sliders(name):
    subject = zoo.entry(name).made()
    first, *others = subject.ranges
    subject.step(0.01, demand(subject, controls={first.handle: pl.VolumeRatio(1.1)}))
    rest = subject.world.initial_state()
    assert subject.state.volume(first.handle) == pytest.approx(1.1 * rest.volume(first.handle), rel=1e-4)
    for other in others:
        assert subject.state.volume(other.handle) == pytest.approx(rest.volume(other.handle), rel=1e-4)
    assert subject.has_contacts
    assert not subject.timed


def test_an_obstacle_is_dragged_through_shapes_and_a_recording_of_them_is_played(tmp_path):
    """A ball is dragged into a hollow block that has no time: it gives way, and each shape is an instant of the run."""
    scene = pl.Scene()
    mesh = pl.mesh.block_with_cavity((0.04, 0.04, 0.04), wall=0.012, cell_size=0.014)
    body = scene.add(pl.Volume(mesh, RUBBER, clamp=pl.regions.plane(axis="z", at=0.0), name="hollow"))
    scene.add(pl.Cavity(body, name="air"))
    stamp = scene.add(pl.Obstacle.sphere(center=(0.02, 0.02, 0.061), radius=0.02, name="stamp"))
    scene.collide(body, stamp)
    subject = WorldSubject(scene.compile(), name="hollow", geometric=True)
    down = np.array([[0.0, 0.0, -0.003]])
    subject.begin_recording()
    for _ in range(3):
        subject.step(0.01, demand(subject, places=down))
    assert subject.arrived(down)
    assert not subject.arrived(0.5 * down)
    frame = subject.frame()
    assert frame.obstacles[0][0] == pytest.approx([0, 0, -0.003])
    assert frame.arrows[1][:, 2].sum() < 0.0, "it is pressed down"
    run = pl.load(subject.end_recording().save(tmp_path / "run.npz"))
    assert run.times == pytest.approx([0.0, 0.1, 0.2, 0.3])
    assert run.world.obstacles[0].pose(0.3)[0] == pytest.approx([0, 0, -0.003])
    assert len(run.contacts(3)[0]) > 0


def test_a_step_that_failed_is_dragged_again():
    motion = DraggedMotion()
    motion.move(0.0, 0.1, np.array([1.0, 0, 0]))
    motion.move(0.1, 0.2, np.array([2.0, 0, 0]))
    motion.move(0.1, 0.2, np.array([1.5, 0, 0]))
    assert motion.recorded().times == pytest.approx([0.0, 0.1, 0.2])
    assert motion(0.2)[0] == pytest.approx([1.5, 0, 0])
    motion.move(0.1, 0.2, np.array([1.0, 0, 0]))
    assert motion.recorded().times == pytest.approx([0.0, 0.1])


def test_the_inverse_brings_the_tip_to_its_target(touching):
    assert touching.modes == (SLIDERS, TARGET)
    (cable,) = touching.actuators
    away = [(0, 0, -0.1)]
    there, _ = pl.QuasiStatic()(touching.original, touching.original.initial_state(), {cable: pl.Displacement(0.005)})
    target = touching.tip.at(there)
    for _ in range(60):
        touching.step(0.01, demand(touching, mode=TARGET, target=target, places=away))
    assert np.linalg.norm(touching.frame().tip - target) < 1e-3, "within the usual tolerance of an effector"
    assert touching.time == pytest.approx(0.6)
    assert touching.actuation()[cable] == pytest.approx(0.005, abs=1e-3)
    assert touching.info.actuation(cable)[1] > 0.0


def test_an_obstacle_is_dragged_at_a_bounded_speed_and_pushes(touching):
    for _ in range(20):
        touching.step(0.01, demand(touching))
    free = touching.frame()
    for _ in range(30):
        touching.step(0.01, demand(touching, places=[(0, 0, 0.03)]))
    frame = touching.frame()
    assert frame.tip[2] > free.tip[2] + 0.005
    points, forces = frame.arrows
    assert forces[:, 2].sum() > 0.05, "the block pushes up"
    assert np.linalg.norm(points - points.mean(axis=0), axis=1).max() < 0.05
    assert frame.obstacles[0][0] == pytest.approx([0, 0, 0.03])
    way = touching._dragged[0].recorded()
    speeds = np.linalg.norm(np.diff(way.places, axis=0), axis=1) / np.diff(way.times)
    assert speeds.max() <= 0.25 * (1 + 1e-9)


def test_a_recording_with_a_dragged_obstacle_is_saved_and_replayed_bit_for_bit(touching, tmp_path):
    (cable,) = touching.actuators
    touching.begin_recording()
    for k in range(130):  # more than two pieces
        pull = {cable: pl.Displacement(5e-5 * k)}
        touching.step(0.01, demand(touching, controls=pull, places=[(0, 0, 2e-4 * min(k, 60))]))
    run = touching.end_recording()
    assert len(run.times) == 131
    assert run.actuation(cable)[0][-1] == pytest.approx(6.45e-3, rel=1e-3)
    again = pl.load(run.save(tmp_path / "run.npz"))
    assert isinstance(again.world.obstacles[0].motion, Waypoints)
    replayed = again.replay()
    assert np.array_equal(replayed.positions[0], run.positions[0])
    assert np.abs(run.contact_force("beam", "block")[-1]).max() > 0.0


def test_a_recording_driven_by_a_target_is_replayed_bit_for_bit(touching, tmp_path):
    """Half by sliders, half by a target that presses the beam on the block, begun while it moves."""
    (cable,) = touching.actuators
    for k in range(10):
        touching.step(0.01, demand(touching, controls={cable: pl.Displacement(1e-4 * k)}, places=[(0, 0, 0.018)]))
    start = touching.time
    touching.begin_recording()
    for _ in range(10):
        touching.step(0.01, demand(touching, controls={cable: pl.Displacement(1e-3)}, places=[(0, 0, 0.018)]))
    aim = touching.frame().tip + np.array([0, 0, -0.004])
    for _ in range(60):
        touching.step(0.01, demand(touching, mode=TARGET, target=aim, places=[(0, 0, 0.018)]))
    run = touching.end_recording()
    assert np.linalg.norm(run.contact_force("beam", "block")[-1]) > 0.0
    assert np.ptp(run.actuation(cable)[1][12:]) > 0.0, "the inverse pulled"
    loaded_run = pl.load(run.save(tmp_path / "run.npz"))
    assert loaded_run.times == pytest.approx(start + 0.01 * np.arange(71))
    again = loaded_run.replay()
    assert np.array_equal(again.positions[0], run.positions[0])
    assert np.array_equal(again.actuation(cable.name)[1], run.actuation(cable)[1])


def test_waypoints_rest_before_and_after_and_are_checked():
    way = Waypoints(np.array([1.0, 2.0, 4.0]), np.array([[0, 0, 0], [1, 0, 0], [1, 2, 0]], float))
    for instant, place in ((0.0, (0, 0, 0)), (1.5, (0.5, 0, 0)), (3.0, (1, 1, 0)), (4.0, (1, 2, 0)), (9.0, (1, 2, 0))):
        assert way(instant)[0] == pytest.approx(place)
    with pytest.raises(pl.InputError, match="must rise"):
        Waypoints(np.array([0.0, 0.0]), np.zeros((2, 3)))


def test_a_drag_begins_where_it_rested():
    drag = DraggedMotion()
    drag.move(1.0, 1.1, np.array([0.1, 0.0, 0.0]))
    assert [drag(t)[0][0] for t in (0.5, 1.0, 1.05, 1.1, 2.0)] == pytest.approx([0.0, 0.0, 0.05, 0.1, 0.1])
    drag.reset()
    assert not drag.moved


def test_rebuilding_changes_materials_and_friction_and_nothing_else(touching):
    world = touching.original
    stiff = touching.rebuilt([2.0], [0.7])
    (_, material), *_ = materials_of(stiff.original)
    assert material.young == pytest.approx(2.0 * RUBBER.young)
    assert [p.friction for p in stiff.original.source.pairs] == [0.7]
    assert RUBBER.young == 2e5
    assert [p.friction for p in world.source.pairs] == [0.3]
    (old,), (new,) = touching.actuators, stiff.actuators
    assert new is not old
    assert stiff.tip.body is new.body
    stiff.step(0.01, demand(stiff, controls={new: pl.Displacement(1e-4)}))
    with pytest.raises(pl.InputError):
        stiff.world.controls({old: pl.Displacement(0.0)})


@pytest.mark.parametrize(
    "material",
    [
        pl.materials.NeoHookean(young=1e5, poisson=0.45, density=1000),
        pl.materials.MooneyRivlin(c1=4e4, c2=1e4, density=1000),
        pl.materials.Ogden(m=3e4, a=2.0, density=1000),
        pl.materials.Viscoelastic(pl.materials.NeoHookean(young=1e5, poisson=0.45, density=1000), [(0.1, 0.1)]),
    ],
    ids=lambda material: type(material).__name__,
)
def test_stiffened_material_has_its_stress_multiplied(material):
    F = np.eye(3) + np.array([[0.1, 0.05, 0], [0, -0.05, 0], [0, 0, 0.02]])
    stress = [m.stress(F[None])[0] for m in (material, stiffened(material, 3.0))]
    assert stress[1] == pytest.approx(3.0 * stress[0], rel=1e-9)


def test_a_tip_is_found_where_none_is_given():
    scene, beam, cable = beam_scene()
    tip, actuators = inferred_tip(scene.compile())
    assert actuators == (cable,)
    assert tip.position == pytest.approx((0.1, 0.01, 0.01)), "the middle of the end, not a corner of its rim"
    assert tip.body is beam
    free = pl.Scene()
    free.add(pl.RigidBody.sphere(radius=0.01, mass=0.1))
    assert inferred_tip(free.compile()) == (None, ())


def test_the_maze_ends_where_its_machine_does():
    subject = zoo.entry("maze").made()
    assert subject.modes == (AUTOMATIC, SLIDERS)
    subject.step(0.01, demand(subject, mode=AUTOMATIC))
    last_ring = replace(subject.point.discrete, states=(7,))
    subject.point = replace(
        subject.point, q=np.array([0.001, 0.0, 0.08, 0.0]), v=np.array([-1.0, 0, 0, 0]), discrete=last_ring
    )
    with pytest.raises(FinishedError, match="final states"):
        subject.step(0.1, demand(subject, mode=AUTOMATIC))


class FakeServer:
    """A server that remembers who comes and goes."""

    def on_client_connect(self, act):
        self.come = act

    def on_client_disconnect(self, act):
        self.go = act


class FakeHandle(SimpleNamespace):
    """A control without a browser."""

    def on_update(self, act):
        self.act = act

    def __setattr__(self, name, value):
        changed = name == "value" and getattr(self, "value", None) != value
        super().__setattr__(name, value)
        if changed and hasattr(self, "act"):
            self.act(SimpleNamespace(client_id=None, client=None, target=self))

    def browser_sets(self, number, value, client):
        object.__setattr__(self, "value", value)
        self.act(SimpleNamespace(client_id=number, client=client, target=self))


def fake_client(number):
    def add(*texts, **options):
        return FakeHandle(content="", visible=options.get("visible", True), on_click=lambda act: None)

    notes = []
    gui = SimpleNamespace(add_html=add, add_button=add)
    return SimpleNamespace(
        client_id=number, gui=gui, notes=notes, add_notification=lambda *text, **options: notes.append(text)
    )


def test_one_drives_and_the_others_watch():
    server = FakeServer()
    driver, one, two = Driver(server), fake_client(1), fake_client(2)
    server.come(one)
    server.come(two)
    acts, slider = [], FakeHandle(value=0.0)
    driver.guard(slider, lambda event: acts.append(event.target.value))
    slider.browser_sets(1, 3.0, one)
    assert (driver.current, driver.value(slider), acts) == (1, 3.0, [3.0])
    slider.browser_sets(2, 9.0, two)
    assert (slider.value, driver.value(slider), acts) == (3.0, 3.0, [3.0]), "a watcher's change is undone"
    assert "Browser 1 drives" in two.notes[0][0]
    texts = {number: note.content for number, (note, _) in driver._notes.items()}
    assert "You (browser 1) drive" in texts[1]
    assert "Browser 1 drives" in texts[2]
    assert [button.visible for _, button in driver._notes.values()] == [False, True]
    driver.take_over(2)
    slider.browser_sets(2, 4.0, two)
    assert (driver.value(slider), acts) == (4.0, [3.0, 4.0])
    server.go(two)
    assert driver.current is None
    slider.browser_sets(1, 5.0, one)
    assert (driver.current, driver.value(slider)) == (1, 5.0)


def test_pace_says_when_real_time_is_missed():
    pace = Pace()
    for k in range(40):
        pace.add(0.01, 0.02, 0.02 * k, {"solve": 0.015})
    assert pace.factor == pytest.approx(0.5)
    assert pace.step_seconds == pytest.approx(0.02)
    assert pace.stages == pytest.approx({"solve": 0.015})


def test_a_picture_is_a_png():
    picture = np.zeros((4, 5, 4), np.uint8)
    picture[..., 0], picture[:2, :, 3] = 200, 255
    data = png_bytes(picture)
    assert data.startswith(b"\x89PNG\r\n\x1a\n")
    matplotlib = pytest.importorskip("matplotlib.image")
    read = matplotlib.imread(io.BytesIO(data))
    assert read.shape[:2] == (4, 5)
    assert read[0, 0, :3] == pytest.approx([200 / 255, 0, 0], abs=1e-3)
    assert read[3, 0, :3] == pytest.approx([0.91, 0.925, 0.945], abs=0.01), "the background of exported pictures"


def test_colours_are_sent_so_that_they_are_seen_as_in_exports():
    """Tone mapping is undone, for lit surfaces and for lines, as far as a line can be bright."""
    for color in (*TINTS, *COLOR_MAP, OBSTACLE, ARROW):
        seen = displayed(shown_color(rgb(color)), light=LIGHT)
        assert np.abs(seen - rgb(color)).max() < 0.05, color
        line = displayed(shown_color(rgb(color), lit=False))
        assert np.abs(line - rgb(color)).max() < 0.1, color


def test_the_shadow_is_that_of_exports(touching):
    """It lies on the floor, below the body, darkest where the body is close."""
    with LiveSimulation(touching, port=0) as viewer:
        until(lambda: viewer._scene_view._ground._shadow is not None)
        shadow = viewer._scene_view._ground._shadow
        side = shadow.render_width
        place = np.array(shadow.position[:2])
        dark = shadow.image[..., 3] if hasattr(shadow, "image") else None
        assert side > 0.1
        assert np.abs(place - (0.05, 0.01)).max() < 0.5 * side
        if dark is not None:
            assert dark.max() > 20
            assert dark[0].max() == 0


# files
def test_files_that_can_be_viewed(tmp_path):
    scene, *_ = beam_scene()
    world = scene.compile()
    assert isinstance(opened(str(world.save(tmp_path / "world.npz"))), WorldSubject)
    run = pl.simulate(world, pl.ImplicitEuler(0.02), until=0.04)
    assert isinstance(opened(str(run.save(tmp_path / "run.npz"))), pl.Run)
    assert isinstance(opened("finger"), zoo.Entry)


def test_files_of_another_version_and_others_are_refused(tmp_path):
    for kind, message in (
        ("pliant run 7", "another version of Pliant"),
        ("recipe", "not a saved world or run: it holds 'recipe'"),
    ):
        path = tmp_path / "file.npz"
        np.savez(path, header=np.array(json.dumps({"format": kind})))
        with pytest.raises(pl.InputError, match=message):
            loaded(path)
    np.savez(path, header=np.array(json.dumps({"format": "pliant world 1"})))
    with pytest.raises(pl.InputError, match="this version of Pliant expects is missing"):
        loaded(path)
    (tmp_path / "text.npz").write_text("hello")
    with pytest.raises(pl.InputError, match="not a saved world or run"):
        loaded(tmp_path / "text.npz")
    with pytest.raises(pl.InputError, match="not something of type int"):
        thing_of(5)
    with pytest.raises(pl.InputError, match="no file"):
        opened(str(tmp_path / "none.npz"))


def test_a_taken_port_is_refused_by_name():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(pl.InputError, match=rf"port {port} .* 0 for any"):
            check_port("127.0.0.1", port)
    with pytest.raises(pl.InputError, match="65535"):
        check_port("127.0.0.1", 99999)


def test_a_host_that_is_not_ours_is_refused_by_name():
    scene, *_ = beam_scene()
    with pytest.raises(pl.InputError, match=r"host '192\.0\.2\.1' cannot be served.*127\.0\.0\.1"):
        open_viewer(thing_of(scene), host="192.0.2.1")
