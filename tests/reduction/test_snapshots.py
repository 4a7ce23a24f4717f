"""Experiments and what they record: positions, actuation, forces by key."""

import numpy as np
import pytest

import pliant as pl
from pliant.reduction import Snapshots, experiments


def pressed(friction=0.0):
    """A block between a clamped end and a floor that its cable pulls it against."""
    scene = pl.Scene(gravity=(0, 0, 0))
    rubber = pl.materials.Corotated(young=1e5, poisson=0.3, density=1000)
    mesh = pl.mesh.box((0.08, 0.02, 0.02), (4, 1, 1))
    body = scene.add(pl.Volume(mesh, rubber, clamp=pl.regions.plane(axis="x", at=0), name="arm"))
    scene.add(pl.Cable(body, [(0.001, 0.01, 0.001), (0.079, 0.01, 0.001)], name="cable"))
    floor = scene.add(pl.Obstacle.plane(point=(0, 0, -0.002), normal=(0, 0, 1), name="floor"))
    scene.collide(body, floor, friction=friction, margin=0.004)
    return scene.compile(), body, floor


@pytest.fixture(scope="module")
def seen():
    world, body, floor = pressed()
    plan = pl.reduction.ramps(world, amplitude=0.01, steps=10)
    return world, body, floor, plan, experiments(world, plan, workers=1, progress=False, spread=False)


def test_every_step_is_recorded(seen):
    _, body, _, plan, snapshots = seen
    assert len(snapshots) == plan.snapshot_count == 10
    assert snapshots.positions(body).shape == (10, 20, 3)
    assert snapshots.positions("arm") is snapshots.positions(body)
    np.testing.assert_allclose(snapshots.actuation[:, 0, 0], np.linspace(0.001, 0.01, 10), rtol=1e-9)
    assert snapshots.run.tolist() == [0] * 10
    assert snapshots.residual.max() < 0.05
    assert snapshots.makers == ("cable", "arm – floor")


def test_forces_are_those_of_the_steps_by_key(seen):
    world, body, floor, plan, snapshots = seen
    keys, matrix = snapshots.forces((body, floor))
    assert (np.diff(keys) > 0).all()
    state = world.initial_state()
    for k in range(plan.steps):
        state, info = pl.QuasiStatic(newton_iterations=3)(world, state, plan.controls(0, k))
        column = matrix[:, [k]].toarray().ravel()
        place = info.assembly.slices[1]
        np.testing.assert_array_equal(column[np.searchsorted(keys, state.keys[place])], state.lam[place])
        assert column.sum() == pytest.approx(info.contact_force(body, floor)[2], abs=1e-12)
        np.testing.assert_array_equal(snapshots.positions(body)[k], state.points(body))
    assert matrix.sum() > 0.0
    tension = snapshots.forces("cable")[1].toarray()[0]
    np.testing.assert_allclose(tension, snapshots.actuation[:, 0, 1])


def test_forces_over_given_keys(seen):
    _, body, floor, _, snapshots = seen
    keys, matrix = snapshots.forces((floor, body))
    wanted = np.concatenate([[10**12], keys[::-1]])
    again, wide = snapshots.forces((body, floor), keys=wanted)
    np.testing.assert_array_equal(again, wanted)
    np.testing.assert_array_equal(wide.toarray()[1:], matrix.toarray()[::-1])
    assert not wide.toarray()[0].any()
    strong = keys[matrix.toarray().sum(axis=1).argmax()]
    with pytest.raises(pl.InputError, match=f"row {strong} of 'arm – floor'"):
        snapshots.forces((body, floor), keys=keys[keys != strong])


def test_friction_is_left_out_of_the_normal_forces():
    world, body, floor = pressed(friction=0.5)
    plan = pl.reduction.ramps(world, amplitude=0.01, steps=4)
    snapshots = experiments(world, plan, workers=1, progress=False, spread=False)
    _, matrix = snapshots.forces((body, floor))
    assert matrix.min() >= 0.0
    assert matrix.sum() > 0.0
    assert (snapshots.lam[~snapshots.normal] != 0.0).any()


def test_snapshots_survive_a_file(seen, tmp_path):
    *_, snapshots = seen
    again = Snapshots.load(snapshots.save(tmp_path / "snapshots.npz"))
    for name in ("run", "step", "actuation", "residual", "starts", "keys", "lam", "maker", "normal"):
        np.testing.assert_array_equal(getattr(again, name), getattr(snapshots, name))
    np.testing.assert_array_equal(again.positions("arm"), snapshots.positions("arm"))
    assert again.provenance == snapshots.provenance
    assert again.provenance["plan"]["actuators"] == ["cable"]
    (tmp_path / "other.npz").write_bytes(b"nothing")
    with pytest.raises(pl.InputError, match="is not a file of snapshots"):
        Snapshots.load(tmp_path / "other.npz")


def test_a_split_has_every_snapshot_once(seen):
    *_, snapshots = seen
    training, held_out = snapshots.split(0.3, seed=1)
    assert (len(training), len(held_out)) == (7, 3)
    assert sorted([*training.step, *held_out.step]) == list(range(10))
    for part in (training, held_out):
        keys, matrix = part.forces("arm – floor")
        everything = snapshots.forces("arm – floor", keys=snapshots.forces("arm – floor")[0])[1].toarray()
        places = np.searchsorted(snapshots.forces("arm – floor")[0], keys)
        np.testing.assert_array_equal(matrix.toarray(), everything[places][:, part.step])
    with pytest.raises(pl.InputError, match="1 runs are too few"):
        snapshots.split(0.5, by="runs")
    with pytest.raises(pl.InputError, match="between 0 and 1"):
        snapshots.split(1.5)


def test_experiments_go_on_where_they_were_interrupted(tmp_path):
    world, body, _ = pressed()
    plan = pl.reduction.full_factorial(world, amplitude=0.008, levels=3, steps=3)
    calls = []

    def stepper(world, state, controls):
        calls.append(state.time)
        if len(calls) == 8:
            raise KeyboardInterrupt
        return pl.QuasiStatic(newton_iterations=3)(world, state, controls)

    stepper_twice = _Named(stepper)
    with pytest.raises(KeyboardInterrupt):
        experiments(world, plan, stepper=stepper_twice, folder=tmp_path, workers=1, progress=False, spread=False)
    snapshots = experiments(
        world, plan, stepper=stepper_twice, folder=tmp_path, workers=1, progress=False, spread=False
    )
    assert len(calls) == 8 + 3, "two of three runs were there"
    whole = experiments(world, plan, workers=1, progress=False, spread=False)
    np.testing.assert_array_equal(snapshots.positions(body), whole.positions(body))
    other = pl.reduction.ramps(world, amplitude=0.002, steps=3)
    with pytest.raises(pl.InputError, match="another plan"):
        experiments(world, other, stepper=stepper_twice, folder=tmp_path, workers=1, progress=False, spread=False)


class _Named:
    """A stepper whose name does not change from call to call."""

    def __init__(self, step):
        self.step = step

    def __call__(self, world, state, controls):
        return self.step(world, state, controls)

    def __repr__(self):
        return "QuasiStatic"


def test_a_history_without_contact_cannot_be_reduced():
    world, body, floor = pressed()
    plan = pl.reduction.ramps(world, amplitude=1e-5, steps=2)
    snapshots = experiments(world, plan, workers=1, progress=False, spread=False)
    with pytest.raises(pl.InputError, match="'arm – floor' never pushes in these 2 snapshots"):
        snapshots.force_matrix((body, floor))
    with pytest.raises(pl.InputError, match="'wall' is not a constraint"):
        snapshots.forces("wall")


def test_a_plan_of_another_world_is_refused(seen):
    _, _, _, plan, _ = seen
    with pytest.raises(pl.InputError, match="'cable' of the plan is not an actuator of this world"):
        experiments(pressed()[0], plan, workers=1, progress=False, spread=False)


def test_two_processes_record_the_same():
    pytest.importorskip("joblib")
    world, body, _ = pressed()
    plan = pl.reduction.full_factorial(world, amplitude=0.008, steps=2)
    here, there = (experiments(world, plan, workers=n, progress=False) for n in (1, 2))
    np.testing.assert_array_equal(here.positions(body), there.positions(body))
    np.testing.assert_array_equal(here.lam, there.lam)


def test_a_full_array_has_the_rows_that_are_asked_for(seen):
    _, body, floor, _, snapshots = seen
    keys, matrix = snapshots.forces((body, floor))
    wanted, full = snapshots.force_matrix((body, floor), keys=keys[::-1])
    np.testing.assert_array_equal(wanted, keys[::-1])
    np.testing.assert_array_equal(full, matrix.toarray()[::-1])


def test_points_that_touch_are_recorded_for_contacts_alone(seen):
    """Of rows of actuators, and on the side of a plane, there are no nodes: −1, with weights of 0."""
    *_, snapshots = seen
    cable, floor = (snapshots.maker == k for k in (0, 1))
    assert (snapshots.nodes[cable] == -1).all()
    assert not snapshots.weights[cable].any()
    assert ((snapshots.nodes == -1) == (snapshots.weights == 0.0))[cable].all()
    nodes, weights = snapshots.nodes[floor], snapshots.weights[floor]
    assert (nodes >= -1).all()
    assert nodes.max() < 20
    np.testing.assert_allclose(weights[nodes[:, :, 0] >= 0].sum(axis=1), 1.0)
    assert not weights[nodes == -1].any()
