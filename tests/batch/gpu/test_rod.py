"""Clamped rods by JAX: every step that of each copy alone."""

import numpy as np
import pytest

jax = pytest.importorskip("jax", reason="needs the extra gpu")
import pliant as pl  # noqa: E402
from pliant.batch.gpu import rod_sweep  # noqa: E402
from pliant.batch.gpu.precision import in_double  # noqa: E402
from pliant.models.rod import series  # noqa: E402
from tests.scenes import DOWN  # noqa: E402

P = pl.parameters
COUNT = 3
EULER = pl.ImplicitEuler(dt=0.01)


def arm(**options):
    """A bent arm with a load at its tip."""
    scene = pl.Scene(gravity=DOWN)
    section = pl.sections.Circle(0.005)
    rod = scene.add(pl.Rod(0.2, 3, section=section, young=1e6, poisson=0.4, density=1e3, **options))
    scene.add(pl.PointLoad(rod, [3], (0.0, 0.02, 0.01)))
    return scene.compile(), rod


def random_states(batch, rng):
    """States with strains and rates at random."""
    made = []
    for k in range(COUNT):
        start = batch.world_of(k).initial_state()
        model = batch.world_of(k).models[0]
        v = np.where(model.constrained, 0.0, rng.normal(size=start.v[0].shape) * np.tile([[3.0], [0.03]], (4, 1)))
        q = start.q[0].copy()
        q[4:] += 0.02 * v[2:]
        made.append(pl.State(start.world, 0.0, [q], [v], np.zeros(0)))
    return made


ALL = ("twist", "bend_y", "bend_z", "stretch", "shear_y", "shear_z")


@pytest.mark.parametrize("strains", [{}, {"strains": ALL[1:]}])
def test_every_step_is_that_of_each_copy_alone(strains):
    world, rod = arm(damping=pl.Rayleigh(mass=0.5, stiffness=0.002), **strains)
    vary = {
        P.Material(rod, "young"): [0.5e6, 1e6, 2e6],
        P.Material(rod, "density"): [800.0, 1000.0, 1500.0],
        P.Gravity(): [DOWN, (0.0, -3.0, -9.81), (1.0, 0.0, -15.0)],
    }
    batch = pl.Batch(world, COUNT, vary=vary, device="jax")
    alone = random_states(batch, np.random.default_rng(0))
    for k in range(12):
        gravity = np.array([0.0, 2.0 * k, -9.81])
        states, infos = EULER(batch, batch.states(alone), {"gravity": gravity})
        ends = [EULER(s.world, s, {"gravity": gravity}) for s in alone]
        for i, (end, info) in enumerate(ends):
            motion = np.abs(end.q[0] - alone[i].q[0]).max()
            assert np.abs(states[i].q[0] - end.q[0]).max() <= 1e-9 * max(motion, 1e-3)
            assert np.abs(states[i].v[0] - end.v[0]).max() <= 1e-9 * max(motion, 1e-3) / EULER.dt
            assert infos[i].constraint_residual == 0.0
            assert infos.status[i] == info.status
        alone = [end for end, _ in ends]
    assert motion > 1e-3
    np.testing.assert_allclose(states.times, 0.12)


@pytest.mark.slow
def test_single_precision_stays_near_double():
    world, rod = arm()
    wide, single = (
        pl.Batch(world, COUNT, device="jax", precision=precision, errors="keep") for precision in ("float64", "float32")
    )
    states = wide.states(random_states(wide, np.random.default_rng(1)))
    for _ in range(5):
        narrow, infos = EULER(single, single.states(list(states)), {})
        states, _ = EULER(wide, states, {})
        assert not infos.errors
        tips = [one.points(rod)[:, -1] for one in (states, narrow)]
        assert np.abs(tips[0] - tips[1]).max() < 1e-5 * 0.2


def test_functions_of_an_angle_are_those_of_the_kernels():
    z = np.concatenate([[0.0], 10.0 ** np.linspace(-12, 2, 60), np.linspace(8.5, 9.5, 11)])
    c = np.empty((7, len(z)))
    for k, one in enumerate(z):
        series.even_functions(one, c[:, k])
    with in_double():
        made = np.stack(rod_sweep.even_functions(jax.numpy.asarray(z)))
    np.testing.assert_allclose(made, c, rtol=1e-13, atol=1e-16)


def test_what_a_card_cannot_step_is_named():
    for options, named in (({"base": "free"}, "open base"), ({"sections": 20}, "20 sections")):
        scene = pl.Scene(gravity=DOWN)
        count = options.pop("sections", 4)
        scene.add(pl.Rod(0.2, count, section=pl.sections.Circle(0.005), young=1e6, poisson=0.4, density=1e3, **options))
        with pytest.raises(pl.PliantError, match=rf"cannot step .*{named}.*device='cpu'"):
            pl.Batch(scene.compile(), 2, device="jax")
    scene = pl.Scene(gravity=DOWN)
    rod = scene.add(pl.Rod(0.2, 4, section=pl.sections.Circle(0.005), young=1e6, poisson=0.4, density=1e3))
    scene.collide(rod, scene.add(pl.Obstacle.plane(point=(0, 0, -0.1))))
    with pytest.raises(pl.PliantError, match=r"cannot step .* on a rod.*device='cpu'"):
        pl.Batch(scene.compile(), 2, device="jax")
