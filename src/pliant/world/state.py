"""The state: all that changes from step to step, in one immutable object."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pliant.core.checks import finite_array
from pliant.core.declared import declared
from pliant.core.errors import InputError
from pliant.core.immutable import KeepsArraysReadOnly, filled
from pliant.core.one_line import short
from pliant.core.types import FloatArray, IndexArray
from pliant.models.body import Model
from pliant.models.volume.readouts import von_mises
from pliant.world.belonging import check_arrays

if TYPE_CHECKING:
    from pliant.world.world import World


@dataclass(frozen=True, eq=False)
class State(KeepsArraysReadOnly):
    """Positions and velocities of every body at one time, immutable; a step returns a new one.

    `q` and `v` hold, for each body in the order of the world, positions (n, 3) in m and velocities (n, 3) in m/s;
    `lam` (rows,) the multipliers of the last step's rows, in N, which warm-start the next. `time` is in s. `memories`
    are what the constraints remember, `histories` the stresses that the material of each body does, Pa (of rods and
    beams section forces), None for those without memory (`models.volume.memory`, `models.slender_memory`); empty: all
    are relaxed.
    """

    world: World
    time: float
    q: tuple[FloatArray, ...]
    v: tuple[FloatArray, ...]
    lam: FloatArray
    keys: IndexArray | None = None
    memories: tuple[Any, ...] = ()
    histories: tuple[FloatArray | None, ...] = ()

    def __post_init__(self) -> None:
        check_arrays(self)
        for array in (*self.q, *self.v, self.lam, *self.histories):
            if array is not None:
                array.setflags(write=False)

    @classmethod
    def of(
        cls, world: World, time: float, q: tuple[FloatArray, ...], v: tuple[FloatArray, ...], lam: FloatArray,
        keys: IndexArray | None, memories: tuple[Any, ...], histories: tuple[FloatArray | None, ...],
    ) -> State:  # fmt: skip
        """The state at the end of a step, in a third of the time that ``__init__`` takes."""
        for array in (*q, *v, lam):
            array.setflags(False)
        for history in histories:
            if history is not None:
                history.setflags(False)
        own = {"world": world, "time": time, "q": q, "v": v, "lam": lam}
        return filled(cls, {**own, "keys": keys, "memories": memories, "histories": histories})

    def __repr__(self) -> str:
        return f"State(time={self.time:g} s, {self.world!r})"

    def points(self, body: Any) -> FloatArray:
        """Positions of the nodes of `body` (handle, name or index), (n, 3), m; of a rigid body, its shape's points."""
        return self._model(body).node_positions(self._q(body))

    def frames(self, beam: Any) -> FloatArray:
        """Frames of the nodes of a beam, or of the ends of a rod's sections, (n, 3, 3), no unit; column 0: axis."""
        return self._model(beam).node_frames(self._q(beam))

    def section_forces(self, beam: Any) -> FloatArray:
        """Internal forces at both ends of each beam element, (m, 2, 6), in its frame: axial force (> 0 in tension),
        shear along y and z (N), torque and bending moments about y and z (N·m), exerted by the part beyond the section
        on the part before it. Of a rod one for each section, (N, 6); 0 for strains that the rod does not have. Of
        viscoelastic bodies with the forces of their branches, without those of the viscosity.
        """
        return self._model(beam).section_forces(self._q(beam), self._history(beam))

    def strains(self, rod: Any) -> FloatArray:
        """Strains of the sections of a rod, (N, 6): twist, bend_y and bend_z (1/m), stretch, shear_y and shear_z."""
        return self._model(rod).strains(self._q(rod))

    def fibre_strain(self, rod: Any) -> FloatArray:
        """Largest strain along a rod at the border of each section, from bending and stretch, (N,), no unit."""
        return self._model(rod).fibre_strain(self._q(rod))

    def fibre_stress(self, rod: Any) -> FloatArray:
        """Largest stress along a rod at the border of each section, from bending and stretch, (N,), Pa."""
        return self._model(rod).fibre_stress(self._q(rod), self._history(rod))

    def pose(self, body: Any) -> FloatArray:
        """Position (row 0, m) and rotation matrix (rows 1 to 3) of a rigid `body`, or of the base of a rod, (4, 3)."""
        return self._q(body)[:4]

    def velocities(self, body: Any) -> FloatArray:
        """Velocities of the nodes of `body`, (n, 3), m/s; of a rigid body, velocity and spin (2, 3), of a beam those of
        its nodes (n, 2, 3), m/s and rad/s; of a rod those of its base and the rates of its sections' rotation and
        stretch vectors (2 + 2N, 3).
        """
        return self.v[self.world.index(body)]

    def with_velocities(self, body: Any, velocities: Any) -> State:
        """The state with other velocities of `body`: of its nodes (n, 3) or one for all (3,), m/s; else of the shape of
        `velocities(body)`. Constrained DoFs keep theirs.
        """
        index = self.world.index(body)
        old, model = self.v[index], self.world.models[index]
        given = finite_array(f"velocities of {name_of(body)}", velocities)
        if given.shape not in (old.shape, (3,)) or (given.shape == (3,) and model.spec.has_frames):
            raise InputError(f"velocities of {name_of(body)} must have the shape {old.shape}, got {given.shape}")
        new = np.where(model.constrained, old, np.broadcast_to(given, old.shape))
        return replace(self, v=tuple(new if k == index else v for k, v in enumerate(self.v)))

    def displacements(self, body: Any) -> FloatArray:
        """Displacements of the nodes of `body` from its rest configuration, (n, 3), m."""
        return self._model(body).displacements(self._q(body))

    def length(self, cable: Any) -> float:
        """Length of a cable along its via points, m."""
        constraint: Any = self.world.constraints[self.world.constraint_index(cable)]
        return float(constraint.length(self.q))

    def volume(self, cavity: Any) -> float:
        """Volume of a cavity, m³."""
        constraint: Any = self.world.constraints[self.world.constraint_index(cavity)]
        return float(constraint.volume(self.q[constraint.index]))

    def spring_force(self, spring: Any) -> FloatArray:
        """Forces of a `pl.Spring` on the points of its first body, (k, 3), N, without those of its dashpots."""
        constraint: Any = self.world.constraints[self.world.constraint_index(spring)]
        return np.asarray(constraint.forces(self.q))

    def stress(self, body: Any, *, at: str = "cells") -> FloatArray:
        """Cauchy stress, Pa, (m, 3, 3) at "cells" or (n, 3, 3) at "nodes"; of viscoelastic materials with the stresses
        of their branches, without that of the viscosity.
        """
        return self._at(body, self._model(body).cell_stress(self._q(body), self._history(body)), at)

    def strain(self, body: Any, *, at: str = "cells") -> FloatArray:
        """Green–Lagrange strain, (m, 3, 3) at "cells" or (n, 3, 3) at "nodes"."""
        return self._at(body, self._model(body).cell_strain(self._q(body)), at)

    def von_mises(self, body: Any, *, at: str = "cells") -> FloatArray:
        """Von Mises stress, Pa, (m,) at "cells" or (n,) at "nodes"."""
        return von_mises(self.stress(body, at=at))

    def elastic_energy(self, body: Any) -> FloatArray:
        """Elastic energy of each cell of a volume, element of a beam or section of a rod, (m,), J; of a material that
        softens (`pl.materials.Mullins`) what unloading gives back.
        """
        return self._model(body).element_energies(self._q(body), self._history(body))

    def lost_energy(self, body: Any) -> FloatArray:
        """Energy of each cell of a volume, (m,), J, that the softening of `pl.materials.Mullins` has taken for ever."""
        return self._model(body).lost_energies(self._history(body))

    def kinetic_energy(self) -> float:
        """Kinetic energy of all bodies, J."""
        triples = zip(self.world.models, self.q, self.v, strict=True)
        return sum(model.kinetic_energy(q, v) for model, q, v in triples)

    @declared
    def save(self, path: str | Path) -> Path:
        """Write the state to `path` (.npz, no pickle); `world.load_state` gives the same bits back."""
        from pliant.world.storage import save_state

        return save_state(self, path)

    def _history(self, body: Any) -> FloatArray | None:
        return self.histories[self.world.index(body)] if self.histories else None

    def _q(self, body: Any) -> FloatArray:
        return self.q[self.world.index(body)]

    def _model(self, body: Any) -> Model:
        """The model of `body`; each kind offers the read-outs that it has, and raises an error for the others."""
        return self.world.models[self.world.index(body)]

    def _at(self, body: Any, values: FloatArray, where: str) -> FloatArray:
        if not isinstance(where, str) or where not in ("cells", "nodes"):
            raise InputError(f'at must be "cells" or "nodes", got {where!r:.60}')
        return values if where == "cells" else self._model(body).node_mean(values)


def name_of(handle: Any) -> str:
    """Name of a handle in a message."""
    return short(getattr(handle, "name", handle))
