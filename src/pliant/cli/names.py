"""Completion in the shell: names of demos, benchmarks, experiments, robots and kinds of scene files."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from pliant.cli.new import KINDS
from pliant.core.checkout import checkout_names


def one_body_robots() -> list[str]:
    """Robots of `pl.robots` that have one body."""
    from pliant import robots

    several = ("gripper", "membrane", "pneumatic_gripper")
    return sorted(name for name in robots.__all__ if name.islower() and name not in several)


def _zoo_names() -> list[str]:
    from pliant.viewer.zoo import ZOO

    return [entry.name for entry in ZOO]


def _completion(names: Callable[[], Iterable[str]]) -> Callable[[str], list[str]]:
    """Completion from `names()`, which is called only when the shell asks."""

    def complete(incomplete: str) -> list[str]:
        return [name for name in names() if name.startswith(incomplete)]

    return complete


complete_demo = _completion(lambda: checkout_names("demos", "DEMOS"))
complete_bench = _completion(lambda: checkout_names("benchmarks.tasks", "BENCHES"))
complete_experiment = _completion(lambda: checkout_names("experiments", "EXPERIMENTS"))
complete_validation = _completion(
    lambda: [*checkout_names("validation", "GROUPS"), *checkout_names("validation", "CASES")]
)
complete_kind = _completion(lambda: KINDS)
complete_robot = _completion(one_body_robots)
complete_view = _completion(_zoo_names)
