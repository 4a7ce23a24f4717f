"""Contact pairs as constraints: gaps, gradients, laws, friction rows, memory; and scene.collide's refusals."""

import dataclasses

import numpy as np
import pytest

import pliant as pl
from pliant.collision.contacts import PAIR_LIMIT, ContactKind, key_base
from pliant.collision.surface import EDGE_LIMIT
from pliant.constraints import RowLaw, RowView, forces_of
from pliant.constraints.contact import RECOVERY_SPEED
from pliant.core.errors import CapacityError, InputError
from pliant.models.model import StepStart
from pliant.models.scheme import STATIC_SCHEME

RUBBER = pl.materials.Corotated(young=1e5, poisson=0.4, density=1e3)
MESH = pl.mesh.box((0.04, 0.04, 0.04), (2, 2, 2), symmetric="")  # its opposite faces are not neighbours


def view_of(world, q, **options):
    return RowView.of(world.models, q, **{"time": 0.01, "dt": 0.01, **options})


def pair_of(first, second, *, place=(0, 0, 0), **options):
    scene = pl.Scene()
    for thing in (first, second):
        if isinstance(thing, pl.Volume):
            scene.add(thing, position=place if thing is first else None)
        else:
            scene.add(thing)
    scene.collide(first, second, **{"allow_overlap": True, **options})
    world = scene.compile()
    return world, world.constraints[0], list(world.initial_state().q)


def block(**options):
    return pl.Volume(MESH, RUBBER, **options)


CASES = {
    "soft–plane": lambda: (block(), pl.Obstacle.plane(), (0, 0, 1e-3)),
    "soft–sphere": lambda: (block(), pl.Obstacle.sphere(center=(0.02, 0.02, -0.03), radius=0.03), (0, 0, 1e-3)),
    "soft–ball": lambda: (
        block(),
        pl.RigidBody.sphere(radius=0.03, mass=0.1, position=(0.021, 0.019, -0.0302), rotation=(0.1, 0.2, 0.3)),
        (0, 0, 0),
    ),
    "soft–box": lambda: (
        block(),
        pl.RigidBody.box(size=(0.1, 0.1, 0.02), mass=0.1, position=(0.02, 0.02, -0.011), rotation=(0.01, 0.02, 0.3)),
        (0, 0, 0),
    ),
    "soft–soft": lambda: (block(name="a"), block(name="b"), (0.013, 0.007, 0.0405)),
    "ball–plane": lambda: (
        pl.RigidBody.sphere(radius=0.02, mass=0.1, position=(0, 0, 0.0205)),
        pl.Obstacle.plane(),
        None,
    ),
    "box–plane": lambda: (
        pl.RigidBody.box(size=(0.04,) * 3, mass=0.1, position=(0, 0, 0.0205), rotation=(0.01, 0.02, 0.5)),
        pl.Obstacle.plane(),
        None,
    ),
    "ball–ball": lambda: (
        pl.RigidBody.sphere(radius=0.02, mass=0.1, name="a"),
        pl.RigidBody.sphere(radius=0.03, mass=0.1, position=(0.03, 0.03, 0.0267), name="b"),
        None,
    ),
}


def nudged(world, q, kick):
    """Positions and poses after small displacements `kick` of the unknowns, by the models' own update."""
    placed = []
    for model, x, d in zip(world.models, q, kick, strict=True):
        trial = model.trial(StepStart(x, np.zeros_like(d), STATIC_SCHEME, np.zeros(3), {}))
        trial.dx = d
        placed.append(trial.positions())
    return placed


@pytest.mark.parametrize("case", CASES)
def test_normal_rows_are_the_gradient_of_the_gaps(case):
    """δ(q + dx) − δ(q) = H dx to second order, with contacts matched by their keys."""
    first, second, place = CASES[case]()
    world, constraint, q = pair_of(first, second, place=place)
    rows, _ = constraint.rows_at(view_of(world, q, dt=0.0))
    assert rows.count > 0
    rng = np.random.default_rng(0)
    eps = 1e-7
    kick = [rng.normal(size=(model.size // 3, 3)) for model in world.models]
    ends = []
    for sign in (1.0, -1.0):
        other, _ = constraint.rows_at(view_of(world, nudged(world, q, [sign * eps * k for k in kick]), dt=0.0))
        ends.append(dict(zip(other.key, other.gap, strict=True)))
    slope = sum(h @ k.ravel() for h, k in zip(rows.H, kick, strict=True))
    compared = 0
    for key, expected in zip(rows.key, slope, strict=True):
        if key in ends[0] and key in ends[1]:
            assert (ends[0][key] - ends[1][key]) / (2 * eps) == pytest.approx(expected, abs=2e-4)
            compared += 1
    assert compared >= 0.7 * rows.count


@pytest.mark.parametrize("case", CASES)
def test_friction_rows_measure_the_slip_of_the_step(case):
    """With everything moved by one rigid motion nothing slips; with one side moved, the slip is that motion."""
    first, second, place = CASES[case]()
    world, constraint, q = pair_of(first, second, place=place, friction=0.5)
    shift = np.array([1e-4, -2e-4, 3e-4])
    moved = [np.tile(shift, (model.size // 3, 1)) for model in world.models]
    for model, d in zip(world.models, moved, strict=True):
        if isinstance(model.spec, pl.RigidBody):
            d[1] = 0.0
    rows, memory = constraint.rows_at(view_of(world, q, moved=moved))
    assert (rows.law == RowLaw.COULOMB).all()
    assert (rows.mu == 0.5).all()
    count = memory.contacts.count
    assert rows.count == 3 * count > 0
    frames = memory.frames
    np.testing.assert_allclose(np.einsum("mki,mli->mkl", frames, frames), np.tile(np.eye(3), (count, 1, 1)), atol=1e-12)
    np.testing.assert_allclose(np.linalg.det(frames), 1.0)
    np.testing.assert_allclose(frames[:, 0], memory.contacts.normal, atol=1e-12)
    slip = rows.gap.reshape(-1, 3)[:, 1:]
    one_moves = len(world.models) == 1
    expected = np.einsum("mki,i->mk", frames[:, 1:], shift) if one_moves else np.zeros_like(slip)
    np.testing.assert_allclose(slip, expected, atol=1e-12)


def test_a_moving_obstacle_drags():
    """δ of the tangential rows of a body at rest on a conveyor is minus the motion of the belt in the step."""
    belt = pl.Obstacle.plane(motion=lambda t: ((0.3 * t, 0.0, 0.0), (0, 0, 0)))
    world, constraint, q = pair_of(block(), belt, friction=0.5)
    rows, memory = constraint.rows_at(view_of(world, q, dt=0.01, time=0.02))
    slip = np.einsum("mk,mki->mi", rows.gap.reshape(-1, 3)[:, 1:], memory.frames[:, 1:])
    np.testing.assert_allclose(slip, np.tile([-0.003, 0, 0], (len(slip), 1)), atol=1e-12)


def test_a_turning_obstacle_drags_by_its_lever():
    table = pl.Obstacle.plane(motion=lambda t: ((0.0, 0.0, 0.0), (0.0, 0.0, 2.0 * t)))
    world, constraint, q = pair_of(block(), table, friction=0.5)
    rows, memory = constraint.rows_at(view_of(world, q, dt=1e-4, time=1e-4))
    slip = np.einsum("mk,mki->mi", rows.gap.reshape(-1, 3)[:, 1:], memory.frames[:, 1:])
    expected = -2e-4 * np.cross([0, 0, 1.0], memory.contacts.point_a)
    np.testing.assert_allclose(slip, expected, atol=1e-8)


def test_penetration_is_undone_at_a_bounded_speed():
    """In dynamics a gap is never below −speed × dt; in statics it is the gap itself."""
    world, constraint, q = pair_of(block(), pl.Obstacle.plane(), place=(0, 0, -0.005))
    dynamic, _ = constraint.rows_at(view_of(world, q, dt=0.01))
    static, _ = constraint.rows_at(view_of(world, q, dt=0.0))
    assert dynamic.gap.min() == pytest.approx(-RECOVERY_SPEED * 0.01)
    assert static.gap.min() == pytest.approx(-0.005)


def test_without_friction_rows_are_signorini():
    world, constraint, q = pair_of(block(), pl.Obstacle.plane())
    rows, memory = constraint.rows_at(view_of(world, q))
    assert (rows.law == RowLaw.SIGNORINI).all()
    assert rows.count == memory.contacts.count == 9
    assert (rows.key >= 0).all()
    assert len(np.unique(rows.key)) == rows.count


def test_keys_and_frames_last_from_step_to_step():
    world, constraint, q = pair_of(block(), pl.Obstacle.plane(), friction=0.5)
    rows, memory = constraint.rows_at(view_of(world, q))
    later, again = constraint.rows_at(view_of(world, [q[0] + (1e-3, 2e-3, 1e-4)], memory=memory))
    np.testing.assert_array_equal(rows.key, later.key)
    np.testing.assert_allclose(again.frames, memory.frames, atol=1e-12)


def test_contact_forces_in_world_axes():
    world, constraint, q = pair_of(block(), pl.Obstacle.plane(), friction=0.5)
    _, memory = constraint.rows_at(view_of(world, q))
    lam = np.random.default_rng(0).uniform(size=3 * memory.contacts.count)
    forces = memory.forces(lam)
    np.testing.assert_allclose(forces[:, 2], lam[::3], atol=1e-12)
    np.testing.assert_allclose(np.linalg.norm(forces, axis=1), np.linalg.norm(lam.reshape(-1, 3), axis=1))


def test_bodies_far_apart_make_no_rows():
    world, constraint, q = pair_of(block(), pl.Obstacle.plane(), place=(0, 0, 1.0), friction=0.3)
    rows, _ = constraint.rows_at(view_of(world, q))
    assert rows.count == 0
    state, info = pl.ImplicitEuler(dt=0.01)(world, world.initial_state())
    assert info.contact_force(*world_pair(world)).tolist() == [0, 0, 0]
    assert len(state.lam) == 0


def world_pair(world):
    constraint = world.constraints[0]
    return constraint.a.handle, constraint.b.handle


def test_more_contacts_than_the_capacity():
    world, constraint, q = pair_of(block(), pl.Obstacle.plane(), capacity=4)
    with pytest.raises(CapacityError, match="9 contacts found, but the capacity is 4"):
        constraint.rows_at(view_of(world, q))


@pytest.mark.parametrize(
    ("thing", "text"),
    [
        (pl.Obstacle.plane(point=(0, 0, 0.002)), "'volume' overlaps 'plane' by 2 mm"),
        (pl.RigidBody.sphere(radius=0.004, mass=0.1, position=(0.022, 0.018, 0.02)), "overlaps 'sphere'"),  # in it
        (pl.RigidBody.box(size=(0.1,) * 3, mass=1.0, position=(0.02, 0.02, 0.02)), "overlaps 'box'"),  # round it
        (block(name="other"), "overlaps 'other'"),
    ],
)
def test_bodies_that_overlap_at_the_start_are_refused(thing, text):
    place = (0.011, 0.007, 0.013) if isinstance(thing, pl.Volume) else (0, 0, 0)
    with pytest.raises(InputError, match=text):
        pair_of(block(), thing, place=place, allow_overlap=False)


@pytest.mark.parametrize("offset", [(0, 0, 0.02), (0, 0, 0), (0.01, 0, 0.02), (0, 0.003, 0.02)])
@pytest.mark.parametrize("rigid", [False, True])
def test_aligned_boxes_that_overlap_are_refused(offset, rigid):
    """Every vertex of one lies on the surface of the other: identical bodies, flush sides."""
    size = np.ptp(block().mesh.points, axis=0)
    place = np.array(offset, float)
    other = pl.RigidBody.box(size=size, mass=1.0, position=0.5 * size) if rigid else block(name="other")
    depth = 1e3 * (size - place).min()
    with pytest.raises(InputError, match=f"overlaps '{other.name}' by {depth:.3g} mm"):
        pair_of(block(), other, place=place, allow_overlap=False)


@pytest.mark.parametrize("case", ["soft–plane", "soft–soft", "ball–plane"])
def test_bodies_that_stand_apart_or_touch_are_welcome(case):
    first, second, place = CASES[case]()
    pair_of(first, second, place=place, allow_overlap=False)
    pair_of(block(), pl.Obstacle.plane(), allow_overlap=False)


def test_a_step_faster_than_detection_is_reported():
    """Parts near each other that move by more than the margin against each other are named; slow ones are not."""
    scene = pl.Scene()
    body = scene.add(block())
    scene.collide(body, body, margin=1e-3)
    world = scene.compile()
    state, flat = world.initial_state(), MESH.points[:, 2] > 0.03
    for speed, expected in ((0.5, 0), (2.0, 1)):
        v = np.where(flat[:, None], [0.0, 0.0, -speed], 0.0)
        _, info = pl.ImplicitEuler(dt=0.01)(world, dataclasses.replace(state, v=(v,)))
        assert len(info.warnings) == expected
    assert "may have passed through each other" in info.warnings[0]
    with pytest.warns(pl.PliantWarning, match="smaller dt"):
        pl.simulate(world, pl.ImplicitEuler(dt=0.01), until=0.01, start=dataclasses.replace(state, v=(v,)))


@pytest.mark.parametrize("kind", ["plane", "sphere", "rigid"])
@pytest.mark.parametrize(("away", "reported"), [(0.002, True), (5.0, False)])
def test_only_bodies_that_can_have_met_are_reported(kind, away, reported):
    floors = {
        "plane": lambda: pl.Obstacle.plane(point=(0, 0, -away)),
        "sphere": lambda: pl.Obstacle.sphere(center=(0, 0, -away - 1.0), radius=1.0),
        "rigid": lambda: pl.RigidBody.box(size=(1, 1, 1), mass=1.0, position=(0, 0, -away - 0.5)),
    }
    world, pair, q = pair_of(block(), floors[kind](), margin=1e-3)
    start = list(q)
    q[0] = q[0] + np.where(MESH.points[:, 2:] < 0.01, [[0.0, 0.0, -0.01]], 0.0)  # it comes apart within the step
    assert (pair.outrun(view_of(world, q, start=start), None) > 0.0) == reported


def test_a_run_warns_once_of_each_pair():
    scene = pl.Scene()
    body = scene.add(block())
    scene.collide(body, body, margin=1e-3)
    world = scene.compile()

    class Shaken:
        dt = 0.01

        def __call__(self, world, state, controls=None):
            flat = MESH.points[:, 2:] > 0.03
            thrown = dataclasses.replace(state, q=(MESH.points,), v=(np.where(flat, [[0, 0, -2.0 - state.time]], 0.0),))
            return pl.ImplicitEuler(dt=0.01)(world, thrown)

    with pytest.warns(pl.PliantWarning) as found:
        pl.simulate(world, Shaken(), until=0.03)
    assert len(found) == 1


def test_excluded_regions_do_not_touch():
    exclude = pl.regions.box((-1, -1, -1), (0.001, 1, 1))
    world, constraint, q = pair_of(block(), pl.Obstacle.plane(), exclude=exclude)
    rows, memory = constraint.rows_at(view_of(world, q))
    assert 0 < rows.count < 9
    assert (memory.contacts.point_a[:, 0] > 0.001).all()


@pytest.fixture
def scene():
    return pl.Scene()


def test_friction_must_not_be_negative(scene):
    a, b = scene.add(block()), scene.add(pl.Obstacle.plane())
    for wrong in (-0.1, np.nan):
        with pytest.raises(InputError, match="friction"):
            scene.collide(a, b, friction=wrong)
    with pytest.raises(InputError, match="margin"):
        scene.collide(a, b, margin=0.0)


def test_bodies_must_be_in_the_scene(scene):
    a = scene.add(block())
    with pytest.raises(InputError, match="add it before collide"):
        scene.collide(a, pl.Obstacle.plane())
    with pytest.raises(InputError, match="add it before collide"):
        scene.collide("floor", a)


def test_a_pair_collides_once(scene):
    a, b = scene.add(block()), scene.add(pl.Obstacle.plane())
    scene.collide(a, b)
    for pair in ((a, b), (b, a)):
        with pytest.raises(InputError, match="collide already"):
            scene.collide(*pair, friction=0.5)


def test_two_obstacles_cannot_collide(scene):
    a, b = scene.add(pl.Obstacle.plane(name="floor")), scene.add(pl.Obstacle.plane(normal=(1, 0, 0), name="wall"))
    with pytest.raises(InputError, match="'floor' and 'wall'"):
        scene.collide(a, b)


def test_a_rigid_body_does_not_touch_itself(scene):
    a = scene.add(pl.RigidBody.sphere(radius=0.1, mass=1.0))
    with pytest.raises(InputError, match="self-contact is for volumes"):
        scene.collide(a, a)


def test_forces_are_read_for_colliding_pairs_only(scene):
    a, b, c = scene.add(block()), scene.add(pl.Obstacle.plane(name="floor")), scene.add(pl.Obstacle.plane(name="wall"))
    scene.collide(a, b)
    world = scene.compile()
    _, info = pl.ImplicitEuler(dt=0.01)(world, world.initial_state())
    with pytest.raises(InputError, match="'volume' and 'wall' do not collide"):
        info.contact_force(a, c)


@pytest.mark.parametrize("rigid", [True, False])
def test_a_ball_between_the_vertices_of_a_face_rests_on_it(rigid):
    """Dropped on the middle of a coarse face (or pushed into it) a small ball does not sink in between its corners."""
    scene = pl.Scene(gravity=(0, 0, -9.81))
    coarse = pl.mesh.box((0.1, 0.1, 0.02), (1, 1, 1))
    body = scene.add(pl.Volume(coarse, RUBBER, clamp=pl.regions.plane(axis="z", at=0.0)))
    if rigid:
        ball = scene.add(pl.RigidBody.sphere(radius=0.005, mass=0.02, position=(0.06, 0.035, 0.026)))
    else:
        ball = scene.add(pl.Obstacle.sphere(center=(0.06, 0.035, 0.026), radius=0.005, motion=lowered))
    scene.collide(body, ball, friction=0.3)
    world = scene.compile()
    run = pl.simulate(world, pl.ImplicitEuler(dt=0.005), until=0.3)
    force = run.contact_force(body, ball)[-1]
    assert force[2] == pytest.approx(-0.02 * 9.81, rel=1e-3) if rigid else force[2] < -0.01
    end = dataclasses.replace(world.initial_state(), q=tuple(x[-1].copy() for x in run.positions), time=0.3)
    _, info = pl.ImplicitEuler(dt=0.005)(world, end)
    assert info.contacts(body, ball).gaps.min() > -1e-9


def lowered(t):
    """Down by 3 mm in 0.2 s."""
    return (0.0, 0.0, -0.003 * min(1.0, t / 0.2)), (0.0, 0.0, 0.0)


@pytest.mark.parametrize("kind", list(ContactKind))
def test_rows_of_every_kind_of_contact_are_known_from_step_to_step(kind):
    """Keys of rows are three times those of contacts: they must stay in 64 bits, or warm starts lose their contacts."""
    last = PAIR_LIMIT - 1
    key = key_base(kind, last) + EDGE_LIMIT * EDGE_LIMIT - 1
    assert 3 * key + 2 < 2**63
    keys = np.array([key]) * 3 + np.arange(3)
    np.testing.assert_array_equal(forces_of(keys, keys[::-1], np.array([3.0, 2.0, 1.0])), [1.0, 2.0, 3.0])


@pytest.mark.parametrize("friction", [0.0, 0.5])
def test_an_obstacle_carries_what_it_meets_however_fast_it_comes(friction):
    """A floor that rises at 1 m/s does not sink into what stands on it: its motion is no penetration."""
    scene = pl.Scene(gravity=(0, 0, -9.81))
    cube = scene.add(pl.RigidBody.box(size=(0.1, 0.1, 0.1), mass=1.0, position=(0, 0, 0.05)))
    floor = scene.add(pl.Obstacle.plane(motion=lambda t: ((0, 0, t), (0, 0, 0))))
    scene.collide(cube, floor, friction=friction)
    world = scene.compile()
    state = world.initial_state()
    for _ in range(20):
        state, _ = pl.ImplicitEuler(0.01)(world, state)
    assert state.pose(cube)[0, 2] == pytest.approx(0.05 + state.time, abs=1e-6)
