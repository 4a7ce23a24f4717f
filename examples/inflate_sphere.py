"""Inflation of a thick rubber sphere, one octant of it, compared with the closed form of incompressible rubber.

The pressure follows the deforming surface. An incompressible neo-Hookean shell of shear modulus μ needs

    p = μ (g(λ_outer) − g(λ_inner)),    g(λ) = 2/λ + 1/(2λ⁴)

where λ are the stretches of its outer and inner radius (Ogden, Non-linear Elastic Deformations, chapter 5).
"""

import numpy as np

import pliant as pl

INNER, OUTER, YOUNG, POISSON = 0.05, 0.075, 0.3e6, 0.49


def closed_form(radius: float) -> float:
    """Pressure, Pa, that holds an incompressible ball at the inner `radius`, m."""
    stretch_inside = radius / INNER
    stretch_outside = np.cbrt(radius**3 - INNER**3 + OUTER**3) / OUTER
    g = [2.0 / stretch + 0.5 / stretch**4 for stretch in (stretch_outside, stretch_inside)]
    return YOUNG / (2.0 * (1.0 + POISSON)) * (g[0] - g[1])


scene = pl.Scene()
rubber = pl.materials.NeoHookean(young=YOUNG, poisson=POISSON, density=1000)
mesh = pl.mesh.shell(INNER, OUTER, cells=(3, 4), octant=True, element="tet10")
ball = scene.add(pl.Volume(mesh, rubber))
for axis in "xyz":  # the three planes of symmetry
    scene.add(pl.Support(ball, pl.regions.plane(axis=axis, at=0), axes=axis))
inside = pl.regions.sphere((0, 0, 0), 1.001 * INNER)
air = scene.add(pl.PressureLoad(ball, inside, 0.0))
world = scene.compile()

state, wall = world.initial_state(), inside.nodes(mesh.points, what="inner surface")
for pressure in (10e3, 20e3, 30e3):
    state, _ = pl.QuasiStatic()(world, state, {air: pl.Pressure(pressure)})
    radius = float(np.linalg.norm(state.points(ball)[wall], axis=1).mean())
    exact = closed_form(radius)
    print(
        f"{1e-3 * pressure:3.0f} kPa: inner radius {1e3 * radius:5.2f} mm; the closed form needs {1e-3 * exact:.2f} kPa"
    )
    assert abs(exact / pressure - 1.0) < 0.05, f"closed form {exact} Pa is not within 5 % of {pressure} Pa"
