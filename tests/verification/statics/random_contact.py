"""Random contact statics, and a check of their equilibria that owes nothing to the solver.

`case(seed)` makes a small world: a shape, mesh, element, material, friction, support and counterpart drawn at random,
in a random frame. `violations(…)` assembles the internal forces and the contact forces at the state found and says by
how much they do not balance, leave the cones of friction, act at a distance, or let bodies overlap.
"""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

import pliant as pl
from pliant.core.lie import rotation_exp
from pliant.models.scheme import static_scheme
from pliant.stepping.bodies import StepBodies

SIDE = 0.04  # m


@dataclass
class RandomCase:
    """A world with the controls of its one call. `text` names what was drawn."""

    world: Any
    text: str
    controls: dict[Any, Any] = field(default_factory=dict)
    dt: float | None = None


class Draw:
    """Random choices, and the frame in which everything is placed."""

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)
        turned = self.rng.random() < 0.5
        self.turn = self.rng.uniform(-1.5, 1.5, 3) if turned else np.zeros(3)
        self.R, self.origin = rotation_exp(self.turn), self.rng.uniform(-0.1, 0.1, 3) if turned else np.zeros(3)
        self.words = ["turned"] if turned else []

    def pick(self, *options):
        """One of the options; its name is noted."""
        chosen = options[self.rng.integers(len(options))]
        self.words.append(str(chosen))
        return chosen

    def number(self, low, high):
        return float(self.rng.uniform(low, high))

    def at(self, x):
        """A place of the scene in the world."""
        return np.asarray(x, float) @ self.R.T + self.origin

    def along(self, v):
        return np.asarray(v, float) @ self.R.T

    def mesh(self, mesh):
        return mesh.mapped(self.at)

    def material(self):
        poisson = self.pick(0.0, 0.3, 0.45, 0.49)
        return pl.materials.NeoHookean(young=1e5, poisson=poisson, density=1e3)

    def friction(self):
        return self.pick(0.0, 0.0, 0.1, 0.3, 0.6, 1.0)

    def cells(self, size, about):
        return tuple(max(1, round(s / about)) for s in size)

    def block(self, size, lower, most=6):
        """A block mesh in scene coordinates, with its element."""
        element = self.pick("hex8", "tet4", "tet10")
        cell = max(size) / self.rng.integers(3, (most if element != "tet10" else 4) + 1)
        mesh = pl.mesh.box(size, self.cells(size, cell), element=element)
        return mesh.translated(lower)


def on_plane(mesh, axis, value):
    """Nodes of a mesh on a plane of the scene."""
    return np.flatnonzero(np.abs(mesh.points[:, axis] - value) < 1e-9)


def floor(d, scene, z=0.0):
    return scene.add(pl.Obstacle.plane(point=d.at((0, 0, z)), normal=d.along((0, 0, 1))))


def shape(d, rolls=True):
    """A soft shape that stands on z = 0, with its height; one that may roll only if asked for."""
    kinds = ("block", "cylinder", "lying cylinder", "tube", "lying tube", "ball")
    kind = d.pick(*kinds) if rolls else d.pick("block", "cylinder", "tube")
    element = d.pick("hex8", "tet4") if kind != "block" else None
    r, h = d.number(0.01, 0.02), d.number(0.015, 0.04)
    if kind == "block":
        size = (d.number(0.02, 0.04), d.number(0.02, 0.04), h)
        return d.block(size, (-size[0] / 2, -size[1] / 2, 0.0)), h
    if kind in ("cylinder", "lying cylinder"):
        mesh = pl.mesh.cylinder(r, h, cells=(3, 3), element=element)
    elif kind == "ball":
        cube = pl.mesh.box((2 * r, 2 * r, 2 * r), (5, 5, 5), element=element).translated((-r, -r, -r))
        return cube.mapped(_rounded).translated((0, 0, r)), 2 * r
    else:
        mesh = pl.mesh.tube(0.6 * r, r, 0.5 * h, cells=(2, 16, 2), element=element)
    if kind.startswith("lying"):
        return mesh.rotated((np.pi / 2, 0, 0)).translated((0, 0, r)), 2 * r
    return mesh, h if kind == "cylinder" else 0.5 * h


def _rounded(x):
    """Points of a cube, on shells that are spheres."""
    length = np.linalg.norm(x, axis=1, keepdims=True)
    return x * np.abs(x).max(axis=1, keepdims=True) / np.where(length > 0.0, length, 1.0)


def between_plates(d):
    """A free shape between a floor and a plate, by displacement or by force."""
    scene = pl.Scene()
    mesh, height = shape(d)
    body = scene.add(pl.Volume(d.mesh(mesh), d.material()))
    mu = d.friction()
    ground = floor(d, scene)
    gap = d.pick(0.0, 2e-4)
    press = scene.add(
        pl.RigidBody.box(
            size=(0.15, 0.15, 0.01), mass=0.01, position=d.at((0, 0, height + gap + 0.005)), rotation=d.turn
        )
    )
    slider = scene.add(pl.Slider(press, d.along((0, 0, 1))))
    scene.collide(body, ground, friction=mu)
    scene.collide(body, press, friction=mu)
    if d.pick("by displacement", "by force") == "by force":
        return scene, {slider: pl.Force(-d.number(0.2, 5.0))}, None
    return scene, {slider: pl.Displacement(-d.number(0.05, 0.3) * height)}, None


def indented(d):
    """A clamped block and a rigid tool that moves into it, and along it."""
    scene = pl.Scene()
    size = (0.06, 0.04, 0.02)
    mesh = d.block(size, (0, 0, 0), most=8)
    body = scene.add(pl.Volume(d.mesh(mesh), d.material(), clamp=pl.regions.nodes(on_plane(mesh, 2, 0.0))))
    depth, slide = d.number(0.001, 0.004), d.pick(0.0, 0.0, 0.01)
    center, top = np.array((d.number(0.02, 0.04), d.number(0.015, 0.025))), 0.02 + d.pick(0.0, 1e-4)
    r = d.number(0.006, 0.02)

    def motion(t):
        t = min(t, 1.0)
        down = depth * min(2.0 * t, 1.0) if slide else depth * t
        return tuple(d.along((slide * max(2.0 * t - 1.0, 0.0), 0, -down))), (0, 0, 0)

    def at(z, x=0.0, y=0.0):
        return d.at((center[0] + x, center[1] + y, top + z))

    kind = d.pick("sphere", "box", "roller", "capsule", "wide plane", "upright cylinder")
    tool = {
        "sphere": lambda: pl.Obstacle.sphere(center=at(r), radius=r, motion=motion),
        "box": lambda: pl.Obstacle.box(center=at(r), size=(2 * r, 1.5 * r, 2 * r), rotation=d.turn, motion=motion),
        "roller": lambda: pl.Obstacle.cylinder(start=at(r, y=-0.1), end=at(r, y=0.1), radius=r, motion=motion),
        "capsule": lambda: pl.Obstacle.capsule(start=at(r, x=-r), end=at(r, x=r), radius=r, motion=motion),
        "wide plane": lambda: pl.Obstacle.plane(point=at(0.0), normal=d.along((0, 0, -1)), motion=motion),
        "upright cylinder": lambda: pl.Obstacle.cylinder(start=at(0.0), end=at(0.05), radius=r, motion=motion),
    }[kind]()
    scene.collide(body, scene.add(tool), friction=d.friction())
    return scene, {}, 1.0


def two_blocks(d):
    """Two soft blocks, the upper one moved by a support, down and perhaps along."""
    scene = pl.Scene()
    size = (0.05, 0.05, 0.02)
    lower = d.block(size, (0, 0, 0))
    one = scene.add(pl.Volume(d.mesh(lower), d.material(), clamp=pl.regions.nodes(on_plane(lower, 2, 0.0))))
    small = (d.number(0.02, 0.03), d.number(0.02, 0.03), d.number(0.01, 0.03))
    gap = d.pick(0.0, 3e-4)
    upper = d.block(small, (d.number(0.005, 0.02), d.number(0.005, 0.02), 0.02 + gap))
    other = scene.add(pl.Volume(d.mesh(upper), d.material()))
    hold = scene.add(pl.Support(other, pl.regions.nodes(on_plane(upper, 2, 0.02 + gap + small[2]))))
    scene.collide(one, other, friction=d.friction())
    along = d.pick(0.0, 0.0, 0.005)
    return scene, {hold: pl.Displacement(tuple(d.along((along, 0, -d.number(0.001, 0.004)))))}, None


def dragged(d):
    """A block pressed on a floor and dragged along it."""
    scene = pl.Scene()
    size = (d.number(0.02, 0.05), d.number(0.02, 0.05), d.number(0.01, 0.03))
    mesh = d.block(size, (0, 0, 0))
    body = scene.add(pl.Volume(d.mesh(mesh), d.material()))
    hold = scene.add(pl.Support(body, pl.regions.nodes(on_plane(mesh, 2, size[2]))))
    scene.collide(body, floor(d, scene), friction=d.friction())
    move = (d.number(0.0, 0.5) * size[2], 0, -d.number(0.02, 0.15) * size[2])
    return scene, {hold: pl.Displacement(tuple(d.along(move)))}, None


def resting(d):
    """A soft or rigid body that lies on a soft clamped block or on a floor under its weight."""
    scene = pl.Scene(gravity=tuple(9.81 * d.along((0, 0, -1))))
    mu = d.pick(0.1, 0.4, 1.0)  # without friction it would slide off a block that yields
    if d.pick("on floor", "on block") == "on block":
        mesh = d.block((0.06, 0.06, 0.02), (-0.03, -0.03, -0.02))
        base = scene.add(pl.Volume(d.mesh(mesh), d.material(), clamp=pl.regions.nodes(on_plane(mesh, 2, -0.02))))
    else:
        base = floor(d, scene)
    if d.pick("soft", "soft", "rigid box") == "rigid box":
        s = d.number(0.01, 0.03)
        thing = pl.RigidBody.box(
            size=(s, s, 0.02), mass=d.number(0.02, 0.2), position=d.at((0.001, 0.002, 0.0101)), rotation=d.turn
        )
    else:
        mesh, _ = shape(d, rolls=False)
        thing = pl.Volume(d.mesh(mesh.translated((0.001, 0.002, 1e-4))), d.material())
    thing = scene.add(thing)
    scene.collide(thing, base, friction=mu)
    return scene, {}, None


FAMILIES = {f.__name__: f for f in (between_plates, indented, two_blocks, dragged, resting)}


def case(seed, family=None):
    """The random case of a seed."""
    d = Draw(seed)
    name = family or list(FAMILIES)[seed % len(FAMILIES)]
    scene, controls, dt = FAMILIES[name](d)
    return RandomCase(scene.compile(), f"{seed} {name}: {', '.join(d.words)}", controls, dt)


def violations(case, state, info):
    """How far a state is from equilibrium: relative out-of-balance force, friction beyond its cone over the normal
    force, gap at which a force acts and overlap of bodies, both over the margin of contacts.
    """
    world = case.world
    bodies = StepBodies.begin(world, state, static_scheme(0.0), world.controls(case.controls))
    residuals = [trial.residual() for trial in bodies.trials]
    forces = [np.array(part.r, float).reshape(-1) for part in residuals]
    scale = max(part.scale for part in residuals)
    view = bodies.view()
    found = {"cone": 0.0, "gap": 0.0, "overlap": 0.0}
    for constraint, memory in zip(world.constraints, state.memories):
        place = np.isin(state.keys, constraint_keys(constraint, view, memory, state))
        lam = state.lam[place]
        if not constraint.is_contact:
            rows, _ = constraint.rows(view, constraint.detect(view))
            for k, H in enumerate(rows.H):
                forces[k] += H.T @ lam
            continue
        contacts = memory.contacts
        found["overlap"] = max(found["overlap"], constraint.overlap(view) / constraint.margin)
        if not contacts.count:
            continue
        pushes = memory.forces(lam)
        normal = np.einsum("mi,mi->m", pushes, contacts.normal)
        tangential = np.linalg.norm(pushes - normal[:, None] * contacts.normal, axis=1)
        largest = np.abs(normal).max()
        if largest > 0.0:
            found["cone"] = max(
                found["cone"],
                float((tangential - constraint.mu * normal).max() / largest),
                float(-normal.min() / largest),
            )
            heavy = normal > 1e-6 * largest
            points = [side_points(constraint, view, contacts, side) for side in (0, 1)]
            gap = np.einsum("mi,mi->m", points[0] - points[1], contacts.normal)
            found["gap"] = max(found["gap"], float(np.abs(gap[heavy]).max() / constraint.margin))
        rows = constraint.contact_rows(view, contacts, memory.frames)
        for k, H in enumerate(rows.H):
            forces[k] += H.T @ lam
            scale = max(scale, float(np.linalg.norm(H.T @ lam)))
    out = [np.where(model.constrained.ravel(), 0.0, force) for model, force in zip(world.models, forces)]
    found["balance"] = float(np.sqrt(sum(x @ x for x in out))) / scale if scale else 0.0
    return found


def constraint_keys(constraint, view, memory, state):
    """Keys of the rows of a constraint in a state."""
    if constraint.is_contact:
        width = 3 if constraint.mu else 1
        return (3 * memory.contacts.key[:, None] + np.arange(width)).ravel()
    rows, _ = constraint.rows(view, constraint.detect(view))
    return rows.key


def side_points(pair, view, contacts, side):
    """Where the contacts of the last solve are now, on either side."""
    who, nodes, weights = (
        (pair.a, contacts.nodes_a, contacts.weights_a) if side == 0 else (pair.b, contacts.nodes_b, contacts.weights_b)
    )
    if side == 1 and not contacts.point_count_b:
        return contacts.point_b
    points = who.map.points(who.q(view))
    return np.einsum("mk,mki->mi", weights, points[np.maximum(nodes, 0)])
