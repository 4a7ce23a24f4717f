"""Pieces of the panel in HTML: tables of values, and the strip that shows where the time of a step goes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape

from pliant.viewer.budget import Budget

_STAGES = ("#5b82d6", "#4fae92", "#e08a5b", "#c7a548", "#9277c9", "#d6688f", "#6fa8c9", "#9aa2ad")


def table_html(rows: Sequence[tuple[str, str]], *, red: str = "") -> str:
    """A table of names and values for the panel; the value of the row called `red` is red."""
    cells = "".join(
        f'<tr{" class=pliant-slow" if name == red else ""}><th scope="row">{escape(name)}</th>'
        f"<td>{escape(value)}</td></tr>"
        for name, value in rows
    )
    return f'<table class="pliant-table">{cells}</table>'


def budget_html(budget: Budget) -> str:
    """What a step takes of its budget, red where that is too much."""
    style = "" if budget.fits else ' style="border-left:3px solid #e03131;padding-left:.6em"'
    return f'<div class="pliant-note"{style}>{escape(budget.text())}</div>'


def strip_html(stages: Mapping[str, float], seconds: Sequence[float], budget: float | None) -> str:
    """Stages (s) of a step as one bar, and the last `seconds` of steps against their `budget` (s), if any."""
    total = max(sum(stages.values()), 1e-9)
    shown = sorted(stages.items(), key=lambda item: -item[1])
    parts: list[str] = []
    names: list[str] = []
    for k, (name, span) in enumerate(shown):
        color = _STAGES[min(k, len(_STAGES) - 1)]
        parts.append(f'<span style="width:{100.0 * span / total:.1f}%;background:{color}"></span>')
        if span > 0.02 * total and len(names) < 6:
            names.append(f'<span><i style="color:{color}">■</i> {escape(name)} {1e3 * span:.2f}</span>')
    told = ", ".join(f"{name} {1e3 * span:.2f} ms" for name, span in shown[:6])
    look = "display:flex;height:.7em;border-radius:2px;overflow:hidden"
    bar = f'<div role="img" aria-label="{escape(told)}" style="{look}">{"".join(parts)}</div>'
    legend = f'<div style="display:flex;flex-wrap:wrap;gap:0 .8em">{"".join(names)}</div>'
    return (
        f'<div style="margin:.2em 1em .6em;font-size:.72em">{_history(seconds, budget)}'
        f"{bar}{legend}<div style='opacity:.7'>stages of a step (ms)</div></div>"
    )


def _history(seconds: Sequence[float], budget: float | None) -> str:
    """Times of the last steps as a curve, with a line at what real time allows."""
    if len(seconds) < 2:
        return ""
    top = max(1.2 * (budget or 0.0), *seconds)
    width, height = 220.0, 34.0
    step = width / (len(seconds) - 1)
    curve = " ".join(f"{k * step:.1f},{height * (1.0 - s / top):.1f}" for k, s in enumerate(seconds))
    line = allowed = ""
    if budget is not None:
        y = height * (1.0 - budget / top)
        line = f'<line x1="0" x2="{width:g}" y1="{y:.1f}" y2="{y:.1f}" stroke="#c92a2a" stroke-dasharray="4 3"/>'
        allowed = f"<span>– – real time: {1e3 * budget:.3g} ms a step</span>"
    return (
        f'<svg viewBox="0 0 {width:g} {height:g}" style="width:100%;height:3em;display:block" '
        f'preserveAspectRatio="none">{line}'
        f'<polyline points="{curve}" fill="none" stroke="#5b82d6" stroke-width="1.2"/></svg>'
        f'<div style="display:flex;justify-content:space-between;opacity:.7"><span>last {len(seconds)} steps</span>'
        f"{allowed}</div>"
    )
