"""The recorded run: what `simulate` returns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from pliant.core.checks import positive_count
from pliant.core.declared import declared
from pliant.core.display import display_html
from pliant.core.errors import InputError
from pliant.core.types import BoolArray, FloatArray
from pliant.record.bodies import RecordedBody
from pliant.record.forces import RecordedRows
from pliant.stepping import StepInfo
from pliant.world import State, World
from pliant.world.state import name_of


@dataclass(frozen=True, eq=False)
class Run:
    """A recorded trajectory; index 0 is the initial state.

    `times` (steps,), s. `positions` and `motions` hold, for each body, positions (steps, n, 3) in m (for a rigid body
    poses (steps, 4, 3)) and velocities (steps, n, 3) in m/s. Each of the k = steps − 1 steps is reported by
    `step_seconds` (k,) in s, `iterations` (k,) and `linear_residual` (k,); `stage_seconds` holds the seconds of each
    stage, (k,), and `forces` actuation and contact forces. `replay` uses `world`, `controls`, `stepper` and the first
    state `start`. `warm` (k,) says of each step whether no kernel was compiled or loaded in it. `made`
    says of a run from a file with which versions and on what machine it was computed (`core.provenance`).
    """

    times: FloatArray
    bodies: tuple[RecordedBody, ...]
    positions: tuple[FloatArray, ...]
    motions: tuple[FloatArray, ...]
    step_seconds: FloatArray
    iterations: FloatArray
    linear_residual: FloatArray
    stage_seconds: dict[str, FloatArray] = field(default_factory=dict)
    forces: tuple[RecordedRows, ...] = ()
    world: World | None = None
    controls: tuple[Mapping[Any, Any], ...] = ()
    stepper: Any = None
    start: State | None = None
    warm: BoolArray = field(default_factory=lambda: np.zeros(0, bool))
    made: Mapping[str, Any] = field(default_factory=dict)

    def __repr__(self) -> str:
        names = [body.name for body in self.bodies]
        listed = ", ".join(map(repr, names[:4])) + (f" and {len(names) - 4} more" if len(names) > 4 else "")
        return f"Run({self.times[0]:g} to {self.times[-1]:g} s, {len(self)} instants of {listed})"

    def _repr_html_(self) -> str | None:
        return display_html(self)

    def __len__(self) -> int:
        """Count of instants, the initial state included."""
        return len(self.times)

    @classmethod
    def of(cls, states: Sequence[State], infos: Sequence[StepInfo] = (), *, interval: float | None = None) -> Run:
        """The run of `states` that a loop of one's own collected, such as equilibria under a sequence of loads.

        infos
            What each step reported, one for each state but the first; without them the run has no actuation, contact
            forces and step times.
        interval
            Time between two states, s; None takes the times of the states, or 0.04 s where no time passes.
        """
        from pliant.record.sequence import run_of

        return run_of(states, infos, interval)

    def replay(self) -> Run:
        """Simulate again from the first state, with the recorded world, controls and stepper; bit for bit the same."""
        from pliant.record.simulate import replay

        return replay(self)

    def points(self, body: Any) -> FloatArray:
        """Positions of the nodes of `body` (handle, name or index), or of a rigid body's shape, (steps, n, 3), m; those
        of a marker such as ``robot.tip``, (steps, 3), m.
        """
        if hasattr(body, "along"):
            return np.asarray(body.along(self.points(body.body)))
        index = self._index(body)
        recorded, positions = self.bodies[index], self.positions[index]
        if recorded.skin is not None:
            return self._nodes(index)[:, :, 0]
        if not recorded.is_rigid:
            return positions
        return np.asarray(positions[:, :1] + recorded.local @ positions[:, 1:].transpose(0, 2, 1))

    def index(self, at: float) -> int:
        """Index of the recorded instant nearest to the time `at` (s)."""
        first, last = float(self.times[0]), float(self.times[-1])
        slack = 1e-9 * (last - first)
        if not first - slack <= at <= last + slack:
            raise InputError(f"the time {at!r} s is not in this run, which lasts from {first:g} to {last:g} s")
        return int(np.argmin(np.abs(self.times - at)))

    @declared
    def state(self, instant: int | None = None, *, at: float | None = None) -> State:
        """The state of an instant, by its index (−1: the last) or by the time `at` (s), then the nearest one.

        It has positions, velocities and time, but neither the forces nor the friction history of its step, so steps
        from it are not bit for bit those of the run; ``run.replay()`` is. Materials with memory are relaxed in it.
        """
        if (instant is None) == (at is None):
            raise InputError("state takes an index or a time: run.state(-1), run.state(at=0.5)")
        if self.world is None:
            raise InputError("this run was recorded without its world, so it has no states; run.points(body) has it")
        if instant is not None and not -len(self) <= instant < len(self):
            raise InputError(f"this run has {len(self)} instants, no instant {instant}")
        k = self.index(at) if at is not None else range(len(self))[int(instant or 0)]
        q, v = (tuple(values[k].copy() for values in recorded) for recorded in (self.positions, self.motions))
        return State(self.world, float(self.times[k]), q, v, np.zeros(0))

    def frames(self, beam: Any) -> FloatArray:
        """Frames of the nodes of a beam or of a rod's section ends, (steps, n, 3, 3), no unit; column 0: axis."""
        nodes = self._nodes(self._index(beam))
        if nodes.shape[2] != 4:
            raise InputError(f"{name_of(beam)} is neither beam nor rod, so its nodes have no frames")
        return nodes[:, :, 1:]

    def _nodes(self, index: int) -> FloatArray:
        """Positions and frames of the nodes, (steps, n, 4, 3); (steps, n, 1, 3) where they have no frames."""
        skin, positions = self.bodies[index].skin, self.positions[index]
        return positions[:, :, None] if skin is None else np.stack([skin.node_poses(q) for q in positions])

    def surface_points(self, body: Any) -> FloatArray:
        """Points of the drawn surface of a volume, a beam or a rod, (steps, p, 3), m; `bodies` hold its triangles."""
        index = self._index(body)
        skin = self.bodies[index].skin
        return self.points(index) if skin is None else np.stack([skin.points(q) for q in self.positions[index]])

    def poses(self, body: Any) -> FloatArray:
        """Positions (row 0, m) and rotation matrices (rows 1 to 3) of a rigid `body`, (steps, 4, 3)."""
        return self.positions[self._index(body)]

    def velocities(self, body: Any) -> FloatArray:
        """Velocities of the nodes of `body`, (steps, n, 3), m/s; of a rigid body, velocity and spin (steps, 2, 3)."""
        return self.motions[self._index(body)]

    def contact_force(self, a: Any, b: Any = None) -> FloatArray:
        """Force of `b` on `a` (handles or names), or on the points of the `pl.Facing` `a`, (steps, 3), N."""
        things = (a,) if b is None else (getattr(a, "body", a), getattr(b, "body", b))  # a robot stands for its body
        for recorded in self.forces:
            if recorded.concerns(things) and recorded.values.shape[1] == 3:
                return recorded.values
            if recorded.concerns(things[::-1]):
                return -recorded.values
        raise InputError(f"{name_of(a)} and {name_of(b)} do not collide in this run")

    def contacts(self, instant: int) -> tuple[FloatArray, FloatArray]:
        """Points (k, 3) m of all contacts with a force at the `instant` of this index, and their forces (k, 3) N on the
        first body of their pair; none in runs of older versions.
        """
        found = [recorded.touches.at(instant) for recorded in self.forces if recorded.touches is not None]
        points, forces = zip((np.zeros((0, 3)),) * 2, *found, strict=True)
        return np.concatenate(points), np.concatenate(forces)

    def actuation(self, actuator: Any) -> tuple[FloatArray, FloatArray]:
        """Displacement (m) and tension (N) of a cable, or growth (m³) and pressure (Pa) of a cavity, (steps,) each; of
        several actuators (steps, k) each.
        """
        if isinstance(actuator, Sequence) and not isinstance(actuator, str):
            pairs = [self.actuation(one) for one in actuator]
            if not pairs:
                raise InputError("actuation needs at least one actuator, got an empty list")
            return np.stack([pair[0] for pair in pairs], axis=1), np.stack([pair[1] for pair in pairs], axis=1)
        for recorded in self.forces:
            if recorded.concerns((actuator,)):
                return recorded.values[:, 0], recorded.values[:, 1]
        raise InputError(f"{name_of(actuator)} is not an actuator of this run")

    @property
    def real_time_factor(self) -> float:
        """Simulated time over the time the steps took; above 1 is faster than real time. Steps in which kernels were
        compiled or loaded, those of a first run, do not count, unless all are such.
        """
        counted = self.warm if self.warm.any() else np.ones(len(self.step_seconds), bool)
        return float(np.diff(self.times)[counted].sum() / self.step_seconds[counted].sum())

    @declared
    def save(self, path: str | Path) -> Path:
        """Write the run to `path` (.npz, no pickle) and return the path."""
        from pliant.record.storage import save_run

        return save_run(self, path)

    @classmethod
    def load(cls, path: str | Path) -> Run:
        """Read a run that `save` wrote."""
        from pliant.record.storage import load_run

        return load_run(path)

    def plot(self, path: str | Path | None = None, *, points: Any = None, curves: Any = None, only: Any = None) -> Any:
        """A Matplotlib figure of curves over time; written to `path` where given.

        points
            Markers whose positions (mm) are drawn: by name, ``{"tip": robot.tip}``, in a list, or one.
        curves
            Curves of one's own by name, (steps,) each: ``{"bend (°)": angles}``; equal units share a panel.
        only
            Headings or names of the curves to draw, such as ``["pressure", "position"]``; None: all, which are
            displacements of bodies (mm), actuators in their units, contact forces (N), points and curves of one's own.
        """
        from pliant.record.plot import plot_curves

        return plot_curves(self, path, points=points, own=curves, only=only)

    @declared
    def save_curves(self, path: str | Path, *, points: Any = None, curves: Any = None, only: Any = None) -> Path:
        """Write the curves of `plot` as a CSV table with a row for each instant, and return its path."""
        from pliant.record.curves import save_curves

        return save_curves(self, path, points=points, own=curves, only=only)

    def to_dataframe(self, *, points: Any = None, curves: Any = None, only: Any = None) -> Any:
        """The curves of `plot` as a pandas DataFrame: a row for each instant, indexed by time (s), a column for each
        curve, named with its unit.
        """
        from pliant.record.curves import curves_frame

        return curves_frame(self, points=points, own=curves, only=only)

    @declared
    def export(self, path: str | Path, *, every: int = 1) -> Path:
        """Write a ParaView series: a .pvd at `path` and a .vtu for each body and each `every`-th step beside it.

        Pages, films, pictures and glTF: `pl.export`.
        """
        from pliant.record.paraview import export_paraview

        return export_paraview(self, path, every=positive_count("every", every))

    def _index(self, body: Any) -> int:
        body = getattr(body, "body", body)  # a robot stands for its body
        if isinstance(body, int) and 0 <= body < len(self.bodies):
            return body
        for index, recorded in enumerate(self.bodies):
            named = isinstance(body, str) and recorded.name == body
            if named or (recorded.handle is not None and recorded.handle is body):
                return index
        names = ", ".join(repr(recorded.name) for recorded in self.bodies)
        raise InputError(f"{name_of(body)} is not a body of this run; its bodies are {names}")
