"""The deformable volume: finite elements on tetrahedra and hexahedra, with loads and supports."""

from pliant.models.volume.fibre import Fibre
from pliant.models.volume.loads import BodyLoad, PointLoad, PressureLoad, TractionLoad
from pliant.models.volume.model import VolumeModel
from pliant.models.volume.support import Support
from pliant.models.volume.volume import Rayleigh, Volume

__all__ = [
    "BodyLoad",
    "Fibre",
    "PointLoad",
    "PressureLoad",
    "Rayleigh",
    "Support",
    "TractionLoad",
    "Volume",
    "VolumeModel",
]
