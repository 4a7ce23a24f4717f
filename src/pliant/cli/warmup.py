"""Compiling every kernel ahead: tiny problems that pass through all of them, with the array types of real ones."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from time import perf_counter
from typing import Any

import numba
import numpy as np
from numba.core import event
from rich.console import Console
from scipy import sparse

from pliant import materials, regions
from pliant import mesh as meshes
from pliant.actuators import BaseDrive, Cable, Cavity
from pliant.actuators.values import Displacement, Force, Placement, Pressure, VolumeRatio
from pliant.cli.output import Output
from pliant.constraints.channel import Channel
from pliant.constraints.facing import Facing, FacingPair
from pliant.control import Effector, Inverse
from pliant.core.kernels import cache_folder
from pliant.hybrid import delta_robot, falling_cubes, integrate, soft_touch
from pliant.models.beam import Beam, BeamModel, Circle
from pliant.models.model import StepStart
from pliant.models.rigid import Obstacle, RigidBody
from pliant.models.rod import Rod, RodLoad, RodModel, Slide
from pliant.models.rod.projection import nearest_arc_lengths
from pliant.models.rod.rod_map import RodMap
from pliant.models.scheme import euler_scheme
from pliant.models.volume import PointLoad, PressureLoad, Rayleigh, Support, Volume
from pliant.record import simulate
from pliant.reduced import ContactBasis, Subspace
from pliant.reduction import nnmf
from pliant.solvers import friction, lcp
from pliant.solvers.inverse import compliance_problem, solve_qpcc
from pliant.solvers.inverse.pieces import Piece
from pliant.solvers.inverse.problem import scaled_problem
from pliant.solvers.linear import BlockMatrix, BlockPattern, analyze
from pliant.stepping import ImplicitEuler, ImplicitMidpoint, QuasiStatic
from pliant.stepping.minimum_energy import Geometric
from pliant.viewer.pose_renderer import render_poses
from pliant.viewer.rasterizer import fit_camera
from pliant.viewer.surfaces import SurfaceFrames
from pliant.world import Scene, World
from pliant.world.reduced import reduced


@dataclass(frozen=True)
class Warmup:
    """How many kernels were compiled, and the seconds it all took."""

    compiled: int
    seconds: float


def warm_all(report: Callable[[str, float], None] = lambda name, seconds: None) -> Warmup:
    """Pass through every kernel; `report(name, seconds)` is called after each part."""
    start, counter = perf_counter(), _Counter()
    with event.install_listener("numba:compile", counter):
        for name, part in PARTS.items():
            begin = perf_counter()
            part()
            report(name, perf_counter() - begin)
    _stamp().write_text(_sources())
    return Warmup(counter.count, perf_counter() - start)


def show_warmup(output: Output) -> None:
    """Warm up with a line for each part; while a kernel compiles, `core.kernels` shows its name below."""
    parts: dict[str, float] = {}
    console = Console(stderr=True)

    def line(name: str, seconds: float) -> None:
        parts[name] = seconds
        number = list(PARTS).index(name) + 1
        console.print(f"[{number}/{len(PARTS)}] {name:<26}{seconds:7.1f} s", markup=False, highlight=False)

    result = warm_all(line)
    state = f"compiled {result.compiled} kernels" if result.compiled else "every kernel was compiled already"
    console.print(
        f"{state}, {result.seconds:.1f} s; they are kept in {cache_folder()}", highlight=False, soft_wrap=True
    )
    output.finish({"compiled": result.compiled, "seconds": result.seconds, "parts": parts, "cache": cache_folder()})


def is_warm() -> bool:
    """Whether `warm_all` has run for exactly these sources."""
    stamp = _stamp()
    return stamp.is_file() and stamp.read_text() == _sources()


class _Counter(event.Listener):
    """Counts the kernels that compile; the functions they inline belong to them."""

    def __init__(self) -> None:
        self.count = 0
        self._depth = 0

    def on_start(self, event: Any) -> None:
        self._depth += 1
        self.count += self._depth == 1

    def on_end(self, event: Any) -> None:
        self._depth -= 1


def _stamp() -> Path:
    return cache_folder() / "warm"


def _sources() -> str:
    digest = hashlib.sha1(numba.__version__.encode(), usedforsecurity=False)
    for path in sorted(Path(__file__).parents[1].rglob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()


def _beam(material: materials.Material) -> tuple[Scene, Volume]:
    scene = Scene(gravity=(0, 0, -9.81))
    mesh = meshes.box((0.4, 0.1, 0.1), (8, 2, 2))
    return scene, scene.add(Volume(mesh, material, clamp=regions.plane(axis="x", at=0)))


def _corotated_world() -> World:
    scene, _ = _beam(materials.Corotated(young=1e5, poisson=0.4, density=1000))
    return scene.compile()


def _corotated() -> None:
    world = _corotated_world()
    state, info = ImplicitEuler(dt=0.01)(world, world.initial_state())
    assert np.isfinite(info.residual)
    state.von_mises(0)


def _nonlinear() -> None:
    scene, body = _beam(materials.NeoHookean(young=1e5, poisson=0.4, density=1000))
    scene.add(PressureLoad(body, regions.plane(axis="z", at=0.1), 10.0))
    scene.add(Support(body, regions.plane(axis="x", at=0.4), axes="y"))
    world = scene.compile()
    state, _ = ImplicitEuler(dt=0.01, tolerance=1e-6)(world, world.initial_state())
    state, _ = QuasiStatic()(world, state)
    state.elastic_energy(body)
    state.von_mises(body, at="nodes")


def _reduced() -> None:
    """A body of a few modes and a few points."""
    scene, beam = _beam(materials.NeoHookean(young=1e5, poisson=0.4, density=1000))
    world = scene.compile()
    (model,) = world.volumes
    modes = np.where(model.constrained[:, :, None], 0.0, model.rest[:, :1, None] ** 2 * np.eye(3)).reshape(
        model.size, 3
    )
    points = {"points": np.arange(4), "weights": np.full(4, 0.25 * model.points.count)}
    few = Subspace(beam, modes, rest=model.rest, point_count=model.points.count, **points)
    small = reduced(world, [few])
    ImplicitEuler(dt=0.01)(small, small.initial_state())
    few.reduced(model).strain.work(np.zeros(3))


def _linear_core() -> None:
    (model,) = _corotated_world().volumes
    values = np.zeros((model.pattern.block_count, 3, 3))
    values[model.pattern.diagonal] = np.eye(3)
    factor = model.symbolic.factorize(values)
    size = factor.size
    factor.solve(np.ones(size))
    factor.solve(np.ones((size, 2)))
    factor.half_solve(np.ones(size))
    few = sparse.csr_matrix((np.ones(4), ([0, 0, 1, 1], [size - 1, size - 4, size - 1, size - 5])), shape=(2, size))
    factor.compliance(few)
    factor.compliance(sparse.vstack([few, few, few], format="csr"))
    BlockMatrix(model.pattern, values).matvec(np.ones(size))


def _halved_core() -> None:
    """A body large enough for two threads, and a last front wide enough."""
    mesh = meshes.box((1, 1, 1), (15, 15, 15))
    pattern = BlockPattern.from_cliques(mesh.node_count, 4 * np.arange(len(mesh.cells) + 1), mesh.cells.ravel())
    values = np.zeros((pattern.block_count, 3, 3))
    values[pattern.diagonal] = np.eye(3)
    factor = analyze(pattern, coordinates=mesh.points).factorize(values)
    factor.solve(np.ones(factor.size))
    factor.solve(np.ones((factor.size, 2)))
    factor.compliance(sparse.csr_matrix(([1.0], ([0], [0])), shape=(1, factor.size)))


def _queries() -> None:
    locator = meshes.Locator(meshes.box((1, 1, 1), (2, 2, 2)))
    locator.locate([(0.3, 0.4, 0.5), (2.0, 0.5, 0.5)])


def _materials() -> None:
    materials.NeoHookean(young=1e5, poisson=0.4, density=1000).tangent(np.eye(3)[None])


def _pictures() -> None:
    surface = meshes.box((1, 1, 1), (1, 1, 1)).surface()
    shown = SurfaceFrames(surface.triangles.astype(np.int64), np.stack([surface.points, surface.points + 1.0]))
    camera = fit_camera(surface.points, size=(32, 32), area=(2.0, 2.0, 30.0, 30.0), azimuth=-1.0, elevation=0.3)
    render_poses([shown], [], camera)


def _touching() -> None:
    """Soft on soft, soft on rigid, soft on itself and on obstacles, with a cable and a chamber."""
    rubber = materials.Corotated(young=1e5, poisson=0.4, density=1000)
    scene = Scene(gravity=(0, 0, -9.81))
    block = meshes.box((0.02, 0.02, 0.02), (2, 2, 2))
    lower = scene.add(Volume(block, rubber, name="lower"))
    upper = scene.add(Volume(block, rubber, name="upper"), position=(0.001, 0.001, 0.0201))
    hollow = scene.add(Volume(meshes.shell(0.01, 0.02, cells=(1, 2)), rubber, name="hollow"), position=(0, 0, 0.1))
    cube = scene.add(RigidBody.box(size=(0.01, 0.01, 0.01), mass=0.01, position=(0.01, 0.01, 0.0455)))
    floor = scene.add(Obstacle.plane())
    ball = scene.add(Obstacle.sphere(center=(0.01, 0.03, 0.01), radius=0.009))
    rock = scene.add(Obstacle.mesh(block.translated((0.0, 0.0, -0.0201)).surface()))
    cable = scene.add(Cable(upper, [(0.001, 0.001, 0.001), (0.001, 0.001, 0.019)]))
    chamber = scene.add(Cavity(hollow))
    scene.collide(lower, upper, friction=0.5)
    scene.collide(upper, cube, friction=0.5)
    scene.collide(lower, floor, friction=0.5)
    scene.collide(lower, rock)
    scene.collide(lower, ball)
    scene.collide(upper, upper)
    scene.add(Facing(hollow, lower, hollow.mesh.points[:1], block.points, block.surface().triangles, margin=1.0))
    world = scene.compile()
    *others, facing = world.constraints
    assert isinstance(facing, FacingPair)
    few = replace(world, constraints=(*others, ContactBasis.of(facing, np.ones((facing.count, 1))).reduced(facing)))
    QuasiStatic(newton_iterations=1)(few, few.initial_state())
    simulate(
        world, ImplicitEuler(dt=0.01), until=0.02, control=lambda t, s: {cable: Force(0.1), chamber: Pressure(10.0)}
    )


def _beams() -> None:
    """Beams under loads, on a moving base, on the floor, on a soft block, welded, in statics and dynamics."""
    scene = Scene(gravity=(0, 0, -9.81))
    rubber = materials.Corotated(young=1e5, poisson=0.4, density=1000)
    rod: dict[str, Any] = {"young": 1e7, "poisson": 0.3, "density": 1e3, "damping": Rayleigh(stiffness=0.01)}
    points = np.linspace((0.0, 0.01, 0.0241), (0.02, 0.01, 0.0241), 4)
    beam = scene.add(Beam(points, section=Circle(0.004), **rod))
    block = scene.add(Volume(meshes.box((0.02, 0.02, 0.02), (2, 2, 2)), rubber))
    cube = scene.add(RigidBody.box(size=(0.01, 0.01, 0.01), mass=0.01, position=(0.03, 0.01, 0.0241)))
    base = scene.add(Support(beam, [0], axes="xy", rotation=(0.0, 0.0, 0.0)))
    scene.add(PointLoad(beam, [3], (0.0, 0.0, -0.1), (0.01, 0.0, 0.0)))
    scene.attach(beam, cube, points=[points[3]], frames=True)
    scene.collide(beam, block, friction=0.5)
    scene.collide(beam, scene.add(Obstacle.tubes([(-1.0, 0.0, 0.0), (1.0, 0.0, 0.0)], radius=0.5)), margin=0.01)
    cable = scene.add(Cable(beam, points))
    turn = {base: Placement([(0.0, 0.0, 0.0), (0.0, 0.0, 0.01)]), cable: Force(0.1)}
    run = simulate(scene.compile(), ImplicitEuler(dt=0.01), until=0.02, control=lambda t, s: turn)
    run.surface_points(beam)
    scene = Scene(gravity=(0, 0, -9.81))
    scene.add(Beam(points, section=Circle(0.0005), clamp=[0], young=1e6, poisson=0.3, density=1e3))
    world = scene.compile()
    state, _ = QuasiStatic()(world, world.initial_state())
    state, _ = ImplicitMidpoint(dt=0.01, tolerance=1e-6)(world, state)
    state.elastic_energy(0)
    state.section_forces(0)
    world.energy(state)
    model = world.models[0]
    assert isinstance(model, BeamModel)
    system, _ = model.trial(StepStart(*model.initial(), euler_scheme(0.01), world.gravity, {})).linearize(
        materials.Tangent.EXACT
    )
    system.add_mass(1e-6)


def _rods() -> None:
    """Rods under loads, on a moving base, on a soft block, in statics and dynamics, with all that a map can do."""
    scene = Scene(gravity=(0, 0, -9.81))
    rubber = materials.Corotated(young=1e5, poisson=0.4, density=1000)
    options: dict[str, Any] = {"section": Circle(0.004), "young": 1e7, "poisson": 0.3, "density": 1e3}
    rod = scene.add(Rod(0.02, 2, position=(0.0, 0.01, 0.0241), **options))
    block = scene.add(Volume(meshes.box((0.02, 0.02, 0.02), (2, 2, 2)), rubber))
    base = scene.add(Support(rod, [0], rotation=(0.0, 0.0, 0.0)))
    scene.add(RodLoad(rod, 0.02, (0.0, 0.0, -0.1), (0.01, 0.0, 0.0)))
    scene.attach(rod, points=[(0.02, 0.01, 0.0241)])
    scene.collide(rod, block, friction=0.5)
    scene.collide(rod, scene.add(Rod(0.02, 2, position=(0.0, 0.01, 0.0322), **options)))
    turn = Placement([(0.0, 0.0, 0.0), (0.0, 0.0, 0.01)])
    run = simulate(scene.compile(), ImplicitEuler(dt=0.01), until=0.02, control=lambda t, s: {base: turn})
    run.surface_points(rod)
    scene = Scene(gravity=(0, 0, -9.81))
    scene.add(Rod(0.02, 2, base="free", **options))
    world = scene.compile()
    state, _ = ImplicitMidpoint(dt=0.01, tolerance=1e-6)(world, world.initial_state())
    state, _ = ImplicitMidpoint(dt=0.01, tolerance=1e-6)(world, state)
    world.energy(state)
    model = world.models[0]
    assert isinstance(model, RodModel)
    points = RodMap.at(model, [0.01, 0.02])
    points.pull_back_row(state.q[0], np.ones((2, 3)))
    points.jacobian_rates(state.q[0], state.v[0])
    nearest_arc_lengths(state.q[0], points.lengths, points.points(state.q[0]))
    model.momentum(state.q[0], state.v[0])
    model.mass_matrix(model.sweep(state.q[0]))


def _channels() -> None:
    """A rod in a soft block, with friction, pulled by its base."""
    scene = Scene()
    rubber = materials.Corotated(young=1e5, poisson=0.4, density=1000)
    block = scene.add(Volume(meshes.box((0.02, 0.02, 0.02), (2, 2, 2)), rubber, clamp=regions.plane(axis="x", at=0)))
    options: dict[str, Any] = {"section": Circle(0.0005), "young": 1e7, "poisson": 0.3, "density": 1e3}
    rod = scene.add(Rod(0.02, 2, position=(0.0, 0.01, 0.015), base=Slide((-1, 0, 0)), **options))
    scene.add(Channel(block, [(0.005, 0.01, 0.015), (0.02, 0.01, 0.015)], rod, friction=0.1))
    drive = scene.add(BaseDrive(rod))
    simulate(scene.compile(), ImplicitEuler(dt=0.01), until=0.02, control=lambda t, s: {drive: Displacement(1e-4)})


def _geometric() -> None:
    scene = Scene()
    rubber = materials.NeoHookean(young=1e5, poisson=0.49, density=1000)
    clamp = regions.plane(axis="x", at=0)
    hollow = scene.add(Volume(meshes.shell(0.01, 0.02, cells=(1, 1)), rubber, clamp=clamp, anti_locking="volume"))
    chamber = scene.add(Cavity(hollow))
    world = scene.compile()
    state, _ = Geometric()(world, world.initial_state(), {chamber: VolumeRatio(1.1)})
    state.elastic_energy(hollow)


def _complementarity() -> None:
    lcp(np.array([[2.0, 1.0], [1.0, 2.0]]), np.array([-1.0, -1.0]))
    lcp(np.array([[0.0, 1.0], [-1.0, 0.0]]), np.array([-1.0, 1.0]))
    rng = np.random.default_rng(0)
    for count, rank in ((2, 6), (8, 6)):
        J = rng.normal(size=(3 * count, rank))
        friction(J @ J.T, rng.normal(size=3 * count), np.full(count, 0.5))


def _inverse() -> None:
    """Two actuators and three contacts: a solve, one from its answer, and both ways of pivoting a contact; a step."""
    H = np.random.default_rng(0).normal(size=(6, 8))
    W = H @ H.T
    problem = compliance_problem(
        W_ea=W[:1, 1:3], W_ec=W[:1, 3:], W_aa=W[1:3, 1:3], W_ac=W[1:3, 3:], W_cc=W[3:, 3:], delta_e=[1.0],
        delta_c=[-0.1, 0.2, -0.3], displacement_lower=-10.0, displacement_upper=10.0,
    )  # fmt: skip
    solve_qpcc(problem, warm=solve_qpcc(problem, globalize=True))
    piece = Piece(scaled_problem(problem))
    piece.flip(0)
    piece.flip(0)
    piece.holds(np.ones(3, np.bool_), np.full(3, -1.0))
    scene = Scene()
    rubber = materials.Corotated(young=1e5, poisson=0.4, density=1000)
    block = meshes.box((0.02, 0.02, 0.02), (2, 2, 2))
    body = scene.add(Volume(block, rubber, clamp=regions.plane(axis="z", at=0.0)))
    cable = scene.add(Cable(body, [(0.001, 0.001, 0.001), (0.001, 0.001, 0.019)]))
    corner = Effector(body, (0.02, 0.02, 0.02))
    world, step = scene.compile(), ImplicitEuler(0.01, solver=Inverse([corner], [cable]))
    step(world, world.initial_state(), {corner: (0.02, 0.02, 0.019)})


def _reduction() -> None:
    nnmf(np.array([[1.0, 0.5], [0.0, 2.0], [1.0, 1.0]]), rank=1, seed=0)


def _hybrid() -> None:
    robot = delta_robot()
    integrate(robot, until=2e-3, control=soft_touch(robot), order=5)
    integrate(falling_cubes(), until=1e-3)


PARTS: dict[str, Callable[[], None]] = {
    "corotated bodies": _corotated,
    "nonlinear bodies and loads": _nonlinear,
    "reduced bodies": _reduced,
    "linear core": _linear_core,
    "linear core on two threads": _halved_core,
    "points in meshes": _queries,
    "materials": _materials,
    "bodies that touch": _touching,
    "beams": _beams,
    "rods": _rods,
    "rods in channels": _channels,
    "geometric steps": _geometric,
    "contact problems": _complementarity,
    "inverse problems": _inverse,
    "bases of contact forces": _reduction,
    "hybrid systems": _hybrid,
    "pictures": _pictures,
}
"""The parts of the warm-up, in the order they run."""
