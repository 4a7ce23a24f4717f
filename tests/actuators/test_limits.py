"""Limits of rates: per second, whatever the step; refused where no time passes; old names and old files."""

import numpy as np
import pytest

import pliant as pl
from archives import of_version_1
from pliant.actuators.drive import span
from pliant.actuators.limits import Command, Limits
from pliant.constraints import RowLaw
from pliant.core.errors import InputError


def block(**options):
    """A clamped block with a cable along it."""
    scene = pl.Scene()
    rubber = pl.materials.Corotated(young=1e5, poisson=0.4, density=1e3)
    clamp = pl.regions.plane(axis="x", at=0.0)
    body = scene.add(pl.Volume(pl.mesh.box((0.06, 0.02, 0.02), (4, 1, 1)), rubber, clamp=clamp, name="block"))
    cable = scene.add(pl.Cable(body, [(0.005, 0.01, 0.018), (0.055, 0.01, 0.018)], **options))
    return scene.compile(), body, cable


@pytest.mark.parametrize("stepper", [pl.ImplicitEuler, lambda dt: pl.QuasiStatic(dt=dt)])
@pytest.mark.parametrize("dt", [0.02, 0.01])
def test_a_motor_is_as_fast_with_any_step(stepper, dt):
    """A command far away is approached at 0.05 m/s: after 0.04 s the cable is 2 mm shorter, with either dt."""
    world, _, cable = block(max_rate=0.05)
    run = pl.simulate(world, stepper(dt), until=0.04, control=lambda t, state: {cable: pl.Displacement(0.01)})
    np.testing.assert_allclose(run.times, np.linspace(0.0, 0.04, len(run.times)), atol=1e-12)
    np.testing.assert_allclose(run.actuation(cable)[0], 0.05 * run.times, rtol=0.02)  # linearized


def test_the_tip_approaches_its_target_at_a_speed_whatever_the_step():
    world, body, cable = block()
    for dt in (0.02, 0.01):
        tip = pl.Effector(body, (0.06, 0.01, 0.01), directions=(0, 0, 1), max_speed=0.01)
        step = pl.QuasiStatic(dt=dt, solver=pl.Inverse([tip], [cable]))
        state = world.initial_state()
        for _ in range(round(0.1 / dt)):
            state, info = step(world, state, {tip: (0.06, 0.01, 0.012)})
        assert info.error(tip) == pytest.approx(0.001, rel=0.05)


def test_steps_in_which_no_time_passes_refuse_limits_of_rates():
    world, body, cable = block(max_force_rate=5.0)
    start = world.initial_state()
    with pytest.raises(InputError, match=r"'cable' limits a rate, but no time passes .* pl\.QuasiStatic\(dt=…\)"):
        pl.QuasiStatic()(world, start, {cable: pl.Force(1.0)})
    pl.QuasiStatic()(world, start)  # what is not driven is not limited
    tip = pl.Effector(body, (0.06, 0.01, 0.01))
    with pytest.raises(InputError, match="'cable' limits a rate"):
        pl.QuasiStatic(solver=pl.Inverse([tip], [cable]))(world, start, {tip: (0.06, 0.01, 0.02)})
    world, body, cable = block()
    tip = pl.Effector(body, (0.06, 0.01, 0.01), max_speed=0.1, name="tip")
    with pytest.raises(InputError, match="'tip' limits a rate"):
        pl.QuasiStatic(solver=pl.Inverse([tip], [cable]))(world, world.initial_state(), {tip: (0.06, 0.01, 0.02)})


def test_geometric_steps_refuse_limits_of_rates():
    scene = pl.Scene()
    bellows = scene.add(pl.robots.bellows(cells=(2, 2), fold_count=2))
    pump = scene.add(pl.Cavity(bellows.body, bellows.cavity.surface, max_rate=1e-6, name="pump"))
    world = scene.compile()
    with pytest.raises(InputError, match="'pump' limits a rate"):
        pl.Geometric()(world, world.initial_state(), {pump: pl.VolumeRatio(1.1)})


@pytest.mark.parametrize("dt", [0.0, -1.0, np.nan])
def test_the_time_between_calls_is_positive(dt):
    with pytest.raises(InputError, match=r"dt .*must be"):
        pl.QuasiStatic(dt=dt)


@pytest.mark.parametrize(
    ("kind", "old", "new"),
    [
        (pl.Cable, "max_variation", "max_rate"),
        (pl.Cable, "max_force_variation", "max_force_rate"),
        (pl.Cavity, "max_pressure_variation", "max_pressure_rate"),
        (pl.Slider, "max_variation", "max_rate"),
        (pl.Hinge, "max_torque_variation", "max_torque_rate"),
        (pl.ForcePoint, "max_force_variation", "max_force_rate"),
        (pl.BaseDrive, "max_variation", "max_rate"),
        (pl.Stiffness, "max_variation", "max_rate"),
        (pl.MovedSupport, "max_variation", "max_rate"),
        (pl.Effector, "max_step", "max_speed"),
        (pl.LengthEffector, "max_step", "max_speed"),
        (pl.VolumeEffector, "max_step", "max_speed"),
        (pl.OrientationEffector, "max_step", "max_speed"),
    ],
)
def test_limits_per_step_are_refused_with_the_conversion(kind, old, new):
    with pytest.raises(InputError, match=rf"{old} of a {kind.__name__} was a change per step; .* {new} = {old}/dt"):
        kind(None, None, **{old: 0.001})
    assert new in kind.__dataclass_fields__


@pytest.mark.parametrize("limit", [np.inf, 0.001])
def test_files_with_limits_per_step(tmp_path, limit):
    """Older files say changes per step: those of a run become rates by its dt; a world does not know its dt."""

    def with_changes(header, arrays):
        for thing, _ in header["world"]["things"]:
            if thing["class"] == "Cable":
                own = thing["fields"]
                own["max_force_variation"] = own.pop("max_force_rate")
                own.pop("max_rate")
                own["max_variation"] = limit if np.isfinite(limit) else {"float": "inf"}

    def old(path):
        return of_version_1(path, path, with_changes)

    world, _, cable = block(max_rate=limit / 0.01)
    run = pl.simulate(world, pl.ImplicitEuler(dt=0.01), until=0.03, control=lambda t, _: {cable: pl.Displacement(0.01)})
    loaded = pl.load(old(run.save(tmp_path / "run.npz")))
    assert loaded.world.thing("cable").max_rate == limit / 0.01
    np.testing.assert_array_equal(loaded.replay().positions[0], run.positions[0])
    path = old(world.save(tmp_path / "world.npz"))
    if np.isfinite(limit):
        with pytest.raises(InputError, match=r"'cable' in this file .* 0\.001 per step; .* max_rate = 0\.001/dt"):
            pl.load(path)
    else:
        assert pl.load(path).thing("cable").max_rate == np.inf


def test_force_and_displacement_change_by_no_more_than_their_rates():
    """From 2 N and 1 mm, in 0.1 s at 5 N/s and 0.02 m/s, whatever is asked for, and never beyond the bounds."""
    limits = Limits(0.0, 2.4, least=-1.0, most=1.0, force_rate=5.0, rate=0.02)

    def law(by_force, amount, force=2.0):
        return limits.law(Command(by_force, amount), 0.1, lambda: 0.001, lambda: force)

    assert law(True, 9.0)[3] == pytest.approx(2.5)
    assert law(True, 0.0)[3] == pytest.approx(1.5)
    assert law(True, 2.1)[3] == 2.1
    assert law(False, 0.1)[1:] == pytest.approx((1.5, 2.4, 0.003))
    assert law(False, -0.1, force=1.0)[1:] == pytest.approx((0.5, 1.5, -0.001))


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [(-np.inf, np.inf, (-4.0, 4.0, 0.0)), (1.0, 3.0, (1.0, 3.0, 1.0)), (-5.0, -2.0, (-5.0, -2.0, -2.0)),
     (-1.0, np.inf, (-1.0, 4.0, 0.0))],
)  # fmt: skip
def test_a_slider_starts_at_what_is_closest_to_zero(low, high, expected):
    assert span(low, high, 4.0) == expected


@pytest.mark.parametrize(
    ("bounds", "leaves"),
    [
        ({}, True),
        ({"least": 1.0, "most": 1.0}, True),  # one displacement is something
        ({"least": 1.0, "most": 0.9}, False),
        ({"lower": 2.0, "upper": 2.0}, False),  # one force is not: it cannot hold and move
        ({"lower": 2.0, "upper": 1.0}, False),
        ({"lower": -np.inf, "upper": -np.inf}, False),
        ({"lower": np.inf, "upper": np.inf}, False),
        ({"least": np.inf, "most": np.inf}, False),
        ({"least": -np.inf, "most": -np.inf}, False),
        ({"lower": -1.0, "upper": np.inf, "least": -np.inf, "most": -3.0}, True),
    ],
)
def test_limits_leave_something_between_them(bounds, leaves):
    limits = Limits(**bounds)
    if leaves:
        limits.check_order("motor")
        return
    with pytest.raises(InputError, match="the limits of 'motor' leave nothing between them"):
        limits.check_order("motor")


@pytest.mark.parametrize("seed", range(20))
def test_steps_end_within_the_bounds_and_within_reach_of_the_start(seed):
    """At random limits: a force or a displacement no farther from the start than its rate allows, as near to the
    command as that; bounds of λ that contain the force of the start, or the nearest bound.
    """
    rng = np.random.default_rng(seed)
    lower, upper = np.sort(rng.uniform(-3.0, 3.0, 2))
    rates = {name: rng.choice([np.inf, rng.uniform(1.0, 20.0)]) for name in ("rate", "force_rate")}
    limits = Limits(lower, upper, least=-1.0, most=1.0, **rates)
    dt, delta, force = 0.1, rng.uniform(-1.0, 1.0), rng.uniform(-4.0, 4.0)
    for by_force in (False, True):
        amount = rng.uniform(lower, upper) if by_force else rng.uniform(-1.0, 1.0)
        law, low, high, target = limits.law(Command(by_force, amount), dt, lambda: delta, lambda: force)
        start, way = (force, rates["force_rate"] * dt) if by_force else (delta, rates["rate"] * dt)
        assert target == pytest.approx(amount if abs(amount - start) <= way else start + np.sign(amount - start) * way)
        if by_force:
            assert int(law) == RowLaw.IMPOSED
            continue
        assert int(law) == RowLaw.BOUNDED
        assert lower <= low <= high <= upper
        reachable = (max(lower, force - rates["force_rate"] * dt), min(upper, force + rates["force_rate"] * dt))
        if reachable[0] <= reachable[1]:
            assert (low, high) == pytest.approx(reachable)
        else:
            assert low == high == (lower if force < lower else upper)
