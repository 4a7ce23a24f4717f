"""Many copies of one world, stepped at once over all cores."""

from pliant.batch.batch import Batch
from pliant.batch.states import BatchInfos, BatchStates

__all__ = ["Batch", "BatchInfos", "BatchStates"]
