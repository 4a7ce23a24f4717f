"""Hertz: a rigid sphere of radius R pressed by d into an elastic half-space needs F = 4/3 E/(1 − ν²) √R d^{3/2}.

A quarter of a block of 40 contact radii stands for the half-space, graded so that 8 cells span the contact; a/R = 0.05.
"""

import numpy as np
import pytest

import pliant as pl

YOUNG, POISSON, RADIUS, CONTACT = 1e6, 0.3, 1.0, 0.05
DEPTH = CONTACT**2 / RADIUS


def graded(uniform, ratio, extent):
    """Grid from 0 to `extent`: cells of CONTACT/4 first, then growing by `ratio` each."""
    cell = CONTACT / 4.0
    grid = [cell * k for k in range(uniform + 1)]
    while grid[-1] < extent:
        grid.append(grid[-1] + (grid[-1] - grid[-2]) * ratio)
    return extent * np.array(grid) / grid[-1]


def half_space():
    """The block with the contact at the origin, z downward into the material mirrored to z ≤ 0."""
    grid = graded(6, 1.45, 40.0 * CONTACT)
    count = len(grid) - 1
    mesh = pl.mesh.box((count, count, count), (count, count, count), element="hex8")

    def place(x):
        flat = np.interp(x, np.arange(count + 1), grid)
        flat[:, 2] = -np.interp(count - x[:, 2], np.arange(count + 1), grid)
        return flat

    return mesh.mapped(place)


def indented(depth):
    scene = pl.Scene()
    material = pl.materials.Corotated(young=YOUNG, poisson=POISSON, density=1e3)
    mesh = half_space()
    bottom = pl.regions.plane(axis="z", at=mesh.bounds[0][2])
    block = scene.add(pl.Volume(mesh, material, clamp=bottom, anti_locking=False))
    for axis in "xy":
        above = pl.regions.box((-1, -1, mesh.bounds[0][2] + 1e-6), (10, 10, 1))
        scene.add(pl.Support(block, pl.regions.plane(axis=axis, at=0.0) & above, axes=axis))
    ball = scene.add(pl.Obstacle.sphere(center=(0, 0, RADIUS - depth), radius=RADIUS))
    scene.collide(block, ball, margin=0.5 * CONTACT, allow_overlap=True)
    world = scene.compile()
    state, info = pl.QuasiStatic(tolerance=1e-7)(world, world.initial_state())
    return state, info, block, ball


def test_force_and_contact_radius_are_those_of_hertz():
    """Force within 3 %; pressed nodes within the contact circle, up to one cell."""
    _, info, block, ball = indented(DEPTH)
    force = -4.0 * info.contact_force(block, ball)[2]
    expected = 4.0 / 3.0 * YOUNG / (1.0 - POISSON**2) * np.sqrt(RADIUS) * DEPTH**1.5
    contacts = info.contacts(block, ball)
    pressed = np.linalg.norm(contacts.forces, axis=1) > 1e-6 * abs(force)
    reach = np.linalg.norm(contacts.points[pressed, :2], axis=1).max()
    print(f"force {force:.4f} of {expected:.4f} N, contact radius {reach:.4f} of {CONTACT:.4f} m")
    assert force == pytest.approx(expected, rel=0.03)
    assert reach == pytest.approx(CONTACT, abs=CONTACT / 4)
