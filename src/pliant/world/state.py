"""The state: all that changes from step to step, in one immutable object."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pliant.core.errors import InputError
from pliant.core.types import FloatArray, IndexArray
from pliant.models.beam import BeamModel
from pliant.models.beam import readouts as beam_readouts
from pliant.models.rigid import RigidModel
from pliant.models.rod import RodModel
from pliant.models.rod import readouts as rod_readouts
from pliant.models.volume import VolumeModel, readouts

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
        """Positions of the nodes of `body` (handle, name or number), (n, 3), m; of a rigid body, its shape's points."""
        number = self.world.index(body)
        model = self.world.models[number]
        if isinstance(model, RigidModel):
            pose = self.q[number]
            placed: FloatArray = pose[0] + model.spec.shape.points @ pose[1:].T
            return placed
        if isinstance(model, RodModel):
            return model.nodes(self.q[number])[:, 0]
        return self.q[number][:, 0] if isinstance(model, BeamModel) else self.q[number]

    def frames(self, beam: Any) -> FloatArray:
        """Frames of the nodes of a beam, or of the ends of a rod's sections, (n, 3, 3), no unit: first columns along
        the axis.
        """
        number = self.world.index(beam)
        model = self.world.models[number]
        if isinstance(model, RodModel):
            return model.nodes(self.q[number])[:, 1:]
        number, _ = self._beam(beam)
        return self.q[number][:, 1:]

    def section_forces(self, beam: Any) -> FloatArray:
        """Forces and moments in both ends of each piece of a beam, (m, 2, 6), in the frame of the piece: axial force
        (> 0 in tension) and shear along y and z (N), torque and bending moments about y and z (N·m), as the part
        beyond the section exerts them on the part before it. Of a rod one for each section, (N, 6); 0 where it lacks
        the strain, since what keeps that from changing is no stress.
        """
        number = self.world.index(beam)
        if isinstance(self.world.models[number], RodModel):
            return rod_readouts.section_forces(self._rod(beam)[1], self.q[number])
        number, model = self._beam(beam)
        return beam_readouts.section_forces(model, self.q[number])

    def strains(self, rod: Any) -> FloatArray:
        """Strains of the sections of a rod, (N, 6): twist, bend_y and bend_z (1/m), stretch, shear_y and shear_z."""
        number, model = self._rod(rod)
        return model.strains(self.q[number])

    def fibre_strain(self, rod: Any) -> FloatArray:
        """Largest strain along a rod at the border of each section, from bending and stretch, (N,), no unit."""
        number, model = self._rod(rod)
        return rod_readouts.fibre_strain(model, self.q[number])

    def fibre_stress(self, rod: Any) -> FloatArray:
        """Largest stress along a rod at the border of each section, from bending and stretch, (N,), Pa."""
        number, model = self._rod(rod)
        return rod_readouts.fibre_stress(model, self.q[number])

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
        number = self.world.index(body)
        model = self.world.models[number]
        if isinstance(model, BeamModel):
            moved: FloatArray = self.q[number][:, 0] - model.rest[:, 0]
            return moved
        if isinstance(model, RodModel):
            return model.nodes(self.q[number])[:, 0] - model.nodes(model.start)[:, 0]
        number, model = self._volume(body)
        return self.q[number] - model.rest

    def length(self, cable: Any) -> float:
        """Length of a cable along its via points, m."""
        maker: Any = self.world.constraints[self.world.constraint_index(cable)]
        return float(maker.length(self.q))

    def volume(self, cavity: Any) -> float:
        """Volume of a cavity, m³."""
        maker: Any = self.world.constraints[self.world.constraint_index(cavity)]
        return float(maker.volume(self.q[maker.number]))

    def stress(self, body: Any, *, at: str = "cells") -> FloatArray:
        """Cauchy stress, Pa, (m, 3, 3) at "cells" or (n, 3, 3) at "nodes"."""
        return self._read(body, readouts.cell_stress, at)

    def strain(self, body: Any, *, at: str = "cells") -> FloatArray:
        """Green–Lagrange strain, (m, 3, 3) at "cells" or (n, 3, 3) at "nodes"."""
        return self._read(body, readouts.cell_strain, at)

    def von_mises(self, body: Any, *, at: str = "cells") -> FloatArray:
        """Von Mises stress, Pa, (m,) at "cells" or (n,) at "nodes"."""
        return readouts.von_mises(self.stress(body, at=at))

    def elastic_energy(self, body: Any) -> FloatArray:
        """Elastic energy of each cell of a volume, piece of a beam or section of a rod, (m,), J."""
        number = self.world.index(body)
        if isinstance(self.world.models[number], RodModel):
            return rod_readouts.section_energy(self._rod(body)[1], self.q[number])
        if isinstance(self.world.models[number], BeamModel):
            return beam_readouts.piece_energy(self._beam(body)[1], self.q[number])
        number, model = self._volume(body)
        return readouts.cell_energy(model, self.q[number])

    def kinetic_energy(self) -> float:
        """Kinetic energy of all bodies, J."""
        triples = zip(self.world.models, self.q, self.v, strict=True)
        return sum(model.kinetic_energy(q, v) for model, q, v in triples)

    def save(self, path: str | Path) -> Path:
        """Write the state to `path` (.npz, no pickle); `world.load_state` gives the same bits back."""
        from pliant.world.storage import save_state

        return save_state(self, path)

    def _read(self, body: Any, read: Any, at: str) -> FloatArray:
        number, model = self._volume(body)
        values: FloatArray = read(model, self.q[number])
        return values if at == "cells" else readouts.node_mean(model, values)

    def _beam(self, body: Any) -> tuple[int, BeamModel]:
        number = self.world.index(body)
        model = self.world.models[number]
        if not isinstance(model, BeamModel):
            raise InputError(f"{model.name!r} is not a beam, so it has no such read-out")
        return number, model

    def _rod(self, body: Any) -> tuple[int, RodModel]:
        number = self.world.index(body)
        model = self.world.models[number]
        if not isinstance(model, RodModel):
            raise InputError(f"{model.name!r} is not a rod, so it has no such read-out")
        return number, model

    def _volume(self, body: Any) -> tuple[int, VolumeModel]:
        number = self.world.index(body)
        model = self.world.models[number]
        if not isinstance(model, VolumeModel):
            raise InputError(f"{model.name!r} is not a deformable volume, so it has no such read-out")
        return number, model
