"""Two soft bodies: an instrument pushes a wall so that a point of the body behind it moves as wanted, through contact.

Coevoet, Escande, Duriez, "Optimization-based inverse model of soft robots with contact handling", IEEE RA-L 2017,
figure 7.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from experiments.following import W_NOTE, follow_effector, ramp, times
from experiments.report import Report
from pliant.actuators import ForcePoint
from pliant.actuators.values import Force
from pliant.control import Effector, Inverse
from pliant.core.types import FloatArray
from pliant.materials import Corotated
from pliant.mesh import Mesh, box, regions
from pliant.mesh.lattice import round_keys, stacked_rounds
from pliant.models.volume import Rayleigh, Volume
from pliant.stepping import ImplicitEuler
from pliant.world import Scene, State, World

DT = 0.02  # s
GAP = 3e-4  # m, between the two bodies at rest
MARGIN = 5e-4  # m, within which contacts are looked for
WALL = (0.008, 0.080, 0.060)  # m, thickness, width and height
HEIGHT = 0.05  # m, of the organ
FIRST_FORCE = 0.5  # N, of the instrument: it makes contact
WAY = 0.006  # m, that the point is to go
PAPER = {"w_ms": 10.458, "qp_ms": 0.123, "w_qp_ms": 10.581, "contacts": 16, "dofs": 2313}


@dataclass(frozen=True, eq=False)
class TwoBodies:
    """A wall, the organ behind it and the instrument; `start` is a state in which the two bodies touch."""

    world: World
    wall: Volume
    organ: Volume
    instrument: ForcePoint
    point: Effector
    start: State

    def stepper(self) -> ImplicitEuler:
        """One linear solve a step for the inverse."""
        return ImplicitEuler(DT, solver=Inverse([self.point], [self.instrument]))

    def targets(self, count: int) -> FloatArray:
        """Targets (count, 3) m of the point: `WAY` farther into the organ and back, from where it stands at first."""
        first = self.point.bound(self.world).measure.error(self.start.q, np.zeros(3))
        fraction = 0.5 * (1.0 - np.cos(2.0 * np.pi * np.arange(1, count + 1) / count))
        return np.asarray(first + np.outer(fraction, (-WAY, 0.0, 0.0)))


def build() -> TwoBodies:
    """A wall clamped at both sides, a bulb clamped at its foot, and an instrument on the other side of the wall."""
    bulb = _bulb()
    face = float(bulb.bounds[1, 0]) + GAP
    plate = box(WALL, (2, 10, 9), element="hex8").translated((face, -0.5 * WALL[1], 0.0))
    damping = Rayleigh(stiffness=0.02)
    sides = regions.plane(axis="y", at=-0.5 * WALL[1]) | regions.plane(axis="y", at=0.5 * WALL[1])
    wall = Volume(plate, _tissue(8e4), clamp=sides, damping=damping, name="wall")
    organ = Volume(bulb, _tissue(6e4), clamp=regions.plane(axis="z", at=0.0), damping=damping, name="organ")
    outside = plate.points[np.argmin(np.linalg.norm(plate.points - (face + WALL[0], 0.0, 0.9 * HEIGHT), axis=1))]
    instrument = ForcePoint(wall, outside, direction=(-1, 0, 0), min_force=0.0, max_force=3.0, name="instrument")
    scene = Scene()
    for thing in (wall, organ, instrument):
        scene.add(thing)
    scene.collide(organ, wall, margin=MARGIN)
    world = scene.compile()
    pushes = [{instrument: Force(FIRST_FORCE * min(1.0, k / 20))} for k in range(40)]
    start = ramp(world, ImplicitEuler(DT), world.initial_state(), pushes)
    point = Effector(organ, (0.0, 0.0, HEIGHT), directions=(1, 0, 0), name="point")
    return TwoBodies(world, wall, organ, instrument, point, start)


def run(*, full: bool) -> Report:
    """120 steps in which the point of the organ goes in by 6 mm and comes back."""
    made = build()
    targets = made.targets(120)
    followed = follow_effector(made.world, made.stepper(), made.start, made.point, targets)
    unmoved = np.abs(targets - made.point.points)[:, 0]
    metrics: dict[str, Any] = {
        **times(followed),
        "dofs": 3 * (made.wall.mesh.node_count + made.organ.mesh.node_count),
        "way_mm": 1e3 * WAY,
        "final_error_mm": 1e3 * followed.errors[-1],
        "mean_error_mm": 1e3 * float(followed.errors.mean()),
        "max_error_mm": 1e3 * float(followed.errors.max()),
        "error_without_contact_mm": 1e3 * float(unmoved.mean()),
        "largest_force_N": float(followed.run.actuation(made.instrument)[1].max()),
        "objective": float(followed.info.inverse.result.objective),
    }
    return Report("Coevoet 2017, two soft bodies in contact", metrics, PAPER, notes=_NOTES, run=followed.run)


_NOTES = (
    "ImplicitEuler with one linear solve a step of 20 ms; medians over the steps.",
    W_NOTE,
    "The paper does not give the bodies. Ours are a wall of 8 × 80 × 60 mm (80 kPa) clamped at both sides, and a bulb "
    "50 mm high (60 kPa) clamped at its foot; the point is the middle of its top, the force is normal to the wall.",
    "Before the bodies touch nothing can move the point, so the instrument first pushes with 0.5 N. Then the point is "
    "to go 6 mm farther along the push and to come back; with one force its motion across the push is left free.",
    "Without the contact in the optimisation no force moves the point (W_ea = 0): the error is then its distance from "
    "the targets at rest, on average over the path.",
)


def _tissue(young: float) -> Corotated:
    return Corotated(young=young, poisson=0.45, density=1050.0)


def _bulb() -> Mesh:
    """A round column, wider towards its top, 451 nodes."""
    part: FloatArray = np.linspace(0.0, 1.0, 11, dtype=np.float64)
    outer = 0.010 + 0.004 * part**2
    outer[-1] = 0.011
    z = HEIGHT * part
    filled = np.ones(10, dtype=bool)
    lattice = stacked_rounds(0.6 * outer, outer, np.column_stack([z, z]), core=filled, ring=filled, side=4)
    return lattice.mesh(*round_keys(lattice.points), element="hex8")
