from __future__ import annotations

import numpy as np

import pliant as pl
from pliant.solvers.contact import gauss_seidel, line_search, newton
from pliant.solvers.contact.loading import load_friction_kernels


def test_a_scene_with_friction_loads_its_kernels_when_it_is_compiled() -> None:
    scene = pl.Scene(gravity=(0.0, 0.0, -9.81))
    ball = scene.add(pl.RigidBody.sphere(radius=0.01, mass=0.1, position=(0.0, 0.0, 0.05)))
    scene.collide(ball, scene.add(pl.Obstacle.plane(point=(0.0, 0.0, 0.0))), friction=0.5)
    scene.compile()
    kernels = [
        gauss_seidel.gauss_seidel, newton.derivatives, newton.assemble, line_search.alart_curnier,
        line_search.best_length,
    ]  # fmt: skip
    before = [set(kernel.signatures) for kernel in kernels]
    assert all(before)
    rng = np.random.default_rng(0)
    H = rng.normal(size=(30, 12))  # redundant: Newton's iteration takes part
    pl.solvers.friction(H @ H.T, H @ rng.normal(size=12), 0.5)
    assert [set(kernel.signatures) for kernel in kernels] == before


def test_kernels_are_loaded_once() -> None:
    load_friction_kernels()
    calls = load_friction_kernels.cache_info().misses
    load_friction_kernels()
    assert load_friction_kernels.cache_info().misses == calls
