"""Rigid bodies in free motion, on joints and on the ground, against closed forms of classical mechanics."""

import numpy as np
from scipy.special import ellipj, ellipk

import pliant as pl
from pliant.core.types import FloatArray
from validation.literature import constants
from validation.literature.compared import compared
from validation.row import Row

GRAVITY = 9.81
DOWN = (0.0, 0.0, -GRAVITY)


def asymmetric_top(dt: float = 0.01) -> list[Row]:
    """A box that turns near its middle axis: spin about it after 2 s, by Jacobi's elliptic functions."""
    inertia = np.array([1.0, 2.0, 3.0]) * 1e-3
    start = np.array([0.0, 4.0, 0.5])
    box = pl.RigidBody(pl.RigidBody.box(size=(0.1, 0.1, 0.1), mass=1.0).shape, 1.0, np.diag(inertia), spin=start)
    scene = pl.Scene()
    scene.add(box)
    world = scene.compile()
    state, step, until = world.initial_state(), pl.ImplicitMidpoint(dt), 2.0
    for _ in range(round(until / dt)):
        state, _ = step(world, state)
    spins = state.pose(box)[1:].T @ _spin(state, 0)
    (i1, i2, i3), twice, squared = inertia, float(inertia @ start**2), float(np.sum((inertia * start) ** 2))
    rate = np.sqrt((i3 - i2) * (squared - twice * i1) / (i1 * i2 * i3))
    parameter = (i2 - i1) * (twice * i3 - squared) / ((i3 - i2) * (squared - twice * i1))
    peak = np.sqrt((twice * i3 - squared) / (i2 * (i3 - i2)))
    exact = float(peak * ellipj(ellipk(parameter) + rate * until, parameter)[0])
    return [compared("spin about the middle axis after 2 s", float(spins[1]), exact, "rad/s", allowed=0.0001)]


def _spin(state: pl.State, index: int) -> FloatArray:
    """Angular velocity (3,) rad/s of the rigid body with that index, in the world."""
    return np.asarray(state.v[index].reshape(2, 3)[1])


def heavy_top(dt: float = 0.005) -> list[Row]:
    """A fast disc on a stalk in steady precession, I₁Ω² cos θ − I₃ω₃Ω + mgl = 0: angle turned in 0.5 s."""
    mass, arm, tilt, rate = 0.2, 0.05, 0.6, 100.0
    around, across = 4e-4, 2.5e-4
    axis = np.array([np.sin(tilt), 0.0, np.cos(tilt)])
    pivot, weight = (across + mass * arm**2) * np.cos(tilt), mass * GRAVITY * arm
    precession = (around * rate - np.sqrt((around * rate) ** 2 - 4.0 * pivot * weight)) / (2.0 * pivot)
    spin = np.array([0.0, 0.0, precession]) + (rate - precession * np.cos(tilt)) * axis
    disc = pl.RigidBody(
        pl.RigidBody.box(size=(0.1, 0.1, 0.02), mass=mass).shape,
        mass,
        np.diag([across, across, around]),
        position=arm * axis,
        rotation=(0.0, tilt, 0.0),
        velocity=np.cross(spin, arm * axis),
        spin=spin,
    )
    scene = pl.Scene(gravity=DOWN)
    scene.add(disc)
    scene.attach(disc, None, points=[(0.0, 0.0, 0.0)])
    world = scene.compile()
    state, step, turned = world.initial_state(), pl.ImplicitMidpoint(dt), [0.0]
    for _ in range(round(0.5 / dt)):
        state, _ = step(world, state)
        place = state.pose(disc)[0]
        turned.append(np.arctan2(place[1], place[0]))
    return [compared("precession in 0.5 s", float(np.unwrap(turned)[-1]), 0.5 * precession, "rad", allowed=0.003)]


def large_pendulum(dt: float = 0.01) -> list[Row]:
    """A bar that swings by 120° to either side: period 4 √(I/mgl) K(sin² 60°)."""
    length, mass, start = 0.3, 1.0, 2.0 * np.pi / 3.0
    place = np.array([np.sin(start), 0.0, -np.cos(start)]) * length / 2
    bar = pl.RigidBody.box(size=(0.02, 0.02, length), mass=mass, position=place, rotation=(0, -start, 0))
    scene = pl.Scene(gravity=DOWN)
    scene.add(bar)
    scene.add(pl.Hinge(bar, (0, 1, 0), point=(0, 0, 0)))
    inertia = mass / 12 * (length**2 + 0.02**2) + mass * length**2 / 4
    period = 4.0 * np.sqrt(inertia / (mass * GRAVITY * length / 2)) * ellipk(np.sin(start / 2) ** 2)
    run = pl.simulate(scene.compile(), pl.ImplicitMidpoint(dt), until=0.8 * period, progress=False)
    places = np.array([run.state(k).pose(bar)[0] for k in range(len(run))])
    angle = np.arctan2(places[:, 0], -places[:, 2])
    return [
        compared("period at 120°", 2.0 * np.diff(_crossings(run.times, angle))[0], float(period), "s", allowed=0.001)
    ]


def _crossings(times: FloatArray, values: FloatArray) -> FloatArray:
    """Times at which `values` change sign, by linear interpolation."""
    at = np.flatnonzero(values[:-1] * values[1:] < 0.0)
    return np.asarray(times[at] - values[at] * (times[at + 1] - times[at]) / (values[at + 1] - values[at]))


def sliding_to_rolling(dt: float = 0.005) -> list[Row]:
    """A ball thrown along a floor without spin: it rolls at 5/7 of its speed, after 2v/(7μg)."""
    radius, speed, friction = 0.05, 2.0, 0.2
    ball = pl.RigidBody.sphere(radius=radius, mass=1.0, position=(0, 0, radius), velocity=(speed, 0, 0))
    scene = pl.Scene(gravity=DOWN)
    scene.add(ball)
    floor = scene.add(pl.Obstacle.plane(normal=(0, 0, 1)))
    scene.collide(ball, floor, friction=friction)
    world = scene.compile()
    state, step, slips = world.initial_state(), pl.ImplicitEuler(dt), []
    for _ in range(round(0.6 / dt)):
        state, _ = step(world, state)
        slips.append(state.v[0].reshape(2, 3)[0, 0] - radius * _spin(state, 0)[1])
    early = np.array(slips[: max(2, round(0.1 / dt))])
    rate = (early[0] - early[-1]) / (dt * (len(early) - 1))  # slip decays linearly: 7/2 μg
    return [
        compared(
            "speed of rolling", float(state.v[0].reshape(2, 3)[0, 0]), constants.ROLLING * speed, "m/s", allowed=1e-06
        ),
        compared("time of sliding", float(speed / rate), 2.0 * speed / (7.0 * friction * GRAVITY), "s", allowed=1e-06),
    ]


def stopping_distance(dt: float = 0.001) -> list[Row]:
    """A soft block thrown along a floor stops after v²/(2μg)."""
    speed, friction = 1.0, 0.4
    mesh = pl.mesh.box((0.06, 0.06, 0.02), (3, 3, 1), element="hex8")
    rubber = pl.materials.Corotated(young=1e6, poisson=0.4, density=1e3)
    scene = pl.Scene(gravity=DOWN)
    body = scene.add(pl.Volume(mesh, rubber, velocity=(speed, 0, 0)))
    floor = scene.add(pl.Obstacle.plane(normal=(0, 0, 1)))
    scene.collide(body, floor, friction=friction)
    world = scene.compile()
    state, step = world.initial_state(), pl.ImplicitEuler(dt)
    start = state.points(body)[:, 0].mean()
    for _ in range(round(0.4 / dt)):
        state, _ = step(world, state)
    way = float(state.points(body)[:, 0].mean() - start)
    return [compared("stopping distance", way, speed**2 / (2.0 * friction * GRAVITY), "m", allowed=0.006)]


def ball_leaves_a_sphere(dt: float = 0.001) -> list[Row]:
    """A ball that rolls down a fixed sphere without slip leaves it at cos θ = 10/17."""
    large, radius, start = 0.5, 0.05, 0.1
    axis = np.array([np.sin(start), 0.0, np.cos(start)])
    ball = pl.RigidBody.sphere(radius=radius, mass=1.0, position=(large + radius) * axis)
    scene = pl.Scene(gravity=DOWN)
    scene.add(ball)
    fixed = scene.add(pl.Obstacle.sphere(center=(0, 0, 0), radius=large))
    scene.collide(ball, fixed, friction=20.0)  # rolling to the end needs much friction
    world = scene.compile()
    state, step = world.initial_state(), pl.ImplicitEuler(dt)
    for _ in range(round(3.0 / dt)):
        before = state
        state, info = step(world, state)
        place = state.pose(ball)[0]
        if np.arccos(place[2] / np.linalg.norm(place)) > 0.5 and not info.contact_force(ball, fixed).any():
            break
    place = before.pose(ball)[0]
    exact = constants.LEAVING_SPHERE * np.cos(start)
    return [compared("cosine where it leaves", float(place[2] / np.linalg.norm(place)), exact, "", allowed=0.002)]


def ladder(dt: float = 0.001) -> list[Row]:
    """A ladder slides between a smooth wall and a smooth floor: it leaves the wall at 2/3 of its first height."""
    length, start = 1.0, np.radians(70.0)
    size = (length, 0.1, 0.001)
    middle = 0.5 * length * np.array([np.cos(start), 0.0, np.sin(start)])
    bar = pl.RigidBody.box(size=size, mass=1.0, position=middle + 0.0006, rotation=(0.0, start, 0.0))
    scene = pl.Scene(gravity=DOWN)
    scene.add(bar)
    floor = scene.add(pl.Obstacle.plane(normal=(0, 0, 1)))
    wall = scene.add(pl.Obstacle.plane(normal=(1, 0, 0)))
    scene.collide(bar, floor)
    scene.collide(bar, wall)
    world = scene.compile()
    state, step, begun = world.initial_state(), pl.ImplicitEuler(dt), False
    for _ in range(round(2.0 / dt)):
        before = state
        state, info = step(world, state)
        pushed = info.contact_force(bar, wall)[0] > 0.0
        begun = begun or pushed
        if begun and not pushed and state.pose(bar)[0, 2] < 0.95 * middle[2]:
            break
    return [
        compared(
            "height where it leaves the wall",
            float(before.pose(bar)[0, 2] / middle[2]),
            constants.LADDER,
            "",
            allowed=0.004,
        )
    ]
