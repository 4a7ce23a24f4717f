"""A ball led through a maze of four rings by turning it: linear models of every ring, two leads, the closed loop.

Bortoff, "Modeling contact and collisions for robotic assembly control", American Modelica Conference 2020, section 3,
figures 7 and 10.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np

from experiments.bortoff_plots import BLUE, GREEN, GREY, INK, RED, canvas, save
from experiments.report import Report
from pliant.hybrid import Solution, ball_maze, close_loop, integrate, lead, linearize, maze_controller, root_locus
from pliant.hybrid.maze import BALL_LEAD, MAZE_LEAD, maze_reference, ring_top

RINGS = range(1, 5)


def run(*, full: bool) -> Report:
    """Poles and zeros of each ring, stability with both leads, and the path of the ball to the centre."""
    begin = process_time()
    solution = _closed_loop()
    seconds = process_time() - begin
    unstable, zeros, slowest = [], [], []
    for ring in RINGS:
        model = _model(ring)
        unstable.append(round(float(model.poles().real.max()), 4))
        zeros.append(round(float(model[1, 0].zeros().real.max()), 4))
        slowest.append(round(float(_both(ring).poles().real.max()), 4))
    metrics: dict[str, Any] = {
        "reached_center": bool(solution.final.states == (8,)),
        "states": [event.target for event in solution.events],
        "event_times_s": [round(float(event.time), 3) for event in solution.events],
        "unstable_poles_per_s": unstable,
        "non_minimum_phase_zeros_per_s": zeros,
        "constraint_poles_per_s": round(float(np.sort(_model(1).poles().real)[:4].mean()), 4),
        "slowest_closed_loop_poles_per_s": slowest,
        "largest_ball_offset_mm": 1e3 * float(np.abs(solution.q[:, 1]).max()),
        "simulated_s": solution.final.time,
        "cpu_s": seconds,
    }
    paper = {
        "reached_center": True, "states": [1, 2, 3, 4, 5, 6, 7, 8], "unstable_poles_per_s": 1.4,
        "non_minimum_phase_zeros_per_s": 0.65, "constraint_poles_per_s": -5.0,
        "event_times_s": "0.1 touch, 27 ring 2",
    }  # fmt: skip
    return Report("Bortoff 2020, ball maze", metrics, paper, notes=_NOTES, pictures=pictures)


_NOTES = (
    "The paper gives no sizes. Its poles −1.1 and 1.4 and its zero 0.65 cannot come from its equations: without "
    "friction the poles are ±p, the zeros ±z, and a solid sphere has p/z ≤ √(7/5). Here p is 1.19 to 1.46 and z 1.15 "
    "to 1.43.",
    "The zeros and poles of both lead compensators are the paper's (0.6 and 10, 0.05 and 5 1/s); their gains belong to "
    "this maze (10 N, 0.015 N·m). One set serves all rings.",
    "(10a) is used as the distance of the ball from its ring, in m; (10b) and (11) with the misprints corrected.",
)


def _model(ring: int) -> Any:
    maze = ball_maze()
    return linearize(maze, ring_top(maze, ring), active=(f"ring {ring}", f"roll {ring}"))


def _both(ring: int) -> Any:
    balanced = close_loop(_model(ring), lead(*BALL_LEAD), output=0, sign=1.0)
    return close_loop(balanced, lead(*MAZE_LEAD), output=1, sign=1.0)


@cache
def _closed_loop() -> Solution:
    return integrate(ball_maze(), until=120.0, control=maze_controller(), sample=0.02)


def pictures(folder: Path) -> list[Path]:
    """Figures 7 and 10 of the paper, redrawn."""
    return [_loci(folder), _run(folder)]


def _loci(folder: Path) -> Path:
    title = "Figure 7: root loci of ball (top) and maze (bottom), ring 1"
    figure, axes = canvas(2, size=(6.8, 8.2), title=title, share=False)
    model = _model(1)
    balanced = close_loop(model, lead(*BALL_LEAD), output=0, sign=1.0)
    gains = np.concatenate([[0.0], np.geomspace(1e-3, 4.0, 1500)])
    plots = ((model, BALL_LEAD, 0, "$y_1 = q_2$", (-11.5, 3.0, -35.0, 35.0)),
             (balanced, MAZE_LEAD, 1, "$y_2 = q_1$", (-0.7, 1.4, -0.6, 0.6)))  # fmt: skip
    for one, (plant, (zero, pole, gain), output, text, window) in zip(axes[:, 0], plots, strict=True):
        branches = root_locus(plant, lead(zero, pole, gain), gains, output=output, sign=1.0)
        one.plot(branches.real, branches.imag, ".", color=BLUE, ms=1.6)
        one.plot(plant.poles().real, plant.poles().imag, "x", color=INK, ms=7, mew=1.6, label="poles")
        one.plot([-pole], [0.0], "x", color=INK, ms=7, mew=1.6)
        zeros = plant[output, 0].zeros()
        one.plot(zeros.real, zeros.imag, "o", mfc="none", color=INK, ms=7, mew=1.3, label="zeros")
        one.plot([-zero], [0.0], "o", mfc="none", color=INK, ms=7, mew=1.3)
        closed = root_locus(plant, lead(zero, pole, gain), [1.0], output=output, sign=1.0)[0]
        one.plot(closed.real, closed.imag, "s", color=RED, ms=4, label="closed loop")
        one.axvline(0.0, color=GREY, lw=0.8)
        one.set_xlim(window[:2])
        one.set_ylim(window[2:])
        one.set_title(f"lead for {text}: zero −{zero:g}, pole −{pole:g}, gain {gain:g}", size=9, color=INK)
        one.set_xlabel("real  (1/s)", size=9)
        one.set_ylabel("imaginary  (1/s)", size=9)
    axes[0, 0].legend(fontsize=8, loc="upper right")
    return save(figure, folder, "bortoff-maze-figure-7")


def _run(folder: Path) -> Path:
    solution = _closed_loop()
    t = solution.times
    figure, axes = canvas(4, size=(7.2, 8.4), title="Figure 10: the closed loop drives the ball through four gates")
    axes[0, 0].plot(t, solution.q[:, 0], color=BLUE, label="maze")
    axes[0, 0].plot(t, [maze_reference(x) for x in t], color=GREY, lw=0.9, ls="--", label="reference")
    axes[0, 0].set_ylabel("turn  (rad)", size=9)
    axes[0, 0].legend(fontsize=8)
    axes[1, 0].plot(t, 1e3 * solution.q[:, 1], color=BLUE)
    axes[1, 0].set_ylabel("ball x  (mm)", size=9)
    axes[2, 0].plot(t, 1e3 * solution.lam[:, ::2].sum(axis=1), color=RED, lw=1.0)
    axes[2, 0].set_ylabel("λ₁  (mN)", size=9)
    axes[3, 0].step(t, solution.states[:, 0], color=GREEN, where="post")
    axes[3, 0].set_ylabel("contact", size=9)
    axes[3, 0].set_yticks(range(9))
    axes[3, 0].set_xlabel("t  (s)", size=9)
    return save(figure, folder, "bortoff-maze-figure-10")
