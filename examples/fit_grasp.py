"""Find the modulus of a finger and its friction on a box from one grasp.

A finger holds a box against a smooth thumb, and a line pulls the box until it slips away. Cameras see markers on the
finger and the box, a load cell the tension of the cable. How hard the finger presses follows from its modulus, and the
pull at which the box slips from the friction. The recording comes from a grasp with other values than the guess.

    pliant identify examples/fit_grasp.py --plot residuals.png
"""

import numpy as np

import pliant as pl
from pliant.identification import ActuatorForce, Experiment, Markers, Unknown

STEPPER = pl.ImplicitEuler(0.01, tolerance=1e-8)
STEPS = 16
young, friction = 0.58e6, 0.55  # Pa, no unit: what the fit has to find
blur, ripple = 2e-4, 5e-3  # noise of positions (m) and tensions (N)
BACKS = [(x, 0.0, 0.015) for x in (0.044, 0.072, 0.1)]  # markers on the back of the finger, m
MIDDLE = (0.09, 0.0, -0.0125)  # of the box, m


class Grasp:
    """A finger, a box below its tip, and the thumb below the box."""

    def __init__(self, young, friction):
        scene = pl.Scene(gravity=(0, 0, -9.81))
        silicone = pl.materials.Corotated(young=young, poisson=0.45, density=1080)
        self.finger = scene.add(pl.robots.finger(material=silicone, cells=(2, 2, 2)))
        self.box = scene.add(pl.RigidBody.box(size=(0.04, 0.02, 0.02), mass=0.03, position=MIDDLE, name="box"))
        thumb = scene.add(pl.Obstacle.plane(point=(0, 0, -0.0226), normal=(0, 0, 1), name="thumb"))
        scene.collide(self.finger, self.box, friction=friction)
        scene.collide(self.box, thumb)
        self.line = scene.add(pl.ForcePoint(self.box, (0, 0, 0), direction=(1, 0, 0), name="line"))
        self.world = scene.compile()

    def control(self, t):
        """The cable is shortened by 6 mm in 0.05 s; then the pull of the line grows by 3 N/s."""
        squeeze, pull = 0.006 * min(1.0, t / 0.05), 3.0 * max(0.0, t - 0.05)
        return {self.finger.cable: pl.Displacement(squeeze), self.line: pl.Force(pull)}


def recorded():
    """Markers on the finger (steps, 3, 3) and the box (steps, 1, 3), m, and tensions (steps,), N, with noise."""
    rng, grasp = np.random.default_rng(5), Grasp(young, friction)
    run = pl.simulate(grasp.world, STEPPER, until=STEPS * STEPPER.dt, control=lambda t, state: grasp.control(t))
    backs = pl.recordings.BoundMarkers(grasp.world, grasp.finger.body, BACKS).along(run)[1:]
    box, tension = run.poses(grasp.box)[1:, :1], run.actuation(grasp.finger.cable)[1][1:]
    positions = (each + rng.normal(scale=blur, size=each.shape) for each in (backs, box))
    return *positions, tension + rng.normal(scale=ripple, size=tension.shape)


backs, box, tension = recorded()
grasp = Grasp(young=0.63e6, friction=0.5)  # a guess
world = grasp.world
data = Experiment(
    [
        Markers(grasp.finger.body, BACKS, values=backs, noise=blur, name="back"),
        Markers(grasp.box, MIDDLE, values=box, noise=blur, name="box"),
        ActuatorForce(grasp.finger.cable, values=tension, noise=ripple, name="tension"),
    ],
    stepper=STEPPER, control=[grasp.control((k + 1) * STEPPER.dt) for k in range(STEPS)], name="grasp",
)  # fmt: skip
modulus = Unknown(pl.parameters.Material(grasp.finger.body, "young"), log=True, name="modulus")
coefficient = Unknown(pl.parameters.Friction(grasp.finger, grasp.box), lower=0.0, upper=2.0, name="friction")
parameters = [modulus, coefficient]

if __name__ == "__main__":
    found = pl.identify(world, data, parameters, tolerance=1e-5)
    print(found.report())
    truths = ((modulus, young, 0.01), (coefficient, friction, 0.05))
    intervals = [(found.intervals[each], true) for each, true, _ in truths]
    assert all(low < true < high for (low, high), true in intervals), "the intervals cover the true values"
    assert all(abs(found[each] / true - 1) < error for each, true, error in truths), "E to 1 %, friction to 5 %"
