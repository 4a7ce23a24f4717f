"""Verification of runs: which array differs most and from where, what counts as passed, and what is said."""

from dataclasses import replace

import numpy as np
import pytest

import pliant as pl
from pliant.core.provenance import provenance
from pliant.record.verification import TOLERANCE, Verification, verified
from scenes import swinging_bar


@pytest.fixture(scope="module")
def run():
    """A bar with a cable that swings onto a floor, 4 steps."""
    scene, body, cable = swinging_bar(max_force=5.0)
    scene.collide(body, scene.add(pl.Obstacle.plane(point=(0, 0, -0.001), name="floor")))
    made = pl.simulate(scene.compile(), pl.ImplicitEuler(0.01), until=0.04, control=lambda t, s: {cable: pl.Force(1.0)})
    return replace(made, made=provenance())


def changed(values, step, factor):
    made = np.array(values)
    made[step:] *= 1.0 + factor
    return made


def replaying(monkeypatch, run, **arrays):
    """The run, whose replay has other `arrays`."""
    again = replace(run, **arrays)
    monkeypatch.setattr(type(run), "replay", lambda self: again)
    return run


def test_a_run_replays_bit_for_bit(run):
    found = verified(run)
    assert found == Verification(4, (), None, None, None)
    assert found.identical
    assert found.passed
    assert found.text() == "replays bit for bit, 4 steps."


@pytest.mark.parametrize("array", ["times", "positions", "motions", "forces"])
@pytest.mark.parametrize("step", [1, 3])
def test_the_array_that_differs_is_named_with_the_step_and_the_size(monkeypatch, run, array, step):
    """Relative to its largest entry; one cable, then the pair of body and floor, are forces of their names."""
    names = {
        "times": "times",
        "positions": "positions of 'beam'",
        "motions": "velocities of 'beam'",
        "forces": "forces of 'cable'",
    }
    given = getattr(run, array)
    if array == "times":
        other = changed(given, step, 1e-3)
    elif array == "forces":
        other = (replace(given[0], values=changed(given[0].values, step, 1e-3)), *given[1:])
    else:
        other = (changed(given[0], step, 1e-3),)
    found = verified(replaying(monkeypatch, run, **{array: other}))
    assert (found.array, found.step) == (names[array], step)
    before, after = (given, other) if array == "times" else (given[0], other[0])
    before, after = (getattr(one, "values", one) for one in (before, after))
    assert found.difference == pytest.approx(np.abs(after - before).max() / np.abs(before).max())
    assert not found.identical
    assert not found.passed
    assert found.text().startswith(f"does not replay bit for bit: {names[array]} differ by {found.difference:.3g} of")
    assert f"first at step {step} of 4. Version, platform and processor are those of the run." in found.text()


def test_the_array_that_differs_most_is_named(monkeypatch, run):
    pair = run.forces[1]
    assert np.abs(pair.values).max() > 0.0
    forces = (
        replace(run.forces[0], values=changed(run.forces[0].values, 1, 1e-5)),
        replace(pair, values=2.0 * pair.values),
    )
    positions = (changed(run.positions[0], 2, 1e-3),)
    found = verified(replaying(monkeypatch, run, forces=forces, positions=positions))
    assert found.array == "forces of 'beam' – 'floor'"
    assert found.difference == pytest.approx(1.0)


def test_another_shape_is_another_run(monkeypatch, run):
    found = verified(replaying(monkeypatch, run, positions=(run.positions[0][:-1],)))
    assert (found.array, found.step, found.difference) == ("positions of 'beam'", 0, np.inf)


@pytest.mark.parametrize(("tolerance", "passes"), [(1e-3, True), (1e-6, False)])
def test_runs_from_elsewhere_pass_within_the_tolerance(monkeypatch, run, tolerance, passes):
    """Those made here have to replay to the bit."""
    other = {"positions": (changed(run.positions[0], 2, 1e-5),), "made": {**run.made, "platform": "Plan 9"}}
    there = replace(run, made=other["made"])
    found = verified(replaying(monkeypatch, there, **other), tolerance=tolerance)
    assert found.passed is passes
    assert found.tolerance == tolerance
    assert len(found.elsewhere) == 1
    verdict = f"{'replays' if passes else 'does not replay'} within {tolerance:g}: positions of 'beam' differ by"
    assert found.text().startswith(verdict)
    assert found.text().endswith(f"The run is from elsewhere ({found.elsewhere[0]}).")
    same = verified(replaying(monkeypatch, there), tolerance=tolerance)
    assert same.passed
    assert same.text().startswith("replays bit for bit, 4 steps. The run is from elsewhere (")
    unknown = verified(replaying(monkeypatch, replace(run, made={})))
    assert unknown.elsewhere == ("it does not say where it was made",)
    assert unknown.tolerance == TOLERANCE


def test_arrays_of_zeros_compare_without_a_scale(monkeypatch, run):
    zeros = replace(run, motions=(np.zeros_like(run.motions[0]),))
    found = verified(replaying(monkeypatch, zeros))
    assert found.identical
    other = np.zeros_like(run.motions[0])
    other[2, 0, 0] = 1e-3
    found = verified(replaying(monkeypatch, zeros, motions=(other,)))
    assert found.step == 2
    assert found.difference > 1e9
