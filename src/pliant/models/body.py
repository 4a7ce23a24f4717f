"""The contract of a body: what every kind offers to constraints, steppers, states, recordings and files.

A user defines a body as a frozen `Body` (`pl.Volume`, `pl.Beam`…); it is compiled into a frozen `Model`. The state of a
model is a pair of arrays (q, v) of its own shapes; others read it through the members below. A kind lives in its own
folder, `models/<kind>/`, and is registered by one line in `models/kinds.py` or, outside the library, by one call of
`models.kinds.register`. A member that a kind does not offer raises an `InputError`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, NoReturn, Self

import numpy as np
from scipy import sparse

from pliant.core.checks import finite_array
from pliant.core.errors import InputError
from pliant.core.immutable import handle_of
from pliant.core.types import BoolArray, FloatArray, IndexArray, IntArray
from pliant.mesh.mesh import rotation_matrix
from pliant.models.pieces import Ends, Pieces

if TYPE_CHECKING:
    from pliant.models.axis import Axis
    from pliant.models.free_modes import FreeModes
    from pliant.models.model import StepStart, Trial
    from pliant.models.point_map import PointMap
    from pliant.models.surfaces import ContactShape, Skin


STATIONS = 5
"""Outlines along each element of a drawn slender body: enough to show it bent."""


class ContactRole(IntEnum):
    """Role of a body in a contact. Points of the body of the lower role meet the surface or the solid of the other."""

    BALLS = 0
    SURFACE = 1
    RIGID = 2
    OBSTACLE = 3


class Body:
    """A body as a user defines it and adds it to a scene; it is the handle of the body from then on."""

    name: str

    slender: ClassVar[bool] = False
    """Whether it has an axis, along which other bodies slide and which makes contact."""
    has_frames: ClassVar[bool] = True
    """Whether its embedded points have frames, which rotate with the body."""
    placeable: ClassVar[bool] = True
    """Whether `scene.add(body, position=, rotation=)` places it; otherwise it has a pose of its own."""
    contact_role: ClassVar[ContactRole] = ContactRole.BALLS
    takes_fibres: ClassVar[bool] = False
    """Whether fibres, such as the tubes in which cables run, can be part of it."""
    touches_itself: ClassVar[bool] = False
    """Whether there is self-contact for it."""

    def placement(self, position: Any, rotation: Any) -> Any:
        """Its pose (4, 3), position (m) and rotation, when rotated about its origin and then translated."""
        origin = np.zeros(3) if position is None else finite_array("position", position, shape=(3,))
        return np.vstack([origin, np.eye(3) if rotation is None else rotation_matrix(rotation)])

    def pieces(self, points: FloatArray, ends: Sequence[Ends], *, what: str, reach: float = 0.0) -> Pieces:
        """Segments of a cable with `ends` among `points` (p, 3), m, in the frame in which the body was made."""
        return Pieces(self, points, ends, what, reach)

    def region_points(self, placement: Any, region: Any, *, what: str) -> FloatArray:
        """Positions, when the world begins, of the nodes that `region` selects, (k, 3), m."""
        raise InputError(f"a region selects nodes of a volume, a beam or a rod; {self.name!r} is none: give points")


@dataclass(frozen=True, eq=False)
class Parts:
    """What a scene adds to a body: loads, supports, fibres, and sets of nodes that actuators couple."""

    loads: Sequence[Any] = ()
    supports: Sequence[Any] = ()
    couplings: Sequence[IntArray] = ()
    fibres: Sequence[Any] = ()

    def refuse(self, body: Body, *kinds: str) -> None:
        """Raise an error where the body has parts of `kinds` ("loads", "supports"…), which it does not take."""
        for kind in kinds:
            for part in getattr(self, kind):
                raise InputError(f"{body.name!r} is a {type(body).__name__}, which takes no {type(part).__name__}")


NO_PARTS = Parts()
"""A body without loads, supports, fibres and couplings."""


class VolumeRatios(NamedTuple):
    """det F (p,) of integration points, its gradient (p, 3 n) in the positions of the nodes, 1/m, and a length of each
    point (p,), m: the cube root of its volume at rest.
    """

    ratio: FloatArray
    gradient: sparse.csr_matrix
    length: FloatArray


class Model:
    """A compiled body: frozen, with unknowns of its own.

    `spec` is the body as the user defined it; `constrained` marks the constrained unknowns, of the shape of dx.
    """

    spec: Any
    constrained: BoolArray

    stress_name: ClassVar[str | None] = None
    """What `surface_stress` shows, with kPa as its unit; None where there is none."""
    takes_whole_steps: ClassVar[bool] = False
    """Whether its trials may offer `Trial.whole_step`."""

    @classmethod
    def compiled(cls, spec: Any, placement: Any, parts: Parts) -> Model:
        """The model of `spec` at its `placement`, with its loads and supports."""
        raise NotImplementedError

    @classmethod
    def require(cls, model: Model, what: str) -> Self:
        """`model`, if it is of this kind, as `what` needs; otherwise an error."""
        if not isinstance(model, cls):
            raise InputError(f"{what} is for a {cls.__name__.removesuffix('Model').lower()}; {model.name!r} is none")
        return model

    @property
    def has_frames(self) -> bool:
        """Whether its embedded points have frames, which rotate with the body."""
        return bool(self.spec.has_frames)

    @property
    def name(self) -> str:
        """Name of the body."""
        return str(self.spec.name)

    @property
    def handle(self) -> Any:
        """The body that was added to the scene: `spec`, unless that has other numbers since (`world.changed`)."""
        return handle_of(self.spec)

    def with_numbers(self, spec: Any) -> Self | None:
        """The model of `spec`, which differs from its own in numbers of the material, the mass or the damping alone;
        None of a kind that is compiled anew for it.
        """
        return None

    @property
    def size(self) -> int:
        """Number of scalar unknowns, constrained ones included."""
        return self.constrained.size

    @cached_property
    def is_supported(self) -> bool:
        """Whether clamps or supports constrain a motion of the body."""
        return bool(self.constrained.any())

    @property
    def remembers(self) -> bool:
        """Whether its material has a memory, which states hold."""
        return self.history_shape is not None

    @property
    def history_shape(self) -> tuple[int, ...] | None:
        """Shape of what its material remembers, in states; None where that is nothing."""
        return None

    # Steps

    def initial(self) -> tuple[FloatArray, FloatArray]:
        """(q, v) when the world begins."""
        raise NotImplementedError

    def trial(self, start: StepStart) -> Trial:
        """A step from `start`, at dx = 0."""
        raise NotImplementedError

    def kinetic_energy(self, q: FloatArray, v: FloatArray) -> float:
        """Kinetic energy, J."""
        raise NotImplementedError

    def elastic_energy(self, q: FloatArray) -> float:
        """Elastic energy, J."""
        return 0.0

    def stored_energy(self, q: FloatArray, history: FloatArray | None) -> float:
        """Elastic energy, J, of a body whose material remembers `history`: what unloading gives back."""
        return self.elastic_energy(q)

    def potential_energy(self, q: FloatArray, gravity: FloatArray, controls: Mapping[Any, FloatArray]) -> float:
        """Potential of gravity and loads, J, up to a constant."""
        raise NotImplementedError

    # Quasi-static solves

    def free_modes(self, q: FloatArray) -> FreeModes | None:
        """The rigid motions at q that its supports leave free; None where they resist all six."""
        return None

    @property
    def min_inertia_correction(self) -> float:
        """Least inertia correction of a quasi-static solve, as a fraction of the stiffness; usually 0."""
        return 0.0

    def constrain_base(self, system: Any) -> tuple[int, float] | None:
        """Add a spring as stiff as the body to A of `system`, at the unknown that only rows constrain: that unknown and
        the spring (N/m, N·m). None where the body has no such unknown, as a rule.
        """
        return None

    @property
    def has_barrier(self) -> bool:
        """Whether the energy grows beyond all bounds where an element collapses, so that none has to invert."""
        return False

    def is_inverted(self, q: FloatArray) -> bool:
        """Whether some element is inverted, which its energy does not forbid."""
        return False

    def flips(self, q: FloatArray, x: FloatArray) -> bool:
        """Whether some element is flattened on the straight path from q to x, which its energy forbids."""
        return False

    def least_volume_ratio(self, q: FloatArray) -> float:
        """The smallest det F of its elements at q; 1 where it has none that could invert."""
        return 1.0

    @property
    def volume_point_count(self) -> int:
        """Number of integration points whose volume can collapse; 0 where the body has no elements of its own."""
        return 0

    def every_volume_ratio(self, q: FloatArray) -> FloatArray:
        """det F of all these points at q, (p,)."""
        return np.zeros(0)

    def volume_ratios(self, points: IndexArray, q: FloatArray) -> VolumeRatios:
        """det F of some of these points at q."""
        raise NotImplementedError

    def warnings(self, q: FloatArray) -> tuple[str, ...]:
        """Warnings for people about the shape q: where the model is used beyond what it was made for."""
        return ()

    # Points and lines on the body

    def embed(self, points: FloatArray, *, what: str, reach: float = 0.0, placed: bool = False) -> PointMap:
        """The map of embedded points (p, 3), m, given in the frame in which the body was made (that of its mesh, of the
        points of a beam, of a rigid body), or, with `placed`, at their positions when the world begins.

        A point more than `reach` (m) outside a mesh, or off a beam or a rod, is an error that names it as `what`.
        """
        raise NotImplementedError

    def contact_shape(self, exclude: Any = None) -> ContactShape:
        """Its geometry for contacts, without its points in the region `exclude`."""
        raise InputError(f"{self.name!r} cannot touch other bodies")

    def axis(self) -> Axis:
        """The axis of a slender body; an error for the others."""
        raise InputError(f"{self.name!r} has no axis to slide on; beams and rods have")

    def skin(self, *, stations: int = STATIONS, every: int = 1) -> Skin:
        """Its drawn and recorded surface; `stations` and `every` coarsen that of a slender body."""
        raise NotImplementedError

    # Read-outs of a state

    def node_positions(self, q: FloatArray) -> FloatArray:
        """Positions of its nodes, (n, 3), m; of a rigid body, of the points of its shape."""
        raise NotImplementedError

    def node_frames(self, q: FloatArray) -> FloatArray:
        """Frames of its nodes, (n, 3, 3), no unit."""
        self._lacks("beam")

    def displacements(self, q: FloatArray) -> FloatArray:
        """Displacements of its nodes from its rest shape, (n, 3), m."""
        self._lacks("deformable volume")

    def element_energies(self, q: FloatArray, history: FloatArray | None = None) -> FloatArray:
        """Elastic energy of each element, (m,), J; they sum to that of the body. `history` is what its material
        remembers.
        """
        self._lacks("deformable volume")

    def lost_energies(self, history: FloatArray | None) -> FloatArray:
        """Energy of each element that the softening of its material has taken, (m,), J."""
        self._lacks("deformable volume")

    def section_forces(self, q: FloatArray, history: FloatArray | None = None) -> FloatArray:
        """Forces (N) and moments (N·m) in its cross-sections, (m, 2, 6) or (m, 6), in the frame of the element."""
        self._lacks("beam")

    def strains(self, q: FloatArray) -> FloatArray:
        """Strains of its sections, (m, 6): twist, bend_y and bend_z (1/m), stretch, shear_y and shear_z."""
        self._lacks("rod")

    def fibre_strain(self, q: FloatArray) -> FloatArray:
        """Largest axial strain at the border of each section, (m,), no unit."""
        self._lacks("rod")

    def fibre_stress(self, q: FloatArray, history: FloatArray | None = None) -> FloatArray:
        """Largest axial stress at the border of each section, (m,), Pa."""
        self._lacks("rod")

    def cell_stress(self, q: FloatArray, history: FloatArray | None = None) -> FloatArray:
        """Cauchy stress of each cell, (m, 3, 3), Pa; `history` is what its material remembers."""
        self._lacks("deformable volume")

    def cell_strain(self, q: FloatArray) -> FloatArray:
        """Green–Lagrange strain of each cell, (m, 3, 3)."""
        self._lacks("deformable volume")

    def node_mean(self, cell_values: FloatArray) -> FloatArray:
        """Mean over the cells around each node: (m, …) → (n, …)."""
        self._lacks("deformable volume")

    def surface_stress(self, q: FloatArray, skin: Any) -> FloatArray:
        """Stress at each point of its `skin`, (p,), Pa."""
        self._lacks("deformable volume")

    def _lacks(self, kind: str) -> NoReturn:
        raise InputError(f"{self.name!r} is not a {kind}, so it has no such read-out")
