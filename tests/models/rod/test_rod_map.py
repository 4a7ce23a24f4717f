"""Points on rods: where they ride, `pull` as the derivative, the Jacobian's own derivative, projections."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse
from scipy.linalg import expm

import pliant as pl
from pliant.core.lie import rotation_exp, rotation_log
from pliant.models.rod import RodModel, kinematics
from pliant.models.rod.projection import nearest_arc_lengths
from pliant.models.rod.rod import STRAINS
from pliant.models.rod.rod_map import RodMap

RNG = np.random.default_rng(0)
STENCIL = ((-2, 1), (-1, -8), (1, 8), (2, -1))


def build(**options):
    given = {"section": pl.sections.Circle(0.02), "young": 1e6, "poisson": 0.3, "density": 1e3, "base": "free"}
    return RodModel.compiled(pl.Rod((0.2, 0.3, 0.1, 0.4), 4, **{**given, "strains": STRAINS, **options}))


@pytest.fixture(scope="module")
def model():
    return build(position=(0.1, 0.2, 0.3), rotation=(0.3, 0.2, 0.1))


@pytest.fixture(scope="module")
def bent(model):
    q = model.rest.copy()
    q[4:] += RNG.normal(size=q[4:].shape) * np.tile([[0.6], [0.03]], (4, 1))
    return q


@pytest.fixture(scope="module")
def places(model):
    return RodMap.at(model, [0.9, 0.0, 0.5, 1.0, 0.2, 0.33], 0.05 * RNG.normal(size=(6, 3)))


def moved(model, q, dx):
    out = np.empty_like(q)
    kinematics.advance(q, np.ascontiguousarray(dx), model.basis, 1.0, out)
    return out


def difference(function, h=1e-3):
    """Derivative at 0 by differences of 4th order."""
    return sum(w * function(k * h) for k, w in STENCIL) / (12 * h)


@pytest.mark.parametrize("base", ["free", pl.Slide((1, 2, 0)), pl.Turn((0, 1, 1))], ids=["free", "slide", "turn"])
def test_pull_is_the_derivative(base, bent):
    model = build(base=base, rotation=(0.3, 0.2, 0.1))
    q = np.vstack([model.rest[:4], bent[4:]])
    at = RodMap.at(model, [0.9, 0.0, 0.5, 1.0], 0.05 * RNG.normal(size=(4, 3)))
    J, S = (pull(q, sparse.identity(12, format="csr")).toarray() for pull in (at.pull_back, at.pull_back_spins))
    F = at.frames(q)
    for number in range(model.size):
        unit = np.zeros(model.size)
        unit[number] = 1.0
        unit = unit.reshape(model.constrained.shape)
        np.testing.assert_allclose(
            J[:, number], difference(lambda h, u=unit: at.points(moved(model, q, h * u))).ravel(), atol=1e-10
        )
        turn = difference(
            lambda h, u=unit: np.concatenate(
                [rotation_log(A @ B.T) for A, B in zip(at.frames(moved(model, q, h * u)), F)]
            )
        )
        np.testing.assert_allclose(S[:, number], turn, atol=1e-9)


def test_products_in_one_pass_are_those_of_the_matrix(model, bent, places):
    J = places.pull_back(bent, sparse.identity(18, format="csr")).toarray()
    v, f = RNG.normal(size=model.constrained.shape), RNG.normal(size=(6, 3))
    np.testing.assert_allclose(places.carrier_velocities(bent, v).ravel(), J @ v.ravel(), atol=1e-13)
    np.testing.assert_allclose(places.forces(bent, f).ravel(), J.T @ f.ravel(), atol=1e-13)
    np.testing.assert_allclose(places.pull_back_row(bent, f).toarray()[0], J.T @ f.ravel(), atol=1e-13)


def test_the_rate_of_the_jacobian_is_its_derivative_in_time(model, bent, places):
    v = RNG.normal(size=model.constrained.shape)
    for part in range(2):
        rate = places.jacobian_rates(bent, v)[part]
        expected = difference(lambda h, p=part: places.jacobians(moved(model, bent, h * v))[p])
        np.testing.assert_allclose(rate, expected, atol=1e-9)
        assert np.abs(rate).max() > 0.1


def exponentials(psi):
    """Pose (4, 4) of the tip in the frame of the base, by matrix exponentials of the screws psi (2N, 3)."""
    pose = np.eye(4, dtype=psi.dtype)
    for a, u in psi.reshape(-1, 2, 3):
        screw = np.zeros((4, 4), psi.dtype)
        screw[:3, :3] = [[0, -a[2], a[1]], [a[2], 0, -a[0]], [-a[1], a[0], 0]]
        screw[:3, 3] = u
        pose = pose @ expm(screw)
    return pose


def complex_step(psi):
    """Derivatives (3, 6N) of the tip by the strains, to the last digits."""
    made = np.zeros((3, psi.size))
    for k in range(psi.size):
        moved = psi.astype(complex)
        moved.ravel()[k] += 1e-30j
        made[:, k] = exponentials(moved)[:3, 3].imag / 1e-30
    return made


def test_the_jacobian_and_its_rate_match_the_complex_step(bent):
    """Of products of matrix exponentials, which share nothing with the kernels."""
    model = build()
    q = np.vstack([model.rest[:4], bent[4:]])
    tip = RodMap.at(model, [1.0])
    np.testing.assert_allclose(tip.points(q)[0], exponentials(q[4:])[:3, 3], atol=1e-14)
    np.testing.assert_allclose(tip.jacobians(q)[0][0, :, 6:], complex_step(q[4:]), atol=1e-13)
    v = np.zeros(model.constrained.shape)
    v[2:] = RNG.normal(size=v[2:].shape)
    expected = difference(lambda h: complex_step(q[4:] + h * v[2:]))
    np.testing.assert_allclose(tip.jacobian_rates(q, v)[0][0, :, 6:], expected, atol=1e-10)


def test_rigid_motions_carry_points_along(model, bent, places):
    R, shift = rotation_exp(np.array([0.4, 2.0, -0.7])), np.array([1.0, 2.0, 3.0])
    turned = bent.copy()
    turned[0], turned[1:4] = R @ bent[0] + shift, R @ bent[1:4]
    np.testing.assert_allclose(places.points(turned), places.points(bent) @ R.T + shift, atol=1e-13)
    np.testing.assert_allclose(places.frames(turned), R @ places.frames(bent), atol=1e-13)


def test_tangents_are_derivatives_by_arc_length(model, bent):
    at, offset = np.array([0.1, 0.44, 0.9]), 0.05 * RNG.normal(size=(3, 3))
    expected = difference(lambda h: RodMap.at(model, at + h, offset).points(bent))
    np.testing.assert_allclose(RodMap.at(model, at, offset).tangents(bent), expected, atol=1e-10)


def test_points_ride_where_they_were_put(model):
    where = model.rest[0] + np.array([(0.05, 0.01, -0.012), (0.95, 0.0, 0.015)]) @ model.rest[1:4].T
    np.testing.assert_allclose(RodMap.of_points(model, where, what="x").points(model.rest), where, atol=1e-14)
    assert model.embed(where, what="x").arc_length == pytest.approx([0.05, 0.95])
    with pytest.raises(pl.InputError, match=r"x: point . at .* from the axis of 'rod'"):
        RodMap.of_points(model, where + np.array([0.0, 0.0, 0.1]), what="x")
    with pytest.raises(pl.InputError, match="must be in 0 … 1 m"):
        RodMap.at(model, [1.1])


def test_projection_finds_the_nearest_place(model, bent, places):
    """Of points on the axis their own arc length; of points off it no sampled place is nearer."""
    dense = RodMap.at(model, np.linspace(0.0, 1.0, 20001)).points(bent)
    at = np.linspace(0.0, 1.0, 37)
    np.testing.assert_allclose(
        nearest_arc_lengths(bent, places.lengths, RodMap.at(model, at).points(bent)), at, atol=1e-12
    )
    off = RodMap.at(model, at).points(bent) + 0.1 * RNG.normal(size=(37, 3))
    found = RodMap.at(model, nearest_arc_lengths(bent, places.lengths, off)).points(bent)
    nearest = np.array([np.linalg.norm(dense - p, axis=1).min() for p in off])
    assert (np.linalg.norm(found - off, axis=1) <= nearest + 1e-12).all()


def test_projection_on_a_coil_finds_the_nearest_turn():
    """Five turns side by side: sections far along the rod are near a point, and none may be passed over."""
    coil = pl.Rod(
        1.0, 60, section=pl.sections.Circle(1e-3), young=1e6, poisson=0.3, density=1e3,
        rest_strain=(5.0, 0.0, 30.0, 0.0, 0.0, 0.0),
    )  # fmt: skip
    model = RodModel.compiled(coil)
    q = model.rest
    dense = RodMap.at(model, np.linspace(0.0, 1.0, 20001)).points(q)
    low, high = dense.min(axis=0), dense.max(axis=0)
    points = low + (high - low) * np.random.default_rng(1).uniform(-0.2, 1.2, size=(200, 3))
    found = RodMap.at(model, nearest_arc_lengths(q, coil.lengths, points)).points(q)
    nearest = np.array([np.linalg.norm(dense - p, axis=1).min() for p in points])
    assert (np.linalg.norm(found - points, axis=1) <= nearest + 1e-12).all()


def test_the_skin_encloses_the_volume_of_the_sections(model):
    skin = model.skin()
    triangles, points = skin.triangles, skin.map.points(model.rest)
    a, b, c = (points[triangles[:, k]] for k in range(3))
    volume = float(np.einsum("ti,ti->", a, np.cross(b, c))) / 6.0
    polygon = 0.5 * 24 * np.sin(2 * np.pi / 24) * 0.02**2
    assert volume == pytest.approx(polygon * 1.0, rel=1e-9)


@pytest.mark.parametrize("base", ["free", pl.Turn((0, 1, 1))], ids=["free", "turn"])
def test_the_stiffness_of_loads_is_the_derivative_of_their_forces(base, bent):
    """For offsets across the rod; over the unknowns that may move."""
    model = build(base=base, rotation=(0.3, 0.2, 0.1))
    q = np.vstack([model.rest[:4], bent[4:]])
    at = RodMap.at(model, [0.9, 0.05, 0.5], 0.05 * RNG.normal(size=(3, 3)) * (0.0, 1.0, 1.0))
    f = RNG.normal(size=(3, 3))
    K, free = at.load_stiffness(q, f), model.free_active
    for column in free:
        unit = np.zeros(model.size)
        unit[model.active[column]] = 1.0
        unit = unit.reshape(model.constrained.shape)
        slope = difference(lambda h, u=unit: at.forces(moved(model, q, h * u), f)).ravel()[model.active]
        np.testing.assert_allclose(K[free, column], -slope[free], atol=1e-9)


@pytest.mark.parametrize("base", ["free", "fixed"])
def test_the_stiffness_of_multipliers_is_the_second_derivative_of_what_they_multiply(base, bent):
    """Of forces with the points and of moments with the rotation vectors of the frames from where they stand."""
    model = build(base=base, rotation=(0.3, 0.2, 0.1))
    q = np.vstack([model.rest[:4], bent[4:]])
    at = RodMap.at(model, [0.9, 0.05, 0.5], 0.05 * RNG.normal(size=(3, 3)) * (0.0, 1.0, 1.0))
    f, m, start = RNG.normal(size=(3, 3)), RNG.normal(size=(3, 3)), at.frames(q)

    def value(step):
        there = moved(model, q, step)
        turned = np.einsum("pri,psi->prs", at.frames(there), start)
        return float((f * at.points(there)).sum() + sum(m[k] @ rotation_log(turned[k]) for k in range(3)))

    K, free = at.load_stiffness(q, f, m), model.free_active
    for _ in range(6):
        a = np.zeros(model.size)
        a[model.active[free]] = RNG.normal(size=len(free))
        x, size = a.reshape(model.constrained.shape), 2e-3
        values = [value(k * size * x) for k in (-2, -1, 0, 1, 2)]
        second = np.dot([-1.0, 16.0, -30.0, 16.0, -1.0], values) / (12.0 * size**2)
        assert a[model.active] @ K @ a[model.active] == pytest.approx(-second, rel=1e-5, abs=1e-5)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("section", np.zeros(6, np.int64)), ("section", np.full(6, 4, np.int32)), ("section", np.full(6, -1, np.int32)),
        ("fraction", np.zeros(5)), ("offset", np.zeros((6, 2))), ("offset", np.zeros((5, 3))),
        ("lengths", np.zeros((4, 1))), ("kinds", np.full(6, 6, np.int32)), ("basis", np.eye(2)),
    ],
)  # fmt: skip
def test_maps_whose_arrays_do_not_belong_together_are_refused(places, bent, name, value):
    places.check(bent.shape)
    with pytest.raises(pl.InputError):
        replace(places, **{name: value}).check(bent.shape)
    with pytest.raises(pl.InputError, match="do not belong to positions"):
        places.check((5, 3))
