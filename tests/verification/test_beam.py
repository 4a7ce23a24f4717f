"""Beams against closed forms and published benchmarks."""

import numpy as np
import pytest
from scipy import linalg
from scipy.integrate import cumulative_trapezoid, solve_bvp

import pliant as pl
from pliant.models.beam import element
from pliant.solvers.linear import BlockMatrix


def chain(count, length=1.0):
    return np.linspace((0, 0, 0), (length, 0, 0), count + 1)


def test_a_moment_rolls_a_beam_into_a_circle():
    """M = 2πEI/L closes the axis; the nodes make a regular polygon, whose circle is too wide at order 2."""
    section, young, errors = pl.sections.Rectangle(0.02, 0.01), 1e7, []
    for count in (8, 16, 32):
        scene = pl.Scene()
        beam = scene.add(pl.Beam(chain(count), section=section, young=young, poisson=0.0, density=1e3, clamp=[0]))
        moment = 2 * np.pi * young * section.second_moments[0]
        scene.add(pl.PointLoad(beam, [count], (0, 0, 0), (0, -moment, 0)))
        world = scene.compile()
        state, _ = pl.QuasiStatic()(world, world.initial_state())
        points = state.points(beam)
        assert np.linalg.norm(points[-1]) < 1e-8
        assert np.abs(points[:, 1]).max() < 1e-9
        np.testing.assert_allclose(state.section_forces(beam)[:, :, 4], -moment, rtol=1e-7)
        errors.append(abs(points[:, 2].max() * np.pi - 1.0))
    print(f"diameter of the circle: relative errors {errors}")
    assert errors[-1] < 2e-3
    assert np.log2(errors[0] / errors[1]) == pytest.approx(2.0, abs=0.1)
    assert np.log2(errors[1] / errors[2]) == pytest.approx(2.0, abs=0.1)


def elastica(load):
    """Tip deflection and shortening over L of EI θ″ = −P cos θ at P L²/EI = `load`, as in test_elastica."""
    s = np.linspace(0.0, 1.0, 401)
    guess = [0.5 * load * s * (2 - s) / (1 + load), load * (1 - s) / (1 + load)]
    solution = solve_bvp(
        lambda _, y: [y[1], -load * np.cos(y[0])], lambda a, b: [a[0], b[1]], s, guess, tol=1e-10, max_nodes=100000
    )
    assert solution.success
    fine = np.linspace(0.0, 1.0, 20001)
    theta = solution.sol(fine)[0]
    return cumulative_trapezoid(np.sin(theta), fine)[-1], 1.0 - cumulative_trapezoid(np.cos(theta), fine)[-1]


@pytest.mark.parametrize("load", [1.0, 3.0, 10.0])
def test_a_cantilever_follows_the_elastica(load):
    """Slender (r/L = 0.5 %), so that stretch and shear stay below 1e-4; order 2 in the number of pieces."""
    section, young, errors = pl.sections.Circle(0.005), 1e9, []
    stiffness = young * section.second_moments[0]
    expected = np.array(elastica(load))
    for count in (5, 10, 20):
        scene = pl.Scene()
        beam = scene.add(pl.Beam(chain(count), section=section, young=young, poisson=0.0, density=1e3, clamp=[0]))
        scene.add(pl.PointLoad(beam, [count], (0, 0, -load * stiffness)))
        world = scene.compile()
        state, _ = pl.QuasiStatic()(world, world.initial_state())
        tip = -state.displacements(beam)[-1, [2, 0]]
        errors.append(float(np.linalg.norm(tip - expected)))
    print(f"load {load}: tip errors over L {errors}")
    assert errors[-1] < 2e-3
    assert errors[0] / errors[1] > 3.0
    assert errors[1] / errors[2] > 3.0


@pytest.mark.parametrize(
    ("load", "published", "spread"), [(300.0, (22.5, 59.2, 39.5), 1.0), (600.0, (15.9, 47.2, 53.4), 0.35)]
)
def test_the_bend_of_bathe_and_bolourchi(load, published, spread):
    """A 45° bend of radius 100 with a 1 × 1 section, E = 1e7, ν = 0, pushed out of its plane (IJNME 14, 1979).

    Tip coordinates across, along, up. Published results spread by ±0.35 about those of Bathe and Bolourchi at 600; at
    300 later ones (Simo and Vu-Quoc 1986, Crisfield 1990) stand up to 0.6 away from theirs (`test_rod.py`).
    Torsion constant: that of Saint-Venant, 0.1406.
    """
    angle = np.linspace(0.0, np.pi / 4, 9)
    points = np.stack([100 * np.sin(angle), 100 * (1 - np.cos(angle)), 0 * angle], axis=1)
    scene = pl.Scene()
    section = pl.sections.Rectangle(1.0, 1.0)
    beam = scene.add(pl.Beam(points, section=section, young=1e7, poisson=0.0, density=1.0, clamp=[0]))
    scene.add(pl.PointLoad(beam, [8], (0, 0, load)))
    world = scene.compile()
    state, info = pl.QuasiStatic()(world, world.initial_state())
    tip = state.points(beam)[-1, [1, 0, 2]]
    print(f"load {load}: tip {tip}, {info.iterations} iterations, {info.load_steps} load steps")
    np.testing.assert_allclose(tip, published, atol=spread)


def test_newton_converges_quadratically():
    """Near the equilibrium of a strongly bent beam the fourth step is the square of the third, over its size."""
    angle = np.linspace(0.0, np.pi / 4, 9)
    points = np.stack([100 * np.sin(angle), 100 * (1 - np.cos(angle)), 0 * angle], axis=1)
    scene = pl.Scene()
    beam = scene.add(
        pl.Beam(points, section=pl.sections.Rectangle(1.0, 1.0), young=1e7, poisson=0.0, density=1.0, clamp=[0])
    )
    push = scene.add(pl.PointLoad(beam, [8], (0, 0, 300.0)))
    world = scene.compile()
    state, _ = pl.QuasiStatic()(world, world.initial_state())
    steps = []
    for _ in range(4):
        before = state
        state, _ = pl.QuasiStatic(newton_iterations=1)(world, state, {push: pl.Force((0, 0, 303.0))})
        steps.append(np.abs(state.points(beam) - before.points(beam)).max())
    print(f"steps of Newton's iteration {steps}")
    assert 1e-6 < steps[2] < steps[1]
    assert steps[3] < 0.1 * steps[2] ** 2


def test_natural_frequencies_of_a_cantilever():
    """Eigenvalues of K and M against (βL)² √(EI/ρAL⁴): the first three within 1 % with 30 pieces."""
    section, young, density = pl.sections.Rectangle(0.012, 0.01), 1e8, 1.2e3
    scene = pl.Scene()
    scene.add(pl.Beam(chain(30), section=section, young=young, poisson=0.3, density=density, clamp=[0]))
    model = scene.compile().models[0]
    values = np.zeros((model.pattern.block_count, 3, 3))
    model.assemble(model.rest, tangent=element.EXACT, scale=1.0, values=values)
    K = BlockMatrix(model.pattern, values).to_scipy().toarray()[6:, 6:]
    mass = np.concatenate(
        [np.repeat(model.mass[:, None], 3, axis=1)[:, None], np.einsum("nii->ni", model.inertia)[:, None]], axis=1
    )
    found = np.sqrt(linalg.eigh(K, np.diag(mass.ravel()[6:]), eigvals_only=True, subset_by_index=(0, 5)))
    roots = np.array([1.8751041, 4.6940911, 7.8547574]) ** 2
    expected = [roots * np.sqrt(young * moment / (density * section.area)) for moment in section.second_moments]
    expected = np.sort(np.concatenate(expected))
    print(f"frequencies over theory {found / expected}")
    np.testing.assert_allclose(found, expected, rtol=0.01)


def test_a_swinging_cantilever_has_its_period():
    """The midpoint rule with small steps: first period of the free swing within 1 %."""
    section, young, density = pl.sections.Circle(0.01), 1e8, 1e3
    scene = pl.Scene()
    beam = scene.add(pl.Beam(chain(16), section=section, young=young, poisson=0.3, density=density, clamp=[0]))
    push = scene.add(pl.PointLoad(beam, [16], (0, 0, 1e-3)))
    world = scene.compile()
    state, _ = pl.QuasiStatic()(world, world.initial_state())
    frequency = 1.8751041**2 * np.sqrt(young * section.second_moments[0] / (density * section.area)) / (2 * np.pi)
    dt, heights = 1 / frequency / 200, []
    step = pl.ImplicitMidpoint(dt=dt, tolerance=1e-8)
    for _ in range(500):
        state, _ = step(world, state, {push: pl.Force((0, 0, 0))})
        heights.append(state.points(beam)[-1, 2])
    signs = np.flatnonzero(np.diff(np.sign(heights)) < 0)
    period = (signs[-1] - signs[0]) * dt / (len(signs) - 1)
    assert period * frequency == pytest.approx(1.0, abs=0.01)


def totals(world, state):
    """Linear and angular momentum about the origin of one beam."""
    momentum = world.models[0].momentum(state.q[0], state.v[0])
    return momentum[:, 0].sum(axis=0), (np.cross(state.q[0][:, 0], momentum[:, 0]) + momentum[:, 1]).sum(axis=0)


def test_a_free_beam_keeps_momentum_and_energy():
    """Thrown, spinning and vibrating for 200 steps of the midpoint rule: momenta to 1e-8, energy to 0.1 %."""
    scene = pl.Scene()
    scene.add(pl.Beam(chain(8, 0.5), section=pl.sections.Rectangle(0.03, 0.02), young=1e6, poisson=0.3, density=1e3))
    world = scene.compile()
    start = world.initial_state()
    q, v = start.q[0], np.zeros((9, 2, 3))
    spin, throw = np.array([2.0, 3.0, 5.0]), np.array([0.3, 0.1, -0.2])
    v[:, 0] = throw + np.cross(spin, q[:, 0] - q[:, 0].mean(axis=0))
    v[:, 1] = spin
    v[:, 0, 2] += 0.2 * np.cos(np.linspace(0, 2 * np.pi, 9))
    state = pl.State(world, 0.0, start.q, (v,), start.lam)
    (linear, angular), energy = totals(world, state), world.energy(state)["total"]
    step, stretched = pl.ImplicitMidpoint(dt=0.002, tolerance=1e-12), 0.0
    for _ in range(200):
        state, _ = step(world, state)
        stretched = max(stretched, world.energy(state)["elastic"])
    after = totals(world, state)
    drifts = [np.linalg.norm(a - b) / np.linalg.norm(b) for a, b in zip(after, (linear, angular), strict=True)]
    change = world.energy(state)["total"] / energy - 1.0
    print(f"relative change of momentum {drifts[0]:.1e}, angular {drifts[1]:.1e}, energy {change:.1e}")
    assert max(drifts) < 1e-8
    assert abs(change) < 1e-3
    assert stretched > 0.01 * energy


def test_a_stiff_free_beam_tumbles_as_the_rigid_body_it_is():
    """Torque-free rotation of a thick short beam, one solve a step, follows that of a rigid box of its inertia."""
    scene = pl.Scene()
    beam = scene.add(
        pl.Beam(chain(1, 0.1), section=pl.sections.Rectangle(0.1, 0.05), young=1e10, poisson=0.3, density=1e3)
    )
    world = scene.compile()
    model = world.models[0]
    start = world.initial_state()
    spin = np.array([3.0, 4.0, 1.0])
    arms = model.rest[:, 0] - model.rest[:, 0].mean(axis=0)
    v = np.stack([np.cross(spin, arms), np.broadcast_to(spin, arms.shape)], axis=1)
    state = pl.State(world, 0.0, start.q, (v,), start.lam)
    inertia = model.inertia.sum(axis=0) + sum(
        m * (r @ r * np.eye(3) - np.outer(r, r)) for m, r in zip(model.mass, arms, strict=True)
    )
    body = pl.RigidBody(
        pl.RigidBody.box(size=(0.1, 0.1, 0.05), mass=1.0).shape, float(model.mass.sum()), inertia, spin=spin
    )
    other = pl.Scene()
    other.add(body)
    rigid_world = other.compile()
    rigid, step = rigid_world.initial_state(), pl.ImplicitMidpoint(dt=1e-3)
    for _ in range(300):
        state, _ = step(world, state)
        rigid, _ = step(rigid_world, rigid)
    turned = state.frames(beam)[0] @ model.spec.node_frames[0].T
    assert np.linalg.norm(turned - rigid.pose(body)[1:]) < 0.02
    assert np.linalg.norm(turned - np.eye(3)) > 1.0
