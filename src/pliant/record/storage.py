"""Files of runs with their world, controls, stepper and first state; `load` reads runs and worlds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

from pliant.core.archive import decoding, read_archive, write_archive
from pliant.record.bodies import check_body, decode_body, encode_body
from pliant.record.forces import RecordedRows, Touches
from pliant.record.run import Run
from pliant.stepping import DampedMidpoint, ImplicitEuler, ImplicitMidpoint, QuasiStatic
from pliant.world import World
from pliant.world.storage import (
    WORLD_FORMAT,
    decode_controls,
    decode_state,
    decode_world,
    encode_controls,
    encode_state,
    encode_world,
)

RUN_FORMAT = "pliant run 1"
_STEPPERS: dict[str, Any] = {
    kind.__name__: kind for kind in (ImplicitEuler, ImplicitMidpoint, DampedMidpoint, QuasiStatic)
}
"""Steppers that a file can hold; a run of another one is saved without it and cannot be replayed from the file."""
_NUMBERS = ("times", "step_seconds", "iterations", "linear_residual")
_NEWER = ("warm",)
"""Arrays that files of earlier versions lack."""
_START = "start_"


def load(path: str | Path) -> Run | World:
    """Read a saved run or world."""
    what = "a saved world or run"
    header, arrays = read_archive(path, WORLD_FORMAT, RUN_FORMAT, what=what)
    with decoding(path, what):
        return decode_world(header["world"], arrays) if header["format"] == WORLD_FORMAT else _decode(header, arrays)


def load_run(path: str | Path) -> Run:
    """Read a run that `save_run` wrote."""
    what = "a saved run"
    header, arrays = read_archive(path, RUN_FORMAT, what=what)
    with decoding(path, what):
        return _decode(header, arrays)


def save_run(run: Run, path: str | Path) -> Path:
    """Write `run` to `path` and return the path."""
    header: dict[str, Any] = {}
    arrays: dict[str, Any] = {}
    if run.world is not None:
        header["world"], arrays = encode_world(run.world)
        if type(run.stepper).__name__ in _STEPPERS:
            options = {item.name: getattr(run.stepper, item.name) for item in fields(run.stepper) if item.init}
            header["controls"] = encode_controls(run.world, run.controls)
            header["stepper"] = [type(run.stepper).__name__, options]
        if run.start is not None:
            arrays |= {f"{_START}{name}": array for name, array in encode_state(run.start).items()}
    bodies = [encode_body(body, k) for k, body in enumerate(run.bodies)]
    header |= {
        "bodies": [entry for entry, _ in bodies],
        "stages": list(run.stage_seconds),
        "forces": [list(recorded.names) for recorded in run.forces],
    }
    arrays |= {name: getattr(run, name) for name in (*_NUMBERS, *_NEWER)}
    for k, (_, own) in enumerate(bodies):
        arrays |= own | {f"positions_{k}": run.positions[k], f"motions_{k}": run.motions[k]}
    arrays |= {f"stage_{k}": seconds for k, seconds in enumerate(run.stage_seconds.values())}
    for k, recorded in enumerate(run.forces):
        arrays[f"force_{k}"] = recorded.values
        arrays |= {} if recorded.touches is None else recorded.touches.arrays(k)
    return write_archive(path, RUN_FORMAT, arrays, header=header)


def _decode(header: Mapping[str, Any], arrays: Mapping[str, Any]) -> Run:
    _, options = header.get("stepper", (None, {}))
    world = decode_world(header["world"], arrays, options.get("dt")) if "world" in header else None
    bodies = tuple(decode_body(entry, arrays, k) for k, entry in enumerate(header["bodies"]))
    start = {name.removeprefix(_START): array for name, array in arrays.items() if name.startswith(_START)}
    count = len(arrays["times"])
    for k, body in enumerate(bodies):
        check_body(body, arrays[f"positions_{k}"], arrays[f"motions_{k}"], count)
    return Run(
        **{name: arrays[name] for name in (*_NUMBERS, *_NEWER) if name in arrays or name in _NUMBERS},
        bodies=bodies,
        positions=tuple(arrays[f"positions_{k}"] for k in range(len(bodies))),
        motions=tuple(arrays[f"motions_{k}"] for k in range(len(bodies))),
        stage_seconds={name: arrays[f"stage_{k}"] for k, name in enumerate(header["stages"])},
        forces=tuple(
            RecordedRows(tuple(names), arrays[f"force_{k}"], touches=Touches.read(arrays, k))
            for k, names in enumerate(header["forces"])
        ),
        world=world,
        controls=() if world is None else decode_controls(world, header.get("controls", ())),
        stepper=_decoded_stepper(*header["stepper"]) if "stepper" in header else None,
        start=None if world is None or not start else decode_state(world, start),
    )


def _decoded_stepper(kind: str, options: Mapping[str, Any]) -> Any:
    """The saved stepper; None where this version lacks it, or an option that it used."""
    if kind not in _STEPPERS:
        return None
    names = {item.name for item in fields(_STEPPERS[kind])}
    if any(value is not None for name, value in options.items() if name not in names):
        return None
    return _STEPPERS[kind](**{name: value for name, value in options.items() if name in names})
