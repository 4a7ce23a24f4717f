"""Attachments: welds between bodies and to the world."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import pliant as pl

RUBBER = pl.materials.Corotated(young=5e5, poisson=0.4, density=1e3)
END = pl.regions.plane(axis="x", at=0.06)


def arm(scene, **options):
    clamp = pl.regions.plane(axis="x", at=0.0)
    mesh = pl.mesh.box((0.06, 0.02, 0.02), (6, 2, 2))
    return scene.add(pl.Volume(mesh, RUBBER, clamp=clamp, damping=pl.Rayleigh(stiffness=0.02), **options))


def test_a_weld_to_the_world_is_a_support():
    worlds = []
    for welded in (True, False):
        scene = pl.Scene(gravity=(0, 0, -9.81))
        body = arm(scene)
        if welded:
            scene.attach(body, region=END)
        else:
            scene.add(pl.Support(body, END))
        worlds.append(scene.compile())
    states = [pl.QuasiStatic()(world, world.initial_state())[0] for world in worlds]
    np.testing.assert_allclose(states[0].q[0], states[1].q[0], atol=1e-10)


def test_a_welded_weight_hangs_with_its_weight():
    """The welds carry the weight of the rigid part, and its face stays plane: a rigidified end of a soft body."""
    scene = pl.Scene(gravity=(0, 0, -9.81))
    body = arm(scene)
    weight = scene.add(pl.RigidBody.box(size=(0.02, 0.02, 0.02), mass=0.02, position=(0.07, 0.01, 0.01)))
    scene.attach(body, weight, region=END)
    world = scene.compile()
    state, step = world.initial_state(), pl.ImplicitEuler(dt=0.01)
    for _ in range(200):
        state, info = step(world, state)
    np.testing.assert_allclose(info.lam.reshape(-1, 3).sum(axis=0), [0, 0, -0.02 * 9.81], atol=1e-4)
    face = END.nodes(body.mesh.points)
    local = (state.points(body)[face] - state.pose(weight)[0]) @ state.pose(weight)[1:]
    np.testing.assert_allclose(local, body.mesh.points[face] - [0.07, 0.01, 0.01], atol=1e-5)


def test_welded_volumes_move_as_one():
    """Two halves welded face to face sag as the whole beam does, to the order of the step: the half that nothing clamps
    is stepped as a body that may turn.
    """
    whole_scene = pl.Scene(gravity=(0, 0, -9.81))
    clamp = pl.regions.plane(axis="x", at=0.0)
    mesh = pl.mesh.box((0.12, 0.02, 0.02), (12, 2, 2), symmetric="yz")
    whole = whole_scene.add(pl.Volume(mesh, RUBBER, clamp=clamp, anti_locking=False))
    scene = pl.Scene(gravity=(0, 0, -9.81))
    half = pl.mesh.box((0.06, 0.02, 0.02), (6, 2, 2), symmetric="yz")  # the cells of the whole
    first = scene.add(pl.Volume(half, RUBBER, clamp=clamp, anti_locking=False, name="first"))
    second = scene.add(pl.Volume(half, RUBBER, anti_locking=False, name="second"), position=(0.06, 0, 0))
    scene.attach(first, second, region=END)
    world, reference = scene.compile(), whole_scene.compile()
    step = pl.ImplicitEuler(dt=0.01)
    a, b = world.initial_state(), reference.initial_state()
    for _ in range(20):
        a, _ = step(world, a)
        b, _ = step(reference, b)
    np.testing.assert_allclose(a.points(second)[-1], b.points(whole)[-1], atol=3e-5)


def test_bad_attachments_are_refused():
    scene = pl.Scene()
    body = arm(scene)
    stranger = pl.RigidBody.sphere(radius=0.01, mass=0.1)
    with pytest.raises(pl.InputError, match="not a body or obstacle of the scene"):
        scene.attach(body, stranger, region=END)
    with pytest.raises(pl.InputError, match="either points or a region"):
        scene.attach(body)
    scene.attach(body, points=[(0.2, 0.0, 0.0)], name="far")
    with pytest.raises(pl.MeshError, match="'far'"):
        scene.compile()


BASE = pl.regions.plane(axis="x", at=0.01)
TURN, SHIFT = np.array((0.2, 0.7, -0.3)), np.array((0.05, 0.0, 0.02))


def finger(scene):
    mesh = pl.mesh.box((0.06, 0.015, 0.015), (6, 2, 2)).translated((0.01, -0.0075, -0.0075))
    return scene.add(pl.Volume(mesh, RUBBER, name="finger"))


@pytest.fixture(scope="module")
def turned():
    """The finger of `finger`, its base turned by TURN about the origin and moved by SHIFT, in equilibrium: (n, 3) m."""
    matrix = Rotation.from_rotvec(TURN).as_matrix()
    scene = pl.Scene(gravity=matrix.T @ (0, 0, -9.81))
    body = finger(scene)
    scene.attach(body, region=BASE)
    world = scene.compile()
    return pl.QuasiStatic()(world, world.initial_state())[0].points(body) @ matrix.T + SHIFT


def test_a_finger_on_a_moving_link_hangs_as_one_on_a_turned_base(turned):
    scene = pl.Scene(gravity=(0, 0, -9.81))
    motion = lambda t: (SHIFT * t, TURN * t)  # noqa: E731
    link = scene.add(pl.Obstacle.box(center=(0, 0, 0), size=(0.02, 0.02, 0.02), motion=motion, name="link"))
    body = finger(scene)
    scene.attach(body, link, region=BASE)
    world = scene.compile()
    state, _ = pl.QuasiStatic(dt=1.0)(world, world.initial_state())
    np.testing.assert_allclose(state.points(body), turned, atol=1e-9)


def test_a_support_that_turns_a_volume(turned):
    scene = pl.Scene(gravity=(0, 0, -9.81))
    body = finger(scene)
    base = scene.add(pl.Support(body, BASE, rotation=(0, 0, 0), center=(0, 0, 0)))
    world = scene.compile()
    state, _ = pl.QuasiStatic()(world, world.initial_state(), {base: pl.Placement([SHIFT, TURN])})
    np.testing.assert_allclose(state.points(body), turned, atol=1e-8)


@pytest.mark.parametrize("how", ["link", "support"])
def test_a_bar_that_turns_with_its_base_is_stretched_by_its_inertia(how):
    """u(L) = ρ ω² L³/3E of a bar that turns about its end at ω."""
    speed, length, young, density = 20.0, 0.1, 1e6, 1e3
    scene = pl.Scene()
    mesh = pl.mesh.box((length, 0.01, 0.01), (10, 1, 1)).translated((0, -0.005, -0.005))
    rubber = pl.materials.Corotated(young=young, poisson=0.0, density=density)
    damping = pl.Rayleigh(stiffness=0.003)  # more would act on the turning bar itself
    bar = scene.add(pl.Volume(mesh, rubber, damping=damping, anti_locking=False, spin=(0, 0, speed)))
    start = pl.regions.plane(axis="x", at=0.0)
    if how == "link":
        motion = lambda t: ((0, 0, 0), (0, 0, speed * t))  # noqa: E731
        link = scene.add(pl.Obstacle.box(center=(-0.01, 0, 0), size=(0.02, 0.02, 0.02), motion=motion))
        scene.attach(bar, link, region=start)
        control = None
    else:
        base = scene.add(pl.Support(bar, start, rotation=(0, 0, 0), center=(0, 0, 0)))
        control = lambda t, state: {base: pl.Placement([(0, 0, 0), (0, 0, speed * t)])}  # noqa: E731
    world = scene.compile()
    state = world.initial_state().with_velocities(bar, np.cross((0, 0, speed), bar.mesh.points))
    run = pl.simulate(world, pl.ImplicitEuler(0.002, tolerance=1e-6), until=0.3, start=state, control=control)
    tip = pl.robots.Marker(bar, (length, 0, 0))
    stretch = np.linalg.norm(run.points(tip)[-50:], axis=1).mean() - length
    assert stretch == pytest.approx(density * speed**2 * length**3 / (3 * young), rel=0.02)


def test_a_beam_is_welded_to_a_link_with_its_frame():
    scene = pl.Scene()
    motion = lambda t: ((0, 0, 0.1 * t), (0, 0.5 * t, 0))  # noqa: E731
    link = scene.add(pl.Obstacle.sphere(center=(0, 0, 0), radius=0.01, motion=motion, name="link"))
    points = np.linspace((0, 0, 0), (0.1, 0, 0), 4)
    beam = scene.add(pl.Beam(points, section=pl.sections.Circle(0.002), young=1e8, poisson=0.3, density=1e3))
    scene.attach(beam, link, points=(0, 0, 0), frames=True)
    world = scene.compile()
    state, _ = pl.QuasiStatic(dt=1.0)(world, world.initial_state())
    turn = Rotation.from_rotvec((0, 0.5, 0)).as_matrix()
    np.testing.assert_allclose(state.points(beam), points @ turn.T + (0, 0, 0.1), atol=1e-9)


def test_what_cannot_be_attached_is_named():
    scene = pl.Scene()
    body = finger(scene)
    link = pl.Obstacle.box(center=(0, 0, 0), size=(0.02, 0.02, 0.02), name="link")
    with pytest.raises(pl.InputError, match=r"^'link' is not a body or obstacle of the scene; add it"):
        scene.attach(body, link, region=BASE)
    with pytest.raises(pl.InputError, match="takes the body first"):
        scene.attach(scene.add(link), body, region=BASE)
    with pytest.raises(pl.InputError, match="constrains all their axes"):
        pl.Support(body, BASE, "z", rotation=(0, 0, 0))
    with pytest.raises(pl.InputError, match="center of a Support is for volumes that it turns"):
        pl.Support(body, BASE, center=(0, 0, 0))
