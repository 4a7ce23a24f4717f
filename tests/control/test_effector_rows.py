"""Rows of effectors by hand: several points and directions, scalar targets, weights of volumes, the way in a step."""

import numpy as np
import pytest

import pliant as pl
from pliant.core.lie import rotation_exp
from pliant.models.scheme import euler_scheme
from pliant.stepping.bodies import StepBodies

MESH = pl.mesh.box((0.1, 0.03, 0.03), (3, 1, 1))
RUBBER = pl.materials.Corotated(young=2e5, poisson=0.3, density=1e3)
POINTS = np.array([(0.1, 0.01, 0.02), (0.05, 0.02, 0.01)])


@pytest.fixture(scope="module")
def scene():
    made = pl.Scene()
    body = made.add(pl.Volume(MESH, RUBBER, clamp=pl.regions.plane(axis="x", at=0.0)))
    cable = made.add(pl.Cable(body, [(0.0, 0.01, 0.02), (0.06, 0.02, 0.02), (0.1, 0.02, 0.02)]))
    return made.compile(), body, cable


def error(world, effector, target, q=None):
    return effector.bound(world).measure.error(world.initial_state().q if q is None else q, effector.target(target))


@pytest.mark.parametrize("directions", [[(0, 0, 3)], [(1, 1, 0), (0, 0, -2)], [(1, 0, 0), (0, 2, 0), (1, 2, 2)]])
@pytest.mark.parametrize("barycentre", [False, True])
def test_each_point_is_measured_along_each_direction(scene, directions, barycentre):
    """Point by point: eᵢ · (x − target) with unit vectors eᵢ."""
    world, body, _ = scene
    effector = pl.Effector(body, POINTS, directions=directions, barycentre=barycentre)
    measured = POINTS.mean(axis=0, keepdims=True) if barycentre else POINTS
    targets = measured + np.array([(1e-3, -2e-3, 5e-4), (3e-3, 1e-3, 7e-4)])[: len(measured)]
    units = np.array(directions, float) / np.linalg.norm(directions, axis=1)[:, None]
    expected = np.concatenate([units @ (x - y) for x, y in zip(measured, targets, strict=True)])
    np.testing.assert_allclose(error(world, effector, targets), expected, atol=1e-15)
    one = error(world, effector, targets[0])
    np.testing.assert_allclose(one[: len(units)], expected[: len(units)], atol=1e-15)


def test_points_without_directions_are_measured_along_all_axes(scene):
    world, body, _ = scene
    targets = POINTS + 1e-3 * np.arange(6.0).reshape(2, 3)
    found = error(world, pl.Effector(body, POINTS), targets)
    np.testing.assert_allclose(found, (POINTS - targets).ravel(), atol=1e-15)
    q = [world.initial_state().q[0] + (0.01, 0.02, 0.03)]
    np.testing.assert_allclose(error(world, pl.Effector(body, POINTS[0]), POINTS[0], q), (0.01, 0.02, 0.03), atol=1e-15)


def test_targets_of_another_shape_are_refused(scene):
    _, body, cable = scene
    two, mean, length = pl.Effector(body, POINTS), pl.Effector(body, POINTS, barycentre=True), pl.LengthEffector(cable)
    assert two.target((1, 2, 3)).tolist() == [[1, 2, 3]] * 2
    assert mean.target([(1, 2, 3)]).shape == (1, 3)
    assert length.target(0.1).tolist() == [0.1]
    for effector, target in (
        (two, np.zeros((3, 3))), (two, np.zeros(6)), (mean, np.zeros((2, 3))), (two, (0, 0, np.nan)),
        (length, (0.1,)), (length, (0.1, 0.2)), (length, np.inf), (length, "long"),
    ):  # fmt: skip
        with pytest.raises(pl.InputError, match="target of"):
            effector.target(target)


def test_the_length_of_a_cable_is_that_of_its_path(scene):
    world, body, cable = scene
    path = np.array(cable.via_points)
    rest = np.linalg.norm(np.diff(path, axis=0), axis=1).sum()
    assert error(world, pl.LengthEffector(cable), 0.02) == pytest.approx([rest - 0.02])
    assert pl.LengthEffector(cable).bodies == (body,)
    stretched = [world.initial_state().q[0] * (1.1, 1.0, 1.0)]
    longer = np.linalg.norm(np.diff(path * (1.1, 1.0, 1.0), axis=0), axis=1).sum()
    assert error(world, pl.LengthEffector(cable), 0.0, stretched) == pytest.approx([longer])


def test_volumes_count_as_lengths_of_the_faces_of_their_cube():
    """dV of a cube of side a is a² dx: squares in m³ are weighted by a⁻⁴; a weight that was given stays."""
    scene = pl.Scene()
    body = scene.add(pl.Volume(pl.mesh.block_with_cavity((0.04, 0.04, 0.04), wall=0.012, cell_size=0.014), RUBBER))
    cavity = scene.add(pl.Cavity(body))
    world = scene.compile()
    side = world.initial_state().volume(cavity) ** (1.0 / 3.0)
    plain, given = pl.VolumeEffector(cavity), pl.VolumeEffector(cavity, weight=3.0)
    assert plain.bound(world).spec.weight == pytest.approx(side**-4, rel=1e-9)
    assert plain.bound(world).effector is plain, "controls name it as it was given"
    assert given.bound(world).spec.weight == 3.0
    assert error(world, plain, 0.5 * side**3) == pytest.approx([0.5 * side**3])


def assembled(world, effector, target, dt, start, end):
    """Error and remaining way of an effector in a step of dt from positions `start` to `end`."""
    constraint = effector.bound(world)
    values = {effector: effector.target(target)}
    state = world.initial_state()
    motion = StepBodies.begin(world, state, euler_scheme(dt), values)
    moved = motion.at([end - start])
    assembly = moved.assembled([constraint])
    place = assembly.slices[-1]
    return assembly.rows.gap[place], assembly.memories[len(world.constraints)].ahead


@pytest.mark.parametrize(("speed", "fraction"), [(np.inf, 1.0), (1.0, 1.0), (0.2, 0.4), (0.05, 0.1)])
def test_a_step_goes_as_far_as_the_speed_allows(scene, speed, fraction):
    """5 mm away, in 10 ms: the target of the step is that fraction of the way; what is left is ahead."""
    world, body, _ = scene
    effector = pl.Effector(body, POINTS[0], max_speed=speed)
    way = np.array([3e-3, 0.0, 4e-3])
    rest = world.initial_state().q[0]
    for shift in (np.zeros(3), np.array([1e-3, -2e-3, 0.0])):
        gap, ahead = assembled(world, effector, POINTS[0] + way, 0.01, rest, rest + shift)
        np.testing.assert_allclose(gap, shift - fraction * way, atol=1e-12)
        np.testing.assert_allclose(ahead, -(1.0 - fraction) * way, atol=1e-12)
    gap, ahead = assembled(world, effector, POINTS[0], 0.01, rest, rest)
    assert not np.abs(gap).max() > 1e-15
    assert not ahead.any(), "at the target"


def test_the_rotation_of_a_part_is_the_best_fit_in_any_orientation():
    """Nodes turned by a known rotation, with a disturbance that leaves none; also a mirror image is never taken."""
    scene = pl.Scene()
    body = scene.add(pl.Volume(MESH, RUBBER, clamp=pl.regions.plane(axis="x", at=0.0)))
    world = scene.compile()
    region = pl.regions.box((0.05, -1, -1), (1, 1, 1))
    effector = pl.OrientationEffector(body, region, length=0.05, name="end")
    for vector in ((0.3, -0.2, 0.5), (0.0, 0.0, 2.9), (1e-4, 0, 0)):
        R = rotation_exp(np.array(vector))
        q = [world.initial_state().q[0] @ R.T + (0.1, 0.2, 0.3)]
        np.testing.assert_allclose(error(world, effector, (0, 0, 0), q), vector, atol=1e-9)
        np.testing.assert_allclose(error(world, effector, vector, q), 0.0, atol=1e-7)
        np.testing.assert_allclose(error(world, effector, R, q), 0.0, atol=1e-7)
    almost = rotation_exp(np.array([0.1, 0.2, 0.3]))
    effector.target(almost + 1e-7)
    for wrong in (almost + 1e-5, 2.0 * almost, np.zeros(4), np.zeros((2, 3))):
        with pytest.raises(pl.InputError, match="target of 'end'"):
            effector.target(wrong)
    thin = pl.regions.box((0.09, -1, -1), (1, 1, 1))
    assert pl.OrientationEffector(body, thin, length=0.05).bound(world) is not None, "a face is no line"


@pytest.mark.parametrize(("options", "said"), [
    ({"tolerance": 0.0}, "tolerance"), ({"weight": -1.0}, "weight"), ({"max_speed": 0.0}, "max_speed"),
    ({"directions": (0, 1)}, "directions"), ({"directions": [(0, 0, 1), (0, 0, 0)]}, "directions"),
])  # fmt: skip
def test_options_out_of_range_are_named(scene, options, said):
    with pytest.raises(pl.InputError, match=f"{said} of 'hand'"):
        pl.Effector(scene[1], POINTS[0], name="hand", **options)


def test_where_there_is_no_point_it_is_said(scene):
    with pytest.raises(pl.InputError, match="needs a marker"):
        pl.Effector(scene[1])
    with pytest.raises(pl.InputError, match="needs a marker"):
        pl.Effector("tip", POINTS[0])
    assert not pl.Effector(scene[1], POINTS[0]).rate_limited
    assert pl.Effector(scene[1], POINTS[0], max_speed=1.0).rate_limited
