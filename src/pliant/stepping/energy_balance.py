"""Energy that a step of the midpoint rule adds by its discretisation.

A converged step loses or gains ½ v·Mv as the work of all its forces says, each taken along the displacement dx of the
step. What the elements hold then differs from the work done on them, and so do constraints that turn within the step:

    elements      E(q⁺) − E(q) − f(q + dx/2) · dx        third order in dx; stiff elements that turn by ϑ look as if
                                                         shortened by ϑ²/8, and end up longer than they are
    constraints   λ · (H dx − Δδ)                        cables, joints: what H in the middle does not see
    contacts      λ · (H dx − h c), where positive       contacts give no energy; c is the rate of a moving obstacle

All three vanish with the fourth power of the angle of a step, so that halves of it mend them (`stepping.parts`).
"""

from __future__ import annotations

import numpy as np

from pliant.core.immutable import evolve
from pliant.core.types import FloatArray, IntArray
from pliant.models.model import size_of
from pliant.solvers.contact import Law
from pliant.stepping.stages import Step

MOST = 0.02
"""Energy that a step may add, as a fraction of what moves in it: kinetic energies and the change of elastic energy.
Reversible errors of undamped vibrations are mostly below it; those that make a body blow up are ten times as large.
"""

NEGLIGIBLE = 1e-6
"""Motion of a body over its size in a step that adds nothing but rounding: what is added grows with its cube."""


def added_fraction(step: Step) -> float:
    """Energy that the discretisation of `step` added, as a fraction of its kinetic energy and of what its elements take
    up or give back.
    """
    if _largest_motion(step) < NEGLIGIBLE:
        return 0.0
    bodies = step.bodies
    changes, added = 0.0, _by_constraints(step)
    for trial in bodies.trials:
        change, own = trial.elastic_balance()
        changes, added = changes + abs(change), added + own
    kinetic = 0.0
    pairs = zip(
        bodies.world.models, bodies.trials, bodies.start.q, bodies.start.v, bodies.end_velocities(), strict=True
    )
    for model, trial, q, v, after in pairs:
        kinetic += model.kinetic_energy(q, v) + model.kinetic_energy(trial.positions(), after)
    moved = kinetic + changes
    if not np.isfinite(added):
        return np.inf
    return added / moved if moved > 0.0 else 0.0


def _largest_motion(step: Step) -> float:
    """The largest motion of a node, over the size of its body, or turn of a frame, rad."""
    most = 0.0
    for trial, q in zip(step.bodies.trials, step.bodies.start.q, strict=True):
        model, end = trial.model, trial.positions()
        moved = np.abs(model.node_positions(end) - model.node_positions(q)).max(initial=0.0)
        turned = np.abs(trial.dx[..., 1, :]).max(initial=0.0) if trial.dx.shape[-2:] == (2, 3) else 0.0
        most = max(most, float(moved) / size_of(model, end), float(turned))
    return most


def _by_constraints(step: Step) -> float:
    """Energy that constraints gave without taking it from a command, J."""
    assembly, bodies = step.assembly, step.bodies
    if assembly is None or not step.lam.any():
        return 0.0
    rows, done = assembly.rows, np.zeros(assembly.rows.count)
    for H, dx in zip(rows.H, bodies.dx, strict=True):
        done += H @ dx.ravel()
    end = bodies.view()
    begun = bodies.at([np.zeros(dx.shape) for dx in bodies.dx]).view()
    memories = bodies.start.memories or (None,) * len(step.world.constraints)
    total, contacts = 0.0, 0.0
    for index, (constraint, own) in enumerate(zip(step.constraints, assembly.slices, strict=True)):
        lam = step.lam[own]
        if not lam.any():
            continue
        if constraint.is_contact:
            drift = bodies.scheme.dt * constraint.rates(end, rows.part(own), assembly.memories[index])
            contacts += float(lam @ (done[own] - drift))
            continue
        memory = memories[index] if index < len(memories) else None
        views = [view if memory is None else evolve(view, memory=memory) for view in (begun, end)]
        first, last = (constraint.rows_at(view)[0] for view in views)
        if np.array_equal(first.key, rows.key[own]) and np.array_equal(last.key, first.key):
            total += _unseen(lam, done[own], last.gap - first.gap, rows.law[own])
    return total + max(0.0, contacts)


def _unseen(lam: FloatArray, done: FloatArray, change: FloatArray, law: IntArray) -> float:
    """Work of rows by their forces `lam` along `done` beyond that along the `change` of δ, (m,) each, J."""
    holds = np.isin(law, (int(Law.BILATERAL), int(Law.SIGNORINI), int(Law.BOUNDED), int(Law.IMPOSED)))
    return float(lam[holds] @ (done - change)[holds])
