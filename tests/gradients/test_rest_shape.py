"""Gradients by rest shapes and by what is made of other parameters, against differences of worlds made anew."""

from dataclasses import replace

import numpy as np
import pytest

import pliant as pl
from tests.gradients import cases

P = cases.P


def uneven(element, seed):
    """A bar whose nodes stand at random, but for those of its clamp."""
    mesh, rng = pl.mesh.box((0.1, 0.02, 0.02), (4, 1, 1), element=element), np.random.default_rng(seed)
    return mesh.mapped(lambda p: p + np.where(p[:, :1] > 1e-9, 4e-4, 0.0) * rng.normal(size=p.shape))


def cabled(seed, steps, *, change=0.0, element="tet4", kind="Corotated", damping=0.02, load="point", **options):
    """A turned bar with an inclusion, a cable and a load, made with another mesh where there is a `change`."""
    first = uneven(element, seed)
    mesh = first if np.isscalar(change) else first.reshaped(first.points + change)
    end = pl.regions.nodes(np.flatnonzero(first.points[:, 0] > 0.095))
    scene = pl.Scene(gravity=(0, 0, -9.81))
    body = pl.Volume(
        mesh, cases.material(kind), clamp=pl.regions.nodes(np.flatnonzero(first.points[:, 0] < 1e-9)),
        damping=pl.Rayleigh(mass=0.3, stiffness=damping),
        inclusions=[(pl.regions.cells([2, 3]), cases.material(kind, 3e5))], **options,
    )  # fmt: skip
    scene.add(body, position=(0.1, 0.02, 0.03), rotation=(0.1, 0.5, 0.3))
    cable = scene.add(pl.Cable(body, [(0.012, 0.011, 0.004), (0.043, 0.0105, 0.004), (0.088, 0.0113, 0.0041)]))
    if load == "point":
        scene.add(pl.PointLoad(body, end, (0, 0.002, 0.001)))
    elif load == "traction":
        scene.add(pl.TractionLoad(body, end, (0, 20.0, 10.0)))
    else:
        scene.add(pl.BodyLoad(body, (0, 20.0, 1000.0)))
    world = scene.compile()
    control = [{cable: pl.Displacement(0.004 * (k + 1) / steps)} for k in range(steps)]
    tip = (body, np.array((0.0931, 0.0107, 0.0093)))
    loss = (
        1e2 * pl.losses.Position(tip, (0.09, 0, 0)) + 0.5 * pl.losses.Coordinate(tip, (0, 1, 1), when="always")
        + 1e-3 * pl.losses.Tension(cable, 0.3, when="always")
        + pl.losses.Energy(body) + 10.0 * pl.losses.Energy(body, "kinetic", when="always")
    )  # fmt: skip
    return cases.Case(world, loss, control, {"shape": P.RestShape(body)})


@pytest.mark.parametrize(
    ("steps", "options"),
    [
        (2, {}),
        (0, {"kind": "NeoHookean", "damping": 0.0, "load": "traction"}),
        (2, {"kind": "NeoHookean", "damping": 0.01, "lumped_mass": False, "mass": 0.05}),
        (2, {"element": "hex8", "load": "body"}),
        (0, {"element": "hex8", "kind": "NeoHookean", "damping": 0.0}),
        pytest.param(2, {"element": "tet10", "anti_locking": False}, marks=pytest.mark.slow),
        (2, {"kind": "Linear", "load": "traction"}),
    ],
)
@pytest.mark.filterwarnings("ignore:cells of 'volume'")
def test_the_mesh_of_a_cabled_bar(steps, options):
    """Stiffness, masses, damping, loads, the cable and the read-outs; all nodes, and those of the clamp alone."""
    stepper = cases.EULER if steps else cases.STATIC
    case = cabled(0, steps or 1, **options)
    (parameter,) = case.parameters.values()
    found = pl.gradient(case.world, stepper, case.loss, parameters=[parameter], control=case.control)
    points = parameter.value(case.world)
    rng = np.random.default_rng(1)
    for which in (np.ones(points.shape), points[:, :1] < 1e-9):
        along = rng.normal(size=points.shape) * which
        wanted = cases.difference(
            lambda s, x=along: cabled(0, steps or 1, change=s * x, **options).value(stepper), 1e-6
        )
        assert np.vdot(found[parameter], along) == pytest.approx(wanted, rel=1e-6)


def shaped(case, body, stepper, *, seed=1, step=1e-7, clamp=False, tolerance=1e-6):
    """Compare the gradient of a case by the rest shape of `body` with differences of changed worlds."""
    world, shape = case.world, P.RestShape(body)
    index = world.index(body)
    given = {"control": case.control, "start": case.start}
    found = pl.gradient(world, stepper, case.loss, parameters=[shape], **given)[shape]
    points = shape.value(world)
    along = np.random.default_rng(seed).normal(size=points.shape)
    along *= points[:, :1] < 1e-9 if clamp else 1.0

    def value(s):
        other = pl.changed(world, {shape: points + s * along})
        start = case.start
        if start is not None:  # the first displacement stays
            q = list(start.q)
            q[index] = q[index] + other.models[index].rest - world.models[index].rest
            start = pl.State(other, 0.0, tuple(q), start.v, np.zeros(0))
        return cases.Case(other, case.loss, case.control, {}, start).value(stepper)

    scale = float(np.linalg.norm(found) * np.linalg.norm(along))
    assert np.vdot(found, along) == pytest.approx(cases.difference(value, step), rel=tolerance, abs=1e-8 * scale)


@pytest.mark.parametrize("growth", [False, True])
def test_chambers(growth):
    case = cases.chamber(0, 2, growth=growth)
    for stepper in (cases.EULER, cases.STATIC):
        shaped(case, case.parameters["young"].body, stepper)


def in_contact(make, options, seed=1, steps=2):
    case = make(seed, steps, **options)
    for clamp in (False, True):
        shaped(case, case.parameters["young"].body, cases.EULER, clamp=clamp)


def test_contacts():
    """All nodes, and those of the clamp, next to which the bar may touch."""
    in_contact(cases.on_floor, {"mu": 0.02})


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 3])
@pytest.mark.parametrize(("make", "options"), [
    (cases.on_floor, {"mu": 0.02}), (cases.on_floor, {"mu": 0.9}), (cases.pressed, {"other": "cylinder", "mu": 0.0}),
    (cases.pressed, {"other": "soft", "mu": 0.0}), (cases.pressed, {"other": "ball"}),
    (cases.pressed, {"other": "sphere"}),
])  # fmt: skip
def test_many_contacts(make, options, seed):
    in_contact(make, options, seed, 4)


def joined(springs, **options):
    """Two bars, welded or sprung together, one held by a support, the other by a clamp; with a force point."""
    scene = pl.Scene(gravity=(0, 0, -9.81))
    given = {"damping": pl.Rayleigh(stiffness=0.01)}
    box = pl.mesh.box((0.1, 0.02, 0.02), (4, 1, 1))
    lower = scene.add(pl.Volume(box, cases.material("Corotated", 1e5 + options.get("young", 0.0)), **given))
    clamp = pl.regions.plane(axis="x", at=0.1)
    upper = scene.add(pl.Volume(box, cases.material("Corotated", 2e5), clamp=clamp, **given), position=(0, 0, 0.021))
    scene.add(pl.Support(lower, pl.regions.plane(axis="x", at=0.0)))
    force = scene.add(pl.ForcePoint(upper, (0.013, 0.007, 0.0091), direction=(0, 1, 1)))
    points = np.array([(0.081, 0.007, 0.0193), (0.072, 0.013, 0.0188)])
    if springs:
        ends = points + np.array((0.001, 0, 0.002))
        scene.add(pl.Spring(lower, upper, points=points, ends=ends, stiffness=30.0, damping=0.1, reach=0.004))
    else:
        scene.attach(lower, upper, points=points, reach=0.004)
    loss = 1e3 * pl.losses.Position((lower, np.array([0.093, 0.009, 0.013])), (0.1, 0.0, 0.03), when="always")
    named = {"young": P.Material(lower, "young")}
    return cases.Case(scene.compile(), loss, [{force: pl.Force(0.003)}] * 3, named), lower, upper


@pytest.mark.parametrize("springs", [False, True])
def test_welds_springs_and_force_points(springs):
    case, lower, upper = joined(springs)
    shaped(case, lower, cases.EULER)
    shaped(case, upper, cases.STATIC)


@pytest.mark.parametrize("stepper", [cases.EULER, pl.ImplicitEuler(0.005)])
def test_dashpots_count_from_the_start_of_a_step(stepper):
    found = joined(True)[0].gradient(stepper)[1]["young"]
    wanted = cases.difference(lambda s: joined(True, young=s)[0].value(stepper), 50)
    assert found == pytest.approx(wanted, rel=1e-6)


def test_cables_between_volumes_and_a_first_state_that_is_displaced():
    roped, finger = cases.roped(0, 2), cases.finger(2, 2)
    body = roped.parameters["young"].body
    loss = 1e3 * pl.losses.Position((body, np.array([0.093, 0.0107, 0.0113])), (0.1, 0.0, 0.03))
    shaped(replace(roped, loss=loss), body, cases.EULER)
    start = cases.started(finger.world, 2, q=2e-4, v=0.01)
    body = finger.parameters["young"].body
    loss = 1e3 * pl.losses.Position((body, np.array([0.087, 0.0071, 0.0113])), (0.1, 0.0, 0.03))
    shaped(replace(finger, start=start, loss=loss), body, cases.EULER)


def finger(phalanx, height):
    return pl.robots.finger(phalanx=phalanx, height=height, cells=(2, 2, 2), damping=pl.Rayleigh(stiffness=0.01))


@pytest.mark.parametrize("told", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_dimensions_of_a_parametric_robot(told):
    """A finger with other phalanges and height is compiled as a robot of its own."""
    at, place = np.array((0.028, 0.015)), np.array((0.0931, 0.0007, 0.0113))
    robot = finger(*at)
    scene = pl.Scene(gravity=(0, 0, -9.81))
    scene.add(robot)
    world, shape, route = scene.compile(), P.RestShape(robot.body), P.Route(robot.cable)

    def numbers(values):
        made = finger(*values)
        return {shape: made.body.mesh.points, route: made.cable.via_points}

    def slopes(values):
        columns = [
            {k: cases.difference(lambda s, k=k, e=e: numbers(values + s * e)[k], 1e-5) for k in (shape, route)}
            for e in np.eye(2)
        ]
        return {k: np.stack([column[k] for column in columns], axis=-1) for k in (shape, route)}

    def value(values):
        other = finger(*values)
        own = pl.Scene(gravity=(0, 0, -9.81))
        own.add(other)
        loss = 1e3 * pl.losses.Position((other.body, place), (0.09, 0, 0))
        control = [{other.cable: pl.Displacement(0.002 * k)} for k in (1, 2)]
        return cases.Case(own.compile(), loss, control, {}).value(cases.EULER)

    design = P.Dimensions(numbers, at, derivative=slopes if told else None)
    loss = 1e3 * pl.losses.Position((robot.body, place), (0.09, 0, 0))
    control = [{robot.cable: pl.Displacement(0.002 * k)} for k in (1, 2)]
    found = pl.gradient(world, cases.EULER, loss, parameters=[design], control=control)
    wanted = [cases.difference(lambda s, e=e: value(at + s * e), 1e-6) for e in np.eye(2)]
    assert found[design] == pytest.approx(wanted, rel=1e-6)
    larger = pl.changed(world, {design: (0.03, 0.016)})  # mesh and route in one
    assert np.array_equal(larger.models[0].rest, finger(0.03, 0.016).body.mesh.points)
    assert design.value(larger) == pytest.approx((0.03, 0.016), rel=1e-7)
    other = pl.changed(larger, {route: route.value(larger) * (1.0, 0.9, 1.0)})
    with pytest.raises(pl.InputError, match="not those of any values near"):
        pl.gradient(other, cases.EULER, loss, parameters=[design], control=control)


def test_one_value_at_many_places():
    """The derivative by a shared modulus is the sum of those by both, forward as well."""
    case = cases.roped(0, 2)
    bars = [model.handle for model in case.world.models]
    each = [P.Material(body, "young") for body in bars]
    shared = P.Shared(each)
    found = pl.gradient(case.world, cases.EULER, case.loss, parameters=[shared, *each], control=case.control)
    assert found[shared] == pytest.approx(found[each[0]] + found[each[1]], rel=1e-12)
    out = pl.outputs.Points(bars[0], [(0.09, 0.01, 0.01)])
    read = pl.sensitivities(case.world, cases.EULER, [out], parameters=[shared, *each], control=case.control)
    both = read.derivatives[out, each[0]] + read.derivatives[out, each[1]]
    assert read.derivatives[out, shared] == pytest.approx(both, rel=1e-9)
    same = pl.changed(case.world, {shared: 1.5e5})
    assert shared.value(same) == 1.5e5
    assert [model.spec.material.young for model in same.models] == [1.5e5, 1.5e5]
    with pytest.raises(pl.InputError, match="different values"):
        shared.value(case.world)


def test_what_is_not_known_is_an_error():
    case = cases.finger(0, 2)
    body = case.parameters["young"].body
    shape = P.RestShape(body)
    given = {"parameters": [shape], "control": case.control}
    with pytest.raises(pl.InputError, match="one linear solve"):
        pl.gradient(case.world, pl.ImplicitEuler(0.005), case.loss, **given)
    with pytest.raises(pl.InputError, match=r"take pl\.gradient"):
        pl.sensitivities(case.world, cases.EULER, [pl.outputs.Points(body, [(0.09, 0.01, 0.01)])], **given)
    cable = next(iter(case.control[0]))
    forces = [{cable: pl.Force(0.5)}, {cable: pl.Force(1.0)}]  # no row of them is closed
    with pytest.raises(pl.InputError, match=r"where rows act on it in a pl\.ImplicitMidpoint"):
        pl.gradient(
            case.world, pl.ImplicitMidpoint(0.005, tolerance=1e-10), case.loss, parameters=[shape], control=forces
        )
    rod = cases.slender(0, 1)
    with pytest.raises(pl.InputError, match="is for volumes"):
        pl.gradient(rod.world, cases.EULER, rod.loss, parameters=[P.RestShape(rod.world.models[0].handle)], until=0.005)
    scene = pl.Scene()
    stiff = scene.add(
        pl.Volume(pl.mesh.box((0.1, 0.02, 0.02), (4, 1, 1)), cases.material("Corotated"), clamp=[0, 1, 2, 3])
    )
    scene.add(pl.Fibre(stiff, [(0.01, 0.011, 0.004), (0.09, 0.012, 0.004)], stiffness=1.0))
    loss = pl.losses.Position((stiff, np.array((0.09, 0.01, 0.011))), (0, 0, 0))
    with pytest.raises(pl.InputError, match="fibres"):
        pl.gradient(scene.compile(), cases.EULER, loss, parameters=[P.RestShape(stiff)], until=0.005)
    with pytest.raises(pl.InputError, match="list of parameters"):
        P.Shared([1.0])
    with pytest.raises(pl.InputError, match="dictionary of values"):
        P.Dimensions(lambda value: value, 1.0)


def test_a_changed_rest_shape_keeps_handles_regions_and_numbers(tmp_path):
    """The world can be changed further, read, driven and saved."""
    case = cases.finger(1, 1)
    body, cable = case.parameters["young"].body, case.parameters["command"].actuator
    shape, young = P.RestShape(body), P.Material(body, "young")
    points = shape.value(case.world) * (1.1, 1.0, 1.2) + (1e-4, 0.0, 0.0)
    other = pl.changed(pl.changed(case.world, {young: 2e5}), {shape: points})
    other = pl.changed(other, {P.Route(cable): P.Route(cable).value(other) * (1.05, 1.0, 1.0), P.Mass(body): 0.05})
    model = other.models[0]
    assert model.handle is body
    assert np.array_equal(shape.value(other), points)
    assert model.spec.material.young == 2e5
    assert model.mass.total == pytest.approx(0.05)
    assert np.array_equal(model.constrained, case.world.models[0].constrained)
    state, info = cases.EULER(other, other.initial_state(), case.control[0])
    assert info.actuation(cable)[0] == pytest.approx(0.002, rel=1e-9)
    assert np.abs(state.points(body) - model.rest).max() > 1e-5
    again = pl.load(other.save(tmp_path / "world.npz"))
    assert np.array_equal(again.models[0].rest, model.rest)
