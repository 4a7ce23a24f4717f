"""Definition of deformable volumes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

import numpy as np

from pliant.core.checks import finite_array, non_negative, shown
from pliant.core.declared import check_declared
from pliant.core.errors import InputError
from pliant.core.one_line import one_line
from pliant.core.types import FloatArray, IntArray
from pliant.materials import Material
from pliant.mesh import Mesh
from pliant.mesh.regions import Region, as_region
from pliant.models.body import Body, ContactRole
from pliant.models.pieces import Ends
from pliant.models.volume.mass import checked_mass
from pliant.models.volume.points import AntiLocking
from pliant.models.volume.segments import VolumePieces


@one_line
@dataclass(frozen=True, kw_only=True)
class Rayleigh:
    """Rayleigh damping D = mass × M + stiffness × K, K taken at the start of each step."""

    mass: float = 0.0
    """Coefficient of M, 1/s."""
    stiffness: Any = 0.0
    """Coefficient of K, s; of a rod or a beam also one for each strain, ``{"bending": 1e-3, "torsion": 2e-3}``."""

    def __post_init__(self) -> None:
        check_declared(self)
        non_negative("mass of Rayleigh", self.mass, unit="1/s")
        if isinstance(self.stiffness, Mapping):  # as pairs, which files hold; the body knows its strains
            object.__setattr__(self, "stiffness", tuple(self.stiffness.items()))
        if self.differs and not all(isinstance(pair, (tuple, list)) and len(pair) == 2 for pair in self.stiffness):
            raise InputError(
                f"stiffness of Rayleigh must be one number (s) or a dictionary, got {shown(self.stiffness)}"
            )
        for strain, value in self.stiffness if self.differs else ():
            non_negative(f"stiffness of Rayleigh for {strain!r}", value, unit="s")
        if not self.differs:
            non_negative("stiffness of Rayleigh", self.stiffness, unit="s")

    @property
    def differs(self) -> bool:
        """Whether each strain has a coefficient of its own."""
        return isinstance(self.stiffness, tuple)


@one_line
@dataclass(frozen=True, eq=False)
class Volume(Body):
    """A deformable body: a mesh of tetrahedra or hexahedra and a material.

    mesh
        `pl.mesh.box(…)`, `pl.mesh.load(…)`…; points in m.
    material
        Of every cell that no inclusion claims.
    clamp
        Nodes fixed at rest, a region or a list of node indices; they are removed from the unknowns.
    anti_locking
        True: smoothed strains for tet4 and mean dilatation for hex8 (`models.volume.smoothing`), of rubber volumes of
        patches of cells where it is stretched beyond 1.5 times (`models.volume.patches`). "volume": the strains of the
        cells and volumes of patches at any stretch, for rubber beyond four times its length; tet4 are stiffer in
        bending, and much faster to factorize. False: the plain element.
    mass
        Total in kg, or kg at each node (n,); None takes it from the density.
    inclusions
        Pairs (region, material): cells whose centre lies in the region, or those of a list of cell indices, have that
        material; later pairs win.
    damping
        `pl.Rayleigh(mass=…, stiffness=…)`.
    lumped_mass
        False for the mass matrix consistent with the shape functions: exact moments of inertia, for bodies that roll,
        spin or twist with few cells across (`pl.check` says by how much masses at the nodes exceed them).
    velocity, spin
        At the start, (3,) m/s and (3,) rad/s about the centre of its nodes, in the world; clamped nodes stay.
    name
        How the body is called in messages and files.
    """

    mesh: Mesh
    material: Material
    _: KW_ONLY
    clamp: Any = None
    anti_locking: AntiLocking = True
    mass: Any = None
    inclusions: Sequence[tuple[Region, Material]] = ()
    damping: Rayleigh = Rayleigh()
    lumped_mass: bool = True
    velocity: Any = (0.0, 0.0, 0.0)
    spin: Any = (0.0, 0.0, 0.0)
    name: str = "volume"

    has_frames: ClassVar[bool] = False
    contact_role: ClassVar[ContactRole] = ContactRole.SURFACE
    takes_fibres: ClassVar[bool] = True
    touches_itself: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_declared(self)
        for name in ("velocity", "spin"):
            finite_array(f"{name} of {self.name!r}", getattr(self, name), shape=(3,))
        if self.mass is not None:
            checked_mass(f"mass of {self.name!r}", self.mass, self.mesh.node_count, lumped=self.lumped_mass)
        if not isinstance(self.inclusions, (tuple, list)) or not all(
            isinstance(one, (tuple, list)) and len(one) == 2 and isinstance(one[1], Material) for one in self.inclusions
        ):
            raise InputError(
                f"inclusions of {self.name!r} must be a list of (region, material), got {self.inclusions!r:.60}"
            )
        if self.clamp is not None:
            object.__setattr__(self, "clamp", as_region(self.clamp, what=f"clamp of {self.name!r}"))
        if self.damping.differs:
            raise InputError(
                f"the damping of {self.name!r} gives each strain a coefficient of its own, as rods and beams have; "
                "a volume takes one number: pl.Rayleigh(stiffness=…)"
            )
        if not isinstance(self.anti_locking, (bool, str)) or self.anti_locking not in (True, False, "volume"):
            raise InputError(
                f'anti_locking of {self.name!r} must be True, False or "volume", got {self.anti_locking!r}'
            )

    def placement(self, position: Any, rotation: Any) -> Mesh:
        """Its mesh where it stands."""
        mesh = self.mesh if rotation is None else self.mesh.rotated(rotation)
        return mesh if position is None else mesh.translated(finite_array("position", position, shape=(3,)))

    def pieces(self, points: FloatArray, ends: Sequence[Ends], *, what: str, reach: float = 0.0) -> VolumePieces:
        """Segments of a cable with `ends` among `points` (p, 3), m, of the mesh."""
        return VolumePieces.of(self, self.mesh, points, ends, what, reach)

    def region_points(self, placement: Mesh, region: Any, *, what: str) -> FloatArray:
        """Where the nodes that `region` selects in the mesh as it was made stand, (k, 3), m."""
        return np.asarray(placement.points[as_region(region, what=what).nodes(self.mesh.points, what=what)])

    def velocities(self, points: FloatArray) -> FloatArray:
        """Velocities (n, 3), m/s, at the start of nodes at `points` (n, 3), m."""
        return np.asarray(np.asarray(self.velocity, float) + np.cross(self.spin, points - points.mean(axis=0)))

    @property
    def materials(self) -> list[Material]:
        """The materials of the body, the main one first."""
        return [self.material, *(material for _, material in self.inclusions)]

    def cell_materials(self) -> IntArray:
        """Index of the material of each cell, (m,), in the order of `materials`."""
        chosen = np.zeros(self.mesh.cell_count, np.int32)
        centers = self.mesh.points[self.mesh.corner_cells].mean(axis=1)
        for index, (region, _) in enumerate(self.inclusions, start=1):
            inside = as_region(region, what=f"inclusion {index - 1} of {self.name!r}").select(centers)
            if not inside.any():
                raise InputError(f"inclusion {index - 1} of {self.name!r} ({region}) contains the centre of no cell")
            chosen[inside] = index
        return chosen
