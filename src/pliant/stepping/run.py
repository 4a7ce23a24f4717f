"""The recorded run: what `simulate` returns, saved without pickle, exported for ParaView."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any
from xml.sax.saxutils import quoteattr

import numpy as np

from pliant.actuators import ActuatorRows
from pliant.constraints.contact import ContactPair
from pliant.core.archive import decoding, read_archive, write_archive
from pliant.core.errors import InputError
from pliant.core.types import FloatArray, IntArray
from pliant.mesh import Mesh
from pliant.models.beam import BeamModel
from pliant.models.beam.beam_map import BeamMap
from pliant.models.beam.skin import beam_skin
from pliant.models.rod import RodModel
from pliant.models.rod.rod import section_ends
from pliant.models.rod.rod_map import RodMap
from pliant.models.rod.skin import rod_skin
from pliant.models.volume import VolumeModel
from pliant.stepping.info import StepInfo
from pliant.stepping.touches import Touches
from pliant.world import State, World
from pliant.world.storage import decode_controls, decode_world, encode_controls, encode_world

RUN_FORMAT = "pliant run 1"
_SKINS: tuple[tuple[Any, tuple[str, ...]], ...] = (
    (BeamMap, ("nodes", "triads", "coordinate", "offset", "node_count")),
    (RodMap, ("section", "fraction", "offset", "lengths", "kinds", "basis")),
)
"""Maps of the surfaces of beams and rods, with the arrays that they are saved as."""


@dataclass(frozen=True, eq=False)
class RecordedBody:
    """A body in a run: its name and its shape at rest.

    A volume has its `mesh`; a rigid body has `local` points (p, 3) m and `triangles` (t, 3) in its own frame, and
    `radius` m of the ball around each point; a beam or a rod has `skin`, points of its surface that ride on it, their
    `triangles`, its nodes at rest in `local` and the radius of its section. `handle` is what a person wrote, None in a
    run that was loaded from a file.
    """

    name: str
    mesh: Mesh | None
    local: FloatArray | None = None
    triangles: IntArray | None = None
    radius: float = 0.0
    handle: Any = None
    skin: BeamMap | RodMap | None = None

    @property
    def is_rigid(self) -> bool:
        """Whether positions of the body are poses (4, 3) instead of nodes (n, 3)."""
        return self.mesh is None and self.skin is None

    def surface_points(self, q: FloatArray) -> FloatArray:
        """Points (p, 3) m of the surface of a volume at q (n, 3), or of a beam or a rod at its q."""
        return q if self.skin is None else self.skin.points(q)

    def surface_triangles(self) -> IntArray:
        """Triangles (t, 3) over the points of the body."""
        if self.mesh is not None:
            return self.mesh.surface().triangles
        assert self.triangles is not None
        return self.triangles


@dataclass(frozen=True, eq=False)
class RecordedRows:
    """Forces of an actuator or a colliding pair over a run.

    `names` is that of the actuator, or both of a pair. `values` (steps, 2) are displacement (m) and tension (N), or
    growth (m³) and pressure (Pa); of a pair (steps, 3) the force (N) that the second body exerts on the first, of a
    `pl.Facing` under its own name that on its points.
    `handles` as in `RecordedBody`. `touches` are the single contacts of a pair, None in files of an older version.
    """

    names: tuple[str, ...]
    values: FloatArray
    handles: tuple[Any, ...] = ()
    touches: Touches | None = None

    def concerns(self, things: tuple[Any, ...]) -> bool:
        """Whether these are the forces of `things`, given by handle or name."""
        if len(things) != len(self.names):
            return False
        known = self.handles or (None,) * len(things)
        return all(
            t == name or (h is not None and t is h) for t, name, h in zip(things, self.names, known, strict=True)
        )


@dataclass(frozen=True, eq=False)
class Run:
    """A recorded trajectory; index 0 is the initial state.

    `times` (steps,), s. `positions` and `motions` hold, for each body, positions (steps, n, 3) in m (for a rigid body
    poses (steps, 4, 3)) and velocities (steps, n, 3) in m/s. Each of the k = steps − 1 steps is reported by
    `step_seconds` (k,) in s, `iterations` (k,) and `linear_residual` (k,); `stage_seconds` holds the seconds of each
    stage, (k,), and `forces` what actuators and contacts did. `world`, `controls` and `stepper` are what `replay`
    needs.
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

    def replay(self) -> Run:
        """Simulate again from the first state, with the recorded world, controls and stepper; bit for bit the same."""
        if self.world is None or self.stepper is None:
            raise InputError("this run does not know its world and stepper, so it cannot be replayed")
        state = State(
            self.world,
            float(self.times[0]),
            tuple(positions[0].copy() for positions in self.positions),
            tuple(motions[0].copy() for motions in self.motions),
            np.zeros(0),
        )
        recorder = Recorder(self.world, state, self.stepper)
        for controls in self.controls:
            state, info = self.stepper(self.world, state, controls)
            recorder.add(state, info, controls)
        return recorder.run()

    def points(self, body: Any) -> FloatArray:
        """Positions of the nodes of `body` (handle, name or number), or of a rigid body's shape, (steps, n, 3), m."""
        number = self._index(body)
        recorded, positions = self.bodies[number], self.positions[number]
        if recorded.skin is not None:
            return self._nodes(number)[:, :, 0]
        if not recorded.is_rigid:
            return positions
        assert recorded.local is not None
        placed: FloatArray = positions[:, :1] + recorded.local @ positions[:, 1:].transpose(0, 2, 1)
        return placed

    def frames(self, beam: Any) -> FloatArray:
        """Frames of the nodes of a `beam` or of the ends of a rod's sections, (steps, n, 3, 3), no unit: first columns
        along the axis.
        """
        number = self._index(beam)
        if self.bodies[number].skin is None:
            raise InputError(f"{_name(beam)} is neither beam nor rod, so its nodes have no frames")
        return self._nodes(number)[:, :, 1:]

    def _nodes(self, number: int) -> FloatArray:
        """Poses (steps, n, 4, 3) of the nodes of a beam or of the ends of a rod's sections."""
        positions = self.positions[number]
        if isinstance(self.bodies[number].skin, BeamMap):
            return positions
        nodes = np.stack([section_ends(q) for q in positions])
        nodes[:, :, 0] += positions[:, :1]
        return nodes

    def surface_points(self, body: Any) -> FloatArray:
        """Points of the drawn surface of a volume, a beam or a rod, (steps, p, 3), m; `bodies` hold its triangles."""
        number = self._index(body)
        recorded = self.bodies[number]
        if recorded.skin is None:
            return self.points(number)
        return np.stack([recorded.surface_points(q) for q in self.positions[number]])

    def poses(self, body: Any) -> FloatArray:
        """Positions (row 0, m) and rotation matrices (rows 1 to 3) of a rigid `body`, (steps, 4, 3)."""
        return self.positions[self._index(body)]

    def velocities(self, body: Any) -> FloatArray:
        """Velocities of the nodes of `body`, (steps, n, 3), m/s; of a rigid body, velocity and spin (steps, 2, 3)."""
        return self.motions[self._index(body)]

    def contact_force(self, a: Any, b: Any = None) -> FloatArray:
        """Force that `b` exerts on `a` (handles or names), or on the points of the `pl.Facing` `a`, at each step,
        (steps, 3), N.
        """
        things = (a,) if b is None else (getattr(a, "body", a), getattr(b, "body", b))  # a robot stands for its body
        for recorded in self.forces:
            if recorded.concerns(things) and recorded.values.shape[1] == 3:
                return recorded.values
            if recorded.concerns(things[::-1]):
                return -recorded.values
        raise InputError(f"{_name(a)} and {_name(b)} do not collide in this run")

    def contacts(self, instant: int) -> tuple[FloatArray, FloatArray]:
        """Places (k, 3) m of all contacts that pushed at the instant of this number, and their forces (k, 3) N on the
        first body of their pair; none where the run does not know them.
        """
        found = [recorded.touches.at(instant) for recorded in self.forces if recorded.touches is not None]
        none = np.zeros((0, 3))
        points, forces = (np.concatenate([none, *(one[side] for one in found)]) for side in (0, 1))
        return points, forces

    def actuation(self, actuator: Any) -> tuple[FloatArray, FloatArray]:
        """Displacement (m) and tension (N) of a cable, or growth (m³) and pressure (Pa) of a cavity, (steps,) each."""
        for recorded in self.forces:
            if recorded.concerns((actuator,)):
                return recorded.values[:, 0], recorded.values[:, 1]
        raise InputError(f"{_name(actuator)} is not an actuator of this run")

    @property
    def real_time_factor(self) -> float:
        """Simulated time over the time the steps took; above 1 is faster than real time."""
        span = float(self.times[-1] - self.times[0])
        return span / float(self.step_seconds.sum())

    def save(self, path: str | Path) -> Path:
        """Write the run to `path` (.npz, no pickle) and return the path."""
        header: dict[str, Any] = {
            "bodies": [_described(body) for body in self.bodies],
            "stages": list(self.stage_seconds),
            "forces": [list(recorded.names) for recorded in self.forces],
        }
        arrays: dict[str, Any] = {}
        if self.world is not None:
            header["world"], arrays = encode_world(self.world)
            if self.stepper is not None:
                header["controls"] = encode_controls(self.world, self.controls)
                header["stepper"] = [type(self.stepper).__name__, asdict(self.stepper)]
        for name in ("times", "step_seconds", "iterations", "linear_residual"):
            arrays[name] = getattr(self, name)
        for k, body in enumerate(self.bodies):
            rest, cells = (body.local, body.triangles) if body.mesh is None else (body.mesh.points, body.mesh.cells)
            arrays |= {f"rest_{k}": rest, f"cells_{k}": cells}
            if body.skin is not None:
                names = next(names for kind, names in _SKINS if isinstance(body.skin, kind))
                arrays |= {f"skin_{k}_{name}": getattr(body.skin, name) for name in names}
            arrays |= {f"positions_{k}": self.positions[k], f"motions_{k}": self.motions[k]}
        arrays |= {f"stage_{k}": seconds for k, seconds in enumerate(self.stage_seconds.values())}
        for k, recorded in enumerate(self.forces):
            arrays[f"force_{k}"] = recorded.values
            arrays |= {} if recorded.touches is None else recorded.touches.arrays(k)
        return write_archive(path, RUN_FORMAT, arrays, header=header)

    @classmethod
    def load(cls, path: str | Path) -> Run:
        """Read a run that `save` wrote."""
        header, arrays = read_archive(path, RUN_FORMAT, what="a saved run")
        with decoding(path, "a saved run"):
            return cls.decoded(header, arrays)

    @classmethod
    def decoded(cls, header: Mapping[str, Any], arrays: Mapping[str, Any]) -> Run:
        """The run that `save` described by header and arrays."""
        world = decode_world(header["world"], arrays) if "world" in header else None
        bodies = tuple(
            _body(b, arrays[f"rest_{k}"], arrays[f"cells_{k}"], _skin(arrays, k))
            for k, b in enumerate(header["bodies"])
        )
        return cls(
            times=arrays["times"],
            bodies=bodies,
            positions=tuple(arrays[f"positions_{k}"] for k in range(len(bodies))),
            motions=tuple(arrays[f"motions_{k}"] for k in range(len(bodies))),
            step_seconds=arrays["step_seconds"],
            iterations=arrays["iterations"],
            linear_residual=arrays["linear_residual"],
            stage_seconds={name: arrays[f"stage_{k}"] for k, name in enumerate(header["stages"])},
            forces=tuple(
                RecordedRows(tuple(n), arrays[f"force_{k}"], touches=Touches.read(arrays, k))
                for k, n in enumerate(header["forces"])
            ),
            world=world,
            controls=() if world is None else decode_controls(world, header.get("controls", ())),
            stepper=_stepper(*header["stepper"]) if "stepper" in header else None,
        )

    def plot(self, path: str | Path | None = None, *, points: Any = None) -> Any:
        """A Matplotlib figure of curves over time: places of `points` (markers by name, or one such as ``robot.tip``),
        displacements of bodies (mm), actuators in their units, contact forces (N); written to `path` where given.
        """
        from pliant.stepping.curves import plot_curves

        return plot_curves(self, path, points=points)

    def save_curves(self, path: str | Path, *, points: Any = None) -> Path:
        """Write the curves of `plot` as a CSV table with a line for each instant, and return its path."""
        from pliant.stepping.curves import save_curves

        return save_curves(self, path, points=points)

    def export(self, path: str | Path, *, every: int = 1) -> Path:
        """Write a ParaView series: a .pvd at `path` and a .vtu for each body and each `every`-th step beside it.

        Pages, films, pictures and glTF: `pl.export`.
        """
        import meshio

        path = Path(path).with_suffix(".pvd")
        folder = path.with_suffix("")
        folder.mkdir(parents=True, exist_ok=True)
        entries = []
        placed = [self.surface_points(part) for part in range(len(self.bodies))]
        for step in range(0, len(self.times), every):
            for part, body in enumerate(self.bodies):
                points = placed[part]
                rest = points[0] if body.mesh is None else body.mesh.points
                file = folder / f"{part}_{step:06d}.vtu"
                data = {"displacement": points[step] - rest}
                if body.mesh is not None:
                    cells = [(body.mesh.table.meshio_name, body.mesh.cells)]
                    data["velocity"] = self.motions[part][step]
                else:
                    cells = [("triangle", body.surface_triangles())]
                meshio.write(file, meshio.Mesh(points[step], cells, point_data=data), file_format="vtu")
                name = quoteattr(f"{folder.name}/{file.name}")
                entries.append(f'<DataSet timestep="{self.times[step]:.9g}" part="{part}" file={name}/>')
        lines = ['<?xml version="1.0"?>', '<VTKFile type="Collection" version="0.1">', "<Collection>", *entries]
        path.write_text("\n".join([*lines, "</Collection>", "</VTKFile>", ""]))
        return path

    def _index(self, body: Any) -> int:
        body = getattr(body, "body", body)  # a robot stands for its body
        if isinstance(body, int) and 0 <= body < len(self.bodies):
            return body
        for number, recorded in enumerate(self.bodies):
            if recorded.name == body or (recorded.handle is not None and recorded.handle is body):
                return number
        names = ", ".join(repr(recorded.name) for recorded in self.bodies)
        raise InputError(f"{body!r} is not a body of this run; its bodies are {names}")


class Recorder:
    """Collects states and infos while a simulation runs."""

    def __init__(self, world: World, start: State, stepper: Any = None) -> None:
        self._world = world
        # what an inverse solver found is recorded as forces, so that a replay needs the laws of the rows alone
        self._stepper = replace(stepper, solver=None) if getattr(stepper, "solver", None) is not None else stepper
        self._controls: list[Mapping[Any, Any]] = []
        self._states = [start]
        self._infos: list[StepInfo] = []

    def add(self, state: State, info: StepInfo, controls: Mapping[Any, Any] | None = None) -> None:
        """Record one step."""
        self._controls.append(dict(controls or {}) if info.inverse is None else info.inverse.commands(controls, info))
        self._states.append(state)
        self._infos.append(info)

    def run(self) -> Run:
        """The recorded run so far."""
        models = self._world.models
        stages = list(dict.fromkeys(stage for info in self._infos for stage in info.stage_times))
        return Run(
            times=np.array([state.time for state in self._states]),
            bodies=tuple(_recorded(model) for model in models),
            positions=tuple(np.stack([state.q[k] for state in self._states]) for k in range(len(models))),
            motions=tuple(np.stack([state.v[k] for state in self._states]) for k in range(len(models))),
            step_seconds=np.array([sum(info.stage_times.values()) for info in self._infos]),
            iterations=np.array([info.iterations for info in self._infos], dtype=float),
            linear_residual=np.array([info.linear_residual for info in self._infos]),
            stage_seconds={s: np.array([info.stage_times.get(s, 0.0) for info in self._infos]) for s in stages},
            forces=tuple(self._rows(maker) for maker in self._world.constraints if _is_recorded(maker)),
            world=self._world,
            controls=tuple(self._controls),
            stepper=self._stepper,
        )

    def _rows(self, maker: Any) -> RecordedRows:
        if isinstance(maker, ContactPair):
            things = maker.handles
            names = tuple(thing.name for thing in things)
            found = [info.contacts(*things) for info in self._infos]
            totals = [contacts.forces.sum(axis=0) for contacts in found]
            return RecordedRows(names, np.stack([np.zeros(3), *totals]), things, Touches.of(found))
        values = [info.actuation(maker.spec) for info in self._infos]
        return RecordedRows((maker.spec.name,), np.array([(0.0, 0.0), *values]), (maker.spec,))


def _is_recorded(maker: Any) -> bool:
    return isinstance(maker, (ActuatorRows, ContactPair))


def _recorded(model: Any) -> RecordedBody:
    if isinstance(model, VolumeModel):
        return RecordedBody(model.name, model.mesh, handle=model.spec)
    if isinstance(model, BeamModel):
        skin, triangles = beam_skin(model)
        radius, rest = model.spec.section.radius, model.rest[:, 0].copy()
        return RecordedBody(model.name, None, rest, triangles, radius, model.spec, skin)
    if isinstance(model, RodModel):
        surface, triangles = rod_skin(model)
        radius = max(section.radius for section in model.spec.section_list)
        return RecordedBody(
            model.name, None, model.nodes(model.rest)[:, 0].copy(), triangles, radius, model.spec, surface
        )
    shape = model.spec.shape
    return RecordedBody(model.name, None, shape.points, shape.triangles, shape.radius, model.spec)


def _described(body: RecordedBody) -> dict[str, Any]:
    if body.mesh is not None:
        return {"name": body.name, "element": body.mesh.element}
    return {"name": body.name, "radius": body.radius}


def _skin(arrays: Mapping[str, Any], number: int) -> BeamMap | RodMap | None:
    """The skin of a beam or a rod that was saved as body `number`."""
    for kind, names in _SKINS:
        if f"skin_{number}_{names[0]}" in arrays:
            parts = {name: arrays[f"skin_{number}_{name}"] for name in names}
            made: BeamMap | RodMap = kind(**{name: part if part.ndim else int(part) for name, part in parts.items()})
            return made
    return None


def _body(header: dict[str, Any], rest: FloatArray, cells: IntArray, skin: BeamMap | RodMap | None) -> RecordedBody:
    if "element" in header:
        return RecordedBody(header["name"], Mesh(rest, cells, header["element"]))
    return RecordedBody(header["name"], None, rest, cells, header["radius"], skin=skin)


def _stepper(kind: str, options: dict[str, Any]) -> Any:
    from pliant.stepping.implicit_euler import ImplicitEuler
    from pliant.stepping.implicit_midpoint import ImplicitMidpoint
    from pliant.stepping.lagged_factors import LaggedFactors

    kinds = {known.__name__: known for known in (ImplicitEuler, ImplicitMidpoint)}
    lagged = options.get("factors")
    return kinds[kind](**options | {"factors": None if lagged is None else LaggedFactors(**lagged)})


def _name(thing: Any) -> str:
    return repr(getattr(thing, "name", thing))
