"""Tables, recordings, registration, and markers on simulated bodies."""

import numpy as np
import pytest

import pliant as pl
from pliant.core.lie import rotation_exp

recordings = pl.recordings
RIGID = np.array([[0, 0, 0], [0.1, 0, 0], [0, 0.2, 0], [0, 0, 0.3], [0.1, 0.1, 0.1]])


def table(tmp_path, text):
    file = tmp_path / "take.csv"
    file.write_text(text)
    return file


def test_a_table_has_time_markers_and_gaps(tmp_path):
    file = table(tmp_path, "frame,t,x,y,z,x,y,z\n0,0.0,1,2,3,4,5,6\n1,0.01,1,2,3,,,\n2,0.02,1,2,3,nan,5,6\n")
    take = recordings.load_csv(file, unit="mm", time=1, first=2, labels=("a", "b"))
    assert take.rate == pytest.approx(100.0)
    assert take.points.shape == (3, 2, 3)
    assert take.gap_count == 2
    assert take.marker("a")[0] == pytest.approx([1e-3, 2e-3, 3e-3])
    assert take.mean()[1] == pytest.approx([4e-3, 5e-3, 6e-3])
    assert np.isnan(take.mean(1)[1]).all()
    assert take.cut(1).select(["b"]).points.shape == (2, 1, 3)
    with pytest.raises(pl.InputError, match="called 'c'"):
        take.marker("c")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "no line of numbers"),
        ("a,b\nc,d\n", "no line of numbers"),
        ("0,1,2\n", "not x, y and z"),
        ("0,1,2,3\n1,1,2\n", "line 2"),
        ("0,1,2,3\n1,1,x,3\n", "no number"),
        ("0,1,2,3\n", "two are needed"),
        ("0,1,2,3\n0,1,2,3\n", "that grow"),
        ("0,1,2,3\n1,1,2,3\n9,1,2,3\n", "evenly spaced"),
    ],
)
def test_a_table_that_is_none_says_so(tmp_path, text, words):
    with pytest.raises(pl.FileFormatError, match=words):
        recordings.load_csv(table(tmp_path, text), unit="m")


def test_a_table_needs_its_unit_and_a_rate(tmp_path):
    file = table(tmp_path, "1,2,3\n1,2,3\n")
    assert recordings.load_csv(file, unit="m", time=None, first=0, rate=50.0).times[1] == 0.02
    with pytest.raises(pl.UnitError, match="furlong"):
        recordings.load_csv(file, unit="furlong")
    with pytest.raises(pl.InputError, match="rate"):
        recordings.load_csv(file, unit="m", time=None, first=0)
    file.write_bytes(b"\xff\xfe\x00\x01" * 100)
    with pytest.raises(pl.FileFormatError, match="UTF-8"):
        recordings.load_csv(file, unit="m")


def test_registration_finds_a_rigid_motion_and_counts_gaps():
    turn, shift = rotation_exp(np.array([0.3, -1.2, 2.0])), np.array([1.0, -2.0, 0.5])
    measured = (RIGID - shift) @ turn
    measured[3] = np.nan
    found = recordings.register(measured, RIGID)
    assert found.rotation == pytest.approx(turn, abs=1e-12)
    assert found.translation == pytest.approx(shift, abs=1e-12)
    assert (found.used, found.skipped) == (4, 1)
    assert found.rms < 1e-12
    take = recordings.Recording(measured[None], 100.0, tuple("abcde")).moved(found)
    assert take.gap_count == 1
    assert take.points[0, 4] == pytest.approx(RIGID[4])


def test_registration_refuses_what_it_cannot_know():
    with pytest.raises(pl.UnitError, match="1e\\+03 times as far apart"):
        recordings.register(1e3 * RIGID, RIGID)
    with pytest.raises(pl.InputError, match="lie on a line"):
        recordings.register(RIGID[:, :1] * np.ones(3), RIGID)
    with pytest.raises(pl.InputError, match="3 of 5 measured ones are gaps"):
        recordings.register(np.where(np.arange(5)[:, None] < 3, np.nan, RIGID), RIGID)
    with pytest.raises(pl.InputError, match="shape"):
        recordings.register(RIGID[:4], RIGID)


def turned(body, world, turn):
    """The state of `world` with everything rotated about the origin by the matrix `turn`."""
    state = world.initial_state()
    q = state.q[0].copy()
    q[:1] = q[:1] @ turn.T
    q[1:4] = turn @ q[1:4]
    return pl.State(world, 0.0, (q if body.has_frames else state.q[0] @ turn.T,), state.v, state.lam)


@pytest.mark.parametrize(
    "body",
    [
        pl.Volume(pl.mesh.box((0.1, 0.1, 0.1), (2, 2, 2)), pl.materials.ecoflex_00_30()),
        pl.Volume(pl.mesh.box((0.1, 0.1, 0.1), (2, 2, 2), element="hex8"), pl.materials.ecoflex_00_30()),
        pl.RigidBody.box(size=(0.1, 0.1, 0.1), mass=1.0),
        pl.Rod(0.1, 3, section=pl.sections.Circle(0.01), young=1e6, poisson=0.5, density=1e3, base="free"),
    ],
    ids=["tet4", "hex8", "rigid", "rod"],
)
def test_markers_turn_with_their_body(body):
    scene = pl.Scene()
    scene.add(body)
    world = scene.compile()
    foot, offset = np.array([[0.04, 0.0, 0.0]]), np.array([[0.0, 0.01, 0.02]])
    markers = recordings.BoundMarkers(world, body, foot, offset, radius=0.03)
    assert markers.at(world.initial_state()) == pytest.approx(foot + offset, abs=1e-12)
    turn = rotation_exp(np.array([0.2, 0.9, -0.4]))
    assert markers.at(turned(body, world, turn)) == pytest.approx((foot + offset) @ turn.T, abs=1e-12)


def test_markers_off_the_body_are_an_error():
    scene = pl.Scene(gravity=(0, 0, -9.81))
    body = scene.add(pl.Volume(pl.mesh.box((0.1, 0.1, 0.1), (1, 1, 1)), pl.materials.ecoflex_00_30()))
    world = scene.compile()
    with pytest.raises(pl.PliantError, match="marker on"):
        recordings.BoundMarkers(world, body, [[0.0, 0.0, 36.0]])
    with pytest.raises(pl.InputError, match="shape"):
        recordings.BoundMarkers(world, body, [[0.0, 0.0, 0.0]], [0.0, 0.0, 1.0])
    run = pl.simulate(world, pl.ImplicitEuler(0.01), until=0.02)
    fallen = recordings.BoundMarkers(world, body, [[0.0, 0.0, 0.1]], [[0.0, 0.0, 0.01]]).along(run)
    assert fallen.shape == (3, 1, 3)
    assert fallen[0, 0, 2] == pytest.approx(0.11)
    assert fallen[2, 0, 2] < 0.11
