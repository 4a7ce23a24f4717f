"""Reduction: what is computed once, offline, so that a world steps in real time afterwards."""

from pliant.reduction.curved import curved
from pliant.reduction.ecsw import ecsw
from pliant.reduction.pod import Pod, pod
from pliant.world.reduced import reduced

__all__ = ["Pod", "curved", "ecsw", "pod", "reduced"]
