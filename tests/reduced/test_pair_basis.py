"""Contacts of colliding surfaces in modes: what snapshots make of a pair, and what stays in full."""

import dataclasses

import numpy as np
import pytest

import pliant as pl
from pliant.core.errors import InputError
from pliant.reduced import ContactBasis, ReducedPair, contact_points
from pliant.world.codec import Decoder, Encoder
from pliant.world.migration import scene_of_version_1

WEIGHT = 9.81 * 1e3 * 0.04**3


def driven(world, control, *, steps, dt=0.02):
    state, infos = world.initial_state(), []
    for number in range(steps):
        state, info = pl.ImplicitEuler(dt)(world, state, control(number / steps))
        infos.append(info)
    return state, infos


def history_of(infos):
    return [(info.assembly.memories[-1], info.lam[info.assembly.slices[-1]]) for info in infos]


def with_basis(world, basis):
    *others, pair = world.constraints
    return dataclasses.replace(world, constraints=(*others, basis.reduced(pair)))


@pytest.fixture(scope="module")
def curled():
    """A finger that touches itself, pulled until its notches close, with its snapshots."""
    robot = pl.robots.finger()
    scene = pl.Scene()
    scene.add(robot)
    scene.collide(robot, robot)
    world = scene.compile()

    def control(part):
        return {robot.cable: pl.Displacement(0.04 * min(1.0, 1.3 * part))}

    state, infos = driven(world, control, steps=50)
    return robot, world, control, state, infos


def test_forces_of_all_kinds_of_contacts_are_those_of_points(curled):
    _, world, _, _, infos = curled
    seen = contact_points(world.constraints[-1], history_of(infos))
    kinds = {int(kind) for memory, _ in history_of(infos) for kind in memory.contacts.kind}
    assert len(kinds) > 1, "edges must be among the contacts"
    totals = np.array([lam.sum() for _, lam in history_of(infos)])
    kept = seen.snapshots.sum(axis=0)
    assert (kept <= totals + 1e-12).all()
    assert kept[-1] > 0.9 * totals[-1]  # corners of the valleys face no other surface
    assert np.allclose(seen.weights.sum(axis=1), 1.0)
    assert 0 < (seen.weights.max(axis=1) < 1.0).sum() < len(seen.nodes), "some points are on edges, some are vertices"
    assert seen.snapshots.min() >= 0.0
    assert seen.snapshots.max() > 0.05


def test_points_face_the_other_flank_alone(curled):
    _, world, _, _, infos = curled
    pair = world.constraints[-1]
    seen = contact_points(pair, history_of(infos))
    rest = pair.a.surface.rest
    for group in np.unique(seen.point_group):
        mine = seen.point_group == group
        faced = np.unique(pair.b.surface.triangles[seen.faces[seen.face_group == group]])
        places = np.einsum("pj,pji->pi", seen.weights, rest[seen.nodes])[mine]
        off = (seen.weights > 0.0) & ~np.isin(seen.nodes, faced)
        assert off.any(axis=1)[mine].all()  # none lies on what it faces
        assert abs(places[:, 0].mean() - rest[faced, 0].mean()) > 0.0005  # the two flanks of a notch
        assert np.ptp(np.concatenate([places[:, 0], rest[faced, 0]])) < 0.02  # one notch


def test_a_curled_finger_in_modes_is_near_the_full_one(curled):
    robot, world, control, state, infos = curled
    seen = contact_points(world.constraints[-1], history_of(infos))
    each = np.equal.outer(seen.point_group, np.unique(seen.point_group)) * seen.snapshots.sum(axis=1)[:, None]
    few = with_basis(
        world,
        ContactBasis.of(world.constraints[-1], np.column_stack([each, seen.snapshots[:, [-1, 40, 35]]]), points=seen),
    )
    reduced_state, reduced_infos = driven(few, control, steps=50)
    free = dataclasses.replace(world, constraints=world.constraints[:-1])
    free_state, _ = driven(free, control, steps=50)
    missed = np.linalg.norm(robot.tip.at(free_state) - robot.tip.at(state))
    assert np.linalg.norm(robot.tip.at(reduced_state) - robot.tip.at(state)) < 0.25 * missed
    info = reduced_infos[-1]
    assert info.assembly.rows.count < infos[-1].assembly.rows.count
    contacts = info.contacts(robot, robot)
    assert len(contacts.gaps) == len(contacts.forces) == len(info.assembly.memories[-1].contacts.key)
    assert info.penetration < 5e-4


@pytest.fixture(scope="module")
def stacked():
    scene = pl.Scene(gravity=(0, 0, -9.81))
    rubber = pl.materials.Corotated(young=1e6, poisson=0.4, density=1e3)
    mesh = pl.mesh.box((0.04, 0.04, 0.04), (2, 2, 2))
    lower = scene.add(pl.Volume(mesh, rubber, clamp=pl.regions.plane(axis="z", at=0), name="lower"))
    upper = scene.add(pl.Volume(mesh, rubber, name="upper"), position=(0.003, 0.001, 0.0401))
    scene.collide(upper, lower, friction=0.5)
    world = scene.compile()
    _, infos = driven(world, lambda part: {}, steps=30)
    return world, upper, lower, infos


def test_a_block_on_a_block_keeps_its_weight_and_its_place(stacked, tmp_path):
    world, upper, lower, infos = stacked
    seen = contact_points(world.constraints[-1], history_of(infos))
    totals = [lam[::3].sum() for _, lam in history_of(infos)]
    assert np.allclose(seen.snapshots.sum(axis=0), totals)
    few = with_basis(world, ContactBasis.of(world.constraints[-1], np.eye(len(seen.nodes)), points=seen))
    assert isinstance(few.constraints[-1], ReducedPair)
    state, last = driven(few, lambda part: {}, steps=30)
    assert np.allclose(last[-1].contact_force(upper, lower), (0, 0, WEIGHT), atol=0.02 * WEIGHT)
    assert np.allclose(last[-1].contact_force(lower, upper), -last[-1].contact_force(upper, lower))
    loaded = few.load_state(state.save(tmp_path / "state.npz"))
    first, second = (pl.ImplicitEuler(0.02)(few, s)[0] for s in (state, loaded))
    assert all(np.array_equal(a, b) for a, b in zip(first.q, second.q, strict=True))
    run = pl.simulate(few, pl.ImplicitEuler(0.02), until=0.1)
    assert run.contact_force(upper, lower).shape == (6, 3)


def test_contacts_elsewhere_keep_their_rows(stacked):
    world, _, _, infos = stacked
    seen = contact_points(world.constraints[-1], history_of(infos))
    far = dataclasses.replace(
        seen, nodes=np.array([[26, 0, 0]], np.int32), weights=np.array([[1.0, 0.0, 0.0]]), faces=seen.faces[:1],
        point_group=seen.point_group[:1] * 0, face_group=seen.face_group[:1] * 0, snapshots=np.ones((1, 1)),
    )  # fmt: skip
    few = with_basis(
        world, ContactBasis.of(world.constraints[-1], np.ones((1, 1)), points=far)
    )  # a vertex on top of the upper block: it never touches
    state, last = driven(few, lambda part: {}, steps=10)
    full, _ = driven(world, lambda part: {}, steps=10)
    assert last[-1].unknown_contacts > 3
    assert all(np.allclose(a, b, atol=1e-9) for a, b in zip(state.q, full.q, strict=True))


def test_a_basis_is_saved_and_refused_for_another_robot(curled, stacked):
    world, _, _, infos = stacked
    seen = contact_points(world.constraints[-1], history_of(infos))
    basis = ContactBasis.of(world.constraints[-1], np.ones((len(seen.nodes), 1)), points=seen, guards=2)
    encoder = Encoder()
    again = Decoder(encoder.arrays).decode(encoder.encode(basis))
    assert again.covers(world.constraints[-1])
    assert np.array_equal(again.points.faces, seen.faces)
    assert not again.covers(curled[1].constraints[-1])
    with pytest.raises(InputError, match="are none of 'finger – finger'"):
        again.reduced(curled[1].constraints[-1])
    foreign = dataclasses.replace(seen, fingerprint="another")
    other = ContactBasis.of(world.constraints[-1], basis.modes, points=foreign)
    with pytest.raises(InputError, match="belong to another robot or mesh"):
        other.covers(world.constraints[-1])


def test_a_basis_of_an_earlier_version_is_read(stacked):
    world, _, _, infos = stacked
    pair = world.constraints[-1]
    points = contact_points(pair, history_of(infos))
    basis = ContactBasis.of(pair, np.ones((len(points.nodes), 1)), points=points)
    encoder = Encoder()
    parts = encoder.encode(basis)["fields"]
    seen = {**parts["points"], "class": "PairFacing"}
    own = {"seen": seen, **{name: parts[name] for name in ("modes", "guards", "tolerance")}}
    old = {"reductions": [{"thing": 99, "class": "PairBasis", "fields": own}], "pairs": []}
    arrays = {f"world_{name}": array for name, array in encoder.arrays.items()}
    new = scene_of_version_1(old, arrays)["reductions"][0]
    again = Decoder({name.removeprefix("world_"): array for name, array in arrays.items()}).decode(new)
    assert again.covers(pair)
    np.testing.assert_allclose(again.modes, basis.modes, rtol=1e-15)  # scaled to a sum of one again
    assert np.array_equal(again.points.nodes, basis.points.nodes)


def test_what_makes_no_facing_is_refused(stacked):
    world, *_ = stacked
    with pytest.raises(InputError, match="nothing touched in the 0 snapshots"):
        contact_points(world.constraints[-1], [])
    scene = pl.Scene()
    ball = scene.add(pl.RigidBody.sphere(radius=0.01, mass=0.1, position=(0, 0, 0.02)))
    scene.collide(ball, scene.add(pl.Obstacle.plane()))
    with pytest.raises(InputError, match="is not a pair of two surfaces"):
        contact_points(scene.compile().constraints[0], [])
