"""The work of a contact without that of its damping, from the recorded steps.

    ∫ (λ − λ_d) ḣ dt,   S λ_d = −α₁ ∘ ḣ

A collision that begins and ends at h = 0 stores nothing, so this must vanish. With the law of the paper it does not
where the load on the contact changes meanwhile, for λ carries that load: then energy is gained or lost.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pliant.core.types import FloatArray
from pliant.hybrid.constraint_rows import least_norm
from pliant.hybrid.mode_dynamics import ModeDynamics
from pliant.hybrid.runge_kutta import RungeKutta
from pliant.hybrid.solution import StepRecord

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(5)
# five points: exact to degree nine on each step's dense output, which has degree seven
_GAUSS = tuple(zip((0.5 + 0.5 * _NODES).tolist(), (0.5 * _WEIGHTS).tolist(), strict=True))


def contact_work(records: Sequence[StepRecord], row: int, method: RungeKutta) -> float:
    """The work (J) of the contact of a row without its damping, over recorded steps in which it is active."""
    total = 0.0
    for record in records:
        flow, length = record.flow, record.t1 - record.t
        equations, n = flow.dynamics.equations, flow.n
        index, local = equations.locate(row)
        which = np.array([local])
        dense = record.interpolant(method)
        at = int(np.flatnonzero(flow.dynamics.rows == row)[0])
        for x, weight in _GAUSS:
            y = dense.state(x)
            flow.rate(record.t + x * length, y)
            q, v = y[:n], y[n : 2 * n]
            rate = equations.rates(q, v, index, which)[1][0]
            total += weight * length * (flow.dynamics.lam[at] - _damping(flow.dynamics, q, v)[at]) * rate
    return float(total)


def _damping(dynamics: ModeDynamics, q: FloatArray, v: FloatArray) -> FloatArray:
    """The contribution (k,) N of α₁ to the forces of the active rows."""
    if not dynamics.alpha1.any():
        return np.zeros(dynamics.normal_count)
    R, F, _ = dynamics.assemble(q, v)
    rates = np.zeros(len(R))
    rates[: dynamics.normal_count] = dynamics.alpha1 * (R @ v)[: dynamics.normal_count]
    return -least_norm(R @ dynamics.equations.solve_mass(q)(F.T), rates)[0]
