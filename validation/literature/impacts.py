"""Impacts, waves and dry friction with events, against closed forms."""

import warnings
from typing import Any

import numpy as np

import pliant as pl
from pliant.core.types import FloatArray
from pliant.hybrid import Contact, Friction, HybridSystem, Outcome, Restitution, integrate
from validation.literature import constants
from validation.literature.compared import compared
from validation.row import Row

GRAVITY = 9.81


def zeno_time() -> list[Row]:
    """A ball dropped from 1 m with e = 0.7 comes to rest after √(2h/g) (1 + e)/(1 − e)."""
    height, e = 1.0, 0.7
    floor = Contact("floor", lambda q: q[0], restitution=Restitution(e, rest_speed=1e-6))
    ball = HybridSystem(
        q0=np.array([height]),
        v0=np.array([0.0]),
        mass=[1.0],
        bias=lambda q, v: np.array([GRAVITY]),
        constraints=(floor,),
        name="ball",
    )
    solution = integrate(ball, until=3.5)
    rests = solution.events[-1].time
    exact = np.sqrt(2.0 * height / GRAVITY) * (1.0 + e) / (1.0 - e)
    return [compared("time to rest", float(rests), float(exact), "s", allowed=1e-05)]


def painleve_friction() -> list[Row]:
    """A thin rod dragged on its tip, at tan θ = 2: no consistent force beyond μ = 4/3."""
    length, angle = 1.0, np.arctan(2.0)
    inertia = length**2 / 12.0

    def tip(q: FloatArray) -> Any:
        return q[1] - 0.5 * length * np.sin(q[2])

    def slide(q: FloatArray) -> FloatArray:
        return np.array([q[0] - 0.5 * length * np.cos(q[2])])

    def consistent(mu: float) -> bool:
        floor = Contact("floor", tip, friction=Friction(mu, slide=slide))
        rod = HybridSystem(
            q0=np.array([0.0, 0.5 * length * np.sin(angle), angle]), v0=np.array([-3.0, 0.0, 0.0]),
            mass=[1.0, 1.0, inertia],
            bias=lambda q, v: np.array([0.0, GRAVITY, 0.0]), constraints=(floor,), name="rod",
        )  # fmt: skip
        try:
            return integrate(rod, until=1e-4).status is not Outcome.NO_FORCE
        except pl.PliantError:  # the paradox stands at the very start
            return False

    low, high = 1.0, 2.0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", pl.PliantWarning)
        while high - low > 1e-3:
            middle = 0.5 * (low + high)
            low, high = (middle, high) if consistent(middle) else (low, middle)
    return [compared("critical friction", 0.5 * (low + high), constants.PAINLEVE, "", allowed=0.001)]


def stick_slip() -> list[Row]:
    """A block between a spring and a belt: it sticks and slips on the circle of radius V/ω about x = μmg/k."""
    mass, spring, mu, belt = 1.0, 40.0, 0.3, 0.4
    floor = Contact("belt", lambda q: q[1], friction=Friction(mu, slide=lambda q: np.array([q[0] - q[2]])))
    system = HybridSystem(
        q0=np.array([0.0, 0.0, 0.0]), v0=np.array([0.0, 0.0, belt]), mass=[mass, mass, 1e12],
        bias=lambda q, v: np.array([spring * q[0], mass * GRAVITY, 0.0]), constraints=(floor,), name="block",
    )  # fmt: skip
    solution = integrate(system, until=6.0)
    late = solution.times > 3.0
    exact = mu * mass * GRAVITY / spring + belt / np.sqrt(spring / mass)
    return [compared("largest extension", float(solution.q[late, 0].max()), float(exact), "m", allowed=0.0001)]
