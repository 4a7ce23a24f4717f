"""Obstacles from a URDF file: the collision shapes of a robot's links, placed by the values of its joints.

Read by the standard library alone: links with their collision geometry (box, sphere, cylinder, mesh), joints (fixed,
revolute, continuous, prismatic) with axis, limits and mimicry. Everything in a URDF is in metres, radians and roll,
pitch, yaw about fixed axes.

Reference: the URDF specification of ROS, "XML Robot Description Format", wiki.ros.org/urdf/XML.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
from scipy.spatial.transform import Rotation

from pliant.core.checks import finite_array, finite_number
from pliant.core.errors import InputError, MeshError
from pliant.core.types import FloatArray
from pliant.mesh import Surface, load_surface
from pliant.models.rigid.body import Obstacle

_SLACK = 1e-9
"""By how much a joint may exceed its limits, rad or m: values computed elsewhere are rounded."""


@dataclass(frozen=True, eq=False)
class Joint:
    """A joint from the frame of link `parent` to that of `child`.

    origin (4, 4), m: where the child stands at value 0. axis (3,), of length 1. lower and upper limits in rad or m.
    mimic: name, factor and offset of a joint that it follows.
    """

    name: str
    kind: str
    parent: str
    child: str
    origin: FloatArray
    axis: FloatArray
    lower: float
    upper: float
    mimic: tuple[str, float, float] | None = None

    def transform(self, value: float) -> FloatArray:
        """Pose (4, 4), m, of the child in the frame of the parent at `value`, rad or m."""
        motion = np.eye(4)
        if self.kind == "prismatic":
            motion[:3, 3] = value * self.axis
        elif self.kind != "fixed":
            motion[:3, :3] = Rotation.from_rotvec(value * self.axis).as_matrix()
        return np.asarray(self.origin @ motion)


@dataclass(frozen=True, eq=False)
class Collision:
    """A collision shape of a link: its XML `geometry` at `origin` (4, 4), m, in the frame of the link."""

    link: str
    name: str
    origin: FloatArray
    geometry: ElementTree.Element


@dataclass(frozen=True, eq=False)
class Urdf:
    """A robot description: `root` link, `joints` by name, collision shapes."""

    path: Path
    root: str
    joints: dict[str, Joint]
    collisions: tuple[Collision, ...]

    @classmethod
    def read(cls, path: str | Path) -> Urdf:
        """Read a URDF file; what is missing or contradicts itself is an `InputError` that names it."""
        file = Path(path)
        if not file.is_file():
            raise InputError(f"there is no file {file}")
        try:
            tree = ElementTree.parse(file).getroot()
        except ElementTree.ParseError as error:
            raise InputError(f"{file} is not a URDF file: {error}") from error
        if tree.tag != "robot":
            raise InputError(f"{file} is not a URDF file: its root is <{tree.tag}>, not <robot>")
        links = [_attribute(file, link, "name") for link in tree.findall("link")]
        joints = {joint.name: joint for joint in (_joint(file, one) for one in tree.findall("joint"))}
        for joint in joints.values():
            for link in (joint.parent, joint.child):
                if link not in links:
                    raise InputError(f"{file}: joint {joint.name!r} names link {link!r}, which does not exist")
            if joint.mimic is not None and joint.mimic[0] not in joints:
                raise InputError(f"{file}: joint {joint.name!r} mimics {joint.mimic[0]!r}, which does not exist")
        children = [joint.child for joint in joints.values()]
        roots = [link for link in links if link not in children]
        if len(roots) != 1 or len(set(children)) != len(children):
            raise InputError(
                f"{file}: the links must form one tree; {', '.join(roots) or 'no link'} have no parent joint"
            )
        collisions = tuple(
            _collision(file, link, index, one)
            for link in tree.findall("link")
            for index, one in enumerate(link.findall("collision"))
        )
        return cls(file, roots[0], joints, collisions)

    def values(self, given: Mapping[str, float]) -> dict[str, float]:
        """The value of each joint, rad or m: 0 or the nearest limit where none is given; checked against limits."""
        movable = [name for name, joint in self.joints.items() if joint.kind != "fixed" and joint.mimic is None]
        unknown = next((name for name in given if name not in movable), None)
        if unknown is not None:
            raise InputError(
                f"{self.path} has no joint {unknown!r} that can be set; there are {', '.join(movable) or 'none'}"
            )
        values: dict[str, float] = {}
        for name in movable:
            joint = self.joints[name]
            values[name] = finite_number(f"joint {name!r}", given.get(name, np.clip(0.0, joint.lower, joint.upper)))
            if not joint.lower - _SLACK <= values[name] <= joint.upper + _SLACK:
                raise InputError(
                    f"joint {name!r} of {self.path} is set to {values[name]:g}; its limits are {joint.lower:g} to "
                    f"{joint.upper:g} {'m' if joint.kind == 'prismatic' else 'rad'}"
                )
        for name, joint in self.joints.items():
            if joint.mimic is not None:
                leader, factor, offset = joint.mimic
                if leader not in values:
                    raise InputError(f"{self.path}: joint {name!r} mimics {leader!r}, which cannot be set itself")
                values[name] = factor * values[leader] + offset
        return values

    def poses(self, given: Mapping[str, float]) -> dict[str, FloatArray]:
        """Pose (4, 4), m, of every link in the frame of the root, with joints at the `given` values, rad or m."""
        values, poses = self.values(given), {self.root: np.eye(4)}
        waiting = list(self.joints.values())
        while waiting:
            ready = [joint for joint in waiting if joint.parent in poses]
            if not ready:
                raise InputError(f"{self.path}: joint {waiting[0].name!r} hangs on no link of the tree")
            for joint in ready:
                poses[joint.child] = poses[joint.parent] @ joint.transform(values.get(joint.name, 0.0))
            waiting = [joint for joint in waiting if joint not in ready]
        return poses


def urdf_obstacles(
    path: str | Path,
    *,
    joints: Mapping[str, float] | Callable[[float], Mapping[str, float]] | None = None,
    position: Any = (0.0, 0.0, 0.0),
    rotation: Any = (0.0, 0.0, 0.0),
    folder: str | Path | None = None,
) -> tuple[Obstacle, ...]:
    """An obstacle for each collision shape of a URDF; see `Obstacle.from_urdf`. `position` m, `rotation` rad, (3,)."""
    urdf = Urdf.read(path)
    base = np.eye(4)
    base[:3, 3] = finite_array("position", position, shape=(3,))
    base[:3, :3] = Rotation.from_rotvec(finite_array("rotation", rotation, shape=(3,))).as_matrix()
    if not urdf.collisions:
        raise InputError(f"{urdf.path} has no collision shapes, so it can touch nothing")
    if callable(joints):
        urdf.values(joints(0.0))  # a wrong name is an error now, not in the first step
        motions = [_motion(urdf, base, shape.link, joints) for shape in urdf.collisions]
        pairs = zip(urdf.collisions, motions, strict=True)
        return tuple(_obstacle(urdf, shape, shape.origin, folder, motion) for shape, motion in pairs)
    poses = urdf.poses(joints or {})
    return tuple(
        _obstacle(urdf, shape, base @ poses[shape.link] @ shape.origin, folder, None) for shape in urdf.collisions
    )


def _motion(
    urdf: Urdf, base: FloatArray, link: str, joints: Callable[[float], Mapping[str, float]]
) -> Callable[[float], tuple[Any, Any]]:
    def motion(t: float) -> tuple[Any, Any]:
        pose = base @ urdf.poses(joints(t))[link]
        return pose[:3, 3], Rotation.from_matrix(pose[:3, :3]).as_rotvec()

    return motion


def _obstacle(urdf: Urdf, shape: Collision, pose: FloatArray, folder: Any, motion: Any) -> Obstacle:
    """A shape at `pose` (4, 4), m."""
    options: dict[str, Any] = {"name": shape.name, "motion": motion}
    kind, where = shape.geometry.tag, f"{urdf.path}, {shape.name}"
    center, turn = pose[:3, 3], pose[:3, :3]
    if kind == "box":
        size = _numbers(where, shape.geometry, "size", 3)
        return Obstacle.box(center=center, size=size, rotation=Rotation.from_matrix(turn).as_rotvec(), **options)
    if kind == "sphere":
        return Obstacle.sphere(center=center, radius=_number(where, shape.geometry, "radius"), **options)
    if kind in ("cylinder", "capsule"):
        half = 0.5 * _number(where, shape.geometry, "length") * turn[:, 2]
        make = Obstacle.cylinder if kind == "cylinder" else Obstacle.capsule
        return make(start=center - half, end=center + half, radius=_number(where, shape.geometry, "radius"), **options)
    if kind != "mesh":
        raise InputError(f"{where}: geometry <{kind}> is not known; there are box, sphere, cylinder and mesh")
    surface = _surface(urdf, shape, folder)
    return Obstacle.mesh(surface.with_points(surface.points @ turn.T + center), **options)


def _surface(urdf: Urdf, shape: Collision, folder: Any) -> Surface:
    """The closed mesh of a collision shape, scaled, in metres."""
    where = f"{urdf.path}, {shape.name}"
    name = _attribute(urdf.path, shape.geometry, "filename")
    file = mesh_file(urdf.path, name, folder)
    scale = _numbers(where, shape.geometry, "scale", 3) if "scale" in shape.geometry.attrib else np.ones(3)
    try:
        surface = load_surface(file, unit="m")
        surface.check_closed()
    except MeshError as error:
        raise MeshError(f"{where}: {error}") from error
    scaled = surface.with_points(surface.points * scale)
    return scaled.flipped() if scaled.volume() < 0.0 else scaled


def mesh_file(urdf: Path, name: str, folder: str | Path | None = None) -> Path:
    """The file that a URDF calls `name`: relative to it, below `folder`, or, for "package://PACKAGE/…", below a folder
    PACKAGE or its parent, searched upward from the URDF.
    """
    plain = name.removeprefix("file://")
    if name.startswith("package://"):
        package, _, inside = name.removeprefix("package://").partition("/")
        starts = [Path(folder)] if folder is not None else list(urdf.resolve().parents)
        candidates = [start / part for start in starts for part in (f"{package}/{inside}", inside)]
    else:
        candidates = [urdf.parent / plain, *([Path(folder) / plain] if folder is not None else [])]
    try:
        found = next((candidate for candidate in candidates if candidate.is_file()), None)
    except (OSError, ValueError) as error:
        raise MeshError(f"{urdf}: the mesh {name!r:.80} has no name that a file can have ({error!s:.80})") from error
    if found is None:
        raise MeshError(f"{urdf}: the mesh {name!r} was not found beside it; give its folder: folder=…")
    return found


def _joint(path: Path, element: ElementTree.Element) -> Joint:
    name, kind = _attribute(path, element, "name"), _attribute(path, element, "type")
    where = f"{path}, joint {name!r}"
    if kind not in ("fixed", "revolute", "continuous", "prismatic"):
        raise InputError(f"{where}: joints of type {kind!r} are not known; use fixed, revolute, continuous, prismatic")
    parent, child = element.find("parent"), element.find("child")
    if parent is None or child is None:
        raise InputError(f"{where} needs a <parent> and a <child>")
    axis_element, limit, mimic = element.find("axis"), element.find("limit"), element.find("mimic")
    axis = np.array([1.0, 0.0, 0.0]) if axis_element is None else _numbers(where, axis_element, "xyz", 3)
    length = float(np.linalg.norm(axis))
    if length == 0.0:
        raise InputError(f"{where}: its axis is the zero vector")
    bounded = kind in ("revolute", "prismatic")
    if bounded and limit is None:
        raise InputError(f"{where} is {kind} and needs a <limit>")
    low = _number(where, limit, "lower", 0.0) if bounded and limit is not None else -np.inf
    high = _number(where, limit, "upper", 0.0) if bounded and limit is not None else np.inf
    follows = None
    if mimic is not None:
        leader = _attribute(path, mimic, "joint")
        follows = (leader, _number(where, mimic, "multiplier", 1.0), _number(where, mimic, "offset", 0.0))
    ends = _attribute(path, parent, "link"), _attribute(path, child, "link")
    return Joint(name, kind, *ends, _origin(where, element), axis / length, low, high, follows)


def _collision(path: Path, link: ElementTree.Element, index: int, element: ElementTree.Element) -> Collision:
    owner = _attribute(path, link, "name")
    name = element.get("name") or (owner if index == 0 else f"{owner} {index + 1}")
    geometry = element.find("geometry")
    if geometry is None or len(geometry) != 1:
        raise InputError(f"{path}: a collision of link {owner!r} needs a <geometry> with one shape in it")
    return Collision(owner, name, _origin(f"{path}, link {owner!r}", element), geometry[0])


def _origin(where: str, element: ElementTree.Element) -> FloatArray:
    """The pose (4, 4), m, of an <origin>: roll, pitch and yaw about fixed axes, then the shift."""
    pose, origin = np.eye(4), element.find("origin")
    if origin is not None:
        if "rpy" in origin.attrib:
            pose[:3, :3] = Rotation.from_euler("xyz", _numbers(where, origin, "rpy", 3)).as_matrix()
        if "xyz" in origin.attrib:
            pose[:3, 3] = _numbers(where, origin, "xyz", 3)
    return pose


def _attribute(path: Path, element: ElementTree.Element, name: str) -> str:
    value = element.get(name)
    if not value:
        raise InputError(f"{path}: a <{element.tag}> has no {name!r}")
    return value


def _numbers(where: str, element: ElementTree.Element, name: str, count: int) -> FloatArray:
    text = element.get(name, "")
    try:
        numbers = np.array([float(part) for part in text.split()])
    except ValueError as error:
        raise InputError(f"{where}: {name}={text!r} of <{element.tag}> are not numbers") from error
    if len(numbers) != count or not np.isfinite(numbers).all():
        raise InputError(f"{where}: {name}={text!r} of <{element.tag}> must be {count} finite numbers")
    return numbers


def _number(where: str, element: ElementTree.Element, name: str, usual: float | None = None) -> float:
    if usual is not None and name not in element.attrib:
        return usual
    return float(_numbers(where, element, name, 1)[0])
