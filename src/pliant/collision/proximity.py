"""Proximity queries: contacts between two surfaces, and of a surface with itself.

A query at the start of a step lists everything within the margin. A contact of a vertex is with the nearest point of
the facing surface; its gap is negative where the vertex is behind that surface. Between steps a contact keeps its side:
with the `previous` set, a vertex deep in a thin body is not handed to the far face, and crossed edges stay crossed.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from pliant.collision.broad.candidates import candidates
from pliant.collision.broad.kept_candidates import KeptCandidates
from pliant.collision.contacts import ContactKind, ContactSet, check_capacity, key_base
from pliant.collision.filters import Arrays, History, Limits
from pliant.collision.narrow.pair_contacts import Bases, ContactArrays, contacts_among
from pliant.collision.penetration import Deepest, surface_overlap
from pliant.collision.solids.surface_distance import SurfaceDistance
from pliant.collision.surface import EDGE_LIMIT, Pose
from pliant.core.checks import finite_number, non_negative, positive, positive_count
from pliant.core.errors import InputError
from pliant.core.types import FloatArray, IntArray

_NONE = ContactSet.empty(0, 0)
_NO_HISTORY = History(_NONE.key, _NONE.normal, _NONE.face)


@dataclass(frozen=True, kw_only=True)
class ProximityOptions:
    """What counts as a contact.

    margin       m, largest distance; bodies that approach by less in a step are never missed. Usually half an edge,
                 and less than the narrowest slit that is to close
    rest_factor  self-contact: pairs closer than rest_factor · margin at rest, and neighbours in the mesh, count once
                 they have come nearer than half their distance at rest
    wall_factor  self-contact: pairs behind each other and closer than wall_factor · margin at rest are two sides of
                 one wall, and never penetrate each other
    facing       triangles around the two features must have unit normals with n·n′ < facing. Touching ones have
                 n·n′ < 0; the slack allows for rotation in the step. 2 turns all tests of directions off
    sharp_angle  rad, bend from which an edge counts as sharp; one of two crossing edges must be, or the two have to
                 penetrate first. < 0: all are
    capacity     most contacts; more raise a `CapacityError`. None: no limit
    """

    margin: float
    rest_factor: float = 1.0
    wall_factor: float = 8.0
    facing: float = 0.25
    sharp_angle: float = 0.1
    capacity: int | None = None

    def __post_init__(self) -> None:
        positive("margin", self.margin, unit="m")
        non_negative("rest_factor", self.rest_factor)
        non_negative("wall_factor", self.wall_factor)
        finite_number("sharp_angle", self.sharp_angle, unit="rad")
        if not 0.0 < self.facing <= 2.0:
            raise InputError(f"facing must be in (0, 2], got {self.facing}")
        if self.capacity is not None:
            positive_count("capacity", self.capacity)


def self_contacts(
    pose: Pose,
    options: ProximityOptions,
    *,
    pair: int = 0,
    previous: ContactSet | None = None,
    kept: KeptCandidates | None = None,
) -> ContactSet:
    """Contacts of a surface with itself; both sides of the set are its points. `kept` are candidates from query to
    query, which change no contact.
    """
    return _contacts(pose, pose, options, bases_of(pair), previous, kept)


def surface_contacts(
    a: Pose,
    b: Pose,
    options: ProximityOptions,
    *,
    pair: int = 0,
    previous: ContactSet | None = None,
    kept: KeptCandidates | None = None,
) -> ContactSet:
    """Contacts between two surfaces: vertices of each against faces of the other, and edges against edges. `kept` as
    for `self_contacts`.
    """
    if a is b:
        raise InputError("both sides are the same pose of the same surface; use self_contacts")
    bases = bases_of(pair)
    found = _contacts(a, b, options, bases, previous, kept)
    if previous is None and a.surface.closed and b.surface.closed and not (found.gap < 0.0).any():
        return _with_deepest(found, a, b, bases)
    return found


def _contacts(
    a: Pose, b: Pose, options: ProximityOptions, bases: Bases, previous: ContactSet | None, kept: KeptCandidates | None
) -> ContactSet:
    limits, history = limits_of(options, same=a is b), history_of(previous)
    found = None if kept is None else kept.find(a, b, limits)
    if found is None:
        found = candidates(a, b, limits, crossed=_has_edges(history, bases.edges))
    if not any(map(len, found)):
        return ContactSet.empty(len(a.points), len(b.points))
    on_a = _arrays(a)
    on_b = on_a if a is b else _arrays(b)
    made: ContactArrays = contacts_among(*found, on_a, on_b, limits, history, bases)
    check_capacity(len(made.gap), options.capacity)
    return ContactSet(*made, point_count_a=len(a.points), point_count_b=len(b.points))


def _arrays(pose: Pose) -> Arrays:
    """`arrays_of`, without the boxes of the pose where they were not needed."""
    s = pose.surface
    return Arrays(
        pose.points, pose.normals, s.triangles, s.edges, s.triangle_edges, s.edge_triangles, s.fan_start, s.fan,
        s.ring_start, s.ring, s.vertex_mask, s.edge_mask, s.rest, s.rest_normals, s.closed,
    )  # fmt: skip


def _with_deepest(contacts: ContactSet, a: Pose, b: Pose, bases: Bases) -> ContactSet:
    """`contacts` with one at the deepest point of either solid in the other, where they overlap: bodies that begin in
    each other may have no vertex and no edge in front of a face.
    """
    overlap = surface_overlap(a, b) if a.surface.closed and b.surface.closed else None
    parts: list[Part] = []
    for side, deepest in enumerate((overlap.of_a, overlap.of_b) if overlap is not None else ()):
        if deepest.depth > 0.0:
            own, other = (a, b) if side == 0 else (b, a)
            part = _deepest_part(deepest, own, other, bases[side])
            parts.append(part if side == 0 else _swapped(part))
    if not parts:
        return contacts
    own_parts = {name: getattr(contacts, name) for name in parts[0]}
    kept = ~np.isin(contacts.key, np.concatenate([part["key"] for part in parts]))
    joined = [{name: x[kept] for name, x in own_parts.items()}, *parts]
    arrays = {name: np.concatenate([part[name] for part in joined]) for name in own_parts}
    order = np.argsort(arrays["key"], kind="stable")
    arrays = {name: x[order] for name, x in arrays.items()}
    return ContactSet(**arrays, point_count_a=len(a.points), point_count_b=len(b.points))


def _deepest_part(deepest: Deepest, own: Pose, other: Pose, base: int) -> Part:
    """The contact of a point of a triangle of `own` inside the solid of `other`; it has the identity of a corner."""
    nodes = own.surface.triangles[deepest.triangle][None]
    point = _weighted(own.points, nodes, deepest.weights[None])
    found = SurfaceDistance(other)(point)
    nodes_b = other.surface.triangles[found.face]
    return {
        "kind": np.full(1, ContactKind.VERTEX_FACE, dtype=np.uint8),
        "nodes_a": nodes,
        "weights_a": deepest.weights[None],
        "nodes_b": nodes_b,
        "weights_b": found.weights,
        "normal": found.normal,
        "gap": found.gap,
        "point_a": point,
        "point_b": _weighted(other.points, nodes_b, found.weights),
        "key": base + nodes[:, int(deepest.weights.argmax())].astype(np.int64),
        "face": found.face.astype(np.int32),
    }


def limits_of(options: ProximityOptions, *, same: bool) -> Limits:
    """The numbers that kernels compare with, from `options`."""
    return Limits(
        margin=float(options.margin),
        rest=float(options.rest_factor * options.margin),
        wall=float(options.wall_factor * options.margin),
        facing=float(options.facing),
        against=-0.5 if options.facing <= 1.0 else 2.0,  # a normal within 60 degrees of the direction
        flat=float(np.cos(options.sharp_angle)) if options.sharp_angle >= 0.0 else 2.0,
        same=same,
    )


@lru_cache(maxsize=4096)
def bases_of(pair: int) -> Bases:
    """Lowest keys of the contacts of `pair`, by kind."""
    kinds = ContactKind.VERTEX_FACE, ContactKind.FACE_VERTEX, ContactKind.EDGE_EDGE
    return Bases(*(key_base(kind, pair) for kind in kinds))


def history_of(previous: ContactSet | None) -> History:
    """Keys, normals and faces of the last step's contacts for kernels, none where there is no last step."""
    return _NO_HISTORY if previous is None else History(previous.key, previous.normal, previous.face)


def _has_edges(history: History, base: int) -> bool:
    """Whether edges touched in the last step, whose keys begin at `base`."""
    first = int(np.searchsorted(history.keys, base))
    return first < len(history.keys) and int(history.keys[first]) < base + EDGE_LIMIT * EDGE_LIMIT


Part = dict[str, np.ndarray]


def _swapped(part: Part) -> Part:
    """The same contacts with their sides exchanged, of kind FACE_VERTEX."""
    sides = {"a": "b", "b": "a"}
    swapped = {name[:-1] + sides[name[-1]] if name[-2:] in ("_a", "_b") else name: x for name, x in part.items()}
    swapped["normal"] = -swapped["normal"]
    swapped["kind"] = np.full(len(swapped["gap"]), ContactKind.FACE_VERTEX, dtype=np.uint8)
    return swapped


def _weighted(points: FloatArray, nodes: IntArray, weights: FloatArray) -> FloatArray:
    combined: FloatArray = np.einsum("mk,mki->mi", weights, points[nodes])
    return combined
