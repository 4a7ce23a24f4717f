"""Rods and beams in equilibrium and at the onset of buckling, against closed forms and published values."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from scipy.integrate import solve_bvp

import pliant as pl
from pliant.core.types import FloatArray
from validation.literature import constants
from validation.literature.compared import compared
from validation.row import Row


def _settled(scene: pl.Scene, controls: dict[Any, Any] | None = None, **options: Any) -> pl.State:
    world = scene.compile()
    state, _ = pl.QuasiStatic(**options)(world, world.initial_state(), controls or {})
    return state


def _critical(deflection: Callable[[float], float], first: float, second: float, power: int = 1) -> float:
    """Load at which the compliance is infinite: 1/deflection goes linearly to zero in load^power (Southwell)."""
    x, y = np.array([first, second]) ** power, 1.0 / np.array([deflection(first), deflection(second)])
    return float((x[0] - y[0] * (x[1] - x[0]) / (y[1] - y[0])) ** (1.0 / power))


def _column(ends: tuple[str, str], load: float, count: int) -> float:
    """Deflection of the middle by a small side force of a column of length 1, EI = 1, under an axial load."""
    radius = 0.01
    young = 1.0 / pl.sections.Circle(radius).second_moments[0]
    points = np.linspace((0, 0, 0), (0, 0, 1), count + 1)
    scene = pl.Scene()
    held: dict[str, Any] = {"clamp": [0]} if ends[0] == "fixed" else {"pin": [0]}
    column = scene.add(
        pl.Beam(points, section=pl.sections.Circle(radius), young=young, poisson=0.0, density=1.0, shear=False, **held)
    )
    if ends[1] == "fixed":
        scene.add(pl.Support(column, [count], axes="xy", rotation=(0, 0, 0)))
    else:
        scene.add(pl.Support(column, [count], axes="xy"))
    scene.add(pl.PointLoad(column, [count], (0, 0, -load)))
    scene.add(pl.PointLoad(column, [count // 2], (1e-4, 0, 0)))
    return float(_settled(scene, tolerance=1e-10).points(column)[count // 2, 0])


def euler_columns(count: int = 24) -> list[Row]:
    """Columns with three pairs of ends: π², 20.19 and 4π² times EI/L²."""
    known = {
        ("pinned", "pinned"): np.pi**2,
        ("fixed", "pinned"): constants.FIXED_PINNED_COLUMN,
        ("fixed", "fixed"): 4.0 * np.pi**2,
    }
    found: list[Row] = []
    for ends, exact in known.items():
        load = _critical(partial(_column, ends, count=count), 0.90 * exact, 0.95 * exact)
        found += [compared(f"buckling load, {ends[0]}–{ends[1]}", load, float(exact), "EI/L²", allowed=0.01)]
    return found


def heavy_column(count: int = 24) -> list[Row]:
    """A standing column buckles under its own weight at w L³/EI = 7.837."""
    section, young = pl.sections.Circle(0.01), 1e9
    stiffness = young * section.second_moments[0]

    def deflection(weight: float) -> float:
        scene = pl.Scene(gravity=(0, 0, -10.0))
        density = weight * stiffness / (10.0 * section.area)
        rod = scene.add(
            pl.Rod(1.0, count, section=section, young=young, poisson=0.3, density=density, rotation=(0, -np.pi / 2, 0))
        )
        scene.add(pl.RodLoad(rod, 1.0, (1e-5 * stiffness, 0, 0)))
        return float(_settled(scene, tolerance=1e-10).points(rod)[-1, 0])

    return [compared("buckling weight", _critical(deflection, 7.2, 7.5), constants.GREENHILL, "EI/L³", allowed=0.002)]


def lateral_buckling(count: int = 24) -> list[Row]:
    """A narrow cantilever loaded at its tip falls to the side at P = 4.013 √(EI₂ GJ)/L²."""
    width, height, young, poisson = 0.002, 0.04, 70e9, 0.3
    section = pl.sections.Rectangle(width, height)
    scale = np.sqrt(young * min(section.second_moments) * young / 2.0 / (1 + poisson) * section.torsion_constant)

    def deflection(load: float) -> float:
        scene = pl.Scene()
        rod = scene.add(pl.Rod(1.0, count, section=section, young=young, poisson=poisson, density=2700.0))
        scene.add(pl.RodLoad(rod, 1.0, (0, 1e-5 * scale, -load * scale)))
        return float(_settled(scene, tolerance=1e-10).points(rod)[-1, 1])

    # theory neglects the bending before buckling: I₂/I₁ = (b/h)² = 0.25 %
    return [
        compared(
            "buckling load",
            _critical(deflection, 3.8, 3.9, 2),
            constants.MICHELL_CANTILEVER,
            "√(EI GJ)/L²",
            allowed=0.01,
        )
    ]


def helical_spring(turns: int = 4, per_turn: int = 16) -> list[Row]:
    """A close-coiled spring: k = G d⁴/(64 R³ n)."""
    wire, radius, pitch, young, poisson = 0.001, 0.02, 0.004, 2e11, 0.3
    rise = pitch / (2.0 * np.pi)
    speed = np.hypot(radius, rise)
    length = turns * 2.0 * np.pi * speed
    section = pl.sections.Circle(wire)
    # Frenet: curvature R/(R² + c²), torsion c/(R² + c²)
    strain = (rise / speed**2, 0.0, radius / speed**2, 0, 0, 0)
    rod = pl.Rod(
        length, turns * per_turn, section=section, young=young, poisson=poisson, density=7800.0, rest_strain=strain
    )
    step = rod.node_points[per_turn] - rod.node_points[0]
    axis = step / np.linalg.norm(step)
    centre = np.array([0.0, radius, 0.0])
    arm = centre - rod.node_points[-1]
    arm -= axis * (arm @ axis)
    force = 0.01 * axis
    scene = pl.Scene()
    scene.add(rod)
    scene.add(pl.RodLoad(rod, length, force, np.cross(arm, force)))
    before = rod.node_points[-1]
    after = _settled(scene, tolerance=1e-10).points(rod)[-1]
    shear = young / 2.0 / (1.0 + poisson)
    exact = shear * (2.0 * wire) ** 4 / (64.0 * radius**3 * turns)
    return [compared("stiffness", float(0.01 / ((after - before) @ axis)), float(exact), "N/m", allowed=0.002)]


def tendon_curvature(count: int = 10) -> list[Row]:
    """A parallel tendon bends a backbone to a circle: κ = T d/EI, at a bend of 1.5 rad."""
    length, offset, young, section = 0.2, 0.008, 2e6, pl.sections.Circle(0.003)
    stiffness = young * section.second_moments[0]
    tension = 1.5 * stiffness / (offset * length)
    scene = pl.Scene()
    rod = scene.add(pl.Rod(length, count, section=section, young=young, poisson=0.45, density=1e3))
    along = np.linspace(0.0, length, 8 * count + 1)
    path = np.column_stack([along, 0.0 * along, 0.0 * along + offset])
    cable = scene.add(pl.Cable(rod, path, reach=0.01))
    state = _settled(scene, {cable: pl.Force(tension)})
    bends = np.linalg.norm(state.strains(rod)[:, :3], axis=1)
    exact = tension * offset / stiffness
    return [
        compared("mean curvature", float(bends.mean()), exact, "1/m", allowed=0.001),
        compared("largest curvature", float(bends.max()), exact, "1/m", allowed=0.001),
    ]


def ring_under_opposite_forces(count: int = 24) -> list[Row]:
    """A thin ring pulled along a diameter: it lengthens by 0.1488 PR³/EI and narrows by 0.1366 PR³/EI."""
    section, young = pl.sections.Circle(0.005), 1e9
    stiffness = young * section.second_moments[0]
    angle = np.linspace(0.0, np.pi / 2, count + 1)
    points = np.column_stack([np.cos(angle), np.sin(angle), 0.0 * angle])
    scene, force = pl.Scene(), 1e-3 * stiffness
    ring = scene.add(pl.Beam(points, section=section, young=young, poisson=0.0, density=1e3, shear=False))
    scene.add(pl.Support(ring, [0], axes="yz", rotation=(0, 0, 0)))
    scene.add(pl.Support(ring, [count], axes="xz", rotation=(0, 0, 0)))
    scene.add(pl.PointLoad(ring, [0], (0.5 * force, 0, 0)))  # half of the force: half of the ring carries it
    moved = _settled(scene).displacements(ring)
    return [
        compared("lengthening", 2.0 * moved[0, 0] / 1e-3, np.pi / 4 - 2.0 / np.pi, "PR³/EI", allowed=0.002),
        compared("narrowing", -2.0 * moved[-1, 1] / 1e-3, 2.0 / np.pi - 0.5, "PR³/EI", allowed=0.002),
    ]


def lee_frame(count: int = 20) -> list[Row]:
    """Lee's frame: two hinged legs of length L, loaded at L/5 of the upper one; largest load 18.552 EI/L²."""
    length, young = 1.2, 7.2e6 * 1e4
    section = pl.sections.Rectangle(0.03, 0.02)
    upright = np.linspace((0, 0, 0), (0, 0, length), count + 1)
    across = np.linspace((0, 0, length), (length, 0, length), count + 1)[1:]
    points = np.vstack([upright, across])
    scene = pl.Scene()
    frame = scene.add(
        pl.Beam(points, section=section, young=young, poisson=0.0, density=1e3, pin=[0, 2 * count], shear=False)
    )
    scene.add(pl.Support(frame, list(range(1, 2 * count)), axes="y"))
    loaded = count + count // 5
    push = scene.add(pl.ForcePoint(frame, points[loaded], direction=(0, 0, -1)))
    world = scene.compile()
    state, loads = world.initial_state(), []
    for way in np.linspace(0.02, 0.56, 28):
        state, info = pl.QuasiStatic()(world, state, {push: pl.Displacement(way)})
        loads.append(info.actuation(push)[1])
    peak = np.polyfit(np.arange(-1, 2), loads[np.argmax(loads) - 1 : np.argmax(loads) + 2], 2)
    largest = peak[2] - peak[1] ** 2 / (4.0 * peak[0])
    scale = young * section.second_moments[0] / length**2
    return [compared("largest load", float(largest / scale), constants.LEE_FRAME, "EI/L²", allowed=0.003)]


def princeton_beam(count: int = 24) -> list[Row]:
    """The aluminium beam of Princeton at a load of 8.9 N under 45°: displacements of its tip.

    Reference: the equations of a Kirchhoff rod with the published data, by collocation (the experiment itself is
    published in plots; it agrees with such beams within 1 mm).
    """
    length, height, width, young, poisson = 0.508, 12.377e-3, 3.2024e-3, 71.7e9, 0.31
    section = pl.sections.Rectangle(width, height)
    load = 8.896 * np.array([0.0, np.sin(np.pi / 4), np.cos(np.pi / 4)])
    scene = pl.Scene()
    rod = scene.add(pl.Rod(length, count, section=section, young=young, poisson=poisson, density=2800.0))
    scene.add(pl.RodLoad(rod, length, load))
    tip = _settled(scene, tolerance=1e-10).points(rod)[-1]
    shear = 0.5 * young / (1.0 + poisson)
    stiffness = np.array([shear * section.torsion_constant, *(young * m for m in section.second_moments)])
    exact = _kirchhoff_tip(length, stiffness, load)
    note = (
        "the reference is the Kirchhoff rod of the published beam, by collocation; the experiment is published in plots"
    )
    return [
        compared("flapwise tip displacement", float(tip[1]), float(exact[1]), "m", allowed=0.002, note=note),
        compared("chordwise tip displacement", float(tip[2]), float(exact[2]), "m", allowed=0.002, note=note),
    ]


def _kirchhoff_tip(length: float, stiffness: FloatArray, load: FloatArray) -> FloatArray:
    """Tip of an inextensible clamped rod of stiffnesses (GJ, EI_y, EI_z) under a dead tip force."""

    def rates(s: FloatArray, y: FloatArray) -> FloatArray:
        frames = y[3:12].reshape(3, 3, -1)  # columns are the directors
        moment = np.einsum("ijn,in->jn", frames, y[12:])
        kappa = moment / stiffness[:, None]
        turn = np.zeros((3, 3, y.shape[1]))
        turn[1, 2], turn[2, 1] = -kappa[0], kappa[0]
        turn[0, 2], turn[2, 0] = kappa[1], -kappa[1]
        turn[0, 1], turn[1, 0] = -kappa[2], kappa[2]
        bent = -np.cross(frames[:, 0].T, load).T
        return np.vstack([frames[:, 0], np.einsum("ijn,jkn->ikn", frames, turn).reshape(9, -1), bent])

    def ends(a: FloatArray, b: FloatArray) -> FloatArray:
        return np.concatenate([a[:3], a[3:12] - np.eye(3).ravel(), b[12:]])

    s = np.linspace(0.0, length, 41)
    guess = np.zeros((15, 41))
    guess[0], guess[3:12] = s, np.eye(3).reshape(9, 1)
    solution = solve_bvp(rates, ends, s, guess, tol=1e-8, max_nodes=20000)
    if not solution.success:
        raise RuntimeError(solution.message)
    return np.asarray(solution.y[:3, -1])


def deep_arch(count: int = 48) -> list[Row]:
    """An arch of 215°, clamped at one end and hinged at the other, loaded on top: it collapses at 8.97 EI/R²."""
    section, young = pl.sections.Circle(0.005), 1e9
    stiffness = young * section.second_moments[0]
    half = np.radians(107.5)
    angle = np.linspace(-half, half, count + 1)
    points = np.column_stack([np.sin(angle), 0.0 * angle, np.cos(angle)])
    scene = pl.Scene()
    arch = scene.add(
        pl.Beam(points, section=section, young=young, poisson=0.0, density=1e3, clamp=[0], pin=[count], shear=False)
    )
    scene.add(pl.Support(arch, list(range(1, count)), axes="y"))
    push = scene.add(pl.ForcePoint(arch, points[count // 2], direction=(0, 0, -1)))
    world = scene.compile()
    state, loads = world.initial_state(), []
    for way in (0.2, 0.4, 0.6, 0.8, 1.0, 1.1, 1.12, 1.14, 1.16):
        state, info = pl.QuasiStatic()(world, state, {push: pl.Displacement(way)})
        loads.append(info.actuation(push)[1] / stiffness)
    top = int(np.argmax(loads))
    peak = np.polyfit(np.arange(-1, 2), loads[top - 1 : top + 2], 2)
    return [
        compared(
            "largest load", float(peak[2] - peak[1] ** 2 / (4.0 * peak[0])), constants.DEEP_ARCH, "EI/R²", allowed=0.005
        )
    ]


def right_angle_frame(count: int = 10) -> list[Row]:
    """Argyris' right-angle frame (legs of 240 m, 30 × 0.6 m) leaves its plane at an end force of 1.083 N in it."""
    leg, young, poisson = 240.0, 71240.0, 0.31
    section = pl.sections.Rectangle(30.0, 0.6)

    def deflection(load: float) -> float:
        first = np.linspace((0, 0, 0), (leg, 0, 0), count + 1)
        second = np.linspace((leg, 0, 0), (leg, 0, -leg), count + 1)[1:]
        points = np.vstack([first, second])
        frames = np.zeros((2 * count, 3, 3))
        # columns: along the leg, across the width 30 (in the plane), across the height 0.6 (out of the plane)
        frames[:count] = np.column_stack([(1, 0, 0), (0, 0, 1), (0, -1, 0)])
        frames[count:] = np.column_stack([(0, 0, -1), (1, 0, 0), (0, -1, 0)])
        scene = pl.Scene()
        frame = scene.add(
            pl.Beam(points, section=section, young=young, poisson=poisson, density=1.0, clamp=[0], frames=frames)
        )
        scene.add(pl.PointLoad(frame, [2 * count], (load, 1e-6, 0)))
        return float(_settled(scene, tolerance=1e-10).points(frame)[-1, 1])

    return [
        compared("buckling load", _critical(deflection, 1.05, 1.07), constants.RIGHT_ANGLE_FRAME, "N", allowed=0.006)
    ]
