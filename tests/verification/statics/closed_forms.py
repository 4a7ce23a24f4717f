"""Contacts with a closed form, each solved by one call of `pl.QuasiStatic()`.

A function returns {what is compared: (found, closed form)}. `fine` refines the mesh: cells of the contact region are
`fine` times smaller. The formulas are in K. L. Johnson, Contact Mechanics, 1985, chapters 2 to 4 and 7;
for the cone: I. N. Sneddon, Int. J. Engng Sci. 3, 1965.
"""

import numpy as np

import pliant as pl
from tests.verification.statics.half_space import added, graded, half_space, mirrored, refined_at

YOUNG = 1e6
RADIUS = 1e-3
"""Radius or half width of the contact, m, in all cases but those that find it."""


def modulus(poisson):
    """E* of the body against a rigid one, Pa."""
    return YOUNG / (1.0 - poisson**2)


def rubber(poisson):
    return pl.materials.Corotated(young=YOUNG, poisson=poisson, density=1e3)


def soil(fine, quarters=1):
    """A half-space with five cells, times `fine`, along the radius of the contact."""
    return half_space(cell=RADIUS / round(5.0 * fine), contact=RADIUS, ratio=1.0 + 0.55 / fine, quarters=quarters)


def pressed(scene, body, tool, **options):
    """State and report of one quasi-static call; obstacles go to where they are after 1 s."""
    scene.collide(body, tool, **options)
    world = scene.compile()
    return pl.QuasiStatic(dt=1.0)(world, world.initial_state())


def downward(depth):
    return lambda t: ((0.0, 0.0, -depth * min(t, 1.0)), (0.0, 0.0, 0.0))


def sphere(fine=1.0, poisson=0.3):
    """Hertz: F = 4/3 E* √R d^{3/2}, a² = R d."""
    radius = 20.0 * RADIUS
    depth = RADIUS**2 / radius
    scene = pl.Scene()
    body = added(scene, soil(fine), rubber(poisson))
    ball = scene.add(pl.Obstacle.sphere(center=(0, 0, radius), radius=radius, motion=downward(depth)))
    _, info = pressed(scene, body, ball)
    force = -4.0 * info.contact_force(body, ball)[2]
    return {
        "force": (force, 4.0 / 3.0 * modulus(poisson) * np.sqrt(radius) * depth**1.5),
        "radius": (np.sqrt(2.5 * second_moment(info, body, ball)), RADIUS),
    }, info


def second_moment(info, body, tool):
    """⟨x² + y²⟩ of the contact points, weighted by the pressure, m²."""
    contacts = info.contacts(body, tool)
    weight = np.abs(contacts.forces[:, 2])
    return float(weight @ (contacts.points[:, :2] ** 2).sum(axis=1) / weight.sum())


def turned(profile, motion, count=96):
    """An obstacle that is a solid of revolution, with `count` sides: `profile` is (r, z) of its points, from the axis
    below to the axis above.
    """
    angle = 2.0 * np.pi * np.arange(count) / count
    rings = [np.column_stack([r * np.cos(angle), r * np.sin(angle), np.full(count, z)]) for r, z in profile[1:-1]]
    ends = [(0.0, 0.0, profile[0][1]), (0.0, 0.0, profile[-1][1])]
    points = np.vstack([*rings, *ends])
    k, following = np.arange(count), (np.arange(count) + 1) % count
    below, above, last = len(points) - 2, len(points) - 1, (len(rings) - 1) * count
    triangles = [np.column_stack([k, np.full(count, below), following])]
    for first in range(0, last, count):
        a, b = first + k, first + following
        triangles += [np.column_stack([a, b, b + count]), np.column_stack([a, b + count, a + count])]
    triangles.append(np.column_stack([last + k, last + following, np.full(count, above)]))
    return pl.Obstacle.mesh(pl.mesh.Surface.from_triangles(points, np.vstack(triangles)), motion=motion)


def cone(fine=1.0, poisson=0.3, slope=0.09):
    """Sneddon: F = 2 E* d² / (π tan β), a = 2 d / (π tan β), for a cone whose sides rise by the angle β."""
    depth, top = 0.5 * np.pi * RADIUS * np.tan(slope), 8.0 * RADIUS * np.tan(slope)
    scene = pl.Scene()
    body = added(scene, soil(fine), rubber(poisson))
    tool = scene.add(turned([(0.0, 0.0), (8.0 * RADIUS, top), (0.0, top)], downward(depth)))
    _, info = pressed(scene, body, tool)
    exact = 2.0 * modulus(poisson) * depth**2 / (np.pi * np.tan(slope))
    return {"force": (-4.0 * info.contact_force(body, tool)[2], exact)}, info


def half_plane(scene, x, z, poisson, sides=False):
    """Plane strain: one layer of cells between rollers; `z` ≤ 0 increasing; clamped below, rollers at x = 0."""
    thick = RADIUS
    mesh = pl.mesh.grid(x, (0.0, thick), z, element="hex8")
    body = added(scene, mesh, rubber(poisson), planes="xy" if x[0] == 0.0 else "y")
    bottom = pl.regions.plane(axis="z", at=z[0])
    scene.add(pl.Support(body, pl.regions.plane(axis="y", at=thick) & ~bottom, axes="y"))
    return body


def flat_punch_plane(fine=1.0, poisson=0.3, depth=0.03 * RADIUS):
    """Rigid punch of the half width a, plane strain: a third of the load within a/2; at x = 2a the surface
    sinks less than the punch by 2 P arcosh(2) / (π E*).
    """
    cell = RADIUS / (12.0 * fine)
    inner = refined_at(RADIUS, cell, 1.2, RADIUS / 6.0)
    outer = RADIUS + graded(cell, 2.0 * cell, 1.2, 60.0 * RADIUS)
    x = np.unique(np.concatenate([inner, outer[1:], [2.0 * RADIUS]]))
    x = x[np.concatenate([[True], np.diff(x) > 0.5 * cell])]
    scene = pl.Scene()
    body = half_plane(scene, x, -graded(cell, RADIUS / 2.0, 1.25, 60.0 * RADIUS)[::-1], poisson)
    tool = pl.Obstacle.box(center=(0, 0, RADIUS), size=(2 * RADIUS, 10 * RADIUS, 2 * RADIUS), motion=downward(depth))
    tool = scene.add(tool)
    state, info = pressed(scene, body, tool)
    load = -2.0 * info.contact_force(body, tool)[2] / RADIUS  # per length, both halves
    now = state.points(body)
    surface = now[np.abs(info.world.models[0].rest[:, 2]) < 1e-12]
    drop = depth + np.interp(2.0 * RADIUS, *surface[np.argsort(surface[:, 0])][:, [0, 2]].T)
    contacts = info.contacts(body, tool)
    at, force = contacts.points[:, 0], -contacts.forces[:, 2]
    return {
        "load": (load, np.pi * modulus(poisson) * drop / (2.0 * np.arccosh(2.0))),
        "mean square of x": (float(force @ at**2 / force.sum()), 0.5 * RADIUS**2),
    }, info


def circular_load(fine=1.0, poisson=0.3, pressure=1e3):
    """Boussinesq's solution, integrated over a uniform pressure on a circle: the centre sinks by 2 p a / E*,
    the rim by 4 p a / (π E*).
    """
    scene = pl.Scene()
    body = added(scene, soil(fine), rubber(poisson))
    top = pl.regions.plane(axis="z", at=0.0) & pl.regions.sphere((0, 0, 0), RADIUS * (1.0 + 1e-6))
    scene.add(pl.TractionLoad(body, top, (0.0, 0.0, -pressure)))
    world = scene.compile()
    state, info = pl.QuasiStatic()(world, world.initial_state())
    rest = world.models[0].rest
    sunk = rest[:, 2] - state.points(body)[:, 2]
    centre = np.linalg.norm(rest, axis=1) < 1e-9
    rim = np.linalg.norm(rest - (RADIUS, 0, 0), axis=1) < 1e-9
    chord = 0.5 * np.pi / 6.0  # six cells span a quarter: the loaded polygon has the area of a smaller circle
    scale = pressure * RADIUS * np.sqrt(np.sin(chord) / chord) / modulus(poisson)
    return {
        "sinking of the centre": (float(sunk[centre][0]), 2.0 * scale),
        "sinking of the rim": (float(sunk[rim][0]), 4.0 / np.pi * scale),
    }, info


def half_cylinder(scene, x, z, radius, poisson, upward):
    """A block in plane strain whose free surface is that of a cylinder; `upward`: its surface looks up."""
    depth = -z[0]

    def shaped(points):
        drop = radius - np.sqrt(radius**2 - points[:, 0] ** 2)
        height = points[:, 2] - drop * (1.0 + points[:, 2] / depth)
        return np.column_stack([points[:, :2], height if upward else -height])

    mesh = pl.mesh.grid(x, (0.0, RADIUS), z, element="hex8")
    mesh = pl.mesh.Mesh.oriented(shaped(mesh.points), mesh.cells, "hex8")
    back = pl.regions.plane(axis="z", at=mesh.bounds[0 if upward else 1][2])
    body = scene.add(pl.Volume(mesh, rubber(poisson), clamp=back if upward else None))
    for axis, at in (("x", 0.0), ("y", 0.0), ("y", RADIUS)):
        scene.add(pl.Support(body, pl.regions.plane(axis=axis, at=at) & ~back, axes=axis))
    return body, None if upward else scene.add(pl.Support(body, back))


def two_cylinders(fine=1.0, poisson=0.3, approach=0.05 * RADIUS):
    """Hertz in plane strain: a² = 4 P R / (π E*), of the radii of both and E* of two elastic bodies."""
    first, second = 100.0 * RADIUS, 60.0 * RADIUS
    scene = pl.Scene()
    depth = -graded(RADIUS / (6.0 * fine), RADIUS, 1.3, 25.0 * RADIUS)[::-1]
    lower, _ = half_cylinder(
        scene, graded(RADIUS / (6.0 * fine), 1.5 * RADIUS, 1.3, 25.0 * RADIUS), depth, first, poisson, True
    )
    upper, grip = half_cylinder(
        scene, graded(RADIUS / (5.0 * fine), 1.6 * RADIUS, 1.3, 22.0 * RADIUS), depth, second, poisson, False
    )
    scene.collide(lower, upper)
    world = scene.compile()
    controls = {grip: pl.Displacement((0.0, 0.0, -approach))}
    _, info = pl.QuasiStatic()(world, world.initial_state(), controls)
    load = -2.0 * info.contact_force(lower, upper)[2] / RADIUS
    radius = 1.0 / (1.0 / first + 1.0 / second)
    contacts = info.contacts(lower, upper)
    weight = np.abs(contacts.forces[:, 2])
    half_width = 2.0 * np.sqrt(weight @ contacts.points[:, 0] ** 2 / weight.sum())
    return {"half width": (half_width, np.sqrt(8.0 * load * radius / (np.pi * modulus(poisson))))}, info


def line_contact(fine, poisson, friction, motion, reach=1.5):
    """A rigid roller of 20 contact half widths on a half-plane, moved by `motion`: report, places, forces p and q."""
    radius = 20.0 * RADIUS
    line = graded(RADIUS / (5.0 * fine), reach * RADIUS, 1.3, 30.0 * RADIUS)
    scene = pl.Scene()
    body = half_plane(scene, mirrored(line), -graded(RADIUS / (5.0 * fine), RADIUS, 1.3, 30.0 * RADIUS)[::-1], poisson)
    tool = pl.Obstacle.cylinder(
        start=(0, -5 * RADIUS, radius), end=(0, 6 * RADIUS, radius), radius=radius, motion=motion
    )
    tool = scene.add(tool)
    _, info = pressed(scene, body, tool, friction=friction)
    contacts = info.contacts(body, tool)
    return info, contacts.points[:, 0], -contacts.forces[:, 2], contacts.forces[:, 0]


def partial_slip_plane(fine=1.0, poisson=0.49, friction=0.3):
    """Cattaneo in plane strain: a roller pressed, then moved sideways, sticks within c = a √(1 − Q/μP).

    μp − q is the pressure of a contact of the half width c. ν is near 1/2, where pressure causes no slip.
    """
    down, side = 0.1 * RADIUS, 0.012 * RADIUS

    def motion(t):
        return (side * np.clip(2.0 * t - 1.0, 0.0, 1.0), 0.0, -down * np.clip(2.0 * t, 0.0, 1.0)), (0.0, 0.0, 0.0)

    info, at, normal, tangential = line_contact(fine, poisson, friction, motion)
    load, shear = normal.sum(), tangential.sum()
    width = 2.0 * np.sqrt(normal @ at**2 / load)
    rest = friction * normal - tangential
    at = at - (rest @ at) / rest.sum()
    return {
        "half width": (width, np.sqrt(4.0 * 20.0 * load / (np.pi * modulus(poisson)))),
        "stick": (2.0 * np.sqrt(rest @ at**2 / rest.sum()), width * np.sqrt(1.0 - shear / (friction * load))),
    }, info


def ironing(fine=1.0, poisson=0.49, friction=0.3, travel=3.0 * RADIUS):
    """A roller pressed on a half-plane and dragged along it by `travel`: Q = μP, a² = 4 P R / (π E*)."""
    down, side = 0.1 * RADIUS, travel

    def motion(t):
        along = side * np.clip(1.25 * t - 0.25, 0.0, 1.0)
        return (along - 0.5 * side, 0.0, -down * np.clip(5.0 * t, 0.0, 1.0)), (0.0, 0.0, 0.0)

    info, at, normal, tangential = line_contact(fine, poisson, friction, motion, reach=1.5 + 0.5 * travel / RADIUS)
    load = normal.sum()
    at = at - (normal @ at) / load
    return {
        "friction": (tangential.sum() / load, friction),
        "half width": (2.0 * np.sqrt(normal @ at**2 / load), np.sqrt(4.0 * 20.0 * load / (np.pi * modulus(poisson)))),
    }, info


def partial_slip(fine=1.0, poisson=0.49, friction=0.3):
    """Cattaneo and Mindlin: a ball pressed by d, then moved sideways by half of what makes it slide.

    It sticks within c = a (1 − Q/μP)^{1/3}; its way is 3 μ P (2 − ν) / (16 a G) (1 − (c/a)²).
    """
    radius = 20.0 * RADIUS
    depth = RADIUS**2 / radius
    side = 0.25 * friction * depth * (2.0 - poisson) / (1.0 - poisson)

    def motion(t):
        return (side * np.clip(2.0 * t - 1.0, 0.0, 1.0), 0.0, -depth * np.clip(2.0 * t, 0.0, 1.0)), (0.0, 0.0, 0.0)

    scene = pl.Scene()
    body = added(scene, soil(fine, quarters=2), rubber(poisson), planes="y")
    ball = scene.add(pl.Obstacle.sphere(center=(0, 0, radius), radius=radius, motion=motion))
    _, info = pressed(scene, body, ball, friction=friction)
    contacts = info.contacts(body, ball)
    normal, tangential = -contacts.forces[:, 2], contacts.forces[:, 0]
    rest = friction * normal - tangential
    stick = np.sqrt(2.5 * (rest @ (contacts.points[:, :2] ** 2).sum(axis=1)) / rest.sum())
    load, shear = 2.0 * normal.sum(), 2.0 * tangential.sum()
    hertz = 4.0 / 3.0 * modulus(poisson) * np.sqrt(radius) * depth**1.5
    return {
        "load": (load, hertz),
        "shear force": (shear, friction * hertz * (1.0 - 0.5**1.5)),
        "stick": (stick, RADIUS * np.sqrt(0.5)),
    }, info
