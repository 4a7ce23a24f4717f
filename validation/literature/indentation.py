"""Half-spaces under a ball, a cone and a uniform load, each solved by one call of `pl.QuasiStatic()`.

`fine` refines the mesh: cells of the contact region are `fine` times smaller. The formulas are in K. L. Johnson,
Contact Mechanics, 1985, chapters 3, 4 and 7; for the cone: I. N. Sneddon, Int. J. Eng. Sci. 3, 1965.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

import pliant as pl
from validation.literature.compared import compared
from validation.literature.half_space import added, half_space
from validation.literature.pressed import (
    RADIUS,
    WITHIN,
    Pose,
    Solved,
    down_then_aside,
    downward,
    modulus,
    pressed,
    rubber,
)
from validation.row import Row


def soil(fine: float, quarters: int = 1) -> pl.mesh.Mesh:
    """A half-space with five cells, times `fine`, along the radius of the contact."""
    return half_space(cell=RADIUS / round(5.0 * fine), contact=RADIUS, ratio=1.0 + 0.55 / fine, quarters=quarters)


def sphere(fine: float = 0.8, poisson: float = 0.3) -> Solved:
    """Hertz: F = 4/3 E* √R d^{3/2}, a² = R d."""
    radius = 20.0 * RADIUS
    depth = RADIUS**2 / radius
    scene = pl.Scene()
    body = added(scene, soil(fine), rubber(poisson))
    ball = scene.add(pl.Obstacle.sphere(center=(0, 0, radius), radius=radius, motion=downward(depth)))
    _, info = pressed(scene, body, ball)
    force = -4.0 * info.contact_force(body, ball)[2]
    contacts = info.contacts(body, ball)
    weight = np.abs(contacts.forces[:, 2])
    square = float(weight @ (contacts.points[:, :2] ** 2).sum(axis=1) / weight.sum())  # mean of r² under the pressure
    exact = 4.0 / 3.0 * modulus(poisson) * np.sqrt(radius) * depth**1.5
    return [
        compared("force", force, exact, "N", allowed=WITHIN),
        compared("radius of the contact", 1e3 * np.sqrt(2.5 * square), 1e3 * RADIUS, "mm", allowed=WITHIN),
    ], info


def turned(profile: Sequence[tuple[float, float]], motion: Callable[[float], Pose], count: int = 96) -> pl.Obstacle:
    """An obstacle that is a solid of revolution, with `count` sides: `profile` is (r, z) of its points, from the axis
    below to the axis above.
    """
    angle = 2.0 * np.pi * np.arange(count) / count
    rings = [np.column_stack([r * np.cos(angle), r * np.sin(angle), np.full(count, z)]) for r, z in profile[1:-1]]
    ends = np.array([(0.0, 0.0, profile[0][1]), (0.0, 0.0, profile[-1][1])])
    points = np.vstack([*rings, ends])
    k, following = np.arange(count), (np.arange(count) + 1) % count
    below, above, last = len(points) - 2, len(points) - 1, (len(rings) - 1) * count
    triangles = [np.column_stack([k, np.full(count, below), following])]
    for first in range(0, last, count):
        a, b = first + k, first + following
        triangles += [np.column_stack([a, b, b + count]), np.column_stack([a, b + count, a + count])]
    triangles.append(np.column_stack([last + k, last + following, np.full(count, above)]))
    return pl.Obstacle.mesh(pl.mesh.Surface.from_triangles(points, np.vstack(triangles)), motion=motion)


def cone(fine: float = 0.8, poisson: float = 0.3, slope: float = 0.09) -> Solved:
    """Sneddon: F = 2 E* d² / (π tan β), a = 2 d / (π tan β), for a cone whose sides rise by the angle β."""
    depth, top = 0.5 * np.pi * RADIUS * np.tan(slope), 8.0 * RADIUS * np.tan(slope)
    scene = pl.Scene()
    body = added(scene, soil(fine), rubber(poisson))
    tool = scene.add(turned([(0.0, 0.0), (8.0 * RADIUS, top), (0.0, top)], downward(depth)))
    _, info = pressed(scene, body, tool)
    exact = 2.0 * modulus(poisson) * depth**2 / (np.pi * np.tan(slope))
    return [compared("force", -4.0 * info.contact_force(body, tool)[2], exact, "N", allowed=WITHIN)], info


def circular_load(fine: float = 1.2, poisson: float = 0.3, pressure: float = 1e3) -> Solved:
    """Boussinesq's solution, integrated over a uniform pressure on a circle: the centre sinks by 2 p a / E*,
    the rim by 4 p a / (π E*).
    """
    scene = pl.Scene()
    body = added(scene, soil(fine), rubber(poisson))
    top = pl.regions.plane(axis="z", at=0.0) & pl.regions.sphere((0, 0, 0), RADIUS * (1.0 + 1e-6))
    scene.add(pl.TractionLoad(body, top, (0.0, 0.0, -pressure)))
    world = scene.compile()
    state, info = pl.QuasiStatic()(world, world.initial_state())
    rest = body.mesh.points
    sunk = rest[:, 2] - state.points(body)[:, 2]
    chord = 0.5 * np.pi / 6.0  # six cells span a quarter: the loaded polygon has the area of a smaller circle
    scale = pressure * RADIUS * np.sqrt(np.sin(chord) / chord) / modulus(poisson)

    def row(where: str, at: tuple[float, float, float], exact: float) -> Row:
        node = np.linalg.norm(rest - at, axis=1) < 1e-9
        return compared(f"sinking of the {where}", 1e6 * sunk[node][0], 1e6 * exact, "µm", allowed=WITHIN)

    return [row("centre", (0, 0, 0), 2.0 * scale), row("rim", (RADIUS, 0, 0), 4.0 / np.pi * scale)], info


def partial_slip(fine: float = 0.8, poisson: float = 0.49, friction: float = 0.3) -> Solved:
    """Cattaneo and Mindlin: a ball pressed by d, then moved sideways by half of what makes it slide.

    It sticks within c = a (1 − Q/μP)^{1/3}; its way is 3 μ P (2 − ν) / (16 a G) (1 − (c/a)²).
    """
    radius = 20.0 * RADIUS
    depth = RADIUS**2 / radius
    side = 0.25 * friction * depth * (2.0 - poisson) / (1.0 - poisson)
    scene = pl.Scene()
    body = added(scene, soil(fine, quarters=2), rubber(poisson), planes="y")
    ball = scene.add(pl.Obstacle.sphere(center=(0, 0, radius), radius=radius, motion=down_then_aside(depth, side)))
    _, info = pressed(scene, body, ball, friction=friction)
    contacts = info.contacts(body, ball)
    normal, tangential = -contacts.forces[:, 2], contacts.forces[:, 0]
    rest = friction * normal - tangential
    stick = np.sqrt(2.5 * (rest @ (contacts.points[:, :2] ** 2).sum(axis=1)) / rest.sum())
    load, shear = 2.0 * normal.sum(), 2.0 * tangential.sum()
    hertz = 4.0 / 3.0 * modulus(poisson) * np.sqrt(radius) * depth**1.5
    return [
        compared("load", load, hertz, "N", allowed=WITHIN),
        compared("shear force", shear, friction * hertz * (1.0 - 0.5**1.5), "N", allowed=WITHIN),
        compared("radius that sticks", 1e3 * stick, 1e3 * RADIUS * np.sqrt(0.5), "mm", allowed=WITHIN),
    ], info
