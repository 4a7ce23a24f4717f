"""Some copies of a batch on a card begun again: their states, and the numbers in which they differ."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from pliant.batch.gpu.arrays import Array
from pliant.batch.gpu.step_types import States
from pliant.core.types import IndexArray

LEADING = ("lam", "point")
"""Arrays of states whose copies come first; those of others come last."""


@jax.jit
def restarted(states: States, fresh: States, copies: Array) -> States:
    """`states` with the `fresh` ones of some `copies`, in that order."""
    made = {}
    for name, old in states._asdict().items():
        new = getattr(fresh, name)
        made[name] = old.at[copies].set(new) if name in LEADING else old.at[..., copies].set(new)
    found: States = States(**made)
    return found


def renumbered(numbers: Any, own: Any, copies: Sequence[int], count: int) -> Any:
    """`numbers` (…, count), or (…, 1) where they are the same, with those of some `copies` from `own` (…, copies)."""
    to, of = repeated(copies)

    def one(old: Array, new: Any) -> Array:
        if old.shape[-1] == 1 and new.shape[-1] == 1 and np.array_equal(old, new.astype(old.dtype)):
            return old
        every = jnp.broadcast_to(old, (*old.shape[:-1], count))
        given = np.broadcast_to(new, (*new.shape[:-1], len(copies)))[..., of]
        return every.at[..., to].set(jnp.asarray(given, old.dtype))

    return jax.tree.map(one, numbers, own)


def repeated(copies: Sequence[int]) -> tuple[IndexArray, IndexArray]:
    """`copies` and their places, the last of them again up to a power of two: programs are compiled for few lengths."""
    size = 1 << (len(copies) - 1).bit_length()
    of = np.minimum(np.arange(size), len(copies) - 1)
    return np.asarray(copies)[of], of
