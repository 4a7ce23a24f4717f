"""Random small scenes in which every kind of body, actuator, constraint, load and obstacle occurs, with odd options."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import pliant as pl
from pliant.models.rigid import Waypoints

Random = np.random.Generator
Part = Callable[[pl.Scene, Random, Any], dict[Any, Any]]
"""Adds bodies and what acts on them to a scene at a place (3,) m, and returns controls for them."""
ELASTIC = {"young": 1e8, "poisson": 0.3, "density": 1e3}
SIZE = (0.06, 0.02, 0.02)
APART = 0.3
"""Distance of the parts, m: none touches another."""


def random_scene(rng: Random, *, parts: int = 3) -> tuple[pl.Scene, dict[Any, Any]]:
    """A scene of some random parts, and controls for its actuators."""
    scene = pl.Scene(gravity=rng.choice((-9.81, 0.0, 3.0), 3))
    controls: dict[Any, Any] = {}
    for k, index in enumerate(rng.permutation(len(PARTS))[:parts]):
        controls |= PARTS[int(index)](scene, rng, np.array((0.0, APART * k, 0.0)))
    return scene, controls


def _by(x: float, y: float, z: float) -> Any:
    return np.array((x, y, z))


def _maybe(rng: Random, **options: Any) -> dict[str, Any]:
    """Some of the options."""
    return {name: value for name, value in options.items() if rng.random() < 0.5}


def _material(rng: Random) -> Any:
    law = pl.materials
    stiff = {"young": float(rng.uniform(5e4, 2e5)), "poisson": float(rng.uniform(0.3, 0.45)), "density": 1000.0}
    rubber = law.NeoHookean(**stiff, **_maybe(rng, volumetric="quadratic"))
    made = (
        lambda: law.Corotated(**stiff),
        lambda: law.StVenantKirchhoff(**stiff),
        lambda: rubber,
        lambda: law.MooneyRivlin(c1=1e4, c2=2e3, density=1000.0, **_maybe(rng, bulk=4e5)),
        lambda: law.Yeoh(c1=1e4, c2=100.0, c3=1.0, density=1000.0),
        lambda: law.Linear(**stiff),
        lambda: law.CoupledMooneyRivlin(c1=1e4, c2=2e3, bulk=4e5, density=1000.0),
        lambda: law.CoupledOgden(m=5e4, a=3.0, bulk=4e5, density=1e3),
        lambda: law.Ogden(m=5e4, a=3.0, density=1e3, **_maybe(rng, volumetric="quadratic")),
        lambda: law.Mullins(rubber, r=2.0, m=100.0, beta=0.1),
        lambda: law.Viscoelastic(rubber, branches=[(0.3, 0.1), (0.2, 0.01)]),
    )
    return made[int(rng.integers(len(made)))]()


def _volume(rng: Random, at: Any, name: str, **given: Any) -> Any:
    mesh = pl.mesh.box(SIZE, (3, 1, 1), element=str(rng.choice(("tet4", "hex8", "tet10")))).translated(at)
    inside = pl.regions.box(at + _by(0.04, -1, -1), at + _by(1, 1, 1))
    other = pl.materials.NeoHookean(young=1e6, poisson=0.4, density=1.1e3)
    material = _material(rng)
    options = _maybe(
        rng, velocity=(0.0, 0.01, 0.0), damping=pl.Rayleigh(mass=0.1, stiffness=0.002), lumped_mass=False,
        mass=0.03,
    )  # fmt: skip
    if rng.random() < 0.3 and not isinstance(material, (pl.materials.Mullins, pl.materials.Viscoelastic)):
        options["inclusions"] = [(inside, other), (pl.regions.cells([0]), other)]
    elif rng.random() < 0.1 and not isinstance(material, (pl.materials.Mullins, pl.materials.Viscoelastic)):
        options["inclusions"] = [(pl.regions.everything(), other)]
    return pl.Volume(mesh, material, **{**options, "name": name, **given})


def arm(scene: Any, rng: Random, at: Any) -> dict[Any, Any]:
    """A volume with a cable, a fibre and loads."""
    body = scene.add(_volume(rng, at, "arm", clamp=pl.regions.plane(axis="x", at=at[0])))
    via = at + np.array(((0.01, 0.01, 0.015), (0.03, 0.01, 0.012), (0.05, 0.01, 0.015)))
    limits = _maybe(rng, max_force=5.0, max_rate=0.5, max_force_rate=300.0, friction=0.2, max_displacement=0.02)
    cable = scene.add(pl.Cable(body, via, name="cable", **limits))
    tip = pl.regions.plane(axis="x", at=at[0] + SIZE[0])
    scene.add(pl.Fibre(body, via - (0, 0, 0.01), stiffness=10.0, name="fibre"))
    controls = {cable: pl.Displacement(0.002)}
    if rng.random() < 0.3:
        controls = {cable: pl.Cut()}
    for load in (
        lambda: pl.PointLoad(body, tip, (0.0, 0.01, 0.0), amplitude=[(0.0, 0.0), (0.1, 1.0)]),
        lambda: pl.TractionLoad(body, tip, (10.0, 0.0, 0.0)),
        lambda: pl.BodyLoad(body, (0.0, 100.0, 0.0)),
        lambda: pl.PressureLoad(body, tip, 20.0),
        lambda: pl.Support(body, tip, axes="y"),
    ):
        if rng.random() < 0.4:
            scene.add(load())
    return controls


def touching(scene: Any, rng: Random, at: Any) -> dict[Any, Any]:
    """A volume and a rigid body over an obstacle, which they touch or overlap."""
    low = at + np.array((0.03, 0.01, 0.0))
    obstacles = (
        lambda: pl.Obstacle.plane(point=low, name="floor"),
        lambda: pl.Obstacle.box(center=low - (0, 0, 0.01), size=(0.2, 0.2, 0.02), name="floor"),
        lambda: pl.Obstacle.sphere(center=low - (0, 0, 0.05), radius=0.05, name="floor"),
        lambda: pl.Obstacle.cylinder(
            start=low - (0.1, 0, 0.03), end=low + _by(0.1, 0, -0.03), radius=0.03, name="floor"
        ),
        lambda: pl.Obstacle.capsule(
            start=low - (0.1, 0, 0.03), end=low + _by(0.1, 0, -0.03), radius=0.03, name="floor"
        ),
        lambda: pl.Obstacle.mesh(
            pl.mesh.box((0.2, 0.2, 0.02), (1, 1, 1)).translated(low - (0.1, 0.1, 0.02)).surface(), name="floor"
        ),
    )
    if rng.random() < 0.3:
        motion = Waypoints(np.array((0.0, 1.0)), np.array(((0.0, 0, 0), (0, 0, 0.01))))
        scene.add(pl.Obstacle.pipe(start=at + 2.0, end=at + 3.0, radius=0.1, motion=motion, name="pipe"))
        path = np.linspace(at + 2.0, at + 3.0, 4)
        scene.add(pl.Obstacle.tubes([path], radius=0.1, name="vessel"))
    floor = scene.add(obstacles[int(rng.integers(len(obstacles)))]())
    sink = float(rng.choice((0.0, 0.0005)))
    top = pl.regions.plane(axis="z", at=at[2] - sink + SIZE[2])
    body = scene.add(_volume(rng, at - (0, 0, sink), "block", clamp=top if rng.random() < 0.5 else None))
    ball = scene.add(pl.RigidBody.sphere(radius=0.01, mass=0.01, position=low + _by(0, 0, 0.0303), name="ball"))
    edge = pl.regions.plane(axis="x", at=at[0]) | (pl.regions.nodes([0]) & ~pl.regions.sphere((9, 9, 9), 0.1))
    options = {"friction": float(rng.choice((0.0, 0.5))), "margin": 0.002}
    odd = _maybe(rng, exclude=edge, capacity=100, continuous=True)
    scene.collide(body, floor, allow_overlap=True, **options, **odd)
    scene.collide(ball, body, **options, **_maybe(rng, allow_overlap=True, capacity=50))
    if rng.random() < 0.5:
        scene.collide(body, body)
    return {}


def rods(scene: Any, rng: Random, at: Any) -> dict[Any, Any]:
    """A driven rod with a tendon or in a sheath, a load at its end, and a taper or rest strains."""
    sections = pl.sections
    shapes = (
        sections.Circle(1e-3),
        sections.Tube(1.5e-3, 1.0e-3),
        sections.Taper(sections.Circle(1e-3), sections.Circle(8e-4)),
    )
    section = shapes[int(rng.integers(len(shapes)))]
    base = pl.Slide((1, 0, 0)) if rng.random() < 0.5 else pl.Turn((1, 0, 0))
    options = _maybe(rng, damping=pl.Rayleigh(mass=0.1), rest_strain=(0.0, 2.0, 0.0, 0.0, 0.0, 0.0), base=base)
    rod = scene.add(pl.Rod(0.1, 6, section=section, **ELASTIC, name="rod", **options), position=at)
    scene.add(pl.RodLoad(rod, 0.1, (0.0, 0.0, 1e-3)))
    scene.add(pl.RodMoments(rod, (0.0, 1e-5, 0.0)))
    if "base" in options:
        drive = scene.add(pl.BaseDrive(rod, **_maybe(rng, max_rate=0.1)))
        return {drive: pl.Displacement(0.001) if isinstance(base, pl.Slide) else pl.Angle(0.01)}
    tendon = scene.add(pl.Tendon(rod, (0.0, 5e-4), **_maybe(rng, max_force=3.0, friction=0.1, end=0.08)))
    return {tendon: pl.Force(0.5)}


def beams(scene: Any, rng: Random, at: Any) -> dict[Any, Any]:
    """A beam that is clamped or pinned, with a spring, a partner that it is held to, and contact of their axes."""
    points = at + np.array([(0.02 * k, 0, 0) for k in range(4)])
    held = {"clamp": [0]} if rng.random() < 0.5 else {"pin": [0], "clamp": [3]}
    section = pl.sections.Rectangle(2e-3, 1e-3) if rng.random() < 0.5 else pl.sections.Circle(1e-3)
    one = scene.add(pl.Beam(points, section=section, **ELASTIC, **held, name="beam"))
    two = scene.add(
        pl.Beam(points + _by(0, 0.01, 0.002), section=pl.sections.Circle(1e-3), **ELASTIC, clamp=[3], name="other")
    )
    scene.add(pl.Spring(one, None, points[2:3], points[2:3] + _by(0, 0, 0.02), stiffness=2.0, damping=0.01))
    if rng.random() < 0.5:
        scene.add(pl.Hold(two, position="z", point=points[0] + _by(0, 0.01, 0.002)))
    scene.collide(one, two, friction=0.3)
    return {}


def joints(scene: Any, rng: Random, at: Any) -> dict[Any, Any]:
    """Rigid boxes on a hinge and on a slider, one of them welded to a third one."""
    boxes = [
        scene.add(
            pl.RigidBody.box(
                size=(0.02,) * 3, mass=0.1, position=at + _by(0.05 * k, 0, 0), spin=(0, 0.1, 0), name=f"box {k}"
            )
        )
        for k in range(3)
    ]  # fmt: skip
    hinge = scene.add(pl.Hinge(boxes[0], (0, 1, 0), point=at, **_maybe(rng, max_torque=2.0, max_angle=1.5)))
    slider = scene.add(pl.Slider(boxes[1], (0, 0, 1), **_maybe(rng, min_displacement=-0.1, max_rate=5.0)))
    scene.attach(boxes[2], boxes[1], points=[at + _by(0.075, 0, 0)], frames=bool(rng.random() < 0.5), name="weld")
    push = scene.add(pl.ForcePoint(boxes[2], at + _by(0.1, 0, 0.01), direction=(1, 0, 0)))
    return {push: pl.Force(0.01), hinge: pl.Angle(0.02), slider: pl.Displacement(0.001)}


def chamber(scene: Any, rng: Random, at: Any) -> dict[Any, Any]:
    """A hollow body with a chamber, driven by pressure or by volume."""
    mesh = pl.mesh.shell(0.01, 0.02, cells=(1, 2)).translated(at)
    body = scene.add(pl.Volume(mesh, pl.materials.NeoHookean(young=1e5, poisson=0.4, density=1000.0), name="shell"))
    surface = mesh.surface().components()[1] if rng.random() < 0.5 else None
    cavity = scene.add(
        pl.Cavity(body, surface, name="air", **_maybe(rng, max_pressure=5e3, max_growth=1e-6, min_pressure=-1e3))
    )
    return {cavity: pl.Pressure(200.0) if rng.random() < 0.5 else pl.VolumeGrowth(1e-8)}


def joined(scene: Any, rng: Random, at: Any) -> dict[Any, Any]:
    """Two volumes that are tied or attached, a linear constraint, a layer and a stiffness that can be changed."""
    clamp = pl.regions.plane(axis="x", at=at[0])
    rubber = pl.materials.NeoHookean(young=1e5, poisson=0.4, density=1000.0)
    one = scene.add(pl.Volume(pl.mesh.box(SIZE, (3, 1, 1)).translated(at), rubber, clamp=clamp, name="one"))
    two = scene.add(pl.Volume(pl.mesh.box(SIZE, (3, 1, 1)), rubber, name="two"), position=at + _by(SIZE[0], 0, 0))
    face = pl.regions.plane(axis="x", at=at[0] + SIZE[0])
    if rng.random() < 0.5:
        scene.add(pl.Tie(one, two, face))
    else:
        scene.attach(one, two, region=face, name="glue")
    if rng.random() < 0.5:
        end = pl.regions.plane(axis="x", at=SIZE[0])
        scene.add(pl.LinearConstraint([pl.Term(two, (0, 0, 1), region=end)], name="row"))
    controls: dict[Any, Any] = {}
    if rng.random() < 0.5:
        cells = pl.regions.box(at - 1.0, at + 1.0)
        layer = scene.add(pl.Layer(one, cells, normal=(0, 0, 1), thickness=1e-3))
        controls[layer] = pl.SpreadingPressure(1.0)
    if rng.random() < 0.5:
        controls[scene.add(pl.Stiffness(one, min_young=5e4, max_young=1e6))] = pl.Young(2e5)
    return controls


def facing(scene: Any, rng: Random, at: Any) -> dict[Any, Any]:
    """Points of one block that face triangles of another, with groups."""
    rubber = pl.materials.Corotated(young=1e5, poisson=0.4, density=1000.0)
    mesh = pl.mesh.box((0.04,) * 3, (1, 1, 1)).translated(at)
    low = scene.add(pl.Volume(mesh, rubber, clamp=pl.regions.plane(axis="z", at=at[2]), name="low"))
    high = scene.add(pl.Volume(mesh.translated((0, 0, 0.0405)), rubber, name="high"))
    top = at + np.array(((0, 0, 0.04), (0.04, 0, 0.04), (0.04, 0.04, 0.04), (0, 0.04, 0.04)))
    points = at + np.array(((0.01, 0.01, 0.0405), (0.03, 0.01, 0.0405), (0.02, 0.03, 0.0405)))
    groups = {"point_group": [0, 0, 1], "triangle_group": [0, 1]} if rng.random() < 0.3 else {}
    scene.add(
        pl.Facing(high, low, points, top, [(0, 1, 2), (0, 2, 3)], margin=1e-3, friction=0.3, name="facing", **groups)
    )
    return {}


def threaded(scene: Any, rng: Random, at: Any) -> dict[Any, Any]:
    """A rod that slides in a channel of a volume, or in a sheath."""
    section = pl.sections.Circle(5e-4)
    inner = scene.add(pl.Rod(0.08, 6, section=section, **ELASTIC, name="needle"), position=at + _by(0, 0.01, 0.01))
    if rng.random() < 0.5:
        body = scene.add(_volume(rng, at, "tissue", clamp=pl.regions.plane(axis="z", at=at[2])))
        points = at + np.array(((0.01, 0.01, 0.01), (0.03, 0.01, 0.01), (0.05, 0.01, 0.01)))
        scene.add(pl.Channel(body, points, inner, name="channel", fixed_end=False, **_maybe(rng, friction=0.1)))
        return {}
    tube = pl.sections.Tube(1.5e-3, 1e-3)
    outer = scene.add(pl.Rod(0.05, 4, section=tube, **ELASTIC, name="tube"), position=at + _by(0, 0.01, 0.01))
    scene.add(pl.Sheath(outer, inner))
    return {}


PARTS: tuple[Part, ...] = (arm, touching, rods, beams, joints, chamber, joined, facing, threaded)
