"""A soft beam with two cables between two planes, and the comparison of a batch of it with each copy alone."""

import numpy as np

import pliant as pl
from pliant.reduced import Subspace
from tests.scenes import DOWN

EULER = pl.ImplicitEuler(dt=0.01)
LEAST = 1e-4
"""Motion of a step, m, below which agreement is judged by this: a picometre, to which forces of friction are known."""


def scene_of(friction=0.5, obstacles=None):
    """A soft beam with two cables between a floor and an inclined wall, or other `obstacles`, with a load."""
    scene = pl.Scene(gravity=DOWN)
    rubber = pl.materials.Corotated(young=3e5, poisson=0.45, density=1e3)
    mesh = pl.mesh.box((0.1, 0.02, 0.02), (5, 1, 1))
    body = scene.add(
        pl.Volume(
            mesh, rubber, clamp=pl.regions.plane(axis="x", at=0.0), damping=pl.Rayleigh(mass=0.5, stiffness=0.005)
        )
    )
    cables = [
        scene.add(pl.Cable(body, [(x, y, 0.004) for x in (0.01, 0.04, 0.06, 0.095)], name=f"cable {y}"))
        for y in (0.005, 0.015)
    ]
    if obstacles is None:
        floor = pl.Obstacle.plane(point=(0, 0, -0.001), normal=(0, 0, 1), name="floor")
        obstacles = [floor, pl.Obstacle.plane(point=(0.1, -0.004, 0), normal=(-0.3, 1.0, 0.2), name="wall")]
    for solid in obstacles:
        scene.collide(body, scene.add(solid), friction=friction, margin=0.002)
    scene.add(pl.PointLoad(body, pl.regions.plane(axis="x", at=0.1), (0.0, -0.02, 0.01)))
    return scene, body, cables, *obstacles


def polynomials(world, body, modes, rng, *, sampled):
    """Products of polynomials, zero at the clamp, at all integration points or at some with random weights."""
    model = world.models[0]
    x, y, z = ((model.rest - model.rest.mean(axis=0)) / 0.02).T
    along = model.rest[:, 0] / 0.1
    shapes = np.stack([along * x**i * y**j * z**k for i in range(3) for j in range(2) for k in range(2)], 1)
    Phi = np.kron(shapes, np.eye(3))[:, rng.permutation(36)[:modes]]
    points = rng.permutation(model.points.count)[: model.points.count // 2] if sampled else None
    return Subspace(
        body, Phi, rest=model.rest, points=points, point_count=model.points.count,
        weights=None if points is None else rng.uniform(1.0, 3.0, len(points)),
    )  # fmt: skip


def commands(cables, k, count):
    """Commands of step k of all copies: a shortening of each, and a tension."""
    pulls = 0.0008 * min(k, 8) * np.arange(1, count + 1)
    forces = 0.05 * k * np.ones(count)
    alone = [{cables[0]: pl.Displacement(float(p)), cables[1]: pl.Force(float(f))} for p, f in zip(pulls, forces)]
    return {cables[0]: pl.Displacement(pulls), cables[1]: pl.Force(forces)}, alone


def single_precision_agrees(wide, single, body, cables, *, steps):
    """Each step from the same states, to 10⁻⁵ of the length of the body: 1 µm."""
    states = wide.initial_states()
    for k in range(steps):
        together, _ = commands(cables, k, len(states))
        narrow, infos = EULER(single, single.states(list(states)), together)
        states, _ = EULER(wide, states, together)
        assert not infos.errors
        assert np.abs(states.points(body) - narrow.points(body)).max() < 1e-5 * 0.1


def agrees(batch, body, cables, planes, *, steps):
    """Every step of all copies at once, and what it reports, is that of each copy alone."""
    count = len(batch.initial_states())
    alone = [batch.world_of(k).initial_state() for k in range(count)]
    touched = 0
    for k in range(steps):
        together, own = commands(cables, k, count)
        states, infos = EULER(batch, batch.states(alone), together)
        ends = [EULER(s.world, s, c) for s, c in zip(alone, own, strict=True)]
        for i, (end, info) in enumerate(ends):
            motion = max(np.abs(end.q[0] - alone[i].q[0]).max(), LEAST)
            assert np.abs(states.positions(body)[i] - end.q[0]).max() <= 1e-8 * motion
            assert np.abs(states.velocities(body)[i] - end.v[0]).max() <= 1e-8 * motion / EULER.dt
            for cable in cables:
                np.testing.assert_allclose(infos[i].actuation(cable), info.actuation(cable), rtol=1e-6, atol=1e-10)
            pairs = [(infos[i].contact_force(body, one), info.contact_force(body, one)) for one in planes]
            touched += sum(bool(force.any()) for _, force in pairs)
            # a node in the corner is pushed by both planes: forces of redundant rows are not unique, their sum is
            np.testing.assert_allclose(*np.sum(pairs, axis=0), rtol=1e-5, atol=1e-7)
            np.testing.assert_array_equal(infos[i].contact_force(planes[1], body), -pairs[1][0])
        assert infos.status == [info.status for _, info in ends]
        alone = [end for end, _ in ends]
    assert touched > 10
    np.testing.assert_allclose(states.times, steps * EULER.dt)
    assert max(infos.each("constraint_residual")) < 1e-8
