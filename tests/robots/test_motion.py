"""Robots as they move: each actuator bends its robot to its own side."""

import numpy as np
import pytest

import pliant as pl
from pliant import robots


@pytest.fixture(scope="module")
def finger():
    return robots.finger()


@pytest.fixture(scope="module")
def trunk():
    return robots.trunk()


def test_the_cable_curls_the_finger_towards_its_palm(finger, settle):
    state, info = settle(finger, lambda s: {finger.cable: pl.Displacement(0.02 * s)})
    moved = finger.tip.at(state) - finger.tip.position
    shortening, tension = info.actuation(finger.cable)
    assert moved[2] < -0.03, "strongly, and to −z, where the cable is"
    assert moved[0] < -0.005
    assert abs(moved[1]) < 1e-9, "out and back the cable pulls without a side"
    assert shortening == pytest.approx(0.02, abs=1e-9)
    assert 0.2 < tension < 5.0


def test_a_finger_pulled_far_presses_its_phalanges_together(finger):
    """40 mm of cable under gravity at 20 ms: overlap below 0.1 mm throughout, against millimetres without contact."""
    held, info, state = _pulled_far(finger, touching=True)
    free, _, _ = _pulled_far(finger, touching=False)
    contacts = info.contacts(finger.body, finger.body)
    print(f"largest overlap {1e3 * held:.4f} mm, without contact {1e3 * free:.2f} mm")
    assert np.linalg.norm(contacts.forces, axis=1).max() > 0.05
    assert contacts.gaps.min() > -1e-4
    assert free > 1e-3, "without contact the phalanges run through each other"
    assert held < 1e-4
    assert np.abs(state.velocities(finger.body)).max() < 1e-3, "at rest: no contact comes and goes"


def _pulled_far(finger, *, touching, steps=100):
    """Largest overlap, m, last info and state of a finger whose cable is pulled by 40 mm."""
    scene = pl.Scene(gravity=(0, 0, -9.81))
    scene.add(finger)
    if touching:
        scene.collide(finger, finger, margin=finger.margin)
    world = scene.compile()
    state, step, deepest = world.initial_state(), pl.ImplicitEuler(dt=0.02), 0.0
    for number in range(1, steps + 1):
        state, info = step(world, state, {finger.cable: pl.Displacement(0.04 * min(1.0, 1.5 * number / steps))})
        if number % 4 == 0:
            deepest = max(deepest, _overlap(finger.body.mesh, state.points(finger.body)))
    return deepest, info, state


def _overlap(mesh, now):
    """Deepest corner or middle of an edge of a phalanx inside another one, m: by barycentric coordinates in its cells
    and brute-force distances to its faces, nothing of the collision detection.
    """
    ends = [0.016, 0.044, 0.072]
    block = np.searchsorted(ends, mesh.points[mesh.cells].mean(axis=1)[:, 0])
    cells = [mesh.cells[block == number] for number in range(4)]
    faces = [_border(one) for one in cells]
    deepest = 0.0
    for a in range(4):
        middles = 0.5 * (now[faces[a]] + now[np.roll(faces[a], 1, axis=1)])
        points = np.vstack([now[np.unique(faces[a])], middles.reshape(-1, 3)])
        for b in (a - 1, a + 1):
            if 0 <= b < 4:
                corners = now[cells[b]]
                edges = (corners[:, 1:] - corners[:, :1]).transpose(0, 2, 1)
                part = np.einsum("tij,tpj->tpi", np.linalg.inv(edges), points - corners[:, :1])
                inside = ((part > 1e-6).all(axis=2) & (part.sum(axis=2) < 1.0 - 1e-6)).any(axis=0)
                if inside.any():
                    deepest = max(deepest, float(_distances(points[inside], now[faces[b]]).min(axis=1).max()))
    return deepest


def _border(cells):
    """Faces (f, 3) that belong to one of the tetrahedra only."""
    faces = cells[:, [[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]]].reshape(-1, 3)
    _, which, count = np.unique(np.sort(faces, axis=1), axis=0, return_inverse=True, return_counts=True)
    return faces[count[which.ravel()] == 1]


def _distances(points, triangles):
    """Distances of points (p, 3) to triangles (t, 3, 3), (p, t): to the plane over the inside, else to an edge."""
    corners = triangles.transpose(1, 0, 2)
    normal = np.cross(corners[1] - corners[0], corners[2] - corners[0])
    normal /= np.linalg.norm(normal, axis=1)[:, None]
    height = np.einsum("pti,ti->pt", points[:, None] - corners[0], normal)
    nearest, over = np.full(height.shape, np.inf), np.ones(height.shape, bool)
    for start, end in zip(corners, np.roll(corners, -1, axis=0), strict=True):
        edge, away = end - start, points[:, None] - start
        along = np.clip(np.einsum("pti,ti->pt", away, edge) / np.einsum("ti,ti->t", edge, edge), 0.0, 1.0)
        nearest = np.minimum(nearest, np.linalg.norm(away - along[..., None] * edge, axis=2))
        over &= np.einsum("pti,ti->pt", away, np.cross(normal, edge)) >= 0.0
    return np.where(over, np.abs(height), nearest)


def test_opposite_cables_bend_the_trunk_in_opposite_directions(trunk, settle):
    tips = []
    for cable in (trunk.cables[0], trunk.cables[2], trunk.cables[1]):
        state, _ = settle(trunk, lambda s, cable=cable: {cable: pl.Displacement(0.015 * s)}, steps=25)
        tips.append(trunk.tip.at(state))
    assert tips[0][0] > 0.04, "the first cable runs at +x"
    assert tips[1] == pytest.approx(tips[0] * (-1, -1, 1), abs=1e-8)
    assert tips[2] == pytest.approx(tips[0][[1, 0, 2]], abs=1e-8), "and a quarter turn gives the same again"


def test_short_cables_bend_only_the_lower_half(trunk, settle):
    state, _ = settle(trunk, lambda s: {trunk.cables[4]: pl.Displacement(0.006 * s)}, steps=80)
    now, rest = state.points(trunk.body), trunk.body.mesh.points
    upper = rest[:, 2] > 0.12
    motion = now[upper] - now[upper].mean(axis=0)
    shape = rest[upper] - rest[upper].mean(axis=0)
    u, _, v = np.linalg.svd(motion.T @ shape)
    assert np.abs(motion - shape @ (u @ v).T).max() < 2e-4, "the upper half moves as one"
    assert trunk.tip.at(state)[0] > 0.02


@pytest.mark.parametrize(("number", "axis", "sign"), [(0, 0, 1), (1, 0, -1), (2, 1, 1), (3, 1, -1)])
def test_each_chamber_tips_the_tower_to_its_side(number, axis, sign, settle):
    tower = robots.tower()
    air = tower.cavities[number]
    state, info = settle(tower, lambda s: {air: pl.Pressure(6e3 * s)}, touching=True)
    moved = tower.tip.at(state) - tower.tip.position
    assert sign * moved[axis] > 1e-3
    assert abs(moved[1 - axis]) < 0.4 * abs(moved[axis]), "the bridge below a storey gives way to its own side"
    assert info.actuation(air)[0] > 0.0
    contacts = info.contacts(tower.body, tower.body)
    assert np.linalg.norm(contacts.forces, axis=1).max() > 0.01
    assert contacts.gaps.min() > -1e-4


@pytest.mark.parametrize("kind", ["cavity", "load"])
def test_an_inflated_tower_rests_in_one_shape_whatever_the_step(kind):
    """The softening by a pressure must not outrun the tangent: at rest in the same shape with 20 and 5 ms."""
    tower = robots.tower()
    chamber = tower.cavities[3]
    tips = []
    for dt, steps in ((0.02, 60), (0.005, 240)):
        scene = pl.Scene()
        body = scene.add(tower.body)
        inside = pl.regions.nodes(chamber.surface.nodes)
        air = scene.add(chamber if kind == "cavity" else pl.PressureLoad(body, inside, 0.0))
        world = scene.compile()
        state, step = world.initial_state(), pl.ImplicitEuler(dt=dt)
        for number in range(steps):
            state, _ = step(world, state, {air: pl.Pressure(3e3 * min(1.0, 1.5 * (number + 1) / steps))})
        tips.append(tower.tip.at(state) - tower.tip.position)
        assert np.abs(state.velocities(body)).max() < 1e-3
    assert np.linalg.norm(tips[1]) > 1e-3
    assert tips[0] == pytest.approx(tips[1], abs=2e-5)


def test_the_bellows_extends_straight_under_pressure_and_shortens_under_suction(settle):
    bellows = robots.bellows()
    lengths = []
    for pressure in (4e3, -4e3):
        state, info = settle(bellows, lambda s, p=pressure: {bellows.cavity: pl.Pressure(p * s)}, steps=20)
        moved = bellows.tip.at(state) - bellows.tip.position
        assert np.abs(moved[:2]).max() < 1e-9
        assert np.sign(info.actuation(bellows.cavity)[0]) == np.sign(pressure)
        lengths.append(moved[2])
    assert lengths[0] > 0.004
    assert lengths[1] < -0.003


def test_air_bends_the_pneunet_towards_its_sole(settle):
    pytest.importorskip("gmsh")
    pneunet = robots.pneunet(cell_size=0.005)
    state, _ = settle(pneunet, lambda s: {pneunet.cavity: pl.Pressure(24e3 * s)}, steps=15)
    moved = pneunet.tip.at(state) - pneunet.tip.position
    assert moved[2] < -0.005
    assert abs(moved[1]) < 0.1 * abs(moved[2])


def test_a_placed_robot_moves_as_the_one_at_the_origin(finger):
    tips = []
    for place in ({}, {"position": (0.1, 0.2, 0.3), "rotation": (0.0, 0.0, 0.5 * np.pi)}):
        scene = pl.Scene()
        scene.add(finger, **place)
        world = scene.compile()
        state = world.initial_state()
        start = finger.tip.at(state)
        for _ in range(5):
            state, _ = pl.ImplicitEuler(dt=0.02)(world, state, {finger.cable: pl.Displacement(0.01)})
        tips.append(finger.tip.at(state) - start)
    x, y, z = tips[0]
    assert tips[1] == pytest.approx([-y, x, z], abs=1e-9)


def test_a_marker_follows_a_run(finger):
    scene = pl.Scene(gravity=(0, 0, -9.81))
    scene.add(finger)
    run = pl.simulate(scene.compile(), pl.ImplicitEuler(dt=0.02), until=0.1)
    path = finger.tip.along(run.points(finger.body))
    assert path.shape == (6, 3)
    assert path[0] == pytest.approx(finger.tip.position)
    assert path[-1, 2] < path[0, 2]
