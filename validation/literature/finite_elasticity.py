"""Rubber at large strain: torsion, bending, inflation and reinforcement, against the solutions of Rivlin and others."""

from typing import Literal

import numpy as np
from scipy.integrate import quad

import pliant as pl
from pliant.core.types import FloatArray
from pliant.mesh.surface import Surface
from validation.literature.compared import compared
from validation.row import Row

POISSON = 0.499


def _neo_hookean(mu: float, poisson: float = POISSON) -> pl.materials.Material:
    return pl.materials.NeoHookean(young=2.0 * mu * (1.0 + poisson), poisson=poisson, density=1e3)


def rivlin_torsion(cells: tuple[int, ...] = (5, 5), element: Literal["tet10", "hex8"] = "tet10") -> list[Row]:
    """A Mooney–Rivlin cylinder of constant length twisted by 0.5 rad per radius: torque, and thrust (Poynting)."""
    radius, length, c1, c2, angle = 0.01, 0.01, 0.8e5, 0.2e5, 0.5
    mesh = pl.mesh.cylinder(radius, length, cells=cells, element=element)
    rubber = pl.materials.MooneyRivlin(c1=c1, c2=c2, poisson=POISSON, density=1e3)
    scene = pl.Scene()
    low, high = (pl.regions.plane(axis="z", at=z) for z in (0.0, length))
    body = scene.add(pl.Volume(mesh, rubber, clamp=low))
    grip = scene.add(pl.Support(body, high, rotation=(0, 0, 0), center=(0, 0, length)))
    world = scene.compile()
    control = {grip: pl.Placement([(0, 0, 0), (0, 0, angle)])}
    state, info = pl.QuasiStatic()(world, world.initial_state(), control)
    top = mesh.points[:, 2] > length * (1.0 - 1e-9)
    force, points = info.reaction(body)[top], state.points(body)[top]
    torque = float((points[:, 0] * force[:, 1] - points[:, 1] * force[:, 0]).sum())
    twist = angle / length
    return [
        compared("torque", torque, np.pi * twist * radius**4 * (c1 + c2), "N·m", allowed=0.03),
        compared(
            "thrust", -float(force[:, 2].sum()), 0.5 * np.pi * twist**2 * radius**4 * (c1 + 2.0 * c2), "N", allowed=0.03
        ),
    ]


def bent_block(cells: tuple[int, ...] = (20, 1, 5)) -> list[Row]:
    """A neo-Hookean block in plane strain bent by couples: the moment at the curvature of its middle."""
    length, height, width, mu = 0.06, 0.01, 0.002, 1e5
    mesh = pl.mesh.box((length, width, height), cells, element="hex8")
    stiff = pl.materials.NeoHookean(young=1e3 * mu, poisson=0.3, density=1e3)
    lid = pl.regions.box((0.9 * length, -1, -1), (1, 1, 1))
    scene = pl.Scene()
    body = scene.add(pl.Volume(mesh, _neo_hookean(mu, 0.4999), inclusions=[(lid, stiff)]))
    scene.add(pl.Support(body, pl.regions.plane(axis="x", at=0.0), axes="x"))
    scene.add(pl.Support(body, pl.regions.everything(), axes="y"))
    scene.add(pl.Support(body, pl.regions.sphere((0, 0, 0), 1e-6) | pl.regions.sphere((0, width, 0), 1e-6), axes="z"))
    force = 0.35 * mu * height * width
    end = pl.regions.plane(axis="x", at=length)
    for at, sign in ((0.0, 1.0), (height, -1.0)):
        scene.add(pl.PointLoad(body, end & pl.regions.plane(axis="z", at=at), (sign * force, 0, 0)))
    world = scene.compile()
    state, _ = pl.QuasiStatic()(world, world.initial_state())
    points, rest = state.points(body), mesh.points
    low, high = ((np.abs(rest[:, 2] - z) < 1e-9) & (np.abs(rest[:, 0] - length) < 1e-9) for z in (0.0, height))
    moment = force * abs(points[high, 2].mean() - points[low, 2].mean())
    # the section in the middle: how far it turned from the plane of symmetry
    at = 0.5 * length
    middle = np.abs(rest[:, 0] - at) < 1e-9
    line = np.polyfit(points[middle, 2], points[middle, 0], 1)[0]
    alpha = at / abs(np.arctan(line))
    return [compared("moment", float(moment), width * _bending_moment(mu, alpha, height), "N·m", allowed=0.01)]


def _bending_moment(mu: float, alpha: float, height: float) -> float:
    """Of a neo-Hookean block in plane strain per width, N; fibres of length α per radian keep their length.

    r₁ r₂ = α² and r₂² − r₁² = 2 α H; hoop stretch r/α; σ_rr = μ/2 (s² + s⁻² − s₁² − s₁⁻²), s = r/α.
    """
    inner = np.sqrt(np.sqrt((alpha * height) ** 2 + alpha**4) - alpha * height)
    outer = alpha**2 / inner

    def hoop(r: float) -> float:
        s, edge = r / alpha, inner / alpha
        radial = 0.5 * mu * (s**2 + s**-2 - edge**2 - edge**-2)
        return float((radial + mu * (s**2 - s**-2)) * r)

    return float(quad(hoop, inner, outer)[0])


def mooney_balloon(cells: tuple[int, ...] = (1, 5)) -> list[Row]:
    """A thin Mooney–Rivlin balloon under volume control: pressure at, before and far beyond its maximum."""
    radius, wall, c1, c2 = 0.05, 0.001, 1e5, 0.1e5
    mesh = pl.mesh.shell(radius - 0.5 * wall, radius + 0.5 * wall, cells=cells, element="hex8")
    rubber = pl.materials.MooneyRivlin(c1=c1, c2=c2, poisson=POISSON, density=1e3)
    scene = pl.Scene()
    body = scene.add(pl.Volume(mesh, rubber, anti_locking="volume"))
    chamber = scene.add(pl.Cavity(body))
    for axis in "xyz":
        scene.add(pl.Support(body, pl.regions.plane(axis=axis, at=0.0), axes=axis))
    world = scene.compile()
    found: list[Row] = []
    state, start = world.initial_state(), world.initial_state().volume(chamber)
    for name, stretch in (("before", 1.2), ("at", 1.4), ("beyond", 2.5)):
        state, info = pl.Geometric()(world, state, {chamber: pl.VolumeRatio(stretch**3)})
        s = (state.volume(chamber) / start) ** (1 / 3)
        exact = 4.0 * wall / radius * (c1 + c2 * s**2) * (1.0 / s - s**-7)
        found += [compared(f"pressure {name} the maximum", info.actuation(chamber)[1], exact, "Pa", allowed=0.015)]
    return found


def bubble_in_a_large_body(cells: tuple[int, ...] = (12, 3), stretch: float = 3.0) -> list[Row]:
    """A small bubble in a large soft body opened to about three times its radius: p = μ (5/2 − 2/λ − 1/(2λ⁴))."""
    inner, mu = 1e-3, 1e4
    outer = 30.0 * inner
    mesh = pl.mesh.shell(inner, outer, cells=cells, octant=True, element="hex8")

    def graded(x: FloatArray) -> FloatArray:
        r = np.linalg.norm(x, axis=1)
        return np.asarray(x * (inner * (outer / inner) ** ((r - inner) / (outer - inner)) / r)[:, None])

    mesh = mesh.mapped(graded)
    scene = pl.Scene()
    body = scene.add(pl.Volume(mesh, _neo_hookean(mu, 0.4999)))
    for axis in "xyz":
        scene.add(pl.Support(body, pl.regions.plane(axis=axis, at=0.0), axes=axis))
    pressure = mu * _bubble(stretch)
    scene.add(pl.PressureLoad(body, pl.regions.sphere((0, 0, 0), 1.0001 * inner), pressure))
    world = scene.compile()
    state, _ = pl.QuasiStatic()(world, world.initial_state())
    start, now = np.linalg.norm(mesh.points, axis=1), np.linalg.norm(state.points(body), axis=1)
    hole = start < 1.001 * inner
    found = float((now / start)[hole].mean())
    return [compared("pressure at the stretch found", pressure, mu * _bubble(found), "Pa", allowed=0.03)]


def _bubble(stretch: float) -> float:
    return 2.5 - 2.0 / stretch - 0.5 / stretch**4


def _wound_tube(angle: float, pressure: float = 2e3) -> float:
    """Axial strain of a closed soft tube with two families of stiff helical fibres at `angle` (°) to its axis."""
    inner, outer, length, turns = 0.0095, 0.0105, 0.03, 12
    around, along = 24, 12
    mesh = pl.mesh.tube(inner, outer, length, cells=(1, around, along))
    triangles = mesh.surface().triangles
    radius = np.hypot(*mesh.points[:, :2].T)
    wall = triangles[(radius[triangles] < 1.001 * inner).all(axis=1)]
    lids = []
    for end, turn in ((0.0, 1), (length, -1)):
        rim = np.flatnonzero((radius < 1.001 * inner) & (np.abs(mesh.points[:, 2] - end) < 1e-9))
        rim = rim[np.argsort(np.arctan2(*mesh.points[rim, 1::-1].T))][::turn]
        lids.append(np.column_stack([np.full(len(rim) - 2, rim[0]), rim[1:-1], rim[2:]]))
    closed = Surface.from_triangles(mesh.points, np.vstack([wall, *lids]).astype(np.int32))
    scene = pl.Scene()
    body = scene.add(pl.Volume(mesh, _neo_hookean(2e4, 0.49)))
    chamber = scene.add(pl.Cavity(body, closed))
    scene.add(pl.Support(body, pl.regions.plane(axis="z", at=0.0), axes="z"))
    for axis in "xy":
        scene.add(pl.Support(body, pl.regions.plane(axis=axis, at=0.0, tolerance=1e-9), axes=axis))
    mean = 0.5 * (inner + outer)
    z = np.linspace(0.0, length, 6 * along + 1)
    for sign in (1.0, -1.0):
        for k in range(turns):
            phi = 2.0 * np.pi * k / turns + sign * z * np.tan(np.radians(angle)) / mean
            path = np.column_stack([mean * np.cos(phi), mean * np.sin(phi), z])
            scene.add(pl.Fibre(body, path, stiffness=50.0, reach=0.002))
    world = scene.compile()
    state, _ = pl.QuasiStatic()(world, world.initial_state(), {chamber: pl.Pressure(pressure)})
    moved = state.displacements(body)[:, 2]
    rest = mesh.points[:, 2]
    span = (rest > 0.25 * length) & (rest < 0.75 * length)
    return float(np.polyfit(rest[span], moved[span], 1)[0])


def neutral_winding() -> list[Row]:
    """A pressurized tube wound with stiff fibres keeps its length at tan² = 2, 54.74° to the axis."""
    angles = np.array([52.0, 57.0])
    strains = np.array([_wound_tube(angle) for angle in angles])
    neutral = angles[0] - strains[0] * (angles[1] - angles[0]) / (strains[1] - strains[0])
    return [compared("neutral angle", float(neutral), float(np.degrees(np.arctan(np.sqrt(2.0)))), "°", allowed=0.005)]
