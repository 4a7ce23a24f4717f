"""Sliders and hinges: what they hold, what they drive, and the closed forms of a mass and a pendulum."""

import numpy as np
import pytest

import pliant as pl
from pliant.core.errors import InputError
from pliant.models.scheme import euler_scheme
from pliant.stepping.bodies import StepBodies


def box(position=(0.0, 0.0, 0.0), mass=0.5, **options):
    return pl.RigidBody.box(size=(0.1, 0.04, 0.02), mass=mass, position=position, **options)


def test_rows_are_gradients_of_the_gaps():
    """H against central differences, on two bodies that stand askew, within what the joint lets move."""
    scene = pl.Scene()
    base, body = scene.add(box(name="base")), scene.add(box((0.1, 0.02, 0.0)))
    hinge = scene.add(pl.Hinge(body, (0.3, 1.0, 0.2), point=(0.05, 0.01, 0.0), base=base))
    world = scene.compile()
    axis = np.array([0.3, 1.0, 0.2]) / np.linalg.norm([0.3, 1.0, 0.2])
    motion = StepBodies.begin(world, world.initial_state(), euler_scheme(0.01), {})
    rng = np.random.default_rng(0)
    common = rng.normal(size=3)  # both turn together, and the body about the hinge
    spin = np.array([common, common + 0.7 * axis])

    def gap(t):
        moved = motion.at([np.stack([np.zeros(3), t * w]) for w in spin])
        return moved.assembled().rows.gap.copy()

    rows = motion.assembled().rows
    steps = [np.stack([np.zeros(3), w]).ravel() for w in spin]
    predicted = sum(h @ x for h, x in zip(rows.H, steps, strict=True))
    np.testing.assert_allclose(predicted, (gap(1e-6) - gap(-1e-6)) / 2e-6, atol=1e-7)
    assert predicted[0] == pytest.approx(0.7)
    assert world.handles == frozenset([hinge])


def test_a_slider_obeys_newton_along_its_axis_and_nothing_across():
    """Under a force F the body moves by F t²/2m (implicit Euler: F h² n(n+1)/2m), gravity is held."""
    scene = pl.Scene(gravity=(0, 0, -9.81))
    body = scene.add(box())
    slider = scene.add(pl.Slider(body, (1, 1, 0)))
    world = scene.compile()
    run = pl.simulate(world, pl.ImplicitEuler(dt=0.01), until=0.2, control=lambda t, s: {slider: pl.Force(0.4)})
    way = run.poses(body)[-1, 0] @ np.array([1, 1, 0]) / np.sqrt(2)
    assert way == pytest.approx(0.4 * 1e-4 * 20 * 21 / 2 / 0.5, rel=1e-9)
    np.testing.assert_allclose(run.poses(body)[-1, 0], [way / np.sqrt(2), way / np.sqrt(2), 0.0], atol=1e-12)
    np.testing.assert_allclose(run.poses(body)[-1, 1:], np.eye(3), atol=1e-12)
    assert run.actuation(slider)[0][-1] == pytest.approx(way)


def test_a_slider_is_driven_to_a_displacement_with_limits():
    scene = pl.Scene(gravity=(0, 0, -9.81))
    body = scene.add(box())
    slider = scene.add(pl.Slider(body, (0, 0, 1), max_displacement=0.1, max_rate=0.4, max_force=50.0))
    world = scene.compile()
    state, step = world.initial_state(), pl.ImplicitEuler(dt=0.01)
    heights = []
    for _ in range(5):
        state, info = step(world, state, {slider: pl.Displacement(0.01)})
        heights.append(state.pose(body)[0, 2])
    np.testing.assert_allclose(heights, [0.004, 0.008, 0.01, 0.01, 0.01], atol=1e-12)
    assert info.actuation(slider) == pytest.approx((0.01, 0.5 * 9.81))
    with pytest.raises(InputError, match=r"max_displacement is 0\.1 m"):
        step(world, state, {slider: pl.Displacement(0.2)})


def test_a_driven_hinge_carries_a_pendulum():
    """Held at angle θ the torque is m g l cos θ; past a full turn the angle goes on counting."""
    scene = pl.Scene(gravity=(0, 0, -9.81))
    body = scene.add(box((0.2, 0.0, 0.0)))
    hinge = scene.add(pl.Hinge(body, (0, -1, 0), point=(0, 0, 0)))
    world = scene.compile()
    state, step = world.initial_state(), pl.ImplicitEuler(dt=0.05, tolerance=1e-10)
    for angle in np.linspace(0.2, 7.0, 35):
        state, info = step(world, state, {hinge: pl.Angle(angle)})
    for _ in range(3):
        state, info = step(world, state, {hinge: pl.Angle(7.0)})
    np.testing.assert_allclose(state.pose(body)[0], [0.2 * np.cos(7.0), 0.0, 0.2 * np.sin(7.0)], atol=1e-7)
    assert info.actuation(hinge)[0] == pytest.approx(7.0, abs=1e-9)
    assert info.actuation(hinge)[1] == pytest.approx(0.5 * 9.81 * 0.2 * np.cos(7.0), rel=1e-5)


def test_a_free_hinge_swings_as_a_physical_pendulum():
    """Small swings: T = 2π √(I / m g l) within 1 %, by the midpoint rule."""
    scene = pl.Scene(gravity=(0, 0, -9.81))
    body = scene.add(box((0.02, 0.0, -0.2)))
    hinge = scene.add(pl.Hinge(body, (0, 1, 0), point=(0, 0, 0)))
    world = scene.compile()
    run = pl.simulate(world, pl.ImplicitMidpoint(dt=0.002, tolerance=1e-9), until=1.0)
    x = run.poses(body)[:, 0, 0]
    crossings = np.flatnonzero(np.diff(np.sign(x)) != 0)
    half = np.diff(run.times[crossings] - x[crossings] * 0.002 / (x[crossings + 1] - x[crossings])).mean()
    length = np.hypot(0.02, 0.2)
    inertia = 0.5 * (0.1**2 + 0.02**2) / 12 + 0.5 * length**2
    print(f"half period {half:.5f} s, closed form {np.pi * np.sqrt(inertia / (0.5 * 9.81 * length)):.5f} s")
    assert half == pytest.approx(np.pi * np.sqrt(inertia / (0.5 * 9.81 * length)), rel=0.01)
    assert run.actuation(hinge)[1][-1] == 0.0


def test_a_soft_body_rides_on_a_slider(tmp_path):
    """A block attached to a driven platform moves with it; a saved world has its joints back."""
    scene = pl.Scene()
    rubber = pl.materials.Corotated(young=1e5, poisson=0.3, density=1e3)
    block = scene.add(pl.Volume(pl.mesh.box((0.05, 0.05, 0.05), (2, 2, 2)), rubber))
    platform = scene.add(box((0.025, 0.025, -0.01)))
    scene.attach(block, platform, region=pl.regions.plane(axis="z", at=0.0))
    slider = scene.add(pl.Slider(platform, (0, 0, 1), name="lift"))
    world = scene.compile()
    state = world.initial_state()
    for k in range(40):
        state, _ = pl.ImplicitEuler(dt=0.05)(world, state, {slider: pl.Displacement(0.02 * min(1.0, (k + 1) / 20))})
    np.testing.assert_allclose(state.displacements(block)[:, 2], 0.02, atol=1e-3)
    again = pl.load(world.save(tmp_path / "world.npz"))
    assert again.thing("lift").axis == (0, 0, 1)


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda body: pl.Slider(body, (0, 0, 0)), "axis of 'slider' must not be zero"),
        (lambda body: pl.Slider(body, (0, 0, 1), min_force=1.0, max_force=0.0), "leave nothing"),
        (lambda body: pl.Hinge(body, (0, 0, 1), point=(0, 0)), "point of 'hinge'"),
        (lambda body: pl.Slider("body", (0, 0, 1)), "ties rigid bodies"),
    ],
)
def test_bad_joints(make, text):
    with pytest.raises(InputError, match=text):
        make(box())


@pytest.mark.parametrize("turns", [False, True])
def test_only_the_actuated_row_of_a_joint_is_bounded(turns):
    """Its force or torque between its bounds, its target the command; the five others hold whatever it takes."""
    scene = pl.Scene()
    body = scene.add(box())
    if turns:
        joint = scene.add(pl.Hinge(body, (0, 0, 1), point=(0, 0, 0), min_torque=-0.2, max_torque=0.3))
    else:
        joint = scene.add(pl.Slider(body, (0, 0, 1), min_force=-0.2, max_force=0.3))
    world = scene.compile()
    command = {joint: pl.Angle(0.3) if turns else pl.Displacement(0.3)}
    rows = StepBodies.begin(world, world.initial_state(), euler_scheme(0.01), world.controls(command)).assembled().rows
    assert rows.lower.tolist() == [-0.2, *[-np.inf] * 5]
    assert rows.upper.tolist() == [0.3, *[np.inf] * 5]
    assert rows.target.tolist() == [0.3, *[0.0] * 5]
    state, info = pl.ImplicitEuler(dt=0.01)(world, world.initial_state(), command)
    assert info.actuation(joint)[1] == pytest.approx(0.3)
    _, info = pl.ImplicitEuler(dt=0.01)(world, state, {joint: pl.Angle(-0.3) if turns else pl.Displacement(-0.3)})
    assert info.actuation(joint)[1] == pytest.approx(-0.2)


def test_a_joint_without_bodies_of_its_own_kind_is_refused_whichever_side():
    rubber = pl.materials.Corotated(young=1e5, poisson=0.3, density=1e3)
    soft = pl.Volume(pl.mesh.box((0.05, 0.05, 0.05), (1, 1, 1)), rubber)
    for body, base in ((soft, box()), (box(), soft), (box(), "world")):
        with pytest.raises(InputError, match="'slider'"):
            pl.Slider(body, (0, 0, 1), base=base)
