"""A delta robot touches a brick softly: its position gain fades to zero before contact, and the brick does not move.

Bortoff, "Modeling contact and collisions for robotic assembly control", American Modelica Conference 2020, section 4,
figure 13.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np

from experiments.bortoff_plots import BLUE, GREEN, GREY, RED, canvas, save
from experiments.report import Report
from pliant.hybrid import Mode, Solution, circle_margin, delta_robot, integrate, soft_touch
from pliant.hybrid.delta_control import stiffness_bound

FINGER, UNTIL = 3, 16.0  # index of the finger's row; s


def run(*, full: bool) -> Report:
    """The paper's approach, and the same with a fixed high gain."""
    begin = process_time()
    soft = _soft()
    seconds = process_time() - begin
    stiff = _stiff()
    robot = soft.system
    arms = robot.details["arms"]
    touches = [event for event in soft.events if event.name == "finger"]
    drift = max(np.abs(arms.closure(q[:3], q[3:6])).max() for q in soft.q[::20])
    there = arms.forward(arms.inverse(robot.details["start"]))
    metrics: dict[str, Any] = {
        "contact_s": float(touches[0].time),
        "peak_force_mN": 1e3 * float(soft.lam[:, FINGER].max()),
        "steady_force_mN": 1e3 * float(soft.final.lam[FINGER]),
        "bounces": sum(event.target == Mode.BALLISTIC for event in touches),
        "brick_motion_mm": 1e3 * float(np.abs(soft.q[:, 6:]).max()),
        "constraint_drift_m": float(drift),
        "kinematics_error_m": float(np.abs(there - robot.details["start"]).max()),
        "brick_motion_with_high_gain_mm": 1e3 * float(np.abs(stiff.q[:, 6:]).max()),
        "peak_force_with_high_gain_mN": 1e3 * float(stiff.lam[:, FINGER].max()),
        "circle_margin_at_the_bound": circle_margin(200.0, 200.0**2),
        "cpu_per_simulated_s": seconds / soft.final.time,
    }
    paper = {"contact_s": 12.0, "peak_force_mN": 90.0, "steady_force_mN": 40.0, "bounces": 0, "brick_motion_mm": 0.0}
    return Report("Bortoff 2020, soft touch of a delta robot", metrics, paper, notes=_NOTES, pictures=pictures)


_NOTES = (
    "The paper gives neither sizes nor masses: the robot is a small one of our own (0.69 kg at the wrist), the brick "
    "weighs 40 g and has a friction coefficient of 0.35, which holds 137 mN.",
    "A steady 40 mN at 0.2 mm/s fixes the damping gain at 200 N·s/m. The peak is the jump of λ at touch, mass times α₁ "
    "times speed: α₁ = 600 1/s gives 83 mN.",
    "High gain: the position gain stays at 99 % of its bound kd². The force then grows with the position error until "
    "the brick slides.",
)


@cache
def _soft() -> Solution:
    robot = delta_robot()
    return integrate(robot, until=UNTIL, control=soft_touch(robot), order=5, rtol=1e-8, sample=5e-3)


@cache
def _stiff() -> Solution:
    robot = delta_robot()
    control = soft_touch(robot, stiffness=0.99 * stiffness_bound(robot, 200.0), move_until=0.8, standoff=2e-4)
    return integrate(robot, until=2.6, control=control, order=5, rtol=1e-8, sample=5e-3)


def pictures(folder: Path) -> list[Path]:
    """Figure 13 of the paper, redrawn, and its counterpart with a high gain."""
    return [
        _figure(folder, _soft(), "Figure 13: soft collision and contact", "bortoff-delta-figure-13"),
        _figure(folder, _stiff(), "The same with a fixed high gain: the brick slides", "bortoff-delta-high-gain"),
    ]


def _figure(folder: Path, solution: Solution, title: str, name: str) -> Path:
    t, details = solution.times, solution.system.details
    figure, axes = canvas(4, size=(6.8, 8.2), title=title)
    gap = details["distance"] + solution.q[:, 6] - (solution.q[:, 3] - details["start"][0])
    axes[0, 0].plot(t, 1e3 * gap, color=BLUE)
    axes[0, 0].set_ylabel("distance  (mm)", size=9)
    axes[1, 0].plot(t, 1e3 * solution.v[:, 3], color=BLUE)
    axes[1, 0].axhline(0.2, color=GREY, lw=0.8, ls="--")
    axes[1, 0].set_ylabel("wrist  (mm/s)", size=9)
    axes[1, 0].set_ylim(-0.2, 1.0)
    axes[2, 0].plot(t, 1e3 * solution.lam[:, FINGER], color=RED, lw=1.0)
    axes[2, 0].set_ylabel("force  (mN)", size=9)
    axes[3, 0].plot(t, 1e3 * solution.q[:, 6], color=GREEN)
    axes[3, 0].set_ylabel("brick x  (mm)", size=9)
    if np.abs(solution.q[:, 6]).max() < 1e-6:
        axes[3, 0].set_ylim(-0.01, 0.01)
    axes[3, 0].set_xlabel("t  (s)", size=9)
    return save(figure, folder, name)
