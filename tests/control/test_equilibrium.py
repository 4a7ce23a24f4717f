"""The error of an inverse at equilibrium, against forward solves that know nothing of the inverse."""

from types import SimpleNamespace

import numpy as np
import pytest

import pliant as pl
from pliant.control.equilibrium import EquilibriumWatch, commanded
from pliant.core.errors import InputError
from pliant.core.status import Status

MESH = pl.mesh.box((0.2, 0.03, 0.03), (10, 2, 2))
CLAMP = pl.regions.plane(axis="x", at=0.0)
TIP = np.array([0.2, 0.015, 0.015])
SIDES = [(0.027, 0.015), (0.015, 0.027), (0.003, 0.015), (0.015, 0.003)]


def beam(*, floor=None, **options):
    """A clamped beam under gravity with four cables near its sides, above a `floor` where its height is given."""
    scene = pl.Scene(gravity=(0, 0, -9.81))
    rubber = pl.materials.Corotated(young=2e5, poisson=0.3, density=1e3)
    body = scene.add(pl.Volume(MESH, rubber, clamp=CLAMP))
    cables = [
        scene.add(pl.Cable(body, [(x, *side) for x in (0.0, 0.05, 0.1, 0.15, 0.2)], name=f"cable {k}", **options))
        for k, side in enumerate(SIDES)
    ]
    if floor is not None:
        ground = scene.add(pl.Obstacle.plane(point=(0, 0, floor), normal=(0, 0, 1)))
        scene.collide(body, ground)
    return scene.compile(), body, cables


def tip_of(state, body):
    node = int(np.argmin(np.linalg.norm(MESH.points - TIP, axis=1)))
    return state.points(body)[node]


def measured(world, body, commands, target):
    """Distance of the tip from the target after a converged forward solve from the initial state, m."""
    state, _ = pl.QuasiStatic(tolerance=1e-9)(world, world.initial_state(), commands)
    return float(np.linalg.norm(tip_of(state, body) - target))


def held(cables, info):
    return {c: pl.Displacement(d) for c, d in zip(cables, info.actuation(cables)[0], strict=True)}


def random_targets(count, seed=0):
    """Targets around the sagging tip, up to 4 cm away."""
    rng = np.random.default_rng(seed)
    return TIP + rng.uniform([-0.014, -0.03, -0.05], [-0.006, 0.03, 0.0], (count, 3))


def reachable_targets(world, body, cables, count, seed):
    """Where the tip comes to rest under random displacements of two neighbouring cables."""
    rng = np.random.default_rng(seed)
    for _ in range(count):
        first = int(rng.integers(4))
        commands = {cables[k % 4]: pl.Displacement(rng.uniform(0.004, 0.012)) for k in (first, first + 1)}
        yield tip_of(pl.QuasiStatic()(world, world.initial_state(), commands)[0], body)


@pytest.mark.parametrize("floor", [None, -0.012])
def test_the_predicted_error_is_the_one_measured_over_random_targets(floor):
    """One linear solve to a far target: with the cables held the tip settles where `equilibrium_error` says."""
    world, body, cables = beam(floor=floor)
    tip = pl.Effector(body, TIP)
    step = pl.QuasiStatic(newton_iterations=1, solver=pl.Inverse([tip], cables))
    state = world.initial_state()
    differs = 0
    for target in random_targets(5):
        state, info = step(world, state, {tip: target})
        true = measured(world, body, held(cables, info), target)
        print(
            f"reported {1e3 * info.error(tip):.3f} mm, predicted {1e3 * info.equilibrium_error(tip):.3f}, {true:.6f} m"
        )
        assert info.equilibrium_error(tip) == pytest.approx(true, rel=0.1, abs=1e-6)
        differs += abs(true - info.error(tip)) > 0.1 * true
    assert differs >= 4  # what the step reports is not what is measured


@pytest.mark.parametrize("count", [8, 24, 72])
def test_the_predicted_error_on_a_circle_at_several_speeds(count):
    world, body, cables = beam()
    tip = pl.Effector(body, TIP)
    step = pl.QuasiStatic(newton_iterations=1, solver=pl.Inverse([tip], cables))
    state = world.initial_state()
    for target in pl.paths.circle(center=np.add(TIP, [-0.008, 0, -0.02]), radius=0.02, count=count, normal=(1, 0, 0))[
        :6
    ]:
        state, info = step(world, state, {tip: target})
        true = measured(world, body, held(cables, info), target)
        assert info.equilibrium_error(tip) == pytest.approx(true, rel=0.1, abs=1e-6)


def test_forces_held_settle_elsewhere_than_displacements_held():
    world, body, cables = beam()
    tip = pl.Effector(body, TIP)
    target = np.add(TIP, [-0.01, 0.03, -0.02])
    _, info = pl.QuasiStatic(newton_iterations=1, solver=pl.Inverse([tip], cables))(
        world, world.initial_state(), {tip: target}
    )
    forces = {c: pl.Force(f) for c, f in zip(cables, info.actuation(cables)[1], strict=True)}
    by_force = info.equilibrium_error(tip, hold="force")
    assert by_force == pytest.approx(measured(world, body, forces, target), rel=0.01)
    assert by_force != pytest.approx(info.equilibrium_error(tip), rel=0.01)
    with pytest.raises(InputError, match="hold is one of"):
        info.equilibrium_error(tip, hold="length")


def test_after_a_dynamic_step_it_is_the_error_of_the_converged_step():
    world, body, cables = beam()
    tip = pl.Effector(body, TIP)
    step = pl.ImplicitEuler(0.02, solver=pl.Inverse([tip], cables))
    state = world.initial_state()
    for k in range(4):
        before, target = state, TIP + np.array([-0.002, 0.008, 0.006]) * (k + 1)
        state, info = step(world, before, {tip: target})
        after, _ = pl.ImplicitEuler(0.02, tolerance=1e-10)(world, before, held(cables, info))
        true = float(np.linalg.norm(tip_of(after, body) - target))
        assert info.equilibrium_error(tip) == pytest.approx(true, rel=0.01, abs=1e-7)


def test_a_converged_inverse_reports_the_error_at_equilibrium():
    world, body, cables = beam()
    tip = pl.Effector(body, TIP)
    _, info = pl.QuasiStatic(solver=pl.Inverse([tip], cables))(
        world, world.initial_state(), {tip: np.add(TIP, [-0.01, 0.02, -0.02])}
    )
    assert info.equilibrium_error(tip) == pytest.approx(info.error(tip), abs=1e-7)
    assert not any("settles" in text for text in info.warnings)


def test_the_warning_comes_once_and_names_both_errors():
    world, body, cables = beam()
    tip = pl.Effector(body, TIP, name="fingertip")
    step = pl.QuasiStatic(newton_iterations=1, solver=pl.Inverse([tip], cables))
    state, texts = world.initial_state(), []
    for target in random_targets(4):
        state, info = step(world, state, {tip: target})
        texts += [text for text in info.warnings if "settles" in text]
    assert len(texts) == 1
    assert "fingertip" in texts[0]


@pytest.mark.parametrize("floor", [None, -0.012])
def test_with_a_tolerance_the_targets_are_reached_in_equilibrium(floor):
    """The actuation found, applied to a forward solve from the initial state, brings the tip there."""
    world, body, cables = beam(floor=floor)
    tip, tolerance = pl.Effector(body, TIP), 5e-5
    step = pl.QuasiStatic(solver=pl.Inverse([tip], cables, tolerance=tolerance))
    state = world.initial_state()
    for target in reachable_targets(world, body, cables, 4, seed=1):
        state, info = step(world, state, {tip: target})
        true = measured(world, body, held(cables, info), target)
        print(f"error {1e6 * info.error(tip):.1f} µm, measured {1e6 * true:.1f} µm, {info.iterations} linear solves")
        assert info.error(tip) == pytest.approx(true, abs=0.1 * tolerance)
        assert info.residual < 1e-7
        assert true < 3e-4 + tolerance  # 0.3 mm: what the energy's ε trades away


def test_out_of_reach_the_settled_inverse_stays_as_close_as_it_can():
    world, body, cables = beam(max_force=0.4)
    tip = pl.Effector(body, TIP)
    target = np.add(TIP, [0.0, 0.1, 0.1])
    state, info = pl.QuasiStatic(solver=pl.Inverse([tip], cables, tolerance=1e-4))(
        world, world.initial_state(), {tip: target}
    )
    _, plain = pl.QuasiStatic(solver=pl.Inverse([tip], cables))(world, world.initial_state(), {tip: target})
    assert info.error(tip) == pytest.approx(plain.error(tip), abs=1e-3)
    assert np.linalg.norm(tip_of(state, body) - target) == pytest.approx(info.error(tip), abs=1e-6)


def test_what_a_tolerance_refuses():
    world, body, cables = beam(max_rate=0.1)
    tip = pl.Effector(body, TIP)
    with pytest.raises(InputError, match="may not limit a rate"):
        pl.QuasiStatic(dt=0.1, solver=pl.Inverse([tip], cables, tolerance=1e-4))(
            world, world.initial_state(), {tip: TIP}
        )
    with pytest.raises(InputError, match="static equilibrium"):
        pl.ImplicitEuler(0.01, solver=pl.Inverse([tip], cables, tolerance=1e-4))
    with pytest.raises(InputError, match="tolerance"):
        pl.Inverse([tip], cables, tolerance=0.0)


class Reported:
    """A step whose effectors settle elsewhere than it reports."""

    status, residual = Status.FIXED_ITERATIONS, 1.0

    def __init__(self, reported, settled):
        self.reported, self.settled, self.asked = reported, settled, []

    def error(self, effector):
        return self.reported[effector.name]

    def equilibrium_error(self, effector):
        self.asked.append(effector.name)
        if isinstance(self.settled[effector.name], Exception):
            raise self.settled[effector.name]
        return self.settled[effector.name]


def watched(*names, tolerance=1e-3):
    effectors = [SimpleNamespace(name=name, tolerance=tolerance) for name in names]
    return SimpleNamespace(session=SimpleNamespace(inverse=SimpleNamespace(effectors=effectors)))


def test_the_equilibrium_is_compared_ever_more_rarely_until_it_warns():
    """At the 1st, 2nd, 4th, 8th and 16th step that was cut off, balanced ones apart; once warned, never again."""
    watch, report, seen = EquilibriumWatch(), watched("tip"), []
    for step in range(1, 21):
        info = Reported({"tip": 0.01}, {"tip": 0.0105})
        assert watch.warnings(report, info) == ()
        if info.asked:
            seen.append(step)
    assert seen == [1, 2, 4, 8, 16]
    converged = Reported({"tip": 0.01}, {"tip": 0.5})
    converged.status = Status.CONVERGED
    balanced = Reported({"tip": 0.01}, {"tip": 0.5})
    balanced.residual = 1e-3
    for info in (converged, balanced):
        watch = EquilibriumWatch()
        assert watch.warnings(report, info) == ()
        assert not info.asked


@pytest.mark.parametrize(("reported", "settled", "said"), [
    (0.01, 0.0111, True), (0.01, 0.0109, False), (0.01, 0.0089, True), (0.01, 0.0091, False), (0.0, 0.0, False),
])  # fmt: skip
def test_a_warning_names_effectors_that_settle_elsewhere_by_more_than_their_tolerance(reported, settled, said):
    watch, report = EquilibriumWatch(), watched("tip", "hand")
    info = Reported({"tip": reported, "hand": 0.2}, {"tip": settled, "hand": 0.2})
    texts = watch.warnings(report, info)
    assert len(texts) == said
    if said:
        assert f"'tip' is reported {reported:.3g} from its target" in texts[0]
        assert f"it settles {settled:.3g} from it, more than its tolerance 0.001" in texts[0]
        again = Reported({"tip": 0.0, "hand": 0.0}, {"tip": 1.0, "hand": 1.0})
        for _ in range(5):
            assert watch.warnings(report, again) == ()
        assert not again.asked, "a warning is given once"


def test_an_equilibrium_that_is_not_found_is_a_warning():
    watch, report = EquilibriumWatch(), watched("tip", "hand")
    lost = pl.ConvergenceError("no equilibrium was found")
    info = Reported({"tip": 0.25, "hand": 0.1}, {"tip": lost, "hand": lost})
    (text,) = watch.warnings(report, info)
    assert text == "'tip' is reported 0.25 from its target, but no equilibrium was found"


@pytest.mark.parametrize("hold", ["displacement", "force"])
def test_held_actuation_is_brought_into_its_limits(hold):
    """By a rounding beyond them; the kind of the command is the one that is held."""
    mesh = pl.mesh.box((0.1, 0.02, 0.02), (5, 1, 1))
    body = pl.Volume(mesh, pl.materials.Corotated(young=1e5, poisson=0.4, density=1e3))
    cable = pl.Cable(body, [(0.0, 0.01, 0.01), (0.1, 0.01, 0.01)], min_force=0.5, max_force=3.0, max_displacement=0.02)
    for displacement, force, held in (
        (0.01, 2.0, (0.01, 2.0)), (0.02 + 1e-12, 3.0 + 1e-9, (0.02, 3.0)), (0.01, 0.5 - 1e-9, (0.01, 0.5)),
    ):  # fmt: skip
        value = commanded(cable, displacement, force, hold)
        assert isinstance(value, pl.Force if hold == "force" else pl.Displacement)
        assert value.value == held[hold == "force"]
