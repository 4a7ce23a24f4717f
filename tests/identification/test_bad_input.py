"""What cannot be meant in data, parameters and losses is an error with the thing and a remedy; gaps are none."""

import numpy as np
import pytest

import pliant as pl
from pliant.identification import ActuatorDisplacement, ActuatorForce, ContactForce, Experiment, Frame, Markers, Unknown
from pliant.recordings import Recording

P, V, L = pl.parameters, pl.variables, pl.losses
POINTS = np.array([(0.03, 0.005, 0.01), (0.06, 0.0, 0.005), (0.06, 0.01, 0.01)])
PULLS = (0.0005, 0.001)
EULER = pl.ImplicitEuler(0.01, tolerance=1e-9)


class Bar:
    """A bar with a cable and two equilibria of it."""

    def __init__(self, name="bar"):
        scene = pl.Scene(gravity=(0, 0, -9.81))
        rubber = pl.materials.Corotated(young=1e5, poisson=0.4, density=1000)
        mesh, clamp = pl.mesh.box((0.06, 0.01, 0.01), (4, 1, 1)), pl.regions.plane(axis="x", at=0.0)
        self.body = scene.add(pl.Volume(mesh, rubber, clamp=clamp, name=name))
        self.cable = scene.add(pl.Cable(self.body, [(0.06, 0.005, 0.009), (0.0, 0.005, 0.009)], name="cable"))
        self.ball = scene.add(pl.RigidBody.sphere(radius=0.01, mass=0.01, position=(0.2, 0, 0), name="ball"))
        self.floor = scene.add(pl.Obstacle.plane(point=(0, 0, -0.01), name="floor"))
        scene.collide(self.ball, self.floor, friction=0.3)
        self.world = scene.compile()
        self.young = Unknown(P.Material(self.body, "young"), log=True)

    def markers(self, values=None, points=POINTS, **options):
        given = np.stack([points, points]) if values is None else values
        return Markers(self.body, points, **{"noise": 1e-4, "values": given, **options})

    def pulled(self, *measurements):
        return Experiment(list(measurements), control=[{self.cable: pl.Displacement(pull)} for pull in PULLS])

    def fit(self, *measurements, unknowns=None, **options):
        return pl.identify(self.world, self.pulled(*measurements), unknowns or self.young, **options)


@pytest.fixture(scope="module")
def bar():
    return Bar()


def gaps(*places):
    values = np.stack([POINTS, POINTS])
    for place in places:
        values[place] = np.nan
    return values


def infinite():
    values = gaps()
    values[0, 1, 2] = np.inf
    return values


def nothing(states, infos):
    return 0.0


OTHER = Bar("other")
DATA = {
    "another length": ("3 instants, its experiment 2 steps", lambda b: b.fit(b.markers(np.stack([POINTS] * 3)))),
    "fewer markers": (r"shape \(3, 3\) .* got \(2, 2, 3\)", lambda b: b.markers(gaps()[:, :2])),
    "other times": ("2 times and values", lambda b: b.markers(np.stack([POINTS] * 3), times=[0.0, 1.0])),
    "times beyond the run": ("not within the run", lambda b: b.fit(b.markers(times=[1.0, 7.0]))),
    "milliseconds": (
        "check their unit",
        lambda b: pl.identify(
            b.world,
            Experiment(b.markers(times=[10.0, 20.0]), stepper=EULER, control=[{}, {}]),
            b.young,
        ),
    ),
    "a recording that is too long": (
        "not within the run",
        lambda b: b.fit(b.markers(Recording(np.stack([POINTS] * 300), 100.0, ("a", "b", "c")))),
    ),
    "millimetres": ("check their unit", lambda b: b.fit(b.markers(1e3 * gaps()))),
    "millimetres in a frame": ("must be in m", lambda b: b.fit(b.markers(1e3 * gaps(), frame=Frame()))),
    "millinewtons": ("check their unit", lambda b: b.fit(ActuatorForce(b.cable, values=[200.0, 400.0], noise=0.1))),
    "a cable in millimetres": (
        "check their unit",
        lambda b: pl.identify(
            b.world,
            Experiment(
                ActuatorDisplacement(b.cable, values=[0.5, 1.0], noise=0.01),
                control=[{b.cable: pl.Force(f)} for f in (0.02, 0.04)],
            ),
            b.young,
        ),
    ),
    "a noise without size": ("noise of .* must be > 0", lambda b: b.markers(noise=0.0)),
    "markers off the body": ("outside the mesh", lambda b: b.fit(b.markers(points=POINTS + np.array([0, 0, 0.02])))),
    "markers in millimetres": ("outside the mesh", lambda b: b.fit(b.markers(points=1e3 * POINTS))),
    "markers on a body of another scene": ("'other'", lambda b: b.fit(OTHER.markers())),
    "a cable of another scene": ("'cable'", lambda b: b.fit(ActuatorForce(OTHER.cable, values=[1.0, 2.0], noise=0.1))),
    "a body as an actuator": ("measures an actuator", lambda b: ActuatorForce(b.body, values=[1.0], noise=0.1)),
    "a pair that does not collide": (
        "do not collide",
        lambda b: b.fit(ContactForce(b.body, b.floor, values=np.ones((2, 3)), noise=0.1)),
    ),
    "gaps alone": ("are gaps", lambda b: b.markers(gaps((slice(None),)))),
    "an infinite value": ("a gap is NaN", lambda b: b.markers(infinite())),
    "gaps in the times": ("times of", lambda b: b.markers(times=[0.0, np.nan])),
    "too few values": (
        "1 values cannot determine 2 unknowns",
        lambda b: b.fit(
            ActuatorForce(b.cable, values=[0.1, np.nan], noise=0.1),
            unknowns=[b.young, Unknown(P.Material(b.body, "poisson"))],
        ),
    ),
    "two markers for a frame": (
        "cannot be registered",
        lambda b: b.fit(b.markers(gaps()[:, :2], points=POINTS[:2], frame=Frame())),
    ),
}
PARAMETERS = {
    "one that does nothing": (
        "changes none of the measurements",
        lambda b: b.fit(b.markers(), unknowns=[b.young, Unknown(P.Mass(b.ball), 0.02)]),
    ),
    "friction of what does not touch": (
        "changes none of the measurements",
        lambda b: b.fit(b.markers(), unknowns=[Unknown(P.Friction(b.ball, b.floor), 0.2)]),
    ),
    "one of another scene": ("'other'", lambda b: b.fit(b.markers(), unknowns=[OTHER.young])),
    "one twice": ("given twice", lambda b: b.fit(b.markers(), unknowns=[b.young, b.young])),
    "a command": ("give it to the experiment as a control", lambda b: Unknown(P.Control(b.cable))),
    "a constant that the law has not": (
        "has no number 'mu'",
        lambda b: b.fit(b.markers(), unknowns=[Unknown(P.Material(b.body, "mu"), 1.0)]),
    ),
    "a variable that does nothing": (
        "does not change with",
        lambda b: pl.optimize(
            b.world, EULER, L.Position((b.body, POINTS[1]), (0.06, 0, 0)), until=0.01,
            variables=[V.Design(P.Mass(b.ball), bounds=(0.01, 0.02))], control={b.cable: pl.Displacement(0.001)},
        ),
    ),
}  # fmt: skip
LOSSES = {
    "a function in a gradient": (
        "needs its derivative",
        lambda b: pl.gradient(b.world, EULER, nothing, parameters=[P.Gravity()], control=[{}]),
    ),
    "a function in an optimisation": (
        "needs its derivative",
        lambda b: pl.optimize(
            b.world, EULER, nothing, variables=[V.Command(b.cable, bounds=(0, 0.001))], until=0.01
        ),
    ),
    "no derivative": ("derivative of a Custom loss must be a function", lambda b: L.Custom(nothing, None)),
    "a derivative of another length": (
        "derivative",
        lambda b: pl.gradient(
            b.world, EULER, L.Custom(nothing, lambda states, infos: [None]), parameters=[P.Gravity()], control=[{}, {}]
        ),
    ),
    "an unknown one": ("must be one of 'squares'", lambda b: b.fit(b.markers(), loss="absolute")),
}  # fmt: skip
CASES = {f"{kind}: {name}": case for kind, table in (("data", DATA), ("parameters", PARAMETERS), ("losses", LOSSES))
         for name, case in table.items()}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_nonsense_is_an_error_that_says_what_to_do(bar, case):
    text, call = CASES[case]
    with pytest.raises(pl.PliantError, match=text):
        call(bar)


def test_gaps_are_skipped(bar):
    """Of one marker, one coordinate, or one instant; what is left is fitted."""
    state, seen = bar.world.initial_state(), []
    bound = pl.recordings.BoundMarkers(bar.world, bar.body, POINTS)
    for pull in PULLS:
        state, _ = pl.QuasiStatic(tolerance=1e-10)(bar.world, state, {bar.cable: pl.Displacement(pull)})
        seen.append(bound.at(state))
    values = np.array(seen)
    values[0, 1], values[1, 0, 2], values[0, 0, 0] = np.nan, np.nan, np.nan
    markers = bar.markers(values)
    found = bar.fit(markers, unknowns=Unknown(P.Material(bar.body, "young"), 1.3e5, log=True))
    assert np.isfinite(found.residuals[markers]).sum() == 13
    assert next(iter(found.values.values())) == pytest.approx(1e5, rel=1e-5)
