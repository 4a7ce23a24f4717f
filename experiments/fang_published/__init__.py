"""The local–global method as it was published, beside which `pl.Geometric` minimises an energy.

G. Fang, Y. Tian, A. Weightman, C. C. L. Wang, Collision-aware fast simulation for soft robots by optimization-based
geometric computing, IROS 2022. Kept as an experiment: `python -m benchmarks.published` shows what it does.
"""

from experiments.fang_published.info import LocalGlobalInfo
from experiments.fang_published.stepper import LocalGlobal

__all__ = ["LocalGlobal", "LocalGlobalInfo"]
