"""Reduced robots against full ones, on motions they were not trained by, and against the sizes of the incumbent.

The incumbent reduces its finger of 158 nodes from 474 unknowns and 389 elements to 3 modes and 5 points, and a beam of
171 hexahedra from 960 unknowns to 8 modes and 10 points; it does not say how far off they are.
"""

from functools import cache

import numpy as np
import pytest
from scipy import linalg

import pliant as pl
from benchmarks.tasks.beam import HEADLINE
from pliant.materials import Tangent
from pliant.reduced import Subspace
from pliant.reduction import curved, ecsw, experiments, latin_hypercube, pod, reduce, validate
from pliant.solvers.linear import BlockMatrix
from pliant.world.reduced import reduced

EULER = pl.ImplicitEuler(dt=0.01)


def driven(world, controls, steps):
    """The states after each step."""
    state, states = world.initial_state(), []
    for k in range(steps):
        state, _ = EULER(world, state, controls(k))
        states.append(state)
    return states


def shapes(states):
    return np.array([state.q[0] for state in states])


def off(tip, states, wanted):
    """Largest distance of the tips over time, as a share of the largest motion of the wanted one."""
    a, b = (np.array([tip(state) for state in each]) for each in (states, wanted))
    rest = tip(wanted[0].world.initial_state())
    return np.linalg.norm(a - b, axis=1).max() / np.linalg.norm(b - rest, axis=1).max()


def pulled(cable, amplitude, steps):
    return lambda k: {cable: pl.Displacement(amplitude * min(1.0, (k + 1) / steps))}


@cache
def finger():
    """The finger, its world, and shapes of a slow pull to 18 mm."""
    scene = pl.Scene(gravity=(0, 0, -9.81))
    robot = scene.add(pl.robots.finger())
    world = scene.compile()
    return robot, world, shapes(driven(world, pulled(robot.cable, 0.018, 100), 100))


@cache
def small_finger():
    _, world, trained = finger()
    model = world.volumes[0]
    space = curved(pod(model, trained, size=3), trained)
    return space, ecsw(model, space, trained, tolerance=2e-2, stiffness=False)


def test_a_finger_of_three_coordinates_and_five_points_follows_other_pulls():
    """Slower, faster and to other ends than trained: the tip is off by less than 5 % of its way."""
    robot, world, _ = finger()
    space, few = small_finger()
    assert few.size <= 3
    assert len(few.points) <= 5
    for amplitude, steps in ((0.012, 27), (0.006, 100)):
        control = pulled(robot.cable, amplitude, steps)
        wanted = driven(world, control, 100)
        assert off(robot.tip.at, driven(reduced(world, [space]), control, 100), wanted) < 0.02
        assert off(robot.tip.at, driven(reduced(world, [few]), control, 100), wanted) < 0.05


def test_a_plane_space_of_three_modes_is_too_stiff():
    """Why the space is curved: with as many plane modes the shapes, though 0.2 % away, hold up to twice the energy."""
    _, world, trained = finger()
    model = world.volumes[0]
    found = pod(model, trained, size=3)
    assert found.discarded < 3e-3
    ratios = []
    for space in (found.subspace(), small_finger()[0]):
        small = space.reduced(model)
        ratios.append([small.elastic_energy(x) / model.elastic_energy(x.copy()) for x in trained[5::10]])
    assert max(ratios[0]) > 2.0
    np.testing.assert_allclose(ratios[1], 1.0, rtol=0, atol=0.01)


def test_a_reduced_finger_touches_itself():
    """Pulled until its phalanges press on each other: contacts hold as in the full finger."""
    scene = pl.Scene()
    robot = scene.add(pl.robots.finger())
    scene.collide(robot, robot)
    world = scene.compile()
    states = driven(world, pulled(robot.cable, 0.03, 60), 70)
    trained = shapes(states)
    space = curved(pod(world.volumes[0], trained, size=8), trained)
    small = reduced(world, [ecsw(world.volumes[0], space, trained, tolerance=1e-2)])
    ends = driven(small, pulled(robot.cable, 0.03, 45), 70)
    wanted = driven(world, pulled(robot.cable, 0.03, 45), 70)
    assert len(ends[-1].lam) > 1
    assert (ends[-1].lam[1:] > 0.0).any()
    assert off(robot.tip.at, ends, wanted) < 0.04


def toward(*direction, strength=9.81):
    gravity = strength * np.array(direction) / np.linalg.norm(direction)
    return lambda k: {"gravity": gravity}


def dropped(world, *, every=2):
    return np.concatenate([shapes(driven(world, toward(*d), 60))[::every] for d in ((0, 0, -1), (0, -1, 0), (0, 1, 1))])


def end_of(world):
    rest = world.volumes[0].rest
    nodes = np.flatnonzero(rest[:, 0] > rest[:, 0].max() - 1e-9)
    return lambda state: state.q[0][nodes].mean(axis=0)


def test_the_bench_beam_of_eight_modes_falls_askew():
    """Dropped along y and z, tried askew with a pull along its axis and less of it: within 5 %, energies as well."""
    world = HEADLINE.world()
    model, trained = world.volumes[0], dropped(world)
    found = pod(model, trained, size=8)
    few = ecsw(model, found.subspace(), trained, tolerance=1e-2)
    assert len(few.points) <= 30
    small = reduced(world, [few])
    for control in (toward(0, 0, -1), toward(0.3, -1.0, 2.0, strength=7.0)):
        ends, wanted = driven(small, control, 60), driven(world, control, 60)
        assert off(end_of(world), ends, wanted) < 0.05
        energies = [w.energy(states[-1])["elastic"] for w, states in ((small, ends), (world, wanted))]
        assert energies[0] == pytest.approx(energies[1], rel=0.05)


def test_hexahedra_of_960_unknowns_take_eight_modes_and_ten_points():
    scene = pl.Scene(gravity=(0, 0, -9.81))
    rubber = pl.materials.Corotated(young=1e6, poisson=0.45, density=1000)
    mesh = pl.mesh.box((0.19, 0.03, 0.03), (19, 3, 3), element="hex8")
    clamp = pl.regions.plane(axis="x", at=0)
    scene.add(pl.Volume(mesh, rubber, clamp=clamp, damping=pl.Rayleigh(stiffness=0.01)))
    world = scene.compile()
    model, trained = world.volumes[0], dropped(world)
    assert model.size == 960
    few = ecsw(model, pod(model, trained, size=8).subspace(), trained, tolerance=0.1)
    assert len(few.points) <= 10
    control = toward(0.3, -1.0, 2.0, strength=7.0)
    assert off(end_of(world), driven(reduced(world, [few]), control, 60), driven(world, control, 60)) < 0.08


def test_a_swinging_reduced_body_keeps_its_energy():
    """Midpoint to a tolerance without damping: points with other weights still have a potential, so energy stays."""
    scene = pl.Scene(gravity=(0, 0, -9.81))
    rubber = pl.materials.NeoHookean(young=3e5, poisson=0.45, density=1000)
    body = scene.add(
        pl.Volume(pl.mesh.box((0.1, 0.02, 0.02), (6, 2, 2)), rubber, clamp=pl.regions.plane(axis="x", at=0))
    )
    world = scene.compile()
    model = world.volumes[0]
    states, state = [], world.initial_state()
    for _ in range(40):
        state, _ = pl.ImplicitEuler(dt=0.005)(world, state)
        states.append(state)
    space = pod(model, shapes(states), size=4).subspace()
    small = reduced(world, [ecsw(model, space, shapes(states), tolerance=1e-2)])
    state, energies = small.initial_state(), []
    for _ in range(120):
        state, _ = pl.ImplicitMidpoint(dt=0.004, tolerance=1e-10)(small, state)
        energies.append(small.energy(state))
    swing = max(e["kinetic"] for e in energies)
    totals = np.array([e["total"] for e in energies])
    assert swing > 0.0
    assert np.ptp(totals) < 0.02 * swing
    assert np.abs(state.points(body) - model.rest).max() > 1e-3


def cantilever():
    """A slender beam of small strains along x, its matrices over the free unknowns, and these."""
    scene = pl.Scene()
    steel = pl.materials.Linear(young=2e11, poisson=0.0, density=7800.0)
    mesh = pl.mesh.box((1.0, 0.03, 0.02), (20, 1, 1), element="tet10")
    body = scene.add(pl.Volume(mesh, steel, clamp=pl.regions.plane(axis="x", at=0), lumped_mass=False))
    scene.add(pl.PointLoad(body, pl.regions.plane(axis="x", at=1.0), (0.0, 0.0, 10.0)))
    world = scene.compile()
    model = world.volumes[0]
    K, M = (np.zeros((model.pattern.block_count, 3, 3)) for _ in range(2))
    model.assemble(model.rest.copy(), mass=0.0, stiffness=1.0, tangent=Tangent.EXACT, values=K)
    model.mass.add_to(M, 1.0)
    free = np.flatnonzero(~model.constrained.ravel())
    matrices = [BlockMatrix(model.pattern, values).to_scipy().toarray()[np.ix_(free, free)] for values in (K, M)]
    return world, matrices, free


def test_a_linear_beam_in_its_eigenmodes_is_modal_superposition():
    """Statics in k bending modes is Σ φφᵀf / ω², and of Euler and Bernoulli's cantilever under an end load the first k
    modes hold 12 Σ (βL)⁻⁴ of the deflection, βL = 1.8751, 4.6941: 97.07 and 99.54 %. The first frequency is theirs.
    """
    world, (K, M), free = cantilever()
    model = world.volumes[0]
    squares, vectors = linalg.eigh(K, M, subset_by_index=(0, 11))
    upward = [k for k in range(12) if _share_along_z(vectors[:, k], free) > 0.9][:2]
    tip = end_of(world)
    full, _ = pl.QuasiStatic()(world, world.initial_state())
    whole = (tip(full) - tip(world.initial_state()))[2]
    assert np.sqrt(squares[upward[0]]) == pytest.approx(1.8751**2 * np.sqrt(2e11 / 7800.0 * 0.02**2 / 12.0), rel=0.01)
    load = model.external_forces(model.rest, np.zeros(3), {}).ravel()[free]
    for count, share in ((1, 12.0 * 1.8751**-4), (2, 12.0 * (1.8751**-4 + 4.6941**-4))):
        modes = np.zeros((model.size, count))
        modes[free] = vectors[:, upward[:count]]
        space = Subspace(model.spec, modes, rest=model.rest, point_count=model.points.count)
        state, _ = pl.QuasiStatic()(small := reduced(world, [space]), small.initial_state())
        moved = (state.q[0] - model.rest).ravel()[free]
        wanted = sum(vectors[:, k] * (vectors[:, k] @ load) / squares[k] for k in upward[:count])
        np.testing.assert_allclose(moved, wanted, rtol=0, atol=1e-6 * np.abs(wanted).max())
        assert (tip(state) - tip(world.initial_state()))[2] / whole == pytest.approx(share, abs=2e-3)


def _share_along_z(vector, free):
    moved = np.zeros(free.max() + 1)
    moved[free] = vector
    return float((moved[2::3] ** 2).sum() / (moved**2).sum())


@pytest.mark.parametrize("law", [pl.materials.NeoHookean, pl.materials.Corotated])
def test_a_shape_that_is_none_of_the_body_is_out_of_balance(law):
    """In one plane mode a bent beam has to stretch, and stands up almost straight; the residual along that mode says
    nothing of it, that of the whole body all. With two modes both are small.
    """
    scene = pl.Scene(gravity=(0, 0, -9.81))
    rubber = law(young=1e5, poisson=0.45, density=1000)
    scene.add(pl.Volume(pl.mesh.box((0.1, 0.02, 0.02), (6, 2, 2)), rubber, clamp=pl.regions.plane(axis="x", at=0)))
    world = scene.compile()
    model, step = world.volumes[0], pl.QuasiStatic()
    loads = [{"gravity": np.array([0, 0, -9.81 * share])} for share in np.linspace(0.1, 1.0, 10)]
    states = [step(world, world.initial_state(), load) for load in loads]
    assert states[-1][1].full_order_residual == pytest.approx(states[-1][1].residual)
    trained, fall = shapes([state for state, _ in states]), {}
    for size in (1, 2):
        small = reduced(world, [pod(model, trained, size=size).subspace()])
        state, info = step(small, small.initial_state())
        assert info.residual < 1e-8
        fall[size] = (end_of(world)(state) - end_of(world)(states[-1][0]))[2], info.full_order_residual
    assert fall[1][0] > 0.02
    assert fall[1][1] > 0.9
    assert abs(fall[2][0]) < 1e-3
    assert fall[2][1] < 0.02


@pytest.mark.slow
def test_a_tower_that_touches_itself_follows_pressures_it_was_not_trained_by():
    """Runs that were held out decide how many modes it takes; fewer runs would not span what it does."""
    scene = pl.Scene()
    tower = scene.add(pl.robots.tower(material=pl.materials.Corotated(young=3e5, poisson=0.45, density=1080.0)))
    scene.collide(tower, tower, margin=tower.margin)
    world = scene.compile()
    options = {"amplitude": 8e3, "kind": pl.Pressure, "actuators": (tower.cavities[0], tower.cavities[2])}
    seen = experiments(world, latin_hypercube(world, 20, steps=8, seed=3, **options), workers=1, progress=False)
    fast = reduce(world, seen, motion_tolerance=3e-4, contact_tolerance=0.05)
    judged = validate(fast, world, latin_hypercube(world, 2, steps=8, seed=77, **options))
    (few,) = (part for part in fast.reductions if isinstance(part, Subspace))
    assert few.size <= 16
    assert len(few.points) <= 64
    assert judged.force.max() > 0.05, "it has to touch to tell anything"
    assert judged.error < 0.015
    assert judged.imbalance.max() < 0.5


@pytest.mark.slow
def test_what_an_inverse_finds_on_a_reduced_trunk_carries_over_to_the_full_one():
    """The tip of the reduced trunk follows a circle that was not trained, by cables that pull; under the same cable
    displacements the tip of the full trunk is about as close to it as under those that the inverse finds on the full
    trunk, which one or two linear solves a step leave out of balance as well.

    The trunk hangs: standing on its base it is not stable under its weight, and nothing would carry over.
    """
    scene = pl.Scene(gravity=(0, 0, 9.81))
    trunk = scene.add(pl.robots.trunk(guide_stiffness=0.0))
    tip = pl.Effector(trunk.tip)
    world = scene.compile()
    inverse = pl.QuasiStatic(newton_iterations=2, solver=pl.Inverse(effectors=[tip], actuators=trunk.cables))
    start = trunk.tip.at(pl.QuasiStatic()(world, world.initial_state(), dict.fromkeys(trunk.cables, pl.Force(0.0)))[0])

    def path(radius):
        circle = list(pl.paths.circle(center=(0, 0, 0.19), radius=radius, count=60))
        return [start + share * (circle[0] - start) for share in np.linspace(0.1, 1.0, 10)] + circle

    def followed(world, targets):
        state, states, pulls = world.initial_state(), [], []
        for target in targets:
            state, info = inverse(world, state, {tip: target})
            assert (info.actuation(trunk.cables)[1] >= 0.0).all()
            states.append(state)
            pulls.append(info.actuation(trunk.cables)[0].copy())
        return states, pulls

    def replayed(pulls):
        state, tips = world.initial_state(), []
        for row in pulls:
            controls = {cable: pl.Displacement(float(pull)) for cable, pull in zip(trunk.cables, row, strict=True)}
            state, _ = pl.QuasiStatic(newton_iterations=3)(world, state, controls)
            tips.append(trunk.tip.at(state))
        return np.array(tips)

    model, shown = world.volumes[0], np.concatenate([shapes(followed(world, path(r))[0]) for r in (0.01, 0.03)])
    few = ecsw(model, pod(model, shown, tolerance=1e-4).subspace(), shown[::2], tolerance=3e-3)
    targets = np.array(path(0.02))
    (states, found), (_, own) = followed(reduced(world, [few]), targets), followed(world, targets)
    assert max(np.linalg.norm(trunk.tip.at(s) - t) for s, t in zip(states[10:], targets[10:], strict=True)) < 1e-4
    by_reduced, by_full = (np.linalg.norm(replayed(pulls) - targets, axis=1)[2:] for pulls in (found, own))
    assert by_reduced.mean() < 1.5 * by_full.mean()
    assert by_reduced.max() < 0.05 * np.linalg.norm(targets - start, axis=1).max()
