"""Cases in which friction alone holds a slender body, or edges and faces of coarse cells carry a round one."""

import pliant as pl
from tests.verification.statics.case import Case, box, cells, floor


def lifted_strip(friction=0.6, *, fine=1):
    """A strip on a rough floor, one end of which is lifted: its weight and friction hold the rest of it."""
    scene = pl.Scene(gravity=(0, 0, -9.81))
    strip = box(scene, (0.12, 0.01, 0.003), cells(24, 1, 1, fine=fine), element="hex8")
    ground = floor(scene)
    scene.collide(strip, ground, friction=friction)
    end = scene.add(pl.Support(strip, pl.regions.plane(axis="x", at=0), axes="yz"))
    return Case(scene.compile(), lambda s, i: i.contact_force(strip, ground)[2], {end: pl.Displacement((0, 0.01))})


def lifted_onto_roller(friction=0.3, *, fine=1):
    """A soft block whose base is raised against a fixed cylinder; its cells are half as long as the radius."""
    scene = pl.Scene()
    block = box(scene, (0.1, 0.02, 0.05), cells(10, 2, 5, fine=fine), at=(-0.05, -0.01, -0.05), element="tet4")
    base = scene.add(pl.Support(block, pl.regions.plane(axis="z", at=-0.05)))
    roller = scene.add(pl.Obstacle.cylinder(start=(0, -0.1, 0.02), end=(0, 0.1, 0.02), radius=0.02))
    scene.collide(block, roller, friction=friction)
    return Case(scene.compile(), lambda s, i: i.contact_force(block, roller)[2], {base: pl.Displacement((0, 0, 0.012))})


def pinched_ball(friction=0.4, *, fine=1):
    """A free ball between two soft blocks that come together: edges and faces of their coarse cells carry it."""
    scene = pl.Scene()
    size, count = (0.05, 0.05, 0.03), cells(4, 4, 2, fine=fine)
    lower = box(scene, size, count, at=(-0.025, -0.025, -0.03), clamp=pl.regions.plane(axis="z", at=-0.03))
    upper = box(scene, size, count, at=(-0.025, -0.025, 0.03))
    hold = scene.add(pl.Support(upper, pl.regions.plane(axis="z", at=0.06)))
    ball = scene.add(pl.RigidBody.sphere(radius=0.015, mass=0.05, position=(0.002, 0.003, 0.015)))
    for block in (lower, upper):
        scene.collide(block, ball, friction=friction)
    return Case(
        scene.compile(),
        lambda s, i: i.contact_force(upper, ball)[2],
        {hold: pl.Displacement((0, 0, -0.006))},
        close=2e-3,  # the ball slips: its friction follows eight increments here, and fifty steps there
    )
