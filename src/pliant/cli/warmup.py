"""Compiling every kernel ahead: the robots of the studio and a few small problems pass through all of them, with the
array types of real runs. The parts run in processes of their own, which share the cache of kernels on disk.
"""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from dataclasses import dataclass, replace
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from time import perf_counter
from typing import Any

import numba
import numpy as np
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from scipy import sparse

from pliant import materials, reduction, regions, robots
from pliant import mesh as meshes
from pliant.actuators import BaseDrive, Cable
from pliant.actuators.values import Force
from pliant.cli.output import Output
from pliant.cli.warmup_problems import contact_problems
from pliant.collision import CollisionSurface, ProximityOptions, self_contacts
from pliant.collision.self_penetration import self_penetration
from pliant.core.errors import InputError
from pliant.core.kernels import cache_folder, compiled_count, hide_notice, stored_kernels
from pliant.core.replacing import replace_text
from pliant.gradients import gradient, losses
from pliant.gradients.parameters import Control, Material
from pliant.hybrid import delta_robot, falling_cubes, integrate, soft_touch
from pliant.models.beam import Beam, Circle
from pliant.models.model import StepStart
from pliant.models.polyline import segments
from pliant.models.rigid import Obstacle, RigidBody
from pliant.models.rod import Rod, RodLoad, RodModel, Slide
from pliant.models.rod.projection import nearest_arc_lengths
from pliant.models.rod.rod_map import RodMap
from pliant.models.scheme import euler_scheme
from pliant.models.volume import Fibre, Support, Volume
from pliant.models.volume.halved import add_blocks
from pliant.reduced import Subspace
from pliant.robots.scenes import DOWN, robot_world
from pliant.solvers.linear import BlockMatrix, BlockPattern, CholeskyFactor, analyze
from pliant.stepping import ImplicitEuler, ImplicitMidpoint
from pliant.viewer.pose_renderer import render_poses
from pliant.viewer.rasterizer import fit_camera
from pliant.viewer.subject import Demand
from pliant.viewer.surfaces import SurfaceFrames
from pliant.viewer.world_subject import WorldSubject
from pliant.viewer.zoo import entry
from pliant.world import Scene
from pliant.world.reduced import reduced


@dataclass(frozen=True)
class Warmup:
    """How many kernels were compiled, and the seconds it all took."""

    compiled: int
    seconds: float


def warm_all(
    report: Callable[[str, float], None] = lambda name, seconds: None,
    *,
    parts: Sequence[str] = (),
    workers: int | None = None,
    watch: Callable[[], None] = lambda: None,
) -> Warmup:
    """Pass through every kernel; `report(name, seconds)` is called after each part.

    parts
        Keys of `PARTS`, all for none.
    workers
        Number of processes, as many as there are cores for None; with 1 all parts run in this process.
    watch
        Called twice a second while processes compile.
    """
    start, compiled = perf_counter(), 0
    chosen = {name: PARTS[name] for name in parts or PARTS}
    count = min(core_count() if workers is None else workers, len(chosen))
    if count == 1:
        for name, part in chosen.items():
            new, seconds = _timed(part)
            compiled += new
            report(name, seconds)
    else:
        # spawned, not forked: threads of this process may hold locks
        with ProcessPoolExecutor(count, mp_context=get_context("spawn"), initializer=hide_notice) as pool:
            jobs = {pool.submit(_timed, part): name for name, part in chosen.items()}
            waiting = set(jobs)
            while waiting:
                done, waiting = wait(waiting, timeout=0.5, return_when=FIRST_COMPLETED)
                for job in done:
                    new, seconds = job.result()
                    compiled += new
                    report(jobs[job], seconds)
                watch()
    if len(chosen) == len(PARTS):
        replace_text(_stamp(), _sources())
    return Warmup(compiled, perf_counter() - start)


def _timed(part: Callable[[], None]) -> tuple[int, float]:
    """How many kernels a part compiled, and the seconds it took."""
    before, start = compiled_count(), perf_counter()
    part()
    return compiled_count() - before, perf_counter() - start


def show_warmup(parts: Sequence[str], output: Output) -> None:
    """Warm up with a line for each part and, in a terminal, a bar of the kernels with the time left."""
    unknown = [name for name in parts if name not in PARTS]
    if unknown:
        raise InputError(f"the warm-up has no part {unknown[0]!r}; its parts are {', '.join(map(repr, PARTS))}")
    told: dict[str, float] = {}
    columns = (TextColumn("compiling"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True, disable=not sys.stderr.isatty()) as bar:
        stored, total = stored_kernels()
        task = bar.add_task("kernels", completed=stored, total=total)

        def line(name: str, seconds: float) -> None:
            told[name] = seconds
            bar.console.print(
                f"[{len(told)}/{len(parts or PARTS)}] {name:<26}{seconds:7.1f} s", markup=False, highlight=False
            )

        result = warm_all(line, parts=parts, watch=lambda: bar.update(task, completed=stored_kernels()[0]))
    state = f"compiled {result.compiled} kernels" if result.compiled else "every kernel was compiled already"
    Console(stderr=True).print(
        f"{state}, {result.seconds:.1f} s; they are kept in {cache_folder()}", highlight=False, soft_wrap=True
    )
    output.finish({"compiled": result.compiled, "seconds": result.seconds, "parts": told, "cache": cache_folder()})


def is_warm() -> bool:
    """Whether `warm_all` has run for exactly these sources."""
    stamp = _stamp()
    return stamp.is_file() and stamp.read_text() == _sources()


def core_count() -> int:
    """How many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else (os.cpu_count() or 1)


def _stamp() -> Path:
    return cache_folder() / "warm"


def _sources() -> str:
    digest = hashlib.sha1(numba.__version__.encode(), usedforsecurity=False)
    for path in sorted(Path(__file__).parents[1].rglob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()


def _studio(name: str, *, steps: int = 2, push: float = 0.05) -> None:
    """A few steps of an entry of the zoo, its sliders moved by `push` of their range each; energies and colours."""
    subject = entry(name).made()
    assert isinstance(subject, WorldSubject)
    tip = subject.frame().tip
    target = np.zeros(3) if tip is None else tip + 1e-3  # m: near enough for any robot
    for step in range(1, steps + 1):
        controls = {}
        for r in subject.ranges:
            value = r.control(r.start + step * push * (r.high - r.start))
            controls.update(value if isinstance(value, dict) else {r.handle: value})
        mode = entry(name).mode
        subject.step(subject.usual_step, Demand(mode, controls, target, np.zeros((len(subject.handles), 3))))
    for color_mode in subject.contents.color_modes:
        subject.values(color_mode, subject.frame())
    subject.world.energy(subject.state)
    subject.state.elastic_energy(0)


def _reduced() -> None:
    """A finger with few modes and few contact forces, from a short ramp of its cable."""
    rubber = materials.NeoHookean(young=0.6e6, poisson=0.45, density=1080)
    world = robot_world(robots.finger(material=rubber), touches_itself=True)
    plan = reduction.ramps(world, amplitude=0.03, steps=25)  # m, so far that its notches close
    fast = reduction.reduce(world, plan, contact_tolerance=0.5, motion_tolerance=0.1)
    ImplicitEuler(dt=0.01)(fast, fast.initial_state())
    scene = Scene(gravity=DOWN)
    memory = materials.Viscoelastic(rubber, [(0.1, 0.1)])
    body = scene.add(Volume(meshes.box((0.02, 0.02, 0.02), (1, 1, 1)), memory, clamp=regions.plane(axis="z", at=0.0)))
    scene.add(Fibre(body, [(0.005, 0.005, 0.01), (0.015, 0.015, 0.01)], stiffness=1.0))
    world = scene.compile()
    (model,) = world.volumes
    modes = np.where(model.constrained, 0.0, np.array([0.0, 0.0, 1.0])).reshape(-1, 1)
    fast = reduced(world, [Subspace(body, modes, rest=model.rest, point_count=model.points.count)])
    ImplicitEuler(dt=0.01)(fast, fast.initial_state())


def _rigid() -> None:
    """The gripper of the studio, and a ball in a soft valley, whose faces and edges rock in its third step."""
    _studio("gripper")
    block = meshes.box((0.04, 0.02, 0.02), (2, 1, 1))
    bottom = np.isclose(block.points[:, 0], 0.02) & (block.points[:, 2] > 0.0)
    points = np.where(bottom[:, None], block.points * (1.0, 1.0, 0.5), block.points)
    rubber = materials.Corotated(young=1e5, poisson=0.4, density=1000)
    scene, radius = Scene(gravity=DOWN), 0.004
    valley = scene.add(
        Volume(meshes.Mesh(points, block.cells, block.element), rubber, clamp=regions.plane(axis="z", at=0.0))
    )
    height = 0.01 + np.sqrt(2.0) * radius + 1e-6
    ball = scene.add(RigidBody.sphere(radius=radius, mass=0.02, position=(0.02, 0.01, height)))
    scene.collide(valley, ball, friction=0.5)
    world = scene.compile()
    state, step = world.initial_state(), ImplicitEuler(dt=0.01)
    for _ in range(3):
        state, _ = step(world, state)


def _step(scene: Scene) -> None:
    """A step of one linear solve from the start."""
    world = scene.compile()
    ImplicitEuler(dt=0.01)(world, world.initial_state())


def _slender() -> None:
    """Rods and a beam that touch each other, a soft block and obstacles; a free rod, and all that its map can do."""
    elastic: dict[str, Any] = {"section": Circle(0.004), "young": 1e7, "poisson": 0.3, "density": 1e3}
    scene = Scene(gravity=DOWN)
    rod = scene.add(Rod(0.02, 2, **elastic))
    beam = scene.add(Beam(np.linspace((0.0, 0.0, 0.0081), (0.02, 0.0, 0.0081), 4), **elastic))
    block = meshes.box((0.02, 0.02, 0.02), (1, 1, 1)).translated((0.0, -0.01, -0.0241))
    scene.add(RodLoad(rod, 0.02, (0.0, 0.0, -0.1), (0.01, 0.0, 0.0)))
    scene.collide(rod, scene.add(Obstacle.mesh(block.surface())), friction=0.5)
    scene.collide(rod, scene.add(Rod(0.02, 2, position=(0.0, 0.0081, 0.0), **elastic)))
    post = Obstacle.capsule(start=(0.008, -0.0082, -0.01), end=(0.008, -0.0082, 0.01), radius=0.004)
    scene.collide(rod, scene.add(post))
    scene.collide(rod, scene.add(Obstacle.sphere(center=(0.0, 0.0, -1.0), radius=0.1)))
    rubber = materials.Corotated(young=1e5, poisson=0.4, density=1000)
    scene.collide(beam, scene.add(Volume(block.translated((0.0, 0.0, 0.0363)), rubber)), friction=0.5)
    scene.collide(beam, scene.add(Obstacle.tubes([(-1.0, 0.0, 0.0), (1.0, 0.0, 0.0)], radius=0.5)), margin=0.01)
    world = scene.compile()
    state, _ = ImplicitEuler(dt=0.01)(world, world.initial_state())
    start = StepStart(state.q[1], state.v[1], euler_scheme(0.01), world.gravity, {})
    world.models[1].trial(start).linearize(materials.Tangent.EXACT)[0].add_mass(1e-6)
    scene = Scene(gravity=DOWN)
    memory = materials.Viscoelastic(rubber, [(0.1, 0.1)])
    scene.add(Rod(0.02, 2, section=Circle(0.004), material=memory))
    scene.add(Beam(np.linspace((0.0, 0.0, 0.02), (0.02, 0.0, 0.02), 3), section=Circle(0.004), material=memory))
    _step(scene)
    scene = Scene(gravity=DOWN)
    scene.add(Rod(0.02, 2, **elastic))  # alone: its step is one call
    _step(scene)
    scene = Scene(gravity=DOWN)
    scene.add(BaseDrive(scene.add(Rod(0.02, 2, base=Slide((1.0, 0.0, 0.0)), **elastic))))
    _step(scene)
    scene = Scene(gravity=DOWN)
    scene.add(Rod(0.02, 2, base="free", **elastic))
    world = scene.compile()
    state, _ = ImplicitMidpoint(dt=0.01, tolerance=1e-6)(world, world.initial_state())
    (model,), (q,), (v,) = world.models, state.q, state.v
    assert isinstance(model, RodModel)
    trial = model.trial(StepStart(q, v, euler_scheme(0.01), world.gravity, {}))
    trial.moved(trial.dx, np.zeros(trial.dx.shape), 0.5)
    points = RodMap.at(model, [0.01, 0.02])
    points.pull_back_row(q, np.ones((2, 3)))
    points.jacobian_rates(q, v)
    model.momentum(q, v)
    nearest_arc_lengths(q, points.lengths, points.points(q))
    model.mass_matrix(model.sweep(q))


def _linear() -> None:
    """A body large enough for two threads and divided fronts, and a small one under few and many rows."""
    for cells in (20, 3):  # of the larger one two threads divide the last front, and one with rows below it
        mesh = meshes.box((1, 1, 1), (cells, min(cells, 13), min(cells, 13)))
        pattern = BlockPattern.from_cliques(mesh.node_count, 4 * np.arange(len(mesh.cells) + 1), mesh.cells.ravel())
        values = np.zeros((pattern.block_count, 3, 3))
        values[pattern.diagonal] = np.eye(3)
        _factor(analyze(pattern, coordinates=mesh.points).factorize(values))
    BlockMatrix(pattern, values).matvec(np.ones(3 * mesh.node_count))
    add_blocks(values, np.zeros(1, np.int64), np.zeros((1, 3, 3)), 0, 1)


def _factor(factor: CholeskyFactor) -> None:
    """All that a factor can do."""
    size = factor.size
    factor.solve(np.ones(size))
    factor.solve(np.ones((size, 2)))
    factor.half_solve(np.ones(size))
    factor.compliance(sparse.csr_matrix(([1.0], ([0], [0])), shape=(1, size)))
    few = sparse.csr_matrix((np.ones(4), ([0, 0, 1, 1], [size - 1, size - 4, size - 1, size - 5])), shape=(2, size))
    factor.compliance(sparse.vstack([few, few, few], format="csr"))
    many = sparse.eye(16, size, format="csr")
    for rows in (few, many):
        m = rows.shape[0]
        factor.motion(np.ones((size // 3, 3))).condense(rows, np.zeros((m, m)), np.zeros(m)).under(np.ones(m))


def _meshes() -> None:
    """Points in a mesh and beside it, stresses, supports along an axis, blocks that spin or overlap, and a picture."""
    block = meshes.box((1, 1, 1), (2, 2, 2))
    meshes.Locator(block).locate([(0.3, 0.4, 0.5), (2.0, 0.5, 0.5)])
    rubber = materials.NeoHookean(young=1e5, poisson=0.4, density=1000)
    rubber.tangent(np.eye(3)[None])
    scene = Scene()
    body = scene.add(Volume(block, rubber, clamp=regions.nodes([0])))
    scene.add(Support(body, regions.nodes([1]), axes="y"))
    world = scene.compile()
    ImplicitEuler(dt=0.01, tolerance=1e-6)(world, world.initial_state())[1].diagnose()
    scene = Scene()
    foam = materials.Corotated(young=1e5, poisson=0.4, density=1000)
    body = scene.add(Volume(block, foam, clamp=regions.nodes([0, 1, 3]), anti_locking=False))
    scene.add(Fibre(body, [(0.2, 0.2, 0.5), (0.8, 0.8, 0.5)], stiffness=1.0))
    cable = scene.add(Cable(body, [(0.2, 0.8, 0.5), (0.8, 0.2, 0.5)]))
    pull = [{cable: Force(1.0)}] * 2
    gradient(scene.compile(), ImplicitEuler(dt=0.01), losses.Energy(body), parameters=[Control(cable)], control=pull)
    scene = Scene()
    body = scene.add(Volume(block, rubber, clamp=regions.nodes([0, 1, 3])))
    young = Material(body, "young")
    gradient(scene.compile(), ImplicitEuler(dt=0.01), losses.Energy(body), parameters=[young], until=0.01)
    segments(np.eye(3))
    scene = Scene()
    memory = materials.Viscoelastic(materials.Mullins(rubber, r=2.0, m=1e3), [(0.1, 0.1)])
    scene.add(Volume(block, memory, clamp=regions.nodes([0, 1, 3])))
    world = scene.compile()
    ImplicitEuler(dt=0.01, tolerance=1e-6)(world, world.initial_state())
    scene = Scene()
    scene.add(Volume(block, rubber))
    world = scene.compile()
    state = world.initial_state()
    spin = np.array([[0.0, 1.0, 0.0], [-1.0, 0.0, 0.0], [0.0, 0.0, 0.0]])  # rad/s, about z
    ImplicitEuler(dt=0.01)(world, replace(state, v=(state.q[0] @ spin,)))
    surface = block.surface()
    pair = np.concatenate([surface.points, surface.points + np.array([2.0, 0.0, 0.0])])
    both = CollisionSurface.build(np.concatenate([surface.triangles, surface.triangles + len(surface.points)]), pair)
    self_penetration(both.at(pair - np.where(pair > 1.5, [1.5, 0.0, 0.0], 0.0)))
    self_contacts(both.at(pair), ProximityOptions(margin=0.1))  # without candidates of the step before
    shown = SurfaceFrames(surface.triangles.astype(np.int64), np.stack([surface.points, surface.points + 1.0]))
    camera = fit_camera(surface.points, size=(32, 32), area=(2.0, 2.0, 30.0, 30.0), azimuth=-1.0, elevation=0.3)
    render_poses([shown], [], camera)


def _hybrid() -> None:
    robot = delta_robot()
    integrate(robot, until=2e-3, control=soft_touch(robot), order=5)
    integrate(falling_cubes(), until=1e-3)


PARTS: dict[str, Callable[[], None]] = {
    "volumes with self-contact": partial(_studio, "finger"),
    "rods in each other": partial(_studio, "tubes"),
    "linear solver": _linear,
    "contact problems": contact_problems,
    "meshes and pictures": _meshes,
    "hybrid systems": _hybrid,
    "beams": partial(_studio, "spine"),
    "geometric steps": partial(_studio, "twister"),
    "inverse problems": partial(_studio, "trunk"),
    "rigid bodies and supports": _rigid,
    "slender bodies that touch": _slender,
    "rods in channels": partial(_studio, "needle", steps=4, push=0.2),
    "reduced models": _reduced,
}
"""The parts of the warm-up. Those that start first share few kernels, so that processes seldom compile the same one."""
