"""Loads that vary in space and time: resultants, closed forms, amplitudes in every stepper, bad input."""

import numpy as np
import pytest

import pliant as pl
from pliant.core.errors import InputError

SIZE = np.array([0.1, 0.02, 0.03])
SOFT = pl.materials.NeoHookean(young=1e6, poisson=0.3, density=1e3)
END = pl.regions.plane(axis="x", at=SIZE[0])
TOP = pl.regions.plane(axis="z", at=SIZE[2])


def block(scene, element="tet4", cells=(4, 1, 2), material=SOFT, **options):
    mesh = pl.mesh.box(SIZE, cells, element=element)
    return scene.add(pl.Volume(mesh, material, clamp=pl.regions.plane(axis="x", at=0.0), **options))


def external(scene, body, controls=None):
    """Forces of all loads at rest, (n, 3), N."""
    world = scene.compile()
    model = world.models[world.index(body)]
    return model.external(model.rest, np.zeros(3), world.timed(world.controls(controls), 0.0))[1]


def moments(body, force):
    """Resultant force and moment about the origin, (6,)."""
    return np.concatenate([force.sum(axis=0), np.cross(body.mesh.points, force).sum(axis=0)])


@pytest.mark.parametrize("element", ["tet4", "tet10", "hex8"])
@pytest.mark.parametrize("seed", range(3))
def test_random_linear_fields_have_exact_resultants(element, seed):
    """Forces and moments of ∫ (a + B x) over a face and over the volume, which shape functions integrate exactly."""
    rng = np.random.default_rng(seed)
    a, B = rng.normal(size=3), rng.normal(size=(3, 3)) / SIZE.max()

    def field(x):
        return a + x @ B.T

    x, w = np.polynomial.legendre.leggauss(3)
    x, w = 0.5 * (x + 1.0), 0.5 * w
    u, v, s = (each.ravel() for each in np.meshgrid(x, x, x, indexing="ij"))
    weight = np.einsum("i,j,k->ijk", w, w, w).ravel()
    inside = np.stack([u, v, s], axis=1) * SIZE
    on_top = inside * (1, 1, 0) + (0, 0, SIZE[2])
    for make, points, measure in (
        (lambda body, f: pl.TractionLoad(body, TOP, f), on_top, SIZE[0] * SIZE[1]),
        (lambda body, f: pl.BodyLoad(body, f), inside, SIZE.prod()),
    ):
        scene = pl.Scene()
        body = block(scene, element)
        scene.add(make(body, field))
        values = field(points) * (measure * weight)[:, None]
        exact = np.concatenate([values.sum(axis=0), np.cross(points, values).sum(axis=0)])
        made = external(scene, body)
        np.testing.assert_allclose(moments(body, made), exact, rtol=1e-11, atol=1e-12 * np.abs(exact).max())
        scene = pl.Scene()
        body = block(scene, element)
        scene.add(make(body, field(body.mesh.points)))  # the same by an array of the nodes
        np.testing.assert_array_equal(external(scene, body), made)


def test_values_of_facets_and_cells():
    """One value for each facet or cell: the same as a uniform load where all are equal, linear in each."""
    scene = pl.Scene()
    body = block(scene)
    inside = TOP.select(body.mesh.points)
    facets = body.mesh.surface().facets
    count = int(inside[facets].all(axis=1).sum())
    traction = scene.add(pl.TractionLoad(body, TOP, (1.0, 2.0, 3.0)))
    uniform = external(scene, body)
    each = np.tile([1.0, 2.0, 3.0], (count, 1))
    np.testing.assert_allclose(external(scene, body, {traction: pl.values.Traction(each)}), uniform, atol=1e-15)
    each[0] = 0.0
    less = external(scene, body, {traction: pl.values.Traction(each)})
    assert np.count_nonzero(np.abs(less - uniform).max(axis=1) > 1e-12) == 3  # the nodes of one triangle
    scene = pl.Scene()
    body = block(scene)
    density = np.zeros((body.mesh.cell_count, 3))
    density[5, 1] = 7.0
    scene.add(pl.BodyLoad(body, density))
    made = external(scene, body)
    assert made[:, 1].sum() == pytest.approx(7.0 * body.mesh.cell_volumes()[5])
    assert set(np.flatnonzero(made[:, 1])) == set(body.mesh.cells[5])


@pytest.mark.parametrize("element", ["tet4", "tet10", "hex8"])
def test_hydrostatic_pressure_lifts_a_block_by_its_volume(element):
    """p = ρ g (h − z) on all faces: buoyancy ρ g V upwards through the centre, by Archimedes."""
    scene = pl.Scene()
    body = block(scene, element)
    everywhere = pl.regions.box((-1, -1, -1), (1, 1, 1))
    scene.add(pl.PressureLoad(body, everywhere, lambda x: 9810.0 * (0.5 - x[:, 2])))
    lift = 9810.0 * SIZE.prod()
    expected = np.array([0, 0, lift, 0.5 * SIZE[1] * lift, -0.5 * SIZE[0] * lift, 0])
    np.testing.assert_allclose(moments(body, external(scene, body)), expected, atol=1e-10 * lift)


@pytest.mark.parametrize("element", ["tet4", "hex8"])
def test_stiffness_of_a_varying_pressure_is_the_symmetric_part_of_its_derivative(element):
    scene = pl.Scene()
    body = block(scene, element, cells=(1, 1, 1))
    scene.add(pl.PressureLoad(body, TOP, lambda x: 1e3 + 3e4 * x[:, 0] - 2e4 * x[:, 1]))
    world = scene.compile()
    model, rng = world.models[0], np.random.default_rng(0)
    q = model.rest + 1e-3 * rng.normal(size=model.rest.shape)
    values, n, h = np.zeros((model.pattern.block_count, 3, 3)), q.size, 1e-6
    model.add_load_stiffness(q, 1.0, {}, values)
    from pliant.solvers.linear.matrix import BlockMatrix

    K = BlockMatrix(model.pattern, values)
    made = np.column_stack([K.matvec(e.reshape(q.shape)).ravel() for e in np.eye(n)])
    slope = np.empty((n, n))
    for k, e in enumerate(np.eye(n)):
        shift = h * e.reshape(q.shape)
        force = [model.external(q + sign * shift, np.zeros(3), {})[1] for sign in (1.0, -1.0)]
        slope[:, k] = (force[0] - force[1]).ravel() / (2.0 * h)
    np.testing.assert_allclose(made, -0.5 * (slope + slope.T), atol=1e-7 * np.abs(slope).max())


def test_a_bar_under_a_linear_body_load_has_the_closed_form():
    """u(x) = (b/E) (L² x/2 − x³/6) for b x along a bar with free sides, ν = 0; in the mean over its end."""
    scene = pl.Scene()
    slack = pl.materials.Linear(young=1e6, poisson=0.0, density=1e3)
    body = block(scene, "hex8", cells=(8, 1, 1), material=slack)
    scene.add(pl.BodyLoad(body, lambda x: x * (1e5, 0, 0)))
    world = scene.compile()
    state, _ = pl.QuasiStatic()(world, world.initial_state())
    x = body.mesh.points[:, 0]
    exact = 1e5 / 1e6 * (SIZE[0] ** 2 * x / 2 - x**3 / 6)
    np.testing.assert_allclose(state.displacements(body)[:, 0], exact, atol=1e-10 * exact.max())  # exact at nodes


def test_increments_of_a_varying_follower_pressure_end_at_its_equilibrium():
    """One call of a quasi-static solve and ten smaller ones agree; forces balance with the full field at the end."""
    ends = []
    for calls in (1, 10):
        scene = pl.Scene()
        body = block(scene)
        load = scene.add(pl.PressureLoad(body, TOP, lambda x: 6e4 * x[:, 0]))
        world = scene.compile()
        state, step = world.initial_state(), pl.QuasiStatic(tolerance=1e-10)
        for k in range(1, calls + 1):
            state, _ = step(world, state, {load: pl.Pressure(k / calls * load.value)})
        ends.append(state.points(body))
    motion = np.abs(ends[0] - body.mesh.points).max()
    assert motion > 0.05 * SIZE[0]
    np.testing.assert_allclose(ends[0], ends[1], atol=1e-6 * motion)


@pytest.mark.parametrize(
    ("stepper", "order"), [(pl.ImplicitEuler, 1), (pl.ImplicitMidpoint, 2), (pl.DampedMidpoint, 2)]
)
def test_an_amplitude_drives_a_free_body_with_the_order_of_the_stepper(stepper, order):
    """m ẍ = F sin ωt from rest: x = F/(mω²) (ωt − sin ωt)."""
    omega, errors = 20.0, []
    for dt in (0.02, 0.01):
        scene = pl.Scene()
        mesh = pl.mesh.box((0.1, 0.1, 0.1), (1, 1, 1))
        body = scene.add(pl.Volume(mesh, pl.materials.Linear(young=1e5, poisson=0.3, density=1e3)))
        scene.add(pl.BodyLoad(body, (1e3, 0, 0), amplitude=lambda t: np.sin(omega * t)))
        run = pl.simulate(scene.compile(), stepper(dt=dt), until=0.4)
        x = run.points(body)[:, :, 0].mean(axis=1) - 0.05
        exact = (omega * run.times - np.sin(omega * run.times)) / omega**2
        errors.append(np.abs(x - exact).max())
    assert np.log2(errors[0] / errors[1]) == pytest.approx(order, abs=0.25)


def test_tables_are_interpolated_and_saved(tmp_path):
    scene = pl.Scene()
    body = block(scene)
    load = scene.add(pl.TractionLoad(body, END, (0, 0, 100.0), amplitude=[(0.0, 0.0), (0.1, 1.0)]))
    np.testing.assert_allclose([load.factor(t) for t in (-1.0, 0.0, 0.05, 0.1, 3.0)], [0.0, 0.0, 0.5, 1.0, 1.0])
    world = scene.compile()
    again = pl.load(world.save(tmp_path / "block.npz"))
    runs = [pl.simulate(each, pl.QuasiStatic(), until=0.1, steps=2) for each in (world, again)]
    tips = [run.points(0)[:, -1, 2] - run.points(0)[0, -1, 2] for run in runs]
    np.testing.assert_array_equal(tips[0], tips[1])
    assert tips[0][1] == pytest.approx(0.5 * tips[0][2], rel=1e-2)
    held = pl.simulate(
        world, pl.QuasiStatic(), until=0.1, steps=2, control=lambda t, s: {load: pl.values.Traction((0, 0, 0))}
    )
    assert np.abs(held.points(0)[-1] - held.points(0)[0]).max() < 1e-12  # a control takes the place of the amplitude


def test_amplitudes_act_on_rods_and_beams():
    scene = pl.Scene()
    rod = scene.add(pl.Rod(0.2, 4, section=pl.sections.Circle(0.005), young=1e6, poisson=0.3, density=1e3))
    scene.add(pl.PointLoad(rod, [4], (0, 0, 1e-3), amplitude=[(0.0, 0.0), (1.0, 2.0)]))
    world = scene.compile()
    run = pl.simulate(world, pl.QuasiStatic(), until=1.0, steps=2)
    z = [run.state(k).points(rod)[-1, 2] for k in range(3)]
    assert z[0] == pytest.approx(0.0, abs=1e-12)
    assert z[2] == pytest.approx(2.0 * z[1], rel=1e-2)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda b: pl.TractionLoad(b, END, np.zeros((5, 3))), "one value for each node"),
        (lambda b: pl.TractionLoad(b, END, lambda x: x[:, 0]), "one value for each point"),
        (lambda b: pl.TractionLoad(b, END, lambda x: np.nan * x), "traction of a TractionLoad"),
        (lambda b: pl.PressureLoad(b, TOP, np.zeros((4, 3))), "pressure of a PressureLoad"),
        (lambda b: pl.PressureLoad(b, TOP, np.inf), "pressure of a PressureLoad"),
        (lambda b: pl.BodyLoad(b, (0, 1)), "force of a BodyLoad"),
        (lambda b: pl.BodyLoad(b, (0, 0, 1), region=pl.regions.sphere((9, 9, 9), 0.1)), "centre of no cell"),
        (lambda b: pl.BodyLoad(pl.RigidBody.sphere(radius=1.0, mass=1.0), (0, 0, 1)), r"must be a pl\.Volume"),
        (lambda b: pl.PointLoad(b, END, (0, 0, 1), amplitude=[(1.0, 0.0), (0.5, 1.0)]), "must rise"),
        (lambda b: pl.PointLoad(b, END, (0, 0, 1), amplitude=3.0), "function of t"),
    ],
)
def test_bad_input_is_refused(make, message):
    def compiled():
        scene = pl.Scene()
        scene.add(make(block(scene)))
        return scene.compile()

    with pytest.raises(InputError, match=message):
        compiled()


def test_a_bad_amplitude_or_control_is_named_when_it_acts():
    scene = pl.Scene()
    body = block(scene)
    load = scene.add(pl.PressureLoad(body, TOP, 1.0, amplitude=lambda t: np.nan))
    world = scene.compile()
    with pytest.raises(InputError, match="amplitude of a PressureLoad at"):
        pl.ImplicitEuler(dt=0.01)(world, world.initial_state())
    with pytest.raises(InputError, match="control of a PressureLoad"):
        pl.ImplicitEuler(dt=0.01)(world, world.initial_state(), {load: pl.Pressure(np.zeros(3))})
