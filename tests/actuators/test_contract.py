"""What every actuator promises: δ, its gradient, its rate, its identity, and what it says it acts on."""

from dataclasses import replace

import numpy as np
import pytest

import pliant as pl
from pliant.core.errors import InputError
from pliant.models.scheme import euler_scheme
from pliant.stepping.bodies import StepBodies
from scenes import bar, hollow_box

DT = 0.01
ROD = {"section": pl.sections.Circle(0.005), "young": 1e7, "poisson": 0.3, "density": 1e3}
VIA = [(0.0, 0.012, 0.015), (0.05, 0.008, 0.012), (0.1, 0.01, 0.015)]


def box(name, position=(0.0, 0.0, 0.0)):
    return pl.RigidBody.box(size=(0.1, 0.04, 0.02), mass=0.5, position=position, rotation=(0.2, -0.4, 0.1), name=name)


def on_bar(make):
    scene, body = bar()
    return scene, scene.add(make(body))


def on_rod(make, **options):
    scene = pl.Scene()
    return scene, scene.add(make(scene.add(pl.Rod(0.2, 2, **options, **ROD))))


def on_boxes(make, count=2):
    scene = pl.Scene()
    boxes = [scene.add(box(f"box {k}", (0.15 * k, 0.02 * k, 0.0))) for k in range(count)]
    return scene, scene.add(make(*boxes))


def in_box():
    scene = pl.Scene()
    return scene, scene.add(pl.Cavity(scene.add(hollow_box())))


BETWEEN = [(0.05, 0.01, 0.0), (-0.05, 0.01, 0.01), (0.3, 0.0, 0.2)]
ALL = pl.regions.box((-1.0, -1.0, -1.0), (1.0, 1.0, 1.0))
KINDS = {
    "cable": lambda: on_bar(lambda body: pl.Cable(body, VIA)),
    "pulled cable": lambda: on_bar(lambda body: pl.Cable(body, VIA, pull_point=(-0.05, 0.0, 0.03))),
    "cable with friction": lambda: on_bar(lambda body: pl.Cable(body, VIA, friction=0.3)),
    "cable between bodies": lambda: on_boxes(lambda a, b: pl.Cable([a, b, None], BETWEEN)),
    "force point": lambda: on_bar(lambda body: pl.ForcePoint(body, (0.1, 0.01, 0.01), direction=(1, 2, -2))),
    "force on a box": lambda: on_boxes(lambda a: pl.ForcePoint(a, (0.05, 0.01, 0.01), direction=(1, 2, -2)), 1),
    "chamber": in_box,
    "layer": lambda: on_bar(lambda body: pl.Layer(body, ALL, normal=(0, 1, 1), thickness=0.01)),
    "stiffness": lambda: on_bar(lambda body: pl.Stiffness(body, min_young=1e4, max_young=1e6)),
    "slider": lambda: on_boxes(lambda a: pl.Slider(a, (1, 1, 0)), 1),
    "slider on a base": lambda: on_boxes(lambda a, b: pl.Slider(b, (1, 0.2, 0), base=a)),
    "hinge": lambda: on_boxes(lambda a: pl.Hinge(a, (0.1, 0.2, 1), point=(0.02, 0.03, 0)), 1),
    "hinge on a base": lambda: on_boxes(lambda a, b: pl.Hinge(b, (0.1, 0.2, 1), point=(0.05, 0.02, 0), base=a)),
    "tendon": lambda: on_rod(lambda rod: pl.Tendon(rod, (0.003, -0.002))),
    "tendon with friction": lambda: on_rod(lambda rod: pl.Tendon(rod, (0.003, -0.002), friction=0.2)),
    "sliding base": lambda: on_rod(lambda rod: pl.BaseDrive(rod), base=pl.Slide((0, 1, 1))),
    "turning base": lambda: on_rod(lambda rod: pl.BaseDrive(rod), base=pl.Turn((0, 1, 1))),
}  # fmt: skip
JOINTS = ("slider", "slider on a base", "hinge", "hinge on a base")


def kicked(bodies, rng, size):
    """Small random motions of all unknowns that are free."""
    free = [
        ~np.broadcast_to(model.constrained, x.shape) for model, x in zip(bodies.world.models, bodies.dx, strict=True)
    ]
    return [size * mask * rng.normal(size=mask.shape) for mask in free]


def away_from_rest(kind, seed=0):
    """The world, its actuator, and a step that begins at a state near rest."""
    scene, actuator = KINDS[kind]()
    world, rng = scene.compile(), np.random.default_rng(seed)
    bodies = StepBodies.begin(world, world.initial_state(), euler_scheme(DT), {})
    if kind not in JOINTS:  # those begin where they hold
        moved = bodies.at(kicked(bodies, rng, 1e-3))
        state = replace(world.initial_state(), q=tuple(trial.positions() for trial in moved.trials))
        bodies = StepBodies.begin(world, state, euler_scheme(DT), {})
    return world, actuator, bodies, rng


@pytest.mark.parametrize("kind", KINDS)
def test_the_first_row_is_the_displacement_and_its_gradient(kind):
    """δ of the row is `displacement`; H its slope, by central differences over all unknowns of all bodies."""
    world, actuator, bodies, rng = away_from_rest(kind)
    constraint = world.constraints[world.constraint_index(actuator)]
    rows = bodies.assembled().rows
    step = kicked(bodies, rng, 1.0)
    if kind in JOINTS:  # across the joint δ is another one: both bodies move as one, and along the axis
        twist = rng.normal(size=3)
        step = [np.stack([np.zeros(3), twist])] * len(step)
        if len(step) == 1:
            step = [np.stack([rng.normal(size=3), np.zeros(3)])]
    found = []
    for sign in (1.0, -1.0):
        moved = bodies.at([sign * 1e-6 * x for x in step])
        found.append(constraint.displacement([trial.positions() for trial in moved.trials]))
        assert moved.assembled().rows.gap[0] == pytest.approx(found[-1], rel=1e-9, abs=1e-12)
    predicted = sum((h[0] @ x.ravel())[0] for h, x in zip(rows.H, step, strict=True))
    assert (found[0] - found[1]) / 2e-6 == pytest.approx(predicted, rel=1e-5, abs=1e-6)
    assert rows.key[0] == constraint.key
    assert len(np.unique(rows.key)) == rows.count
    if constraint.stiff_models:
        np.testing.assert_array_equal(constraint.stiff_keys, rows.key)
    touched = [k for k, h in enumerate(rows.H) if h.nnz]
    assert touched == [k for k, model in enumerate(world.models) if model.handle in actuator.bodies]


@pytest.mark.parametrize("kind", KINDS)
def test_its_rate_is_the_change_of_the_displacement_over_the_step(kind):
    """dδ/dt of the first row to first order in a short step; the other rows have none."""
    world, actuator, bodies, rng = away_from_rest(kind)
    index = world.constraint_index(actuator)
    constraint = world.constraints[index]
    step = kicked(bodies, rng, 1e-6)
    if kind in JOINTS:
        step = [x * np.array([[1.0], [0.0]]) if len(step) == 1 else 0.0 * x for x in step]
    moved = bodies.at(step)
    view = moved.views(0)[index]
    rows, memory = constraint.rows_at(view)
    rates = constraint.rates(view, rows, memory)
    change = [constraint.displacement(q) for q in (view.start, view.q)]
    assert rates[0] == pytest.approx((change[1] - change[0]) / DT, rel=1e-2, abs=1e-9)
    assert rates.shape == (rows.count,)
    assert not rates[1:].any()


@pytest.mark.parametrize(
    ("cable", "reason"),
    [
        (lambda body: pl.Cable(body, VIA), None),
        (lambda body: pl.Cable([body], [VIA[0]], pull_point=(-0.05, 0.0, 0.03)), "pull_point"),
        (lambda body: pl.Cable([body, body, None], VIA), "poses"),
        (lambda body: pl.Cable([body, body, box("other")], VIA), "poses"),
    ],
)
def test_ratios_of_lengths_are_for_cables_within_one_body(cable, reason):
    """δ = (1 − ratio) L₀ with the length along the via points; elsewhere that depends on poses."""
    made = cable(bar()[1])
    if reason is None:
        length = np.linalg.norm(np.diff(VIA, axis=0), axis=1).sum()
        assert made.rest_length == pytest.approx(length)
        assert made.command(pl.LengthRatio(0.9)).amount == pytest.approx(0.1 * length)
        return
    with pytest.raises(InputError, match=reason):
        made.command(pl.LengthRatio(0.9))


def test_pieces_of_no_length_have_no_bend():
    """Via points that have met: their piece neither divides by zero nor cuts a corner."""
    scene, body = bar()
    cable = scene.add(pl.Cable(body, [(0.02, 0.01, 0.01), (0.05, 0.01, 0.01), (0.08, 0.01, 0.01)]))
    world = scene.compile()
    (middles,) = world.constraints[world.constraint_index(cable)].middles
    q = world.models[0].rest
    path = np.array([(0.02, 0.01, 0.01), (0.05, 0.01, 0.01), (0.05, 0.01, 0.01)])
    with np.errstate(all="raise"):
        bends, sagitta = middles.bends(path, q)
    assert np.isfinite(bends).all()
    assert sagitta[0] == pytest.approx(0.0, abs=1e-15)


@pytest.mark.parametrize("seed", range(5))
def test_stiffness_of_a_cable_on_rigid_bodies_is_the_curvature_of_its_length(seed):
    """λ d²L/dt² when one body moves and turns at constant rates: directions of the segments, and lever arms."""
    rng = np.random.default_rng(seed)
    scene = pl.Scene()
    boxes = [scene.add(box(f"box {k}", rng.normal(size=3))) for k in range(2)]
    points = 0.1 * rng.normal(size=(4, 3))
    cable = scene.add(pl.Cable([boxes[0], boxes[0], boxes[1], None], points, pull_point=rng.normal(size=3)))
    world = scene.compile()
    constraint = world.constraints[world.constraint_index(cable)]
    bodies = StepBodies.begin(world, world.initial_state(), euler_scheme(DT), {})
    q, lam, scale = [trial.positions() for trial in bodies.trials], np.array([3.0]), 0.5
    K = [np.zeros((6, 6)) for _ in boxes]
    for of in (constraint.stiffness, constraint.turning_stiffness):
        for index, term in of(q, lam, scale):
            term.add_to(K[index])
    for index in range(2):
        np.testing.assert_allclose(K[index], K[index].T, atol=1e-12)
        for _ in range(3):
            d = [rng.normal(size=(2, 3)) if k == index else np.zeros((2, 3)) for k in range(2)]
            lengths = []
            for t in (-1e-4, 0.0, 1e-4):
                moved = bodies.at([t * x for x in d])
                lengths.append(constraint.length([trial.positions() for trial in moved.trials]))
            curvature = (lengths[0] - 2.0 * lengths[1] + lengths[2]) / 1e-8
            along = d[index].ravel()
            assert along @ K[index] @ along == pytest.approx(scale * lam[0] * curvature, rel=1e-4, abs=1e-4)
    assert list(constraint.turning_stiffness(q, np.zeros(1), scale)) == []
