"""The tables of what was tried and what survived."""

from __future__ import annotations

from collections.abc import Iterable

from benchmarks.mutate.edit import ROOMS, Edit, reason
from benchmarks.mutate.trial import Outcome

Result = tuple[Edit, Outcome]


def table(results: Iterable[Result]) -> str:
    """A row for each room: trials, how they ended, and the fraction noticed of those that are not justified."""
    rooms: dict[str, list[Result]] = {}
    for edit, outcome in results:
        if outcome.verdict != "unswappable":
            rooms.setdefault(edit.room, []).append((edit, outcome))
    lines = [
        "| room | trials | killed by tests of the room | by other tests | timeouts | survived | of these justified | "
        "noticed of those not justified |",
        "|---|---|---|---|---|---|---|---|",
    ]
    ordered = sorted(rooms, key=lambda room: list(ROOMS).index(room) if room in ROOMS else len(ROOMS))
    lines += [_row(room, rooms[room]) for room in ordered]
    if len(rooms) > 1:
        lines.append(_row("all", [one for several in rooms.values() for one in several]))
    return "\n".join(lines)


def _row(name: str, results: list[Result]) -> str:
    survivors = [edit for edit, outcome in results if outcome.verdict == "survived"]
    justified = sum(reason(edit) is not None for edit in survivors)
    killed = [outcome.own_room for _, outcome in results if outcome.verdict == "killed"]
    timeouts = sum(outcome.verdict == "timeout" for _, outcome in results)
    counted = len(results) - justified
    rate = f"{(len(killed) + timeouts) / counted:.0%}" if counted else "–"
    cells = [len(results), sum(killed), len(killed) - sum(killed), timeouts, len(survivors), justified, rate]
    return f"| {name} | {' | '.join(map(str, cells))} |"


def survivors(results: Iterable[Result]) -> str:
    """The survivors that no reason is given for, with their changes."""
    left = [edit for edit, outcome in results if outcome.verdict == "survived" and reason(edit) is None]
    return "\n\n".join(f"{edit.room}: {edit.function or 'top of the module'}\n{edit.diff}" for edit in left)
