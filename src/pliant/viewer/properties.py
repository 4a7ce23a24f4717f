"""Materials and friction of a world, in the panel: changed together, by building the world again from the start."""

from __future__ import annotations

from typing import Any

import numpy as np

from pliant.viewer.dragging import materials_of, pair_names
from pliant.viewer.driver import Driver

_FACTORS = (0.2, 5.0)
_LARGEST_FRICTION = 1.5


class Properties:
    """Sliders for the stiffness of every material and the friction of every pair, and the button that applies them."""

    def __init__(self, gui: Any, driver: Driver, viewer: Any) -> None:
        world = viewer.subject.original
        self._driver, self._viewer = driver, viewer
        self._materials = materials_of(world)
        self.stiffness: list[Any] = []
        self.friction: list[Any] = []
        if world.reductions:
            gui.add_html(_note("a reduced world keeps the materials and friction that it was trained with"))
            return
        for name, material in self._materials:
            young = getattr(material, "young", None)
            low, high = (x * (1e-3 * young if young else 1.0) for x in _FACTORS)
            label = f"Young's modulus of {name} (kPa)" if young else f"stiffness of {name} (×)"
            value = 1e-3 * young if young else 1.0
            step = float(f"{value / 100.0:.1g}")
            self.stiffness.append(driver.guard(gui.add_slider(label, _round(low), _round(high), step, _round(value))))
        for name, pair in zip(pair_names(world), world.source.pairs, strict=True):
            high = max(_LARGEST_FRICTION, pair.friction)
            self.friction.append(
                driver.guard(gui.add_slider(f"friction {name}", 0.0, high, 0.05, float(pair.friction)))
            )
        if self.stiffness or self.friction:
            self.button = driver.press(gui.add_button("Apply, and start over", icon="refresh"), lambda _: self.apply())

    def apply(self) -> None:
        """Build the world again with what the sliders say; it starts over."""
        factors = []
        for (_, material), slider in zip(self._materials, self.stiffness, strict=True):
            young = getattr(material, "young", None)
            factors.append(self._driver.value(slider) / (1e-3 * young if young else 1.0))
        self._viewer.rebuild(factors, [self._driver.value(slider) for slider in self.friction])


def _round(value: float) -> float:
    """`value` to four digits: what a slider shows."""
    return float(f"{value:.4g}") if np.isfinite(value) else value


def _note(text: str) -> str:
    return f'<div style="margin:0 1em .5em;font-size:.8em;opacity:.75">{text}</div>'
