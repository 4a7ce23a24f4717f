"""What stands in the way of more load where a quasi-static solve stops, in a sentence."""

from __future__ import annotations

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
