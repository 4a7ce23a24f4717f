"""Many copies of one world, stepped at once over all cores, or on a card."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pliant.batch.batch import Batch
    from pliant.batch.states import BatchInfos, BatchStates

__all__ = ["Batch", "BatchInfos", "BatchStates"]


def __getattr__(name: str) -> Any:
    """The classes, loaded when one is first asked for: the step on a card needs JAX and NumPy alone."""
    if name not in __all__:
        raise AttributeError(f"module 'pliant.batch' has no attribute {name!r}")
    return getattr(import_module("pliant.batch.batch" if name == "Batch" else "pliant.batch.states"), name)
