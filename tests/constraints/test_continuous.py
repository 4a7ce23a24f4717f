"""Continuous collision detection: nothing passes through at any speed."""

import numpy as np
import pytest

import pliant as pl
from continuous_survey import container, is_inside, other_scene_of, passes_through
from pliant.collision import Box, Capsule, Cylinder, Plane, Sphere
from pliant.collision.continuous.simplex_distance import distances
from pliant.constraints import RowView
from pliant.constraints.continuous import Path, _core, crossing_time
from pliant.core.immutable import evolve

SOFT = pl.materials.Corotated(young=1e6, poisson=0.3, density=1000)
WIRE = {"section": pl.sections.Circle(0.001), "young": 1e7, "poisson": 0.3, "density": 1000}


def sheet(side=0.1, cells=8):
    """A sheet of 2 mm below z = 0, clamped along two sides."""
    mesh = pl.mesh.box((side, side, 0.002), (cells, cells, 1)).translated((-side / 2, -side / 2, -0.002))
    low, high = -0.5 * side + 1e-6, 0.5 * side - 1e-6
    ends = pl.regions.box((-1, -1, -1), (low, 1, 1)) | pl.regions.box((high, -1, -1), (1, 1, 1))
    return pl.Volume(mesh, SOFT, clamp=ends, name="sheet")


def ball(position, velocity):
    return lambda: pl.RigidBody.sphere(radius=0.005, mass=0.004, position=position, velocity=velocity)


THINGS = {
    "ball": ball((0.003, 0.004, 0.1), (0, 0, -50)),
    "oblique ball": ball((-0.03, 0.004, 0.1), (20, 3, -50)),
    "needle": lambda: pl.RigidBody.box(
        size=(0.0006, 0.0006, 0.04), mass=0.002, position=(0.0031, 0.0043, 0.1), velocity=(0, 0, -50)
    ),
    "cube on its edge": lambda: pl.RigidBody.box(
        size=(0.02, 0.02, 0.02),
        mass=0.004,
        position=(0.003, 0.001, 0.12),
        velocity=(0, 0, -20),
        rotation=(0.7854, 0, 0),
    ),
    "cube": lambda: pl.Volume(pl.mesh.box((0.02,) * 3, (2,) * 3).translated((-0.01, -0.01, 0.2)), SOFT, name="cube"),
}


def moved_to(state, velocity):
    """The state with the velocity of its last body, a volume."""
    return evolve(state, v=(*state.v[:-1], np.broadcast_to(np.array(velocity, float), state.v[-1].shape).copy()))


@pytest.mark.filterwarnings("ignore::pliant.PliantWarning")
@pytest.mark.parametrize("name", THINGS)
def test_a_fast_body_does_not_pass_a_thin_sheet(name):
    scene = pl.Scene()
    soft, thing = scene.add(sheet()), scene.add(THINGS[name]())
    scene.collide(soft, thing, continuous=True)
    world = scene.compile()
    state, step = world.initial_state(), pl.ImplicitEuler(dt=0.01)
    if name == "cube":
        state = moved_to(state, (0, 0, -20))
    parts = 0
    for _ in range(2):
        state, info = step(world, state)
        parts += info.parts
    assert state.points(thing)[:, 2].mean() > state.points(soft)[:, 2].min() - 1e-3
    assert parts > 2  # it was hit


@pytest.mark.filterwarnings("ignore::pliant.PliantWarning")
def test_a_rod_does_not_pass_a_thin_sheet():
    scene = pl.Scene(gravity=(0, 0, -2000.0))
    soft = scene.add(sheet())
    rod = scene.add(pl.Rod(0.06, 6, position=(-0.03, 0.0031, 0.15), base="free", **WIRE))
    scene.collide(soft, rod, continuous=True)
    world = scene.compile()
    state, step = world.initial_state(), pl.ImplicitEuler(dt=0.01)
    for _ in range(2):
        state, _ = step(world, state)
        points, below = state.points(rod), state.points(soft)[:, 2].min()
        over = (np.abs(points[:, :2]) < 0.05).all(axis=1)  # after the impact it may fall beside the sheet
        assert (points[over, 2] > below - 1e-3).all()


@pytest.mark.parametrize("speed", [8.0, 40.0])
def test_a_rod_does_not_pass_another(speed):
    """80 and 400 mm in a step, of rods of 2 mm; where they are nearest the upper one stays above."""
    wire = WIRE | {"young": 1e8}
    scene = pl.Scene()
    lower = scene.add(pl.Rod(0.06, 6, position=(-0.03, 0, 0), base="free", **wire))
    upper = scene.add(pl.Rod(0.06, 6, position=(0.0031, -0.03, 0.03), rotation=(0, 0, np.pi / 2), base="free", **wire))
    scene.collide(lower, upper, continuous=True)
    world = scene.compile()
    state = world.initial_state()
    v = state.v[1].copy()
    v[0] = (0, 0, -speed)
    state, _ = pl.ImplicitEuler(dt=0.01)(world, evolve(state, v=(state.v[0], v)))
    a, b = (np.stack([x[:-1], x[1:]], axis=1) for x in (state.points(lower), state.points(upper)))
    i, j = (k.ravel() for k in np.indices((len(a), len(b))))
    nearest = np.argmin(distances(a[i], b[j]))
    assert b[j[nearest], :, 2].mean() > a[i[nearest], :, 2].mean() + 1e-3


def clip():
    """Two plates of 2 mm with a slit of 8 mm between them, joined at one end; the lower one is clamped."""
    mesh = pl.mesh.box((0.04, 0.01, 0.012), (8, 2, 6))
    center = mesh.points[mesh.cells].mean(axis=1)
    kept = (center[:, 0] < 0.005) | (np.abs(center[:, 2] - 0.006) > 0.004)
    used, cells = np.unique(mesh.cells[kept], return_inverse=True)
    made = pl.mesh.Mesh(mesh.points[used], cells.reshape(-1, mesh.cells.shape[1]), mesh.element)
    return pl.Volume(made, SOFT, clamp=pl.regions.box((-1, -1, -1), (1, 1, 0.0021)), name="clip")


@pytest.mark.filterwarnings("ignore::pliant.PliantWarning")
@pytest.mark.parametrize("continuous", [False, True])
def test_a_body_does_not_pass_itself(continuous):
    """The upper plate begins at 20 m/s: 25 times the slit in a step."""
    scene = pl.Scene()
    body = scene.add(clip())
    scene.collide(body, body, continuous=continuous)
    world = scene.compile()
    state = world.initial_state()
    x = state.points(body)
    upper = (x[:, 2] > 0.0099) & (x[:, 0] > 0.0249)
    state = evolve(state, v=(np.where((x[:, 2] > 0.0099) & (x[:, 0] > 0.0051), 1.0, 0.0)[:, None] * [0, 0, -20.0],))
    step, lowest = pl.ImplicitEuler(dt=0.01), np.inf
    for _ in range(2):
        state, _ = step(world, state)
        lowest = min(lowest, state.points(body)[upper, 2].min())
    assert (lowest > 0.002 - 2e-4) == continuous


def test_a_plate_thinner_than_its_motion_pushes_a_body():
    """20 m/s in steps of 10 ms: it moves by 200 times its thickness."""
    for continuous in (False, True):
        scene = pl.Scene()
        cube = scene.add(pl.Volume(pl.mesh.box((0.02,) * 3, (2,) * 3).translated((-0.01, -0.01, -0.01)), SOFT))

        def motion(time):
            return (-0.3 + 20.0 * time, 0.0, 0.0), (0.0, 0.0, 0.0)

        plate = scene.add(pl.Obstacle.box(center=(0, 0.001, 0), size=(0.001, 0.1, 0.1), motion=motion))
        scene.collide(cube, plate, continuous=continuous)
        world = scene.compile()
        state, step = world.initial_state(), pl.ImplicitEuler(dt=0.01)
        for _ in range(4):
            state, _ = step(world, state)
        in_front = state.points(cube)[:, 0].min() > -0.3 + 20.0 * state.time - 1e-4
        assert in_front == continuous


@pytest.mark.filterwarnings("ignore::pliant.PliantWarning")
@pytest.mark.parametrize("seed", [1, 21, 51, 59, 63, 119, 284, 574, 683, 708])
def test_nothing_leaves_a_thin_container(seed):
    """Seeds whose speculative contacts contradict each other, that turn by more than half a turn in a step, whose
    corners slide in a face that they entered a little, whose last contact was another wall, whose walls are thinner
    than the margin, that pass over the bottom of a pit, or whose parts fail and are repeated in halves.
    """
    found, name = passes_through(seed)
    assert found is None, (name, found)


@pytest.mark.filterwarnings("ignore::pliant.PliantWarning")
@pytest.mark.parametrize("seed", [1, 2, 3, 5, 9, 11, 14, 59])
def test_nothing_soft_leaves_a_container_that_is_soft_rigid_or_moved(seed):
    found, name = passes_through(seed, scene=other_scene_of)
    assert found is None, (name, found)


@pytest.mark.filterwarnings("ignore::pliant.PliantWarning")
def test_a_rod_gains_no_energy_while_it_bends_and_bounces_in_a_container():
    """Of single linear solves each gained some, up to 500 times the energy of the throw, until the step failed."""
    world, state, _, content, _ = other_scene_of(1)
    step, energy = pl.ImplicitEuler(dt=0.01), world.energy(state)["total"]
    for _ in range(3):
        state, _ = step(world, state)
        before, energy = energy, world.energy(state)["total"]
        assert energy <= before
    assert np.ptp(state.points(content), axis=0).max() < 0.02


def test_the_check_tells_inside_from_outside():
    mesh, outer = container()
    places = np.array([[0.0, 0.0, 0.0], [0.0, 0.0, 0.0205], [0.0, 0.0, 0.0215], [0.1, 0.0, 0.0]])
    np.testing.assert_array_equal(is_inside(outer, mesh.points, places), [True, True, False, False])


def test_distances_of_points_segments_and_triangles():
    rng = np.random.default_rng(0)
    weights = {1: np.ones((1, 1)), 2: np.stack([np.linspace(0, 1, 41), 1 - np.linspace(0, 1, 41)], axis=1)}
    grid = np.array([(i, j, 40 - i - j) for i in range(41) for j in range(41 - i)]) / 40.0
    weights[3] = grid
    for k, size in ((1, 1), (1, 2), (1, 3), (2, 2), (2, 3)):
        x, y = rng.normal(size=(20, k, 3)), rng.normal(size=(20, size, 3))
        found = distances(x, y)
        for m in range(20):
            p, q = weights[k] @ x[m], weights[size] @ y[m]
            sampled = np.linalg.norm(p[:, None] - q[None], axis=-1).min()
            assert found[m] <= sampled + 1e-12
            assert found[m] >= sampled - 0.1


def test_a_resting_body_is_not_cut():
    scene = pl.Scene(gravity=(0, 0, -9.81))
    cube = scene.add(pl.RigidBody.box(size=(0.02,) * 3, mass=0.02, position=(0, 0, 0.01), velocity=(0.1, 0, 0)))
    scene.collide(cube, scene.add(pl.Obstacle.box(center=(0, 0, -0.01), size=(0.2, 0.2, 0.02))), continuous=True)
    world = scene.compile()
    state, step = world.initial_state(), pl.ImplicitEuler(dt=0.01)
    for _ in range(20):
        state, info = step(world, state)
        assert info.parts == 1
    assert state.v[0].ravel()[0] == pytest.approx(0.1, rel=1e-6)


def test_a_saved_world_keeps_the_option(tmp_path):
    scene = pl.Scene()
    body = scene.add(pl.RigidBody.box(size=(0.02,) * 3, mass=0.02, position=(0, 0, 0.05)))
    scene.collide(body, scene.add(pl.Obstacle.plane(point=(0, 0, 0), normal=(0, 0, 1))), continuous=True)
    world = scene.compile()
    world.save(tmp_path / "world.npz")
    assert pl.load(tmp_path / "world.npz").constraints[-1].continuous
    assert world.constraints[-1].continuous


def test_bad_input():
    scene = pl.Scene()
    body = scene.add(pl.RigidBody.box(size=(0.02,) * 3, mass=0.02, position=(0, 0, 0.05)))
    floor = scene.add(pl.Obstacle.plane(point=(0, 0, 0), normal=(0, 0, 1)))
    with pytest.raises(pl.InputError, match=r"continuous of Scene.collide\(\) must be True or False, got 1"):
        scene.collide(body, floor, continuous=1)
    scene.collide(body, floor, continuous=True)
    world = scene.compile()
    with pytest.raises(pl.InputError, match="DampedMidpoint does not cut"):
        pl.DampedMidpoint(dt=0.01)(world, world.initial_state())


@pytest.mark.parametrize(
    ("solid", "length"),
    [
        (Sphere((0.1, 0.2, 0.3), 0.05), 0.0),
        (Capsule((0, 0, 0), (0.1, 0.2, 0.0), 0.03), np.hypot(0.1, 0.2)),
        (Cylinder((0, 0, 0), (0.1, 0.2, 0.2), 0.03), 0.3 - 0.06),
        (Cylinder((0, 0, 0), (0.1, 0.2, 0.2), 0.15), 0.0),
        (Cylinder((0, 0, 0), (0.1, 0.2, 0.2), 0.4), 0.0),  # a disc: what is round inside it is a ball between its faces
    ],
)
def test_the_core_of_a_round_solid_lies_inside_it_and_touches_it(solid, length):
    """A ball, or all that is near a segment: no point of its surface is outside, and some are on the surface."""
    points, radius = _core(solid)
    assert np.linalg.norm(points[-1] - points[0]) == pytest.approx(length, abs=1e-12)
    rng = np.random.default_rng(0)
    along = points[0] + rng.uniform(size=(4000, 1)) * (points[-1] - points[0])
    away = rng.normal(size=along.shape)
    gaps = solid.distance(along + radius * away / np.linalg.norm(away, axis=1, keepdims=True)).gap
    assert gaps.max() <= 1e-12
    assert gaps.max() > -1e-2 * radius


def test_other_solids_have_no_round_core():
    for solid in (Plane((0, 0, 0), (0, 0, 1)), Box((0, 0, 0), (1, 1, 1), np.eye(3))):
        assert _core(solid) is None


@pytest.mark.parametrize("radius", [0.004, 0.015])
def test_the_time_of_a_crossing_by_a_cylinder_is_that_of_its_lowest_line(radius):
    """A level cylinder that is thin beside the cells of a face meets it where the distance is gone."""
    scene = pl.Scene()
    body = scene.add(pl.Volume(pl.mesh.box((0.2, 0.2, 0.02), (1, 1, 1)), SOFT))
    start, fall = 0.02 + radius + 0.03, 10.0
    drop = pl.Obstacle.cylinder(
        start=(0.05, 0.06, start),
        end=(0.12, 0.08, start),
        radius=radius,
        motion=lambda t: ((0, 0, -fall * t), (0, 0, 0)),
    )
    scene.collide(body, scene.add(drop), continuous=True, margin=1e-3)
    world = scene.compile()
    view = RowView.of(world.models, time=0.01, dt=0.01)
    (pair,) = world.constraints
    reached = crossing_time(pair, view)
    assert reached == pytest.approx(0.03 / (fall * 0.01), abs=0.02)
    assert crossing_time(pair, evolve(view, time=0.002, dt=0.002)) == np.inf


def test_edges_of_a_moving_surface_have_the_mean_normal_of_their_faces():
    """Of a box turned in the world: along the middle of both faces where these meet, the face's own within it; motions
    begin and end where the parts of the step do.
    """
    turn = (0.3, -0.5, 0.7)
    scene = pl.Scene()
    body = scene.add(pl.RigidBody.box(size=(0.1, 0.2, 0.3), mass=1.0, rotation=turn, velocity=(1.0, 0.0, 0.0)))
    scene.collide(scene.add(sheet()), body, continuous=True, allow_overlap=True)
    world = scene.compile()
    (pair,) = world.constraints
    q = list(world.initial_state().q)
    index = world.index(body)
    moved = [np.zeros_like(model.initial()[1]) for model in world.models]
    moved[index][0] = (0.01, 0.0, 0.0)
    end = [x.copy() for x in q]
    end[index][0] += (0.01, 0.0, 0.0)
    side = pair.b if pair.b.index == index else pair.a
    view = RowView.of(world.models, end, start=q, moved=moved, time=0.01, dt=0.01)
    surface = side.surface if side.surface is not None else side.facets
    moving = Path(side, view).surface(surface, (0.25, 0.75))
    np.testing.assert_allclose(moving.end - moving.start, [[0.005, 0.0, 0.0]] * len(moving.start), atol=1e-12)
    rotation = q[index][1:]
    local = 0.5 * (moving.start[moving.edges[:, 0]] + moving.start[moving.edges[:, 1]]) - q[index][0] - (0.0025, 0, 0)
    local = local @ rotation / np.array([0.05, 0.1, 0.15])
    outward = np.where(np.abs(np.abs(local) - 1.0) < 1e-9, np.sign(local), 0.0)
    outward = outward / np.linalg.norm(outward, axis=1, keepdims=True) @ rotation.T
    np.testing.assert_allclose(moving.edge_normals, outward, atol=1e-12)


def test_the_depth_that_counts_is_that_of_the_thinner_wall_on_either_side():
    """A block that sinks into a thin sheet, named first or second: the same time, below a tenth of the sheet."""
    times = []
    for order in (1, -1):
        scene = pl.Scene()
        bodies = [scene.add(sheet())]
        mesh = pl.mesh.box((0.03, 0.03, 0.03), (1, 1, 1)).translated((-0.015, -0.015, 0.0004))
        bodies.append(scene.add(pl.Volume(mesh, SOFT, name="block")))
        scene.collide(*bodies[::order], continuous=True, margin=2e-3)
        world = scene.compile()
        (pair,) = world.constraints
        q = list(world.initial_state().q)
        index = world.index(bodies[1])
        end, moved = [x.copy() for x in q], [np.zeros_like(model.initial()[1]) for model in world.models]
        moved[index][:] = (0.0, 0.0, -1e-3)
        end[index] = q[index] + moved[index]
        view = RowView.of(world.models, end, start=q, moved=moved, time=0.01, dt=0.01)
        times.append(crossing_time(pair, view))
    assert times[0] == pytest.approx(times[1], abs=1e-6)
    assert 0.4 <= times[0] < 0.4 + 0.2  # 0.4 mm of way, and at most a tenth of the 2 mm of the sheet
