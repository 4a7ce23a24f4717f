"""Steppers of a live world: one for each way to drive it, made once for each length of a step."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from pliant.control import Effector, Inverse
from pliant.stepping import ImplicitEuler, QuasiStatic

TARGET_SPEED = 0.25
"""Fastest approach of a target by the tip, m/s."""


class Steppers:
    """The steppers of a world whose scene may have one of its `own`, and its `inverse`, None without.

    `aimed` is the effector that the dragged target moves, None without one. All have the options of `own`; a
    quasi-static one is given the length of a step as the time that passes.
    """

    def __init__(self, own: Any, tip: Any, actuators: Sequence[Any]) -> None:
        self.own = own
        solver = getattr(own, "solver", None)
        self.inverse: Inverse | None = solver if isinstance(solver, Inverse) else None
        self.aimed = None if tip is None else _aimed(tip)
        self._tip, self._actuators = tip, tuple(actuators)
        self._made: dict[tuple[str, float], Any] = {}

    @property
    def is_static(self) -> bool:
        """Whether steps are static equilibria: time is the pace of the controls, without inertia."""
        return isinstance(self.own, QuasiStatic)

    @property
    def others(self) -> tuple[Any, ...]:
        """Effectors of the scene's inverse beside the one that the target moves."""
        return () if self.inverse is None else tuple(e for e in self.inverse.effectors if e is not self._tip)

    def direct(self, dt: float) -> Any:
        """Steps of dt (s) with given actuation."""
        return self._once("direct", dt, lambda: self._of(dt, None if self.inverse is not None else self._solver))

    def automatic(self, dt: float) -> Any:
        """Steps of dt (s) as the scene makes them."""
        return self._once("automatic", dt, lambda: self._of(dt, self._solver))

    def targeted(self, dt: float, *, others: bool) -> Any:
        """Steps of dt (s) whose inverse brings the tip to the target; with the `others` of the scene's effectors."""

        def make() -> Any:
            effectors = [self.aimed, *(self.others if others else ())]
            if self.inverse is None:
                return self._of(dt, Inverse(effectors=effectors, actuators=self._actuators))
            return self._of(dt, replace(self.inverse, effectors=effectors))

        return self._once(f"targeted, others {others}", dt, make)

    @property
    def _solver(self) -> Any:
        return getattr(self.own, "solver", None)

    def _of(self, dt: float, solver: Any) -> Any:
        if self.own is not None:
            return replace(self.own, dt=dt, solver=solver)
        return ImplicitEuler(dt) if solver is None else ImplicitEuler(dt, solver=solver)

    def _once(self, kind: str, dt: float, make: Callable[[], Any]) -> Any:
        """One kept for each kind and step: a new one would analyse the matrices again."""
        if (kind, dt) not in self._made:
            self._made[kind, dt] = make()
        return self._made[kind, dt]


def _aimed(tip: Any) -> Effector:
    """The effector of a `tip`, a marker or an effector: its mean point, at a bounded speed."""
    if isinstance(tip, Effector):
        return replace(tip, barycentre=True, max_speed=min(tip.max_speed, TARGET_SPEED))
    return Effector(tip, max_speed=TARGET_SPEED, name="tip")
