"""The state to start from: checked against joints and contacts, and projected onto them where asked."""

from __future__ import annotations

from typing import Any

import numpy as np

from pliant.core.errors import ConvergenceError, InputError
from pliant.core.types import FloatArray
from pliant.hybrid.equations import Discrete, Equations
from pliant.hybrid.laws import Grip, Mode
from pliant.hybrid.rows import constraint_rows, least_norm
from pliant.hybrid.system import Contact, Joint

TOLERANCE = 1e-8
"""m or rad, and per s; by how much an initial state may violate a constraint."""


def first_discrete(equations: Equations, q: FloatArray) -> Discrete:
    """The discrete state at the start: joints closed, contacts free, machines in their first states."""
    system = equations.system
    modes = np.zeros(equations.m, np.int8)
    offsets = np.zeros(equations.m)
    owned = {name: machine for machine in system.machines for name in machine.owned}
    for index, constraint in enumerate(system.constraints):
        rows = slice(equations.first[index], equations.first[index + 1])
        machine = owned.get(constraint.name)
        held = (
            isinstance(constraint, Joint)
            if machine is None
            else constraint.name in machine.active.get(machine.initial, ())
        )
        modes[rows] = Mode.CONTACT if held else Mode.FREE
        if held and isinstance(constraint, Joint) and constraint.relative:
            offsets[rows] = equations.gaps(q, index)
    states = tuple(machine.initial for machine in system.machines)
    grips = np.full(equations.m, Grip.NONE, np.int8)
    return Discrete(modes, grips, np.tile([1.0, 0.0], (equations.m, 1)), offsets, states)


def consistent_start(equations: Equations, *, project: bool) -> tuple[FloatArray, FloatArray, Discrete]:
    """q, v and the discrete state at time 0, refused or projected where it violates a constraint."""
    system = equations.system
    q, v = system.q0.copy(), system.v0.copy()
    discrete = first_discrete(equations, q)
    worst, name, amount = _violation(equations, discrete, q, v)
    if worst > TOLERANCE:
        if not project:
            raise InputError(
                f"{system.name} starts with {name} violated by {amount:g}: start where it holds, or pass project=True "
                "to move the start onto it"
            )
        q, v = _projected(equations, discrete, q, v)
    return q, v, discrete


def _violation(equations: Equations, discrete: Discrete, q: FloatArray, v: FloatArray) -> tuple[float, str, float]:
    """The largest violation of a constraint at the start, its name, and its signed amount."""
    worst, name, amount = 0.0, "", 0.0
    for index, constraint in enumerate(equations.system.constraints):
        rows = slice(equations.first[index], equations.first[index + 1])
        h = equations.openings(q, index) - discrete.offsets[rows]
        held = discrete.modes[rows] == Mode.CONTACT
        checks = [("", np.where(held, np.abs(h), np.maximum(-h, 0.0) * equations.switched[rows]), h)]
        if held.any():
            _, H, _ = constraint_rows(constraint, q, v, np.arange(constraint.count), all_of_them=True)
            checks.append((" rate", np.where(held, np.abs(H @ v), 0.0), H @ v))
        for kind, size, signed in checks:
            k = int(np.argmax(size))
            if size[k] > worst:
                what = "contact" if isinstance(constraint, Contact) else "joint"
                worst, name, amount = float(size[k]), f"{what} {constraint.name!r}{kind}", float(signed[k])
    return worst, name, amount


def _projected(
    equations: Equations, discrete: Discrete, q: FloatArray, v: FloatArray
) -> tuple[FloatArray, FloatArray]:  # fmt: skip
    """The nearest state, in the metric of the mass matrix, that violates nothing: Gauss–Newton on q, then one on v."""
    for _ in range(50):
        h, H, held, opening = _all_rows(equations, discrete, q, v)
        bad = held | (opening < 0.0)
        if not bad.any() or np.abs(h[bad]).max() < 1e-14:
            break
        over_mass = equations.over_mass(q)
        push = over_mass(H[bad].T)
        q = q - push @ least_norm(H[bad] @ push, h[bad])[0]
    h, H, held, opening = _all_rows(equations, discrete, q, v)
    if (np.abs(h[held]) > TOLERANCE).any() or (opening < -TOLERANCE).any():
        raise ConvergenceError(f"{equations.system.name}: no state near the start satisfies all constraints", result=q)
    rate = H @ v
    stop = held | ((opening <= 1e-9) & (rate < 0.0))
    if stop.any():
        push = equations.over_mass(q)(H[stop].T)
        v = v - push @ least_norm(H[stop] @ push, rate[stop])[0]
    return q, v


def _all_rows(
    equations: Equations, discrete: Discrete, q: FloatArray, v: FloatArray
) -> tuple[FloatArray, FloatArray, Any, FloatArray]:  # fmt: skip
    """h (k,) and H (k, n) of the rows that count at the start, which of them are held, and their openings (k,)."""
    h, H, held, openings = [], [], [], []
    for index, constraint in enumerate(equations.system.constraints):
        rows = slice(equations.first[index], equations.first[index + 1])
        closed = discrete.modes[rows] == Mode.CONTACT
        if equations.switched[rows.start] or closed[0]:
            value, slope, _ = constraint_rows(constraint, q, v, np.arange(constraint.count), all_of_them=True)
            h.append(value - discrete.offsets[rows])
            H.append(slope)
            held.append(closed)
            openings.append(equations.openings(q, index))
    return np.concatenate(h), np.concatenate(H), np.concatenate(held), np.concatenate(openings)
