"""Networks of corotational beams: nodes with a position and a frame, six unknowns each."""

from pliant.models.beam.beam import Beam
from pliant.models.beam.model import BeamModel
from pliant.models.beam.section import Circle, Rectangle, Section, Taper, Tube

__all__ = ["Beam", "BeamModel", "Circle", "Rectangle", "Section", "Taper", "Tube"]
