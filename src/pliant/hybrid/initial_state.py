"""The initial state: checked against joints and contacts, and projected onto them on request."""

from __future__ import annotations

from typing import Any

import numpy as np

from pliant.core.errors import ConvergenceError, InputError
from pliant.core.types import FloatArray
from pliant.hybrid.constraint_rows import constraint_rows, least_norm
from pliant.hybrid.contact_laws import Grip, Mode
from pliant.hybrid.equations import Discrete, Equations
from pliant.hybrid.system import Contact, Joint

TOLERANCE = 1e-8
"""m or rad, and per s; largest violation of a constraint by an initial state, above what projection leaves."""


def initial_discrete(equations: Equations, q: FloatArray) -> Discrete:
    """The initial discrete state: joints active, contacts free, machines in their initial states."""
    system = equations.system
    modes = np.zeros(equations.m, np.int8)
    offsets = np.zeros(equations.m)
    owned = {name: machine for machine in system.machines for name in machine.owned}
    for index, constraint in enumerate(system.constraints):
        rows = slice(equations.first[index], equations.first[index + 1])
        machine = owned.get(constraint.name)
        active = () if machine is None else machine.active.get(machine.initial, ())
        closed = isinstance(constraint, Joint) if machine is None else constraint.name in active
        modes[rows] = Mode.CONTACT if closed else Mode.FREE
        if closed and isinstance(constraint, Joint) and constraint.relative:
            offsets[rows] = equations.gaps(q, index)
    states = tuple(machine.initial for machine in system.machines)
    grips = np.full(equations.m, Grip.NONE, np.int8)
    return Discrete(modes, grips, np.tile([1.0, 0.0], (equations.m, 1)), offsets, states)


def consistent_initial_state(equations: Equations, *, project: bool) -> tuple[FloatArray, FloatArray, Discrete]:
    """q, v and the discrete state at time 0, refused or projected where it violates a constraint."""
    system = equations.system
    q, v = system.q0.copy(), system.v0.copy()
    discrete = initial_discrete(equations, q)
    worst, name, amount = _violation(equations, discrete, q, v)
    if worst > TOLERANCE:
        if not project:
            raise InputError(
                f"{system.name} starts with {name} violated by {amount:g}: change q0 or v0, or pass project=True to "
                "project the initial state onto the constraints"
            )
        q, v = _projected(equations, discrete, q, v)
    return q, v, discrete


def _violation(equations: Equations, discrete: Discrete, q: FloatArray, v: FloatArray) -> tuple[float, str, float]:
    """The largest violation of a constraint at the start, its name, and its signed amount."""
    worst, name, amount = 0.0, "", 0.0
    for index, constraint in enumerate(equations.system.constraints):
        rows = slice(equations.first[index], equations.first[index + 1])
        h = equations.gaps(q, index) - discrete.offsets[rows]
        closed = discrete.modes[rows] == Mode.CONTACT
        inside = equations.switched[rows] & (equations.openings(q, index) < 0.0)
        checks = [("", np.where(closed, np.abs(h), np.where(inside, -h, 0.0)), h)]
        if closed.any():
            _, H, _ = constraint_rows(constraint, q, v, np.arange(constraint.count), all_rows=True)
            checks.append((" rate", np.where(closed, np.abs(H @ v), 0.0), H @ v))
        for kind, size, signed in checks:
            k = int(np.argmax(size))
            if size[k] > worst:
                what = "contact" if isinstance(constraint, Contact) else "joint"
                worst, name, amount = float(size[k]), f"{what} {constraint.name!r}{kind}", float(signed[k])
    return worst, name, amount


def _projected(
    equations: Equations, discrete: Discrete, q: FloatArray, v: FloatArray
) -> tuple[FloatArray, FloatArray]:  # fmt: skip
    """The nearest admissible state in the metric of the mass matrix: Gauss–Newton on q, then one projection of v."""
    for _ in range(50):
        h, H, closed, opening = _all_rows(equations, discrete, q, v)
        bad = closed | (opening < 0.0)
        if not bad.any() or np.abs(h[bad]).max() < 1e-14:
            break
        solve_mass = equations.solve_mass(q)
        push = solve_mass(H[bad].T)
        q = q - push @ least_norm(H[bad] @ push, h[bad])[0]
    h, H, closed, opening = _all_rows(equations, discrete, q, v)
    if (np.abs(h[closed]) > TOLERANCE).any() or (opening < -TOLERANCE).any():
        raise ConvergenceError(f"{equations.system.name}: no state near the start satisfies all constraints", result=q)
    rate = H @ v
    stop = closed | ((opening <= 1e-9) & (rate < 0.0))
    if stop.any():
        push = equations.solve_mass(q)(H[stop].T)
        v = v - push @ least_norm(H[stop] @ push, rate[stop])[0]
    return q, v


def _all_rows(
    equations: Equations, discrete: Discrete, q: FloatArray, v: FloatArray
) -> tuple[FloatArray, FloatArray, Any, FloatArray]:  # fmt: skip
    """h (k,), H (k, n), whether closed (k,), and openings (k,) of the rows that can be active at the start."""
    h, H, all_closed, openings = [], [], [], []
    for index, constraint in enumerate(equations.system.constraints):
        rows = slice(equations.first[index], equations.first[index + 1])
        closed = discrete.modes[rows] == Mode.CONTACT
        if equations.switched[rows.start] or closed[0]:
            value, slope, _ = constraint_rows(constraint, q, v, np.arange(constraint.count), all_rows=True)
            h.append(value - discrete.offsets[rows])
            H.append(slope)
            all_closed.append(closed)
            openings.append(equations.openings(q, index))
    return np.concatenate(h), np.concatenate(H), np.concatenate(all_closed), np.concatenate(openings)
