"""Contacts between the points of a slender body: where its axis is lowest, by a fine scan of the segments; and which of
many fixed solids are near, which is found for all of them at once.
"""

from dataclasses import replace

import numpy as np
import pytest

import pliant as pl
from pliant.constraints import RowView
from pliant.constraints.axis_contact import AxisPair

STEEL = pl.materials.Corotated(young=1e8, poisson=0.3, density=1e3)
SIZE = (0.006, 0.02, 0.006)


def crossing(where, slope, bend):
    """A beam of four elements, bent or not, across a narrow soft post whose top is at z = 0: its pair and a view."""
    scene = pl.Scene()
    x = np.linspace(-0.1, 0.1, 5)
    z = 0.008 + slope * x + bend * x**2
    section = pl.sections.Circle(0.004)
    beam = pl.Beam(np.column_stack([x, 0.0 * x, z]), section=section, young=1e6, poisson=0.3, density=1e3,
                   contact_points=1)  # fmt: skip
    scene.add(beam)
    mesh = pl.mesh.box(SIZE, (2, 4, 2)).translated((where - 0.003, -0.01, -0.006))
    post = scene.add(pl.Volume(mesh, STEEL, clamp=pl.regions.plane(axis="z", at=-0.006)))
    scene.collide(beam, post, margin=0.03)
    world = scene.compile()
    return world.constraints[0], RowView.of(world.models)


@pytest.mark.parametrize("where", [-0.081, -0.037, 0.013, 0.063])
@pytest.mark.parametrize(("slope", "bend"), [(0.0, 0.0), (0.04, 0.0), (-0.03, 1.5)])
def test_a_segment_is_lowest_where_a_fine_scan_says(where, slope, bend):
    pair, view = crossing(where, slope, bend)
    nearest = pair._nearest(view)
    listed = pair.side.listed
    segments, fractions = pair._lowest(view, listed, nearest)
    strand, q, grid = pair.side.strand, pair.a.q(view), np.linspace(0.0, 1.0, 401)

    def gaps(segment, at):
        points = strand.on_segments(np.full(len(at), segment), np.asarray(at)).points(q)
        return nearest(points).gap

    found = dict(zip(segments.tolist(), fractions.tolist(), strict=True))
    assert found
    for segment in listed.tolist():
        scan = gaps(segment, grid)
        length = 0.05
        if segment in found:
            assert 0.0 < found[segment] < 1.0
            assert gaps(segment, [found[segment]])[0] <= scan.min() + 2e-3 * length
            assert scan.min() < min(scan[0], scan[-1])
        else:
            assert scan.min() > min(scan[0], scan[-1]) - 0.02 * length


def solid(kind, at, rng):
    """An obstacle of a kind with random sizes, its middle at `at`, m."""
    half = rng.uniform(-0.03, 0.03, 3)
    if kind == "sphere":
        return pl.Obstacle.sphere(center=at, radius=rng.uniform(0.005, 0.02))
    if kind == "box":
        return pl.Obstacle.box(center=at, size=rng.uniform(0.01, 0.04, 3), rotation=rng.normal(size=3))
    made = pl.Obstacle.capsule if kind == "capsule" else pl.Obstacle.cylinder
    return made(start=at - half, end=at + half, radius=rng.uniform(0.004, 0.015))


def falling_rod(friction, rng):
    """A rod above twelve random solids; those that would overlap it are below."""
    scene = pl.Scene(gravity=(0, 0, -9.81))
    rod = scene.add(
        pl.Rod(
            0.25,
            10,
            section=pl.sections.Circle(0.003),
            young=2e6,
            poisson=0.45,
            density=1100.0,
            base="free",
            contact_points=1,
        )
    )
    for k in range(12):
        at = rng.uniform((-0.02, -0.03, -0.12), (0.27, 0.03, -0.055))
        margin = None if k % 2 else float(rng.uniform(1e-3, 5e-3))
        made = solid(("sphere", "box", "capsule", "cylinder")[k % 4], at, rng)
        scene.collide(rod, scene.add(made), friction=friction, margin=margin)
    return scene.compile()


@pytest.mark.parametrize("friction", [0.0, 0.4])
@pytest.mark.parametrize("seed", range(3))
def test_the_same_steps_as_with_pairs_that_look_alone(seed, friction):
    """A rod falls between solids of all kinds and comes to lie on some: the bits of its states are those of a world
    whose pairs each look for their own solid.
    """
    world = falling_rod(friction, np.random.default_rng(seed))
    pairs = [each for each in world.constraints if isinstance(each, AxisPair)]
    assert [pair.place for pair in pairs] == list(range(12))
    alone = replace(
        world,
        constraints=tuple(
            replace(each, solids=None) if isinstance(each, AxisPair) else each for each in world.constraints
        ),
    )
    step, touched = pl.ImplicitEuler(dt=5e-3), 0
    states = [world.initial_state(), alone.initial_state()]
    for _ in range(50):
        found = [step(each, state, {}) for each, state in zip((world, alone), states, strict=True)]
        states = [state for state, _ in found]
        assert all(np.array_equal(a, b) for a, b in zip(states[0].q, states[1].q, strict=True))
        touched += found[0][1].assembly.rows.count > 0
    assert touched > 5
