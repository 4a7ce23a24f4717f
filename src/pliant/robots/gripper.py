"""The gripper: two fingers facing a thumb over a cube that stands on a floor."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np

from pliant.actuators import Cable
from pliant.actuators.values import Displacement
from pliant.core.checks import finite_number, positive
from pliant.core.declared import declared
from pliant.core.errors import InputError
from pliant.core.lie import rotation_exp
from pliant.core.one_line import one_line
from pliant.core.types import FloatArray
from pliant.materials import Material
from pliant.mesh import regions
from pliant.models.rigid import Obstacle, RigidBody
from pliant.models.volume import Support
from pliant.robots.finger import finger
from pliant.robots.robot import Robot, moved, silicone
from pliant.world import Scene


@one_line
@dataclass(frozen=True, eq=False)
class Gripper:
    """Three cable fingers that hang from moving mounts, the cube they grasp and the floor it stands on.

    fingers
        Robots of one body and one cable each: the thumb first.
    mounts
        The supports of their bases, moved by `controls(lift=…)`.
    cube, floor
        A free rigid body, and a fixed plane below it.
    """

    fingers: tuple[Robot, ...]
    _: KW_ONLY
    mounts: tuple[Support, ...]
    cube: RigidBody
    floor: Obstacle
    name: str = "gripper"

    @property
    def parts(self) -> tuple[Any, ...]:
        """What `scene.add(gripper)` adds, in order: fingers with their cables, mounts, cube, floor."""
        return (*(part for one in self.fingers for part in one.parts), *self.mounts, self.cube, self.floor)

    @property
    def cables(self) -> tuple[Cable, ...]:
        """The cable of each finger."""
        return tuple(one.cable for one in self.fingers)

    def collide(
        self, scene: Scene, *, friction: float = 0.8, floor_friction: float = 0.5, selves: bool = False
    ) -> None:
        """Contacts of fingers and cube, with Coulomb's μ `friction`, of cube and floor; `selves`: of each finger."""
        for one in self.fingers:
            scene.collide(one.body, self.cube, friction=friction)
        scene.collide(self.cube, self.floor, friction=floor_friction)
        for one in self.fingers if selves else ():
            one.collide(scene, margin=one.margin)

    def controls(self, *, close: float, lift: float = 0.0) -> dict[Any, Displacement]:
        """Controls of a step: every cable pulled by `close`, m, and every mount raised by `lift`, m."""
        pull = Displacement(finite_number("close", close, unit="m"))
        raised = Displacement((0.0, 0.0, finite_number("lift", lift, unit="m")))
        return dict.fromkeys(self.cables, pull) | dict.fromkeys(self.mounts, raised)


@declared
def gripper(
    *,
    cube_size: float = 0.030,
    cube_mass: float = 0.030,
    opening: float = 0.044,
    clearance: float = 0.004,
    spacing: float = 0.018,
    material: Material | None = None,
    thumb_material: Material | None = None,
    name: str = "gripper",
    **shape: Any,
) -> Gripper:
    """A gripper about the z axis over a floor at z = 0: a thumb at −x and two fingers at +x; all lengths in m.

    The fingers hang with their tips `clearance` above the floor and their palms `opening` apart. The cube stands
    between them. `collide` sets up the contacts, `controls` closes and lifts:

        grip = scene.add(pl.robots.gripper())
        grip.collide(scene, friction=0.8)
        control = lambda t, state: grip.controls(close=0.02 * min(t, 1.0), lift=0.03 * min(max(t - 1.0, 0.0), 1.0))

    cube_size, cube_mass
        Edge (m) and mass (kg) of the cube.
    spacing
        Distance between the middles of the two fingers along y.
    material, thumb_material
        Of the fingers and of the thumb. None: silicone of 0.6 MPa, and 1.2 MPa for the thumb, so that at equal cable
        displacements it balances the two fingers and the cube stays in the middle.
    shape
        Options of `pl.robots.finger`, for all three.
    """
    edge = positive("cube_size", cube_size, unit="m")
    if not positive("opening", opening, unit="m") > edge:
        raise InputError(f"opening ({opening:g} m) must be wider than the cube ({edge:g} m)")
    soft, stiff = silicone(material, 0.6e6), silicone(thumb_material, 1.2e6)
    thumb = finger(name=f"{name} thumb", material=stiff, **shape)
    length, width = thumb.body.mesh.bounds[1, 0], 2.0 * thumb.body.mesh.bounds[1, 1]
    if positive("spacing", spacing, unit="m") <= width:
        raise InputError(f"spacing ({spacing:g} m) must exceed the width of a finger ({width:g} m)")
    height = length + positive("clearance", clearance, unit="m")
    down = np.array([[0.0, 0.0, -1.0], [0.0, -1.0, 0.0], [-1.0, 0.0, 0.0]])
    turned = rotation_exp(np.array([0.0, 0.0, np.pi])) @ down
    fingers = [_hung(thumb, down, np.array([-0.5 * opening, 0.0, height]))]
    for index, side in enumerate((-0.5, 0.5), start=1):
        one = finger(name=f"{name} finger {index}", material=soft, **shape)
        fingers.append(_hung(one, turned, np.array([0.5 * opening, side * spacing, height])))
    return Gripper(
        tuple(one for one, _ in fingers),
        mounts=tuple(mount for _, mount in fingers),
        cube=RigidBody.box(size=(edge,) * 3, mass=cube_mass, position=(0.0, 0.0, 0.5 * edge), name=f"{name} cube"),
        floor=Obstacle.plane(name=f"{name} floor"),
        name=name,
    )


def _hung(one: Robot, rotation: FloatArray, position: FloatArray) -> tuple[Robot, Support]:
    """The finger rotated and moved, its clamp replaced by a support that can be moved."""
    base = regions.nodes(one.body.clamp.nodes(one.body.mesh.points, what=f"base of {one.name!r}"))
    hung = moved(one, rotation, position, clamp=None)
    return hung, Support(hung.body, base)
