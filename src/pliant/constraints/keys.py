"""Row keys: one int64 names a row from step to step, so that its λ is found again. All ranges in one picture.

    bit 63     44 43   42 41   40   39   38 37     20 19      0   (bits 43 and 42 in one column)
        ┌────────┬───────┬────┬────┬────┬────┬─────────┬─────────┐
        │   0    │   0   │  0 │  0 │  0 │  0 │    0    │  index  │  drive of an actuator
        │   0    │   0   │  0 │  0 │  0 │  0 │  index  │   row   │  attachment, index ≥ 1
        │   0    │   0   │  0 │  0 │  0 │  1 │  index  │   row   │  friction at the via points of a cable
        │   0    │   0   │  0 │  0 │  1 │  0 │  index  │   row   │  bilateral rows of a joint
        │   0    │   0   │  0 │  1 │  0 │  0 │  index  │   row   │  channel
        │   0    │   0   │  1 │  0 │  0 │  0 │  index  │   row   │  sheath
        │   0    │  01   │  0 │  0 │  0 │  0 │  index  │   row   │  least volume of elements: body, point
        │   0    │  10   │  0 │  0 │  0 │  0 │  index  │   row   │  spring
        │   0    │  10   │  0 │  0 │  0 │  1 │  index  │   row   │  linear constraint
        │   0    │  10   │  0 │  0 │  1 │  0 │  index  │   row   │  tie
        │   0    │  10   │  0 │  1 │  0 │  0 │  index  │   row   │  hold
        └────────┴───────┴────┴────┴────┴────┴─────────┴─────────┘
    contact rows: 3 × contact key + (0 normal, 1 and 2 tangents)
        ┌────────┬──────────┬────────────────────────────────────┐
        │  kind  │ pair ≥ 1 │              feature               │  contact key: bits 60–59, 58–44, 43–0
        └────────┴──────────┴────────────────────────────────────┘

`index` counts the constraints of one kind in a world, `row` the rows of one constraint. A feature is a vertex, a face
or a pair of edges (22 bits each). Modes of a reduced contact are features from `MODE_FEATURES` on; a reduced contact
of two surfaces is a pair of its own, `STAND_IN_PAIRS` above that of the surfaces. Negative keys name nothing.
"""

from __future__ import annotations

import numpy as np

from pliant.collision.contacts import PAIR_LIMIT, ContactKind, key_base
from pliant.collision.surface import EDGE_LIMIT
from pliant.core.errors import CapacityError
from pliant.core.types import IndexArray

ROW_BITS = 20
"""Bits of the index of a row in its constraint: a million rows."""
INDEX_BITS = 18
"""Bits of the index of a constraint among those of its kind: 262 144."""

ATTACHMENTS = 0
"""Rows of attachments, whose index begins at 1."""
CABLE_FRICTION = 1 << 38
"""Rows of friction at the via points of cables."""
JOINTS = 1 << 39
"""Bilateral rows of joints."""
CHANNELS = 1 << 40
"""Rows of channels."""
SHEATHS = 1 << 41
"""Rows of sheaths."""
VOLUMES = 1 << 42
"""Rows of the least volume of elements: the index is that of the body, the row that of the integration point."""
SPRINGS = 1 << 43
"""Rows of springs."""
LINEAR = (1 << 43) + (1 << 38)
"""Rows of linear constraints."""
TIES = (1 << 43) + (1 << 39)
"""Rows of ties."""
HOLDS = (1 << 43) + (1 << 40)
"""Rows of holds."""
_KEYS = 1 << (ROW_BITS + INDEX_BITS)
"""Number of keys of one kind of constraint."""
RANGES = {
    "drives": (0, 1 << ROW_BITS),
    "attachments": (1 << ROW_BITS, _KEYS),
    "cable friction": (CABLE_FRICTION, CABLE_FRICTION + _KEYS),
    "joints": (JOINTS, JOINTS + _KEYS),
    "channels": (CHANNELS, CHANNELS + _KEYS),
    "sheaths": (SHEATHS, SHEATHS + _KEYS),
    "least volumes": (VOLUMES, VOLUMES + _KEYS),
    "springs": (SPRINGS, SPRINGS + _KEYS),
    "linear constraints": (LINEAR, LINEAR + _KEYS),
    "ties": (TIES, TIES + _KEYS),
    "holds": (HOLDS, HOLDS + _KEYS),
    "contacts": (3 * key_base(ContactKind.VERTEX_FACE, 1), 3 * len(ContactKind) * PAIR_LIMIT * EDGE_LIMIT**2),
}
"""First key of each kind of row, and the one after the last."""

MODE_FEATURES = 1 << 30
"""First feature of the modes of a reduced contact, above those of points."""
STAND_IN_PAIRS = PAIR_LIMIT // 2
"""Offset of the index of a reduced contact pair from that of the surfaces it replaces: half of all pairs each."""


def first_key(kind: int, index: int) -> int:
    """Key of the first row of the constraint `index` of a `kind`: `ATTACHMENTS`, `CABLE_FRICTION`, `JOINTS` …"""
    if not 0 <= index < 1 << INDEX_BITS:
        raise CapacityError(f"a world holds at most {1 << INDEX_BITS} constraints of one kind, got index {index}")
    return kind + (index << ROW_BITS)


def row_keys(kind: int, index: int, count: int) -> IndexArray:
    """Keys (count,) of the rows of the constraint `index` of a `kind`."""
    if count > 1 << ROW_BITS:
        raise CapacityError(f"a constraint has at most {1 << ROW_BITS} rows, got {count}: split it")
    return first_key(kind, index) + np.arange(count, dtype=np.int64)


def contact_row_keys(contacts: IndexArray, width: int) -> IndexArray:
    """Keys (m · width,) of the rows of contacts with keys (m,): the normal alone (width 1), or with both tangents."""
    return np.asarray((3 * contacts[:, None] + np.arange(width)).ravel())
