"""A wire wound round a pneumatic chamber: the chamber extends, but hardly expands, as in fibre-reinforced actuators.

The wire is an inextensible rod. Its rest configuration, of constant bending and twist, is an exact helix. It slides in
the wall of the chamber.
"""

import numpy as np

import pliant as pl

RADIUS, WALL, CAP, LENGTH = 0.012, 0.003, 0.004, 0.04  # m
TURNS, PER_TURN, PRESSURE = 6, 12, 25e3


def wire_through(body: pl.Volume) -> tuple[pl.Rod, np.ndarray]:
    """A helix of nylon in the middle of the wall, and the points of its channel, (k, 3) m."""
    a, b = RADIUS - 0.5 * WALL, LENGTH / (2 * np.pi * TURNS)
    c = np.hypot(a, b)
    along, inward = np.array([0, a, b]) / c, np.array([-1.0, 0, 0])
    rod = pl.Rod(
        2 * np.pi * TURNS * c,
        TURNS * PER_TURN,
        section=pl.sections.Circle(0.2e-3),
        young=2e9,
        poisson=0.3,
        density=1150,
        rest_strain=(b / c**2, 0, a / c**2, 0, 0, 0),  # its twist, and its bending towards the axis
        position=(a, 0, CAP),
        rotation=np.column_stack([along, inward, np.cross(along, inward)]),
        damping=pl.Rayleigh(stiffness=0.02),
        name="wire",
    )
    angle = 2 * np.pi * np.arange(1, TURNS * PER_TURN + 1) / PER_TURN
    return rod, np.column_stack([a * np.cos(angle), a * np.sin(angle), CAP + b * angle])


def inflated(*, wound: bool) -> tuple[float, float]:
    """How much the radius at half its length, and the length, have grown, m."""
    scene = pl.Scene()
    chamber = scene.add(
        pl.robots.bellows(radius=RADIUS, depth=1e-6, wall=WALL, cap=CAP, pitch=LENGTH / 4, fold_count=4, cells=(4, 3))
    )
    body, air = chamber.body, chamber.cavity
    if wound:
        wire, points = wire_through(body)
        scene.add(wire)
        scene.add(pl.Support(wire, [0], rotation=(0, 0, 0)))  # it is held where it begins, by the clamped end
        scene.add(pl.Channel(body, points, wire))
    world = scene.compile()
    state, count = world.initial_state(), 40
    for k in range(count):
        state, _ = pl.ImplicitEuler(dt=0.02)(world, state, {air: pl.Pressure(PRESSURE * min(1, 1.5 * (k + 1) / count))})
    middle = np.abs(body.mesh.points[:, 2] - (CAP + 0.5 * LENGTH)) < 0.1 * LENGTH
    outer = middle & (np.hypot(*body.mesh.points[:, :2].T) > RADIUS - 0.2 * WALL)
    radius = [np.hypot(*points[outer, :2].T).mean() for points in (body.mesh.points, state.points(body))]
    return radius[1] - radius[0], state.displacements(body)[:, 2].max()


bare, wound = inflated(wound=False), inflated(wound=True)
for name, (thicker, longer) in (("without", bare), ("with", wound)):
    print(
        f"{name} the wire: {1e3 * thicker:5.2f} mm thicker and {1e3 * longer:5.2f} mm longer at {PRESSURE / 1e3:g} kPa"
    )

assert bare[0] > 0.5e-3, "without the wire the pressure must make the chamber thicker"
assert wound[0] < 0.5 * bare[0], "the wire must keep it from growing thicker"
assert wound[1] > 0.5 * bare[1], "the wire must let it grow longer"
