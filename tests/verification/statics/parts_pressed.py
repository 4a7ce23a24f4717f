"""Contact statics of parts as machines have them: `scene(kind, seed)` draws one of sixteen kinds at random.

Rollers, wedges, cones, seats, punches, plugs, billets, rings, tubes that fold, columns that buckle, grooves, clips,
cables and chambers that press on things. Sizes, meshes, elements, materials up to ν = 0.499, friction from 0 to 1 and
the load are drawn. Every body rests in equilibrium somewhere: none slides or rolls off, and frictionless ones are
guided.
"""

import numpy as np

import pliant as pl
from tests.verification.statics.dice import (
    ANGLES,
    Dice,
    Drawn,
    base,
    going,
    placed,
    solid_of_revolution,
    wedge_surface,
)


def billet_between_plates(d):
    """A billet or block upset between two plates, the upper one perhaps a little tilted."""
    mu, height = d.friction(0.05), d.between(0.015, 0.035)
    if d.among(True, False):
        mesh = pl.mesh.cylinder(d.between(0.008, 0.016), height, cells=(3, 5), element=d.among("hex8", "tet4"))
    else:
        mesh = pl.mesh.box((0.02, 0.024, height), (4, 4, 5), element=d.among("hex8", "tet4")).translated(
            (-0.01, -0.012, 0)
        )
    body = d.volume(mesh)
    low = d.obstacle(pl.Obstacle.plane(point=(0, 0, 0), normal=(0, 0, 1)))
    tilt = d.among(0.0, 0.0, 2.0 * ANGLES) if mu >= 0.2 else 0.0
    normal = (np.sin(tilt), 0, -np.cos(tilt))
    motion = going(0, 0, -d.between(0.05, 0.4) * height)
    high = d.obstacle(pl.Obstacle.plane(point=(0, 0, height + 0.02 * np.tan(tilt)), normal=normal, motion=motion))
    for plate in (low, high):
        d.scene.collide(body, plate, friction=mu)
    return {}, 1.0


def punched(d):
    """A block under a rigid punch: flat, upright cylinder, cone, wedge, knife or tilted box."""
    body = d.box((0.06, 0.06, 0.025), d.among((8, 8, 4), (12, 12, 5)), clamp=base())
    depth, slide = d.between(0.0005, 0.005), d.among(0.0, 0.0, 0.0, 0.004)
    x, y, top = d.between(0.022, 0.038), d.between(0.022, 0.038), 0.025 + d.among(0.0, 1e-4)
    motion = going(slide, 0, -depth)
    kind = d.among("box", "cylinder", "cone", "wedge", "knife", "sphere", "roller", "capsule")
    r = d.between(0.006, 0.014)
    if kind == "box":
        tool = pl.Obstacle.box(center=(x, y, top + r), size=(2 * r, 2.4 * r, 2 * r), motion=motion)
    elif kind == "cylinder":
        tool = pl.Obstacle.cylinder(start=(x, y, top), end=(x, y, top + 0.05), radius=r, motion=motion)
    elif kind == "cone":
        surface = solid_of_revolution([(0.2 * r, 0.0), (2.0 * r, r * d.between(0.4, 1.2))], 16)
        tool = pl.Obstacle.mesh(placed(surface, (x, y, top)), motion=motion)
    elif kind == "wedge":
        surface = wedge_surface(2.0 * r, r * d.between(0.5, 1.5), 0.1)
        tool = pl.Obstacle.mesh(placed(surface, (x, y, top)), motion=motion)
    elif kind == "knife":
        tilt = d.between(0.2, 0.8)
        drop = r * (np.cos(tilt) + np.sin(tilt))
        tool = pl.Obstacle.box(
            center=(x, 0.03, top + drop), size=(2 * r, 0.1, 2 * r), rotation=(0, tilt, 0), motion=motion
        )
    elif kind == "sphere":
        tool = pl.Obstacle.sphere(center=(x, y, top + r), radius=r, motion=motion)
    elif kind == "roller":
        tool = pl.Obstacle.cylinder(start=(x, -0.05, top + r), end=(x, 0.11, top + r), radius=r, motion=motion)
    else:
        tool = pl.Obstacle.capsule(start=(x - r, y, top + r), end=(x + r, y, top + r), radius=r, motion=motion)
    d.scene.collide(body, d.obstacle(tool), friction=d.friction())
    return {}, 1.0


def plug_pushed_into_pipe(d):
    """A plug wider than its pipe, pushed along it."""
    radius, tight = 0.01, d.between(0.0001, 0.0005)
    mesh = pl.mesh.cylinder(radius, 0.02, cells=(3, d.among(4, 6)), element=d.among("hex8", "tet4"))
    plug = d.volume(mesh, d.rubber(most=0.49))
    top = d.scene.add(pl.Support(plug, base(0.02), axes="z"))
    pipe = d.obstacle(pl.Obstacle.pipe(start=(0, 0, -0.06), end=(0, 0, 0.05), radius=radius - tight))
    d.scene.collide(plug, pipe, friction=d.friction(0.05), allow_overlap=True)
    return {top: pl.Displacement(-d.between(0.001, 0.012))}, None


def beam_over_rollers(d):
    """A beam on two or three rollers, pressed down in the middle or at its ends, or lifted by rollers."""
    n = d.among(24, 32)
    body = d.box(
        (0.2, 0.02, 0.01),
        (n, 2, 2),
        at=(-0.1, -0.01, 0),
        material=d.rubber(1e6),
        element=d.among("hex8", "hex8", "tet4"),
    )
    half, r = d.between(0.04, 0.08), d.between(0.006, 0.016)
    down = d.between(0.003, 0.03)
    if d.among("middle", "ends") == "middle":
        nodes = np.flatnonzero((np.abs(body.mesh.points[:, 0]) < 1e-9) & (body.mesh.points[:, 2] > 0.0099))
        hold = d.scene.add(pl.Support(body, pl.regions.nodes(nodes)))
        places, side = (-half, half), -1.0
    else:
        hold = d.scene.add(pl.Support(body, base(-0.1, "x") | base(0.1, "x"), axes="yz"))
        places, side = ((-0.4 * half, 0.6 * half) if d.among(True, False) else (0.2 * half,)), -1.0
    mu = d.friction() if hold.axes == "xyz" else d.friction(0.2)
    for x in places:
        roller = pl.Obstacle.cylinder(start=(x, -0.1, side * r), end=(x, 0.1, side * r), radius=r)
        d.scene.collide(body, d.obstacle(roller), friction=mu)
    return {hold: pl.Displacement((0, 0, -down) if hold.axes == "xyz" else (0, -down))}, None


def raised_onto_shape(d):
    """A block whose base is raised against a fixed roller, ball or wedge."""
    element, cells = d.element(), d.among((8, 3, 4), (12, 3, 5))
    block = d.box((0.08, 0.03, 0.04), cells, at=(-0.04, -0.015, -0.04), element=element)
    lift = d.scene.add(pl.Support(block, base(-0.04)))
    r, kind = d.between(0.008, 0.025), d.among("roller", "ball", "wedge")
    x = d.between(-0.005, 0.005)
    if kind == "roller":
        thing = pl.Obstacle.cylinder(start=(x, -0.1, r), end=(x, 0.1, r), radius=r)
    elif kind == "ball":
        thing = pl.Obstacle.sphere(center=(x, 0.001, r), radius=r)
    else:
        surface = wedge_surface(0.03, 0.03 * d.between(0.3, 1.0), 0.2)
        thing = pl.Obstacle.mesh(placed(surface, (x, 0, 0)))
    d.scene.collide(block, d.obstacle(thing), friction=d.friction())
    return {lift: pl.Displacement((d.among(0.0, 0.0, 0.003), 0, d.between(0.001, 0.009)))}, None


def conical_seat(d):
    """A soft ring or tube whose mouth a cone or a ball enters."""
    n, wall = d.among(16, 24), d.between(0.006, 0.012)
    mesh = pl.mesh.tube(0.01, 0.01 + wall, 0.015, cells=(2, n, 3), element=d.among("hex8", "tet4"))
    ring = d.volume(mesh, clamp=base())
    depth, off = d.between(0.0005, 0.004), (d.between(-2e-4, 2e-4), d.between(-2e-4, 2e-4))
    motion = going(0, 0, -depth)
    if d.among("cone", "ball") == "cone":
        slope = d.between(0.6, 1.6)
        surface = solid_of_revolution([(0.006, -0.004 * slope), (0.018, 0.008 * slope)], d.among(20, 32))
        place = np.array((*off, 0.0155))
        tool = pl.Obstacle.mesh(placed(surface, place), motion=motion)
    else:
        r = d.between(0.0125, 0.02)
        tool = pl.Obstacle.sphere(center=(*off, 0.015 + np.sqrt(r**2 - 0.01**2) + 5e-4), radius=r, motion=motion)
    d.scene.collide(ring, d.obstacle(tool), friction=d.friction())
    return {}, 1.0


def wedge_between_blocks(d):
    """A wedge on a slider driven between two soft blocks."""
    mu = d.friction()
    material, element = d.rubber(), d.element()
    blocks = [
        d.box(
            (0.02, 0.03, 0.03), (4, 4, 4), at=(x, -0.015, 0), material=material, element=element, clamp=base(face, "x")
        )
        for x, face in ((-0.024, -0.024), (0.004, 0.024))
    ]
    surface = wedge_surface(0.02, 0.02 / np.tan(d.between(0.2, 0.6)), 0.05)
    depth = d.between(0.002, 0.01)
    start = 0.03 - 0.004 * surface.points[:, 2].max() / 0.02
    motion = going(0, 0, -depth)
    tool = d.obstacle(pl.Obstacle.mesh(placed(surface, (0, 0, start + 1e-4)), motion=motion))
    for block in blocks:
        d.scene.collide(block, tool, friction=mu)
    return {}, 1.0


def ring_in_jaws(d):
    """A ring or a soft roller squeezed between V-shaped or flat jaws."""
    element, mu = d.among("hex8", "tet4"), d.friction(0.2)
    if d.among("ring", "roller") == "ring":
        mesh = pl.mesh.tube(0.02 * d.between(0.6, 0.85), 0.02, 0.012, cells=(2, d.among(20, 28), 1), element=element)
    else:
        mesh = pl.mesh.cylinder(0.02, 0.012, cells=(4, 1), element=element)
    body = d.volume(mesh.rotated((np.pi / 2, 0, 0)).translated((0, 0.006, 0)))
    travel, angle = d.between(0.001, 0.006), d.among(0.0, 30 * ANGLES, 45 * ANGLES)
    for sign in (-1.0, 1.0):
        motion = going(0, 0, -sign * travel) if sign > 0 or d.among(True, False) else None
        for side in (-1.0, 1.0) if angle else (1.0,):
            n = np.array((-side * np.sin(angle), 0, -sign * np.cos(angle)))
            jaw = pl.Obstacle.plane(point=tuple(-0.0201 * n), normal=tuple(n), motion=motion)
            d.scene.collide(body, d.obstacle(jaw), friction=mu)
    return {}, 1.0


def tube_that_folds(d):
    """A thin tube, clamped below, shortened along its axis: it buckles, folds and touches itself."""
    n, wall = d.among(12, 16), d.between(0.0008, 0.002)
    mesh = pl.mesh.tube(0.015 - wall, 0.015, 0.03, cells=(1, n, d.among(10, 14)), element="hex8")
    tube = d.volume(mesh, d.rubber(most=0.45), clamp=base())
    top = d.scene.add(pl.Support(tube, base(0.03)))
    d.scene.collide(tube, tube, friction=d.friction())
    return {top: pl.Displacement((0, 0, -d.between(0.002, 0.015)))}, None


def column_in_a_slot(d):
    """A slender column or strip shortened between walls that stop its buckling."""
    t = d.between(0.004, 0.007)
    column = d.box(
        (t, 0.01, 0.1),
        (1, 1, 20),
        element=d.among("hex8", "hex8", "tet10"),
        material=d.rubber(3e5, most=0.45),
        clamp=base(),
    )
    top = d.scene.add(pl.Support(column, base(0.1)))
    mu, room = d.friction(), d.between(0.001, 0.006)
    for x, n in ((-room, 1.0), (t + 1.5 * room, -1.0)):
        wall = d.obstacle(pl.Obstacle.plane(point=(x, 0, 0), normal=(n, 0, 0)))
        d.scene.collide(column, wall, friction=mu)
    return {top: pl.Displacement((1e-4, 0, -d.between(0.002, 0.01)))}, None


def roller_in_groove(d):
    """A soft cylinder or a rigid ball that lies in a soft V-groove under gravity and a weight on top."""
    mu, angle = d.friction(0.05), d.between(25, 50) * ANGLES
    if d.among("soft", "rigid") == "soft":
        mesh = pl.mesh.cylinder(0.015, 0.02, cells=(3, 2), element=d.among("hex8", "tet4")).rotated((np.pi / 2, 0, 0))
        thing = d.volume(mesh.translated((0, 0.01, 0.0)), d.rubber(5e4))
        places, r = None, 0.015
    else:
        r = 0.012
        thing = d.scene.add(pl.RigidBody.sphere(radius=r, mass=d.between(0.02, 0.2), position=(0, 0, 0)))
        places = d.rubber(1e5)
    for side in (-1.0, 1.0):
        n = np.array((side * np.sin(angle), 0, np.cos(angle)))
        if places is None:
            flank = d.obstacle(pl.Obstacle.plane(point=tuple(-1.002 * r * n), normal=tuple(n)))
        else:
            mesh = pl.mesh.box((0.03, 0.03, 0.01), (5, 5, 2), element=d.among("hex8", "tet4"))
            mesh = mesh.translated((-0.015, -0.0151, -0.01)).rotated((0, side * angle, 0)).translated(-1.002 * r * n)
            lower = np.flatnonzero(np.abs((mesh.points + 1.002 * r * n) @ n + 0.01) < 1e-9)
            flank = d.volume(mesh, places, clamp=pl.regions.nodes(lower))
        d.scene.collide(*((thing, flank) if places is None else (flank, thing)), friction=mu)
    return {}, None


def stack_under_press(d):
    """Two or three unlike blocks on a floor under a plate on a slider, by a force or a displacement."""
    mu, floor = d.friction(0.2), d.obstacle(pl.Obstacle.plane(point=(0, 0, 0), normal=(0, 0, 1)))
    below, z, side = floor, 0.0, 0.04
    for _ in range(d.among(1, 2, 3)):
        h = d.between(0.008, 0.02)
        n = d.among(2, 3, 4)
        block = d.box((side, side, h), (n, n, 2), at=(-side / 2, -side / 2, z), material=d.rubber(1e5))
        d.scene.collide(block, below, friction=mu)
        below, z, side = block, z + h, side * d.between(0.7, 1.0)
    press = d.scene.add(
        pl.RigidBody.box(size=(0.06, 0.06, 0.01), mass=0.02, position=(0, 0, z + 0.005 + d.among(0.0, 2e-4)))
    )
    slider = d.scene.add(pl.Slider(press, (0, 0, 1)))
    d.scene.collide(below, press, friction=mu)
    if d.among("force", "travel") == "force":
        return {slider: pl.Force(-d.between(1.0, 40.0))}, None
    return {slider: pl.Displacement(-d.between(0.05, 0.3) * z)}, None


def finger_presses(d):
    """A cable-driven arm that bends against a ball, a box or a soft block."""
    element = d.among("hex8", "tet4")
    arm = d.box((0.1, 0.014, 0.014), (12, 2, 2), element=element, material=d.rubber(4e5, most=0.49), clamp=base(0, "x"))
    path = [(x, 0.007, 0.0025) for x in np.linspace(0.004, 0.096, 9)]
    cable = d.scene.add(pl.Cable(arm, path, pull_point=(-0.001, 0.007, 0.0025)))
    x, mu, gap = d.between(0.06, 0.09), d.friction(), d.between(0.0005, 0.01)
    kind = d.among("ball", "box", "block")
    if kind == "ball":
        thing = d.obstacle(pl.Obstacle.sphere(center=(x, 0.008, -gap - 0.015), radius=0.015))
    elif kind == "box":
        thing = d.obstacle(pl.Obstacle.box(center=(x, 0.007, -gap - 0.01), size=(0.015, 0.05, 0.02)))
    else:
        thing = d.box((0.05, 0.03, 0.02), (6, 4, 3), at=(x - 0.03, -0.008, -gap - 0.02), clamp=base(-gap - 0.02))
    d.scene.collide(arm, thing, friction=mu)
    return {cable: pl.Displacement(d.between(0.002, 0.012))}, None


def chamber_presses(d):
    """A hollow block that is blown up against a plate, a ball or a soft block above it."""
    outer = pl.mesh.box((0.03, 0.03, 0.018), (5, 5, 5), element="hex8")
    center = outer.points[outer.cells].mean(axis=1)
    inside = (np.abs(center - (0.015, 0.015, 0.009)) < (0.0092, 0.0092, 0.0055)).all(axis=1)
    mesh = pl.Mesh(outer.points, outer.cells[~inside], "hex8") if hasattr(pl, "Mesh") else _without(outer, inside)
    body = d.volume(mesh, d.rubber(1e5, most=0.49), clamp=base())
    air = d.scene.add(pl.Cavity(body))
    gap, mu = d.between(1e-4, 1e-3), d.friction()
    kind = d.among("plate", "ball", "block")
    if kind == "plate":
        thing = d.obstacle(pl.Obstacle.plane(point=(0, 0, 0.018 + gap), normal=(0, 0, -1)))
    elif kind == "ball":
        thing = d.obstacle(pl.Obstacle.sphere(center=(0.0155, 0.0145, 0.038 + gap), radius=0.02))
    else:
        thing = d.box((0.04, 0.04, 0.015), (5, 5, 2), at=(-0.005, -0.005, 0.018 + gap), clamp=base(0.033 + gap))
    d.scene.collide(body, thing, friction=mu)
    if d.among("pressure", "volume") == "pressure":
        return {air: pl.Pressure(d.between(2e3, 2e4))}, None
    return {air: pl.VolumeRatio(d.between(1.1, 1.8))}, None


def _without(mesh, gone):
    kept = mesh.cells[~gone]
    used, index = np.unique(kept, return_inverse=True)
    return pl.mesh.Mesh(mesh.points[used], index.reshape(kept.shape), mesh.element)


def clip_over_pin(d):
    """A cantilever strip whose tip is dragged over a pin: capstan-like sliding."""
    strip = d.box(
        (0.08, 0.01, 0.004),
        (20, 2, 1),
        element=d.among("hex8", "tet10"),
        material=d.rubber(1e6, most=0.45),
        clamp=base(0, "x"),
    )
    r, x = d.between(0.006, 0.015), d.between(0.045, 0.07)
    motion = going(d.among(0.0, -0.006, 0.006), 0, d.between(0.004, 0.02))
    pin = d.obstacle(
        pl.Obstacle.cylinder(start=(x, -0.05, -r - 2e-4), end=(x, 0.06, -r - 2e-4), radius=r, motion=motion)
    )
    d.scene.collide(strip, pin, friction=d.friction())
    return {}, 1.0


def weight_on_pads(d):
    """A rigid box or cone-footed body that stands on one to three soft pads under its weight and a sideways force."""
    mu = d.friction(0.4)
    count = d.among(1, 2, 3)
    places = {1: [(0, 0)], 2: [(-0.02, 0), (0.02, 0)], 3: [(-0.02, -0.015), (0.02, -0.015), (0, 0.02)]}[count]
    size = 0.03 if count == 1 else 0.016
    thing = d.scene.add(
        pl.RigidBody.box(
            size=(0.07, 0.07, 0.01), mass=d.between(0.05, 0.4), position=(d.between(-0.002, 0.002), 0.001, 0.0171)
        )
    )
    for x, y in places:
        pad = d.box(
            (size, size * (2.0 if count == 2 else 1.0), 0.012),
            (3, 3, 3),
            at=(x - size / 2, y - size * (1.0 if count == 2 else 0.5), 0),
            material=d.rubber(1e5, most=0.49),
            clamp=base(),
        )
        d.scene.collide(pad, thing, friction=mu)
    return {}, None


GRAVITY = dict.fromkeys(("roller_in_groove", "weight_on_pads", "stack_under_press"), (0, 0, -9.81))
GRAVITY["column_in_a_slot"] = (0.3, 0, 0)  # says to which side it buckles
KINDS = {
    each.__name__: each
    for each in (
        billet_between_plates, punched, plug_pushed_into_pipe, beam_over_rollers, raised_onto_shape, conical_seat,
        wedge_between_blocks, ring_in_jaws, tube_that_folds, column_in_a_slot, roller_in_groove, stack_under_press,
        finger_presses, chamber_presses, clip_over_pin, weight_on_pads,
    )
}  # fmt: skip


def scene(kind: str, seed: int) -> Drawn:
    """The random scene of a kind and a seed."""
    d = Dice(seed, kind, GRAVITY.get(kind, (0, 0, 0)))
    controls, dt = KINDS[kind](d)
    return Drawn(d.scene.compile(), controls, dt)
