"""Model reduction in one call: a world whose contact forces and motions are combinations of a few modes.

The plan is simulated in the full world. Its contact forces give a non-negative basis Ψ, its shapes a subspace Φ with
few integration points; held-out snapshots determine both sizes. The result is again a world for all steppers.

Reference: O. Goury, B. Carrez, C. Duriez, "Real-time simulation for control of soft robots with self-collisions using
model order reduction for contact forces", IEEE RA-L 6, 2021.
"""

from __future__ import annotations

import json
import warnings
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal

import numpy as np

from pliant.collision import ContactSet
from pliant.constraints.contact import ContactPair
from pliant.constraints.contact_memory import ContactMemory
from pliant.constraints.facing import FacingPair
from pliant.constraints.keys import contact_row_keys
from pliant.core.checks import positive
from pliant.core.declared import declared
from pliant.core.errors import InputError, PliantError, PliantWarning
from pliant.core.types import FloatArray
from pliant.reduced import ContactBasis, ReducedPair, Subspace, contact_points
from pliant.reduction.choose import choose_basis
from pliant.reduction.choose_modes import HELD_OUT, choose_modes, is_rich
from pliant.reduction.cone import cone_basis
from pliant.reduction.ecsw import ecsw
from pliant.reduction.experiments import STEPPER, experiments
from pliant.reduction.plans import Plan
from pliant.reduction.snapshots import Snapshots
from pliant.world import World
from pliant.world.reduced import Training, reduced

LARGE_RESIDUAL = 0.2
"""Relative residual above which a snapshot is not an equilibrium; few linear solves of large bending leave as much."""
MOST_EQUATIONS = 2400
"""Most training equations (snapshots × modes) for integration points: more take minutes and change few points."""


@declared
def reduce(
    world: World, plan: Plan | Snapshots, *,
    contact_tolerance: float | None = None, motion_tolerance: float | None = None,
    method: Literal["nnmf", "cone"] = "nnmf", curvature: bool = False, guards: int = 0, depth: float = 0.01,
    stepper: Any = None, folder: str | Path | None = None, on: str | None = None, workers: int | None = 1,
    seed: int = 0, progress: bool | None = None,
) -> World:  # fmt: skip
    """`world` with its contacts, its motions or both in a few modes.

    plan
        Actuation of the experiments (`ramps`, `plackett_burman`…), or their `Snapshots`.
    contact_tolerance
        Relative error of contact forces on held-out snapshots, usual 0.1 … 0.01; it determines the number of contact
        modes of each pair. Pairs that never touch are not reduced. None reduces no contacts.
    motion_tolerance
        Relative projection error of held-out snapshots, usual 1e-2 … 1e-4; it determines the number of modes of each
        volume, and three times it the integration points. The error of the motion may be several times larger, with
        self-contact ten times: see `validate`. None reduces no motions. More contact rows than modes may be infeasible:
        the run with the most contacts is tried, and an error says so.
    method
        Contact modes by non-negative factorization ("nnmf"), or chosen among the snapshots ("cone").
    curvature
        Use quadratic manifolds instead of linear subspaces: fewer coordinates for large bending.
    guards
        Full rows beside the contact modes; see `ContactBasis`.
    depth
        Allowed penetration of points outside every contact mode, as a fraction of the contact margin, usual
        0.05 … 0.005: smaller is more accurate and takes more rows.
    stepper, folder, on, workers, progress
        As of `experiments`; the default is this process, or with `on` all workers there.
    seed
        Seed of the held-out snapshots and of the factorization.
    """
    if contact_tolerance is None and motion_tolerance is None:
        raise InputError("nothing to reduce: give contact_tolerance, motion_tolerance, or both")
    if world.reductions:
        raise InputError("this world is reduced already; reduce the full one")
    if isinstance(plan, Plan):
        used = None if on is not None and workers == 1 else workers
        seen = experiments(world, plan, stepper=stepper, folder=folder, on=on, workers=used, progress=progress)
    else:
        seen = plan
        _check_own(world, seen)
    parts: list[Any] = []
    if contact_tolerance is not None:
        positive("contact_tolerance", contact_tolerance)
        parts += contact_bases(
            world, seen, tolerance=contact_tolerance, method=method, guards=guards, depth=depth, seed=seed
        )
    if motion_tolerance is not None:
        parts += subspaces(world, seen, tolerance=motion_tolerance, curvature=curvature, seed=seed)
    fast = reduced(world, [*parts, Training(json.dumps(seen.provenance["plan"]))])
    if motion_tolerance is not None:
        _check_follows(fast, seen, STEPPER if stepper is None else stepper)
    return fast


@declared
def contact_bases(
    world: World, snapshots: Snapshots, *, tolerance: float,
    method: Literal["nnmf", "cone"] = "nnmf", guards: int = 0, depth: float = 0.01, seed: int = 0,
) -> list[ContactBasis]:  # fmt: skip
    """Contact modes of every pair of surfaces that pushes in the snapshots; see `reduce`."""
    found: list[ContactBasis] = []
    for index, constraint in enumerate(world.constraints):
        pair = _reducible(constraint)
        if pair is None or not snapshots.forces(index)[1].nnz:
            continue
        points = None
        if isinstance(pair, FacingPair):
            keys = contact_row_keys(pair.key(np.arange(pair.count)), 1)
            forces = snapshots.forces(index, keys=keys)[1].toarray()
        else:
            points = contact_points(pair, contact_history(world, snapshots, index))
            forces = points.snapshots
        modes = _modes(forces, tolerance, method, seed)
        found.append(ContactBasis.of(pair, modes, points=points, guards=guards, tolerance=depth))
    if not found:
        raise InputError(
            f"no surfaces touch in these {snapshots.count} snapshots, so there is no contact to reduce: actuate "
            "further, let bodies collide, or leave contact_tolerance out"
        )
    return found


@declared
def subspaces(
    world: World, snapshots: Snapshots, *, tolerance: float, curvature: bool = False, seed: int = 0
) -> list[Subspace]:
    """Modes and integration points of every volume that moves in the snapshots; see `reduce`."""
    if not world.volumes:
        raise InputError("this world has no volumes, so there are no motions to reduce; leave motion_tolerance out")
    positive("motion_tolerance", tolerance)
    if (apart := float(np.quantile(snapshots.residual, 0.9))) > LARGE_RESIDUAL:
        warnings.warn(
            f"a tenth of the snapshots are out of balance by {apart:.2g} of their forces or more, so the body does not "
            "take these shapes: record them with a stepper that converges, such as pl.QuasiStatic(), or in more steps",
            PliantWarning,
            stacklevel=3,
        )
    rich, found = is_rich(snapshots), []
    for model in world.volumes:
        space = choose_modes(model, snapshots, tolerance=tolerance, curvature=curvature, seed=seed).subspace
        every = -(-snapshots.count * space.size // MOST_EQUATIONS)
        shapes = snapshots.positions(model.name)[::-every]
        found.append(ecsw(model, space, shapes, tolerance=min(0.5, 3.0 * tolerance), stiffness=not rich))
    return found


def contact_history(world: World, snapshots: Snapshots, index: int) -> list[tuple[ContactMemory, FloatArray]]:
    """Contacts of the pair `index` among the constraints and their normal forces λ (N), at every snapshot."""
    pair = world.constraints[index]
    assert isinstance(pair, ContactPair)
    assert pair.a.surface is not None
    assert pair.b.surface is not None
    none = ContactSet.empty(len(pair.a.surface.rest), len(pair.b.surface.rest))
    history = []
    for first, end in pairwise(snapshots.starts):
        own = first + np.flatnonzero((snapshots.maker[first:end] == index) & snapshots.normal[first:end])
        nodes, weights, unknown = snapshots.nodes[own], snapshots.weights[own], np.zeros((len(own), 3))
        contacts = replace(
            none, kind=np.zeros(len(own), np.uint8), key=snapshots.keys[own] // 3, gap=unknown[:, 0],
            nodes_a=nodes[:, 0], nodes_b=nodes[:, 1], weights_a=weights[:, 0], weights_b=weights[:, 1],
            normal=unknown, point_a=unknown, point_b=unknown, face=np.full(len(own), -1, np.int32),
        )  # fmt: skip
        history.append((ContactMemory(contacts, unknown[:, None]), snapshots.lam[own]))
    return history


def _reducible(constraint: Any) -> ContactPair | None:
    """The pair whose contacts a constraint has in points and triangles, or None."""
    if isinstance(constraint, ReducedPair) and isinstance(constraint.full, FacingPair):
        return constraint.full
    if isinstance(constraint, FacingPair):
        return constraint
    if type(constraint) is ContactPair and constraint.a.surface is not None and constraint.b.surface is not None:
        return constraint
    return None


def _modes(forces: FloatArray, tolerance: float, method: str, seed: int) -> FloatArray:
    """Non-negative modes (contacts, k) of forces (contacts, snapshots), N."""
    touching = np.flatnonzero(forces.any(axis=0))
    if method == "cone":
        return cone_basis(forces[:, touching], tolerance=tolerance).basis
    if method != "nnmf":
        raise InputError(f'method must be "nnmf" or "cone", got {method!r}')
    order = np.random.default_rng(seed).permutation(touching)
    count = round(HELD_OUT * len(order))
    if not 0 < count < len(order):
        raise InputError(f"{len(order)} snapshots with contact are too few to choose and check modes; record more")
    return choose_basis(forces[:, order[count:]], forces[:, order[:count]], tolerance=tolerance, seed=seed).basis


def _check_follows(fast: World, seen: Snapshots, stepper: Any) -> None:
    """Raise an `InputError` where the recorded run with most contacts is infeasible with the few modes."""
    touching = [index for index, constraint in enumerate(fast.constraints) if constraint.is_contact]
    pushing = np.concatenate([[0], np.cumsum(np.isin(seen.maker, touching) & (seen.lam > 0.0))])
    at_once = np.diff(pushing[seen.starts])
    if not at_once.any():
        return
    run = int(seen.run[at_once.argmax()])
    plan, state = Plan.of(fast, seen.provenance["plan"]), fast.initial_state()
    for step in range(plan.steps):
        try:
            state, _ = stepper(fast, state, plan.controls(run, step))
        except PliantError as error:
            modes = ", ".join(f"{r.body.name!r} in {r.size}" for r in fast.reductions if isinstance(r, Subspace))
            kept = "" if any(isinstance(r, ContactBasis) for r in fast.reductions) else (
                ", and give contact_tolerance too, so that fewer rows push"
            )  # fmt: skip
            raise InputError(
                f"the reduced world cannot follow run {run} of its own plan beyond step {step}, where up to "
                f"{at_once.max()} contacts push at once and bodies move in few modes ({modes}): {error}. Take a "
                f"smaller motion_tolerance, so that there are more modes{kept}"
            ) from error


def _check_own(world: World, snapshots: Snapshots) -> None:
    bodies, constraints = (tuple(part.name for part in parts) for parts in (world.models, world.constraints))
    shapes = tuple(model.initial()[0].shape for model in world.models)
    if (bodies, constraints) != (snapshots.bodies, snapshots.makers) or shapes != tuple(
        x.shape[1:] for x in snapshots.q
    ):
        raise InputError(f"the snapshots are of another world (bodies {', '.join(snapshots.bodies)}); record this one")
