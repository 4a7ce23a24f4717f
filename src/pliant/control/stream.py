"""Open loop to hardware: the actuation of a run, or of steps as they are taken, as lines of text.

A line is CSV, in SI units, and ends in a line feed:

    time,displacement,force,displacement,force,…

time in s, then for each actuator in the order in which they were given: a cable's shortening (m) and tension (N), a
cavity's growth (m³) and pressure (Pa), a hinge's angle (rad) and torque (N·m), or a moved support's displacement (m)
and 0. Numbers have nine significant digits. A file begins with a header, ``time,NAME.displacement,NAME.force,…``;
datagrams and serial ports carry the numbers only, one line a datagram.

    with UdpSink("192.168.0.10", 5005) as sink:
        pl.simulate(world, stepper, until=2.0, callback=Streamer(sink, trunk.cables, rate=50.0))
"""

from __future__ import annotations

import csv
import socket
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Protocol

import numpy as np

from pliant.control.supports import DrivenSupport, MovedSupport
from pliant.core.checks import finite_array, positive, positive_count, shown
from pliant.core.csv_rows import csv_rows
from pliant.core.declared import declared
from pliant.core.errors import InputError
from pliant.core.extras import extra
from pliant.core.types import FloatArray
from pliant.record import Run
from pliant.stepping import StepInfo
from pliant.world import State, World

_LAST_PORT = 65535
_EARLY = 1e-9
"""Fraction of a period by which a line may be early: rounding of times must not skip one."""


class Sink(Protocol):
    """A receiver of lines."""

    def begin(self, names: Sequence[str]) -> None:
        """Receive the names of the actuators before the first line."""

    def send(self, line: str) -> None:
        """Send one line, given without its line feed."""

    def close(self) -> None:
        """Close the file, socket or port."""


class _Sink(AbstractContextManager[Any]):
    """A sink for ``with``; without a header unless `begin` writes one."""

    def begin(self, names: Sequence[str]) -> None:
        """Nothing: lines carry values only."""

    def close(self) -> None:
        """Close the file, socket or port."""

    def __exit__(self, *error: object) -> None:
        self.close()


class CsvSink(_Sink):
    """Lines into the file `path` after a header; None: to the standard output."""

    @declared
    def __init__(self, path: str | Path | None = None) -> None:
        self._own = path is not None
        self._file: IO[str] = sys.stdout
        if path is not None:
            self._file = Path(path).open("w", encoding="utf-8", newline="")  # noqa: SIM115  closed by `close`

    def begin(self, names: Sequence[str]) -> None:
        """Write the header."""
        columns = ["time", *(f"{name}.{what}" for name in names for what in ("displacement", "force"))]
        csv.writer(self._file, lineterminator="\n").writerow(columns)

    def send(self, line: str) -> None:
        """Write one line."""
        self._file.write(line + "\n")

    def close(self) -> None:
        """Close the file; the standard output is flushed only."""
        self._file.flush()
        if self._own:
            self._file.close()


class UdpSink(_Sink):
    """Each line as a datagram to `host`:`port`. Delivery is not confirmed."""

    @declared
    def __init__(self, host: str, port: int) -> None:
        if not host or not 1 <= port <= _LAST_PORT:
            raise InputError(f"a datagram needs a host and a port 1 … {_LAST_PORT}, got {host!r} and {port}")
        self._address = (host, port)
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)

    def send(self, line: str) -> None:
        """Send one datagram."""
        self._socket.sendto((line + "\n").encode("ascii"), self._address)

    def close(self) -> None:
        """Close the socket."""
        self._socket.close()


class SerialSink(_Sink):
    """Lines to a serial `port`, such as "/dev/ttyUSB0" or "COM3", at `baud` bits/s; or to an open port object.

    Needs pyserial, the extra `stream`, unless an object with ``write(bytes)`` and ``close()`` is given.
    """

    def __init__(self, port: Any, baud: int = 115200) -> None:
        self._port = port
        if isinstance(port, str):
            serial = extra("serial", "serial ports need pyserial", "stream")
            try:
                self._port = serial.Serial(port, positive_count("baud", baud))
            except OSError as error:
                raise InputError(f"the serial port {port!r} cannot be opened: {error}") from error
        elif not callable(getattr(port, "write", None)) or not callable(getattr(port, "close", None)):
            raise InputError(f"port must be a name, such as '/dev/ttyUSB0', or an open port object, got {shown(port)}")

    def send(self, line: str) -> None:
        """Write one line."""
        self._port.write((line + "\n").encode("ascii"))

    def close(self) -> None:
        """Close the port."""
        self._port.close()


@dataclass(frozen=True)
class Clock:
    """The clock that paces a stream: `now()` in s and `sleep(s)`. Tests replace it."""

    now: Callable[[], float] = time.perf_counter
    sleep: Callable[[float], None] = time.sleep


SYSTEM_CLOCK = Clock()


class Streamer:
    """Sends the actuation of each step to a sink: ``simulate(…, callback=Streamer(sink, actuators, rate=…))``.

    actuators
        Those whose displacement and force are sent, in this order: actuators of the world, or `pl.MovedSupport`.
    rate
        Largest rate of lines, Hz; steps in between are skipped. None sends every step.
    pace
        A `Clock` that delays each line to its simulated time since the first one; None sends lines at once. Steps that
        take longer than their dt are late, and `late` counts them.
    live
        A `Clock` whose time since the first line replaces the simulated one, in the lines and for `rate`: for steps
        that a person or a controller requests one by one, also quasi-static ones, which take no simulated time.
    """

    def __init__(
        self,
        sink: Sink,
        actuators: Sequence[Any],
        *,
        rate: float | None = None,
        pace: Clock | None = None,
        live: Clock | None = None,
    ) -> None:
        named = isinstance(actuators, (tuple, list)) and all(
            isinstance(each, str) or hasattr(each, "name") for each in actuators
        )
        if not named:
            raise InputError(f"actuators of a stream must be a list of actuators of the world, got {shown(actuators)}")
        if not actuators:
            raise InputError("a stream needs actuators, whose displacement and force it sends; give at least one")
        if isinstance(sink, type) or not all(callable(getattr(sink, each, None)) for each in ("begin", "send")):
            raise InputError(f"sink of a stream must have begin() and send(), such as CsvSink(), got {shown(sink)}")
        for name, clock in (("pace", pace), ("live", live)):
            if clock is not None and not (callable(getattr(clock, "now", None)) and hasattr(clock, "sleep")):
                raise InputError(f"{name} of a stream must be a Clock, such as SYSTEM_CLOCK, got {shown(clock)}")
        if pace is not None and live is not None:
            raise InputError("a stream takes pace or live, not both")
        self._sink = sink
        self._actuators = tuple(actuators)
        self._period = 0.0 if rate is None else 1.0 / positive("rate", rate, unit="Hz")
        self._pace = pace
        self._live = live
        self._began: float | None = None
        self._last: float | None = None
        self._origin: tuple[float, float] | None = None
        self._supports: dict[int, tuple[World, DrivenSupport]] = {}
        self.sent = 0
        """Lines sent so far."""
        self.late = 0
        """Lines sent after their time."""

    def __call__(self, state: State, info: StepInfo) -> None:
        """Send the step that ended in `state`, unless the last line was sent less than a period ago."""
        at = state.time if self._live is None else self._elapsed(self._live)
        if self.is_due(at):
            self.put(at, [self._read(actuator, state, info) for actuator in self._actuators])

    def is_due(self, at: float) -> bool:
        """Whether a line for the time `at` (s) keeps the rate."""
        return self._last is None or at - self._last >= self._period * (1.0 - _EARLY)

    def put(self, at: float, values: Any) -> None:
        """Send `values` (k, 2), displacement and force of each actuator in SI units, for the time `at`, s."""
        pairs = finite_array("values of a stream", values, shape=(len(self._actuators), 2))
        if not self.sent:
            self._sink.begin([_name(actuator) for actuator in self._actuators])
        self._wait(at)
        self._sink.send(line_of(at, pairs))
        self._last = at
        self.sent += 1

    def run(self, run: Run) -> int:
        """Send the steps of a recorded run, and return the number of lines; moved supports are not recorded in runs."""
        tables = [np.column_stack(run.actuation(actuator)) for actuator in self._actuators]
        before = self.sent
        for step in range(1, len(run.times)):
            at = float(run.times[step])
            if self.is_due(at):
                self.put(at, [table[step] for table in tables])
        return self.sent - before

    def _elapsed(self, clock: Clock) -> float:
        now = clock.now()
        if self._began is None:
            self._began = now
        return now - self._began

    def _wait(self, at: float) -> None:
        if self._pace is None:
            return
        now = self._pace.now()
        if self._origin is None:
            self._origin = (at, now)
        left = (at - self._origin[0]) - (now - self._origin[1])
        if left > 0.0:
            self._pace.sleep(left)
        elif left < 0.0:
            self.late += 1

    def _read(self, actuator: Any, state: State, info: StepInfo) -> tuple[float, float]:
        if not isinstance(actuator, MovedSupport):
            displacement, force = info.actuation(actuator)
            return float(displacement), float(force)
        if id(actuator) not in self._supports or self._supports[id(actuator)][0] is not state.world:
            self._supports[id(actuator)] = (state.world, DrivenSupport.of(actuator, state.world))
        driven = self._supports[id(actuator)][1]
        return driven.displacement(state.q[driven.index]), 0.0


def line_of(at: float, values: FloatArray) -> str:
    """One line: the time `at` (s) and `values` (k, 2) in SI units, nine significant digits each."""
    return ",".join(f"{value:.9g}" for value in (at, *np.ravel(values)))


@dataclass(frozen=True, eq=False)
class Recorded:
    """A stream read back: `times` (n,) s, `values` (n, k, 2), displacement and force in SI units, of k actuators."""

    times: FloatArray
    values: FloatArray
    names: tuple[str, ...]


class Recorder(_Sink):
    """A sink in memory: ``Streamer(Recorder(), …)``, then `recorded`."""

    def __init__(self) -> None:
        self._names: tuple[str, ...] = ()
        self._lines: list[str] = []

    def begin(self, names: Sequence[str]) -> None:
        """Keep the names of the actuators."""
        self._names = tuple(names)

    def send(self, line: str) -> None:
        """Keep one line."""
        self._lines.append(line)

    @property
    def recorded(self) -> Recorded:
        """The lines sent so far."""
        return _table(self._names, [line.split(",") for line in self._lines], what="the stream")


def read(path: str | Path) -> Recorded:
    """The stream in a file that `CsvSink` wrote."""
    header, *lines = csv_rows(path) or [[]]
    if header[:1] != ["time"] or len(header) % 2 == 0:
        raise InputError(f"{path} is not a stream of actuation: its first line must be time,NAME.displacement,…")
    return _table([name.removesuffix(".displacement") for name in header[1::2]], lines, what=str(path))


def replay(
    source: str | Path | Recorded,
    sink: Sink,
    *,
    speed: float = 1.0,
    rate: float | None = None,
    clock: Clock | None = None,
) -> int:
    """Send a recorded stream again, at its own speed or `speed` times that, and return the number of lines.

    `rate` is the largest rate of lines in the time of the stream, Hz. `clock` paces it, by default the system's.
    """
    stream = source if isinstance(source, Recorded) else read(source)
    factor = positive("speed", speed)
    own = SYSTEM_CLOCK if clock is None else clock
    paced = Clock(lambda: factor * own.now(), lambda seconds: own.sleep(seconds / factor))
    streamer = Streamer(sink, stream.names, rate=rate, pace=paced)
    for at, values in zip(stream.times, stream.values, strict=True):
        if streamer.is_due(float(at)):
            streamer.put(float(at), values)
    return streamer.sent


def _table(names: Sequence[str], lines: Iterable[Sequence[str]], *, what: str) -> Recorded:
    width = 1 + 2 * len(names)
    rows: list[list[float]] = []
    for count, fields in enumerate(lines, start=1):
        line = ",".join(fields)[:200]
        try:
            row = [float(field) for field in fields]
        except ValueError as error:
            raise InputError(f"line {count} of {what} is not made of numbers: {line!r}") from error
        if len(row) != width:
            raise InputError(f"line {count} of {what} has {len(row)} numbers instead of {width}: {line!r}")
        rows.append(row)
    table = finite_array(f"numbers of {what}", np.array(rows).reshape(len(rows), width))
    return Recorded(table[:, 0], table[:, 1:].reshape(len(rows), len(names), 2), tuple(names))


def _name(actuator: Any) -> str:
    return actuator if isinstance(actuator, str) else str(actuator.name)
