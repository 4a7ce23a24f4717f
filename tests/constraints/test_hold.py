"""Bodies with some of their motions held, or joined to others in chosen axes."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import pliant as pl
from pliant.constraints.rows import RowView
from pliant.models.model import StepStart
from pliant.models.scheme import static_scheme

SLENDER = {"section": pl.sections.Circle(0.005), "young": 1e6, "poisson": 0.3, "density": 1e3}


def box(scene, **options):
    return scene.add(pl.RigidBody.box(size=(0.02, 0.03, 0.05), mass=0.2, **options))


def stepped(scene, stepper, count, controls=None):
    world = scene.compile()
    state = world.initial_state()
    for _ in range(count):
        state, _ = stepper(world, state, controls)
    return world, state


def test_a_body_that_only_slides_along_an_inclined_axis():
    """It falls along its axis a with the acceleration (g·a) a: with implicit midpoint x = ½ (g·a) t²."""
    turn = Rotation.from_rotvec((0.2, -0.5, 0.3))
    scene = pl.Scene(gravity=(0, 0, -9.81))
    body = box(scene, rotation=(0.4, 0.1, 0.2))
    scene.add(pl.Hold(body, position="yz", rotation="xyz", axes=turn))
    _, state = stepped(scene, pl.ImplicitMidpoint(0.01), 10)
    along = turn.as_matrix()[:, 0]
    np.testing.assert_allclose(state.pose(body)[0], 0.5 * 0.01 * (along @ (0, 0, -9.81)) * along, atol=1e-9)
    np.testing.assert_allclose(state.pose(body)[1:], Rotation.from_rotvec((0.4, 0.1, 0.2)).as_matrix(), atol=1e-9)


@pytest.mark.parametrize("kind", [pl.ImplicitEuler, pl.ImplicitMidpoint, pl.DampedMidpoint])
def test_holds_that_leave_one_motion_are_sliders_and_hinges(kind):
    for joined in ("slider", "hinge"):
        found = []
        for held in (True, False):
            scene = pl.Scene(gravity=(1.0, 2.0, -9.81))
            base = box(scene, name="base")
            scene.add(pl.Hold(base, position="xyz", rotation="yz"))  # turns about x
            body = box(scene, position=(0.05, 0, 0))
            if joined == "slider":
                joint = (
                    pl.Hold(body, position="xz", rotation="xyz", base=base)
                    if held
                    else pl.Slider(body, (0, 1, 0), base=base)
                )
            else:
                point = (0.02, 0.01, 0.0)
                joint = (
                    pl.Hold(body, position="xyz", rotation="xz", point=point, base=base)
                    if held
                    else pl.Hinge(body, (0, 1, 0), point=point, base=base)
                )
            scene.add(joint)
            _, state = stepped(scene, kind(0.01, tolerance=1e-10), 3)
            found.append(np.vstack([state.pose(base), state.pose(body)]))
        np.testing.assert_allclose(found[0], found[1], atol=1e-6)


def test_motion_in_a_plane():
    """Held along z and about x and y: a parabola in the plane, and a steady spin about z over more than a turn."""
    scene = pl.Scene(gravity=(0, -9.81, -3.0))
    body = box(scene, velocity=(1.0, 2.0, 0.0), spin=(0, 0, 30.0))
    scene.add(pl.Hold(body, position="z", rotation="xy"))
    _, state = stepped(scene, pl.ImplicitMidpoint(0.01), 30)
    t = 0.3
    np.testing.assert_allclose(state.pose(body)[0], (t, 2 * t - 0.5 * 9.81 * t * t, 0.0), atol=1e-7)
    np.testing.assert_allclose(state.pose(body)[1:] @ (0, 0, 1), (0, 0, 1), atol=1e-8)
    np.testing.assert_allclose(state.v[0][1], (0, 0, 30.0), rtol=1e-6, atol=1e-7)


def test_a_ball_joint_is_an_attachment_of_one_point():
    found = []
    for held in (True, False):
        scene = pl.Scene(gravity=(1.0, 0, -9.81))
        first, second = box(scene), box(scene, position=(0.1, 0, 0), spin=(3.0, 0, 0), name="second")
        scene.add(pl.Hold(first, position="xyz", rotation="xyz"))
        if held:
            scene.add(pl.Hold(second, position="xyz", point=(0.05, 0, 0), base=first))
        else:
            scene.attach(second, first, points=(0.05, 0, 0))
        _, state = stepped(scene, pl.ImplicitEuler(0.01), 8)
        found.append(state.pose(second))
    np.testing.assert_allclose(found[0], found[1], atol=1e-9)


@pytest.mark.parametrize("seed", range(8))
def test_random_holds_obey_the_equations_of_a_constrained_body(seed):
    """From rest under gravity: v = h (a − M⁻¹ Jᵀ (J M⁻¹ Jᵀ)⁻¹ J a) by hand, and the held coordinates stay at zero."""
    rng = np.random.default_rng(seed)
    letters = ["".join(c for c in "xyz" if rng.random() < 0.5) for _ in range(2)]
    letters[0] = letters[0] or "x"
    g, turn, pose = rng.normal(size=3) * 9.0, Rotation.random(rng=rng), Rotation.random(rng=rng)
    arm = rng.normal(size=3) * 0.03
    scene = pl.Scene(gravity=g)
    body = box(scene, rotation=pose.as_rotvec())
    scene.add(pl.Hold(body, position=letters[0], rotation=letters[1], point=arm, axes=turn))
    h = 1e-3
    world, state = stepped(scene, pl.ImplicitEuler(h), 1)
    A = turn.as_matrix()
    lever = -np.array([[0, -arm[2], arm[1]], [arm[2], 0, -arm[0]], [-arm[1], arm[0], 0]])
    J = [np.concatenate([A[:, "xyz".index(c)], A[:, "xyz".index(c)] @ lever]) for c in letters[0]]
    J = np.array(J + [np.concatenate([np.zeros(3), A[:, "xyz".index(c)]]) for c in letters[1]])
    inertia = pose.as_matrix() @ np.diag(0.2 / 12 * np.array([0.0034, 0.0029, 0.0013])) @ pose.as_matrix().T
    inverse = np.linalg.inv(np.block([[0.2 * np.eye(3), np.zeros((3, 3))], [np.zeros((3, 3)), inertia]]))
    a = np.concatenate([g, np.zeros(3)])
    a = a - inverse @ J.T @ np.linalg.solve(J @ inverse @ J.T, J @ a)
    np.testing.assert_allclose(state.v[0].ravel(), h * a, rtol=1e-3, atol=1e-4 * h * np.abs(a).max())
    step = pl.ImplicitEuler(5e-3, tolerance=1e-10)
    for _ in range(10):
        state, _ = step(world, state)
    moved = A.T @ (state.pose(body)[0] + state.pose(body)[1:] @ pose.as_matrix().T @ arm - arm)
    turned = A.T @ state.pose(body)[1:] @ pose.as_matrix().T @ A
    np.testing.assert_allclose([moved["xyz".index(c)] for c in letters[0]], 0.0, atol=1e-9)
    if len(letters[1]) == 2:
        free = ({0, 1, 2} - {"xyz".index(c) for c in letters[1]}).pop()
        np.testing.assert_allclose(turned[:, free], np.eye(3)[free], atol=1e-8)
    else:
        angle = Rotation.from_matrix(turned).as_rotvec()
        np.testing.assert_allclose([angle["xyz".index(c)] for c in letters[1]], 0.0, atol=1e-8)


@pytest.mark.parametrize("seed", range(4))
def test_gradients_are_derivatives(seed):
    """H by central differences, between a rigid body, a beam and a rod at random poses."""
    rng = np.random.default_rng(seed)
    scene = pl.Scene()
    rod = scene.add(pl.Rod(0.1, 2, base="free", **SLENDER))
    beam = scene.add(pl.Beam([(0.05 * k, 0.0, 0) for k in range(3)], **SLENDER))
    rigid = box(scene, position=(0.1, 0.01, 0))
    body, base = ((rigid, rod), (rod, beam), (beam, rigid), (rigid, None))[seed]
    held = ("xyz", "xyz"), ("yz", "xz"), ("x", "y"), ("xz", "")
    position, rotation = held[seed]
    axes = rng.normal(size=3)
    scene.add(pl.Hold(body, position=position, rotation=rotation, point=(0.05, 0, 0.002), base=base, axes=axes))
    world = scene.compile()
    rows = world.constraints[0]

    def moved(model, q, dx):
        start = StepStart(q, np.zeros(model.constrained.shape), static_scheme(0.0), np.zeros(3), {})
        return model.trial(start).at(dx).positions()

    def at(q):
        made, _ = rows.rows(RowView.of(world.models, q))
        return made.gap, [h.toarray() for h in made.H]

    pairs = zip(world.models, world.initial_state().q, strict=True)
    q = [moved(model, x, rng.normal(size=model.constrained.shape) * 0.2) for model, x in pairs]
    _, H = at(q)
    for k, model in enumerate(world.models):
        for unknown in np.flatnonzero(~model.constrained.ravel()):
            dx = np.zeros(model.constrained.shape)
            dx.ravel()[unknown] = 1e-6
            gaps = [at([*q[:k], moved(model, q[k], sign * dx), *q[k + 1 :]])[0] for sign in (1, -1)]
            np.testing.assert_allclose((gaps[0] - gaps[1]) / 2e-6, H[k][:, unknown], atol=1e-7)


def test_a_held_weight_in_statics():
    """A weight on a soft column that may only move along z sinks straight; its hold is stored."""
    scene = pl.Scene(gravity=(0, 0, -9.81))
    rubber = pl.materials.Corotated(young=1e5, poisson=0.3, density=1.0)
    mesh = pl.mesh.box((0.02, 0.02, 0.05), (2, 2, 4))
    column = scene.add(pl.Volume(mesh, rubber, clamp=pl.regions.plane(axis="z", at=0.0), anti_locking=False))
    weight = box(scene, position=(0.015, 0.01, 0.075))
    scene.attach(column, weight, region=pl.regions.plane(axis="z", at=0.05))
    scene.add(pl.Hold(weight, position="xy", rotation="xyz"))
    world = scene.compile()
    state, _ = pl.QuasiStatic()(world, world.initial_state())
    np.testing.assert_allclose(state.pose(weight)[0, :2], (0.015, 0.01), atol=1e-9)
    np.testing.assert_allclose(state.pose(weight)[1:], np.eye(3), atol=1e-8)
    assert state.pose(weight)[0, 2] - 0.075 == pytest.approx(-0.2 * 9.81 * 0.05 / (1e5 * 4e-4), rel=0.15)


def test_holds_are_stored(tmp_path):
    scene = pl.Scene(gravity=(0, 0, -9.81))
    body = box(scene)
    scene.add(pl.Hold(body, position="z", rotation="y", axes=(0.1, 0.2, 0.3)))
    world = scene.compile()
    world.save(tmp_path / "world.npz")
    states = [pl.ImplicitEuler(0.01)(w, w.initial_state())[0].q[0] for w in (world, pl.load(tmp_path / "world.npz"))]
    np.testing.assert_array_equal(*states)


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({}, "holds nothing"),
        ({"position": "xx"}, "position of 'hold'"),
        ({"rotation": "w"}, "rotation of 'hold'"),
        ({"position": 3}, "position of Hold 'hold'"),
        ({"position": "x", "point": (0, 0)}, "point of 'hold'"),
        ({"position": "x", "reach": -1.0}, "reach of 'hold'"),
        ({"position": "x", "base": "itself"}, "to itself"),
        ({"position": "x", "base": "volume"}, "not 'volume'"),
    ],
)
def test_bad_holds(options, text):
    body = pl.RigidBody.sphere(radius=0.1, mass=1.0)
    block = pl.Volume(pl.mesh.box((1, 1, 1), (1, 1, 1)), pl.materials.Linear(young=1e5, poisson=0.3, density=1e3))
    options["base"] = {"itself": body, "volume": block}.get(options.get("base"))
    with pytest.raises(pl.InputError, match=text):
        pl.Hold(body, **options)


def test_a_hold_on_a_rod_needs_a_point():
    with pytest.raises(pl.InputError, match="needs a point of 'rod'"):
        pl.Hold(pl.Rod(0.1, 2, **SLENDER), position="x")
