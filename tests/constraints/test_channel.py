"""Channels: rows against differences, slender bodies that slide in soft ones, friction, and what is refused."""

import numpy as np
import pytest

import pliant as pl
from pliant.constraints.channel import ChannelRows
from pliant.core.errors import InputError
from pliant.models.scheme import euler_scheme
from pliant.stepping.bodies import StepBodies

MESH = pl.mesh.box((0.1, 0.02, 0.02), (10, 2, 2))
RUBBER = pl.materials.Corotated(young=5e5, poisson=0.4, density=1e3)
CLAMP = pl.regions.plane(axis="x", at=0.0)
POINTS = np.stack([np.linspace(0.005, 0.1, 12), np.full(12, 0.01), np.full(12, 0.015)], axis=1)
TIP = int(np.argmin(np.linalg.norm(MESH.points - [0.1, 0.01, 0.01], axis=1)))


def coupled(points=POINTS, *, radius=5e-5, young=4e12, nodes=25, end=0.1, clamp=CLAMP, **options):
    """A block with a wire in it that enters at x = −20 mm, where its first node is held."""
    scene = pl.Scene()
    body = scene.add(pl.Volume(MESH, RUBBER, clamp=clamp, damping=pl.Rayleigh(stiffness=0.01)))
    x = np.linspace(-0.02, end, nodes)
    axis = np.stack([x, np.full(nodes, 0.01), np.full(nodes, 0.015)], axis=1)
    section = pl.sections.Circle(radius)
    wire = scene.add(pl.Beam(axis, section=section, young=young, poisson=0.3, density=1e3, name="wire"))
    base = scene.add(pl.Support(wire, [0], rotation=(0, 0, 0)))
    scene.add(pl.Channel(body, points, wire, **options))
    return scene.compile(), body, wire, base


def settled(world, base, way, steps=120, dt=0.02):
    state = world.initial_state()
    for k in range(steps):
        amount = way * min(1.0, (k + 1) / 40)
        state, info = pl.ImplicitEuler(dt, newton_iterations=2)(world, state, {base: pl.Displacement((amount, 0, 0))})
    return state, info


@pytest.mark.parametrize("options", [{}, {"end_direction": True}, {"fixed_end": False}])
def test_rows_are_gradients_of_the_distances(options):
    """H against central differences at the start, where the axis passes the points."""
    world, *_ = coupled(POINTS if options.get("fixed_end", True) else POINTS[:-1], **options)
    motion = StepBodies.begin(world, world.initial_state(), euler_scheme(0.01), {})
    rng = np.random.default_rng(0)
    steps = [rng.normal(size=x.shape) for x in motion.dx]
    for step in steps[1:]:
        step[:, 1] *= 20.0  # turns of the wire, in rad beside metres
    rows = motion.assembled().rows
    np.testing.assert_allclose(rows.gap, 0.0, atol=1e-12)
    gaps = []
    for sign in (1.0, -1.0):
        moved = motion.at([sign * 1e-7 * x for x in steps])
        gaps.append(moved.assembled().rows.gap)
    predicted = sum(h @ x.ravel() for h, x in zip(rows.H, steps, strict=True))
    scale = np.abs(predicted).max()
    np.testing.assert_allclose(predicted, (gaps[0] - gaps[1]) / 2e-7, atol=1e-4 * scale)


@pytest.mark.slow  # that an inextensible rod does, is quick
def test_a_wire_that_hardly_bends_is_a_cable():
    """EI → 0 with EA large: the same tip as the geometric cable through the same points, within 1 % of its way."""
    scene = pl.Scene()
    body = scene.add(pl.Volume(MESH, RUBBER, clamp=CLAMP))
    cable = scene.add(pl.Cable(body, POINTS, pull_point=(-0.02, 0.01, 0.015)))
    world = scene.compile()
    expected, info = pl.QuasiStatic()(world, world.initial_state(), {cable: pl.Displacement(0.004)})
    other, soft, wire, base = coupled()
    state, report = settled(other, base, -0.004)
    way = expected.displacements(body)[TIP]
    off = np.linalg.norm(state.displacements(soft)[TIP] - way) / np.linalg.norm(way)
    pull = -report.reaction(wire)[0, 0, 0]
    print(f"tip off by {100 * off:.2f} %, pull {pull:.3f} N, tension of the cable {info.actuation(cable)[1]:.3f} N")
    assert off < 0.01
    assert pull == pytest.approx(info.actuation(cable)[1], rel=0.01)


def test_an_inextensible_rod_that_hardly_bends_is_a_cable():
    """The same tip and the same pull as the geometric cable through the same points, within 1 %."""
    scene = pl.Scene()
    body = scene.add(pl.Volume(MESH, RUBBER, clamp=CLAMP))
    cable = scene.add(pl.Cable(body, POINTS, pull_point=(-0.02, 0.01, 0.015)))
    world = scene.compile()
    expected, info = pl.QuasiStatic()(world, world.initial_state(), {cable: pl.Displacement(0.004)})
    other = pl.Scene()
    soft = other.add(pl.Volume(MESH, RUBBER, clamp=CLAMP, damping=pl.Rayleigh(stiffness=0.01)))
    wire = other.add(
        pl.Rod(
            0.12, 24, section=pl.sections.Circle(2e-4), young=1e10, poisson=0.3, density=1e3,
            position=(-0.02, 0.01, 0.015), damping=pl.Rayleigh(stiffness=0.01),
        )
    )  # fmt: skip
    base = other.add(pl.Support(wire, [0], rotation=(0, 0, 0)))
    other.add(pl.Channel(soft, POINTS, wire))
    state, report = settled(other.compile(), base, -0.004)
    way = expected.displacements(body)[TIP]
    off = np.linalg.norm(state.displacements(soft)[TIP] - way) / np.linalg.norm(way)
    pull = -report.reaction(wire)[0, 0]
    print(f"tip off by {100 * off:.2f} %, pull {pull:.3f} N, tension of the cable {info.actuation(cable)[1]:.3f} N")
    assert off < 0.01
    assert pull == pytest.approx(info.actuation(cable)[1], rel=0.01)


def test_a_thicker_wire_bends_the_body_less_for_the_same_pull():
    """Adagolodjo et al., figure 7: the wire's own bending stiffness is felt."""
    bends = []
    for radius in (2e-4, 5e-4, 8e-4):
        world, body, wire, base = coupled(radius=radius, young=5e10)
        state, info = settled(world, base, -0.003)
        pull = -info.reaction(wire)[0, 0, 0]
        bends.append(np.linalg.norm(state.displacements(body)[TIP]) / pull)
    print("tip way over pull, mm/N:", [round(1e3 * b, 3) for b in bends])
    assert bends[0] > bends[1] > bends[2]


def test_friction_in_the_channel_takes_a_part_of_the_pull():
    """With μ the same way of the wire needs more pull, less of it arrives at the tip, and the force of the friction is
    at most μ times the normal one.
    """
    arrives = {}
    for mu in (0.0, 0.3):
        world, _, wire, base = coupled(friction=mu)
        _, info = settled(world, base, -0.004, steps=60)
        arrives[mu] = np.linalg.norm(info.lam[-3:]) / -info.reaction(wire)[0, 0, 0]
        if mu:
            assembly = info.assembly
            place = assembly.slices[0]
            lam = info.lam[place][: 3 * (len(POINTS) - 1)].reshape(-1, 3)
            pressed = np.hypot(lam[:, 0], lam[:, 1])
            assert (np.abs(lam[:, 2]) <= mu * pressed * (1 + 1e-6) + 1e-12).all()
            assert (np.abs(lam[:, 2]) > 0.9 * mu * pressed)[2:-1].any()
    print(f"share of the pull that arrives at the tip: {arrives[0.0]:.3f} without friction, {arrives[0.3]:.3f} with")
    assert arrives[0.0] == pytest.approx(1.0, abs=0.02)
    assert arrives[0.3] < 0.97 * arrives[0.0]


def test_a_needle_that_is_pushed_in_passes_the_points_one_by_one():
    """Without a fixed end, points beyond the tip have no rows; pushed forward, the needle reaches them."""
    world, _, _, base = coupled(POINTS[:-2], fixed_end=False, radius=1e-3, young=1e10, end=0.1)
    state, info = settled(world, base, -0.03, steps=40)
    out = info.assembly.slices[0].stop - info.assembly.slices[0].start
    state, info = pl.ImplicitEuler(0.02)(world, state, {base: pl.Displacement((-0.03, 0, 0))})
    for k in range(40):
        way = -0.03 + 0.03 * (k + 1) / 40
        state, info = pl.ImplicitEuler(0.02)(world, state, {base: pl.Displacement((way, 0, 0))})
    back = info.assembly.slices[0].stop - info.assembly.slices[0].start
    assert out < back == 2 * (len(POINTS) - 2)


def test_a_needle_that_is_not_yet_in_takes_points_as_it_comes():
    """Points ahead of the tip have no rows when the world begins."""
    world, _, _, base = coupled(POINTS[:-2], fixed_end=False, radius=1e-3, young=1e10, end=0.0)
    state = world.initial_state()
    held = []
    for k in range(40):
        state, info = pl.ImplicitEuler(0.02)(world, state, {base: pl.Displacement((0.05 * (k + 1) / 40, 0, 0))})
        held.append(0 if info.assembly is None else len(info.assembly.rows.gap) // 2)
    assert held[0] == 0
    assert (np.diff(held) >= 0).all()
    assert held[-1] == (POINTS[:-2, 0] < 0.05 - 1e-9).sum()


@pytest.mark.parametrize("slender", ["beam", "rod"])
def test_a_needle_passes_by_points_that_it_is_not_aimed_at(slender):
    """The last points lie 2 mm beside its way: it takes the others, is not drawn to these, and says so."""
    points = POINTS[:8].copy()
    points[4:, 1] += 0.002
    if slender == "beam":
        world, _, needle, base = coupled(points, fixed_end=False, radius=5e-4, young=1e10, end=0.0)
    else:
        scene = pl.Scene()
        body = scene.add(pl.Volume(MESH, RUBBER, clamp=CLAMP, damping=pl.Rayleigh(stiffness=0.01)))
        steel = {"section": pl.sections.Circle(5e-4), "young": 1e10, "poisson": 0.3, "density": 1e3}
        needle = scene.add(pl.Rod(0.08, 4, position=(-0.08, 0.01, 0.015), name="needle", **steel))
        base = scene.add(pl.Support(needle, [0], rotation=(0, 0, 0)))
        scene.add(pl.Channel(body, points, needle, fixed_end=False))
        world = scene.compile()
    state, held, told = world.initial_state(), [], []
    for k in range(40):
        state, info = pl.ImplicitEuler(0.02)(world, state, {base: pl.Displacement((0.06 * (k + 1) / 40, 0, 0))})
        held.append(0 if info.assembly is None else len(info.assembly.rows.gap) // 2)
        told.append(info.warnings)
    assert held[-1] == max(held) == 4
    assert not any(told[:10])
    assert "passed by point 4 of 'channel'" in told[-1][0]
    assert np.abs(state.points(needle)[:, 1] - 0.01).max() < 1e-6


def test_a_channel_survives_saving(tmp_path):
    world, *_ = coupled()
    again = pl.load(world.save(tmp_path / "world.npz"))
    state, _ = pl.ImplicitEuler(0.02)(world, world.initial_state())
    other, _ = pl.ImplicitEuler(0.02)(again, again.initial_state())
    np.testing.assert_array_equal(other.q[0], state.q[0])


@pytest.mark.parametrize(
    ("points", "options", "text"),
    [
        (POINTS, {"end": 0.12}, "is longer or shorter than its channel"),
        (POINTS, {"friction": -1.0}, "friction of 'channel'"),
        (POINTS, {"reach": -1e-3}, "reach of 'channel'"),
        (np.add(POINTS, [0, 0.003, 0]), {}, "from the last point of 'channel'"),
        (np.add(POINTS, [0, 0.003, 0]), {"fixed_end": False}, r"point \d+ of 'channel' is 3 mm from the axis"),
        (np.add(POINTS, [0, 0.003, 0]), {"end": 0.004, "fixed_end": False}, r"point \d+ of 'channel'"),
        (np.add(POINTS, [0.05, 0, 0]), {}, "points of 'channel'"),
        (POINTS[:1], {"end_direction": True}, "it needs 2 or more"),
        (POINTS[[0, -1, -2]], {"end": POINTS[-2, 0]}, "point 1 of 'channel' is 8.64 mm from the axis"),
        (POINTS, {"capture": 1e-3}, "capture needs fixed_end=False"),
        (POINTS, {"capture": -1e-3, "fixed_end": False}, "capture of 'channel'"),
    ],
)
def test_bad_channels(points, options, text):
    with pytest.raises(pl.PliantError, match=text):
        coupled(points, **options)


def test_only_chains_have_an_axis():
    scene = pl.Scene()
    body = scene.add(pl.Volume(MESH, RUBBER, clamp=CLAMP))
    scene.add(pl.Channel(body, POINTS, body))
    with pytest.raises(InputError, match="has no axis to slide on"):
        scene.compile()


def test_a_rod_longer_or_shorter_than_its_channel_is_refused():
    for length in (0.11, 0.13):
        with pytest.raises(
            InputError, match=r"the tip of 'rod' is 10 mm from the last point of 'channel': it is longer"
        ):
            rodded(length=length)


def rodded(
    *,
    sections=10,
    young=2e9,
    radius=2.5e-4,
    strains=("twist", "bend_y", "bend_z"),
    damping=0.05,
    length=0.12,
    **options,
):
    """The block with a rod instead of a wire, whose base slides along −x."""
    scene = pl.Scene()
    body = scene.add(pl.Volume(MESH, RUBBER, clamp=CLAMP, damping=pl.Rayleigh(stiffness=0.01)))
    rod = scene.add(
        pl.Rod(
            length,
            sections,
            section=pl.sections.Circle(radius),
            young=young,
            poisson=0.3,
            density=1e3,
            position=(-0.02, 0.01, 0.015),
            base=pl.Slide((-1, 0, 0)),
            strains=strains,
            damping=pl.Rayleigh(stiffness=damping),
        )
    )
    scene.add(pl.Channel(body, POINTS, rod, **options))
    drive = scene.add(pl.BaseDrive(rod))
    return scene.compile(), body, rod, drive


@pytest.mark.parametrize("options", [{}, {"friction": 0.2}, {"end_direction": True}, {"fixed_end": False}])
def test_rows_of_a_rod_in_one_call_are_those_of_its_map(options):
    """In a bent state in the midst of a step, beside the rows that beams have too."""
    world, *_, drive = rodded(**options)
    state = world.initial_state()
    for k in range(5):
        state, _ = pl.ImplicitEuler(0.02)(world, state, {drive: pl.Displacement(2e-4 * (k + 1))})
    motion = StepBodies.begin(world, state, euler_scheme(0.01), {})
    rng = np.random.default_rng(2)
    moved = motion.at(
        [np.where(model.constrained, 0.0, 1e-4 * rng.normal(size=model.constrained.shape)) for model in world.models]
    )
    (constraint,) = world.stiff_constraints
    view = moved.view()
    made, _ = constraint.rows(view)
    expected, _ = ChannelRows.rows(constraint, view)
    assert made.count > 2 * (len(POINTS) - 2)
    for name in ("law", "lower", "upper", "target", "key"):
        np.testing.assert_array_equal(getattr(made, name), getattr(expected, name))
    np.testing.assert_allclose(made.gap, expected.gap, atol=1e-15)
    for H, other in zip(made.H, expected.H, strict=True):
        assert abs(H - other).max() < 1e-13
        assert H.nnz


def test_forces_in_the_channel_stiffen_a_rod():
    """Without the stiffness of its tension the matrix of a pulled rod is that of its bending alone; with it, it is
    −∂(Hᵀλ)/∂q at the places and directions of now, found here by differences of the rows.
    """
    world, _, rod, drive = rodded()
    state = world.initial_state()
    for k in range(5):
        state, _ = pl.ImplicitEuler(0.02)(world, state, {drive: pl.Displacement(2e-4 * (k + 1))})
    (constraint,) = world.stiff_constraints
    number, model = world.index(rod), world.models[world.index(rod)]
    lam = dict(zip(state.keys, state.lam, strict=True))
    forces = np.array([lam.get(key, 0.0) for key in constraint.stiff_keys])
    assert np.abs(forces).max() > 0.1
    ((stiffened, added),) = constraint.stiffness(state.q, forces, 1.0)
    assert stiffened == number
    arc, slides = constraint._project(state.q[number], constraint.map.points(state.q[0]))
    there = constraint.curve.at(arc)
    frames = there.frames(state.q[number])
    pushes = -np.einsum("kri,ki->kr", frames[:, :, 1:], forces[:-3].reshape(-1, 3)[:, :2])
    pushes[-1] = -frames[-1] @ forces[-3:]
    assert slides.sum() == len(POINTS) - 1
    rng = np.random.default_rng(0)
    step = np.where(model.constrained, 0.0, rng.normal(size=model.constrained.shape))
    ends = []
    for sign in (1.0, -1.0):
        moved = state.q[number].copy()
        moved[0] += sign * 1e-6 * (model.basis @ step[0])
        moved[4:] += sign * 1e-6 * step[2:]
        ends.append(there.forces(moved, pushes).ravel()[model.active])
    free = model.free_active
    expected = -((ends[0] - ends[1]) / 2e-6)[free]
    found = (added.K @ step.ravel()[model.active])[free]
    np.testing.assert_allclose(found, expected, atol=1e-5 * np.abs(expected).max())


def test_the_coupling_of_a_channel_is_the_derivative_of_its_forces():
    """−∂/∂q of forces F of the sliding points on both models, which stay across the axis as the places slide and the
    axis turns: EᵀCE with what the rod's own matrix has, against differences.
    """
    world, _, _, drive = rodded()
    state, _ = pl.QuasiStatic(tolerance=1e-10)(world, world.initial_state(), {drive: pl.Displacement(0.002)})
    (constraint,) = world.stiff_constraints
    volume, slender = constraint.indices
    model, rng = world.models[slender], np.random.default_rng(1)
    lam = rng.normal(size=(len(POINTS) + 1, 3)) * [1.0, 1.0, 0.0]

    def places(q):
        arc, slides = constraint._project(q[slender], constraint.map.points(q[volume]))
        return constraint.curve.at(arc), slides

    there, slides = places(state.q)
    assert np.abs(constraint.map.points(state.q[volume]) - there.points(state.q[slender])).max() < 1e-9
    F = np.einsum("kri,ki->kr", there.frames(state.q[slender])[:, :, 1:], lam[:-1, :2]) * slides[:, None]

    def forces(q):
        there, _ = places(q)
        t = there.frames(q[slender])[:, :, 0]
        across = F - t * np.einsum("ki,ki->k", t, F)[:, None]
        on_rod = -there.forces(q[slender], across).ravel()
        return np.concatenate([constraint.map.pull_back_row(q[volume], across).toarray()[0], on_rod[model.free]])

    step = [1e-3 * rng.normal(size=state.q[volume].shape), rng.normal(size=model.constrained.shape)]
    step[1] = np.where(model.constrained, 0.0, step[1])
    step[1][0] *= 1e-3
    ends = []
    for sign in (1e-5, -1e-5):
        q = [x.copy() for x in state.q]
        q[volume] += sign * step[0]
        q[slender][0] += sign * (model.basis @ step[1][0])
        q[slender][4:] += sign * step[1][2:]
        ends.append(forces(q))
    made = constraint.coupling(state.q, lam.ravel(), [m.size for m in world.models])
    pulls = np.linalg.solve(made.compliance, sum(E @ x.ravel() for E, x in zip(made.E, step, strict=True)))
    own = np.zeros(model.size)
    own[model.active] = there.load_stiffness(state.q[slender], -F) @ step[1].ravel()[model.active]
    found = np.concatenate([made.E[volume].T @ pulls, (made.E[slender].T @ pulls + own)[model.free]])
    expected = -(ends[0] - ends[1]) / 2e-5
    np.testing.assert_allclose(found, expected, atol=1e-6 * np.abs(expected).max())


def test_a_thin_wire_under_tension_comes_to_rest():
    """0.1 mm at 4 N: the tension is all its stiffness."""
    world, body, rod, drive = rodded(radius=1e-4, strains=("bend_y", "bend_z"), damping=0.0)
    state, projected = world.initial_state(), 0
    for k in range(120):
        state, info = pl.ImplicitEuler(0.02)(world, state, {drive: pl.Force(4.0 * min(1.0, (k + 1) / 50))})
        projected += info.tangents_projected
    assert np.linalg.norm(state.displacements(body)[TIP]) > 0.01
    assert np.abs(state.v[0]).max() < 1e-3
    assert np.abs(state.strains(rod)).max() < 100.0
    assert projected == 0


def test_a_pulled_rod_rests_where_dynamics_bring_it():
    """Statics of a rod whose base only its drive holds: the same tip and pull as dynamics that came to rest."""
    world, body, _, drive = rodded()
    still, report = pl.QuasiStatic()(world, world.initial_state(), {drive: pl.Displacement(0.002)})
    state = world.initial_state()
    for k in range(200):
        state, info = pl.ImplicitEuler(0.02)(world, state, {drive: pl.Displacement(0.002 * min(1.0, (k + 1) / 40))})
    way = state.displacements(body)[TIP]
    assert np.linalg.norm(way) > 2e-3
    np.testing.assert_allclose(still.displacements(body)[TIP], way, atol=2e-3 * np.linalg.norm(way))
    assert report.actuation(drive)[1] == pytest.approx(info.actuation(drive)[1], rel=2e-3)
