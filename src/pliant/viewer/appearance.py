"""Appearance of the scene: colouring, scales of colours and arrows, which grow with the values met, and legends."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np

from pliant.core.types import FloatArray
from pliant.viewer.contents import PLAIN, SceneContents
from pliant.viewer.driver import Driver
from pliant.viewer.frame import Frame
from pliant.viewer.palette import map_colors

BAND_COUNT = 16
"""Bands of colour."""
TENSION, PRESSURE, CONTACT = "tension of cables (N)", "pressure in chambers (kPa)", "contact forces (N)"


@dataclass(frozen=True, eq=False)
class Shading:
    """Colours of one frame: positions on the colour map, 0…1, of the nodes of bodies by index, of the cables (k,) and
    of the chambers (c,); `force_unit` N is the force of the full `arrow` length, a fraction of the scene (0: none).
    """

    bodies: dict[int, FloatArray]
    cables: FloatArray
    chambers: FloatArray
    force_unit: float
    arrow: float
    see_through: bool


class Appearance:
    """The folder "Look" of the panel."""

    def __init__(
        self,
        gui: Any,
        contents: SceneContents,
        driver: Driver,
        changed: Callable[[], None],
        *,
        arrows: bool,
        order: float = 40.0,
    ) -> None:
        self._contents = contents
        self._driver = driver
        self._highs: dict[str, float] = {}
        self._legends: dict[str, Any] = {}
        self._texts: dict[str, tuple[Any, ...]] = {}

        def control(handle: Any) -> Any:
            return driver.guard(handle, lambda _: changed())

        self.folder = gui.add_folder("Look", order=order)
        with self.folder:
            self.mode = control(gui.add_dropdown("body colour", contents.color_modes, initial_value=PLAIN))
            self._legends["body"] = gui.add_html("", visible=False)
            self.see_through = control(gui.add_checkbox("see through", initial_value=contents.hides))
            if contents.strands:
                self._legends[TENSION] = gui.add_html("", visible=False)
            if contents.chambers:
                self._legends[PRESSURE] = gui.add_html("", visible=False)
            self.arrows = self.arrow_scale = None
            if arrows:
                self.arrows = control(gui.add_checkbox("contact forces", initial_value=True))
                self.arrow_scale = control(gui.add_slider("arrow length", 0.25, 4.0, 0.25, 1.0))
                self._legends[CONTACT] = gui.add_html("", visible=False)

    def widen(self, mode: str, values: Any) -> float:
        """Upper end of the scale of `mode`, raised to the 99.8 % quantile of `values` (n,)."""
        values = np.abs(np.asarray(values, float)).ravel()
        largest = float(np.quantile(values, 0.998)) if len(values) else 0.0
        self._highs[mode] = max(self._highs.get(mode, 0.0), largest)
        return self._highs[mode]

    def lengthen(self, force: float) -> float:
        """The force (N) of the longest arrow, raised to `force` (N)."""
        self._highs[CONTACT] = max(self._highs.get(CONTACT, 0.0), force)
        return self._highs[CONTACT]

    def forget(self) -> None:
        """Reset the scales."""
        self._highs.clear()

    def shading(self, frame: Frame, values: dict[int, FloatArray]) -> Shading:
        """Colours of `frame`, of its bodies by `values` in the unit of the colour mode; updates the legends."""
        mode = str(self._driver.value(self.mode))
        fractions: dict[int, FloatArray] = {}
        if values:
            high = self.widen(mode, np.concatenate(list(values.values())))
            fractions = {k: v / max(high, 1e-300) for k, v in values.items()}
        self._legend("body", mode, self._highs.get(mode, 0.0) if values else None)
        cables = self._fractions(TENSION, frame.tensions)
        chambers = self._fractions(PRESSURE, 1e-3 * frame.pressures)
        unit, arrow = self._arrows(frame)
        return Shading(fractions, cables, chambers, unit, arrow, bool(self._driver.value(self.see_through)))

    def _fractions(self, mode: str, values: FloatArray) -> FloatArray:
        high = self.widen(mode, values)
        self._legend(mode, mode, high if high > 1e-9 else None)
        return np.asarray(np.abs(values) / max(high, 1e-9))

    def _arrows(self, frame: Frame) -> tuple[float, float]:
        if self.arrows is None or not self._driver.value(self.arrows):
            self._legend(CONTACT, "", None)
            return 1.0, 0.0
        sizes = np.linalg.norm(frame.arrows[1], axis=1)
        high = self.lengthen(float(sizes.max(initial=0.0)))
        count = int((sizes > 0.01 * high).sum()) if high else 0
        if CONTACT in self._legends and self._texts.get(CONTACT) != (count, round(high, 3)):
            self._texts[CONTACT] = (count, round(high, 3))
            text = f"{count} pushing now; the longest arrow so far is {high:.3g} N"
            self._legends[CONTACT].content = f'<div style="margin:0 1em .4em;font-size:.75em;opacity:.8">{text}</div>'
            self._legends[CONTACT].visible = high > 0.0
        assert self.arrow_scale is not None
        return max(high, 1e-12), float(self._driver.value(self.arrow_scale))

    def _legend(self, key: str, label: str, high: float | None) -> None:
        """Show the scale from 0 to `high`, or none; sent only where it changed."""
        legend = self._legends.get(key)
        text = (label, None if high is None else f"{high:.3g}")
        if legend is None or self._texts.get(key) == text:
            return
        self._texts[key] = text
        legend.visible = high is not None
        if high is not None:
            legend.content = legend_html(high, label)


def legend_html(high: float, label: str) -> str:
    """The colour map from 0 to `high`, with what it stands for."""
    colors = np.rint(255.0 * map_colors((np.arange(BAND_COUNT) + 0.5) / BAND_COUNT)).astype(int)
    boxes = "".join(f'<span style="flex:1;background:rgb{tuple(color)}"></span>' for color in colors.tolist())
    bar = f'<div style="display:flex;height:.8em;border-radius:2px;overflow:hidden">{boxes}</div>'
    parts = "".join(f"<span>{escape(part)}</span>" for part in ("0", label, f"{high:.3g}"))
    ends = f'<div style="display:flex;justify-content:space-between">{parts}</div>'
    return f'<div style="margin:.1em 1em .5em;font-size:.75em">{bar}{ends}</div>'
