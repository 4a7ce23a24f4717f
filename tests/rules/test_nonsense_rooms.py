"""Nonsense for the calls beside scenes: exports, streams, hybrid systems, reduction, recordings, robots, solvers."""

import inspect
import itertools
from pathlib import Path

import numpy as np
import pytest

import pliant as pl
from nonsense import RUBBER, names, outcomes


def bar():
    return pl.Volume(pl.mesh.box((0.06, 0.02, 0.02), (3, 1, 1)), RUBBER, clamp=pl.regions.plane(axis="x", at=0.0))


def pulled():
    """A world with a bar and its cable, and a run of it."""
    scene = pl.Scene()
    body = scene.add(bar())
    cable = scene.add(pl.Cable(body, [(0.01, 0.01, 0.015), (0.05, 0.01, 0.015)], max_displacement=0.01))
    world = scene.compile()
    run = pl.simulate(
        world, pl.ImplicitEuler(dt=0.01), until=0.03, control=lambda t, state: {cable: pl.Displacement(0.1 * t)}
    )
    return body, cable, world, run


BODY, CABLE, WORLD, RUN = pulled()
STATE = RUN.state(-1)
TIP = pl.Effector(BODY, points=[(0.06, 0.01, 0.01)])
BALL = pl.hybrid.bouncing_ball()
SOLUTION = pl.hybrid.integrate(BALL, until=0.2, sample=0.1)
SHELL = pl.mesh.box((1, 1, 1), (1, 1, 1)).surface()
SNAPSHOTS = np.abs(np.random.default_rng(0).normal(size=(6, 9)))
PLAN = pl.reduction.ramps(WORLD, amplitude=0.005, steps=2)
COUNT = itertools.count()


def with_base(function, **base):
    """`function` with arguments that make sense, of which a call replaces some."""
    return lambda **given: function(**(base | given))


def exported(folder, ending):
    base = {"run": RUN, "size": (64, 48), "progress": False}
    return lambda **given: pl.export(**(base | {"path": folder / f"{next(COUNT)}{ending}"} | given))


def viewed(**given):
    pl.view(**({"thing": RUN, "port": 0, "open_browser": False, "block": False} | given)).close()


def streamed(**given):
    pl.control.stream.Streamer(**({"sink": pl.control.stream.Recorder(), "actuators": [CABLE]} | given)).run(RUN)


def sent(**given):
    pl.control.stream.UdpSink(**({"host": "127.0.0.1", "port": 9} | given)).close()


def parameters(function, without=()):
    """The names of the parameters of a function."""
    listed = inspect.signature(function).parameters.values()
    return [item.name for item in listed if item.kind is not item.VAR_KEYWORD and item.name not in without]


def calls(folder):
    """Each call with the arguments that are replaced in turn."""
    hybrid, reduction, recordings, stream = pl.hybrid, pl.reduction, pl.recordings, pl.control.stream
    csv = folder / "points.csv"
    robots = {
        f"robots.{name}": (getattr(pl.robots, name), parameters(getattr(pl.robots, name), ("element", "damping")))
        for name in names("bellows membrane tower twister trunk pneunet finger")
    }
    four = np.array([(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1.0)])
    return {
        "export.png": (exported(folder, ".png"), names("run path fps color size poses title opacity cut progress")),
        "export.html": (exported(folder, ".html"), names("fps color title opacity cut")),
        "export.gif": (exported(folder, ".gif"), names("fps")),
        "export.png strip": (with_base(exported(folder, ".png"), strip=2), names("strip size")),
        "Run.export": (with_base(RUN.export, path=folder / "run.pvd"), ["every"]),
        "Run.save": (RUN.save, ["path"]),
        "World.save": (WORLD.save, ["path"]),
        "view": (viewed, ["thing", "port"]),
        "check": (with_base(pl.check, thing=WORLD), names("thing stepper")),
        "Streamer": (streamed, names("sink actuators rate pace live")),
        "UdpSink": (sent, names("host port")),
        "SerialSink": (with_base(stream.SerialSink, port="nowhere"), names("port baud")),
        "CsvSink": (stream.CsvSink, ["path"]),
        "kinematics": (
            with_base(pl.control.kinematics, world=WORLD, state=STATE, effectors=[TIP], actuators=[CABLE]),
            names("world state effectors actuators controls dt"),
        ),
        "point_compliance": (
            with_base(pl.control.point_compliance, world=WORLD, state=STATE, body=BODY, point=(0.06, 0.01, 0.01)),
            names("world state body point controls dt"),
        ),
        "reachable_set": (
            with_base(
                pl.control.reachable_set,
                world=WORLD,
                effector=TIP,
                actuators=[CABLE],
                ranges=[(0, 1e-3)],
                samples=1,
                steps=1,
            ),
            names("world effector actuators ranges samples seed steps"),
        ),
        "Inverse": (with_base(pl.Inverse, effectors=[TIP], actuators=[CABLE]), parameters(pl.Inverse)),
        "paths.circle": (
            with_base(pl.paths.circle, center=(0, 0, 0), radius=0.1, count=3),
            names("center radius count normal turns"),
        ),
        "paths.line": (with_base(pl.paths.line, start=(0, 0, 0), end=(0, 0, 1), count=3), names("start end count")),
        "paths.through": (with_base(pl.paths.through, points=four, count=3), names("points count")),
        "solvers.lcp": (with_base(pl.solvers.lcp, M=np.eye(2), q=[-1, 1]), names("M q tolerance")),
        "solvers.friction": (
            with_base(pl.solvers.friction, W=np.eye(3), q=[-1, 0.1, 0], mu=0.3),
            names("W q mu dim tolerance warm maximum_iterations seconds"),
        ),
        "solvers.qpcc": (
            with_base(
                pl.solvers.qpcc,
                W_ea=np.eye(2),
                W_aa=np.eye(2),
                delta_e=[1, 1],
                W_ec=np.ones((2, 1)),
                W_ac=np.ones((2, 1)),
                W_cc=np.eye(1),
                delta_c=[0.1],
            ),
            parameters(pl.solvers.qpcc, ("seconds",)),
        ),
        "regions.sphere": (with_base(pl.regions.sphere, center=(0, 0, 0), radius=1), names("center radius")),
        "mesh.fill": (with_base(pl.mesh.fill, points=SHELL.points, triangles=SHELL.triangles), ["points", "triangles"]),
        "mesh.Mesh": (
            with_base(pl.mesh.Mesh, points=four, cells=[[0, 1, 2, 3]], element="tet4"),
            names("points cells element"),
        ),
        "mesh.Surface.from_triangles": (
            with_base(pl.mesh.Surface.from_triangles, points=four, triangles=[[0, 1, 2]]),
            names("points triangles"),
        ),
        "mesh.tetrahedralize": (
            with_base(pl.mesh.tetrahedralize, source=SHELL, cell_size=-1.0),
            names("source element keep_surface unit"),
        ),
        "mesh.cell_sizes": (with_base(pl.mesh.cell_sizes, surface=SHELL), names("surface layers max_cells")),
        "mesh.drop_unused_nodes": (
            with_base(pl.mesh.drop_unused_nodes, points=four, cells=[[0, 1, 2, 3]]),
            names("points cells"),
        ),
        "Locator.locate": (
            with_base(pl.mesh.Locator(BODY.mesh).locate, points=[(0.01, 0.01, 0.01)]),
            ["points"],
        ),
        "hybrid.bouncing_ball": (hybrid.bouncing_ball, parameters(hybrid.bouncing_ball)),
        "hybrid.ball_maze": (hybrid.ball_maze, parameters(hybrid.ball_maze)),
        "hybrid.delta_robot": (hybrid.delta_robot, parameters(hybrid.delta_robot)),
        "hybrid.falling_cubes": (hybrid.falling_cubes, parameters(hybrid.falling_cubes)),
        "hybrid.integrate": (
            with_base(hybrid.integrate, system=BALL, until=0.01),
            parameters(hybrid.integrate, ("control",)),  # any function is one, such as len
        ),
        "hybrid.linearize": (
            with_base(hybrid.linearize, system=BALL, point=SOLUTION.final, active="none"),
            names("system point active forces"),
        ),
        "hybrid.equilibrium": (
            with_base(hybrid.equilibrium, system=BALL, guess=[0.0]),
            names("system guess active tolerance"),
        ),
        "hybrid.limit_cycle": (
            with_base(hybrid.limit_cycle, system=BALL, start=SOLUTION.final, event=lambda e: True, until=0.3),
            names("system start event until tolerance iterations"),
        ),
        "hybrid.export_fmu": (
            with_base(hybrid.export_fmu, system=BALL, path=folder / "ball.fmu", version="1"),
            names("system path version"),
        ),
        "hybrid.rest_to_rest": (
            with_base(hybrid.rest_to_rest, distance=1.0, velocity=1.0, acceleration=1.0, jerk=1.0),
            parameters(hybrid.rest_to_rest),
        ),
        "hybrid.lead": (with_base(hybrid.lead, zero=1.0, pole=2.0), names("zero pole gain")),
        "hybrid.Restitution": (with_base(hybrid.Restitution, coefficient=0.5), names("coefficient law rest_speed")),
        "hybrid.Friction": (with_base(hybrid.Friction, coefficient=0.5), names("coefficient directions damping")),
        "hybrid.Sampled": (
            with_base(hybrid.Sampled, period=0.1, update=lambda t, q, v, m: (np.zeros(0), m)),
            names("period update"),
        ),
        "reduction.nnmf": (
            with_base(reduction.nnmf, snapshots=SNAPSHOTS, rank=2, seed=0, iterations=3),
            parameters(reduction.nnmf),
        ),
        "reduction.cone_basis": (
            with_base(reduction.cone_basis, snapshots=SNAPSHOTS, tolerance=0.1),
            names("snapshots tolerance largest"),
        ),
        "reduction.choose_basis": (
            with_base(
                reduction.choose_basis, training=SNAPSHOTS, held_out=SNAPSHOTS, tolerance=0.5, seed=0, progress=False
            ),
            names("training held_out tolerance seed ranks"),
        ),
        "reduction.non_negative_fit": (
            with_base(reduction.non_negative_fit, basis=np.eye(6), snapshots=SNAPSHOTS),
            names("basis snapshots"),
        ),
        "reduction.ramps": (
            with_base(reduction.ramps, world=WORLD, amplitude=0.01, steps=2),
            parameters(reduction.ramps),
        ),
        "reduction.full_factorial": (
            with_base(reduction.full_factorial, world=WORLD, amplitude=0.01, steps=2),
            parameters(reduction.full_factorial),
        ),
        "reduction.experiments": (
            with_base(reduction.experiments, world=WORLD, plan=PLAN, workers=1, progress=False),
            names("world plan stepper workers"),
        ),
        "reduction.reduce": (
            with_base(reduction.reduce, world=WORLD, plan=PLAN, progress=False),
            names("world plan contact_tolerance motion_tolerance method guards depth stepper workers seed"),
        ),
        "recordings.load_csv": (
            with_base(recordings.load_csv, path=csv, unit="mm"),
            names("path unit time first rate labels delimiter"),
        ),
        "recordings.load_c3d": (with_base(recordings.load_c3d, path=csv), names("path unit")),
        "recordings.register": (
            with_base(recordings.register, measured=four, reference=four),
            names("measured reference"),
        ),
        "recordings.Recording": (
            with_base(recordings.Recording, points=four[None], rate=100.0, labels=("a", "b", "c", "d")),
            names("points rate labels"),
        ),
        "recordings.BoundMarkers": (
            with_base(
                recordings.BoundMarkers, world=WORLD, body=BODY, feet=[(0.06, 0.01, 0.01)], offsets=[(0, 0, 0.01)]
            ),
            names("world body feet offsets radius"),
        ),
        "materials.fit_ogden": (
            with_base(pl.materials.fit_ogden, strain=[0.1, 0.2, 0.3, 0.5], stress=[1e4, 2e4, 3e4, 5e4], density=1e3),
            names("strain stress density poisson relative"),
        ),
        "materials.dragon_skin_20": (pl.materials.dragon_skin_20, names("poisson memory")),
        **robots,
    }


TAKEN = {
    "export.png": ["title=''", "cut=array([], dtype=float64)", "progress=True"],
    "export.html": ["title=''", "cut=array([], dtype=float64)"],
    "kinematics": ["controls={}"],
    "point_compliance": ["controls={}"],
    "Inverse": ["globalize=True"],
    "solvers.lcp": ["q=[-5, -7]"],
    "solvers.friction": ["mu=[1000000000]"],
    "solvers.qpcc": [
        "delta_e=[-5, -7]",
        "delta_a=[-5, -7]",
        "delta_c=[1000000000]",
        "force_lower=[-5, -7]",
        "force_upper=[-5, -7]",
        "displacement_lower=[-5, -7]",
        "globalize=True",
        "warm=[-5, -7]",
    ],
    "hybrid.bouncing_ball": ["energy_consistent=True"],
    "hybrid.ball_maze": ["radii=[1000000000]"],
    "hybrid.integrate": ["project=True"],
    "hybrid.linearize": ["active=array([], dtype=float64)", "forces=True"],
    "hybrid.Sampled": ["update=<built-in function len>"],
    "reduction.nnmf": ["snapshots=array([[0., 0., 0., 0., 0.],\n       [0., 0., 0., 0., 0.]])"],
    "reduction.ramps": ["together=True"],
    "materials.fit_ogden": ["relative=True"],
    "robots.finger": ["material=material", "anti_locking=True"],
    "robots.pneunet": ["material=material", "sole_material=material", "anti_locking=True"],
    "robots.bellows": ["material=material", "anti_locking=True"],
    "robots.membrane": ["material=material", "anti_locking=True"],
    "robots.tower": ["material=material", "anti_locking=True"],
    "robots.twister": ["material=material", "anti_locking=True"],
    "robots.trunk": ["clamped=True", "material=material", "anti_locking=True"],
}
"""Values of `nonsense.NEVER` that an argument takes for good."""


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    folder = tmp_path_factory.mktemp("nonsense")
    (folder / "points.csv").write_text("t,x,y,z\n0,0,0,0\n0.1,1,0,0\n")
    return calls(folder)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", sorted(calls(Path())))
def test_nonsense_is_a_clear_error(name, table, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # "nonsense" is the name of a file, too
    raw, taken = outcomes(*table[name])
    assert not raw, f"{name}: {len(raw)} calls end in another error:\n" + "\n".join(raw)
    assert taken == TAKEN.get(name, [])
