"""Nonsense for every argument of public calls: a `PliantError`, or it is taken, but never another error.

Each call is valid but for one argument. Values that a call takes for good, such as a text for a name, are not told from
nonsense here; the tests of each class do.
"""

import pytest

import pliant as pl
from nonsense import NEVER, PLAIN, RUBBER, names, outcomes

TIP = pl.regions.plane(axis="x", at=0.06)
CIRCLE = pl.sections.Circle(1e-3)
LINE = [(0.01, 0.01, 0.015), (0.05, 0.01, 0.015)]
SPRING = {"points": [(0.06, 0.01, 0.01)], "ends": [(0.08, 0.01, 0.01)], "stiffness": 10.0}
LIMITS = ["min_force", "max_force", "max_displacement", "max_rate", "max_force_rate", "name"]
ELASTIC = {"young": 1e8, "poisson": 0.3, "density": 1e3}


def volume(**given):
    mesh = pl.mesh.box((0.06, 0.02, 0.02), (3, 1, 1))
    return pl.Volume(**({"mesh": mesh, "material": RUBBER, "clamp": pl.regions.plane(axis="x", at=0.0)} | given))


def rod(**given):
    return pl.Rod(**({"length": 0.1, "sections": 4, "section": CIRCLE} | ELASTIC | given))


def beam(**given):
    points = [(0.02 * k, 0, 0) for k in range(4)]
    return pl.Beam(**({"points": points, "section": CIRCLE, "clamp": [0]} | ELASTIC | given))


def box(**given):
    return pl.RigidBody.box(**({"size": (0.02, 0.02, 0.02), "mass": 0.1} | given))


def hollow():
    return pl.Volume(pl.mesh.shell(0.01, 0.02, cells=(4, 2)), RUBBER)


def world_of(*things):
    scene = pl.Scene(gravity=(0, 0, -9.81))
    for thing in things:
        scene.add(thing)
    return scene.compile()


def on(body, kind, base):
    """A call that adds a `kind` to a scene with a body."""

    def call(**given):
        one = body()
        return world_of(one, kind(**({"body": one} | base | given)))

    return call


def colliding(**given):
    scene = pl.Scene()
    floor = pl.Obstacle.box(center=(0, 0, -0.02), size=(0.1, 0.1, 0.01))
    scene.collide(**({"a": scene.add(volume()), "b": scene.add(floor)} | given))
    return scene.compile()


def attached(**given):
    scene = pl.Scene()
    a, b = scene.add(volume()), scene.add(volume(clamp=None, name="b"), position=(0.06, 0, 0))
    scene.attach(**({"a": a, "b": b, "points": [(0.06, 0.01, 0.01)]} | given))
    return scene.compile()


def tied(**given):
    scene = pl.Scene()
    a, b = scene.add(volume()), scene.add(volume(clamp=None, name="b"), position=(0.06, 0, 0))
    scene.add(pl.Tie(**({"a": a, "b": b, "region": TIP} | given)))
    return scene.compile()


def simulated(**given):
    base = {"world": world_of(volume()), "stepper": pl.ImplicitEuler(dt=0.01), "until": 0.01}
    return pl.simulate(**(base | given))


def stepped(stepper, **given):
    world = world_of(volume())
    return stepper(**given)(world, world.initial_state())


def commanded(value):
    body = volume()
    cable = pl.Cable(body, LINE)
    world = world_of(body, cable)
    return pl.ImplicitEuler(dt=0.01)(world, world.initial_state(), {cable: value})


def controlled(controls):
    world = world_of(volume())
    return pl.ImplicitEuler(dt=0.01)(world, world.initial_state(), controls)


def recorded():
    return pl.simulate(world_of(volume()), pl.ImplicitEuler(dt=0.01), until=0.02)


RUN = recorded()
STATE = RUN.state(-1)
EULER = {"dt": 0.01}
CALLS = {
    "Volume": (
        lambda **given: world_of(volume(**given)),
        names("mesh material clamp anti_locking mass inclusions damping lumped_mass velocity spin name"),
    ),
    "Beam": (beam, names("points section young poisson density edges clamp pin frames up shear damping name")),
    "Rod": (rod, names("length sections section young poisson density strains rest_strain position base damping name")),
    "RigidBody": (box, names("size mass position rotation velocity spin name")),
    "Cable": (
        on(volume, pl.Cable, {"via_points": LINE}),
        [*LIMITS, "body", "via_points", "friction", "pull_point", "guide_stiffness", "reach"],
    ),
    "Tendon": (on(rod, pl.Tendon, {"offset": (0.0, 5e-4)}), [*LIMITS, "body", "offset", "friction", "start", "end"]),
    "PointLoad": (on(volume, pl.PointLoad, {"region": TIP, "force": (0, 0, -1)}), names("body region force moment")),
    "PressureLoad": (on(volume, pl.PressureLoad, {"region": TIP, "pressure": 1.0}), names("body region pressure")),
    "RodLoad": (on(rod, pl.RodLoad, {"at": 0.1, "force": (0, 0, -1e-3)}), names("body at force moment")),
    "RodMoments": (on(rod, pl.RodMoments, {"moments": (0, 0, 1e-3)}), names("body moments")),
    "Support": (on(volume, pl.Support, {"region": TIP}), names("body region axes displacement rotation center")),
    "Layer": (
        on(volume, pl.Layer, {"region": TIP, "normal": (1, 0, 0), "thickness": 1e-3}),
        names("body region normal thickness max_pressure max_growth name"),
    ),
    "Fibre": (on(volume, pl.Fibre, {"points": LINE, "stiffness": 10.0}), names("body points stiffness reach name")),
    "Stiffness": (
        on(volume, pl.Stiffness, {"min_young": 1e4, "max_young": 1e6}),
        names("body min_young max_young inclusion max_rate name"),
    ),
    "Cavity": (on(hollow, pl.Cavity, {}), names("body surface min_pressure max_pressure max_growth max_rate name")),
    "Hinge": (
        on(box, pl.Hinge, {"axis": (0, 1, 0), "point": (0, 0, 0.05)}),
        names("body axis point base min_torque max_torque min_angle max_angle max_rate name"),
    ),
    "Slider": (on(box, pl.Slider, {"axis": (0, 0, 1)}), [*LIMITS, "body", "axis", "base", "min_displacement"]),
    "Spring": (
        on(volume, lambda body, **given: pl.Spring(body, **given), {"b": None, **SPRING}),
        names("body b points ends stiffness damping rest_length reach name"),
    ),
    "Hold": (on(box, pl.Hold, {"position": "xy"}), names("body position rotation point axes base reach name")),
    "Tie": (tied, names("a b region gap reach closing_time name")),
    "Term": (
        on(volume, lambda **given: pl.LinearConstraint([pl.Term(**given)]), {"coefficient": (0, 0, 1), "region": TIP}),
        names("body coefficient points region pick rotation reach"),
    ),
    "LinearConstraint": (
        lambda **given: pl.LinearConstraint(**({"terms": [pl.Term(volume(), (0, 0, 1), region=TIP)]} | given)),
        names("terms value name"),
    ),
    "Effector": (
        lambda **given: pl.Effector(**({"where": volume(), "points": [(0.06, 0.01, 0.01)]} | given)),
        names("where points weight max_speed hard tolerance name barycentre directions"),
    ),
    "collide": (colliding, names("a b friction margin exclude capacity allow_overlap continuous")),
    "attach": (attached, names("a b points region reach frames name")),
    "simulate": (simulated, names("world stepper until start progress steps")),
    "controls": (controlled, ["controls"]),
    "command": (commanded, ["value"]),
    "Scene": (pl.Scene, ["gravity"]),
    "ImplicitEuler": (
        lambda **given: stepped(pl.ImplicitEuler, **(EULER | given)),
        names("dt newton_iterations tolerance solver threads"),
    ),
    "QuasiStatic": (
        lambda **given: stepped(pl.QuasiStatic, **given),
        names("tolerance newton_iterations solver dt threads maximum_solves viscoelastic"),
    ),
    "Ogden": (
        lambda **given: pl.materials.Ogden(**({"m": 1e4, "a": 2.0, "density": 1e3} | given)),
        names("m a density poisson bulk volumetric"),
    ),
    "NeoHookean": (
        lambda **given: pl.materials.NeoHookean(**({"young": 1e5, "poisson": 0.4, "density": 1e3} | given)),
        names("young poisson density volumetric"),
    ),
    "Viscoelastic": (
        lambda **given: pl.materials.Viscoelastic(**({"base": RUBBER, "branches": [(0.3, 0.1)]} | given)),
        names("base branches moduli viscosity"),
    ),
    "mesh.box": (
        lambda **given: pl.mesh.box(**({"size": (1, 1, 1), "cells": (1, 1, 1)} | given)),
        names("size cells element symmetric"),
    ),
    "mesh.tube": (
        lambda **given: pl.mesh.tube(
            **({"inner_radius": 1, "outer_radius": 2, "length": 1, "cells": (6, 1, 1)} | given)
        ),
        names("inner_radius outer_radius length cells element"),
    ),
    "mesh.sphere": (
        lambda **given: pl.mesh.sphere(**({"radius": 1, "cells": 2} | given)),
        names("radius cells element"),
    ),
    "mesh.load": (lambda **given: pl.mesh.load(**({"path": "nothing.msh"} | given)), names("path unit")),
    "load": (pl.load, ["path"]),
    "regions.box": (
        lambda **given: pl.regions.box(**({"lower": (0, 0, 0), "upper": (1, 1, 1)} | given)),
        names("lower upper"),
    ),
    "regions.plane": (
        lambda **given: pl.regions.plane(**({"axis": "x", "at": 0} | given)),
        names("axis at tolerance point normal"),
    ),
    "regions.nodes": (pl.regions.nodes, ["indices"]),
    "Rayleigh": (pl.Rayleigh, names("mass stiffness")),
    "Run.state": (RUN.state, names("instant at")),
    "Run.points": (RUN.points, ["body"]),
    "Run.contact_force": (RUN.contact_force, ["a"]),
    "State.stress": (lambda **given: STATE.stress(**({"body": 0} | given)), names("body at")),
    "State.with_velocities": (
        lambda **given: STATE.with_velocities(**({"body": 0, "velocities": (0, 0, 1)} | given)),
        names("body velocities"),
    ),
    "World.adopt": (RUN.world.adopt, ["state"]),
    "World.load_state": (RUN.world.load_state, ["path"]),
    "World.energy": (RUN.world.energy, ["state"]),
    "World.thing": (RUN.world.thing, ["name"]),
}


TAKEN = {
    "Volume": ["material=material", "anti_locking=True", "lumped_mass=True"],
    "Beam": ["clamp={1}", "pin={1}", "shear=True"],
    "PressureLoad": ["pressure=<built-in function len>", "pressure=[-5, -7]"],  # functions of time; one for each face
    "Effector": ["hard=True", "barycentre=True"],
    "collide": ["exclude=array([], dtype=float64)", "allow_overlap=True", "continuous=True"],
    "simulate": ["progress=True"],
    "controls": ["controls={}"],
    "Hold": ["rotation=''"],
    "Ogden": ["m=[1000000000]", "a=[1000000000]"],
    "Viscoelastic": ["base=material"],
    "mesh.box": ["symmetric=''"],
    "regions.nodes": ["indices=array([], dtype=float64)", "indices=[1000000000]", "indices={1}", "indices=generator"],
    "Rayleigh": ["stiffness={}"],
}
"""Values of `nonsense.NEVER` that an argument takes for good."""


def test_there_are_many():
    assert sum(len(arguments) for _, arguments in CALLS.values()) * len((*PLAIN, *NEVER)) > 5000


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", CALLS)
def test_nonsense_is_a_clear_error(name):
    raw, taken = outcomes(*CALLS[name])
    assert not raw, f"{name}: {len(raw)} calls end in another error:\n" + "\n".join(raw)
    assert taken == TAKEN.get(name, [])
