"""Cases of actuators: cables, chambers, joints, loads beyond a limit."""

import numpy as np

import pliant as pl
from tests.verification.statics.case import NEO, Case, cells

# Actuators -----------------------------------------------------------------------------------------------------------


def trunk_pulls(seed, *, fine=1):
    """The trunk of the zoo without tubes at random pulls of up to 15 mm."""
    scene = pl.Scene(gravity=(0, 0, -9.81))
    trunk = scene.add(
        pl.robots.trunk(cells=cells(2, 4, fine=fine), guide_stiffness=0.0, max_displacement=(0.07, 0.039))
    )
    world = scene.compile()
    rng = np.random.default_rng(seed)
    pulls = {c: pl.Displacement(x) for c, x in zip(trunk.cables, rng.uniform(0.0, 0.015, len(trunk.cables)))}
    return Case(world, lambda s, i: float(np.linalg.norm(trunk.tip.at(s))), pulls, rest=3.0)


def tapered_rod(sections=8, pulls=(0.01, 0.0, 0.0), *, fine=1):
    """A hanging rod that tapers from 10 to 4 mm with three cables at the wall."""
    L, sections = 0.2, round(sections * fine)
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


def tendon_beam(tension=0.3, *, fine=1):
    """A tendon at offset d along a slender beam: the tip turns by T d L / EI."""
    L, r, E, d, n = 0.2, 0.003, 2e6, 0.008, round(40 * fine)
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


def cable_arm(pull=0.03, *, fine=1):
    """A clamped soft arm bent by one cable."""
    scene = pl.Scene()
    mesh = pl.mesh.box((0.1, 0.02, 0.02), cells(10, 2, 2, fine=fine))
    body = scene.add(
        pl.Volume(
            mesh, pl.materials.NeoHookean(young=3e5, poisson=0.45, density=1e3), clamp=pl.regions.plane(axis="x", at=0)
        )
    )
    cable = scene.add(pl.Cable(body, [(0.001 + 0.0098 * k, 0.01, 0.018) for k in range(11)]))
    return Case(scene.compile(), lambda s, i: float(s.points(body)[:, 2].max()), {cable: pl.Displacement(pull)})


def arm_with_backbone(pull=0.025, *, fine=1):
    """The arm with an elastic rod in a channel along its middle."""
    scene = pl.Scene()
    mesh = pl.mesh.box((0.1, 0.02, 0.02), cells(10, 2, 2, fine=fine))
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


def slack_cable(*, fine=1):
    """A cable released beyond its length at rest carries nothing: the arm sags under gravity as without it."""
    scene = pl.Scene(gravity=(0, 0, -9.81))
    mesh = pl.mesh.box((0.1, 0.02, 0.02), cells(10, 2, 2, fine=fine))
    body = scene.add(
        pl.Volume(
            mesh, pl.materials.NeoHookean(young=3e5, poisson=0.45, density=1e3), clamp=pl.regions.plane(axis="x", at=0)
        )
    )
    cable = scene.add(pl.Cable(body, [(0.001 + 0.0098 * k, 0.01, 0.002) for k in range(11)]))
    return Case(scene.compile(), lambda s, i: float(s.points(body)[:, 2].min()), {cable: pl.Displacement(-0.01)})


def pneunet_at(pressure=40e3, cell_size=0.0025, *, fine=1):
    """The pneumatic actuator of the zoo at its pressure, from rest in one call."""
    scene = pl.Scene(gravity=(0, 0, -9.81))
    robot = scene.add(pl.robots.pneunet(cell_size=cell_size / fine))
    world = scene.compile()
    air = robot.cavities[0]
    pressed = {air: pl.Pressure(pressure)}
    return Case(world, lambda s, i: float(np.linalg.norm(robot.tip.at(s))), pressed, rest=4.0, step=0.02)


def hinge_twist(angle=1.8, *, fine=1):
    """A soft cylinder twisted by a hinged plate welded to its top."""
    scene = pl.Scene()
    mesh = pl.mesh.cylinder(0.01, 0.02, cells=cells(3, 4, fine=fine), element="hex8")
    body = scene.add(
        pl.Volume(
            mesh, pl.materials.NeoHookean(young=3e5, poisson=0.45, density=1e3), clamp=pl.regions.plane(axis="z", at=0)
        )
    )
    press = scene.add(pl.RigidBody.box(size=(0.02, 0.02, 0.002), mass=0.01, position=(0, 0, 0.02)))
    scene.attach(body, press, region=pl.regions.plane(axis="z", at=0.02))
    hinge = scene.add(pl.Hinge(press, (0, 0, 1), point=(0, 0, 0.02)))
    return Case(scene.compile(), lambda s, i: float(i.actuation(hinge)[1]), {hinge: pl.Angle(angle)})


def balloon(ratio=8.0, *, fine=1):
    """A thick sphere blown up to eight times its volume, past its pressure limit."""
    scene = pl.Scene()
    mesh = pl.mesh.shell(0.016, 0.02, cells=cells(2, 4, fine=fine), element="hex8")
    body = scene.add(
        pl.Volume(mesh, pl.materials.NeoHookean(young=1e5, poisson=0.49, density=1e3), clamp=pl.regions.nodes([0]))
    )
    air = scene.add(pl.Cavity(body))
    return Case(
        scene.compile(), lambda s, i: float(i.actuation(air)[1]), {air: pl.VolumeRatio(ratio)}, rest=0.5, step=0.005
    )


def arch(rise=0.008, *, fine=1):
    """A shallow arch between clamps, pressed through by a moved support at its crown: snap-through by displacement."""
    scene = pl.Scene()
    mesh = pl.mesh.box((0.1, 0.006, 0.003), cells(24, 1, 2, fine=fine), element="hex8")
    mesh = mesh.mapped(lambda x: x + np.outer(rise * np.sin(np.pi * x[:, 0] / 0.1), (0, 0, 1)))
    ends = pl.regions.plane(axis="x", at=0) | pl.regions.plane(axis="x", at=0.1)
    body = scene.add(pl.Volume(mesh, NEO, clamp=ends))
    return scene, body


def arch_under_force(force=0.02, *, fine=1):
    """The arch under a dead force beyond its limit load: it snaps through and comes to rest inverted."""
    scene, body = arch(fine=fine)
    load = scene.add(pl.PointLoad(body, pl.regions.box((0.049, -1, -1), (0.051, 1, 1)), force=(0, 0, 0)))

    def crown(state, info):
        points, rest = state.points(body), info.world.models[0].rest
        near = np.abs(rest[:, 0] - 0.05) < 1e-3
        return float(points[near, 2].mean())

    return Case(scene.compile(), crown, {load: pl.Force((0, 0, -force))})
