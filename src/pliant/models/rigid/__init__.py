"""Rigid bodies, free or with a given motion."""

from pliant.models.rigid.body import Obstacle, RigidBody, Shape
from pliant.models.rigid.model import RigidModel
from pliant.models.rigid.waypoints import Waypoints

__all__ = ["Obstacle", "RigidBody", "RigidModel", "Shape", "Waypoints"]
