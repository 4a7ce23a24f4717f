"""Worlds and recorded controls in files: .npz with a JSON header, no pickle."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np

from pliant.actuators.values import KINDS
from pliant.core.errors import InputError
from pliant.core.types import FloatArray
from pliant.world.codec import Decoder, Encoder
from pliant.world.reduced import reduced
from pliant.world.scene import Pair, Scene
from pliant.world.world import World

WORLD_FORMAT = "pliant world 1"
_CONTROLS = {kind.__name__: kind for kind in KINDS}


def save_world(world: World, path: Path) -> Path:
    """Write `world` to `path`."""
    header, arrays = encode_world(world)
    with path.open("wb") as stream:
        np.savez_compressed(stream, header=np.array(json.dumps({"format": WORLD_FORMAT, "world": header})), **arrays)
    return path


def read_archive(path: str | Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """Header and arrays of a file that Pliant wrote."""
    try:
        with np.load(Path(path), allow_pickle=False) as data:
            arrays = dict(data)
        return json.loads(str(arrays.pop("header"))), arrays
    except OSError as error:
        raise InputError(f"{path} is not a saved world or run: {error}") from error
    except (ValueError, KeyError, EOFError, BadZipFile) as error:
        raise InputError(f"{path} is not a saved world or run, or it is damaged") from error


def encode_world(world: World) -> tuple[dict[str, Any], dict[str, Any]]:
    """A world as a JSON header and arrays."""
    encoder, scene = Encoder(), world.source
    if scene is None:
        raise InputError("this world was not compiled from a scene, so it cannot be saved")
    things = [[encoder.encode(thing), encoder.encode(placed)] for thing, placed in scene.things()]
    number = {id(thing): k for k, (thing, _) in enumerate(scene.things())}
    pairs = [
        [number[id(p.a)], number[id(p.b)], p.friction, p.margin, encoder.encode(p.exclude), p.capacity, p.allow_overlap]
        for p in scene.pairs
    ]
    header = {"gravity": scene.gravity.tolist(), "things": things, "pairs": pairs}
    if world.reductions:
        header["reductions"] = encoder.encode(world.reductions)
    return header, {f"world_{name}": array for name, array in encoder.arrays.items()}


def decode_world(header: Mapping[str, Any], arrays: Mapping[str, Any]) -> World:
    """The world that `encode_world` described, compiled anew."""
    decoder = Decoder({n.removeprefix("world_"): a for n, a in arrays.items() if n.startswith("world_")})
    things = [(decoder.decode(thing), decoder.decode(placed)) for thing, placed in header["things"]]
    pairs = [
        Pair(things[a][0], things[b][0], friction, margin, decoder.decode(exclude), *rest)
        for a, b, friction, margin, exclude, *rest in header["pairs"]
    ]
    world = Scene.of(header["gravity"], things, pairs).compile()
    reductions = decoder.decode(header.get("reductions", []))
    return reduced(world, reductions) if reductions else world


def encode_controls(world: World, controls: Sequence[Mapping[Any, Any]]) -> list[list[list[Any]]]:
    """Controls of each step as [number of the thing, kind, value]."""
    number = {id(thing): k for k, (thing, _) in enumerate(world.source.things())}

    def encoded(handle: Any, value: Any) -> list[Any]:
        if handle == "gravity":
            return [-1, "gravity", np.asarray(value, float).tolist()]
        return [number[id(handle)], type(value).__name__, np.asarray(value.value, float).tolist()]

    return [[encoded(handle, value) for handle, value in step.items()] for step in controls]


def decode_controls(world: World, encoded: Sequence[Sequence[Sequence[Any]]]) -> tuple[dict[Any, Any], ...]:
    """Controls of each step, by the handles of `world`."""
    things = [thing for thing, _ in world.source.things()]

    def decoded(k: int, kind: str, value: Any) -> tuple[Any, Any]:
        return ("gravity", np.array(value)) if k < 0 else (things[k], _CONTROLS[kind](_value(value)))

    return tuple(dict(decoded(*control) for control in step) for step in encoded)


def _value(value: Any) -> float | FloatArray:
    return np.array(value) if isinstance(value, list) else float(value)
