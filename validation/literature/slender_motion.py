"""Vibrations and rotation of rods, beams and bars, against closed forms and published values."""

from typing import Any

import numpy as np
from scipy.special import j0

import pliant as pl
from validation.literature import constants
from validation.literature.compared import compared
from validation.row import Row


def _frequency(times: Any, motion: Any) -> float:
    """Of a vibration (Hz) from its first to its last zero crossing."""
    values = np.asarray(motion)
    at = np.flatnonzero(values[:-1] * values[1:] < 0.0)
    zeros = times[at] - values[at] * (times[at + 1] - times[at]) / (values[at + 1] - values[at])
    return float(0.5 * (len(zeros) - 1) / (zeros[-1] - zeros[0]))


def higher_bending_modes(cells: int = 24) -> list[Row]:
    """Second and third bending mode of a solid cantilever: βL = 4.694 and 7.855, with Timoshenko's shear."""
    length, height, young, density = 0.5, 0.01, 1e7, 1e3
    mesh = pl.mesh.box((length, height, height), (cells, 1, 1), element="tet10")
    solid = pl.materials.Corotated(young=young, poisson=0.0, density=density)
    scene = pl.Scene()
    body = scene.add(pl.Volume(mesh, solid, clamp=pl.regions.plane(axis="x", at=0.0), lumped_mass=False))
    world = scene.compile()
    found: list[Row] = []
    for name, beta in zip(("second", "third"), constants.CANTILEVER_ROOTS, strict=True):
        x = beta * mesh.points[:, 0] / length
        ratio = (np.cosh(beta) + np.cos(beta)) / (np.sinh(beta) + np.sin(beta))
        shape = np.cosh(x) - np.cos(x) - ratio * (np.sinh(x) - np.sin(x))
        exact = _cantilever(beta, length, height, young, density)
        start = world.initial_state().with_velocities(body, np.outer(1e-3 * shape, (0, 0, 1)))
        dt, values = 1.0 / exact / 50.0, []
        state, step = start, pl.ImplicitMidpoint(dt)
        for _ in range(56):
            state, _ = step(world, state)
            values.append(float(shape @ state.displacements(body)[:, 2]))
        times = dt * np.arange(1, len(values) + 1)
        found += [compared(f"{name} frequency", _frequency(times, values), exact, "Hz", allowed=0.005)]
    return found


def _cantilever(beta: float, length: float, height: float, young: float, density: float) -> float:
    """Frequency (Hz) of a square cantilever, ν = 0: Euler and Bernoulli, less the turning of sections (Rayleigh) and
    their shear (Timoshenko), to first order in (βh/L)².
    """
    area, moment = height**2, height**4 / 12.0
    plain = beta**2 / length**2 * np.sqrt(young * moment / (density * area))
    shear = 5.0 / 6.0 * 0.5  # κG/E
    # boundary terms of a cantilever are of the order of the correction over β: neglected, 0.1 %
    return float(plain / (2.0 * np.pi) / np.sqrt(1.0 + (beta / length) ** 2 * moment / area * (1.0 + 1.0 / shear)))


def hanging_chain(count: int = 30) -> list[Row]:
    """A hanging chain swings with ω = 1.2024 √(g/L), the first zero of J₀ over 2."""
    section, length, gravity = pl.sections.Circle(0.002), 1.0, 9.81
    scene = pl.Scene(gravity=(0, 0, -gravity))
    rod = scene.add(
        pl.Rod(
            length, count, section=section, young=1e4, poisson=0.0, density=1e3, rotation=(0, np.pi / 2, 0),
            strains=("bend_y", "bend_z"), base=pl.Turn((0, 1, 0)),
        )
    )  # fmt: skip
    push = scene.add(pl.RodLoad(rod, 0.5 * length, (0, 0, 0)))
    world = scene.compile()
    exact = constants.BESSEL_ZERO / 2.0 * np.sqrt(gravity / length) / (2.0 * np.pi)
    state, step, values = world.initial_state(), pl.ImplicitMidpoint(0.02), []
    weight = 1e3 * section.area * gravity
    shape = j0(
        constants.BESSEL_ZERO * np.sqrt(np.linspace(1.0, 0.0, count + 1))
    )  # the mode, to which the others are orthogonal
    shape[-1] *= 0.5
    for k in range(160):
        state, _ = step(world, state, {push: pl.Force((1e-3 * weight * (k < 25), 0, 0))})
        values.append(float(shape @ state.points(rod)[:, 0]))
    late = np.array(values[30:])
    return [
        compared("first frequency", _frequency(0.02 * np.arange(len(late)), late), float(exact), "Hz", allowed=0.001)
    ]


def torsional_pendulum() -> list[Row]:
    """A disc on a wire: ω² = GJ/(L I)."""
    length, young, poisson, section = 0.5, 1e9, 0.3, pl.sections.Circle(0.002)
    inertia = 1e-3
    scene = pl.Scene()
    rod = scene.add(
        pl.Rod(length, 2, section=section, young=young, poisson=poisson, density=1.0, rotation=(0, np.pi / 2, 0))
    )
    disc = pl.RigidBody(
        pl.RigidBody.box(size=(0.1, 0.1, 0.02), mass=1.0).shape, 1.0, np.diag([inertia, inertia, inertia]),
        position=(0, 0, -length), spin=(0, 0, 0.2),
    )  # fmt: skip
    scene.add(disc)
    scene.attach(rod, disc, points=[(0, 0, -length)], frames=True)
    world = scene.compile()
    torsion = 0.5 * young / (1.0 + poisson) * section.torsion_constant
    exact = float(np.sqrt(torsion / (length * inertia)) / (2.0 * np.pi))
    dt = 1.0 / exact / 50.0
    state, step, angles = world.initial_state(), pl.ImplicitMidpoint(dt), []
    for _ in range(56):
        state, _ = step(world, state)
        angles.append(state.pose(disc)[1:][1, 0])
    found = _frequency(dt * np.arange(1, len(angles) + 1), np.array(angles))
    return [compared("frequency", found, exact, "Hz", allowed=0.003)]


def ring_vibration(count: int = 40) -> list[Row]:
    """A free ring goes oval in its plane with ω² = 36/5 EI/(ρAR⁴)."""
    section, young, density = pl.sections.Circle(0.01), 1e7, 1e3
    angle = 2.0 * np.pi * np.arange(count) / count
    points = np.column_stack([np.cos(angle), np.sin(angle), 0.0 * angle])
    edges = np.column_stack([np.arange(count), (np.arange(count) + 1) % count])
    scene = pl.Scene()
    ring = scene.add(
        pl.Beam(points, edges=edges, section=section, young=young, poisson=0.0, density=density, shear=False)
    )
    world = scene.compile()
    exact = float(
        np.sqrt(constants.OVAL_RING * young * section.second_moments[0] / (density * section.area)) / (2.0 * np.pi)
    )
    start = world.initial_state()
    v = np.zeros((count, 2, 3))
    v[:, 0, 0] = np.cos(2 * angle) * np.cos(angle) + 0.5 * np.sin(2 * angle) * np.sin(angle)
    v[:, 0, 1] = np.cos(2 * angle) * np.sin(angle) - 0.5 * np.sin(2 * angle) * np.cos(angle)
    # u = cos 2θ outward, w = −½ sin 2θ along: no stretch; sections turn by w − u′ = 3/2 sin 2θ
    v[:, 1, 2] = 1.5 * np.sin(2 * angle)
    state = pl.State(world, 0.0, start.q, (1e-3 * v,), start.lam)
    dt, values = 1.0 / exact / 100.0, []
    step = pl.ImplicitMidpoint(dt)
    for _ in range(220):
        state, _ = step(world, state)
        values.append(float(state.points(ring)[0, 0] - state.points(ring)[count // 2, 0]) - 2.0)
    found = _frequency(dt * np.arange(1, len(values) + 1), np.array(values))
    return [compared("frequency of the oval", found, exact, "Hz", allowed=0.006)]


def spinning_beam(count: int = 20, dt: float = 0.00125) -> list[Row]:
    """A beam of length 10 in steady rotation at 6 rad/s stretches by ρAω²L³/(3EA) = 5.14e-4."""
    length, rate, area = 10.0, 6.0, 1e-2
    young, density = 2.8e7 / area, 1.2 / area
    scene = pl.Scene()
    beam = scene.add(
        pl.Beam(
            np.linspace((0, 0, 0), (length, 0, 0), count + 1), section=pl.sections.Rectangle(0.1, 0.1), young=young,
            poisson=0.0, density=density, pin=[0],
        )
    )  # fmt: skip
    world = scene.compile()
    start = world.initial_state()
    x = start.points(beam)[:, 0]
    q = start.q[0].copy()
    v = np.zeros((count + 1, 2, 3))
    v[:, 0, 1], v[:, 1, 2] = rate * x, rate
    state = pl.State(world, 0.0, (q,), (v,), start.lam)
    step, lengths = pl.ImplicitEuler(dt, tolerance=1e-8), []
    for _ in range(100):
        state, _ = step(world, state)
        lengths.append(np.linalg.norm(state.points(beam)[-1] - state.points(beam)[0]) - length)
    reached = np.linalg.norm(state.v[0][-1, 0]) / length
    exact = 1.2 * 36.0 * length**3 / (3.0 * 2.8e7)
    scaled = float(np.mean(lengths[-20:]) * (rate / reached) ** 2)
    return [compared("stretch", scaled, exact, "m", allowed=0.004)]
