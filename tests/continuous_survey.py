"""Random fast bodies in closed thin-walled containers: an independent check that nothing passes through.

The solid angle of the outer surface of the container around the points of the body inside tells whether they are still
inside, whatever happened within the step. `python tests/continuous_survey.py FIRST COUNT [rigid | other]` runs scenes
by their seed: rigid contents of soft and rigid containers, or soft cubes and rods in these and in moving obstacles.
"""

import sys

import numpy as np

import pliant as pl
from pliant.core.immutable import evolve

SOFT = pl.materials.Corotated(young=3e6, poisson=0.3, density=1000)
WALL = np.array([0.0, 0.002, 0.021, 0.04, 0.042])
"""Coordinates of the nodes of a container along an axis, m: walls of 2 mm around 38 mm."""


def container():
    """A hollow cube about the origin and the triangles of its outer surface."""
    count = len(WALL) - 1
    mesh = pl.mesh.box((count, count, count), (count, count, count))
    points = np.interp(mesh.points, np.arange(count + 1), WALL) - 0.5 * WALL[-1]
    middle = points[mesh.cells].mean(axis=1)
    cells = mesh.cells[(np.abs(middle) > 0.5 * WALL[-1] - WALL[1]).any(axis=1)]
    used, cells = np.unique(cells, return_inverse=True)
    hollow = pl.mesh.Mesh(points[used], cells.reshape(-1, 4), "tet4")
    triangles = hollow.surface().triangles
    at = hollow.points[triangles]
    outer = (np.abs(at.mean(axis=1)) > 0.5 * WALL[-1] - 1e-6).any(axis=1)
    return hollow, triangles[outer]


def is_inside(triangles, points, places):
    """Whether `places` (p, 3) are inside the closed surface, by its solid angle (Van Oosterom and Strackee, 1983)."""
    x = points[triangles][None] - places[:, None, None]
    length = np.linalg.norm(x, axis=-1)
    a, b, c = (x[:, :, k] for k in range(3))
    volume = np.einsum("pti,pti->pt", a, np.cross(b, c))
    below = length.prod(axis=-1)
    for i, j, k in ((0, 1, 2), (1, 2, 0), (2, 0, 1)):
        below = below + np.einsum("pti,pti->pt", x[:, :, i], x[:, :, j]) * length[:, :, k]
    angle = 2.0 * np.arctan2(volume, below).sum(axis=1)
    return np.abs(angle) > 2.0 * np.pi


def scene_of(seed):
    """The world of a seed, its initial state, the container with its outer triangles, and the points of the content."""
    rng = np.random.default_rng(seed)
    mesh, outer = container()
    scene = pl.Scene(gravity=(0, 0, -9.81))
    soft = bool(rng.integers(2))
    held = pl.regions.box((-1, -1, -1), (1, 1, -0.5 * WALL[-1] + 1e-6))
    if soft:
        box = scene.add(pl.Volume(mesh, SOFT, clamp=held, name="container"))
    else:
        box = scene.add(pl.RigidBody.mesh(mesh.surface(), mass=0.05, name="container"))
    speed = 10.0 ** rng.uniform(0.5, 2.0)
    direction = rng.normal(size=3)
    velocity = speed * direction / np.linalg.norm(direction)
    start = {
        "position": rng.uniform(-0.006, 0.006, 3), "rotation": rng.normal(size=3), "velocity": velocity,
        "spin": rng.normal(size=3) * 10.0 ** rng.uniform(0, 3), "name": "content",
    }  # fmt: skip
    kind = ("ball", "small ball", "cube", "needle", "plate")[int(rng.integers(5))]
    shapes = {"cube": (0.01, 0.01, 0.01), "needle": (0.0008, 0.0008, 0.02), "plate": (0.015, 0.015, 0.001)}
    mass = 0.003
    if kind in shapes:
        content = scene.add(pl.RigidBody.box(size=shapes[kind], mass=mass, **start))
    else:
        radius = 0.005 if kind == "ball" else 0.0015
        content = scene.add(pl.RigidBody.sphere(radius=radius, mass=mass, **start))
    scene.collide(box, content, friction=float(rng.choice([0.0, 0.5])), continuous=True)
    world = scene.compile()
    return world, world.initial_state(), (box, outer), content, f"{'soft' if soft else 'rigid'} {kind} {speed:.1f} m/s"


def other_scene_of(seed):
    """As `scene_of`, of a soft cube or a rod in a soft, rigid or moved container."""
    rng = np.random.default_rng(seed)
    mesh, outer = container()
    scene = pl.Scene(gravity=(0, 0, -9.81))
    outside = ("soft", "rigid", "moved")[int(rng.integers(3))]
    speed = 10.0 ** rng.uniform(0.5, 1.3)  # less than half of the speed of waves in these bodies
    velocity = rng.normal(size=3)
    velocity *= speed / np.linalg.norm(velocity)
    turn = rng.normal(size=3) * 10.0 ** rng.uniform(0, 1.5)
    if outside == "soft":
        held = pl.regions.box((-1, -1, -1), (1, 1, -0.5 * WALL[-1] + 1e-6))
        box = scene.add(pl.Volume(mesh, SOFT, clamp=held, name="container"))
    elif outside == "rigid":
        box = scene.add(pl.RigidBody.mesh(mesh.surface(), mass=0.05, name="container"))
    else:
        box = scene.add(pl.Obstacle.mesh(mesh.surface(), motion=lambda t: (velocity * t, turn * t), name="container"))
    kind = ("cube", "rod")[int(rng.integers(2))]
    place = rng.uniform(-0.004, 0.004, 3)
    if kind == "cube":
        cube = pl.mesh.box((0.012,) * 3, (2,) * 3).translated((-0.006,) * 3)
        content = scene.add(pl.Volume(cube, SOFT, name="content"), position=place, rotation=rng.normal(size=3))
    else:
        made = {"section": pl.sections.Circle(0.0008), "young": 1e7, "poisson": 0.3, "density": 1000}
        content = scene.add(pl.Rod(0.02, 4, position=place - (0.01, 0, 0), base="free", name="content", **made))
    scene.collide(box, content, friction=float(rng.choice([0.0, 0.5])), continuous=True)
    world = scene.compile()
    state = world.initial_state()
    v = [np.array(each) for each in state.v]
    if outside != "moved":
        index = 1
        v[index] = np.broadcast_to(velocity, v[index].shape).copy() if kind == "cube" else v[index]
        if kind == "rod":
            v[index][0] = velocity
    return world, evolve(state, v=tuple(v)), (box, outer), content, f"{outside} {kind} {speed:.1f} m/s"


SCENES = {"rigid": scene_of, "other": other_scene_of}


def outer_points(box, state):
    """The points of a container in `state`; those of an obstacle where its motion has brought it."""
    if not isinstance(box, pl.Obstacle):
        return state.points(box)
    pose = box.pose(state.time)
    return pose[0] + container()[0].points @ pose[1:].T


def passes_through(seed, *, steps=3, dt=0.01, scene=scene_of):
    """What is wrong with the scene of a seed after `steps`: None, "passed" or the error; and what it is."""
    world, state, (box, outer), content, name = scene(seed)
    step = pl.ImplicitEuler(dt=dt)
    for _ in range(steps):
        try:
            state, info = step(world, state)
        except pl.PliantError as error:
            return f"{type(error).__name__}: {error}"[:160], name
        points, places = outer_points(box, state), state.points(content)
        if not is_inside(outer, points, places).all():
            return f"passed, parts {info.parts}", name
    return None, name


if __name__ == "__main__":
    first, count = (int(value) for value in sys.argv[1:3])
    made = SCENES[sys.argv[3] if len(sys.argv) > 3 else "rigid"]
    wrong = 0
    for seed in range(first, first + count):
        found, name = passes_through(seed, scene=made)
        if found is not None:
            wrong += 1
            print(seed, name, found, flush=True)
    print(f"{count} scenes, {wrong} wrong")
