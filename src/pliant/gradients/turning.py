"""Rows that turn with the volumes they act on: what no matrix of a step holds of them, by differences of the rows.

A contact between two soft bodies, with a sphere or with a body that turns has a plane that follows the nodes; a cable
between two volumes changes its direction. Nodes that no contact has in common are moved together, by colours of the
graph of nodes and contacts, so that few evaluations of the rows give all derivatives:

    ∂(Hᵀλ)/∂q = Σ λ ∂h/∂q,      ∂δ/∂q,      one column for each coordinate of a node
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from scipy import sparse

from pliant.core.types import BoolArray, FloatArray, IndexArray
from pliant.gradients.rows import EndRows
from pliant.models.model import size_of
from pliant.stepping.bodies import StepBodies


@dataclass(frozen=True, eq=False)
class TurningRows:
    """How rows change with the nodes of volumes: ``push[j, k]`` (unknowns, unknowns) are ∂(Hᵀλ)/∂q of body j by the
    volume k, and ``gap[k]`` (rows, unknowns) ∂δ/∂q by it, of the rows `which` (rows,).
    """

    push: dict[tuple[int, int], sparse.csr_matrix]
    gap: dict[int, sparse.csr_matrix]
    which: BoolArray

    @classmethod
    def of(
        cls, ends: EndRows, constraints: Sequence[int], volumes: Sequence[int],
        by: Literal["end", "start", "velocity", "whole"] = "end",
    ) -> TurningRows:  # fmt: skip
        """Those of the `constraints` by index, by motions of the `volumes` as `EndRows.shifted` says."""
        rows, lam, trials = ends.rows, ends.lam, ends.bodies.trials
        which = np.isin(ends.owner, constraints) & (ends.pushing | ~ends.may_open)
        picked = np.flatnonzero(which)
        entries = _incidence(ends, volumes, picked)
        rate = ends.bodies.scheme.rate if by == "velocity" else 1.0
        sizes = {k: rate * ends.step * size_of(trials[k].model, trials[k].positions()) for k in volumes}
        parts: dict[tuple[int, int], list[Any]] = {}
        gaps: dict[int, list[Any]] = {k: [] for k in volumes}

        def moved(nodes: IndexArray, axis: int, sign: float) -> StepBodies:
            motions = {}
            for k in np.unique(entries.body[nodes]):
                motions[k] = np.zeros(trials[k].dx.shape)
                motions[k][entries.node[nodes[entries.body[nodes] == k]], axis] = sign * sizes[k]
            return ends.shifted(by, motions)

        for contacts, nodes in _colours(entries):
            of_contact = np.full(rows.count, -1)
            of_contact[contacts] = nodes
            own = of_contact[ends.group[picked]]  # the node of this colour in the contact of each row
            touched = np.flatnonzero(own >= 0)
            body, node = entries.body[own], entries.node[own]
            step = np.array([sizes[int(k)] for k in body])
            for axis in range(3):
                plus, minus = (ends.some(moved(np.unique(nodes), axis, s), constraints, picked) for s in (1.0, -1.0))
                change = (plus[1] - minus[1]) / (2.0 * step)
                for k in np.unique(body[touched]):
                    at = touched[body[touched] == k]
                    gaps[int(k)].append((change[at], picked[at], 3 * node[at] + axis))
                for j, (one, other) in enumerate(zip(plus[0], minus[0], strict=True)):
                    difference = (one - other).tocoo()
                    row = difference.row
                    values = lam[picked][row] * difference.data / (2.0 * step[row])
                    kept = (values != 0.0) & (own[row] >= 0)
                    for k in np.unique(body[row[kept]]):
                        of = kept & (body[row] == k)
                        parts.setdefault((j, int(k)), []).append(
                            (values[of], difference.col[of], 3 * node[row[of]] + axis)
                        )
        unknowns = ends.bodies.world.sizes
        push = {(j, k): _matrix(made, (unknowns[j], unknowns[k])) for (j, k), made in parts.items()}
        gap = {k: _matrix(made, (rows.count, unknowns[k])) for k, made in gaps.items()}
        return cls(push, gap, which)

    def replaced(self, k: int, H: sparse.csr_matrix) -> sparse.csr_matrix:
        """∂δ/∂q by the volume k: H but for the rows that turn."""
        kept: sparse.csr_matrix = sparse.diags((~self.which).astype(np.float64)) @ H + self.gap[k]
        return sparse.csr_matrix(kept)


@dataclass(frozen=True, eq=False)
class _Entries:
    """Nodes of volumes, `body` and `node` (k,), and pairs of a contact, by its first row, and one of them (p, 2)."""

    body: IndexArray
    node: IndexArray
    pairs: IndexArray


def _incidence(ends: EndRows, volumes: Sequence[int], picked: IndexArray) -> _Entries:
    """The nodes of the volumes that the rows `picked` touch; constrained ones too, which a rest shape moves."""
    found = [np.zeros((0, 3), np.int64)]
    for k in volumes:
        H = sparse.csr_matrix(ends.rows.H[k])[picked]
        row = np.repeat(ends.group[picked], np.diff(H.indptr))
        pairs = np.unique(np.stack([row, np.full(len(row), k), H.indices // 3], axis=1), axis=0)
        found.append(pairs)
    whole = np.concatenate(found)
    nodes, index = np.unique(whole[:, 1:], axis=0, return_inverse=True)
    return _Entries(nodes[:, 0], nodes[:, 1], np.stack([whole[:, 0], index.ravel()], axis=1))


def _colours(entries: _Entries) -> list[tuple[IndexArray, IndexArray]]:
    """Contacts and nodes, in pairs, by colour: a contact has one node of a colour at most."""
    of_contact: dict[int, list[int]] = {}
    of_node: dict[int, list[int]] = {}
    for contact, node in entries.pairs.tolist():
        of_contact.setdefault(contact, []).append(node)
        of_node.setdefault(node, []).append(contact)
    colour = np.full(len(entries.node), -1)
    for node, contacts in of_node.items():
        taken = {int(colour[other]) for contact in contacts for other in of_contact[contact]}
        colour[node] = next(c for c in range(len(taken) + 1) if c not in taken)
    of_pair = colour[entries.pairs[:, 1]]
    return [(*entries.pairs[of_pair == c].T,) for c in range(int(colour.max(initial=-1)) + 1)]  # type: ignore[misc]


def _matrix(parts: Sequence[tuple[FloatArray, IndexArray, IndexArray]], shape: tuple[int, int]) -> sparse.csr_matrix:
    if not parts:
        return sparse.csr_matrix(shape)
    values, row, column = (np.concatenate(each) for each in zip(*parts, strict=True))
    return sparse.csr_matrix(sparse.coo_matrix((values, (row, column)), shape))
