"""Punches on half-spaces, bonded pads, blocked actuators and impacts of soft bodies, against closed forms."""

from __future__ import annotations

import numpy as np

import pliant as pl
from pliant.core.types import FloatArray
from pliant.mesh.lattice import Lattice
from validation.literature import constants
from validation.literature.compared import compared
from validation.row import Row

YOUNG = 1e6
RADIUS = 1e-3
"""Of the contact, m."""


def _half_space(poisson: float, cells: int) -> tuple[pl.Scene, pl.Volume, FloatArray]:
    """A quarter of a half-space z ≤ 0 with `cells` cells along the radius of the contact, its first 45° mirrored; and
    where the disc of the contact is, (n,) bool.
    """
    line = np.concatenate([_toward_edge(cells), 1.0 + _outward(cells)[1:]])
    depth = np.concatenate([[0.0], _outward(cells)[1:]])
    count, layers = len(line) - 1, len(depth) - 1
    mesh = pl.mesh.box((count, count, layers), (count, count, layers), element="hex8")

    def placed(x: FloatArray) -> FloatArray:
        """Squares around the axis become circles."""
        side = np.interp(np.maximum(x[:, 0], x[:, 1]), np.arange(count + 1), line)
        ratio = x[:, :2] / np.maximum(np.maximum(x[:, 0], x[:, 1]), 1e-12)[:, None]
        flat = ratio * np.sqrt(1.0 - 0.5 * ratio[:, ::-1] ** 2)
        core = np.clip(side, 0.0, 1.0)[:, None]  # the middle stays square
        flat = core * flat + (1.0 - core) * 0.75 * ratio
        z = -np.interp(layers - x[:, 2], np.arange(layers + 1), depth)
        return RADIUS * np.column_stack([side[:, None] * flat, z])

    mesh = mesh.mapped(placed)
    scene = pl.Scene()
    bottom = pl.regions.plane(axis="z", at=mesh.bounds[0][2])
    rubber = pl.materials.Corotated(young=YOUNG, poisson=poisson, density=1e3)
    body = scene.add(pl.Volume(mesh, rubber, clamp=bottom))
    disc = (np.abs(mesh.points[:, 2]) < 1e-12) & (np.hypot(*mesh.points[:, :2].T) < RADIUS * (1.0 + 1e-6))
    return scene, body, disc


def _toward_edge(cells: int) -> FloatArray:
    """From 0 to 1, with smaller cells at 1, where a punch presses without limit."""
    return np.sin(0.5 * np.pi * np.arange(cells + 1) / cells)


def _outward(cells: int) -> FloatArray:
    """From 0 to 60, with growing cells."""
    line, step = [0.0], 1.0 - np.sin(0.5 * np.pi * (cells - 1) / cells)
    while line[-1] < 60.0:
        line.append(line[-1] + step)
        step *= 1.0 + 3.5 / cells
    return np.array(line) * 60.0 / line[-1]


def flat_punch(cells: int = 5) -> list[Row]:
    """A smooth flat circular punch pressed into a half-space: F = 2 a d E/(1 − ν²)."""
    poisson, depth = 0.3, 0.01 * RADIUS
    scene, body, disc = _half_space(poisson, cells)
    _symmetric(scene, body, "xy")
    scene.add(pl.Support(body, pl.regions.nodes(np.flatnonzero(disc)), axes="z", displacement=-depth))
    world = scene.compile()
    _, info = pl.QuasiStatic()(world, world.initial_state())
    force = -4.0 * float(info.reaction(body)[disc, 2].sum())
    exact = 2.0 * RADIUS * depth * YOUNG / (1.0 - poisson**2)
    return [compared("force", force, exact, "N", allowed=0.06)]


def twisted_disc(cells: int = 5) -> list[Row]:
    """A rigid disc bonded to a half-space and turned about its axis: T = 16/3 G a³ φ."""
    poisson, angle = 0.3, 0.01
    scene, body, disc = _half_space(poisson, cells)
    bottom = body.mesh.bounds[0][2]
    # rotation about z: no motion along and within the planes of the quarter
    free = pl.regions.box((-1, -1, bottom + 1e-9), (1, 1, 1)) & ~pl.regions.nodes(np.flatnonzero(disc))
    for at, axes in (("x", "yz"), ("y", "xz")):
        scene.add(pl.Support(body, pl.regions.plane(axis=at, at=0.0, tolerance=1e-12) & free, axes=axes))
    scene.add(pl.Support(body, pl.regions.nodes(np.flatnonzero(disc)), rotation=(0, 0, angle), center=(0, 0, 0)))
    world = scene.compile()
    _, info = pl.QuasiStatic()(world, world.initial_state())
    force, arm = info.reaction(body)[disc], body.mesh.points[disc]
    torque = 4.0 * float((arm[:, 0] * force[:, 1] - arm[:, 1] * force[:, 0]).sum())
    shear = 0.5 * YOUNG / (1.0 + poisson)
    return [compared("torque", torque, constants.REISSNER_SAGOCI * shear * RADIUS**3 * angle, "N·m", allowed=0.06)]


def _symmetric(scene: pl.Scene, body: pl.Volume, planes: str) -> None:
    """Rollers on planes through the axis, above the clamped bottom."""
    above = pl.regions.box((-1, -1, body.mesh.bounds[0][2] + 1e-9), (1, 1, 1))
    for axis in planes:
        scene.add(pl.Support(body, pl.regions.plane(axis=axis, at=0.0, tolerance=1e-12) & above, axes=axis))


def bar_against_a_wall(count: int = 40) -> list[Row]:
    """An elastic bar thrown against a rigid wall stays there for 2L/c and leaves at its own speed."""
    length, side, density, speed = 1.0, 0.02, 1e3, 0.1
    mesh = pl.mesh.box((length, side, side), (count, 1, 1), element="hex8")
    scene = pl.Scene()
    solid = pl.materials.Corotated(young=YOUNG, poisson=0.0, density=density)
    bar = scene.add(pl.Volume(mesh, solid, velocity=(-speed, 0, 0)), position=(1e-6, 0, 0))
    wall = scene.add(pl.Obstacle.plane(normal=(1, 0, 0)))
    scene.collide(bar, wall)
    world = scene.compile()
    wave = np.sqrt(YOUNG / density)
    dt = length / wave / count
    state, step, touching = world.initial_state(), pl.DampedMidpoint(2.0 * dt, spectral_radius=0.5), []
    for _ in range(round(1.6 * count)):
        state, info = step(world, state)
        if info.contact_force(bar, wall)[0] > 1e-9:
            touching.append(state.time)
    weight = np.where((mesh.points[:, 0] < 1e-9) | (mesh.points[:, 0] > length - 1e-9), 0.5, 1.0)  # mass of the nodes
    away = weight @ state.velocities(bar)[:, 0] / weight.sum()
    return [
        compared("time of contact", touching[-1] - touching[0] + 2.0 * dt, 2.0 * length / wave, "s", allowed=0.05),
        compared("speed of the rebound", away, speed, "m/s", allowed=0.05),
    ]


def struck_bar(count: int = 60) -> list[Row]:
    """A step of force at one end of a free bar reaches the other after L/√(E/ρ)."""
    length, side, density = 1.0, 0.02, 1e3
    mesh = pl.mesh.box((length, side, side), (count, 1, 1), element="hex8")
    scene = pl.Scene()
    solid = pl.materials.Corotated(young=YOUNG, poisson=0.0, density=density)
    bar = scene.add(pl.Volume(mesh, solid))
    scene.add(pl.PointLoad(bar, pl.regions.plane(axis="x", at=0.0), (0.01, 0, 0)))
    world = scene.compile()
    wave = np.sqrt(YOUNG / density)
    dt = 0.5 * length / wave / count
    state, step, speeds = world.initial_state(), pl.ImplicitMidpoint(dt), []
    end = mesh.points[:, 0] > length - 1e-9
    for _ in range(round(3.4 * count)):
        state, _ = step(world, state)
        speeds.append(float(state.velocities(bar)[end, 0].mean()))
    # the free end doubles the speed of the wave, F/(A √(Eρ)); it arrives where half of this is reached
    full = 2.0 * 0.01 / (side**2 * np.sqrt(YOUNG * density))
    first = int(np.argmax(np.array(speeds) > 0.5 * full))
    at = first + (0.5 * full - speeds[first - 1]) / (speeds[first] - speeds[first - 1])
    return [compared("speed of the wave", length / (dt * at), wave, "m/s", allowed=0.02)]


def blocked_actuator(cells: tuple[int, ...] = (24, 4, 4)) -> list[Row]:
    """A bending actuator whose tip is held: F = 3/2 p A e/L, of a chamber of the section A, e off the middle."""
    length, side, pressure = 0.16, 0.012, 50.0
    x, y = (
        np.asarray(np.linspace(0.0, end, count + 1), np.float64)
        for end, count in ((length, cells[0]), (side, cells[1]))
    )
    keep = np.ones(cells, bool)
    keep[1:-1, 1:3, 2:3] = False  # a channel above the middle
    lattice = Lattice.grid(x, y, y, keep=keep)
    mesh = lattice.mesh(*lattice.points.T, element="tet10")
    scene = pl.Scene()
    rubber = pl.materials.Corotated(young=YOUNG, poisson=0.0, density=1e3)
    body = scene.add(pl.Volume(mesh, rubber, clamp=pl.regions.plane(axis="x", at=0.0)))
    chamber = scene.add(pl.Cavity(body))
    tip = pl.regions.plane(axis="x", at=length) & pl.regions.plane(axis="z", at=side / 2)
    scene.add(pl.Support(body, tip, axes="z"))
    world = scene.compile()
    _, info = pl.QuasiStatic()(world, world.initial_state(), {chamber: pl.Pressure(pressure)})
    held = tip.nodes(mesh.points, what="tip")
    force = abs(float(info.reaction(body)[held, 2].sum()))
    cell = side / cells[1]
    area, solid, above = 2.0 * cell**2, side**2 - 2.0 * cell**2, 0.5 * cell
    middle = -area * above / solid  # of the section without the channel, from the middle of the square
    # cells at both ends are full: the moment of the chamber acts between x = cell and L − cell
    whole, first, last = side**4 / 12.0, length / cells[0], length - length / cells[0]
    hollow = whole - (2.0 * cell * cell**3 / 12.0 + area * above**2) - solid * middle**2
    bent = pressure * area * (above - middle) / hollow * ((length - first) ** 2 - (length - last) ** 2) / 2.0
    soft = ((length - first) ** 3 - (length - last) ** 3) / (3.0 * hollow)
    stiff = (length**3 - (length - first) ** 3 + (length - last) ** 3) / (3.0 * whole)
    return [compared("force at the tip", force, bent / (soft + stiff), "N", allowed=0.05)]
