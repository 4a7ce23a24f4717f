"""The pneumatic robots of Fang 2022 as built: the published measures, sound meshes, one closed chamber each."""

import numpy as np
import pytest

import pliant as pl
from pliant import robots

CUBIC_MILLIMETRE = 1e-9


def sound(robot):
    mesh = robot.body.mesh
    assert mesh.quality().min() > 0.05
    mesh.surface().check_closed()
    mesh.surface().check_orientation()
    return mesh, -robot.cavity.surface.volume()


def test_the_finger_has_the_published_volumes_and_size():
    """Outer volume 16160 mm³, chamber 3294 mm³, 85 × 20 × 10 mm, about 75 000 tetrahedra."""
    mesh, chamber = sound(robots.pneumatic_finger())
    outer = max(shell.volume() for shell in mesh.surface().components())
    assert mesh.cell_count == pytest.approx(75378, rel=0.03)
    assert outer == pytest.approx(16160 * CUBIC_MILLIMETRE, rel=1e-9)
    assert chamber == pytest.approx(3294 * CUBIC_MILLIMETRE, rel=1e-9)
    assert np.ptp(mesh.bounds, axis=0) == pytest.approx((0.085, 0.02, 0.01), abs=1e-12)


def test_a_coarse_finger_has_the_same_shape_and_a_stiff_sole():
    robot = robots.pneumatic_finger(cell_size=0.004, chamber_count=2)
    mesh, chamber = sound(robot)
    assert chamber == pytest.approx((2 * 504 + 54) * CUBIC_MILLIMETRE, rel=1e-9)
    assert mesh.bounds[1][0] == pytest.approx(0.045)
    stiff = robot.body.cell_materials() == 1
    assert (mesh.points[mesh.cells[stiff]].mean(axis=1)[:, 1] < 0.001).all()
    assert (robot.body.mesh.points[robot.body.clamp.nodes(mesh.points)][:, 0] == 0.0).all()


def test_the_twister_has_the_published_chamber():
    """292 mm³ of 4.86 mm² section within 3 %, one turn between 15 and 75 mm, about 28 000 tetrahedra."""
    robot = robots.twister()
    mesh, chamber = sound(robot)
    assert mesh.cell_count == pytest.approx(28198, rel=0.06)
    assert chamber == pytest.approx(292 * CUBIC_MILLIMETRE, rel=0.03)
    wall = mesh.points[robot.cavity.surface.nodes]
    assert (wall[:, 1].min(), wall[:, 1].max()) == pytest.approx((0.015, 0.075))
    middles = [wall[np.abs(wall[:, 1] - y) < 1e-6].mean(axis=0)[[0, 2]] for y in (0.015, 0.030, 0.045, 0.075)]
    angles = np.degrees(np.unwrap([np.arctan2(z, x) for x, z in middles]))
    assert angles[1] - angles[0] == pytest.approx(-90.0, abs=1.0)
    assert abs(angles[2] - angles[0]) == pytest.approx(180.0, abs=1.0)
    assert middles[3] == pytest.approx(middles[0], abs=1e-5)


def test_a_twister_whose_chamber_would_end_inside_a_cell_is_refused():
    with pytest.raises(pl.InputError, match="multiple of 6"):
        robots.twister(cells=(1, 1, 20))


def test_air_winds_the_twister_up():
    """At four times its chamber's volume the tip has left the axis, the body kept its volume, no cell is inverted."""
    robot = robots.twister(cells=(1, 1, 24), side=3)
    scene = pl.Scene()
    scene.add(robot)
    world = scene.compile()
    state, info = pl.Geometric()(world, world.initial_state(), {robot.cavity: pl.VolumeRatio(4.0)})
    tip = robot.tip.at(state)
    assert np.hypot(tip[0], tip[2]) > 1e-3
    assert abs(info.volume_changes[0]) < 0.02
    assert info.inverted == 0
    assert info.barrier < 0.01
    assert info.actuation(robot.cavity)[1] > 0.0
