"""One call from a world to a faster one, and what it says about how far that can be trusted."""

from dataclasses import replace

import numpy as np
import pytest

import pliant as pl
from pliant import reduction

STEPS = 80


def finger_world(**options):
    scene = pl.Scene(gravity=(0, 0, -9.81))
    finger = scene.add(pl.robots.finger(**options))
    if not finger.facings:
        scene.collide(finger, finger)
    return scene.compile(), finger


@pytest.fixture(scope="module")
def full():
    return finger_world()


@pytest.fixture(scope="module")
def snapshots(full):
    return reduction.experiments(full[0], reduction.ramps(full[0], 0.04, STEPS), workers=1, progress=False)


@pytest.fixture(scope="module")
def fast(full, snapshots):
    return reduction.reduce(full[0], snapshots, contact_tolerance=0.1)


@pytest.fixture(scope="module")
def judged(fast, full):
    plan = replace(reduction.ramps(full[0], 0.03, 25), targets=np.array([[0.03]]))
    return reduction.validate(fast, full[0], plan)


def test_self_contact_in_a_few_modes_keeps_the_motion_on_actuations_not_trained_on(fast, judged):
    (basis, training) = fast.reductions
    assert basis.modes.min() >= 0.0
    assert basis.modes.shape[1] <= 8
    assert '"finger cable"' in training.plan
    assert judged.force.max() > 0.5, "it has to touch to tell anything"
    assert judged.error < 0.01
    assert judged.metrics()["max_penetration_mm"] < 0.5


def test_what_it_was_trained_on_holds_no_unknown_contacts(full):
    """The first notch of this finger closes where two edges cross, far from their ends."""
    world = full[0]
    plan = reduction.ramps(world, 0.02, 40)
    fast = reduction.reduce(world, plan, contact_tolerance=0.02)
    again = reduction.validate(fast, world, plan)
    assert again.force.max() > 0.1
    assert again.unknown.max() == 0
    assert again.metrics()["force_error"] < 0.05
    assert again.error < 1e-3


def test_without_the_contacts_the_same_motion_is_wrong(full, judged):
    scene = pl.Scene(gravity=(0, 0, -9.81))
    scene.add(pl.robots.finger())
    bare = scene.compile()
    plan = replace(reduction.ramps(full[0], 0.03, 25), targets=np.array([[0.03]]))
    alone = reduction.validate(bare, full[0], plan)
    assert alone.error > 3.0 * judged.error


def test_the_table_names_every_number(judged):
    text = str(judged)
    for word in ("held-out", "error of motion", "penetration", "unknown contacts", "rows of contacts", " ms: "):
        assert word in text
    quick, slow = (replace(judged, full_ms=factor * judged.fast_ms) for factor in (4.0, 0.5))
    assert str(quick).endswith("ms: 4 times faster")
    assert str(slow).endswith("ms: 2 times slower")
    assert judged.rows.max() < judged.full_rows.max()
    assert judged.metrics()["speedup"] == pytest.approx(judged.speedup)
    assert judged.metrics()["steps"] == 25


def test_a_reduced_world_is_saved_whole(fast, tmp_path):
    again = pl.load(fast.save(tmp_path / "fast.npz"))
    assert len(again.reductions) == 2
    cable, other = (world.thing("finger cable") for world in (fast, again))
    state, twin = fast.initial_state(), again.initial_state()
    step = pl.QuasiStatic(newton_iterations=1)
    for pull in (0.01, 0.02, 0.03):
        state, _ = step(fast, state, {cable: pl.Displacement(pull)})
        twin, _ = step(again, twin, {other: pl.Displacement(pull)})
    assert np.array_equal(state.q[0], twin.q[0])


def test_an_inverse_runs_on_it_unchanged(fast, full):
    """What it finds brings the full finger to the same place; an inverse with all contacts in full takes far longer."""
    world, finger = full
    tip = pl.Effector(finger.tip)
    step = pl.QuasiStatic(newton_iterations=1, solver=pl.Inverse(effectors=[tip], actuators=finger.cables))
    state, twin = fast.initial_state(), world.initial_state()
    start, goal = finger.tip.at(state), np.array([0.055, 0.0, -0.06])
    for share in np.linspace(0.05, 1.0, 30):
        state, info = step(fast, state, {tip: start + share * (goal - start)})
        pull = float(info.actuation(finger.cable)[0])
        twin, twin_info = pl.QuasiStatic(newton_iterations=1)(world, twin, {finger.cable: pl.Displacement(pull)})
    assert twin_info.contacts(finger, finger).forces.any()
    assert np.linalg.norm(finger.tip.at(state) - finger.tip.at(twin)) < 0.01 * 0.1


@pytest.fixture(scope="module")
def notched():
    """A finger with 495 points that may touch, and what it did."""
    world, _ = finger_world(contact_points=495)
    return world, reduction.experiments(world, reduction.ramps(world, 0.04, 60), workers=1, progress=False)


def test_facings_are_reduced_by_their_own_points(notched):
    world, seen = notched
    fast = reduction.reduce(world, seen, contact_tolerance=0.1)
    (basis, _) = fast.reductions
    assert len(basis.modes) == 495


def test_motions_of_a_block_in_few_modes_and_few_points():
    scene = pl.Scene()
    rubber = pl.materials.Corotated(young=1e5, poisson=0.4, density=1000)
    body = scene.add(
        pl.Volume(pl.mesh.box((0.1, 0.02, 0.02), (10, 2, 2)), rubber, clamp=pl.regions.plane(axis="x", at=0.0))
    )
    scene.add(pl.Cable(body, [(0.005, 0.01, 0.002), (0.05, 0.01, 0.002), (0.099, 0.01, 0.002)], name="cable"))
    world = scene.compile()
    fast = reduction.reduce(world, reduction.ramps(world, 0.006, 20), motion_tolerance=1e-3)
    (subspace, _) = fast.reductions
    assert subspace.size <= 4
    assert len(subspace.points) < 0.1 * subspace.point_count
    assert reduction.validate(fast, world, runs=2).error < 0.02


@pytest.mark.parametrize("contact_tolerance", [None, 0.1])
def test_contacts_of_a_body_with_too_few_motions_are_an_error_that_says_what_to_do(notched, contact_tolerance):
    """Two coordinates cannot satisfy a cable and hundreds of contacts; a few more can, in full as well."""
    world, seen = notched
    with pytest.raises(pl.InputError, match="smaller motion_tolerance") as caught:
        reduction.reduce(world, seen, motion_tolerance=1e-2, curvature=True, contact_tolerance=contact_tolerance)
    assert ("give contact_tolerance too" in str(caught.value)) == (contact_tolerance is None)
    assert "'finger' in 2" in str(caught.value)
    fast = reduction.reduce(world, seen, motion_tolerance=1e-3, contact_tolerance=contact_tolerance)
    plan = replace(reduction.ramps(world, 0.025, 20), targets=np.array([[0.025]]))
    judged = reduction.validate(fast, world, plan)
    assert judged.force.max() > 0.5, "it has to touch to tell anything"
    settled = slice(5, None)  # the first steps take up the weight
    assert np.linalg.norm(judged.motion_error[settled]) < 0.03 * np.linalg.norm(judged.motion[settled])


def test_snapshots_out_of_balance_are_said(full, snapshots):
    with pytest.warns(pl.PliantWarning, match="out of balance"):
        reduction.subspaces(full[0], replace(snapshots, residual=np.full(snapshots.count, 0.5)), tolerance=1e-2)


def test_a_step_that_too_few_modes_make_impossible_says_so(notched):
    world, seen = notched
    stiff = reduction.reduced(world, reduction.subspaces(world, seen, tolerance=1e-2, curvature=True))
    with pytest.raises(pl.PliantError, match="with more modes they may be able to give way"):
        pulled(stiff, 0.04, 30)


def pulled(world, amplitude, steps):
    """The state after a ramp of all actuators."""
    plan, state = reduction.ramps(world, amplitude, steps), world.initial_state()
    for step in range(steps):
        state, _ = pl.QuasiStatic(newton_iterations=3)(world, state, plan.controls(0, step))
    return state


def test_what_cannot_be_reduced_is_said(full, fast, snapshots):
    world = full[0]
    with pytest.raises(pl.InputError, match="nothing to reduce"):
        reduction.reduce(world, snapshots)
    with pytest.raises(pl.InputError, match="reduced already"):
        reduction.reduce(fast, snapshots, contact_tolerance=0.1)
    with pytest.raises(pl.InputError, match="no surfaces touch"):
        reduction.reduce(world, snapshots.selected(slice(0, 5)), contact_tolerance=0.1)
    other, _ = finger_world(cells=(2, 2, 2))
    with pytest.raises(pl.InputError, match="another world"):
        reduction.reduce(other, snapshots, contact_tolerance=0.1)
    touching = np.flatnonzero(np.diff(snapshots.forces("finger – finger")[1].tocsc().indptr))
    with pytest.raises(pl.InputError, match="too few"):
        reduction.reduce(world, snapshots.selected(touching[-2:]), contact_tolerance=0.1)
    with pytest.raises(pl.InputError, match="does not say"):
        reduction.validate(world, world)
    with pytest.raises(pl.InputError, match='"nnmf" or "cone"'):
        reduction.reduce(world, snapshots, contact_tolerance=0.1, method="pca")


def test_a_cone_of_snapshots_is_the_alternative(full, snapshots):
    fast = reduction.reduce(full[0], snapshots, contact_tolerance=0.1, method="cone")
    plan = replace(reduction.ramps(full[0], 0.03, 20), targets=np.array([[0.03]]))
    assert reduction.validate(fast, full[0], plan).error < 0.02
