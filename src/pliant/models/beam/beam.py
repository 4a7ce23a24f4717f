"""Definition of networks of beams."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from pliant.core.checks import finite_array, index_array
from pliant.core.declared import check_declared
from pliant.core.errors import InputError
from pliant.core.one_line import one_line
from pliant.core.types import FloatArray, IntArray
from pliant.models.beam.section import Section
from pliant.models.beam.segments import BeamPieces
from pliant.models.pieces import Ends
from pliant.models.slender import NO_DAMPING, OF_MATERIAL, SlenderBody
from pliant.models.volume.volume import Rayleigh


@one_line
@dataclass(frozen=True, eq=False)
class Beam(SlenderBody):
    """A slender elastic body: straight pieces of one cross-section between nodes that have a position and a frame.

    points
        Nodes at rest, (n, 3) m.
    edges
        Pieces as pairs of nodes, (m, 2); None takes the chain 0–1–2–….
    section
        `pl.sections.Circle(radius)`, `.Tube(outer, inner)` or `.Rectangle(width, height)`; m.
    young, poisson, density
        Pa, in (−1, 0.5], kg/m³.
    material
        In their place: one of `pl.materials` at small strain. `Viscoelastic` relaxes every strain; or one for each,
        ``{"bending": …, "torsion": …, "stretch": …}`` on the same base, bending also as "bend_y" and "bend_z". Those
        that are not named are elastic; shear relaxes with bending.
    clamp
        Nodes with fixed position and frame: a region or node indices; they are removed from the unknowns.
    pin
        Nodes with fixed position that may rotate.
    frames
        Frames of the pieces at rest, (m, 3, 3), the columns along the piece, across its width and across its height;
        None takes the height as near to `up` (3,) as the piece allows (for a piece along `up`, to the world's x axis).
    shear
        Timoshenko's beam, which shears; False is that of Euler and Bernoulli.
    damping
        `pl.Rayleigh(mass=…, stiffness=…)`, with one stiffness coefficient (s) or one for each strain, as above.
    contact_points
        Points along each piece that touch others, each with a ball of the section's radius around it.
    name
        How the body is called in messages and files.
    """

    points: Any
    _: KW_ONLY
    section: Section
    young: float = OF_MATERIAL
    poisson: float = OF_MATERIAL
    density: float = OF_MATERIAL
    material: Any = None
    edges: Any = None
    clamp: Any = None
    pin: Any = None
    frames: Any = None
    up: Any = (0.0, 0.0, 1.0)
    shear: bool = True
    damping: Rayleigh = NO_DAMPING
    contact_points: int = 4
    name: str = "beam"

    damped_strains: ClassVar[tuple[str, ...]] = ("torsion", "bending", "twist", "bend_y", "bend_z", "stretch")

    def __post_init__(self) -> None:
        check_declared(self)
        name = self.name
        self.check_section(self.section)
        self.check_material()
        _check_network(name, self.node_points, self.element_nodes)
        assert len(self.element_frames) == len(self.element_nodes)  # the cached properties check what they are made of
        for what in ("clamp", "pin"):
            self.selected(getattr(self, what), what=f"{what} of {name!r}")

    @cached_property
    def node_points(self) -> FloatArray:
        """Nodes at rest as it was made, (n, 3) m."""
        return finite_array(f"points of {self.name!r}", self.points, shape=(None, 3))

    @property
    def node_count(self) -> int:
        """Number of nodes."""
        return len(self.node_points)

    @cached_property
    def element_nodes(self) -> IntArray:
        """Nodes of each piece, (m, 2)."""
        if self.edges is None:
            first = np.arange(max(len(self.node_points) - 1, 0), dtype=np.int32)
            return np.stack([first, first + 1], axis=1)
        return index_array(f"edges of {self.name!r}", self.edges, self.node_count, width=2, error=InputError)

    @cached_property
    def element_frames(self) -> FloatArray:
        """Frames of the pieces at rest, (m, 3, 3), no unit: columns along, across the width, across the height."""
        chords = np.diff(self.node_points[self.element_nodes], axis=1)[:, 0]
        along = chords / np.linalg.norm(chords, axis=1, keepdims=True)
        if self.frames is None:
            up = finite_array(f"up of {self.name!r}", self.up, shape=(3,))
            if not np.linalg.norm(up) > 0.0:
                raise InputError(f"up of {self.name!r} must not be zero: it is a direction")
            return _upright(along, up / np.linalg.norm(up))
        frames = finite_array(f"frames of {self.name!r}", self.frames, shape=(len(along), 3, 3))
        if not np.allclose(frames.transpose(0, 2, 1) @ frames, np.eye(3), atol=1e-6):  # six digits typed in
            raise InputError(f"frames of {self.name!r} must be rotations: columns of unit length, at right angles")
        off = np.linalg.norm(frames[:, :, 0] - along, axis=1)
        if (off > 1e-6).any():  # six digits typed in
            worst = int(np.argmax(off))
            raise InputError(f"the first column of frame {worst} of {self.name!r} must point along piece {worst}")
        return frames

    @cached_property
    def node_frames(self) -> FloatArray:
        """Frames of the nodes at rest, (n, 3, 3): first columns the mean direction of the pieces that meet there."""
        edges, frames = self.element_nodes, self.element_frames
        along = np.zeros((self.node_count, 3))
        for end in (0, 1):
            np.add.at(along, edges[:, end], frames[:, :, 0])
        first = np.zeros(self.node_count, np.int64)
        first[edges[::-1].ravel()] = np.repeat(np.arange(len(edges))[::-1], 2)
        lengths = np.linalg.norm(along, axis=1, keepdims=True)
        tangent = np.where(lengths > 0.1, along / np.maximum(lengths, 0.1), frames[first, :, 0])
        height = frames[first, :, 2]
        height = height - np.einsum("ni,ni->n", height, tangent)[:, None] * tangent
        flat = np.linalg.norm(height, axis=1) < 0.1
        tangent[flat], height[flat] = frames[first[flat], :, 0], frames[first[flat], :, 2]
        height /= np.linalg.norm(height, axis=1, keepdims=True)
        return np.stack([tangent, np.cross(height, tangent), height], axis=2)

    def pieces(self, points: FloatArray, ends: Sequence[Ends], *, what: str, reach: float = 0.0) -> BeamPieces:
        """Segments of a cable with `ends` among `points` (p, 3), m, as the beam was made."""
        return BeamPieces(self, points, ends, what, reach)


def _upright(along: FloatArray, up: FloatArray) -> FloatArray:
    """Frames (m, 3, 3) with first columns `along` (m, 3) and third columns as near to `up` as these allow."""
    aligned = np.abs(along @ up) > 1.0 - 1e-6  # within 1.4 mrad: `up` then gives no direction
    other = np.eye(3)[0] if abs(up[0]) < 0.9 else np.eye(3)[1]
    wanted = np.where(aligned[:, None], other, up)
    height = wanted - np.einsum("mi,mi->m", wanted, along)[:, None] * along
    height /= np.linalg.norm(height, axis=1, keepdims=True)
    return np.stack([along, np.cross(height, along), height], axis=2)


def _check_network(name: str, points: FloatArray, edges: IntArray) -> None:
    if len(points) < 2:
        raise InputError(f"{name!r} has {len(points)} points; a beam needs two")
    if len(edges) == 0:
        raise InputError(f"{name!r} has no edges; a beam needs one")
    if edges.min() < 0 or edges.max() >= len(points):
        wrong = edges.min() if edges.min() < 0 else edges.max()
        raise InputError(f"edges of {name!r} name node {wrong}, but its nodes are 0…{len(points) - 1}")
    lengths = np.linalg.norm(np.diff(points[edges], axis=1)[:, 0], axis=1)
    size = float(np.ptp(points, axis=0).max())
    if (lengths <= 1e-9 * size).any():
        worst = int(np.argmin(lengths))
        raise InputError(
            f"piece {worst} of {name!r}, nodes {edges[worst].tolist()}, has the length {lengths[worst]:.3g} m; "
            "its ends must differ"
        )
    alone = np.setdiff1d(np.arange(len(points)), edges)
    if len(alone):
        raise InputError(f"node {alone[0]} of {name!r} belongs to no piece; leave it out, or name it in edges")
    twice = np.sort(edges, axis=1)
    if len(np.unique(twice, axis=0)) < len(twice):
        raise InputError(f"edges of {name!r} hold the same pair of nodes twice")
