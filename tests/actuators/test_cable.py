"""Cables: the row against finite differences, the law of each control, and what is refused."""

from dataclasses import replace

import numpy as np
import pytest

import pliant as pl
from pliant.constraints import RowLaw, RowView
from pliant.core.errors import InfeasibleError, InputError, PliantError
from pliant.models.scheme import euler_scheme
from pliant.solvers.linear.matrix import BlockMatrix
from pliant.stepping.bodies import StepBodies

MESH = pl.mesh.box((0.2, 0.05, 0.05), (4, 1, 1))
RUBBER = pl.materials.Corotated(young=1e5, poisson=0.4, density=1e3)
PATH = [(0.01, 0.02, 0.02), (0.08, 0.03, 0.03), (0.13, 0.02, 0.04), (0.19, 0.03, 0.02)]


def cabled(points=PATH, **options):
    scene = pl.Scene()
    body = scene.add(pl.Volume(MESH, RUBBER, clamp=pl.regions.plane(axis="x", at=0.0)))
    cable = scene.add(pl.Cable(body, points, **options))
    return scene.compile(), body, cable


def view_of(world, q, controls=None):
    return RowView.of(world.models, [q], controls=world.controls(controls))


def path_length(points):
    return np.linalg.norm(np.diff(points, axis=0), axis=1).sum()


@pytest.mark.parametrize("pull_point", [None, (-0.05, 0.02, 0.1)])
def test_the_row_is_the_gradient_of_the_shortening(pull_point):
    """Virtual work: dL = −H·dx, by central differences at a deformed shape; δ = L₀ − L."""
    world, _, _ = cabled(pull_point=pull_point)
    constraint, rng = world.constraints[0], np.random.default_rng(0)
    path = PATH if pull_point is None else [pull_point, *PATH]
    assert constraint.rest_length == pytest.approx(path_length(path))
    q = MESH.points + 0.01 * rng.normal(size=MESH.points.shape)
    rows, _ = constraint.rows(view_of(world, q))
    assert rows.gap[0] == pytest.approx(constraint.rest_length - constraint.length([q]))
    for _ in range(5):
        d = rng.normal(size=q.shape)
        change = (constraint.length([q + 1e-6 * d]) - constraint.length([q - 1e-6 * d])) / 2e-6
        assert -(rows.H[0] @ d.ravel())[0] == pytest.approx(change, rel=1e-7)


def test_the_forces_of_a_cable_balance():
    """Between via points of one body Hᵀλ has no resultant force and no moment; a pull point in the world takes both."""
    world, _, _ = cabled()
    q = MESH.points + 0.005 * np.random.default_rng(1).normal(size=MESH.points.shape)
    rows, _ = world.constraints[0].rows(view_of(world, q))
    force = rows.H[0].toarray().reshape(-1, 3)
    np.testing.assert_allclose(force.sum(axis=0), 0.0, atol=1e-12)
    np.testing.assert_allclose(np.cross(q, force).sum(axis=0), 0.0, atol=1e-12)
    pulled, _, _ = cabled(pull_point=(-0.05, 0.02, 0.02))
    rows, _ = pulled.constraints[0].rows(view_of(pulled, MESH.points))
    np.testing.assert_allclose(rows.H[0].toarray().reshape(-1, 3).sum(axis=0), [-1, 0, 0], atol=1e-12)


def test_laws_of_the_controls():
    world, _, cable = cabled(min_force=0.2, max_force=5.0)
    constraint = world.constraints[0]

    def law(controls):
        rows, _ = constraint.rows(view_of(world, MESH.points, controls))
        return int(rows.law[0]), rows.lower[0], rows.upper[0], rows.target[0]

    assert law({cable: pl.Displacement(0.01)}) == (RowLaw.BOUNDED, 0.2, 5.0, 0.01)
    assert law({cable: pl.Force(3.0)})[::3] == (RowLaw.IMPOSED, 3.0)
    assert law(None)[::3] == (RowLaw.IMPOSED, 0.2)


def test_a_cable_follows_the_placement_of_its_body():
    """Via points are given in the frame of the mesh, whatever the body's position in the scene."""
    scene = pl.Scene()
    body = scene.add(pl.Volume(MESH, RUBBER), position=(1.0, 2.0, 3.0), rotation=(0.0, 0.0, 0.7))
    scene.add(pl.Cable(body, PATH))
    world = scene.compile()
    assert world.constraints[0].rest_length == pytest.approx(path_length(PATH))


@pytest.mark.parametrize(
    ("points", "options", "text"),
    [
        ([(0.1, 0.02, 0.02)], {}, "'cable' has 1 points; a cable needs two"),
        ([(0.1, 0.02), (0.1, 0.03)], {}, "via_points of 'cable'"),
        ([(0.1, 0.02, np.nan), (0.1, 0.03, 0.02)], {}, "via_points of 'cable'"),
        (PATH, {"min_force": -1.0}, "min_force of 'cable'"),
        (PATH, {"min_force": 2.0, "max_force": 1.0}, "max_force of 'cable' is 1 N, but min_force 2 N"),
        (PATH, {"pull_point": (0, 0)}, "pull_point"),
        ([(0.1, 0.02, 0.02), (0.3, 0.02, 0.02)], {"name": "tendon"}, "tendon"),
        (PATH, {"friction": -0.1}, "friction of 'cable'"),
        (PATH, {"max_rate": 0.0}, "max_rate of 'cable'"),
        (PATH, {"guide_stiffness": -1.0}, "guide_stiffness of 'cable'"),
    ],
)
def test_bad_cables(points, options, text):
    with pytest.raises(PliantError, match=text):
        cabled(points, **options)


def test_a_point_outside_the_body_is_named_with_its_place():
    with pytest.raises(PliantError) as caught:
        cabled([(0.1, 0.02, 0.02), (0.3, 0.02, 0.02)])
    assert "0.3" in str(caught.value)


@pytest.mark.parametrize(
    ("control", "text"),
    [
        (pl.Pressure(1.0), "pl.Displacement"),
        (0.01, "pl.Displacement"),
        ((pl.Force(1.0), pl.Displacement(0.1)), "not both"),
        (pl.Force(-1.0), "force of 'cable'"),
        (pl.Force((1.0, 0.0, 0.0)), "force of 'cable'"),
        (pl.Force(11.0), "max_force is 10 N"),
        (0.01, r"a number alone has no unit, write pl\.Displacement\(0\.01\)"),
        (pl.Displacement(np.nan), "control of 'cable'"),
        (pl.Displacement(0.06), "max_displacement is 0.05 m"),
    ],
)
def test_a_cable_asked_wrongly(control, text):
    world, _, cable = cabled(max_force=10.0, max_displacement=0.05)
    with pytest.raises(InputError, match=text):
        pl.ImplicitEuler(dt=0.01)(world, world.initial_state(), {cable: control})


def test_cables_of_another_world_and_bodies_not_added():
    world, body, _ = cabled()
    with pytest.raises(InputError, match="is not an actuator"):
        pl.ImplicitEuler(dt=0.01)(world, world.initial_state(), {pl.Cable(body, PATH): pl.Force(1.0)})
    with pytest.raises(InputError, match="before its Cable"):
        pl.Scene().add(pl.Cable(body, PATH))


def test_a_cable_between_clamped_nodes_cannot_be_shortened():
    """Nothing on its path moves: a displacement is infeasible and says so, rather than pulling without end."""
    world, _, cable = cabled([(0.0, 0.01, 0.01), (0.0, 0.04, 0.04)])
    with pytest.raises(InfeasibleError, match="'cable' cannot be satisfied"):
        pl.ImplicitEuler(dt=0.01)(world, world.initial_state(), {cable: pl.Displacement(0.01)})


def test_two_cables_read_back_their_own():
    scene = pl.Scene()
    body = scene.add(pl.Volume(MESH, RUBBER, clamp=pl.regions.plane(axis="x", at=0.0)))
    lower, upper = (scene.add(pl.Cable(body, [(0.0, 0.025, z), (0.2, 0.025, z)], name=f"z {z}")) for z in (0.01, 0.04))
    world = scene.compile()
    state = world.initial_state()
    for _ in range(20):
        state, info = pl.ImplicitEuler(dt=0.01)(
            world, state, {lower: pl.Displacement(0.002), upper: pl.Displacement(0.0)}
        )
    assert info.actuation(lower)[0] == pytest.approx(0.002, abs=1e-12)
    assert info.actuation(lower)[1] > 0.0
    assert info.actuation(upper)[0] >= -1e-12
    with pytest.raises(InputError, match="is not an actuator of this world"):
        info.actuation(body)


def test_a_cable_through_several_bodies_and_the_world():
    """H of every body is the gradient of the shortening, by central differences over nodes and over rigid motions."""
    scene = pl.Scene()
    body = scene.add(pl.Volume(MESH, RUBBER, clamp=pl.regions.plane(axis="x", at=0.0)))
    ball = scene.add(pl.RigidBody.sphere(radius=0.01, mass=0.1, position=(0.3, 0.02, 0.02)))
    points = [PATH[0], PATH[2], (0.0, 0.01, 0.0), (0.4, 0.0, 0.1), (0.0, 0.0, 0.01)]
    scene.add(pl.Cable([body, body, ball, None, ball], points, pull_point=(0.0, 0.0, 0.1)))
    world = scene.compile()
    constraint, rng, state = world.constraints[0], np.random.default_rng(0), world.initial_state()
    motion = StepBodies.begin(world, state, euler_scheme(0.01), {})
    rows = motion.assembled().rows
    assert rows.gap[0] == pytest.approx(0.0, abs=1e-12)
    steps = [rng.normal(size=x.shape) for x in motion.dx]
    ahead, back = [], []
    for sign, lengths in ((1.0, ahead), (-1.0, back)):
        moved = motion.at([sign * 1e-6 * x for x in steps])
        lengths.append(constraint.length([trial.positions() for trial in moved.trials]))
    change = (ahead[0] - back[0]) / 2e-6
    assert -sum((h @ x.ravel())[0] for h, x in zip(rows.H, steps, strict=True)) == pytest.approx(change, rel=1e-7)


def test_a_cable_between_two_bodies_pulls_them_together():
    """Two free balls on a string of which a piece is taken away: momentum stays 0, the distance is what is left."""
    scene = pl.Scene()
    left, right = (
        scene.add(pl.RigidBody.sphere(radius=0.01, mass=mass, position=(x, 0, 0), name=str(x)))
        for x, mass in ((0.0, 0.1), (0.2, 0.3))
    )
    cable = scene.add(pl.Cable([left, right], [(0, 0, 0), (0, 0, 0)]))
    world = scene.compile()
    state, info = pl.ImplicitEuler(dt=0.01)(world, world.initial_state(), {cable: pl.Displacement(0.04)})
    assert np.linalg.norm(state.pose(left)[0] - state.pose(right)[0]) == pytest.approx(0.16)
    assert state.pose(left)[0][0] == pytest.approx(0.03)  # by the masses
    assert info.actuation(cable)[1] == pytest.approx(0.1 * 0.03 / 0.01**2)


def test_the_stiffness_of_a_pulled_cable_helps_newton_on_rigid_bodies():
    """A weight hanging from a cable, pushed aside by gravity: the tangent finds the equilibrium in a few steps."""
    scene = pl.Scene()
    ball = scene.add(pl.RigidBody.sphere(radius=0.01, mass=0.2, position=(0.0, 0.0, -0.5)))
    cable = scene.add(pl.Cable([None, ball], [(0, 0, 0), (0, 0, 0)]))
    world = scene.compile()
    stepper = pl.ImplicitEuler(dt=0.02, tolerance=1e-9)
    state = world.initial_state()
    for _ in range(3):
        controls = {cable: pl.Displacement(0.0), "gravity": (3.0, 0.0, -9.81)}
        state, info = stepper(world, state, controls)
    assert info.iterations <= 8
    assert np.linalg.norm(state.pose(ball)[0]) == pytest.approx(0.5, rel=1e-7)


def test_a_command_far_away_is_approached_at_the_largest_rate():
    world, _, cable = cabled(max_rate=0.01, max_force_rate=np.inf)
    state, reached = world.initial_state(), []
    for _ in range(4):
        state, info = pl.QuasiStatic(dt=0.1)(world, state, {cable: pl.Displacement(0.003)})
        reached.append(info.actuation(cable)[0])
    np.testing.assert_allclose(reached, [1e-3, 2e-3, 3e-3, 3e-3], rtol=1e-6)
    assert state.time == pytest.approx(0.4)
    world, _, cable = cabled(max_force_rate=5.0)
    state, reached = world.initial_state(), []
    for wanted in (1.2, 1.2, 1.2, 0.0):
        state, info = pl.QuasiStatic(dt=0.1)(world, state, {cable: pl.Force(wanted)})
        reached.append(info.actuation(cable)[1])
    np.testing.assert_allclose(reached, [0.5, 1.0, 1.2, 0.7], rtol=1e-12)


def test_a_cut_cable_stays_cut(tmp_path):
    """Whatever is asked afterwards it pulls no more, even below its least force; a restored state remembers."""
    world, _, cable = cabled(min_force=0.1)
    step, state = pl.ImplicitEuler(dt=0.01), world.initial_state()
    state, info = step(world, state, {cable: pl.Displacement(0.005)})
    assert info.actuation(cable)[1] > 0.1
    state, info = step(world, state, {cable: pl.Cut()})
    assert info.actuation(cable)[1] == 0.0
    state = world.load_state(state.save(tmp_path / "state.npz"))
    for _ in range(2):
        state, info = step(world, state, {cable: pl.Force(3.0)})
        assert info.actuation(cable)[1] == 0.0


def test_the_stiffness_of_a_tension_is_the_derivative_of_its_forces():
    """λ ∂²L/∂q² by central differences of λ ∂L/∂q, with segments about as long as at rest."""
    world, _, _ = cabled()
    constraint, model, rng = world.constraints[0], world.models[0], np.random.default_rng(0)
    q, lam = MESH.points + 1e-3 * rng.normal(size=MESH.points.shape), np.array([4.0])
    d = rng.normal(size=MESH.points.shape)
    for stiffness in (constraint.stiffness, constraint.bounded_stiffness):
        values = np.zeros((model.pattern.block_count, 3, 3))
        for _, K in stiffness([q], lam, 0.5):
            K.add_to(values)
        forces = [lam[0] * constraint.rows(view_of(world, q + step * d))[0].H[0].toarray() for step in (1e-6, -1e-6)]
        change = -0.5 * (forces[0] - forces[1]).reshape(q.shape) / 2e-6
        product = BlockMatrix(model.pattern, values).matvec(d)
        np.testing.assert_allclose(product, change, atol=1e-5 * np.abs(change).max())


def test_guides_of_a_cable_with_friction_obey_eulers_capstan():
    """Slips are the growth of the length beyond a via point, and the drop of tension is at most that of e^(−μθ)."""
    world, _, _ = cabled(friction=0.4)
    constraint, rng = world.constraints[0], np.random.default_rng(2)
    q = MESH.points + 1e-3 * rng.normal(size=MESH.points.shape)
    moved = q + 1e-4 * rng.normal(size=q.shape)
    scheme, state = euler_scheme(0.01), replace(world.initial_state(), q=(q,))
    rows = StepBodies.begin(world, state, scheme, world.controls(None)).at([moved - q]).assembled().rows
    pieces = [np.diff(constraint.path([x]), axis=0) for x in (q, moved)]
    before, after = (np.linalg.norm(piece, axis=1) for piece in pieces)
    np.testing.assert_allclose(rows.gap[1:], [(after - before)[k:].sum() for k in (1, 2)], rtol=1e-9)
    units = pieces[1] / after[:, None]
    turn = np.arccos(np.einsum("si,si->s", units[1:], units[:-1]))
    assert turn.min() > 0.1
    np.testing.assert_allclose(rows.upper[1:], 1.0 - np.exp(-0.4 * turn), rtol=1e-9)
    np.testing.assert_allclose(rows.lower[1:], 1.0 - np.exp(0.4 * turn), rtol=1e-9)


def test_tubes_of_a_cable_are_in_volumes_alone():
    scene = pl.Scene()
    soft = scene.add(pl.Volume(MESH, RUBBER))
    hard = scene.add(pl.RigidBody.sphere(radius=0.02, mass=0.1, position=(0.3, 0, 0)))
    through = [(0.01, 0.02, 0.02), (0.19, 0.02, 0.02), (-0.01, 0, 0), (0.01, 0, 0)]
    cable = pl.Cable((soft, soft, hard, hard), through, guide_stiffness=3.0)
    (tube,) = cable.guides()
    assert tube.body is soft
    assert tube.stiffness == 3.0
    np.testing.assert_array_equal(tube.points, through[:2])
    assert pl.Cable(soft, PATH).guides() == []
    in_the_air = pl.Cable((soft, soft, None, None), through, guide_stiffness=3.0)
    assert [tube.body for tube in in_the_air.guides()] == [soft]


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("name", ["stiffness", "bounded_stiffness"])
def test_the_stiffness_of_cables_with_and_without_friction_is_the_same_at_one_tension(seed, name):
    """Both ways of evaluation, at shapes with segments of any length, down to ends that meet; the bounded one of short
    segments is no less in any direction.
    """
    rng = np.random.default_rng(seed)
    free, rough = cabled()[0], cabled(friction=0.3)[0]
    model = free.models[0]
    shrunk = np.array([10.0 ** rng.uniform(-3.0, 0.0), 1.0, 1.0])
    q = MESH.points * shrunk + 10.0 ** rng.uniform(-5.0, -2.0) * rng.normal(size=MESH.points.shape)
    made = {}
    for label, world in (("free", free), ("rough", rough)):
        constraint = world.constraints[0]
        lam = np.zeros(len(constraint.stiff_keys))
        lam[0] = 3.0
        for kind in ("stiffness", name):
            values = np.zeros((model.pattern.block_count, 3, 3))
            for _, K in getattr(constraint, kind)([q], lam, 0.5):
                K.add_to(values)
            made[label, kind] = values
    largest = np.abs(made["free", name]).max()
    np.testing.assert_allclose(made["rough", name], made["free", name], atol=1e-9 * largest)
    d = rng.normal(size=(20, *q.shape))
    exact, bounded = (BlockMatrix(model.pattern, made["free", kind]) for kind in ("stiffness", name))
    for x in d:
        assert np.vdot(x, bounded.matvec(x)) >= np.vdot(x, exact.matvec(x)) - 1e-9 * largest
