"""Energy: implicit Euler converged never gains it on the named cases, implicit midpoint keeps it.

Dissipation of implicit Euler holds where the energy is convex along a step; midpoint conserves quadratic energies
exactly and others within a band of order h² (Hairer, Lubich, Wanner, Geometric Numerical Integration, VI and IX).
"""

import numpy as np
import pytest

import pliant as pl
from scenes import loaded_bar

LAME = {"young": 5e5, "poisson": 0.4, "density": 1e3}
LAWS = [pl.materials.Corotated, pl.materials.StVenantKirchhoff, pl.materials.NeoHookean]


def cantilever(law, *, cells=(8, 2, 2), gravity=(0, 0, 0), **options):
    """A beam with a load at its tip, compiled; body, load handle and world."""
    world, body, load = loaded_bar(cells=cells, material=law(**LAME), gravity=gravity, **options)
    return body, load, world


def bent(world, load, force):
    state, _ = pl.QuasiStatic()(world, world.initial_state(), {load: pl.Force(force)})
    return pl.State(world, 0.0, state.q, state.v, np.zeros(0))


def energies(world, stepper, state, steps):
    totals, infos = [world.energy(state)["total"]], []
    for _ in range(steps):
        state, info = stepper(world, state)
        totals.append(world.energy(state)["total"])
        infos.append(info)
    return np.array(totals), infos, state


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("dt", [0.002, 0.02])
def test_released_beam_never_gains_energy(law, dt):
    """Case "released beam": bent by 40 % of its length, let go, Newton converged to 1e-10."""
    body, load, world = cantilever(law)
    start = bent(world, load, (0.0, 0.0, -4.0))
    sag = np.abs(start.displacements(body)).max()
    assert sag > 0.08
    totals, infos, _ = energies(world, pl.ImplicitEuler(dt=dt, tolerance=1e-10), start, 40)
    assert all(info.status is pl.Status.CONVERGED for info in infos)
    assert max(info.residual for info in infos) <= 1e-10
    assert np.diff(totals).max() <= 1e-9 * totals[0]
    assert totals[-1] < 0.9 * totals[0]


@pytest.mark.parametrize("law", LAWS)
def test_beam_falling_under_gravity_never_gains_energy(law):
    """Case "gravity beam": let go straight under gravity; kinetic + elastic + potential falls towards equilibrium."""
    _, _, world = cantilever(law, gravity=(0, 0, -9.81), damping=pl.Rayleigh(stiffness=0.01))
    totals, _, _ = energies(world, pl.ImplicitEuler(dt=0.01, tolerance=1e-10), world.initial_state(), 50)
    span = totals[0] - totals[-1]
    assert span > 0.0
    assert np.diff(totals).max() <= 1e-8 * span


@pytest.mark.parametrize(("symmetric", "allowed"), [("", 1e-9), (None, 1e-8)])
def test_spinning_free_body_never_gains_energy(symmetric, allowed):
    """Case "spinning block": unclamped, turning at 30 rad/s.

    The axis of spin is a principal one of the symmetric mesh, which then comes to a steady spin that loses nothing. Its
    stretch settles in vibrations of which a step may return 1e-9 of the energy; all of them lose a thousandth.
    """
    scene = pl.Scene()
    mesh = pl.mesh.box((0.1, 0.04, 0.04), (4, 2, 2), symmetric=symmetric)
    scene.add(pl.Volume(mesh, pl.materials.NeoHookean(**LAME)))
    world = scene.compile()
    rest = world.initial_state()
    v = np.cross([0.0, 0.0, 30.0], mesh.points - mesh.points.mean(axis=0))
    start = pl.State(world, 0.0, rest.q, (v,), np.zeros(0))
    totals, _, _ = energies(world, pl.ImplicitEuler(dt=0.005, tolerance=1e-10), start, 30)
    assert np.diff(totals).max() <= allowed * totals[0]
    assert totals[-1] < (1.0 - 1e-3) * totals[0]


@pytest.mark.parametrize("stepper", [pl.ImplicitEuler(dt=0.01), pl.ImplicitEuler(dt=0.01, tolerance=1e-8)])
def test_energy_change_is_reported(stepper):
    """With one linear solve the change may have either sign; it is measured and equals the difference of the totals."""
    _, load, world = cantilever(pl.materials.NeoHookean, gravity=(0, 0, -9.81))
    totals, infos, _ = energies(world, stepper, bent(world, load, (0.0, 0.5, -1.2)), 20)
    reported = np.array([info.energy_change for info in infos])
    np.testing.assert_allclose(reported, np.diff(totals), rtol=0.0, atol=1e-12 * np.ptp(totals))
    assert np.abs(reported).max() > 1e-3 * np.ptp(totals)


def test_midpoint_conserves_a_linear_material_exactly():
    """1000 undamped steps of a linear beam: total energy within 1e-9 of its start, though it swings throughout."""
    _, load, world = cantilever(pl.materials.Linear, cells=(6, 1, 1))
    state = bent(world, load, (0.0, 0.3, -0.5))
    stepper = pl.ImplicitMidpoint(dt=0.005)
    totals, kinetic = [world.energy(state)["total"]], []
    for _ in range(1000):
        state, _ = stepper(world, state)
        energy = world.energy(state)
        totals.append(energy["total"])
        kinetic.append(energy["kinetic"])
    drift = np.abs(np.array(totals) / totals[0] - 1.0).max()
    print(f"midpoint, linear: largest relative change of energy in 1000 steps {drift:.2e}")
    assert max(kinetic[-100:]) > 0.5 * totals[0]
    assert drift <= 1e-9


SLOW_LAW = pytest.param(pl.materials.StVenantKirchhoff, marks=pytest.mark.slow)


@pytest.mark.parametrize("law", [SLOW_LAW, pl.materials.NeoHookean])
def test_midpoint_band_is_bounded_and_second_order(law):
    """Nonlinear: over 1000 steps the energy stays in a band that does not grow, and halving dt quarters the band."""
    _, load, world = cantilever(law, cells=(6, 1, 1))
    start = bent(world, load, (0.0, 0.3, -1.5))
    bands = []
    for dt, steps in ((0.002, 1000), (0.001, 1000)):
        totals, _, _ = energies(world, pl.ImplicitMidpoint(dt=dt), start, steps)
        change = np.abs(totals / totals[0] - 1.0)
        bands.append(change[: int(1.0 / dt)].max())
        assert change[steps // 2 :].max() <= 1.3 * change[: steps // 2].max(), "the band grows: drift"
    print(f"midpoint, {law.__name__}: bands {bands[0]:.2e} {bands[1]:.2e}, ratio {bands[0] / bands[1]:.2f}")
    assert bands[0] < 0.05
    assert 2.8 < bands[0] / bands[1] < 5.5
