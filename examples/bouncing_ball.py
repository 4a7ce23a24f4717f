"""Events, then linearization: a ball comes to rest on the floor, and the contact mode is linearised there.

The poles are those of the stabilised constraint, s² + 20 s + 100, for any mass of the ball.
"""

import numpy as np

import pliant as pl

ball = pl.hybrid.bouncing_ball(alpha=(100.0, 20.0, 1e6))
sol = pl.hybrid.integrate(ball, until=3.0)
lin = pl.hybrid.linearize(ball, sol.final, active="contact")

for event in sol.events:
    print(f"{event.time:8.5f} s   {event.name}: {event.source} → {event.target}, {event.cause}")
print(f"rests at h = {sol.final.q[0]:.1e} m with {sol.final.lam[0]:.6f} N; poles {np.round(lin.poles().real, 3)} 1/s")

assert abs(sol.final.lam[0] - 9.81) < 1e-5, f"the floor must carry the ball, got {sol.final.lam[0]} N"
assert np.abs(lin.poles() + 10.0).max() < 1e-2, f"the poles must be −10 twice, got {lin.poles()}"
