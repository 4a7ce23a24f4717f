"""Names that the shell completes: of demos, benchmarks, experiments, robots and kinds of scene files."""

from __future__ import annotations

from collections.abc import Iterable

from pliant.cli.checkout import checkout_names


def demo_names(incomplete: str) -> list[str]:
    """Demos that begin with `incomplete`."""
    return _beginning(checkout_names("demos", "DEMOS"), incomplete)


def bench_names(incomplete: str) -> list[str]:
    """Benchmarks that begin with `incomplete`."""
    return _beginning(checkout_names("benchmarks.tasks", "BENCHES"), incomplete)


def experiment_names(incomplete: str) -> list[str]:
    """Published experiments that begin with `incomplete`."""
    return _beginning(checkout_names("experiments", "EXPERIMENTS"), incomplete)


def kind_names(incomplete: str) -> list[str]:
    """Kinds of scene files that begin with `incomplete`."""
    from pliant.cli.new import KINDS

    return _beginning(KINDS, incomplete)


def robot_names(incomplete: str) -> list[str]:
    """Robots of one body that begin with `incomplete`."""
    return _beginning(robots(), incomplete)


def shown_names(incomplete: str) -> list[str]:
    """What `pliant view` knows by name that begins with `incomplete`."""
    from pliant.viewer.zoo import ZOO

    return _beginning([one.name for one in ZOO], incomplete)


def robots() -> list[str]:
    """Robots of the zoo that have one body."""
    from pliant import robots as zoo

    several = ("gripper", "membrane", "pneumatic_gripper")  # made of more than one body
    return sorted(name for name in zoo.__all__ if name.islower() and name not in several)


def _beginning(names: Iterable[str], incomplete: str) -> list[str]:
    return [name for name in names if name.startswith(incomplete)]
