"""The copies of a batch on a card: what `Part` does in a process, over arrays that stay where they are computed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from pliant.actuators.limits import FREE
from pliant.batch.gpu import limits
from pliant.batch.gpu import step as stages
from pliant.batch.gpu import step_types as types
from pliant.batch.gpu.kinds import kind_of
from pliant.batch.gpu.lowering_chambers import scales_of
from pliant.batch.gpu.precision import in_double
from pliant.batch.gpu.restart import renumbered, repeated, restarted
from pliant.batch.part import Part, Report
from pliant.core.errors import CapacityError, ConvergenceError, InputError, PliantError, SingularError
from pliant.core.one_line import short
from pliant.core.status import Status
from pliant.core.types import FloatArray
from pliant.world import World
from pliant.world.changed import changed

_ENDS: dict[int, tuple[type[PliantError], str]] = {
    types.DIVERGED: (
        SingularError,
        "the matrix is not positive definite or the motion not finite; take a smaller dt, smaller changes of the "
        "commands, or precision='float64'",
    ),
    types.COLLAPSED: (
        ConvergenceError,
        "elements invert within 10 % of the motion of a step; take a smaller dt, smaller changes of the commands, or a "
        "finer mesh where it is compressed most",
    ),
    types.UNCOVERED: (
        ConvergenceError,
        "an edge beside a ball or a capsule is longer than 0.4 of its radius, so that vertices do not bound the "
        "surface there; take shorter cells at the contact, or device='cpu'",
    ),
    types.UNSOLVED: (
        ConvergenceError,
        "constraint forces were not found; take a smaller dt, or precision='float64'",
    ),
}


class CardPart(Part):
    """All copies of a batch, with these `changes` of a world, stepped by JAX; `on_card` asks for a card."""

    def __init__(
        self, world: World, changes: Sequence[Mapping[Any, Any]], *, on_card: bool, precision: str, capacity: int
    ) -> None:
        self._device = _device(on_card)
        kind = kind_of(world)
        self._kind = kind
        self.worlds = [world]
        self._count, self._capacity = len(changes), capacity
        self._dtype = np.dtype(precision)
        self._drives = limits.drives_of(world)
        self._scales = scales_of(world)
        self._pairs = limits.pairs_of(world)
        copies = [changed(world, change) for change in changes] if any(changes) else []
        for copy in copies:
            limits.check_same(world, copy)
        lowered = kind.lower(world, copies, slots=capacity)
        self._coordinates, self._stepped = kind.coordinates(world), kind.step
        self._slots = int(lowered.slots)
        with self._precisely():
            self._lowered = jax.tree.map(jnp.asarray, lowered)
            card = self._device.platform != "cpu"
            self._kernels = stages.triton(self._dtype, slots=self._slots) if card else stages.library(self._dtype)
        self._dts: dict[int, float] = {}
        self._held_states: dict[int, tuple[Any, Any, Any]] = {}  # states, report and numbers
        self._read: dict[int, tuple[Any, Any, Any]] = {}

    def take_stepper(self, index: int, stepper: Any) -> None:
        """Make `stepper` known as number `index`."""
        limits.check_stepper(stepper)
        self._dts[index] = stepper.dt

    def begin(self, token: int, states: Sequence[tuple[Any, ...] | None]) -> Report:
        """Hold states as number `token`: the initial ones, or the fields of given ones after their world."""
        start = self.worlds[0].initial_state()
        alike = start.time, start.q, start.v, start.lam, start.keys
        with self._precisely():
            held = self._states_of([alike if one is None else one for one in states])
        return self._report(token, held, None, self._lowered)

    def _states_of(self, fields: Sequence[tuple[Any, ...]]) -> types.States:
        """The states of copies with these fields."""
        own, array, dtype = self._coordinates, jnp.asarray, self._dtype
        blank = stages.initial(self._lowered, len(fields), dtype)
        forces = np.zeros((len(fields), len(self._drives)))
        for k, (_, _, _, lam, keys, *_) in enumerate(fields):
            known = {} if keys is None else dict(zip(np.asarray(keys).tolist(), lam, strict=True))
            forces[k] = [known.get(drive.key, 0.0) for drive in self._drives]
        return blank._replace(
            u=array(own.unknowns(np.stack([one[1][0] for one in fields])), dtype),
            v=array(own.rates(np.stack([one[2][0] for one in fields])), dtype),
            time=array([one[0] for one in fields], dtype),
            lam=blank.lam.at[:, 3 * self._slots : 3 * self._slots + len(self._drives)].set(forces * self._scales),
        )

    def restart(
        self,
        before: int,
        after: int,
        starts: Sequence[tuple[Any, ...] | None],
        changes: Sequence[Mapping[Any, Any] | None],
    ) -> Report:
        """Hold as number `after` the states `before`, with the copies that have `starts` there; `changes` give some of
        them other numbers from now on.
        """
        held, _, lowered = self._held_states[before]
        begun = [k for k, one in enumerate(starts) if one is not None]
        other = [k for k, one in enumerate(changes) if one is not None]
        with self._precisely(), self._within_memory():
            if begun:
                copies, _ = repeated(begun)
                fresh = self._states_of([starts[k] for k in copies])  # type: ignore[misc]
                held = restarted(held, fresh, jnp.asarray(copies))
            if other:
                lowered = self._renumbered(lowered, other, [changes[k] or {} for k in other])
        self._lowered = lowered
        return self._report(after, held, None, lowered)

    def _renumbered(self, lowered: Any, copies: Sequence[int], changes: Sequence[Mapping[Any, Any]]) -> Any:
        """`lowered` with the numbers of some `copies` under their `changes` of the world."""
        base = self.worlds[0]
        worlds = [changed(base, change) if change else base for change in changes]
        for world in worlds:
            limits.check_same(base, world)
        own = self._kind.numbers(base, worlds)
        return lowered._replace(numbers=renumbered(lowered.numbers, own, copies, self._count))

    def step(self, index: int, before: int, after: int, controls: Any, *, keep: bool) -> Report:
        """Step every copy from the states `before` to the states `after`; a copy that fails keeps its state."""
        held, _, lowered = self._held_states[before]  # states of before a restart have their own numbers
        given = self._commands(controls, np.asarray(lowered.numbers.gravity, float))
        with self._precisely(), self._within_memory():
            array = jnp.asarray
            made, report = self._stepped(
                lowered, self._kernels, array(self._dts[index], self._dtype), held,
                types.Controls(*(array(one) for one in given)),
            )  # fmt: skip
        return self._report(after, made, report, lowered)

    def state(self, token: int, k: int) -> tuple[Any, ...]:
        """The fields of a state after its world: tensions and pressures are the forces that a step goes on from."""
        held = self._held_states[token][0]
        first = 3 * self._slots
        lam = np.asarray(held.lam[k, first : first + len(self._drives)], float) / self._scales
        keys = np.array([drive.key for drive in self._drives], np.int64)
        q, v = self._positions(held.u[..., k : k + 1])[0], self._velocities(held.v[..., k : k + 1])[0]
        return float(held.time[k]), (q,), (v,), lam, keys, (), ()

    def info(self, token: int, k: int) -> CardInfo:
        """What the step to the states `token` reported of copy k."""
        held, report, _ = self._held_states[token]
        if report is None:
            raise InputError("no step has led to these states: they have no read-outs")
        if token not in self._read:  # of all copies in one transfer
            self._read[token] = jax.device_get((report, held.lam, held.point))
        return CardInfo(self, *self._read[token], k)

    def drop(self, tokens: Sequence[int]) -> None:
        """Forget states that nobody uses."""
        for token in tokens:
            self._held_states.pop(token, None)
            self._read.pop(token, None)

    def error_of(self, code: int, contacts: int) -> PliantError:
        """The error of a copy whose step ended with `code`."""
        if code == types.CAPACITY:
            return CapacityError(
                f"{contacts} contacts are in reach of a step, the capacity is {self._slots}: give the batch a larger "
                "capacity, or collide fewer nodes (exclude= of scene.collide)"
            )
        kind, text = _ENDS[code]
        return kind(text)

    def _positions(self, u: Any) -> FloatArray:
        """Positions (b, n, 3) m of all nodes."""
        return self._coordinates.positions(np.asarray(u, float))

    def _velocities(self, v: Any) -> FloatArray:
        return self._coordinates.velocities(np.asarray(v, float))

    def _report(self, token: int, held: Any, report: Any, lowered: Any) -> Report:
        self._held_states[token] = held, report, lowered
        read: Any = (  # brought here when they are asked for
            Deferred(lambda: np.asarray(held.time, float)),
            (Deferred(lambda: self._positions(held.u)),),
            (Deferred(lambda: self._velocities(held.v)),),
            Outcomes(self, report),
            Iterations(self, report),
            Failures(self, report),
        )
        return Report(*read)

    def _commands(self, controls: Any, base: FloatArray) -> tuple[FloatArray, Any, FloatArray]:
        """Amounts (c, ·), whether by force (c, ·), and gravity (3, ·) of controls for all copies, or a list of them;
        `base` is the gravity (3, ·) without one.
        """
        if controls is None or isinstance(controls, Mapping):
            return self._command(controls or {}, base)
        if any(one is not controls[0] for one in controls):
            each = [self._command(one or {}, base[:, k : k + 1] if base.shape[1] > 1 else base)
                    for k, one in enumerate(controls)]  # fmt: skip
            amount, by_force, gravity = zip(*each, strict=True)
            return tuple(np.concatenate(x, axis=1) for x in (amount, by_force, gravity))  # type: ignore[return-value]
        return self._command(controls[0] or {}, base)

    def _command(self, controls: Mapping[Any, Any], base: FloatArray) -> tuple[FloatArray, Any, FloatArray]:
        own = {id(drive.handle): drive for drive in self._drives}
        found = {}
        gravity = base
        for handle, value in controls.items():
            if isinstance(handle, str) and handle == "gravity":
                gravity = self._checked_gravity(value)
            elif id(handle) in own:
                found[id(handle)] = self._amount(own[id(handle)], value)
            else:
                self.worlds[0].controls({handle: value})
                raise InputError(
                    f"a batch on a card takes controls of cables, chambers and gravity, got {short(handle)}"
                )
        idle = [getattr(drive, "idle", FREE).amount for drive in own.values()]
        pairs = [found.get(key, (np.atleast_1d(amount), True)) for key, amount in zip(own, idle, strict=True)]
        width = max((len(amount) for amount, _ in pairs), default=1)
        amounts = np.array([np.broadcast_to(amount, width) for amount, _ in pairs]).reshape(len(own), width)
        forced = np.array([np.full(width, by_force) for _, by_force in pairs], bool).reshape(len(own), width)
        return amounts, forced, gravity

    def _amount(self, drive: Any, value: Any) -> tuple[FloatArray, bool]:
        """The amount of a command, one for all copies or (count,), and whether it is a force."""
        given: Any = getattr(value, "value", None)
        if np.ndim(given) != 1:
            command = drive.spec.command(value)
            if command.for_good:
                raise InputError(f"a batch on a card cannot cut {drive.name!r}: take device='cpu'")
            return np.atleast_1d(float(command.amount)), bool(command.by_force)
        amounts = np.asarray(given, float)
        if len(amounts) != self._count:
            raise InputError(
                f"the command of {drive.name!r} has {len(amounts)} values, the batch {self._count} copies: one for each"
            )
        if not np.isfinite(amounts).all():
            k = int(np.argmin(np.isfinite(amounts)))
            raise InputError(f"the command of {drive.name!r} must be finite, copy {k} has {amounts[k]}")
        least, most = float(amounts.min()), float(amounts.max())
        ends = [drive.spec.command(type(value)(one)) for one in (least, most)]
        first, last = (float(one.amount) for one in ends)
        if (first, last) != (least, most):  # a ratio, of which the amount is a linear function
            amounts = first + (amounts - least) * ((last - first) / (most - least) if most > least else 0.0)
        return amounts, bool(ends[0].by_force)

    def _checked_gravity(self, value: Any) -> FloatArray:
        gravity = np.asarray(value, float)
        if gravity.shape not in ((3,), (self._count, 3)) or not np.isfinite(gravity).all():
            raise InputError(f"gravity of a batch must be finite, (3,) or ({self._count}, 3) m/s², got {short(value)}")
        return gravity.reshape(-1, 3).T

    @contextmanager
    def _precisely(self) -> Iterator[None]:
        """With the precision of the batch, whatever the precision of the rest of the program."""
        with in_double(self._dtype == np.float64), jax.default_device(self._device):
            yield

    @contextmanager
    def _within_memory(self) -> Iterator[None]:
        try:
            yield
        except Exception as error:
            if "RESOURCE_EXHAUSTED" not in str(error):
                raise
            raise PliantError(
                f"{self._count} copies do not fit into the memory of {self._device}: take fewer copies, a smaller "
                "capacity, or precision='float32'"
            ) from error


class Deferred:
    """An array on the card, brought here when it is first read."""

    def __init__(self, make: Any) -> None:
        self._make = make

    def __array__(self, dtype: Any = None, copy: Any = None) -> FloatArray:
        return self._made if dtype is None else self._made.astype(dtype)

    @cached_property
    def _made(self) -> FloatArray:
        made: FloatArray = self._make()
        made.setflags(write=False)
        return made


class _Reading:
    """What is read from the report of a step when it is asked for."""

    def __init__(self, part: CardPart, report: Any) -> None:
        self._part, self._report = part, report

    def _codes(self) -> Any:
        return np.zeros(0, int) if self._report is None else np.asarray(self._report.status)


class Outcomes(_Reading):
    """`Report.status`: how the step of each copy ended, None where it failed."""

    def __iter__(self) -> Iterator[Any]:
        if self._report is None:
            yield from [None] * self._part._count
            return
        cut = np.asarray(self._report.fraction) < 1.0
        for code, is_cut in zip(self._codes(), cut, strict=True):
            yield None if code != types.FINE else Status.STALLED if is_cut else Status.FIXED_ITERATIONS


class Iterations(_Reading):
    """`Report.iterations`: linear solves of each copy."""

    def __iter__(self) -> Iterator[int]:
        return iter([0 if self._report is None else 1] * self._part._count)


class Failures(_Reading):
    """`Report.errors`: copies that failed, with their errors."""

    def __iter__(self) -> Iterator[tuple[int, PliantError]]:
        codes = self._codes()
        for k in np.flatnonzero(codes != types.FINE).tolist():
            yield k, self._part.error_of(int(codes[k]), int(self._report.contacts[k]))


class CardInfo:
    """What a step on a card reports of one copy."""

    def __init__(self, part: CardPart, report: Any, lam: Any, point: Any, k: int) -> None:
        self._part, self._report, self._lam, self._point, self._k = part, report, lam[k], point[k], k

    @property
    def constraint_residual(self) -> float:
        """How far constraint forces are from their laws, relative to the gaps without forces; a cut motion counts."""
        return max(float(self._report.residual[self._k]), 1.0 - float(self._report.fraction[self._k]))

    @property
    def contact_count(self) -> int:
        """Contacts in reach of the step."""
        return int(self._report.contacts[self._k])

    def actuation(self, actuator: Any) -> tuple[float, float]:
        """Displacement (m) and tension (N) of a cable; growth (m³) and pressure (Pa) of a chamber."""
        handles = [drive.handle for drive in self._part._drives]
        row = next((i for i, handle in enumerate(handles) if handle is actuator), None)
        if row is None:
            raise InputError(f"{short(actuator)} is no cable or chamber of this batch")
        place, scale = 3 * self._part._slots + row, float(self._part._scales[row])
        return float(self._report.delta[self._k, place]) * scale, float(self._lam[place]) / scale

    def contact_force(self, a: Any, b: Any = None) -> FloatArray:
        """Total force that `b` exerts on `a`, (3,), N."""
        part = self._part
        chosen = [(i, sign) for i, pair in enumerate(part._pairs)
                  for first, second, sign in ((pair.a.handle, pair.b.handle, 1.0), (pair.b.handle, pair.a.handle, -1.0))
                  if a is first and b is second]  # fmt: skip
        if not chosen:
            part.worlds[0].pairs(a, b)
        contacts, slots = part._lowered.contacts, part._slots
        lam = np.asarray(self._lam[: 3 * slots], float).reshape(3, slots)
        force = np.zeros(3)
        for pair, sign in chosen:
            own = np.flatnonzero((self._point >= 0) & (np.asarray(contacts.pair)[np.maximum(self._point, 0)] == pair))
            if self._report.directions is None:
                frames = np.asarray(contacts.frames, float)[self._point[own]]
            else:
                frames = np.asarray(self._report.directions[self._k], float).transpose(2, 1, 0)[own]
            force += sign * np.einsum("gs,sgi->i", lam[:, own], frames)
        return force


def _device(on_card: bool) -> Any:
    if not on_card:
        return jax.devices()[0]
    for device in jax.devices():
        if device.platform in ("gpu", "cuda", "rocm"):
            return device
    raise PliantError(
        f"JAX sees no GPU here, only {jax.devices()[0].platform}: install JAX for your card (jax[cuda13]), or take "
        "device='cpu', which steps over all cores"
    )
