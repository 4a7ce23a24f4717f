"""Every public object prints as one line: no array floods a terminal or a notebook."""

import dataclasses
import inspect
import re

import numpy as np
import pytest

import pliant as pl
from pliant.core.one_line import LONGEST

ROOMS = (
    pl,
    pl.control,
    pl.geometric,
    pl.hybrid,
    pl.mesh,
    pl.materials,
    pl.reduction,
    pl.robots,
    pl.sections,
    pl.values,
)
CLASSES = {
    f"{room.__name__}.{name}": thing
    for room in ROOMS
    for name, thing in ((name, getattr(room, name)) for name in room.__all__)
    if inspect.isclass(thing) and dataclasses.is_dataclass(thing) and not issubclass(thing, BaseException)
}
WRITTEN = {pl.Run, pl.World, pl.State, pl.mesh.Mesh}
"""Classes with a representation of their own, tested on real objects below."""
SCALAR = re.compile(r"^(float|int|bool|str|None|Volumetric|[ |])+$")


def filled(kind):
    """An object of the dataclass `kind` whose fields hold large arrays, where they can hold one."""
    made = object.__new__(kind)
    for field in dataclasses.fields(kind):
        value = 0.1234567890123 if SCALAR.match(str(field.type)) else np.ones((400, 3))
        object.__setattr__(made, field.name, "a" if field.name == "name" else value)
    return made


@pytest.mark.parametrize("name", [name for name, kind in CLASSES.items() if kind not in WRITTEN])
def test_a_public_object_prints_as_one_line(name):
    text = repr(filled(CLASSES[name]))
    assert "\n" not in text
    assert len(text) <= LONGEST + 40, text


def test_objects_of_a_scene_print_as_one_line():
    scene = pl.Scene(gravity=(0, 0, -9.81))
    robot = scene.add(pl.robots.finger())
    floor = scene.add(pl.Obstacle.box(center=(0, 0, -0.2), size=(0.1, 0.1, 0.1), name="floor"))
    scene.collide(robot, floor)
    world = scene.compile()
    run = pl.simulate(world, pl.ImplicitEuler(dt=0.01), until=0.02)
    state, info = pl.ImplicitEuler(dt=0.01)(world, world.initial_state())
    effector = pl.Effector(robot.tip)
    solver = pl.Inverse([effector], [robot.cable])
    surface = robot.body.mesh.surface()
    things = [scene, world, state, info, run, robot, robot.body, robot.cable, robot.tip, floor, effector, solver]
    things += [
        surface,
        pl.regions.nodes(range(1000)),
        run.bodies[0],
        run.forces[0],
        pl.ImplicitEuler(0.01, solver=solver),
    ]
    for thing in things:
        assert "\n" not in repr(thing)
        assert len(repr(thing)) <= LONGEST
    assert repr(run) == "Run(0 to 0.02 s, 3 instants of 'finger')"
    assert repr(robot.cable).startswith("Cable('finger cable'")
    assert "floor" in repr(scene)


def test_errors_name_an_object_instead_of_printing_it():
    scene = pl.Scene()
    body = scene.add(pl.Volume(pl.mesh.box((0.1, 0.02, 0.02), (3, 1, 1)), pl.materials.dragon_skin_20(), name="arm"))
    stranger = pl.Obstacle.sphere(center=(0, 0, 1), radius=0.1, name="stranger")
    with pytest.raises(pl.InputError) as raised:
        scene.collide(body, stranger)
    assert "'stranger'" in str(raised.value)
    assert len(str(raised.value)) < 200
