"""The world: a frozen scene. It holds what never changes; all that changes is in the state."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from pliant.constraints.rows import RowMaker
from pliant.core.errors import InputError
from pliant.core.types import FloatArray
from pliant.models.volume import VolumeModel
from pliant.world.controls import resolve_controls
from pliant.world.state import State


@dataclass(frozen=True, eq=False)
class World:
    """Compiled models under one gravity (m/s²). `handles` are the loads and supports that controls may name."""

    models: tuple[VolumeModel, ...]
    gravity: FloatArray
    handles: frozenset[Any]
    row_makers: tuple[RowMaker, ...] = ()

    def __repr__(self) -> str:
        return f"World({', '.join(f'{model.name!r}: {len(model.rest)} nodes' for model in self.models)})"

    def index(self, body: Any) -> int:
        """Number of a body given by handle, name or number."""
        if isinstance(body, int) and 0 <= body < len(self.models):
            return body
        for number, model in enumerate(self.models):
            if model.spec is body or model.name == body:
                return number
        names = ", ".join(repr(model.name) for model in self.models)
        raise InputError(f"{body!r} is not a body of this world; its bodies are {names}")

    def initial_state(self) -> State:
        """Every body at rest in its undeformed shape, at time 0."""
        q = tuple(model.rest.copy() for model in self.models)
        return State(self, 0.0, q, tuple(np.zeros_like(x) for x in q), np.zeros(0))

    def load_state(self, path: str | Path) -> State:
        """Read a state that `State.save` wrote for this world."""
        try:
            with np.load(Path(path), allow_pickle=False) as data:
                arrays = dict(data)
            q = tuple(arrays[f"q_{k}"] for k in range(len(self.models)))
            v = tuple(arrays[f"v_{k}"] for k in range(len(self.models)))
            state = State(self, float(arrays["time"]), q, v, arrays["lam"])
        except (OSError, ValueError, KeyError) as error:
            raise InputError(f"{path} is not a saved state of this world: {error}") from error
        for model, x in zip(self.models, q, strict=True):
            if x.shape != model.rest.shape:
                raise InputError(f"{path} has {len(x)} nodes for {model.name!r}, this world has {len(model.rest)}")
        return state

    def controls(self, controls: Mapping[Any, Any] | None) -> dict[Any, FloatArray]:
        """Controls checked and turned into arrays by handle."""
        return resolve_controls(controls, self.handles)

    def energy(self, state: State, controls: Mapping[Any, Any] | None = None) -> dict[str, float]:
        """Energies in J: "kinetic", "elastic", "potential" (gravity and loads, up to a constant) and their "total"."""
        return self.energy_at(state, self.controls(controls))

    def energy_at(self, state: State, values: Mapping[Any, FloatArray]) -> dict[str, float]:
        """`energy` with controls that are checked already."""
        elastic = sum(model.internal(q)[0] for model, q in zip(self.models, state.q, strict=True))
        potential = sum(m.external(q, self.gravity, values)[0] for m, q in zip(self.models, state.q, strict=True))
        kinetic = state.kinetic_energy()
        total = kinetic + elastic + potential
        return {"kinetic": kinetic, "elastic": elastic, "potential": potential, "total": total}
