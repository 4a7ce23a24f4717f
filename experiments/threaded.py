"""Rods threaded through a soft body in place of cables: a straight rod, the support of its base, and its channel."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from pliant.constraints.channel import Channel
from pliant.core.lie import rotation_log
from pliant.core.types import FloatArray
from pliant.models.beam.section import Circle
from pliant.models.rod import Rod
from pliant.models.volume import Rayleigh, Support, Volume
from pliant.models.volume.barycentric import BarycentricMap
from pliant.world import Scene, State, World


@dataclass(frozen=True)
class Wire:
    """A round wire: `radius` m, `young` Pa, `density` kg/m³, and its damping of stiffness, s. It bends and twists; it
    does not stretch.
    """

    radius: float
    young: float
    density: float
    damping: float = 0.01


@dataclass(frozen=True, eq=False)
class Thread:
    """A rod in its channel; `base` holds its first node, and pulls it along `outward` (3,), away from its tip."""

    rod: Rod
    base: Support
    channel: Channel
    outward: FloatArray


def thread(
    scene: Scene, body: Volume, points: FloatArray, *, wire: Wire, sections: int, outside: float, name: str
) -> Thread:
    """Add a rod of `sections` along the straight `points` (k, 3) m of `body`, from the first to the last one, where its
    tip is held; it begins `outside` m before the first.
    """
    way = points[-1] - points[0]
    length = float(np.linalg.norm(way))
    along = way / length
    rod = scene.add(
        Rod(
            length + outside,
            sections,
            section=Circle(wire.radius),
            young=wire.young,
            poisson=0.3,
            density=wire.density,
            position=points[0] - outside * along,
            rotation=_turned_to(along),
            damping=Rayleigh(stiffness=wire.damping),
            name=name,
        )
    )
    base = scene.add(Support(rod, [0], rotation=(0.0, 0.0, 0.0)))
    channel = scene.add(Channel(body, points, rod, name=f"{name} channel"))
    return Thread(rod, base, channel, -along)


def evenly(start: Any, end: Any, heights: FloatArray) -> FloatArray:
    """Points (k, 3) m of the line from `start` to `end` (3,) m, where z is one of `heights` (k,), m."""
    first, last = np.asarray(start, float), np.asarray(end, float)
    fraction = (heights - first[2]) / (last[2] - first[2])
    return np.asarray(first + fraction[:, None] * (last - first))


def off_axis(world: World, state: State, one: Thread) -> float:
    """Largest distance of a point of the channel from the axis of its rod in `state`, m: what a step that is solved
    once leaves.
    """
    curve = world.models[world.index(one.rod)].axis().chain()
    channel, q = one.channel, state.q[world.index(one.rod)]
    embedded = BarycentricMap.of_points(channel.body.mesh, channel.points, what=channel.name)
    places = embedded.points(state.q[world.index(channel.body)])
    return float(np.linalg.norm(places - curve.at(curve.nearest(q, places)).points(q), axis=1).max())


def _turned_to(direction: FloatArray) -> FloatArray:
    """The rotation vector (3,), rad, that takes x to `direction`."""
    across = np.eye(3)[int(np.argmin(np.abs(direction)))]
    normal = np.cross(direction, across)
    normal /= np.linalg.norm(normal)
    return rotation_log(np.stack([direction, normal, np.cross(direction, normal)], axis=1))
