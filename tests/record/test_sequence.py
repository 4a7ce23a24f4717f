"""Static sequences as runs: equilibria under a load path are recorded, drawn and plotted as any other run."""

import signal
import sys
from types import SimpleNamespace

import numpy as np
import pytest

import pliant as pl
from pliant.core import interrupts
from pliant.core.errors import InputError


@pytest.fixture(scope="module")
def cantilever():
    scene = pl.Scene()
    mesh = pl.mesh.box((0.1, 0.02, 0.02), (5, 1, 1))
    rubber = pl.materials.Corotated(young=1e6, poisson=0.3, density=1e3)
    arm = scene.add(pl.Volume(mesh, rubber, clamp=pl.regions.plane(axis="x", at=0.0), name="arm"))
    cable = scene.add(pl.Cable(arm, [(0.0, 0.01, 0.015), (0.1, 0.01, 0.015)], name="cable"))
    return scene.compile(), cable, pl.robots.Marker(arm, (0.1, 0.01, 0.01))


@pytest.fixture(scope="module")
def static_run(cantilever):
    world, cable, _ = cantilever
    pull = lambda t, state: {cable: pl.Force(2.0 * t)}  # noqa: E731
    return pl.simulate(world, pl.QuasiStatic(), until=1.0, steps=4, control=pull)


def test_each_instant_is_an_equilibrium(static_run, cantilever):
    world, cable, tip = cantilever
    state, _ = pl.QuasiStatic()(world, world.initial_state(), {cable: pl.Force(2.0)})
    np.testing.assert_allclose(static_run.times, [0.0, 0.25, 0.5, 0.75, 1.0])
    np.testing.assert_allclose(static_run.points(tip)[-1], tip.at(state), atol=1e-9)
    np.testing.assert_allclose(static_run.actuation(cable)[1], 2.0 * static_run.times, atol=1e-9)


def test_a_static_run_is_saved_replayed_and_exported(static_run, cantilever, tmp_path):
    _, _, tip = cantilever
    back = pl.load(static_run.save(tmp_path / "static.npz"))
    np.testing.assert_array_equal(back.points("arm"), static_run.points("arm"))
    np.testing.assert_array_equal(back.replay().points("arm"), static_run.points("arm"))
    assert pl.export(static_run, tmp_path / "static.html").stat().st_size > 1000
    assert "position: tip z (mm)" in static_run.save_curves(tmp_path / "static.csv", points=tip).read_text()


def test_a_quasi_static_run_needs_a_count_of_steps(cantilever):
    world, *_ = cantilever
    with pytest.raises(InputError, match="needs steps, the count of equilibria"):
        pl.simulate(world, pl.QuasiStatic(), until=1.0)
    with pytest.raises(InputError, match="this ImplicitEuler has dt"):
        pl.simulate(world, pl.ImplicitEuler(0.01), until=1.0, steps=3)


def test_states_of_a_loop_become_a_run(cantilever):
    world, cable, tip = cantilever
    states, infos = [world.initial_state()], []
    for force in (0.5, 1.0):
        state, info = pl.QuasiStatic()(world, states[-1], {cable: pl.Force(force)})
        states.append(state)
        infos.append(info)
    run = pl.Run.of(states, infos)
    np.testing.assert_allclose(run.times, [0.0, 0.04, 0.08])
    np.testing.assert_allclose(run.actuation(cable)[1], [0.0, 0.5, 1.0], atol=1e-9)
    bare = pl.Run.of(states, interval=1.0)
    np.testing.assert_allclose(bare.times, [0.0, 1.0, 2.0])
    np.testing.assert_array_equal(bare.points(tip), run.points(tip))
    with pytest.raises(InputError, match="3 states have 2 steps between them, but 1 infos"):
        pl.Run.of(states, infos[:1])


def test_the_state_of_an_instant(static_run, cantilever):
    _, _, tip = cantilever
    assert static_run.state(at=0.5).time == 0.5
    np.testing.assert_array_equal(tip.at(static_run.state(-1)), static_run.points(tip)[-1])
    np.testing.assert_array_equal(static_run.state(2).q[0], static_run.state(at=0.45).q[0])
    with pytest.raises(InputError, match=r"the time 1\.5 s is not in this run, which lasts from 0 to 1 s"):
        static_run.state(at=1.5)
    with pytest.raises(InputError, match="an index or a time"):
        static_run.state()


def test_markers_and_lists_of_actuators(static_run, cantilever):
    _, cable, tip = cantilever
    assert static_run.points(tip).shape == (5, 3)
    np.testing.assert_array_equal(static_run.points(tip), tip.along(static_run))
    displacements, forces = static_run.actuation([cable, cable])
    assert displacements.shape == forces.shape == (5, 2)
    np.testing.assert_array_equal(forces[:, 1], static_run.actuation(cable)[1])


def test_curves_by_name(static_run, cantilever):
    _, _, tip = cantilever
    bend = np.arange(5.0)
    figure = static_run.plot(points=[tip], curves={"bend (°)": bend}, only=["bend", "point 1 z"])
    assert [axes.get_ylabel() for axes in figure.axes] == ["position\n(mm)", "bend\n(°)"]
    np.testing.assert_array_equal(figure.axes[1].lines[0].get_ydata(), bend)
    with pytest.raises(InputError, match="no curve 'pressure'; its headings and names are"):
        static_run.plot(only="pressure")
    with pytest.raises(InputError, match=r"points must be markers, such as robot\.tip, got a str"):
        static_run.plot(points=["tip"])


def test_a_data_frame_has_the_curves_as_columns(static_run, monkeypatch):
    pandas = SimpleNamespace(DataFrame=lambda made, index: (made, index), Index=lambda values, name: (name, values))
    monkeypatch.setitem(sys.modules, "pandas", pandas)
    columns, index = static_run.to_dataframe()
    assert index[0] == "time (s)"
    assert "actuator force: cable (N)" in columns
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(pl.errors.MissingExtraError, match="pip install pandas"):
        static_run.to_dataframe()


def test_ctrl_c_returns_the_run_so_far(cantilever, monkeypatch):
    world, *_ = cantilever
    monkeypatch.setattr(interrupts, "_last", -1e9)

    def press(state, info):
        if state.time > 0.025:
            signal.raise_signal(signal.SIGINT)

    with pytest.warns(pl.errors.PliantWarning, match=r"interrupted at 0\.03 of 1 s; this is the run so far"):
        run = pl.simulate(world, pl.ImplicitEuler(0.01), until=1.0, callback=press)
    assert len(run) == 4


def test_simulate_says_that_a_scene_is_compiled_first():
    with pytest.raises(InputError, match=r"got Scene.*compile it first"):
        pl.simulate(pl.Scene(), pl.ImplicitEuler(0.01), until=1.0)
