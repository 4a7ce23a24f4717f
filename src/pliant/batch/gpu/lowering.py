"""From a compiled world to the plain arrays that a card steps, or an error that names what it cannot step."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import reverse_cuthill_mckee

from pliant.actuators.cable import CableRows
from pliant.batch.gpu.arrays import Cables, Contacts, Elements, Lowered, Numbers, Sums
from pliant.collision import Plane
from pliant.constraints.contact import ContactPair
from pliant.core.errors import InputError
from pliant.core.types import FloatArray, IndexArray, IntArray
from pliant.materials import Part
from pliant.materials.laws import LINEAR
from pliant.models.volume.model import VolumeModel
from pliant.stepping import ImplicitEuler
from pliant.world import World

MOST_UNKNOWNS = 1500
"""Unknowns up to which blocks of a band are worth their memory: beyond, a card holds few copies."""
TERMS = 4
"""Terms of the first stage of a sum: most blocks off the diagonal have as many or fewer."""
_TANGENTS = np.eye(3)


def lower(world: World, changed: Sequence[World], *, slots: int, width: int = 16) -> Lowered:
    """The arrays of `world`, with the numbers of the worlds `changed` of the copies, in blocks of `width` unknowns."""
    model = check_supported(world)
    order, source, blocks, place = _band(model, width)
    cables = cables_of(world)
    return Lowered(
        elements=_elements(model, place, blocks),
        cables=_cables(model, cables, place, order, blocks),
        contacts=_contacts(world, place),
        numbers=numbers_of(world, changed, order),
        source=source,
        slots=np.array(_slots(slots, len(cables))),
    )


def pairs_of(world: World) -> list[Any]:
    """The contact pairs of a world that `check_supported` lets pass."""
    return [one for one in world.constraints if one.is_contact]


def cables_of(world: World) -> list[Any]:
    """The cables of a world that `check_supported` lets pass: what is no contact."""
    return [one for one in world.constraints if not one.is_contact]


def order_of(world: World, width: int) -> IndexArray:
    """The free nodes of the volume in the order of the matrix."""
    return _band(check_supported(world), width)[0]


def check_same(world: World, copy: World) -> None:
    """An error where a `copy` of `world` differs in more than numbers."""
    for cable, other in zip(cables_of(world), cables_of(copy), strict=True):
        if not np.array_equal(cable.fixed, other.fixed):
            _refuse(f"copies with another route of {cable.name!r}", "vary other parameters")


def check_stepper(stepper: Any) -> None:
    """An error where `stepper` is not one linear solve of implicit Euler."""
    if not isinstance(stepper, ImplicitEuler):
        _refuse(f"{type(stepper).__name__}", "use pl.ImplicitEuler(dt)")
    for name, usual in (("newton_iterations", 1), ("tolerance", None), ("solver", None)):
        if getattr(stepper, name) != usual:
            _refuse(f"{name}={getattr(stepper, name)!r} of the stepper", "use pl.ImplicitEuler(dt)")


def check_supported(world: World) -> VolumeModel:
    """The volume of a world that a card can step; an `InputError` names what it cannot."""
    if world.reductions:
        _refuse("a reduced world", "batch the full one")
    if len(world.models) != 1 or type(world.models[0]) is not VolumeModel:
        kinds = ", ".join(repr(str(model.name)) for model in world.models)
        _refuse(f"the bodies {kinds}", "it steps one pl.Volume with cables and planes")
    model: Any = world.models[0]
    name, part = repr(str(model.name)), model.constrained
    unknown = [
        (not model.is_linear_law, f"the material of {name}", "take pl.materials.Corotated"),
        (model.memory is not None, f"the viscoelastic or softening material of {name}", "take pl.materials.Corotated"),
        (model.split is not None, f'anti_locking="volume" of {name}', "take anti_locking=True or False"),
        (bool(model.fibres), f"the fibres of {name}", "leave them out"),
        (bool(model.pressure_loads), f"the pressure loads of {name}", "leave them out"),
        (bool(world.timed_loads), f"the loads over time of {name}", "leave them out"),
        (model.mass.blocks is not None, f"the consistent mass of {name}", "take lumped_mass=True"),
        (bool(model.supports), f"the moving supports of {name}", "clamp its nodes"),
        (not model.is_supported, f"{name} without a clamp", "clamp some of its nodes"),
        ((part.any(axis=1) != part.all(axis=1)).any(), f"single clamped axes of {name}", "clamp whole nodes"),
    ]
    for is_so, what, remedy in unknown:
        if is_so:
            _refuse(what, remedy)
    count = 3 * int((~part.all(axis=1)).sum())
    if count > MOST_UNKNOWNS:
        _refuse(f"{count} unknowns of {name}", f"take a mesh of at most {MOST_UNKNOWNS} unknowns")
    for one in world.constraints:
        _check_constraint(one)
    return model  # type: ignore[no-any-return]


def _check_constraint(one: Any) -> None:
    if type(one) is CableRows:
        spec = one.spec
        if spec.friction:
            _refuse(f"the friction of {one.name!r}", "take friction=0")
        if spec.guide_stiffness:
            _refuse(f"the guide of {one.name!r}", "take guide_stiffness=0")
        if not one.strands[0].pieces.joins(one.fixed):
            _refuse(f"the points of {one.name!r} outside the body", "keep all via points in the volume")
        if spec.limits.rate_limited:
            _refuse(f"the rates of {one.name!r}", "limit the commands instead")
        return
    if type(one) is ContactPair:
        if one.continuous:
            _refuse(f"the continuous pair {one.name!r}", "take continuous=False and a wider margin")
        if (
            one.b.index is None
            and isinstance(one.b.solid, Plane)
            and one.b.handle.motion is None
            and one.a is not one.b
        ):
            return
        _refuse(f"the pair {one.name!r}", "collide with pl.Obstacle.plane")
    _refuse(f"{one.name!r} ({type(one).__name__})", "it steps cables and contacts with planes")


def _refuse(what: str, remedy: str) -> None:
    raise InputError(f"device='gpu' cannot step {what}: {remedy}, or take device='cpu', which steps every world")


def _slots(capacity: int, cables: int) -> int:
    """Rows of each of the four groups: a power of two, with one to spare beside the cables."""
    return int(2 ** np.ceil(np.log2(max(capacity, cables + 1, 4))))


def _band(model: VolumeModel, width: int) -> tuple[IndexArray, IntArray, dict[tuple[int, int], int], IndexArray]:
    """Free nodes in the order of the matrix, the `source` of its entries, blocks by their nodes in that order, and the
    place of every node in it, past the end for clamped ones.
    """
    pattern, free = model.pattern, np.flatnonzero(~model.constrained.all(axis=1))
    rows = np.repeat(np.arange(pattern.node_count), np.diff(pattern.indptr))
    ones = np.ones(len(rows))
    joined = sparse.csr_matrix((ones, (rows, pattern.indices)), shape=(pattern.node_count,) * 2)
    joined = (joined + joined.T).tocsr()[free][:, free]
    order = free[reverse_cuthill_mckee(joined, symmetric_mode=True)]
    count = len(order)
    place = np.full(pattern.node_count, count)
    place[order] = np.arange(count)
    pairs = np.sort(place[np.stack([rows, np.asarray(pattern.indices)])], axis=0)[::-1].T  # larger first
    pairs = pairs[(pairs < count).all(axis=1) & (pairs[:, 0] != pairs[:, 1])]
    pairs = np.vstack([np.column_stack([np.arange(count)] * 2), pairs])
    blocks = {(int(a), int(b)): k for k, (a, b) in enumerate(pairs)}
    farthest = 3 * int((pairs[:, 0] - pairs[:, 1]).max()) + 2
    columns, reach = -(-3 * count // width), -(-farthest // width)
    size = (columns + reach) * width
    dense = np.full((size, size), 9 * len(pairs), np.int32)  # the zero
    a, b = 3 * pairs[:, :1], 3 * pairs[:, 1:]
    for i in range(3):
        for j in range(3):
            entry = 9 * np.arange(len(pairs)) + 3 * i + j
            dense[a[:, 0] + i, b[:, 0] + j] = dense[b[:, 0] + j, a[:, 0] + i] = entry
    spare = np.arange(3 * count, columns * width)
    dense[spare, spare] = 9 * len(pairs) + 1
    source = np.empty((columns, reach + 1, width, width), np.int32)
    for k in range(columns):
        for i in range(reach + 1):
            rows_of = slice((k + i) * width, (k + i + 1) * width)
            source[k, i] = dense[rows_of, k * width : (k + 1) * width].T
    return order, source, blocks, place


def _elements(model: VolumeModel, place: IndexArray, blocks: dict[tuple[int, int], int]) -> Elements:
    p = model.points
    count = len(place) - int(model.constrained.all(axis=1).sum())
    sizes = np.diff(p.ptr)
    width = int(sizes.max())
    nodes, G = np.full((p.count, width), count), np.zeros((p.count, width, 3))
    inside = np.arange(width) < sizes[:, None]
    nodes[inside], G[inside] = place[p.nodes], p.gradients
    entries = nodes.size
    flat = nodes.ravel()
    forces = sums([np.flatnonzero(flat == k) for k in range(count)], entries)
    left: list[list[int]] = [[] for _ in blocks]
    right: list[list[int]] = [[] for _ in blocks]
    for point in range(p.count):
        own = nodes[point]
        free = np.flatnonzero(own < count)
        for x in free:
            for y in free:
                if own[x] >= own[y]:
                    k = blocks[int(own[x]), int(own[y])]
                    left[k].append(point * width + int(x))
                    right[k].append(point * width + int(y))
    starts = np.cumsum([0, *(len(one) for one in left)])
    stages = sums([np.arange(a, b) for a, b in pairwise(starts)], int(starts[-1]))
    ends = [np.append(np.concatenate([np.asarray(x, np.int64) for x in side]), entries) for side in (left, right)]
    part = np.asarray(p.part)
    return Elements(
        nodes=nodes.astype(np.int32),
        gradients=G,
        weight=np.asarray(p.weight),
        material=np.asarray(p.material),
        shear=part != int(Part.VOLUME),
        bulk=part != int(Part.SHEAR),
        linear=np.asarray(model.laws) == LINEAR,
        forces=forces,
        left=ends[0][stages.first].astype(np.int32),
        right=ends[1][stages.first].astype(np.int32),
        blocks=stages.second,
    )


def sums(lists: Sequence[IndexArray], past: int) -> Sums:
    """Sums over `lists` of indices below `past`, in two stages."""
    parts = [[np.asarray(one[k : k + TERMS]) for k in range(0, max(len(one), 1), TERMS)] for one in lists]
    flat = [part for some in parts for part in some]
    first = np.full((len(flat), TERMS), past, np.int32)
    for row, part in zip(first, flat, strict=True):
        row[: len(part)] = part
    second = np.full((len(parts), max((len(some) for some in parts), default=1)), len(flat), np.int32)
    begin = 0
    for row, some in zip(second, parts, strict=True):
        row[: len(some)] = np.arange(begin, begin + len(some))
        begin += len(some)
    return Sums(first, second)


def _cables(
    model: VolumeModel, cables: Sequence[CableRows], place: IndexArray, order: IndexArray,
    blocks: dict[tuple[int, int], int],
) -> Cables:  # fmt: skip
    count = len(order)
    slopes, rests, owners = [], [], []
    for index, cable in enumerate(cables):
        pieces: Any = cable.strands[0].pieces
        segments = pieces.segments
        for s in range(len(segments.ptr) - 1):
            own = slice(segments.ptr[s], segments.ptr[s + 1])
            vector = np.zeros(len(place))
            vector[segments.nodes[own]] = segments.coefficients[own]
            slopes.append(vector)
            rests.append(vector @ model.rest)
            owners.append(index)
    if not cables:
        return Cables(np.zeros((count, 0)), np.zeros((0, 3)), np.zeros(0, np.int32), np.zeros(0, np.int32),
                      np.zeros((0, 0)))  # fmt: skip
    slope = np.array(slopes)[:, order]  # (s, n)
    pairs = np.array(list(blocks))
    couplings = slope[:, pairs[:, 0]] * slope[:, pairs[:, 1]]
    touched = np.flatnonzero((couplings != 0.0).any(axis=0))
    return Cables(slope.T, np.array(rests), np.array(owners, np.int32), touched.astype(np.int32), couplings[:, touched])


def _contacts(world: World, place: IndexArray) -> Contacts:
    nodes: list[Any] = []
    pairs: list[Any] = []
    frames: list[Any] = []
    gaps: list[Any] = []
    margins: list[float] = []
    count = int((~world.models[0].constrained.all(axis=1)).sum())  # type: ignore[attr-defined]
    rest: Any = world.models[0].rest  # type: ignore[attr-defined]
    for one in pairs_of(world):
        pose, plane = np.asarray(one.b.handle.pose(0.0)), one.b.solid
        normal, point = pose[1:] @ plane.normal, pose[0] + pose[1:] @ plane.point
        own = np.asarray(one.a.nodes)[place[one.a.nodes] < count]
        first = np.cross(normal, _TANGENTS[int(np.argmin(np.abs(normal)))])
        first /= np.linalg.norm(first)
        frame = np.stack([normal, first, np.cross(normal, first)])
        nodes.append(place[own])
        pairs.append(np.full(len(own), len(margins)))
        frames.append(np.broadcast_to(frame, (len(own), 3, 3)))
        gaps.append((rest[own] - point) @ normal)
        margins.append(one.margin)
    if not margins:
        return Contacts(np.zeros(0, np.int32), np.zeros(0, np.int32), np.zeros((0, 3, 3)), np.zeros(0), np.zeros(0))
    return Contacts(
        np.concatenate(nodes).astype(np.int32), np.concatenate(pairs).astype(np.int32), np.concatenate(frames),
        np.concatenate(gaps), np.array(margins),
    )  # fmt: skip


def numbers_of(world: World, changed: Sequence[World], order: IndexArray) -> Numbers:
    """The numbers of all copies, once where they are the same."""

    def each(value: Any) -> FloatArray:
        made = np.stack([np.asarray(value(one), float) for one in changed or [world]], -1)
        return made[..., :1].copy() if (made == made[..., :1]).all() else made

    def limits(one: World, name: str) -> list[float]:
        return [getattr(c.spec.limits, name) for c in cables_of(one)]

    def volume(one: World) -> Any:
        return one.models[0]

    return Numbers(
        mu=each(lambda one: volume(one).table[:, 0]),
        lam=each(lambda one: volume(one).table[:, 1]),
        mass=each(lambda one: volume(one).mass.nodal[order]),
        damping=each(lambda one: [volume(one).spec.damping.mass, volume(one).spec.damping.stiffness]),
        friction=each(lambda one: [c.mu for c in pairs_of(one)]),
        gravity=each(lambda one: one.gravity),
        loads=each(lambda one: volume(one).external_forces(volume(one).rest, np.zeros(3), {})[order]),
        lower=each(lambda one: limits(one, "lower")),
        upper=each(lambda one: limits(one, "upper")),
    )
