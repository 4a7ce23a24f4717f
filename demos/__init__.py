"""Named demonstrations, run by `pliant demo NAME`: each simulates, reports its speed and writes files to look at."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from pliant.core.errors import InputError

if TYPE_CHECKING:
    from demos.outcome import Outcome

DEMOS: dict[str, str] = {
    "bending": "three silicone tentacles on one moving holder, stiff to soft, in real time",
    "lift": "a soft gripper closes on a cube, lifts it by friction and sets it down",
    "tour": "the trunk and the gripper, side by side on one page",
    "trunk": "the tip of a trunk follows a circle; the inverse finds the pull of its cables",
}
"""One line about each demonstration, by name."""


def run_demo(name: str, *, out: Path) -> Outcome:
    """Run the demonstration `name` and write its files into the folder `out`, which is made if it does not exist."""
    if name not in DEMOS:
        raise InputError(f"there is no demo {name!r}; the demos are {', '.join(DEMOS)}")
    out.mkdir(parents=True, exist_ok=True)
    outcome: Outcome = import_module(f"demos.{name}").run(out)
    return outcome


__all__ = ["DEMOS", "run_demo"]
