"""Contact pairs, constraints that keep two bodies apart: detection, contact frames, laws.

δ of a normal row is the gap at the end of the step, δ of a tangential row the slip over the step. A penetration at the
start is removed at a bounded speed: at once it would throw the bodies apart.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
from scipy import sparse

from pliant.collision import (
    Capsule,
    CollisionSurface,
    ContactSet,
    Cylinder,
    Plane,
    ProximityOptions,
    Sphere,
    ball_contacts,
    concatenate,
    contact_frames,
    obstacle_contacts,
    self_contacts,
    side_rows,
    surface_contacts,
)
from pliant.collision.broad.kept_candidates import KeptCandidates
from pliant.collision.facet_contacts import with_facets
from pliant.collision.folded_cells import folded_penetration
from pliant.collision.narrow.round_contacts import (
    COARSE_DIP,
    CONVEX,
    DIP,
    ROUND,
    edge_contacts,
    rim_contacts,
    sphere_contacts,
    through_entered_side,
)
from pliant.collision.penetration import overlap_with_solid, surface_overlap
from pliant.collision.self_penetration import self_penetration
from pliant.collision.speculative import MovingSide, largest_closing, on_predicted_motion
from pliant.constraints.colliders import Collider
from pliant.constraints.contact_memory import ContactMemory
from pliant.constraints.keys import contact_row_keys
from pliant.constraints.row_blocks import RowBlocks
from pliant.constraints.rows import Constraint, RowLaw, Rows, RowView, forces_of
from pliant.constraints.thinning import MANY, MOST, thinned
from pliant.core.arrays import add_product
from pliant.core.immutable import evolve
from pliant.core.types import FloatArray, IndexArray

RECOVERY_SPEED = 0.1
"""Speed at which a penetration is removed, m/s: 1 mm in 10 ms, slow beside the motions of a robot."""
APPROACH = 1.2
"""Safety factor on the predicted approach of two sides in a step: forces may speed them up."""
PASSING = 0.01
"""Fraction of the margin by which a vertex may be below a plane that it slides along, as over the seam of two blocks:
more than solvers leave of a penetration, less than any step between two surfaces that should be felt."""
_DEEPEST_DENT = 0.05
"""Penetration of a round body over its radius that a quasi-static solve reports; edges of 0.4 radii allow 0.02."""
_DENTED = (
    "{a!r} and {b!r} overlap by {depth:.2g} mm in this equilibrium: with contacts of edges and faces none was found in "
    "which the round body rests, and it dips between the nodes of a coarse surface; use cells shorter than 0.4 of its "
    "radius there, more friction, or a dynamic stepper, which has these contacts"
)
_OUTRUN = (
    "{a!r} and {b!r} approached by up to {beyond:.3g} mm more in a step than detection covers and may have passed "
    "through each other: use a smaller dt, or continuous=True or a wider margin in scene.collide"
)
_CROWDED = (
    "more contacts of {a!r} and {b!r} are in reach of a step than the " + str(MOST) + " that a pair keeps: those that "
    "would be deepest are solved, read info.penetration for the others; use a smaller dt or a narrower margin"
)


@dataclass(frozen=True, eq=False)
class ContactPair(Constraint):
    """Two sides that collide with friction `mu`, detected within `margin` (m); `pair` is the index of the pair. Dynamic
    steps are cut where the sides of a `continuous` pair would cross.
    """

    a: Collider
    b: Collider
    mu: float
    margin: float
    pair: int
    capacity: int | None = None
    continuous: bool = field(default=False, kw_only=True)

    memory_type: ClassVar[type[ContactMemory]] = ContactMemory
    is_contact: ClassVar[bool] = True
    encloses: ClassVar[bool] = False  # whether side a stays inside side b
    can_cross: ClassVar[bool] = True  # whether `constraints.continuous` can tell that its sides cross

    @property
    def name(self) -> str:
        """Names of both sides."""
        return f"{self.a.name} – {self.b.name}"

    @property
    def handles(self) -> tuple[Any, ...]:
        """The handles that name the pair: both sides."""
        return (self.a.handle, self.b.handle)

    @property
    def may_coarsen(self) -> bool:
        """Whether a round side may be left to the vertices of the other one, as in a `RowView.coarse`."""
        return self.b.surface is None and self.a.surface is not None and isinstance(self.b.solid, CONVEX)

    @property
    def keeps_planes(self) -> bool:
        """Whether the planes of its contacts are that of a fixed half-space, however the first side moves."""
        return self.b.index is None and self.b.surface is None and isinstance(self.b.solid, Plane)

    def with_friction(self, mu: float) -> ContactPair:
        """The pair with another coefficient of friction."""
        return replace(self, mu=mu)

    def constrains(self, index: int) -> bool:
        """Whether body `index` may rest on another."""
        return self.a is not self.b and index in (self.a.index, self.b.index)

    def detect(self, view: RowView) -> Any:
        """Contacts within the margin at the positions of `view`."""
        previous = None if view.memory is None else view.memory.contacts
        if self.continuous and view.dt and self.b.index is None and self.b.handle.motion is not None:
            return self._before_obstacle(view, previous)
        found = self.contact_set(view, previous)
        if view.dt and found.count > MANY:
            found = self._thinned(view, found)
        return self._on_predicted_motion(view, found) if view.dt and found.count and not view.still else found

    def _before_obstacle(self, view: RowView, previous: ContactSet | None) -> ContactSet:
        """Contacts with a moving obstacle where it is at the start of the step, carried along with it to the end: it
        may be thinner than its motion.
        """
        start, end = self.b.q_start(view), self.b.q(view)
        found = self.contact_set(evolve(view, time=view.time - (view.interval or view.dt)), previous)
        carried = end[0] + (found.point_b - start[0]) @ start[1:] @ end[1:].T
        gap = found.gap - np.einsum("mi,mi->m", found.normal, carried - found.point_b)
        return replace(found, gap=gap, point_b=carried)

    def _thinned(self, view: RowView, contacts: ContactSet) -> ContactSet:
        """`contacts` without those whose own points cannot close them in the step."""
        motions = [side.predicted_motion(view) for side in (self.a, self.b)]
        if motions[0] is None or motions[1] is None:
            return contacts
        return thinned(contacts, view, (motions[0], motions[1]), margin=self.margin, approach=APPROACH)

    def _on_predicted_motion(self, view: RowView, contacts: ContactSet) -> ContactSet:
        """`contacts` with planes that do not stand across the motion that the velocities predict."""
        a, b = self.a, self.b
        if a is b or (b.surface is None and b.solid is None):
            return contacts
        motions = [side.predicted_motion(view) for side in (a, b)]
        if motions[0] is None or motions[1] is None:
            return contacts
        radii = a.ball_radii(np.arange(len(motions[0]))) if a.radius else None
        own = None if a.surface is None else lambda: a.pose(view)
        first = MovingSide(own, motions[0], radii=radii)
        if b.surface is not None:
            second = MovingSide(lambda: b.pose(view), motions[1])
        else:
            facets = None if b.facets is None else lambda: b.facets_at(view)
            second = MovingSide(facets, motions[1], b.world_distance(view))
        return on_predicted_motion(contacts, first, second, tolerance=PASSING * self.margin, pair=self.pair)

    def rows(self, view: RowView, found: Any) -> tuple[Rows, Any]:
        """Normal rows of the contacts `found`, with two tangential ones each where there is friction."""
        frames = self.frames_of(found, view.memory)
        return self.contact_rows(view, found, frames), ContactMemory(found, frames)

    def check_memory(self, memory: Any) -> None:
        """An error where `memory` is none that this pair may have left."""
        super().check_memory(memory)
        memory.check(3 if self.mu else 1)

    def frames_of(self, contacts: ContactSet, memory: ContactMemory | None) -> FloatArray:
        """Normals and, where there is friction, tangents of `contacts`, carried along from those remembered."""
        if not self.mu:
            return contacts.normal[:, None]
        if memory is None:
            return contact_frames(contacts)
        return contact_frames(contacts, previous=memory.contacts, previous_frames=memory.frames)

    def contact_set(self, view: RowView, previous: ContactSet | None) -> ContactSet:
        """Contacts within the margin at the positions of `view`; those of the `previous` step keep their sides."""
        a, b = self.a, self.b
        margin = self._margin(view)
        if a is b:
            assert a.surface is not None
            options = ProximityOptions(margin=margin, capacity=self.capacity)
            found = self_contacts(a.pose(view), options, pair=self.pair, previous=previous, kept=self._kept(view))
            if a.shells is None:
                return found
            return found.selected(a.shells[found.nodes_a[:, 0]] == a.shells[found.nodes_b[:, 0]])
        if a.surface is not None and b.surface is not None:
            options = ProximityOptions(margin=margin, capacity=self.capacity)
            return surface_contacts(
                a.pose(view), b.pose(view), options, pair=self.pair, previous=previous, kept=self._kept(view)
            )
        if b.surface is not None and b.solid is None:
            return ball_contacts(
                a.points(view), a.nodes, a.ball_radii(a.nodes), b.pose(view), margin=margin, pair=self.pair,
                capacity=self.capacity,
            )  # fmt: skip
        place = b.q(view)
        contacts = obstacle_contacts(
            a.points(view), a.nodes, b.solid, margin=margin, pair=self.pair, capacity=self.capacity,
            radius=a.ball_radii(a.nodes) if a.radii is not None else a.radius, position=place[0], rotation=place[1:],
        )  # fmt: skip
        if a.surface is not None and b.facets is not None:
            return with_facets(
                contacts, a.pose(view), b.facets_at(view), margin=margin, pair=self.pair, previous=previous,
                capacity=self.capacity,
            )  # fmt: skip
        if a.surface is not None and isinstance(b.solid, ROUND):
            return self._with_round(view, a.surface, contacts, margin, previous)
        return contacts

    def _with_round(
        self, view: RowView, surface: CollisionSurface, contacts: ContactSet, margin: float, previous: ContactSet | None
    ) -> ContactSet:
        """Contacts of the vertices with a round solid, and those of edges and faces between them."""
        a, solid, pose = self.a, self.b.solid, self.b.q(view)
        points = a.points(view)
        dip = COARSE_DIP if view.coarse and self.may_coarsen else DIP
        options: dict[str, Any] = {"margin": margin, "pair": self.pair, "previous": previous, "dip": dip}
        found = [edge_contacts(surface, points, solid, pose, **options)]
        if isinstance(solid, Cylinder):
            found.append(rim_contacts(surface, points, solid, pose, margin=margin, pair=self.pair))
        elif isinstance(solid, Sphere | Capsule):
            start = a.map.points(a.q_start(view)), self.b.q_start(view)
            steps = view.dt > 0.0
            found += sphere_contacts(surface, points, solid, pose, start, found[0], steps=steps, **options)
        found = [more for more in found if more.count]
        joined = concatenate([contacts, *found]) if found else contacts
        if isinstance(solid, Cylinder) and not view.dt:
            start = np.einsum(
                "mk,mki->mi", joined.weights_a, a.map.points(a.q_start(view))[np.maximum(joined.nodes_a, 0)]
            )
            return through_entered_side(joined, solid, pose, start, self.b.q_start(view))
        return joined

    def _kept(self, view: RowView) -> KeptCandidates | None:
        """Candidates of the pair that last from step to step; None outside of a stepper."""
        if view.workspace is None:
            return None
        kept: KeptCandidates = view.workspace.once(self, KeptCandidates, lambda: KeptCandidates(self.margin))
        return kept

    def _margin(self, view: RowView) -> float:
        """The margin, m, widened to the approach in the step at present speeds; that of self-contact is its own."""
        return self.margin if self.a is self.b else max(self.margin, self._approach(view))

    def _approach(self, view: RowView) -> float:
        """Distance, m, by which the sides may approach each other in the step at present speeds."""
        if not view.dt:
            return view.approach
        return APPROACH * view.dt * (self.a.fastest_approach(self.b, view) + view.dt * view.gravity)

    def outrun(self, view: RowView, memory: Any) -> float:
        """Approach of the sides in the step that ended at `view` beyond what detection covered, m; ≤ 0: none missed."""
        if self.a is self.b and self.a.surface is not None:  # what is slender is a chain of points like any other
            return largest_closing(*self.a.ends(view), self.margin, self.a.surface.longest_edge) - self.margin
        ends = [side.ends(view) for side in (self.a, self.b)]
        shifts = [end - start for start, end in ends]
        mean = shifts[1].mean(axis=0)
        approach = sum(float(np.sqrt(((shift - mean) ** 2).sum(axis=1).max())) for shift in shifts)
        beyond = approach - self._margin(view)
        return beyond if beyond <= 0.0 or self.b.can_meet(self.a, approach, ends[0][0], ends[1][0], view) else 0.0

    def approached(self, before: RowView, after: RowView) -> float:
        """How far the two sides move against each other from one view to the other at most, m."""
        shifts = []
        for side in (self.a, self.b):
            if side.index is None:
                shifts.append(side.q(after)[:1] - side.q(before)[:1])
                continue
            start, end = (side.map.points(side.q(view))[side.nodes] for view in (before, after))
            shifts.append(end - start if len(end) else np.zeros((1, 3)))
        mean = shifts[1].mean(axis=0)
        return sum(float(np.sqrt(((shift - mean) ** 2).sum(axis=1).max())) for shift in shifts)

    def warnings(self, view: RowView, memory: Any) -> tuple[str, ...]:
        """A warning where the motion of a dynamic step outran detection, where more contacts are in reach than a pair
        keeps, or where a round solid dips between the nodes that a quasi-static solve keeps apart from it.
        """
        contacts = None if memory is None else memory.contacts
        found: tuple[str, ...] = (
            (_CROWDED.format(a=self.a.name, b=self.b.name),) if contacts and contacts.count == MOST else ()
        )
        if not view.dt and self.a.surface is not None and isinstance(self.b.solid, ROUND):
            dent = self.overlap(view)
            if dent > _DEEPEST_DENT * self.b.solid.radius:
                found += (_DENTED.format(a=self.a.name, b=self.b.name, depth=1e3 * dent),)
        beyond = self.outrun(view, memory) if view.dt or not self.can_cross else 0.0
        if beyond <= 0.0:
            return found
        return (*found, _OUTRUN.format(a=self.a.name, b=self.b.name, beyond=1e3 * beyond))

    def overlap(self, view: RowView) -> float:
        """Largest penetration of the two sides at the positions of `view`, m; 0 without any."""
        a, b = self.a, self.b
        if a.is_solid_surface and a is not b:
            pose = a.pose(view)
            if b.is_solid_surface:
                found = surface_overlap(pose, b.pose(view))
                return 0.0 if found is None else found.depth
            if b.solid is not None:
                return max(overlap_with_solid(pose, b.depth(view)), b.depth_of_points(pose, view))
        if a is b and a.is_solid_surface:
            pose = a.pose(view)
            return max(self_penetration(pose), 0.0 if a.cells is None else folded_penetration(pose, a.cells))
        gaps = self.contact_set(view, None).gap
        return max(0.0, -float(gaps.min())) if len(gaps) else 0.0

    def contact_rows(self, view: RowView, contacts: ContactSet, frames: FloatArray) -> Rows:
        """Rows of `contacts` along their `frames`."""
        if not contacts.count:
            return Rows.none(view.sizes)
        width = 3 if self.mu else 1
        H, directions = view.blank(contacts.count * width), frames[:, :width]
        for index, block in self._gradients(view, contacts, directions):
            H[index] = H.filled[index] + block if index in H.filled else block
        moves = self.b.index is None and self.b.handle.motion is not None
        drift = np.einsum("mki,mi->mk", directions, self.b.drift(view, contacts.point_b)) if moves else None
        return self.governed(view, H, contacts.gap, contacts.key, drift)

    def rates(self, view: RowView, rows: Rows, memory: Any) -> FloatArray:
        """Velocities of a moving obstacle along the frames of the contacts, (m,), m/s; zero for other pairs."""
        if self.b.index is not None or self.b.handle.motion is None or not rows.count:
            return np.zeros(rows.count)
        drift = self.b.drift(view, memory.contacts.point_b)
        directions = memory.frames[:, : rows.count // memory.contacts.count]
        along: FloatArray = np.einsum("mki,mi->mk", directions, drift).ravel() / view.dt
        return along

    def governed(self, view: RowView, H: RowBlocks, gaps: FloatArray, keys: IndexArray, drift: Any = None) -> Rows:
        """Rows with the laws of the pair from gradients `H`, `gaps` (m,) m and `keys` (m,). With friction the
        tangential gaps are the slip less the `drift` (m, 1 or 3) m of the obstacle. Its approach is penetration that is
        removed at once.
        """
        moved = 0.0 if drift is None else np.maximum(drift[:, 0], 0.0)
        gap = np.maximum(gaps, -RECOVERY_SPEED * view.dt - moved) if view.dt else gaps
        if not self.mu:
            return Rows.of(H, gap, RowLaw.SIGNORINI, key=contact_row_keys(keys, 1))
        slip = np.zeros((len(gaps), 3))
        for index, h in sorted(H.filled.items()):
            if len(h.data):
                add_product(h, np.asarray(view.moved[index]), slip.reshape(-1))
        if view.velocity_offsets:
            # A point that lands on a turning body has come along a curve: it sticks where its velocity at the end of
            # the step vanishes, not its displacement over it.
            normals = np.ascontiguousarray(contact_row_keys(keys, 3)[::3])  # strided, its kernel would compile again
            landing = forces_of(normals, view.last_keys, view.last_lam) == 0.0
            offsets = zip(H, view.velocity_offsets, strict=True)
            slip += landing[:, None] * sum(view.dt * (h @ o.ravel()) for h, o in offsets if o is not None).reshape(
                -1, 3
            )
        all_gaps = np.empty((len(gaps), 3))
        all_gaps[:, 0], all_gaps[:, 1:] = gap, slip[:, 1:] - (0.0 if drift is None else drift[:, 1:])
        return Rows.of(H, all_gaps.ravel(), RowLaw.COULOMB, mu=self.mu, key=contact_row_keys(keys, 3))

    def end_gaps(self, memory: ContactMemory, delta: FloatArray, view: RowView) -> FloatArray:
        """Gaps (m,) m of the contacts of `memory` at the end of the step, from δ of their rows."""
        count = memory.contacts.count
        return delta.reshape(count, -1)[:, 0] if count else np.zeros(0)

    def _gradients(
        self, view: RowView, contacts: ContactSet, directions: FloatArray
    ) -> Iterator[tuple[int, sparse.csr_matrix]]:
        """Indices of the models and rows over them, of either side."""
        a, b, c = self.a, self.b, contacts
        if a is b and a.surface is not None:
            assert a.index is not None
            nodes, weights = np.hstack([c.nodes_a, c.nodes_b]), np.hstack([c.weights_a, -c.weights_b])
            yield a.index, a.pull_back(view, side_rows(nodes, weights, directions, c.point_count_a))
            return
        for side, first in ((a, True), (b, False)):
            if side.index is not None:
                yield side.index, self._gradient(view, first, contacts, directions)

    def _gradient(self, view: RowView, first: bool, contacts: ContactSet, directions: FloatArray) -> sparse.csr_matrix:
        """Rows of one side over its model: through its points, or at the contact points of a solid or a ball."""
        a, b, c = self.a, self.b, contacts
        if first and a.radius:
            return a.pull_at(view, c.point_a, directions, c.nodes_a[:, 0])
        if first:
            return a.pull_back(view, side_rows(c.nodes_a, c.weights_a, directions, c.point_count_a))
        if not c.point_count_b:
            return b.pull_at(view, c.point_b, -directions)
        return b.pull_back(view, side_rows(c.nodes_b, c.weights_b, directions, c.point_count_b, sign=-1.0))
