"""simulate and Run: recording, saving without pickle, export that other software reads."""

import xml.etree.ElementTree as ElementTree
from dataclasses import replace

import meshio
import numpy as np
import pytest

import pliant as pl
from archives import rewritten
from pliant.core.errors import InputError


def scene_of(element="tet4"):
    scene = pl.Scene(gravity=(0, 0, -9.81))
    material = pl.materials.Corotated(young=1e5, poisson=0.4, density=1e3)
    clamp = pl.regions.plane(axis="x", at=0.0)
    arm = scene.add(
        pl.Volume(pl.mesh.box((0.2, 0.04, 0.04), (4, 1, 1), element=element), material, clamp=clamp, name="arm")
    )
    ball = scene.add(pl.Volume(pl.mesh.box((0.04,) * 3, (1, 1, 1)), material, name="ball"), position=(0, 0.2, 0))
    load = scene.add(pl.PointLoad(arm, pl.regions.plane(axis="x", at=0.2), (0, 0, 0)))
    return scene.compile(), arm, ball, load


@pytest.fixture(scope="module")
def recorded():
    world, arm, ball, _ = scene_of()
    return world, arm, ball, pl.simulate(world, pl.ImplicitEuler(dt=0.01), until=0.1)


def test_index_zero_is_the_start_and_each_step_follows(recorded):
    world, arm, ball, run = recorded
    np.testing.assert_allclose(run.times, 0.01 * np.arange(11), atol=1e-12)
    assert run.points(arm).shape == (11, 20, 3)
    assert run.velocities(ball).shape == (11, 8, 3)
    np.testing.assert_array_equal(run.points(arm)[0], world.models[0].rest)
    state = world.initial_state()
    for frame in range(1, 11):
        state, _ = pl.ImplicitEuler(dt=0.01)(world, state)
        np.testing.assert_array_equal(run.points(arm)[frame], state.points(arm))
        np.testing.assert_array_equal(run.velocities(ball)[frame], state.velocities(ball))


def test_reports_of_the_steps(recorded):
    run = recorded[-1]
    assert run.step_seconds.shape == run.iterations.shape == run.linear_residual.shape == (10,)
    assert run.warm.shape == (10,)
    assert (run.step_seconds > 0.0).all()
    assert (run.linear_residual < 1e-9).all()
    counted = run.warm if run.warm.any() else np.ones(10, bool)  # kernels may be loaded in the first steps
    assert run.real_time_factor == pytest.approx(0.01 * counted.sum() / run.step_seconds[counted].sum())
    np.testing.assert_allclose(sum(run.stage_seconds.values()), run.step_seconds)


def test_bodies_by_handle_name_and_number(recorded):
    _, arm, _, run = recorded
    assert run.points(arm) is run.points("arm") is run.points(0)
    with pytest.raises(InputError, match="'leg' is not a body of this run; its bodies are 'arm', 'ball'"):
        run.points("leg")


def test_control_and_callback_see_every_step():
    world, arm, _, load = scene_of()
    times, seen = [], []

    def control(t, state):
        times.append((t, state.time))
        return {load: pl.Force((0, 0, -10 * t))}

    run = pl.simulate(
        world, pl.ImplicitEuler(dt=0.02), until=0.1, control=control, callback=lambda s, i: seen.append((s.time, i))
    )
    np.testing.assert_allclose(times, [(0.02 * (k + 1), 0.02 * k) for k in range(5)], atol=1e-12)
    assert [t for t, _ in seen] == run.times[1:].tolist()
    assert all(isinstance(info, pl.StepInfo) for _, info in seen)
    plain = pl.simulate(world, pl.ImplicitEuler(dt=0.02), until=0.1)
    assert run.points(arm)[-1, :, 2].min() < plain.points(arm)[-1, :, 2].min()


def test_a_run_goes_on_from_a_state():
    world, arm, _, _ = scene_of()
    step = pl.ImplicitEuler(dt=0.01)
    whole = pl.simulate(world, step, until=0.1)
    middle = world.initial_state()
    for _ in range(5):
        middle, _ = step(world, middle)
    rest = pl.simulate(world, step, until=0.1, start=middle)
    assert len(rest.times) == 6
    np.testing.assert_array_equal(rest.points(arm)[-1], whole.points(arm)[-1])


@pytest.mark.parametrize("until", [0.0, -1.0, np.nan])
def test_until_lies_ahead(until):
    world, *_ = scene_of()
    with pytest.raises(InputError, match=r"until.* must be"):
        pl.simulate(world, pl.ImplicitEuler(dt=0.01), until=until)


def test_saved_runs_come_back_to_the_bit(recorded, tmp_path):
    _, arm, _, run = recorded
    path = run.save(tmp_path / "run.npz")
    loaded = pl.load(path)
    assert isinstance(loaded, pl.Run)
    for name in ("times", "step_seconds", "iterations", "linear_residual"):
        np.testing.assert_array_equal(getattr(loaded, name), getattr(run, name))
    for name in ("arm", "ball"):
        np.testing.assert_array_equal(loaded.points(name), run.points(name))
        np.testing.assert_array_equal(loaded.velocities(name), run.velocities(name))
    assert loaded.stage_seconds.keys() == run.stage_seconds.keys()
    np.testing.assert_array_equal(loaded.bodies[0].mesh.cells, arm.mesh.cells)
    with np.load(path, allow_pickle=False) as data:
        assert all(array.dtype != object for array in data.values())


def test_files_that_are_no_run(tmp_path):
    text = tmp_path / "notes.npz"
    text.write_text("hello")
    with pytest.raises(InputError, match=r"notes\.npz is not a saved world or run"):
        pl.load(text)
    with pytest.raises(InputError, match="is not a saved world or run"):
        pl.load(tmp_path / "missing.npz")
    np.savez(tmp_path / "other.npz", header=np.array('{"format": "other 3"}'))
    with pytest.raises(InputError, match="holds 'other 3', not"):
        pl.load(tmp_path / "other.npz")


@pytest.mark.parametrize("element", ["tet4", "tet10", "hex8"])
def test_export_is_read_by_meshio(tmp_path, element):
    world, arm, _, _ = scene_of(element)
    run = pl.simulate(world, pl.ImplicitEuler(dt=0.01), until=0.05)
    path = run.export(tmp_path / "out" / "beam", every=2) if (tmp_path / "out").mkdir() is None else None
    assert path.suffix == ".pvd"
    entries = list(ElementTree.parse(path).getroot().iter("DataSet"))
    assert len(entries) == 3 * 2
    assert sorted({float(e.get("timestep")) for e in entries}) == pytest.approx([0.0, 0.02, 0.04])
    last = [e for e in entries if e.get("part") == "0"][-1]
    mesh = meshio.read(path.parent / last.get("file"))
    np.testing.assert_allclose(mesh.points, run.points(arm)[4], atol=1e-12)
    np.testing.assert_array_equal(mesh.cells[0].data, arm.mesh.cells)
    assert mesh.cells[0].type == arm.mesh.table.meshio_name
    np.testing.assert_allclose(mesh.point_data["displacement"], run.points(arm)[4] - arm.mesh.points, atol=1e-12)
    np.testing.assert_allclose(mesh.point_data["velocity"], run.velocities(arm)[4], atol=1e-12)


def test_steps_that_compile_do_not_count_as_time_of_the_run(recorded):
    run = recorded[-1]
    slow = np.where(np.arange(10) == 0, 60.0, 0.005)
    warm = np.arange(10) > 0
    assert replace(run, step_seconds=slow, warm=warm).real_time_factor == pytest.approx(2.0)
    assert replace(run, step_seconds=slow, warm=np.zeros(0, bool)).real_time_factor == pytest.approx(0.1 / slow.sum())


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("skin_0_nodes", lambda a: np.full_like(a, 2**30)),
        ("skin_0_nodes", lambda a: -1 - a),
        ("skin_0_triads", lambda a: a[:1]),
        ("cells_0", lambda a: a + 2**20),
        ("positions_0", lambda a: a[:, :2]),
        ("positions_0", lambda a: a[:1]),
        ("motions_0", lambda a: a.astype(np.float32)),
    ],
)
def test_a_file_that_names_nodes_that_are_not_there_is_refused(tmp_path, name, change):
    scene = pl.Scene(gravity=(0, 0, -9.81))
    points = [(0.02 * k, 0, 0) for k in range(6)]
    scene.add(pl.Beam(points, section=pl.sections.Circle(1e-3), young=2e9, poisson=0.3, density=1200, clamp=[0]))
    path = pl.simulate(scene.compile(), pl.ImplicitEuler(dt=0.01), until=0.03).save(tmp_path / "run.npz")
    rewritten(path, path, lambda header, arrays: arrays.update({name: change(arrays[name])}))
    with pytest.raises(pl.InputError, match=r"run\.npz is not"):
        pl.load(path)


def test_the_force_of_one_on_the_other_is_opposite_to_that_of_the_other_on_it():
    """A ball at rest on a floor: the floor carries its weight upward, the ball presses downward."""
    scene = pl.Scene(gravity=(0, 0, -10.0))
    ball = scene.add(pl.RigidBody.sphere(radius=0.01, mass=0.2, position=(0, 0, 0.01), name="ball"))
    floor = scene.add(pl.Obstacle.plane(name="floor"))
    scene.collide(ball, floor)
    run = pl.simulate(scene.compile(), pl.ImplicitEuler(dt=0.01), until=0.03)
    np.testing.assert_allclose(run.contact_force(ball, floor)[1:], [(0, 0, 2.0)] * 3, atol=1e-9)
    np.testing.assert_allclose(run.contact_force("floor", "ball")[1:], [(0, 0, -2.0)] * 3, atol=1e-9)
    np.testing.assert_array_equal(run.contact_force(floor, ball), -run.contact_force(ball, floor))
    with pytest.raises(InputError, match="do not collide in this run"):
        run.contact_force(ball, ball)


def test_states_of_an_instant_and_of_a_time_move_as_recorded(recorded):
    _, arm, _, run = recorded
    assert run.index(0.0549) == run.index(0.0451) == 5
    state = run.state(at=0.0451)
    assert state.time == run.times[5]
    np.testing.assert_array_equal(state.velocities(arm), run.velocities(arm)[5])
    assert np.abs(run.velocities(arm)[5]).max() > 0.0


def test_which_steps_compiled_is_saved(recorded, tmp_path):
    run = replace(recorded[-1], warm=np.arange(10) % 3 > 0)
    loaded = pl.load(run.save(tmp_path / "run.npz"))
    np.testing.assert_array_equal(loaded.warm, run.warm)
    assert loaded.real_time_factor == run.real_time_factor


def test_times_of_a_run_are_found_to_their_last_digits(recorded):
    """The nearest instant within the run; a time beyond an end by rounding is that end, one beyond it is refused."""
    run = recorded[-1]
    first, last = run.times[0], run.times[-1]
    span = last - first
    for k, time in enumerate(run.times):
        assert run.index(float(time)) == k
        assert run.index(float(np.clip(time + 0.4 * span / (len(run) - 1), first, last))) == k
    assert run.index(last + 1e-10 * span) == len(run) - 1
    assert run.index(first - 1e-10 * span) == 0
    for beyond in (last + 1e-8 * span, first - 1e-8 * span, np.nan):
        with pytest.raises(pl.InputError, match=r"is not in this run, which lasts from 0 to"):
            run.index(beyond)


@pytest.mark.parametrize(("until", "steps"), [(0.001, 1), (0.0049, 1), (0.014, 1), (0.016, 2), (0.03, 3)])
def test_a_run_has_the_steps_that_come_nearest_to_its_end(until, steps):
    """One at least."""
    scene = pl.Scene()
    scene.add(pl.RigidBody.sphere(radius=0.01, mass=0.1))
    assert len(pl.simulate(scene.compile(), pl.ImplicitEuler(dt=0.01), until=until)) == steps + 1
