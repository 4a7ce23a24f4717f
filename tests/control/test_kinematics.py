"""Kinematics and compliance where a robot stands, against the nonlinear solver itself."""

import numpy as np
import pytest
from scipy import sparse

import pliant as pl
from pliant.constraints.coupling import couple, with_couplings
from pliant.constraints.rows import RowLaw, Rows
from pliant.control import kinematics, point_compliance, point_stiffness, reachable_set
from pliant.control.kinematics import _unsprung, holds, origin
from pliant.core.errors import InputError
from pliant.solvers.linear import DenseFactor

MESH = pl.mesh.box((0.2, 0.03, 0.03), (10, 2, 2))
RUBBER = pl.materials.Corotated(young=2e5, poisson=0.3, density=1e3)
TIP = (0.2, 0.015, 0.015)
NODE = int(np.argmin(np.linalg.norm(MESH.points - TIP, axis=1)))


def beam(floor=None, friction=0.0):
    scene = pl.Scene()
    body = scene.add(pl.Volume(MESH, RUBBER, clamp=pl.regions.plane(axis="x", at=0.0)))
    cables = [
        scene.add(pl.Cable(body, [(x, y, z) for x in (0.0, 0.1, 0.2)], name=str(k)))
        for k, (y, z) in enumerate([(0.025, 0.015), (0.015, 0.025), (0.008, 0.008)])
    ]
    if floor is not None:
        wall = scene.add(pl.Obstacle.plane(point=(0, 0, floor)))
        scene.collide(body, wall, friction=friction, margin=0.004)
    return scene.compile(), body, cables


def settled(world, cables, amounts):
    controls = {c: pl.Displacement(a) for c, a in zip(cables, amounts, strict=True)}
    return pl.QuasiStatic(tolerance=1e-11)(world, world.initial_state(), controls)[0]


def test_a_slack_cable_moves_nothing():
    """Pulled to one side, the cable on the other side hangs loose: its column is zero, the others are as without it."""
    world, body, cables = beam()
    state = settled(world, cables, (0.0, 0.0, 0.002))
    controls = {c: pl.Displacement(a) for c, a in zip(cables, (-0.01, -0.01, 0.002), strict=True)}
    state, _ = pl.QuasiStatic(tolerance=1e-11)(world, state, controls)
    found = kinematics(world, state, effectors=[pl.Effector(body, TIP)], actuators=cables, controls=controls)
    assert found.slack.tolist() == [True, True, False]
    assert not found.jacobian[:, :2].any()
    ahead = settled(world, cables, (-0.01, -0.01, 0.002 + 1e-7)).points(body)[NODE]
    back = settled(world, cables, (-0.01, -0.01, 0.002 - 1e-7)).points(body)[NODE]
    np.testing.assert_allclose(found.jacobian[:, 2], (ahead - back) / 2e-7, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("floor", [None, -0.0005])
def test_the_jacobian_is_the_derivative_of_the_equilibrium(floor):
    """J from W, after bilateral and pressing rows are eliminated, against differences of converged equilibria."""
    world, body, cables = beam(floor)
    amounts = np.array([0.0008, 0.0005, 0.0016])  # the last pulls the tip down, on the floor where there is one
    state = settled(world, cables, amounts)
    tip = pl.Effector(body, TIP)
    controls = {c: pl.Displacement(a) for c, a in zip(cables, amounts, strict=True)}
    J = kinematics(world, state, effectors=[tip], actuators=cables, controls=controls).jacobian
    if floor is not None:
        _, info = pl.QuasiStatic(tolerance=1e-11)(world, state, controls)
        assert (info.contacts(body, world.obstacles[0]).forces[:, 2] > 1e-6).any()
    step = 1e-7
    for k in range(3):
        ahead, back = (settled(world, cables, amounts + s * step * np.eye(3)[k]) for s in (1, -1))
        change = (ahead.points(body)[NODE] - back.points(body)[NODE]) / (2 * step)
        np.testing.assert_allclose(J[:, k], change, atol=1e-4 * np.abs(J).max())


def test_the_stiffness_felt_at_a_point():
    """A small push at the point moves it by the compliance; cables held by displacement stiffen the body."""
    world, body, cables = beam()
    amounts = np.array([0.0008, 0.0005, 0.0016])
    state = settled(world, cables, amounts)
    held = {c: pl.Displacement(a) for c, a in zip(cables, amounts, strict=True)}
    C = point_compliance(world, state, body, TIP, controls=held)
    np.testing.assert_allclose(point_stiffness(world, state, body, TIP, controls=held) @ C, np.eye(3), atol=1e-9)
    scene = pl.Scene()
    twin = scene.add(pl.Volume(MESH, RUBBER, clamp=pl.regions.plane(axis="x", at=0.0)))
    strings = [scene.add(pl.Cable(twin, cable.via_points)) for cable in cables]
    push = scene.add(pl.ForcePoint(twin, TIP, direction=(0, 1, 1)))
    other = scene.compile()
    controls = {c: pl.Displacement(a) for c, a in zip(strings, amounts, strict=True)}
    places = []
    for force in (1e-4, -1e-4):
        pushed, _ = pl.QuasiStatic(tolerance=1e-11)(other, other.initial_state(), controls | {push: pl.Force(force)})
        places.append(pushed.points(twin)[NODE])
    d = np.array([0, 1, 1]) / np.sqrt(2)
    np.testing.assert_allclose(C @ d, (places[0] - places[1]) / 2e-4, rtol=1e-4, atol=1e-4 * np.abs(C).max())
    lam = [float(x) for x in pl.QuasiStatic()(world, state, held)[1].actuation(cables)[1]]
    loose = point_compliance(
        world, state, body, TIP, controls={c: pl.Force(f) for c, f in zip(cables, lam, strict=True)}
    )
    assert (np.linalg.eigvalsh(loose - C) > -1e-9).all()
    assert np.trace(loose) > 1.2 * np.trace(C)


def test_the_reachable_set_is_sampled_with_a_seed():
    world, body, cables = beam()
    tip = pl.Effector(body, TIP)
    options = {"effector": tip, "actuators": cables[:2], "ranges": [(0, 0.01)] * 2, "samples": 6}
    amounts, places = reachable_set(world, **options)
    again, _ = reachable_set(world, **options)
    np.testing.assert_array_equal(amounts, again)
    assert places.shape == (6, 3)
    k = int(np.argmax(amounts[:, 1]))  # the cable on top pulls the tip up
    assert places[k, 2] > 0.015
    state, _ = pl.QuasiStatic(tolerance=1e-8)(
        world, world.initial_state(), {c: pl.Displacement(x) for c, x in zip(cables, amounts[0], strict=False)}
    )
    np.testing.assert_allclose(state.points(body)[NODE], places[0], atol=1e-5)
    with pytest.raises(InputError, match="ranges"):
        reachable_set(world, effector=tip, actuators=cables, ranges=[(0, 1)], samples=2)


def test_a_spring_adds_its_stiffness_to_that_of_a_point():
    """A stretched spring at the point that is pushed: the deflection under a small force of a quasi-static solve."""
    law = pl.materials.StVenantKirchhoff(young=1e5, poisson=0.3, density=1000)
    mesh = pl.mesh.box((0.1, 0.02, 0.02), (5, 1, 1))
    corner = int(np.argmax(mesh.points.sum(axis=1)))
    place, end = mesh.points[corner], mesh.points[corner] + np.array([0.0, 0.0, 0.03])
    scene = pl.Scene()
    body = scene.add(pl.Volume(mesh, law, clamp=pl.regions.plane(axis="x", at=0)))
    scene.add(pl.Spring(body, None, points=[place], ends=[end], stiffness=20.0))
    load = scene.add(pl.PointLoad(body, [corner], (0, 0, 0)))
    world = scene.compile()
    step = pl.QuasiStatic(tolerance=1e-10)
    state, _ = step(world, world.initial_state())
    ends = [step(world, state, {load: pl.Force((0, 0, f))})[0].points(body)[corner] for f in (1e-4, -1e-4)]
    C = pl.control.point_compliance(world, state, body, place)
    np.testing.assert_allclose(C[:, 2], (ends[0] - ends[1]) / 2e-4, atol=1e-4 * np.abs(C).max())


@pytest.mark.parametrize("seed", [0, 5])
def test_samples_of_the_reachable_set_are_a_latin_hypercube(seed):
    """Each of n equal parts of each range holds one sample; increments go from rest to it in equal steps."""
    world, body, cables = beam()
    ranges, count, asked = np.array([(-1.0, 1.0), (2.0, 5.0)]), 7, []

    def stepper(world, state, controls):
        asked.append([controls[cable].value for cable in cables[:2]])
        if sum(asked[-1]) > 5.0:
            raise pl.ConvergenceError("beyond")
        return state, None

    amounts, places = reachable_set(
        world, effector=pl.Effector(body, TIP), actuators=cables[:2], ranges=ranges, samples=count, seed=seed,
        steps=2, stepper=stepper,
    )  # fmt: skip
    asked = np.array(asked)
    ends = [asked[k + 1] for k in range(len(asked) - 1) if np.allclose(2.0 * asked[k], asked[k + 1])]
    np.testing.assert_allclose(amounts, [end for end in ends if end.sum() <= 5.0])
    assert len(amounts) < count, "samples without an equilibrium are left out"
    np.testing.assert_allclose(places, np.tile(TIP, (len(amounts), 1)), atol=1e-12)
    whole = np.array(ends)
    assert len(whole) == count
    for column, (low, high) in zip(whole.T, ranges, strict=True):
        parts = np.floor((column - low) / (high - low) * count)
        assert sorted(parts) == list(range(count))


def test_an_empty_reachable_set_keeps_its_shape():
    world, body, cables = beam()

    def never(world, state, controls):
        raise pl.ConvergenceError("no")

    amounts, places = reachable_set(
        world, effector=pl.Effector(body, TIP), actuators=cables, ranges=[(0, 0.01)] * 3, samples=3, stepper=never
    )
    assert (amounts.shape, places.shape) == ((0, 3), (0, 3))
    for ranges in ([(1, 0)] * 3, [(0, 1)] * 2, [(0, 1, 2)] * 3):
        with pytest.raises(InputError, match="the lower and upper displacement of each actuator"):
            reachable_set(world, effector=pl.Effector(body, TIP), actuators=cables, ranges=ranges, samples=3)


def rows_of(laws, mu=0.0):
    count = len(laws)
    return Rows.of([sparse.csr_matrix((count, 3))], np.zeros(count), np.array(laws), mu=mu)


def test_rows_hold_by_their_law_and_force():
    """Bilateral ones always, bounded and unilateral ones where they press, imposed forces never."""
    laws = [RowLaw.BILATERAL, RowLaw.SIGNORINI, RowLaw.SIGNORINI, RowLaw.BOUNDED, RowLaw.BOUNDED, RowLaw.IMPOSED]
    found = holds(rows_of(laws), np.array([0.0, 2.0, 1e-10, -3.0, 0.0, 5.0]))
    assert found.tolist() == [True, True, False, True, False, False]
    assert not holds(rows_of(laws[1:]), np.zeros(5)).any()
    pulled = holds(rows_of([RowLaw.BOUNDED] * 3), np.array([-3.0, -1e-10, -1e-8]))
    assert pulled.tolist() == [True, False, True], "the largest force may be a negative one"


@pytest.mark.parametrize("contacts", [1, 3])
def test_a_contact_holds_along_the_surface_where_friction_is_below_its_limit(contacts):
    """λ = (normal, tangents): sticks within the cone, slides on it, open without a normal force."""
    cases = [
        ((1.0, 0.1, 0.2), [True, True, True]),
        ((1.0, 0.3, 0.4), [True, False, False]),
        ((1.0, 0.0, 0.5), [True, False, False]),
        ((0.0, 0.0, 0.0), [False, False, False]),
        ((2.0, 0.6, -0.7), [True, True, True]),
        ((1.0, 0.0, 0.0), [True, True, True]),
    ]
    for first in range(0, len(cases), contacts):
        chosen = cases[first : first + contacts]
        lam = np.concatenate([given for given, _ in chosen] + [[4.0]])
        laws = [RowLaw.COULOMB] * 3 * len(chosen) + [RowLaw.BILATERAL]
        found = holds(rows_of(laws, mu=0.5), lam)
        assert found.tolist() == [one for _, held in chosen for one in held] + [True]


def test_zero_targets_of_points_and_numbers():
    world, body, _ = beam()
    tip = pl.Effector(body, TIP)
    np.testing.assert_allclose(tip.bound(world).measure.error(world.initial_state().q, origin(tip)), TIP, atol=1e-12)


@pytest.mark.parametrize("dt", [0.0, -0.01, 1e-13, np.nan])
def test_steps_of_kinematics_have_a_length(dt):
    world, body, cables = beam()
    state, tip = world.initial_state(), pl.Effector(body, TIP)
    with pytest.raises(InputError, match="dt"):
        kinematics(world, state, effectors=[tip], actuators=cables, dt=dt)
    with pytest.raises(InputError, match="dt"):
        point_compliance(world, state, body, TIP, dt=dt)
    for given, said in (
        ({"effectors": []}, "effectors of kinematics"),
        ({"actuators": [tip]}, "actuators of kinematics"),
    ):
        with pytest.raises(InputError, match=said):
            kinematics(world, state, **{"effectors": [tip], "actuators": cables} | given)


@pytest.mark.parametrize(("base", "driven"), [(None, None), (pl.Slide((1, 0, 0)), pl.Displacement(0.0)),
                                              (pl.Turn((0, 0, 1)), pl.Angle(0.0))])  # fmt: skip
def test_a_rod_whose_base_is_held_bends_as_a_cantilever(base, driven):
    """L³/3EI across, nothing along, whatever keeps the base: a clamp, or a drive at rest that carries some load."""
    young, length = 1e9, 0.2
    material = {"section": pl.sections.Circle(2e-3), "young": young, "poisson": 0.3, "density": 1e3}
    scene = pl.Scene(gravity=(1e-3, 1e-3, 0.0))
    rod = scene.add(pl.Rod(length, 8, **material, **({} if base is None else {"base": base})))
    controls = {} if base is None else {scene.add(pl.BaseDrive(rod)): driven}
    world = scene.compile()
    state, _ = pl.QuasiStatic(tolerance=1e-10)(world, world.initial_state(), controls)
    C = point_compliance(world, state, rod, (length, 0, 0), controls=controls)
    across = length**3 / (3.0 * young * np.pi * 16e-12 / 4.0)
    # piecewise constant strain: 1 / (4 · 8²) less
    np.testing.assert_allclose(C, np.diag([0.0, across, across]), atol=5e-3 * across)


@pytest.mark.parametrize("spring", [1e-3, 1.0, 1e3])
def test_a_spring_that_made_a_factor_possible_is_taken_away_again(spring):
    """W of A, from the factor of A with a spring at one unknown; A alone is indefinite."""
    rng = np.random.default_rng(0)
    matrices = [np.diag([3.0, 2.0, -1e-4, 5.0]), np.diag([1.0, 2.0])]
    rows = [rng.normal(size=(3, 4)), rng.normal(size=(3, 2))]
    sprung = [matrices[0] + spring * np.outer(np.eye(4)[2], np.eye(4)[2]), matrices[1]]
    removed = _unsprung(0, 2, spring, [4, 2])
    W = with_couplings([sparse.csr_matrix(h) for h in rows], [DenseFactor(A) for A in sprung], [removed])
    expected = sum(h @ np.linalg.solve(A, h.T) for h, A in zip(rows, matrices, strict=True))
    np.testing.assert_allclose(couple(W, [removed]), expected, rtol=1e-6)
