"""What a stepper is given in place of a world to step many copies of it at once; `pliant.batch` makes it."""

from __future__ import annotations

from typing import Any


class Copies:
    """Copies of one world, each with its own state and numbers."""

    def step(self, stepper: Any, states: Any, controls: Any = None) -> Any:
        """The states of all copies after one step of `stepper`, and what it reports of each."""
        raise NotImplementedError
