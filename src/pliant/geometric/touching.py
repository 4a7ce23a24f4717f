"""The rows of a descent: drives at the present shape, contacts looked for there or followed from a shape nearby.

Contacts are found again at every shape that is far from the last one. Close to the end they are followed instead:
gap⁺ = gap + H dx with the rows as they are. A vertex that slides over an edge has another face nearest to it at every
iteration, and a descent whose rows change each time never ends; rows that stay end in as many iterations as the bodies
need. What is found when contacts are looked for once more says whether they were good enough.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from scipy import sparse

from pliant.constraints import Assembly, Rows, assemble, detect, forces_of
from pliant.constraints.contact import ContactPair
from pliant.core.types import BoolArray, FloatArray, IndexArray
from pliant.geometric.shapes import Shapes


class Touching:
    """The rows of one descent: `contact` and `drive` are the numbers of the rows of each kind in `assembly`, H (m, N)
    and `gap` (m,) in m those of the contacts, `lam` (m + drives,) what is known of the forces of all, in N and Pa.
    """

    def __init__(self, shapes: Shapes) -> None:
        self._shapes = shapes
        world, start = shapes.bodies.world, shapes.bodies.start
        self._all = world.constraints
        self._is_contact = np.array([isinstance(each, ContactPair) for each in self._all], bool)
        self._makers = [each for each, contact in zip(self._all, self._is_contact, strict=True) if not contact]
        self._memories: tuple[Any, ...] = start.memories or (None,) * len(self._all)
        margins = [each.margin for each in self._all if isinstance(each, ContactPair)]
        self.reach = 0.5 * min(margins, default=np.inf)
        """How deep contacts may stand in each other to be told from those that passed through each other, m."""
        self.known = (start.keys, start.lam)
        self.assembly: Assembly | None = None
        self.lam: FloatArray = np.zeros(0)
        self.contact: IndexArray = np.zeros(0, np.int64)
        self.drive: IndexArray = np.zeros(0, np.int64)
        size = sum(model.size for model in world.models)
        self.H = sparse.csr_matrix((0, size))
        self.gap: FloatArray = np.zeros(0)
        self.depth = 0.0
        """How deep contacts stood in each other where they were last looked for, m."""
        self.number = 0
        """How often they were looked for."""
        self._found: tuple[FloatArray, FloatArray] = np.zeros(0), np.zeros(size)

    def drives(self) -> Rows | None:
        """Rows of everything but contacts at the present shape."""
        if not self._makers:
            return None
        views = [self._shapes.bodies.view()] * len(self._makers)
        return assemble(self._makers, views, detect(self._makers, views)).rows

    def find(self, dx: FloatArray) -> None:
        """Look for contacts at the present shape, which is dx (N,), m, from the start."""
        if not len(self._is_contact):
            return
        view = self._shapes.bodies.view()
        views = [view if memory is None else replace(view, memory=memory) for memory in self._memories]
        self.assembly = assemble(self._all, views, detect(self._all, views))
        self._memories = self.assembly.memories
        rows = self.assembly.rows
        of_contacts: BoolArray = np.zeros(rows.count, bool)
        for place, contact in zip(self.assembly.slices, self._is_contact, strict=True):
            of_contacts[place] = contact
        self.contact, self.drive = np.flatnonzero(of_contacts), np.flatnonzero(~of_contacts)
        self.H = sparse.hstack([H[self.contact] for H in rows.H], format="csr")
        self.gap = rows.gap[self.contact]
        self._found = self.gap, dx
        self.depth = max(0.0, -float(self.gap.min(initial=0.0)))
        self.lam = forces_of(rows.key, *self.known)
        self.number += 1

    def follow(self, dx: FloatArray) -> None:
        """Carry the gaps of the contacts over to the shape at dx (N,), m, from the start."""
        if self.assembly is not None:
            gap, at = self._found
            self.gap = gap + self.H @ (dx - at)
            self.lam = forces_of(self.assembly.rows.key, *self.known)

    def present(self, drives: Rows | None) -> Assembly | None:
        """All rows with their gaps at the present shape, those of the `drives` as given."""
        if self.assembly is None:
            return None
        gap = self.assembly.rows.gap.copy()
        gap[self.contact] = self.gap
        if drives is not None:
            gap[self.drive] = drives.gap
        return replace(self.assembly, rows=replace(self.assembly.rows, gap=gap))

    def found_at(self, dx: FloatArray) -> bool:
        """Whether contacts were last looked for at dx (N,), m, from the start."""
        return self.assembly is None or self._found[1] is dx

    def keep(self, lam: FloatArray) -> None:
        """Note the forces `lam` of all rows."""
        assert self.assembly is not None
        self.lam, self.known = lam, (self.assembly.rows.key, lam)

    @property
    def own(self) -> list[sparse.csr_matrix]:
        """Rows of the contacts in each model."""
        return [] if self.assembly is None else [H[self.contact] for H in self.assembly.rows.H]
