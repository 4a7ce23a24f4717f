"""All checks of a scene, a world and its stepper."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from pliant.core.checks import checked_stepper
from pliant.core.errors import InputError
from pliant.review.bodies import body_findings
from pliant.review.finding import Finding
from pliant.review.frequency import model_frequency
from pliant.review.parts import part_findings
from pliant.stepping import ImplicitEuler
from pliant.world import Scene, World

GRAVITY = (1.0, 30.0)
"""Magnitudes of gravity, m/s², from the Moon to Jupiter; 0 is fine."""
_DAMPED, _LOST = 0.1, 1.0
"""Damping ratio ωh/2 of implicit Euler that is told, and that of a motion that no step resolves."""


def check(thing: Scene | World, *, stepper: Any = None) -> list[Finding]:
    """What is unusual in a scene or a world, and in `stepper` for it: a list, faults first.

    Checks units by magnitude (sizes, densities, moduli, gravity), weight against stiffness, walls of one cell, lumped
    masses, cables outside of their body, actuators without limits, contact pairs that are missing, and the time step
    against the first natural frequency. Nothing is simulated.
    """
    world = thing.compile() if isinstance(thing, Scene) else thing
    if not isinstance(world, World):
        raise InputError(f"check() takes a scene or a world, got a {type(thing).__name__}")
    if stepper is not None:
        checked_stepper(stepper)
    found = list(_findings(world, stepper))
    return sorted(found, key=lambda finding: not finding.fault)


def _findings(world: World, stepper: Any) -> Iterator[Finding]:
    gravity = float(np.linalg.norm(world.gravity))
    if gravity and not GRAVITY[0] <= gravity <= GRAVITY[1]:
        yield Finding("gravity", f"{gravity:g} m/s²", "0 or 9.81 m/s²", "gravity is m/s², not mm/s²", fault=True)
    for model in world.models:
        yield from body_findings(model, gravity)
    if world.source is not None:
        yield from part_findings(world)
    if isinstance(stepper, ImplicitEuler):
        yield from _step_findings(world, stepper.dt)


def _step_findings(world: World, dt: float) -> Iterator[Finding]:
    """The time step against the lowest natural frequency of all bodies."""
    frequencies = {model.name: model_frequency(model) for model in world.models}
    moving = {name: value for name, value in frequencies.items() if value > 0.0}
    if not moving:
        return
    name, lowest = min(moving.items(), key=lambda item: item[1])
    ratio = np.pi * lowest * dt  # ωh/2
    if ratio > _DAMPED:
        finer = _DAMPED / (np.pi * lowest)
        yield Finding(
            f"dt of {1e3 * dt:g} ms", f"damps the first mode of {name!r} ({lowest:.3g} Hz) with ζ = ωh/2 = {ratio:.2g}",
            f"ζ < {_DAMPED:g} where oscillations matter",
            f"dt={finer:.2g}, or pl.DampedMidpoint, which damps them less; slow motions are right as they are",
            fault=ratio > _LOST and dt > 0.1,
        )  # fmt: skip
