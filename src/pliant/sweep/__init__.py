"""Sweeps: many simulations, here or on a cluster, each written to a file as soon as it is done."""

from pliant.sweep.records import digest_of
from pliant.sweep.run import SweepError, run
from pliant.sweep.table import Table
from pliant.world.storage import world_digest

__all__ = ["SweepError", "Table", "digest_of", "run", "world_digest"]
