"""Beams that touch and are welded: planes, pipes, rigid bodies, volumes."""

from dataclasses import replace

import numpy as np
import pytest

import pliant as pl
from pliant.constraints import RowView
from pliant.core.errors import CapacityError
from pliant.core.lie import rotation_log

ROD = {"section": pl.sections.Circle(0.004), "young": 1e6, "poisson": 0.4, "density": 1e3}
RUBBER = pl.materials.Corotated(young=2e5, poisson=0.3, density=1e3)


def line(start, end, count):
    return np.linspace(start, end, count + 1)


def walked(world, count, dt=0.01, controls=None, state=None):
    state, step, info = state or world.initial_state(), pl.ImplicitEuler(dt=dt), None
    for _ in range(count):
        state, info = step(world, state, controls)
    return state, info


@pytest.mark.parametrize("friction", [0.0, 0.5])
def test_a_beam_lies_on_the_floor_with_its_weight(friction):
    scene = pl.Scene(gravity=(0, 0, -9.81))
    beam = scene.add(pl.Beam(line((0, 0, 0.005), (0.2, 0, 0.005), 8), **ROD))
    floor = scene.add(pl.Obstacle.plane())
    scene.collide(beam, floor, friction=friction)
    world = scene.compile()
    state, info = walked(world, 60)
    weight = 9.81 * 1e3 * beam.section.area * 0.2
    np.testing.assert_allclose(info.contact_force(beam, floor), [0, 0, weight], atol=1e-4 * weight)
    np.testing.assert_allclose(state.points(beam)[:, 2], 0.004, atol=1e-6)
    assert np.abs(state.velocities(beam)).max() < 1e-5


def test_friction_holds_and_slips_at_the_coefficient():
    """A beam on a slope: it stays for tan α < μ and slides for tan α > μ at g (sin α − μ cos α)."""
    for angle, friction in ((0.3, 0.5), (0.5, 0.3)):
        gravity = 9.81 * np.array([np.sin(angle), 0, -np.cos(angle)])
        scene = pl.Scene(gravity=gravity)
        beam = scene.add(pl.Beam(line((0, 0, 0.004), (0.2, 0, 0.004), 4), **{**ROD, "young": 1e8}))
        scene.collide(beam, scene.add(pl.Obstacle.plane()), friction=friction)
        state, _ = walked(scene.compile(), 50, dt=0.004)
        speed = state.velocities(beam)[:, 0, 0].mean()
        expected = max(0.0, 9.81 * (np.sin(angle) - friction * np.cos(angle)) * 0.2)
        assert speed == pytest.approx(expected, abs=0.02 * expected + 1e-4)


def test_a_rolling_beam_turns_with_its_friction():
    """Across a slope a round bar rolls: 2/3 g sin α, spin v/r."""
    gravity = 9.81 * np.array([0, np.sin(0.2), -np.cos(0.2)])
    scene = pl.Scene(gravity=gravity)
    beam = scene.add(pl.Beam(line((0, 0, 0.004), (0.2, 0, 0.004), 4), **{**ROD, "young": 1e8}))
    scene.collide(beam, scene.add(pl.Obstacle.plane()), friction=0.8)
    state, _ = walked(scene.compile(), 50, dt=0.002)
    v = state.velocities(beam).mean(axis=0)
    assert v[0, 1] == pytest.approx(2 / 3 * 9.81 * np.sin(0.2) * 0.1, rel=0.02)
    assert v[1, 0] == pytest.approx(-v[0, 1] / 0.004, rel=0.02)


def test_a_ball_rests_on_a_clamped_beam():
    scene = pl.Scene(gravity=(0, 0, -9.81))
    damping = pl.Rayleigh(stiffness=0.02)
    beam = scene.add(pl.Beam(line((0, 0, 0), (0.2, 0, 0), 10), clamp=[0, 10], damping=damping, **{**ROD, "young": 1e7}))
    ball = scene.add(pl.RigidBody.sphere(radius=0.02, mass=0.02, position=(0.1, 0, 0.0242)))
    scene.collide(beam, ball, friction=0.5)
    state, info = walked(scene.compile(), 100)
    assert info.contact_force(ball, beam)[2] == pytest.approx(0.02 * 9.81, rel=1e-2)
    assert state.points(beam)[5, 2] < -1e-4
    apart = np.linalg.norm(state.points(beam)[5] - state.pose(ball)[0])
    assert apart >= 0.024 - 1e-5


def test_a_beam_rests_on_a_volume():
    """Forces on both sides are equal, and carry the weight."""
    scene = pl.Scene(gravity=(0, 0, -9.81))
    mesh = pl.mesh.box((0.06, 0.04, 0.02), (6, 4, 2))
    block = scene.add(
        pl.Volume(mesh, RUBBER, clamp=pl.regions.plane(axis="z", at=0.0), damping=pl.Rayleigh(stiffness=0.02))
    )
    beam = scene.add(pl.Beam(line((0.005, 0.021, 0.0245), (0.055, 0.019, 0.0245), 5), **ROD))
    scene.collide(block, beam, friction=0.6)
    world = scene.compile()
    state, info = walked(world, 80)
    weight = 9.81 * world.models[1].mass.sum()
    np.testing.assert_allclose(info.contact_force(beam, block), [0, 0, weight], atol=0.02 * weight)
    np.testing.assert_array_equal(info.contact_force(block, beam), -info.contact_force(beam, block))
    assert info.contacts(beam, block).gaps.min() > -1e-5
    assert np.linalg.norm(state.velocities(beam)[:, 0], axis=1).max() < 1e-3


def test_a_beam_is_pushed_through_a_bent_pipe():
    """Its base is driven into a 60° bend; every ball stays inside, and the tip turns with the pipe."""
    angle = np.linspace(0, np.pi / 3, 13)
    bend = np.stack([0.1 + 0.15 * np.sin(angle), 0.15 * (1 - np.cos(angle)), 0 * angle], axis=1)
    scene = pl.Scene()
    pipe = scene.add(pl.Obstacle.tubes(np.vstack([(0, 0, 0), bend]), radius=0.006))
    rod = {**ROD, "section": pl.sections.Circle(0.002), "young": 1e8, "damping": pl.Rayleigh(stiffness=0.01)}
    beam = scene.add(pl.Beam(line((-0.15, 0, 0), (0.05, 0, 0), 16), **rod))
    base = scene.add(pl.Support(beam, [0], rotation=(0, 0, 0)))
    scene.collide(beam, pipe, friction=0.1)
    world = scene.compile()
    state, step = world.initial_state(), pl.ImplicitEuler(dt=0.01)
    deepest = 0.0
    for k in range(150):
        state, info = step(world, state, {base: pl.Displacement((0.001 * (k + 1), 0, 0))})
        gaps = info.contacts(beam, pipe).gaps
        deepest = min(deepest, gaps.min() if len(gaps) else 0.0)
    tip, heading = state.points(beam)[-1], state.frames(beam)[-1][:, 0]
    along = np.arctan2(tip[0] - 0.1, 0.15 - tip[1])
    print(f"tip at {np.degrees(along):.0f}° of the bend, heading {np.degrees(np.arctan2(heading[1], heading[0])):.0f}°")
    inside = pipe.shape.solid.distance(state.points(beam)).gap
    assert inside.min() > 0.002 - 2e-4
    assert along > np.radians(30)
    assert np.arctan2(heading[1], heading[0]) > np.radians(20)
    assert info.contact_force(beam, pipe)[0] < 0.0  # the pipe resists


def _cantilever(welded, **options):
    """Q (9, 4, 3) of a cantilever that falls for 0.2 s by steps of 10 ms, held by a weld of its frame or by a clamp."""
    scene = pl.Scene(gravity=(0, 0, -9.81))
    beam = scene.add(pl.Beam(line((0, 0, 0), (0.2, 0, 0), 8), clamp=None if welded else [0], **ROD))
    if welded:
        scene.attach(beam, points=[(0, 0, 0)], frames=True)
    world = scene.compile()
    state, step = world.initial_state(), pl.ImplicitEuler(dt=0.01, **options)
    for _ in range(20):
        state, _ = step(world, state)
    assert np.abs(state.v[0][0]).max() < 1e-10  # the weld holds velocities too
    return state.q[0]


def test_welded_frames_hold_a_cantilever_as_a_clamp_does():
    """To a tolerance both are implicit Euler. One linear solve differs: that of a beam without supports is linearised
    where its rotation leads, which leaves less than half of the error.
    """
    exact = _cantilever(welded=False, tolerance=1e-9)
    np.testing.assert_allclose(_cantilever(welded=True, tolerance=1e-9), exact, atol=1e-9)
    errors = [np.abs(_cantilever(welded) - exact).max() for welded in (True, False)]
    assert errors[0] < 0.5 * errors[1]


def test_bodies_are_held_by_supports_and_by_welds_to_what_is_held():
    """World, first and second beam are a chain; the third beam and a cube float, and so does a rod."""
    scene = pl.Scene()
    ends = [((0, 0, 0), (0.1, 0, 0)), ((0.1, 0, 0), (0.2, 0, 0)), ((0, 1, 0), (0.1, 1, 0))]
    second, first, third = (scene.add(pl.Beam(line(*each, 2), **ROD)) for each in (ends[1], ends[0], ends[2]))
    cube = scene.add(pl.RigidBody.box(size=(0.02,) * 3, mass=0.02, position=(0.11, 1, 0)))
    scene.add(pl.Rod(0.1, 1, position=(0, 2, 0), base="free", **ROD))
    scene.add(pl.Rod(0.1, 1, position=(0, 3, 0), **ROD))
    scene.attach(first, second, points=[(0.1, 0, 0)])
    scene.attach(first, points=[(0, 0, 0)], frames=True)
    scene.attach(third, cube, points=[(0.1, 1, 0)])
    assert scene.compile().supported == (True, True, False, False, False, True)


def test_a_beam_welded_to_a_rigid_body_hangs_with_it():
    """Six rows: the body at the tip turns with the tip's frame, and the weld carries its weight."""
    scene = pl.Scene(gravity=(0, 0, -9.81))
    damping = pl.Rayleigh(stiffness=0.05)
    beam = scene.add(pl.Beam(line((0, 0, 0), (0.2, 0, 0), 8), clamp=[0], damping=damping, **{**ROD, "young": 5e7}))
    cube = scene.add(pl.RigidBody.box(size=(0.02,) * 3, mass=0.02, position=(0.21, 0, 0)))
    scene.attach(beam, cube, points=[(0.2, 0, 0)], frames=True)
    world = scene.compile()
    state, info = walked(world, 300)
    np.testing.assert_allclose(info.lam[:3], [0, 0, -0.02 * 9.81], atol=1e-3)
    difference = rotation_log(state.frames(beam)[-1] @ state.pose(cube)[1:].T)
    assert np.abs(difference).max() < 1e-6
    assert -state.displacements(beam)[-1, 2] > 0.005
    arm = state.pose(cube)[0] - state.points(beam)[-1]
    np.testing.assert_allclose(state.pose(cube)[1:].T @ arm, [0.01, 0, 0], atol=1e-6)


def test_a_beam_stiffens_a_volume_it_is_welded_into():
    sags = []
    for stiffened in (False, True):
        scene = pl.Scene(gravity=(0, 0, -9.81))
        mesh = pl.mesh.box((0.1, 0.02, 0.02), (10, 2, 2))
        body = scene.add(pl.Volume(mesh, RUBBER, clamp=pl.regions.plane(axis="x", at=0.0)))
        if stiffened:
            beam = scene.add(pl.Beam(line((0.005, 0.01, 0.01), (0.095, 0.01, 0.01), 9), **{**ROD, "young": 1e8}))
            scene.attach(beam, body, region=pl.regions.everything())
        state, _ = walked(scene.compile(), 30)
        sags.append(-float(state.displacements(body)[:, 2].min()))
    assert sags[1] < 0.5 * sags[0]


def test_what_beams_cannot_do_is_said():
    scene = pl.Scene()
    first = scene.add(pl.Beam(line((0, 0, 0), (0.2, 0, 0), 4), name="first", **ROD))
    body = scene.add(pl.Volume(pl.mesh.box((0.1, 0.02, 0.02), (2, 1, 1)), RUBBER))
    ball = scene.add(pl.RigidBody.sphere(radius=0.1, mass=1.0, position=(0, 0, 1)))
    with pytest.raises(pl.InputError, match="self-contact is for volumes, beams and rods"):
        scene.collide(ball, ball)
    with pytest.raises(pl.InputError, match="a volume has none"):
        scene.attach(first, body, points=[(0.05, 0.01, 0.01)], frames=True)
    scene.attach(first, points=[(0.1, 0.1, 0.0)], name="far")
    with pytest.raises(pl.InputError, match="'far'"):
        scene.compile()


def over_posts(body, *posts, friction=0.3, steps=100, dt=0.01):
    """`body`, laid over `posts`: the state at rest, the sum of forces and the last info."""
    scene = pl.Scene(gravity=(0, 0, -9.81))
    scene.add(body)
    for post in posts:
        scene.collide(body, scene.add(post), friction=friction)
    state, info = walked(scene.compile(), steps, dt=dt)
    return state, sum(info.contact_force(body, post) for post in posts), info


def posts_of(kind):
    """Two posts across x whose tops are at z = 3 mm."""
    places = (-0.037, 0.063)
    if kind == "capsule":
        return [pl.Obstacle.capsule(start=(x, -0.05, 0), end=(x, 0.05, 0), radius=0.003) for x in places]
    if kind == "box":
        return [pl.Obstacle.box(center=(x, 0, 0), size=(0.004, 0.1, 0.006)) for x in places]
    mesh = pl.mesh.box((0.006, 0.02, 0.006), (2, 4, 2))
    stiff, foot = pl.materials.Corotated(young=1e8, poisson=0.3, density=1e3), pl.regions.plane(axis="z", at=-0.003)
    moved = [replace(mesh, points=mesh.points + np.array([x - 0.003, -0.01, -0.003])) for x in places]
    return [pl.Volume(one, stiff, clamp=foot, name=f"post {k}") for k, one in enumerate(moved)]


@pytest.mark.parametrize(("body", "kind"), [("beam", "capsule"), ("beam", "box"), ("rod", "capsule"), ("beam", "soft")])
def test_a_slender_body_of_few_elements_lies_on_narrow_posts(body, kind):
    """The posts are between its contact points."""
    options = {**ROD, "young": 1e10, "contact_points": 1}
    if body == "beam":
        slender = pl.Beam(line((-0.1, 0, 0.0075), (0.1, 0, 0.0075), 2), **options)
    else:
        slender = pl.Rod(0.2, 2, position=(-0.1, 0, 0.0075), base="free", **options)
    state, force, info = over_posts(slender, *posts_of(kind), steps=60)
    weight = 9.81 * 1e3 * slender.section.area * 0.2
    np.testing.assert_allclose(force, [0, 0, weight], atol=2e-3 * weight)
    np.testing.assert_allclose(state.points(slender)[:, 2], 0.007, atol=2e-5)
    assert np.abs(state.velocities(slender)[:, 0]).max() < 1e-4
    assert info.penetration < 1e-6


def test_the_capacity_counts_contacts_of_segments_as_well():
    """A beam across a ball that it meets between two of its points, and near the ball with these."""
    scene = pl.Scene()
    beam = scene.add(pl.Beam(line((-0.05, 0.001, 0), (0.051, 0, 0), 4), **ROD))
    ball = scene.add(pl.Obstacle.sphere(center=(0.013, 0, -0.0241), radius=0.02))
    scene.collide(beam, ball, margin=0.02)
    world = scene.compile()
    pair, view = world.constraints[0], RowView.of(world.models)
    found = pair.contact_set(view, None)
    of_points = int((found.nodes_a[:, 1] < 0).sum())
    assert 0 < of_points < found.count
    assert replace(pair, capacity=found.count).contact_set(view, None).count == found.count
    for capacity in (of_points, found.count - 1):
        with pytest.raises(CapacityError, match=f"{found.count} contacts found, but the capacity is {capacity}"):
            replace(pair, capacity=capacity).contact_set(view, None)
