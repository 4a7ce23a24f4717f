"""A world as the subject of a live viewer: driven by sliders, by a target, or quasi-statically by chamber volumes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from pliant.actuators import Actuator, ActuatorRows, Cavity
from pliant.actuators.values import Displacement, VolumeRatio
from pliant.control import Effector, Inverse
from pliant.core.errors import ConvergenceError, InputError
from pliant.core.types import FloatArray
from pliant.models.volume import Support
from pliant.record import Recorder, Run
from pliant.robots import Marker
from pliant.stepping import ImplicitEuler, StepInfo
from pliant.stepping.minimum_energy import Geometric
from pliant.viewer.contents import SceneContents
from pliant.viewer.dragging import DraggedMotion, center_of, draggable, with_motions
from pliant.viewer.frame import Frame, world_frame
from pliant.viewer.inputs import Range, scalar, world_ranges
from pliant.viewer.properties import rebuilt
from pliant.viewer.recording_panel import file_bytes
from pliant.viewer.subject import AUTOMATIC, SLIDERS, TARGET, Demand, Handle
from pliant.world import State, World

DRAG_SPEED = 0.25
"""Fastest motion of a dragged obstacle, m/s: faster ones would jump past contacts."""
DRAG_STRIDE = 0.002
"""Largest displacement of a dragged obstacle per quasi-static step, m."""
SHAPE_SECONDS = 0.1
"""Time assigned to a quasi-static step, s: recordings play at this rate."""
TARGET_SPEED = 0.25
"""Fastest approach of a target by the tip, m/s."""
LEAST_RATIO, LARGEST_RATIO = 0.6, 3.0
"""Range of the volume ratio of a chamber in geometric simulation."""
STRIDE = 0.1
"""Change of that ratio per step: larger increments cost little more, but skip intermediate configurations."""
LARGEST_LIFT = 0.04
"""Largest common displacement of lifted supports, m."""


class WorldSubject:
    """A world with a `tip` to position and the `actuators` of its inverse problem.

    `geometric` drives chambers by their volume with `pl.Geometric`, without time. The supports in `lifted` are raised
    together. `usual_step` (s) is the length of a step to begin with. `control(t, state)` gives the controls
    of the step that ends at t (s), for `stepper`, where the world drives itself. `state` and `info` are those of the
    last step.
    """

    def __init__(
        self,
        world: World,
        *,
        name: str = "",
        about: str = "",
        tip: Marker | None = None,
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
        self._dragged = {k: DraggedMotion() for k, one in enumerate(world.obstacles) if draggable(one)}
        self.world = with_motions(world, self._dragged)
        self.contents = SceneContents.of_world(self.world)
        self.state: State = self.world.initial_state()
        self.info: StepInfo | None = None
        self._effector = None if tip is None else Effector(tip, max_speed=TARGET_SPEED, name="tip")
        self._inverter: ImplicitEuler | None = None
        self._recorder: Recorder | None = None
        self._steppers: list[Any] = []

    @property
    def modes(self) -> tuple[str, ...]:
        """By sliders; by a target too where an inverse has something to move and to use; by a control of its own."""
        aims = self.tip is not None and bool(self.actuators) and self.timed
        return (SLIDERS, *((TARGET,) if aims else ()), *((AUTOMATIC,) if self.control is not None else ()))

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
        stepper: Any
        if not self.timed:
            stepper = Geometric()
        elif demand.mode == TARGET:
            effector, stepper = self._inverse(dt)
            controls = {handle: value for handle, value in controls.items() if handle not in self.actuators}
            controls[effector] = demand.target
        elif demand.mode == AUTOMATIC:
            assert self.control is not None
            stepper = ImplicitEuler(dt) if self.stepper is None else replace(self.stepper, dt=dt)
            own = dict(self.control(self.state.time + dt, self.state))
            controls = {handle: value for handle, value in controls.items() if handle == "gravity"} | own
        else:
            stepper = ImplicitEuler(dt)
        state, info = self._stepped(stepper, controls)
        if self._recorder is not None and info.inverse is not None:
            # the record holds the forces of the inverse; a direct step with them is what a replay repeats
            controls, stepper = info.inverse.commands(controls, info), replace(stepper, solver=None)
            state, info = self._stepped(stepper, controls)
        self.state, self.info = state, info
        if self._recorder is not None:
            self._record(stepper, info, controls)

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
        return world_frame(state, info, None if self.tip is None else self.tip.at(state))

    def values(self, mode: str, frame: Frame) -> dict[int, FloatArray]:
        """Values that bodies are coloured by."""
        return self.contents.values(mode, frame.q)

    def actuation(self) -> dict[Any, float]:
        """Actuation: displacement (m), or pressure (Pa) of a chamber."""
        if self.info is None or self.info.assembly is None:
            return {}
        return {a: float(self.info.actuation(a)[1 if isinstance(a, Cavity) else 0]) for a in self.actuators}

    def state_file(self) -> tuple[str, bytes]:
        """The present state as `State.save` writes it."""
        return f"{self.name}-state.npz", file_bytes(self.state.save)

    def rebuilt(self, stiffness: Sequence[float], friction: Sequence[float]) -> WorldSubject:
        """The same with other moduli (times `stiffness`) and `friction`, from the start."""
        others = (self.tip, self.actuators, self.lifted)
        world, (tip, actuators, lifted) = rebuilt(self.original, stiffness=stiffness, friction=friction, others=others)
        return WorldSubject(
            world, name=self.name, about=self.about, tip=tip, actuators=actuators, geometric=not self.timed,
            lifted=lifted, usual_step=self.usual_step,
        )  # fmt: skip

    def begin_recording(self) -> None:
        """Record from now on."""
        self._steppers = []
        self._recorder = Recorder(self.world, self.state)

    def end_recording(self) -> Run | None:
        """The recorded run, None without steps; its replay is the same to the last bit if dt was constant."""
        if self._recorder is None:
            return None
        run, self._recorder = self._recorder.run(), None
        if len(run.times) < 2:
            return None
        moved = {k: motion.recorded() for k, motion in self._dragged.items() if motion.moved}
        stepper = self._steppers[0] if len(self._steppers) == 1 and self.timed else None
        controls = () if stepper is None else run.controls
        return replace(run, world=with_motions(self.original, moved), stepper=stepper, controls=controls)

    def _record(self, stepper: Any, info: StepInfo, controls: Mapping[Any, Any]) -> None:
        assert self._recorder is not None
        self._recorder.add(self.state, info, controls)
        if stepper not in self._steppers:
            self._steppers.append(stepper)

    def _drag(self, dt: float, displacements: FloatArray) -> None:
        most = DRAG_SPEED * dt if self.timed else DRAG_STRIDE
        for motion, wanted in zip(self._dragged.values(), displacements, strict=True):
            offset = wanted - motion.displacement
            length = float(np.linalg.norm(offset))
            moved = motion.displacement + offset * min(1.0, most / max(length, 1e-300))
            motion.move(self.state.time, self.state.time + dt, moved)

    def _inverse(self, dt: float) -> tuple[Effector, ImplicitEuler]:
        """Effector and stepper of the inverse, made once for each step length."""
        assert self._effector is not None
        if self._inverter is None or self._inverter.dt != dt:
            inverse = Inverse(effectors=[self._effector], actuators=self.actuators)
            self._inverter = ImplicitEuler(dt, solver=inverse)
        return self._effector, self._inverter


def inferred_tip(world: World) -> tuple[Marker | None, tuple[Any, ...]]:
    """A marker at the node of the first actuated body farthest from its constrained nodes; and the actuators."""
    actuators = tuple(m.spec for m in world.constraints if isinstance(m, ActuatorRows) and isinstance(m.spec, Actuator))
    for actuator in actuators:
        for body in actuator.bodies:
            model = world.models[world.index(body)]
            constrained = getattr(model, "constrained", None)
            if getattr(body, "mesh", None) is None or constrained is None or not np.any(constrained):
                continue
            rest = body.mesh.points
            fixed = rest[np.asarray(constrained).reshape(len(rest), -1).any(axis=1)]
            away = np.linalg.norm(rest - fixed.mean(axis=0), axis=1)
            return Marker(body, rest[int(np.argmax(away))]), actuators
    return None, ()


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
