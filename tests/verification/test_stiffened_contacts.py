"""Bodies whose tangent is positive definite only together with their contacts, and long ironing: cases that took more
than 200 linear solves, or found no equilibrium.
"""

import numpy as np
import pytest

import pliant as pl
from tests.verification.statics.case import box


def rubber(young, poisson, density=1e3):
    return pl.materials.NeoHookean(young=young, poisson=poisson, density=density)


def solved(scene, controls=None, dt=None):
    world = scene.compile()
    return pl.QuasiStatic(dt=dt)(world, world.initial_state(), controls or {})


def falling_plate(scene, height, fall):
    motion = {"motion": lambda t: ((0, 0, -fall * min(t, 1.0)), (0, 0, 0))}
    return scene.add(pl.Obstacle.plane(point=(0, 0, height), normal=(0, 0, -1), **motion))


def test_a_coarse_billet_is_upset_to_two_fifths_of_its_height():
    scene = pl.Scene()
    billet = box(scene, (0.01, 0.01, 0.015), (2, 2, 3), material=rubber(1e9, 0.45))
    for axis in "xyz":
        scene.add(pl.Support(billet, pl.regions.plane(axis=axis, at=0), axes=axis))
    scene.collide(billet, falling_plate(scene, 0.015, 0.009), friction=0.2)
    _, info = solved(scene, dt=1.0)
    assert info.residual <= 1e-8
    assert info.iterations <= 150


@pytest.mark.slow
def test_an_incompressible_pad_between_plates_takes_few_linear_solves():
    scene = pl.Scene()
    mesh = pl.mesh.cylinder(0.02, 0.01, cells=(5, 4), element="hex8")
    pad = scene.add(pl.Volume(mesh, rubber(1e6, 0.499)))
    ground = scene.add(pl.Obstacle.plane(point=(0, 0, 0), normal=(0, 0, 1)))
    plate = falling_plate(scene, 0.01, 0.003)
    for each in (ground, plate):
        scene.collide(pad, each, friction=0.6)
    _, info = solved(scene, dt=1.0)
    assert info.iterations <= 60
    assert info.contact_force(pad, ground)[2] == pytest.approx(-info.contact_force(pad, plate)[2], rel=1e-6)


def test_dead_traction_presses_flush_blocks_without_friction():
    scene = pl.Scene()
    clamp = pl.regions.plane(axis="z", at=0)
    lower = box(scene, (1, 1, 1), (2, 2, 2), material=rubber(1e6, 0.0), clamp=clamp)
    upper = box(scene, (1, 1, 1), (3, 3, 2), at=(0, 0, 1), material=rubber(1e6, 0.0))
    scene.add(pl.TractionLoad(upper, pl.regions.plane(axis="z", at=2), (0, 0, -1e5)))
    scene.collide(upper, lower)
    _, info = solved(scene)
    assert info.iterations <= 100
    assert info.contact_force(upper, lower)[2] == pytest.approx(1e5, rel=1e-6)


@pytest.mark.slow
def test_a_soft_half_ring_irons_a_block_in_few_linear_solves():
    scene = pl.Scene()
    block = box(scene, (4, 0.5, 1), (20, 1, 4), material=rubber(1.0, 0.3), clamp=pl.regions.plane(axis="z", at=0))

    def bent(x):
        radius, angle = 0.3 + 0.3 * x[:, 0], np.pi * (2.0 - x[:, 1])
        return np.column_stack([1.0 + radius * np.cos(angle), 0.5 * x[:, 2], 1.6 + radius * np.sin(angle)])

    tool = scene.add(pl.Volume(pl.mesh.box((1, 1, 1), (3, 16, 1), element="hex8").mapped(bent), rubber(10.0, 0.3)))
    ends = pl.regions.plane(axis="z", at=0) | pl.regions.plane(axis="z", at=1.6)
    for body in (block, tool):
        for y in (0, 0.5):
            scene.add(pl.Support(body, pl.regions.plane(axis="y", at=y) & ~ends, axes="y"))
    grip = scene.add(pl.Support(tool, pl.regions.plane(axis="z", at=1.6)))
    scene.collide(tool, block, friction=0.3)
    _, info = solved(scene, {grip: pl.Displacement((1.5, 0, -0.2))})
    assert info.iterations <= 200
    assert info.contact_force(tool, block)[2] > 0.0
