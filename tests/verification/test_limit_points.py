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
    trunk = scene.add(pl.robots.trunk(guide_stiffness=0.0, max_displacement=(0.07, 0.039)))
    world = scene.compile()
    pulls = {cable: pl.Displacement(0.0105 if k == 6 else 0.0) for k, cable in enumerate(trunk.cables)}
    state, info = pl.QuasiStatic()(world, world.initial_state(), pulls)
    tip = trunk.tip.at(state)
    assert np.abs(tip) == pytest.approx([0.08257, 0.07728, 0.12442], abs=2e-5)
    assert info.method == "dynamic relaxation"
    assert info.residual <= 1e-8


@pytest.fixture(scope="module")
def trunk_and_world():
    scene = pl.Scene(gravity=(0, 0, -9.81))
    trunk = scene.add(pl.robots.trunk(guide_stiffness=0.0, max_displacement=(0.07, 0.039)))
    return trunk, scene.compile()


def test_a_solve_ends_within_its_budget_and_says_how_far_it_came(trunk_and_world):
    trunk, world = trunk_and_world
    pulls = {cable: pl.Displacement(0.067 if k == 3 else 0.0) for k, cable in enumerate(trunk.cables)}
    with pytest.raises(pl.errors.ConvergenceError, match="all 50 linear solves") as caught:
        pl.QuasiStatic(maximum_solves=50)(world, world.initial_state(), pulls)
    assert float(re.search(r"beyond ([\d.]+)%", str(caught.value))[1]) > 0.0
    assert "'trunk long 3' at" in str(caught.value)
    assert trunk.tip.at(caught.value.result)[1] < -0.01  # bent towards the cable


def test_a_cable_that_closes_a_gap_is_named(trunk_and_world):
    """The cable pulls the last two vertebrae together until its guides meet. Dynamics goes to and fro there."""
    _, world = trunk_and_world
    cable = world.constraints[3]
    assert cable.obstruction(world.initial_state().q) is None
    points = world.initial_state().q[0].copy()
    path = cable.path([points])
    gap = path[20] - path[19]
    points[points[:, 2] > path[19, 2] + 0.5 * gap[2]] -= 0.97 * gap
    assert "'trunk long 3' has closed the gap between its via points 19 and 20" in cable.obstruction([points])


@pytest.mark.slow
def test_pulls_that_no_shape_follows_name_what_stands_in_the_way(trunk_and_world):
    """One pull closes a gap, the other compresses elements of the corotated law until they collapse; so in dynamics."""
    trunk, world = trunk_and_world
    for pulls, text in (
        ((0.0457, 0, 0, 0.0168, 0, 0.0029, 0.0187, 0), "'trunk long 0' has closed the gap"),
        ((0.0023, 0, 0, 0.0152, 0, 0, 0.0005, 0.0254), "elements of 'trunk' collapse|not positive definite"),
    ):
        controls = {cable: pl.Displacement(x) for cable, x in zip(trunk.cables, pulls)}
        with pytest.raises(pl.errors.ConvergenceError, match=text):
            pl.QuasiStatic()(world, world.initial_state(), controls)


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


@pytest.mark.parametrize("element", ["tet4", "tet10", "hex8"])
def test_a_law_without_equilibrium_is_followed_to_its_limit(element):
    """St Venant–Kirchhoff in tension: b² = 1 − ν (s² − 1), which is none beyond s = √(1 + 1/ν) = 1.795. There the cube
    has no width or no equilibrium; the line search once divided by zero on the way.
    """
    material = pl.materials.StVenantKirchhoff(young=1e5, poisson=0.45, density=1e3)
    scene, size = pl.Scene(gravity=(0, 0, 0)), 0.02
    body = scene.add(pl.Volume(pl.mesh.box((size,) * 3, (1, 1, 1), element=element), material))
    for axis in "xyz":
        scene.add(pl.Support(body, pl.regions.plane(axis=axis, at=0.0), axes=axis))
    end = scene.add(pl.Support(body, pl.regions.plane(axis="x", at=size), axes="x"))
    world = scene.compile()
    state = world.initial_state()
    for stretch in (2.78, 1.65, 2.53, 1.9, 2.16, 1.28, 0.82):
        command = {end: pl.Displacement((stretch - 1.0) * size)}
        if stretch > 1.795:
            with pytest.raises(pl.ConvergenceError, match=r"elements of 'volume' collapse \(least det F"):
                pl.QuasiStatic()(world, state, command)
            continue
        state, _ = pl.QuasiStatic()(world, state, command)
        width = state.points(body)[:, 1].max() / size
        assert width == pytest.approx(np.sqrt(1.0 - 0.45 * (stretch**2 - 1.0)), rel=1e-6)
