"""The same run with any number of threads is the same to the bit; for other processors, the same within 1e-12.

Levels of x86-64 differ in fused products and in the width of sums. A child process is told another processor, compiles
its own kernels for it and takes the BLAS of that level.
"""

import os
import subprocess
import sys

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

import pliant as pl
from pliant.core.kernels import PORTABLE

STEPS = 12
LEVELS = {
    "x86-64-v3": {"NUMBA_CPU_NAME": PORTABLE[0], "NUMBA_CPU_FEATURES": PORTABLE[1], "OPENBLAS_CORETYPE": "Haswell"},
    "x86-64-v2": {
        "NUMBA_CPU_NAME": "nehalem",
        "NUMBA_CPU_FEATURES": "+cmov,+cx16,+cx8,+fxsr,+mmx,+popcnt,+sahf,+sse,+sse2,+sse3,+ssse3,+sse4.1,+sse4.2",
        "OPENBLAS_CORETYPE": "Nehalem",
    },
}
SIZE = 0.1
"""Largest position, m: differences are relative to it."""


def pressed(threads=1):
    """Positions of a cabled arm that is pulled onto a ball, with friction, step by step."""
    scene = pl.Scene(gravity=(0, 0, -9.81))
    rubber = pl.materials.NeoHookean(young=1e5, poisson=0.4, density=1e3)
    mesh = pl.mesh.box((0.1, 0.02, 0.02), (10, 2, 2))
    arm = scene.add(pl.Volume(mesh, rubber, clamp=pl.regions.plane(axis="x", at=0.0)))
    cable = scene.add(pl.Cable(arm, [(0.01, 0.01, 0.004), (0.05, 0.01, 0.004), (0.09, 0.01, 0.004)]))
    ball = scene.add(pl.Obstacle.sphere(center=(0.08, 0.01, -0.011), radius=0.01))
    scene.collide(arm, ball, friction=0.5)
    world, step = scene.compile(), pl.ImplicitEuler(dt=0.01, threads=threads)
    state, found = world.initial_state(), []
    for k in range(STEPS):
        state, info = step(world, state, {cable: pl.Displacement(2e-4 * k)})
        found.append(state.q[0])
    assert np.linalg.norm(info.contact_force(arm, ball)) > 0.01
    return np.array(found)


@pytest.fixture(scope="module")
def alone():
    with threadpool_limits(1):
        return pressed()


@pytest.mark.parametrize("threads", [2, 3, 8])
@pytest.mark.parametrize("blas", [1, 4])
def test_threads_change_no_bit(alone, threads, blas):
    with threadpool_limits(blas):
        np.testing.assert_array_equal(pressed(threads), alone)


@pytest.mark.slow
@pytest.mark.parametrize("variable", ["OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS", "OMP_NUM_THREADS"])
def test_threads_of_the_environment_change_no_bit(tmp_path, variable):
    np.testing.assert_array_equal(in_child(tmp_path, {variable: "2"}), in_child(tmp_path, {variable: "1"}))


@pytest.mark.slow
@pytest.mark.parametrize("level", LEVELS)
def test_other_levels_of_the_processor_agree_within_rounding(tmp_path, level):
    there = in_child(tmp_path, {**LEVELS[level], "PLIANT_CACHE_DIR": str(tmp_path / "cache")})
    difference = np.abs(there - pressed()).max() / SIZE
    print(f"{level}: {difference:.3g}")
    assert difference < 1e-12


def in_child(folder, variables):
    """`pressed`, computed in another process with these variables of the environment."""
    code = "import sys, numpy as np; from test_reproducible import pressed; np.save(sys.argv[1], pressed())"
    path = os.pathsep.join([os.path.dirname(__file__), *filter(None, sys.path)])
    file = folder / "q.npy"
    environment = {**os.environ, "PYTHONPATH": path, **variables}
    subprocess.run([sys.executable, "-c", code, str(file)], env=environment, check=True)
    return np.load(file)
