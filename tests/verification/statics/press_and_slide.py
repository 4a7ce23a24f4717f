"""Twelve kinds of contact statics with sizes, meshes, materials and friction drawn at random: `scene(kind, seed)`.

Each kind is a function of a random generator that gives the scene, its controls and the dt of its one call.
"""

import numpy as np

import pliant as pl
from tests.verification.statics.case import box

BASE = pl.regions.plane(axis="z", at=0)


def rubber(young, poisson, density=1e3):
    return pl.materials.NeoHookean(young=young, poisson=poisson, density=density)


def drawn_rubber(rng, young=1e5):
    return rubber(young * 10 ** rng.uniform(-0.5, 0.5), float(rng.choice([0.0, 0.3, 0.45, 0.49])))


def drawn_element(rng):
    return str(rng.choice(["hex8", "hex8", "tet4", "tet10"]))


def drawn_friction(rng):
    return float(rng.choice([0.0, 0.1, 0.3, 0.6, 1.0]))


def plane_at(axis, at):
    return pl.regions.plane(axis=axis, at=at)


def moved(vector):
    return lambda t: (tuple(np.asarray(vector, float) * min(t, 1.0)), (0, 0, 0))


def press_then_slide(depth, slide):
    return lambda t: ((slide * max(0, min(t, 1) - 0.4) / 0.6, 0, -depth * min(1, t / 0.4)), (0, 0, 0))


def ground(scene, z=0.0):
    return scene.add(pl.Obstacle.plane(point=(0, 0, z), normal=(0, 0, 1)))


def block_under_a_shape(rng):
    scene, element = pl.Scene(), drawn_element(rng)
    n = 4 if element == "tet10" else 6
    block = box(scene, (0.06, 0.06, 0.03), (n, n, n // 2), material=drawn_rubber(rng), element=element, clamp=BASE)
    motion = moved((0, 0, -rng.uniform(0.001, 0.006)))
    friction, kind, x = drawn_friction(rng), rng.integers(3), 0.03 + rng.uniform(-0.005, 0.005)
    if kind == 0:
        tool = pl.Obstacle.sphere(center=(x, 0.03, 0.05), radius=0.02, motion=motion)
    elif kind == 1:
        tool = pl.Obstacle.cylinder(start=(x, -0.1, 0.045), end=(x, 0.2, 0.045), radius=0.015, motion=motion)
    else:
        tool = pl.Obstacle.box(center=(x, 0.03, 0.05), size=(0.025, 0.1, 0.04), motion=motion)
    scene.collide(block, scene.add(tool), friction=friction)
    return scene, {}, 1.0


def ring_between_plates(rng):
    scene, cells, inner = pl.Scene(), int(rng.choice([20, 24, 32])), 0.05 * rng.uniform(0.5, 0.9)
    element = str(rng.choice(["hex8", "tet4"]))
    mesh = pl.mesh.tube(inner, 0.05, 0.02, cells=(2, cells, 1), element=element).rotated((np.pi / 2, 0, 0))
    ring = scene.add(pl.Volume(mesh, drawn_rubber(rng, 1e6)))
    motion = moved((0, 0, -rng.uniform(0.1, 0.6) * 0.05))
    upper = scene.add(pl.Obstacle.plane(point=(0, 0, 0.05), normal=(0, 0, -1), motion=motion))
    friction = float(rng.choice([0.1, 0.3, 0.6, 1.0]))  # without friction a narrow ring falls over
    for plate in (ground(scene, -0.05), upper):
        scene.collide(ring, plate, friction=friction)
    return scene, {}, 1.0


def plug_in_a_hole(rng):
    scene, tight = pl.Scene(), rng.uniform(0.0002, 0.0006)
    mesh = pl.mesh.cylinder(0.01 + tight, 0.02, cells=(3, 5), element=str(rng.choice(["hex8", "tet4"])))
    plug = scene.add(pl.Volume(mesh, rubber(5e6, float(rng.choice([0.3, 0.45])))))
    top = scene.add(pl.Support(plug, plane_at("z", 0.02), axes="z"))
    hole = scene.add(pl.Obstacle.pipe(start=(0, 0, -0.1), end=(0, 0, 0.05), radius=0.01))
    scene.collide(plug, hole, friction=float(rng.choice([0.1, 0.3, 0.6])), allow_overlap=True)
    return scene, {top: pl.Displacement(-rng.uniform(0.001, 0.01))}, None


def strip_over_a_cylinder(rng):
    scene, element = pl.Scene(), str(rng.choice(["hex8", "tet10"]))
    cells = (40 if element == "hex8" else 20, 1, 1)
    clamp = plane_at("x", 0)
    strip = box(scene, (0.2, 0.01, 0.004), cells, material=rubber(1e7, 0.3), element=element, clamp=clamp)
    x, radius = rng.uniform(0.05, 0.12), rng.uniform(0.01, 0.04)
    roller = scene.add(pl.Obstacle.cylinder(start=(x, -0.1, -radius), end=(x, 0.1, -radius), radius=radius))
    scene.collide(strip, roller, friction=drawn_friction(rng))
    end = scene.add(pl.Support(strip, plane_at("x", 0.2), axes="z"))
    return scene, {end: pl.Displacement(-rng.uniform(0.02, 0.09))}, None


def indented_by_force(rng):
    scene, n = pl.Scene(), int(rng.integers(6, 11))
    block = box(scene, (0.1, 0.1, 0.04), (n, n, 4), material=drawn_rubber(rng, 1e6), clamp=BASE)
    friction = drawn_friction(rng)
    if rng.integers(2):
        tool = scene.add(pl.RigidBody.sphere(radius=0.03, mass=0.1, position=(0.05, 0.05, 0.0701)))
    else:
        tool = scene.add(pl.RigidBody.box(size=(0.04, 0.04, 0.02), mass=0.1, position=(0.05, 0.05, 0.05)))
    slider = scene.add(pl.Slider(tool, (0, 0, 1)))
    scene.collide(block, tool, friction=friction)
    return scene, {slider: pl.Force(-rng.uniform(5, 60))}, None


def sheared_blocks(rng):
    scene, n = pl.Scene(), int(rng.integers(3, 6))
    lower = box(scene, (0.1, 0.1, 0.03), (n, n, 2), material=drawn_rubber(rng), clamp=BASE)
    material, element = drawn_rubber(rng), drawn_element(rng)
    upper = box(scene, (0.06, 0.06, 0.03), (3, 3, 2), at=(0.02, 0.02, 0.03), material=material, element=element)
    grip = scene.add(pl.Support(upper, plane_at("z", 0.06)))
    scene.collide(upper, lower, friction=float(rng.choice([0.1, 0.3, 0.6, 1.0])))
    motion = rng.uniform(0, 0.02), rng.uniform(-0.005, 0.005), -rng.uniform(0.001, 0.005)
    return scene, {grip: pl.Displacement(motion)}, None


def crossing_beams(rng):
    scene, element = pl.Scene(), drawn_element(rng)
    ends = plane_at("x", 0) | plane_at("x", 0.2)
    lower = box(scene, (0.2, 0.01, 0.01), (16, 1, 1), material=rubber(1e7, 0.3), element=element, clamp=ends)
    at = (0.095 + rng.uniform(-0.03, 0.03), -0.095, 0.01 + float(rng.choice([0.0, 1e-3])))
    upper = box(scene, (0.01, 0.2, 0.01), (1, 16, 1), at=at, material=rubber(1e7, 0.3))
    grip = scene.add(pl.Support(upper, plane_at("y", -0.095) | plane_at("y", 0.105)))
    scene.collide(upper, lower, friction=drawn_friction(rng))
    return scene, {grip: pl.Displacement((rng.uniform(0, 0.01), 0, -rng.uniform(0.005, 0.03)))}, None


def finger_at_a_cylinder(rng):
    scene, element = pl.Scene(), str(rng.choice(["hex8", "tet4"]))
    clamp = plane_at("x", 0)
    finger = box(scene, (0.1, 0.012, 0.016), (14, 2, 2), material=rubber(5e5, 0.45), element=element, clamp=clamp)
    path = [(x, 0.006, 0.003) for x in np.linspace(0.005, 0.095, 8)]
    cable = scene.add(pl.Cable(finger, path, pull_point=(-0.001, 0.006, 0.003)))
    x, radius = rng.uniform(0.05, 0.08), rng.uniform(0.008, 0.02)
    z = -radius - 0.004
    peg = scene.add(pl.Obstacle.cylinder(start=(x, -0.1, z), end=(x, 0.1, z), radius=radius))
    scene.collide(finger, peg, friction=drawn_friction(rng))
    return scene, {cable: pl.Displacement(rng.uniform(0.003, 0.014))}, None


def rigid_box_on_soft_blocks(rng):
    scene = pl.Scene(gravity=(0, 0, -9.81))
    left = box(scene, (0.04, 0.1, 0.03), (3, 6, 2), material=rubber(1e5, 0.4), clamp=BASE)
    material, element = rubber(10 ** rng.uniform(4.7, 5.5), 0.4), drawn_element(rng)
    right = box(scene, (0.04, 0.1, 0.03), (3, 6, 2), at=(0.08, 0, 0), material=material, element=element, clamp=BASE)
    position = (0.06 + rng.uniform(-0.01, 0.01), 0.05, 0.0351)
    bridge = scene.add(pl.RigidBody.box(size=(0.12, 0.06, 0.01), mass=rng.uniform(0.1, 1.0), position=position))
    friction = float(rng.choice([0.1, 0.4, 0.8]))
    for block in (left, right):
        scene.collide(block, bridge, friction=friction)
    return scene, {}, None


def long_slide(rng):
    scene = pl.Scene()
    lower = box(scene, (0.3, 0.06, 0.03), (15, 3, 2), material=rubber(1e5, 0.3), clamp=BASE)

    def bent(x):
        radius, angle = 0.01 + 0.02 * x[:, 0], np.pi * (2.0 - x[:, 1])
        return np.column_stack([0.05 + radius * np.cos(angle), 0.01 + 0.04 * x[:, 2], 0.06 + radius * np.sin(angle)])

    mesh = pl.mesh.box((1, 1, 1), (2, 12, 2), element="hex8").mapped(bent)
    shoe = scene.add(pl.Volume(mesh, rubber(3e5, 0.4)))
    grip = scene.add(pl.Support(shoe, plane_at("z", 0.06)))
    scene.collide(shoe, lower, friction=drawn_friction(rng))
    return scene, {grip: pl.Displacement((rng.uniform(0.05, 0.18), 0, -rng.uniform(0.001, 0.006)))}, None


def stacked_blocks(rng):
    scene = pl.Scene(gravity=(0, 0, -9.81))
    below, height, corner, side = ground(scene), 0.0, 0.0, 0.08
    for k in range(int(rng.integers(2, 4))):
        thick, young, n = rng.uniform(0.02, 0.05), 10 ** rng.uniform(4.5, 6.5), int(rng.integers(2, 5))
        element = drawn_element(rng) if k else "hex8"
        size, at = (side, side, thick), (corner, corner, height)
        block = box(scene, size, (n, n, 2), at=at, material=rubber(young, 0.4), element=element)
        scene.collide(block, below, friction=drawn_friction(rng))
        narrower = rng.uniform(0, 0.02)
        below, height, corner, side = block, height + thick, corner + narrower / 2, side - narrower
    return scene, {}, None


def pressed_then_slid(rng):
    scene, element = pl.Scene(), drawn_element(rng)
    n = 6 if element == "tet10" else 12
    cells, material = (n, n // 3, n // 4), drawn_rubber(rng)
    block = box(scene, (0.12, 0.04, 0.03), cells, material=material, element=element, clamp=BASE)
    motion, kind = press_then_slide(rng.uniform(0.002, 0.006), rng.uniform(0.01, 0.06)), rng.integers(3)
    if kind == 0:
        tool = pl.Obstacle.sphere(center=(0.03, 0.02, 0.045), radius=0.015, motion=motion)
    elif kind == 1:
        tool = pl.Obstacle.cylinder(start=(0.03, -0.1, 0.042), end=(0.03, 0.2, 0.042), radius=0.012, motion=motion)
    else:
        tool = pl.Obstacle.box(center=(0.03, 0.02, 0.04), size=(0.02, 0.02, 0.02), motion=motion)
    scene.collide(block, scene.add(tool), friction=drawn_friction(rng))
    return scene, {}, 1.0


KINDS = {
    each.__name__: each
    for each in (
        block_under_a_shape,
        ring_between_plates,
        plug_in_a_hole,
        strip_over_a_cylinder,
        indented_by_force,
        sheared_blocks,
        crossing_beams,
        finger_at_a_cylinder,
        rigid_box_on_soft_blocks,
        long_slide,
        stacked_blocks,
        pressed_then_slid,
    )
}


def scene(kind, seed):
    """The world of a kind, its controls and dt."""
    made, controls, dt = KINDS[kind](np.random.default_rng([seed, list(KINDS).index(kind)]))
    return made.compile(), controls, dt
