"""`pl.identify` finds what made the data, says how well, and what the data leave open."""

import warnings

import numpy as np
import pytest

import pliant as pl
from pliant.identification import ActuatorForce, Experiment, Frame, Markers, Unknown
from pliant.recordings import Recording, Registration

P = pl.parameters
STATIC = pl.QuasiStatic(tolerance=1e-10)
POINTS = np.array([(0.03, 0.005, 0.01), (0.05, 0.0, 0.005), (0.06, 0.01, 0.005), (0.06, 0.0, 0.01)])
TRUE = 1.3e5
NOISE = 2e-4


@pytest.fixture(scope="module")
def bar():
    """A clamped bar of a modulus that is not the true one, and the load on its end."""
    return made(1e5)


def made(young):
    scene = pl.Scene(gravity=(0, 0, -9.81))
    material = pl.materials.Corotated(young=young, poisson=0.4, density=1000)
    mesh = pl.mesh.box((0.06, 0.01, 0.01), (4, 1, 1))
    body = scene.add(pl.Volume(mesh, material, clamp=pl.regions.plane(axis="x", at=0.0), name="bar"))
    load = scene.add(pl.PointLoad(body, pl.regions.plane(axis="x", at=0.06), (0, 0, 0)))
    return scene.compile(), body, load


def equilibria(pushes, young=TRUE):
    """Markers (n, 4, 3), m, of the true bar under loads along z and y."""
    world, body, load = made(young)
    state, found = world.initial_state(), []
    bound = pl.recordings.BoundMarkers(world, body, POINTS)
    for push in pushes:
        state, _ = STATIC(world, state, {load: pl.Force((0, 0.5 * push, push))})
        found.append(bound.at(state))
    return np.array(found)


def experiment(load, pushes, markers):
    return Experiment(markers, control=[{load: pl.Force((0, 0.5 * push, push))} for push in pushes])


def young(body, **options):
    return Unknown(P.Material(body, "young"), 1e5, log=True, **options)


PUSHES = (0.0, 0.02, -0.02, 0.03)


def test_the_modulus_of_a_bar_with_noise(bar):
    world, body, load = bar
    data = equilibria(PUSHES) + np.random.default_rng(1).normal(scale=NOISE, size=(4, 4, 3))
    data[2, 1] = np.nan
    markers = Markers(body, POINTS, values=data, noise=NOISE)
    unknown = young(body)
    found = pl.identify(world, experiment(load, PUSHES, markers), unknown)
    low, high = found.intervals[unknown]
    assert found[unknown] == pytest.approx(TRUE, rel=0.02)
    assert low < TRUE < high
    assert 0.7 < found.noise_factor < 1.4
    assert found.rms(markers) == pytest.approx(NOISE * np.sqrt(3), rel=0.3)
    assert np.isnan(found.residuals[markers][2, 1]).all()
    assert np.isfinite(found.residuals[markers]).sum() == 45
    assert found.warnings == ()
    assert "young of 'bar'" in found.report()
    assert found.as_json()["parameters"]["young of 'bar'"]["value"] == found[unknown]
    assert found.world.models[0].spec.material.young == pytest.approx(found[unknown])
    assert body.material.young == 1e5


def test_exact_data_give_exact_values_from_far_away(bar):
    world, body, load = bar
    unknown = Unknown(P.Material(body, "young"), 1e6, log=True, lower=2e4, upper=1e7)
    markers = Markers(body, POINTS, values=equilibria(PUSHES), noise=NOISE)
    found = pl.identify(world, experiment(load, PUSHES, markers), unknown)
    assert found[unknown] == pytest.approx(TRUE, rel=1e-6)
    known = pl.identify(world, experiment(load, PUSHES, markers), unknown, known_noise=True)
    assert found.deviations[unknown] < 1.001e-3 * known.deviations[unknown]
    assert known.noise_factor == 1.0


def test_one_modulus_of_two_bars():
    """A list of parameters is one unknown; the data of either bar tell it."""
    scene = pl.Scene(gravity=(0, 0, -9.81))
    mesh, clamp = pl.mesh.box((0.06, 0.01, 0.01), (4, 1, 1)), pl.regions.plane(axis="x", at=0.0)
    bars = [
        scene.add(
            pl.Volume(mesh, pl.materials.Corotated(young=E, poisson=0.4, density=1000), clamp=clamp, name=name),
            position=(0, 0.05 * k, 0),
        )
        for k, (E, name) in enumerate(((1e5, "left"), (2e5, "right")))
    ]
    world, values = scene.compile(), equilibria((0.0,))
    shifts = np.array([(0, 0, 0), (0, 0.05, 0)])
    markers = [Markers(bar, POINTS + x, values=values + x, noise=NOISE) for bar, x in zip(bars, shifts, strict=True)]
    unknown = Unknown([P.Material(bar, "young") for bar in bars], 1e5, log=True)
    found = pl.identify(world, Experiment(markers, control=[{}]), unknown)
    assert found[unknown] == pytest.approx(TRUE, rel=1e-6)
    assert [model.spec.material.young for model in found.world.models] == [found[unknown]] * 2
    assert "young of 'left', young of 'right'" in found.report()
    with pytest.raises(pl.InputError, match="different values"):
        pl.identify(world, Experiment(markers, control=[{}]), Unknown(unknown.parameter.parameters))


def test_weight_alone_cannot_tell_modulus_and_density_apart(bar):
    """Equilibria depend on ρ/E: the combination is named, and the intervals are open."""
    world, body, load = bar
    markers = Markers(body, POINTS, values=equilibria([0.0]), noise=NOISE)
    unknowns = [young(body, lower=1e4, upper=1e6), Unknown(P.Material(body, "density"), 1000.0, log=True)]
    with pytest.warns(pl.PliantWarning, match=r"cannot tell apart (young of 'bar' and density|density of 'bar' and y)"):
        found = pl.identify(world, experiment(load, [0.0], markers), unknowns)
    assert "10 %" in found.warnings[0]
    assert found[unknowns[0]] / found[unknowns[1]] == pytest.approx(TRUE / 1000.0, rel=1e-5)
    assert found.intervals[unknowns[0]] == pytest.approx((1e4, 1e6))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        known = [unknowns[0], Unknown(P.Material(body, "density"), 1000.0, log=True, prior=(1000.0, 10.0))]
        found = pl.identify(world, experiment(load, [0.0], markers), known)
    assert found[known[0]] == pytest.approx(TRUE, rel=1e-4)
    assert found.deviations[known[0]] / TRUE == pytest.approx(0.01, rel=0.01)


def test_marker_offsets_and_the_frame_of_the_cameras(bar):
    """Positions come in the frame of the cameras, the markers sit up to 1 mm from where they were meant to."""
    world, body, load = bar
    rng = np.random.default_rng(2)
    by = pl.recordings.register(POINTS, POINTS @ [[0, 1, 0], [-1, 0, 0], [0, 0, 1]] + [0.2, 0.1, 0.3])
    offsets = rng.normal(scale=5e-4, size=POINTS.shape)
    pushes = np.linspace(-0.03, 0.03, 9)
    true, true_body, true_load = made(TRUE)
    bound = pl.recordings.BoundMarkers(true, true_body, POINTS, offsets, radius=0.011)
    state, data = true.initial_state(), []
    for push in pushes:
        state, _ = STATIC(true, state, {true_load: pl.Force((0, 0.5 * push, push))})
        data.append(bound.at(state))
    data = (np.array(data) - by.translation) @ by.rotation + rng.normal(scale=5e-5, size=(9, 4, 3))
    frame = Frame(name="cameras")
    markers = Markers(body, POINTS, values=data, noise=5e-5, frame=frame, offset_deviation=5e-4, radius=0.011)
    unknown = young(body)
    found = pl.identify(world, experiment(load, pushes, markers), unknown)
    low, high = found.intervals[unknown]
    assert low < TRUE < high
    assert high / low < 1.05
    assert found.frames[frame].rms < 1.2e-4
    left = found.frames[frame].rotation @ by.rotation.T
    assert np.degrees(np.arccos(0.5 * (np.trace(left) - 1))) < 1.5
    assert np.abs(found.offsets[markers] - offsets).max() < 1e-3
    assert 0.7 < found.noise_factor < 1.4
    assert "frame 'cameras'" in found.report()


@pytest.mark.parametrize(("loss", "within"), [("huber", 0.02), ("cauchy", 0.01)])
def test_robust_losses_bear_markers_that_were_exchanged(bar, loss, within):
    world, body, load = bar
    data = equilibria(PUSHES) + np.random.default_rng(3).normal(scale=NOISE, size=(4, 4, 3))
    data[3, 2, 2] += 0.008
    data[1, [2, 3]] = data[1, [3, 2]]
    unknown = young(body)
    found = {}
    for each in ("squares", loss):
        markers = Markers(body, POINTS, values=data, noise=NOISE)
        found[each] = pl.identify(world, experiment(load, PUSHES, markers), unknown, loss=each)[unknown]
    assert abs(found[loss] / TRUE - 1) < within
    assert abs(found["squares"] / TRUE - 1) > 2 * abs(found[loss] / TRUE - 1)


def test_a_recording_of_a_swing(bar):
    """Modulus and damping from the free swing, recorded at another rate than that of the steps, with gaps."""
    scene = pl.Scene(gravity=(0, 0, -9.81))
    material = pl.materials.Corotated(young=TRUE, poisson=0.4, density=1000)
    mesh, clamp = pl.mesh.box((0.06, 0.01, 0.01), (4, 1, 1)), pl.regions.plane(axis="x", at=0.0)
    body = scene.add(pl.Volume(mesh, material, clamp=clamp, damping=pl.Rayleigh(stiffness=4e-3), name="bar"))
    world = scene.compile()
    stepper = pl.ImplicitEuler(0.01, tolerance=1e-10)
    run = pl.simulate(world, stepper, until=0.2)
    bound = pl.recordings.BoundMarkers(world, body, POINTS[2:])
    times = np.arange(25) / 125.0
    along = bound.along(run)
    points = np.stack([[np.interp(times, run.times, along[:, k, a]) for a in range(3)] for k in range(2)]).transpose(
        2, 0, 1
    )
    points = points + np.random.default_rng(4).normal(scale=NOISE, size=points.shape)
    points[5:9, 1] = np.nan
    markers = Markers(body, POINTS[2:], values=Recording(points, 125.0, ("a", "b")), noise=NOISE)
    swing = Experiment(markers, stepper=stepper, until=0.2)
    unknowns = [young(body), Unknown(P.Damping(body, "stiffness"), 2e-3, lower=0.0)]
    found = pl.identify(world, swing, unknowns)
    for unknown, true in zip(unknowns, (TRUE, 4e-3), strict=True):
        low, high = found.intervals[unknown]
        assert low < true < high
        assert high - low < 0.25 * true
    assert found.method == "forward sensitivities"


def test_friction_of_a_sliding_block():
    """A block thrown over a floor: after n implicit steps it is at n h v − μ g h² n (n + 1)/2."""
    scene = pl.Scene(gravity=(0, 0, -9.81))
    block = scene.add(pl.RigidBody.box(size=(0.04, 0.04, 0.02), mass=0.1, position=(0, 0, 0.01), name="block"))
    floor = scene.add(pl.Obstacle.plane(point=(0, 0, 0), normal=(0, 0, 1)))
    scene.collide(block, floor, friction=0.5)
    world = scene.compile()
    first = world.initial_state()
    velocity = np.zeros_like(first.v[0])
    velocity[0, 0] = 0.5
    first = pl.State(world, 0.0, first.q, (velocity,), np.zeros(0))
    h, mu, n = 0.01, 0.3, np.arange(1, 9)
    centre = (n * h * 0.5 - mu * 9.81 * h**2 * n * (n + 1) / 2)[:, None] * [1, 0, 0] + [0, 0, 0.01]
    markers = Markers(block, (0, 0, 0.01), values=centre, noise=1e-4)
    unknown = Unknown(P.Friction(block, floor), 0.5, lower=0.0, upper=2.0)
    slide = Experiment(markers, stepper=pl.ImplicitEuler(h, tolerance=1e-10), until=0.08, start=first)
    found = pl.identify(world, slide, unknown)
    assert found[unknown] == pytest.approx(mu, rel=1e-6)
    assert found.method == "forward sensitivities"


def test_a_parameter_at_its_bound_and_data_that_nothing_explains_are_told():
    scene = pl.Scene(gravity=(0, 0, 0))
    material = pl.materials.Corotated(young=1e5, poisson=0.4, density=1000)
    mesh, clamp = pl.mesh.box((0.06, 0.01, 0.01), (4, 1, 1)), pl.regions.plane(axis="x", at=0.0)
    body = scene.add(pl.Volume(mesh, material, clamp=clamp, name="bar"))
    cable = scene.add(pl.Cable(body, [(0.06, 0.005, 0.009), (0.0, 0.005, 0.009)], name="cable"))
    world = scene.compile()
    grams = ActuatorForce(cable, values=[2.0, 4.0], noise=0.01)
    pulled = Experiment(grams, control=[{cable: pl.Displacement(x)} for x in (0.001, 0.002)])
    unknown = Unknown(P.Material(body, "young"), 1e5, lower=5e4, upper=2e5)
    with pytest.warns(pl.PliantWarning) as told:
        found = pl.identify(world, pulled, unknown)
    texts = " | ".join(str(each.message) for each in told)
    assert "young of 'bar' ended at its bound" in texts
    assert "does not explain \"force of 'cable'\"" in texts
    assert found[unknown] == pytest.approx(2e5, rel=1e-5)


def test_a_figure_of_the_residuals(bar, tmp_path):
    pytest.importorskip("matplotlib")
    world, body, load = bar
    markers = Markers(body, POINTS, values=equilibria([0.0, 0.02]) + 1e-5, noise=NOISE)
    found = pl.identify(world, experiment(load, [0.0, 0.02], markers), young(body))
    figure = found.plot(tmp_path / "left.png")
    assert len(figure.axes) == 2
    assert (tmp_path / "left.png").stat().st_size > 5000


def test_nonsense_is_told(bar):
    world, body, load = bar
    good = {"values": equilibria([0.0]), "noise": NOISE}

    def fit(*measurements, unknowns=None, data=None, **options):
        own = experiment(load, [0.0], list(measurements)) if data is None else data
        return pl.identify(world, own, young(body) if unknowns is None else unknowns, **options)

    def refused(text, function):
        with pytest.raises(pl.PliantError, match=text):
            function()

    markers = Markers(body, POINTS, **good)
    refused("all values of .* are gaps", lambda: Markers(body, POINTS, values=np.full((4, 3), np.nan), noise=1.0))
    refused(
        r"must have the shape \(4, 3\) .* got \(3, 3\)",
        lambda: Markers(body, POINTS, values=np.zeros((3, 3)), noise=1.0),
    )
    refused("noise of .* must be > 0", lambda: Markers(body, POINTS, values=good["values"], noise=0.0))
    refused("8 times and values", lambda: Markers(body, POINTS, times=np.arange(8.0), **good))
    refused(
        "2 instants, its experiment 1 steps", lambda: fit(Markers(body, POINTS, values=np.zeros((2, 4, 3)), noise=1.0))
    )
    refused("not within the run", lambda: fit(Markers(body, POINTS, times=[2.0], **good)))
    refused("marker of .* outside|not (in|on)", lambda: fit(Markers(body, POINTS + 0.1, **good)))
    refused("check their unit", lambda: fit(Markers(body, POINTS, values=1e3 * good["values"], noise=1.0)))
    refused(
        "changes none of the measurements",
        lambda: fit(markers, unknowns=[young(body), Unknown(P.Damping(body, "mass"), 0.1)]),
    )
    refused("needs one experiment", lambda: fit(markers, unknowns=[]))
    refused("given twice", lambda: fit(markers, unknowns=[young(body), young(body)][:1] * 2))
    refused("loss of identify", lambda: fit(markers, loss="absolute"))
    refused("level of identify", lambda: fit(markers, level=95))
    refused("must be of pl.parameters", lambda: fit(markers, unknowns=[3.0]))
    refused("must be pl.identification.Experiment", lambda: fit(data=markers))
    refused("in two experiments", lambda: fit(data=[experiment(load, [0.0], markers)] * 2))
    refused("start of .* outside of its bounds", lambda: young(body, lower=2e5))
    refused("standard deviation .* must be > 0", lambda: young(body, prior=(1e5, 0.0)))
    refused("starts at 0 and has no bounds", lambda: fit(markers, unknowns=Unknown(P.Gravity(), np.zeros(3))))
    refused(
        "1 values cannot determine 2 unknowns",
        lambda: fit(
            Markers(body, POINTS[:1], values=good["values"][:, :1, 2:], noise=NOISE, directions=(0, 0, 1)),
            unknowns=[young(body), Unknown(P.Material(body, "poisson"))],
        ),
    )
    refused(
        "cannot be registered",
        lambda: fit(Markers(body, POINTS[:2], values=good["values"][:, :2], noise=NOISE, frame=Frame())),
    )
    refused("start of the frame", lambda: Frame(start=np.eye(3)))
    refused("one of pl.parameters", lambda: Unknown("young", 1.0))
    assert isinstance(fit(markers, unknowns=P.Material(body, "young")).report(), str)
    assert Registration is not None
