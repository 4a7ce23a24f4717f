"""Arrays of users in calls that enter kernels: whatever their kind, layout or shape, a call refuses them, or computes
what it does from a plain copy of the same numbers. Kernels do not check bounds: one that slips through damages memory.
"""

import numpy as np
import pytest

import pliant as pl
from pliant.reduction import nnmf
from pliant.world import State

RUBBER = pl.materials.NeoHookean(young=1e5, poisson=0.45, density=1000)
MESH = pl.mesh.box((0.06, 0.02, 0.02), (3, 1, 1))
SCENE = pl.Scene()
BODY = SCENE.add(pl.Volume(MESH, RUBBER, clamp=pl.regions.plane(axis="x", at=0.0)))
WORLD = SCENE.compile()
START = WORLD.initial_state()
RANDOM = np.random.default_rng(3)
SQUARE = RANDOM.normal(size=(6, 6))
SPD = SQUARE @ SQUARE.T + np.eye(6)
PUSH = RANDOM.normal(size=6)
LINE = np.array([(0.0, 0, 0), (0.01, 0, 0), (0.02, 0.001, 0), (0.03, 0, 0)])
FOUR = np.array([(0.0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1)])


def layouts(array):
    """The same numbers in other layouts and kinds."""
    yield "lists", array.tolist()
    yield "read-only", np.array(array)
    yield "Fortran", np.asfortranarray(array)
    yield "strided", np.repeat(array, 2, axis=-1)[..., ::2]
    yield "reversed", np.ascontiguousarray(array[::-1])[::-1]
    yield "byte-swapped", array.astype(array.dtype.newbyteorder())
    yield "subclass", array.view(type("Own", (np.ndarray,), {}))
    yield "objects", array.astype(object)
    if array.dtype.kind == "f":
        yield "float32", array.astype(np.float32)
        yield "long double", array.astype(np.longdouble)
    else:
        yield "int64", array.astype(np.int64)
        yield "uint64", array.astype(np.uint64)
        yield "int8", array.astype(np.int8)


def shapes(array):
    """Other shapes."""
    yield "flat", array.ravel()
    yield "deeper", array[None]
    yield "empty", array[:0]
    yield "shorter", array[:-1]
    yield "longer", np.concatenate([array, array])
    yield "one number", array.ravel()[0]
    yield "ragged", [array.tolist(), array.ravel().tolist()]
    if array.ndim > 1:
        yield "transposed", array.T
        yield "narrower", array[:, :-1]
        yield "wider", np.concatenate([array, array], axis=1)


def contents(array):
    """Values that no kernel may see."""
    bad = (
        [np.nan, np.inf, -np.inf] if array.dtype.kind == "f" else [-1, -(2**63), 2**31, 2**32, 2**32 + 1, 2**62, 10**6]
    )
    for value in bad:
        made = array.astype(array.dtype if array.dtype.kind == "f" else np.int64)
        made.flat[made.size // 2] = value
        yield f"{value}", made
    yield "complex", array + 0j
    yield "truth values", array > 0
    yield "texts", array.astype(str)
    yield "dates", np.zeros(array.shape, "M8[s]")
    yield "records", np.zeros(array.shape, [("x", float)])


def factorized(S):
    return nnmf(S, rank=2, seed=0, iterations=5).basis


def moved(velocities):
    return START.with_velocities(BODY, velocities).v[0]


def state(**given):
    parts = {"q": START.q[0], "v": START.v[0], "lam": START.lam} | given
    made = State(WORLD, 0.0, (parts["q"],), (parts["v"],), parts["lam"])
    return pl.ImplicitEuler(dt=0.01)(WORLD, made)[0].q[0]


def clamped(nodes):
    scene = pl.Scene()
    body = scene.add(pl.Volume(MESH, RUBBER, clamp=nodes))
    return scene.compile().initial_state().points(body)


def beam(**given):
    given = {"points": LINE, "edges": np.array([(0, 1), (1, 2), (2, 3)])} | given
    elastic = {"young": 1e8, "poisson": 0.3, "density": 1e3}
    scene = pl.Scene(gravity=(0, 0, -9.81))
    body = scene.add(pl.Beam(section=pl.sections.Circle(1e-3), clamp=[0], **elastic, **given))
    world = scene.compile()
    return pl.ImplicitEuler(dt=0.01)(world, world.initial_state())[0].points(body)


def rod(strains):
    elastic = {"young": 1e8, "poisson": 0.3, "density": 1e3}
    scene = pl.Scene()
    body = scene.add(pl.Rod(length=0.1, sections=3, section=pl.sections.Circle(1e-3), rest_strain=strains, **elastic))
    return scene.compile().initial_state().points(body)


def cable(via_points):
    scene = pl.Scene()
    body = scene.add(pl.Volume(MESH, RUBBER, clamp=pl.regions.plane(axis="x", at=0.0)))
    pulled = scene.add(pl.Cable(body, via_points))
    world = scene.compile()
    return pl.ImplicitEuler(dt=0.01)(world, world.initial_state(), {pulled: pl.Force(1.0)})[0].q[0]


def touching(points, triangles):
    scene = pl.Scene()
    body = scene.add(pl.Volume(MESH.translated((0, 0, 1e-3)), RUBBER))
    floor = scene.add(pl.Obstacle.mesh(pl.mesh.Surface.from_triangles(points, triangles)))
    scene.collide(body, floor, allow_overlap=True)
    world = scene.compile()
    return pl.ImplicitEuler(dt=0.01)(world, world.initial_state())[0].q[0]


def surface(**given):
    plain = pl.mesh.Surface.from_triangles(FOUR, [(0, 2, 1), (0, 1, 3), (0, 3, 2), (1, 2, 3)])
    made = {name: getattr(plain, name) for name in plain.__dataclass_fields__} | given
    return pl.mesh.Surface(**made).area_vectors()


TETRA = np.array([(0, 1, 2, 3)])
SKIN = np.array([(0, 2, 1), (0, 1, 3), (0, 3, 2), (1, 2, 3)], np.int32)
CALLS = {
    "lcp M": (lambda M: pl.solvers.lcp(M, PUSH).solution, SPD),
    "lcp q": (lambda q: pl.solvers.lcp(SPD, q).solution, PUSH),
    "friction W": (lambda W: pl.solvers.friction(W, PUSH, 0.3).solution, SPD),
    "friction q": (lambda q: pl.solvers.friction(SPD, q, 0.3).solution, PUSH),
    "friction mu": (lambda mu: pl.solvers.friction(SPD, PUSH, mu).solution, np.array([0.3, 0.5])),
    "friction warm": (lambda warm: pl.solvers.friction(SPD, PUSH, 0.3, warm=warm).solution, PUSH),
    "qpcc W_aa": (lambda W: pl.solvers.qpcc(W_ea=SQUARE, W_aa=W, delta_e=PUSH).x, SPD),
    "qpcc W_ea": (lambda W: pl.solvers.qpcc(W_ea=W, W_aa=SPD, delta_e=PUSH).x, SQUARE),
    "qpcc delta_e": (lambda e: pl.solvers.qpcc(W_ea=SQUARE, W_aa=SPD, delta_e=e).x, PUSH),
    "qpcc W_cc": (
        lambda W: pl.solvers.qpcc(W_ea=SQUARE, W_aa=SPD, delta_e=PUSH, W_ec=SQUARE, W_ac=SPD, W_cc=W, delta_c=-PUSH).x,
        SPD,
    ),
    "qpcc limits": (lambda x: pl.solvers.qpcc(W_ea=SQUARE, W_aa=SPD, delta_e=PUSH, force_upper=x).x, abs(PUSH)),
    "nnmf": (factorized, abs(RANDOM.normal(size=(5, 8)))),
    "cone_basis": (lambda S: pl.reduction.cone_basis(S, tolerance=0.1).basis, abs(RANDOM.normal(size=(5, 8)))),
    "Mesh points": (lambda points: pl.mesh.Mesh(points, TETRA, "tet4").cell_volumes(), FOUR),
    "Mesh cells": (lambda cells: pl.mesh.Mesh(MESH.points, cells, "tet4").cell_volumes(), MESH.cells),
    "Mesh.oriented": (lambda cells: pl.mesh.Mesh.oriented(MESH.points, cells, "tet4").cell_volumes(), MESH.cells),
    "Surface.from_triangles": (lambda t: pl.mesh.Surface.from_triangles(FOUR, t).area_vectors(), SKIN),
    "Surface points": (lambda points: surface(points=points), FOUR),
    "Surface triangles": (lambda triangles: surface(triangles=triangles), SKIN),
    "Surface facets": (lambda facets: surface(facets=facets), SKIN),
    "Surface triangle_facets": (lambda x: surface(triangle_facets=x), np.arange(4, dtype=np.int32)),
    "drop_unused_nodes": (lambda cells: pl.mesh.drop_unused_nodes(FOUR, cells)[1], TETRA),
    "locate": (lambda points: pl.mesh.Locator(MESH).locate(points).weights, MESH.points[:5] + 1e-3),
    "grid": (lambda x: pl.mesh.grid(x, [0, 1], [0, 1]).points, np.array([0.0, 1, 2, 4])),
    "paths.through": (lambda points: pl.paths.through(points, count=5), LINE),
    "register": (lambda points: pl.recordings.register(points, FOUR).rotation, FOUR),
    "with_velocities": (moved, RANDOM.normal(size=START.v[0].shape)),
    "State q": (lambda q: state(q=q), START.q[0]),
    "State v": (lambda v: state(v=v), START.v[0]),
    "clamp": (clamped, np.arange(4)),
    "Beam points": (lambda points: beam(points=points), LINE),
    "Beam edges": (lambda edges: beam(edges=edges), np.array([(0, 1), (1, 2), (2, 3)])),
    "Rod rest_strain": (rod, np.array([0.1, 0.2, 0.3, 0.0, 0.0, 0.0])),
    "Cable via_points": (cable, np.array([(0.01, 0.01, 0.015), (0.03, 0.01, 0.015), (0.05, 0.01, 0.015)])),
    "Obstacle points": (lambda points: touching(points, SKIN), 0.1 * FOUR - (0.01, 0.01, 0.1)),
    "Obstacle triangles": (lambda t: touching(0.1 * FOUR - (0.01, 0.01, 0.1), t), SKIN),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", CALLS)
def test_arrays_are_refused_or_read_as_their_numbers(name):
    call, plain = CALLS[name]
    expected = call(plain)
    for what, given in (*layouts(plain), *shapes(plain), *contents(plain)):
        if what == "read-only":
            given.setflags(write=False)
        try:
            found = call(given)
        except pl.PliantError:
            continue
        try:
            copy = np.array(given, float if plain.dtype.kind == "f" else np.int32, order="C")
        except OverflowError:
            pytest.fail(f"{what} was taken")
        if copy.shape == plain.shape and np.array_equal(copy, plain):
            np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12, err_msg=what)
        else:
            np.testing.assert_allclose(found, call(copy), rtol=1e-6, atol=1e-9, err_msg=what)


@pytest.mark.parametrize("name", CALLS)
def test_plain_layouts_are_taken(name):
    """Lists and arrays in other layouts are what people have."""
    call, plain = CALLS[name]
    if name.startswith(("State", "Surface ")):
        pytest.skip("takes arrays of exactly one kind, as they are written in files")
    for what, given in layouts(plain):
        if what in ("lists", "strided", "Fortran", "reversed"):
            call(given)
