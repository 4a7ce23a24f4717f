"""`pl.Facing`: rows of points that face triangles, on every kind of body, their forces, memory and refusals."""

from dataclasses import replace

import numpy as np
import pytest

import pliant as pl
from pliant.constraints import RowView
from pliant.constraints.contact import RECOVERY_SPEED
from pliant.core.errors import InputError
from pliant.models.model import StepStart
from pliant.models.scheme import STATIC_SCHEME

RUBBER = pl.materials.Corotated(young=1e5, poisson=0.4, density=1e3)
MESH = pl.mesh.box((0.04, 0.04, 0.04), (2, 2, 2))
GRID = np.stack(np.meshgrid(np.linspace(0.001, 0.039, 7), np.linspace(0.001, 0.039, 7)), axis=-1).reshape(-1, 2)
POINTS = np.column_stack([GRID, np.zeros(len(GRID))])
TOP = np.array([(0.0, 0, 0.04), (0.04, 0, 0.04), (0.04, 0.04, 0.04), (0, 0.04, 0.04)])
HALVES = np.array([(0, 1, 2), (0, 2, 3)])


def view_of(world, q, *, dt=0.0, memory=None):
    return RowView.of(world.models, q, time=dt, dt=dt, memory=memory)


def stack(gap=1e-4, young=1e5, **options):
    """A soft block `gap` above another, whose lower face looks at the other's upper face with 49 points."""
    scene = pl.Scene(gravity=(0, 0, -9.81))
    rubber = pl.materials.Corotated(young=young, poisson=0.4, density=1e3)
    lower = scene.add(pl.Volume(MESH, rubber, clamp=pl.regions.plane(axis="z", at=0), name="lower"))
    upper = scene.add(pl.Volume(MESH, rubber, name="upper"), position=(0.0003, 0.0001, 0.04 + gap))
    facing = scene.add(pl.Facing(upper, lower, POINTS, TOP, HALVES, margin=1e-3, **options))
    world = scene.compile()
    return world, facing, world.constraints[-1]


BODIES = {
    "volume": lambda: pl.Volume(MESH, RUBBER, name="first"),
    "beam": lambda: pl.Beam(
        [(0.02, 0.02, 0.0), (0.02, 0.02, 0.04)],
        section=pl.sections.Circle(0.03), young=1e6, poisson=0.3, density=1e3, name="first",
    ),
    "rod": lambda: pl.Rod(
        0.04, 2, position=(0.02, 0.02, 0.0), rotation=(0.0, -np.pi / 2, 0.0), base="free",
        section=pl.sections.Circle(0.03), young=1e6, poisson=0.3, density=1e3, name="first",
    ),
    "rigid": lambda: pl.RigidBody.box(size=(0.04, 0.04, 0.04), mass=0.1, position=(0.0, 0.0, 0.0), name="first"),
}  # fmt: skip


@pytest.mark.parametrize("kind", BODIES)
def test_the_gradient_is_that_of_the_gap(kind):
    scene = pl.Scene()
    body = scene.add(BODIES[kind]())
    low, high = scene.add(pl.Volume(MESH, RUBBER, name="low"), position=(0.0004, 0.0002, -0.0402)), POINTS
    scene.add(pl.Facing(body, low, high, TOP, HALVES, friction=0.5, margin=1e-3, name="down"))
    scene.add(
        pl.Facing(
            low,
            body,
            high + np.array((0, 0, 0.04)),
            TOP - np.array((0, 0, 0.04)),
            HALVES[:, ::-1],
            margin=1e-3,
            name="up",
        )
    )
    world = scene.compile()
    rng = np.random.default_rng(3)
    states = [model.initial() for model in world.models]
    trials = [
        m.trial(StepStart(*s, STATIC_SCHEME, world.gravity, {})) for m, s in zip(world.models, states, strict=True)
    ]
    steps = [1e-6 * rng.normal(size=trial.dx.shape) for trial in trials]
    q = [trial.positions() for trial in trials]
    for constraint in world.constraints:
        rows, memory = constraint.rows_at(view_of(world, q))
        assert memory.contacts.count > 20
        gaps = []
        for sign in (1.0, -1.0):
            for trial, step in zip(trials, steps, strict=True):
                trial.dx = sign * step
            moved = view_of(world, [trial.positions() for trial in trials])
            seen = constraint.gaps(moved)
            gaps.append(seen.gap[memory.contacts.nodes_a[:, 0]])
        width = constraint.width
        change = sum(h @ step.ravel() for h, step in zip(rows.H, steps, strict=True))[::width]
        assert np.allclose((gaps[0] - gaps[1]) / 2.0, change, atol=1e-4 * np.abs(change).max())
        assert np.allclose(rows.gap[::width], memory.contacts.gap)


def test_a_block_rests_on_points_with_its_weight():
    world, facing, constraint = stack(friction=0.5, young=1e6)
    infos = []
    run = pl.simulate(world, pl.ImplicitEuler(0.02), until=1.0, callback=lambda state, info: infos.append(info))
    contacts = infos[-1].contacts(facing)
    weight = 9.81 * 1e3 * 0.04**3
    assert np.allclose(contacts.forces.sum(axis=0), (0, 0, weight), atol=1e-3 * weight)
    assert np.allclose(run.contact_force(facing)[-1], infos[-1].contact_force(facing.body, facing.other))
    assert contacts.forces[:, 2].min() > -1e-12
    seen = constraint.gaps(view_of(world, [positions[-1] for positions in run.positions]))
    assert abs(seen.gap.min()) < 1e-7


def test_friction_holds_a_block_on_a_slope_and_lets_it_go():
    slid, tilted = {}, {"gravity": np.array([9.81 * np.sin(0.3), 0.0, -9.81 * np.cos(0.3)])}
    for mu in (0.5, 0.1):
        world, _, _ = stack(friction=mu, young=1e7)
        run = pl.simulate(world, pl.ImplicitEuler(0.005), until=0.1, control=lambda t, s: tilted)
        slid[mu] = np.ptp(run.points("upper")[:, :, 0].mean(axis=1))
    fall = 0.5 * 9.81 * (np.sin(0.3) - 0.1 * np.cos(0.3)) * 0.1**2
    assert slid[0.5] < 0.1 * fall
    assert slid[0.1] == pytest.approx(fall, rel=0.1)


def test_a_penetration_is_undone_at_a_bounded_speed_in_dynamics_and_at_once_in_statics():
    world, _, constraint = stack()
    q = list(world.initial_state().q)
    q[1] = q[1] - (0, 0, 2e-3)
    dynamic, _ = constraint.rows_at(view_of(world, q, dt=0.01))
    static, _ = constraint.rows_at(view_of(world, q))
    assert np.allclose(dynamic.gap, -RECOVERY_SPEED * 0.01)
    assert np.allclose(static.gap, -1.9e-3)


def test_nothing_is_looked_at_while_nothing_can_be_near(monkeypatch):
    world, _, constraint = stack(gap=5e-3)
    q = list(world.initial_state().q)
    rows, memory = constraint.rows_at(view_of(world, q))
    assert rows.count == 0
    assert memory.least == pytest.approx([5e-3])
    looked = []
    monkeypatch.setattr(type(constraint), "look", lambda *given: looked.append(1) or pytest.fail("looked"))
    near = list(q)
    near[1] = q[1] - (0, 0, 3.9e-3)
    rows, kept = constraint.rows_at(view_of(world, near, memory=memory))
    assert rows.count == 0
    assert kept.least == memory.least
    monkeypatch.undo()
    near[1] = q[1] - (0, 0, 4.1e-3)
    assert constraint.rows_at(view_of(world, near, memory=memory))[0].count == len(POINTS)


def test_a_memory_of_another_facing_is_refused():
    world, _, constraint = stack(gap=5e-3)
    q = list(world.initial_state().q)
    _, memory = constraint.rows_at(view_of(world, q))
    for wrong in ({"least": memory.least[:0]}, {"reference_a": memory.reference_a[:-1]}):
        with pytest.raises(InputError, match="of another facing"):
            constraint.rows_at(view_of(world, q, memory=replace(memory, **wrong)))


def test_what_came_from_beyond_the_margin_is_reported():
    world, _, constraint = stack(gap=5e-3)
    start = list(world.initial_state().q)
    _, memory = constraint.rows_at(view_of(world, start))
    deep, near = ([start[0], start[1] - np.array([0, 0, down])] for down in (7e-3, 4e-3))
    assert constraint.outrun(view_of(world, deep), memory) == pytest.approx(2e-3)
    assert constraint.outrun(view_of(world, near), memory) <= 0.0
    close = [start[0], start[1] - np.array([0, 0, 4.5e-3])]
    _, memory = constraint.rows_at(view_of(world, close))
    assert constraint.outrun(view_of(world, deep), memory) <= 0.0  # every point had a row


def test_world_state_and_run_are_saved_and_found_again(tmp_path):
    world, facing, _ = stack(friction=0.3)
    run = pl.simulate(world, pl.ImplicitEuler(0.01), until=0.1)
    again = pl.load(run.save(tmp_path / "run.npz"))
    assert np.array_equal(again.replay().points("upper"), run.points("upper"))
    assert np.array_equal(again.contact_force("facing"), run.contact_force(facing))
    state, _ = pl.ImplicitEuler(0.01)(world, world.initial_state())
    state, _ = pl.ImplicitEuler(0.01)(world, state)
    loaded = world.load_state(state.save(tmp_path / "state.npz"))
    first, second = (pl.ImplicitEuler(0.01)(world, s)[0] for s in (state, loaded))
    assert all(np.array_equal(a, b) for a, b in zip(first.q, second.q, strict=True))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"points": POINTS + np.array((0, 0, -1.0))}, "points of 'facing' on 'upper'"),
        ({"points": np.zeros((0, 3))}, "has no points"),
        ({"margin": 0.0}, "margin of 'facing' must be > 0"),
        ({"friction": -1.0}, "friction of 'facing' must be ≥ 0"),
        ({"point_group": np.zeros(len(POINTS), int)}, "both point_group and triangle_group"),
        ({"point_group": np.zeros(3, int), "triangle_group": np.zeros(2, int)}, r"shape \(49,\), got \(3,\)"),
        ({"triangles": HALVES + 9}, "refers to points outside"),
        ({"corners": TOP + np.array((0, 0, 0.0005)), "reach": 0.001}, "overlaps 'lower' by 0.4 mm"),
    ],
)
def test_bad_input_is_refused(options, message):
    scene = pl.Scene()
    lower = scene.add(pl.Volume(MESH, RUBBER, name="lower"))
    upper = scene.add(pl.Volume(MESH, RUBBER, name="upper"), position=(0, 0, 0.0401))
    parts = {"points": POINTS, "corners": TOP, "triangles": HALVES} | {
        name: options.pop(name) for name in ("points", "corners", "triangles") if name in options
    }
    with pytest.raises((InputError, pl.MeshError), match=message):
        _compiled(scene, upper, lower, parts, options)


def _compiled(scene, upper, lower, parts, options):
    scene.add(pl.Facing(upper, lower, *parts.values(), **options))
    return scene.compile()


def test_its_bodies_come_first():
    body = pl.Volume(MESH, RUBBER, name="alone")
    with pytest.raises(InputError, match="add the body 'alone' to the scene before its Facing"):
        pl.Scene().add(pl.Facing(body, body, POINTS, TOP, HALVES))


def test_a_contact_lies_on_both_sides_of_its_gap():
    """point_a − point_b is the gap along the normal, and point_b lies in the triangle that it names."""
    world, _, pair = stack(gap=3e-4)
    contacts = pair.contact_set(view_of(world, world.initial_state().q), None)
    assert contacts.count == len(POINTS)
    np.testing.assert_allclose(contacts.point_a - contacts.point_b, contacts.gap[:, None] * contacts.normal, atol=1e-15)
    np.testing.assert_allclose(contacts.point_b[:, 2], 0.04, atol=1e-12)
    np.testing.assert_allclose(contacts.gap, 3e-4, atol=1e-12)
    assert pair.name == pair.spec.name == "facing"


def test_a_step_without_points_outruns_nothing():
    """0 m where there is no memory, or where nothing came from beyond the margin."""
    world, _, pair = stack(gap=3e-4)
    view = view_of(world, world.initial_state().q, dt=0.01)
    _, memory = pair.rows_at(view)
    assert pair.outrun(view, memory) == 0.0
    assert [pair.connects(k) for k in range(len(world.models))] == [True] * len(world.models)
