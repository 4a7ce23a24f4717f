"""What stands in the way of more load where a quasi-static solve stops, in a sentence."""

from __future__ import annotations

from typing import Any

import numpy as np

from pliant.core.types import BoolArray, FloatArray
from pliant.stepping.equilibrium import Equilibrium
from pliant.world import State

COMPRESSED = 0.9
"""Least det F of a body in the last equilibrium below which elements that invert beyond it were pressed to: those of a
balloon beyond its greatest pressure invert in a motion that nothing stops.
"""


def closed_pieces(equilibrium: Equilibrium, state: State) -> str | None:
    """Cables that have closed a gap in the last equilibrium, `state`, or where the solve stopped: their direction there
    is lost, and dynamics goes to and fro as well.
    """
    step = equilibrium.step
    tried = [trial.positions() for trial in step.bodies.trials]
    known = (each.obstruction(state.q) or each.obstruction(tried) for each in step.world.constraints)
    found = [text for text in known if text is not None]
    return "; ".join(found[:3]) or None


def slipping(equilibrium: Equilibrium) -> str | None:
    """Bodies that only friction could hold in their free directions and that slip at every contact that pushes, where
    the solve stopped: more load would move them on without an equilibrium.
    """
    step, said = equilibrium.step, []
    assembly = step.assembly
    if assembly is None or not len(step.lam):
        return None
    pairs: list[tuple[Any, FloatArray]] = []
    for constraint, place in zip(step.world.constraints, assembly.slices, strict=False):
        pair: Any = constraint
        if pair.is_contact and pair.mu and place.stop > place.start:
            pairs.append((pair, step.lam[place].reshape(-1, 3)))
    for index, model in enumerate(step.world.models):
        slips = [_at_limit(pair, forces) for pair, forces in pairs if index in (pair.a.index, pair.b.index)]
        every = np.concatenate([*slips, np.zeros(0, np.bool_)])
        others = any(each.constrains(index) and not each.is_contact for each in step.world.constraints)
        if equilibrium.loose(index) and not others and len(every) and every.all():
            said.append(f"{model.name!r} slips at all of its contacts ({len(every)}) and friction no longer holds it")
    return "; ".join(said) or None


def _at_limit(pair: Any, forces: FloatArray) -> BoolArray:
    """Which contacts that push, of `forces` (m, 3) N, are at the limit of friction."""
    pushing = forces[forces[:, 0] > 1e-9 * max(float(forces[:, 0].max()), 1e-300)]
    slips: BoolArray = np.hypot(pushing[:, 1], pushing[:, 2]) >= (1.0 - 1e-3) * pair.mu * pushing[:, 0]
    return slips


def collapse(equilibrium: Equilibrium, state: State) -> str | None:
    """Bodies whose elements would invert, with their least det F in the last equilibrium, `state`."""
    said = []
    for model, q in zip(state.world.models, state.q, strict=True):
        if model.name in equilibrium.collapsed and (least := model.least_volume_ratio(q)) < COMPRESSED:
            said.append(f"elements of {model.name!r} collapse (least det F {least:.2f} in `result`)")
    if not said:
        return None
    return (
        f"{', '.join(said)}; a law that resists it without bound (`pl.materials.NeoHookean`), a finer mesh, or contact "
        "of the parts that fold would go on"
    )
