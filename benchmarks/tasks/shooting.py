"""The bench of trajectory optimisation: simulations that the adjoint and CMA-ES need for the same result.

A soft arm swings up a ball in a sling that is let go; the ball is to be at a place in the air. The command of the
cable is a spline with few control points, or free in each step of the swing. Both searches begin with the same guess,
have the same bounds, and end where the ball is within a millimetre.
"""

from __future__ import annotations

from functools import partial
from importlib import import_module
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np

import pliant as pl
from pliant.core.errors import InputError, MissingExtraError, PliantError

LENGTH, HEIGHT, SLING = 0.2, 0.3, 0.03
"""Of the arm, above the floor, of the sling, m."""
STEPS, RELEASE = 20, 12
"""Steps of a throw, and the one at which the sling is let go."""
STEPPER = pl.ImplicitEuler(0.01, tolerance=1e-9)
TARGET = (0.15, 0.0, 0.36)
NEAR = 1.0
"""Squared distance that is asked for, mm²."""
KNOTS = (6, 12)
"""Control points of the splines."""
SEEDS = (1, 2, 3)
SPREAD = 0.3
"""First standard deviation of CMA-ES, over the bounds: the usual choice."""
MOST = 3000
"""Simulations of CMA-ES at most."""


def run_shooting(*, data: Path | None = None, knots: tuple[int, ...] = KNOTS, seeds: tuple[int, ...] = SEEDS) -> Any:
    """Rollouts of `pl.optimize` and of CMA-ES until a thrown ball is within 1 mm of a point, by count of unknowns.

    Under "cases", by control points: "rollouts" of `pl.optimize`, each with its gradient, and its final "loss" (mm²);
    of CMA-ES "cma_rollouts" and "cma_loss" of each seed, and "ratio", the median of its rollouts over ours.
    "time_ratio" is that of processor times. "ratio" is the smallest of all cases. The CMA-ES is that of the package
    `cma` (N. Hansen).
    """
    if data is not None:
        raise InputError("the bench 'shooting' has a mesh of its own; leave out --data")
    cases: dict[str, dict[str, Any]] = {}
    for count in knots:
        throw = Throw(count)
        began = process_time()
        found = throw.descended()
        ours = process_time() - began
        searched = [throw.evolved(seed) for seed in seeds]
        rollouts = [one[0] for one in searched]
        cases[str(count)] = {
            "unknowns": count, "rollouts": found.rollouts, "loss": found.loss, "cma_rollouts": rollouts,
            "cma_loss": [one[1] for one in searched], "ratio": float(np.median(rollouts)) / found.rollouts,
            "time_ratio": float(np.median([one[2] for one in searched])) / ours,
        }  # fmt: skip
    return {"ratio": min(one["ratio"] for one in cases.values()), "cases": cases}


class Throw:
    """The throw with a command of `knots` control points."""

    def __init__(self, knots: int) -> None:
        scene = pl.Scene(gravity=(0, 0, -9.81))
        silicone = pl.materials.Corotated(young=0.8e6, poisson=0.4, density=1070)
        mesh = pl.mesh.box((LENGTH, 0.02, 0.02), (10, 1, 1), element="hex8").translated((0, -0.01, -0.01))
        clamp, damping = pl.regions.plane(axis="x", at=0), pl.Rayleigh(stiffness=2e-3)
        arm = scene.add(pl.Volume(mesh, silicone, clamp=clamp, damping=damping, name="arm"), position=(0, 0, HEIGHT))
        cable = scene.add(pl.Cable(arm, [(x, 0, 0.006) for x in np.linspace(0.001, 0.17, 7)], name="cable"))
        place = (LENGTH, 0, HEIGHT - SLING)
        self.ball = scene.add(pl.RigidBody.sphere(radius=0.012, mass=0.006, position=place, name="ball"))
        sling = scene.add(pl.Cable([arm, self.ball], [(LENGTH, 0, 0), (0, 0, 0)], name="sling"))
        self.world = scene.compile()
        self.held = [{sling: pl.Displacement(0.0) if k < RELEASE else pl.Force(0.0)} for k in range(STEPS)]
        self.pull = pl.variables.Command(cable, bounds=(0.0, 0.024), knots=knots)
        self.loss = 1e6 * pl.losses.Position((self.ball, (0, 0, 0)), TARGET)  # mm²
        self.free = self.pull.free(self.world, STEPS, STEPS * STEPPER.dt)

    def descended(self) -> pl.Optimized:
        """What `pl.optimize` finds."""
        return pl.optimize(
            self.world, STEPPER, self.loss, variables=[self.pull], control=self.held, target=NEAR, rollouts=200
        )

    def evolved(self, seed: int) -> tuple[int, float, float]:
        """Rollouts of CMA-ES, its lowest loss (mm²) and its processor time (s)."""
        try:
            cma = import_module("cma")
        except ImportError as error:
            raise MissingExtraError("the bench 'shooting' compares with CMA-ES: pip install cma") from error
        lower, width = self.free.lower, self.free.upper - self.free.lower
        options = {"bounds": [0.0, 1.0], "seed": seed, "verbose": -9, "ftarget": NEAR, "maxfevals": MOST}
        began = process_time()
        search = cma.CMAEvolutionStrategy((self.free.guess - lower) / width, SPREAD, options)
        search.optimize(partial(self._cost, lower, width))
        return int(search.result.evaluations), float(search.result.fbest), process_time() - began

    def _cost(self, lower: Any, width: Any, y: Any) -> float:
        """The loss at y, mm²; NaN, which CMA-ES draws again, where a simulation fails."""
        try:
            return self.value(lower + width * np.asarray(y))
        except PliantError:
            return float("nan")

    def value(self, x: Any) -> float:
        """The loss of a simulation with the control points x (m), mm²."""
        state, info = self.world.initial_state(), None
        for amount, controls in zip(self.free.values(x), self.held, strict=True):
            state, info = STEPPER(self.world, state, {self.pull.actuator: self.pull.control(float(amount)), **controls})
        return self.loss.at(pl.losses.Instant(STEPS, STEPS, state, info))
