"""Which integrator for hybrid systems: our loop of order 5 and 8, SciPy's solve_ivp and CVODE, on the bouncing ball.

All take the same right-hand side, that of `pliant.hybrid`, with which a system of any kind comes, and do ten seconds of
the ball with all events located, at the same tolerance. Ours also keeps samples, modes and the event log. Run it with
`python -m benchmarks.hybrid_integrators`; times are the best of five.
"""

from time import process_time

import numpy as np
from scipy.integrate import solve_ivp

import pliant as pl
from pliant.hybrid.contact_laws import Mode
from pliant.hybrid.controllers import Flow
from pliant.hybrid.equations import Equations
from pliant.hybrid.initial_state import initial_discrete
from pliant.hybrid.mode_dynamics import ModeDynamics

UNTIL, TOLERANCE = 10.0, 1e-9  # s, and rtol of every integrator


def flows(damping):
    """The right-hand sides of the ball, free and in contact."""
    equations = Equations(pl.hybrid.bouncing_ball(alpha=(100.0, damping, 1e6)))
    out = []
    for mode in (Mode.FREE, Mode.CONTACT):
        discrete = initial_discrete(equations, np.ones(1)).copy()
        discrete.modes[:] = mode
        out.append(Flow(ModeDynamics(equations, discrete), (), None))
    return out


def guard(flow, contact):
    """The event function that ends a mode: the gap, or the force."""

    def force(t, y):
        flow.rate(t, y)
        return flow.dynamics.lam[0]

    return force if contact else lambda t, y: y[0]


def by_scipy(damping, method):
    """`solve_ivp` with a terminal event, restarted in the next mode."""
    modes, t, y, contact = flows(damping), 0.0, np.array([1.0, 0.0]), False
    while t < UNTIL:
        flow = modes[contact]
        event = guard(flow, contact)
        event.terminal, event.direction = True, -1.0
        options = {"rtol": TOLERANCE, "atol": 0.1 * TOLERANCE, "events": event, "dense_output": True}
        part = solve_ivp(flow.rate, (t, UNTIL), y, method=method, **options)
        t, y = part.t[-1], part.y[:, -1]
        contact = not contact if len(part.t_events[0]) else contact
    return y


def by_cvode(damping):
    """CVODE of scikit-sundae with root finding, restarted in the next mode."""
    from sksundae.cvode import CVODE

    modes, t, y, contact = flows(damping), 0.0, np.array([1.0, 0.0]), False
    while t < UNTIL:
        part = _cvode(CVODE, modes[contact], contact, t, y)
        t, y = float(part.t[-1]), np.array(part.y[-1])
        contact = not contact if t < UNTIL else contact
    return y


def _cvode(solver, flow, contact, t, y):
    event = guard(flow, contact)

    def fill(t, y, out):
        out[:] = flow.rate(t, y)

    def watch(t, y, out):
        out[0] = event(t, y)

    watch.terminal, watch.direction = [True], [-1]
    options = {"rtol": TOLERANCE, "atol": 0.1 * TOLERANCE, "eventsfn": watch, "num_events": 1}
    return solver(fill, method="Adams", **options).solve(np.array([t, UNTIL]), y)


def ours(damping, order, rtol=TOLERANCE):
    """`pl.hybrid.integrate`, with its samples, its state machine and its event log."""
    ball = pl.hybrid.bouncing_ball(alpha=(100.0, damping, 1e6))
    final = pl.hybrid.integrate(ball, until=UNTIL, order=order, rtol=rtol, atol=0.1 * rtol).final
    return np.concatenate([final.q, final.v])


CANDIDATES = {
    "Pliant, order 8": lambda damping: ours(damping, 8),
    "Pliant, order 5": lambda damping: ours(damping, 5),
    "solve_ivp DOP853": lambda damping: by_scipy(damping, "DOP853"),
    "solve_ivp RK45": lambda damping: by_scipy(damping, "RK45"),
    "solve_ivp LSODA": lambda damping: by_scipy(damping, "LSODA"),
    "CVODE Adams": by_cvode,
}


def main():
    """Print time and error of each integrator."""
    for damping in (0.0, 20.0):
        exact = ours(damping, 8, 1e-13)
        print(f"bouncing ball, {UNTIL:g} s, α₁ = {damping:g}")
        for name, run in CANDIDATES.items():
            best, error = np.inf, np.inf
            for _ in range(5):
                begin = process_time()
                error = np.abs(run(damping) - exact).max()
                best = min(best, process_time() - begin)
            print(f"  {name:<18}{1e3 * best:8.1f} ms   error {error:.1e}")


if __name__ == "__main__":
    main()
