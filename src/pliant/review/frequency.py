"""The first natural frequency of a body at rest, by inverse iteration: K x = ω² M x with the least ω."""

from __future__ import annotations

from typing import Any

import numpy as np

from pliant.core.errors import PliantError
from pliant.materials import Tangent
from pliant.models.body import Model
from pliant.models.model import StepStart
from pliant.models.scheme import Scheme

_INERTIA = 1e6
"""Weight of M, 1/s², in the matrix that it is read from: far above ω² of what bends, so that rounding is none."""
_ITERATIONS, _TOLERANCE = 60, 1e-4
"""Iterations at most, and the relative change of ω² that ends them; two equal frequencies converge as one."""


def first_frequency(world: Any, body: Any) -> float:
    """Lowest natural frequency, Hz, of `body` in the initial state, alone and without damping and gravity.

    0 for a body that is free to move as a whole, and for a rigid one. Cables, rods in channels and contacts of other
    bodies stiffen it, and are not counted.
    """
    return model_frequency(world.models[world.index(body)])


def model_frequency(model: Model) -> float:
    """`first_frequency` of a compiled model."""
    q, v = model.initial()
    if model.free_modes(q) is not None or not hasattr(model.spec, "damping"):
        return 0.0
    try:
        stiffness, both = (_system(model, q, v, inertia) for inertia in (0.0, _INERTIA))
        factor = stiffness.factorize()
    except PliantError:  # a mechanism: no stiffness in some direction
        return 0.0

    def mass_times(x: Any) -> Any:
        return (both.product(x) - stiffness.product(x)) / _INERTIA

    random = np.random.default_rng(0)
    x = factor.solve(mass_times(random.normal(size=stiffness.r.shape)))
    before = np.inf
    for _ in range(_ITERATIONS):
        weighted = mass_times(x)
        scale = float(np.vdot(x, weighted))
        if not scale > 0.0:
            return 0.0
        x, weighted = x / np.sqrt(scale), weighted / np.sqrt(scale)
        squared = float(np.vdot(x, stiffness.product(x)))
        if abs(squared - before) <= _TOLERANCE * abs(squared):
            break
        before, x = squared, factor.solve(weighted)
    return float(np.sqrt(max(squared, 0.0)) / (2.0 * np.pi))


def _system(model: Model, q: Any, v: Any, inertia: float) -> Any:
    """A = inertia · M + K, a copy of its own."""
    scheme = Scheme(1.0, inertia, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
    trial = model.trial(StepStart(q, v, scheme, np.zeros(3), {}))
    system, _ = trial.linearize(Tangent.PROJECTED)
    return system.copied()
