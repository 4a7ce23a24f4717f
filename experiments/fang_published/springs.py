"""Springs that push collided vertices out, as published: equations (5) and (8).

A vertex that stands in something is drawn to the nearest place ε outside of it, by a spring over which the Laplacian is
solved. It is released once the vertex is farther out than ε, and acts again from there on should it come back: a spring
that waited for the next collision would push and let go for ever. Vertices only; what the springs carry is no contact
force: it depends on their stiffness, and what one body feels is not what the other does.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pliant.collision import ContactSet
from pliant.collision.contacts import ContactKind
from pliant.constraints.contact import ContactPair
from pliant.constraints.rows import RowView
from pliant.core.types import FloatArray, IndexArray
from pliant.world import World


class Springs:
    """The springs of a world whose bodies begin at `offsets` in the list of all nodes, `count` of them.

    `active` (count,) says which nodes have one, `stretch` (count, 3) m is where they draw their node to from where it
    is, half of the way where what is touched gives way too, `normal` (count, 3) its direction, and `depth` (m) how deep
    the deepest vertex stands in something.
    """

    def __init__(self, world: World, offsets: IndexArray, count: int, distance: float) -> None:
        self._pairs = [one for one in world.constraints if isinstance(one, ContactPair)]
        self._previous: list[ContactSet | None] = [None] * len(self._pairs)
        self._offsets = offsets
        self._distance = distance
        self._collided = np.zeros(count, bool)
        self.active = np.zeros(count, bool)
        self.stretch = np.zeros((count, 3))
        self.normal = np.zeros((count, 3))
        self.depth = 0.0

    @property
    def reach(self) -> float:
        """How far nodes may move between two looks, m."""
        return 0.5 * min((pair.margin for pair in self._pairs), default=np.inf)

    def update(self, view: RowView) -> bool:
        """Look for collisions at the positions of `view`; whether other nodes have springs than before."""
        if not self._pairs:
            return False
        found = [self._vertices(index, pair, view) for index, pair in enumerate(self._pairs)]
        nodes, gaps, ways = (np.concatenate(parts) for parts in zip(*found, strict=True))
        self.depth = max(0.0, -float(gaps.min(initial=0.0)))
        kept = (gaps < 0.0) | (self._collided[nodes] & (gaps <= self._distance))
        order = np.flatnonzero(kept)[np.argsort(-gaps[kept], kind="stable")]  # of several the deepest is written last
        nodes, gaps, ways = nodes[order], gaps[order], ways[order]
        active = np.zeros_like(self.active)
        active[nodes] = True
        self.normal, self.stretch = np.zeros_like(self.normal), np.zeros_like(self.stretch)
        self.normal[nodes] = ways / np.linalg.norm(ways, axis=1, keepdims=True)
        self.stretch[nodes] = (self._distance - gaps)[:, None] * ways
        changed = bool((active != self.active).any())
        self.active = active
        self._collided |= active
        return changed

    def _vertices(self, index: int, pair: ContactPair, view: RowView) -> tuple[Any, FloatArray, FloatArray]:
        """Nodes, gaps (m) and outward directions (k, 3), of length ½ where the other side moves too."""
        contacts = self._previous[index] = pair.contact_set(view, self._previous[index])
        kind, both = contacts.kind, pair.a.index is not None and pair.b.index is not None
        first = (kind == ContactKind.VERTEX_FACE) | (kind == ContactKind.VERTEX_OBSTACLE)
        second = kind == ContactKind.FACE_VERTEX
        way = (0.5 if both else 1.0) * contacts.normal
        parts = []
        for side, chosen, nodes, sign in (
            (pair.a, first, contacts.nodes_a, 1.0),
            (pair.b, second, contacts.nodes_b, -1.0),
        ):
            start = self._offsets[side.index] if side.index is not None else 0
            parts.append((start + nodes[chosen, 0].astype(np.int64), contacts.gap[chosen], sign * way[chosen]))
        (a, gap_a, way_a), (b, gap_b, way_b) = parts
        return np.concatenate([a, b]), np.concatenate([gap_a, gap_b]), np.concatenate([way_a, way_b])
