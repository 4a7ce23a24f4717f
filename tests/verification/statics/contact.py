"""Cases of bodies in contact."""

import numpy as np

import pliant as pl
from tests.verification.statics.case import NEO, UNIAXIAL, Case, box, cells, floor, plate, top

# Blocks --------------------------------------------------------------------------------------------------------------


def block_on_floor(friction=0.5, *, fine=1):
    """A block that lies on a floor under its weight, held by nothing else: ν = 0, its top sinks by ρ g h²/(2E)."""
    scene = pl.Scene(gravity=(0, 0, -9.81))
    body = box(scene, (0.04, 0.04, 0.04), cells(3, 3, 4, fine=fine), at=(0, 0, 0.0), material=UNIAXIAL)
    ground = floor(scene)
    scene.collide(body, ground, friction=friction)
    return Case(
        scene.compile(),
        lambda s, i: 0.04 - top(s, body),
        expected=1e3 * 9.81 * 0.04**2 / 2e5,
    )


def stacked_blocks(friction=0.5, *, fine=1):
    """A small block on a large one on a floor; the floor bears the weight of both."""
    scene = pl.Scene(gravity=(0, 0, -9.81))
    lower = box(scene, (0.06, 0.06, 0.02), cells(4, 4, 2, fine=fine))
    upper = box(scene, (0.03, 0.03, 0.03), cells(2, 2, 2, fine=fine), at=(0.013, 0.014, 0.02))
    ground = floor(scene)
    scene.collide(lower, ground, friction=friction)
    scene.collide(upper, lower, friction=friction)
    weight = 1e3 * 9.81 * (0.06 * 0.06 * 0.02 + 0.03**3)
    return Case(scene.compile(), lambda s, i: i.contact_force(lower, ground)[2], expected=weight)


def pressed_block(friction=0.0, travel=-0.008, element="hex8", *, fine=1):
    """A block between a floor and a plate that comes down; ν = 0 and no friction: uniaxial stress."""
    scene = pl.Scene()
    body = box(
        scene, (0.04, 0.04, 0.04), cells(4, 4, 4, fine=fine), at=(-0.02, -0.02, 0), material=UNIAXIAL, element=element
    )
    ground, (press, slider, _) = floor(scene), plate(scene, 0.04, travel)
    scene.collide(body, ground, friction=friction)
    scene.collide(body, press, friction=friction)
    stretch = 1.0 + travel / 0.04
    force = 1.6e-3 * 0.5e5 * (1.0 / stretch - stretch)  # neo-Hookean with ν = 0: P = μ (λ − 1/λ)
    return Case(
        scene.compile(),
        lambda s, i: i.contact_force(body, ground)[2],
        {slider: pl.Displacement(travel)},
        expected=force,  # friction changes nothing: with ν = 0 the block does not spread
    )


def pressed_by_support(friction=0.3, *, fine=1):
    """The top of a block is moved down by a support; its bottom is held by contact alone."""
    scene = pl.Scene()
    body = box(scene, (0.04, 0.04, 0.02), cells(4, 4, 3, fine=fine), at=(0, 0, 0.001))
    hold = scene.add(pl.Support(body, pl.regions.plane(axis="z", at=0.021)))
    ground = floor(scene)
    scene.collide(body, ground, friction=friction)
    return Case(
        scene.compile(),
        lambda s, i: i.contact_force(body, ground)[2],
        {hold: pl.Displacement((0, 0, -0.005))},
    )


def two_blocks_pressed(friction=0.3, *, fine=1):
    """Two blocks of unlike meshes, one on the other, pressed by a support on the upper one."""
    scene = pl.Scene()
    lower = box(scene, (0.06, 0.06, 0.02), cells(5, 5, 3, fine=fine), clamp=pl.regions.plane(axis="z", at=0))
    upper = box(scene, (0.03, 0.03, 0.02), cells(3, 3, 3, fine=fine), at=(0.016, 0.014, 0.0205))
    hold = scene.add(pl.Support(upper, pl.regions.plane(axis="z", at=0.0405)))
    scene.collide(lower, upper, friction=friction)
    return Case(
        scene.compile(),
        lambda s, i: i.contact_force(upper, lower)[2],
        {hold: pl.Displacement((0, 0, -0.004))},
    )


def sheared_block(friction=0.5, *, fine=1):
    """A block pressed on a floor, then dragged: two calls' worth of motion in one; in full slip F = μ N."""
    scene = pl.Scene()
    body = box(scene, (0.04, 0.04, 0.02), cells(4, 4, 2, fine=fine), at=(0, 0, 0))
    hold = scene.add(pl.Support(body, pl.regions.plane(axis="z", at=0.02)))
    ground = floor(scene)
    scene.collide(body, ground, friction=friction)

    def ratio(state, info):
        force = info.contact_force(body, ground)
        return -force[0] / force[2]

    return Case(
        scene.compile(),
        ratio,
        {hold: pl.Displacement((0.03, 0, -0.001))},
        expected=friction if friction <= 0.6 else None,
        ramp=10.0,
        rest=0.0,
        step=0.05,
    )


def block_on_slope(friction=0.5, *, fine=1):
    """A block on a slope of 20° that friction holds: its contact force is its weight."""
    scene = pl.Scene(gravity=(9.81 * np.sin(0.35), 0, -9.81 * np.cos(0.35)))
    body = box(scene, (0.04, 0.04, 0.02), cells(4, 4, 2, fine=fine))
    ground = floor(scene)
    scene.collide(body, ground, friction=friction)
    weight = 1e3 * 9.81 * 0.04 * 0.04 * 0.02
    return Case(scene.compile(), lambda s, i: -i.contact_force(body, ground)[0], expected=weight * np.sin(0.35))


def soft_ball_under_plate(friction=0.0, *, fine=1):
    """A soft cylinder lying between floor and plate, pressed by a weight."""
    scene = pl.Scene(gravity=(0, 0, -9.81))
    mesh = (
        pl.mesh.cylinder(0.02, 0.03, cells=cells(4, 3, fine=fine), element="hex8")
        .rotated((np.pi / 2, 0, 0))
        .translated((0, 0, 0.02))
    )
    body = scene.add(pl.Volume(mesh, NEO))
    ground = floor(scene)
    press = scene.add(pl.RigidBody.box(size=(0.06, 0.06, 0.01), mass=0.2, position=(0, -0.015, 0.0452)))
    scene.add(pl.Slider(press, (0, 0, 1)))
    scene.collide(body, ground, friction=friction)
    scene.collide(body, press, friction=friction)
    return Case(scene.compile(), lambda s, i: float(s.pose(press)[0, 2]))


# Rings, billets, plugs, columns --------------------------------------------------------------------------------------


def ring_between_plates(friction=0.2, travel=-0.012, *, fine=1):
    """A ring lying on its side, squeezed between a floor and a plate."""
    scene = pl.Scene()
    mesh = pl.mesh.tube(0.016, 0.02, 0.01, cells=cells(2, 32, 1, fine=fine), element="hex8")
    mesh = mesh.rotated((np.pi / 2, 0, 0)).translated((0, 0, 0.02))
    body = scene.add(pl.Volume(mesh, NEO))
    ground, (press, slider, _) = floor(scene), plate(scene, 0.0402, travel)
    scene.collide(body, ground, friction=friction)
    scene.collide(body, press, friction=friction)
    return Case(
        scene.compile(),
        lambda s, i: i.contact_force(body, ground)[2],
        {slider: pl.Displacement(travel)},
        # without friction the ring of chords can turn: upright it is unstable, statics leaves that equilibrium
        # and dynamics, which nothing disturbs, stays there (0.09 rad apart)
        close=1e-3 if friction else 0.02,
    )


def upset_billet(friction=0.2, travel=-0.01, *, fine=1):
    """A billet upset between floor and plate by a third of its height; it bulges."""
    scene = pl.Scene()
    body = scene.add(pl.Volume(pl.mesh.cylinder(0.01, 0.03, cells=cells(3, 6, fine=fine), element="hex8"), NEO))
    ground, (press, slider, _) = floor(scene), plate(scene, 0.03, travel)
    scene.collide(body, ground, friction=friction)
    scene.collide(body, press, friction=friction)
    return Case(
        scene.compile(),
        lambda s, i: i.contact_force(body, ground)[2],
        {slider: pl.Displacement(travel)},
    )


def plug_in_pipe(friction=0.2, *, fine=1):
    """A plug thicker than its pipe by 0.4 mm, pushed along it: starts inside with the interference."""
    scene = pl.Scene()
    mesh = pl.mesh.cylinder(0.01, 0.02, cells=cells(3, 5, fine=fine), element="hex8")
    body = scene.add(pl.Volume(mesh, NEO))
    hold = scene.add(pl.Support(body, pl.regions.plane(axis="z", at=0.02), axes="z"))
    pipe = scene.add(pl.Obstacle.pipe(start=(0, 0, -0.05), end=(0, 0, 0.05), radius=0.0098))
    scene.collide(body, pipe, friction=friction, allow_overlap=True)
    return Case(
        scene.compile(),
        lambda s, i: i.contact_force(body, pipe)[2],
        {hold: pl.Displacement(-0.01)},
        expected=0.0 if friction == 0.0 else None,
        ramp=2.0,
        rest=0.0,
    )


def column_between_walls(travel=-0.006, *, fine=1):
    """A slender column, clamped below, pressed from above; it buckles against walls at 4 mm on both sides."""
    scene = pl.Scene(gravity=(0.2, 0, 0))
    body = box(
        scene, (0.005, 0.005, 0.1), cells(1, 1, 20, fine=fine), clamp=pl.regions.plane(axis="z", at=0), element="hex8"
    )
    hold = scene.add(pl.Support(body, pl.regions.plane(axis="z", at=0.1)))
    for x, n in ((-0.004, 1), (0.009, -1)):
        wall = scene.add(pl.Obstacle.plane(point=(x, 0, 0), normal=(n, 0, 0)))
        scene.collide(body, wall)
    return Case(
        scene.compile(),
        lambda s, i: float(i.reaction(body)[s.points(body)[:, 2] < 1e-9, 2].sum()),
        {hold: pl.Displacement((0, 0, travel))},
    )


# Indenters -----------------------------------------------------------------------------------------------------------


def indenter(shape, friction=0.0, depth=0.004, slide=0.0, *, fine=1):
    """A rigid obstacle that moves down into a clamped block within the one call, and along it by `slide`."""
    scene = pl.Scene()
    body = box(scene, (0.1, 0.06, 0.03), cells(20, 12, 6, fine=fine), clamp=pl.regions.plane(axis="z", at=0))

    def motion(t):
        t = min(t, 1.0)
        down = depth * min(2.0 * t, 1.0) if slide else depth * t
        return (slide * max(t - 0.5, 0.0) * 2.0, 0, -down), (0, 0, 0)

    tool = {
        "ball": lambda: pl.Obstacle.sphere(center=(0.05, 0.03, 0.0701), radius=0.04, motion=motion),
        "roller": lambda: pl.Obstacle.cylinder(
            start=(0.04, -0.05, 0.0451), end=(0.04, 0.11, 0.0451), radius=0.015, motion=motion
        ),
        "small ball": lambda: pl.Obstacle.sphere(center=(0.05, 0.03, 0.0451), radius=0.015, motion=motion),
        "punch": lambda: pl.Obstacle.box(size=(0.022, 0.022, 0.02), center=(0.05, 0.03, 0.0401), motion=motion),
        "edge": lambda: pl.Obstacle.box(
            size=(0.02, 0.1, 0.02),
            center=(0.051, 0.03, 0.0301 + 0.01 * 2**0.5),
            rotation=(0, np.pi / 4, 0),
            motion=motion,
        ),
        "plane": lambda: pl.Obstacle.plane(point=(0, 0, 0.0301), normal=(0, 0, -1), motion=motion),
    }[shape]()
    tool = scene.add(tool)
    scene.collide(body, tool, friction=friction)
    return Case(
        scene.compile(),
        lambda s, i: float(np.linalg.norm(i.contact_force(body, tool))),
        dt=1.0,
    )


# Free bodies held by contacts ----------------------------------------------------------------------------------------


def box_on_arm(friction=0.5, *, fine=1):
    """A rigid box on a clamped arm that sags under it and tilts it; friction keeps it from sliding off."""
    scene = pl.Scene(gravity=(0, 0, -9.81))
    stiff = pl.materials.NeoHookean(young=1e6, poisson=0.3, density=1e3)
    arm = box(
        scene, (0.1, 0.03, 0.01), cells(12, 4, 2, fine=fine), material=stiff, clamp=pl.regions.plane(axis="x", at=0)
    )
    thing = scene.add(pl.RigidBody.box(size=(0.02, 0.02, 0.02), mass=0.02, position=(0.07, 0.0151, 0.0201)))
    scene.collide(arm, thing, friction=friction)
    return Case(scene.compile(), lambda s, i: -i.contact_force(arm, thing)[2], expected=0.02 * 9.81)


def ball_on_beam(friction=0.5, off=0.001, *, fine=1):
    """A rigid ball on a beam that is clamped at both ends and sags under it; it lies `off` the middle."""
    scene = pl.Scene(gravity=(0, 0, -9.81))
    stiff = pl.materials.NeoHookean(young=1e6, poisson=0.3, density=1e3)
    ends = pl.regions.plane(axis="x", at=0) | pl.regions.plane(axis="x", at=0.1)
    beam = box(scene, (0.1, 0.03, 0.006), cells(14, 4, 2, fine=fine), material=stiff, clamp=ends)
    thing = scene.add(pl.RigidBody.sphere(radius=0.012, mass=0.05, position=(0.05 + off, 0.015, 0.0181)))
    scene.collide(beam, thing, friction=friction)
    return Case(scene.compile(), lambda s, i: i.contact_force(thing, beam)[2], expected=0.05 * 9.81)


def held_box(friction=0.6, *, fine=1):
    """Two pads squeeze a rigid box and hold it against gravity by friction."""
    scene = pl.Scene(gravity=(0, 0, -9.81))
    pads, holds = [], {}
    for side, sign in ((-0.03, 1.0), (0.02, -1.0)):
        pad = box(scene, (0.01, 0.02, 0.02), cells(2, 3, 3, fine=fine), at=(side, -0.01, -0.01))
        outer = side if sign > 0 else side + 0.01
        hold = scene.add(pl.Support(pad, pl.regions.plane(axis="x", at=outer)))
        holds[hold] = pl.Displacement((sign * 0.002, 0, 0))
        pads.append(pad)
    thing = scene.add(pl.RigidBody.box(size=(0.0399, 0.03, 0.03), mass=0.02))
    for pad in pads:
        scene.collide(pad, thing, friction=friction)

    def carried(state, info):
        return -sum(float(info.contact_force(pad, thing)[2]) for pad in pads)

    return Case(scene.compile(), carried, holds, expected=0.02 * 9.81)


def rigid_box_on_block(friction=0.4, *, fine=1):
    """A rigid box laid on a soft clamped block under gravity."""
    scene = pl.Scene(gravity=(0, 0, -9.81))
    body = box(scene, (0.06, 0.06, 0.02), cells(5, 5, 3, fine=fine), clamp=pl.regions.plane(axis="z", at=0))
    thing = scene.add(pl.RigidBody.box(size=(0.03, 0.03, 0.03), mass=0.3, position=(0.031, 0.029, 0.0352)))
    scene.collide(body, thing, friction=friction)
    return Case(scene.compile(), lambda s, i: i.contact_force(thing, body)[2], expected=0.3 * 9.81)
