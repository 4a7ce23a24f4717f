"""Control design with contact: linearise a maze with the ball on a ring, design two lead compensators, close the loop.

The ball is unstable on top of its ring, and the maze that balances it must also rotate: one input, two outputs. The
first compensator balances the ball. The remaining plant has a zero in the right half plane; a slow second compensator
rotates the maze. The design is made on the outer ring, checked on all four, and run on the nonlinear maze with its
gates.
"""

import numpy as np

import pliant as pl
from pliant.hybrid.maze import ring_top

maze = pl.hybrid.ball_maze()
models = [pl.hybrid.linearize(maze, ring_top(maze, k), active=(f"ring {k}", f"roll {k}")) for k in range(1, 5)]
plant = models[0]
print("poles on the outer ring", np.round(np.sort(plant.poles().real), 3), "1/s")

ball_lead = pl.hybrid.lead(zero=0.6, pole=10.0, gain=10.0)  # N for m of the ball; both loops need positive feedback
gains = np.linspace(0.0, 2.0, 81)
locus = pl.hybrid.root_locus(plant, ball_lead, gains, output=0, sign=1.0)
rising = (locus.real < 1e-3).all(axis=1)  # all but the double pole of the free maze turn stable
print(f"the ball is balanced from a gain of {10.0 * gains[rising.argmax()]:.2f} N/m on")

balanced = pl.hybrid.close_loop(plant, ball_lead, output=0, sign=1.0)
print("zero in the right half plane", np.round(balanced[1, 0].zeros().real.max(), 3), "1/s")
maze_lead = pl.hybrid.lead(zero=0.05, pole=5.0, gain=0.015)  # N·m for rad of the maze
slowest = []
for model in models:
    inner = pl.hybrid.close_loop(model, ball_lead, output=0, sign=1.0)
    slowest.append(pl.hybrid.close_loop(inner, maze_lead, output=1, sign=1.0).poles().real.max())
print("slowest closed-loop pole on each ring", np.round(slowest, 3), "1/s")

drive = pl.hybrid.maze_controller(ball_lead=(0.6, 10.0, 10.0), maze_lead=(0.05, 5.0, 0.015))
run = pl.hybrid.integrate(maze, until=120.0, control=drive, sample=0.05)
for event in run.events:
    print(f"{event.time:8.3f} s   state {event.target}: {event.cause}")

assert plant.poles().real.max() > 1.0, "the ball must be unstable before it is controlled"
assert max(slowest) < -0.05, f"one set of gains must stabilise every ring, got {slowest}"
assert [event.target for event in run.events] == [1, 2, 3, 4, 5, 6, 7, 8], "the ball must pass all gates in order"
assert run.status is pl.hybrid.Outcome.STOPPED, run.status.text
