"""`pl.check` and `pliant check`: usual scenes give no fault, and every injected fault is found, with a remedy."""

from pathlib import Path

import numpy as np
import pytest

import pliant as pl
from pliant.cli.check import scene_world
from pliant.cli.new import KINDS, USES_GMSH, scene_text
from pliant.cli.scene_file import SceneFile
from pliant.core.errors import InputError
from pliant.mesh.mesh import drop_unused_nodes
from pliant.review import first_frequency

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
WITHOUT_WORLD = ("bouncing_ball", "learn_reach", "maze_control")
"""Examples of `pl.hybrid`, which has systems of its own, and of an environment, which has its world."""
LIGHT = ("bellows", "finger", "gripper", "spine", "tower", "trunk")
HEAVY = ("membrane", "pneumatic_finger", "pneumatic_gripper", "pneunet", "twister")
"""Robots of the zoo by the time that their worlds take."""
COARSE = {"bender": {"cell_size": 0.008}, "reduced": {"cells": (2, 1, 1)}}


def bar(*, size=(0.1, 0.02, 0.02), cells=(10, 2, 2), young=0.5e6, density=1080.0, clamp=True, **options):
    """A bar of silicone along x, clamped at x = 0."""
    material = pl.materials.Corotated(young=young, poisson=0.4, density=density)
    region = pl.regions.plane(axis="x", at=0.0) if clamp else None
    return pl.Volume(pl.mesh.box(size, cells), material, clamp=region, name="bar", **options)


def scene_of(body, *, gravity=9.81):
    scene = pl.Scene(gravity=(0, 0, -gravity))
    scene.add(body)
    return scene


def cable_beside():
    scene = scene_of(body := bar())
    scene.add(pl.Cable(body, [(0.01, 0.01, 0.05), (0.09, 0.01, 0.05)], reach=0.1, max_force=10.0, name="beside"))
    return scene


def unused_floor():
    scene = scene_of(bar(clamp=False))
    scene.add(pl.Obstacle.plane(point=(0, 0, -0.01), name="floor"))
    return scene


def rough():
    scene = scene_of(body := bar())
    floor = scene.add(pl.Obstacle.plane(point=(0, 0, -0.05), name="floor"))
    scene.collide(body, floor, friction=30.0)
    return scene


def lumped_tip():
    mesh = pl.mesh.box((0.1, 0.02, 0.02), (10, 2, 2))
    mass = np.full(mesh.node_count, 1e-4)
    mass[-1] = 0.02
    return scene_of(bar(mass=mass))


def bare_cable():
    scene = scene_of(body := bar())
    scene.add(pl.Cable(body, [(0.01, 0.01, 0.002), (0.09, 0.01, 0.002)], name="cable"))
    return scene


def two_bars():
    scene = scene_of(bar())
    scene.add(bar(), position=(0.0, 0.024, 0.0))
    return scene


def one_node():
    scene = scene_of(body := bar())
    scene.add(pl.PointLoad(body, pl.regions.sphere(body.mesh.bounds[1], 1e-6), (0, 0, 0)))
    return scene


FAULTS = {
    "millimetres": (lambda: scene_of(bar(size=(100.0, 20.0, 20.0))), "size of 'bar'", "unit="),
    "micrometres": (lambda: scene_of(bar(size=(1e-4, 2e-5, 2e-5))), "size of 'bar'", "unit="),
    "density in g/cm³": (lambda: scene_of(bar(density=1.08)), "density of 'bar'", "kg/m³"),
    "density of a star": (lambda: scene_of(bar(density=1.08e6)), "density of 'bar'", "kg/m³"),
    "modulus in MPa": (lambda: scene_of(bar(young=0.5)), "Young's modulus of 'bar'", "Pa, not MPa"),
    "modulus in mPa": (lambda: scene_of(bar(young=0.5e15)), "Young's modulus of 'bar'", "Pa"),
    "too soft for its length": (
        lambda: scene_of(bar(size=(2.0, 0.01, 0.01), cells=(40, 1, 1), young=2e3)), "stiffness of 'bar'", "young",
    ),
    "gravity in mm/s²": (lambda: scene_of(bar(), gravity=9810.0), "gravity", "m/s²"),
    "mass in g": (lambda: scene_of(bar(mass=43.2)), "mass of 'bar'", "kg"),
    "a cable beside the body": (cable_beside, "cable 'beside'", "reach="),
    "nothing collides": (unused_floor, "obstacle 'floor'", "scene.collide"),
    "nothing holds it": (lambda: scene_of(bar(clamp=False)), "body 'bar'", "clamp="),
    "friction in percent": (rough, "friction of 'bar' and 'floor'", "μ"),
    "a lumped tip": (lumped_tip, "mass of 'bar'", "pl.RigidBody"),
}  # fmt: skip
NOTES = {
    "walls of one cell": (lambda: scene_of(bar(cells=(10, 1, 1))), "walls of 'bar'", "tetrahedralize"),
    "thin walls in a thick body": (lambda: scene_of(thin_walled()), "walls of 'bar'", "tetrahedralize"),
    "no limits": (bare_cable, "actuators 'cable'", "max_force"),
    "near bodies": (two_bars, "'bar' and 'bar'", "scene.collide"),
    "a force on one node": (one_node, "load on 'bar'", "several nodes"),
    "a locking element": (lambda: scene_of(locking()), "element of 'bar'", "anti_locking"),
}


def thin_walled():
    """A block with cells of 2 mm, of which a fifth of the surface is a fin of 2 mm: one cell across."""
    block = pl.mesh.grid(np.linspace(0, 0.02, 11), np.linspace(0, 0.02, 11), np.linspace(0, 0.02, 11))
    middles = block.points[block.cells].mean(axis=1)
    kept = (middles[:, 2] < 0.01) | (np.abs(middles[:, 1] - 0.011) < 0.001)
    mesh = pl.mesh.Mesh.oriented(*drop_unused_nodes(block.points, block.cells[kept]), "tet4")
    material = pl.materials.Corotated(young=0.5e6, poisson=0.45, density=1080.0)
    return pl.Volume(mesh, material, clamp=pl.regions.plane(axis="x", at=0.0), name="bar")


def locking():
    material = pl.materials.Corotated(young=0.5e6, poisson=0.49, density=1080.0)
    mesh, clamp = pl.mesh.box((0.1, 0.02, 0.02), (10, 2, 2)), pl.regions.plane(axis="x", at=0.0)
    return pl.Volume(mesh, material, clamp=clamp, anti_locking=False, name="bar")


def test_limits_that_are_named_are_those_of_the_actuator():
    (finding,) = pl.check(bare_cable())
    assert "max_force or max_displacement" in finding.remedy
    assert "pressure" not in finding.remedy


def faults(world, stepper=None):
    return [str(finding) for finding in pl.check(world, stepper=stepper) if finding.fault]


def test_a_usual_bar_gives_nothing():
    assert pl.check(scene_of(bar()), stepper=pl.ImplicitEuler(dt=0.004)) == []


@pytest.mark.parametrize("name", FAULTS)
def test_an_injected_fault_is_found(name):
    make, thing, remedy = FAULTS[name]
    found = [finding for finding in pl.check(make()) if finding.fault]
    assert any(finding.thing == thing and remedy in finding.remedy for finding in found), found
    assert all("\n" not in str(finding) for finding in found)


@pytest.mark.parametrize("name", NOTES)
def test_what_may_be_intended_is_a_note(name):
    make, thing, remedy = NOTES[name]
    found = pl.check(make())
    assert any(one.thing.startswith(thing) and remedy in one.remedy and not one.fault for one in found), found


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.py")), ids=lambda path: path.stem)
def test_examples_have_no_fault(path, monkeypatch, tmp_path):
    if path.stem in WITHOUT_WORLD:
        pytest.skip("it has no world of its own")
    monkeypatch.chdir(tmp_path)
    assert faults(*scene_world(SceneFile.read(path))) == []


@pytest.mark.parametrize("kind", KINDS)
def test_templates_have_no_fault(kind, tmp_path):
    if kind in USES_GMSH:
        pytest.importorskip("gmsh")
    (tmp_path / "scene.py").write_text(scene_text(kind), encoding="utf-8")
    assert faults(*scene_world(SceneFile.read(tmp_path / "scene.py"), COARSE.get(kind))) == []


@pytest.mark.parametrize("name", [*LIGHT, *(pytest.param(name, marks=pytest.mark.slow) for name in HEAVY)])
def test_robots_have_no_fault(name):
    scene = pl.Scene(gravity=(0, 0, -9.81))
    robot = scene.add(getattr(pl.robots, name)())
    if "gripper" in name:
        robot.collide(scene)
    assert faults(scene, pl.ImplicitEuler(dt=0.01)) == []


def test_every_robot_of_the_zoo_is_tried():
    assert {name for name in pl.robots.__all__ if name.islower()} == {*LIGHT, *HEAVY}


@pytest.mark.parametrize(("length", "young"), [(0.2, 1e6), (0.1, 0.2e6)])
def test_the_first_frequency_is_that_of_a_cantilever(length, young):
    thick, density = 0.01, 1000.0
    body = bar(size=(length, thick, thick), cells=(32, 3, 3), young=young, density=density)
    closed = 1.8751**2 / (2.0 * np.pi) * np.sqrt(young * thick**2 / (12.0 * density)) / length**2
    assert first_frequency(scene_of(body).compile(), body) == pytest.approx(closed, rel=0.05)


@pytest.mark.parametrize("memory", [False, True])
def test_rods_and_beams_with_a_material_are_checked(memory):
    soft = pl.materials.Linear(young=1.0, poisson=0.3, density=1100)  # Pa
    material = pl.materials.Viscoelastic(soft, [(0.1, 0.1)]) if memory else soft
    rod = pl.Rod(0.2, 2, section=pl.sections.Circle(5e-3), material=material)
    nodes = np.linspace((0, 0.1, 0), (0.2, 0.1, 0), 3)
    scene = scene_of(rod)
    scene.add(pl.Beam(nodes, section=pl.sections.Circle(5e-3), material=material, clamp=[0]))
    things = " ".join(finding.thing for finding in pl.check(scene))
    assert things.count("Young's modulus") == 2


def test_the_first_frequency_of_a_rod_and_of_a_free_body():
    section = pl.sections.Circle(0.5e-3)
    rod = pl.Rod(0.2, 12, section=section, young=2e9, poisson=0.3, density=1100)
    scene = scene_of(rod)
    free = scene.add(bar(clamp=False), position=(0, 0.1, 0))
    world = scene.compile()
    closed = 1.8751**2 / (2.0 * np.pi) * np.sqrt(2e9 / 1100) * 0.25e-3 / 0.2**2
    assert first_frequency(world, rod) == pytest.approx(closed, rel=0.02)
    assert first_frequency(world, free) == 0.0


def test_the_time_step_is_compared_with_the_first_frequency():
    body = bar()
    world = scene_of(body).compile()
    frequency = first_frequency(world, body)
    (finding,) = pl.check(world, stepper=pl.ImplicitEuler(dt=0.02))
    assert "first mode of 'bar'" in finding.value
    assert f"ζ = ωh/2 = {np.pi * frequency * 0.02:.2g}" in finding.value
    assert pl.check(world, stepper=pl.ImplicitEuler(dt=0.09 / (np.pi * frequency))) == []
    assert pl.check(world, stepper=pl.ImplicitMidpoint(dt=0.02)) == []


def test_check_takes_scenes_and_worlds():
    with pytest.raises(InputError, match=r"a pl.Scene or a pl.World"):
        pl.check("scene.py")
