"""Random small scenes with the numbers that their gradients are taken by, and central differences of the program.

A case is a function of changes, by name: ``run(young=…)`` is the loss of the run with another modulus. Differences are
of fourth order; each change has the step that suits its scale.
"""

from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np

import pliant as pl

EULER = pl.ImplicitEuler(0.005, tolerance=1e-12)
STATIC = pl.QuasiStatic(tolerance=1e-12)
P = pl.parameters


@dataclass
class Case:
    """A world with a loss, controls and a start, and pairs of a parameter and what to weigh its gradient with."""

    world: object
    loss: object
    control: list
    parameters: dict
    start: object = None
    weights: dict = field(default_factory=dict)

    def value(self, stepper):
        """The loss of a run, by the stepper alone."""
        state = self.world.initial_state() if self.start is None else self.start
        last = len(self.control)
        total = self.loss.at(pl.losses.Instant(0, last, state, None))
        for k, controls in enumerate(self.control):
            state, info = stepper(self.world, state, controls)
            total += self.loss.at(pl.losses.Instant(k + 1, last, state, info))
        return total

    def gradient(self, stepper, **options):
        """The derivatives by name, weighed to one number each."""
        found = pl.gradient(
            self.world, stepper, self.loss, parameters=list(self.parameters.values()), control=self.control,
            start=self.start, **options,
        )  # fmt: skip
        return found, {
            name: float(np.vdot(found[each], self.weights.get(name, 1.0))) for name, each in self.parameters.items()
        }


def difference(function, step):
    """The derivative of a function of one number at 0, of fourth order."""
    near, far = function(step) - function(-step), function(2 * step) - function(-2 * step)
    return (8 * near - far) / (12 * step)


def directions(world, seed):
    """A direction in the free unknowns of the first body."""
    shape, fixed = world.shapes[0], world.models[0].constrained
    return np.where(fixed, 0.0, np.random.default_rng(seed).normal(size=shape))


def started(world, seed, *, q=0.0, v=0.0):
    """The initial state moved by q and v along the direction."""
    state, along = world.initial_state(), directions(world, seed)
    trial = world.models[0].trial(_start(state))
    return pl.State(world, 0.0, (trial.displaced(state.q[0], q * along),), (state.v[0] + v * along,), np.zeros(0))


def _start(state):
    from pliant.models.model import StepStart
    from pliant.models.scheme import euler_scheme

    return StepStart(state.q[0], state.v[0], euler_scheme(1e-2), np.zeros(3), {})


def material(kind, young=1e5, poisson=0.4, density=1e3):
    """A soft material."""
    return getattr(pl.materials, kind)(young=young, poisson=poisson, density=density)


def finger(seed, steps, *, kind="Corotated", force=False, young=0.0, poisson=0.0, density=0.0, mass_damping=0.0,
           damping=0.0, command=0.0, load=0.0, gravity=0.0, q=0.0, v=0.0, route=0.0):  # fmt: skip
    """A clamped bar of random size with a cable, a load at its end and damping."""
    rng = np.random.default_rng(seed)
    size = np.array([0.1, 0.02, 0.02]) * rng.uniform(0.9, 1.1, 3)
    scene = pl.Scene(gravity=(gravity, 0, -9.81))
    rayleigh = pl.Rayleigh(mass=0.3 + mass_damping, stiffness=0.02 + damping if kind == "Corotated" else 0.0)
    inner = material(kind, 3e5)
    body = scene.add(pl.Volume(
        pl.mesh.box(size, (4, 1, 1)), material(kind, 1e5 + young, 0.4 + poisson, 1e3 + density),
        clamp=pl.regions.plane(axis="x", at=0.0), damping=rayleigh,
        inclusions=[(pl.regions.box((0.05, -1, -1), (0.07, 1, 1)), inner)],
    ))  # fmt: skip
    points = size * np.array([[0.03, 0.55, 0.15], [0.33, 0.57, 0.13], [0.63, 0.55, 0.13], [0.97, 0.55, 0.15]])
    turn = np.zeros((4, 3))
    turn[1:3] = rng.normal(size=(2, 3))
    cable = scene.add(pl.Cable(body, points + route * turn))
    push = scene.add(pl.PointLoad(body, pl.regions.plane(axis="x", at=size[0]), (0, 0, 0)))
    world = scene.compile()
    amounts = np.linspace(0.5, 1.0, steps) * (1.0 if force else 0.004) + command
    value = pl.Force if force else pl.Displacement
    control = [{cable: value(u), push: pl.Force((0, 0.002 + load, 0.001))} for u in amounts]
    tip = (body, 0.9 * size)
    loss = 1e2 * pl.losses.Position(tip, (0.09, 0, 0)) + 0.5 * pl.losses.Coordinate(tip, (0, 1, 1), when="always")
    if not force:
        loss = loss + 1e-3 * pl.losses.Tension(cable, 0.3, when="always")
    named = {
        "young": P.Material(body, "young"), "poisson": P.Material(body, "poisson"),
        "density": P.Material(body, "density"), "mass_damping": P.Damping(body, "mass"), "command": P.Control(cable),
        "load": P.Load(push), "gravity": P.Gravity(), "q": P.InitialPositions(body), "v": P.InitialVelocities(body),
        "route": P.Route(cable),
    }  # fmt: skip
    along = directions(world, seed)
    weights = {"load": np.tile((0, 1, 0), (steps, 1)), "gravity": np.array([1, 0, 0]), "q": along, "v": along,
               "route": turn, "command": np.ones(steps)}  # fmt: skip
    if kind == "Corotated":
        named["damping"] = P.Damping(body, "stiffness")
    return Case(world, loss, control, named, started(world, seed, q=q, v=v), weights)


FINGER_STEPS = {"young": 50, "poisson": 1e-3, "density": 1.0, "mass_damping": 1e-2, "damping": 1e-4, "command": 1e-5,
                "load": 1e-4, "gravity": 1e-2, "q": 1e-6, "v": 1e-3, "route": 1e-6}  # fmt: skip


def chamber(seed, steps, *, growth=False, young=0.0, poisson=0.0, command=0.0, v=0.0, mass=0.0):
    """A hollow box that is inflated by pressure or volume."""
    from tests.scenes import hollow_box

    rng = np.random.default_rng(seed)
    scene = pl.Scene(gravity=(0, 0, -9.81))
    body = hollow_box(material("NeoHookean", 1e5 + young, 0.45 + poisson))
    total = 0.02 + mass
    body = scene.add(pl.Volume(body.mesh, body.material, clamp=body.clamp, mass=total))
    air = scene.add(pl.Cavity(body))
    world = scene.compile()
    amounts = rng.uniform(0.4, 1.0, steps) + command
    control = [{air: pl.VolumeGrowth(5e-7 * a) if growth else pl.Pressure(3e3 * a)} for a in amounts]
    tip = (body, np.array([0.021, 0.019, 0.0199]))
    loss = 1e3 * pl.losses.Position(tip, (0.02, 0.02, 0.03), when="always") + pl.losses.Energy(body)
    named = {"young": P.Material(body, "young"), "poisson": P.Material(body, "poisson"), "command": P.Control(air),
             "v": P.InitialVelocities(body), "mass": P.Mass(body)}  # fmt: skip
    weights = {"command": np.full(steps, 5e-7 if growth else 3e3), "v": directions(world, seed)}
    return Case(world, loss, control, named, started(world, seed, v=v), weights)


CHAMBER_STEPS = {"young": 50, "poisson": 3e-4, "command": 1e-3, "v": 1e-3, "mass": 1e-4}


def on_floor(seed, steps, *, mu=0.3, friction=0.0, young=0.0, load=0.0, v=0.0, gravity=0.0):
    """A clamped bar whose end is pressed on a plane and pushed along it."""
    rng = np.random.default_rng(seed)
    scene = pl.Scene(gravity=(gravity, 0, -9.81))
    body = scene.add(pl.Volume(
        pl.mesh.box((0.1, 0.02, 0.02), (4, 1, 1)), material("Corotated", 1e5 + young),
        clamp=pl.regions.plane(axis="x", at=0.0), damping=pl.Rayleigh(stiffness=0.01),
    ))  # fmt: skip
    floor = scene.add(pl.Obstacle.plane(point=(0, 0, -0.002), normal=(0, 0, 1)))
    scene.collide(body, floor, friction=mu + friction)
    push = scene.add(pl.PointLoad(body, pl.regions.plane(axis="x", at=0.1), (0, 0, 0)))
    world = scene.compile()
    side = rng.uniform(0.03, 0.05) * np.arange(1, steps + 1) / steps
    control = [{push: pl.Force((0, s + load, -0.6 - 0.3 * load))} for s in side]
    tip = (body, np.array([0.097, 0.009, 0.013]))
    loss = 1e3 * pl.losses.Position(tip, (0.1, 0.02, 0.03), when="always")
    named = {"young": P.Material(body, "young"), "load": P.Load(push), "v": P.InitialVelocities(body),
             "gravity": P.Gravity()}  # fmt: skip
    if mu:
        named["friction"] = P.Friction(body, floor)
    weights = {"load": np.tile((0, 1, -0.3), (steps, 1)), "v": directions(world, seed), "gravity": np.eye(3)[0]}
    return Case(world, loss, control, named, started(world, seed, v=v), weights)


FLOOR_STEPS = {"young": 10, "load": 1e-5, "v": 1e-5, "gravity": 1e-3, "friction": 1e-5}


def slender(
    seed, steps, *, kind="rod", pulled=True, young=0.0, density=0.0, command=0.0, v=0.0, gravity=0.0, damping=0.0
):
    """A rod or a beam with a cable along its upper side."""
    rng = np.random.default_rng(seed)
    scene = pl.Scene(gravity=(gravity, 0, -9.81))
    options = {"young": 1e6 + young, "poisson": 0.4, "density": 1e3 + density,
               "section": pl.sections.Circle(0.005), "damping": pl.Rayleigh(stiffness=0.005 + damping)}  # fmt: skip
    if kind == "rod":
        body = scene.add(pl.Rod(0.2, 4, **options))
    else:
        body = scene.add(pl.Beam(np.linspace((0, 0, 0), (0.2, 0, 0), 5), clamp=[0], **options))
    x = (0.01, *np.sort(rng.uniform(0.05, 0.15, 2)), 0.2)
    cable = scene.add(pl.Cable(body, [(each, 0.0, 0.008) for each in x], reach=0.02)) if pulled else None
    world = scene.compile()
    control = [{cable: pl.Displacement((0.003 + command) * (k + 1) / steps)} if pulled else {} for k in range(steps)]
    loss = 1e3 * pl.losses.Position((body, np.array([0.2, 0, 0])), (0.15, 0.02, 0.03), when="always")
    named = {"young": P.Material(body, "young"), "density": P.Material(body, "density"), "gravity": P.Gravity(),
             "damping": P.Damping(body, "stiffness")}  # fmt: skip
    if pulled:  # a step knows the direction of a cable on a rod to √tolerance only, by which v then differs
        named["command"] = P.Control(cable)
    else:
        named["v"] = P.InitialVelocities(body)
    weights = {"command": np.arange(1, steps + 1) / steps, "v": directions(world, seed), "gravity": np.eye(3)[0]}
    return Case(world, loss, control, named, started(world, seed, v=v), weights)


SLENDER_STEPS = {"young": 1e3, "density": 1.0, "command": 1e-5, "v": 1e-4, "gravity": 1e-3, "damping": 1e-5}


def rigid(seed, steps, *, shape="box", mu=0.3, friction=0.0, q=0.0, v=0.0, gravity=0.0, flying=False):
    """A box that slides or a ball that rolls on a plane, or a body that flies and spins."""
    rng = np.random.default_rng(seed)
    scene = pl.Scene(gravity=(gravity, 0, -9.81))
    speed = (*rng.uniform(0.1, 0.3, 2), 0.0)
    spin = rng.normal(size=3) if flying or shape == "ball" else np.zeros(3)
    given = {"mass": 0.05, "velocity": speed, "spin": spin}
    if shape == "box":
        body = scene.add(pl.RigidBody.box(size=(0.04, 0.03, 0.02), position=(0, 0, 0.0101), **given))
    else:
        body = scene.add(pl.RigidBody.sphere(radius=0.015, position=(0, 0, 0.0151), **given))
    named = {"v": P.InitialVelocities(body), "q": P.InitialPositions(body), "gravity": P.Gravity()}
    if not flying:
        floor = scene.add(pl.Obstacle.plane(point=(0, 0, 0), normal=(0, 0, 1)))
        scene.collide(body, floor, friction=mu + friction)
        named["friction"] = P.Friction(body, floor)
    world = scene.compile()
    loss = 1e3 * pl.losses.Position((body, np.array([0.01, 0.004, 0.003])), (0, 0.02, 0.03), when="always")
    along = rng.normal(size=(2, 3))
    if not flying:
        along[0, 2], along[1, :2] = 0.0, 0.0  # along the floor, or contacts change
    state = world.initial_state()
    trial = world.models[0].trial(_start(state))
    start = pl.State(world, 0.0, (trial.displaced(state.q[0], q * along),), (state.v[0] + v * along,), np.zeros(0))
    weights = {"q": along, "v": along, "gravity": np.eye(3)[0]}
    return Case(world, loss, [{}] * steps, named, start, weights)


RIGID_STEPS = {"q": 1e-5, "v": 1e-4, "gravity": 1e-2, "friction": 1e-4}


def hinged(seed, steps, *, v=0.0, gravity=0.0, command=0.0):
    """A box that hangs from the world by a hinge with a motor, on which a second one spins."""
    rng = np.random.default_rng(seed)
    scene = pl.Scene(gravity=(gravity, 0, -9.81))
    first = scene.add(pl.RigidBody.box(size=(0.06, 0.02, 0.01), mass=0.05, position=(0.03, 0, 0), spin=(0, 1.0, 0)))
    second = scene.add(pl.RigidBody.box(size=(0.04, 0.02, 0.01), mass=0.03, position=(0.08, 0, 0)))
    motor = scene.add(pl.Hinge(first, rng.normal(size=3), point=(0, 0, 0)))
    scene.add(pl.Hinge(second, rng.normal(size=3), point=(0.06, 0, 0), base=first))
    world = scene.compile()
    control = [{motor: pl.Torque(2e-3 + command)}] * steps
    loss = 1e3 * pl.losses.Position((second, np.array([0.02, 0, 0])), (0.05, 0.02, 0.03), when="always")
    named = {"v": P.InitialVelocities(first), "gravity": P.Gravity(), "command": P.Control(motor)}
    along, state = rng.normal(size=(2, 3)), world.initial_state()
    speeds = list(state.v)
    speeds[world.index(first)] = speeds[world.index(first)] + v * along
    start = pl.State(world, 0.0, state.q, tuple(speeds), np.zeros(0))
    return Case(world, loss, control, named, start, {"v": along, "gravity": np.eye(3)[0], "command": np.ones(steps)})


HINGED_STEPS = {"v": 1e-3, "gravity": 1e-2, "command": 1e-4}


def towed(seed, steps, *, young=0.0, command=0.0, gravity=0.0):
    """A rigid body that hangs from the end of a bar by two cables."""
    rng = np.random.default_rng(seed)
    scene = pl.Scene(gravity=(gravity, 0, -9.81))
    body = scene.add(pl.Volume(
        pl.mesh.box((0.1, 0.02, 0.02), (4, 1, 1)), material("Corotated", 1e5 + young),
        clamp=pl.regions.plane(axis="x", at=0.0), damping=pl.Rayleigh(stiffness=0.01),
    ))  # fmt: skip
    box = scene.add(pl.RigidBody.box(size=(0.02, 0.02, 0.02), mass=0.004, position=(0.09, 0.01, -0.05)))
    ends = rng.uniform(-0.008, 0.008, (2, 2))
    cables = [
        scene.add(pl.Cable((body, box), [(0.09, 0.01 + 0.005 * side, 0.005), (*end, 0.01)], name=f"cable {side}"))
        for side, end in zip((-1, 1), ends, strict=True)
    ]
    world = scene.compile()
    control = [{each: pl.Displacement((0.002 + command) * (k + 1) / steps) for each in cables} for k in range(steps)]
    loss = 1e3 * pl.losses.Position((box, np.array([0.0, 0.0, 0.01])), (0.1, 0.0, -0.03), when="always")
    named = {"young": P.Material(body, "young"), "command": P.Control(cables[0]), "gravity": P.Gravity()}
    made = Case(
        world, loss, control, named, None, {"gravity": np.eye(3)[0], "command": np.arange(1, steps + 1) / steps}
    )
    if command:
        for k, each in enumerate(made.control):
            each[cables[1]] = pl.Displacement(0.002 * (k + 1) / steps)
    return made


def pressed(seed, steps, *, other="sphere", mu=0.3, friction=0.0, young=0.0, load=0.0, gravity=0.0):
    """A clamped bar that is pressed on something whose planes of contact turn with it: a sphere, a cylinder, another
    soft body, or a rigid body that lies on it.
    """
    rng = np.random.default_rng(seed)
    scene = pl.Scene(gravity=(gravity, 0, -9.81))
    given = {"damping": pl.Rayleigh(stiffness=0.01, mass=2.0)}
    body = scene.add(pl.Volume(
        pl.mesh.box((0.1, 0.02, 0.02), (6, 2, 2)), material("Corotated", 1e5 + young),
        clamp=pl.regions.plane(axis="x", at=0.0), **given,
    ))  # fmt: skip
    x, y, way = rng.uniform(0.07, 0.09), rng.uniform(0.006, 0.014), -1.0
    if other == "sphere":
        thing = scene.add(pl.Obstacle.sphere(radius=0.02, center=(x, y, -0.021)))
    elif other == "cylinder":
        along = np.array([0.3, 1.0, 0.0]) * 0.1
        middle = np.array([x, y, -0.017])
        thing = scene.add(pl.Obstacle.cylinder(radius=0.015, start=middle - along, end=middle + along))
    elif other == "soft":
        clamp = pl.regions.plane(axis="z", at=0.0)
        block = pl.Volume(pl.mesh.box((0.03, 0.05, 0.02), (2, 3, 2)), material("Corotated", 8e4), clamp=clamp, **given)
        thing = scene.add(block, position=(x - 0.015, rng.uniform(-0.019, -0.011), -0.0213))
    else:
        way = 0.2
        thing = scene.add(pl.RigidBody.sphere(radius=0.012, mass=0.03, position=(x, y, 0.0322)))
    scene.collide(body, thing, friction=mu + friction)
    push = scene.add(pl.PointLoad(body, pl.regions.plane(axis="x", at=0.1), (0, 0, 0)))
    side = rng.uniform(0.03, 0.05) * np.arange(1, steps + 1) / steps
    control = [{push: pl.Force((0, s + load, 0.3 * way - 0.3 * load))} for s in side]
    loss = 1e3 * pl.losses.Position((body, np.array([0.097, 0.009, 0.013])), (0.1, 0.02, 0.03), when="always")
    named = {"young": P.Material(body, "young"), "load": P.Load(push), "gravity": P.Gravity()}
    if mu:
        named["friction"] = P.Friction(body, thing)
    weights = {"load": np.tile((0, 1, -0.3), (steps, 1)), "gravity": np.eye(3)[0]}
    return Case(scene.compile(), loss, control, named, None, weights)


def roped(seed, steps, *, young=0.0, command=0.0, gravity=0.0):
    """Two clamped bars that a cable pulls together."""
    rng = np.random.default_rng(seed)
    scene = pl.Scene(gravity=(gravity, 0, -9.81))
    clamp, damping = pl.regions.plane(axis="x", at=0.0), pl.Rayleigh(stiffness=0.01)
    bars = [
        scene.add(
            pl.Volume(pl.mesh.box((0.1, 0.02, 0.02), (4, 1, 1)), material("Corotated", young), clamp=clamp,
                      damping=damping),
            position=(0, 0, 0.05 * k),
        )
        for k, young in enumerate((1e5 + young, 2e5))
    ]  # fmt: skip
    ends = rng.uniform(0.005, 0.015, (2, 2))
    cable = scene.add(pl.Cable(bars, [(0.06, *ends[0]), (0.095, *ends[1])]))
    control = [{cable: pl.Displacement((0.004 + command) * (k + 1) / steps)} for k in range(steps)]
    loss = 1e3 * pl.losses.Position((bars[0], np.array([0.1, 0.01, 0.01])), (0.1, 0.0, 0.03), when="always")
    named = {"young": P.Material(bars[0], "young"), "command": P.Control(cable), "gravity": P.Gravity()}
    weights = {"gravity": np.eye(3)[0], "command": np.arange(1, steps + 1) / steps}
    return Case(scene.compile(), loss, control, named, None, weights)


@lru_cache
def reduced_finger():
    """A finger above a smooth floor in its few modes, and its world."""
    rubber = pl.materials.Corotated(young=3e5, poisson=0.4, density=1080.0)
    robot, scene = pl.robots.finger(cells=(2, 2, 2), material=rubber), pl.Scene(gravity=(0, 0, -9.81))
    scene.add(robot)
    scene.collide(robot.body, scene.add(pl.Obstacle.plane(point=(0, 0, -0.0115), normal=(0, 0, 1))))
    world = scene.compile()
    plan = pl.reduction.ramps(world, amplitude=0.012, steps=24)
    return robot, pl.reduction.reduce(world, plan, motion_tolerance=1e-6)


def reduced(seed, steps, *, young=0.0, damping=0.0, mass=0.0, command=0.0, gravity=0.0, v=0.0):
    """The finger in its modes, pulled by its cable onto the floor."""
    robot, world = reduced_finger()
    body, model = robot.body, world.models[0]
    named = {"young": P.Material(body, "young"), "damping": P.Damping(body, "stiffness"), "mass": P.Mass(body),
             "gravity": P.Gravity(), "command": P.Control(robot.cable), "v": P.InitialVelocities(body)}  # fmt: skip
    changes = {"young": young, "damping": damping, "mass": mass, "gravity": np.array((gravity, 0, 0))}
    made = {named[name]: named[name].value(world) + change for name, change in changes.items() if np.any(change)}
    changed = pl.changed(world, made) if made else world
    along = model.chart.modes @ np.random.default_rng(seed).normal(size=model.chart.modes.shape[1])
    along = along.reshape(-1, 3) / np.abs(along).max()
    state = changed.initial_state()
    start = pl.State(changed, 0.0, state.q, (state.v[0] + v * along,), np.zeros(0))
    control = [{robot.cable: pl.Displacement(0.006 * (k + 1) / steps + command)} for k in range(steps)]
    loss = 1e3 * pl.losses.Position(robot.tip, (0.09, 0, 0), when="always")
    return Case(changed, loss, control, named, start, {"gravity": np.eye(3)[0], "v": along, "command": np.ones(steps)})


REDUCED_STEPS = {"young": 30, "command": 1e-6, "gravity": 1e-2, "v": 1e-3, "damping": 1e-5, "mass": 1e-5}
