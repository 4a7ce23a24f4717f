"""The deformable volume: finite elements on tetrahedra and hexahedra, with loads and supports."""

from pliant.core.one_line import one_line
from pliant.models.volume.fibre import Fibre
from pliant.models.volume.loads import PointLoad, PressureLoad, Support, TractionLoad
from pliant.models.volume.model import VolumeModel
from pliant.models.volume.volume import Rayleigh, Volume

__all__ = [
    "Fibre",
    "PointLoad",
    "PressureLoad",
    "Rayleigh",
    "Support",
    "TractionLoad",
    "Volume",
    "VolumeModel",
]

for _kind in (PointLoad, PressureLoad, Support, TractionLoad):
    one_line(_kind)  # here: their file holds kernels, which a change of a class would recompile
