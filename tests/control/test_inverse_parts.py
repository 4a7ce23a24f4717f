"""Pieces of an inverse by hand: bounds and rates, layouts, padded contacts, errors and words of its report."""

from types import SimpleNamespace

import numpy as np
import pytest

import pliant as pl
from pliant.actuators.values import Cut
from pliant.control.inverse import InverseReport, _Bound, _check_movable
from pliant.control.settled_inverse import PROBE, TAUT, _Moved, _refuse
from pliant.control.step_qpcc import Reached, RowLayout, StepQpcc, _best, _near, _padded
from pliant.solvers.inverse import QpccProblem, QpccResult
from scenes import bar

INF = np.inf


class Named(SimpleNamespace):
    """Attributes, and an identity by which mappings find it."""

    __hash__ = object.__hash__
    __eq__ = object.__eq__


def limits(lower=0.0, upper=INF, least=-INF, most=INF, rate=INF, force_rate=INF):
    return SimpleNamespace(lower=lower, upper=upper, least=least, most=most, rate=rate, force_rate=force_rate)


def bound(*given, kinds=None, weights=(1.0,)):
    actuators = kinds or [object() for _ in given]
    effectors = tuple(SimpleNamespace(spec=SimpleNamespace(weight=w, hard=False)) for w in weights)
    return _Bound(effectors, tuple(actuators), tuple(range(len(given))), tuple(given), ())


def test_limits_of_actuators_side_by_side():
    made = bound(limits(0.5, 3.0, -0.1, 0.2), limits(-1.0, 2.0))
    np.testing.assert_array_equal(made.force_limits, [[0.5, -1.0], [3.0, 2.0], [INF, INF]])
    np.testing.assert_array_equal(made.change_limits, [[-0.1, -INF], [0.2, INF], [INF, INF]])
    assert (made.any_limit, made.any_rate, made.any_force_rate) == (True, False, False)
    (x_low, x_high), (low, high) = made.steady_limits
    np.testing.assert_array_equal([x_low, x_high, low, high], [[0.5, -1], [3, 2], [-0.1, -INF], [0.2, INF]])
    for one, found in (
        (limits(), (False, False, False)), (limits(rate=1.0), (True, True, False)),
        (limits(force_rate=2.0), (False, False, True)), (limits(most=1.0), (True, False, False)),
    ):  # fmt: skip
        made = bound(limits(), one)
        assert (made.any_limit, made.any_rate, made.any_force_rate) == found
        assert (made.steady_limits is None) is (found[1] or found[2])
    assert bound(limits(), kinds=[1.0]).of_one_kind
    assert bound(limits(), limits(), kinds=[1.0, 2.0]).of_one_kind
    assert not bound(limits(), limits(), kinds=[1.0, 2]).of_one_kind
    assert bound(limits(), weights=(4.0, 0.25)).roots == [2.0, 0.5]


def test_rows_of_hard_and_soft_effectors():
    layout = RowLayout.of([slice(7, 8), slice(2, 3)], [slice(10, 13), slice(13, 14), slice(14, 16)], [2.0, 3.0, 5.0],
                          [False, True, False])  # fmt: skip
    assert layout.actuators.tolist() == [7, 2]
    assert layout.effectors.tolist() == [10, 11, 12, 14, 15]
    assert layout.hard.tolist() == [13]
    assert layout.weights.tolist() == [2.0, 2.0, 2.0, 5.0, 5.0]
    assert layout.first == 10


def test_a_layout_is_kept_while_rows_stand_where_they_did():
    made = bound(limits(), weights=(1.0, 9.0))
    first = made.layout([slice(0, 1), slice(1, 4), slice(4, 5)])
    assert (first.actuators.tolist(), first.effectors.tolist()) == ([0], [1, 2, 3, 4])
    assert made.layout([slice(0, 1), slice(1, 4), slice(4, 5)]) is first
    moved = made.layout([slice(0, 1), slice(1, 6), slice(6, 9), slice(9, 10)])
    assert moved.effectors.tolist() == [6, 7, 8, 9]
    assert len(made.layouts) == 1, "the last one alone"


def step_of(made, *, interval=0.1, last=(0.0, 0.0), displacements=(0.0, 0.0), cut=(False, False), spans=()):
    """What `StepQpcc._limit` reads of a step with two actuators."""
    supports = [SimpleNamespace(span=lambda bodies, span=span: span) for span in spans]
    return SimpleNamespace(
        bound=made, bodies=SimpleNamespace(scheme=SimpleNamespace(interval=interval)),
        assembly=SimpleNamespace(memories=[SimpleNamespace(cut=one) for one in cut]),
        session=SimpleNamespace(supports=supports), last=np.array(last), actuator_rows=np.arange(2),
        _displacement=lambda k: displacements[k],
    )  # fmt: skip


def limited(*given, **options):
    step = step_of(bound(*given), **options)
    StepQpcc._limit(step)
    return [part.tolist() for part in (*step.x_limits, *step.limits)]


def test_bounds_of_a_step():
    one, two = limits(0.5, 3.0, -0.1, 0.2), limits(0.0, 9.0)
    assert limited(one, two) == [[0.5, 0.0], [3.0, 9.0], [-0.1, -INF], [0.2, INF]]
    # 4 N/s in 0.1 s from the last force, within the limits of force; a rate alone moves to them where it began outside
    fast = limits(0.5, 3.0, force_rate=4.0)
    assert limited(fast, two, last=(1.0, 0.0))[:2] == [[0.6, 0.0], [1.4, 9.0]]
    assert limited(fast, two, last=(2.9, 5.0))[:2] == [[2.5, 0.0], [3.0, 9.0]]
    assert limited(fast, two, last=(0.6, 5.0))[:2] == [[0.5, 0.0], [1.0, 9.0]]
    assert limited(fast, two, last=(9.0, 0.0))[:2] == [[3.0, 0.0], [3.0, 9.0]]
    assert limited(fast, two, last=(-9.0, 0.0))[:2] == [[0.5, 0.0], [0.5, 9.0]]
    # displacements from where the step began
    slow = limits(least=-0.1, most=0.2, rate=0.5)
    assert limited(slow, two, displacements=(0.1, 7.0))[2:] == [[0.05, -INF], pytest.approx([0.15, INF])]
    assert limited(slow, two, displacements=(0.18, 7.0))[2:] == [pytest.approx([0.13, -INF]), [0.2, INF]]
    assert limited(slow, two, interval=0.0, displacements=(0.1, 7.0))[2:] == [[-0.1, -INF], [0.2, INF]]


def test_a_cut_actuator_has_no_force_and_no_limit_of_its_way():
    one, two = limits(0.5, 3.0, -0.1, 0.2), limits(1.0, 9.0, -0.3, 0.4)
    assert limited(one, two, cut=(False, True)) == [[0.5, 0.0], [3.0, 0.0], [-0.1, -INF], [0.2, INF]]
    assert limited(one, two, cut=(True, False)) == [[0.0, 1.0], [0.0, 9.0], [-INF, -0.3], [INF, 0.4]]
    assert limited(one, two, cut=(True, True)) == [[0.0, 0.0], [0.0, 0.0], [-INF, -INF], [INF, INF]]


def test_supports_stand_behind_the_actuators():
    assert limited(limits(0.5, 3.0), limits(0.0, 9.0), spans=[(-0.01, 0.02), (0.0, 0.3)])[:2] == [
        [0.5, 0.0, -0.01, 0.0], [3.0, 9.0, 0.02, 0.3],
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("x", "limit", "near"),
    [(1.0, 1.0, True), (1.0 + 2e-9, 1.0, False), (1.0 - 0.9e-9, 1.0, True), (0.9e-12, 0.0, True), (1.1e-12, 0.0, False),
     (1e9, INF, False), (-5.0, -5.0 - 4e-9, True), (-5.0, -5.0 - 6e-9, False)],
)  # fmt: skip
def test_what_stands_at_its_bound(x, limit, near):
    assert _near(np.array([x]), np.array([limit])).tolist() == [near]


def test_actuators_at_a_limit_of_force_or_of_displacement():
    """Two actuators and a support, which has no displacement beside its own unknown."""
    x_limits, ways = (
        (np.array([0.0, 0.0, -0.1]), np.array([5.0, 5.0, 0.1])),
        (np.array([-1.0, -1.0]), np.array([1.0, 1.0])),
    )
    for x, delta, at in (
        ((1.0, 1.0, 0.0), (0.0, 0.0), [False, False, False]), ((0.0, 1.0, 0.0), (0.0, 0.0), [True, False, False]),
        ((1.0, 5.0, 0.1), (0.0, 0.0), [False, True, True]), ((1.0, 1.0, -0.1), (0.0, 1.0), [False, True, True]),
        ((1.0, 1.0, 0.0), (-1.0, 0.0), [True, False, False]),
    ):  # fmt: skip
        assert Reached(np.array(x), x_limits, np.array(delta), ways).at_limit().tolist() == at


def test_frictionless_contacts_get_two_tangents_of_zero():
    """Two contacts without friction, then one cone: rows 0, 3 and 6 to 8 of nine."""
    chance = np.random.default_rng(0)
    root = chance.normal(size=(5, 5))
    plain = QpccProblem.of(
        E_a=chance.normal(size=(3, 2)), e=chance.normal(size=3), E_c=chance.normal(size=(3, 5)),
        R_a=chance.normal(size=(1, 2)), R_c=chance.normal(size=(1, 5)), r=np.zeros(1),
        C_a=chance.normal(size=(5, 2)), W_cc=root @ root.T, c=np.arange(5.0),
    )  # fmt: skip
    padded, rows = _padded(plain, 2)
    assert rows.tolist() == [0, 3, 6, 7, 8]
    for name, axes in (("E_c", (1,)), ("R_c", (1,)), ("C_a", (0,)), ("W_cc", (0, 1)), ("c", (0,))):
        block = getattr(padded, name)
        kept = block
        for axis in axes:
            assert block.shape[axis] == 9
            kept = np.take(kept, rows, axis=axis)
        np.testing.assert_array_equal(kept, getattr(plain, name))
        assert np.count_nonzero(block) == np.count_nonzero(getattr(plain, name))
    same, rows = _padded(plain, 0)
    assert same is plain
    assert rows.tolist() == list(range(5))


def test_the_best_point_outside_of_limits_is_used_with_a_warning():
    best = object.__new__(QpccResult)

    def search(result):
        raise pl.ConvergenceError("outside", result=result)

    with pytest.warns(pl.PliantWarning, match="the one that violates them least is used"):
        assert _best(lambda: search(best)) is best
    for other in (None, np.zeros(2)):
        with pytest.raises(pl.ConvergenceError, match="outside"):
            _best(lambda other=other: search(other))
    assert _best(lambda: best) is best


def report_of(rows, *, at_limit=(), hold="force", actuators=(), supports=(), tolerance=1e-3):
    """A report of effectors with the given errors and remaining ways: (delta, ahead) each."""
    effectors = [Named(name=f"e{k}", tolerance=tolerance) for k in range(len(rows))]
    delta = np.concatenate([np.asarray(one, float) for one, _ in rows])
    ends = np.cumsum([len(one) for one, _ in rows])
    slices = [slice(int(end) - len(one), int(end)) for end, (one, _) in zip(ends, rows, strict=True)]
    listed = [
        (SimpleNamespace(effector=effector), own, SimpleNamespace(ahead=np.asarray(ahead, float)))
        for effector, own, (_, ahead) in zip(effectors, slices, rows, strict=True)
    ]
    session = SimpleNamespace(
        effector_rows=lambda info: listed, inverse=SimpleNamespace(effectors=effectors), supports=supports,
        bound=SimpleNamespace(roots=[2.0 + k for k in range(len(rows))], actuators=actuators, supports=supports),
    )  # fmt: skip
    measured = lambda: SimpleNamespace(at_limit=lambda: np.array(at_limit, bool))  # noqa: E731
    result = SimpleNamespace(status=SimpleNamespace(text="done"))
    report = InverseReport(session, result, None, measured, hold=hold)
    return report, SimpleNamespace(delta=delta), effectors


def test_errors_are_root_mean_squares_over_points():
    report, info, (one, two, three) = report_of(
        [((3e-3, 0, 0), (0, 4e-3, 0)), ((1e-3, 0, 0, 0, 2e-3, 2e-3), np.zeros(6)), ((-2e-3,), (1e-3,))]
    )
    assert report.error(one, info) == pytest.approx(5e-3)
    assert report.error(two, info) == pytest.approx(np.sqrt(9e-6 / 2))
    assert report.error(three, info) == pytest.approx(1e-3)
    weighted = report.weighted_errors(info)
    np.testing.assert_allclose(weighted, [6e-3, 8e-3, 0, 3e-3, 0, 0, 0, 6e-3, 6e-3, -4e-3])
    with pytest.raises(pl.InputError, match="is not an effector of this inverse"):
        report.error(object(), info)


def test_a_report_in_words():
    actuators = (SimpleNamespace(name="left"), SimpleNamespace(name="right"))
    near, far = ((1e-3, 0, 0), np.zeros(3)), ((1.01e-3, 0, 0), np.zeros(3))
    report, info, _ = report_of([near, near], at_limit=(True, False), actuators=actuators)
    assert report.reached(info)
    assert report.text(info) == "reached; done"
    report, info, _ = report_of([near, far], at_limit=(False, True), actuators=actuators)
    assert not report.reached(info)
    assert report.limited == ("right",)
    assert report.text(info) == "not reached: this is as close as the actuators come, with right at a limit; done"
    report, info, _ = report_of([far], at_limit=(False, False), actuators=actuators)
    assert report.text(info) == "not reached: this is as close as the actuators come; done"


@pytest.mark.parametrize("hold", ["force", "displacement"])
def test_commands_repeat_the_step_without_its_effectors(hold):
    _, body = bar()
    first, second = (pl.Cable(body, [(0.0, 0.01, 0.01), (0.1, 0.01, 0.01)], name=name) for name in "ab")
    base = pl.Support(body, pl.regions.plane(axis="x", at=0.0))
    moved = SimpleNamespace(spec=SimpleNamespace(support=base, name="base"), reached=np.array([0.01, 0.0, 0.0]))
    report, info, (effector,) = report_of(
        [((0.0,) * 3, (0.0,) * 3)], hold=hold, actuators=(first, second), supports=(moved,)
    )
    info.actuation = lambda actuator: (0.004, 2.0)
    given = {effector: (0, 0, 0), second: Cut(), "other": 5.0}
    made = report.commands(given, info)
    assert set(made) == {first, second, "other", base}
    assert isinstance(made[second], Cut)
    assert made["other"] == 5.0
    assert made[first] == (pl.Force(2.0) if hold == "force" else pl.Displacement(0.004))
    np.testing.assert_array_equal(made[base].value, [0.01, 0.0, 0.0])
    assert set(report.commands(None, info)) == {first, second, base}


def probed(*each):
    """Probes of actuators (kind, value, force, lower, upper)."""
    kinds = {}
    actuators = []
    for kind, _, _, lower, upper in each:
        cls = kinds.setdefault(kind, type(kind, (), {"slider_amount": lambda self, d, f: d}))
        one = cls()
        one.limits = SimpleNamespace(lower=lower, upper=upper)
        actuators.append(one)
    values, forces = np.array([row[1] for row in each]), np.array([row[2] for row in each])
    return _Moved(SimpleNamespace(actuators=actuators), values, forces).probes()


def test_actuators_are_probed_by_a_fraction_of_their_way_or_of_the_largest_of_their_kind():
    found = probed(("cable", 0.02, 5.0, 0.0, 9.0), ("cable", -1e-4, 3.0, 0.0, 9.0), ("chamber", 1e-6, 2.0, 0.0, 9.0))
    np.testing.assert_allclose(found, PROBE * np.array([0.02, 0.002, 1e-6]))
    slack = TAUT * 5.0
    at = probed(*(("cable", 0.02, force, 0.0, 5.0) for force in (5.0, 0.5 * slack, 2.0 * slack, 5.0 - 2.0 * slack)))
    assert (at > 0.0).tolist() == [False, False, True, True]


def test_what_takes_several_rounds_limits_no_rate():
    steady, fast = (SimpleNamespace(name=name, rate_limited=limited) for name, limited in (("a", False), ("b", True)))
    _refuse(SimpleNamespace(actuators=[steady], effectors=[steady]))
    for inverse in (SimpleNamespace(actuators=[fast], effectors=[]), SimpleNamespace(actuators=[], effectors=[fast])):
        with pytest.raises(pl.InputError, match="'b' may not limit a rate"):
            _refuse(inverse)


def test_an_effector_is_movable_through_a_chain_of_constraints():
    """Bodies 0 – 1 – 2 are connected, 3 is not; an actuator of body 0 moves the first three."""
    joins = [(0, 1), (1, 2)]
    constraints = [SimpleNamespace(connects=lambda k, pair=pair: k in pair) for pair in joins]
    world = SimpleNamespace(models=range(4), constraints=constraints, index=lambda body: body)
    actuator = SimpleNamespace(bodies=(0,))
    for body, good in ((0, True), (1, True), (2, True), (3, False)):
        inverse = SimpleNamespace(actuators=[actuator], effectors=[SimpleNamespace(name="tip", bodies=(body,))])
        if good:
            _check_movable(inverse, world)
        else:
            with pytest.raises(pl.InputError, match="no actuator of the inverse can move 'tip'"):
                _check_movable(inverse, world)


def test_what_an_inverse_is_given():
    _, body = bar()
    cable = pl.Cable(body, [(0.0, 0.01, 0.01), (0.1, 0.01, 0.01)])
    tip = pl.Effector(body, (0.1, 0.01, 0.01))
    for given, said in (
        ({"effectors": []}, "at least one of each"), ({"actuators": []}, "at least one of each"),
        ({"effectors": np.array([tip], object)}, "effectors of an inverse must be a list"),
        ({"actuators": range(1)}, "actuators of an inverse must be"),
        ({"effectors": [cable]}, "is no effector"), ({"actuators": [tip]}, "is not an actuator"),
        ({"energy_weight": -1.0}, "energy_weight must be"), ({"tolerance": 0.0}, "tolerance must be"),
    ):  # fmt: skip
        with pytest.raises(pl.InputError, match=said):
            pl.Inverse(**{"effectors": [tip], "actuators": [cable]} | given)
    assert pl.Inverse([tip], [cable], energy_weight=0.0).energy_weight == 0.0
