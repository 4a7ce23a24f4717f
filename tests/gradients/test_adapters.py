"""The objective for optimizers, and as a function of PyTorch and JAX."""

import sys

import numpy as np
import pytest
from scipy.optimize import check_grad, minimize

import pliant as pl
from tests.scenes import bar


def build(x, target=(0.0972, 0.01, 0.0125)):
    """A bar of the modulus 1e5 x₀ whose cable is pulled by x₁ cm, and the distance of its end from a target."""
    rubber = pl.materials.Corotated(young=1e5 * x[0], poisson=0.4, density=1000)
    scene, body = bar(material=rubber, gravity=(0, 0, -9.81), cells=(4, 1, 1))
    cable = scene.add(pl.Cable(body, [(0.01, 0.01, 0.017), (0.05, 0.01, 0.017), (0.09, 0.01, 0.017)]))
    return {
        "world": scene.compile(),
        "stepper": pl.QuasiStatic(tolerance=1e-11),
        "loss": 1e4 * pl.losses.Position((body, np.array([0.1, 0.01, 0.01])), target),
        "parameters": [pl.parameters.Material(body, "young"), pl.parameters.Control(cable)],
        "control": {cable: pl.Displacement(1e-2 * x[1])},
    }


def pulled(gradient):
    return [1e5 * gradient.derivatives[0], 1e-2 * gradient.derivatives[1][0]]


objective = pl.gradients.Objective(build, pull=pulled)


def test_scipy_finds_the_pull_that_reaches_a_point():
    error = check_grad(lambda x: objective(x)[0], lambda x: objective(x)[1], np.array([1.2, 0.3]), epsilon=1e-6)
    assert error < 1e-4 * np.linalg.norm(objective([1.2, 0.3])[1])
    made = build([1.6, 0.4])
    state, _ = made["stepper"](made["world"], made["world"].initial_state(), made["control"])
    marker = pl.robots.Marker(made["world"].models[0].spec, (0.1, 0.01, 0.01))
    reach = pl.gradients.Objective(lambda x: build(x, marker.at(state)), pull=pulled)
    found = minimize(reach, [1.2, 0.2], jac=True, method="L-BFGS-B", bounds=[(0.5, 3.0), (0.05, 0.8)], tol=1e-12)
    assert found.x == pytest.approx([1.6, 0.4], rel=1e-3)


def test_an_objective_without_pull_needs_as_many_numbers_as_parameters():
    with pytest.raises(pl.InputError, match="has 2 numbers, x has 3"):
        pl.gradients.Objective(build)([1.0, 0.2, 0.0])


@pytest.mark.parametrize("name", ["torch", "jax"])
def test_a_missing_package_is_an_error_that_says_what_to_install(monkeypatch, name):
    monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(pl.PliantError, match=f"pip install {name}"):
        getattr(pl.gradients, f"{name}_function")(objective)


def test_pytorch():
    torch = pytest.importorskip("torch")
    x = torch.tensor([1.2, 0.3], dtype=torch.float64, requires_grad=True)
    value = 2.0 * pl.gradients.torch_function(objective)(x)
    value.backward()
    known, slope = objective([1.2, 0.3])
    assert value.item() == pytest.approx(2.0 * known, rel=1e-12)
    assert x.grad.numpy() == pytest.approx(2.0 * slope, rel=1e-12)


def test_jax():
    jax = pytest.importorskip("jax")
    f = pl.gradients.jax_function(objective)
    known, slope = objective(np.array([1.2, 0.3], np.float32))
    value, found = jax.value_and_grad(jax.jit(lambda x: 2.0 * f(x)))(jax.numpy.array([1.2, 0.3]))
    assert float(value) == pytest.approx(2.0 * known, rel=1e-5)
    assert np.asarray(found) == pytest.approx(2.0 * slope, rel=1e-5)
