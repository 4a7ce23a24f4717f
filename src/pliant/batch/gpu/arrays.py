"""A world as plain arrays, the form in which it is stepped on a card: written by `lowering`, read by the step.

Neither Numba nor SciPy is needed here, so that a lowered world in a file can be stepped where these are not installed.
Nodes are numbered by their place in the matrix, clamped ones are left out: node `n` stands for all of them.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from pliant.core.archive import read_archive, write_archive

FORMAT = "pliant lowered world 1"
Array: TypeAlias = Any
"""An array of JAX, which checkers need not have."""


class Sums(NamedTuple):
    """Sums over lists of unequal length, in two stages: `first` (r, s) are indices of terms, `second` (k, t) of rows
    of the first stage; an index past the end stands for zero.
    """

    first: Any
    second: Any


class Elements(NamedTuple):
    """Integration points of the volume.

    nodes (p, w) and gradients (p, w, 3) in 1/m, with zeros beyond a point's own nodes; weight (p,) m³, material (p,)
    and whether a point has the `shear` and the `bulk` part of the energy (p,). `linear` (materials,): small strain.
    forces  sums over entries (p, w) of the nodes
    left, right (r, s)  entries of the pairs of nodes that are summed first, `blocks` (k, t) their second stage; the
    blocks of the diagonal come first, in the order of the nodes.
    """

    nodes: Any
    gradients: Any
    weight: Any
    material: Any
    shear: Any
    bulk: Any
    linear: Any
    forces: Sums
    left: Any
    right: Any
    blocks: Any


class Cables(NamedTuple):
    """Segments of c cables. `slope` (n, s): coefficient of each node in the vector of a segment; `rest` (s, 3), its
    vector at rest, m; `cable` (s,). Segments couple the blocks `touched` (b,) of the matrix by `couplings` (s, b).
    """

    slope: Any
    rest: Any
    cable: Any
    touched: Any
    couplings: Any


class Contacts(NamedTuple):
    """k points that may touch planes: `node` (k,) among the free ones, the `pair` (k,) of each, its `normal` (k, 3) and
    two tangents, `frames` (k, 3, 3); `gap` (k,) m at rest. `margin` (pairs,) m.
    """

    node: Any
    pair: Any
    frames: Any
    gap: Any
    margin: Any


class Numbers(NamedTuple):
    """What copies may differ in; the last axis is that of the copies, or of length 1.

    mu, lam (materials, ·) Pa; mass (n, ·) kg; damping (2, ·): mass 1/s, stiffness s; friction (pairs, ·);
    gravity (3, ·) m/s²; loads (n, 3, ·) N; lower, upper (cables, ·) N.
    """

    mu: Any
    lam: Any
    mass: Any
    damping: Any
    friction: Any
    gravity: Any
    loads: Any
    lower: Any
    upper: Any


class Lowered(NamedTuple):
    """A world of one volume. `source` (columns, reach + 1, width, width): index of each entry of the matrix among those
    of the blocks, then a zero and a one. `size` (m) of the volume, and `slots` of contacts.
    """

    elements: Elements
    cables: Cables
    contacts: Contacts
    numbers: Numbers
    source: Any
    slots: Any

    @property
    def nodes(self) -> int:
        """Free nodes."""
        return int(self.numbers.mass.shape[0])

    @property
    def capacity(self) -> int:
        """Contacts of a copy; the other rows take as many."""
        return int(self.slots)

    def save(self, path: str | Path) -> None:
        """Write the arrays to a file, .npz."""
        write_archive(path, FORMAT, _flat(self))

    @classmethod
    def load(cls, path: str | Path) -> Lowered:
        """The arrays of a file."""
        _, arrays = read_archive(path, FORMAT, what="a lowered world")
        return _built(cls, arrays, "")  # type: ignore[no-any-return]


_PARTS: dict[str, Any] = {
    "elements": Elements, "cables": Cables, "contacts": Contacts, "numbers": Numbers, "forces": Sums,
}  # fmt: skip


def _flat(part: Any, prefix: str = "") -> dict[str, Any]:
    made: dict[str, Any] = {}
    for name, value in part._asdict().items():
        made |= _flat(value, f"{prefix}{name}.") if hasattr(value, "_asdict") else {prefix + name: np.asarray(value)}
    return made


def _built(kind: Any, arrays: dict[str, Any], prefix: str) -> Any:
    values = (
        _built(_PARTS[name], arrays, f"{prefix}{name}.") if name in _PARTS else arrays[prefix + name]
        for name in kind._fields
    )
    return kind(*values)
