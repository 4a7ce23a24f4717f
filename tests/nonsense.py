"""Values that make no sense for most arguments, and what calls do with them."""

import signal
from contextlib import contextmanager

import numpy as np

import pliant as pl

RUBBER = pl.materials.NeoHookean(young=1e5, poisson=0.45, density=1000)
PLAIN = [None, "nonsense", [], float("inf"), -1.0, 0, 1e30, 0.5]
"""Values that many arguments take for good: no name, a name, an empty list, no limit, a direction, none, much, some."""
NEVER = [
    "", object(), [[1, 2], [3]], float("nan"), 2**70, True, 1j, np.zeros(0), np.zeros((2, 5)), ["a", "b"],
    pl.materials.NeoHookean, len, {}, (np.nan, 0, 0), [-5, -7], [10**9], RUBBER, b"x", {1}, (x for x in ()),
]  # fmt: skip
"""Values that an argument takes for a reason of its own, or not at all."""
SECONDS = 120
"""Longest time of a call, s, on a machine in use: beyond it, it hangs."""


def names(text):
    return text.split()


@contextmanager
def limited(seconds=SECONDS):
    """A call that takes longer is an error, where the system has alarms."""
    if not hasattr(signal, "alarm"):
        yield
        return

    def late(number, frame):
        raise TimeoutError(f"longer than {seconds} s")

    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def outcomes(call, arguments):
    """What calls with one nonsensical argument do: those that end in another error than Pliant's, and those of `NEVER`
    that are taken, as texts.
    """
    raw, taken = [], []
    for argument in arguments:
        for value in (*PLAIN, *NEVER):
            shown = f"{argument}={value!r:.40}"
            try:
                with limited():
                    call(**{argument: value})
            except pl.PliantError:
                continue
            except Exception as error:
                raw.append(f"{shown}: {type(error).__name__}: {error!s:.80}")
            else:
                if any(value is one for one in NEVER):
                    taken.append(f"{argument}={kind(value)}")
    return raw, taken


def kind(value):
    """A short name of a value of `NEVER`."""
    known = {id(NEVER[1]): "object", id(NEVER[-1]): "generator", id(RUBBER): "material", id(NEVER[10]): "class"}
    return known.get(id(value)) or repr(value)
