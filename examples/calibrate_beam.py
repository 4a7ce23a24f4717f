"""Calibrate a silicone beam from motion capture, in an unknown frame and with markers that sit where nobody measured.

A cantilever hangs under its own weight and under two weights at its tip. Six markers on it are recorded in a frame of
the cameras that nobody measured, they sit up to a millimetre from where they were meant to, and some are hidden at
times. The recording is written by this script, with the modulus that the fit has to find.

    pliant identify examples/calibrate_beam.py --plot residuals.png
"""

import tempfile
from pathlib import Path

import numpy as np

import pliant as pl
from pliant.identification import Experiment, Frame, Markers, Unknown

young = 264e3  # Pa, what the fit has to find
noise = 2e-4  # m
weights = (0.0, 0.15, 0.30)  # N
frames = 20  # of each pose
POINTS = [(x, y, 0.02) for x in (0.035, 0.07, 0.1) for y in (0.004, 0.016)]  # where markers were meant to sit, m


def beam(modulus):
    """The clamped beam with a load at its tip."""
    scene = pl.Scene(gravity=(0, 0, -9.81))
    silicone = pl.materials.NeoHookean(young=modulus, poisson=0.45, density=1070)
    mesh = pl.mesh.box((0.1, 0.02, 0.02), (8, 2, 2))
    body = scene.add(pl.Volume(mesh, silicone, clamp=pl.regions.plane(axis="x", at=0), name="beam"))
    load = scene.add(pl.PointLoad(body, pl.regions.plane(axis="x", at=0.1), (0, 0, 0)))
    return scene.compile(), body, [{load: pl.Force((0, 0, -weight))} for weight in weights]


def record(path):
    """Write a CSV as of motion capture: time (s), then x, y, z (mm) of each marker, in the frame of the cameras."""
    rng = np.random.default_rng(3)
    world, body, controls = beam(young)
    offsets = rng.normal(scale=5e-4, size=(len(POINTS), 3))
    markers = pl.recordings.BoundMarkers(world, body, POINTS, offsets, radius=0.008)
    state, poses = world.initial_state(), []
    for control in controls:
        state, _ = pl.QuasiStatic()(world, state, control)
        poses.append(markers.at(state))
    turn, _ = np.linalg.qr(rng.normal(size=(3, 3)))
    seen = np.repeat(poses, frames, axis=0) @ (turn * np.linalg.det(turn)) + (0.4, -1.2, 0.9)
    seen += rng.normal(scale=noise, size=seen.shape)
    seen[25:40, 2] = np.nan  # a marker behind a hand
    times = np.arange(len(seen)) / 100.0
    table = np.column_stack([times, 1e3 * seen.reshape(len(seen), -1)])
    np.savetxt(path, table, delimiter=",", fmt="%.4f", header="time, " + ", ".join(f"m{k}" for k in range(18)))


with tempfile.TemporaryDirectory() as folder:
    record(Path(folder) / "beam.csv")
    recording = pl.recordings.load_csv(Path(folder) / "beam.csv", unit="mm")

world, body, controls = beam(200e3)  # the data sheet says so
poses = np.arange(1, len(weights) + 1).repeat(frames)  # equilibria are counted from 1, and have no time
seen = Markers(
    body, POINTS, values=recording.points, times=poses, noise=noise, frame=Frame(name="cameras"),
    offset_deviation=5e-4, radius=0.008, name="motion capture",
)  # fmt: skip
data = Experiment(seen, control=controls, name="weights")
modulus = Unknown(pl.parameters.Material(body, "young"), log=True, name="modulus of the silicone")
parameters = [modulus]

if __name__ == "__main__":
    found = pl.identify(world, data, parameters)
    low, high = found.intervals[modulus]
    print(found.report())
    assert low < young < high, f"the interval {low:.4g} … {high:.4g} Pa does not cover {young:g} Pa"
    assert (high - low) / young < 0.02, "the modulus is known to no better than 1 %"
    assert 0.8 < found.noise_factor < 1.2, "residuals are not those of the noise"
