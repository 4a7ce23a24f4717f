"""Two robots on one page: a trunk that reaches, by inverse control, and a gripper that lifts a cube, by friction.

They are simulated one after the other, each in its own world, and shown side by side in the same time.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from demos import lift, trunk
from demos.outcome import Outcome, stages_table
from demos.recording import record
from pliant.viewer.export_surfaces import Shown
from pliant.viewer.page import write_page
from pliant.viewer.picture import write_picture

SPACING = np.array([0.16, 0.0, 0.0])
"""From the trunk to the gripper, m."""


def run(out: Path) -> Outcome:
    """Simulate both, write one picture, one page and both runs into `out`."""
    reaching, lifting = trunk.build(), lift.build()
    reached = record(reaching, trunk.check, until=trunk.DURATION)
    lifted = record(lifting, lift.check, until=lift.DURATION)
    shown = beside(trunk.surfaces(reaching, reached), lift.surfaces(lifting, lifted), SPACING)
    bodies = [reaching.robot.body, *(one.body for one in lifting.robot.fingers)]
    cells = sum(body.mesh.cell_count for body in bodies)
    error = 1e3 * float(trunk.errors(reached, reaching)[reached.times > trunk.START].mean())
    title = "Reach and lift"
    caption = (
        "Left: told where its tip is to be, the trunk finds the pull of its eight cables. Right: a soft gripper lifts "
        "a cube by friction; arrows are the forces on it."
    )
    stats = {
        "trunk": f"{_step(reached)} a step, {reached.real_time_factor:.1f}× real time",
        "gripper": f"{_step(lifted)} a step, {lifted.real_time_factor:.1f}× real time",
        "error of the tip": f"{error:.2f} mm",
        "time step": f"{1e3 * trunk.DT:.0f} ms",
        "tetrahedra": f"{cells}",
    }
    held = int(np.searchsorted(shown.times, lift.HOLDING))
    picture = write_picture(
        out / "tour.png", surfaces=shown.surfaces, frames=[held], times=shown.times, title=title, size=(1120, 630)
    )
    page = write_page(
        out / "tour.html", surfaces=shown.surfaces, times=shown.times, title=title, caption=caption, stats=stats,
        floor=0.0,
    )  # fmt: skip
    saved = (reached.save(out / "tour-trunk.npz"), lifted.save(out / "tour-lift.npz"))
    table = stages_table({"trunk": reached, "gripper": lifted}, title=f"4 soft bodies, {cells} tetrahedra")
    return Outcome(lifted, table, (picture, page, *saved), page=page)


def beside(first: Shown, second: Shown, offset: Any) -> Shown:
    """Both, the second moved by `offset` (3,) m, over the instants that they share."""
    moved = [replace(surface, frames=surface.frames + offset) for surface in second.surfaces]
    return Shown((*first.surfaces, *moved), first.times, first.frames, first.floor)


def _step(recorded: Any) -> str:
    return f"{1e3 * float(np.median(recorded.step_seconds)):.1f} ms"
