"""Benches of what pushes: cable robots, a block that drops on a floor, a gripper that holds a cube; dt = 10 ms.

Plain corotated tetrahedra, as the other programs use; the variant "default_element" is what Pliant takes by itself.
With a folder of side-by-side meshes, `finger` and `trunk` are built from ``finger.vtk``, ``finger.json``… there, else
from our own robots of the published size.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.other_programs import run_peers
from benchmarks.tasks.measure import measure_steps
from pliant import robots
from pliant.actuators import Cable, CableRows
from pliant.actuators.values import Displacement
from pliant.control import Effector, Inverse
from pliant.core.errors import InputError
from pliant.materials import Corotated
from pliant.mesh import Mesh, box, load, regions
from pliant.models.rigid import Obstacle
from pliant.models.volume import Rayleigh, Volume
from pliant.robots.scenes import robot_world
from pliant.stepping import ImplicitEuler
from pliant.world import Scene, State, World

DT = 0.01
LANDED = 40
"""Steps after which the block stands still, its fall of 0.1 s and the bounces over."""
BLOCK = {"young": 0.5e6, "poisson": 0.45, "density": 1000.0, "stiffness_damping": 0.01, "friction": 0.5}
"""Material of the block and friction on the floor, SI units."""
SLID = 10
"""Steps after which tiles that begin on the floor have settled on it."""
TILTED = (3.0, 0.0, -9.81)
"""Gravity on a slope below the angle of friction, m/s²."""
Case = tuple[World, State, Mapping[Any, Any]]


def run_finger(*, data: Path | None = None, steps: int = 200) -> dict[str, Any]:
    """A cable finger, its cable pulled by 10 mm; as "inverse", its tip led by its cable."""
    return _cable_report("finger", data, steps)


def run_trunk(*, data: Path | None = None, steps: int = 100) -> dict[str, Any]:
    """A trunk of which one long cable is pulled by 10 mm; as "inverse", its tip led by its eight cables."""
    return _cable_report("trunk", data, steps)


def run_block(*, data: Path | None = None, steps: int = 100, peers: bool = True) -> dict[str, Any]:
    """A soft block of 60 mm and 2058 tetrahedra, dropped by 50 mm on a floor with μ = 0.5; timed once it stands."""
    _no_data("block", data)
    report = _both(_block, steps)
    asked = {
        "mujoco": ("mujoco_block.py", LANDED, steps),
        "drake": ("drake_block.py", LANDED, steps, "kLinearCorotated"),
    }
    found, errors = run_peers(asked, block_setup()) if peers else ({}, {})
    return report | {"peers": found, "peer_errors": errors}


def run_gripper(*, data: Path | None = None, steps: int = 100) -> dict[str, Any]:
    """Three cable fingers that hold a cube in the air, with friction; their notches close, so they touch themselves."""
    _no_data("gripper", data)
    return _both(_gripper, steps)


def run_contacts(*, data: Path | None = None, steps: int = 40) -> dict[str, Any]:
    """1024 contacts with friction, which a tilted gravity loads: 16 soft tiles with 64 each."""
    _no_data("contacts", data)
    return _report(*_tiles(16), steps) | {"peers": {}, "peer_errors": {}, "variants": {}}


def _both(build: Callable[[bool], Case], steps: int) -> dict[str, Any]:
    """Report of the plain element, with that of the default element under "variants"."""
    plain, default = (_report(*build(smooth), steps) for smooth in (False, True))
    return plain | {"peers": {}, "peer_errors": {}, "variants": {"default_element": default}}


def _report(world: World, start: State, controls: Mapping[Any, Any], steps: int) -> dict[str, Any]:
    return measure_steps(world, dt=DT, steps=steps, start=start, controls=controls).report()


def _cable_report(name: str, data: Path | None, steps: int) -> dict[str, Any]:
    """Reports of the direct step with both elements, and of the inverse one with the plain element."""
    report = _both(lambda smooth: _cable_robot(name, data, smooth)[:3], steps)
    world, start, _, tip = _cable_robot(name, data, False, all_cables=True)
    cables = [rows.spec for rows in world.constraints if isinstance(rows, CableRows)]
    target = tip.bound(world).measure.error(start.q, np.zeros(3))  # where it stands, 10 mm of one cable pulled
    solver = Inverse([tip], cables)
    inverse = measure_steps(world, dt=DT, steps=steps, start=start, controls={tip: target}, solver=solver).report()
    return report | {"variants": report["variants"] | {"inverse": inverse}}


def _cable_robot(
    name: str, data: Path | None, smooth: bool, *, all_cables: bool = False
) -> tuple[World, State, Mapping[Any, Any], Effector]:
    """World, state and controls with one cable pulled by 10 mm, and the tip; of data the others only where asked."""
    scene = Scene(gravity=(0.0, -9.81, 0.0) if name == "finger" else (0.0, 0.0, 0.0))
    if data is not None:
        cables = cables_of_data(scene, name, Path(data), smooth)
        cables = [scene.add(cable) for cable in (cables if all_cables else cables[:1])]
        body = cables[0].body
        farthest = int(np.argmax(np.linalg.norm(body.mesh.points - cables[0].via_points[0], axis=1)))
        tip = Effector(body, body.mesh.points[farthest], name="tip")
    else:
        make = robots.finger if name == "finger" else partial(robots.trunk, guide_stiffness=0.0)
        robot = scene.add(make(anti_locking=smooth, damping=Rayleigh(mass=0.1, stiffness=0.1)))
        cables, tip = list(robot.cables), Effector(robot.tip, name="tip")
    return *_settled(scene.compile(), {cables[0]: Displacement(0.01)}, 100), tip


def cables_of_data(scene: Scene, name: str, folder: Path, smooth: bool) -> list[Cable]:
    """Cables of the robot `name` of a folder of side-by-side meshes, whose body is added to `scene`."""
    try:
        about = json.loads((folder / f"{name}.json").read_text())
    except (OSError, ValueError) as error:
        raise InputError(f"{folder} holds no {name}.json that can be read: {error}") from error
    mesh = load(folder / about["mesh"], unit=about["unit"])
    lower, upper = 1e-3 * np.array(about["clamp_box_mm"])
    body = scene.add(
        Volume(
            mesh,
            Corotated(young=about["young_Pa"], poisson=about["poisson"], density=1000.0),
            clamp=regions.box(lower, upper),
            mass=np.full(mesh.node_count, about["mass_kg"] / mesh.node_count),
            anti_locking=smooth,
            damping=Rayleigh(mass=0.1, stiffness=0.1),
            name=name,
        )
    )
    cables = []
    for number, cable in enumerate([about["cable"]] if "cable" in about else about["cables"]):
        pull = cable.get("pull_point_mm")
        options: dict[str, Any] = {"reach": 1e-3, "name": f"cable {number}"}
        options["pull_point"] = None if pull is None else 1e-3 * np.array(pull)
        cables.append(Cable(body, 1e-3 * np.array(cable["points_mm"]), **options))
    return cables


def _block(smooth: bool) -> Case:
    scene = Scene(gravity=(0.0, 0.0, -9.81))
    material = Corotated(young=BLOCK["young"], poisson=BLOCK["poisson"], density=BLOCK["density"])
    damping = Rayleigh(stiffness=BLOCK["stiffness_damping"])
    block = scene.add(Volume(_block_mesh(), material, anti_locking=smooth, damping=damping, name="block"))
    floor = scene.add(Obstacle.plane())
    scene.collide(block, floor, friction=BLOCK["friction"])
    return _settled(scene.compile(), {}, LANDED)


def _tiles(count: int) -> Case:
    """Tiles of 60 × 60 × 17 mm and 588 tetrahedra side by side on a floor."""
    scene = Scene(gravity=TILTED)
    floor = scene.add(Obstacle.plane())
    material = Corotated(young=BLOCK["young"], poisson=BLOCK["poisson"], density=BLOCK["density"])
    for index in range(count):
        row, column = divmod(index, 4)
        mesh = box((0.06, 0.06, 0.017), (7, 7, 2), symmetric="").translated((0.08 * row, 0.08 * column, 0.0))
        damping = Rayleigh(stiffness=BLOCK["stiffness_damping"])
        tile = scene.add(Volume(mesh, material, anti_locking=False, damping=damping, name=f"tile {index}"))
        scene.collide(tile, floor, friction=BLOCK["friction"])
    return _settled(scene.compile(), {}, SLID)


def _block_mesh() -> Mesh:
    return box((0.06, 0.06, 0.06), (7, 7, 7), symmetric="").translated((-0.03, -0.03, 0.05))


def block_setup() -> dict[str, Any]:
    """Mesh and settings of the block as peers read them, SI units."""
    mesh = _block_mesh()
    return {"points": mesh.points, "cells": mesh.cells, "gravity": 9.81, "dt": DT} | BLOCK


def _gripper(smooth: bool) -> Case:
    gripper = robots.gripper(anti_locking=smooth)
    world = robot_world(gripper, touches_itself=True, selves=True)
    state, step = world.initial_state(), ImplicitEuler(DT)
    for number in range(200):
        controls = gripper.controls(close=0.02 * min(number / 100, 1.0), lift=0.03 * max(number / 100 - 1.0, 0.0))
        state, _ = step(world, state, controls)
    return world, state, controls


def _settled(world: World, controls: Mapping[Any, Any], steps: int) -> Case:
    """The state after `steps` steps under the same controls."""
    state, step = world.initial_state(), ImplicitEuler(DT)
    for _ in range(steps):
        state, _ = step(world, state, controls)
    return world, state, controls


def _no_data(name: str, data: Path | None) -> None:
    if data is not None:
        raise InputError(
            f"bench {name!r} builds its own bodies and reads no data, got data={str(data)!r}; leave it out"
        )
