"""The residual of a beam: its size is that of the largest of its forces."""

import numpy as np
import pytest

import pliant as pl
from pliant.materials import Tangent
from pliant.models.scheme import euler_scheme, static_scheme
from pliant.stepping.bodies import StepBodies


@pytest.mark.parametrize("scheme", [static_scheme(0.0), euler_scheme(0.01)])
@pytest.mark.parametrize("factor", [1.0, 3.0, 100.0])
def test_the_scale_of_a_residual_is_the_norm_of_the_forces(scheme, factor):
    """A straight beam at rest under its weight: nothing else acts, so that the residual is the weight."""
    scene = pl.Scene(gravity=(0.0, 0.0, -9.81 * factor))
    points = [(0.05 * k, 0.0, 0.0) for k in range(5)]
    section = pl.sections.Circle(0.005)
    beam = scene.add(pl.Beam(points, section=section, young=1e7, poisson=0.3, density=1e3))
    world = scene.compile()
    trial = StepBodies.begin(world, world.initial_state(), scheme, world.controls(None)).trials[0]
    residual = trial.linearize(Tangent.EXACT)[1]
    assert residual.scale == pytest.approx(np.linalg.norm(residual.r), rel=1e-9)
    weight = 1e3 * section.area * 0.2 * 9.81 * factor
    assert residual.r[:, 0, 2].sum() == pytest.approx(-weight, rel=1e-9)
    assert world.index(beam) == 0
