"""Ties between surfaces whose meshes do not match."""

import numpy as np
import pytest

import pliant as pl
from pliant.constraints.rows import RowView

LINEAR = pl.materials.Linear(young=1e5, poisson=0.3, density=1e3)
SIZE, FACE = np.array([0.05, 0.03, 0.02]), pl.regions.plane(axis="x", at=0.05)
START = pl.regions.plane(axis="x", at=0.0)


def two_blocks(scene, cells, elements=("tet4", "tet4"), *, gap=0.0, clamp=None, rotation=None, material=LINEAR):
    """Blocks end to end along x, `gap` (m) apart, each with its own mesh."""
    made = []
    for k, (count, element) in enumerate(zip(cells, elements, strict=True)):
        mesh = pl.mesh.box(SIZE, count, element=element).translated((0.05 * k + gap * k, 0, 0))
        options = {"anti_locking": False, "name": "ab"[k], "clamp": clamp if k == 0 else None}
        made.append(scene.add(pl.Volume(mesh, material, **options), rotation=rotation))
    return made


@pytest.mark.parametrize(
    ("elements", "cells"),
    [
        (("tet4", "tet4"), ((2, 3, 2), (2, 2, 3))),
        (("hex8", "hex8"), ((2, 3, 2), (2, 2, 3))),
        (("tet10", "hex8"), ((1, 2, 2), (2, 3, 2))),
        (("tet4", "tet4"), ((2, 5, 4), (2, 2, 2))),
    ],
)
@pytest.mark.parametrize("gap", [0.0, 1e-3])
def test_a_constant_stress_passes_unchanged(elements, cells, gap):
    """The patch test, with either side as the first: u = σ/E (x, −ν y, −ν z). Through a gap that is kept the error
    is below twice the strain times the gap: forces reach the second body at a distance from its surface.
    """
    for order in (1, -1):
        scene = pl.Scene()
        blocks = two_blocks(scene, cells, elements, gap=gap)
        for body, axes in zip(blocks, ("xyz", "yz"), strict=True):
            for axis in axes:
                scene.add(pl.Support(body, pl.regions.plane(axis=axis, at=0.0), axes=axis))
        first, second = blocks[::order]
        face = pl.regions.plane(axis="x", at=0.05 + (gap if order < 0 else 0.0))
        scene.add(pl.Tie(first, second, face, reach=2e-3))
        scene.add(pl.TractionLoad(blocks[1], pl.regions.plane(axis="x", at=0.1 + gap), (100.0, 0, 0)))
        world = scene.compile()
        state, _ = pl.QuasiStatic()(world, world.initial_state())
        for body in blocks:
            expected = 1e-3 * body.mesh.points * (1.0, -0.3, -0.3)
            tolerance = 1e-13 if gap == 0.0 else 2e-3 * gap
            np.testing.assert_allclose(state.points(body) - body.mesh.points, expected, atol=tolerance)


def random_tie(seed):
    """Two blocks of random cells and elements, placed and turned at random, apart by a random gap."""
    rng = np.random.default_rng(seed)
    cells = rng.integers(1, 5, (2, 3))
    elements = rng.choice(["tet4", "tet10", "hex8"], 2)
    gap = rng.choice([0.0, 5e-4])
    turn = rng.normal(size=3)
    scene = pl.Scene()
    a, b = two_blocks(scene, cells.tolist(), elements.tolist(), gap=gap, rotation=turn)
    scene.add(pl.Tie(a, b, FACE, reach=1e-3, gap="kept" if rng.random() < 0.5 or not gap else "closed"))
    return scene.compile(), a, b, gap, rng


@pytest.mark.parametrize("seed", range(10))
def test_random_ties_pass_both_halves_of_the_patch_test(seed):
    """A constant traction reaches both sides as its consistent nodal loads, and affine motions of both open no gap."""
    world, a, b, gap, rng = random_tie(seed)
    rows = world.constraints[0]
    made, _ = rows.rows(RowView.of(world.models))
    traction = rng.normal(size=3)
    weights = []
    for body, at in ((a, 0.05), (b, 0.05 + gap)):
        load = pl.TractionLoad(body, pl.regions.plane(axis="x", at=at), (1, 0, 0))
        weights.append(load.nodal_share(body.mesh).weights)
    nodes = np.unique(world.models[0].mesh.surface().triangles)
    corners = [n for n in nodes if abs(a.mesh.points[n, 0] - 0.05) < 1e-9]
    areas = np.zeros(len(a.mesh.points))  # ∫ φᵢ of the triangles of the face
    triangles = world.models[0].mesh.surface().triangles
    for triangle in triangles[np.isin(triangles, corners).all(axis=1)]:
        x = a.mesh.points[triangle]
        areas[triangle] += np.linalg.norm(np.cross(x[1] - x[0], x[2] - x[0])) / 6.0
    lam = (areas[areas > 0.0][:, None] * traction).ravel()
    for sign, H, weight in zip((1.0, -1.0), made.H, weights, strict=True):
        force = (H.T @ lam).reshape(-1, 3)
        np.testing.assert_allclose(force.sum(axis=0), sign * traction * 6e-4, rtol=1e-9)
        if sign < 0.0 and gap and rows.spec.gap == "kept":
            continue  # the traction acts at a distance from the surface of b: its resultant and its moment are right
        np.testing.assert_allclose(force, sign * weight[:, None] * traction, atol=1e-12)
    F, c = np.eye(3) + 0.1 * rng.normal(size=(3, 3)), rng.normal(size=3)
    moved = [model.initial()[0] @ F.T + c for model in world.models]
    apart = rows.rows(RowView.of(world.models, moved))[0].gap
    start = made.gap.reshape(-1, 3) @ F.T if rows.spec.gap == "closed" else np.zeros((len(lam) // 3, 3))
    np.testing.assert_allclose(apart.reshape(-1, 3), start, atol=1e-12)


def test_matching_meshes_are_welded():
    """A tie of meshes that match is the attachment of their nodes, in statics and in every dynamic stepper."""
    for stepper in (pl.QuasiStatic(), pl.ImplicitEuler(0.01), pl.ImplicitMidpoint(0.01), pl.DampedMidpoint(0.01)):
        found = []
        for tied in (True, False):
            scene = pl.Scene(gravity=(0, 0, -9.81))
            rubber = pl.materials.Corotated(young=2e5, poisson=0.3, density=1e3)
            a, b = two_blocks(scene, ((2, 2, 2), (2, 2, 2)), clamp=START, material=rubber)
            if tied:
                scene.add(pl.Tie(a, b, FACE))
            else:
                scene.attach(a, b, region=FACE)
            world = scene.compile()
            state = world.initial_state()
            for _ in range(1 if isinstance(stepper, pl.QuasiStatic) else 4):
                state, _ = stepper(world, state)
            found.append(state.points(b))
        np.testing.assert_allclose(found[0], found[1], atol=2e-8)


def test_a_face_tied_to_a_rigid_body_or_a_rod_is_welded_to_it():
    rubber = pl.materials.Corotated(young=2e5, poisson=0.3, density=1e3)
    slender = {"section": pl.sections.Circle(0.02), "young": 1e6, "poisson": 0.3, "density": 1e3}
    for kind in ("rigid", "rod", "beam"):
        found = []
        for tied in (True, False):
            scene = pl.Scene(gravity=(0, 0, -9.81))
            mesh = pl.mesh.box(SIZE, (2, 2, 2))
            a = scene.add(pl.Volume(mesh, rubber, clamp=START, anti_locking=False))
            if kind == "rigid":
                b = scene.add(pl.RigidBody.box(size=(0.02, 0.02, 0.02), mass=0.02, position=(0.06, 0.015, 0.01)))
            elif kind == "rod":
                b = scene.add(pl.Rod(0.04, 2, base="free", position=(0.04, 0.015, 0.01), **slender))
            else:
                b = scene.add(pl.Beam([(x, 0.015, 0.01) for x in (0.05, 0.07, 0.09)], **slender))
            if tied:
                scene.add(pl.Tie(a, b, FACE, reach=0.01))
            else:
                scene.attach(a, b, region=FACE, reach=0.01)
            world = scene.compile()
            state, _ = pl.ImplicitEuler(0.01, newton_iterations=3)(world, world.initial_state())
            found.append(state.points(a))
        np.testing.assert_allclose(found[0], found[1], atol=1e-9)


def test_nodes_of_a_rod_are_tied_to_a_volume():
    scene = pl.Scene(gravity=(0, 0, -9.81))
    mesh = pl.mesh.box(SIZE, (4, 2, 2))
    body = scene.add(pl.Volume(mesh, LINEAR, clamp=START, anti_locking=False))
    section = {"section": pl.sections.Circle(1e-3), "young": 1e7, "poisson": 0.3, "density": 1e3}
    rod = scene.add(
        pl.Rod(0.05, 4, base="free", strains=("bend_y", "bend_z", "stretch"), position=(0, 0.015, 0.0201), **section)
    )
    scene.add(pl.Tie(rod, body, [1, 2, 3, 4], reach=1e-3))
    world = scene.compile()
    state = world.initial_state()
    for _ in range(5):
        state, _ = pl.ImplicitEuler(0.01, newton_iterations=2)(world, state)
    top = world.models[0].embed(np.array([(0.05, 0.015, 0.0201)]), what="tip", reach=1e-3)
    np.testing.assert_allclose(state.points(rod)[-1], top.points(state.q[0])[0], atol=1e-9)


def test_a_gap_is_closed():
    """Blocks with their far ends fixed and 1 mm between them: the strain of both is g/2L, in one static call; dynamics
    closes the gap over its closing time.
    """
    gap = 1e-3
    scene = pl.Scene()
    material = pl.materials.Linear(young=1e5, poisson=0.0, density=1e3)
    a, b = two_blocks(scene, ((2, 3, 2), (2, 2, 3)), gap=gap, clamp=START, material=material)
    scene.add(pl.Support(b, pl.regions.plane(axis="x", at=0.1 + gap)))
    scene.add(pl.Tie(a, b, FACE, gap="closed", reach=2e-3, closing_time=0.05))
    world = scene.compile()
    state, _ = pl.QuasiStatic()(world, world.initial_state())
    for body, end in ((a, 0.0), (b, 0.1 + gap)):
        moved = (state.points(body) - body.mesh.points)[:, 0]
        np.testing.assert_allclose(moved, gap / 0.1 * (body.mesh.points[:, 0] - end), atol=1e-9)
    state, step = world.initial_state(), pl.ImplicitEuler(0.01)
    left = []
    for _ in range(8):
        state, _ = step(world, state)
        left.append(world.constraints[0].displacement(state.q))
    np.testing.assert_allclose(left, [0.8, 0.6, 0.4, 0.2, 0, 0, 0, 0], atol=1e-9)


def test_only_what_faces_the_other_body_is_tied():
    """A face that is larger than the other body: its outer nodes have no rows."""
    scene = pl.Scene()
    wide = scene.add(pl.Volume(pl.mesh.box((0.05, 0.06, 0.04), (2, 6, 4)), LINEAR, anti_locking=False))
    small = pl.mesh.box(SIZE, (2, 2, 2)).translated((0.05, 0.0, 0.0))
    narrow = scene.add(pl.Volume(small, LINEAR, anti_locking=False, name="narrow"))
    scene.add(pl.Tie(wide, narrow, FACE))
    world = scene.compile()
    made, _ = world.constraints[0].rows(RowView.of(world.models))
    tied = np.unique(made.H[0].indices // 3)
    assert wide.mesh.points[tied, 1].max() <= 0.03 + 0.01 + 1e-12
    assert made.count < 3 * len(FACE.nodes(wide.mesh.points))


def test_ties_are_stored(tmp_path):
    scene = pl.Scene(gravity=(0, 0, -9.81))
    a, b = two_blocks(scene, ((2, 2, 2), (2, 3, 2)), clamp=START)
    scene.add(pl.Tie(a, b, FACE))
    world = scene.compile()
    world.save(tmp_path / "world.npz")
    states = [pl.ImplicitEuler(0.01)(w, w.initial_state())[0].q[1] for w in (world, pl.load(tmp_path / "world.npz"))]
    np.testing.assert_array_equal(*states)


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda a, b: pl.Tie(a, a, FACE), "to itself"),
        (lambda a, b: pl.Tie(a, "b", FACE), "joins two bodies"),
        (lambda a, b: pl.Tie(a, b, FACE, gap="open"), "'kept' or 'closed'"),
        (lambda a, b: pl.Tie(a, b, FACE, reach=-1.0), "reach of 'tie'"),
        (lambda a, b: pl.Tie(a, b, FACE, closing_time=0.0), "closing_time of 'tie'"),
        (lambda a, b: pl.Tie(a, b, pl.regions.sphere((0.05, 0, 0), 1e-6)), "no whole facet"),
        (lambda a, b: pl.Tie(a, b, START), "faces 'b' within 0.0001 m"),
        (lambda a, b: pl.Tie(pl.RigidBody.sphere(radius=1.0, mass=1.0), b, FACE), "swap"),
        (lambda a, b: pl.Tie(a, pl.RigidBody.sphere(radius=1.0, mass=1.0), FACE, gap="closed"), "is none: move it"),
    ],
)
def test_bad_ties(make, text):
    scene = pl.Scene()
    a, b = two_blocks(scene, ((1, 1, 1), (1, 1, 1)))

    def compiled():
        scene.add(make(a, b))
        scene.compile()

    with pytest.raises(pl.PliantError, match=text):
        compiled()
