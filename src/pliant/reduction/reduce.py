"""Offline once, real time afterwards: a world whose contacts and motions are in a few modes, by one call.

The plan is carried out in the full world; what its contacts pushed becomes a non-negative basis Ψ, what its bodies did
a subspace Φ with the few integration points it needs, both of a size that held-out snapshots decide. What comes out is
again a world: direct and inverse steppers take it as they take the full one.

Reference: O. Goury, B. Carrez, C. Duriez, "Real-time simulation for control of soft robots with self-collisions using
model order reduction for contact forces", IEEE RA-L 6, 2021.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Literal

import numpy as np

from pliant.collision import concatenate
from pliant.constraints import RowView
from pliant.constraints.contact import ContactMemory, ContactPair
from pliant.constraints.contact_basis import ContactBasis
from pliant.constraints.facing import FacingPair
from pliant.constraints.pair_basis import PairBasis, facing_of
from pliant.constraints.rows import forces_of
from pliant.core.checks import positive
from pliant.core.errors import InputError
from pliant.core.types import FloatArray
from pliant.models.volume import Subspace
from pliant.reduction.choose import choose_basis
from pliant.reduction.cone import cone_basis
from pliant.reduction.curved import curved
from pliant.reduction.ecsw import ecsw
from pliant.reduction.experiments import experiments
from pliant.reduction.plans import Plan
from pliant.reduction.pod import pod
from pliant.reduction.snapshots import Snapshots
from pliant.world import World
from pliant.world.reduced import Training, reduced

HELD_OUT = 0.2
"""Fraction of the snapshots that decides how many modes there are, and takes no part in making them."""


def reduce(
    world: World,
    plan: Plan | Snapshots,
    *,
    contact_tolerance: float | None = None,
    motion_tolerance: float | None = None,
    method: Literal["nnmf", "cone"] = "nnmf",
    curvature: bool = False,
    guards: int = 0,
    stepper: Any = None,
    folder: str | Path | None = None,
    workers: int | None = 1,
    seed: int = 0,
    progress: bool = False,
) -> World:
    """`world` with its contacts, its motions or both in a few modes: again a world, to be saved with `save`.

    plan
        What the actuators do in the experiments (`ramps`, `plackett_burman`…), or the `Snapshots` of such already.
    contact_tolerance
        Relative error of contact forces on held-out snapshots, usual 0.1 … 0.01, which decides the number of contact
        modes of every pair; pairs that never touch keep their contacts in full. None leaves all contacts as they are.
    motion_tolerance
        What the modes of a volume may leave of its snapshots, usual 1e-2 … 1e-4, which decides their number, and ten
        times that the integration points. None leaves motions as they are.
    method
        Contact modes by non-negative factorization, or the snapshots themselves that span the others ("cone").
    curvature
        Let volumes move in a curved space: fewer coordinates follow far bending.
    guards
        Full rows that watch over the contact modes; see `ContactBasis`.
    stepper, folder, workers, progress
        As of `experiments`.
    seed
        Of the choice of held-out snapshots and of the start of the factorization.
    """
    if contact_tolerance is None and motion_tolerance is None:
        raise InputError("nothing to reduce: give contact_tolerance, motion_tolerance, or both")
    if world.reductions:
        raise InputError("this world is reduced already; reduce the full one")
    if isinstance(plan, Plan):
        seen = experiments(world, plan, stepper=stepper, folder=folder, workers=workers, progress=progress)
    else:
        seen = plan
        _check_own(world, seen)
    parts: list[Any] = []
    if contact_tolerance is not None:
        positive("contact_tolerance", contact_tolerance)
        parts += contact_bases(world, seen, tolerance=contact_tolerance, method=method, guards=guards, seed=seed)
    if motion_tolerance is not None:
        parts += subspaces(world, seen, tolerance=motion_tolerance, curvature=curvature)
    return reduced(world, [*parts, Training(json.dumps(seen.provenance["plan"]))])


def contact_bases(
    world: World,
    snapshots: Snapshots,
    *,
    tolerance: float,
    method: Literal["nnmf", "cone"] = "nnmf",
    guards: int = 0,
    seed: int = 0,
) -> list[ContactBasis | PairBasis]:
    """Contact modes of every pair of surfaces that pushes in the snapshots; see `reduce`."""
    found: list[ContactBasis | PairBasis] = []
    for number, maker in enumerate(world.row_makers):
        if not _reducible(maker):
            continue
        _, forces = snapshots.forces(number)
        if not forces.nnz:
            continue
        if isinstance(maker, FacingPair):
            keys = 3 * maker.key(np.arange(maker.count))
            modes = _modes(snapshots.forces(number, keys=keys)[1].toarray(), tolerance, method, seed)
            found.append(ContactBasis.of(maker, modes, guards=guards))
        else:
            assert isinstance(maker, ContactPair)
            facing = facing_of(maker, contact_history(world, snapshots, number))
            modes = _modes(facing.snapshots, tolerance, method, seed)
            found.append(facing.basis(modes, guards=guards))
    if not found:
        raise InputError(
            f"no surfaces touch in these {snapshots.count} snapshots, so there is no contact to reduce: actuate "
            "further, let bodies collide, or leave contact_tolerance out"
        )
    return found


def subspaces(world: World, snapshots: Snapshots, *, tolerance: float, curvature: bool = False) -> list[Subspace]:
    """Modes and integration points of every volume that moves in the snapshots; see `reduce`."""
    if not world.volumes:
        raise InputError("this world has no volumes, so there are no motions to reduce; leave motion_tolerance out")
    found = []
    for model in world.volumes:
        shapes = snapshots.positions(model.name)
        modes = pod(model, shapes, tolerance=tolerance)
        subspace = curved(modes, shapes) if curvature else modes.subspace()
        found.append(ecsw(model, subspace, shapes, tolerance=min(0.5, 10.0 * tolerance)))
    return found


def contact_history(world: World, snapshots: Snapshots, number: int) -> list[tuple[ContactMemory, FloatArray]]:
    """Contacts of the pair that maker `number` is and their λ (N), at every snapshot."""
    pair = world.row_makers[number]
    assert isinstance(pair, ContactPair)
    width, sizes = 3 if pair.mu else 1, [model.size for model in world.models]
    own = snapshots.maker == number
    entry = np.repeat(np.arange(snapshots.count), np.diff(snapshots.starts))
    history: list[tuple[ContactMemory, FloatArray]] = []
    for k in range(snapshots.count):
        follows = k > 0 and snapshots.run[k] == snapshots.run[k - 1] and snapshots.step[k] == snapshots.step[k - 1] + 1
        q = [x[k] for x in snapshots.q]
        still = [np.zeros(model.held.shape) for model in world.models]
        view = RowView(q=q, start=q, moved=still, sizes=sizes, controls={}, time=0.0, dt=0.0, speeds=still)
        previous = history[-1][0].contacts if follows else None
        contacts, here = pair.detect(view, previous), own & (entry == k)
        if previous is not None:  # those that pushed before the last correction of the step, which took them away
            pushing = snapshots.keys[here & (snapshots.lam > 0.0)] // 3
            lost = np.isin(previous.key, pushing) & ~np.isin(previous.key, contacts.key)
            contacts = concatenate([contacts, previous.selected(lost)]) if lost.any() else contacts
        keys = (3 * contacts.key[:, None] + np.arange(width)).ravel()
        lam = forces_of(keys, snapshots.keys[here], snapshots.lam[here])
        history.append((ContactMemory(contacts, contacts.normal[:, None]), lam))
    return history


def _reducible(maker: Any) -> bool:
    """Whether a maker of rows is of contacts between points and triangles."""
    if isinstance(maker, FacingPair):
        return True
    return type(maker) is ContactPair and maker.a.surface is not None and maker.b.surface is not None


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
        raise InputError(
            f"{len(order)} snapshots with contact are too few to choose modes and to check them; record more steps"
        )
    return choose_basis(forces[:, order[count:]], forces[:, order[:count]], tolerance=tolerance, seed=seed).basis


def _check_own(world: World, snapshots: Snapshots) -> None:
    bodies, makers = (tuple(part.name for part in parts) for parts in (world.models, world.row_makers))
    shapes = tuple(model.initial()[0].shape for model in world.models)
    if (bodies, makers) != (snapshots.bodies, snapshots.makers) or shapes != tuple(x.shape[1:] for x in snapshots.q):
        raise InputError(
            f"the snapshots are of another world (bodies {', '.join(snapshots.bodies)}); record those of this one"
        )
