"""A part of a batch in a process of its own, and the messages between it and the process of the user.

Objects that both sides know (the world, what was added to its scene, effectors) are sent by their index in a table, so
that handles keep their meaning; everything else is pickled. A message is answered by (value, error, warnings).
"""

from __future__ import annotations

import io
import os
import pickle
import signal
import sys
import warnings
from collections.abc import Sequence
from multiprocessing.connection import Client
from typing import Any

from pliant.batch.part import CopyError, Part, Report
from pliant.core.errors import InputError, PliantError


class Table:
    """Objects that both sides know, by their index."""

    def __init__(self, known: Sequence[Any]) -> None:
        self._known = list(known)
        self._indices = {id(each): k for k, each in enumerate(self._known)}

    def add(self, more: Sequence[Any]) -> None:
        """Further objects, the same on both sides."""
        for each in more:
            self._indices.setdefault(id(each), len(self._known))
            self._known.append(each)

    def has(self, thing: Any) -> bool:
        """Whether `thing` is known."""
        return id(thing) in self._indices

    def dumps(self, value: Any) -> bytes:
        """`value` pickled, with known objects by index."""
        stream = io.BytesIO()
        _Pickler(stream, self._indices).dump(value)
        return stream.getvalue()

    def loads(self, data: bytes) -> Any:
        """The value of `dumps`, with the objects of this side."""
        return _Unpickler(io.BytesIO(data), self._known).load()


class _Pickler(pickle.Pickler):
    def __init__(self, stream: io.BytesIO, indices: dict[int, int]) -> None:
        super().__init__(stream, protocol=5)
        self._indices = indices

    def persistent_id(self, thing: Any) -> int | None:
        """Index of a known object."""
        return self._indices.get(id(thing))


class _Unpickler(pickle.Unpickler):
    def __init__(self, stream: io.BytesIO, known: list[Any]) -> None:
        super().__init__(stream)
        self._known = known

    def persistent_load(self, index: Any) -> Any:
        """A known object by its index."""
        return self._known[index]


class Served(Part):
    """A part that answers messages."""

    def step(self, *given: Any, **named: Any) -> Report:
        """The same, with errors that can be sent."""
        report = super().step(*given, **named)
        return report._replace(errors=[(k, _portable(error)) for k, error in report.errors])  # type: ignore[misc]

    def read(self, token: int, k: int, name: str, given: tuple[Any, ...], named: dict[str, Any]) -> Any:
        """An attribute of the info of copy k, or what it returns where it is called."""
        found = getattr(self.info(token, k), name)
        value = found(*given, **named) if callable(found) else found
        if name in _INSIDE:
            raise InputError(f"{name!r} of a step of a batch stays in the process that computed it: take workers=1")
        return value


_INSIDE = ("step", "assembly", "inverse", "advanced", "world")


def serve(address: Any, key: bytes) -> None:
    """Answer messages until the other side closes the connection."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the process of the user decides
    with Client(address, authkey=key) as connection, warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        try:
            known, changes = pickle.loads(connection.recv_bytes())
            table, part = Table(known), Served(known[0], changes)
            connection.send_bytes(table.dumps((None, None, _texts(caught))))
        except Exception as error:
            connection.send_bytes(pickle.dumps((None, _portable(error), _texts(caught))))
            return
        while True:
            try:
                message = connection.recv_bytes()
            except (EOFError, OSError):
                return
            connection.send_bytes(_answer(table, part, message, caught))


def _answer(table: Table, part: Served, message: bytes, caught: list[Any]) -> bytes:
    """The answer to a message: what the method that it names returns, or its error."""
    value: Any = None
    try:
        name, (given, named) = table.loads(message)
        if name == "know":
            table.add(*given)
        else:
            value = getattr(part, name)(*given, **named)
    except Exception as error:
        return table.dumps((None, _portable(error), _texts(caught)))
    try:
        return table.dumps((value, None, _texts(caught)))
    except Exception as error:
        what = f"{type(value).__name__} cannot be sent from the process that computed it: {error}"
        return table.dumps((None, InputError(what), []))


def _portable(error: Exception) -> Exception:
    """An error that can be sent, without what it holds beside its text."""
    if isinstance(error, CopyError):
        return CopyError(error.copy, _portable(error.error))  # type: ignore[arg-type]
    if not isinstance(error, PliantError):
        return PliantError(f"{type(error).__name__}: {error}")
    try:
        return type(error)(str(error))
    except TypeError:  # it takes more than a text
        return PliantError(str(error))


def _texts(caught: list[Any]) -> list[tuple[type[Warning], str]]:
    """Warnings since the last message."""
    found = [(each.category, str(each.message)) for each in caught]
    caught.clear()
    return found


def main() -> None:
    """The process: the paths of modules, the address and the key come by standard input."""
    sys.path[:], address, key = pickle.load(sys.stdin.buffer)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    serve(address, key)
