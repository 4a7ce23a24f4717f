"""Contacts in modes: Ψ = I is the full problem, λ = Ψβ, unknown contacts keep their rows, other robots are refused."""

import dataclasses

import numpy as np
import pytest

import pliant as pl
from pliant.constraints import RowView
from pliant.core.errors import InputError
from pliant.reduced import ContactBasis, ReducedPair
from pliant.world.codec import Decoder, Encoder

MESH = pl.mesh.box((0.04, 0.04, 0.04), (2, 2, 2))
GRID = np.stack(np.meshgrid(np.linspace(0.001, 0.039, 7), np.linspace(0.001, 0.039, 7)), axis=-1).reshape(-1, 2)
POINTS = np.column_stack([GRID, np.zeros(len(GRID))])
TOP = np.array([(0.0, 0, 0.04), (0.04, 0, 0.04), (0.04, 0.04, 0.04), (0, 0.04, 0.04)])
HALVES = np.array([(0, 1, 2), (0, 2, 3)])
WEIGHT = 9.81 * 1e3 * 0.04**3


def stack(gap=1e-4, points=POINTS, **options):
    """A soft block `gap` above another, whose lower face looks at the other's upper face with 49 points."""
    scene = pl.Scene(gravity=(0, 0, -9.81))
    rubber = pl.materials.Corotated(young=1e6, poisson=0.4, density=1e3)
    lower = scene.add(pl.Volume(MESH, rubber, clamp=pl.regions.plane(axis="z", at=0), name="lower"))
    upper = scene.add(pl.Volume(MESH, rubber, name="upper"), position=(0.0003, 0.0001, 0.04 + gap))
    facing = scene.add(pl.Facing(upper, lower, points, TOP, HALVES, margin=1e-3, **options))
    world = scene.compile()
    return world, facing, world.constraints[-1]


def reduced(world, basis):
    *others, constraint = world.constraints
    return dataclasses.replace(world, constraints=(*others, basis.reduced(constraint)))


def view_of(world, q, *, dt=0.0, **options):
    return RowView.of(world.models, q, time=dt, dt=dt, **options)


def run_of(world, *, until=0.5):
    infos = []
    run = pl.simulate(world, pl.ImplicitEuler(0.02), until=until, callback=lambda state, info: infos.append(info))
    return run, infos


@pytest.mark.parametrize("friction", [0.0, 0.4])
def test_the_identity_is_the_full_problem(friction):
    world, _, constraint = stack(friction=friction)
    few = ContactBasis.of(constraint, np.eye(constraint.count)).reduced(constraint)
    rng = np.random.default_rng(0)
    q = [x + 1e-5 * rng.normal(size=x.shape) for x in world.initial_state().q]
    moved = [1e-4 * rng.normal(size=x.shape) for x in q]
    for dt in (0.0, 0.01):
        view = view_of(world, q, dt=dt, moved=moved)
        (full, _), (rows, memory) = constraint.rows_at(view), few.rows_at(view)
        assert full.count == len(POINTS) * constraint.width
        for one, other in zip(rows.H, full.H, strict=True):
            assert np.allclose(one.toarray(), other.toarray(), atol=1e-15)
        for name in ("gap", "law", "mu"):
            assert np.allclose(getattr(rows, name), getattr(full, name), atol=1e-15)
        lam = rng.random(rows.count)
        assert np.allclose(memory.forces(lam), constraint.rows_at(view)[1].forces(lam), atol=1e-15)


def test_a_combination_of_rows_is_that_of_the_gaps():
    world, _, constraint = stack(friction=0.3)
    modes = np.random.default_rng(1).random((constraint.count, 4))
    basis = ContactBasis.of(constraint, modes)
    assert np.allclose(basis.modes.sum(axis=0), 1.0)
    q = list(world.initial_state().q)
    (full, _), (rows, memory) = (
        constraint.rows_at(view_of(world, q)),
        basis.reduced(constraint).rows_at(view_of(world, q)),
    )
    spread = np.kron(basis.modes, np.eye(3))
    for one, other in zip(rows.H, full.H, strict=True):
        assert np.allclose(one.toarray(), spread.T @ other.toarray(), atol=1e-14)
    assert np.allclose(rows.gap, spread.T @ full.gap)
    beta = np.random.default_rng(2).random(12)
    assert np.allclose(
        memory.forces(beta), np.einsum("mk,mki->mi", (spread @ beta).reshape(-1, 3), memory.points.frames)
    )


def test_a_block_rests_on_four_modes_as_on_all_points():
    world, facing, constraint = stack(friction=0.5)
    sides = (GRID > 0.02) @ (1, 2)
    basis = ContactBasis.of(constraint, np.equal.outer(sides, np.arange(4)).astype(float))
    full, _ = run_of(world)
    few, infos = run_of(reduced(world, basis))
    last = infos[-1]
    assert last.assembly.rows.count == 12
    assert np.allclose(few.points("upper")[-1], full.points("upper")[-1], atol=2e-5)
    contacts = last.contacts(facing)
    assert len(contacts.gaps) == constraint.count
    assert np.allclose(few.contact_force(facing)[-1], (0, 0, WEIGHT), atol=2e-3 * WEIGHT)
    assert contacts.forces[:, 2].min() > 0.0
    assert max(abs(contacts.gaps[sides == side].mean()) for side in range(4)) < 1e-7
    assert last.penetration == pytest.approx(-contacts.gaps.min(), abs=1e-12)
    assert last.penetration < 2e-5


def test_rows_are_left_out_while_all_is_far_and_every_gap_counts_when_it_is_near():
    world, _, constraint = stack(gap=5e-3)
    halves = np.column_stack([GRID[:, 0] < 0.02, GRID[:, 0] >= 0.02]).astype(float)
    few = ContactBasis.of(constraint, halves).reduced(constraint)
    q = list(world.initial_state().q)
    rows, memory = few.rows_at(view_of(world, q))
    assert rows.count == 0
    assert memory.contacts.count == 0
    tilted = [q[0], q[1] - np.column_stack([np.zeros((27, 2)), 0.11 * (q[1][:, 0])])]
    rows, memory = few.rows_at(view_of(world, tilted, memory=memory))
    assert rows.count == 1  # the mode of the higher half is all far
    seen = constraint.gaps(view_of(world, tilted)).gap
    assert (seen[halves[:, 1] > 0] > constraint.margin).any()
    assert rows.gap[0] == pytest.approx(seen[halves[:, 1] > 0].mean())


def test_a_contact_that_no_mode_knows_keeps_its_row():
    groups = (GRID[:, 0] > 0.02).astype(int)
    corners = np.vstack([TOP, TOP])
    scene = pl.Scene(gravity=(0, 0, -9.81))
    rubber = pl.materials.Corotated(young=1e6, poisson=0.4, density=1e3)
    lower = scene.add(pl.Volume(MESH, rubber, clamp=pl.regions.plane(axis="z", at=0), name="lower"))
    upper = scene.add(pl.Volume(MESH, rubber, name="upper"), position=(0.0003, 0.0001, 0.0401))
    facing = pl.Facing(
        upper, lower, POINTS, corners, np.vstack([HALVES, HALVES + 4]), friction=0.5, margin=1e-3,
        point_group=groups, triangle_group=np.array([0, 0, 1, 1]),
    )  # fmt: skip
    scene.add(facing)
    world = scene.compile()
    constraint = world.constraints[-1]
    basis = ContactBasis.of(constraint, (groups == 0).astype(float)[:, None])
    few, infos = run_of(reduced(world, basis))
    full, _ = run_of(world)
    unknown = int(groups.sum())
    assert infos[-1].assembly.memories[-1].unknown == unknown
    assert 0 < infos[-1].unknown_contacts <= unknown
    assert infos[-1].assembly.rows.count == 3 * (1 + unknown)
    assert np.allclose(few.points("upper")[-1], full.points("upper")[-1], atol=2e-5)
    assert np.allclose(few.contact_force(facing)[-1], (0, 0, WEIGHT), atol=5e-3 * WEIGHT)


def test_a_point_beside_the_modes_that_goes_too_deep_gets_a_row():
    world, _, constraint = stack()
    center = np.zeros((constraint.count, 1))
    center[24] = 1.0
    few = ContactBasis.of(constraint, center).reduced(constraint)
    q = list(world.initial_state().q)
    assert few.rows_at(view_of(world, q))[0].count == 1
    sunk = [q[0], q[1] - np.array([0.0, 0.0, 2e-4])]
    rows, memory = few.rows_at(view_of(world, sunk))
    assert memory.unknown == constraint.count - 1
    assert rows.count == constraint.count
    assert set(rows.key[1:]) <= set(constraint.rows_at(view_of(world, sunk))[0].key)


def test_guards_stop_what_modes_average_away():
    world, _, constraint = stack(friction=0.5)
    one = np.ones((constraint.count, 1))
    tilted = {"gravity": np.array([3.0, 0.0, -9.81])}
    deep = {}
    for guards in (0, 1):
        wd = reduced(world, ContactBasis.of(constraint, one, guards=guards))
        state = wd.initial_state()
        for _ in range(12):
            state, info = pl.ImplicitEuler(0.01)(wd, state, tilted)
        deep[guards] = info.penetration
        assert info.unknown_contacts == 0
    assert deep[0] > 1e-4  # one mode is a hinge
    assert deep[1] < 0.25 * deep[0]


def test_modes_of_another_robot_are_refused():
    _, _, constraint = stack()
    basis = ContactBasis.of(constraint, np.ones((constraint.count, 2)))
    assert basis.covers(constraint)
    assert not basis.covers(object())
    assert not basis.covers(stack(name="another")[2])
    with pytest.raises(InputError, match="belong to another robot or mesh"):
        basis.covers(stack(points=POINTS[:-1])[2])
    with pytest.raises(InputError, match="belong to another robot or mesh"):
        basis.reduced(stack(points=POINTS + np.array([1e-4, 0, 0]))[2])
    with pytest.raises(InputError, match="none of 'another'"):
        basis.reduced(stack(name="another")[2])


@pytest.mark.parametrize(
    ("modes", "message"),
    [
        (np.ones((3, 1)), r"must have shape \(49, 'n'\)"),
        (-np.ones((49, 1)), "must be ≥ 0"),
        (np.zeros((49, 2)), "all modes of 'facing' are zero"),
    ],
)
def test_bad_modes_are_refused(modes, message):
    with pytest.raises(InputError, match=message):
        ContactBasis.of(stack()[2], modes)


def test_faint_entries_and_empty_modes_are_left_out():
    _, _, constraint = stack()
    modes = np.zeros((constraint.count, 3))
    modes[3, 0], modes[4, 0], modes[5, 2] = 1.0, 1e-4, 2.0
    basis = ContactBasis.of(constraint, modes)
    assert basis.count == 2
    assert np.array_equal(np.argwhere(basis.modes), [(3, 0), (5, 1)])


def test_a_basis_and_the_state_of_a_reduced_world_are_saved(tmp_path):
    world, _, constraint = stack(friction=0.5)
    basis = ContactBasis.of(constraint, np.random.default_rng(0).random((constraint.count, 3)), guards=2)
    encoder = Encoder()
    again = Decoder(encoder.arrays).decode(encoder.encode(basis))
    assert np.array_equal(again.modes, basis.modes)
    assert (again.facing, again.fingerprint, again.guards) == (basis.facing, basis.fingerprint, 2)
    few = reduced(world, again)
    assert isinstance(few.constraints[-1], ReducedPair)
    step, state = pl.ImplicitEuler(0.01), few.initial_state()
    for _ in range(5):
        state, _ = step(few, state)
    loaded = few.load_state(state.save(tmp_path / "state.npz"))
    first, second = (step(few, s)[0] for s in (state, loaded))
    assert all(np.array_equal(a, b) for a, b in zip(first.q, second.q, strict=True))
