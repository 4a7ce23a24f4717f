"""Collision detection over arrays: bounding-volume trees, proximity, normals, signed gaps, persistent contact keys."""

from pliant.collision.ball_contacts import ball_contacts
from pliant.collision.contacts import ContactKind, ContactSet, concatenate
from pliant.collision.mesh_obstacle import MeshObstacle
from pliant.collision.obstacle_contacts import obstacle_contacts
from pliant.collision.obstacles import Box, Capsule, Cylinder, Distance, Obstacle, Pipe, Plane, Sphere
from pliant.collision.proximity import ProximityOptions, self_contacts, surface_contacts
from pliant.collision.rows import contact_frames, side_rows
from pliant.collision.sphere_faces import sphere_face_contact
from pliant.collision.surface import CollisionSurface, Pose
from pliant.collision.tubes import Tubes

__all__ = [
    "Box",
    "Capsule",
    "CollisionSurface",
    "ContactKind",
    "ContactSet",
    "Cylinder",
    "Distance",
    "MeshObstacle",
    "Obstacle",
    "Pipe",
    "Plane",
    "Pose",
    "ProximityOptions",
    "Sphere",
    "Tubes",
    "ball_contacts",
    "concatenate",
    "contact_frames",
    "obstacle_contacts",
    "self_contacts",
    "side_rows",
    "sphere_face_contact",
    "surface_contacts",
]
