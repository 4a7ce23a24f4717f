"""The bouncing ball of Bortoff 2020, section 2: one coordinate, one contact."""

from __future__ import annotations

from typing import Any

import numpy as np

from pliant.core.checks import finite_array, finite_number, positive
from pliant.core.declared import declared
from pliant.hybrid.contact_laws import Restitution
from pliant.hybrid.system import Contact, HybridSystem


@declared
def bouncing_ball(
    *,
    alpha: Any = (100.0, 20.0, 1e6),
    mass: float = 1.0,
    height: float = 1.0,
    gravity: float = 9.81,
    speed: float = 0.0,
    energy_consistent: bool = False,
    restitution: Restitution | None = None,
) -> HybridSystem:
    """A ball above a floor: q (1,) is the height of its contact point in m, u (1,) a force on it in N.

    `alpha` = (α₀ 1/s², α₁ 1/s, α₂ 1/(m² s²)) of the contact, `mass` in kg, dropped from `height` (m) with the upward
    `speed` (m/s) under `gravity` (m/s²). `energy_consistent` and `restitution` as for a `Contact`.
    """
    mass = positive("mass", mass, unit="kg")
    weight = np.array([mass * finite_number("gravity", gravity, unit="m/s²")])
    up, flat = np.ones((1, 1)), np.zeros(1)
    floor = Contact(
        "floor",
        gap=lambda q: q,
        rows=lambda q, v: (q, up, flat),
        alpha=tuple(finite_array("alpha", alpha, shape=(3,)).tolist()),
        energy_consistent=energy_consistent,
        restitution=restitution,
    )
    return HybridSystem(
        q0=np.array([finite_number("height", height, unit="m")]),
        v0=np.array([finite_number("speed", speed, unit="m/s")]),
        mass=np.array([mass]),
        bias=lambda q, v: weight,
        inputs=np.ones((1, 1)),
        constraints=(floor,),
        name="bouncing ball",
        labels=("height",),
    )
