"""Collision detection over arrays, at the positions of one instant; contacts keep their identity from step to step.

`surface` holds what does not change of a surface, `broad` finds candidates by bounding-volume trees, `narrow` their
nearest points and signed gaps, `filters` what is no contact. `proximity` runs both phases for two surfaces or one with
itself; `solids` are shapes known by their signed distance. The result is a `ContactSet`, `rows` makes its gradients.
"""

from pliant.collision.contacts import ContactKind, ContactSet, concatenate
from pliant.collision.narrow.ball_contacts import ball_contacts
from pliant.collision.narrow.obstacle_contacts import obstacle_contacts
from pliant.collision.narrow.sphere_faces import sphere_face_contact
from pliant.collision.proximity import ProximityOptions, self_contacts, surface_contacts
from pliant.collision.rows import contact_frames, side_rows
from pliant.collision.solids.mesh_obstacle import MeshObstacle
from pliant.collision.solids.obstacles import Box, Capsule, Cylinder, Distance, Obstacle, Pipe, Plane, Sphere
from pliant.collision.solids.tubes import Tubes
from pliant.collision.surface import CollisionSurface, Pose

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
