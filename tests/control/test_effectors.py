"""Effectors: rows against finite differences, kinds of targets, and what is refused."""

import numpy as np
import pytest

import pliant as pl
from pliant.core.errors import InputError
from pliant.core.lie import rotation_exp
from pliant.models.scheme import euler_scheme
from pliant.stepping.bodies import StepBodies

MESH = pl.mesh.box((0.1, 0.03, 0.03), (5, 2, 2))
RUBBER = pl.materials.Corotated(young=2e5, poisson=0.3, density=1e3)


def bodies():
    scene = pl.Scene()
    body = scene.add(pl.Volume(MESH, RUBBER, clamp=pl.regions.plane(axis="x", at=0.0)))
    ball = scene.add(pl.RigidBody.sphere(radius=0.01, mass=0.1, position=(0.3, 0.0, 0.0)))
    cable = scene.add(pl.Cable(body, [(0.0, 0.01, 0.02), (0.06, 0.02, 0.02), (0.1, 0.02, 0.02)]))
    return scene, body, ball, cable


END = pl.regions.box((0.07, -1, -1), (1, 1, 1))
KINDS = {
    "points": lambda body, ball, cable: (pl.Effector(body, [(0.1, 0.01, 0.02), (0.05, 0.02, 0.01)]), (0.1, 0.0, 0.02)),
    "barycentre": lambda body, ball, cable: (
        pl.Effector(body, [(0.1, 0.01, 0.02), (0.05, 0.02, 0.01)], barycentre=True),
        (0.1, 0.0, 0.02),
    ),
    "directions": lambda body, ball, cable: (
        pl.Effector(body, (0.1, 0.01, 0.02), directions=[(1, 1, 0), (0, 0, 2)]),
        (0.1, 0.0, 0.02),
    ),
    "rigid point": lambda body, ball, cable: (pl.Effector(ball, (0.0, 0.01, 0.0)), (0.2, 0.0, 0.0)),
    "length": lambda body, ball, cable: (pl.LengthEffector(cable), 0.09),
    "orientation of a part": lambda body, ball, cable: (
        pl.OrientationEffector(body, END, length=0.05),
        (0.02, -0.01, 0.03),
    ),
    "orientation": lambda body, ball, cable: (pl.OrientationEffector(ball, length=0.05), (0.02, -0.01, 0.03)),
}


@pytest.mark.parametrize("kind", KINDS)
def test_rows_are_gradients_of_what_is_measured(kind):
    """H against central differences of δ, at a moved state (rotations: small, where spin is the rate of the vector)."""
    scene, body, ball, cable = bodies()
    effector, target = KINDS[kind](body, ball, cable)
    world = scene.compile()
    constraint = effector.bound(world)
    values = {effector: effector.target(target)}
    motion = StepBodies.begin(world, world.initial_state(), euler_scheme(0.01), values)
    rng = np.random.default_rng(3)
    small = "orientation" in kind
    if small:  # a rigid turn of everything: the best-fit rotation follows it exactly
        w = np.array([0.3, -0.2, 0.5])
        steps = [np.cross(w, MESH.points), np.stack([np.zeros(3), w])]
        values[effector] = effector.target(np.zeros(3))
    else:
        steps = [rng.normal(size=x.shape) for x in motion.dx]

    def gap(t):
        assembly = motion.at([t * x for x in steps]).assembled([constraint])
        return assembly.rows.gap[assembly.slices[-1]].copy()

    assembly = motion.at([0.0 * x for x in steps]).assembled([constraint])
    place = assembly.slices[-1]
    predicted = sum(h[place] @ x.ravel() for h, x in zip(assembly.rows.H, steps, strict=True))
    np.testing.assert_allclose(predicted, (gap(1e-6) - gap(-1e-6)) / 2e-6, rtol=1e-6, atol=1e-8)


def test_the_volume_of_a_chamber():
    sphere = pl.robots.bellows()
    scene = pl.Scene()
    robot = scene.add(sphere)
    world = scene.compile()
    volume = pl.VolumeEffector(robot.cavity)
    rest = world.initial_state().volume(robot.cavity)
    step = pl.QuasiStatic(tolerance=1e-8, solver=pl.Inverse([volume], [robot.cavity], energy_weight=0.0))
    state, info = step(world, world.initial_state(), {volume: 1.05 * rest})
    assert state.volume(robot.cavity) == pytest.approx(1.05 * rest, rel=1e-6)
    assert info.error(volume) < 1e-12


def test_orientation_targets():
    scene, body, ball, _ = bodies()
    turn = pl.OrientationEffector(ball, length=0.1)
    np.testing.assert_allclose(turn.target((0.1, 0.2, 0.3)), rotation_exp(np.array([0.1, 0.2, 0.3])))
    with pytest.raises(InputError, match="rotation matrix"):
        turn.target(np.ones((3, 3)))
    with pytest.raises(InputError, match="needs a rigid body, or a volume and the region"):
        pl.OrientationEffector(body, length=0.1)
    narrow = pl.OrientationEffector(body, pl.regions.box((0.09, -1e-6, -1e-6), (1, 1e-6, 1)), length=0.1)
    world = scene.compile()
    with pytest.raises(InputError, match="lie on a line"):
        narrow.bound(world)


def test_bad_effectors():
    _, body, _, _ = bodies()
    with pytest.raises(InputError, match="directions of 'effector'"):
        pl.Effector(body, (0.1, 0.01, 0.01), directions=(0, 0, 0))
    with pytest.raises(InputError, match="weight of 'effector'"):
        pl.Effector(body, (0.1, 0.01, 0.01), weight=0.0)
    with pytest.raises(InputError, match="max_speed of 'effector'"):
        pl.Effector(body, (0.1, 0.01, 0.01), max_speed=-1.0)


def test_paths():
    """Circles keep their radius and plane, lines and polylines their ends and even steps."""
    path = pl.paths.circle(center=(1, 2, 3), radius=0.5, count=8, normal=(0, 1, 1))
    np.testing.assert_allclose(np.linalg.norm(path - [1, 2, 3], axis=1), 0.5)
    np.testing.assert_allclose((path - [1, 2, 3]) @ [0, 1, 1], 0.0, atol=1e-12)
    np.testing.assert_allclose(pl.paths.line(start=(0, 0, 0), end=(1, 2, 3), count=3)[1], [0.5, 1, 1.5])
    steps = np.linalg.norm(np.diff(pl.paths.through([(0, 0, 0), (1, 0, 0), (1, 1, 0)], count=9), axis=0), axis=1)
    np.testing.assert_allclose(steps, 0.25)
    with pytest.raises(InputError, match="two points"):
        pl.paths.through([(0, 0, 0)], count=4)


def test_what_is_measured_at_rest_is_where_it_began():
    """The mean of points, and the rotation of a body that was added turned, have no error towards the initial state."""
    scene = pl.Scene()
    body = scene.add(pl.Volume(MESH, RUBBER, clamp=pl.regions.plane(axis="x", at=0.0)))
    ball = scene.add(pl.RigidBody.sphere(radius=0.01, mass=0.1, position=(0.3, 0, 0), rotation=(0.4, -0.2, 0.7)))
    points = np.array([(0.1, 0.01, 0.02), (0.05, 0.02, 0.01)])
    mean, turn = pl.Effector(body, points, barycentre=True), pl.OrientationEffector(ball, length=0.05)
    along = pl.Effector(body, points[0], directions=(0, 0, 2))
    world = scene.compile()
    q = world.initial_state().q

    def error(effector, target):
        return effector.bound(world).measure.error(q, effector.target(target))

    np.testing.assert_allclose(error(mean, points.mean(axis=0)), 0.0, atol=1e-15)
    np.testing.assert_allclose(error(turn, (0.0, 0.0, 0.0)), 0.0, atol=1e-12)
    np.testing.assert_allclose(error(along, points[0] - (0.0, 0.0, 0.003)), [0.003])


def test_an_angle_costs_the_square_of_its_length():
    """The cost of an error φ is w (length φ)²."""
    _, _, ball, _ = bodies()
    scene = pl.Scene()
    scene.add(ball)
    rows = pl.OrientationEffector(ball, length=0.05, weight=3.0).bound(scene.compile())
    assert rows.spec.weight == pytest.approx(3.0 * 0.05**2)


def test_a_circle_has_as_many_positions_as_asked_for_and_closes():
    path = pl.paths.circle(center=(0, 0, 1), radius=0.5, count=8)
    assert path.shape == (8, 3)
    np.testing.assert_allclose(np.roll(path, 4, axis=0), (0, 0, 2) - path, atol=1e-12)
    np.testing.assert_allclose(np.linalg.norm(path[0] - path[-1]), np.sin(np.pi / 8), rtol=1e-12)
