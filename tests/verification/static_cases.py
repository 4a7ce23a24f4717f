"""Contact statics and actuated statics: builders of small cases, each with one number that is compared.

A builder returns a `Case`. `expected` is a closed form where there is one. Every case has a second answer that owes
nothing to the quasi-static solver: slow, nearly massless dynamics of the same world (`settled`).
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import pliant as pl

NEO = pl.materials.NeoHookean(young=1e5, poisson=0.3, density=1e3)
UNIAXIAL = pl.materials.NeoHookean(young=1e5, poisson=0.0, density=1e3)


@dataclass
class Case:
    """A world, the controls of its one call, and the number to compare: `measure(state, info)`.

    `within` is how near the closed form it has to be, `close` how near slow dynamics, relative.
    `dt` is the time that passes in the call, for obstacles that move. `ramp` is the time over which dynamics applies
    the controls, `rest` that which it then waits, s.
    """

    world: Any
    measure: Callable[[Any, Any], float]
    controls: dict[Any, Any] = field(default_factory=dict)
    dt: float | None = None
    expected: float | None = None
    within: float = 0.01
    close: float = 1e-3
    ramp: float = 1.0
    rest: float = 1.0

    def solved(self):
        """State, report and measured number of one quasi-static call."""
        state, info = pl.QuasiStatic(dt=self.dt)(self.world, self.world.initial_state(), self.controls)
        return state, info, self.measure(state, info)

    def settled(self, dt=0.02):
        """The number measured after slow dynamics: the controls are applied in `ramp` s, then bodies come to rest."""
        step, state, info = pl.ImplicitEuler(dt), self.world.initial_state(), None
        for k in range(round((self.ramp + self.rest) / dt)):
            fraction = min((k + 1) * dt / self.ramp, 1.0)
            scaled = {handle: _scaled(value, fraction) for handle, value in self.controls.items()}
            state, info = step(self.world, state, scaled)
        return self.measure(state, info), max(float(np.abs(v).max()) for v in state.v)


def _scaled(value, fraction):
    """A fraction of a control value."""
    if isinstance(value, pl.VolumeRatio):
        return pl.VolumeRatio(1.0 + fraction * (value.value - 1.0))
    return type(value)(fraction * np.asarray(value.value) if np.ndim(value.value) else fraction * value.value)


def box(scene, size, cells, at=(0, 0, 0), material=NEO, element="hex8", **options):
    """A block with its lower corner at `at`."""
    mesh = pl.mesh.box(size, cells, element=element).translated(at)
    return scene.add(pl.Volume(mesh, material, **options))


def floor(scene, z=0.0):
    """A wide plane at the height z."""
    return scene.add(pl.Obstacle.plane(point=(0, 0, z), normal=(0, 0, 1)))


def plate(scene, z, travel, width=0.2, mass=0.01, center=(0.0, 0.0)):
    """A rigid plate whose lower face is at the height z, on a slider that goes up by `travel`."""
    rigid = scene.add(pl.RigidBody.box(size=(width, width, 0.01), mass=mass, position=(*center, z + 0.005)))
    return rigid, scene.add(pl.Slider(rigid, (0, 0, 1))), travel


def top(state, body):
    return float(state.points(body)[:, 2].max())


# Blocks --------------------------------------------------------------------------------------------------------------


def block_on_floor(friction=0.5):
    """A block that lies on a floor under its weight, held by nothing else: ν = 0, its top sinks by ρ g h²/(2E)."""
    scene = pl.Scene(gravity=(0, 0, -9.81))
    body = box(scene, (0.04, 0.04, 0.04), (3, 3, 4), at=(0, 0, 0.0), material=UNIAXIAL)
    ground = floor(scene)
    scene.collide(body, ground, friction=friction)
    return Case(
        scene.compile(),
        lambda s, i: 0.04 - top(s, body),
        expected=1e3 * 9.81 * 0.04**2 / 2e5,
    )


def stacked_blocks(friction=0.5):
    """A small block on a large one on a floor; the floor bears the weight of both."""
    scene = pl.Scene(gravity=(0, 0, -9.81))
    lower = box(scene, (0.06, 0.06, 0.02), (4, 4, 2))
    upper = box(scene, (0.03, 0.03, 0.03), (2, 2, 2), at=(0.013, 0.014, 0.02))
    ground = floor(scene)
    scene.collide(lower, ground, friction=friction)
    scene.collide(upper, lower, friction=friction)
    weight = 1e3 * 9.81 * (0.06 * 0.06 * 0.02 + 0.03**3)
    return Case(scene.compile(), lambda s, i: i.contact_force(lower, ground)[2], expected=weight)


def pressed_block(friction=0.0, travel=-0.008, element="hex8"):
    """A block between a floor and a plate that comes down; ν = 0 and no friction: uniaxial stress."""
    scene = pl.Scene()
    body = box(scene, (0.04, 0.04, 0.04), (4, 4, 4), at=(-0.02, -0.02, 0), material=UNIAXIAL, element=element)
    ground, (press, slider, _) = floor(scene), plate(scene, 0.04, travel)
    scene.collide(body, ground, friction=friction)
    scene.collide(body, press, friction=friction)
    stretch = 1.0 + travel / 0.04
    force = 1.6e-3 * 0.5e5 * (1.0 / stretch - stretch)  # neo-Hookean with ν = 0: P = μ (λ − 1/λ)
    return Case(
        scene.compile(),
        lambda s, i: i.contact_force(body, ground)[2],
        {slider: pl.Displacement(travel)},
        expected=force if friction == 0.0 else None,
    )


def pressed_by_support(friction=0.3):
    """The top of a block is moved down by a support; its bottom is held by contact alone."""
    scene = pl.Scene()
    body = box(scene, (0.04, 0.04, 0.02), (4, 4, 3), at=(0, 0, 0.001))
    hold = scene.add(pl.Support(body, pl.regions.plane(axis="z", at=0.021)))
    ground = floor(scene)
    scene.collide(body, ground, friction=friction)
    return Case(
        scene.compile(),
        lambda s, i: i.contact_force(body, ground)[2],
        {hold: pl.Displacement((0, 0, -0.005))},
    )


def two_blocks_pressed(friction=0.3):
    """Two blocks of unlike meshes, one on the other, pressed by a support on the upper one."""
    scene = pl.Scene()
    lower = box(scene, (0.06, 0.06, 0.02), (5, 5, 3), clamp=pl.regions.plane(axis="z", at=0))
    upper = box(scene, (0.03, 0.03, 0.02), (3, 3, 3), at=(0.016, 0.014, 0.0205))
    hold = scene.add(pl.Support(upper, pl.regions.plane(axis="z", at=0.0405)))
    scene.collide(lower, upper, friction=friction)
    return Case(
        scene.compile(),
        lambda s, i: i.contact_force(upper, lower)[2],
        {hold: pl.Displacement((0, 0, -0.004))},
    )


def sheared_block(friction=0.5):
    """A block pressed on a floor, then dragged: two calls' worth of motion in one; in full slip F = μ N."""
    scene = pl.Scene()
    body = box(scene, (0.04, 0.04, 0.02), (4, 4, 2), at=(0, 0, 0))
    hold = scene.add(pl.Support(body, pl.regions.plane(axis="z", at=0.02)))
    ground = floor(scene)
    scene.collide(body, ground, friction=friction)

    def ratio(state, info):
        force = info.contact_force(body, ground)
        return -force[0] / force[2]

    return Case(
        scene.compile(),
        ratio,
        {hold: pl.Displacement((0.03, 0, -0.001))},
        expected=friction if friction <= 0.6 else None,
    )


def block_on_slope(friction=0.5):
    """A block on a slope of 20° that friction holds: its contact force is its weight."""
    scene = pl.Scene(gravity=(9.81 * np.sin(0.35), 0, -9.81 * np.cos(0.35)))
    body = box(scene, (0.04, 0.04, 0.02), (4, 4, 2))
    ground = floor(scene)
    scene.collide(body, ground, friction=friction)
    weight = 1e3 * 9.81 * 0.04 * 0.04 * 0.02
    return Case(scene.compile(), lambda s, i: -i.contact_force(body, ground)[0], expected=weight * np.sin(0.35))


def soft_ball_under_plate(friction=0.0):
    """A soft cylinder lying between floor and plate, pressed by a weight."""
    scene = pl.Scene(gravity=(0, 0, -9.81))
    mesh = (
        pl.mesh.cylinder(0.02, 0.03, cells=(4, 3), element="hex8").rotated((np.pi / 2, 0, 0)).translated((0, 0, 0.02))
    )
    body = scene.add(pl.Volume(mesh, NEO))
    ground = floor(scene)
    press = scene.add(pl.RigidBody.box(size=(0.06, 0.06, 0.01), mass=0.2, position=(0, -0.015, 0.0452)))
    scene.add(pl.Slider(press, (0, 0, 1)))
    scene.collide(body, ground, friction=friction)
    scene.collide(body, press, friction=friction)
    return Case(scene.compile(), lambda s, i: float(s.pose(press)[0, 2]))


# Rings, billets, plugs, columns --------------------------------------------------------------------------------------


def ring_between_plates(friction=0.2, travel=-0.012):
    """A ring lying on its side, squeezed between a floor and a plate."""
    scene = pl.Scene()
    mesh = pl.mesh.tube(0.016, 0.02, 0.01, cells=(2, 32, 1), element="hex8")
    mesh = mesh.rotated((np.pi / 2, 0, 0)).translated((0, 0, 0.02))
    body = scene.add(pl.Volume(mesh, NEO))
    ground, (press, slider, _) = floor(scene), plate(scene, 0.0402, travel)
    scene.collide(body, ground, friction=friction)
    scene.collide(body, press, friction=friction)
    return Case(
        scene.compile(),
        lambda s, i: i.contact_force(body, ground)[2],
        {slider: pl.Displacement(travel)},
    )


def upset_billet(friction=0.2, travel=-0.01):
    """A billet upset between floor and plate by a third of its height; it bulges."""
    scene = pl.Scene()
    body = scene.add(pl.Volume(pl.mesh.cylinder(0.01, 0.03, cells=(3, 6), element="hex8"), NEO))
    ground, (press, slider, _) = floor(scene), plate(scene, 0.03, travel)
    scene.collide(body, ground, friction=friction)
    scene.collide(body, press, friction=friction)
    return Case(
        scene.compile(),
        lambda s, i: i.contact_force(body, ground)[2],
        {slider: pl.Displacement(travel)},
    )


def plug_in_pipe(friction=0.2):
    """A plug thicker than its pipe by 0.4 mm, pushed along it: starts inside with the interference."""
    scene = pl.Scene()
    mesh = pl.mesh.cylinder(0.01, 0.02, cells=(3, 5), element="hex8")
    body = scene.add(pl.Volume(mesh, NEO))
    hold = scene.add(pl.Support(body, pl.regions.plane(axis="z", at=0.02), axes="z"))
    pipe = scene.add(pl.Obstacle.pipe(start=(0, 0, -0.05), end=(0, 0, 0.05), radius=0.0098))
    scene.collide(body, pipe, friction=friction, allow_overlap=True)
    return Case(
        scene.compile(),
        lambda s, i: i.contact_force(body, pipe)[2],
        {hold: pl.Displacement(-0.01)},
    )


def column_between_walls(travel=-0.006):
    """A slender column, clamped below, pressed from above; it buckles against walls at 4 mm on both sides."""
    scene = pl.Scene(gravity=(0.2, 0, 0))
    body = box(scene, (0.005, 0.005, 0.1), (1, 1, 20), clamp=pl.regions.plane(axis="z", at=0), element="hex8")
    hold = scene.add(pl.Support(body, pl.regions.plane(axis="z", at=0.1)))
    for x, n in ((-0.004, 1), (0.009, -1)):
        wall = scene.add(pl.Obstacle.plane(point=(x, 0, 0), normal=(n, 0, 0)))
        scene.collide(body, wall)
    return Case(
        scene.compile(),
        lambda s, i: float(i.reaction(body)[s.points(body)[:, 2] < 1e-9, 2].sum()),
        {hold: pl.Displacement((0, 0, travel))},
    )


# Indenters -----------------------------------------------------------------------------------------------------------


def indenter(shape, friction=0.0, depth=0.004, slide=0.0, cells=(20, 12, 6)):
    """A rigid obstacle that moves down into a clamped block within the one call, and along it by `slide`."""
    scene = pl.Scene()
    body = box(scene, (0.1, 0.06, 0.03), cells, clamp=pl.regions.plane(axis="z", at=0))

    def motion(t):
        t = min(t, 1.0)
        down = depth * min(2.0 * t, 1.0) if slide else depth * t
        return (slide * max(t - 0.5, 0.0) * 2.0, 0, -down), (0, 0, 0)

    tool = {
        "ball": lambda: pl.Obstacle.sphere(center=(0.05, 0.03, 0.0451), radius=0.015, motion=motion),
        "punch": lambda: pl.Obstacle.box(center=(0.05, 0.03, 0.0351), size=(0.022, 0.022, 0.01), motion=motion),
        "roller": lambda: pl.Obstacle.cylinder(
            start=(0.04, -0.05, 0.0451), end=(0.04, 0.11, 0.0451), radius=0.015, motion=motion
        ),
        "plane": lambda: pl.Obstacle.plane(point=(0, 0, 0.0301), normal=(0, 0, -1), motion=motion),
    }[shape]()
    tool = scene.add(tool)
    scene.collide(body, tool, friction=friction)
    return Case(
        scene.compile(),
        lambda s, i: float(np.linalg.norm(i.contact_force(body, tool))),
        dt=1.0,
    )


# Free bodies held by contacts ----------------------------------------------------------------------------------------


def ball_on_arm(friction=0.5):
    """A steel ball in the hollow of a clamped arm that sags under it: two fences keep it on the arm."""
    scene = pl.Scene(gravity=(0, 0, -9.81))
    mesh = pl.mesh.box((0.1, 0.03, 0.01), (12, 4, 2), element="hex8")
    mesh = mesh.mapped(
        lambda x: (
            x
            + np.stack(
                [
                    0 * x[:, 0],
                    0 * x[:, 1],
                    8.0 * (x[:, 0] - 0.05) ** 2 * (x[:, 2] > 0.004) + 8.0 * (x[:, 1] - 0.015) ** 2,
                ],
                axis=1,
            )
        )
    )
    stiff = pl.materials.NeoHookean(young=2e6, poisson=0.3, density=1e3)
    arm = scene.add(pl.Volume(mesh, stiff, clamp=pl.regions.plane(axis="x", at=0)))
    ball = scene.add(pl.RigidBody.sphere(radius=0.008, mass=0.01, position=(0.05, 0.015, 0.0187)))
    scene.collide(arm, ball, friction=friction)
    return Case(scene.compile(), lambda s, i: -i.contact_force(arm, ball)[2], expected=0.01 * 9.81)


def held_box(friction=0.6):
    """Two pads squeeze a rigid box and hold it against gravity by friction."""
    scene = pl.Scene(gravity=(0, 0, -9.81))
    pads, holds = [], {}
    for side, sign in ((-0.03, 1.0), (0.02, -1.0)):
        pad = box(scene, (0.01, 0.02, 0.02), (2, 3, 3), at=(side, -0.01, -0.01))
        outer = side if sign > 0 else side + 0.01
        hold = scene.add(pl.Support(pad, pl.regions.plane(axis="x", at=outer)))
        holds[hold] = pl.Displacement((sign * 0.002, 0, 0))
        pads.append(pad)
    thing = scene.add(pl.RigidBody.box(size=(0.0399, 0.03, 0.03), mass=0.02))
    for pad in pads:
        scene.collide(pad, thing, friction=friction)

    def carried(state, info):
        return -sum(float(info.contact_force(pad, thing)[2]) for pad in pads)

    return Case(scene.compile(), carried, holds, expected=0.02 * 9.81)


def rigid_box_on_block(friction=0.4):
    """A rigid box laid on a soft clamped block under gravity."""
    scene = pl.Scene(gravity=(0, 0, -9.81))
    body = box(scene, (0.06, 0.06, 0.02), (5, 5, 3), clamp=pl.regions.plane(axis="z", at=0))
    thing = scene.add(pl.RigidBody.box(size=(0.03, 0.03, 0.03), mass=0.3, position=(0.031, 0.029, 0.0352)))
    scene.collide(body, thing, friction=friction)
    return Case(scene.compile(), lambda s, i: i.contact_force(thing, body)[2], expected=0.3 * 9.81)


# Actuators -----------------------------------------------------------------------------------------------------------


def trunk_pulls(seed):
    """The trunk of the zoo at random pulls of up to 15 mm."""
    scene = pl.Scene(gravity=(0, 0, -9.81))
    trunk = scene.add(pl.robots.trunk())
    world = scene.compile()
    rng = np.random.default_rng(seed)
    pulls = {c: pl.Displacement(x) for c, x in zip(trunk.cables, rng.uniform(0.0, 0.015, len(trunk.cables)))}
    return Case(world, lambda s, i: float(np.linalg.norm(trunk.tip.at(s))), pulls, rest=3.0)


def tapered_rod(sections=8, pulls=(0.01, 0.0, 0.0)):
    """A hanging rod that tapers from 10 to 4 mm with three cables at the wall."""
    L = 0.2
    middles = (np.arange(sections) + 0.5) / sections
    rings = [pl.sections.Circle(0.010 - 0.006 * s) for s in middles]
    scene = pl.Scene(gravity=(0, 0, -9.81))
    rod = scene.add(
        pl.Rod(
            L,
            sections,
            section=rings,
            young=5e5,
            poisson=0.45,
            density=1100,
            strains=("bend_y", "bend_z", "twist", "stretch"),
            rotation=(0, np.pi / 2, 0),
            damping=pl.Rayleigh(mass=20.0, stiffness=0.02),
        )
    )
    cables = []
    for k in range(3):
        angle = 2 * np.pi * k / 3
        via = [
            ((0.009 - 0.005 * s) * np.cos(angle), (0.009 - 0.005 * s) * np.sin(angle), -s * L)
            for s in np.arange(sections + 1) / sections
        ]
        cables.append(scene.add(pl.Cable(rod, via, reach=0.02)))
    controls = {c: pl.Displacement(u) for c, u in zip(cables, pulls)}
    return Case(scene.compile(), lambda s, i: float(np.linalg.norm(s.points(rod)[-1, :2])), controls, rest=4.0)


def tendon_beam(tension=0.3):
    """A tendon at offset d along a slender beam: the tip turns by T d L / EI."""
    L, r, E, d, n = 0.2, 0.003, 2e6, 0.008, 40
    EI = E * np.pi * r**4 / 4
    scene = pl.Scene()
    beam = scene.add(
        pl.Beam(
            [(L * k / n, 0, 0) for k in range(n + 1)],
            section=pl.sections.Circle(r),
            young=E,
            poisson=0.45,
            density=1000,
            clamp=[0],
            damping=pl.Rayleigh(mass=20.0, stiffness=0.02),
        )
    )
    cable = scene.add(pl.Cable(beam, [(L * k / n, 0, d) for k in range(n + 1)], reach=0.01))

    def angle(state, info):
        frame = state.frames(beam)
        turns = np.unwrap(np.arctan2(frame[:, 2, 0], frame[:, 0, 0]))
        return float(turns[-1])

    return Case(scene.compile(), angle, {cable: pl.Force(tension)}, expected=tension * d * L / EI, rest=4.0)


def cable_arm(pull=0.03):
    """A clamped soft arm bent by one cable."""
    scene = pl.Scene()
    mesh = pl.mesh.box((0.1, 0.02, 0.02), (10, 2, 2))
    body = scene.add(
        pl.Volume(
            mesh, pl.materials.NeoHookean(young=3e5, poisson=0.45, density=1e3), clamp=pl.regions.plane(axis="x", at=0)
        )
    )
    cable = scene.add(pl.Cable(body, [(0.001 + 0.0098 * k, 0.01, 0.018) for k in range(11)]))
    return Case(scene.compile(), lambda s, i: float(s.points(body)[:, 2].max()), {cable: pl.Displacement(pull)})


def arm_with_backbone(pull=0.025):
    """The arm with an elastic rod in a channel along its middle."""
    scene = pl.Scene()
    mesh = pl.mesh.box((0.1, 0.02, 0.02), (10, 2, 2))
    body = scene.add(
        pl.Volume(
            mesh, pl.materials.NeoHookean(young=3e5, poisson=0.45, density=1e3), clamp=pl.regions.plane(axis="x", at=0)
        )
    )
    rod = scene.add(
        pl.Rod(
            0.1, 10, section=pl.sections.Circle(0.0005), young=5e9, poisson=0.3, density=7000, position=(0, 0.01, 0.01)
        )
    )
    scene.add(pl.Channel(body, [(0.01 * k, 0.01, 0.01) for k in range(1, 10)], rod, fixed_end=False))
    cable = scene.add(pl.Cable(body, [(0.001 + 0.0098 * k, 0.01, 0.018) for k in range(11)]))
    return Case(scene.compile(), lambda s, i: float(s.points(body)[:, 2].max()), {cable: pl.Displacement(pull)})


def slack_cable():
    """A cable released beyond its length at rest carries nothing: the arm sags under gravity as without it."""
    scene = pl.Scene(gravity=(0, 0, -9.81))
    mesh = pl.mesh.box((0.1, 0.02, 0.02), (10, 2, 2))
    body = scene.add(
        pl.Volume(
            mesh, pl.materials.NeoHookean(young=3e5, poisson=0.45, density=1e3), clamp=pl.regions.plane(axis="x", at=0)
        )
    )
    cable = scene.add(pl.Cable(body, [(0.001 + 0.0098 * k, 0.01, 0.002) for k in range(11)]))
    return Case(scene.compile(), lambda s, i: float(s.points(body)[:, 2].min()), {cable: pl.Displacement(-0.01)})


def pneunet_at(pressure=40e3):
    """The pneumatic actuator of the zoo at its pressure, from rest in one call."""
    scene = pl.Scene(gravity=(0, 0, -9.81))
    robot = scene.add(pl.robots.pneunet())
    world = scene.compile()
    air = robot.cavities[0]
    return Case(world, lambda s, i: float(np.linalg.norm(robot.tip.at(s))), {air: pl.Pressure(pressure)}, rest=3.0)


def hinge_twist(angle=1.8):
    """A soft cylinder twisted by a hinged plate welded to its top."""
    scene = pl.Scene()
    mesh = pl.mesh.cylinder(0.01, 0.02, cells=(3, 4), element="hex8")
    body = scene.add(
        pl.Volume(
            mesh, pl.materials.NeoHookean(young=3e5, poisson=0.45, density=1e3), clamp=pl.regions.plane(axis="z", at=0)
        )
    )
    press = scene.add(pl.RigidBody.box(size=(0.02, 0.02, 0.002), mass=0.01, position=(0, 0, 0.02)))
    scene.attach(body, press, region=pl.regions.plane(axis="z", at=0.02))
    hinge = scene.add(pl.Hinge(press, (0, 0, 1), point=(0, 0, 0.02)))
    return Case(scene.compile(), lambda s, i: float(i.actuation(hinge)[1]), {hinge: pl.Angle(angle)})


def balloon(ratio=8.0):
    """A thick sphere blown up to eight times its volume, past its pressure limit."""
    scene = pl.Scene()
    mesh = pl.mesh.shell(0.016, 0.02, cells=(2, 4), element="hex8")
    body = scene.add(
        pl.Volume(mesh, pl.materials.NeoHookean(young=1e5, poisson=0.49, density=1e3), clamp=pl.regions.nodes([0]))
    )
    air = scene.add(pl.Cavity(body))
    return Case(scene.compile(), lambda s, i: float(i.actuation(air)[1]), {air: pl.VolumeRatio(ratio)})


def arch(depth=0.014, rise=0.008):
    """A shallow arch between clamps, pressed through by a moved support at its crown: snap-through by displacement."""
    scene = pl.Scene()
    mesh = pl.mesh.box((0.1, 0.006, 0.003), (24, 1, 2), element="hex8")
    mesh = mesh.mapped(lambda x: x + np.outer(rise * np.sin(np.pi * x[:, 0] / 0.1), (0, 0, 1)))
    ends = pl.regions.plane(axis="x", at=0) | pl.regions.plane(axis="x", at=0.1)
    body = scene.add(pl.Volume(mesh, NEO, clamp=ends))
    return scene, body


def arch_under_force(force=0.02):
    """The arch under a dead force beyond its limit load: it snaps through and comes to rest inverted."""
    scene, body = arch()
    load = scene.add(pl.PointLoad(body, pl.regions.box((0.049, -1, -1), (0.051, 1, 1)), force=(0, 0, 0)))

    def crown(state, info):
        points, rest = state.points(body), info.world.models[0].rest
        near = np.abs(rest[:, 0] - 0.05) < 1e-3
        return float(points[near, 2].mean())

    return Case(scene.compile(), crown, {load: pl.Force((0, 0, -force))})


CASES: dict[str, Callable[[], Case]] = {
    "block on floor, μ 0.5": block_on_floor,
    "block on floor, frictionless": lambda: block_on_floor(0.0),
    "stacked blocks, μ 0.5": stacked_blocks,
    "stacked blocks, μ 0.1": lambda: stacked_blocks(0.1),
    "pressed block, frictionless": pressed_block,
    "pressed block, tetrahedra": lambda: pressed_block(element="tet4"),
    "pressed block, half its height": lambda: pressed_block(travel=-0.02),
    "pressed block, μ 0.3": lambda: pressed_block(0.3),
    "pressed block, μ 1": lambda: pressed_block(1.0),
    "block pressed by support, μ 0": lambda: pressed_by_support(0.0),
    "block pressed by support, μ 0.3": pressed_by_support,
    "two blocks pressed, μ 0.1": lambda: two_blocks_pressed(0.1),
    "two blocks pressed, μ 0.3": two_blocks_pressed,
    "sheared block, μ 0.2": lambda: sheared_block(0.2),
    "sheared block, μ 0.5": sheared_block,
    "block on slope, μ 0.5": block_on_slope,
    "cylinder under weight": soft_ball_under_plate,
    "cylinder under weight, μ 0.5": lambda: soft_ball_under_plate(0.5),
    "ring between plates, μ 0.2": ring_between_plates,
    "ring between plates, μ 0.5": lambda: ring_between_plates(0.5),
    "billet, μ 0": lambda: upset_billet(0.0),
    "billet, μ 0.2": upset_billet,
    "billet, μ 1": lambda: upset_billet(1.0),
    "plug in pipe, μ 0.2": plug_in_pipe,
    "plug in pipe, frictionless": lambda: plug_in_pipe(0.0),
    "column between walls": column_between_walls,
    "ball indents block": lambda: indenter("ball"),
    "ball indents block, μ 0.5": lambda: indenter("ball", 0.5),
    "punch indents block": lambda: indenter("punch"),
    "roller indents block": lambda: indenter("roller"),
    "plane presses block, μ 0.3": lambda: indenter("plane", 0.3),
    "ironing, μ 0.3": lambda: indenter("ball", 0.3, slide=0.02),
    "ball on sagging arm": ball_on_arm,
    "box held by two pads": held_box,
    "box on block": rigid_box_on_block,
    "trunk at random pulls, 2": lambda: trunk_pulls(2),
    "trunk at random pulls, 3": lambda: trunk_pulls(3),
    "tapered rod, 8 sections": tapered_rod,
    "tapered rod, 24 sections": lambda: tapered_rod(24),
    "tapered rod, 48 sections": lambda: tapered_rod(48),
    "tendon beam, 1.1 rad": lambda: tendon_beam(0.1),
    "tendon beam, 3.4 rad": lambda: tendon_beam(0.27),
    "cable arm, 20 mm": lambda: cable_arm(0.02),
    "cable arm, 30 mm": cable_arm,
    "arm with backbone, 10 mm": lambda: arm_with_backbone(0.01),
    "arm with backbone, 20 mm": lambda: arm_with_backbone(0.02),
    "slack cable": slack_cable,
    "pneumatic actuator, 20 kPa": lambda: pneunet_at(20e3),
    "hinge twists cylinder": hinge_twist,
    "balloon to 8 volumes": balloon,
    "arch under force": arch_under_force,
}
