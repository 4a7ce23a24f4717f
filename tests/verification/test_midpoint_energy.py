"""Implicit midpoint gains no energy: random robots of every kind of body, driven at random, with contacts.

The balance of a run is E − Σ λ Δδ: kinetic, elastic and potential energy less the work of the actuators, by forces and
displacements that the steps report. Damping, friction and impacts take from it; nothing may add to it. A command by
displacement whose rate jumps does work at its impact that λ Δδ does not count: joints are balanced where they rest.
"""

import warnings

import numpy as np
import pytest

import pliant as pl
from tests.verification.random_motions import KINDS, motion

MOST = 0.05
"""Reversible errors of undamped motions at 20 ms, over the largest energy that moves."""
QUICK = [
    (4, "beam"),
    (7, "beam"),
    (13, "beam"),
    (9, "rod"),
    (13, "soft bar"),
    (2, "chamber"),
    (7, "mechanism"),
    (13, "thrown"),
]
ADDED = "added energy in this step"


def balance(made):
    """E − Σ λ Δδ before and after each step, J, the largest energy that moves, and whether a step said that it added
    energy, or failed.
    """
    world, step = made.world, pl.ImplicitMidpoint(made.dt, tolerance=1e-8)
    state, work, moved, told = world.initial_state(), 0.0, {}, False
    energy = world.energy(state)
    found, work_of, kinetic = [energy["total"]], [0.0], [energy["kinetic"]]
    for k in range(len(made.amounts)):
        controls = made.controls(k)
        try:
            state, info = step(world, state, controls)
        except pl.errors.ConvergenceError:
            told = True
            break
        for handle in controls:
            there, force = info.actuation(handle)
            work += force * (there - moved.get(handle, 0.0))
            moved[handle] = there
        told = told or any(ADDED in text for text in info.warnings)
        energy = world.energy(state)
        found.append(energy["total"] - work)
        work_of.append(work)
        kinetic.append(energy["kinetic"])
    total = np.array(found) + work_of
    return np.array(found), max(np.ptp(total), np.abs(work_of).max(), max(kinetic)), told


def gained(seed, kind):
    """The largest rise of the balance over the energy that moves, and whether the steps said so."""
    made = motion(seed, kind)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", pl.errors.PliantWarning)
        found, scale, told = balance(made)
    if kind == "mechanism":
        found = found[made.rest :]
    rise = (found - np.minimum.accumulate(found)).max() if len(found) else 0.0
    print(f"{made.text}: gained {rise / scale:.1e} of {scale:.1e} J{', and said so' * told}")
    return rise / scale, told


@pytest.mark.parametrize(("seed", "kind"), QUICK)
def test_a_random_motion_gains_no_energy(seed, kind):
    assert gained(seed, kind)[0] < MOST


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(16))
def test_random_motions_gain_no_energy_or_say_so(seed, kind):
    rise, told = gained(seed, kind)
    assert rise < 2.0 * MOST or told
