"""Actuators: rows with a law. A cable pulls points together, a cavity pushes on a closed surface."""

from pliant.actuators.cable import Cable, CableRows
from pliant.actuators.cavity import Cavity, CavityRows

__all__ = ["Cable", "CableRows", "Cavity", "CavityRows"]
