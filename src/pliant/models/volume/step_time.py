"""What a step of a volume costs, from its number of cells and the operations of its factorization.

A step without contact is assembly, in proportion to the cells, and factorization, in proportion to its multiply–adds,
which the symbolic factorization has counted. Fitted to seventeen bodies of 240 to 15 360 tetrahedra of rubber with the
default element (bars, cubes, plates, tubes, hollow balls, pneumatic fingers) on one core of the machine of
docs/results.md: 0.74 to 1.11 times what was measured, and 0.66 to 1.26 times on eight other meshes, timed twice.
"""

from __future__ import annotations

from pliant.materials import NeoHookean
from pliant.mesh.mesh import Mesh
from pliant.models.body import Parts
from pliant.models.kinds import compiled
from pliant.models.volume.model import VolumeModel
from pliant.models.volume.volume import Volume

_PER_CELL, _PER_OPERATION = 2.6e-3, 4.5e-8
"""Milliseconds of a cell, and of an operation of the factorization."""


def model_step_ms(model: VolumeModel) -> float:
    """Time in ms of a dynamic step of `model` to expect, one linear solve and no contact."""
    return _PER_CELL * model.mesh.cell_count + _PER_OPERATION * float(model.symbolic.flops)


def mesh_step_ms(mesh: Mesh) -> float:
    """Time in ms of a dynamic step of a body of rubber with the default element on `mesh`; see `model_step_ms`."""
    body = Volume(mesh, NeoHookean(young=0.5e6, poisson=0.45, density=1000.0))
    return model_step_ms(VolumeModel.require(compiled(body, body.placement(None, None), Parts()), "the mesh"))
