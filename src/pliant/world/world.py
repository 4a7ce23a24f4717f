"""The world: a compiled scene, immutable. All that changes is in the state."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, groupby, pairwise
from pathlib import Path
from typing import Any

import numpy as np

from pliant.constraints.assembly import Bundle
from pliant.constraints.contact import ContactPair
from pliant.constraints.rocking import rocking_pairs
from pliant.constraints.rows import Constraint
from pliant.core.declared import declared
from pliant.core.display import display_html
from pliant.core.errors import InputError
from pliant.core.immutable import KeepsArraysReadOnly, handle_of
from pliant.core.one_line import one_line
from pliant.core.types import FloatArray, IndexArray
from pliant.models.body import Model
from pliant.models.volume import VolumeModel
from pliant.world.belonging import check_belongs
from pliant.world.controls import resolve_controls
from pliant.world.state import State, name_of

TIMED = "timed loads"
"""Key of the loads among controls whose values follow from their amplitudes."""


@one_line
@dataclass(frozen=True, eq=False)
class Pair:
    """A call of `Scene.collide`."""

    a: Any
    b: Any
    friction: float
    margin: float | None
    exclude: Any
    capacity: int | None
    allow_overlap: bool = False
    continuous: bool = False


@one_line
@dataclass(frozen=True, eq=False)
class Source:
    """A scene as it was compiled; later additions to the scene do not change it.

    `gravity` (3,) m/s². `things` are all added objects, each volume with its placed mesh, each beam and rod with its
    pose (4, 3), others with None. `pairs` are the pairs that collide.
    """

    gravity: FloatArray
    things: tuple[tuple[Any, Any], ...]
    pairs: tuple[Pair, ...]


@dataclass(frozen=True, eq=False)
class World(KeepsArraysReadOnly):
    """Compiled models under one gravity (m/s²). `handles` are what controls refer to: loads, supports and actuators;
    `source` is the scene as it was compiled; `reductions` are those applied (`world.reduced`).
    """

    models: tuple[Model, ...]
    gravity: FloatArray
    handles: frozenset[Any]
    constraints: tuple[Constraint, ...] = ()
    obstacles: tuple[Any, ...] = ()
    source: Any = None
    reductions: tuple[Any, ...] = ()

    def __repr__(self) -> str:
        return f"World({', '.join(f'{model.name!r}: {model.size} unknowns' for model in self.models)})"

    def _repr_html_(self) -> str | None:
        return display_html(self)

    def index(self, body: Any) -> int:
        """Index of a body given by handle, name or index."""
        body = handle_of(getattr(body, "body", body))  # a robot stands for its body
        if isinstance(body, int) and 0 <= body < len(self.models):
            return body
        for index, model in enumerate(self.models):
            if model.handle is body or (isinstance(body, str) and model.name == body):
                return index
        names = ", ".join(repr(model.name) for model in self.models)
        raise InputError(f"{name_of(body)} is not a body of this world; its bodies are {names}")

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """Number of scalar unknowns of each model, constrained ones included."""
        return tuple(model.size for model in self.models)

    @cached_property
    def shapes(self) -> tuple[tuple[int, ...], ...]:
        """Shape of the displacement dx of each model."""
        return tuple(model.constrained.shape for model in self.models)

    @cached_property
    def position_shapes(self) -> tuple[tuple[int, ...], ...]:
        """Shape of the positions of each model."""
        return tuple(model.initial()[0].shape for model in self.models)

    @cached_property
    def velocity_shapes(self) -> tuple[tuple[int, ...], ...]:
        """Shape of the velocities of each model."""
        return tuple(model.initial()[1].shape for model in self.models)

    @cached_property
    def fingerprint(self) -> str | None:
        """A digest of the scene that it was compiled from, the same for equal scenes; None where it cannot be saved."""
        from pliant.world.storage import world_digest

        try:
            return world_digest(self)
        except InputError:
            return None

    @cached_property
    def gravity_magnitude(self) -> float:
        """Magnitude of gravity, m/s²."""
        return float(np.linalg.norm(self.gravity))

    @cached_property
    def stiff_constraints(self) -> tuple[Constraint, ...]:
        """The constraints whose forces stiffen a model, such as cables and cavities."""
        return tuple(constraint for constraint in self.constraints if constraint.stiff_models)

    @cached_property
    def bundles(self) -> tuple[Bundle, ...]:
        """Neighbours among the constraints that are evaluated in one pass."""
        made, first = [], 0
        for key, group in groupby(self.constraints, key=lambda constraint: constraint.bundle_key):
            members = tuple(group)
            if key is not None and len(members) > 1:
                made.append(members[0].bundle(first, members))
            first += len(members)
        return tuple(made)

    @cached_property
    def stiffening(self) -> tuple[tuple[Constraint | Bundle, slice], ...]:
        """The stiff constraints, those of bundles in one, and the slices of their keys in `stiff_keys`."""
        bundled = {id(member): bundle for bundle in self.bundles for member in bundle.members}
        made: list[tuple[Constraint | Bundle, slice]] = []
        for constraint, own in zip(self.stiff_constraints, self.stiff_keys[1], strict=True):
            one = bundled.get(id(constraint), constraint)
            if made and made[-1][0] is one:
                own = slice(made.pop()[1].start, own.stop)
            made.append((one, own))
        return tuple(made)

    @cached_property
    def rocking_pairs(self) -> tuple[tuple[int, ContactPair], ...]:
        """Indices of the contact pairs of soft bodies with round solids among the constraints, and the pairs."""
        return rocking_pairs(self.constraints, self.models)

    @cached_property
    def continuous_pairs(self) -> tuple[Constraint, ...]:
        """The contact pairs that are detected continuously."""
        return tuple(constraint for constraint in self.constraints if getattr(constraint, "continuous", False))

    @cached_property
    def moves_alone(self) -> bool:
        """Whether no constraint acts and all bodies are of kinds that take steps in one call (`Trial.whole_step`)."""
        return not self.constraints and all(model.takes_whole_steps for model in self.models)

    @cached_property
    def stiff_keys(self) -> tuple[IndexArray, tuple[slice, ...]]:
        """Keys of the rows of all stiff constraints, and the slice of each constraint in them."""
        keys = [constraint.stiff_keys for constraint in self.stiff_constraints]
        ends = accumulate((len(own) for own in keys), initial=0)
        return np.concatenate(keys), tuple(slice(a, b) for a, b in pairwise(ends))

    @cached_property
    def stiff_rows_named(self) -> bool:
        """Whether all `stiff_keys` identify a row."""
        return bool((self.stiff_keys[0] >= 0).all())

    @cached_property
    def remembers(self) -> bool:
        """Whether materials of some bodies have a memory."""
        return any(model.remembers for model in self.models)

    @cached_property
    def supported(self) -> tuple[bool, ...]:
        """Whether each body has supports, or is welded to the world or to a body that has."""
        supported = [model.is_supported for model in self.models]
        bodies = range(len(supported))
        welds = [[index for index in bodies if constraint.welds(index)] for constraint in self.constraints]
        for _ in bodies:  # a weld away from the world more each time
            for welded in welds:
                if len(welded) == 1 or any(supported[index] for index in welded):
                    for index in welded:
                        supported[index] = True
        return tuple(supported)

    @property
    def volumes(self) -> tuple[VolumeModel, ...]:
        """The deformable volumes among the models."""
        return tuple(model for model in self.models if isinstance(model, VolumeModel))

    def initial_state(self) -> State:
        """Every body at rest in its rest configuration, at time 0."""
        pairs = [model.initial() for model in self.models]
        return State(self, 0.0, tuple(q for q, _ in pairs), tuple(v for _, v in pairs), np.zeros(0))

    @declared
    def thing(self, name: str) -> Any:
        """The body, obstacle, actuator, load or support of that name: the handles of a loaded world."""
        for thing, _ in self.source.things:
            if getattr(thing, "name", None) == name:
                return thing
        raise InputError(f"no object of this world has the name {name!r}")

    @declared
    def save(self, path: str | Path) -> Path:
        """Write the world to `path` (.npz, no pickle); `pl.load` gives it back."""
        from pliant.world.storage import save_world

        return save_world(self, Path(path))

    def adopt(self, state: State) -> State:
        """Positions, velocities and time of a state of another world with the same bodies, as a state of this one.

        What constraints and materials of the other world remember is left behind.
        """
        if not isinstance(state, State):
            raise InputError(f"adopt takes a state, got {type(state).__name__}")
        return State(self, state.time, state.q, state.v, np.zeros(0))

    @declared
    def load_state(self, path: str | Path) -> State:
        """Read a state that `State.save` wrote for this world."""
        from pliant.world.storage import load_state

        return load_state(self, path)

    def constraint_index(self, handle: Any) -> int:
        """Index of the constraint of an actuator."""
        for index, constraint in enumerate(self.constraints):
            if handle_of(getattr(constraint, "spec", None)) is handle:
                return index
        raise InputError(f"{name_of(handle)} is not an actuator of this world")

    def pairs(self, a: Any, b: Any = None) -> list[tuple[int, float]]:
        """Indices of the contact pairs of `a` and `b`, or of a `pl.Facing`, with 1 or −1: `a` is first or second."""
        if b is not None:
            a, b = getattr(a, "body", a), getattr(b, "body", b)  # a robot stands for its body
        found, wanted = [], (a,) if b is None else (a, b)
        constraints: list[Any] = list(self.constraints)
        for index, pair in enumerate(constraints):
            if pair.is_contact:
                named = pair.handles if b is None else (pair.a.handle, pair.b.handle)
                if _same(named, wanted):
                    found.append((index, 1.0))
                elif _same(named[::-1], wanted):
                    found.append((index, -1.0))
        if not found:
            raise InputError(f"{name_of(a)} and {name_of(b)} do not collide in this world; add scene.collide(a, b)")
        return found

    @cached_property
    def specs(self) -> dict[Any, Any]:
        """By handle what has other numbers than when it was added to the scene (`world.changed`)."""
        parts: list[Any] = [*self.models, *(getattr(each, "full", each) for each in self.constraints)]
        specs = [part.spec for part in parts if getattr(part, "spec", None) is not None]
        return {handle_of(spec): spec for spec in specs if handle_of(spec) is not spec}

    @cached_property
    def timed_loads(self) -> tuple[Any, ...]:
        """The loads with an amplitude over time."""
        return tuple(load for load in self.handles if getattr(load, "amplitude", None) is not None)

    def timed(self, values: Mapping[Any, Any], time: float) -> dict[Any, Any]:
        """Checked controls `values` with what loads with an amplitude are at `time` (s), where none controls them.
        ``values[TIMED]`` names these: in another part of the step they are evaluated anew.
        """
        before = values.get(TIMED, ())
        chosen = [load for load in self.timed_loads if load not in values or load in before]
        return {**values, **{load: load.value_at(time) for load in chosen}, TIMED: tuple(chosen)}

    def controls(self, controls: Mapping[Any, Any] | None) -> dict[Any, FloatArray]:
        """Controls checked and turned into arrays by handle."""
        return resolve_controls(controls, self.handles, self.specs)

    def energy(self, state: State, controls: Mapping[Any, Any] | None = None) -> dict[str, float]:
        """Energies in J: "kinetic", "elastic", "potential" (gravity and loads, up to a constant) and their "total"."""
        check_belongs(state, self)
        return self.energy_at(state, self.timed(self.controls(controls), state.time))

    def energy_at(self, state: State, values: Mapping[Any, FloatArray]) -> dict[str, float]:
        """`energy` with checked controls."""
        triples = list(zip(self.models, state.q, state.v, strict=True))
        histories = state.histories or (None,) * len(self.models)
        kinetic = sum(model.kinetic_energy(q, v) for model, q, v in triples)
        elastic = sum(model.stored_energy(q, known) for (model, q, _), known in zip(triples, histories, strict=True))
        elastic += sum(constraint.elastic_energy(state.q) for constraint in self.constraints)
        gravity = values.get("gravity", self.gravity)
        potential = sum(model.potential_energy(q, gravity, values) for model, q, _ in triples)
        total = kinetic + elastic + potential
        return {"kinetic": kinetic, "elastic": elastic, "potential": potential, "total": total}


def _same(some: tuple[Any, ...], others: tuple[Any, ...]) -> bool:
    return len(some) == len(others) and all(one is other for one, other in zip(some, others, strict=True))
