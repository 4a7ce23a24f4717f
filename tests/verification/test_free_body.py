"""An unclamped body in statics is solved up to its rigid motion, which is reported (inertia relief)."""

import numpy as np
import pytest

import pliant as pl

LAME = {"young": 1e5, "poisson": 0.3, "density": 1e3}
LAWS = [pl.materials.Corotated, pl.materials.NeoHookean]
SIZE = np.array([0.1, 0.04, 0.04])


def free_bar(law, gravity=(0, 0, 0), element="tet4"):
    scene = pl.Scene(gravity=gravity)
    body = scene.add(pl.Volume(pl.mesh.box(SIZE, (5, 2, 2), element=element), law(**LAME), name="bar"))
    return scene, body


def solved(scene):
    world = scene.compile()
    return pl.QuasiStatic(tolerance=1e-10)(world, world.initial_state())


@pytest.mark.parametrize("law", LAWS)
def test_gravity_on_a_free_body_is_pure_acceleration(law):
    gravity = np.array([0.5, -1.0, -9.81])
    scene, body = free_bar(law, gravity)
    state, info = solved(scene)
    assert info.status is pl.Status.FREE_MOTION
    assert info.status.ok
    (motion,) = info.rigid_motion
    assert (motion.body, motion.free_directions) == ("bar", 6)
    np.testing.assert_allclose(motion.acceleration, [*gravity, 0, 0, 0], atol=1e-9)
    np.testing.assert_allclose(state.displacements(body), 0.0, atol=1e-12)


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize(("element", "tolerance"), [("hex8", 1e-8), ("tet4", 5e-3)])
def test_balanced_pull_stretches_a_free_bar(law, element, tolerance):
    """Equal and opposite tractions σ: the strain of the held bar under the same traction, and no acceleration.

    The lumped masses of a Kuhn mesh are not symmetric, so the motion orthogonal to its rigid ones turns the bar by
    about 1e-3 rad, where dead tractions have a small couple: the strain of tet4 is that much off, of hex8 it is exact.
    """
    sigma = 5e3
    scene, body = free_bar(law, element=element)
    for at, sign in ((0.0, -1.0), (SIZE[0], 1.0)):
        scene.add(pl.TractionLoad(body, pl.regions.plane(axis="x", at=at), (sign * sigma, 0, 0)))
    state, info = solved(scene)
    assert info.status is pl.Status.FREE_MOTION
    assert info.residual < 1e-9
    if element == "hex8":
        np.testing.assert_allclose(info.rigid_motion[0].acceleration, 0.0, atol=1e-8)
    held, other = free_bar(law, element=element)
    for axis in "xyz":
        held.add(pl.Support(other, pl.regions.plane(axis=axis, at=0.0), axes=axis))
    held.add(pl.TractionLoad(other, pl.regions.plane(axis="x", at=SIZE[0]), (sigma, 0, 0)))
    reference, info = solved(held)
    assert info.status is pl.Status.CONVERGED
    strain, expected = state.strain(body), reference.strain(other)
    assert expected[:, 0, 0].mean() == pytest.approx(sigma / 1e5, rel=0.1)
    np.testing.assert_allclose(strain, expected, atol=tolerance * np.abs(expected).max())
    np.testing.assert_allclose(world_center(state, body), SIZE / 2, atol=1e-10)


def world_center(state, body):
    mass = state.world.models[0].mass.nodal
    return mass @ state.points(body) / mass.sum()


def test_eccentric_force_accelerates_and_turns():
    """Newton and Euler: a = F/m, α = I⁻¹ (r × F) about the centre of mass, inertia of the lumped body."""
    scene, body = free_bar(pl.materials.Corotated)
    node = int(np.argmax(body.mesh.points.sum(axis=1)))
    force = np.array([0.0, 0.02, -0.05])
    scene.add(pl.PointLoad(body, pl.regions.nodes([node]), force))
    state, info = solved(scene)
    mass = state.world.models[0].mass.nodal
    # the report refers to the configuration in which the solve began, the rest shape
    arm = body.mesh.points - SIZE / 2
    inertia = np.einsum("n,nij->ij", mass, np.einsum("nk,nk->n", arm, arm)[:, None, None] * np.eye(3)) - np.einsum(
        "n,ni,nj->ij", mass, arm, arm
    )
    expected = [*(force / mass.sum()), *np.linalg.solve(inertia, np.cross(arm[node], force))]
    np.testing.assert_allclose(
        info.rigid_motion[0].acceleration, expected, rtol=2e-3, atol=2e-3 * np.abs(expected).max()
    )
    assert np.abs(state.displacements(body)).max() > 1e-6


def test_a_sliding_body_has_one_free_direction():
    """Rollers leave x open: gravity along x only accelerates, gravity along z presses on the roller."""
    scene, body = free_bar(pl.materials.Corotated, gravity=(2.0, 0.0, -9.81))
    for axis in "yz":
        scene.add(pl.Support(body, pl.regions.plane(axis=axis, at=0.0), axes=axis))
    state, info = solved(scene)
    (motion,) = info.rigid_motion
    assert motion.free_directions == 1
    np.testing.assert_allclose(motion.acceleration, [2.0, 0, 0, 0, 0, 0], atol=1e-6)
    assert state.displacements(body)[:, 2].min() < 0.0


@pytest.mark.parametrize("kind", ["beam", "rod"])
def test_a_free_bar_pushed_in_the_middle_bends_over_its_own_inertia(kind):
    """F in the middle is balanced by the inertia of each half, F/L per length: the ends hang back F L³/(128 EI). The
    acceleration is F/m + g, and an off-centre push turns the bar as well, with F e/(m L²/12).
    """
    options = {"section": pl.sections.Circle(0.002), "young": 1e8, "poisson": 0.3, "density": 1e3}
    length, force = 0.2, 0.01
    scene = pl.Scene(gravity=(0, 0, -9.81))
    if kind == "beam":
        bar = scene.add(pl.Beam(np.linspace((0, 0, 0), (length, 0, 0), 33), shear=False, **options))
        push = scene.add(pl.PointLoad(bar, [16], (0, 0, force)))
        aside = scene.add(pl.PointLoad(bar, [24], (0, 0, 0)))
    else:
        bar = scene.add(pl.Rod(length, 32, base="free", **options))
        push = scene.add(pl.RodLoad(bar, 0.5 * length, (0, 0, force)))
        aside = scene.add(pl.RodLoad(bar, 0.75 * length, (0, 0, 0)))
    world = scene.compile()
    state, info = pl.QuasiStatic()(world, world.initial_state())
    EI, mass = 1e8 * np.pi / 4 * 0.002**4, 1e3 * np.pi * 0.002**2 * length
    z = state.points(bar)[:, 2]
    assert z[16] - z[0] == pytest.approx(force * length**3 / (128 * EI), rel=2e-3)
    assert z[0] == pytest.approx(z[-1], abs=1e-9)
    assert info.status is pl.Status.FREE_MOTION
    (motion,) = info.rigid_motion
    assert motion.free_directions == 6
    np.testing.assert_allclose(motion.acceleration[:3], (0, 0, force / mass - 9.81), atol=1e-6)
    controls = {push: pl.Force((0, 0, 0)), aside: pl.Force((0, 0, force))}
    _, info = pl.QuasiStatic()(world, world.initial_state(), controls)
    turning = info.rigid_motion[0].acceleration[4]
    assert turning == pytest.approx(-force * 0.25 * length / (mass * length**2 / 12), rel=5e-3)


@pytest.mark.parametrize("sections", [4, 8, 16, 32])
def test_a_free_rod_balances_in_two_linear_solves(sections):
    """Its rigid motions are left out of the search for unstable ones: K is negative along them."""
    scene = pl.Scene(gravity=(0, 0, -9.81))
    bar = scene.add(
        pl.Rod(0.2, sections, base="free", section=pl.sections.Circle(0.002), young=1e8, poisson=0.3, density=1e3)
    )
    scene.add(pl.RodLoad(bar, 0.1, (0, 0, 0.01)))
    world = scene.compile()
    state, info = pl.QuasiStatic()(world, world.initial_state())
    assert (info.method, info.iterations) == ("newton", 2)
    z = state.points(bar)[:, 2]
    np.testing.assert_allclose(z, z[::-1], atol=1e-9)


@pytest.mark.parametrize("kind", ["beam", "rod"])
def test_a_rigid_platform_on_two_parallel_bars_sinks_without_turning(kind):
    """Both bars take the shape of an S between the wall and the platform: 24 EI/L³ together. Mixed networks of slender
    and rigid bodies, welded place and direction.
    """
    options = {"section": pl.sections.Circle(0.002), "young": 1e8, "poisson": 0.3, "density": 1e-3}
    strains = ("bend_y", "bend_z", "twist", "stretch")
    length, mass, apart = 0.2, 1e-3, 0.06
    scene = pl.Scene(gravity=(0, 0, -9.81))
    bars = []
    for z in (-0.5 * apart, 0.5 * apart):
        if kind == "beam":
            points = np.linspace((0, 0, z), (length, 0, z), 13)
            bars.append(pl.Beam(points, clamp=[0], shear=False, name=f"bar {z}", **options))
        else:
            bars.append(pl.Rod(length, 12, position=(0, 0, z), strains=strains, name=f"bar {z}", **options))
        scene.add(bars[-1])
    platform = scene.add(pl.RigidBody.box(size=(0.02, 0.02, 0.08), mass=mass, position=(length + 0.01, 0, 0)))
    for bar, z in zip(bars, (-0.5 * apart, 0.5 * apart), strict=True):
        scene.attach(bar, platform, points=[(length, 0, z)], frames=True)
    world = scene.compile()
    state, info = pl.QuasiStatic()(world, world.initial_state())
    EI = 1e8 * np.pi / 4 * 0.002**4
    sunk = mass * 9.81 * length**3 / (24 * EI)
    assert info.status is pl.Status.CONVERGED
    assert state.pose(platform)[0, 2] == pytest.approx(-sunk, rel=0.01)
    assert abs(state.pose(platform)[1, 2]) < 0.01 * sunk / length
