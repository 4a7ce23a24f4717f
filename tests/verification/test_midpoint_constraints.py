"""Implicit midpoint with joints, attachments, commands and contacts: second order, no ringing, no gain of energy."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import pliant as pl

GRAVITY = 9.81
LENGTH, MASS, START = 0.3, 1.0, 1.2
INERTIA = MASS / 12 * (LENGTH**2 + 0.02**2) + MASS * LENGTH**2 / 4


def swing(dt, until, joint="hinge"):
    """Largest energy error over m g L/2, error of the angle at the end (rad) and largest joint gap (m)."""
    scene = pl.Scene(gravity=(0, 0, -GRAVITY))
    centre = np.array([np.sin(START), 0, -np.cos(START)]) * LENGTH / 2
    rod = pl.RigidBody.box(size=(0.02, 0.02, LENGTH), mass=MASS, position=centre, rotation=(0, -START, 0))
    scene.add(rod)
    if joint == "hinge":
        scene.add(pl.Hinge(rod, (0, 1, 0), point=(0, 0, 0)))
    else:
        scene.attach(rod, None, points=[(0, 0, 0)])
    world = scene.compile()
    state, step, scale = world.initial_state(), pl.ImplicitMidpoint(dt), MASS * GRAVITY * LENGTH / 2
    first, worst, opened = world.energy(state)["total"], 0.0, 0.0
    for _ in range(round(until / dt)):
        state, _ = step(world, state)
        pose = state.pose(rod)
        worst = max(worst, abs(world.energy(state)["total"] - first) / scale)
        opened = max(opened, float(np.linalg.norm(pose[0] + pose[1:] @ [0, 0, LENGTH / 2])))
    exact = solve_ivp(
        lambda t, y: [y[1], -scale * np.sin(y[0]) / INERTIA], (0, until), [START, 0.0], rtol=1e-10, atol=1e-12
    ).y[0, -1]
    centre = state.pose(rod)[0]
    return worst, abs(np.arctan2(centre[0], -centre[2]) - exact), opened


@pytest.mark.parametrize("joint", ["hinge", "attachment"])
def test_a_pendulum_is_second_order_and_keeps_its_energy(joint):
    coarse, fine = swing(0.01, 1.0, joint), swing(0.005, 1.0, joint)
    assert coarse[0] < 1e-4
    assert coarse[1] < 2e-3
    assert coarse[2] < 1e-8
    for rough, exact in zip(coarse, fine, strict=True):
        assert rough / exact > 3.5


@pytest.mark.slow
def test_a_pendulum_does_not_drift():
    worst, _, opened = swing(0.005, 10.0)
    assert worst < 1e-4
    assert opened < 1e-9


def dropped(count, *, friction, height, velocity=(0, 0, 0), tilt=0.0):
    scene = pl.Scene(gravity=(0, 0, -GRAVITY))
    floor, boxes = scene.add(pl.Obstacle.plane(normal=(0, 0, 1))), []
    for index in range(count):
        place = (0, 0, 0.02 + height + 0.0401 * index)
        options = {"position": place, "velocity": velocity, "rotation": (0, tilt, 0)}
        boxes.append(scene.add(pl.RigidBody.box(size=(0.04, 0.04, 0.04), mass=0.1, **options)))
        scene.collide(boxes[-1], boxes[-2] if index else floor, friction=friction)
    return scene.compile(), floor, boxes


@pytest.mark.parametrize(("friction", "tilt"), [(0.0, 0.0), (0.5, 0.3)])
def test_a_box_that_lands_stays(friction, tilt):
    world, floor, (box,) = dropped(1, friction=friction, height=0.03, tilt=tilt)
    state, step, energies = world.initial_state(), pl.ImplicitMidpoint(0.01), []
    for _ in range(70):
        state, info = step(world, state)
        energies.append(world.energy(state)["total"])
    assert np.diff(energies).max() < 1e-9
    assert np.abs(state.v[0]).max() < 1e-6
    assert state.pose(box)[0][2] == pytest.approx(0.02, abs=1e-9)
    np.testing.assert_allclose(info.contact_force(box, floor), [0, 0, 0.1 * GRAVITY], atol=1e-6)


def test_stacked_boxes_rest():
    world, _, boxes = dropped(3, friction=0.5, height=0.001)
    state, step = world.initial_state(), pl.ImplicitMidpoint(0.01)
    for _ in range(50):
        state, _ = step(world, state)
    assert max(np.abs(v).max() for v in state.v) < 1e-5
    np.testing.assert_allclose([state.pose(box)[0][2] for box in boxes], [0.02, 0.06, 0.1], atol=1e-8)


def test_friction_brakes_a_sliding_box_exactly():
    """Coulomb's force is constant while the box slides, so that the step has no error; it stops within one step."""
    world, _, (box,) = dropped(1, friction=0.3, height=0.0, velocity=(1.0, 0, 0))
    state, step = world.initial_state(), pl.ImplicitMidpoint(0.02)
    for _ in range(10):
        state, _ = step(world, state)
    assert state.v[0][0, 0] == pytest.approx(1.0 - 0.3 * GRAVITY * 0.2, abs=1e-8)
    for _ in range(15):
        state, _ = step(world, state)
    assert np.abs(state.v[0]).max() < 1e-6
    assert state.pose(box)[0][0] == pytest.approx(0.5 / (0.3 * GRAVITY), rel=1e-5)


def test_a_commanded_slider_has_the_rate_of_its_command():
    scene = pl.Scene()
    body = scene.add(pl.RigidBody.box(size=(0.02, 0.02, 0.02), mass=0.1, position=(0, 0, 0)))
    slider = scene.add(pl.Slider(body, (1, 0, 0)))
    world = scene.compile()
    state, step = world.initial_state(), pl.ImplicitMidpoint(0.01)
    for index in range(1, 8):
        state, _ = step(world, state, {slider: pl.Displacement(0.2 * 0.01 * index)})
        assert state.v[0][0, 0] == pytest.approx(0.2, abs=1e-6)
    state, _ = step(world, state, {slider: pl.Displacement(0.014)})
    assert abs(state.v[0][0, 0]) < 1e-6


def test_a_box_rides_on_a_belt():
    """A moving obstacle gives the velocity, not only the displacement, of what sticks to it."""
    scene = pl.Scene(gravity=(0, 0, -GRAVITY))
    belt = scene.add(pl.Obstacle.plane(normal=(0, 0, 1), motion=lambda t: ((0.1 * t, 0.0, 0.0), (0.0, 0.0, 0.0))))
    box = scene.add(pl.RigidBody.box(size=(0.04, 0.04, 0.04), mass=0.1, position=(0, 0, 0.02)))
    scene.collide(box, belt, friction=0.8)
    world = scene.compile()
    state, step = world.initial_state(), pl.ImplicitMidpoint(0.01)
    for _ in range(20):
        state, _ = step(world, state)
    np.testing.assert_allclose(state.v[0][0], [0.1, 0, 0], atol=1e-6)


def test_a_soft_cube_bounces_and_loses_energy():
    scene = pl.Scene(gravity=(0, 0, -GRAVITY))
    floor = scene.add(pl.Obstacle.plane(normal=(0, 0, 1)))
    mesh = pl.mesh.box((0.04, 0.04, 0.04), (2, 2, 2)).translated((0, 0, 0.01))
    cube = scene.add(pl.Volume(mesh, pl.materials.NeoHookean(young=1e5, poisson=0.45, density=1000)))
    scene.collide(cube, floor)
    world = scene.compile()
    state, step = world.initial_state(), pl.ImplicitMidpoint(0.004)
    first = world.energy(state)["total"]
    drop, heights = first - 0.064 * GRAVITY * 0.02, []
    for _ in range(60):
        state, _ = step(world, state)
        heights.append(state.points(cube)[:, 2].min())
        assert world.energy(state)["total"] < first + 0.02 * drop
    assert max(heights[15:]) > 1e-3, "it bounces"
    assert min(heights) > -1e-6
    assert world.energy(state)["total"] - first < -0.2 * drop


def test_ribs_that_touch_give_no_energy():
    """Light nodes with friction: Coulomb's law on velocities has solutions of any energy (4e4 times as much)."""
    scene = pl.Scene(gravity=(0, 0, -GRAVITY))
    robot = scene.add(pl.robots.spine(length=0.2, vertebra_count=6, rib_points=(3, 2), friction=0.6))
    world = scene.compile()
    state, step = world.initial_state(), pl.ImplicitMidpoint(0.005, tolerance=1e-8)
    for k in range(1, 23):
        pulls = {robot.cables[6]: pl.Displacement(6e-4 * k), robot.cables[7]: pl.Displacement(2e-4 * k)}
        state, info = step(world, state, pulls)
        assert world.energy(state)["kinetic"] < 0.01
    assert (info.lam[2:] > 0.0).any(), "ribs touch"
