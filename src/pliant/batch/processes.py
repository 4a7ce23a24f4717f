"""A part of a batch in another process, as the process of the user sees it."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import warnings
import weakref
from collections.abc import Mapping, Sequence
from multiprocessing.connection import Connection, Listener
from typing import Any

from pliant.batch.worker import Table
from pliant.core.errors import PliantError

_CHILD = "from pliant.batch.worker import main; main()"
_START = 60.0
"""Time within which a process must connect, s: it imports the library."""


class RemotePart:
    """The copies with these `changes` of a world, in a process of their own. `known` begins with the world."""

    def __init__(self, known: Sequence[Any], changes: Sequence[Mapping[Any, Any]]) -> None:
        self._table = Table(known)
        self._count = len(changes)
        key = os.urandom(32)
        with Listener(backlog=1, authkey=key) as listener:
            self._process = subprocess.Popen([sys.executable, "-c", _CHILD], stdin=subprocess.PIPE)
            assert self._process.stdin is not None
            with self._process.stdin as stream:
                pickle.dump((sys.path, listener.address, key), stream)
            self._connection = _accepted(listener, self._process)
        self._end = weakref.finalize(self, _end, self._connection, self._process)
        self._connection.send_bytes(_dumped((list(known), list(changes))))

    def started(self) -> None:
        """Wait until the process has its copies; raises the error of one."""
        self.answer()

    def add(self, more: Sequence[Any]) -> None:
        """Further objects that both sides know."""
        self.ask("know", list(more))
        self.answer()
        self._table.add(more)

    def has(self, thing: Any) -> bool:
        """Whether both sides know `thing`."""
        return self._table.has(thing)

    def ask(self, name: str, *given: Any, **named: Any) -> None:
        """Call a method of the part; `answer` waits for what it returns."""
        if not self._end.alive:
            raise PliantError("this batch is closed; make another one")
        try:
            self._connection.send_bytes(self._table.dumps((name, (given, named))))
        except OSError as error:
            raise self._lost() from error

    def answer(self) -> Any:
        """What the last call returned."""
        try:
            value, error, noted = self._table.loads(self._connection.recv_bytes())
        except (EOFError, OSError) as end:
            raise self._lost() from end
        for category, text in noted:
            warnings.warn(text, category, stacklevel=4)
        if error is not None:
            raise error
        return value

    def call(self, name: str, *given: Any, **named: Any) -> Any:
        """What a method of the part returns."""
        self.ask(name, *given, **named)
        return self.answer()

    def close(self) -> None:
        """End the process."""
        self._end()

    def _lost(self) -> PliantError:
        self.close()
        return PliantError(
            f"a process of the batch with {self._count} copies ended (exit status {self._process.poll()}), often by "
            "lack of memory: its states are lost; make a batch of fewer copies, or with fewer workers"
        )


def _accepted(listener: Listener, process: subprocess.Popen[bytes]) -> Connection[Any, Any]:
    """The connection to a process that was started; an error where it ends before."""
    socket = getattr(getattr(listener, "_listener", None), "_socket", None)
    if socket is not None:  # pipes of Windows wait without limit
        socket.settimeout(_START)
    try:
        return listener.accept()  # type: ignore[return-value]
    except OSError as error:
        process.kill()
        raise PliantError(
            f"a process of the batch did not start within {_START:g} s (exit status {process.poll()}); take workers=1"
        ) from error


def _dumped(value: Any) -> bytes:
    """`value` pickled; classes of the script itself by value, where cloudpickle is installed."""
    try:
        from cloudpickle import dumps
    except ImportError:
        from pickle import dumps
    try:
        return bytes(dumps(value, protocol=5))
    except (pickle.PicklingError, TypeError, AttributeError) as error:
        raise PliantError(
            f"the world cannot be sent to another process ({error}): put functions and classes of your own into a "
            "module, or take workers=1"
        ) from error


def _end(connection: Connection[Any, Any], process: subprocess.Popen[bytes]) -> None:
    connection.close()
    try:
        process.wait(timeout=5.0)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
