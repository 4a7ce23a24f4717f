"""Checks of what is added to bodies: cables, actuators, loads and contact pairs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from pliant.actuators import Actuator
from pliant.mesh.queries import Locator
from pliant.review.bodies import is_volume
from pliant.review.finding import Finding

_OUTSIDE = 0.5
"""Distance of a via point outside its body, in mean edges of the mesh, from which on it is a fault."""
_FRICTION = 3.0
"""Largest friction coefficient of known materials: rubber on dry glass."""
_NEAR = 0.3
"""Distance of two bodies, in lengths of the smaller one, within which they could meet."""

LIMITS = ("max_force", "max_displacement", "max_pressure", "max_growth", "max_torque", "max_angle")
"""Options of actuators that limit them."""


def part_findings(world: Any) -> Iterator[Finding]:
    """Findings about all parts of the compiled `world`."""
    things = [thing for thing, _ in world.source.things]
    actuators = [thing for thing in things if isinstance(thing, Actuator)]
    for actuator in actuators:
        if hasattr(actuator, "via_points"):
            yield from _cable_findings(actuator)
    free = [one for one in actuators if _unlimited(one)]
    if free:
        names = ", ".join(repr(one.name) for one in free[:4])
        known = [limit for limit in LIMITS if any(hasattr(one, limit) for one in free)]
        yield Finding(
            f"actuators {names}{' …' if len(free) > 4 else ''}", "no limit of force or travel",
            "the limits of the hardware", f"give {' or '.join(known) or 'limits'}",
        )  # fmt: skip
    for load in things:
        if hasattr(load, "region") and hasattr(load, "force") and is_volume(load.body):
            nodes = load.region.nodes(load.body.mesh.points, what="region of a load")
            if len(nodes) == 1:
                yield Finding(
                    f"load on {load.body.name!r}", "all of it on one node", "a region",
                    "the displacement under a point force grows without bound with finer cells: choose several nodes",
                )  # fmt: skip
    for pair in world.source.pairs:
        if pair.friction > _FRICTION:
            yield Finding(
                f"friction of {pair.a.name!r} and {pair.b.name!r}", f"μ = {pair.friction:g}", f"0 to {_FRICTION:g}",
                "Coulomb's μ is a ratio, not an angle or percent", fault=True,
            )  # fmt: skip
    yield from _contact_findings(world, things)


def _cable_findings(cable: Any) -> Iterator[Finding]:
    bodies = cable.bodies if len(cable.bodies) == 1 else ()
    points = np.asarray(cable.via_points, float)
    for body in bodies:
        if not is_volume(body):
            continue
        edges = body.mesh.edges()
        mean = float(np.linalg.norm(body.mesh.points[edges[:, 0]] - body.mesh.points[edges[:, 1]], axis=1).mean())
        away = float(np.max(Locator(body.mesh).locate(points, outside="nearest").distance))
        if away > _OUTSIDE * mean:
            yield Finding(
                f"cable {cable.name!r}", f"a via point is {1e3 * away:.3g} mm outside of {body.name!r}",
                "via points in the body", "move the points; reach= is for rounding, not for cables beside the body",
                fault=True,
            )  # fmt: skip


def _unlimited(actuator: Any) -> bool:
    limits = actuator.limits
    return not (np.isfinite(limits.upper) or np.isfinite(limits.most))


def _contact_findings(world: Any, things: list[Any]) -> Iterator[Finding]:
    """Bodies and obstacles that could meet and may not touch."""
    touching = {frozenset((id(pair.a), id(pair.b))) for pair in world.source.pairs}
    linked = touching | _links(things)
    boxes = [(model.handle, model.node_positions(model.initial()[0])) for model in world.models]
    obstacles = world.obstacles
    used = {one for pair in touching for one in pair}
    idle = [obstacle for obstacle in obstacles if id(obstacle) not in used]
    if idle and len(idle) == len(obstacles):
        yield Finding(
            f"obstacle {idle[0].name!r}", "nothing collides with it", "a contact pair",
            "scene.collide(body, obstacle, friction=…); without it bodies pass through", fault=True,
        )  # fmt: skip
    falling = np.linalg.norm(world.gravity) > 0.0
    for model in world.models:
        held = model.free_modes(model.initial()[0]) is None or any(id(model.handle) in pair for pair in linked)
        if falling and not held:
            yield Finding(
                f"body {model.name!r}", "falls: no clamp, no support, no contact", "something that holds it",
                "clamp=, pl.Support, scene.attach, or scene.collide with a floor", fault=True,
            )  # fmt: skip
    close = [
        f"{a.name!r} and {b.name!r}"
        for index, (a, first) in enumerate(boxes)
        for b, second in boxes[index + 1 :]
        if frozenset((id(a), id(b))) not in linked and _near(first, second)
    ]
    if close:
        yield Finding(
            "; ".join(close[:3]) + (f" and {len(close) - 3} more pairs" if len(close) > 3 else ""),
            "near each other, without contact", "a contact pair, if they can meet", "scene.collide(a, b, friction=…)",
        )  # fmt: skip


def _links(things: list[Any]) -> set[frozenset[int]]:
    """Bodies that are joined otherwise: by welds, channels, sheaths, joints and cables; with 0 for the world."""
    found = set()
    for thing in things:
        if hasattr(thing, "frames") or hasattr(thing, "axis"):  # a weld or a joint holds a body alone, too
            found |= {frozenset((id(body), 0)) for body in (getattr(thing, "a", None), *getattr(thing, "bodies", ()))}
        bodies = getattr(thing, "bodies", None) or (getattr(thing, "a", None), getattr(thing, "b", None))
        found |= {frozenset((id(a), id(b))) for a in bodies for b in bodies if a is not None and a is not b}
    return found


def _near(a: Any, b: Any) -> bool:
    """Whether two bodies are within a fraction of the smaller one's length."""
    lower = np.maximum(a.min(axis=0), b.min(axis=0))
    upper = np.minimum(a.max(axis=0), b.max(axis=0))
    gap = float(np.linalg.norm(np.maximum(lower - upper, 0.0)))
    return gap <= _NEAR * min(float(np.ptp(a, axis=0).max()), float(np.ptp(b, axis=0).max()))
