"""The state: all that changes from step to step, in one immutable object."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pliant.core.types import FloatArray, IndexArray
from pliant.models.body import Model
from pliant.models.volume.readouts import von_mises

if TYPE_CHECKING:
    from pliant.world.world import World


@dataclass(frozen=True, eq=False)
class State:
    """Positions and velocities of every body at one time. Steppers return a new one; none is ever changed.

    `q` and `v` hold, for each body in the order of the world, positions (n, 3) in m and velocities (n, 3) in m/s;
    `lam` (rows,) the multipliers of the last step's rows, in N, which warm-start the next. `time` is in s.
    """

    world: World
    time: float
    q: tuple[FloatArray, ...]
    v: tuple[FloatArray, ...]
    lam: FloatArray
    keys: IndexArray | None = None
    memories: tuple[Any, ...] = ()

    def __post_init__(self) -> None:
        for array in (*self.q, *self.v, self.lam):
            array.setflags(write=False)

    def __repr__(self) -> str:
        return f"State(time={self.time:g} s, {self.world!r})"

    def points(self, body: Any) -> FloatArray:
        """Positions of the nodes of `body` (handle, name or index), (n, 3), m; of a rigid body, its shape's points."""
        model, q = self._of(body)
        return model.node_positions(q)

    def frames(self, beam: Any) -> FloatArray:
        """Frames of the nodes of a beam, or of the ends of a rod's sections, (n, 3, 3), no unit: first columns along
        the axis.
        """
        model, q = self._of(beam)
        return model.node_frames(q)

    def section_forces(self, beam: Any) -> FloatArray:
        """Forces and moments in both ends of each piece of a beam, (m, 2, 6), in the frame of the piece: axial force
        (> 0 in tension) and shear along y and z (N), torque and bending moments about y and z (N·m), as the part
        beyond the section exerts them on the part before it. Of a rod one for each section, (N, 6); 0 along
        strains that the rod does not have.
        """
        model, q = self._of(beam)
        return model.section_forces(q)

    def strains(self, rod: Any) -> FloatArray:
        """Strains of the sections of a rod, (N, 6): twist, bend_y and bend_z (1/m), stretch, shear_y and shear_z."""
        model, q = self._of(rod)
        return model.strains(q)

    def fibre_strain(self, rod: Any) -> FloatArray:
        """Largest strain along a rod at the border of each section, from bending and stretch, (N,), no unit."""
        model, q = self._of(rod)
        return model.fibre_strain(q)

    def fibre_stress(self, rod: Any) -> FloatArray:
        """Largest stress along a rod at the border of each section, from bending and stretch, (N,), Pa."""
        model, q = self._of(rod)
        return model.fibre_stress(q)

    def pose(self, body: Any) -> FloatArray:
        """Position (row 0, m) and rotation matrix (rows 1 to 3) of a rigid `body`, or of the base of a rod, (4, 3)."""
        return self.q[self.world.index(body)][:4]

    def velocities(self, body: Any) -> FloatArray:
        """Velocities of the nodes of `body`, (n, 3), m/s; of a rigid body, velocity and spin (2, 3), of a beam those of
        its nodes (n, 2, 3), m/s and rad/s; of a rod those of its base and the rates of its sections' rotation and
        stretch vectors (2 + 2N, 3).
        """
        return self.v[self.world.index(body)]

    def displacements(self, body: Any) -> FloatArray:
        """Displacements of the nodes of `body` from its rest shape, (n, 3), m."""
        model, q = self._of(body)
        return model.displacements(q)

    def length(self, cable: Any) -> float:
        """Length of a cable along its via points, m."""
        constraint: Any = self.world.constraints[self.world.constraint_index(cable)]
        return float(constraint.length(self.q))

    def volume(self, cavity: Any) -> float:
        """Volume of a cavity, m³."""
        constraint: Any = self.world.constraints[self.world.constraint_index(cavity)]
        return float(constraint.volume(self.q[constraint.index]))

    def stress(self, body: Any, *, at: str = "cells") -> FloatArray:
        """Cauchy stress, Pa, (m, 3, 3) at "cells" or (n, 3, 3) at "nodes"."""
        model, q = self._of(body)
        values = model.cell_stress(q)
        return values if at == "cells" else model.node_mean(values)

    def strain(self, body: Any, *, at: str = "cells") -> FloatArray:
        """Green–Lagrange strain, (m, 3, 3) at "cells" or (n, 3, 3) at "nodes"."""
        model, q = self._of(body)
        values = model.cell_strain(q)
        return values if at == "cells" else model.node_mean(values)

    def von_mises(self, body: Any, *, at: str = "cells") -> FloatArray:
        """Von Mises stress, Pa, (m,) at "cells" or (n,) at "nodes"."""
        return von_mises(self.stress(body, at=at))

    def elastic_energy(self, body: Any) -> FloatArray:
        """Elastic energy of each cell of a volume, piece of a beam or section of a rod, (m,), J."""
        model, q = self._of(body)
        return model.element_energies(q)

    def kinetic_energy(self) -> float:
        """Kinetic energy of all bodies, J."""
        triples = zip(self.world.models, self.q, self.v, strict=True)
        return sum(model.kinetic_energy(q, v) for model, q, v in triples)

    def save(self, path: str | Path) -> Path:
        """Write the state to `path` (.npz, no pickle); `world.load_state` gives the same bits back."""
        from pliant.world.storage import save_state

        return save_state(self, path)

    def _of(self, body: Any) -> tuple[Model, FloatArray]:
        """The model of `body` and its q; each kind offers the read-outs that it has, and refuses the others."""
        index = self.world.index(body)
        return self.world.models[index], self.q[index]
