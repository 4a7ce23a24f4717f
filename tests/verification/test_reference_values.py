"""The numbers of validation/literature, derived again: by quadrature, by shooting, by roots, with nothing of Pliant."""

import numpy as np
import pytest
from scipy.integrate import quad, solve_ivp
from scipy.optimize import brentq, fsolve
from scipy.special import jv

from validation.literature import constants, finite_elasticity


def root(function, low, high):
    return brentq(function, low, high, xtol=1e-13)


def test_columns():
    assert root(lambda x: np.tan(x) - x, 4.3, 4.6) ** 2 == pytest.approx(constants.FIXED_PINNED_COLUMN, abs=1e-4)
    heavy = root(lambda x: jv(-1 / 3, x), 1.5, 2.2)
    assert 9 / 4 * heavy**2 == pytest.approx(constants.GREENHILL, abs=1e-4)
    assert 2 * root(lambda x: jv(-1 / 4, x), 1.5, 2.5) == pytest.approx(constants.MICHELL_CANTILEVER, abs=1e-4)


def test_roots_of_vibrations():
    for found, (low, high) in zip(constants.CANTILEVER_ROOTS, ((4.5, 5.0), (7.7, 8.0)), strict=True):
        assert root(lambda x: np.cos(x) * np.cosh(x) + 1.0, low, high) == pytest.approx(found, abs=1e-7)
    assert root(lambda x: jv(0, x), 2.0, 3.0) == pytest.approx(constants.BESSEL_ZERO, abs=1e-6)


def test_an_oval_ring_by_rayleigh():
    """w = cos 2φ without stretch, v = −∫w: bending energy over kinetic energy."""
    bending = quad(lambda a: (np.cos(2 * a) - 4 * np.cos(2 * a)) ** 2, 0, 2 * np.pi)[0]
    kinetic = quad(lambda a: np.cos(2 * a) ** 2 + (0.5 * np.sin(2 * a)) ** 2, 0, 2 * np.pi)[0]
    assert bending / kinetic == pytest.approx(constants.OVAL_RING)


def test_a_ring_under_opposite_forces_by_castigliano():
    """A quarter: M = P/2 cos φ − m, with m so that the ends do not turn."""
    m = quad(lambda a: 0.5 * np.cos(a), 0, np.pi / 2)[0] / (np.pi / 2)
    lengthening = 4 * quad(lambda a: (0.5 * np.cos(a) - m) * 0.5 * np.cos(a), 0, np.pi / 2)[0]
    narrowing = 4 * quad(lambda a: (0.5 * np.cos(a) - m) * 0.5 * np.sin(a), 0, np.pi / 2)[0]
    assert lengthening == pytest.approx(np.pi / 4 - 2 / np.pi)
    assert abs(narrowing) == pytest.approx(2 / np.pi - 0.5)


def elastica(start, pieces, curvature, steps=24):
    """(θ, x, y, M) at the ends of pieces (length, turn before it, force (2,) in it) of an inextensible rod, EI = 1."""

    def slope(s, force):
        c, k = np.cos(s[0]), np.sin(s[0])
        return np.array([curvature + s[3], c, k, force[0] * k - force[1] * c])

    state, ends = np.array(start, float), []
    for length, turn, force in pieces:
        state, h = state + np.array([turn, 0, 0, 0]), length / steps
        for _ in range(steps):
            a = slope(state, force)
            b = slope(state + 0.5 * h * a, force)
            c = slope(state + 0.5 * h * b, force)
            state = state + h / 6 * (a + 2 * b + 2 * c + slope(state + h * c, force))
        ends.append(state)
    return ends


def largest(ways, solve):
    """Maximum of the load over imposed displacements: a parabola through the three highest."""
    unknown, loads = np.zeros(4), []
    for way in ways:
        unknown, info, _, said = fsolve(solve, unknown, args=(way,), full_output=True)
        assert np.abs(info["fvec"]).max() < 1e-7, said
        loads.append(unknown[3])
    top = int(np.argmax(loads))
    assert 0 < top < len(ways) - 1
    a, b, c = np.polyfit(ways[top - 1 : top + 2], loads[top - 1 : top + 2], 2)
    return c - b * b / (4 * a)


def test_the_frame_of_lee_by_shooting():
    def left(x, way):
        turn, a, b, load = x
        pieces = [(1.0, 0.0, (a, b)), (0.2, -np.pi / 2, (a, b)), (0.8, 0.0, (a, b + load))]
        _, middle, end = elastica((np.pi / 2 + turn, 0, 0, 0), pieces, 0.0)
        return [end[1] - 1.0, end[2] - 1.0, end[3], middle[2] - (1.0 - way)]

    ways = np.append(np.linspace(0.02, 0.34, 9), np.linspace(0.36, 0.46, 6))
    assert largest(ways, left) == pytest.approx(constants.LEE_FRAME, rel=2e-3)


def test_the_deep_arch_by_shooting():
    half = np.radians(107.5)

    def left(x, way):
        turn, a, b, load = x
        pieces = [(half, 0.0, (a, b)), (half, 0.0, (a, b + load))]
        top, end = elastica((np.pi - half + turn, np.sin(half), np.cos(half), 0), pieces, 1.0)
        return [end[1] + np.sin(half), end[2] - np.cos(half), end[0] - np.pi - half, top[2] - (1.0 - way)]

    ways = np.append(np.linspace(0.04, 1.0, 17), np.linspace(1.04, 1.2, 5))
    assert largest(ways, left) == pytest.approx(constants.DEEP_ARCH, rel=2e-3)


def test_the_right_angle_frame_by_its_linear_stability():
    """Kirchhoff's equations about the flat frame, which is rigid in its plane: small θ and y out of it."""
    leg, young, shear, wide, thin = 240.0, 71240.0, 71240.0 / 2 / 1.31, 30.0, 0.6
    bending, torsion = young * wide * thin**3 / 12, shear * wide * thin**3 / 3 * (1 - 0.63 * thin / wide)

    def missing(force):
        """y of the tip less the value 1 that the moments were computed with."""

        def slope(s, x):
            about_x, about_z, y = x
            first = s < leg
            moment = -force * (leg if first else 2 * leg - s)
            along_x, along_z = about_z * moment, -(1.0 - y) * force - about_x * moment
            if first:
                return along_x / torsion, along_z / bending, about_z
            return along_x / bending, along_z / torsion, about_x

        half = solve_ivp(slope, (0, leg * (1 - 1e-12)), (0, 0, 0), rtol=1e-9, atol=1e-12).y[:, -1]
        return solve_ivp(slope, (leg, 2 * leg), half, rtol=1e-9, atol=1e-12).y[2, -1] - 1.0

    assert root(missing, 0.9, 1.2) == pytest.approx(constants.RIGHT_ANGLE_FRAME, rel=5e-3)


def test_the_beams_of_macneal_and_harder_by_castigliano():
    """Thin-beam energy, without shear: 2 %."""
    radius, young, shear = 4.22, 1e7, 4e6
    flat = np.pi / 4 * radius**3 / (young * 0.1 * 0.2**3 / 12)
    across, torsion = young * 0.2 * 0.1**3 / 12, shear * 0.229 * 0.2 * 0.1**3
    bent = radius**3 * (np.pi / 4 / across + (3 * np.pi / 4 - 2) / torsion)
    assert (flat, bent) == pytest.approx(constants.CURVED_BEAM, rel=0.02)
    strong, weak = (29e6 * b * h**3 / 12 for b, h in ((0.32, 1.1), (1.1, 0.32)))

    def tip(first, second):
        def energy(x):
            turn = 0.5 * np.pi * x / 12.0
            return (12.0 - x) ** 2 * (np.cos(turn) ** 2 / first + np.sin(turn) ** 2 / second)

        return quad(energy, 0, 12)[0]

    assert (tip(weak, strong), tip(strong, weak)) == pytest.approx(constants.TWISTED_BEAM, rel=0.02)


def test_a_twisted_square_bar_by_its_series():
    odd = np.arange(1, 60, 2)
    series = 1 / 3 - 64 / np.pi**5 * np.sum(np.tanh(odd * np.pi / 2) / odd**5)
    assert series == pytest.approx(constants.SQUARE_TORSION, abs=1e-6)


def test_the_membrane_of_hencky_by_shooting():
    """n″ + 3n′/r = −1/(8n²), n′(0) = 0, n′(1) + (1 − ν) n(1) = 0; height ∫ r/(2n) dr."""

    def path(middle):
        start = (middle - 1e-8 / (64 * middle**2), -1e-4 / (32 * middle**2), 0.0)
        slope = lambda r, x: (x[1], -3 * x[1] / r - 1 / (8 * x[0] ** 2), r / (2 * x[0]))  # noqa: E731
        return solve_ivp(slope, (1e-4, 1.0), start, rtol=1e-10, atol=1e-12).y[:, -1]

    middle = root(lambda n: path(n)[1] + 0.7 * path(n)[0], 0.3, 0.8)
    assert path(middle)[2] == pytest.approx(constants.HENCKY, abs=1e-4)


def test_plates_and_discs():
    """w = p (a² − r²)²/(64 D) and the disc's u satisfy their equations and edges: derivatives by polynomials."""
    plate = np.polynomial.Polynomial([1, 0, -2, 0, 1]) / 64
    r = np.polynomial.Polynomial([0, 1])
    once = (r * plate.deriv()).deriv()  # r ∇²w
    laplace = np.polynomial.Polynomial(once.coef[1:])
    again = np.polynomial.Polynomial((r * laplace.deriv()).deriv().coef[1:])
    assert again.coef[0] == pytest.approx(1.0)
    assert (plate(1.0), plate.deriv()(1.0)) == pytest.approx((0.0, 0.0))
    assert plate(0.0) == pytest.approx(1 / 64)
    nu = 0.3
    disc = (1 - nu) / 8 * np.polynomial.Polynomial([0, 3 + nu, 0, -(1 + nu)])
    for at in (0.2, 0.7):
        left = disc.deriv(2)(at) + disc.deriv()(at) / at - disc(at) / at**2
        assert left == pytest.approx(-(1 - nu**2) * at)
    assert disc.deriv()(1.0) + nu * disc(1.0) == pytest.approx(0.0)
    assert disc(1.0) == pytest.approx((1 - nu) / 4)


def test_the_hole_of_kirsch_by_complex_potentials():
    """Muskhelishvili's φ and ψ leave the edge free and give the far pull; 2G u = κφ − z φ̄′ − ψ̄ in plane stress."""
    nu = 0.3
    phi, slope = (lambda z: (z + 2 / z) / 4), (lambda z: (1 - 2 / z**2) / 4)
    psi = lambda z: -(z + 1 / z - 1 / z**3) / 2  # noqa: E731
    edge = np.exp(1j * np.linspace(0, 2 * np.pi, 9))
    assert phi(edge) + edge * slope(edge).conj() + psi(edge).conj() == pytest.approx(0.0)
    far = 1e6
    assert 4 * slope(far).real == pytest.approx(1.0)  # σx + σy
    kappa, shear = (3 - nu) / (1 + nu), 1 / 2 / (1 + nu)
    moved = (kappa * phi(edge) - edge * slope(edge).conj() - psi(edge).conj()) / (2 * shear)
    assert moved[0] == pytest.approx(3.0)
    assert moved[2] == pytest.approx(-1j)


def test_punch_and_bonded_disc():
    """Pressure 1/√(a² − r²) sinks the middle by (1 − ν²)/E ∫ p dA/(πr), and shear r/√(a² − r²) turns the disc."""
    sunk = quad(lambda a: 2.0, 0, np.pi / 2)[0]  # r = a sin s
    force = 2 * np.pi * quad(np.sin, 0, np.pi / 2)[0]
    assert force / sunk == pytest.approx(2.0)  # F = 2 a d E/(1 − ν²)
    torque = 8 * quad(lambda a: np.sin(a) ** 3, 0, np.pi / 2)[0]  # shear 4Gφ/π · r/√(a² − r²)
    assert torque == pytest.approx(constants.REISSNER_SAGOCI)


def slope_of(function, at, step=1e-4):
    return (function(at + step) - function(at - step)) / (2 * step)


def test_the_twisted_cylinder_of_rivlin_by_its_energy():
    """Energy of a cylinder of length and radius 1 at the stretch λ and the twist t: torque and axial force."""
    c1, c2, twist = 0.8, 0.2, 0.5

    def energy(stretch, turn):
        def density(r):
            gradient = np.array([[stretch**-0.5, 0, 0], [0, stretch**-0.5, r * stretch**-0.5 * turn], [0, 0, stretch]])
            first = np.sum(gradient**2)
            second = np.sum(np.linalg.inv(gradient) ** 2)
            return (c1 * (first - 3) + c2 * (second - 3)) * 2 * np.pi * r

        return quad(density, 0, 1)[0]

    assert slope_of(lambda t: energy(1.0, t), twist) == pytest.approx(np.pi * twist * (c1 + c2), rel=1e-6)
    thrust = -slope_of(lambda s: energy(s, twist), 1.0)
    assert thrust == pytest.approx(0.5 * np.pi * twist**2 * (c1 + 2 * c2), rel=1e-6)


def test_balloon_bubble_and_bent_block_by_their_energies():
    c1, c2, s = 1.0, 0.1, 1.7
    sheet = lambda x: c1 * (2 * x**2 + x**-4 - 3) + c2 * (2 * x**-2 + x**4 - 3)  # noqa: E731
    pressure = slope_of(sheet, s) / s**2  # dW/dV of a sphere of radius and wall 1
    assert pressure == pytest.approx(4 * (c1 + c2 * s**2) * (1 / s - s**-7), rel=1e-6)
    stretch = 2.6
    hoop = quad(lambda x: 2 * (x**2 - x**-4) / (x * (x**3 - 1)), 1.0, stretch)[0]
    assert finite_elasticity._bubble(stretch) == pytest.approx(hoop, rel=1e-8)
    height = 0.01

    def block(curvature):  # energy per length, with r₁ r₂ = α²
        alpha = 1 / curvature
        inner = np.sqrt(np.sqrt((alpha * height) ** 2 + alpha**4) - alpha * height)
        density = lambda r: 0.5 * ((r / alpha) ** 2 + (alpha / r) ** 2 - 2) * r / alpha  # noqa: E731
        return quad(density, inner, alpha**2 / inner, epsabs=1e-16)[0]

    moment = finite_elasticity._bending_moment(1.0, 1 / 40.0, height)
    assert moment == pytest.approx(slope_of(block, 40.0, 1e-2), rel=1e-5)


def test_rigid_bodies():
    """A ball leaves a sphere where 7/10 v² = gR (1 − c) and v² = gRc; a ladder where its middle stops to gain speed."""
    assert root(lambda c: 10 / 7 * (1 - c) - c, 0.1, 0.9) == pytest.approx(constants.LEAVING_SPHERE)
    sliding = root(lambda t: (1 - t) - 2.5 * t, 0.0, 1.0)  # v = v₀ − μgt, rω = 5/2 μgt
    assert 1 - sliding == pytest.approx(constants.ROLLING)
    assert sliding == pytest.approx(2 / 7)

    def pushed(t, x):  # acceleration of the middle (sin a) away from the wall, a'' = 3/2 sin a
        return np.cos(x[0]) * 1.5 * np.sin(x[0]) - np.sin(x[0]) * x[1] ** 2

    pushed.terminal = True
    start = 0.3
    fallen = solve_ivp(
        lambda t, x: (x[1], 1.5 * np.sin(x[0])), (0, 10), (start, 0.0), events=pushed, rtol=1e-10, atol=1e-12
    )
    assert np.cos(fallen.y[0, -1]) / np.cos(start) == pytest.approx(constants.LADDER, rel=1e-6)


def test_painleve_by_the_compliance_of_the_tip():
    """W_nn + μ W_nt = 0 of a thin rod of mass 1 and half length 1 on its tip, dragged toward the side it leans to."""
    angle = np.arctan(2.0)
    arm = -np.array([np.cos(angle), np.sin(angle)])
    normal, tangent = np.array([0, 1, arm[0]]), np.array([1, 0, -arm[1]])
    inverse = np.diag([1, 1, 3.0])
    critical = abs(normal @ inverse @ normal / (normal @ inverse @ tangent))
    assert critical == pytest.approx(constants.PAINLEVE)


def test_fibres_that_neither_lengthen_nor_shorten_a_tube():
    """An inextensible fibre at the angle a to the axis: its tube's volume, cos a sin² a, is largest at tan² a = 2."""
    best = root(lambda a: slope_of(lambda x: np.cos(x) * np.sin(x) ** 2, a, 1e-6), 0.5, 1.3)
    assert np.tan(best) ** 2 == pytest.approx(2.0, rel=1e-6)


def test_a_bouncing_ball_and_a_pendulum():
    e, first = 0.7, np.sqrt(2 / 9.81)
    times = first + 2 * first * e * (1 - e**200) / (1 - e)
    assert times == pytest.approx(first * (1 + e) / (1 - e))


def indented(slope, radius):
    """Depth and load over 2E* of a punch of revolution z = f(r) that touches within `radius`, by Sneddon's integrals;
    `slope` is f′.
    """

    def pit(x):
        return quad(lambda a: x * slope(x * np.sin(a)), 0, np.pi / 2)[0]

    return pit(radius), quad(lambda x: pit(radius) - pit(x), 0, radius)[0]


def test_a_cone_and_a_ball_by_the_integrals_of_sneddon():
    tan = np.tan(0.09)
    depth, load = indented(lambda r: tan, 1.0)
    assert depth == pytest.approx(np.pi / 2 * tan)
    assert 2 * load == pytest.approx(2 * depth**2 / (np.pi * tan))
    depth, load = indented(lambda r: r / 20.0, 1.0)
    assert depth == pytest.approx(1.0 / 20.0)
    assert 2 * load == pytest.approx(4 / 3 * np.sqrt(20.0) * depth**1.5)


def test_a_circular_load_by_the_point_load_of_boussinesq():
    """u = P/(πE* r) of a point load, over a disc of radius 1: the lengths of its chords through the point."""
    centre = quad(lambda a: 1.0 / np.pi, 0, 2 * np.pi)[0]
    rim = quad(lambda a: 2 * np.cos(a) / np.pi, -np.pi / 2, np.pi / 2)[0]
    assert centre == pytest.approx(2.0)
    assert rim == pytest.approx(4 / np.pi)
