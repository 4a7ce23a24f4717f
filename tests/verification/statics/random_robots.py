"""Random slender robots with cables: rods and beams over orders of magnitude of size, modulus and slenderness."""

import numpy as np

import pliant as pl


def random_robot(seed):
    """World, controls and body of a clamped rod or beam with one to four cables under gravity of any direction."""
    rng = np.random.default_rng(seed)
    length = 10 ** rng.uniform(-1.5, 0.0)
    radius = length * 10 ** rng.uniform(-2.0, -1.0)
    young = 10 ** rng.uniform(5.0, 8.0)
    count = int(rng.integers(6, 25))
    options = {"section": pl.sections.Circle(radius), "young": young, "poisson": 0.45, "density": 1100.0}
    damping = pl.Rayleigh(mass=20.0, stiffness=0.02)
    gravity = rng.standard_normal(3)
    # As heavy as the body bears without buckling under its own weight: ρ g A L³ / EI below 5.
    weight = min(9.81, 5.0 * young * radius**2 / (4 * 1100.0 * length**3))
    scene = pl.Scene(gravity=tuple(weight * gravity / np.linalg.norm(gravity)))
    if rng.random() < 0.5:
        points = [(length * k / count, 0, 0) for k in range(count + 1)]
        body = scene.add(pl.Beam(points, clamp=[0], damping=damping, **options))
    else:
        strains = ("bend_y", "bend_z", "twist", "stretch")
        body = scene.add(pl.Rod(length, count, strains=strains, damping=damping, **options))
    bend = young * np.pi * radius**4 / 4
    controls = {}
    for angle in rng.uniform(0, 2 * np.pi, int(rng.integers(1, 5))):
        offset = 2.0 * radius
        side = offset * np.array([0.0, np.cos(angle), np.sin(angle)])
        via = [np.array([length * k / count, 0, 0]) + side for k in range(count + 1)]
        cable = scene.add(pl.Cable(body, via, reach=3.0 * offset))
        turn = rng.uniform(0.0, 1.2)  # rad, by this cable alone
        if rng.random() < 0.5:
            controls[cable] = pl.Force(turn * bend / (offset * length))
        else:
            controls[cable] = pl.Displacement(turn * offset * rng.choice([1.0, -0.5]))
    return scene.compile(), controls, body


def after_dynamics(world, controls, start, *, growing=False):
    """The state after 60 steps of dynamics of 10 ms from `start`, or after 400 `growing` ones. Three linear solves a
    step: with one, tight cables on a slender body go to and fro around an equilibrium in which converged steps stay.
    """
    state, dt = start, 0.01
    for k in range(400 if growing else 60):
        state, _ = pl.ImplicitEuler(dt, newton_iterations=3)(world, state, controls)
        if growing and k % 50 == 49:
            dt *= 1.5
    return state
