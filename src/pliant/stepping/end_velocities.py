"""Stages of implicit midpoint for constraints: where their forces point, and velocities that agree with them.

A row asks for its gap at the end of the step. With v⁺ = 2 dx/h − v alone the velocity across a closed row would change
its sign in every step, and a force along the gradient at the end of the step does work. Both are mended:

    forces       H of constraints that are not contacts is that of the middle of the step, as all other forces
    velocities   v⁺ ← v⁺ + (h/2) M⁻¹ Hᵀ Δλ with H v⁺ = 0, or the rate of a command, on closed rows at the end

The first makes the constraint force second order. The second is the velocity constraint of RATTLE (Hairer, Lubich,
Wanner, Geometric Numerical Integration, VII.1.4): a projection in the metric of the kinetic energy, which it never
raises. Contacts impose their law again, on velocities: half of the force λ that keeps the bodies apart acts at the
start of the step, the other half is found anew at its end from Signorini's and Coulomb's laws on v⁺ (Moreau's impact
law without restitution; Acary, Brogliato, Numerical Methods for Nonsmooth Dynamical Systems, 10). So a body that lands
stays, and one that slides is braked by μ times the impulse that it has felt.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy import sparse

from pliant.constraints import Assembly, Rows, RowView
from pliant.core.arrays import stacked
from pliant.core.immutable import evolve
from pliant.core.types import BoolArray, FloatArray, IndexArray
from pliant.materials import Tangent
from pliant.models.model import Factor, StepStart, System
from pliant.models.scheme import euler_scheme
from pliant.solvers.contact import Law, MixedProblem
from pliant.stepping.bodies import Projection
from pliant.stepping.session import solve_in_budget
from pliant.stepping.stages import Step

VANISHING = 1e-9
"""Step, as a fraction of dt, over which A is the mass: stiffness adds less than (1e-9 ω dt)² to it."""
REGULARIZATION = 1e-10
"""Compliance added to the rows, as a fraction of their own: redundant rows then share their force."""
NOISE = 1e-9
"""Gain of energy, as a fraction of the terms of which it is a sum, that is their rounding."""


def directions_at_middle(step: Step, assembly: Assembly | None) -> Assembly | None:
    """`assembly` with the gradients H of constraints that are not contacts taken at the middle of the step."""
    if assembly is None or not any(x.any() for x in step.bodies.dx):
        return assembly
    with step.timers.stage("rows"):
        q = [trial.evaluation_point() for trial in step.bodies.trials]
        return _redirected(step, assembly, evolve(step.bodies.view(), q=q))


def project_velocities(step: Step) -> Step:
    """The step with velocities at its end that agree with the closed rows, and with the mean forces of contacts."""
    if step.assembly is None or not step.assembly.rows.count:
        return step
    with step.timers.stage("velocities"):
        view = step.bodies.view()
        assembly = _redirected(step, step.assembly, view)
        pressing, closed = _closed_rows(step, assembly.rows, step.lam)
        picked = np.flatnonzero(pressing | closed)
        return _projected(step, assembly, view, picked, pressing[picked]) if len(picked) else step


def _projected(step: Step, assembly: Assembly, view: RowView, picked: IndexArray, pressing: BoolArray) -> Step:
    rows, lam, half = assembly.rows, step.lam[picked], 0.5 * view.dt
    H = [own[picked] for own in rows.H]
    v = list(step.bodies.end_velocities())
    masses = masses_at_end(step, H, v)
    W = np.zeros((len(picked), len(picked)))
    c = _rates(step, assembly, view)[picked]
    rate = -c
    for own, speed, mass in zip(H, v, masses, strict=True):
        rate += own @ speed.ravel()
        if mass is not None:
            W += half * mass[0] * mass[2].compliance(own)
    known = np.where(pressing, lam, 0.0)
    rate -= W @ known
    W[np.diag_indices(len(picked))] *= 1.0 + REGULARIZATION
    law = np.where(pressing, rows.law[picked], int(Law.BILATERAL)).astype(np.int32)
    problem = MixedProblem.of(W, rate, law, mu=rows.mu[picked])
    found = solve_in_budget(problem, known).lam
    if (law == Law.COULOMB).any() and _gains(problem, known, found, _contact_work(step, H, c, known), view.dt):
        problem = _with_bounded_friction(problem, known)
        found = solve_in_budget(problem, known).lam
    for index, mass in enumerate(masses):
        if mass is not None:
            scale, system, factor = mass
            change = half * scale * factor.response(H[index], found - known)
            v[index] = v[index] + change.reshape(v[index].shape)
            system.release(factor)
    mean = step.lam.copy()
    mean[picked] = np.where(pressing, 0.5 * (lam + found), lam)
    projection = Projection(picked, problem, known, found, step.lam)
    return evolve(step, bodies=evolve(step.bodies, velocities=tuple(v), projection=projection), lam=mean)


def _contact_work(step: Step, H: Sequence[sparse.csr_matrix], c: FloatArray, lam: FloatArray) -> float:
    """Work of contact forces `lam` (m,), N, over the step, against obstacles that move at rates `c` (m,), m/s; J."""
    slip = -step.bodies.scheme.dt * c
    for own, dx in zip(H, step.bodies.dx, strict=True):
        slip += own @ dx.ravel()
    return float(lam @ slip)


def _gains(problem: MixedProblem, known: FloatArray, found: FloatArray, work: float, dt: float) -> bool:
    """Whether the change of forces from `known` to `found` gives more energy than contacts took, −`work` (J)."""
    before = problem.delta_free + problem.W @ known
    parts = 0.25 * dt * (found - known) * (before + problem.delta_free + problem.W @ found)
    return bool(parts.sum() > max(0.0, -work) + NOISE * np.abs(parts).sum())


def _with_bounded_friction(problem: MixedProblem, known: FloatArray) -> MixedProblem:
    """The problem with friction bounded by what the forces `known` allow on each tangent, which makes it convex."""
    law, lower, upper = problem.law.copy(), problem.lower.copy(), problem.upper.copy()
    first = np.flatnonzero(problem.law == Law.COULOMB)[::3]
    law[first] = int(Law.SIGNORINI)
    for offset in (1, 2):
        tangent = first + offset
        law[tangent] = int(Law.BOUNDED)
        upper[tangent] = np.maximum(problem.mu[first] * known[first], np.abs(known[tangent]))
        lower[tangent] = -upper[tangent]
    return evolve(problem, law=law, lower=lower, upper=upper)


def _redirected(step: Step, assembly: Assembly, view: RowView) -> Assembly:
    """`assembly` with the gradients at `view` where the constraint is no contact and has the same rows there."""
    constraints = step.constraints
    if all(each.is_contact for each in constraints):
        return assembly
    rows, memories = assembly.rows, step.bodies.start.memories or (None,) * len(step.world.constraints)
    parts = []
    for index, (constraint, own) in enumerate(zip(constraints, assembly.slices, strict=True)):
        H = [h[own] for h in rows.H]
        if not constraint.is_contact and own.stop > own.start:
            memory = memories[index] if index < len(memories) else None
            there, _ = constraint.rows_at(view if memory is None else evolve(view, memory=memory))
            if np.array_equal(there.key, rows.key[own]):
                H = list(there.H)
        parts.append(H)
    turned = tuple(stacked([part[k] for part in parts]) for k in range(len(rows.H)))
    return evolve(assembly, rows=evolve(rows, H=turned))


def _closed_rows(step: Step, rows: Rows, lam: FloatArray) -> tuple[BoolArray, BoolArray]:
    """Rows of contacts that press, and other rows whose δ meets its target, (m,) each."""
    contact = np.zeros(rows.count, bool)
    assert step.assembly is not None
    for constraint, own in zip(step.constraints, step.assembly.slices, strict=True):
        contact[own] = constraint.is_contact
    cone = rows.law == Law.COULOMB
    first = np.flatnonzero(cone)[::3]
    pressing = contact & (rows.law == Law.SIGNORINI) & (lam > 0.0)
    for offset in range(3):
        pressing[first + offset] = lam[first] > 0.0
    bounded = (rows.law == Law.BOUNDED) & (lam > rows.lower) & (lam < rows.upper)
    unilateral = ~contact & (rows.law == Law.SIGNORINI) & (lam > 0.0)
    return pressing, (rows.law == Law.BILATERAL) | bounded | unilateral


def _rates(step: Step, assembly: Assembly, view: RowView) -> FloatArray:
    """dδ/dt that closed rows have at the end of the step, (m,), m/s."""
    triples = zip(step.constraints, assembly.slices, assembly.memories, strict=True)
    rates = np.zeros(assembly.rows.count)
    for constraint, own, memory in triples:
        if own.stop > own.start:
            rates[own] = constraint.rates(view, assembly.rows.part(own), memory)
    return rates


def masses_at_end(
    step: Step, H: Sequence[sparse.csr_matrix], v: Sequence[FloatArray]
) -> list[tuple[float, System, Factor] | None]:
    """For each body that rows act on, s, a system and its factor with M⁻¹ = s A⁻¹ at the end of the step."""
    bodies = step.bodies
    scheme = euler_scheme(VANISHING * bodies.scheme.dt)
    made: list[tuple[float, System, Factor] | None] = []
    for model, trial, own, speed in zip(bodies.world.models, bodies.trials, H, v, strict=True):
        if not own.nnz:
            made.append(None)
            continue
        start = StepStart(
            trial.positions(), np.zeros_like(speed), scheme, bodies.gravity, bodies.controls, trial.workspace
        )
        system, _ = model.trial(start).linearize(Tangent.PROJECTED)
        made.append((scheme.inertia, system, system.factorize()))
    return made
