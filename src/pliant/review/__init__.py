"""What is unusual in a scene: units by magnitude, materials, meshes, actuators, contacts, and the time step."""

from pliant.review.check import check
from pliant.review.finding import Finding
from pliant.review.frequency import first_frequency

__all__ = ["Finding", "check", "first_frequency"]
