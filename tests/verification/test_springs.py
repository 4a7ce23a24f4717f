"""Springs and dashpots: oscillators, their order in dt, statics, on all kinds of bodies, random networks."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import pliant as pl
from pliant.core.errors import InputError, MeshError

MASS, K, C = 0.3, 40.0, 0.5
OMEGA, DECAY = np.sqrt(K / MASS), C / (2.0 * MASS)
STEPPERS = {
    "euler": (pl.ImplicitEuler, 1),
    "midpoint": (pl.ImplicitMidpoint, 2),
    "damped midpoint": (pl.DampedMidpoint, 2),
}


def ball(scene, mass=MASS, position=(0, 0, 0), **options):
    return scene.add(pl.RigidBody.sphere(radius=0.01, mass=mass, position=position, **options))


def oscillation(stepper, *, steps, damping=C, until=1.0, **options):
    """Path of a ball on a spring to the world, thrown with 1 m/s, (steps + 1,), m."""
    scene = pl.Scene()
    body = ball(scene)
    scene.add(pl.Spring(body, None, (0, 0, 0), stiffness=K, damping=damping, **options))
    world = scene.compile()
    state = world.initial_state().with_velocities(body, [[0.3, 0, 0], [0, 0, 0]])
    run = pl.simulate(world, stepper(dt=until / steps), until=until, start=state)
    return np.array([run.state(k).pose(body)[0, 0] for k in range(len(run))]), run


def exact(t):
    """Free oscillation x = v₀/ω_d e^(−δt) sin ω_d t."""
    wd = np.sqrt(OMEGA**2 - DECAY**2)
    return 0.3 / wd * np.exp(-DECAY * t) * np.sin(wd * t)


@pytest.mark.parametrize("name", STEPPERS)
def test_a_damped_oscillator_converges_with_the_order_of_the_stepper(name):
    stepper, order = STEPPERS[name]
    errors = []
    for steps in (300, 600) if order == 1 else (60, 120):
        x, run = oscillation(stepper, steps=steps)
        errors.append(np.abs(x - exact(run.times)).max())
    assert np.log2(errors[0] / errors[1]) == pytest.approx(order, abs=0.15)
    assert errors[1] < (2e-3 if order == 1 else 1e-4)


def test_midpoint_keeps_the_energy_of_an_undamped_spring():
    _, run = oscillation(pl.ImplicitMidpoint, steps=60, damping=0.0)
    world = run.world
    energies = [world.energy(run.state(k))["total"] for k in range(len(run))]
    np.testing.assert_allclose(energies, 0.5 * MASS * 0.3**2, rtol=1e-9)


def test_two_bodies_oscillate_with_their_reduced_mass():
    """A volume and a ball in space: ω² = k/μ, and their common centre of mass stays."""
    scene = pl.Scene()
    material = pl.materials.Corotated(young=1e7, poisson=0.3, density=1e3)
    box = scene.add(pl.Volume(pl.mesh.box((0.1, 0.1, 0.1), (1, 1, 1)), material))  # 1 kg
    other = ball(scene, mass=0.5, position=(0.3, 0.05, 0.05))
    spring = pl.Spring(box, other, (0.1, 0.05, 0.05), (0.3, 0.05, 0.05), stiffness=50.0, rest_length="initial")
    scene.add(spring)
    world = scene.compile()
    state = world.initial_state().with_velocities(other, [[0.1, 0, 0], [0, 0, 0]])
    omega = np.sqrt(50.0 * (1.0 + 1.0 / 0.5))
    run = pl.simulate(world, pl.ImplicitMidpoint(dt=2e-3), until=0.3, start=state)
    apart = [run.state(k).pose(other)[0, 0] - run.state(k).points(box)[:, 0].mean() for k in range(len(run))]
    expected = 0.25 + 0.1 / omega * np.sin(omega * run.times)
    np.testing.assert_allclose(apart, expected, atol=2e-4 * 0.1 / omega * 10)


def test_a_weight_hangs_where_a_spring_balances_it():
    """x = m g/k in statics, by one call, for a rigid body and for a volume on four springs."""
    scene = pl.Scene(gravity=(0, 0, -9.81))
    body = ball(scene)
    mesh = pl.mesh.box((0.1, 0.1, 0.02), (2, 2, 1)).translated((1.0, 0, 0))
    plate = scene.add(pl.Volume(mesh, pl.materials.NeoHookean(young=1e6, poisson=0.4, density=1e3)))
    scene.add(pl.Spring(body, None, (0, 0, 0), stiffness=np.diag([10.0, 20.0, K])))
    corners = mesh.points[np.isclose(mesh.points[:, 2], 0.0)]
    scene.add(pl.Spring(plate, None, corners, stiffness=200.0))
    world = scene.compile()
    state, _ = pl.QuasiStatic()(world, world.initial_state())
    assert state.pose(body)[0, 2] == pytest.approx(-MASS * 9.81 / K, rel=1e-7)
    bottom = state.points(plate)[np.isclose(mesh.points[:, 2], 0.0)] - corners
    assert 200.0 * bottom[:, 2].sum() == pytest.approx(-0.2 * 9.81, rel=1e-6)


def test_a_line_spring_pulls_a_ball_aside_as_in_closed_form():
    """A horizontal taut spring between two anchors under a weight: 2 k (ℓ − L) y/ℓ = m g."""
    scene = pl.Scene(gravity=(0, 0, -9.81))
    body = ball(scene)
    for x in (-0.2, 0.2):
        scene.add(pl.Spring(body, None, (0, 0, 0), (x, 0, 0), stiffness=100.0, rest_length=0.15))
    world = scene.compile()
    state, _ = pl.QuasiStatic(tolerance=1e-10)(world, world.initial_state())
    y = -state.pose(body)[0, 2]
    length = np.hypot(0.2, y)
    assert 2 * 100.0 * (length - 0.15) * y / length == pytest.approx(MASS * 9.81, rel=1e-7)


def slender(kind, scene):
    clamp = {"clamp": pl.regions.plane(axis="x", at=0.0)}
    made = {"section": pl.sections.Circle(0.005), "young": 1e6, "poisson": 0.3, "density": 1e3}
    if kind == "rod":
        return scene.add(pl.Rod(0.2, 6, **made))
    if kind == "beam":
        return scene.add(pl.Beam(np.linspace((0, 0, 0), (0.2, 0, 0), 7), clamp=[0], **made))
    mesh = pl.mesh.box((0.2, 0.01, 0.01), (12, 1, 1), element="hex8").translated((0, -0.005, -0.005))
    material = pl.materials.NeoHookean(young=1e6, poisson=0.3, density=1e3)
    return scene.add(pl.Volume(mesh, material, **clamp))


@pytest.mark.parametrize("kind", ["rod", "beam", "volume"])
def test_springs_at_the_tip_shift_a_load_as_one_in_parallel(kind):
    """A cantilever of stiffness k_b with a spring k across at its tip: the load F bends it by F/(k_b + k)."""
    tips = []
    for stiffness in (0.0, 3.0):
        scene = pl.Scene()
        body = slender(kind, scene)
        tip = (0.2, 0.0, 0.0)
        load = scene.add(pl.Spring(body, None, tip, (0.2, 0, -1e3), stiffness=1e-6, rest_length=0.0))  # 1 mN, dead
        if stiffness:
            scene.add(pl.Spring(body, None, tip, stiffness=np.diag([0, 0, stiffness])))
        world = scene.compile()
        state, _ = pl.QuasiStatic(tolerance=1e-10)(world, world.initial_state())
        rows = world.constraints[world.constraint_index(load)]
        assert state.spring_force(load)[0, 2] == pytest.approx(-1e-3, rel=1e-5)
        tips.append(rows._lines(state.q)[0, 2] - 1e3)
    assert tips[0] < 0.0
    assert 1e-3 / tips[1] == pytest.approx(1e-3 / tips[0] - 3.0, rel=1e-3)


def random_network(seed):
    """Balls joined to each other and to anchors by random springs and dashpots, with and without a rest length."""
    rng = np.random.default_rng(seed)
    scene, count = pl.Scene(gravity=rng.normal(size=3)), int(rng.integers(2, 5))
    places = rng.uniform(-0.3, 0.3, (count, 3)) + np.arange(count)[:, None] * (0.7, 0, 0)
    masses = rng.uniform(0.1, 0.5, count)
    bodies = [ball(scene, masses[k], places[k], name=f"b{k}") for k in range(count)]
    laws = []
    for k in range(2 * count):
        i, j = int(rng.integers(count)), int(rng.integers(-1, count))
        j = -1 if j == i else j
        end = places[i] + rng.normal(size=3) if j < 0 else places[j]
        stiffness, damping = rng.uniform(1.0, 60.0), rng.choice([0.0, 0.4])
        if rng.random() < 0.5:
            length = float(rng.uniform(0.05, 0.9) * np.linalg.norm(places[i] - end))
            scene.add(pl.Spring(bodies[i], None if j < 0 else bodies[j], places[i], end, stiffness=stiffness,
                                damping=damping, rest_length=length, name=f"s{k}"))  # fmt: skip
            laws.append((i, j, end, stiffness * np.eye(3), damping * np.eye(3), length))
            continue
        G, D = rng.normal(size=(2, 3, 3))
        K3, D3 = stiffness * G @ G.T, damping * D @ D.T
        scene.add(pl.Spring(bodies[i], None if j < 0 else bodies[j], places[i], end, stiffness=K3, damping=D3))
        laws.append((i, j, end, K3, D3, None))
    return scene, bodies, places, masses, laws


def forces(laws, start, x, v, count):
    """Forces of the same springs by their definition, (count, 3), N."""
    total = np.zeros((count, 3))
    for i, j, end, K3, D3, length in laws:
        d = x[i] - (end if j < 0 else x[j])
        speed = v[i] - (0.0 if j < 0 else v[j])
        if length is None:
            f = -K3 @ (d - (start[i] - (end if j < 0 else start[j]))) - D3 @ speed
        else:
            u = d / np.linalg.norm(d)
            f = -(K3[0, 0] * (np.linalg.norm(d) - length) + D3[0, 0] * (u @ speed)) * u
        total[i] += f
        if j >= 0:
            total[j] -= f
    return total


@pytest.mark.parametrize("seed", [0, *(pytest.param(k, marks=pytest.mark.slow) for k in range(1, 10))])
def test_random_networks_move_as_their_differential_equation(seed):
    scene, bodies, places, masses, laws = random_network(seed)
    world, count, until = scene.compile(), len(bodies), 0.1

    def slope(t, y):
        x, v = y.reshape(2, count, 3)
        a = forces(laws, places, x, v, count) / masses[:, None] + scene.gravity
        return np.concatenate([v.ravel(), a.ravel()])

    y = np.concatenate([places.ravel(), np.zeros(3 * count)])
    exact = solve_ivp(slope, (0.0, until), y, rtol=1e-10, atol=1e-12).y[: 3 * count, -1].reshape(count, 3)
    errors = []
    for dt in (2.5e-3, 1.25e-3):  # coarser, errors of large motions change sign
        run = pl.simulate(world, pl.ImplicitMidpoint(dt=dt, tolerance=1e-10), until=until)
        errors.append(max(np.abs(run.state(-1).pose(b)[0] - x).max() for b, x in zip(bodies, exact, strict=True)))
    motion = np.abs(exact - places).max()
    assert errors[1] < 1e-2 * motion
    assert errors[0] / errors[1] > 3.0  # second order


def test_a_saved_world_has_its_springs(tmp_path):
    scene, bodies, *_ = random_network(1)
    world = scene.compile()
    again = pl.load(world.save(tmp_path / "network.npz"))
    one, other = (pl.ImplicitEuler(dt=0.01)(each, each.initial_state())[0] for each in (world, again))
    for k in range(len(bodies)):
        np.testing.assert_array_equal(one.q[k], other.q[k])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "neither stiffness nor damping"),
        ({"stiffness": -1.0}, "stiffness of 'spring'"),
        ({"stiffness": np.diag([1.0, 1.0, -1.0])}, "negative eigenvalue"),
        ({"stiffness": [[1.0, 2.0, 0], [0, 1, 0], [0, 0, 1]]}, "symmetric"),
        ({"stiffness": np.eye(3), "rest_length": 0.1}, "not matrices"),
        ({"stiffness": 1.0, "rest_length": "initial"}, "coincide"),
        ({"stiffness": 1.0, "rest_length": -0.1, "ends": (1, 0, 0)}, "rest_length"),
        ({"stiffness": 1.0, "ends": [(1, 0, 0), (2, 0, 0)]}, "shape"),
        ({"stiffness": 1.0, "points": (1, 0)}, "shape"),
        ({"stiffness": np.nan}, "stiffness"),
    ],
)
def test_bad_input_is_refused(options, message):
    body = pl.RigidBody.sphere(radius=0.01, mass=1.0)
    with pytest.raises(InputError, match=message):
        pl.Spring(body, None, **{"points": (0, 0, 0)} | options)


def test_points_off_the_body_and_bodies_outside_the_scene_are_refused():
    scene = pl.Scene()
    material = pl.materials.Corotated(young=1e5, poisson=0.3, density=1e3)
    box = pl.Volume(pl.mesh.box((0.1, 0.1, 0.1), (1, 1, 1)), material, name="box")
    with pytest.raises(InputError, match="add the body 'box'"):
        scene.add(pl.Spring(box, None, (0, 0, 0), stiffness=1.0))
    scene.add(box)
    scene.add(pl.Spring(box, None, (0.3, 0, 0), stiffness=1.0))
    with pytest.raises(MeshError, match="points of 'spring' on 'box'"):
        scene.compile()


def test_geometric_steps_refuse_springs():
    scene = pl.Scene()
    material = pl.materials.Corotated(young=1e5, poisson=0.3, density=1e3)
    box = scene.add(pl.Volume(pl.mesh.box((0.1, 0.1, 0.1), (1, 1, 1)), material, clamp=[0, 1, 2]))
    scene.add(pl.Spring(box, None, (0, 0, 0), stiffness=1.0))
    world = scene.compile()
    with pytest.raises(InputError, match="has no springs"):
        pl.Geometric()(world, world.initial_state())
