"""Run files whose arrays do not belong together: each is refused with what is wrong, before anything reads it."""

import numpy as np
import pytest

import pliant as pl
from archives import rewritten
from pliant.core.errors import FileFormatError
from scenes import swinging_bar


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """Three steps of a bar with a cable on a floor and a rigid cube beside it, with controls, touches and a world."""
    scene, body, cable = swinging_bar(max_force=5.0)
    floor = scene.add(pl.Obstacle.plane(point=(0, 0, -0.0005), name="floor"))
    cube = scene.add(pl.RigidBody.box(size=(0.02, 0.02, 0.02), mass=0.05, position=(0.3, 0, 0.0096), name="cube"))
    scene.collide(body, floor)
    scene.collide(cube, floor)
    control = lambda t, state: {cable: pl.Force(1.0), "gravity": (0, 0, -9.0)}  # noqa: E731
    run = pl.simulate(scene.compile(), pl.ImplicitEuler(0.01), until=0.03, control=control)
    return run, run.save(tmp_path_factory.mktemp("runs") / "run.npz")


def put(name, change):
    return lambda header, arrays: arrays.update({name: change(arrays[name])})


def turned(a):
    return a[::-1].copy()


def spoiled(a):
    made = a.astype(float)
    made.ravel()[0] = np.nan
    return made


DAMAGE = {
    "times go back": (put("times", turned), "not go back"),
    "no instant": (put("times", lambda a: a[:0]), "."),
    "times of another kind": (put("times", lambda a: a.astype(np.float32)), "times of a run"),
    "time without a number": (put("times", spoiled), "times of a run"),
    "times in a table": (put("times", lambda a: a[:, None]), "times of a run"),
    "a step too many": (put("step_seconds", lambda a: np.append(a, a[-1])), "step_seconds of a run of 3 steps"),
    "a step too few": (put("linear_residual", lambda a: a[1:]), "linear_residual of a run of 3 steps"),
    "iterations as integers": (put("iterations", lambda a: a.astype(np.int64)), "iterations of a run of 3 steps"),
    "a stage of other steps": (put("stage_0", lambda a: a[1:]), "of a run of 3 steps must be float64"),
    "warm as numbers": (put("warm", lambda a: a.astype(float)), "warm steps of a run must be bool"),
    "warm of other steps": (put("warm", lambda a: a[1:]), "warm steps of a run"),
    "forces of other instants": (put("force_0", lambda a: a[1:]), "forces of cable"),
    "forces with a third number": (put("force_0", lambda a: np.zeros((len(a), 4))), "forces of cable"),
    "forces of a pair without one": (put("force_1", lambda a: a[:, :2]), "forces of beam – floor"),
    "forces without a number": (put("force_1", spoiled), "forces of beam – floor must be finite"),
    "touches go back": (put("touches_1_starts", turned), "starts of contacts"),
    "touches beyond the last": (put("touches_1_starts", lambda a: a + 1000), "starts of contacts must be indices"),
    "touches before the first": (put("touches_1_starts", lambda a: a - 1), "starts of contacts must be indices"),
    "touches of other instants": (put("touches_1_starts", lambda a: a[1:]), "starts of contacts"),
    "touches as short integers": (put("touches_1_starts", lambda a: a.astype(np.int32)), "starts of contacts"),
    "points in double precision": (put("touches_1_points", lambda a: a.astype(float)), "points of contacts"),
    "fewer forces than points": (put("touches_1_forces", lambda a: a[1:]), "forces of contacts"),
    "positions of another mesh": (put("positions_0", lambda a: a[:, 1:]), "positions of 'beam' have the shape"),
    "poses without an axis": (put("positions_1", lambda a: a[:, :3]), "must be poses (4, 3)"),
    "positions of other instants": (put("positions_1", lambda a: a[1:]), "positions of 'cube'"),
    "motions of other instants": (put("motions_1", lambda a: a[1:]), "motions of 'cube'"),
    "positions without a number": (put("positions_0", spoiled), "positions of 'beam' must be finite"),
    "triangles beyond the points": (put("cells_1", lambda a: a + 1), "triangles of 'cube' must be indices"),
    "triangles before the points": (put("cells_1", lambda a: a - 1), "triangles of 'cube' must be indices"),
    "triangles with four corners": (put("cells_1", lambda a: np.zeros((2, 4), np.int32)), "triangles of 'cube'"),
    "controls of other steps": (lambda header, arrays: header["controls"].pop(), "a run of 3 steps has controls of 2"),
    "a body too few": (lambda header, arrays: header["bodies"].pop(), "a run of 1 bodies has a world of 2"),
    "a control of an unknown kind": (lambda header, arrays: header["controls"][0][0].__setitem__(1, "Magic"), "Magic"),
    "a control of nothing": (lambda header, arrays: header["controls"][0][0].__setitem__(0, 99), "IndexError"),
    "an array too few": (lambda header, arrays: arrays.pop("times"), "times"),
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_run_whose_arrays_do_not_belong_together_is_refused(saved, tmp_path, damage):
    change, text = DAMAGE[damage]
    path = rewritten(saved[1], tmp_path / "run.npz", change)
    with pytest.raises(FileFormatError) as error:
        pl.load(path)
    assert text in str(error.value)
    assert "run.npz" in str(error.value)


def test_a_run_without_what_older_files_lack_is_read(saved, tmp_path):
    """No warm steps, no touches, no stepper, no controls; a stepper that this version does not know is left out."""
    run, path = saved
    same = pl.load(path)
    assert same.stepper == run.stepper
    for step in same.controls:
        assert sorted(str(getattr(key, "name", key)) for key in step) == ["cable", "gravity"]
        np.testing.assert_array_equal(step["gravity"], (0, 0, -9.0))

    def stripped(header, arrays):
        for name in [name for name in arrays if name.startswith("touches")]:
            del arrays[name]
        arrays["warm"] = np.zeros(0, bool)
        header.pop("controls")
        header.pop("stepper")

    read = pl.load(rewritten(path, tmp_path / "old.npz", stripped))
    assert read.stepper is None
    assert read.forces[1].touches is None
    for kind, options in (("Leapfrog", {"dt": 0.01}), ("ImplicitEuler", {"dt": 0.01, "magic": 3})):
        other = rewritten(
            path, tmp_path / "other.npz", lambda header, arrays, s=[kind, options]: header.update(stepper=s)
        )
        assert pl.load(other).stepper is None
    harmless = ["ImplicitEuler", {"dt": 0.01, "magic": None}]
    other = rewritten(path, tmp_path / "other.npz", lambda header, arrays: header.update(stepper=harmless))
    assert pl.load(other).stepper == pl.ImplicitEuler(0.01)
