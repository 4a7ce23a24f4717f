"""The deformable volume: finite elements on tetrahedra and hexahedra, with loads and supports."""

from pliant.models.volume.fibre import Fibre
from pliant.models.volume.loads import PointLoad, PressureLoad, Support, TractionLoad
from pliant.models.volume.model import VolumeModel
from pliant.models.volume.subspace import Subspace
from pliant.models.volume.subspace_model import SubspaceModel
from pliant.models.volume.subspace_trial import SubspaceTrial
from pliant.models.volume.volume import Rayleigh, Volume

__all__ = [
    "Fibre",
    "PointLoad",
    "PressureLoad",
    "Rayleigh",
    "Subspace",
    "SubspaceModel",
    "SubspaceTrial",
    "Support",
    "TractionLoad",
    "Volume",
    "VolumeModel",
]
