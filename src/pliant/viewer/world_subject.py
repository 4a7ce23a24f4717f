"""A world as the subject of a live viewer: driven by sliders, by a target, or quasi-statically by chamber volumes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from pliant.actuators import Cavity
from pliant.actuators.values import Displacement, VolumeRatio
from pliant.control import Effector
from pliant.core.errors import ConvergenceError, InputError
from pliant.core.types import FloatArray
from pliant.models.volume import Support
from pliant.record import Recorder, Run
from pliant.robots import Marker
from pliant.stepping import StepInfo
from pliant.stepping.minimum_energy import Geometric
from pliant.viewer.contents import SceneContents
from pliant.viewer.dragging import DraggedMotion, center_of, draggable, with_motions
from pliant.viewer.frame import Frame, world_frame
from pliant.viewer.inputs import Range, scalar, world_ranges
from pliant.viewer.properties import rebuilt
from pliant.viewer.recording_panel import file_bytes
from pliant.viewer.steppers import Steppers
from pliant.viewer.subject import AUTOMATIC, SLIDERS, TARGET, Demand, Handle
from pliant.viewer.tips import tip_position, world_actuators
from pliant.world import State, World

DRAG_SPEED = 0.25
"""Fastest motion of a dragged obstacle, m/s: faster ones would jump past contacts."""
DRAG_STRIDE = 0.002
"""Largest displacement of a dragged obstacle per quasi-static step, m."""
SHAPE_SECONDS = 0.1
"""Time assigned to a quasi-static step, s: recordings play at this rate."""
LEAST_RATIO, LARGEST_RATIO = 0.6, 3.0
"""Range of the volume ratio of a chamber in geometric simulation."""
STRIDE = 0.1
"""Change of that ratio per step: larger increments cost little more, but skip intermediate configurations."""
LARGEST_LIFT = 0.04
"""Largest common displacement of lifted supports, m."""


CONTROLLER_LEFT = (
    "The controller of the file refers to its own bodies, so it does not drive this changed world: to keep it, change "
    "the material there, or give --set NAME=VALUE."
)
"""Shown after materials were changed in the panel."""


class WorldSubject:
    """A world with a `tip` to position, a marker or an effector, and the `actuators` of its inverse problem.

    `geometric` drives chambers by their volume with `pl.Geometric`, without time. The supports in `lifted` are raised
    together. `usual_step` (s) is the length of a step to begin with. `control(t, state)` gives the controls
    of the step that ends at t (s), where the world drives itself. `stepper` makes the steps, a quasi-static one too;
    its inverse, where it has one, is used in the mode `TARGET`. `state` and `info` are those of the last step.
    """

    def __init__(
        self,
        world: World,
        *,
        name: str = "",
        about: str = "",
        tip: Marker | Effector | None = None,
        actuators: Sequence[Any] = (),
        geometric: bool = False,
        lifted: Sequence[Support] = (),
        usual_step: float = 0.01,
        control: Callable[[float, State], Mapping[Any, Any]] | None = None,
        stepper: Any = None,
    ) -> None:
        self.name = name or ", ".join(model.name for model in world.models)
        self.about = about
        self.original = world
        self.tip, self.actuators = tip, tuple(actuators)
        self.timed = not geometric
        self.has_gravity = bool(np.any(world.gravity)) and not geometric
        self.lifted = tuple(lifted)
        self.usual_step = usual_step
        self.control, self.stepper = control, stepper
        self._steppers = Steppers(stepper, tip, actuators)
        self._dragged = {k: DraggedMotion() for k, one in enumerate(world.obstacles) if draggable(one)}
        self.world = with_motions(world, self._dragged)
        self.contents = SceneContents.of_world(self.world)
        self.state: State = self.world.initial_state()
        self.info: StepInfo | None = None
        self._tip_position = tip_position(tip, self.world)
        self._all_actuators = world_actuators(self.world)
        self._recorder: Recorder | None = None
        self._recorded_steppers: list[Any] = []

    @property
    def modes(self) -> tuple[str, ...]:
        """By a control of its own; by sliders; by a target where an inverse has something to move and to use, first
        where the scene has an inverse and nothing that gives its targets.
        """
        aims = self.tip is not None and bool(self.actuators) and self.timed
        own = (AUTOMATIC,) if self.control is not None and self.timed else ()
        by_hand = (SLIDERS, TARGET) if aims else (SLIDERS,)
        return (*own, *(by_hand[::-1] if self._steppers.inverse is not None else by_hand))

    @property
    def static(self) -> bool:
        """Whether each step is a static equilibrium, and time the pace of the controls."""
        return self._steppers.is_static

    def idle(self, mode: str) -> tuple[Any, ...]:
        """Actuators, and supports of an inverse, whose sliders have no effect in `mode`."""
        if mode == SLIDERS:
            return ()
        driven = self.actuators if mode == TARGET else (*self.actuators, *self._all_actuators)
        return tuple(getattr(one, "support", one) for one in driven)

    @property
    def ranges(self) -> list[Range]:
        """Of every actuator, load and support; volumes instead of pressures where there is no time."""
        ranges = [r for r in world_ranges(self.world) if r.handle not in self.lifted]
        ranges += [_lift_range(self.lifted)] if self.lifted else []
        return ranges if self.timed else [_volume_range(r) for r in ranges]

    @property
    def handles(self) -> list[Handle]:
        """The obstacles that can be dragged."""
        return [Handle(self.world.obstacles[k].name, k, center_of(self.original.obstacles[k])) for k in self._dragged]

    @property
    def time(self) -> float:
        """Simulated time, s."""
        return self.state.time

    @property
    def stage_times(self) -> Mapping[str, float]:
        """Seconds of the stages of the last step."""
        return {} if self.info is None else self.info.stage_times

    @property
    def has_contacts(self) -> bool:
        """Whether anything collides."""
        return any(constraint.is_contact for constraint in self.world.constraints)

    def view_points(self) -> list[FloatArray]:
        """The bodies, rigid balls and beams with their radius, (n, 3) m."""
        clouds = []
        for index, model in enumerate(self.world.models):
            points = self.state.points(index)
            round_part = getattr(model.spec, "shape", None) or getattr(model.spec, "section", None)
            parts = round_part if isinstance(round_part, (tuple, list)) else (round_part,)
            radius = max(getattr(part, "radius", 0.0) for part in parts)
            clouds.append(np.concatenate([points - radius, points + radius]))
        raised = [points + np.array([0.0, 0.0, LARGEST_LIFT]) for points in clouds] if self.lifted else []
        return [*clouds, *raised]

    def reset(self) -> None:
        """Back to the start, obstacles too."""
        for motion in self._dragged.values():
            motion.reset()
        self.state, self.info = self.world.initial_state(), None

    def step(self, dt: float, demand: Demand) -> None:
        """One step of dt (s), or one quasi-static step."""
        dt = dt if self.timed else SHAPE_SECONDS
        self._drag(dt, demand.displacements)
        controls = dict(demand.controls)
        if not demand.gravity:
            controls["gravity"] = np.zeros(3)
        idle = self.idle(demand.mode)
        controls = {handle: value for handle, value in controls.items() if handle not in idle}
        stepper: Any
        if not self.timed:
            stepper = Geometric()
        elif demand.mode == TARGET:
            stepper = self._steppers.targeted(dt, others=self.control is not None)
            controls |= self._other_targets(dt) | {self._steppers.aimed: demand.target}
        elif demand.mode == AUTOMATIC:
            stepper = self._steppers.automatic(dt)
            controls |= self._own_controls(dt)
        else:
            stepper = self._steppers.direct(dt)
        state, info = self._stepped(stepper, controls)
        if self._recorder is not None and info.inverse is not None:
            # the record holds the forces of the inverse; a direct step with them is what a replay repeats
            controls, stepper = info.inverse.commands(controls, info), replace(stepper, solver=None)
            state, info = self._stepped(stepper, controls)
        self.state, self.info = state, info
        if self._recorder is not None:
            self._record(stepper, info, controls)

    def _own_controls(self, dt: float) -> dict[Any, Any]:
        """Controls of the scene for the step of dt (s)."""
        assert self.control is not None
        return dict(self.control(self.state.time + dt, self.state))

    def _other_targets(self, dt: float) -> dict[Any, Any]:
        """Targets of the scene for its effectors beside the tip."""
        others = self._steppers.others if self.control is not None else ()
        own = self._own_controls(dt) if others else {}
        return {effector: own[effector] for effector in others if effector in own}

    def _stepped(self, stepper: Any, controls: Mapping[Any, Any]) -> tuple[State, StepInfo]:
        """One step; a diverging motion raises a `ConvergenceError` of its own."""
        try:
            # obstacles move to their position at the end of a step; a quasi-static step evaluates them at its start
            start = self.state if self.timed else replace(self.state, time=self.state.time + SHAPE_SECONDS)
            state, info = stepper(self.world, start, controls)
        except InputError as error:
            if "must be finite" not in str(error):
                raise
            raise ConvergenceError(self._runaway()) from error
        if not all(np.isfinite(q).all() for q in state.q):
            raise ConvergenceError(self._runaway())
        return state, info

    def _runaway(self) -> str:
        return (
            f"the motion of {self.name} diverged at {self.state.time:.2f} s: the actuation is too large or the time "
            "step too long; reset, and reduce one of them"
        )

    def arrived(self, displacements: FloatArray) -> bool:
        """Whether every obstacle has its wanted displacement, `displacements` (k, 3) m."""
        pairs = zip(self._dragged.values(), displacements, strict=True)
        return all(np.array_equal(motion.displacement, wanted) for motion, wanted in pairs)

    def frame(self) -> Frame:
        """The present frame."""
        state, info = self.state, self.info
        return world_frame(state, info, self._tip_position(state))

    def values(self, mode: str, frame: Frame) -> dict[int, FloatArray]:
        """Values that bodies are coloured by."""
        return self.contents.values(mode, frame.q)

    def actuation(self) -> dict[Any, float]:
        """What the last step gave the actuators, in the quantity (SI) of their sliders."""
        if self.info is None or self.info.assembly is None or not self.timed:
            return {}
        return {a: float(a.slider_amount(*self.info.actuation(a))) for a in self._all_actuators}

    def state_file(self) -> tuple[str, bytes]:
        """The present state as `State.save` writes it."""
        return f"{self.name}-state.npz", file_bytes(self.state.save)

    def rebuilt(self, stiffness: Sequence[float], friction: Sequence[float]) -> WorldSubject:
        """The same with other moduli (times `stiffness`) and `friction`, from the start."""
        fresh_stepper = None if self.stepper is None else replace(self.stepper)
        others = (self.tip, self.actuators, self.lifted, fresh_stepper)
        world, (tip, actuators, lifted, stepper) = rebuilt(
            self.original, stiffness=stiffness, friction=friction, others=others
        )
        about = self.about if self.control is None else f"{self.about} {CONTROLLER_LEFT}".strip()
        return WorldSubject(
            world, name=self.name, about=about, tip=tip, actuators=actuators, geometric=not self.timed,
            lifted=lifted, usual_step=self.usual_step, stepper=stepper,
        )  # fmt: skip

    def begin_recording(self) -> None:
        """Record from now on."""
        self._recorded_steppers = []
        self._recorder = Recorder(self.world, self.state)

    def end_recording(self) -> Run | None:
        """The recorded run, None without steps; its replay is the same to the last bit if dt was constant."""
        if self._recorder is None:
            return None
        run, self._recorder = self._recorder.run(), None
        if len(run.times) < 2:
            return None
        moved = {k: motion.recorded() for k, motion in self._dragged.items() if motion.moved}
        stepper = self._recorded_steppers[0] if len(self._recorded_steppers) == 1 and self.timed else None
        controls = () if stepper is None else run.controls
        return replace(run, world=with_motions(self.original, moved), stepper=stepper, controls=controls)

    def _record(self, stepper: Any, info: StepInfo, controls: Mapping[Any, Any]) -> None:
        assert self._recorder is not None
        self._recorder.add(self.state, info, controls)
        if stepper not in self._recorded_steppers:
            self._recorded_steppers.append(stepper)

    def _drag(self, dt: float, displacements: FloatArray) -> None:
        most = DRAG_SPEED * dt if self.timed else DRAG_STRIDE
        for motion, wanted in zip(self._dragged.values(), displacements, strict=True):
            offset = wanted - motion.displacement
            length = float(np.linalg.norm(offset))
            moved = motion.displacement + offset * min(1.0, most / max(length, 1e-300))
            motion.move(self.state.time, self.state.time + dt, moved)


def _lift_range(supports: Sequence[Support]) -> Range:
    """One slider that raises all of `supports`, which constrain x, y and z."""

    def raised(height: float) -> dict[Any, Displacement]:
        return dict.fromkeys(supports, Displacement((0.0, 0.0, height)))

    return scalar("lift", "mm", 1e3, (0.0, LARGEST_LIFT, 0.0), raised)


def _volume_range(r: Range) -> Range:
    if not isinstance(r.handle, Cavity):
        return r
    whole = scalar(r.handle, "× volume", 1.0, (LEAST_RATIO, LARGEST_RATIO, 1.0), VolumeRatio)
    return replace(whole, stride=STRIDE)
