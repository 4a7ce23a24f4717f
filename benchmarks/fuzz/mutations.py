"""Mutations of the bytes and of the text of a file: bits, counts, lines, numbers, nesting, letters of other scripts."""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Sequence

import numpy as np

Random = np.random.Generator
INTEGERS = (
    0,
    1,
    2,
    -1,
    127,
    128,
    255,
    256,
    32767,
    65535,
    2**24,
    2**31 - 1,
    -(2**31),
    2**32 - 1,
    2**40,
    2**62,
    2**63 - 1,
)
NUMBERS = (
    "nan", "inf", "-inf", "-1", "0", "1", "1e308", "-1e308", "1e400", "1e-320", "2147483647", "2147483648",
    "4294967295", "-2147483649", "99999999999999999999", "100000000", "0x10", "1_000", "٣", "1,5", "", "-0.0",
    "1e", "--1", "1.2.3",
)  # fmt: skip
WORDS = (
    "\0",
    "é",
    "\u202e",
    "\ud800",
    "𝔘",
    "\ufeff",
    "%s%n",
    "../../..",
    "'",
    '"',
    "<",
    "&",
    "\r",
    "\t",
    "{",
    "[",
    "A" * 3000,
)
DEEP = (("<a>", "</a>"), ("[", "]"), ("(", ")"), ('{"a":', "}"))
_NUMBER = re.compile(rb"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?")


def mutated(rng: Random, data: bytes, others: Sequence[bytes], *, text: bool) -> bytes:
    """`data` after one to four mutations; `others` are files of the same kind to splice with."""
    kinds = TEXT if text else BINARY
    for _ in range(int(rng.choice((1, 1, 1, 2, 3, 4)))):
        data = kinds[int(rng.integers(len(kinds)))](rng, data, others)
    return data


def _place(rng: Random, data: bytes) -> int:
    """Somewhere in `data`, half of the times in its first bytes, where headers are."""
    most = len(data) if rng.random() < 0.5 else min(len(data), 200)
    return int(rng.integers(most + 1))


def flip(rng: Random, data: bytes, others: Sequence[bytes]) -> bytes:
    """Flip up to eight bits."""
    changed = bytearray(data)
    for _ in range(int(rng.integers(1, 9)) if changed else 0):
        changed[min(_place(rng, data), len(data) - 1)] ^= 1 << int(rng.integers(8))
    return bytes(changed)


def cut(rng: Random, data: bytes, others: Sequence[bytes]) -> bytes:
    """End the file early."""
    return data[: _place(rng, data)]


def remove(rng: Random, data: bytes, others: Sequence[bytes]) -> bytes:
    """Leave a span out."""
    start = _place(rng, data)
    return data[:start] + data[start + int(rng.integers(1, 65)) :]


def repeat(rng: Random, data: bytes, others: Sequence[bytes]) -> bytes:
    """Repeat a span, up to a thousand times."""
    start = _place(rng, data)
    span = data[start : start + int(rng.integers(1, 65))]
    return data[:start] + span * int(rng.choice((2, 3, 10, 1000))) + data[start:]


def insert(rng: Random, data: bytes, others: Sequence[bytes]) -> bytes:
    """Insert random bytes."""
    start = _place(rng, data)
    return data[:start] + rng.bytes(int(rng.integers(1, 33))) + data[start:]


def splice(rng: Random, data: bytes, others: Sequence[bytes]) -> bytes:
    """Go on as another file."""
    other = others[int(rng.integers(len(others)))]
    return data[: _place(rng, data)] + other[_place(rng, other) :]


def count(rng: Random, data: bytes, others: Sequence[bytes]) -> bytes:
    """Overwrite an integer, of 1 to 8 bytes in either order, as counts and indices are stored."""
    size = int(rng.choice((1, 2, 4, 8)))
    value = int(rng.choice(INTEGERS)) % 2 ** (8 * size)
    return _over(data, _place(rng, data), value.to_bytes(size, "big" if rng.random() < 0.3 else "little"))


def special(rng: Random, data: bytes, others: Sequence[bytes]) -> bytes:
    """Overwrite a floating-point number by one that is not finite, or huge."""
    value = float(rng.choice((np.nan, np.inf, -np.inf, 1e308, -1.0, 0.0)))
    code = rng.choice(("<d", ">d", "<f", ">f"))
    with np.errstate(over="ignore"):
        own = struct.pack(code, value if "d" in code else float(np.float32(value)))
    start = _place(rng, data)
    return _over(data, start - start % len(own) if rng.random() < 0.5 else start, own)


def number(rng: Random, data: bytes, others: Sequence[bytes]) -> bytes:
    """Replace a number in the text by another, or by one of the file, such as an index that then occurs twice."""
    found = list(_NUMBER.finditer(data[:100_000]))
    if not found:
        return data
    chosen = found[int(rng.integers(len(found)))]
    other = NUMBERS[int(rng.integers(len(NUMBERS)))].encode()
    if rng.random() < 0.3:
        other = found[int(rng.integers(len(found)))].group()
    return data[: chosen.start()] + other + data[chosen.end() :]


def lines(rng: Random, data: bytes, others: Sequence[bytes]) -> bytes:
    """Leave out, repeat or exchange lines."""
    parts = data.split(b"\n")
    a, b = (int(rng.integers(len(parts))) for _ in range(2))
    what = rng.integers(4)
    if what == 0:
        del parts[a]
    elif what == 1:
        parts[a:a] = [parts[a]] * int(rng.choice((1, 2, 500)))
    elif what == 2:
        parts[a], parts[b] = parts[b], parts[a]
    else:
        parts[a] = b""
    return b"\n".join(parts)


def words(rng: Random, data: bytes, others: Sequence[bytes]) -> bytes:
    """Insert letters that readers of text do not expect."""
    start = _place(rng, data)
    return data[:start] + str(rng.choice(WORDS)).encode("utf-8", "surrogatepass") + data[start:]


def nest(rng: Random, data: bytes, others: Sequence[bytes]) -> bytes:
    """Insert brackets, thousands deep."""
    start, depth = _place(rng, data), int(rng.choice((50, 2000, 100_000)))
    opened, closed = (part.encode() for part in DEEP[int(rng.integers(len(DEEP)))])
    return data[:start] + opened * depth + closed * depth + data[start:]


Mutation = Callable[[Random, bytes, Sequence[bytes]], bytes]
BINARY: tuple[Mutation, ...] = (flip, flip, cut, remove, repeat, insert, splice, count, count, special)
TEXT: tuple[Mutation, ...] = (
    flip,
    cut,
    remove,
    repeat,
    insert,
    splice,
    number,
    number,
    number,
    lines,
    lines,
    words,
    nest,
)


def _over(data: bytes, start: int, own: bytes) -> bytes:
    return data[:start] + own + data[start + len(own) :]
