"""Snapshots of the offline experiments: positions of every body, actuation, and the forces of all rows by their keys.

A key identifies a row from step to step and from run to run (a collision vertex and what it faces), whatever the order
of detection; forces are in newtons, whatever the time step.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from scipy import sparse

from pliant.core.archive import Migration, decoding, read_archive, write_archive
from pliant.core.checks import check_array, check_indices
from pliant.core.errors import InputError
from pliant.core.one_line import one_line
from pliant.core.types import FloatArray, IndexArray, IntArray

FORMAT = "pliant snapshots 2"
OLDER: dict[str, Migration] = {"pliant snapshots 1": lambda header, arrays: ({**header, "format": FORMAT}, arrays)}
ROWS = ("keys", "lam", "maker", "normal", "nodes", "weights")
"""What is recorded of every row."""
STEPS = ("run", "step", "actuation", "residual")
"""What is recorded of every step."""
_ARRAYS = (*STEPS, "starts", *ROWS)


@one_line
@dataclass(frozen=True, eq=False)
class Snapshots:
    """s recorded steps.

    `bodies` and `makers` are the names of the bodies and of the constraints (actuators, contact pairs), in the order
    of the world; `q` holds the state of each body, (s, …), as `State.q` does: positions (s, n, 3), m, of a volume.
    `run` (s,) and `step` (s,) say where in the plan a snapshot is from. `actuation` (s, actuators, 2) has displacement
    (m, m³ or rad) and force (N, Pa or N·m) of the plan's actuators. `residual` (s,), no unit, is that of each step.

    The rows of snapshot i are the entries starts[i] … starts[i + 1] of `keys`, `lam` (N), `maker` (index of the
    constraint) and `normal` (whether it is no friction); `starts` is (s + 1,). Of a contact of two surfaces `nodes`
    (rows, 2, 3) and `weights` (rows, 2, 3) are the points that touch on either side, −1 and 0 elsewhere.
    """

    bodies: tuple[str, ...]
    makers: tuple[str, ...]
    q: tuple[FloatArray, ...]
    run: IndexArray
    step: IndexArray
    actuation: FloatArray
    residual: FloatArray
    starts: IndexArray
    keys: IndexArray
    lam: FloatArray
    maker: IndexArray
    normal: Any
    nodes: IntArray
    weights: FloatArray
    provenance: dict[str, Any]

    @property
    def count(self) -> int:
        """Number of snapshots."""
        return len(self.run)

    def __len__(self) -> int:
        return self.count

    def positions(self, body: Any) -> FloatArray:
        """State of a body (handle, name or index) in every snapshot, (s, …): positions (s, n, 3), m, of a volume."""
        return self.q[_index("body", getattr(body, "body", body), self.bodies)]

    def forces(self, constraint: Any, *, keys: Any = None) -> tuple[IndexArray, sparse.csr_matrix]:
        """Normal forces of the rows of a constraint: their keys (r,), ascending, and λ (r, s), N, sparse.

        constraint
            A pair (a, b) of bodies that collide, an actuator, a name or an index.
        keys
            Keys (r,) of the rows wanted, in their order; None: all that occurred in any snapshot. Rows that were not
            there have no force; forces of rows that are not wanted are an error.
        """
        index = _index("constraint", _pair_name(constraint, self.makers), self.makers)
        own = (self.maker == index) & self.normal
        column = np.repeat(np.arange(self.count), np.diff(self.starts))[own]
        found, lam = self.keys[own], self.lam[own]
        rows: IndexArray = np.unique(found) if keys is None else np.asarray(keys, np.int64)
        order = np.argsort(rows, kind="stable")
        rank = np.minimum(np.searchsorted(rows[order], found), max(len(rows) - 1, 0))
        listed = rows[order[rank]] == found if len(rows) else np.zeros(len(found), bool)
        if lam[~listed].any():
            lost = int(found[~listed][np.abs(lam[~listed]).argmax()])
            raise InputError(f"row {lost} of {self.makers[index]!r} pushes in a snapshot but is not among the keys")
        kept = listed & (lam != 0.0)
        at = order[rank[kept]] if len(rows) else np.zeros(0, np.int64)
        matrix = sparse.csr_matrix((lam[kept], (at, column[kept])), shape=(len(rows), self.count))
        return rows, matrix

    def force_matrix(self, constraint: Any, *, keys: Any = None) -> tuple[IndexArray, FloatArray]:
        """`forces` as a full array (r, s), N, for `nnmf` and its kin; a history without contact is an error."""
        rows, matrix = self.forces(constraint, keys=keys)
        if not matrix.nnz:
            raise InputError(
                f"{_pair_name(constraint, self.makers)!r} never pushes in these {self.count} snapshots, so there is no "
                "contact to reduce: actuate further, or leave this pair as it is"
            )
        return rows, matrix.toarray()

    def selected(self, which: Any) -> Snapshots:
        """The snapshots chosen by a mask (s,) or by indices, in that order."""
        index = np.arange(self.count)[which]
        sizes = np.diff(self.starts)[index]
        starts = np.concatenate([[0], np.cumsum(sizes)])
        entries = np.repeat(self.starts[index] - starts[:-1], sizes) + np.arange(starts[-1])
        rows = {name: getattr(self, name)[entries] for name in ROWS}
        steps = {name: getattr(self, name)[index] for name in STEPS}
        q = tuple(x[index] for x in self.q)
        return Snapshots(self.bodies, self.makers, q, starts=starts, provenance=self.provenance, **rows, **steps)

    def split(
        self, held_out: float = 0.2, seed: int = 0, *, by: Literal["snapshots", "runs"] = "snapshots"
    ) -> tuple[Snapshots, Snapshots]:
        """Two parts, the second with the fraction `held_out` of the snapshots, or of whole runs, chosen at random."""
        if not 0.0 < held_out < 1.0:
            raise InputError(f"held_out must be between 0 and 1, got {held_out:g}")
        if by not in ("snapshots", "runs"):
            raise InputError(f'by must be "snapshots" or "runs", got {by!r}')
        groups = np.arange(self.count) if by == "snapshots" else np.unique(self.run, return_inverse=True)[1]
        total = int(groups.max()) + 1 if len(groups) else 0
        count = round(held_out * total)
        if not 0 < count < total:
            raise InputError(f"{total} {by} are too few to hold out {held_out:g}; record more, or split by snapshots")
        apart = np.isin(groups, np.random.default_rng(seed).permutation(total)[:count])
        return self.selected(~apart), self.selected(apart)

    def save(self, path: str | Path) -> Path:
        """Write everything to `path` (.npz, no pickle), whole or not at all."""
        arrays = {name: getattr(self, name) for name in _ARRAYS} | {f"q_{k}": x for k, x in enumerate(self.q)}
        header = {"bodies": self.bodies, "makers": self.makers, "provenance": self.provenance}
        return write_archive(path, FORMAT, arrays, header=header)

    @classmethod
    def load(cls, path: str | Path) -> Snapshots:
        """What `save` wrote."""
        what = "a file of snapshots"
        header, arrays = read_archive(path, FORMAT, what=what, older=OLDER)
        with decoding(path, what):
            q = tuple(arrays[f"q_{k}"] for k in range(len(header["bodies"])))
            own = {name: arrays[name] for name in _ARRAYS}
            bodies, makers = (tuple(map(str, header[name])) for name in ("bodies", "makers"))
            read = cls(bodies, makers, q, provenance=dict(header["provenance"]), **own)
            read._check()
            return read

    def _check(self) -> None:
        """An error where arrays, read from a file, do not belong together."""
        count, rows = self.count, len(self.keys)
        for name, shape, kind in (
            ("run", (count,), np.int64), ("step", (count,), np.int64), ("residual", (count,), np.float64),
            ("actuation", (count, *self.actuation.shape[1:2], 2), np.float64), ("starts", (count + 1,), np.int64),
            ("keys", (rows,), np.int64), ("lam", (rows,), np.float64), ("maker", (rows,), np.int64),
            ("normal", (rows,), np.bool_), ("nodes", (rows, 2, 3), np.int32), ("weights", (rows, 2, 3), np.float64),
        ):  # fmt: skip
            check_array(f"{name} of snapshots", getattr(self, name), shape, kind)
        for name, q in zip(self.bodies, self.q, strict=True):
            check_array(f"positions of {name!r} in snapshots", q, (count, *q.shape[1:]))
        check_indices("makers of snapshots", self.maker, 0, len(self.makers))
        if self.starts[0] != 0 or self.starts[-1] != rows or (np.diff(self.starts) < 0).any():
            raise InputError(f"starts of snapshots must grow from 0 to {rows}, the count of their rows")


def _pair_name(constraint: Any, names: Sequence[str]) -> Any:
    """The name of a pair of bodies as its constraint has it; anything else as it is."""
    if isinstance(constraint, tuple) and len(constraint) == 2:
        a, b = (one if isinstance(one, str) else one.name for one in constraint)
        return f"{b} – {a}" if f"{b} – {a}" in names else f"{a} – {b}"
    return constraint


def _index(what: str, thing: Any, names: Sequence[str]) -> int:
    if isinstance(thing, int) and 0 <= thing < len(names):
        return thing
    name = thing if isinstance(thing, str) else getattr(thing, "name", thing)
    if name not in names:
        known = ", ".join(repr(one) for one in names)
        raise InputError(f"{name!r} is not a {what} of these snapshots; there are {known}")
    if names.count(name) > 1:
        raise InputError(f"several things are called {name!r}; say which by its index 0 … {len(names) - 1}")
    return names.index(name)
