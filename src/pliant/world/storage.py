"""Worlds, states and recorded controls as JSON headers and arrays of archives, and back."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from pliant.actuators.values import KINDS
from pliant.core.archive import decoding, read_archive, write_archive
from pliant.core.errors import FileFormatError, InputError
from pliant.core.provenance import provenance
from pliant.world.codec import Decoder, Encoder
from pliant.world.migration import OLDER_STATES, PAIR_FIELDS, STATE_FORMAT, WORLD_FORMAT
from pliant.world.reduced import reduced
from pliant.world.rest_shape import following, reshaped_bodies
from pliant.world.scene import Scene
from pliant.world.state import State
from pliant.world.world import Pair, World

_CONTROLS = {kind.__name__: kind for kind in KINDS}


def save_world(world: World, path: Path) -> Path:
    """Write `world` to `path`."""
    header, arrays = encode_world(world)
    return write_archive(path, WORLD_FORMAT, arrays, header={"world": header})


def encode_world(world: World) -> tuple[dict[str, Any], dict[str, Any]]:
    """A world as a JSON header and arrays."""
    source = world.source
    if source is None:
        raise InputError("this world was not compiled from a scene, so it cannot be saved")
    shapes = reshaped_bodies(world)
    encoder = Encoder({thing: following(thing, shapes) for thing, _ in source.things if shapes} | world.specs)
    things = [[encoder.encode(thing), encoder.encode(placed)] for thing, placed in source.things]
    index = {id(thing): k for k, (thing, _) in enumerate(source.things)}
    pairs = [
        {"a": index[id(pair.a)], "b": index[id(pair.b)]}
        | {name: encoder.encode(getattr(following(pair, shapes), name)) for name in PAIR_FIELDS[2:]}
        for pair in source.pairs
    ]
    header = {"gravity": source.gravity.tolist(), "things": things, "pairs": pairs}
    if world.reductions:
        header["reductions"] = encoder.encode(world.reductions)
    return header, {f"world_{name}": array for name, array in encoder.arrays.items()}


def world_digest(world: World) -> str:
    """A fingerprint of the scene of `world`, the same for equal scenes; an error where the world cannot be saved."""
    header, arrays = encode_world(world)
    digest = hashlib.sha256(json.dumps(header, sort_keys=True).encode())
    for name in sorted(arrays):
        array = np.ascontiguousarray(arrays[name])
        digest.update(f"{name} {array.dtype} {array.shape}".encode())
        digest.update(array.tobytes())
    return digest.hexdigest()[:16]


def decode_world(header: Mapping[str, Any], arrays: Mapping[str, Any]) -> World:
    """The world that `encode_world` described, compiled anew."""
    decoder = Decoder({n.removeprefix("world_"): a for n, a in arrays.items() if n.startswith("world_")})
    things = [(decoder.decode(thing), decoder.decode(placed)) for thing, placed in header["things"]]
    pairs = [
        Pair(things[pair["a"]][0], things[pair["b"]][0], *(decoder.decode(pair[name]) for name in PAIR_FIELDS[2:]))
        for pair in header["pairs"]
    ]
    world = Scene.of(header["gravity"], things, pairs).compile()
    reductions = decoder.decode(header.get("reductions", []))
    return reduced(world, reductions) if reductions else world


def save_state(state: State, path: str | Path) -> Path:
    """Write `state` to `path`, uncompressed."""
    header = {"world": state.world.fingerprint}
    return write_archive(path, STATE_FORMAT, encode_state(state), header=header, compress=False)


def load_state(world: World, path: str | Path) -> State:
    """The state of `world` that `save_state` wrote to `path`."""
    what = "a saved state of this world"
    header, arrays = read_archive(path, STATE_FORMAT, what=what, older=OLDER_STATES)
    written, own = header.get("world"), world.fingerprint
    if _version_of(header) == provenance()["versions"]["pliant"] and None not in (written, own) and written != own:
        raise FileFormatError(
            f"{path} holds a state of another world ({written}, this one is {own}); load it there, and take its "
            "positions and velocities over with world.adopt(state)"
        )
    with decoding(path, what):
        return decode_state(world, arrays)


def _version_of(header: Mapping[str, Any]) -> Any:
    """The version of Pliant that wrote a file, None where it does not say; other versions encode other fields."""
    made = header.get("made")
    versions = made.get("versions") if isinstance(made, dict) else None
    return versions.get("pliant") if isinstance(versions, dict) else None


def encode_state(state: State) -> dict[str, Any]:
    """A state as arrays by name: time, positions, velocities, multipliers, their keys, memories of the constraints."""
    arrays: dict[str, Any] = {"time": np.array(state.time), "lam": state.lam}
    arrays |= {f"q_{k}": q for k, q in enumerate(state.q)} | {f"v_{k}": v for k, v in enumerate(state.v)}
    if state.keys is not None:
        arrays["keys"] = state.keys
    arrays |= {f"history_{k}": history for k, history in enumerate(state.histories) if history is not None}
    for k, memory in enumerate(state.memories):
        if memory is not None:
            arrays |= {f"memory_{k}_{name}": array for name, array in memory.arrays().items()}
    return arrays


def decode_state(world: World, arrays: Mapping[str, Any]) -> State:
    """The state of `world` that `encode_state` described."""
    memories: list[Any] = []
    constraints: tuple[Any, ...] = world.constraints
    for k, constraint in enumerate(constraints):
        prefix = f"memory_{k}_"
        own = {name.removeprefix(prefix): array for name, array in arrays.items() if name.startswith(prefix)}
        memories.append(constraint.memory_type.from_arrays(own) if own else None)
    stepped = "keys" in arrays or any(memory is not None for memory in memories)
    return State(
        world,
        float(arrays["time"]),
        tuple(arrays[f"q_{k}"] for k in range(len(world.models))),
        tuple(arrays[f"v_{k}"] for k in range(len(world.models))),
        arrays["lam"],
        keys=arrays.get("keys"),
        memories=tuple(memories) if stepped else (),
        histories=tuple(arrays.get(f"history_{k}") for k in range(len(world.models))) if world.remembers else (),
    )


def encode_controls(world: World, controls: Sequence[Mapping[Any, Any]]) -> list[list[list[Any]]]:
    """Controls of each step as [index of the object, kind, value]."""
    index = {id(thing): k for k, (thing, _) in enumerate(world.source.things)}

    def encoded(handle: Any, value: Any) -> list[Any]:
        if handle == "gravity":
            return [-1, "gravity", np.asarray(value, float).tolist()]
        return [index[id(handle)], type(value).__name__, np.asarray(value.value, float).tolist()]

    return [[encoded(handle, value) for handle, value in step.items()] for step in controls]


def decode_controls(world: World, encoded: Sequence[Sequence[Sequence[Any]]]) -> tuple[dict[Any, Any], ...]:
    """Controls of each step, by the handles of `world`."""
    things = [thing for thing, _ in world.source.things]

    def decoded(k: int, kind: str, value: Any) -> tuple[Any, Any]:
        given = np.array(value) if isinstance(value, list) else float(value)
        return ("gravity", given) if k < 0 else (things[k], _CONTROLS[kind](given))

    return tuple(dict(decoded(*control) for control in step) for step in encoded)
