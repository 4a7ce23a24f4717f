"""Contacts in plane strain, each solved by one call of `pl.QuasiStatic()`.

`fine` refines the mesh: cells of the contact region are `fine` times smaller. The formulas are in K. L. Johnson,
Contact Mechanics, 1985, chapters 2, 4 and 7.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

import pliant as pl
from pliant.core.types import FloatArray
from validation.literature.compared import compared
from validation.literature.half_space import added, graded, mirrored, refined_at
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


def half_plane(scene: pl.Scene, x: FloatArray, z: FloatArray, poisson: float) -> pl.Volume:
    """Plane strain: one layer of cells between rollers; `z` ≤ 0 increasing; clamped below, rollers at x = 0."""
    thick = RADIUS
    mesh = pl.mesh.grid(x, (0.0, thick), z, element="hex8")
    body = added(scene, mesh, rubber(poisson), planes="xy" if x[0] == 0.0 else "y")
    bottom = pl.regions.plane(axis="z", at=z[0])
    scene.add(pl.Support(body, pl.regions.plane(axis="y", at=thick) & ~bottom, axes="y"))
    return body


def flat_punch(fine: float = 1.6, poisson: float = 0.3, depth: float = 0.03 * RADIUS) -> Solved:
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
    surface = state.points(body)[np.abs(body.mesh.points[:, 2]) < 1e-12]
    drop = depth + np.interp(2.0 * RADIUS, *surface[np.argsort(surface[:, 0])][:, [0, 2]].T)
    contacts = info.contacts(body, tool)
    at, force = 1e3 * contacts.points[:, 0], -contacts.forces[:, 2]
    exact = np.pi * modulus(poisson) * drop / (2.0 * np.arccosh(2.0))
    return [
        compared("load", load, exact, "N/m", allowed=WITHIN),
        compared("mean square of x", force @ at**2 / force.sum(), 0.5e6 * RADIUS**2, "mm²", allowed=WITHIN),
    ], info


def half_cylinder(scene: pl.Scene, x: FloatArray, z: FloatArray, radius: float, poisson: float) -> pl.Volume:
    """A block in plane strain whose upper face is that of a cylinder; `z` ≤ 0 increasing, clamped below."""
    mesh = _rounded(x, z, radius, 1.0)
    back = pl.regions.plane(axis="z", at=mesh.bounds[0][2])
    body = scene.add(pl.Volume(mesh, rubber(poisson), clamp=back))
    _between_rollers(scene, body, back)
    return body


def half_cylinder_above(
    scene: pl.Scene, x: FloatArray, z: FloatArray, radius: float, poisson: float
) -> tuple[pl.Volume, pl.Support]:
    """Its mirror image, whose back is moved by the support."""
    mesh = _rounded(x, z, radius, -1.0)
    back = pl.regions.plane(axis="z", at=mesh.bounds[1][2])
    body = scene.add(pl.Volume(mesh, rubber(poisson)))
    _between_rollers(scene, body, back)
    return body, scene.add(pl.Support(body, back))


def _rounded(x: FloatArray, z: FloatArray, radius: float, sign: float) -> pl.mesh.Mesh:
    mesh = pl.mesh.grid(x, (0.0, RADIUS), z, element="hex8")
    drop = radius - np.sqrt(radius**2 - mesh.points[:, 0] ** 2)
    height = mesh.points[:, 2] - drop * (1.0 - mesh.points[:, 2] / z[0])
    return pl.mesh.Mesh.oriented(np.column_stack([mesh.points[:, :2], sign * height]), mesh.cells, "hex8")


def _between_rollers(scene: pl.Scene, body: pl.Volume, back: pl.regions.Region) -> None:
    for axis, at in (("x", 0.0), ("y", 0.0), ("y", RADIUS)):
        scene.add(pl.Support(body, pl.regions.plane(axis=axis, at=at) & ~back, axes=axis))


def two_cylinders(fine: float = 1.0, poisson: float = 0.3, approach: float = 0.05 * RADIUS) -> Solved:
    """Hertz in plane strain: a² = 4 P R / (π E*), of the radii of both and E* of two elastic bodies."""
    first, second = 100.0 * RADIUS, 60.0 * RADIUS
    scene = pl.Scene()
    depth = -graded(RADIUS / (6.0 * fine), RADIUS, 1.3, 25.0 * RADIUS)[::-1]
    wide = graded(RADIUS / (6.0 * fine), 1.5 * RADIUS, 1.3, 25.0 * RADIUS)
    narrow = graded(RADIUS / (5.0 * fine), 1.6 * RADIUS, 1.3, 22.0 * RADIUS)
    lower = half_cylinder(scene, wide, depth, first, poisson)
    upper, grip = half_cylinder_above(scene, narrow, depth, second, poisson)
    scene.collide(lower, upper)
    world = scene.compile()
    controls = {grip: pl.Displacement((0.0, 0.0, -approach))}
    _, info = pl.QuasiStatic()(world, world.initial_state(), controls)
    load = -2.0 * info.contact_force(lower, upper)[2] / RADIUS
    radius = 1.0 / (1.0 / first + 1.0 / second)
    contacts = info.contacts(lower, upper)
    width = _half_width(contacts.points[:, 0], np.abs(contacts.forces[:, 2]))
    exact = np.sqrt(8.0 * load * radius / (np.pi * modulus(poisson)))
    return [compared("half width", 1e3 * width, 1e3 * exact, "mm", allowed=WITHIN)], info


def _half_width(x: FloatArray, weight: FloatArray) -> float:
    """Half width of an elliptic pressure, about x = 0."""
    return float(2.0 * np.sqrt(weight @ x**2 / weight.sum()))


ROLLER = 20.0 * RADIUS
"""Radius of the rigid roller, m."""


def _roller(
    fine: float, poisson: float, friction: float, motion: Callable[[float], Pose], reach: float = 1.5
) -> tuple[pl.StepInfo, FloatArray, FloatArray, FloatArray]:
    """A rigid roller on a half-plane, moved by `motion`: report, places, forces p and q."""
    line = graded(RADIUS / (5.0 * fine), reach * RADIUS, 1.3, 30.0 * RADIUS)
    scene = pl.Scene()
    body = half_plane(scene, mirrored(line), -graded(RADIUS / (5.0 * fine), RADIUS, 1.3, 30.0 * RADIUS)[::-1], poisson)
    ends = (0, -5 * RADIUS, ROLLER), (0, 6 * RADIUS, ROLLER)
    tool = scene.add(pl.Obstacle.cylinder(start=ends[0], end=ends[1], radius=ROLLER, motion=motion))
    _, info = pressed(scene, body, tool, friction=friction)
    contacts = info.contacts(body, tool)
    return info, contacts.points[:, 0], -contacts.forces[:, 2], contacts.forces[:, 0]


def partial_slip(fine: float = 1.0, poisson: float = 0.49, friction: float = 0.3) -> Solved:
    """Cattaneo in plane strain: a roller pressed, then moved sideways, sticks within c = a √(1 − Q/μP).

    μp − q is the pressure of a contact of the half width c. ν is near 1/2, where pressure causes no slip.
    """
    motion = down_then_aside(0.1 * RADIUS, 0.012 * RADIUS)
    info, at, normal, tangential = _roller(fine, poisson, friction, motion)
    load, shear = normal.sum(), tangential.sum()
    width = _half_width(at, normal)
    rest = friction * normal - tangential
    stick = _half_width(at - (rest @ at) / rest.sum(), rest)
    hertz = np.sqrt(4.0 * ROLLER * load / RADIUS / (np.pi * modulus(poisson)))
    exact = width * np.sqrt(1.0 - shear / (friction * load))
    return [
        compared("half width", 1e3 * width, 1e3 * hertz, "mm", allowed=WITHIN),
        compared("half width that sticks", 1e3 * stick, 1e3 * exact, "mm", allowed=WITHIN),
    ], info


def ironing(fine: float = 0.8, poisson: float = 0.49, friction: float = 0.3, travel: float = 0.5 * RADIUS) -> Solved:
    """A roller pressed on a half-plane and dragged along it by `travel`: Q = μP, a² = 4 P R / (π E*)."""

    def motion(t: float) -> Pose:
        along = travel * float(np.clip(1.25 * t - 0.25, 0.0, 1.0))
        return (along - 0.5 * travel, 0.0, -0.1 * RADIUS * float(np.clip(5.0 * t, 0.0, 1.0))), (0.0, 0.0, 0.0)

    info, at, normal, tangential = _roller(fine, poisson, friction, motion, reach=1.5 + 0.5 * travel / RADIUS)
    load = normal.sum()
    width = _half_width(at - (normal @ at) / load, normal)
    hertz = np.sqrt(4.0 * ROLLER * load / RADIUS / (np.pi * modulus(poisson)))
    return [
        compared("shear force over load", tangential.sum() / load, friction, "", allowed=WITHIN),
        compared("half width", 1e3 * width, 1e3 * hertz, "mm", allowed=WITHIN),
    ], info
