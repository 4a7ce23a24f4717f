"""The constraints of a descent: actuator rows at the present configuration; contacts detected, or extrapolated.

Contacts are detected again at every configuration that is far from the last one. Close to the end they are extrapolated
instead: gap⁺ = gap + H dx with the rows as they are. A vertex that slides over an edge has another nearest face at each
iteration, and an iteration whose rows change each time does not converge. A last detection checks extrapolated gaps.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from scipy import sparse

from pliant.constraints import Assembly, Rows, assemble, detect, forces_of
from pliant.core.types import BoolArray, FloatArray, IndexArray
from pliant.stepping.minimum_energy.shapes import Shapes


class DescentConstraints:
    """The rows of one descent: `contact` and `actuator` are the indices of the rows of each kind in `assembly`; H
    (m, N) and `gap` (m,) in m those of the contacts; `lam` (m + actuator rows,) the last forces of all, in N and Pa.
    """

    def __init__(self, shapes: Shapes) -> None:
        self._shapes = shapes
        world, start = shapes.bodies.world, shapes.bodies.start
        self._all: list[Any] = list(world.constraints)
        self._is_contact = np.array([each.is_contact for each in self._all], bool)
        self._others = [each for each, contact in zip(self._all, self._is_contact, strict=True) if not contact]
        self._memories: tuple[Any, ...] = start.memories or (None,) * len(self._all)
        margins = [each.margin for each in self._all if each.is_contact]
        self.passing_depth = 0.5 * min(margins, default=np.inf)
        """Penetration up to which contacts can be told from surfaces that passed through each other, m."""
        self.last_forces = (start.keys, start.lam)
        self.assembly: Assembly | None = None
        self.lam: FloatArray = np.zeros(0)
        self.contact: IndexArray = np.zeros(0, np.int64)
        self.actuator: IndexArray = np.zeros(0, np.int64)
        size = sum(model.size for model in world.models)
        self.H = sparse.csr_matrix((0, size))
        self.gap: FloatArray = np.zeros(0)
        self.depth = 0.0
        """Largest penetration where contacts were last detected, m."""
        self.detection_count = 0
        """How often they were detected."""
        self._detected: tuple[FloatArray, FloatArray] = np.zeros(0), np.zeros(size)

    def actuator_rows(self) -> Rows | None:
        """Rows of everything but contacts at the present configuration."""
        if not self._others:
            return None
        views = [self._shapes.bodies.view()] * len(self._others)
        return assemble(self._others, views, detect(self._others, views)).rows

    def detect(self, dx: FloatArray) -> None:
        """Detect contacts at the present configuration, which is dx (N,), m, from the start."""
        if not len(self._is_contact):
            return
        view = self._shapes.bodies.view()
        views = [view if memory is None else replace(view, memory=memory) for memory in self._memories]
        self.assembly = assemble(self._all, views, detect(self._all, views))
        self._memories = self.assembly.memories
        rows = self.assembly.rows
        of_contacts: BoolArray = np.zeros(rows.count, bool)
        for own, contact in zip(self.assembly.slices, self._is_contact, strict=True):
            of_contacts[own] = contact
        self.contact, self.actuator = np.flatnonzero(of_contacts), np.flatnonzero(~of_contacts)
        self.H = sparse.hstack([H[self.contact] for H in rows.H], format="csr")
        self.gap = rows.gap[self.contact]
        self._detected = self.gap, dx
        self.depth = max(0.0, -float(self.gap.min(initial=0.0)))
        self.lam = forces_of(rows.key, *self.last_forces)
        self.detection_count += 1

    def extrapolate(self, dx: FloatArray) -> None:
        """Extrapolate the gaps of the contacts to the configuration at dx (N,), m, from the start."""
        if self.assembly is not None:
            gap, at = self._detected
            self.gap = gap + self.H @ (dx - at)
            self.lam = forces_of(self.assembly.rows.key, *self.last_forces)

    def at_present(self, actuators: Rows | None) -> Assembly | None:
        """All rows with their gaps at the present configuration, those of the `actuators` as given."""
        if self.assembly is None:
            return None
        gap = self.assembly.rows.gap.copy()
        gap[self.contact] = self.gap
        if actuators is not None:
            gap[self.actuator] = actuators.gap
        return replace(self.assembly, rows=replace(self.assembly.rows, gap=gap))

    def detected_at(self, dx: FloatArray) -> bool:
        """Whether contacts were last detected at dx (N,), m, from the start."""
        return self.assembly is None or self._detected[1] is dx

    def remember(self, lam: FloatArray) -> None:
        """Note the forces `lam` of all rows."""
        assert self.assembly is not None
        self.lam, self.last_forces = lam, (self.assembly.rows.key, lam)

    @property
    def by_model(self) -> list[sparse.csr_matrix]:
        """Rows of the contacts in each model."""
        return [] if self.assembly is None else [H[self.contact] for H in self.assembly.rows.H]
