"""Solvers that take over a whole quasi-static step: they repeat it until something beyond its forces is reached."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol, runtime_checkable

from pliant.stepping.info import StepInfo
from pliant.world import State, World


@runtime_checkable
class SettlingSolver(Protocol):
    """A solver that, where it has a `tolerance`, repeats a quasi-static step until it holds in equilibrium."""

    tolerance: float | None

    def settled(
        self, stepper: Any, world: World, state: State, controls: Mapping[Any, Any] | None
    ) -> tuple[State, StepInfo]:
        """The step of `stepper` from `state` under `controls`, repeated."""
