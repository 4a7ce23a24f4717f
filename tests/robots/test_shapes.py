"""Robots as built: published sizes, sound meshes, clamps, cables inside, closed chambers."""

import dataclasses
import inspect

import numpy as np
import pytest

import pliant as pl
from pliant import robots
from pliant.models.volume.barycentric import BarycentricMap

BUILDERS = ("finger", "trunk", "tower", "bellows", "pneunet")
PUBLISHED = {"finger": (158, 389), "trunk": (709, 1972), "tower": (560, None)}
CAVITIES = {"tower": 4, "bellows": 1, "pneunet": 1}


@pytest.fixture(scope="module")
def zoo():
    pytest.importorskip("gmsh")
    return {name: getattr(robots, name)() for name in BUILDERS}


@pytest.mark.parametrize("name", PUBLISHED)
def test_sizes_are_the_published_ones(zoo, name):
    mesh, (nodes, cells) = zoo[name].body.mesh, PUBLISHED[name]
    assert mesh.node_count == pytest.approx(nodes, rel=0.1)
    assert cells is None or mesh.cell_count == pytest.approx(cells, rel=0.1)


@pytest.mark.parametrize("name", BUILDERS)
def test_meshes_are_sound(zoo, name):
    mesh = zoo[name].body.mesh
    assert mesh.quality().min() > 0.05
    mesh.surface().check_closed()
    mesh.surface().check_orientation()
    shells = mesh.surface().components()
    assert [shell.volume() > 0.0 for shell in shells] == [True] + [False] * CAVITIES.get(name, 0)


@pytest.mark.parametrize("name", BUILDERS)
def test_bases_are_clamped_and_tips_are_free(zoo, name):
    robot = zoo[name]
    held = robot.body.clamp.nodes(robot.body.mesh.points)
    assert 0 < len(held) < 0.25 * robot.body.mesh.node_count
    apart = np.linalg.norm(robot.body.mesh.points[held] - robot.tip.position, axis=1)
    assert apart.min() > 0.5 * np.ptp(robot.body.mesh.bounds, axis=0).max()


@pytest.mark.parametrize("name", ["finger", "trunk"])
def test_cables_run_inside_from_the_clamped_base(zoo, name):
    robot = zoo[name]
    held = robot.body.clamp.nodes(robot.body.mesh.points)
    for cable in robot.cables:
        riding = BarycentricMap.of_points(robot.body.mesh, cable.via_points, what="via points")
        assert np.isin(riding.nodes[0][riding.weights[0] > 1e-9], held).all(), "the pulled end must not move"


@pytest.mark.parametrize("name", CAVITIES)
def test_chambers_are_closed_and_hold_air(zoo, name):
    robot = zoo[name]
    assert len(robot.cavities) == CAVITIES[name]
    for cavity in robot.cavities:
        cavity.surface.check_closed()
        assert cavity.surface.volume() < -1e-6, "normals point into the air"
    scene = pl.Scene()
    scene.add(robot)
    world = scene.compile()
    for cavity in robot.cavities:
        _, info = pl.ImplicitEuler(dt=0.01)(world, world.initial_state(), {cavity: pl.Pressure(100.0)})
        assert info.actuation(cavity)[0] > 0.0, "a chamber grows under pressure"


def test_the_chambers_of_the_tower_go_up(zoo):
    mesh = zoo["tower"].body.mesh
    heights = [mesh.points[cavity.surface.nodes][:, 2].mean() for cavity in zoo["tower"].cavities]
    assert heights == sorted(heights)


def test_a_free_trunk_on_a_support_is_the_clamped_one():
    """Held by a support in the region it names it bends as the clamped one does; guides make it stiffer."""
    tips = []
    for clamped, guides in ((True, 0.0), (False, 0.0), (True, 200.0)):
        scene = pl.Scene(gravity=(0, 0, -9.81))
        trunk = scene.add(robots.trunk(vertebra_count=5, cells=(2, 2), clamped=clamped, guide_stiffness=guides))
        if not clamped:
            scene.add(pl.Support(trunk.body, trunk.base))
        world = scene.compile()
        state = world.initial_state()
        for _ in range(5):
            state, _ = pl.ImplicitEuler(0.02)(world, state, {trunk.cables[0]: pl.Force(0.4)})
        tips.append(trunk.tip.at(state))
    np.testing.assert_allclose(tips[1], tips[0], atol=1e-9)
    assert tips[0][0] > 0.002
    assert 0.0 < tips[2][0] < 0.9 * tips[0][0]


def test_the_trunk_weighs_42_grams_and_tapers(zoo):
    trunk = zoo["trunk"]
    assert trunk.body.mass == 0.042
    assert trunk.tip.position == pytest.approx([0, 0, 0.195])
    ends = [np.asarray(cable.via_points)[-1] for cable in trunk.cables]
    assert all(end[2] > 0.18 for end in ends[:4])
    assert all(0.08 < end[2] < 0.13 for end in ends[4:])


@pytest.mark.parametrize("name", ["finger", "trunk"])
def test_meshes_are_mirror_symmetric(zoo, name):
    """Every tetrahedron has its mirror image in y, so that nothing drifts sideways."""
    mesh = zoo[name].body.mesh
    centers = mesh.points[mesh.cells].mean(axis=1)
    mirrored = centers * (1, -1, 1)
    assert {tuple(c) for c in np.round(centers, 8) + 0.0} == {tuple(c) for c in np.round(mirrored, 8) + 0.0}


@pytest.mark.parametrize("name", ["finger", "trunk", "tower", "bellows"])
@pytest.mark.parametrize("element", ["hex8", "tet10"])
def test_structured_robots_come_in_every_element(name, element):
    robot = getattr(robots, name)(element=element)
    assert robot.body.mesh.element == element
    assert len(robot.cavities) == CAVITIES.get(name, 0)


def test_a_finer_finger_has_the_same_shape(zoo):
    fine = robots.finger(cells=(6, 4, 4))
    assert fine.body.mesh.volume == pytest.approx(zoo["finger"].body.mesh.volume, rel=1e-9)
    assert fine.body.mesh.cell_count > 6 * zoo["finger"].body.mesh.cell_count


def test_the_gripper_has_three_fingers_round_a_cube():
    grip = robots.gripper()
    assert len(grip.fingers) == len(grip.cables) == len(grip.mounts) == 3
    assert sum(one.body.mesh.cell_count for one in grip.fingers) == pytest.approx(1167, rel=0.1)
    for one in grip.fingers:
        palm = one.body.mesh.points
        assert palm[:, 2].min() > 0.0, "fingers hang above the floor"
        assert np.abs(palm[:, 0]).min() > 0.015, "the cube stands clear of the fingers"


@pytest.mark.parametrize(
    ("name", "wrong", "message"),
    [
        ("finger", {"back": 0.02}, "back"),
        ("finger", {"notch": 0.03}, "notch"),
        ("finger", {"cable_spread": 0.02}, "cable_spread"),
        ("finger", {"cable_depth": 0.02}, "outside"),
        ("trunk", {"cable_radius": 0.02}, "cable"),
        ("trunk", {"cells": (3, 4)}, "even"),
        ("tower", {"wall": 0.02}, "walls"),
        ("tower", {"slot": -1.0}, "slot"),
        ("bellows", {"depth": 0.02}, "air"),
        ("gripper", {"opening": 0.02}, "opening"),
        ("gripper", {"spacing": 0.01}, "spacing"),
        ("membrane", {"wall": 0.04}, "wall"),
        ("membrane", {"spacing": 0.08}, "spacing"),
        ("membrane", {"size": 0.18}, "cover"),
        ("membrane", {"heights": (0.005, 0.005)}, "floor, air and roof"),
        ("membrane", {"cells": (21, 2)}, "even"),
        ("membrane", {"side": 5}, "even"),
        ("membrane", {"clearance": -1e-3}, "clearance"),
        ("pneumatic_gripper", {"opening": 0.02}, "opening"),
        ("pneumatic_gripper", {"finger_count": 20, "cell_size": 0.01}, "fit"),
        ("pneumatic_gripper", {"depth": 0.0}, "depth"),
        ("pneumatic_finger", {"cell_size": 0.0}, "cell_size"),
        ("twister", {"side": 0}, "side"),
    ],
)
def test_impossible_shapes_are_named(name, wrong, message):
    with pytest.raises(pl.PliantError, match=message):
        getattr(robots, name)(**wrong)


def test_one_of_many_cables_has_to_be_chosen(zoo):
    with pytest.raises(pl.InputError, match=r"8 cables.*cables\[0\]"):
        _ = zoo["trunk"].cable
    with pytest.raises(pl.InputError, match="4 cavities"):
        _ = zoo["tower"].cavity


def test_a_marker_outside_is_an_error(zoo):
    with pytest.raises(pl.MeshError, match="outside"):
        robots.Marker(zoo["finger"].body, (0.0, 0.0, 1.0))


@pytest.mark.parametrize("name", [*BUILDERS, "gripper", "membrane", "pneumatic_finger", "pneumatic_gripper", "twister"])
def test_options_are_keywords(name):
    kinds = {parameter.kind for parameter in inspect.signature(getattr(robots, name)).parameters.values()}
    assert kinds <= {inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.VAR_KEYWORD}


def test_robots_are_frozen(zoo):
    with pytest.raises(dataclasses.FrozenInstanceError):
        zoo["finger"].margin = 1.0
