"""Faces, edges and vertices of bodies and of obstacles of every shape meet each other."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import pliant as pl
from brute_force import surface_distance
from configurations import box
from pliant.constraints.rows import RowView

RUBBER = pl.materials.NeoHookean(young=1e6, poisson=0.4, density=1000)


def wide_box():
    return pl.RigidBody.box(size=(0.05, 0.05, 0.05), mass=0.1, position=(0, 0.002, 0.025))


def soft_cube(cells):
    return pl.Volume(pl.mesh.box((0.05, 0.05, 0.05), (cells,) * 3).translated((-0.025, -0.025, 0)), RUBBER)


def block(size, **options):
    return pl.Obstacle.box(center=(0, 0, -0.5 * size[2]), size=size, **options)


NARROW = {
    "block": lambda: block((0.02, 0.02, 0.02)),
    "beam": lambda: block((0.01, 0.2, 0.02)),
    "lying cylinder": lambda: pl.Obstacle.cylinder(start=(0, -0.1, -0.01), end=(0, 0.1, -0.01), radius=0.01),
    "short lying cylinder": lambda: pl.Obstacle.cylinder(start=(0, -0.01, -0.01), end=(0, 0.01, -0.01), radius=0.01),
    "upright cylinder": lambda: pl.Obstacle.cylinder(start=(0, 0, -0.1), end=(0, 0, 0), radius=0.01),
    "lying capsule": lambda: pl.Obstacle.capsule(start=(0, -0.1, -0.01), end=(0, 0.1, -0.01), radius=0.01),
    "short lying capsule": lambda: pl.Obstacle.capsule(start=(0, -0.01, -0.01), end=(0, 0.01, -0.01), radius=0.01),
    "mesh": lambda: pl.Obstacle.mesh(
        pl.mesh.box((0.02, 0.02, 0.02), (2, 2, 2)).translated((-0.01, -0.01, -0.02)).surface()
    ),
}


def height_after_a_fall(obstacles, body, time=0.3):
    scene = pl.Scene(gravity=(0, 0, -9.81))
    scene.add(body)
    for obstacle in obstacles:
        scene.add(obstacle)
        scene.collide(body, obstacle, friction=0.5)
    world = scene.compile()
    state, penetration = world.initial_state(), 0.0
    while state.time < time - 1e-9:
        state, info = pl.ImplicitEuler(dt=0.01)(world, state)
        penetration = max(penetration, info.penetration)
    rigid = isinstance(body, pl.RigidBody)
    return (state.pose(body)[0][2] if rigid else state.points(body)[:, 2].mean()), penetration


@pytest.mark.parametrize("name", NARROW)
def test_a_wide_box_rests_on_a_narrow_obstacle(name):
    """Every vertex of the box overhangs."""
    height, penetration = height_after_a_fall([NARROW[name]()], wide_box())
    assert height == pytest.approx(0.025, abs=1e-5)
    assert penetration < 1e-5


@pytest.mark.parametrize("cells", [1, 3])
def test_a_coarse_soft_cube_rests_on_a_narrow_block(cells):
    height, penetration = height_after_a_fall([block((0.012, 0.012, 0.02))], soft_cube(cells))
    assert height == pytest.approx(0.025, abs=1e-4)
    assert penetration < 1e-5


@pytest.mark.parametrize("beside", [0.0, 1e-4])
def test_a_box_rests_on_the_seam_of_two_flush_blocks(beside):
    blocks = [pl.Obstacle.box(center=(x, 0, -0.05), size=(0.2, 0.2, 0.1), name=f"block {x}") for x in (-0.1, 0.1)]
    body = pl.RigidBody.box(size=(0.05, 0.05, 0.05), mass=0.1, position=(0.025 + beside, 0.013, 0.025))
    height, penetration = height_after_a_fall(blocks, body)
    assert height == pytest.approx(0.025, abs=1e-6)
    assert penetration < 1e-6


@pytest.mark.parametrize("wider", [0.0, 0.01])
def test_an_obstacle_presses_a_block_whose_sides_are_flush_with_its_own(wider):
    """Plane strain: every vertex of the block lies in the plane of a side of the obstacle."""
    scene = pl.Scene()
    mesh = pl.mesh.box((0.1, 0.1, 0.1), (2, 1, 2), element="hex8")
    body = scene.add(pl.Volume(mesh, RUBBER, clamp=pl.regions.plane(axis="z", at=0.0)))
    scene.add(pl.Support(body, pl.regions.everything(), "y"))
    motion = {"motion": lambda t: ((0, 0, -t), (0, 0, 0))}
    size = (0.3, 0.1 + 2 * wider, 0.05)
    scene.collide(body, scene.add(pl.Obstacle.box(center=(0.05, 0.05, 0.125), size=size, **motion)))
    run = pl.simulate(scene.compile(), pl.ImplicitEuler(dt=0.001), until=0.01)
    assert run.points(body)[-1][:, 2].max() == pytest.approx(0.09, abs=1e-6)


def sphere_distance(x, center, radius):
    return np.linalg.norm(x - center, axis=-1) - radius


def capsule_distance(x, start, end, radius):
    axis = end - start
    t = np.clip((x - start) @ axis / (axis @ axis), 0, 1)
    return np.linalg.norm(x - start - t[..., None] * axis, axis=-1) - radius


def cylinder_distance(x, start, end, radius):
    length = np.linalg.norm(end - start)
    axis = (end - start) / length
    height = (x - start) @ axis
    out = np.linalg.norm(x - start - height[..., None] * axis, axis=-1) - radius
    beyond = np.abs(height - 0.5 * length) - 0.5 * length
    outside = np.hypot(np.maximum(out, 0), np.maximum(beyond, 0))
    return np.where(outside > 0, outside, np.maximum(out, beyond))


def least_on_triangles(distance, corners):
    """Least value of a convex function on triangles (t, 3, 3), by nested ternary searches."""

    def along(edge_start, edge_end):
        low, high = np.zeros(edge_start.shape[:-1]), np.ones(edge_start.shape[:-1])
        for _ in range(40):
            third = (high - low) / 3
            left, right = low + third, high - third
            first, second = (distance(edge_start + t[..., None] * (edge_end - edge_start)) for t in (left, right))
            low, high = np.where(first > second, left, low), np.where(first > second, high, right)
        return distance(edge_start + low[..., None] * (edge_end - edge_start))

    a, b, c = corners[:, 0], corners[:, 1], corners[:, 2]
    low, high = np.zeros(len(a)), np.ones(len(a))
    for _ in range(40):
        third = (high - low) / 3
        values = []
        for t in (low + third, high - third):
            values.append(along(a + t[:, None] * (b - a), a + t[:, None] * (c - a)))
        low, high = (
            np.where(values[0] > values[1], low + third, low),
            np.where(values[0] > values[1], high, high - third),
        )
    return along(a + low[:, None] * (b - a), a + low[:, None] * (c - a)).min()


ENDS = {"start": np.array([0.0, -0.01, 0.0]), "end": np.array([0.003, 0.01, 0.0])}
ROUND = {
    "sphere": (sphere_distance, {"center": np.array([0.002, 0.001, 0.0]), "radius": 0.006}),
    "capsule": (capsule_distance, {**ENDS, "radius": 0.004}),
    "cylinder": (cylinder_distance, {**ENDS, "radius": 0.004}),
}


def least_gap(rotation, position, obstacle, margin=0.02):
    scene = pl.Scene()
    spin = Rotation.from_matrix(rotation).as_rotvec()
    body = scene.add(pl.RigidBody.box(size=(0.03, 0.02, 0.04), mass=1.0, position=position, rotation=spin))
    scene.add(obstacle)
    scene.collide(body, obstacle, margin=margin, allow_overlap=True)
    world = scene.compile()
    view = RowView.of(world.models, speeds=[model.initial()[1] for model in world.models])
    pair = world.constraints[0]
    found = pair.contact_set(view, None)
    return float(found.gap.min(initial=np.inf)), pair.overlap(view)


def placements(count, seed):
    rng = np.random.default_rng(seed)
    for turn in Rotation.random(count, rng=rng).as_matrix():
        way = rng.normal(size=3)
        yield turn, rng.uniform(0.01, 0.03) * way / np.linalg.norm(way)


@pytest.mark.parametrize("name", ROUND)
def test_the_distance_to_a_round_obstacle_is_that_of_brute_force(name):
    formula, options = ROUND[name]
    corners, triangles = box((0.03, 0.02, 0.04))
    for turn, position in placements(12, seed=4):
        points = corners @ turn.T + position
        middle = np.mean([value for key, value in options.items() if key != "radius"], axis=0)
        if name == "sphere" and (np.abs((middle - position) @ turn) < (0.015, 0.01, 0.02)).all():
            continue  # its centre is inside: the distance of the triangles is none of the body
        exact = least_on_triangles(lambda x: formula(x, **options), points[triangles])
        gap, overlap = least_gap(turn, position, getattr(pl.Obstacle, name)(**options))
        if exact > 0:
            # edges that dip by less than 5 % of their length leave the contact to their vertices
            assert exact - 1e-7 <= gap <= exact + 0.05 * 0.05
            assert overlap == 0
        else:
            assert gap < 0.05 * 0.05
            assert overlap >= -0.99 * exact


@pytest.mark.parametrize("name", ["box", "mesh"])
def test_the_distance_to_an_obstacle_with_facets_is_that_of_brute_force(name):
    corners, triangles = box((0.03, 0.02, 0.04))
    size = np.array([0.012, 0.03, 0.01])
    other, other_triangles = box(size)
    if name == "box":
        obstacle = pl.Obstacle.box(center=(0, 0, 0), size=size)
    else:
        obstacle = pl.Obstacle.mesh(pl.mesh.box(tuple(size), (1, 1, 1)).translated(-0.5 * size).surface())
    for turn, position in placements(25, seed=5):
        points = corners @ turn.T + position
        exact = surface_distance(points[None], triangles, other[None], other_triangles)[0]
        gap, overlap = least_gap(turn, position, obstacle)
        if overlap == 0:
            assert gap == pytest.approx(exact, abs=1e-7)
        else:
            assert gap < 0


@pytest.mark.parametrize("friction", [0.0, 0.5])
@pytest.mark.parametrize("radius", [0.004, 0.01, 0.03])
def test_a_ball_travels_over_edges_of_a_coarse_surface(radius, friction):
    """Over faces, edges and between vertices 20 mm apart it neither sinks in nor loses speed; with friction it rolls at
    5/7 of its speed.
    """
    scene = pl.Scene(gravity=(0, 0, -9.81))
    mesh = pl.mesh.box((0.16, 0.08, 0.02), (8, 4, 1)).translated((-0.02, -0.04, -0.02))
    material = pl.materials.Corotated(young=5e6, poisson=0.3, density=1e3)
    plate = scene.add(pl.Volume(mesh, material, clamp=pl.regions.plane((0, 0, -0.02), (0, 0, 1))))
    ball = pl.RigidBody.sphere(radius=radius, mass=0.05, position=(0.003, 0.0037, radius), velocity=(0.2, 0.03, 0.0))
    scene.collide(plate, scene.add(ball), friction=friction)
    world = scene.compile()
    state, step = world.initial_state(), pl.ImplicitEuler(dt=0.005)
    for _ in range(40):
        state, info = step(world, state)
        assert info.penetration < 2e-6
    assert state.v[1].ravel()[0] == pytest.approx(0.2 * (5.0 / 7.0 if friction else 1.0), rel=0.02)
