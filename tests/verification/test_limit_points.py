"""Quasi-static solves at limit points and bifurcations: where an equilibrium loses its stability, the call goes on to a
stable one and says so, or names the load beyond which there is none.
"""

import re

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.optimize import brentq, minimize_scalar
from scipy.special import ellipk

import pliant as pl

LENGTH, RADIUS, YOUNG = 0.2, 0.003, 2e6
EI = YOUNG * np.pi * RADIUS**4 / 4


def column(kind, ratio, count=20):
    """A clamped column under `ratio` times its buckling load; its deflection (m) and the report."""
    force = ratio * np.pi**2 * EI / (4 * LENGTH**2)
    options = {"section": pl.sections.Circle(RADIUS), "young": YOUNG, "poisson": 0.45, "density": 1000}
    scene = pl.Scene()
    if kind == "beam":
        points = [(0, 0, LENGTH * k / count) for k in range(count + 1)]
        body = scene.add(pl.Beam(points, clamp=[0], **options))
    else:
        body = scene.add(pl.Rod(LENGTH, count, rotation=(0, -np.pi / 2, 0), **options))
    scene.add(pl.PointLoad(body, [count], force=(0, 0, -force)))
    world = scene.compile()
    state, info = pl.QuasiStatic()(world, world.initial_state())
    return float(np.hypot(*state.points(body)[-1, :2])), info


def elastica(ratio):
    """Deflection of the tip of the buckled column, m: K(k) = L √(P/EI), w = 2k √(EI/P)."""
    load = ratio * np.pi**2 / (4 * LENGTH**2)
    k = brentq(lambda k: ellipk(k * k) - LENGTH * np.sqrt(load), 1e-9, 1 - 1e-12)
    return 2 * k / np.sqrt(load)


@pytest.mark.parametrize("kind", ["beam", "rod"])
def test_a_column_below_its_buckling_load_stays_straight(kind):
    deflection, info = column(kind, 0.95)
    assert deflection < 1e-9
    assert info.method == "newton"


@pytest.mark.parametrize(("kind", "ratio"), [("beam", 1.1), ("beam", 3.0), ("rod", 1.1), ("rod", 1.5), ("rod", 6.0)])
def test_a_column_beyond_its_buckling_load_is_an_elastica(kind, ratio):
    deflection, info = column(kind, ratio)
    assert deflection == pytest.approx(elastica(ratio), rel=5e-3)
    assert info.method == "dynamic relaxation"
    assert info.residual <= 1e-8
    assert info.iterations <= 200


def test_a_trunk_bent_by_one_short_cable_falls_to_the_side():
    """The equilibrium in the plane of the cable is unstable. Dynamics with a push to the side comes to rest at
    (−82.57, ±77.28, 124.42) mm.
    """
    scene = pl.Scene(gravity=(0, 0, -9.81))
    trunk = scene.add(pl.robots.trunk())
    world = scene.compile()
    pulls = {cable: pl.Displacement(0.0105 if k == 6 else 0.0) for k, cable in enumerate(trunk.cables)}
    state, info = pl.QuasiStatic()(world, world.initial_state(), pulls)
    tip = trunk.tip.at(state)
    assert np.abs(tip) == pytest.approx([0.08257, 0.07728, 0.12442], abs=2e-5)
    assert info.method == "dynamic relaxation"
    assert info.residual <= 1e-8


def sphere_pressure(stretch, shear, thickness_ratio):
    """Pressure in an incompressible neo-Hookean sphere whose inner radius is stretched, Pa."""
    outer = (1 + (stretch**3 - 1) * thickness_ratio**3) ** (1 / 3)
    return quad(lambda x: 2 * shear * (x - x**-5) / (x**3 - 1), outer, stretch)[0]


@pytest.mark.slow
def test_the_pressure_limit_of_a_balloon_is_named():
    young, inner, outer = 1e5, 0.016, 0.02
    best = minimize_scalar(lambda x: -sphere_pressure(x, young / 3, inner / outer), bounds=(1.1, 3.0), method="bounded")
    limit = -best.fun
    scene = pl.Scene()
    mesh = pl.mesh.shell(inner, outer, cells=(2, 4), element="hex8")
    rubber = pl.materials.NeoHookean(young=young, poisson=0.49, density=1e3)
    body = scene.add(pl.Volume(mesh, rubber, clamp=pl.regions.nodes([0])))
    air = scene.add(pl.Cavity(body, name="air"))
    world = scene.compile()
    _, info = pl.QuasiStatic()(world, world.initial_state(), {air: pl.Pressure(0.9 * limit)})
    assert info.residual <= 1e-8
    with pytest.raises(pl.errors.ConvergenceError, match="limit point") as caught:
        pl.QuasiStatic()(world, world.initial_state(), {air: pl.Pressure(1.3 * limit)})
    found = re.search(r"'air' at ([\d.e+]+) Pa", str(caught.value))
    assert float(found[1]) == pytest.approx(limit, rel=0.05)
