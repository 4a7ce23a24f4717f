"""A chamber against the closed form of the thick sphere: pressure gives volume, volume gives pressure.

Linear elasticity (Lamé): a sphere of radii A < B under inner pressure p opens by u(A) = p A [ (1 − 2ν) 2 + (1 + ν)
(B/A)³ ] / (2 E ((B/A)³ − 1)), and the growth of the chamber is 4 π A² u(A). Large inflation: the incompressible neo-
Hookean sphere of `test_sphere`.
"""

import numpy as np
import pytest

import pliant as pl

INNER, OUTER, MU = 0.01, 0.02, 1e5


def sphere(poisson, *, cells=(3, 4), **limits):
    """A whole hollow ball, held by its three planes of symmetry."""
    mesh = pl.mesh.shell(INNER, OUTER, cells=cells)
    young = 2.0 * MU * (1.0 + poisson)
    scene = pl.Scene()
    body = scene.add(pl.Volume(mesh, pl.materials.NeoHookean(young=young, poisson=poisson, density=1e3)))
    for axis in "xyz":
        scene.add(pl.Support(body, pl.regions.plane(axis=axis, at=0.0), axes=axis))
    chamber = scene.add(pl.Cavity(body, **limits))
    return scene.compile(), body, chamber


def neo_hookean_pressure(stretch):
    """Pressure that opens the incompressible sphere to the inner hoop stretch, Pa."""
    outer = ((OUTER**3 + INNER**3 * (stretch**3 - 1.0)) ** (1 / 3)) / OUTER

    def part(s):
        return 2.0 / s + 0.5 / s**4

    return MU * (part(outer) - part(stretch))


def inflate(world, control, tolerance=1e-9):
    return pl.QuasiStatic(tolerance=tolerance)(world, world.initial_state(), control)


def test_small_inflation_is_the_one_of_lame():
    """ν = 0.3: growth by a small pressure within 1 %."""
    poisson = 0.3
    world, _, chamber = sphere(poisson)
    young, pressure, ratio = 2.0 * MU * 1.3, 100.0, (OUTER / INNER) ** 3
    opening = pressure * INNER * (2.0 * (1.0 - 2.0 * poisson) + (1.0 + poisson) * ratio) / (2.0 * young * (ratio - 1.0))
    expected = 3.0 * opening / INNER
    _, info = inflate(world, {chamber: pl.Pressure(pressure)})
    growth, measured = info.actuation(chamber)
    relative = growth / world.constraints[0].rest_volume
    print(f"ΔV/V {relative:.5e}, Lamé {expected:.5e}")
    assert measured == pytest.approx(pressure)
    assert relative == pytest.approx(expected, rel=0.01)


def test_large_inflation_is_the_neo_hookean_one():
    """ν = 0.499, inner stretch 1.3: growth of the chamber within 1 %."""
    world, _, chamber = sphere(0.499)
    _, info = inflate(world, {chamber: pl.Pressure(neo_hookean_pressure(1.3))})
    growth = info.actuation(chamber)[0] / world.constraints[0].rest_volume
    print(f"ΔV/V {growth:.4f}, closed form {1.3**3 - 1.0:.4f}")
    assert growth == pytest.approx(1.3**3 - 1.0, rel=0.01)


def test_pressure_and_volume_control_are_inverse_to_each_other():
    world, body, chamber = sphere(0.4)
    state, info = inflate(world, {chamber: pl.Pressure(2e4)})
    growth, _ = info.actuation(chamber)
    other, back = inflate(world, {chamber: pl.VolumeGrowth(growth)})
    assert back.actuation(chamber)[0] == pytest.approx(growth, rel=1e-9)
    assert back.actuation(chamber)[1] == pytest.approx(2e4, rel=1e-5)
    np.testing.assert_allclose(other.points(body), state.points(body), atol=1e-8)


def test_inflating_makes_growth_and_pressure_positive():
    """W_aa > 0: both controls, both signs."""
    world, body, chamber = sphere(0.3, cells=(2, 3))
    for sign in (1.0, -1.0):
        for control in (pl.Pressure(sign * 1e3), pl.VolumeGrowth(sign * 5e-9)):
            state, info = inflate(world, {chamber: control})
            growth, pressure = info.actuation(chamber)
            assert sign * growth > 0.0
            assert sign * pressure > 0.0
            radii = np.linalg.norm(state.points(body), axis=1) - np.linalg.norm(body.mesh.points, axis=1)
            assert (sign * radii > 0.0).all()


def test_pressure_limits_stop_a_volume_command():
    world, _, chamber = sphere(0.3, cells=(2, 3), max_pressure=1e3, min_pressure=-200.0)
    for growth, bound in ((1e-6, 1e3), (-1e-6, -200.0)):
        _, info = inflate(world, {chamber: pl.VolumeGrowth(growth)})
        reached, pressure = info.actuation(chamber)
        assert pressure == pytest.approx(bound)
        assert 0.0 < reached / growth < 1.0


def test_a_sealed_chamber_keeps_its_volume_in_dynamics():
    """VolumeGrowth(0) makes the content incompressible: gravity bends the walls, the volume stays."""
    mesh = pl.mesh.shell(INNER, OUTER, cells=(2, 3))
    scene = pl.Scene(gravity=(0, 0, -9.81))
    rubber = pl.materials.Corotated(young=2e4, poisson=0.3, density=1e3)
    below = pl.regions.box((-1, -1, -1), (1, 1, -0.01))
    body = scene.add(pl.Volume(mesh, rubber, clamp=below, damping=pl.Rayleigh(stiffness=0.02)))
    chamber = scene.add(pl.Cavity(body))
    world = scene.compile()
    volumes = {}
    for name, control in (("open", {chamber: pl.Pressure(0.0)}), ("sealed", {chamber: pl.VolumeGrowth(0.0)})):
        state, step = world.initial_state(), pl.ImplicitEuler(dt=0.01)
        for _ in range(60):
            state, info = step(world, state, control)
        volumes[name] = world.constraints[0].volume(state.q[0]) / world.constraints[0].rest_volume - 1.0
    print(f"{volumes}, pressure {info.actuation(chamber)[1]:.2f} Pa")
    assert volumes["open"] < -1e-4
    assert abs(volumes["sealed"]) < 1e-7
    assert info.actuation(chamber)[1] > 0.0
