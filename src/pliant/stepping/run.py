"""The recorded run: what `simulate` returns, saved without pickle, exported for ParaView."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from xml.sax.saxutils import quoteattr

import numpy as np

from pliant.core.errors import InputError
from pliant.core.types import FloatArray
from pliant.mesh import Mesh
from pliant.stepping.info import StepInfo
from pliant.world import State, World

_FORMAT = "pliant run 1"


@dataclass(frozen=True, eq=False)
class RecordedBody:
    """A body in a run: its name, its mesh at rest, and, in a run that was not loaded from a file, its handle."""

    name: str
    mesh: Mesh
    handle: Any = None


@dataclass(frozen=True, eq=False)
class Run:
    """A recorded trajectory; index 0 is the initial state.

    `times` (steps,), s. `positions` and `motions` hold, for each body, positions (steps, n, 3) in m and velocities
    (steps, n, 3) in m/s. `step_seconds` (s), `iterations` and `linear_residual` (steps − 1,) report each step;
    `stage_seconds` holds the seconds of each stage by step, (steps − 1,).
    """

    times: FloatArray
    bodies: tuple[RecordedBody, ...]
    positions: tuple[FloatArray, ...]
    motions: tuple[FloatArray, ...]
    step_seconds: FloatArray
    iterations: FloatArray
    linear_residual: FloatArray
    stage_seconds: dict[str, FloatArray] = field(default_factory=dict)

    def points(self, body: Any) -> FloatArray:
        """Positions of the nodes of `body` (handle, name or number), (steps, n, 3), m."""
        return self.positions[self._index(body)]

    def velocities(self, body: Any) -> FloatArray:
        """Velocities of the nodes of `body`, (steps, n, 3), m/s."""
        return self.motions[self._index(body)]

    @property
    def real_time_factor(self) -> float:
        """Simulated time over the time the steps took; above 1 is faster than real time."""
        span = float(self.times[-1] - self.times[0])
        return span / float(self.step_seconds.sum())

    def save(self, path: str | Path) -> Path:
        """Write the run to `path` (.npz, no pickle) and return the path."""
        path = Path(path)
        header = {
            "format": _FORMAT,
            "bodies": [{"name": body.name, "element": body.mesh.element} for body in self.bodies],
            "stages": list(self.stage_seconds),
        }
        arrays: dict[str, Any] = {"header": np.array(json.dumps(header))}
        for name in ("times", "step_seconds", "iterations", "linear_residual"):
            arrays[name] = getattr(self, name)
        for k, body in enumerate(self.bodies):
            arrays |= {f"rest_{k}": body.mesh.points, f"cells_{k}": body.mesh.cells}
            arrays |= {f"positions_{k}": self.positions[k], f"motions_{k}": self.motions[k]}
        arrays |= {f"stage_{k}": seconds for k, seconds in enumerate(self.stage_seconds.values())}
        with path.open("wb") as stream:
            np.savez_compressed(stream, **arrays)
        return path

    @classmethod
    def load(cls, path: str | Path) -> Run:
        """Read a run that `save` wrote."""
        try:
            with np.load(Path(path), allow_pickle=False) as data:
                arrays = dict(data)
            header = json.loads(str(arrays["header"]))
        except (OSError, ValueError, KeyError) as error:
            raise InputError(f"{path} is not a saved run: {error}") from error
        if header.get("format") != _FORMAT:
            raise InputError(f"{path} holds {header.get('format')!r}, not {_FORMAT!r}")
        listed = enumerate(header["bodies"])
        bodies = [
            RecordedBody(b["name"], Mesh(arrays[f"rest_{k}"], arrays[f"cells_{k}"], b["element"])) for k, b in listed
        ]
        return cls(
            times=arrays["times"],
            bodies=tuple(bodies),
            positions=tuple(arrays[f"positions_{k}"] for k in range(len(bodies))),
            motions=tuple(arrays[f"motions_{k}"] for k in range(len(bodies))),
            step_seconds=arrays["step_seconds"],
            iterations=arrays["iterations"],
            linear_residual=arrays["linear_residual"],
            stage_seconds={name: arrays[f"stage_{k}"] for k, name in enumerate(header["stages"])},
        )

    def export(self, path: str | Path, *, every: int = 1) -> Path:
        """Write a ParaView series: a .pvd at `path` and a .vtu for each body and each `every`-th step beside it."""
        import meshio

        path = Path(path).with_suffix(".pvd")
        folder = path.with_suffix("")
        folder.mkdir(parents=True, exist_ok=True)
        entries = []
        for step in range(0, len(self.times), every):
            for part, (body, frames) in enumerate(zip(self.bodies, self.positions, strict=True)):
                file = folder / f"{part}_{step:06d}.vtu"
                cells = [(body.mesh.table.meshio_name, body.mesh.cells)]
                data = {"displacement": frames[step] - body.mesh.points, "velocity": self.motions[part][step]}
                meshio.write(file, meshio.Mesh(frames[step], cells, point_data=data), file_format="vtu")
                name = quoteattr(f"{folder.name}/{file.name}")
                entries.append(f'<DataSet timestep="{self.times[step]:.9g}" part="{part}" file={name}/>')
        lines = ['<?xml version="1.0"?>', '<VTKFile type="Collection" version="0.1">', "<Collection>", *entries]
        path.write_text("\n".join([*lines, "</Collection>", "</VTKFile>", ""]))
        return path

    def _index(self, body: Any) -> int:
        if isinstance(body, int) and 0 <= body < len(self.bodies):
            return body
        for number, recorded in enumerate(self.bodies):
            if recorded.name == body or (recorded.handle is not None and recorded.handle is body):
                return number
        names = ", ".join(repr(recorded.name) for recorded in self.bodies)
        raise InputError(f"{body!r} is not a body of this run; its bodies are {names}")


class Recorder:
    """Collects states and infos while a simulation runs."""

    def __init__(self, world: World, start: State) -> None:
        self._world = world
        self._states = [start]
        self._infos: list[StepInfo] = []

    def add(self, state: State, info: StepInfo) -> None:
        """Record one step."""
        self._states.append(state)
        self._infos.append(info)

    def run(self) -> Run:
        """The recorded run so far."""
        models = self._world.models
        stages = list(dict.fromkeys(stage for info in self._infos for stage in info.stage_times))
        return Run(
            times=np.array([state.time for state in self._states]),
            bodies=tuple(RecordedBody(model.name, model.mesh, model.spec) for model in models),
            positions=tuple(np.stack([state.q[k] for state in self._states]) for k in range(len(models))),
            motions=tuple(np.stack([state.v[k] for state in self._states]) for k in range(len(models))),
            step_seconds=np.array([sum(info.stage_times.values()) for info in self._infos]),
            iterations=np.array([info.iterations for info in self._infos], dtype=float),
            linear_residual=np.array([info.linear_residual for info in self._infos]),
            stage_seconds={s: np.array([info.stage_times.get(s, 0.0) for info in self._infos]) for s in stages},
        )
