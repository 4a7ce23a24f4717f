"""Concentric tubes against the theory of their robots.

P. Dupont, J. Lock, B. Itkowitz, E. Butler, "Design and control of concentric-tube robots", IEEE T-RO 26, 2010: tubes
that overlap have one curvature, the mean of their own ones weighted by EI; with torsion the angle α between two of them
obeys α″ = c sin α, c = κ₁κ₂ (1/GJ₁ + 1/GJ₂) EI₁EI₂/(EI₁ + EI₂), α(0) imposed and α′(L) = 0, which has one solution for
α(0) = π up to L √c = π/2 and snaps beyond.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.integrate import solve_bvp

import pliant as pl
from pliant.core.types import FloatArray
from validation.literature.compared import compared
from validation.row import Row

YOUNG, POISSON = 60e9, 0.3
OUTER, INNER = pl.sections.Tube(1.2e-3, 1.0e-3), pl.sections.Tube(0.9e-3, 0.6e-3)
EI = np.array([YOUNG * s.second_moments[0] for s in (OUTER, INNER)])
"""Bending stiffness of the outer and the inner tube, N·m²."""
IN_PLANE = ("bend_y", "bend_z")

Nest = tuple[pl.World, pl.Rod, pl.Rod, pl.Support]


def tube(section: pl.sections.Section, length: float, count: int, bend: Any, **options: Any) -> pl.Rod:
    """A tube that is bent by `bend` (1/m) at rest, of all or each of its `count` sections, and starts straight."""
    rest = np.zeros((count, 6))
    rest[:, 2] = bend
    given: dict[str, Any] = {"young": YOUNG, "poisson": POISSON, "density": 6500}
    given |= {"rest_strain": rest, "start_strain": np.zeros(6)}
    return pl.Rod(length, count, section=section, **given, **options)


def nested(length: float, count: int, bends: tuple[float, float], **options: Any) -> Nest:
    """The inner tube in the outer one, of one length, with the base of the inner one to be turned."""
    scene = pl.Scene()
    outer = scene.add(tube(OUTER, length, count, bends[0], name="outer", **options))
    inner = scene.add(tube(INNER, length, count, bends[1], name="inner", **options))
    base = scene.add(pl.Support(inner, [0], rotation=(0, 0, 0)))
    scene.add(pl.Sheath(outer, inner))
    return scene.compile(), outer, inner, base


def turned(world: pl.World, base: pl.Support, angle: float, steps: int) -> pl.State:
    """The equilibrium after the base was turned to `angle` in `steps` parts."""
    state = world.initial_state()
    for part in np.linspace(0.0, 1.0, steps + 1):
        state, _ = pl.QuasiStatic()(world, state, {base: pl.Placement([(0, 0, 0), (part * angle, 0, 0)])})
    return state


def pushed(shift: float) -> FloatArray:
    """Tip (3,), m, of an inner tube that was pushed out of a clamped outer one of 0.1 m by `shift` (m). Its first 60 mm
    are straight, the rest is bent; it began with as much behind the base as is straight.
    """
    scene = pl.Scene()
    outer = scene.add(tube(OUTER, 0.1, 10, 6.0, strains=IN_PLANE, name="outer"))
    bend = np.where(np.arange(16) < 6, 0.0, 10.0)
    inner = scene.add(tube(INNER, 0.16, 16, bend, strains=IN_PLANE, position=(-0.06, 0, 0), name="inner"))
    base = scene.add(pl.Support(inner, [0], rotation=(0, 0, 0)))
    scene.add(pl.Sheath(outer, inner, places=np.linspace(0, 0.1, 11)))
    world = scene.compile()
    state = world.initial_state()
    for part in np.linspace(0.0, shift, 4):
        state, _ = pl.QuasiStatic()(world, state, {base: pl.Placement([(part, 0, 0), (0, 0, 0)])})
    return np.asarray(state.points(inner)[-1])


def pushed_tip(shift: float) -> FloatArray:
    """Where three arcs end: outer tube with the straight part, with the bent part, and the bent part alone."""
    arcs = [(shift, EI[0] * 6 / EI.sum()), (0.1 - shift, (EI @ [6, 10]) / EI.sum()), (shift, 10.0)]
    place, heading = 0j, 0.0
    for length, kappa in arcs:
        place += (np.exp(1j * (heading + kappa * length)) - np.exp(1j * heading)) / (1j * kappa)
        heading += kappa * length
    return np.array([place.real, place.imag, 0.0])


def torsion(length: float, kappa: float, angle: float) -> tuple[Callable[[Any], Any], float]:
    """Angle between tubes of the curvature `kappa` along them, by the boundary-value problem, (s) → rad; and L √c."""
    shear = EI / (1 + POISSON)  # GJ of a round section
    c = kappa**2 * (1 / shear).sum() * EI.prod() / EI.sum()
    s = np.linspace(0, length, 101)
    start = np.stack([np.full_like(s, 0.5 * angle), np.zeros_like(s)])
    solved = solve_bvp(lambda s, y: np.array([y[1], c * np.sin(y[0])]), lambda a, b: (a[0] - angle, b[1]), s, start)
    if not solved.success:
        raise RuntimeError(f"the boundary-value problem of tubes turned by {angle} has no solution: {solved.message}")
    return lambda x: solved.sol(x)[0], float(length * np.sqrt(c))


def angles(state: pl.State, outer: pl.Rod, inner: pl.Rod, base_angle: float) -> FloatArray:
    """Angle between the tubes at the ends of their sections, rad."""
    step = outer.lengths * (state.strains(inner) - state.strains(outer))[:, 0]
    return base_angle + np.concatenate([[0.0], np.cumsum(step)])


def rows(count: int = 20) -> list[Row]:
    """Curvature of tubes that cross, the tip of one that is pushed out, and the lag of a twisted tip."""
    across = np.pi / 2
    world, outer, _, base = nested(0.1, 10, (6.0, 10.0), strains=IN_PLANE)
    bends = turned(world, base, across, 2).strains(outer)[:, 1:3]
    mean = np.hypot(EI[0] * 6.0, EI[1] * 10.0) / EI.sum()
    found, exact = pushed(0.05), pushed_tip(0.05)
    lag, _ = torsion(0.1, 8.0, across)
    world, outer, inner, base = nested(0.1, count, (8.0, 8.0), strains=("bend_y", "bend_z", "twist"))
    tip = angles(turned(world, base, across, 6), outer, inner, across)[-1]
    return [
        compared("curvature, tubes turned by 90°", np.linalg.norm(bends, axis=1).mean(), mean, "1/m", allowed=1e-5),
        compared("tip aside, pushed out by 50 mm", 1e3 * found[1], 1e3 * exact[1], "mm", allowed=1e-5),
        compared("angle of the tips, bases at 90°", np.degrees(tip), np.degrees(lag(0.1)), "°", allowed=2e-3),
    ]
