"""The exported FMU, run by FMPy, against the native run."""

import numpy as np
import pytest

import pliant as pl

fmpy = pytest.importorskip("fmpy", reason="FMPy is not installed")
pytest.importorskip("pythonfmu", reason="pythonfmu is not installed")


@pytest.fixture(params=["2.0", "3.0"])
def version(request):
    if request.param == "3.0":
        pytest.importorskip("pythonfmu3", reason="pythonfmu3 is not installed")
    return request.param


def test_the_fmu_of_the_ball_reproduces_the_native_run(tmp_path, version):
    ball = pl.hybrid.bouncing_ball(height=0.2)
    file = pl.hybrid.export_fmu(ball, tmp_path / "ball.fmu", version=version)
    assert fmpy.read_model_description(str(file)).fmiVersion == version
    names = ["q[1]", "v[1]", "lam[1]", "mode[1]"]
    result = fmpy.simulate_fmu(str(file), stop_time=0.6, output_interval=0.01, output=names)
    native = pl.hybrid.integrate(ball, until=0.6, sample=0.01)
    q, v = native.at(np.minimum(result["time"], 0.6))
    assert result["q[1]"] == pytest.approx(q[:, 0], abs=1e-8)
    assert result["v[1]"] == pytest.approx(v[:, 0], abs=1e-6)
    assert set(result["mode[1]"]) == {0, 1, 2}
    last = np.abs(native.times - result["time"][-1]).argmin()
    assert result["lam[1]"][-1] == pytest.approx(native.lam[last, 0], abs=1e-5)


def test_an_input_of_the_fmu_acts(tmp_path, version):
    file = pl.hybrid.export_fmu(pl.hybrid.bouncing_ball(), tmp_path / "pushed.fmu", version=version, rtol=1e-10)
    push = np.array([(0.0, 12.0), (1.0, 12.0)], dtype=[("time", float), ("u[1]", float)])
    result = fmpy.simulate_fmu(str(file), stop_time=0.5, output_interval=0.1, input=push, output=["v[1]"])
    assert result["v[1]"][-1] == pytest.approx(0.5 * (12.0 - 9.81), rel=1e-9)


def test_the_fmu_of_the_maze_shows_the_states_of_its_machine(tmp_path, version):
    maze = pl.hybrid.ball_maze()
    file = pl.hybrid.export_fmu(maze, tmp_path / "maze.fmu", version=version)
    result = fmpy.simulate_fmu(str(file), stop_time=0.2, output_interval=0.05, output=["state[1]", "q[3]", "lam[1]"])
    native = pl.hybrid.integrate(maze, until=0.2)
    assert result["state[1]"].tolist() == [0, 0, 0, 1, 1]
    assert result["q[3]"][-1] == pytest.approx(native.final.q[2], abs=1e-9)
    assert result["lam[1]"][-1] == pytest.approx(native.final.lam[0], abs=1e-7)


def test_a_wrong_ending_is_refused(tmp_path):
    with pytest.raises(pl.InputError, match="must end in"):
        pl.hybrid.export_fmu(pl.hybrid.bouncing_ball(), tmp_path / "ball.zip")
    with pytest.raises(pl.InputError, match="version must be"):
        pl.hybrid.export_fmu(pl.hybrid.bouncing_ball(), tmp_path / "ball.fmu", version="1.0")


def test_variables_of_a_unit_are_those_of_their_coordinates(tmp_path):
    """Two masses without contacts, pushed by 3 and −1 N: each coordinate moves by its own input, step after step."""
    cloudpickle = pytest.importorskip("cloudpickle", reason="cloudpickle is not installed")
    from pliant.hybrid.fmu_model import UnitModel

    pair = pl.hybrid.HybridSystem(q0=[0.1, 0.2], v0=[0.0, 0.5], mass=[2.0, 4.0], inputs=np.eye(2))
    (tmp_path / "system.pkl").write_bytes(cloudpickle.dumps((pair, {})))
    unit = UnitModel(tmp_path)
    for k, force in enumerate((3.0, -1.0)):
        unit.writer(k)(force)
    assert [unit.reader(k)() for k in range(2)] == [3.0, -1.0]
    for start in (0.0, 0.5):
        assert unit.step(start, 0.5)
    values = {output.name: output.read() for output in unit.outputs()}
    expected = {"q[1]": 0.1 + 0.75, "v[1]": 1.5, "q[2]": 0.2 + 0.5 - 0.125, "v[2]": 0.25}
    assert values == pytest.approx(expected, rel=1e-9)
