"""Linear constraints among displacements and rotations."""

import numpy as np
import pytest

import pliant as pl
from pliant.constraints.rows import RowView

RUBBER = pl.materials.Linear(young=1e5, poisson=0.3, density=1e3)
SLENDER = {"section": pl.sections.Circle(0.005), "young": 1e6, "poisson": 0.3, "density": 1e3}
LEFT, RIGHT = (pl.regions.plane(axis="x", at=x) for x in (0.0, 0.06))


def block(scene, *, clamp=LEFT, cells=(3, 2, 2), rotation=None, **options):
    mesh = pl.mesh.box((0.06, 0.02, 0.02), cells)
    options = {"anti_locking": False, "damping": pl.Rayleigh(stiffness=0.02), **options}
    return scene.add(pl.Volume(mesh, RUBBER, clamp=clamp, **options), rotation=rotation)


def test_a_commanded_value_is_a_moved_support():
    """All nodes of a face displaced by b, in one call of statics with increments, and in dynamics at rest."""
    states = []
    for constrained in (True, False):
        scene = pl.Scene(gravity=(0, 0, -9.81))
        body = block(scene)
        if constrained:
            handle = scene.add(pl.LinearConstraint(pl.Term(body, (1, 0, 0), region=RIGHT), name="pull"))
        else:
            handle = scene.add(pl.Support(body, RIGHT, axes="x"))
        world = scene.compile()
        state, _ = pl.QuasiStatic()(world, world.initial_state(), {handle: pl.Displacement(0.01)})
        states.append(state.q[0])
    np.testing.assert_allclose(states[0], states[1], atol=1e-9)


@pytest.mark.parametrize("stepper", [pl.QuasiStatic(), pl.ImplicitEuler(0.02), pl.ImplicitMidpoint(0.02)])
def test_a_symmetry_plane_with_an_inclined_normal(stepper):
    """A block turned as a whole: planes with turned normals hold it as rollers along the axes hold the unturned one."""
    turn = np.array([0.3, -0.4, 0.5])
    R = pl.mesh.mesh.rotation_matrix(turn)
    found = []
    for rotated in (False, True):
        scene = pl.Scene(gravity=R @ (0, 0, -9.81) if rotated else (0, 0, -9.81))
        body = block(scene, clamp=None, rotation=turn if rotated else None)
        for axis, letter in enumerate("xyz"):
            face = pl.regions.plane(axis=letter, at=0.0)
            if rotated:
                scene.add(pl.LinearConstraint.plane(body, face, normal=R[:, axis]))
            else:
                scene.add(pl.Support(body, face, axes=letter))
        world = scene.compile()
        state = world.initial_state()
        for _ in range(1 if isinstance(stepper, pl.QuasiStatic) else 5):
            state, _ = stepper(world, state)
        found.append(state.points(body) @ R if rotated else state.points(body))
    moved = np.abs(found[0] - pl.mesh.box((0.06, 0.02, 0.02), (3, 2, 2)).points).max()
    tolerance = 2e-4 if isinstance(stepper, pl.ImplicitMidpoint) else 1e-5  # of velocities projected to the rows
    np.testing.assert_allclose(found[0], found[1], rtol=0.0, atol=tolerance * moved)


def test_equal_displacements_keep_a_face_plane():
    scene = pl.Scene(gravity=(0, 0, 0))
    body = block(scene)
    scene.add(pl.LinearConstraint.equal(body, RIGHT, direction=(1, 0, 0)))
    scene.add(pl.PointLoad(body, pl.regions.nodes(RIGHT.nodes(body.mesh.points)[:1]), (0.02, 0, 0)))
    world = scene.compile()
    state, _ = pl.QuasiStatic()(world, world.initial_state())
    moved = state.points(body)[RIGHT.nodes(body.mesh.points)] - body.mesh.points[RIGHT.nodes(body.mesh.points)]
    assert np.ptp(moved[:, 0]) < 1e-12
    assert moved[0, 0] == pytest.approx(0.02 * 0.06 / (1e5 * 4e-4), rel=0.05)


def test_periodic_pairs_give_the_modulus():
    """One cell of a periodic body stretched by ε: uniaxial stress E ε, uniform to rounding (small strain)."""
    scene = pl.Scene(gravity=(0, 0, 0))
    body = block(scene, clamp=pl.regions.sphere((0, 0, 0), 1e-6))
    face = body.mesh.points[LEFT.nodes(body.mesh.points)]
    strain = 1e-6
    options = {"period": (0.06, 0, 0)}
    stretch = scene.add(pl.LinearConstraint.periodic(body, face, direction=(1, 0, 0), value=strain * 0.06, **options))
    for direction in ((0, 1, 0), (0, 0, 1)):
        scene.add(pl.LinearConstraint.periodic(body, face, direction=direction, **options))
    world = scene.compile()
    state, info = pl.QuasiStatic()(world, world.initial_state())
    lam = info.lam[info.assembly.slices[world.constraint_index(stretch)]]
    assert lam.sum() == pytest.approx(1e5 * strain * 4e-4, rel=1e-4)
    moved = (state.points(body) - body.mesh.points)[:, 0]
    np.testing.assert_allclose(moved, strain * body.mesh.points[:, 0], atol=1e-4 * strain * 0.06)


def test_terms_of_several_kinds_of_bodies():
    """The mean of a face of a volume, the tip of a rod, a beam and a rigid body go the same way along z."""
    scene = pl.Scene(gravity=(0, 0, -9.81))
    soft = block(scene)
    rod = scene.add(pl.Rod(0.1, 3, position=(0, 0.05, 0), **SLENDER))
    beam = scene.add(pl.Beam([(0.03 * k, 0.1, 0) for k in range(4)], clamp=[0], **SLENDER))
    ball = scene.add(pl.RigidBody.sphere(radius=0.01, mass=0.01, position=(0, 0.2, 0)))
    face = pl.Term(soft, (0, 0, -1), region=RIGHT, pick="mean")
    for body, options in ((rod, {"region": [3]}), (beam, {"region": [3]}), (ball, {"points": (0, 0.2, 0)})):
        scene.add(pl.LinearConstraint([pl.Term(body, (0, 0, 1), **options), face], name=f"{body.name} follows"))
    world = scene.compile()
    state = world.initial_state()
    step = pl.ImplicitEuler(0.01, newton_iterations=3)
    for _ in range(20):
        state, _ = step(world, state)
    nodes = RIGHT.nodes(soft.mesh.points)
    sag = (state.points(soft)[nodes] - soft.mesh.points[nodes])[:, 2].mean()
    assert sag < -1e-4
    tips = [state.points(rod)[-1, 2], state.points(beam)[-1, 2], state.pose(ball)[0, 2]]
    np.testing.assert_allclose(tips, sag, rtol=1e-6)


def test_rotations_are_geared():
    """A beam turned at its end by 0.8 rad turns another by half of that, the other way."""
    scene = pl.Scene(gravity=(0, 0, 0))
    beams = [scene.add(pl.Beam([(0.03 * k, y, 0) for k in range(4)], clamp=[0], **SLENDER)) for y in (0.0, 0.1)]
    scene.add(pl.LinearConstraint(pl.Term(beams[0], (1, 0, 0), region=[3], rotation=True), value=0.8))
    gear = [pl.Term(b, (c, 0, 0), region=[3], rotation=True) for b, c in zip(beams, (1, 2), strict=True)]
    scene.add(pl.LinearConstraint(gear, name="gear"))
    world = scene.compile()
    state, _ = pl.QuasiStatic()(world, world.initial_state())
    turned = [pl.mesh.mesh.rotation_matrix((a, 0, 0)) for a in (0.8, -0.4)]
    for model, q, wanted in zip(world.models, state.q, turned, strict=True):
        start = model.node_frames(model.initial()[0])[3]
        np.testing.assert_allclose(model.node_frames(q)[3] @ start.T, wanted, atol=1e-7)


def random_constraints(seed):
    """A block with random constraints on random points, some of them given twice, and their matrix by hand."""
    rng = np.random.default_rng(seed)
    scene = pl.Scene(gravity=(0, 0, -9.81))
    body = block(scene)
    free = np.setdiff1d(np.arange(len(body.mesh.points)), LEFT.nodes(body.mesh.points))
    rows, values = [], []
    for k in range(rng.integers(2, 6)):
        nodes = rng.choice(free, rng.integers(1, 4), replace=False)
        coefficients = rng.normal(size=(len(nodes), 3))
        value = rng.normal() * 5e-4
        terms = [pl.Term(body, c, region=[int(n)]) for n, c in zip(nodes, coefficients, strict=True)]
        for copy in range(1 + (k % 2)):  # every second one twice: redundant
            scene.add(pl.LinearConstraint(terms, value=value, name=f"row {k} {copy}"))
        row = np.zeros((len(body.mesh.points), 3))
        row[nodes] = coefficients
        rows.append(row.ravel())
        values.append(value)
    return scene.compile(), body, np.array(rows), np.array(values)


@pytest.mark.parametrize("seed", range(6))
def test_random_sets_agree_with_the_saddle_point_problem(seed):
    """Linear elasticity: K u + Cᵀ μ = f, C u = b, solved densely with K and f read from the residual of the model."""
    world, body, C, b = random_constraints(seed)
    state, _ = pl.QuasiStatic()(world, world.initial_state())
    free = ~world.models[0].constrained.ravel()
    plain = pl.Scene(gravity=(0, 0, -9.81))
    other = block(plain)
    alone = plain.compile()
    nodes = np.flatnonzero(free)
    unloaded = pl.QuasiStatic()(alone, alone.initial_state())[0].q[0].ravel()
    compliance = np.zeros((len(C), len(C)))
    moved = np.zeros((len(C), free.size))
    for k, row in enumerate(C):
        loaded = pl.Scene(gravity=(0, 0, 0))
        again = block(loaded)
        for n in np.flatnonzero(row.reshape(-1, 3).any(axis=1)):
            loaded.add(pl.PointLoad(again, pl.regions.nodes([int(n)]), row.reshape(-1, 3)[n]))
        made = loaded.compile()
        moved[k] = pl.QuasiStatic()(made, made.initial_state())[0].q[0].ravel() - other.mesh.points.ravel()
        compliance[:, k] = C @ moved[k]
    u = unloaded - other.mesh.points.ravel()
    expected = u + np.linalg.solve(compliance, b - C @ u) @ moved
    found = state.q[0].ravel() - body.mesh.points.ravel()
    np.testing.assert_allclose(found[nodes], expected[nodes], atol=1e-8 * np.abs(expected).max())
    np.testing.assert_allclose(C @ found, b, atol=1e-12)


def test_contradicting_constraints_are_named():
    scene = pl.Scene(gravity=(0, 0, 0))
    body = block(scene)
    for value, name in ((0.0, "stay"), (1e-3, "go")):
        scene.add(pl.LinearConstraint(pl.Term(body, (0, 0, 1), region=RIGHT), value=value, name=name))
    world = scene.compile()
    for stepper in (pl.QuasiStatic(), pl.ImplicitEuler(0.01)):
        with pytest.raises(pl.PliantError, match=r"'stay', 'go' cannot be satisfied together"):
            stepper(world, world.initial_state())


def test_a_constraint_on_clamped_nodes():
    """Without a value it is redundant; with one it contradicts the clamp."""
    scene = pl.Scene(gravity=(0, 0, -9.81))
    body = block(scene)
    held = scene.add(pl.LinearConstraint(pl.Term(body, (0, 0, 1), region=LEFT), name="clamped"))
    world = scene.compile()
    state, _ = pl.QuasiStatic()(world, world.initial_state())
    assert np.isfinite(state.q[0]).all()
    with pytest.raises(pl.errors.PliantError, match="clamped"):
        pl.QuasiStatic()(world, state, {held: pl.Displacement(1e-3)})


@pytest.mark.parametrize("seed", range(3))
def test_gradients_are_derivatives(seed):
    """H by differences, with rotations and displacements of a bent beam, a rod and a turned rigid body."""
    rng = np.random.default_rng(seed)
    scene = pl.Scene()
    bodies = [
        scene.add(pl.Rod(0.1, 2, base="free", **SLENDER)),
        scene.add(pl.Beam([(0.05 * k, 0.1, 0) for k in range(3)], **SLENDER)),
        scene.add(pl.RigidBody.box(size=(0.02, 0.03, 0.04), mass=0.1)),
    ]
    where = ({"region": [1, 2]}, {"region": [1, 2]}, {"points": [(0.01, 0, 0), (0, 0.015, 0.02)]})
    terms = [
        pl.Term(b, rng.normal(size=3), **w, rotation=r) for b, w in zip(bodies, where, strict=True) for r in (0, 1)
    ]
    scene.add(pl.LinearConstraint(terms))
    world = scene.compile()
    rows = world.constraints[0]
    state = world.initial_state()
    q = [
        m.trial(_start(m, x)).at(rng.normal(size=m.constrained.shape) * 0.3).positions()
        for m, x in zip(world.models, state.q, strict=True)
    ]
    _, H = _rows(rows, world, q)
    for k, model in enumerate(world.models):
        for unknown in np.flatnonzero(~model.constrained.ravel()):
            gaps = []
            for sign in (1, -1):
                dx = np.zeros(model.constrained.shape)
                dx.ravel()[unknown] = sign * 1e-6
                moved = list(q)
                moved[k] = model.trial(_start(model, q[k])).at(dx).positions()
                gaps.append(_rows(rows, world, moved)[0])
            np.testing.assert_allclose((gaps[0] - gaps[1]) / 2e-6, H[k][:, unknown], atol=1e-7)


def _start(model, q):
    from pliant.models.model import StepStart
    from pliant.models.scheme import static_scheme

    return StepStart(q, np.zeros(model.constrained.shape), static_scheme(0.0), np.zeros(3), {})


def _rows(rows, world, q):
    made, _ = rows.rows(RowView.of(world.models, q))
    return made.gap, [h.toarray() for h in made.H]


def test_constraints_are_stored(tmp_path):
    scene = pl.Scene(gravity=(0, 0, -9.81))
    body = block(scene)
    scene.add(pl.LinearConstraint.equal(body, RIGHT, direction=(0, 0, 1)))
    world = scene.compile()
    world.save(tmp_path / "world.npz")
    states = [pl.QuasiStatic()(w, w.initial_state())[0].q[0] for w in (world, pl.load(tmp_path / "world.npz"))]
    np.testing.assert_array_equal(*states)


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda b: pl.LinearConstraint([]), "one or more of pl.Term"),
        (lambda b: pl.LinearConstraint(pl.Term(b, (0, 0, 0), region=RIGHT)), "is zero"),
        (lambda b: pl.LinearConstraint(pl.Term(b, (0, 1), region=RIGHT)), "coefficient of a Term"),
        (lambda b: pl.LinearConstraint(pl.Term(b, (0, 0, 1))), "either points or a region"),
        (lambda b: pl.LinearConstraint(pl.Term(b, (0, 0, 1), region=RIGHT, pick="some")), "pick of a Term"),
        (lambda b: pl.LinearConstraint(pl.Term(b, (0, 0, 1), region=RIGHT, rotation=True)), "do not rotate"),
        (lambda b: pl.LinearConstraint(pl.Term(b, (0, 0, 1), region=RIGHT), value=np.nan), "value of"),
        (lambda b: pl.LinearConstraint(pl.Term(b, (0, 0, 1), points=(1.0, 0, 0))), "point 0"),
        (
            lambda b: pl.LinearConstraint([pl.Term(b, (0, 0, 1), region=r) for r in ([1, 2], [3, 4, 5])]),
            "2 and 3 points",
        ),
        (lambda b: pl.LinearConstraint.equal(b, [3], direction=(1, 0, 0)), "has no points"),
        (lambda b: pl.LinearConstraint.plane(b, RIGHT, normal=(0, 0, 0)), "normal of a plane"),
        (lambda b: pl.Term("body", (0, 0, 1), region=RIGHT), "of a body"),
    ],
)
def test_bad_constraints(make, text):
    scene = pl.Scene()
    body = block(scene)

    def compiled():
        scene.add(make(body))
        scene.compile()

    with pytest.raises(pl.PliantError, match=text):
        compiled()


def test_the_rate_of_a_constraint_is_the_change_of_its_sum_over_the_step():
    scene = pl.Scene()
    scene.add(pl.LinearConstraint([pl.Term(block(scene), (1, 0, 2), region=RIGHT)]))
    world = scene.compile()
    constraint, q = world.constraints[0], world.models[0].rest
    change = 1e-3 * np.random.default_rng(0).normal(size=q.shape)
    view = RowView.of(world.models, [q + change], start=[q], moved=[change], dt=0.02)
    rows, _ = constraint.rows(view)
    before, _ = constraint.rows(RowView.of(world.models, [q]))
    np.testing.assert_allclose(constraint.rates(view, rows, None), (rows.gap - before.gap) / 0.02, rtol=1e-9)


@pytest.mark.parametrize("points", [[(0.0, 0.0)], [(0.0, 0.0, np.nan)], "here"])
def test_points_of_a_term_are_checked(points):
    with pytest.raises(pl.InputError, match="points of a Term"):
        pl.Term(block(pl.Scene()), (1, 0, 0), points=points)


@pytest.mark.parametrize("side", [0.0, 1.0])
@pytest.mark.parametrize(("off", "taken"), [(0.0, True), (5e-7, True), (2e-6, False)])
def test_periodic_points_may_miss_their_faces_by_rounding_on_either_side(side, off, taken):
    """A micrometre; others are refused, as embedded points are."""
    scene = pl.Scene()
    mesh = pl.mesh.box((0.04, 0.04, 0.04), (2, 2, 2))
    rubber = pl.materials.Corotated(young=1e5, poisson=0.3, density=1e3)
    body = scene.add(pl.Volume(mesh, rubber))
    points = np.array([(0.0, 0.01, 0.01), (0.0, 0.03, 0.02)])
    shift = (-off, 0.0, 0.0) if side == 0.0 else (0.0, 0.0, 0.0)
    period = (0.04 + off, 0.0, 0.0)
    pair = pl.LinearConstraint.periodic(body, points + shift, period=period, direction=(1, 0, 0), value=1e-3)
    scene.add(pair)
    if not taken:
        with pytest.raises(pl.PliantError):
            scene.compile()
        return
    world = scene.compile()
    rows, _ = world.constraints[0].rows_at(RowView.of(world.models))
    x = world.models[0].rest
    np.testing.assert_allclose(rows.H[0] @ x.ravel(), 0.04, atol=1e-5)  # the two faces are a period apart
    np.testing.assert_allclose(rows.H[0] @ np.ones(x.size), 0.0, atol=1e-12)
    np.testing.assert_allclose(rows.gap, -1e-3, atol=1e-15)
