"""A world as plain arrays, the form in which it is stepped on a card: written by `lowering`, read by the step.

Neither Numba nor SciPy is needed here, so that a lowered world in a file can be stepped where these are not installed.
Nodes are numbered by their place in the matrix, clamped ones are left out: node `n` stands for all of them.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from pliant.core.archive import read_archive, write_archive
from pliant.core.errors import FileFormatError

FORMAT = "pliant lowered world 3"
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


class Chambers(NamedTuple):
    """Facets of c chambers of one body.

    facets (f, k): corners among the s points of the surfaces, which stand at `rest` (s, 3), m, from the middle of their
    own; `shape` (q, k), `slopes` (q, k, 2) and `weights` (q,) of the rule on a facet; the `chamber` of each facet (f,)
    and of each point, `owner` (s,); `sums` over entries (k f) of the points; `area` (c,) m², by which rows are scaled
    to m and N. `ends` joins the points to the unknowns: `NodeEnds`, or their modes (s, 3, k).
    """

    facets: Any
    rest: Any
    shape: Any
    slopes: Any
    weights: Any
    chamber: Any
    owner: Any
    sums: Sums
    area: Any
    ends: Any


class NodeEnds(NamedTuple):
    """The place of each point (s,) among the free nodes, and the point of each free node in each chamber (n, c), past
    the end where there is none.
    """

    node: Any
    point: Any


class Contacts(NamedTuple):
    """k points that may touch planes, then those of `Rounds`: `node` (k,) among the free ones, the `pair` (k,) of each,
    its normal and two tangents, `frames` (k, 3, 3); `gap` (k,) m at rest. `margin` (pairs,) m. `columns` (c,): the
    block columns of the matrix from the first that a contact has a part in, to the last.
    """

    node: Any
    pair: Any
    frames: Any
    gap: Any
    margin: Any
    columns: Any


class Rounds(NamedTuple):
    """The last r contact points, which may touch balls and capsules: `start` (r, 3) m, the point at rest less the start
    of the axis of its solid; the `axis` (r, 3) m, zero for a ball; `radius` (r,) m; the direction `outward` (r, 3) of a
    point on the axis. `tolerance` (pairs,) m: by how much a predicted motion may pass a plane.

    edges: those e between the points, whose vertices bound them as long as they are short beside the radius.
    """

    start: Any
    axis: Any
    radius: Any
    outward: Any
    tolerance: Any
    edges: Any


class Edges(NamedTuple):
    """Edges beside balls and capsules: `start` (2e, 3) of their first ends, then of their second ones, with `axis`,
    `radius` and `outward` (e, …) as of `Rounds`, the `pair` (e,) of each. `ends` joins the ends to the unknowns: their
    places (2e,) among the free nodes, past the end for clamped ones, or their modes (2e, 3, k).
    """

    start: Any
    axis: Any
    radius: Any
    outward: Any
    pair: Any
    ends: Any


class Modes(NamedTuple):
    """A volume that moves by u = Φ y in k modes. `B` (p, 9, k): the gradients of its modes at the integration points in
    use, 1/m × the unit of y, with `weight`, `material`, `shear`, `bulk`, `linear` as of `Elements`; `every` (q, 9, k)
    those at all points, none of which may invert; `points` (c, 3, k) the modes at the contact points.
    """

    B: Any
    weight: Any
    material: Any
    shear: Any
    bulk: Any
    linear: Any
    every: Any
    points: Any


class ModalCables(NamedTuple):
    """Segments of cables through a volume in modes: `slope` (s, 3, k), `rest` (s, 3) m, `cable` (s,); see `Cables`."""

    slope: Any
    rest: Any
    cable: Any


class Numbers(NamedTuple):
    """What copies may differ in; the last axis is that of the copies, or of length 1.

    mu, lam (materials, ·) Pa; mass (n, ·) kg; damping (2, ·): mass 1/s, stiffness s; friction (pairs, ·);
    gravity (3, ·) m/s²; loads (n, 3, ·) N; lower, upper (drives, ·): N of cables, then Pa of chambers.
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


class ModalNumbers(NamedTuple):
    """`Numbers` of a volume in modes: mass (k, k, ·) kg, `weighed` (3, k, ·) kg, which times gravity is its force along
    the modes, and loads (k, ·) N × the unit of the modes.
    """

    mu: Any
    lam: Any
    mass: Any
    damping: Any
    friction: Any
    gravity: Any
    weighed: Any
    loads: Any
    lower: Any
    upper: Any


class Lowered(NamedTuple):
    """A world of one volume. `source` (columns, reach + 1, width, width): index of each entry of the matrix among those
    of the blocks, then a zero and a one. `slots` of contacts.
    """

    elements: Elements
    cables: Cables
    contacts: Contacts
    numbers: Numbers
    source: Any
    slots: Any
    chambers: Any = None
    rounds: Any = None

    @property
    def shape(self) -> tuple[int, ...]:
        """That of the displacements: free nodes, 3."""
        return self.numbers.mass.shape[0], 3


class LoweredModes(NamedTuple):
    """A world of one volume in modes; the matrix is dense, in blocks like that of `Lowered`."""

    modes: Modes
    cables: ModalCables
    contacts: Contacts
    numbers: ModalNumbers
    source: Any
    slots: Any
    chambers: Any = None
    rounds: Any = None

    @property
    def shape(self) -> tuple[int, ...]:
        """That of the coordinates: modes."""
        return (self.numbers.mass.shape[0],)


class RodNumbers(NamedTuple):
    """What copies of a rod may differ in; the last axis is that of the copies, or of length 1.

    stiffness (N, K, ·) N·m and N/m of each section's strains; mu (N, m, 3, ·), the masses of the
    particles of a station, kg and kg·m²; forces (N, m, 3, ·) N of loads; damping and gravity as of `Numbers`.
    """

    stiffness: Any
    mu: Any
    forces: Any
    damping: Any
    gravity: Any


class LoweredRod(NamedTuple):
    """A world of one clamped rod of N sections with m stations each: strains `start` and `rest` (N, 6), rad and m,
    rotation of the `base` (3, 3), `free` (N, K), those of the first K strains that may change, `fraction` (N, m) of the
    stations in their sections. The matrix is dense, `source` as in `Lowered`.
    """

    start: Any
    rest: Any
    base: Any
    free: Any
    fraction: Any
    numbers: RodNumbers
    source: Any
    slots: Any

    @property
    def shape(self) -> tuple[int, ...]:
        """That of the unknowns: sections, K strains."""
        return tuple(self.free.shape)


_PARTS: dict[str, dict[str, Any]] = {
    "Lowered": {
        "elements": Elements, "cables": Cables, "contacts": Contacts, "numbers": Numbers, "forces": Sums,
        "chambers": Chambers, "sums": Sums, "ends": NodeEnds, "rounds": Rounds, "edges": Edges,
    },
    "LoweredRod": {"numbers": RodNumbers},
    "LoweredModes": {
        "modes": Modes, "cables": ModalCables, "contacts": Contacts, "numbers": ModalNumbers,
        "chambers": Chambers, "sums": Sums, "rounds": Rounds, "edges": Edges,
    },
}  # fmt: skip


def save(world: Any, path: str | Path) -> None:
    """Write a world as arrays to a file, .npz."""
    write_archive(path, FORMAT, _flat(world), header={"kind": type(world).__name__})


def load(path: str | Path) -> Any:
    """The world of a file that `save` wrote."""
    header, arrays = read_archive(path, FORMAT, what="a lowered world")
    kinds = {kind.__name__: kind for kind in (Lowered, LoweredModes, LoweredRod)}
    kind = header.get("kind")
    if kind not in kinds:
        raise FileFormatError(f"{path}: a lowered world is one of {', '.join(kinds)}, this file says {kind!r}")
    return _built(kinds[kind], _PARTS[kind], arrays, "")


def _flat(part: Any, prefix: str = "") -> dict[str, Any]:
    made: dict[str, Any] = {}
    for name, value in part._asdict().items():
        if value is None:
            continue
        made |= _flat(value, f"{prefix}{name}.") if hasattr(value, "_asdict") else {prefix + name: np.asarray(value)}
    return made


def _built(kind: Any, parts: dict[str, Any], arrays: dict[str, Any], prefix: str) -> Any:
    def value(name: str) -> Any:
        own = prefix + name
        if any(key.startswith(f"{own}.") for key in arrays):
            return _built(parts[name], parts, arrays, f"{own}.")
        return arrays[own] if own in arrays or name not in kind._field_defaults else kind._field_defaults[name]

    return kind(*(value(name) for name in kind._fields))
