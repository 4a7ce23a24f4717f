"""Chambers by JAX: every step that of each copy alone, commanded by pressure and by volume."""

import numpy as np
import pytest

jax = pytest.importorskip("jax", reason="needs the extra gpu")
import pliant as pl  # noqa: E402
from pliant.batch.gpu import arrays, kinds  # noqa: E402
from pliant.batch.gpu.chambers import grow  # noqa: E402
from pliant.batch.gpu.lowering_chambers import chambers_in_nodes  # noqa: E402
from pliant.batch.gpu.precision import in_double  # noqa: E402
from pliant.mesh.lattice import Lattice  # noqa: E402
from pliant.reduced import Subspace  # noqa: E402
from pliant.world.reduced import reduced as reduced_world  # noqa: E402
from tests.scenes import DOWN  # noqa: E402

P = pl.parameters
COUNT = 3
EULER = pl.ImplicitEuler(dt=0.01)
LEAST = 1e-4
"""Motion of a step, m, below which agreement is judged by this."""


def bellows(friction=0.5):
    """A soft beam with two chambers and a cable, that lies near a floor."""
    keep = np.ones((5, 3, 3), bool)
    keep[1, 1, 1] = keep[3, 1, 1] = False
    x, y = np.linspace(0.0, 0.05, 6), np.array([0.0, 0.004, 0.016, 0.02])
    lattice = Lattice.grid(x, y, y, keep=keep)
    mesh = lattice.mesh(*lattice.points.T, element="tet4")
    rubber = pl.materials.Corotated(young=2e5, poisson=0.45, density=1e3)
    scene = pl.Scene(gravity=DOWN)
    clamp = pl.regions.plane(axis="x", at=0.0)
    body = scene.add(pl.Volume(mesh, rubber, clamp=clamp, damping=pl.Rayleigh(stiffness=0.005)))
    near, far = mesh.surface().components()[1:]
    chambers = [
        scene.add(pl.Cavity(body, near, name="near")),
        scene.add(pl.Cavity(body, far, name="far", max_pressure=4e3)),
    ]
    cable = scene.add(pl.Cable(body, [(0.01, 0.01, 0.002), (0.03, 0.01, 0.002), (0.05, 0.01, 0.002)]))
    floor = scene.add(pl.Obstacle.plane(point=(0, 0, -0.0005), normal=(0, 0, 1)))
    scene.collide(body, floor, friction=friction, exclude=~pl.regions.box((0.035, -1, -1), (1, 1, 0.001)))
    return scene.compile(), body, chambers, cable, floor


def commands(chambers, cable, k):
    """Of all copies, and of each alone: a pressure, a volume that meets its bound, and a shortening."""
    pressures, growths = 400.0 * k * np.arange(1, COUNT + 1), 6e-8 * k * np.arange(COUNT)
    near, far = chambers
    alone = [
        {near: pl.Pressure(float(p)), far: pl.VolumeGrowth(float(v)), cable: pl.Displacement(2e-4 * k)}
        for p, v in zip(pressures, growths, strict=True)
    ]
    return {near: pl.Pressure(pressures), far: pl.VolumeGrowth(growths), cable: pl.Displacement(2e-4 * k)}, alone


def agrees(batch, body, chambers, cable, floor, *, steps):
    alone = [batch.world_of(k).initial_state() for k in range(COUNT)]
    touched = bounded = 0
    for k in range(steps):
        together, own = commands(chambers, cable, k)
        states, infos = EULER(batch, batch.states(alone), together)
        ends = [EULER(s.world, s, c) for s, c in zip(alone, own, strict=True)]
        for i, (end, info) in enumerate(ends):
            motion = max(np.abs(end.q[0] - alone[i].q[0]).max(), LEAST)
            assert np.abs(states.positions(body)[i] - end.q[0]).max() <= 1e-8 * motion
            assert np.abs(states.velocities(body)[i] - end.v[0]).max() <= 1e-8 * motion / EULER.dt
            for drive, scale in ((chambers[0], 1e-9), (chambers[1], 1e-9), (cable, 1e-6)):
                (d, force), (wanted_d, wanted) = infos[i].actuation(drive), info.actuation(drive)
                assert abs(d - wanted_d) <= 1e-7 * (abs(wanted_d) + scale)
                assert abs(force - wanted) <= 1e-6 * (abs(wanted) + 1e-3)
            bounded += info.actuation(chambers[1])[1] == pytest.approx(4e3)
            forces = infos[i].contact_force(body, floor), info.contact_force(body, floor)
            touched += bool(forces[1].any())
            np.testing.assert_allclose(*forces, rtol=1e-5, atol=1e-7)
        alone = [end for end, _ in ends]
    assert touched > 5
    assert bounded
    assert max(infos.each("constraint_residual")) < 1e-8
    after, _ = EULER(batch, states, together)  # from the states on the card, with their pressures
    for i, own_state in enumerate(states):
        end, _ = EULER(own_state.world, own_state, own[i])
        assert np.abs(after.positions(body)[i] - end.q[0]).max() <= 1e-11


def test_every_step_is_that_of_each_copy_alone():
    world, body, *things = bellows()
    vary = {P.Material(body, "young"): [1.5e5, 2e5, 4e5], P.Gravity(): [DOWN, (0.0, -3.0, -9.81), (1.0, 0.0, -15.0)]}
    agrees(pl.Batch(world, COUNT, vary=vary, device="jax", capacity=8), body, *things, steps=10)


def polynomial_modes(world, body):
    """Products of polynomials, zero at the clamp, with the stresses of a quarter of the integration points."""
    model = world.models[0]
    x, y, z = ((model.rest - model.rest.mean(axis=0)) / 0.02).T
    along = model.rest[:, 0] / 0.05
    shapes = np.stack([along * x**i * y**j * z**k for i in range(2) for j in range(2) for k in range(2)], 1)
    count = model.points.count
    points = np.random.default_rng(0).permutation(count)[: count // 4]
    return Subspace(
        body, np.kron(shapes, np.eye(3)), rest=model.rest, points=points, point_count=count,
        weights=np.full(len(points), 4.0),
    )  # fmt: skip


@pytest.mark.slow
def test_reduced_volumes_have_the_same_chambers():
    world, body, *things = bellows(friction=0.0)
    made = reduced_world(world, [polynomial_modes(world, body)])
    agrees(pl.Batch(made, COUNT, device="jax", capacity=8), body, *things, steps=7)


@pytest.mark.parametrize("element", ["tet4", "tet10", "hex8"])
def test_growth_and_its_gradient_are_those_of_the_ordinary_row(element):
    scene, rng = pl.Scene(), np.random.default_rng(0)
    mesh = pl.mesh.shell(0.01, 0.02, cells=(1, 2), element=element)
    body = scene.add(pl.Volume(mesh, pl.materials.Corotated(young=1e5, poisson=0.4, density=1e3)))
    scene.add(pl.Cavity(body))
    world = scene.compile()
    row, rest = world.constraints[0], world.models[0].rest
    lowered = chambers_in_nodes(world, np.arange(len(rest)), len(rest))
    u = rng.normal(size=(*rest.shape, 2)) * [1e-3, 1e-7]
    with in_double():
        own = jax.tree.map(jax.numpy.asarray, lowered)
        made = jax.jit(grow)(own, jax.numpy.asarray(u[lowered.ends.node]))
    area = lowered.area[0]
    assert area == pytest.approx(4 * np.pi * 0.01**2, rel=0.3)
    for k in range(2):
        volume, gradient = row._volume_and_gradient(rest + u[..., k])
        scaled = np.zeros_like(rest)
        scaled[lowered.ends.node] = area * np.asarray(made.slope[..., k])
        np.testing.assert_allclose(scaled, gradient, atol=1e-12 * np.abs(gradient).max())
        assert area * float(made.growth[0, k]) == pytest.approx(volume - row.rest_volume, rel=1e-7, abs=1e-20)


@pytest.mark.slow
def test_single_precision_stays_near_double():
    world, body, chambers, cable, _ = bellows()
    wide, single = (
        pl.Batch(world, COUNT, device="jax", capacity=8, precision=precision, errors="keep")
        for precision in ("float64", "float32")
    )
    states = wide.initial_states()
    for k in range(6):
        together, _ = commands(chambers, cable, k)
        narrow, infos = EULER(single, single.states(list(states)), together)
        states, _ = EULER(wide, states, together)
        assert not infos.errors
        assert np.abs(states.points(body) - narrow.points(body)).max() < 1e-5 * 0.05


def test_commands_of_chambers_are_checked_and_ratios_are_volumes(tmp_path):
    world, _, (near, far), *_ = bellows()
    batch = pl.Batch(world, COUNT, device="jax", capacity=8)
    states = batch.initial_states()
    rest = next(each for each in world.constraints if each.handle is near).rest_volume
    ratios = np.array([1.0, 1.02, 0.97])
    _, infos = EULER(batch, states, {near: pl.VolumeRatio(ratios)})
    grown = [infos[k].actuation(near)[0] for k in range(COUNT)]
    np.testing.assert_allclose(grown, (ratios - 1.0) * rest, rtol=1e-7, atol=1e-16)
    with pytest.raises(pl.PliantError, match="has 2 values, the batch 3 copies"):
        EULER(batch, states, {near: pl.Pressure(np.zeros(2))})
    with pytest.raises(pl.PliantError, match="far"):
        EULER(batch, states, {far: pl.Force(np.zeros(COUNT))})
    lowered = kinds.lower(world, [], slots=8)
    arrays.save(lowered, tmp_path / "world.npz")
    for one, other in zip(jax.tree.leaves(lowered), jax.tree.leaves(arrays.load(tmp_path / "world.npz")), strict=True):
        np.testing.assert_array_equal(one, other)


def test_limited_rates_of_a_chamber_are_named():
    _, body, *_ = bellows()
    scene = pl.Scene()
    scene.add(pl.Cavity(scene.add(body), body.mesh.surface().components()[1], max_rate=1e-6, name="slow"))
    with pytest.raises(pl.PliantError, match=r"the rates of 'slow'.*device='cpu'"):
        pl.Batch(scene.compile(), 2, device="jax")
