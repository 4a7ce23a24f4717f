"""Solid elements at small strain, against classical elasticity and the standard tests of finite elements."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

import pliant as pl
from pliant.core.types import FloatArray
from validation.literature import constants
from validation.literature.compared import compared
from validation.row import Row


def _linear(young: float, poisson: float, density: float = 1e3) -> pl.materials.Material:
    return pl.materials.Corotated(young=young, poisson=poisson, density=density)


def _tip_displacement(mesh: pl.mesh.Mesh, end: Any, load: Any, material: pl.materials.Material) -> FloatArray:
    """Mean displacement (3,) of the nodes `end` under a small force, over its size; the plane x = 0 is clamped."""
    scene, small = pl.Scene(), 1e-6
    body = scene.add(pl.Volume(mesh, material, clamp=pl.regions.plane(axis="x", at=0.0)))
    scene.add(pl.PointLoad(body, pl.regions.nodes(end), small * np.asarray(load, float)))
    world = scene.compile()
    state, _ = pl.QuasiStatic()(world, world.initial_state())
    return np.asarray(state.displacements(body)[end].mean(axis=0) / small)


def curved_beam(cells: tuple[int, ...] = (12, 1, 2)) -> list[Row]:
    """MacNeal and Harder's quarter ring with a unit force at its end, in its plane and out of it."""
    # around × thickness 0.1 × depth 0.2, radii 4.12 to 4.32
    mesh = pl.mesh.box((np.pi / 2, 0.1, 0.2), cells, element="tet10")
    end = np.flatnonzero(mesh.points[:, 0] > np.pi / 2 - 1e-9)

    def bent(x: FloatArray) -> FloatArray:
        radius = 4.12 + x[:, 2]
        return np.column_stack([radius * np.sin(x[:, 0]), x[:, 1], radius * np.cos(x[:, 0])])

    mesh = mesh.mapped(bent)
    rubber = _linear(1e7, 0.25)
    inward = _tip_displacement(mesh, end, (1, 0, 0), rubber)[0]
    outward = _tip_displacement(mesh, end, (0, 1, 0), rubber)[1]
    return [
        compared("tip, in the plane", inward, constants.CURVED_BEAM[0], "in", allowed=0.02),
        compared("tip, out of the plane", outward, constants.CURVED_BEAM[1], "in", allowed=0.05),
    ]


def twisted_beam(cells: tuple[int, ...] = (12, 2, 1)) -> list[Row]:
    """MacNeal and Harder's beam that is twisted by 90°, with a unit force at its end along two directions."""
    mesh = pl.mesh.box((12.0, 1.1, 0.32), cells, element="tet10").translated((0.0, -0.55, -0.16))
    end = np.flatnonzero(mesh.points[:, 0] > 12.0 - 1e-9)

    def twisted(x: FloatArray) -> FloatArray:
        turn = Rotation.from_rotvec(np.outer(0.5 * np.pi * x[:, 0] / 12.0, (1, 0, 0)))
        return np.asarray(x * (1, 0, 0) + turn.apply(x * (0, 1, 1)))

    mesh = mesh.mapped(twisted)
    steel = _linear(29e6, 0.22)
    # at the end the width of 1.1 stands along z
    return [
        compared(
            "tip along the width",
            _tip_displacement(mesh, end, (0, 0, 1), steel)[2],
            constants.TWISTED_BEAM[0],
            "in",
            allowed=0.02,
        ),
        compared(
            "tip across it",
            _tip_displacement(mesh, end, (0, 1, 0), steel)[1],
            constants.TWISTED_BEAM[1],
            "in",
            allowed=0.02,
        ),
    ]


def square_torsion(cells: tuple[int, ...] = (16, 4, 4)) -> list[Row]:
    """A square bar twisted at its ends: torque over the rate of twist in its middle, 0.1406 G a⁴."""
    side, length, young, poisson = 0.01, 0.08, 1e6, 0.3
    mesh = pl.mesh.box((length, side, side), cells, element="tet10")
    scene = pl.Scene()
    body = scene.add(pl.Volume(mesh, _linear(young, poisson), clamp=pl.regions.plane(axis="x", at=0.0)))
    centre = np.array([length, side / 2, side / 2])
    scene.add(pl.Support(body, pl.regions.plane(axis="x", at=length), rotation=(0.05, 0, 0), center=centre))
    world = scene.compile()
    state, info = pl.QuasiStatic()(world, world.initial_state())
    top = mesh.points[:, 0] > length - 1e-9
    arm, force = state.points(body)[top] - centre, info.reaction(body)[top]
    torque = float((arm[:, 1] * force[:, 2] - arm[:, 2] * force[:, 1]).sum())
    turned = []
    for x in (0.375 * length, 0.625 * length):
        at = np.abs(mesh.points[:, 0] - x) < 1e-9
        r = mesh.points[at, 1:] - centre[1:]
        u = state.displacements(body)[at, 1:]
        turned.append(float((r[:, 0] * u[:, 1] - r[:, 1] * u[:, 0]).sum() / (r**2).sum()))
    rate = (turned[1] - turned[0]) / (0.25 * length)
    shear = 0.5 * young / (1.0 + poisson)
    return [
        compared(
            "torsional stiffness", torque / rate / (shear * side**4), constants.SQUARE_TORSION, "G a⁴", allowed=0.01
        )
    ]


def anticlastic_bending(cells: tuple[int, ...] = (12, 2, 2)) -> list[Row]:
    """A bar bent by couples curves across by ν times its curvature, the other way."""
    side, length, young, poisson = 0.01, 0.06, 1e6, 0.4
    mesh = pl.mesh.box((length, side, side), cells, element="tet10").translated((0.0, -side / 2, -side / 2))
    scene = pl.Scene()
    body = scene.add(pl.Volume(mesh, _linear(young, poisson)))
    scene.add(pl.Support(body, pl.regions.plane(axis="x", at=0.0), axes="x"))
    scene.add(pl.Support(body, pl.regions.sphere((0, 0, 0), 1e-6), axes="yz"))
    scene.add(pl.Support(body, pl.regions.sphere((0, 0, side / 2), 1e-6), axes="y"))
    end = pl.regions.plane(axis="x", at=length)
    for z, sign in ((-side / 2, 1.0), (side / 2, -1.0)):
        scene.add(pl.PointLoad(body, end & pl.regions.plane(axis="z", at=z), (sign * 1e-2, 0, 0)))
    world = scene.compile()
    moved = pl.QuasiStatic()(world, world.initial_state())[0].displacements(body)
    rest = mesh.points
    middle = (rest[:, 0] > 0.2 * length) & (rest[:, 0] < 0.7 * length) & (np.abs(rest[:, 2]) < 1e-9)
    x, y = rest[middle, 0], rest[middle, 1]
    terms = np.column_stack([np.ones_like(x), x, y, x * x, x * y, y * y])
    fit = np.linalg.lstsq(terms, moved[middle, 2], rcond=None)[0]
    return [compared("curvature across over curvature along", -fit[5] / fit[3], poisson, "", allowed=0.02)]


def plate_with_a_hole(cells: tuple[int, ...] = (14, 12)) -> list[Row]:
    """A wide plate pulled along x: the edge of its hole moves by 3σa/E along and −σa/E across."""
    hole, half, young, poisson, pull = 1e-3, 40e-3, 1e6, 0.3, 1e3
    mesh = pl.mesh.box((1.0, 1.0, 1.0), (cells[0], cells[1], 1), element="tet10")

    def around(x: FloatArray) -> FloatArray:
        """From the circle (first coordinate 0) to the square (1)."""
        angle = 0.5 * np.pi * x[:, 1]
        far = half / np.maximum(np.cos(angle), np.sin(angle))
        radius = hole * (far / hole) ** x[:, 0]
        return np.column_stack([radius * np.cos(angle), radius * np.sin(angle), hole * (x[:, 2] - 0.5)])

    start = mesh.points
    mesh = mesh.mapped(around)
    first, last, middle = start[:, 1] < 1e-9, start[:, 1] > 1.0 - 1e-9, np.abs(start[:, 2] - 0.5) < 1e-9
    scene = pl.Scene()
    body = scene.add(pl.Volume(mesh, _linear(young, poisson)))
    for nodes, axis in ((first, "y"), (last, "x"), (middle & last, "z")):
        scene.add(pl.Support(body, pl.regions.nodes(np.flatnonzero(nodes)), axes=axis))
    scene.add(pl.TractionLoad(body, pl.regions.plane(axis="x", at=half, tolerance=1e-9), (pull, 0.0, 0.0)))
    world = scene.compile()
    moved = pl.QuasiStatic()(world, world.initial_state())[0].displacements(body)
    inner, scale = start[:, 0] < 1e-9, pull * hole / young
    return [
        compared("edge along the pull", moved[inner & first, 0].mean() / scale, 3.0, "σa/E", allowed=0.02),
        compared("edge across it", moved[inner & last, 1].mean() / scale, -1.0, "σa/E", allowed=0.03),
    ]


def clamped_plate(cells: tuple[int, ...] = (12, 1)) -> list[Row]:
    """A clamped circular plate under pressure: its middle sinks by p a⁴/(64 D)."""
    radius, height, young, poisson, pressure = 0.05, 0.002, 1e6, 0.3, 0.05
    mesh = pl.mesh.cylinder(radius, height, cells=cells, element="tet10")
    rim = np.flatnonzero(np.hypot(*mesh.points[:, :2].T) > radius * (1.0 - 1e-9))
    scene = pl.Scene()
    body = scene.add(pl.Volume(mesh, _linear(young, poisson), clamp=list(rim)))
    scene.add(pl.TractionLoad(body, pl.regions.plane(axis="z", at=height), (0.0, 0.0, pressure)))
    world = scene.compile()
    moved = pl.QuasiStatic()(world, world.initial_state())[0].displacements(body)
    middle = np.hypot(*mesh.points[:, :2].T) < 1e-9
    bending = young * height**3 / (12.0 * (1.0 - poisson**2))
    exact = pressure * radius**4 / (64.0 * bending)
    return [compared("deflection", moved[middle, 2].mean() / height, exact / height, "h", allowed=0.03)]


def circular_membrane(cells: tuple[int, ...] = (12, 1)) -> list[Row]:
    """Hencky's membrane: a thin sheet clamped at its rim and blown up, w = 0.6534 a (p a/(E h))^{1/3}."""
    radius, height, young, poisson = 0.05, 0.0002, 1e6, 0.3
    pressure = 40.0
    mesh = pl.mesh.cylinder(radius, height, cells=cells, element="tet10")
    rim = np.flatnonzero(np.hypot(*mesh.points[:, :2].T) > radius * (1.0 - 1e-9))
    scene = pl.Scene()
    sheet = pl.materials.StVenantKirchhoff(young=young, poisson=poisson, density=1e3)
    body = scene.add(pl.Volume(mesh, sheet, clamp=list(rim)))
    scene.add(pl.PressureLoad(body, pl.regions.plane(axis="z", at=0.0), pressure))
    world = scene.compile()
    moved = pl.QuasiStatic()(world, world.initial_state())[0].displacements(body)
    middle = np.hypot(*mesh.points[:, :2].T) < 1e-9
    exact = constants.HENCKY * radius * (pressure * radius / (young * height)) ** (1.0 / 3.0)
    return [compared("height", moved[middle, 2].mean() / radius, exact / radius, "a", allowed=0.03)]


def spinning_disc(cells: tuple[int, ...] = (4, 1)) -> list[Row]:
    """A thin disc that spins freely: its rim moves out by ρω²b³(1 − ν)/(4E)."""
    radius, height, young, poisson, density, rate = 0.05, 0.004, 4e5, 0.3, 1e3, 60.0
    mesh = pl.mesh.cylinder(radius, height, cells=cells, element="tet10")
    scene = pl.Scene()
    damping = pl.Rayleigh(stiffness=5e-3)
    body = scene.add(pl.Volume(mesh, _linear(young, poisson, density), spin=(0, 0, rate), damping=damping))
    world = scene.compile()
    state, step = world.initial_state(), pl.ImplicitEuler(0.002)
    for _ in range(60):
        state, _ = step(world, state)
    flat, speed = state.points(body)[:, :2], state.velocities(body)[:, :2]
    flat = flat - flat.mean(axis=0)
    rim = np.hypot(*mesh.points[:, :2].T) > radius * (1.0 - 1e-9)
    spin = (flat[:, 0] * speed[:, 1] - flat[:, 1] * speed[:, 0]).sum() / (flat**2).sum()
    moved = np.hypot(*flat[rim].T).mean() - radius
    exact = density * spin**2 * radius**3 * (1.0 - poisson) / (4.0 * young)
    return [compared("motion of the rim", 1e3 * moved, 1e3 * exact, "mm", allowed=0.03)]
