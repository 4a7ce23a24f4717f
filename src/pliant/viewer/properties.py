"""Materials and friction of a world: sliders in the panel, and the world compiled with other values."""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from dataclasses import fields, replace
from typing import Any

import numpy as np

from pliant.core.errors import InputError
from pliant.materials import Material
from pliant.models.volume import Volume
from pliant.viewer.driver import Driver
from pliant.world import World
from pliant.world.scene import Scene
from pliant.world.world import Pair

MODULI = ("young", "c1", "c2", "c3", "m", "bulk")
"""Fields of materials that are stiffnesses, Pa."""
_FACTORS = (0.2, 5.0)
"""Range of a stiffness slider relative to the modulus of the world: silicones of one robot differ by less."""
_LARGEST_FRICTION = 1.5
"""Upper end of a friction slider: rubber on dry surfaces."""


class Properties:
    """A slider for the stiffness of each material and the friction of each pair, and a button that applies them."""

    def __init__(self, gui: Any, driver: Driver, viewer: Any) -> None:
        world = viewer.subject.original
        self._driver, self._viewer = driver, viewer
        self._materials = materials_of(world)
        self.stiffness: list[Any] = []
        self.friction: list[Any] = []
        if world.reductions:
            note = "a reduced world keeps the materials and friction of its training"
            gui.add_html(f'<div style="margin:0 1em .5em;font-size:.8em;opacity:.75">{note}</div>')
            return
        for name, material in self._materials:
            value = _shown_modulus(material)
            low, high = (factor * value for factor in _FACTORS)
            young = getattr(material, "young", None)
            label = f"Young's modulus of {name} (kPa)" if young else f"stiffness of {name} (×)"
            step = float(f"{value / 100.0:.1g}")
            self.stiffness.append(driver.guard(gui.add_slider(label, _round(low), _round(high), step, _round(value))))
        for pair in world.source.pairs:
            name = pair.a.name if pair.a is pair.b else f"{pair.a.name} – {pair.b.name}"
            high = max(_LARGEST_FRICTION, pair.friction)
            slider = gui.add_slider(f"friction {name}", 0.0, high, 0.05, float(pair.friction))
            self.friction.append(driver.guard(slider))
        if self.stiffness or self.friction:
            self.button = driver.press(gui.add_button("Apply, and start over", icon="refresh"), lambda _: self.apply())

    def apply(self) -> None:
        """Restart with a world of the values of the sliders."""
        pairs = zip(self._materials, self.stiffness, strict=True)
        factors = [self._driver.value(slider) / _shown_modulus(material) for (_, material), slider in pairs]
        self._viewer.rebuild(factors, [self._driver.value(slider) for slider in self.friction])


def _round(value: float) -> float:
    """`value` to four digits: what a slider shows."""
    return float(f"{value:.4g}") if np.isfinite(value) else value


def _shown_modulus(material: Material) -> float:
    """Young's modulus in kPa, or 1 where a material has none: then the slider shows a factor."""
    young = getattr(material, "young", None)
    return 1e-3 * young if young else 1.0


def materials_of(world: World) -> list[tuple[str, Material]]:
    """Names and materials of the volumes of a world, each material once."""
    listed: dict[int, tuple[str, Material]] = {}
    for thing, _ in world.source.things:
        if isinstance(thing, Volume):
            listed.setdefault(id(thing.material), (thing.name, thing.material))
            for _, material in thing.inclusions:
                listed.setdefault(id(material), (f"{thing.name}, other part", material))
    return list(listed.values())


def stiffened(material: Material, factor: float) -> Material:
    """`material` with all its moduli times `factor`; those of the base of a material with memory."""
    base = getattr(material, "base", None)
    if base is not None:
        return replace(material, base=stiffened(base, factor))  # type: ignore[call-arg]
    own = {item.name: getattr(material, item.name) for item in fields(material) if item.name in MODULI}  # type: ignore[arg-type]
    return replace(material, **{name: factor * value for name, value in own.items() if value is not None})  # type: ignore[type-var]


def rebuilt(world: World, *, stiffness: Sequence[float], friction: Sequence[float], others: Any) -> tuple[World, Any]:
    """`world` compiled with the moduli of its materials times `stiffness` (in the order of `materials_of`) and the
    coefficients `friction` of its pairs; and copies of `others` that refer to the new bodies and actuators.
    """
    if world.reductions:
        raise InputError("a reduced world keeps its materials and friction: its modes were trained with them")
    memo: dict[int, Any] = {}
    for (_, material), factor in zip(materials_of(world), stiffness, strict=True):
        memo[id(material)] = stiffened(material, factor)
    things, pairs, translated = deepcopy((world.source.things, world.source.pairs, others), memo)
    changed: list[Pair] = [replace(p, friction=float(mu)) for p, mu in zip(pairs, friction, strict=True)]
    return Scene.of(world.gravity, things, changed).compile(), translated
