"""Files of runs with their world, controls, stepper and first state; `load` reads runs and worlds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np

from pliant.core.archive import decoding, read_archive, write_archive
from pliant.core.checks import check_array
from pliant.core.declared import declared
from pliant.core.errors import InputError
from pliant.record.bodies import check_body, decode_body, encode_body
from pliant.record.forces import RecordedRows, Touches
from pliant.record.migration import OLDER_RUNS, RUN_FORMAT
from pliant.record.run import Run
from pliant.stepping import DampedMidpoint, ImplicitEuler, ImplicitMidpoint, QuasiStatic
from pliant.world import World
from pliant.world.migration import OLDER_WORLDS, WORLD_FORMAT
from pliant.world.storage import (
    decode_controls,
    decode_state,
    decode_world,
    encode_controls,
    encode_state,
    encode_world,
)

_STEPPERS: dict[str, Any] = {
    kind.__name__: kind for kind in (ImplicitEuler, ImplicitMidpoint, DampedMidpoint, QuasiStatic)
}
"""Steppers that a file can hold; a run of another one is saved without it and cannot be replayed from the file."""
_NUMBERS = ("step_seconds", "iterations", "linear_residual")
"""Numbers of each step."""
_START = "start_"


@declared
def load(path: str | Path) -> Run | World:
    """Read a saved run or world."""
    what = "a saved world or run"
    header, arrays = read_archive(path, WORLD_FORMAT, RUN_FORMAT, what=what, older=OLDER_WORLDS | OLDER_RUNS)
    with decoding(path, what):
        return decode_world(header["world"], arrays) if header["format"] == WORLD_FORMAT else _decode(header, arrays)


def load_run(path: str | Path) -> Run:
    """Read a run that `save_run` wrote."""
    what = "a saved run"
    header, arrays = read_archive(path, RUN_FORMAT, what=what, older=OLDER_RUNS)
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
    arrays |= {name: getattr(run, name) for name in ("times", *_NUMBERS, "warm")}
    for k, (_, own) in enumerate(bodies):
        arrays |= own | {f"positions_{k}": run.positions[k], f"motions_{k}": run.motions[k]}
    arrays |= {f"stage_{k}": seconds for k, seconds in enumerate(run.stage_seconds.values())}
    for k, recorded in enumerate(run.forces):
        arrays[f"force_{k}"] = recorded.values
        arrays |= {} if recorded.touches is None else recorded.touches.arrays(k)
    return write_archive(path, RUN_FORMAT, arrays, header=header | ({"made": dict(run.made)} if run.made else {}))


def _decode(header: Mapping[str, Any], arrays: Mapping[str, Any]) -> Run:
    world = decode_world(header["world"], arrays) if "world" in header else None
    bodies = tuple(decode_body(entry, arrays, k) for k, entry in enumerate(header["bodies"]))
    start = {name.removeprefix(_START): array for name, array in arrays.items() if name.startswith(_START)}
    count = len(arrays["times"])
    for k, body in enumerate(bodies):
        check_body(body, arrays[f"positions_{k}"], arrays[f"motions_{k}"], count)
    run = Run(
        times=arrays["times"],
        **{name: arrays[name] for name in (*_NUMBERS, "warm")},
        bodies=bodies,
        positions=tuple(arrays[f"positions_{k}"] for k in range(len(bodies))),
        motions=tuple(arrays[f"motions_{k}"] for k in range(len(bodies))),
        stage_seconds={str(name): arrays[f"stage_{k}"] for k, name in enumerate(header["stages"])},
        forces=tuple(
            RecordedRows(tuple(map(str, names)), arrays[f"force_{k}"], touches=Touches.read(arrays, k))
            for k, names in enumerate(header["forces"])
        ),
        world=world,
        controls=() if world is None else decode_controls(world, header.get("controls", ())),
        stepper=_decoded_stepper(*header["stepper"]) if "stepper" in header else None,
        start=None if world is None or not start else decode_state(world, start),
        made=dict(header.get("made", {})),
    )
    _check(run)
    return run


def _check(run: Run) -> None:
    """An error where arrays of a run from a file do not belong to its instants."""
    count = len(run.times)
    check_array("times of a run, s,", run.times, (count,))
    if not count or (np.diff(run.times) < 0.0).any():
        raise InputError("times of a run must be at least one instant, and not go back")
    steps = {name: getattr(run, name) for name in _NUMBERS} | run.stage_seconds
    for name, values in steps.items():
        if values.shape != (count - 1,) or values.dtype != np.float64:
            raise InputError(f"{name} of a run of {count - 1} steps must be float64 ({count - 1},), got {values.shape}")
    if len(run.warm):
        check_array("warm steps of a run", run.warm, (count - 1,), np.bool_)
    for rows in run.forces:
        width = 3 if len(rows.names) > 1 or rows.values.shape[1:] == (3,) else 2
        check_array(f"forces of {' – '.join(rows.names)}", rows.values, (count, width))
        if rows.touches is not None:
            rows.touches.check(count)
    if run.stepper is not None and len(run.controls) != count - 1:
        raise InputError(f"a run of {count - 1} steps has controls of {len(run.controls)}")
    if run.world is not None and len(run.world.models) != len(run.bodies):
        raise InputError(f"a run of {len(run.bodies)} bodies has a world of {len(run.world.models)}")


def _decoded_stepper(kind: str, options: Mapping[str, Any]) -> Any:
    """The saved stepper; None where this version lacks it, or an option that it used."""
    if kind not in _STEPPERS:
        return None
    names = {item.name for item in fields(_STEPPERS[kind])}
    if any(value is not None for name, value in options.items() if name not in names):
        return None
    return _STEPPERS[kind](**{name: value for name, value in options.items() if name in names})
