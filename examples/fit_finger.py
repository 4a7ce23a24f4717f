"""Find how far to pull the cable of a finger, and how stiff its silicone is, so that its tip is where it was seen."""

import numpy as np
from scipy.optimize import minimize

import pliant as pl

STEPPER = pl.QuasiStatic(tolerance=1e-10)


def finger(young, pull):
    """A finger of the modulus `young` (Pa) whose cable is pulled by `pull` (m) against a thread at its tip."""
    scene = pl.Scene()  # it bends in the plane of a table
    silicone = pl.materials.Corotated(young=young, poisson=0.45, density=1080)
    finger = scene.add(pl.robots.finger(material=silicone, cells=(2, 2, 2)))
    x = finger.tip.position[0]
    end = pl.regions.box((x - 1e-4, -1, -1), (x + 1e-4, 1, 1))
    thread = scene.add(pl.PointLoad(finger.body, end, (0, 0, 0.05)))
    return scene.compile(), finger, {finger.cable: pl.Displacement(pull), thread: pl.Force((0, 0, 0.05))}


world, made, controls = finger(0.6e6, 0.008)  # what the search has to find
state, _ = STEPPER(world, world.initial_state(), controls)
target = made.tip.at(state)


def problem(x):
    """The scene for the modulus x₀ (MPa) and the pull x₁ (cm), and what its gradient is taken of and by."""
    world, robot, controls = finger(1e6 * x[0], 1e-2 * x[1])
    return {
        "world": world,
        "stepper": STEPPER,
        "loss": 1e6 * pl.losses.Position(robot.tip, target),  # mm²
        "parameters": [pl.parameters.Material(robot.body, "young"), pl.parameters.Control(robot.cable)],
        "control": controls,
    }


objective = pl.gradients.Objective(
    problem, pull=lambda found: [1e6 * found.derivatives[0], 1e-2 * found.derivatives[1][0]]
)
found = minimize(objective, x0=[0.4, 0.5], jac=True, method="L-BFGS-B", bounds=[(0.2, 2.0), (0.1, 1.2)], tol=1e-10)

print(f"{found.nfev} equilibria with their gradients")
print(f"E = {found.x[0]:.3f} MPa, pull {10 * found.x[1]:.2f} mm, distance {np.sqrt(found.fun):.4f} mm")
assert np.sqrt(found.fun) < 0.01, f"the tip is {np.sqrt(found.fun):.3f} mm from its target, more than 0.01 mm"
