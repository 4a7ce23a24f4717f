"""The time budget of a step: what each stage takes of it, and what makes the costliest one cheaper."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

TIGHT = 0.85
"""Fraction of the budget from which advice is given: above it single steps miss the clock."""
_MESH = "coarser cells, or pl.reduction.reduce for a model of a few modes"
ADVICE: dict[str, str] = {
    "detect": "fewer contact pairs, a smaller margin, or coarser surfaces",
    "rows": "fewer contact pairs and actuators",
    "linearize": f"{_MESH}; anti_locking=False halves it where bending need not be exact",
    "factorize": f"{_MESH}; threads=2 for more than 10 000 nodes",
    "solve": _MESH,
    "condense": "fewer contacts: coarser surfaces, a smaller margin, or collide() for the pairs that matter only",
    "constraints": "fewer contacts, or friction=0 where it does not matter",
    "correct": _MESH,
    "velocities": _MESH,
    "line search": "a shorter time step, or slower actuation: the solve needed more than one iteration",
    "integration": "a lower speed: events of a hybrid system cannot be skipped",
}
"""What makes a stage cheaper, by its name."""


@dataclass(frozen=True)
class Budget:
    """Times of a step, s: its `stages` by name, all of it (`step`), and what real time allows (`allowed`).

    `nodes` and `contacts` are those of the scene, None where they are not known.
    """

    stages: Mapping[str, float]
    step: float
    allowed: float
    nodes: int | None = None
    contacts: int | None = None

    @property
    def outside(self) -> float:
        """Time of a step outside its stages: controls, reading results, drawing, s."""
        return max(self.step - sum(self.stages.values()), 0.0)

    @property
    def fits(self) -> bool:
        """Whether steps keep up with the clock with a little to spare."""
        return self.step <= TIGHT * self.allowed

    def text(self) -> str:
        """One sentence: the fraction used, and where it is too much, the costliest stage and the remedy."""
        used = f"{1e3 * self.step:.1f} of {1e3 * self.allowed:.3g} ms"
        if self.fits or not self.stages:
            return f"{used}: real time with {100.0 * max(1.0 - self.step / self.allowed, 0.0):.0f} % to spare."
        name = max(self.stages, key=lambda stage: self.stages[stage])
        if self.outside > self.stages[name]:
            remedy = "close other programs and browsers: the processor is shared, or the drawing takes its time"
            return f"{used}. Outside the stages {1e3 * self.outside:.1f} ms: {remedy}."
        size = {"detect": self.contacts, "condense": self.contacts, "constraints": self.contacts}.get(name, self.nodes)
        what = "contacts" if name in ("detect", "condense", "constraints") else "nodes"
        known = f" ({size} {what})" if size else ""
        longer = f" Or a time step of {1e3 * self.longer:g} ms." if self.longer else " Or a lower speed."
        cost = f"{name} takes {1e3 * self.stages[name]:.1f} ms{known}"
        return f"{used}: {cost}. Cheaper: {ADVICE.get(name, _MESH)}.{longer}"

    @property
    def longer(self) -> float | None:
        """The next usual step length that the step would fit into, s; None beyond 20 ms."""
        return next((dt for dt in (0.002, 0.005, 0.01, 0.02) if dt > self.allowed and self.step <= TIGHT * dt), None)
