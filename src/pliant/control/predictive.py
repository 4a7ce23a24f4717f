"""Receding-horizon control: the commands that keep effectors on their references, found anew in each step.

With the commands of the last call, shifted by one step, the reduced world is stepped over the horizon; each of these
steps is linearised (`control.step_model`), so that the outputs follow changes of the commands by y + S δu. The commands

    min Σ_k ‖y_k + d + (S δu)_k − r_k‖² w + ε Σ_k ‖u_k − u_{k−1}‖²,      lower ≤ u ≤ upper, |u_k − u_{k−1}| ≤ rate · dt

come from one small quadratic program, and the first of them acts (the real-time iteration of Diehl, Bock, Schlöder et
al., Journal of Process Control 12, 2002). The model runs beside the robot, and d, what the sensors say less what it
predicted for now, is taken as constant over the horizon: errors of the model leave no offset at rest.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from functools import cached_property
from time import perf_counter
from typing import Any

import numpy as np

from pliant.actuators import Actuator
from pliant.actuators.limits import Command
from pliant.control.effectors import AnyEffector, EffectorRows
from pliant.control.kinematics import origin
from pliant.control.step_model import check_reduced, mode_count, step_model
from pliant.core.checks import finite_array, positive, positive_count, time_step
from pliant.core.declared import check_declared
from pliant.core.errors import ConvergenceError, InputError
from pliant.core.one_line import one_line
from pliant.core.singular import named_singular
from pliant.core.types import BoolArray, FloatArray
from pliant.solvers.inverse.quadratic import FREE, SOLVED, solve_scaled
from pliant.stepping import ImplicitEuler
from pliant.world import State, World
from pliant.world.belonging import check_belongs


@one_line
@dataclass(frozen=True, eq=False)
class Plan:
    """What a `Predictive` controller knows between two calls.

    controls
        Commands for the step that comes next: give them to the robot.
    inputs
        Commands over the horizon, (steps, actuators), N (Pa, N·m) or m (m³, rad).
    outputs
        What the effectors are predicted to measure under them, (steps, outputs), m.
    offset
        Measured less predicted, (outputs,), m.
    state
        The model where the robot should be after the next step.
    by_force, seconds
        Which commands are forces, (actuators,), and the wall time of the call, s.
    """

    controls: Mapping[Any, Any]
    inputs: FloatArray
    outputs: FloatArray
    offset: FloatArray
    state: State
    by_force: BoolArray
    seconds: float = 0.0


@one_line
@dataclass(frozen=True, eq=False)
class Predictive:
    """Model predictive control on a reduced world.

        mpc = pl.control.Predictive(fast, effectors=[tip], actuators=cables, dt=0.02, horizon=15)
        plan = mpc.begin(state, {cable: pl.Force(0.1) for cable in cables})
        plan = mpc(plan, {tip: reference}, measured={tip: position})       # then plan.controls go to the robot

    world
        A world of `pl.reduction.reduce` whose volumes all move in modes.
    effectors, actuators
        Outputs with their weights, and inputs. Commands are of the kind, force or displacement, that `begin` is given.
    dt, horizon
        Step, s, and number of steps that are looked ahead.
    smoothness
        ε of changes of the commands from step to step, as a fraction of what the outputs gain by them (mean diagonal of
        Sᵀ w S); usual 0.001 … 0.1.
    newton_iterations
        Linear solves of each step of the model; one alone damps the motion.
    bounds
        Lower and upper commands of each actuator within its own limits, {actuator: (lower, upper)}.
    rates
        Largest changes of commands per second, {actuator: rate}.
    """

    world: World
    _: KW_ONLY
    effectors: Sequence[AnyEffector]
    actuators: Sequence[Any]
    dt: float
    horizon: int = 15
    smoothness: float = 0.05
    newton_iterations: int = 2
    bounds: Mapping[Any, Any] | None = None
    rates: Mapping[Any, Any] | None = None

    def __post_init__(self) -> None:
        check_declared(self)
        check_reduced(self.world, "predictive control")
        time_step("dt", self.dt)
        positive_count("horizon", self.horizon)
        positive_count("newton_iterations", self.newton_iterations)
        positive("smoothness", self.smoothness)
        for what, kind in (("effectors", AnyEffector), ("actuators", Actuator)):
            given = getattr(self, what)
            if not given or not all(isinstance(each, kind) for each in given):
                raise InputError(f"{what} of predictive control are a list of at least one, got {given!r:.60}")
        for what in ("bounds", "rates"):
            for each in getattr(self, what) or {}:
                if each not in self.actuators:
                    raise InputError(f"{what} of predictive control name {each!r:.60}, which is none of its actuators")
        for each in self.actuators:
            if self.limits(each, by_force=True)[2] <= 0.0 or self.limits(each, by_force=False)[2] <= 0.0:
                raise InputError(f"the rate of {each.name!r} must be > 0")
        _ = self._roots  # an effector that the world does not have is an error here

    def begin(self, state: State, controls: Mapping[Any, Any]) -> Plan:
        """The plan of a robot that is in `state` of the reduced world under `controls`, which have a command of each
        actuator.
        """
        check_belongs(state, self.world)
        values: Any = self.world.controls(controls)
        for each in self.actuators:
            if not isinstance(values.get(each), Command):
                raise InputError(f"{each.name!r} has no command at the start of predictive control: give it one")
        u = np.array([values[each].amount for each in self.actuators])
        by_force = np.array([values[each].by_force for each in self.actuators])
        y, count = self._measured(state), self.horizon
        return Plan(dict(controls), np.tile(u, (count, 1)), np.tile(y, (count, 1)), np.zeros(len(y)), state, by_force)

    @named_singular
    def __call__(self, plan: Plan, references: Mapping[Any, Any], measured: Mapping[Any, Any] | None = None) -> Plan:
        """The next plan.

        `references` give each effector its target, or one for each step of the horizon; `measured` what it measures now
        (None: what the model says).
        """
        began = perf_counter()
        offset = plan.offset if measured is None else self._readings(measured) - self._measured(plan.state)
        inputs = np.vstack([plan.inputs[1:], plan.inputs[-1:]])
        outputs, S = self._rollout(plan, inputs)
        change = self._program(plan, inputs, self._references(references) - outputs - offset, S)
        inputs = inputs + change
        controls = self._commands(plan.controls, inputs[0], plan.by_force)
        state, _ = self._stepper(self.world, plan.state, controls)
        predicted = outputs + offset + S @ change.ravel()
        return Plan(controls, inputs, predicted, offset, state, plan.by_force, perf_counter() - began)

    def limits(self, actuator: Any, *, by_force: bool) -> tuple[float, float, float]:
        """Lower and upper command of an actuator, and its largest change in a step."""
        own = actuator.limits
        low, high, rate = (own.lower, own.upper, own.force_rate) if by_force else (own.least, own.most, own.rate)
        given = (self.bounds or {}).get(actuator, (-np.inf, np.inf))
        if not isinstance(given, Sequence) or len(given) != 2 or not given[0] < given[1]:
            raise InputError(f"bounds of {actuator.name!r} must be a pair (lower, upper), got {given!r:.60}")
        limit = (self.rates or {}).get(actuator, np.inf)
        return max(low, float(given[0])), min(high, float(given[1])), min(rate, float(limit)) * self.dt

    @cached_property
    def _rows(self) -> tuple[EffectorRows, ...]:
        return tuple(each.bound(self.world) for each in self.effectors)

    @cached_property
    def _origins(self) -> dict[Any, FloatArray]:
        return {each: origin(each) for each in self.effectors}

    @cached_property
    def _start(self) -> tuple[FloatArray, ...]:
        """Where the bodies begin."""
        return self.world.initial_state().q

    @cached_property
    def _first(self) -> dict[Any, FloatArray]:
        """What the effectors measure there."""
        return {rows.effector: rows.measure.error(self._start, self._origins[rows.effector]) for rows in self._rows}

    @cached_property
    def _stepper(self) -> ImplicitEuler:
        return ImplicitEuler(self.dt, newton_iterations=self.newton_iterations)

    @cached_property
    def _roots(self) -> FloatArray:
        """Square roots of the weights of the outputs."""
        sizes = [len(self._first[rows.effector]) for rows in self._rows]
        return np.repeat([np.sqrt(rows.spec.weight) for rows in self._rows], sizes)

    def _measured(self, state: State) -> FloatArray:
        """What the effectors measure in a state of the model, (outputs,)."""
        return np.concatenate([rows.measure.error(state.q, self._origins[rows.effector]) for rows in self._rows])

    def _given(self, given: Mapping[Any, Any], what: str) -> list[Any]:
        for each in self.effectors:
            if each not in given:
                raise InputError(f"{each.name!r} has no {what}")
        return [given[each] for each in self.effectors]

    def _read(self, rows: EffectorRows, value: Any) -> FloatArray:
        """A target as the rows of its effector measure it."""
        own = rows.effector
        return np.asarray(self._first[own] - rows.measure.error(self._start, own.target(value)), np.float64)

    def _readings(self, measured: Mapping[Any, Any]) -> FloatArray:
        pairs = zip(self._rows, self._given(measured, "measured value"), strict=True)
        return np.concatenate([self._read(*pair) for pair in pairs])

    def _references(self, references: Mapping[Any, Any]) -> FloatArray:
        """(steps, outputs)."""
        made = []
        for rows, given in zip(self._rows, self._given(references, "reference"), strict=True):
            array = finite_array(f"reference of {rows.name!r}", given)
            constant = np.ndim(self._origins[rows.effector][0]) == array.ndim or len(array) != self.horizon
            made.append(np.array([self._read(rows, x) for x in ([array] if constant else array)]))
        return np.concatenate([np.broadcast_to(x, (self.horizon, x.shape[1])) for x in made], axis=1)

    def _commands(self, controls: Mapping[Any, Any], u: FloatArray, by_force: BoolArray) -> dict[Any, Any]:
        made = dict(controls)
        for each, amount, force in zip(self.actuators, u.tolist(), by_force, strict=True):
            made[each] = each.imposing(amount) if force else each.moving(amount)
        return made

    def _rollout(self, plan: Plan, inputs: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Outputs (steps, outputs) under `inputs`, and how they follow these, (steps, outputs, steps × actuators)."""
        size, width = mode_count(self.world), len(self.actuators)
        state, moved = plan.state, np.zeros((2 * size, self.horizon * width))
        outputs, S = [], []
        for k in range(self.horizon):
            controls = self._commands(plan.controls, inputs[k], plan.by_force)
            state, _ = self._stepper(self.world, state, controls)
            values = dict(self.world.controls(controls)) | self._origins
            model = step_model(self.world, state, values, self.dt, self.actuators, self._rows, self._stepper.workspace)
            moved[:, : k * width] = model.F @ moved[:, : k * width]
            moved[:, k * width : (k + 1) * width] = model.G
            outputs.append(self._measured(state))
            S.append(model.C @ moved[:size])
        return np.array(outputs), np.array(S)

    def _program(self, plan: Plan, inputs: FloatArray, left: FloatArray, S: FloatArray) -> FloatArray:
        """The change of `inputs` (steps, actuators) that brings the outputs by `left` (steps, outputs)."""
        count, width = inputs.shape
        n = count * width
        M = (S * self._roots[:, None]).reshape(-1, n)
        D = np.eye(n) - np.eye(n, k=-width)
        before = D @ inputs.ravel()
        before[:width] -= plan.inputs[0]
        H, f = M.T @ M, -M.T @ (left * self._roots).ravel()
        gain = float(np.trace(H)) / n
        if not gain > 0.0:
            return np.zeros(inputs.shape)
        H += self.smoothness * gain * (D.T @ D)
        f += self.smoothness * gain * (D.T @ before)
        pairs = zip(self.actuators, plan.by_force, strict=True)
        low, high, change = np.array([self.limits(each, by_force=bool(force)) for each, force in pairs]).T
        size = np.where(np.isfinite(high - low), high - low, 1.0 + np.abs(inputs[0]))  # commands of several units
        scale = np.tile(size, count)
        limited = np.flatnonzero(np.isfinite(np.tile(change, count)))
        rates = np.tile(change, count)[limited]
        lower = np.concatenate([np.tile(low, count) - inputs.ravel(), -rates - before[limited]])
        upper = np.concatenate([np.tile(high, count) - inputs.ravel(), rates - before[limited]])
        units = np.concatenate([scale, scale[limited]])
        H, f, rows = scale[:, None] * H * scale, scale * f, D[limited] * scale / scale[limited, None]
        largest = float(np.diag(H).max())
        x, _, flag, _ = solve_scaled(
            H / largest, f / largest, rows, np.maximum(lower / units, -FREE), np.minimum(upper / units, FREE)
        )
        if flag != SOLVED:
            raise ConvergenceError(
                "the quadratic program of predictive control has no solution: are the present commands within bounds "
                "and rates?"
            )
        met = np.clip(inputs + (scale * x).reshape(inputs.shape), low, high)  # rounding of the program
        return np.asarray(met - inputs)
