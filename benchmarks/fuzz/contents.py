"""Mutations of what archives hold: arrays and headers, written again with a checksum that is right.

Bytes of an archive that change are noticed by its checksum; whoever writes hostile files computes a new one.
"""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.fuzz.mutations import INTEGERS, NUMBERS, WORDS, Random
from pliant.core.archive import write_stream

KINDS = (np.float64, np.float32, np.int64, np.int32, np.uint8, np.bool_, np.complex128, np.uint64, np.dtype("<U3"))
SPECIAL = (np.nan, np.inf, -np.inf, 1e308, -1e308, 1e-320, -1.0, 0.0, 1.0, 1e16)
VALUES: tuple[Any, ...] = (
    None, True, False, 0, -1, 1, 2**31, 2**63, 10**40, 1e308, 1e-320, float("nan"), float("inf"), "", "x", "volume",
    [], [[]], {}, {"again": 0}, {"again": -1}, {"array": "array_0"}, {"array": "missing"},
    {"float": "nan"}, {"float": "x"},
    {"thing": 0, "class": "Mesh", "fields": {}}, {"class": "Volume"}, [1, 2, 3], [0.0, 0.0, 0.0],
)  # fmt: skip


def mutated_archive(rng: Random, data: bytes) -> bytes:
    """The archive `data` with one to three of its arrays or values of its header changed; sometimes of version 1."""
    with np.load(io.BytesIO(data), allow_pickle=False) as file:
        arrays = {name: np.array(array) for name, array in file.items()}
    header = json.loads(str(arrays.pop("header")))
    tag = str(header.pop("format"))
    for _ in range(int(rng.choice((1, 1, 2, 3)))):
        if rng.random() < 0.5:
            _change_arrays(rng, arrays)
        else:
            header = _change_value(rng, header)
    stream = io.BytesIO()
    if rng.random() < 0.1:
        text = np.array(json.dumps({"format": tag.replace(" 2", " 1"), **header}))
        np.savez(stream, **{**arrays, "header": text})
    else:
        write_stream(stream, tag, arrays, header=header, compress=False)
    return stream.getvalue()


def _change_arrays(rng: Random, arrays: dict[str, Any]) -> None:
    names = list(arrays)
    if not names:
        return
    name = names[int(rng.integers(len(names)))]
    changes = (_entry, _entry, _entry, _entry, _shape, _kind, _fill, _other)
    chosen: Callable[[Random, Any], Any] = changes[int(rng.integers(len(changes)))]
    if rng.random() < 0.1:
        del arrays[name]
    elif rng.random() < 0.1:
        arrays[name] = arrays[names[int(rng.integers(len(names)))]]
    else:
        with np.errstate(all="ignore"):
            arrays[name] = chosen(rng, arrays[name])


def _entry(rng: Random, array: Any) -> Any:
    """Other entries: huge, negative, not finite, or those of other places."""
    changed = np.array(array)
    flat = changed.reshape(-1)
    if not flat.size or flat.dtype.kind not in "biuf":
        return changed
    at = rng.integers(flat.size, size=int(rng.choice((1, 1, 3))))
    if rng.random() < 0.3:
        flat[at] = flat[rng.integers(flat.size, size=len(at))]
    elif flat.dtype.kind == "f":
        flat[at] = float(rng.choice(SPECIAL))
    else:
        flat[at] = np.array([int(rng.choice(INTEGERS)) % 2**64], np.uint64).astype(flat.dtype)
    return changed


def _shape(rng: Random, array: Any) -> Any:
    what = int(rng.integers(7))
    if what == 0:
        return array[:0] if array.ndim else array.reshape(1)
    if what == 1:
        return array[:-1] if array.ndim else np.zeros((0,), array.dtype)
    if what == 2:
        return np.concatenate([array, array]) if array.ndim else np.stack([array, array])
    if what == 3:
        return array.reshape(-1)
    if what == 4:
        return array[..., None]
    if what == 5:
        return np.asfortranarray(array.T)
    return np.zeros((0,) * int(rng.integers(1, 6)), array.dtype)


def _kind(rng: Random, array: Any) -> Any:
    return array.astype(KINDS[int(rng.integers(len(KINDS)))]) if array.dtype.kind in "biuf" else np.zeros(array.shape)


def _fill(rng: Random, array: Any) -> Any:
    value = float(rng.choice(SPECIAL)) if array.dtype.kind == "f" else 2**31 - 1
    return np.full(array.shape, value).astype(array.dtype) if array.dtype.kind in "iuf" else array


def _other(rng: Random, array: Any) -> Any:
    return rng.integers(-5, 2**31, size=array.shape).astype(array.dtype) if array.dtype.kind in "iuf" else array


def _change_value(rng: Random, header: Any) -> Any:
    """Another value, key or order somewhere in JSON."""
    places: list[tuple[Any, Any]] = []
    _collect(header, places)
    if not places:
        return header
    owner, key = places[int(rng.integers(len(places)))]
    what = rng.random()
    if what < 0.1:
        del owner[key]
    elif what < 0.2:
        other, name = places[int(rng.integers(len(places)))]
        owner[key] = json.loads(json.dumps(other[name]))
    elif what < 0.25:
        owner[key] = json.loads("[" * 300 + "]" * 300)
    elif what < 0.3 and isinstance(owner, dict):
        owner[str(rng.choice(WORDS))] = owner.pop(key)
    elif what < 0.4:
        owner[key] = str(rng.choice(WORDS))
    elif what < 0.5:
        owner[key] = {"float": str(rng.choice(NUMBERS))}
    elif isinstance(owner[key], (int, float)) and not isinstance(owner[key], bool) and what < 0.8:
        owner[key] = float(rng.choice(SPECIAL)) if rng.random() < 0.5 else int(rng.choice(INTEGERS))
    else:
        owner[key] = json.loads(json.dumps(VALUES[int(rng.integers(len(VALUES)))]))
    return header


def _collect(value: Any, places: list[tuple[Any, Any]]) -> None:
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        places.append((value, key))
        _collect(item, places)
