"""Three soft fingers, each pulled by a rod that slides in it, grasp a cube with friction, lift it and hold it.

Y. Adagolodjo, F. Renda, C. Duriez, "Coupling numerical deformable models in global and reduced coordinates for the
simulation of the direct and the inverse kinematics of soft robots", IEEE RA-L 2021: figure 5 and the row "grasper" of
table I. The paper gives 1167 tetrahedra, 45 sections and as many sliding constraints, three actuators, friction and a
rigid cube, and reads the stress in the cables; sizes, materials, the wire and the motion are ours.
"""

from __future__ import annotations

from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np

from experiments.report import Report
from experiments.threaded import Thread, Wire, thread
from pliant.actuators.values import Displacement
from pliant.core.types import FloatArray
from pliant.record import Recorder, Run
from pliant.robots.gripper import Gripper, gripper
from pliant.stepping import ImplicitEuler, StepInfo
from pliant.world import Scene, State, World

DT = 0.01
SECTIONS, OUTSIDE, DEPTH = 15, 0.01, 0.0025
"""Sections of each rod, how far its base is outside its finger, and its depth below the palm, m."""
WIRE = Wire(radius=0.4e-3, young=2e9, density=1150.0)
"""Nylon."""
CLOSE, LIFT, FRICTION = 0.008, 0.03, 0.8
"""Way of the bases that closes the fingers, height of the lift, m, and Coulomb's μ of fingers and cube."""
CLOSED, LIFTED, HELD = 0.5, 1.0, 1.3
"""Times at which the fingers are closed, the mounts are up, and the holding ends, s."""
PAPER = {"step_ms": 35.97, "tetrahedra": 1167, "rod_sections": 45, "sliding_points": 45, "actuators": 3}


@dataclass(frozen=True, eq=False)
class Bench:
    """The compiled scene with its handles; `threads` are the rods of the thumb and of both fingers."""

    world: World
    grip: Gripper
    threads: tuple[Thread, ...]

    def controls(self, time: float) -> dict[Any, Displacement]:
        """Controls of the step that ends at `time`, s: mounts and bases rise together, bases are pulled out besides."""
        raised = np.array([0.0, 0.0, LIFT * _smooth((time - CLOSED) / (LIFTED - CLOSED))])
        pulled = CLOSE * _smooth(time / CLOSED)
        given = {mount: Displacement(raised) for mount in self.grip.mounts}
        return given | {t.base: Displacement(raised + pulled * t.outward) for t in self.threads}

    def height(self, state: State) -> float:
        """Height of the middle of the cube, m."""
        return float(state.pose(self.grip.cube)[0, 2])

    def stress(self, state: State) -> float:
        """Largest bending stress in a rod, Pa."""
        return max(float(state.fibre_stress(t.rod).max()) for t in self.threads)

    def carried(self, info: StepInfo) -> float:
        """Force of the fingers on the cube along z, N."""
        return float(sum(info.contact_force(self.grip.cube, one.body)[2] for one in self.grip.fingers))


@dataclass(frozen=True, eq=False)
class Grasp:
    """What happened: heights of the cube (k + 1,) m with the first, the largest stress in the rods (k,) Pa, the number
    of contacts of fingers and cube (k,), seconds of the steps (k,), the last state and info, and the run.
    """

    heights: FloatArray
    stress: FloatArray
    contacts: FloatArray
    seconds: FloatArray
    state: State
    info: StepInfo
    run: Run


def build(*, wire: Wire = WIRE) -> Bench:
    """The gripper over its cube, each finger with a straight rod below the middle of its palm instead of a cable."""
    scene = Scene(gravity=(0.0, 0.0, -9.81))
    grip = gripper(anti_locking=False)
    threads = []
    for one in grip.fingers:
        scene.add(one.body)
        threads.append(
            thread(
                scene, one.body, _route(np.asarray(one.cable.via_points)), wire=wire, sections=SECTIONS,
                outside=OUTSIDE, name=f"{one.name} rod",
            )
        )  # fmt: skip
    for part in (*grip.mounts, grip.cube, grip.floor):
        scene.add(part)
    grip.collide(scene, friction=FRICTION)
    return Bench(scene.compile(), grip, tuple(threads))


def grasp(bench: Bench, *, until: float) -> Grasp:
    """Close, lift and hold until the time `until`, s."""
    stepper, state = ImplicitEuler(DT), bench.world.initial_state()
    recorder = Recorder(bench.world, state, stepper)
    heights, stress, contacts, seconds = [bench.height(state)], [], [], []
    for k in range(round(until / DT)):
        given = bench.controls((k + 1) * DT)
        begin = perf_counter()
        state, info = stepper(bench.world, state, given)
        seconds.append(perf_counter() - begin)
        recorder.add(state, info, given)
        heights.append(bench.height(state))
        stress.append(bench.stress(state))
        contacts.append(_contact_count(bench, info))
    return Grasp(
        heights=np.array(heights),
        stress=np.array(stress),
        contacts=np.array(contacts, float),
        seconds=np.array(seconds),
        state=state,
        info=info,
        run=recorder.run(),
    )


def run(*, full: bool = False) -> Report:
    """Close, lift and hold; `full` holds for two seconds more."""
    bench = build()
    done = grasp(bench, until=HELD + (2.0 if full else 0.0))
    up = round(LIFTED / DT)
    touching = done.contacts > 0
    metrics: dict[str, Any] = {
        "step_ms": 1e3 * float(np.median(done.seconds[touching])),
        "free_step_ms": 1e3 * float(np.median(done.seconds[~touching])),
        "tetrahedra": sum(len(one.body.mesh.cells) for one in bench.grip.fingers),
        "rod_sections": SECTIONS * len(bench.threads),
        "sliding_points": sum(len(t.channel.points) - 1 for t in bench.threads),
        "actuators": len(bench.threads),
        "contacts": float(done.contacts[touching].mean()),
        "lifted_mm": 1e3 * float(done.heights[-1] - done.heights[0]),
        "slipped_mm": 1e3 * float(done.heights[up] - done.heights[-1]),
        "carried_n": bench.carried(done.info),
        "weight_n": bench.grip.cube.mass * 9.81,
        "rod_stress_mpa": 1e-6 * float(done.stress[-1]),
        "peak_rod_stress_mpa": 1e-6 * float(done.stress.max()),
    }
    notes = (
        "our parametric gripper, plain corotated tetrahedra; sizes, the nylon wire, pull, lift and μ = 0.8 are ours",
        "each rod slides through 15 points and ends in a 16th, its tip; it bends and twists but does not stretch",
        "times are medians of whole steps with contact, one linear solve a step, dt = 10 ms; contacts have true cones",
        "the paper's time is on an i7 at 2.6 GHz, C++, with friction; it prints no stress: stresses are ours alone",
    )
    return Report(
        title="Grasper pulled by three rods (Adagolodjo 2021, figure 5)",
        metrics=metrics,
        paper=PAPER,
        notes=notes,
        run=done.run,
        full=full,
    )


def _route(cable: FloatArray) -> FloatArray:
    """Sliding points and tip of a rod, (16, 3) m: four in each block, midway between both strands of a cable."""
    half = len(cable) // 2
    ends = 0.5 * (cable[:half] + cable[half:][::-1]).reshape(-1, 2, 3)
    return np.concatenate([np.linspace(first, last, (SECTIONS + 1) // len(ends)) for first, last in ends])


def _contact_count(bench: Bench, info: StepInfo) -> int:
    """Number of contacts between fingers and cube."""
    return sum(len(info.contacts(bench.grip.cube, one.body).gaps) for one in bench.grip.fingers)


def _smooth(x: float) -> float:
    """From 0 to 1 while x does, without a jolt at either end."""
    x = min(max(x, 0.0), 1.0)
    return x * x * (3.0 - 2.0 * x)
