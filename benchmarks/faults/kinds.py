"""All kinds of faults, in the order of the table."""

from __future__ import annotations

from functools import partial

from benchmarks.faults import caches, surroundings
from benchmarks.faults.disks import cache_without_room_trial, can_mount, full_trial, limited_trial, read_only_trial
from benchmarks.faults.interrupts import KINDS as INTERRUPTED
from benchmarks.faults.interrupts import interrupt_trial
from benchmarks.faults.kills import kill_trial
from benchmarks.faults.progress import Kind
from benchmarks.faults.works import WORKS

_WHOLE = "the earlier file or the new one, whole; the next call works"
_SWEPT = "finished cases stay, the next call makes the others; the same bits"
_COMPILED = "right numbers; the next process compiles what is missing"


def kinds() -> list[Kind]:
    """Every kind that this machine can make."""
    expected = {"sweep": _SWEPT, "reduce": _SWEPT, "warm-up": _COMPILED}
    found = [Kind("kill −9", name, expected.get(name, _WHOLE), partial(kill_trial, name)) for name in WORKS]
    usable = "`KeyboardInterrupt`; the same bits afterwards"
    found += [Kind("Ctrl-C", name, usable, partial(interrupt_trial, name)) for name in INTERRUPTED]
    clear = "an error; the earlier file is whole, nothing beside it"
    found.append(Kind("full disk", "write beyond a limit (EFBIG)", clear, limited_trial))
    if can_mount():
        found.append(Kind("full disk", "write without room (ENOSPC)", clear, full_trial))
    found.append(Kind("read-only disk", "write", clear, read_only_trial))
    found.append(Kind("full disk", "keep compiled kernels", "the kernels work", cache_without_room_trial))
    again = "right numbers; what was damaged is compiled again"
    found.append(Kind("damaged kernel cache", "load kernels", again, caches.damaged_trial))
    found.append(
        Kind("two processes", "compile the same kernels", "right numbers; both are kept", caches.together_trial)
    )
    refused = "nothing of it is executed"
    found.append(Kind("code planted by others", "load kernels", refused, caches.planted_trial))
    if can_mount():
        found.append(Kind("read-only kernel cache", "compile", "a private temporary folder", caches.read_only_trial, 3))
    same = "the same bits"
    found.append(Kind("fork, spawn", "step a pickled world on two threads", same, surroundings.processes_trial))
    found.append(Kind("threads", "step two worlds, or one", same, surroundings.threads_trial))
    found.append(Kind("pickle", "world, state, stepper", same, surroundings.pickle_trial))
    strange, count = ", ".join(surroundings.SURROUNDINGS), len(surroundings.SURROUNDINGS)
    found.append(Kind(strange, "simulate, save, load, export", same, surroundings.surroundings_trial, count))
    count = len(surroundings.OPTIMIZED)
    found.append(Kind("python -O", f"{count} files of tests", "all pass", surroundings.optimized_trial, count))
    return found
