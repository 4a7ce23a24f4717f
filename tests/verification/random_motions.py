"""Random motions of random robots: bodies of every kind, actuators, contacts, and commands that move, jump and rest."""

from dataclasses import dataclass

import numpy as np

import pliant as pl

GRAVITY = 9.81
LAWS = ("Corotated", "NeoHookean", "StVenantKirchhoff", "Linear")


@dataclass
class Motion:
    """A world with drives: pairs of a handle and a function that makes a command of an amount in [−1, 1]. `amounts`
    (steps, drives) hold still from the step `rest` on.
    """

    world: object
    drives: list
    amounts: np.ndarray
    rest: int
    dt: float
    text: str

    def controls(self, step):
        """Controls of a step."""
        return {handle: make(float(a)) for (handle, make), a in zip(self.drives, self.amounts[step], strict=True)}


def commands(rng, steps, rest, count, dt):
    """Amounts (steps, count) in [−1, 1]: smooth ways, ramps, holds and jumps of up to 0.2; constant from `rest` on."""
    made = np.zeros((steps, count))
    for k in range(count):
        at, value = 0, 0.0
        while at < rest:
            length = max(1, int(rng.uniform(0.03, 0.2) / dt))
            target, part = rng.uniform(-1.0, 1.0), np.arange(1, length + 1) / length
            kind = rng.random()
            if kind < 0.15:
                target, part = np.clip(target, value - 0.2, value + 0.2), np.ones(length)
            elif kind < 0.3:
                target = value
            elif kind < 0.8:
                part = 0.5 - 0.5 * np.cos(np.pi * part)
            made[at : at + length, k] = (value + (target - value) * part)[: steps - at]
            at, value = at + length, target
        made[rest:, k] = made[rest - 1, k]
    return made


def motion(seed, kind=None):
    """The motion of a seed."""
    rng = np.random.default_rng(seed)
    kind = list(KINDS)[int(rng.integers(len(KINDS)))] if kind is None else kind
    dt = float(10 ** rng.uniform(np.log10(0.002), np.log10(0.02)))
    scene = pl.Scene(gravity=tuple(GRAVITY * unit(rng) if rng.random() < 0.3 else (0, 0, -GRAVITY)))
    damping = [pl.Rayleigh(), pl.Rayleigh(mass=2.0, stiffness=0.01)][int(rng.random() < 0.4)]
    drives = KINDS[kind](rng, scene, damping)
    rest = max(5, round(rng.uniform(0.1, 0.3) / dt))
    steps = rest + max(10, round(0.2 / dt))
    amounts = commands(rng, steps, rest, len(drives), dt)
    return Motion(scene.compile(), drives, amounts, rest, dt, f"{kind}, dt {1e3 * dt:.1f} ms, {damping}")


def unit(rng):
    """A random direction."""
    v = rng.standard_normal(3)
    return v / np.linalg.norm(v)


def cables(rng, scene, body, routes, pull, force, **options):
    """Cables along `routes`, each driven by displacement up to `pull` (m) or by force up to `force` (N)."""
    drives = []
    for route in routes:
        if rng.random() < 0.5:
            cable = scene.add(pl.Cable(body, route, **options))
            drives.append((cable, lambda a, pull=pull: pl.Displacement(pull * max(a, 0.0))))
        else:
            cable = scene.add(pl.Cable(body, route, **options))
            drives.append((cable, lambda a, force=force: pl.Force(force * max(a, 0.0))))
    return drives


def obstacle(rng, at, radius):
    """A plane, a ball or a box whose surface is near the point `at`, below it."""
    x, y, z = at
    kind = rng.random()
    if kind < 0.4:
        return pl.Obstacle.plane(point=(x, y, z), normal=(0, 0, 1))
    if kind < 0.7:
        return pl.Obstacle.sphere(center=(x, y, z - radius), radius=radius)
    return pl.Obstacle.box(center=(x, y, z - 0.5 * radius), size=(radius, 2 * radius, radius))


def slender(rng, scene, damping, kind):
    """A clamped rod or beam with cables, above an obstacle."""
    length = 10 ** rng.uniform(-1.0, -0.3)
    radius = length * 10 ** rng.uniform(-2.0, -1.2)
    young = 10 ** rng.uniform(5.5, 8.5)
    count = int(rng.integers(4, 11))
    options = {"section": pl.sections.Circle(radius), "young": young, "poisson": 0.4, "density": 1100.0}
    if kind == "beam":
        points = [(length * k / count, 0, 0) for k in range(count + 1)]
        body = scene.add(pl.Beam(points, clamp=[0], damping=damping, **options))
    else:
        body = scene.add(pl.Rod(length, count, damping=damping, **options))
    if rng.random() < 0.7:
        thing = scene.add(obstacle(rng, (0.8 * length, 0, -radius - 0.02 * length), 0.3 * length))
        scene.collide(body, thing, friction=float(rng.choice([0.0, 0.3, 0.8])))
    bend, offset, routes = young * np.pi * radius**4 / 4, 2.0 * radius, []
    for angle in rng.uniform(0, 2 * np.pi, int(rng.integers(1, 3))):
        side = offset * np.array([0.0, np.cos(angle), np.sin(angle)])
        routes.append([np.array([length * k / count, 0, 0]) + side for k in range(count + 1)])
    return cables(rng, scene, body, routes, offset, bend / (offset * length), reach=3.0 * offset)


def soft(rng, scene, damping):
    """A clamped bar with cables, above an obstacle."""
    size = np.array([0.1, 0.02, 0.02]) * rng.uniform(0.7, 1.4, 3)
    law, young = str(rng.choice(LAWS)), 10 ** rng.uniform(4.8, 6.0)
    material = getattr(pl.materials, law)(young=young, poisson=rng.uniform(0.2, 0.48), density=1e3)
    mesh = pl.mesh.box(size, (int(rng.integers(3, 6)), 1, 1))
    body = scene.add(pl.Volume(mesh, material, clamp=pl.regions.plane(axis="x", at=0.0), damping=damping))
    if rng.random() < 0.7:
        thing = scene.add(obstacle(rng, (0.8 * size[0], 0.5 * size[1], -0.002), 0.03))
        scene.collide(body, thing, friction=float(rng.choice([0.0, 0.3, 0.8])))
    route = [size * np.array([x, 0.5, z]) for x, z in ((0.02, 0.2), (0.5, 0.15), (0.95, 0.2))]
    other = [size * np.array([x, 0.5, z]) for x, z in ((0.02, 0.8), (0.5, 0.85), (0.95, 0.8))]
    strength = young * size[1] * size[2] * 0.1
    return cables(rng, scene, body, [route, other][: int(rng.integers(1, 3))], 0.1 * size[0], strength)


def chamber(rng, scene, damping):
    """A hollow box that is inflated."""
    from tests.scenes import hollow_box

    law = str(rng.choice(LAWS[:3]))
    young = 10 ** rng.uniform(4.8, 5.7)
    box = hollow_box(getattr(pl.materials, law)(young=young, poisson=0.4, density=1e3))
    body = scene.add(pl.Volume(box.mesh, box.material, clamp=box.clamp, damping=damping))
    air = scene.add(pl.Cavity(body))
    if rng.random() < 0.5:
        return [(air, lambda a: pl.Pressure(0.03 * young * a))]
    return [(air, lambda a: pl.VolumeGrowth(4e-7 * a))]


def mechanism(rng, scene, damping):
    """A chain of rigid bodies on motors, above the floor."""
    floor = scene.add(pl.Obstacle.plane(point=(0, 0, -rng.uniform(0.03, 0.15)), normal=(0, 0, 1)))
    base, drives, count = None, [], int(rng.integers(1, 4))
    for k in range(count):
        size = np.array([0.08, 0.02, 0.015]) * rng.uniform(0.7, 1.3, 3)
        place = np.array([0.04 + 0.08 * k, 0.0, 0.0])
        body = scene.add(pl.RigidBody.box(size=size, mass=rng.uniform(0.02, 0.2), position=place))
        point = place - [0.04, 0, 0]
        kind = rng.random()
        if kind < 0.2:
            scene.attach(body, base, points=[point])
        else:
            axis = unit(rng) if kind < 0.6 else (0, 1, 0)
            joint = scene.add(pl.Hinge(body, axis, point=point, **({} if base is None else {"base": base})))
            if rng.random() < 0.5:
                drives.append((joint, lambda a: pl.Angle(0.8 * a)))
            elif rng.random() < 0.5:
                drives.append((joint, lambda a: pl.Torque(0.02 * a)))
        scene.collide(body, floor, friction=float(rng.choice([0.0, 0.3, 0.8])))
        base = body
    return drives


def thrown(rng, scene, damping):
    """Rigid and soft bodies that fly, spin, and hit the floor and each other."""
    scene_floor = scene.add(pl.Obstacle.plane(point=(0, 0, 0), normal=(0, 0, 1)))
    bodies = [scene_floor]
    for k in range(int(rng.integers(1, 4))):
        place = (rng.uniform(-0.01, 0.01), rng.uniform(-0.01, 0.01), 0.03 + 0.06 * k)
        speed, spin = rng.uniform(-0.5, 0.5, 3), rng.uniform(-10, 10, 3)
        kind, mass = rng.random(), rng.uniform(0.02, 0.2)
        if kind < 0.3:
            body = pl.RigidBody.sphere(radius=0.02, mass=mass, position=place, velocity=speed, spin=spin)
        elif kind < 0.7:
            size = rng.uniform(0.02, 0.05, 3)
            body = pl.RigidBody.box(size=size, mass=mass, position=place, velocity=speed, spin=spin)
        else:
            law = str(rng.choice(LAWS[:3]))
            material = getattr(pl.materials, law)(young=10 ** rng.uniform(4.8, 6), poisson=0.4, density=1e3)
            mesh = pl.mesh.box((0.03, 0.03, 0.03), (2, 2, 2)).translated(np.array(place) - 0.015)
            body = pl.Volume(mesh, material, damping=damping)
        scene.add(body)
        mu = float(rng.choice([0.0, 0.3, 0.8]))
        for other in bodies:
            scene.collide(body, other, friction=mu)
        bodies.append(body)
    return []


def spine(rng, scene, damping):
    """A short spine whose ribs touch."""
    robot = pl.robots.spine(
        length=0.16, vertebra_count=6, rib_points=(2, 2), friction=float(rng.choice([0.0, 0.6])), damping=damping
    )
    scene.add(robot)
    return [(cable, lambda a: pl.Displacement(0.012 * max(a, 0.0))) for cable in robot.cables[6:]]


KINDS = {
    "beam": lambda *given: slender(*given, "beam"),
    "rod": lambda *given: slender(*given, "rod"),
    "soft bar": soft,
    "chamber": chamber,
    "mechanism": mechanism,
    "thrown": thrown,
    "spine": spine,
}
