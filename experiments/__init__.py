"""Published experiments, run by `pliant reproduce NAME`: built, run, and reported beside the paper's numbers."""

from __future__ import annotations

from importlib import import_module
from time import perf_counter
from typing import Any

from experiments.report import Report
from pliant.core.errors import InputError

EXPERIMENTS: dict[str, str] = {
    "adagolodjo-convergence": "how many sections a rod in a finger needs",
    "adagolodjo-finger": "the translation of a rod's base that brings a fingertip to its target",
    "adagolodjo-grasper": "three soft fingers pulled by rods that slide in them lift a cube",
    "adagolodjo-prebent": "a pre-bent rod, turned at its base, sweeps a soft body round",
    "adagolodjo-radius": "a thicker rod bends its finger less under the same force",
    "adagolodjo-trunk": "a trunk follows a path by pulling four rods that slide in it",
    "bortoff-ball": "a bouncing ball with a contact state machine, and one that gains no energy",
    "bortoff-delta": "a delta robot touches a brick softly, under digital control",
    "bortoff-maze": "a ball is led through the gates of a maze by two lead compensators",
    "coevoet-beam": "a beam between obstacles, bent by two cables: two minima, the lower one through contact",
    "coevoet-rod": "a soft rod led into both branches of a forked pipe",
    "coevoet-tower": "a tower of four chambers that reaches its target through self-contact",
    "coevoet-trunk": "a trunk of eight cables between obstacles, and with a cut cable",
    "coevoet-two-bodies": "a soft wall is pushed so that a point of another soft body moves through contact",
    "fang-finger": "a pneumatic finger bends far, and its chambers press against each other",
    "fang-gripper": "three pneumatic fingers close on a ball, in a softer and a stiffer silicone",
    "fang-membrane": "a sheet takes the shape that four chambers below it push it into",
    "fang-twisting": "a rod with a helical chamber winds itself up, alone and at a cylinder",
    "goury-finger": "a finger that touches itself, pulled to a target in real time with a few contact modes",
    "goury-manipulator": "a spine whose ribs press on each other: 1350 and 4500 contacts in a few modes",
}
"""One line about each experiment, by name; the module of `coevoet-rod` is `coevoet_rod`."""


def reproduce(name: str, *, full: bool = False) -> Report:
    """Run the experiment `name` and return its report; `full` takes the published size where that takes longer."""
    if name not in EXPERIMENTS:
        raise InputError(f"there is no experiment {name!r}; the experiments are {', '.join(EXPERIMENTS)}")
    start = perf_counter()
    module: Any = import_module(f"experiments.{name.replace('-', '_')}")
    report: Report = module.run(full=full)
    return report.timed(perf_counter() - start)


__all__ = ["EXPERIMENTS", "Report", "reproduce"]
