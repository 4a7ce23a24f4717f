"""A volume confined to modes: the whole space gives the whole body, and rigid motion is kept exactly."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import linalg, sparse

import pliant as pl
from pliant.materials import Tangent
from pliant.models.model import StepStart
from pliant.models.scheme import euler_scheme
from pliant.reduced import Subspace
from pliant.reduced.chart import rigid_motions
from pliant.reduced.strain_modes import StrainModes
from pliant.reduced.subspace_model import _orthonormal
from pliant.solvers.linear import BlockMatrix
from pliant.world.reduced import reduced

LAWS = {
    "corotated": pl.materials.Corotated(young=1e5, poisson=0.4, density=1000),
    "neo-hookean": pl.materials.NeoHookean(young=1e5, poisson=0.4, density=1000),
    "linear": pl.materials.Linear(young=1e5, poisson=0.4, density=1000),
}


def bar(law="corotated", element="tet4", *, held=True, loaded=True):
    """A bar with a cable, a fibre, loads and damping: its world, body and cable."""
    scene = pl.Scene(gravity=(0, 0, -9.81))
    mesh = pl.mesh.box((0.1, 0.03, 0.03), (3, 1, 1), element=element)
    clamp = pl.regions.plane(axis="x", at=0) if held else None
    damping = pl.Rayleigh(mass=0.1, stiffness=0.01) if held else pl.Rayleigh()
    body = scene.add(pl.Volume(mesh, LAWS[law], clamp=clamp, damping=damping))
    cable = scene.add(pl.Cable(body, [(0.01, 0.015, 0.025), (0.05, 0.015, 0.025), (0.09, 0.015, 0.025)]))
    if loaded:
        scene.add(pl.PointLoad(body, pl.regions.plane(axis="x", at=0.1), (0.0, 0.01, 0.0)))
        scene.add(pl.PressureLoad(body, pl.regions.plane(axis="z", at=0.03), 20.0))
        scene.add(pl.Fibre(body, [(0.01, 0.015, 0.005), (0.09, 0.015, 0.005)], stiffness=1.0))
    return scene.compile(), body, cable


def subspace(world, modes, **options):
    model = world.models[0]
    return Subspace(model.spec, modes, rest=model.rest, point_count=model.points.count, **options)


def everything(world):
    """The subspace of all motions that supports allow."""
    model = world.models[0]
    return subspace(world, np.eye(model.size)[:, ~model.constrained.ravel()])


def bends(world, count=3):
    """A few smooth modes of a body held at x = 0."""
    model = world.models[0]
    x = model.rest[:, 0] / 0.1
    columns = []
    for k in range(count):
        mode = np.zeros_like(model.rest)
        mode[:, 2] = x ** (2 + k)
        mode[:, 0] = -(2 + k) * x ** (1 + k) * (model.rest[:, 2] - 0.015) / 0.1
        columns.append(np.where(model.constrained, 0.0, mode).ravel())
    return np.stack(columns, axis=1)


@pytest.mark.parametrize("element", ["tet4", "tet10", "hex8"])
@pytest.mark.parametrize("law", LAWS)
def test_all_motions_are_the_whole_body(law, element):
    """With Φ = I every stepper goes where the full model goes, pulled by a cable under all kinds of loads."""
    world, body, cable = bar(law, element)
    small = reduced(world, [everything(world)])
    for stepper in (pl.ImplicitEuler(dt=0.01), pl.ImplicitMidpoint(dt=0.01, tolerance=1e-10), pl.QuasiStatic()):
        full, few = world.initial_state(), small.initial_state()
        for k in range(2):
            control = {cable: pl.Displacement(0.002 * (k + 1))}
            full, info = stepper(world, full, control)
            few, other = stepper(small, few, control)
        np.testing.assert_allclose(few.points(body), full.points(body), rtol=0, atol=1e-11)
        np.testing.assert_allclose(few.lam, full.lam, rtol=1e-8)
        np.testing.assert_allclose(other.reaction(body), info.reaction(body), rtol=0, atol=1e-8)
        assert other.energy_change == pytest.approx(info.energy_change, rel=1e-8)


@pytest.mark.parametrize("law", LAWS)
def test_forces_and_stiffness_along_modes_are_derivatives(law):
    world, _, _ = bar(law)
    model = reduced(world, [subspace(world, bends(world))]).models[0]
    y = 1e-3 * np.random.default_rng(1).standard_normal(3)
    _, force, K = model.strained(y, Tangent.EXACT, 1.0)
    h = 1e-7
    for k, step in enumerate(h * np.eye(3)):
        ahead, behind = model.strained(y + step, Tangent.EXACT, 0.0), model.strained(y - step, Tangent.EXACT, 0.0)
        assert force[k] == pytest.approx((ahead[0] - behind[0]) / (2 * h), rel=1e-5, abs=1e-7)
        np.testing.assert_allclose(K[k], (ahead[1] - behind[1]) / (2 * h), rtol=1e-5, atol=1e-6 * np.abs(K).max())


@pytest.mark.parametrize("tangent", Tangent)
def test_forces_and_stiffness_are_those_of_the_volume_projected(tangent):
    """f̂ = Φᵀf and K̂ = ΦᵀKΦ of the assembled volume, from deformation gradients alone."""
    world, _, _ = bar("corotated", loaded=False)
    whole = world.models[0]
    model = reduced(world, [subspace(world, bends(world))]).models[0]
    Phi, y = model.chart.modes, 1e-3 * np.random.default_rng(1).standard_normal(3)
    values = whole.blocks()
    q = whole.rest + (Phi @ y).reshape(-1, 3)
    energy, internal = whole.assemble(q, mass=0.0, stiffness=1.0, tangent=tangent, values=values)
    K = BlockMatrix(whole.pattern, values).to_scipy()
    found, force, stiffness = model.strained(y, tangent, 1.0)
    assert found == pytest.approx(energy, rel=1e-12)
    np.testing.assert_allclose(force, Phi.T @ internal.ravel(), rtol=0, atol=1e-12 * np.abs(force).max() + 1e-15)
    np.testing.assert_allclose(stiffness, Phi.T @ (K @ Phi), rtol=0, atol=1e-12 * np.abs(stiffness).max())


def test_all_points_with_weight_one_change_nothing():
    world, _, cable = bar("neo-hookean")
    modes, count = bends(world), world.models[0].points.count
    plain = reduced(world, [subspace(world, modes)])
    sampled = reduced(world, [subspace(world, modes, points=np.arange(count), weights=np.ones(count))])
    step, control = pl.ImplicitEuler(dt=0.01), {cable: pl.Displacement(0.004)}
    ends = [step(w, w.initial_state(), control)[0] for w in (plain, sampled)]
    assert np.array_equal(ends[0].q[0], ends[1].q[0])


def test_few_points_are_a_weighted_sum():
    world, _, _ = bar(loaded=False)
    whole = world.models[0]
    chosen, weights = np.array([3, 7, 20]), np.array([2.0, 0.5, 4.0])
    modes, y = bends(world), np.array([1e-3, -2e-3, 5e-4])
    all_points = StrainModes.of(whole.points, modes, whole.laws, whole.table)
    few = StrainModes.of(whole.points, modes, whole.laws, whole.table, chosen, weights)
    np.testing.assert_allclose(few.response(y, Tangent.EXACT, 0.0)[1], all_points.work(y)[:, chosen] @ weights)
    np.testing.assert_allclose(all_points.response(y, Tangent.EXACT, 0.0)[1], all_points.work(y).sum(axis=1))


def test_rows_see_the_compliance_of_the_modes():
    """W = HΦ Â⁻¹ ΦᵀHᵀ, and solve and product are inverse to each other along the motions."""
    world, _, _ = bar()
    model = reduced(world, [subspace(world, bends(world))]).models[0]
    q, v = model.initial()
    system, _ = model.trial(StepStart(q, v, euler_scheme(0.01), np.array([0, 0, -9.81]), {})).linearize(Tangent.EXACT)
    factor = system.factorize()
    H = sparse.random(4, model.size, 0.2, random_state=1, format="csr")
    HP = H @ model.chart.modes
    np.testing.assert_allclose(factor.compliance(H), HP @ np.linalg.solve(system.A, HP.T), rtol=1e-10)
    force = np.random.default_rng(3).standard_normal(q.shape)
    np.testing.assert_allclose(system.product(factor.solve(force)), system.here.spread(system.here.forces(force)))
    full = system.here.dual.T @ system.A @ system.here.dual
    np.testing.assert_allclose(system.diagonal().ravel(), np.diagonal(full), rtol=1e-9)
    before = system.A.copy()
    system.add_mass(1e-3)
    np.testing.assert_allclose(np.trace(system.A - before) / np.trace(before), 1e-3, rtol=1e-9)


def arched(world):
    """A curved subspace of a body held at x = 0: its tip goes round, and sinks with the square of the coordinate."""
    model = world.models[0]
    root = np.repeat(np.sqrt(model.mass.nodal), 3)[:, None]
    modes = np.linalg.qr(root * bends(world, 2))[0] / root
    x = model.rest[:, 0] / 0.1
    sink = np.zeros((*model.rest.shape, 5))
    sink[:, 0, 2], sink[:, 0, 3], sink[:, 0, 4] = -0.05 * x**2, -0.02 * x**2, -0.04 * x**3
    sink[:, 1, 0] = 0.3 * x**2
    curvature = np.where(model.constrained[:, :, None], 0.0, sink).reshape(model.size, 5)
    return subspace(world, modes, curvature=curvature)


def test_motions_of_a_curved_subspace_are_tangents():
    """Motions are the derivatives of positions, coordinates are read back exactly, and forces are slopes of energy."""
    world, _, _ = bar("neo-hookean")
    model = reduced(world, [arched(world)]).models[0]
    chart, y = model.chart, np.array([2e-3, -1e-3])
    x = chart._posed(y)
    here = chart.at(x)
    np.testing.assert_allclose(here.y, y, rtol=1e-10)
    np.testing.assert_allclose(here.dual @ here.motions, np.eye(2), atol=1e-12)
    np.testing.assert_allclose(chart.positions(here), x, atol=1e-15)
    _, force, K = model.strained(y, Tangent.EXACT, 1.0)
    h = 1e-7
    for k, step in enumerate(h * np.eye(2)):
        slope = (chart._posed(y + step) - chart._posed(y - step)).ravel() / (2 * h)
        np.testing.assert_allclose(here.motions[:, k], slope, atol=1e-7 * np.abs(slope).max())
        change = model.strained(y + step, Tangent.EXACT, 0.0)[0] - model.strained(y - step, Tangent.EXACT, 0.0)[0]
        assert force[k] == pytest.approx(change / (2 * h), rel=1e-5)
        assert model.work(y)[k].sum() == pytest.approx(force[k], rel=1e-2)  # what lacks is the fibre
    assert (np.linalg.eigvalsh(K) > 0.0).all()


@pytest.mark.parametrize("stepper", [pl.ImplicitEuler(dt=0.01, tolerance=1e-9), pl.QuasiStatic()])
def test_a_curved_subspace_balances_along_its_motions(stepper):
    """Newton's iteration converges there, and virtual work vanishes on the motions, all forces of the volume taken."""
    world, _, cable = bar()
    small = reduced(world, [arched(world)])
    state, info = stepper(small, small.initial_state(), {cable: pl.Displacement(0.003)})
    assert info.residual < 1e-8
    model = small.models[0]
    np.testing.assert_allclose(model.nearest(state.q[0]), state.q[0], atol=1e-14)
    motions = model.chart.at(state.q[0]).motions
    whole = world.models[0]
    forces = whole.external(state.q[0], world.gravity, {})[1] - whole.internal(state.q[0])[1]
    if state.v[0].any():
        forces -= whole.mass.apply(state.v[0]) / 0.01 + damping_forces(whole, state)
    H = info.assembly.rows.H[0]
    along = motions.T @ (forces.ravel() + H.T @ state.lam)
    scale = np.abs(motions.T @ (H.T @ state.lam)).max()
    np.testing.assert_allclose(along, 0.0, atol=1e-5 * scale)


def damping_forces(model, state):
    values, middle = model.blocks(), 0.5 * (model.rest + state.q[0])
    model.assemble(middle, mass=0.1, stiffness=0.01, tangent=Tangent.WARPED, values=values)
    return BlockMatrix(model.pattern, values).matvec(state.v[0])


def test_curved_subspaces_say_what_they_need():
    world, _, _ = bar()
    good = arched(world)
    with pytest.raises(pl.InputError, match="not orthonormal"):
        reduced(world, [replace(good, modes=2.0 * good.modes)])
    with pytest.raises(pl.InputError, match="curvature"):
        replace(good, curvature=good.curvature[:, :3])
    free, _, _ = bar(held=False)
    with pytest.raises(pl.InputError, match="a curved subspace needs supports"):
        reduced(free, [replace(arched(free), body=free.models[0].spec)])


def spun(world, spin):
    state = world.initial_state()
    model = world.models[0]
    arms = model.rest - model.mass.nodal @ model.rest / model.mass.total
    return replace(state, v=(np.array([0.3, 0.0, 1.0]) + np.cross(spin, arms),))


def angular(world, state):
    mass, q, v = world.models[0].mass.nodal, state.q[0], state.v[0]
    center = mass @ q / mass.sum()
    return np.cross(q - center, mass[:, None] * v).sum(axis=0)


@pytest.mark.parametrize(
    ("stepper", "gain"),
    [(pl.ImplicitEuler(dt=0.005), 1e-12), (pl.ImplicitMidpoint(dt=0.005, tolerance=1e-11), 1e-8)],
)
def test_a_tumbling_body_keeps_its_momentum(stepper, gain):
    """Two modes, thrown and spun about no principal axis: momentum and angular momentum stay, and it falls freely."""
    world, _, _ = bar(held=False, loaded=False)
    world = replace(world, constraints=())
    model = world.models[0]
    x, y = (model.rest - model.rest.mean(axis=0)).T[:2]
    waves = np.stack([np.stack([0 * x, 0 * x, x**2], 1).ravel(), np.stack([x * 0, x * y, 0 * x], 1).ravel()], axis=1)
    small = reduced(world, [subspace(world, waves)])
    state = spun(small, np.array([3.0, 20.0, 5.0]))
    before, momentum = angular(small, state), model.mass.nodal @ state.v[0]
    for _ in range(60):
        state, _ = stepper(small, state)
    np.testing.assert_allclose(angular(small, state), before, rtol=0, atol=gain * np.abs(before).max())
    expected = momentum + model.mass.total * np.array([0, 0, -9.81 * 0.3])
    np.testing.assert_allclose(model.mass.nodal @ state.v[0], expected, rtol=1e-11, atol=1e-12)


def test_a_free_body_with_all_its_motions_is_the_whole_one():
    """Midpoint to a tolerance: carried by a frame, all modes give the motion of the full body."""
    world, _, _ = bar(held=False, loaded=False)
    world = replace(world, constraints=())
    small = reduced(world, [subspace(world, _all_but_rigid(world.models[0]))])
    stepper = pl.ImplicitMidpoint(dt=0.005, tolerance=1e-11)
    full, few = spun(world, np.array([3.0, 10.0, 5.0])), spun(small, np.array([3.0, 10.0, 5.0]))
    for _ in range(3):
        full, few = stepper(world, full)[0], stepper(small, few)[0]
    np.testing.assert_allclose(few.q[0], full.q[0], rtol=0, atol=1e-8)


def _all_but_rigid(model):
    rigid = rigid_motions(model.rest - model.mass.nodal @ model.rest / model.mass.total)
    return linalg.null_space((np.repeat(model.mass.nodal, 3)[:, None] * rigid).T)


def test_a_reduced_world_is_saved_and_steps_the_same(tmp_path):
    world, _, _ = bar()
    modes, count = bends(world), world.models[0].points.count
    small = reduced(
        world, [subspace(world, modes, points=np.arange(0, count, 2), weights=np.full((count + 1) // 2, 2.0))]
    )
    again = pl.load(small.save(tmp_path / "small.npz"))
    ends = []
    for here in (small, again):
        state = here.initial_state()
        handle = here.thing("cable")
        for k in range(5):
            state, _ = pl.ImplicitEuler(dt=0.01)(here, state, {handle: pl.Displacement(0.001 * k)})
        ends.append(state)
    assert np.array_equal(ends[0].q[0], ends[1].q[0])
    assert np.array_equal(ends[0].v[0], ends[1].v[0])
    path = ends[0].save(tmp_path / "state.npz")
    assert np.array_equal(small.load_state(path).q[0], ends[1].q[0])


def test_a_subspace_of_another_body_is_refused():
    world, body, _ = bar()
    other, _, _ = bar("neo-hookean")
    with pytest.raises(pl.InputError, match="covers no model"):
        reduced(other, [everything(world)])
    moved = replace(everything(world), rest=world.models[0].rest + 0.01)
    with pytest.raises(pl.InputError, match="10 mm away"):
        reduced(world, [moved])
    tall, _, _ = bar(element="hex8")
    with pytest.raises(pl.InputError, match="reduce this body"):
        reduced(world, [replace(everything(tall), body=body)])


def test_modes_must_fit_the_supports():
    world, _, _ = bar()
    model = world.models[0]
    with pytest.raises(pl.InputError, match="moves constrained nodes"):
        reduced(world, [subspace(world, np.ones((model.size, 1)))])
    modes = bends(world)
    with pytest.raises(pl.InputError, match="linearly dependent"):
        reduced(world, [subspace(world, np.hstack([modes, modes[:, :1] + modes[:, 1:2]]))])
    with pytest.raises(pl.InputError, match="both points and weights"):
        subspace(world, modes, points=[0])
    with pytest.raises(pl.InputError, match=r"must lie in \[0"):
        subspace(world, modes, points=[model.points.count], weights=[1.0])


def test_supports_of_a_reduced_body_do_not_move():
    scene = pl.Scene()
    mesh = pl.mesh.box((0.1, 0.03, 0.03), (3, 1, 1))
    body = scene.add(pl.Volume(mesh, LAWS["corotated"]))
    support = scene.add(pl.Support(body, pl.regions.plane(axis="x", at=0)))
    world = scene.compile()
    small = reduced(world, [everything(world)])
    with pytest.raises(pl.InputError, match="a support of 'volume' moves"):
        pl.ImplicitEuler(dt=0.01)(small, small.initial_state(), {support: pl.Displacement(0.001)})


def test_a_state_outside_of_the_subspace_is_refused():
    world, _, _ = bar()
    small = reduced(world, [subspace(world, bends(world))])
    state = small.initial_state()
    away = state.q[0] + np.where(small.models[0].constrained, 0.0, 1e-3)
    with pytest.raises(pl.InputError, match="away from the space of its"):
        pl.ImplicitEuler(dt=0.01)(small, replace(state, q=(away,)))
    near = small.models[0].nearest(away)
    pl.ImplicitEuler(dt=0.01)(small, replace(state, q=(near,)))


def test_half_held_and_small_strain_bodies_are_refused():
    scene = pl.Scene()
    mesh = pl.mesh.box((0.1, 0.03, 0.03), (3, 1, 1))
    body = scene.add(pl.Volume(mesh, LAWS["corotated"]))
    scene.add(pl.Support(body, pl.regions.plane(axis="z", at=0), axes="z"))
    world = scene.compile()
    with pytest.raises(pl.InputError, match="leave a rigid motion free"):
        reduced(world, [everything(world)])
    loose, _, _ = bar("linear", held=False)
    with pytest.raises(pl.InputError, match="has no rotation"):
        reduced(loose, [everything(loose)])


def test_modes_of_any_length_span_what_they_span():
    """Modes of 1e-8 and of 1e6 beside each other: orthonormal in the masses, and the same space."""
    world, _, _ = bar()
    (model,) = world.models
    modes = bends(world)
    sizes = np.array([1e-8, 1.0, 1e6])
    plain, scaled = (_orthonormal(model, modes * each) for each in (np.ones(3), sizes))
    weight = np.repeat(np.abs(model.mass.nodal), 3)[:, None]
    for found in (plain, scaled):
        np.testing.assert_allclose(found.T @ (weight * found), np.eye(3), atol=1e-9)
    np.testing.assert_allclose(
        scaled, plain * np.sign((scaled * weight * plain).sum(axis=0)), atol=1e-7 * np.abs(plain).max()
    )
    with pytest.raises(pl.InputError, match="linearly dependent"):
        _orthonormal(model, np.column_stack([modes, 1e6 * modes[:, 0]]))
